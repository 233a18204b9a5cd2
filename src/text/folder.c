// The files beside a vocabulary, and opening a vocabulary with them.
#include "text/folder.h"

#include <stdlib.h>
#include <string.h>

#define FOLDER_FILE_MAX ((size_t)1 << 30)

static const char *const special_keys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                           "pad_token", "cls_token", "mask_token"};

// ---------------------------------------------------------------------------------------------- tokens

static bool tokens_push(struct json *j, struct folder_tokens *t, struct folder_token token) {
    if (t->count == FOLDER_TOKENS_MAX) return json_fail(j, "more than %d tokens", FOLDER_TOKENS_MAX);
    if (t->count == t->cap && !mem_grow((void **)&t->items, &t->cap, t->count + 1, sizeof *t->items))
        return read_memory(j);
    t->items[t->count++] = token;
    return true;
}

static bool *token_flag(struct folder_token *t, struct json_text key) {
    if (json_text_is(key, "single_word")) return &t->single_word;
    if (json_text_is(key, "lstrip")) return &t->lstrip;
    if (json_text_is(key, "rstrip")) return &t->rstrip;
    if (json_text_is(key, "normalized")) return &t->normalized;
    if (json_text_is(key, "special")) return &t->special;
    return NULL;
}

// A token is its text, or an object with "content" and flags, or null: then *out stays as it is. `special` is what an
// object without that flag is.
static bool read_token(struct json *j, bool special, struct folder_token *out) {
    struct folder_token t = {.special = special};
    struct json_text key;
    bool normalized = false;
    const enum json_kind kind = json_peek(j);
    if (kind == JSON_NULL) return json_null(j);
    const size_t begin = j->at;
    if (kind == JSON_STRING) {
        if (!json_string(j, &t.text)) return false;
    } else {
        t.object = true;
        if (!json_object_begin(j)) return false;
        while (json_key(j, &key)) {
            bool *flag = token_flag(&t, key);
            normalized = normalized || flag == &t.normalized;
            if (!(flag                           ? json_bool(j, flag)
                  : json_text_is(key, "content") ? json_string(j, &t.text)
                                                 : json_skip(j)))
                return false;
        }
        if (j->failed) return false;
        if (!normalized) t.normalized = !t.special;
    }
    const size_t end = j->at;
    j->at = begin;
    if (!t.text.data || t.text.size == 0)
        return json_fail(j, "a token without \"content\", expected some text");
    if (t.text.size > ADDED_BYTES_MAX)
        return json_fail(j, "a token of %zu bytes, expected at most %d", t.text.size, ADDED_BYTES_MAX);
    j->at = end;
    *out = t;
    return true;
}

static bool same_text(struct json_text a, struct json_text b) {
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

// Lists of both files join; a token listed again counts once.
static bool read_more(struct json *j, struct folder_config *c) {
    if (json_peek(j) != JSON_ARRAY) return json_skip(j);
    if (!json_array_begin(j)) return false;
    c->more_given = true;
    while (json_item(j)) {
        struct folder_token t = {0};
        if (!read_token(j, true, &t)) return false;
        bool again = !t.text.data;
        for (size_t i = 0; i < c->more.count && !again; i++)
            again = same_text(c->more.items[i].text, t.text);
        if (!again && !tokens_push(j, &c->more, t)) return false;
    }
    return !j->failed;
}

// {"4": {"content": ...}, ...}
static bool read_flagged(struct json *j, struct folder_config *c) {
    struct json_text key;
    if (json_peek(j) == JSON_NULL) return json_null(j);
    if (!json_object_begin(j)) return false;
    c->flags_given = true;
    while (json_key(j, &key)) {
        struct folder_token t = {0};
        uint64_t index = 0;
        for (size_t i = 0; i < key.size; i++) {
            if (key.data[i] < '0' || key.data[i] > '9' || index > INT32_MAX)
                return json_fail(j, "added_tokens_decoder \"%.*s\", expected an id", text_shown(key),
                                 key.data);
            index = index * 10 + (uint64_t)(key.data[i] - '0');
        }
        if (json_peek(j) != JSON_OBJECT) return json_fail(j, "an added token, expected an object");
        if (!read_token(j, false, &t)) return false;
        t.index = index;
        if (!tokens_push(j, &c->added, t)) return false;
    }
    return !j->failed;
}

// {"token": id, ...}: those that are special tokens, too, are found as written.
static bool read_added(struct json *j, struct folder_config *c) {
    struct json_text key;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        struct folder_token t = {.text = key};
        if (key.size == 0 || key.size > ADDED_BYTES_MAX)
            return json_fail(j, "an added token of %zu bytes, expected 1 to %d", key.size, ADDED_BYTES_MAX);
        if (!json_u64(j, &t.index)) return false;
        for (size_t s = 0; s < SPECIAL_COUNT; s++)
            t.special = t.special || (c->special[s].text.data && same_text(c->special[s].text, key));
        for (size_t i = 0; i < c->more.count; i++)
            t.special = t.special || same_text(c->more.items[i].text, key);
        t.normalized = !t.special;
        if (!tokens_push(j, &c->added, t)) return false;
    }
    return json_end(j);
}

