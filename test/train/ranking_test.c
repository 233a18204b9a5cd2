// Rankings against scikit-learn's values (test/golden/metric-ranking.jsonl, written by ref/).
#include "base/check.h"
#include "sabok.h"

#include <math.h>

#include <jansson.h>

// The library's own JSON reader has names that jansson has, too; the public interface is all that is needed here.
#define PATH SABOK_TEST_DIR "/golden/metric-ranking.jsonl"
#define DOCUMENTS_MAX 64

static size_t numbers(const json_t *list, double out[DOCUMENTS_MAX]) {
    const size_t n = json_array_size(list);
    assert_true(n <= DOCUMENTS_MAX);
    for (size_t i = 0; i < n; i++)
        out[i] = json_number_value(json_array_get(list, i));
    return n;
}

static void check_line(const json_t *line, size_t number) {
    double relevance[DOCUMENTS_MAX], scores[DOCUMENTS_MAX];
    const size_t n = numbers(json_object_get(line, "relevance"), relevance);
    assert_int_equal(numbers(json_object_get(line, "scores"), scores), n);
    const size_t k = (size_t)json_integer_value(json_object_get(line, "k"));
    const double ndcg = json_real_value(json_object_get(line, "ndcg")),
                 rank = json_real_value(json_object_get(line, "reciprocal_rank"));
    // numpy's logarithms and dot products may differ in the last bit from one machine to the next.
    if (!(fabs(sabok_ndcg(relevance, scores, n, k) - ndcg) <= 1e-15))
        fail_msg("line %zu: ndcg: found %.17g, expected %.17g", number, sabok_ndcg(relevance, scores, n, k),
                 ndcg);
    if (sabok_reciprocal_rank(relevance, scores, n, k) != rank)
        fail_msg("line %zu: reciprocal rank: found %.17g, expected %.17g", number,
                 sabok_reciprocal_rank(relevance, scores, n, k), rank);
    if (k == n) {
        assert_true(sabok_ndcg(relevance, scores, n, 0) == sabok_ndcg(relevance, scores, n, n));
        assert_true(sabok_reciprocal_rank(relevance, scores, n, 0) == rank);
    }
}

static void test_golden(void **state) {
    (void)state;
    FILE *file = fopen(PATH, "r");
    char *text = NULL;
    size_t cap = 0, lines = 0;
    assert_non_null(file);
    for (; getline(&text, &cap, file) > 0; lines++) {
        json_t *line = json_loads(text, 0, NULL);
        assert_non_null(line);
        check_line(line, lines + 1);
        json_decref(line);
    }
    free(text);
    fclose(file);
    assert_int_equal(lines, 60);
}

static void test_edges(void **state) {
    (void)state;
    const double one[] = {1}, none[] = {0, 0}, wrong[] = {1, -1}, nan[] = {0.5, NAN}, plain[] = {0.5, 0.25};
    assert_true(sabok_ndcg(NULL, NULL, 0, 0) == 0 && sabok_reciprocal_rank(NULL, NULL, 0, 0) == 0);
    assert_true(sabok_ndcg(one, one, 1, 10) == 1 && sabok_reciprocal_rank(one, one, 1, 10) == 1);
    assert_true(sabok_ndcg(none, plain, 2, 0) == 0 && sabok_reciprocal_rank(none, plain, 2, 0) == 0);
    assert_true(isnan(sabok_ndcg(wrong, plain, 2, 0)));
    assert_true(isnan(sabok_ndcg(plain, nan, 2, 0)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_edges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
