// Plain vocab.txt, one piece a line, with what tokenizer_config.json says about it.
#include "text/tokenizer.h"

#include <string.h>

enum special_name { UNK, SEP, PAD, CLS, MASK, SPECIAL_COUNT };
struct vocab_config {
    bool lower_case, ideographs, accents_given, strip_accents;
    struct json_text special[SPECIAL_COUNT];
};
static const char *const special_keys[] = {"unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

// A special token is written as its text, or as an object with "content"; null leaves the usual one.
static bool read_special(struct json *j, struct json_text *out) {
    struct json_text key;
    const enum json_kind kind = json_peek(j);
    if (kind == JSON_NULL) return json_null(j);
    if (kind == JSON_STRING) return json_string(j, out);
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key))
        if (!(json_text_is(key, "content") ? json_string(j, out) : json_skip(j))) return false;
    return !j->failed;
}

static bool read_flag(struct json *j, bool *out, bool *given) {
    if (json_peek(j) == JSON_NULL) return json_null(j);
    if (given) *given = true;
    return json_bool(j, out);
}

static bool read_config(struct json *j, struct vocab_config *c) {
    struct json_text key;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        size_t s = 0;
        while (s < SPECIAL_COUNT && !json_text_is(key, special_keys[s]))
            s++;
        bool ok;
        if (s < SPECIAL_COUNT)
            ok = read_special(j, &c->special[s]);
        else if (json_text_is(key, "do_lower_case"))
            ok = read_flag(j, &c->lower_case, NULL);
        else if (json_text_is(key, "tokenize_chinese_chars"))
            ok = read_flag(j, &c->ideographs, NULL);
        else if (json_text_is(key, "strip_accents"))
            ok = read_flag(j, &c->strip_accents, &c->accents_given);
        else
            ok = json_skip(j);
        if (!ok) return false;
    }
    return json_end(j);
}

static sabok_status read_lines(struct sabok_tokenizer *tok, const char *text, size_t size, sabok_error *err) {
    size_t at = 0;
    for (uint32_t id = 0; at < size; id++) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t next = end ? (size_t)(end - text) + 1 : size;
        size_t n = (end ? (size_t)(end - text) : size) - at;
        if (n > 0 && text[at + n - 1] == '\r') n--;
        if (id == INT32_MAX)
            return error_at(err, SABOK_EFORMAT, tok->path, at, "more than %d lines", INT32_MAX);
        for (size_t i = 0; i < n;) {
            uint32_t c;
            const size_t k = utf8_read((const uint8_t *)text + at + i, n - i, &c);
            if (c == CHAR_REPLACEMENT && (k < 3 || (unsigned char)text[at + i] != 0xef))
                return error_at(err, SABOK_EFORMAT, tok->path, at + i, "byte 0x%02x is not UTF-8",
                                (unsigned char)text[at + i]);
            i += k;
        }
        tok->model.vocab.later_wins = true;
        // An empty line takes its id and is no piece: nothing in a text is spelt with nothing.
        if (n > 0 && !vocab_add(&tok->model.vocab, (struct json_text){text + at, n}, id, at))
            return error_memory(err, tok->path);
        at = next;
    }
    return SABOK_OK;
}

static sabok_status add_specials(struct sabok_tokenizer *tok, const struct vocab_config *c,
                                 sabok_error *err) {
    struct template_piece pieces[SPECIAL_COUNT] = {0};
    const struct vocab *v = &tok->model.vocab;
    for (size_t i = 0; i < SPECIAL_COUNT; i++) {
        const struct json_text t = c->special[i];
        const uint32_t piece = vocab_find(v, t.data, t.size);
        if (piece == NO_PIECE && (i == CLS || i == SEP))
            return error_set(err, SABOK_EFORMAT, tok->path,
                             "%s \"%.*s\" is not in the vocabulary, expected a line of it", special_keys[i],
                             text_shown(t), t.data);
        if (piece == NO_PIECE) continue;
        pieces[i].id = v->pieces[piece].id;
        pieces[i].text = arena_copy(&tok->arena, t.data, t.size);
        struct added *a = &tok->added;
        if (!pieces[i].text ||
            (a->count == a->cap && !mem_grow((void **)&a->tokens, &a->cap, a->count + 1, sizeof *a->tokens)))
            return error_memory(err, tok->path);
        a->tokens[a->count++] = (struct added_token){.text = pieces[i].text,
                                                     .size = t.size,
                                                     .at = v->pieces[piece].at,
                                                     .id = pieces[i].id,
                                                     .special = true};
    }
    struct template_piece end = pieces[SEP];
    end.type_id = 1;
    struct template *single = &tok->post.single, *pair = &tok->post.pair;
    const struct template_piece first = {TEMPLATE_FIRST, 0, 0, NULL}, second = {TEMPLATE_SECOND, 1, 0, NULL};
    const bool ok = template_add(single, pieces[CLS]) && template_add(single, first) &&
                    template_add(single, pieces[SEP]) && template_add(pair, pieces[CLS]) &&
                    template_add(pair, first) && template_add(pair, pieces[SEP]) &&
                    template_add(pair, second) && template_add(pair, end);
    tok->post.given = true;
    return ok ? SABOK_OK : error_memory(err, tok->path);
}

sabok_status tokenizer_read_vocab(struct sabok_tokenizer *tok, const char *text, size_t size,
                                  const struct vocab_side *side, sabok_error *err) {
    struct vocab_config c = {
        .lower_case = true,
        .ideographs = true,
        .special = {{"[UNK]", 5}, {"[SEP]", 5}, {"[PAD]", 5}, {"[CLS]", 5}, {"[MASK]", 6}}};
    sabok_error local = {0};
    if (!err) err = &local;
    if (side->text) {
        struct json j;
        json_init(&j, side->text, side->size, side->path, &tok->arena, err);
        if (!read_config(&j, &c)) return err->code;
    }
    struct model *m = &tok->model;
    m->kind = &model_wordpiece;
    m->wordpiece.prefix = "##";
    m->wordpiece.prefix_size = 2;
    m->wordpiece.max_chars = 100;
    TRY(read_lines(tok, text, size, err));
    TRY(wordpiece_build(m, c.special[UNK], 0, tok->path, err));
    const struct normalizer_step bert = {
        .kind = &normalizer_bert,
        .bert = {true, c.ideographs, c.accents_given ? c.strip_accents : c.lower_case, c.lower_case}};
    const struct pretokenizer_step split = {.kind = &pretokenizer_bert};
    if (!normalizer_add(&tok->normalizer, &bert) || !pretokenizer_add(&tok->pretokenizer, &split))
        return error_memory(err, tok->path);
    return add_specials(tok, &c, err);
}
