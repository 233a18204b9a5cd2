// Tokenizers of test/golden/tokenizer against what the reference gave: every value of every encoding, by the
// long way and by the short one.
#include "base/check.h"

#include "text/tokenizer.h"

#include <dirent.h>

#define FOLDER SABOK_TEST_DIR "/golden/tokenizer"
#define LENGTH_MAX 4096
#define WINDOWS_MAX 256

static unsigned long cases, refused, short_pairs;
static const char *case_folder;
static size_t case_line;

#define FAIL(...)                                                                                            \
    do {                                                                                                     \
        print_error("%s/%s/cases.jsonl line %zu: ", FOLDER, case_folder, case_line);                         \
        fail_msg(__VA_ARGS__);                                                                               \
    } while (0)

struct expected { // one window
    struct json_text tokens[LENGTH_MAX];
    uint64_t ids[LENGTH_MAX], types[LENGTH_MAX], special[LENGTH_MAX], words[LENGTH_MAX];
    uint64_t offsets[2 * LENGTH_MAX];
    size_t length, counts[6];
};
struct golden {
    struct json_text text, pair;
    bool has_pair, has_options, error;
    bool stride_error; // the reference stopped at the stride of windows
    sabok_tokenize_opts opts;
    struct expected *windows;
    size_t window_count;
};

// Numbers of a list, or of a list of pairs; null is SABOK_NO_WORD.
static size_t read_numbers(struct json *j, uint64_t *out, size_t n) {
    assert_true(json_array_begin(j));
    while (json_item(j)) {
        assert_true(n < 2 * LENGTH_MAX);
        if (json_peek(j) == JSON_ARRAY) {
            n = read_numbers(j, out, n);
        } else if (json_peek(j) == JSON_NULL) {
            json_null(j);
            out[n++] = SABOK_NO_WORD;
        } else {
            assert_true(json_u64(j, &out[n++]));
        }
    }
    return n;
}

static size_t read_texts(struct json *j, struct json_text *out) {
    size_t n = 0;
    assert_true(json_array_begin(j));
    while (json_item(j))
        assert_true(n < LENGTH_MAX && json_string(j, &out[n++]));
    return n;
}

static bool read_value(struct json *j, struct json_text key, struct expected *e) {
    if (json_text_is(key, "ids"))
        e->length = e->counts[0] = read_numbers(j, e->ids, 0);
    else if (json_text_is(key, "type_ids"))
        e->counts[1] = read_numbers(j, e->types, 0);
    else if (json_text_is(key, "special_tokens_mask"))
        e->counts[2] = read_numbers(j, e->special, 0);
    else if (json_text_is(key, "words"))
        e->counts[3] = read_numbers(j, e->words, 0);
    else if (json_text_is(key, "offsets"))
        e->counts[4] = read_numbers(j, e->offsets, 0) / 2;
    else if (json_text_is(key, "tokens"))
        e->counts[5] = read_texts(j, e->tokens);
    else
        return false;
    return true;
}

static void read_options(struct json *j, sabok_tokenize_opts *opts) {
    static const char *const names[] = {"longest_first", "only_first", "only_second"};
    struct json_text key, text;
    uint64_t x;
    assert_true(json_object_begin(j));
    while (json_key(j, &key)) {
        if (json_text_is(key, "truncation")) {
            assert_true(json_string(j, &text));
            for (size_t i = 0; i < COUNT(names); i++)
                if (json_text_is(text, names[i]))
                    opts->truncation = (sabok_truncation)(SABOK_TRUNCATE_LONGEST_FIRST + (int)i);
        } else if (json_text_is(key, "no_special")) {
            assert_true(json_bool(j, &opts->no_special));
        } else if (json_text_is(key, "overflow")) {
            assert_true(json_bool(j, &opts->overflow));
        } else {
            const bool stride = json_text_is(key, "stride");
            assert_true(stride || json_text_is(key, "max_length"));
            assert_true(json_u64(j, &x));
            *(stride ? &opts->stride : &opts->max_length) = (size_t)x;
        }
    }
}

static void read_overflow(struct json *j, struct golden *g) {
    struct json_text key;
    assert_true(json_array_begin(j));
    while (json_item(j)) {
        assert_true(g->window_count < WINDOWS_MAX && json_object_begin(j));
        while (json_key(j, &key))
            assert_true(read_value(j, key, &g->windows[g->window_count]));
        g->window_count++;
    }
}

