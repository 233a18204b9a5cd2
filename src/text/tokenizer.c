// Opening and closing tokenizers, and what they say about lengths.
#include "text/folder.h"

#include "file/file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKENIZER_FILE_MAX ((size_t)1 << 30)

struct sabok_tokenizer *tokenizer_new(const char *path, sabok_error *err) {
    struct sabok_tokenizer *tok = mem_zalloc(sizeof *tok);
    if (!tok) {
        error_memory(err, path);
        return NULL;
    }
    arena_init(&tok->arena, 0);
    tok->truncation.strategy = SABOK_TRUNCATE_NONE;
    tok->path = mem_copy_string(path);
    if (tok->path) return tok;
    sabok_tokenizer_close(tok);
    error_memory(err, path);
    return NULL;
}

void sabok_tokenizer_close(sabok_tokenizer *tok) {
    if (!tok) return;
    actions_free(tok->actions);
    segmenter_free(tok->segmenter);
    decoder_free(&tok->decoder);
    mem_free(atomic_load(&tok->by_id));
    normalizer_free(&tok->normalizer);
    pretokenizer_free(&tok->pretokenizer);
    model_free(&tok->model);
    postprocessor_free(&tok->post);
    added_free(&tok->added);
    arena_free(&tok->arena);
    mem_free(tok->path);
    mem_free(tok);
}

static sabok_status make_short_ways(struct sabok_tokenizer *tok, sabok_error *err) {
    if (actions_possible(tok))
        tok->actions = actions_new(tok);
    else if (segmenter_make(tok))
        return SABOK_OK;
    return tok->actions ? SABOK_OK : error_memory(err, tok->path);
}

sabok_status tokenizer_finish(struct sabok_tokenizer *tok, sabok_error *err) {
    TRY(added_build(&tok->added, &tok->model.vocab, &tok->normalizer, &tok->arena, tok->path, err));
    if (!tok->post.given && !postprocessor_default(&tok->post)) return error_memory(err, tok->path);
    return make_short_ways(tok, err);
}

sabok_status tokenizer_set_lower_case(sabok_tokenizer *tok, sabok_error *err) {
    struct normalizer *n = &tok->normalizer;
    for (size_t i = 0; i < n->count; i++)
        if (n->steps[i].kind == &normalizer_lowercase) return SABOK_OK;
    const struct normalizer_step lower = {.kind = &normalizer_lowercase};
    if (!normalizer_add(n, &lower)) return error_memory(err, tok->path);
    memmove(n->steps + 1, n->steps, (n->count - 1) * sizeof *n->steps);
    n->steps[0] = lower;
    TRY(added_patterns(&tok->added, n, &tok->arena, tok->path, err));
    actions_free(tok->actions);
    segmenter_free(tok->segmenter);
    tok->actions = NULL;
    tok->segmenter = NULL;
    return make_short_ways(tok, err);
}

struct sabok_tokenizer *tokenizer_parse(const char *text, size_t size, const char *where, sabok_error *err) {
    struct sabok_tokenizer *tok = tokenizer_new(where, err);
    if (!tok) return NULL;
    if (tokenizer_read_json(tok, text, size, err) == SABOK_OK && tokenizer_finish(tok, err) == SABOK_OK)
        return tok;
    sabok_tokenizer_close(tok);
    return NULL;
}

// ---------------------------------------------------------------------------------------------- files

static bool ends_with(const char *path, const char *tail) {
    const size_t n = strlen(path), k = strlen(tail);
    return n >= k && strcmp(path + n - k, tail) == 0;
}

static struct sabok_tokenizer *open_json(const char *path, sabok_error *err) {
    char *text;
    size_t size;
    if (file_read(path, TOKENIZER_FILE_MAX, &text, &size, err) != SABOK_OK) return NULL;
    struct sabok_tokenizer *tok = tokenizer_parse(text, size, path, err);
    mem_free(text);
    return tok;
}

// The tokenizer file of a folder into *file (NULL when out of memory); false when it has none.
static bool find_file(const char *folder, char **file) {
    static const char *const names[] = {"tokenizer.json", "vocab.txt", "vocab.json",
                                        "sentencepiece.bpe.model", "spiece.model"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct buf b = {0};
        buf_printf(&b, "%s/%s", folder, names[i]);
        *file = b.failed ? NULL : b.data;
        if (b.failed) {
            buf_free(&b);
            return true;
        }
        if (file_exists(*file)) return true;
        mem_free(*file);
    }
    return false;
}

