// Labels of the caller's against the zero-shot-classification pipeline: the same order, scores within 1e-5
// (test/golden/zero_shot.jsonl).
#include "task/variant.h"

#include <math.h>

#define LABELS 16

struct case_check {
    const json_t *labels, *scores; // of the pipeline
    size_t seen;
};

static int check_result(void *ctx, size_t text, const sabok_label *labels, size_t count) {
    struct case_check *check = ctx;
    assert_int_equal(text, check->seen++);
    assert_int_equal(count, json_array_size(check->labels));
    for (size_t i = 0; i < count; i++) {
        const double score = json_real_value(json_array_get(check->scores, i));
        const char *name = json_string_value(json_array_get(check->labels, i));
        if (strcmp(labels[i].name, name) != 0 || !(fabs(score - (double)labels[i].score) <= 1e-5))
            fail_msg("place %zu is \"%s\", %.9g, expected \"%s\", %.9g", i, labels[i].name,
                     (double)labels[i].score, name, score);
    }
    return 0;
}

static void check_case(const sabok_model *m, const json_t *c) {
    const json_t *labels = json_object_get(c, "candidate_labels"), *result = json_object_get(c, "result");
    const char *names[LABELS], *texts[2], *text = json_string_value(json_object_get(c, "sequence"));
    sabok_error err = {0};
    assert_in_range(json_array_size(labels), 1, LABELS);
    for (size_t i = 0; i < json_array_size(labels); i++)
        names[i] = json_string_value(json_array_get(labels, i));
    const sabok_zero_shot_opts opts = {
        .candidate_labels = names,
        .candidate_count = json_array_size(labels),
        .hypothesis_template = json_string_value(json_object_get(c, "hypothesis_template")),
        .multi_label = json_is_true(json_object_get(c, "multi_label")),
    };
    struct case_check check = {json_object_get(result, "labels"), json_object_get(result, "scores"), 0};
    texts[0] = texts[1] = text;
    if (sabok_zero_shot(m, texts, 2, &opts, check_result, &check, &err) != SABOK_OK)
        fail_msg("\"%s\": %s", text, err.message);
    assert_int_equal(check.seen, 2);
}

static void test_golden(void **state) {
    (void)state;
    FILE *file = fopen(SABOK_TEST_DIR "/golden/zero_shot.jsonl", "r");
    size_t count = 0;
    assert_non_null(file);
    for (json_t *line; (line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL));) {
        struct folder f;
        sabok_model *m = variant_open(&f, json_object_get(line, "config"), NULL);
        const json_t *cases = json_object_get(line, "cases");
        for (size_t i = 0; i < json_array_size(cases); i++, count++)
            check_case(m, json_array_get(cases, i));
        sabok_close(m);
        folder_remove(&f);
        json_decref(line);
    }
    assert_int_equal(count, 50);
    fclose(file);
}

// Numbers of texts and of labels that do not fit in one window of pairs give what each text alone gives.
struct many {
    float best[3];
    size_t seen;
};

static int keep_best(void *ctx, size_t text, const sabok_label *labels, size_t count) {
    struct many *many = ctx;
    assert_int_equal(text, many->seen++);
    assert_int_equal(count, 5000);
    many->best[text] = labels[0].score;
    return 0;
}

static void test_windows(void **state) {
    (void)state;
    sabok_error err = {0};
    sabok_model *m = sabok_open(SABOK_TEST_DIR "/golden/bert-head-nli", NULL, &err);
    if (!m) fail_msg("%s", err.message);
    static const char *names[5000];
    const char *const texts[] = {"a", "the cat", "music"};
    const size_t lengths[] = {1, 7, 5};
    for (size_t i = 0; i < 5000; i++)
        names[i] = i % 2 ? "dog" : "she";
    const sabok_zero_shot_opts opts = {.input.text_lengths = lengths,
                                       .candidate_labels = names,
                                       .candidate_count = 5000,
                                       .multi_label = true};
    struct many all = {0};
    if (sabok_zero_shot(m, texts, 3, &opts, keep_best, &all, &err) != SABOK_OK) fail_msg("%s", err.message);
    assert_int_equal(all.seen, 3);
    for (size_t i = 0; i < 3; i++) {
        struct many one = {0};
        sabok_zero_shot_opts alone = opts;
        alone.input.text_lengths = lengths + i;
        if (sabok_zero_shot(m, texts + i, 1, &alone, keep_best, &one, &err) != SABOK_OK)
            fail_msg("%s", err.message);
        assert_memory_equal(&one.best[0], &all.best[i], sizeof(float));
    }
    sabok_close(m);
}

static int never(void *ctx, size_t text, const sabok_label *labels, size_t count) {
    (void)ctx, (void)text, (void)labels, (void)count;
    fail_msg("a result came in spite of the error");
    return 1;
}

static void test_arguments(void **state) {
    (void)state;
    sabok_error err = {0};
    sabok_model *m = sabok_open(SABOK_TEST_DIR "/golden/bert-head-nli", NULL, &err);
    if (!m) fail_msg("%s", err.message);
    const char *text = "a", *label = "dog", *none = NULL;
    assert_int_equal(sabok_zero_shot(m, NULL, 0, NULL, never, NULL, &err), SABOK_OK);
    assert_int_equal(sabok_zero_shot(m, &text, 1, NULL, never, NULL, &err), SABOK_EINVAL);
    sabok_zero_shot_opts opts = {.candidate_labels = &none, .candidate_count = 1};
    assert_int_equal(sabok_zero_shot(m, &text, 1, &opts, never, NULL, &err), SABOK_EINVAL);
    static const char *const bad[] = {"no place", "",    "{",       "} {}", "{} {}",
                                      "{} {0}",   "{1}", "{label}", "{:>9}"};
    opts.candidate_labels = &label;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        opts.hypothesis_template = bad[i];
        assert_int_equal(sabok_zero_shot(m, &text, 1, &opts, never, NULL, &err), SABOK_EINVAL);
        assert_non_null(strstr(err.message, "expected {} where the label goes"));
    }
    char many[129];
    memset(many, 'a', sizeof many);
    for (size_t i = 1; i < sizeof many; i += 2)
        many[i] = ' ';
    many[sizeof many - 1] = '\0';
    const char *both[] = {label, many};
    size_t fault = 0;
    opts =
        (sabok_zero_shot_opts){.input.text_at_fault = &fault, .candidate_labels = both, .candidate_count = 2};
    assert_int_equal(sabok_zero_shot(m, &text, 1, &opts, never, NULL, &err), SABOK_EINVAL);
    assert_int_equal(fault, 0);
    assert_non_null(strstr(err.message, "candidate label \"a a a"));
    sabok_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_windows),
                                       cmocka_unit_test(test_arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
