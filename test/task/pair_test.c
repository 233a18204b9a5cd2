// Labels of pairs against the pipeline, within 1e-5, in folders that say differently whether the model is told the
// segments of a pair (test/golden/pair.jsonl).
#include "task/variant.h"

#include <math.h>

static int check_labels(void *ctx, size_t text, const sabok_label *labels, size_t count) {
    const json_t *want = json_object_get(ctx, "labels");
    assert_int_equal(text, 0);
    assert_int_equal(count, json_array_size(want));
    for (size_t i = 0; i < count; i++) {
        const json_t *label = json_array_get(want, i);
        const double score = json_real_value(json_object_get(label, "score"));
        if (strcmp(labels[i].name, json_string_value(json_object_get(label, "label"))) != 0 ||
            !(fabs(score - (double)labels[i].score) <= 1e-5))
            fail_msg("\"%s\", \"%s\": label %zu is %s, %.9g, expected %.9g",
                     json_string_value(json_object_get(ctx, "text")),
                     json_string_value(json_object_get(ctx, "text_pair")), i, labels[i].name,
                     (double)labels[i].score, score);
    }
    return 0;
}

static void check_folder(const json_t *line) {
    struct folder f;
    sabok_error err = {0};
    sabok_model *m =
        variant_open(&f, json_object_get(line, "config"), json_object_get(line, "tokenizer_config"));
    const json_t *pairs = json_object_get(line, "pairs");
    assert_int_equal(json_array_size(pairs), 5);
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        json_t *pair = json_array_get(pairs, i);
        const char *text = json_string_value(json_object_get(pair, "text"));
        const char *other = json_string_value(json_object_get(pair, "text_pair"));
        const sabok_classify_opts opts = {.input.pairs = &other};
        if (sabok_classify(m, &text, 1, &opts, check_labels, pair, &err) != SABOK_OK)
            fail_msg("%s", err.message);
    }
    sabok_close(m);
    folder_remove(&f);
}

static void test_segments(void **state) {
    (void)state;
    FILE *file = fopen(SABOK_TEST_DIR "/golden/pair.jsonl", "r");
    assert_non_null(file);
    size_t count = 0;
    for (json_t *line; (line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)); count++) {
        check_folder(line);
        json_decref(line);
    }
    assert_int_equal(count, 13);
    fclose(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_segments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
