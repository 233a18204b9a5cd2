// Token classification against transformers' pipeline (test/golden/tag, written by ref/): every entity of every case.
#include "base/check.h"

#include "file/file.h"

#include <dirent.h>
#include <math.h>

#define FOLDER SABOK_TEST_DIR "/golden/tag"
#define TOLERANCE 1e-5
#define NAMES_MAX 8
#define ENTITIES_MAX 256

static const char *case_folder;
static size_t case_line, refused;

#define FAIL(...)                                                                                            \
    do {                                                                                                     \
        print_error("%s/%s/cases.jsonl line %zu: ", FOLDER, case_folder, case_line);                         \
        fail_msg(__VA_ARGS__);                                                                               \
    } while (0)

struct expected {
    struct json_text label, word;
    double score;
    uint64_t index, begin, end;
};

struct golden {
    struct json_text text;
    sabok_aggregation aggregation;
    char names[NAMES_MAX][32];
    const char *ignored[NAMES_MAX];
    size_t ignored_count, count, calls;
    uint64_t stride;
    bool has_ignored, windows, error;
    struct expected entities[ENTITIES_MAX];
};

// ---- reading

static sabok_aggregation read_aggregation(struct json *j) {
    static const char *const names[] = {"none", "simple", "first", "average", "max"};
    struct json_text name;
    assert_true(json_string(j, &name));
    for (size_t i = 0; i < COUNT(names); i++)
        if (json_text_is(name, names[i])) return (sabok_aggregation)i;
    FAIL("aggregation_strategy %.*s", (int)name.size, name.data);
    return 0;
}

static void read_ignored(struct json *j, struct golden *g) {
    struct json_text name;
    g->has_ignored = true;
    assert_true(json_array_begin(j));
    while (json_item(j)) {
        const size_t i = g->ignored_count++;
        assert_true(i < NAMES_MAX && json_string(j, &name) && name.size < sizeof g->names[i]);
        memcpy(g->names[i], name.data, name.size);
        g->ignored[i] = g->names[i];
    }
}

// null: NaN
static bool read_score(struct json *j, double *out) {
    *out = NAN;
    return json_peek(j) == JSON_NULL ? json_null(j) : json_double(j, out);
}

static void read_entity(struct json *j, struct golden *g) {
    struct expected *e = &g->entities[g->count++];
    const char *const label = g->aggregation ? "entity_group" : "entity";
    struct json_text key;
    assert_true(g->count <= ENTITIES_MAX && json_object_begin(j));
    while (json_key(j, &key)) {
        const bool ok = json_text_is(key, label)                        ? json_string(j, &e->label)
                        : json_text_is(key, "word")                     ? json_string(j, &e->word)
                        : json_text_is(key, "score")                    ? read_score(j, &e->score)
                        : json_text_is(key, "start")                    ? json_u64(j, &e->begin)
                        : json_text_is(key, "end")                      ? json_u64(j, &e->end)
                        : json_text_is(key, "index") && !g->aggregation ? json_u64(j, &e->index)
                                                                        : false;
        if (!ok) FAIL("key %.*s of an entity", (int)key.size, key.data);
    }
}

static void read_case(struct json *j, struct golden *g) {
    struct json_text key;
    assert_true(json_object_begin(j));
    while (json_key(j, &key)) {
        if (json_text_is(key, "text")) {
            assert_true(json_string(j, &g->text));
        } else if (json_text_is(key, "aggregation_strategy")) {
            g->aggregation = read_aggregation(j);
        } else if (json_text_is(key, "ignore_labels")) {
            read_ignored(j, g);
        } else if (json_text_is(key, "stride")) {
            g->windows = true;
            assert_true(json_u64(j, &g->stride));
        } else if (json_text_is(key, "error")) {
            g->error = true; // what it says is the reference's own
            assert_true(json_skip(j));
        } else {
            assert_true(json_text_is(key, "entities") && json_array_begin(j));
            while (json_item(j))
                read_entity(j, g);
        }
    }
    assert_true(json_end(j));
}

// ---- comparing

static void check_text(const char *what, const char *got, struct json_text want) {
    if (strlen(got) != want.size || memcmp(got, want.data, want.size) != 0)
        FAIL("%s \"%s\", expected \"%.*s\"", what, got, (int)want.size, want.data);
}

static int check_entities(void *ctx, size_t text, const sabok_entity *entities, size_t count) {
    struct golden *g = ctx;
    assert_int_equal(text, 0);
    g->calls++;
    if (count != g->count) FAIL("%zu entities, expected %zu", count, g->count);
    for (size_t i = 0; i < count; i++) {
        const sabok_entity *got = &entities[i];
        const struct expected *want = &g->entities[i];
        check_text("label", got->label, want->label);
        check_text("word", got->word, want->word);
        if (got->index != want->index || got->span.begin != want->begin || got->span.end != want->end)
            FAIL("token %zu at %zu to %zu, expected %zu at %zu to %zu", got->index, got->span.begin,
                 got->span.end, (size_t)want->index, (size_t)want->begin, (size_t)want->end);
        const double score = (double)got->score;
        if (!(isnan(want->score) ? isnan(score) : fabs(score - want->score) <= TOLERANCE))
            FAIL("score %.9g, expected %.9g", (double)got->score, want->score);
    }
    return 0;
}

