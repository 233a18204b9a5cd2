// vocab.json and merges.txt: byte-level BPE as RoBERTa and GPT-2 have it.
#include "text/folder.h"

#include <string.h>

static sabok_status read_vocab(struct sabok_tokenizer *tok, const struct folder_file *f, sabok_error *err) {
    struct json j;
    json_init(&j, f->text, f->size, f->path, &tok->arena, err);
    if (!model_read_vocab(&j, &tok->model) || !json_end(&j)) return err->code;
    return model_build_vocab(&tok->model, f->path, err);
}

struct pairs {
    struct bpe_pair *items;
    size_t count, cap;
};

static sabok_status add_pair(const struct folder_file *f, size_t at, size_t n, size_t line, struct pairs *p,
                             sabok_error *err) {
    const char *text = f->text + at, *space = memchr(text, ' ', n);
    const size_t left = space ? (size_t)(space - text) : n;
    if (!space || left == 0 || left + 1 == n || memchr(space + 1, ' ', n - left - 1))
        return error_at(err, SABOK_EFORMAT, f->path, at,
                        "line %zu: \"%.*s\", expected two pieces with one space between", line,
                        (int)size_min(n, 100), text);
    const size_t bad = utf8_check(text, n);
    if (bad < n)
        return error_at(err, SABOK_EFORMAT, f->path, at + bad, "line %zu: byte 0x%02x is not UTF-8", line,
                        (unsigned char)text[bad]);
    if (p->count == p->cap && !mem_grow((void **)&p->items, &p->cap, p->count + 1, sizeof *p->items))
        return error_memory(err, f->path);
    p->items[p->count++] = (struct bpe_pair){{text, left}, {space + 1, n - left - 1}, at};
    return SABOK_OK;
}

static sabok_status read_merges(const struct folder_file *f, struct pairs *p, sabok_error *err) {
    static const char version[] = "#version";
    size_t at = 0;
    for (size_t line = 1; at < f->size; line++) {
        const char *end = memchr(f->text + at, '\n', f->size - at);
        const size_t next = end ? (size_t)(end - f->text) + 1 : f->size;
        size_t n = (end ? (size_t)(end - f->text) : f->size) - at;
        if (n > 0 && f->text[at + n - 1] == '\r') n--;
        const bool heading =
            line == 1 && n >= sizeof version - 1 && memcmp(f->text, version, sizeof version - 1) == 0;
        const bool end_of_file = n == 0 && next == f->size;
        if (!heading && !end_of_file) TRY(add_pair(f, at, n, line, p, err));
        at = next;
    }
    return SABOK_OK;
}

static sabok_status add_template(struct sabok_tokenizer *tok, const struct folder_config *c,
                                 sabok_error *err) {
    struct template_piece cls, sep;
    if (c->class->special[SPECIAL_CLS]) {
        TRY(folder_find_token(tok, folder_special_text(c, SPECIAL_CLS), "cls_token", &cls, err));
        TRY(folder_find_token(tok, folder_special_text(c, SPECIAL_SEP), "sep_token", &sep, err));
        tok->post.given = true;
        tok->post.trim = c->trim;
        tok->post.prefix_space = c->prefix_space;
        return postprocessor_roberta(&tok->post, cls, sep) ? SABOK_OK : error_memory(err, tok->path);
    }
    if (!c->add_bos) return SABOK_OK;
    TRY(folder_find_token(tok, folder_special_text(c, SPECIAL_BOS), "bos_token", &cls, err));
    const struct template_piece first = {TEMPLATE_FIRST, 0, 0, NULL}, second = {TEMPLATE_SECOND, 1, 0, NULL};
    tok->post.given = true;
    const bool ok = template_add(&tok->post.single, cls) && template_add(&tok->post.single, first) &&
                    template_add(&tok->post.pair, cls) && template_add(&tok->post.pair, first) &&
                    template_add(&tok->post.pair, second);
    return ok ? SABOK_OK : error_memory(err, tok->path);
}

sabok_status folder_read_merges(struct sabok_tokenizer *tok, const struct folder_files *f,
                                const struct folder_config *c, sabok_error *err) {
    struct pairs pairs = {0};
    char steps[256];
    tok->model.kind = &model_bpe;
    tok->model.bpe.unk = NO_PIECE;
    TRY(read_vocab(tok, &f->vocab, err));
    sabok_status status = read_merges(&f->merges, &pairs, err);
    if (status == SABOK_OK) status = bpe_build(&tok->model, pairs.items, pairs.count, f->merges.path, err);
    mem_free(pairs.items);
    if (status != SABOK_OK) return status;
    const int n = snprintf(steps, sizeof steps,
                           "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":%s},"
                           "\"decoder\":{\"type\":\"ByteLevel\"}}",
                           c->prefix_space ? "true" : "false");
    TRY(tokenizer_read_steps(tok, steps, (size_t)n, err));
    TRY(folder_add_tokens(tok, c, err));
    return add_template(tok, c, err);
}
