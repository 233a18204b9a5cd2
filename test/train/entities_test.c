// Entities against seqeval's, bit by bit (test/golden/metric-entity.jsonl, written by ref/).
#include "base/check.h"
#include "sabok.h"

#include <math.h>

#include <jansson.h>

// The library's own JSON reader has names that jansson has, too; the public interface is all that is needed here.
#define PATH SABOK_TEST_DIR "/golden/metric-entity.jsonl"
#define COUNT(a) (sizeof(a) / sizeof *(a))
#define WORDS_MAX 16

static const char *const scheme_names[] = {"default", "IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU"};

static void assert_value(const json_t *line, const char *score, double found, const json_t *expected) {
    const double value = json_is_null(expected) ? (double)NAN : json_real_value(expected);
    if (isnan(value) ? !isnan(found) : found != value)
        fail_msg("%s, %s: %s: found %.17g, expected %.17g",
                 json_string_value(json_object_get(line, "scheme")),
                 json_string_value(json_object_get(line, "what")), score, found, value);
}

static void assert_scores(const json_t *line, const char *name, sabok_scores s, const json_t *expected) {
    assert_value(line, name, s.precision, json_array_get(expected, 0));
    assert_value(line, name, s.recall, json_array_get(expected, 1));
    assert_value(line, name, s.f1, json_array_get(expected, 2));
}

static void sentence_tags(const json_t *sentence, const char *tags[WORDS_MAX]) {
    assert_true(json_array_size(sentence) <= WORDS_MAX);
    for (size_t i = 0; i < json_array_size(sentence); i++)
        tags[i] = json_string_value(json_array_get(sentence, i));
}

static sabok_entity_counter *counter_of(const json_t *line) {
    const char *name = json_string_value(json_object_get(line, "scheme"));
    size_t scheme = 0;
    while (strcmp(scheme_names[scheme], name) != 0)
        scheme++;
    sabok_error err = {0};
    sabok_entity_counter *counter = sabok_entity_counter_new((sabok_scheme)scheme, &err);
    const json_t *expected = json_object_get(line, "expected"), *found = json_object_get(line, "found");
    assert_non_null(counter);
    for (size_t i = 0; i < json_array_size(expected); i++) {
        const char *a[WORDS_MAX], *b[WORDS_MAX];
        const json_t *sentence = json_array_get(expected, i);
        sentence_tags(sentence, a);
        sentence_tags(json_array_get(found, i), b);
        if (sabok_entity_counter_add(counter, a, b, json_array_size(sentence), &err) != SABOK_OK)
            fail_msg("%s", err.message);
    }
    return counter;
}

static void check_line(const json_t *line) {
    static const char *const averages[] = {"macro", "micro", "weighted"}, *const undefined[] = {"0", "1"};
    const char *const *names;
    const sabok_counts *counts;
    sabok_entity_counter *counter = counter_of(line);
    const size_t n = sabok_entity_counter_types(counter, &names, &counts);
    const json_t *types = json_object_get(line, "types");
    assert_int_equal(n, json_array_size(types));
    for (size_t i = 0; i < n; i++) {
        const json_t *type = json_array_get(types, i);
        assert_true(i == 0 || strcmp(names[i - 1], names[i]) < 0);
        assert_scores(line, names[i], sabok_entity_scores(&counts[i], 1, SABOK_AVERAGE_MACRO, 0), type);
        assert_value(line, names[i], (double)counts[i].expected, json_array_get(type, 3));
    }
    for (size_t u = 0; u < COUNT(undefined); u++)
        for (size_t a = 0; a < COUNT(averages); a++)
            assert_scores(
                line, averages[a], sabok_entity_scores(counts, n, (sabok_average)a, (double)u),
                json_object_get(json_object_get(json_object_get(line, "scores"), undefined[u]), averages[a]));
    sabok_entity_counter_free(counter);
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
        check_line(line);
        json_decref(line);
    }
    free(text);
    fclose(file);
    assert_int_equal(lines, 28);
}

static void test_wrong_tags(void **state) {
    (void)state;
    static const struct {
        sabok_scheme scheme;
        const char *tag;
    } cases[] = {{SABOK_IOB2, "E-PER"}, {SABOK_IOE1, "B-PER"}, {SABOK_BILOU, "S-PER"},
                 {SABOK_IOBES, "U"},    {SABOK_IOB1, "x"},     {SABOK_IOE2, ""}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        sabok_error err = {0};
        sabok_entity_counter *counter = sabok_entity_counter_new(cases[i].scheme, &err);
        const char *const outside[] = {"O", "O"}, *const wrong[] = {"O", cases[i].tag};
        assert_int_equal(sabok_entity_counter_add(counter, outside, outside, 2, &err), SABOK_OK);
        assert_int_equal(sabok_entity_counter_add(counter, outside, wrong, 2, &err), SABOK_EINVAL);
        assert_non_null(strstr(err.message, "expected one that begins with a letter of"));
        assert_int_equal(sabok_entity_counter_add(counter, wrong, outside, 2, &err), SABOK_EINVAL);
        sabok_entity_counter_free(counter);
    }
    sabok_error err = {0};
    sabok_entity_counter *counter = sabok_entity_counter_new(SABOK_SCHEME_DEFAULT, &err);
    const char *const empty[] = {"", "B-PER"};
    const char *const *names;
    const sabok_counts *counts;
    assert_int_equal(sabok_entity_counter_add(counter, empty, empty, 2, &err), SABOK_OK);
    assert_int_equal(sabok_entity_counter_types(counter, &names, &counts), 1);
    assert_true(counts[0].correct == 1 && counts[0].found == 1 && counts[0].expected == 1);
    sabok_entity_counter_free(counter);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_wrong_tags)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