static int compare_indexes(const void *a, const void *b) {
    const struct folder_token *x = a, *y = b;
    if (x->index != y->index) return x->index < y->index ? -1 : 1;
    return x->text.data < y->text.data ? -1 : x->text.data > y->text.data;
}

// ---------------------------------------------------------------------------------------------- files

static bool read_switch(struct json *j, bool *out, bool *given) {
    if (json_peek(j) == JSON_NULL) return json_null(j);
    if (given) *given = true;
    return json_bool(j, out);
}

static bool read_special(struct json *j, struct json_text key, struct folder_config *c, bool *known) {
    size_t s = 0;
    while (s < SPECIAL_COUNT && !json_text_is(key, special_keys[s]))
        s++;
    *known = true;
    if (s < SPECIAL_COUNT) return read_token(j, true, &c->special[s]);
    if (json_text_is(key, "additional_special_tokens") || json_text_is(key, "extra_special_tokens"))
        return read_more(j, c);
    *known = false;
    return true;
}

static bool read_config(struct json *j, struct folder_config *c, struct json_text *class) {
    struct json_text key;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        bool known;
        if (!read_special(j, key, c, &known)) return false;
        if (known) continue;
        const bool text = json_text_is(key, "tokenizer_class") && json_peek(j) == JSON_STRING;
        const bool ok =
            text                                          ? json_string(j, class)
            : json_text_is(key, "added_tokens_decoder")   ? read_flagged(j, c)
            : json_text_is(key, "do_lower_case")          ? read_switch(j, &c->lower_case, NULL)
            : json_text_is(key, "tokenize_chinese_chars") ? read_switch(j, &c->ideographs, NULL)
            : json_text_is(key, "strip_accents")    ? read_switch(j, &c->strip_accents, &c->accents_given)
            : json_text_is(key, "keep_accents")     ? read_switch(j, &c->keep_accents, NULL)
            : json_text_is(key, "add_prefix_space") ? read_switch(j, &c->prefix_space, NULL)
            : json_text_is(key, "trim_offsets")     ? read_switch(j, &c->trim, NULL)
            : json_text_is(key, "add_bos_token")    ? read_switch(j, &c->add_bos, NULL)
            : json_text_is(key, "clean_up_tokenization_spaces") ? read_switch(j, &c->clean_up, NULL)
                                                                : json_skip(j);
        if (!ok) return false;
    }
    return json_end(j);
}

static bool read_specials(struct json *j, struct folder_config *c) {
    struct json_text key;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        bool known;
        if (!read_special(j, key, c, &known) || (!known && !json_skip(j))) return false;
    }
    return json_end(j);
}

static bool read_model(struct json *j, struct json_text *class, struct json_text *model_type) {
    struct json_text key;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        struct json_text *out = json_text_is(key, "model_type")                        ? model_type
                                : json_text_is(key, "tokenizer_class") && !class->data ? class
                                                                                       : NULL;
        if (!(out && json_peek(j) == JSON_STRING ? json_string(j, out) : json_skip(j))) return false;
    }
    return json_end(j);
}

// True when there is nothing to read.
static bool open_file(struct json *j, const struct folder_file *f, struct arena *arena, sabok_error *err) {
    json_init(j, f->text, f->size, f->path, arena, err);
    return f->text == NULL;
}