static void read_case(struct json *j, struct golden *g) {
    struct json_text key, text;
    g->window_count = 1;
    assert_true(json_object_begin(j));
    while (json_key(j, &key)) {
        if (json_text_is(key, "text")) {
            assert_true(json_string(j, &g->text));
        } else if (json_text_is(key, "pair")) {
            g->has_pair = json_string(j, &g->pair);
        } else if (json_text_is(key, "options")) {
            g->has_options = true;
            read_options(j, &g->opts);
        } else if (json_text_is(key, "overflow")) {
            read_overflow(j, g);
        } else if (json_text_is(key, "error")) {
            g->error = json_string(j, &text);
            g->stride_error = text.size > 8 && memcmp(text.data, "`stride`", 8) == 0;
        } else if (!read_value(j, key, &g->windows[0])) {
            FAIL("unknown key %.*s", (int)key.size, key.data);
        }
    }
    if (!json_end(j)) FAIL("%s", j->err->message);
}

// ---------------------------------------------------------------------------------------------- checks

static void check_window(const struct expected *w, const sabok_encoding *e) {
    for (size_t i = 0; i < COUNT(w->counts); i++)
        assert_int_equal(w->counts[i], w->length);
    if (e->length != w->length) FAIL("%zu tokens, expected %zu", e->length, w->length);
    for (size_t i = 0; i < w->length; i++) {
        if (e->ids[i] != w->ids[i]) FAIL("id %zu is %u, expected %u", i, e->ids[i], (unsigned)w->ids[i]);
        if (e->type_ids[i] != w->types[i]) FAIL("type id %zu is %u", i, e->type_ids[i]);
        if (e->special_mask[i] != w->special[i]) FAIL("special mask %zu is %u", i, e->special_mask[i]);
        if (e->words[i] != w->words[i])
            FAIL("word %zu is %u, expected %u", i, e->words[i], (unsigned)w->words[i]);
        if (e->offsets[i].begin != w->offsets[2 * i] || e->offsets[i].end != w->offsets[2 * i + 1])
            FAIL("offset %zu is (%zu, %zu), expected (%zu, %zu)", i, e->offsets[i].begin, e->offsets[i].end,
                 (size_t)w->offsets[2 * i], (size_t)w->offsets[2 * i + 1]);
        // A token that is what an unknown part of the text says ends at a NUL of it.
        struct json_text token = w->tokens[i];
        token.size = strnlen(token.data, token.size);
        if (!json_text_is(token, e->tokens[i])) FAIL("token %zu is \"%s\"", i, e->tokens[i]);
    }
}

// Byte offsets say the same as character offsets.
static void check_bytes(struct json_text text, const sabok_encoding *e) {
    for (size_t i = 0; i < e->length; i++) {
        if (e->special_mask[i]) continue;
        const size_t bytes[2] = {e->offsets_bytes[i].begin, e->offsets_bytes[i].end};
        const size_t chars[2] = {e->offsets[i].begin, e->offsets[i].end};
        for (int k = 0; k < 2; k++) {
            size_t n = 0;
            assert_true(bytes[k] <= text.size);
            for (size_t b = 0; b < bytes[k]; b++)
                n += ((unsigned char)text.data[b] & 0xc0) != 0x80;
            assert_int_equal(n, chars[k]);
        }
    }
}

// tokenizer_encode_ids gives the same ids and types.
static void check_short(const sabok_tokenizer *tok, struct json_text text, const sabok_encoding *e) {
    struct token_scratch *s = token_scratch_new(tok);
    struct token_ids ids = {0};
    assert_true(tokenizer_encode_ids(tok, s, text.data, text.size, tokenizer_max_length(tok), &ids));
    bool same = ids.size == e->length;
    for (size_t i = 0; same && i < ids.size; i++)
        same = ids.ids[i] == e->ids[i] && ids.types[i] == e->type_ids[i];
    if (!same) FAIL("the short way differs");
    mem_free(ids.ids);
    mem_free(ids.types);
    token_scratch_free(s);
}

// tokenizer_encode_pair_ids gives the same as the first window.
static void check_pair(const sabok_tokenizer *tok, const struct golden *g, const sabok_encoding *e) {
    struct token_scratch *s = token_scratch_new(tok);
    struct token_ids ids = {0};
    struct truncation cut;
    const struct text_pair pair = {{g->text.data, g->pair.data}, {g->text.size, g->pair.size}};
    assert_int_equal(tokenizer_truncation(tok, &g->opts, &cut, NULL), SABOK_OK);
    assert_true(tokenizer_encode_pair_ids(tok, s, &pair, cut.strategy, cut.max_length, &ids));
    bool same = ids.size == e->length;
    for (size_t i = 0; same && i < ids.size; i++)
        same = ids.ids[i] == e->ids[i] && ids.types[i] == e->type_ids[i];
    if (!same) FAIL("the short way of pairs differs");
    short_pairs++;
    mem_free(ids.ids);
    mem_free(ids.types);
    token_scratch_free(s);
}

