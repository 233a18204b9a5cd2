// Any bytes as a text, through one of a few tokenizers that the first byte picks: both ways give the same ids, offsets lie
// inside the text, on the borders of characters and in order, and a cut text has the first tokens of the whole.
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BERT(clean, ideographs, accents, lower)                                                              \
    "{\"type\":\"BertNormalizer\",\"clean_text\":" clean ",\"handle_chinese_chars\":" ideographs             \
    ",\"strip_accents\":" accents ",\"lowercase\":" lower "}"
#define ADDED(id, text, word, left, right, normalized)                                                       \
    "{\"id\":" id ",\"content\":\"" text "\",\"single_word\":" word ",\"lstrip\":" left ",\"rstrip\":" right \
    ",\"normalized\":" normalized ",\"special\":false}"

struct shape {
    const char *normalizer, *pretokenizer, *added;
    bool ordered; // no added token can overlap another, so tokens come in order
};
static const struct shape shapes[] = {
    {BERT("true", "true", "null", "true"), "{\"type\":\"BertPreTokenizer\"}",
     ADDED("40", "[MASK]", "false", "false", "false", "false"), true},
    {BERT("true", "true", "false", "false"), "{\"type\":\"BertPreTokenizer\"}", "", true},
    {BERT("false", "false", "true", "false"), "{\"type\":\"WhitespaceSplit\"}", "", true},
    {"{\"type\":\"NFKC\"}", "{\"type\":\"Whitespace\"}", ADDED("5", "ab", "true", "true", "true", "true"),
     true},
    {"{\"type\":\"NFD\"}", "null", ADDED("40", " a", "false", "true", "false", "true"), false},
    {"{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFKD\"},{\"type\":\"StripAccents\"},{\"type\":"
     "\"Lowercase\"},"
     "{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}]}",
     "{\"type\":\"Punctuation\",\"behavior\":\"MergedWithNext\"}", "", true},
    {"null", "{\"type\":\"Digits\",\"individual_digits\":false}",
     ADDED("1", "a", "false", "true", "true", "false") "," ADDED("20", " ", "false", "false", "true",
                                                                 "false"),
     false},
};
static sabok_tokenizer *tokenizers[COUNT(shapes)];

static void check(bool ok) {
    if (!ok) abort();
}

static sabok_tokenizer *make(const struct shape *shape) {
    static const char *const pieces[] = {"[UNK]",
                                         "a",
                                         "##a",
                                         "b",
                                         "##b",
                                         "ab",
                                         "##ab",
                                         "abc",
                                         "the",
                                         "##s",
                                         "1",
                                         "##1",
                                         "é",
                                         "##é",
                                         "e",
                                         "##e",
                                         "!",
                                         "##!",
                                         "大",
                                         "##大",
                                         " ",
                                         "## ",
                                         "\u1112\u1161",
                                         "##\u11ab",
                                         "하",
                                         "##\u0301",
                                         "i\u0307",
                                         "##\u0307",
                                         "ß",
                                         "A",
                                         "##A",
                                         "\ufffd",
                                         "ﬁ",
                                         "fi",
                                         "ss",
                                         "##\U0001d165",
                                         "\U0001d165",
                                         "\U0001d16d",
                                         "σ",
                                         "ς"};
    struct buf b = {0};
    buf_printf(&b, "{\"added_tokens\":[%s],\"normalizer\":%s,\"pre_tokenizer\":%s,", shape->added,
               shape->normalizer, shape->pretokenizer);
    buf_printf(
        &b, "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","
            "\"max_input_chars_per_word\":30,\"vocab\":{");
    for (size_t i = 0; i < COUNT(pieces); i++)
        buf_printf(&b, "%s\"%s\":%zu", i ? "," : "", pieces[i], i);
    buf_printf(&b, "}}}");
    sabok_error err = {0};
    sabok_tokenizer *tok = b.failed ? NULL : tokenizer_parse(b.data, b.size, "shape", &err);
    if (!tok) fprintf(stderr, "%s\n", err.message);
    check(tok != NULL);
    buf_free(&b);
    return tok;
}

// Marks the bytes where characters begin, and the end.
static void mark_borders(const char *text, size_t size, bool *border) {
    memset(border, 0, size + 1);
    border[size] = true;
    for (size_t i = 0; i < size;) {
        uint32_t c;
        border[i] = true;
        i += utf8_read((const uint8_t *)text + i, size - i, &c);
    }
}

static void check_tokens(const struct shape *shape, const struct token_scratch *s, const char *text,
                         size_t size) {
    uint32_t begin = 0, end = 0, word = 0;
    bool *border = malloc(size + 1);
    check(border != NULL);
    mark_borders(text, size, border);
    for (size_t i = 0; i < s->token_count; i++) {
        const struct token *t = &s->tokens[i];
        check(t->begin <= t->end && t->word >= word && t->word <= word + 1);
        check(scratch_byte(s, t->end) <= size);
        check(border[scratch_byte(s, t->begin)] && border[scratch_byte(s, t->end)]);
        if (shape->ordered) check(t->begin >= begin && t->end >= end);
        begin = t->begin;
        end = t->end;
        word = t->word;
    }
    free(border);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const size_t which = data[0] % COUNT(shapes);
    if (!tokenizers[which]) tokenizers[which] = make(&shapes[which]);
    const sabok_tokenizer *tok = tokenizers[which];
    static struct token_scratch *scratches[COUNT(shapes)]; // kept, so that the word cache meets old words
    if (!scratches[which]) scratches[which] = token_scratch_new(tok);
    struct token_scratch *s = scratches[which];
    char *text = malloc(size); // of this size exactly, so that a sanitizer sees reads beyond
    check(s && text);
    memcpy(text, data + 1, size - 1);
    size--;
    struct token_ids ids = {0}, cut = {0};
    const struct json_text whole = {text, size};
    const size_t limit = data[0] / COUNT(shapes);
    check(encode_ids(tok, s, whole, SIZE_MAX, &ids) && encode_ids(tok, s, whole, limit, &cut));
    check(encode_text(tok, s, text, size));
    check(ids.size == s->token_count && cut.size == size_min(ids.size, limit));
    for (size_t i = 0; i < ids.size; i++)
        check(ids.ids[i] == s->tokens[i].id && (i >= cut.size || cut.ids[i] == ids.ids[i]));
    check_tokens(&shapes[which], s, text, size);
    mem_free(ids.ids);
    mem_free(ids.types);
    mem_free(cut.ids);
    mem_free(cut.types);
    free(text);
    return 0;
}
