// Hits against sentence-transformers' semantic_search (test/golden/search.jsonl): the same texts, scores within 1e-5; and
// against sorting all scores, whatever parts the corpus comes in.
#include "base/folder.h"
#include "sabok.h"

#include <math.h>

#include <jansson.h>

int64_t mem_live(void); // of base.h, whose names are some of jansson's

#define TEXTS 64

// ---- goldens

static sabok_similarity_fn similarity_of(const char *name) {
    static const char *const names[] = {"cosine", "dot", "euclidean", "manhattan"};
    size_t i = 0;
    while (strcmp(names[i], name) != 0)
        i++;
    return (sabok_similarity_fn)i;
}

// The golden folder, with other settings where the line has them.
static sabok_model *golden_open(struct folder *f, const json_t *line) {
    char source[FOLDER_PATH], place[FOLDER_PATH];
    sabok_error err = {0};
    const json_t *settings = json_object_get(line, "settings");
    const char *name = json_string_value(json_object_get(line, "folder"));
    snprintf(source, sizeof source, SABOK_TEST_DIR "/golden/%s", name);
    folder_make(f);
    DIR *dir = opendir(source);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.' ||
            (json_is_object(settings) && strcmp(e->d_name, "config_sentence_transformers.json") == 0))
            continue;
        snprintf(source, sizeof source, SABOK_TEST_DIR "/golden/%s/%.200s", name, e->d_name);
        assert_int_equal(symlink(source, folder_join(f, e->d_name, place)), 0);
    }
    closedir(dir);
    if (json_is_object(settings)) {
        char *text = json_dumps(settings, 0);
        folder_put(f, "config_sentence_transformers.json", text, strlen(text));
        free(text);
    }
    sabok_model *m = sabok_open(f->path, NULL, &err);
    if (!m) fail_msg("%s", err.message);
    return m;
}

static void check_search(const sabok_model *m, const json_t *golden, const sabok_search_opts *opts) {
    const json_t *corpus = json_object_get(golden, "corpus"), *want = json_object_get(golden, "hits");
    const char *query = json_string_value(json_object_get(golden, "query")), *texts[TEXTS];
    sabok_hit hits[TEXTS];
    sabok_error err = {0};
    const size_t n = json_array_size(corpus);
    assert_in_range(n, 1, TEXTS);
    for (size_t i = 0; i < n; i++)
        texts[i] = json_string_value(json_array_get(corpus, i));
    sabok_search *s = sabok_search_new(m, &query, 1, opts, &err);
    if (!s) fail_msg("%s", err.message);
    for (size_t i = 0; i < n; i += 5)
        if (sabok_search_add(s, texts + i, NULL, n - i < 5 ? n - i : 5, &err) != SABOK_OK)
            fail_msg("%s", err.message);
    assert_int_equal(sabok_search_hits(s, 0, hits), json_array_size(want));
    for (size_t i = 0; i < json_array_size(want); i++) {
        const json_t *hit = json_array_get(want, i);
        const double score = json_real_value(json_object_get(hit, "score"));
        if ((size_t)json_integer_value(json_object_get(hit, "corpus_id")) != hits[i].corpus_id ||
            !(fabs(score - (double)hits[i].score) <= 1e-5))
            fail_msg("query \"%s\", place %zu: text %zu, %.9g, expected %.9g", query, i, hits[i].corpus_id,
                     (double)hits[i].score, score);
    }
    sabok_search_free(s);
}

static void test_golden(void **state) {
    (void)state;
    FILE *file = fopen(SABOK_TEST_DIR "/golden/search.jsonl", "r");
    size_t count = 0;
    assert_non_null(file);
    for (json_t *line; (line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL));) {
        struct folder f;
        sabok_model *m = golden_open(&f, line);
        const sabok_search_opts opts = {
            .similarity = similarity_of(json_string_value(json_object_get(line, "similarity"))),
            .top_k = (size_t)json_integer_value(json_object_get(line, "top_k")),
        };
        const json_t *searches = json_object_get(line, "searches");
        for (size_t i = 0; i < json_array_size(searches); i++, count++)
            check_search(m, json_array_get(searches, i), &opts);
        sabok_close(m);
        folder_remove(&f);
        json_decref(line);
    }
    assert_int_equal(count, 50);
    fclose(file);
}

// ---- parts

#define CORPUS 2500 // more than a part
#define QUERIES 300 // more than a block
#define TOP 7

static sabok_model *tiny_open(void) {
    sabok_error err = {0};
    sabok_model *m = sabok_open(SABOK_TEST_DIR "/golden/bert-tiny", NULL, &err);
    if (!m) fail_msg("%s", err.message);
    return m;
}

// Few words, so that many texts are the same and their scores equal.
static void corpus_write(char text[][24], const char *pointers[], size_t n, unsigned seed) {
    static const char *const words[] = {"the", "cat", "dog", "plays", "music", "she", "he", "runs"};
    for (size_t i = 0; i < n; i++) {
        const size_t k = (i * 2654435761u + seed) >> 7;
        snprintf(text[i], sizeof text[i], "%s %s %s", words[k % 8], words[k / 8 % 8], words[k / 64 % 8]);
        pointers[i] = text[i];
    }
}