static sabok_tokenizer *open_place(const char *path, sabok_error *err) {
    struct stat st;
    char *file = NULL;
    const bool folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    if (folder && access(path, X_OK) != 0) {
        error_errno(err, path, "cannot read");
        return NULL;
    }
    if (folder && !find_file(path, &file)) {
        error_set(err, SABOK_ENOTFOUND, path,
                  "no tokenizer here, expected tokenizer.json or vocab.txt, vocab.json, "
                  "sentencepiece.bpe.model or spiece.model");
        return NULL;
    }
    if (!folder) file = mem_copy_string(path);
    if (!file) {
        error_memory(err, path);
        return NULL;
    }
    const bool vocab = ends_with(file, ".txt") || ends_with(file, "vocab.json") || ends_with(file, ".model");
    sabok_tokenizer *tok = vocab ? folder_open(file, err) : open_json(file, err);
    mem_free(file);
    return tok;
}

sabok_tokenizer *sabok_tokenizer_open(const char *path, sabok_error *err) {
    char *place;
    if (!path) {
        error_set(err, SABOK_EINVAL, NULL, "path is NULL, expected a file or a folder");
        return NULL;
    }
    if (hub_find(path, &place, err) != SABOK_OK) return NULL;
    sabok_tokenizer *tok = open_place(place, err);
    mem_free(place);
    return tok;
}

// ---------------------------------------------------------------------------------------------- lengths

void tokenizer_set_max_length(sabok_tokenizer *tok, size_t max_length) {
    tok->folder_max_length = max_length;
}

size_t tokenizer_max_length(const sabok_tokenizer *tok) {
    if (tok->folder_max_length) return tok->folder_max_length;
    return tok->truncation.strategy == SABOK_TRUNCATE_NONE ? 0 : tok->truncation.max_length;
}

size_t tokenizer_vocab_size(const sabok_tokenizer *tok) {
    size_t size = tok->model.vocab.count ? (size_t)tok->model.vocab.max_id + 1 : 0;
    for (size_t i = 0; i < tok->added.count; i++)
        size = size_max(size, (size_t)tok->added.tokens[i].id + 1);
    return size;
}

uint32_t tokenizer_last_type(const sabok_tokenizer *tok) {
    const struct template *templates[] = {&tok->post.single, &tok->post.pair};
    uint32_t last = 0;
    for (size_t t = 0; t < COUNT(templates); t++)
        for (size_t i = 0; i < templates[t]->count; i++)
            if (templates[t]->pieces[i].type_id > last) last = templates[t]->pieces[i].type_id;
    return last;
}

sabok_status tokenizer_truncation(const struct sabok_tokenizer *tok, const sabok_tokenize_opts *opts,
                                  struct truncation *out, sabok_error *err) {
    const struct truncation *file = &tok->truncation;
    const size_t own = tokenizer_max_length(tok);
    *out = (struct truncation){.strategy = opts->truncation,
                               .max_length = opts->max_length ? opts->max_length : own,
                               .stride = opts->stride,
                               .left = file->left};
    if (opts->truncation == SABOK_TRUNCATE_NONE) return SABOK_OK;
    if (opts->truncation == SABOK_TRUNCATE_DEFAULT) {
        const bool said = file->strategy != SABOK_TRUNCATE_NONE;
        out->strategy = said                           ? file->strategy
                        : own != 0 || opts->max_length ? SABOK_TRUNCATE_LONGEST_FIRST
                                                       : SABOK_TRUNCATE_NONE;
        if (said && opts->stride == 0) out->stride = file->stride;
    } else if (out->max_length == 0) {
        return error_set(err, SABOK_EINVAL, tok->path,
                         "truncation asked for without max_length, and the folder gives none");
    }
    const size_t specials = tok->post.single.specials;
    const size_t room = out->max_length > specials ? out->max_length - specials : 0;
    if (out->strategy != SABOK_TRUNCATE_NONE && opts->overflow && out->stride > room)
        return error_set(err, SABOK_EINVAL, NULL,
                         "stride %zu, expected at most the %zu tokens between the specials", out->stride,
                         room);
    return SABOK_OK;
}
