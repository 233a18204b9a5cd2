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

// ---- bugs 50

static void set_types(json_t *value, int type) {
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_array(value)) json_array_foreach(value, i, item) set_types(item, type);
    json_object_foreach(value, key, item) {
        if (strcmp(key, "type_id") == 0)
            json_integer_set(item, type);
        else
            set_types(item, type);
    }
}

// A golden folder with the tokenizer's class that tells segments, every type id of its templates being `type`.
static void typed_folder(struct folder *f, const char *golden, int type) {
    static const char *const links[] = {"model.safetensors", "config.json"};
    char source[FOLDER_PATH], place[FOLDER_PATH];
    folder_make(f);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        snprintf(source, sizeof source, SABOK_TEST_DIR "/golden/%s/%s", golden, links[i]);
        assert_int_equal(symlink(source, folder_join(f, links[i], place)), 0);
    }
    snprintf(source, sizeof source, SABOK_TEST_DIR "/golden/%s/tokenizer.json", golden);
    json_t *tokenizer = json_load_file(source, 0, NULL);
    assert_non_null(tokenizer);
    set_types(json_object_get(tokenizer, "post_processor"), type);
    variant_put(f, "tokenizer.json", tokenizer);
    json_decref(tokenizer);
    folder_put(f, "tokenizer_config.json", "{\"model_input_names\":[\"token_type_ids\"]}", 40);
}

static int keep_score(void *ctx, size_t text, const sabok_label *labels, size_t count) {
    (void)text, (void)count;
    *(float *)ctx = labels[0].score;
    return 0;
}

// A table of one row serves every segment; of more rows, a segment beyond them is refused.
static void bug_50_segments(void **state) {
    (void)state;
    static const char *const goldens[] = {"roberta-tiny-classify", "roberta-tiny-classify", "bert-head-nli"};
    float scores[3] = {0};
    for (int type = 0; type < 3; type++) {
        struct folder f;
        sabok_error err = {0};
        const char *text = "the cat", *pair = "a dog";
        const sabok_classify_opts opts = {.input.pairs = &pair};
        typed_folder(&f, goldens[type], type);
        sabok_model *m = sabok_open(f.path, NULL, &err);
        if (type < 2) {
            if (!m) fail_msg("%s", err.message);
            assert_int_equal(sabok_classify(m, &text, 1, &opts, keep_score, &scores[type], &err), SABOK_OK);
        } else {
            assert_null(m);
            assert_int_equal(err.code, SABOK_EFORMAT);
            assert_non_null(strstr(err.message, "type ids up to 2, but the table of segments has 2 rows"));
        }
        sabok_close(m);
        folder_remove(&f);
    }
    assert_true(scores[0] > 0);
    assert_memory_equal(&scores[0], &scores[1], sizeof *scores);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_segments), cmocka_unit_test(bug_50_segments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