static const float *sorted_scores;
static int compare_ids(const void *a, const void *b) {
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    if (sorted_scores[x] != sorted_scores[y]) return sorted_scores[x] < sorted_scores[y] ? 1 : -1;
    return x < y ? -1 : x > y;
}

static void check_all(const sabok_model *m, const char *const *texts, const char *const *queries,
                      const sabok_search *s) {
    const size_t width = sabok_embed_width(m);
    float *vectors = malloc((CORPUS + QUERIES) * width * sizeof *vectors),
          *scores = malloc(CORPUS * sizeof *scores);
    size_t *ids = malloc(CORPUS * sizeof *ids);
    sabok_hit hits[TOP];
    sabok_error err = {0};
    assert_true(vectors && scores && ids);
    assert_int_equal(sabok_embed(m, texts, CORPUS, NULL, vectors, &err), SABOK_OK);
    assert_int_equal(sabok_embed(m, queries, QUERIES, NULL, vectors + CORPUS * width, &err), SABOK_OK);
    for (size_t q = 0; q < QUERIES; q++) {
        sabok_similarity(vectors + (CORPUS + q) * width, 1, vectors, CORPUS, width, SABOK_COSINE, scores);
        for (size_t i = 0; i < CORPUS; i++)
            ids[i] = i;
        sorted_scores = scores;
        qsort(ids, CORPUS, sizeof *ids, compare_ids);
        assert_int_equal(sabok_search_hits(s, q, hits), TOP);
        for (size_t i = 0; i < TOP; i++) {
            assert_int_equal(hits[i].corpus_id, ids[i]);
            assert_memory_equal(&hits[i].score, &scores[ids[i]], sizeof(float));
        }
    }
    free(vectors);
    free(scores);
    free(ids);
}

static void test_parts(void **state) {
    (void)state;
    static char corpus[CORPUS][24], asked[QUERIES][24];
    static const char *texts[CORPUS], *queries[QUERIES];
    static const size_t parts[] = {CORPUS, 1, 640, 2049};
    corpus_write(corpus, texts, CORPUS, 1);
    corpus_write(asked, queries, QUERIES, 99);
    sabok_model *m = tiny_open();
    sabok_error err = {0};
    const sabok_search_opts opts = {.top_k = TOP};
    int64_t live = 0;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        sabok_search *s = sabok_search_new(m, queries, QUERIES, &opts, &err);
        if (!s) fail_msg("%s", err.message);
        for (size_t i = 0; i < CORPUS; i += parts[p]) {
            const size_t n = CORPUS - i < parts[p] ? CORPUS - i : parts[p];
            if (sabok_search_add(s, texts + i, NULL, n, &err) != SABOK_OK) fail_msg("%s", err.message);
            if (i <= 640) live = mem_live();
        }
        if (parts[p] == 640) assert_int_equal(mem_live(), live); // more of the corpus takes no more memory
        check_all(m, texts, queries, s);
        sabok_search_free(s);
    }
    sabok_close(m);
}

static void test_arguments(void **state) {
    (void)state;
    sabok_model *m = tiny_open();
    sabok_error err = {0};
    const char *query = "a cat", *text = "a dog and more";
    const size_t length = 5;
    sabok_hit hit, cut;
    assert_null(sabok_search_new(m, &query, 1, &(sabok_search_opts){.embed.prompt_name = "none"}, &err));
    assert_int_equal(err.code, SABOK_ENOTFOUND);
    assert_null(sabok_search_new(m, &query, 1, &(sabok_search_opts){.embed.truncate_dim = 99999}, &err));
    sabok_search *s = sabok_search_new(m, &query, 1, NULL, &err);
    assert_non_null(s);
    assert_int_equal(sabok_search_hits(s, 0, &hit), 0);
    assert_int_equal(sabok_search_add(s, NULL, NULL, 0, &err), SABOK_OK);
    assert_int_equal(sabok_search_add(s, NULL, NULL, 1, &err), SABOK_EINVAL);
    sabok_search_free(s);
    s = sabok_search_new(m, &query, 1, NULL, &err);
    assert_int_equal(sabok_search_add(s, &text, &length, 1, &err), SABOK_OK);
    assert_int_equal(sabok_search_hits(s, 0, &cut), 1);
    sabok_search_free(s);
    text = "a dog";
    s = sabok_search_new(m, &query, 1, NULL, &err);
    assert_int_equal(sabok_search_add(s, &text, NULL, 1, &err), SABOK_OK);
    assert_int_equal(sabok_search_hits(s, 0, &hit), 1);
    assert_memory_equal(&hit.score, &cut.score, sizeof hit.score);
    sabok_search_free(s);
    s = sabok_search_new(m, NULL, 0, NULL, &err);
    assert_non_null(s);
    assert_int_equal(sabok_search_add(s, &text, NULL, 1, &err), SABOK_OK);
    sabok_search_free(s);
    sabok_search_free(NULL);
    sabok_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
