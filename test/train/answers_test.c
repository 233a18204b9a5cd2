// Answers against SQuAD's script, bit by bit (test/golden/metric-answer.jsonl, written by ref/).
#include "base/check.h"
#include "sabok.h"

#include <jansson.h>

// The library's own JSON reader has names that jansson has, too; the public interface is all that is needed here.
#define PATH SABOK_TEST_DIR "/golden/metric-answer.jsonl"
#define ANSWERS_MAX 8

static void test_golden(void **state) {
    (void)state;
    FILE *file = fopen(PATH, "r");
    char *text = NULL;
    size_t cap = 0, lines = 0;
    assert_non_null(file);
    for (; getline(&text, &cap, file) > 0; lines++) {
        json_t *line = json_loads(text, 0, NULL);
        assert_non_null(line);
        const json_t *list = json_object_get(line, "expected");
        const char *expected[ANSWERS_MAX], *found = json_string_value(json_object_get(line, "found"));
        assert_true(json_array_size(list) <= ANSWERS_MAX);
        for (size_t i = 0; i < json_array_size(list); i++)
            expected[i] = json_string_value(json_array_get(list, i));
        const sabok_match match = sabok_answer_match(found, expected, json_array_size(list));
        const double exact = json_real_value(json_object_get(line, "exact")),
                     f1 = json_real_value(json_object_get(line, "f1"));
        if (match.exact != exact || match.f1 != f1)
            fail_msg("line %zu: \"%s\": found %.17g %.17g, expected %.17g %.17g", lines + 1, found,
                     match.exact, match.f1, exact, f1);
        json_decref(line);
    }
    free(text);
    fclose(file);
    assert_int_equal(lines, 161);
}

// Long answers of one word cost no more than their length.
static void test_long(void **state) {
    (void)state;
    enum { N = 200000 };
    char *text = malloc(2 * N + 1);
    assert_non_null(text);
    for (size_t i = 0; i < N; i++)
        memcpy(text + 2 * i, "b ", 2);
    text[2 * N] = '\0';
    const char *const expected[] = {text, "b"};
    assert_true(sabok_answer_match(text, expected, 2).f1 == 1);
    assert_true(sabok_answer_match(text, expected + 1, 1).exact == 0);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
