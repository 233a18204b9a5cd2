// Ranks against CrossEncoder.rank: the same order and texts, scores within 1e-5 (test/golden/rerank.jsonl).
#include "sabok.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

static void check_ranks(const sabok_model *m, const json_t *line) {
    const json_t *documents = json_object_get(line, "documents"), *ranks = json_object_get(line, "ranks");
    const size_t n = json_array_size(documents);
    const char *texts[16];
    sabok_ranked out[16];
    sabok_error err = {0};
    assert_in_range(n, 1, 16);
    assert_int_equal(json_array_size(ranks), n);
    for (size_t i = 0; i < n; i++)
        texts[i] = json_string_value(json_array_get(documents, i));
    const char *query = json_string_value(json_object_get(line, "query"));
    if (sabok_rerank(m, query, texts, n, NULL, out, &err) != SABOK_OK) fail_msg("%s", err.message);
    for (size_t i = 0; i < n; i++) {
        const json_t *rank = json_array_get(ranks, i);
        const double want = json_real_value(json_object_get(rank, "score"));
        if ((size_t)json_integer_value(json_object_get(rank, "corpus_id")) != out[i].corpus_id ||
            !(fabs(want - (double)out[i].score) <= 1e-5))
            fail_msg("query \"%s\", rank %zu: text %zu, score %.9g, expected %.9g", query, i,
                     out[i].corpus_id, (double)out[i].score, want);
    }
}

static void test_golden(void **state) {
    (void)state;
    sabok_error err = {0};
    sabok_model *m = sabok_open(SABOK_TEST_DIR "/golden/bert-head-one", NULL, &err);
    if (!m) fail_msg("%s", err.message);
    FILE *file = fopen(SABOK_TEST_DIR "/golden/rerank.jsonl", "r");
    assert_non_null(file);
    size_t count = 0;
    for (json_t *line; (line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)); count++) {
        check_ranks(m, line);
        json_decref(line);
    }
    assert_int_equal(count, 50);
    fclose(file);
    sabok_close(m);
}

static void test_arguments(void **state) {
    (void)state;
    sabok_error err = {0};
    sabok_model *m = sabok_open(SABOK_TEST_DIR "/golden/bert-head-one", NULL, &err);
    if (!m) fail_msg("%s", err.message);
    const char *text = "a";
    sabok_ranked out;
    const sabok_text_opts pairs = {.pairs = &text};
    assert_int_equal(sabok_rerank(m, NULL, &text, 1, NULL, &out, &err), SABOK_EINVAL);
    assert_int_equal(sabok_rerank(m, text, &text, 1, &pairs, &out, &err), SABOK_EINVAL);
    assert_int_equal(sabok_rerank(m, text, NULL, 0, NULL, NULL, &err), SABOK_OK);
    sabok_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
