// Scores of classes against scikit-learn's, bit by bit (test/golden/metric-class.jsonl, written by ref/).
#include "base/check.h"
#include "sabok.h"

#include <math.h>

#include <jansson.h>

// The library's own JSON reader has names that jansson has, too; the public interface is all that is needed here.
#define PATH SABOK_TEST_DIR "/golden/metric-class.jsonl"
#define COUNT(a) (sizeof(a) / sizeof *(a))

static void assert_value(const char *what, const char *score, double found, const json_t *expected) {
    const double value = json_is_null(expected) ? (double)NAN : json_real_value(expected);
    if (isnan(value) ? !isnan(found) : found != value)
        fail_msg("%s: %s: found %.17g, expected %.17g", what, score, found, value);
}

static void check_scores(const char *what, const json_t *scores, const sabok_counts *classes, size_t n) {
    static const char *const averages[] = {"macro", "micro", "weighted"}, *const undefined[] = {"0", "1",
                                                                                                "nan"};
    static const double values[] = {0, 1, NAN};
    for (size_t u = 0; u < COUNT(undefined); u++)
        for (size_t a = 0; a < COUNT(averages); a++) {
            const json_t *expected = json_object_get(json_object_get(scores, undefined[u]), averages[a]);
            char name[64];
            snprintf(name, sizeof name, "%s, zero_division %s", averages[a], undefined[u]);
            assert_int_equal(json_array_size(expected), 3);
            const sabok_scores s = sabok_scores_average(classes, n, (sabok_average)a, values[u]);
            assert_value(what, name, s.precision, json_array_get(expected, 0));
            assert_value(what, name, s.recall, json_array_get(expected, 1));
            assert_value(what, name, s.f1, json_array_get(expected, 2));
        }
}

static void check_classes(const json_t *line) {
    const char *what = json_string_value(json_object_get(line, "what"));
    const json_t *counts = json_object_get(line, "counts"), *matthews = json_object_get(line, "matthews");
    const size_t n = json_array_size(counts);
    sabok_counts *classes = calloc(n, sizeof *classes);
    assert_non_null(classes);
    for (size_t i = 0; i < n; i++) {
        uint64_t c[3];
        for (size_t k = 0; k < 3; k++)
            c[k] = (uint64_t)json_integer_value(json_array_get(json_array_get(counts, i), k));
        classes[i] = (sabok_counts){.correct = c[0], .found = c[1], .expected = c[2]};
    }
    check_scores(what, json_object_get(line, "scores"), classes, n);
    if (!json_is_null(matthews)) assert_value(what, "Matthews", sabok_matthews(classes, n), matthews);
    free(classes);
}

static void check_numbers(const json_t *line) {
    const json_t *x = json_object_get(line, "x"), *y = json_object_get(line, "y");
    const size_t n = json_array_size(x);
    double *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b);
    assert_true(a && b);
    for (size_t i = 0; i < n; i++) {
        a[i] = json_real_value(json_array_get(x, i));
        b[i] = json_real_value(json_array_get(y, i));
    }
    assert_value(json_string_value(json_object_get(line, "what")), "squared error",
                 sabok_mean_squared_error(a, b, n), json_object_get(line, "squared_error"));
    free(a);
    free(b);
}

static void test_golden(void **state) {
    (void)state;
    FILE *file = fopen(PATH, "r");
    char *text = NULL;
    size_t cap = 0, classes = 0, numbers = 0;
    assert_non_null(file);
    while (getline(&text, &cap, file) > 0) {
        json_t *line = json_loads(text, 0, NULL);
        assert_non_null(line);
        if (json_object_get(line, "counts")) {
            check_classes(line);
            classes++;
        } else {
            check_numbers(line);
            numbers++;
        }
        json_decref(line);
    }
    free(text);
    fclose(file);
    assert_true(classes >= 14 && numbers >= 5);
}

static void test_nothing(void **state) {
    (void)state;
    for (int a = SABOK_AVERAGE_MACRO; a <= SABOK_AVERAGE_WEIGHTED; a++) {
        const sabok_scores s = sabok_scores_average(NULL, 0, (sabok_average)a, 0);
        assert_true(isnan(s.precision) && isnan(s.recall) && isnan(s.f1));
    }
    assert_true(sabok_matthews(NULL, 0) == 0);
    assert_true(isnan(sabok_mean_squared_error(NULL, NULL, 0)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