sabok_status folder_config_read(const struct folder_files *f, const char *vocab_name, struct folder_config *c,
                                struct arena *arena, sabok_error *err) {
    struct json j;
    struct json_text class = {0}, model_type = {0};
    *c = (struct folder_config){.lower_case = true, .ideographs = true, .trim = true};
    if (!open_file(&j, &f->config, arena, err) && !read_config(&j, c, &class)) return err->code;
    if (!open_file(&j, &f->model, arena, err) && !read_model(&j, &class, &model_type)) return err->code;
    c->class = folder_class_find(class, model_type, vocab_name);
    c->general = json_text_is(class, "PreTrainedTokenizerFast") || json_text_is(class, "TokenizersBackend");
    // Where added tokens come with their flags, the two older files say nothing new.
    if (!c->flags_given) {
        if (!open_file(&j, &f->specials, arena, err) && !read_specials(&j, c)) return err->code;
        if (!open_file(&j, &f->added, arena, err) && !read_added(&j, c)) return err->code;
    }
    if (c->added.count) qsort(c->added.items, c->added.count, sizeof *c->added.items, compare_indexes);
    for (size_t s = 0; s < SPECIAL_COUNT && c->flags_given; s++) // a name means the added token of this name
        for (size_t i = 0; i < c->added.count && c->special[s].text.data && !c->special[s].object; i++)
            if (same_text(c->special[s].text, c->added.items[i].text)) c->special[s] = c->added.items[i];
    return SABOK_OK;
}

void folder_config_free(struct folder_config *c) {
    mem_free(c->more.items);
    mem_free(c->added.items);
    *c = (struct folder_config){0};
}

// ---------------------------------------------------------------------------------------------- opening

struct sabok_tokenizer *folder_parse(const struct folder_files *f, const char *vocab_name, sabok_error *err) {
    static folder_read_fn *const readers[] = {folder_read_lines, folder_read_merges, folder_read_pieces};
    struct sabok_tokenizer *tok = tokenizer_new(f->vocab.path, err);
    struct folder_config c;
    sabok_error local = {0};
    if (!tok) return NULL;
    if (!err) err = &local;
    sabok_status status = folder_config_read(f, vocab_name, &c, &tok->arena, err);
    if (status == SABOK_OK) status = readers[c.class->kind](tok, f, &c, err);
    if (status == SABOK_OK) status = tokenizer_finish(tok, err);
    folder_config_free(&c);
    if (status == SABOK_OK) return tok;
    sabok_tokenizer_close(tok);
    return NULL;
}

// The folder's part of a path with another file in its place; NULL when out of memory.
static char *beside(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    struct buf b = {0};
    if (slash) buf_put(&b, path, (size_t)(slash + 1 - path));
    buf_put(&b, name, strlen(name) + 1);
    if (!b.failed) return b.data;
    buf_free(&b);
    return NULL;
}

sabok_status folder_read_beside(const char *path, const char *name, bool needed, struct folder_file *out,
                                sabok_error *err) {
    char *text = NULL, *full = beside(path, name);
    if (!full) return error_memory(err, path);
    out->path = full;
    if (!needed && !file_exists(full)) return SABOK_OK;
    const sabok_status status = file_read(full, FOLDER_FILE_MAX, &text, &out->size, err);
    out->text = text;
    return status;
}

void folder_file_free(struct folder_file *f) {
    mem_free((char *)(uintptr_t)f->text);
    mem_free((char *)(uintptr_t)f->path);
}

struct sabok_tokenizer *folder_open(const char *vocab_path, sabok_error *err) {
    const char *slash = strrchr(vocab_path, '/'), *name = slash ? slash + 1 : vocab_path;
    const bool merges = folder_kind_of(name) == FOLDER_MERGES;
    struct folder_files f = {0};
    const struct {
        const char *name;
        struct folder_file *file;
        bool wanted, needed;
    } list[] = {{name, &f.vocab, true, true},
                {"merges.txt", &f.merges, merges, true},
                {"tokenizer_config.json", &f.config, true, false},
                {"special_tokens_map.json", &f.specials, true, false},
                {"added_tokens.json", &f.added, true, false},
                {"config.json", &f.model, true, false}};
    sabok_status status = SABOK_OK;
    for (size_t i = 0; i < COUNT(list) && status == SABOK_OK; i++)
        if (list[i].wanted)
            status = folder_read_beside(vocab_path, list[i].name, list[i].needed, list[i].file, err);
    struct sabok_tokenizer *tok = status == SABOK_OK ? folder_parse(&f, name, err) : NULL;
    for (size_t i = 0; i < COUNT(list); i++)
        folder_file_free(list[i].file);
    return tok;
}
