// Tokenizers of test/golden/tokenizer against what the reference gave: every value of every encoding, by the long way
// and by the short one.
#include "base/check.h"

#include "text/text.h"
#include "text/tokenizer.h"

#include <dirent.h>
#include <jansson.h>

#define FOLDER SABOK_TEST_DIR "/golden/tokenizer"

static unsigned long cases, refused;

static json_t *spans_json(const sabok_span *s, size_t n) {
    json_t *a = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(a, json_pack("[II]", (json_int_t)s[i].begin, (json_int_t)s[i].end));
    return a;
}

static json_t *numbers_json(const uint32_t *x, size_t n) {
    json_t *a = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(a, x[i] == SABOK_NO_WORD ? json_null() : json_integer(x[i]));
    return a;
}

static json_t *encoding_json(const sabok_encoding *e) {
    json_t *o = json_object(), *special = json_array(), *tokens = json_array();
    for (size_t i = 0; i < e->length; i++) {
        json_array_append_new(special, json_integer(e->special_mask[i]));
        json_array_append_new(tokens, json_string(e->tokens[i]));
    }
    json_object_set_new(o, "ids", numbers_json(e->ids, e->length));
    json_object_set_new(o, "type_ids", numbers_json(e->type_ids, e->length));
    json_object_set_new(o, "words", numbers_json(e->words, e->length));
    json_object_set_new(o, "offsets", spans_json(e->offsets, e->length));
    json_object_set_new(o, "special_tokens_mask", special);
    json_object_set_new(o, "tokens", tokens);
    return o;
}

static void check_equal(const char *name, size_t line, const json_t *expected, const sabok_encoding *e) {
    static const char *const keys[] = {"ids", "type_ids", "tokens", "offsets", "special_tokens_mask", "words"};
    json_t *found = encoding_json(e);
    for (size_t i = 0; i < COUNT(keys); i++) {
        const json_t *want = json_object_get(expected, keys[i]), *have = json_object_get(found, keys[i]);
        if (json_equal(want, have)) continue;
        char *w = json_dumps(want, 0), *h = json_dumps(have, 0);
        fail_msg("%s/%s/cases.jsonl line %zu: %s is %s, expected %s", FOLDER, name, line, keys[i], h, w);
    }
    json_decref(found);
}

// Byte offsets say the same as character offsets.
static void check_bytes(const char *text, size_t size, const sabok_encoding *e) {
    for (size_t i = 0; i < e->length; i++) {
        if (e->special_mask[i]) continue;
        const size_t bytes[2] = {e->offsets_bytes[i].begin, e->offsets_bytes[i].end};
        const size_t chars[2] = {e->offsets[i].begin, e->offsets[i].end};
        for (int k = 0; k < 2; k++) {
            size_t n = 0;
            assert_true(bytes[k] <= size);
            for (size_t b = 0; b < bytes[k]; b++)
                n += ((unsigned char)text[b] & 0xc0) != 0x80;
            assert_int_equal(n, chars[k]);
        }
    }
}

static sabok_tokenize_opts read_options(const json_t *o) {
    static const char *const names[] = {"longest_first", "only_first", "only_second"};
    sabok_tokenize_opts opts = {.truncation = SABOK_TRUNCATE_DEFAULT};
    const char *strategy = json_string_value(json_object_get(o, "truncation"));
    for (size_t i = 0; strategy && i < COUNT(names); i++)
        if (strcmp(strategy, names[i]) == 0)
            opts.truncation = (sabok_truncation)(SABOK_TRUNCATE_LONGEST_FIRST + (int)i);
    opts.no_special = json_is_true(json_object_get(o, "no_special"));
    opts.overflow = json_is_true(json_object_get(o, "overflow"));
    opts.max_length = (size_t)json_integer_value(json_object_get(o, "max_length"));
    opts.stride = (size_t)json_integer_value(json_object_get(o, "stride"));
    return opts;
}

// The short way gives the same ids.
static void check_short(const sabok_tokenizer *tok, const char *name, size_t line, const char *text, size_t size,
                        const sabok_encoding *e) {
    struct token_scratch *s = token_scratch_new(tok);
    struct token_ids ids = {0};
    assert_true(tokenizer_encode_ids(tok, s, text, size, tokenizer_max_length(tok), &ids));
    if (ids.size != e->length || memcmp(ids.ids, e->ids, e->length * sizeof *e->ids) != 0 ||
        memcmp(ids.types, e->type_ids, e->length * sizeof *e->ids) != 0)
        fail_msg("%s/%s/cases.jsonl line %zu: the short way differs", FOLDER, name, line);
    mem_free(ids.ids);
    mem_free(ids.types);
    token_scratch_free(s);
}

