// Ids to text against what the reference gave (decoded.jsonl of test/golden/tokenizer): whole, with special tokens, and one
// id after another.
#include "base/check.h"

#include "text/tokenizer.h"

#include <dirent.h>

#define FOLDER SABOK_TEST_DIR "/golden/tokenizer"
#define IDS_MAX 4096

static unsigned long cases, streams;
static const char *case_folder;
static size_t case_line;

#define FAIL(...)                                                                                            \
    do {                                                                                                     \
        print_error("%s/%s/decoded.jsonl line %zu: ", FOLDER, case_folder, case_line);                       \
        fail_msg(__VA_ARGS__);                                                                               \
    } while (0)

struct golden {
    uint32_t ids[IDS_MAX];
    struct json_text stream[IDS_MAX]; // data NULL: nothing yet
    size_t length, stream_length;
    struct json_text whole, special;
};

static void read_stream(struct json *j, struct golden *g) {
    if (json_peek(j) == JSON_NULL) { // the reference gave up
        json_null(j);
        return;
    }
    assert_true(json_array_begin(j));
    while (json_item(j)) {
        struct json_text *t = &g->stream[g->stream_length++];
        *t = (struct json_text){0};
        assert_true(json_peek(j) == JSON_NULL ? json_null(j) : json_string(j, t));
    }
}

static void read_case(struct json *j, struct golden *g) {
    struct json_text key;
    uint64_t id;
    g->length = g->stream_length = 0;
    assert_true(json_object_begin(j));
    while (json_key(j, &key)) {
        if (json_text_is(key, "ids")) {
            assert_true(json_array_begin(j));
            while (json_item(j)) {
                assert_true(g->length < IDS_MAX && json_u64(j, &id));
                g->ids[g->length++] = (uint32_t)id;
            }
        } else if (json_text_is(key, "stream")) {
            read_stream(j, g);
        } else if (json_text_is(key, "decoded")) {
            assert_true(json_string(j, &g->whole));
        } else if (json_text_is(key, "decoded_special")) {
            assert_true(json_string(j, &g->special));
        } else {
            assert_true(json_text_is(key, "text") && json_skip(j));
        }
    }
    assert_true(json_end(j));
}

static void check_text(const char *what, const char *got, size_t size, struct json_text want) {
    if (size != want.size || (size && memcmp(got, want.data, size) != 0))
        FAIL("%s \"%.*s\", expected \"%.*s\"", what, (int)size, got, (int)want.size, want.data);
}

static void check_whole(const sabok_tokenizer *tok, const struct golden *g, bool special) {
    sabok_error err = {0};
    size_t size;
    const sabok_detokenize_opts opts = {.keep_special = special};
    char *text = sabok_detokenize(tok, g->ids, g->length, &opts, &size, &err);
    if (!text) FAIL("%s", err.message);
    check_text(special ? "with special tokens" : "text", text, size, special ? g->special : g->whole);
    assert_int_equal(text[size], '\0');
    sabok_text_free(text);
}

// Twice, since the end begins anew; it has nothing left to give after a push that gave something.
static void check_stream(const sabok_tokenizer *tok, const struct golden *g) {
    sabok_error err = {0};
    sabok_text_stream *s = sabok_text_stream_new(tok, NULL, &err);
    assert_non_null(s);
    for (int round = 0; round < 2; round++) {
        size_t size = 0;
        for (size_t i = 0; i < g->stream_length; i++) {
            const char *text = sabok_text_stream_push(s, g->ids[i], &size, &err);
            if (!text) FAIL("%s", err.message);
            check_text("the stream gives", text, size, g->stream[i]);
            streams++;
        }
        const bool given = size > 0;
        const char *text = sabok_text_stream_end(s, &size, &err);
        if (!text) FAIL("%s", err.message);
        if (given && size) FAIL("the end gives \"%.*s\", expected nothing", (int)size, text);
    }
    sabok_text_stream_free(s);
}

static bool run_folder(const char *name, struct golden *g) {
    char path[4096], *text;
    size_t size;
    sabok_error err = {0};
    snprintf(path, sizeof path, "%s/%s/decoded.jsonl", FOLDER, name);
    if (!file_exists(path)) return false;
    assert_int_equal(file_read(path, (size_t)1 << 30, &text, &size, &err), SABOK_OK);
    snprintf(path, sizeof path, "%s/%s", FOLDER, name);
    case_folder = name;
    case_line = 0;
    sabok_tokenizer *tok = sabok_tokenizer_open(path, &err);
    if (!tok) FAIL("%s", err.message);
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t n = end ? (size_t)(end - text) - at : size - at;
        struct arena arena;
        struct json j;
        arena_init(&arena, 0);
        json_init(&j, text + at, n, path, &arena, &err);
        case_line++;
        cases++;
        read_case(&j, g);
        check_whole(tok, g, false);
        check_whole(tok, g, true);
        check_stream(tok, g);
        arena_free(&arena);
        at += n + 1;
    }
    mem_free(text);
    sabok_tokenizer_close(tok);
    return true;
}

static void every_folder(void **state) {
    (void)state;
    struct golden *g = mem_zalloc(sizeof *g);
    DIR *dir = opendir(FOLDER);
    size_t folders = 0;
    assert_true(g && dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (!strchr(e->d_name, '.')) folders += run_folder(e->d_name, g);
    closedir(dir);
    mem_free(g);
    printf("%zu tokenizers, %lu cases, %lu ids in streams\n", folders, cases, streams);
    assert_true(folders > 15 && cases > 3000 && streams > 20000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