static void check_ids_only(sabok_encodings *encs, sabok_encodings *ids) {
    assert_non_null(ids);
    assert_int_equal(sabok_encodings_count(ids), sabok_encodings_count(encs));
    for (size_t i = 0; i < sabok_encodings_count(encs); i++) {
        const sabok_encoding *a = sabok_encodings_get(encs, i), *b = sabok_encodings_get(ids, i);
        assert_int_equal(a->length, b->length);
        assert_memory_equal(a->ids, b->ids, a->length * sizeof *a->ids);
        assert_memory_equal(a->type_ids, b->type_ids, a->length * sizeof *a->ids);
        assert_memory_equal(a->special_mask, b->special_mask, a->length);
        assert_null(b->offsets);
    }
}

static void run_case(const sabok_tokenizer *tok, struct golden *g) {
    sabok_tokenize_opts *opts = &g->opts;
    const char *texts[1] = {g->text.data}, *pairs[1] = {g->pair.data};
    const char *const *second = g->has_pair ? pairs : NULL;
    opts->text_lengths = &g->text.size;
    opts->pair_lengths = &g->pair.size;
    sabok_error err = {0};
    sabok_encodings *encs = sabok_tokenize(tok, texts, second, 1, opts, &err);
    // Where the specials alone are more than max_length, the reference's subtraction wraps and it cuts
    // nothing; here that is an error, as docs/formats.md says.
    const size_t specials = (g->has_pair ? &tok->post.pair : &tok->post.single)->specials;
    cases++;
    // A stride too long for windows matters only where windows are asked for; the reference stops in any
    // case.
    if (g->stride_error && !opts->overflow) {
        if (!encs) FAIL("%s", err.message);
        assert_int_equal(sabok_encodings_get(encs, 0)->length, tokenizer_max_length(tok));
        sabok_encodings_free(encs);
        return;
    }
    if (g->error || (opts->max_length && !opts->no_special && opts->max_length < specials)) {
        refused++;
        if (encs) FAIL("expected a refusal");
        assert_int_equal(err.code, SABOK_EINVAL);
        return;
    }
    if (!encs) FAIL("%s", err.message);
    if (sabok_encodings_count(encs) != g->window_count)
        FAIL("%zu windows, expected %zu", sabok_encodings_count(encs), g->window_count);
    for (size_t i = 0; i < g->window_count; i++)
        check_window(&g->windows[i], sabok_encodings_get(encs, i));
    if (!g->has_pair) check_bytes(g->text, sabok_encodings_get(encs, 0));
    if (!g->has_pair && !g->has_options) check_short(tok, g->text, sabok_encodings_get(encs, 0));
    if (g->has_pair && !opts->no_special) check_pair(tok, g, sabok_encodings_get(encs, 0));
    opts->ids_only = true;
    sabok_encodings *ids = sabok_tokenize(tok, texts, second, 1, opts, &err);
    check_ids_only(encs, ids);
    sabok_encodings_free(ids);
    sabok_encodings_free(encs);
}

static void run_folder(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", FOLDER, name);
    sabok_error err = {0};
    case_folder = name;
    case_line = 0;
    sabok_tokenizer *tok = sabok_tokenizer_open(path, &err);
    if (!tok) FAIL("%s", err.message);
    snprintf(path, sizeof path, "%s/%s/cases.jsonl", FOLDER, name);
    char *text;
    size_t size;
    if (file_read(path, (size_t)1 << 30, &text, &size, &err) != SABOK_OK) FAIL("%s", err.message);
    struct expected *windows = mem_array(WINDOWS_MAX, sizeof *windows);
    assert_non_null(windows);
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t n = end ? (size_t)(end - text) - at : size - at;
        struct golden g = {.windows = windows};
        struct arena arena;
        struct json j;
        arena_init(&arena, 0);
        json_init(&j, text + at, n, path, &arena, &err);
        case_line++;
        read_case(&j, &g);
        run_case(tok, &g);
        arena_free(&arena);
        at += n + 1;
    }
    if (case_line == 0) FAIL("no cases");
    mem_free(windows);
    mem_free(text);
    sabok_tokenizer_close(tok);
}

static void every_folder(void **state) {
    (void)state;
    DIR *dir = opendir(FOLDER);
    assert_non_null(dir);
    size_t folders = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        if (strchr(e->d_name, '.')) continue;
        run_folder(e->d_name);
        folders++;
    }
    closedir(dir);
    printf("%zu tokenizers, %lu cases, %lu refusals\n", folders, cases, refused);
    assert_true(folders > 20 && cases > 1000 && refused > 0 && short_pairs > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