static void run_case(const sabok_tokenizer *tok, const char *name, size_t line, const json_t *c) {
    const json_t *text = json_object_get(c, "text"), *pair = json_object_get(c, "pair");
    const char *texts[2] = {json_string_value(text), json_string_value(pair)};
    const size_t sizes[2] = {json_string_length(text), json_string_length(pair)};
    sabok_tokenize_opts opts = read_options(json_object_get(c, "options"));
    opts.text_lengths = &sizes[0];
    opts.pair_lengths = &sizes[1];
    sabok_error err = {0};
    sabok_encodings *encs = sabok_tokenize(tok, &texts[0], pair ? &texts[1] : NULL, 1, &opts, &err);
    const bool no_room = opts.max_length == 1 && !opts.no_special;
    cases++;
    // Where the specials alone are more than max_length, the reference's subtraction wraps and it cuts nothing; here
    // that is an error, as docs/formats.md says.
    if (json_object_get(c, "error") || no_room) {
        refused++;
        if (encs) fail_msg("%s/%s/cases.jsonl line %zu: expected a refusal", FOLDER, name, line);
        assert_int_equal(err.code, SABOK_EINVAL);
        return;
    }
    if (!encs) fail_msg("%s/%s/cases.jsonl line %zu: %s", FOLDER, name, line, err.message);
    const json_t *more = json_object_get(c, "overflow");
    const size_t count = 1 + json_array_size(more);
    if (sabok_encodings_count(encs) != count)
        fail_msg("%s/%s/cases.jsonl line %zu: %zu windows, expected %zu", FOLDER, name, line,
                 sabok_encodings_count(encs), count);
    for (size_t i = 0; i < count; i++)
        check_equal(name, line, i ? json_array_get(more, i - 1) : c, sabok_encodings_get(encs, i));
    if (!pair) {
        check_bytes(texts[0], sizes[0], sabok_encodings_get(encs, 0));
        if (!json_object_get(c, "options"))
            check_short(tok, name, line, texts[0], sizes[0], sabok_encodings_get(encs, 0));
    }
    opts.ids_only = true;
    sabok_encodings *ids = sabok_tokenize(tok, &texts[0], pair ? &texts[1] : NULL, 1, &opts, &err);
    assert_non_null(ids);
    assert_int_equal(sabok_encodings_count(ids), count);
    for (size_t i = 0; i < count; i++) {
        const sabok_encoding *a = sabok_encodings_get(encs, i), *b = sabok_encodings_get(ids, i);
        assert_int_equal(a->length, b->length);
        assert_memory_equal(a->ids, b->ids, a->length * sizeof *a->ids);
        assert_memory_equal(a->type_ids, b->type_ids, a->length * sizeof *a->ids);
        assert_memory_equal(a->special_mask, b->special_mask, a->length);
        assert_null(b->offsets);
    }
    sabok_encodings_free(ids);
    sabok_encodings_free(encs);
}

static void run_folder(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", FOLDER, name);
    sabok_error err = {0};
    sabok_tokenizer *tok = sabok_tokenizer_open(path, &err);
    if (!tok) fail_msg("%s", err.message);
    snprintf(path, sizeof path, "%s/%s/cases.jsonl", FOLDER, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = NULL;
    size_t cap = 0, line = 0;
    for (ssize_t n; (n = getline(&text, &cap, f)) > 0;) {
        json_error_t problem;
        json_t *c = json_loadb(text, (size_t)n, JSON_ALLOW_NUL, &problem);
        if (!c) fail_msg("%s line %zu: %s", path, line + 1, problem.text);
        run_case(tok, name, ++line, c);
        json_decref(c);
    }
    assert_true(line > 0);
    free(text);
    fclose(f);
    sabok_tokenizer_close(tok);
}

static void every_folder(void **state) {
    (void)state;
    DIR *dir = opendir(FOLDER);
    assert_non_null(dir);
    size_t folders = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.' || strchr(e->d_name, '.')) continue;
        run_folder(e->d_name);
        folders++;
    }
    closedir(dir);
    printf("%zu tokenizers, %lu cases, %lu refusals\n", folders, cases, refused);
    assert_true(folders > 20 && cases > 1000 && refused > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