static void run_case(const sabok_model *m, struct golden *g) {
    sabok_error err = {0};
    const char *const text = g->text.data;
    const sabok_tag_opts opts = {
        .input = {.text_lengths = &g->text.size, .truncate = true},
        .aggregation = g->aggregation,
        .ignore_labels = g->has_ignored ? g->ignored : NULL,
        .ignore_count = g->ignored_count,
        .windows = g->windows,
        .stride = (size_t)g->stride,
    };
    const sabok_status status = sabok_tag(m, &text, 1, &opts, check_entities, g, &err);
    if (g->error) {
        if (status != SABOK_EINVAL || !strstr(err.message, "stride")) FAIL("no refusal: %s", err.message);
        assert_int_equal(g->calls, 0);
        refused++;
        return;
    }
    if (status != SABOK_OK) FAIL("%s", err.message);
    assert_int_equal(g->calls, 1);
}

// ---- folders

static size_t check_folder(const char *name) {
    static struct golden g;
    char path[1024], *text;
    size_t size;
    sabok_error err = {0};
    snprintf(path, sizeof path, "%s/%s", FOLDER, name);
    sabok_model *m = sabok_open(path, NULL, &err);
    if (!m) fail_msg("%s", err.message);
    snprintf(path, sizeof path, "%s/%s/cases.jsonl", FOLDER, name);
    assert_int_equal(file_read(path, (size_t)1 << 30, &text, &size, &err), SABOK_OK);
    case_folder = name;
    case_line = 0;
    for (size_t at = 0, n; at < size; at += n + 1) {
        const char *end = memchr(text + at, '\n', size - at);
        n = end ? (size_t)(end - text) - at : size - at;
        struct arena arena;
        struct json j;
        arena_init(&arena, 0);
        json_init(&j, text + at, n, path, &arena, &err);
        case_line++;
        g = (struct golden){0};
        read_case(&j, &g);
        run_case(m, &g);
        arena_free(&arena);
    }
    mem_free(text);
    sabok_close(m);
    return case_line;
}

static void test_golden_cases(void **state) {
    (void)state;
    DIR *dir = opendir(FOLDER);
    assert_non_null(dir);
    const char *only = getenv("SABOK_GOLDEN"); // reruns one folder
    size_t folders = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.' || (only && strcmp(only, e->d_name) != 0)) continue;
        assert_true(check_folder(e->d_name) >= 290);
        folders++;
    }
    closedir(dir);
    assert_true(folders == 4 || only);
    assert_true(refused >= 4 * folders);
}

static void check_refused(const sabok_model *m, const sabok_tag_opts *opts, const char *message) {
    static struct golden g;
    const char *const text = "a cat";
    sabok_error err = {0};
    assert_int_equal(sabok_tag(m, &text, 1, opts, check_entities, &g, &err), SABOK_EINVAL);
    if (!strstr(err.message, message)) fail_msg("\"%s\", expected \"%s\"", err.message, message);
    assert_int_equal(g.calls, 0);
}

static void test_refusals(void **state) {
    (void)state;
    const char *const pair = "a dog";
    sabok_error err = {0};
    sabok_model *m = sabok_open(FOLDER "/words", NULL, &err);
    if (!m) fail_msg("%s", err.message);
    check_refused(m, &(sabok_tag_opts){.input = {.pairs = &pair}}, "found pairs");
    check_refused(m, &(sabok_tag_opts){.aggregation = SABOK_AGGREGATE_MAX, .stride = 2}, "without windows");
    check_refused(m, &(sabok_tag_opts){.windows = true}, "aggregation_strategy none");
    sabok_close(m);
}

static int count_entities(void *ctx, size_t text, const sabok_entity *entities, size_t count) {
    (void)text, (void)entities;
    *(size_t *)ctx += count;
    return 0;
}

static void test_allocation_failures(void **state) {
    (void)state;
    const char *const texts[] = {"the cat plays unwanted music with a ЖЖ dog and the guitars of all men", "",
                                 "a"};
    const sabok_tag_opts opts = {.aggregation = SABOK_AGGREGATE_AVERAGE, .windows = true, .stride = 5};
    sabok_error err = {0};
    sabok_model *m = sabok_open(FOLDER "/words", &(sabok_open_opts){.threads = 1}, &err);
    if (!m) fail_msg("%s", err.message);
    size_t all = 0;
    assert_int_equal(sabok_tag(m, texts, COUNT(texts), &opts, count_entities, &all, &err), SABOK_OK);
    assert_true(all > 3);
    const int64_t live = mem_live();
    bool done = false;
    for (uint64_t k = 1; !done; k++) {
        size_t found = 0;
        mem_fail_at(k, false);
        const sabok_status status = sabok_tag(m, texts, COUNT(texts), &opts, count_entities, &found, &err);
        mem_fail_at(0, false);
        done = status == SABOK_OK && found == all;
        if (!done && status != SABOK_ENOMEM) fail_msg("allocation %zu: %s", (size_t)k, err.message);
        if (mem_live() != live)
            fail_msg("allocation %zu: %d blocks leak", (size_t)k, (int)(mem_live() - live));
        assert_true(k < 10000);
    }
    sabok_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden_cases), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_allocation_failures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
