// fill-mask against the reference's pipeline: the same tokens and texts, scores within 1e-5 (test/golden/fill-mask.jsonl).
#include "sabok.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

struct check {
    const char *line; // for failures
    const json_t *result;
    size_t calls;
};

static bool same_text(const json_t *want, const char *text, size_t length) {
    return json_string_length(want) == length && memcmp(json_string_value(want), text, length) == 0 &&
           text[length] == '\0';
}

static void check_fill(const struct check *c, const json_t *want, const sabok_fill *have) {
    const double score = json_real_value(json_object_get(want, "score"));
    if ((uint32_t)json_integer_value(json_object_get(want, "token")) != have->token ||
        !(fabs(score - (double)have->score) <= 1e-5) ||
        !same_text(json_object_get(want, "token_str"), have->token_str, have->token_str_length) ||
        !same_text(json_object_get(want, "sequence"), have->sequence, have->sequence_length))
        fail_msg("%s\nfound %.9g %u \"%s\" \"%s\"", c->line, (double)have->score, have->token,
                 have->token_str, have->sequence);
}

static int check_fills(void *ctx, size_t text, const sabok_fill *fills, size_t masks, size_t count) {
    struct check *c = ctx;
    assert_int_equal(text, 0);
    c->calls++;
    if (masks > 1) assert_int_equal(json_array_size(c->result), masks);
    for (size_t i = 0; i < masks; i++) {
        const json_t *list = masks > 1 ? json_array_get(c->result, i) : c->result;
        if (json_array_size(list) != count) fail_msg("%s\nfound %zu", c->line, count);
        for (size_t k = 0; k < count; k++)
            check_fill(c, json_array_get(list, k), &fills[i * count + k]);
    }
    return 0;
}

static void check_line(const sabok_model *m, const json_t *line, const char *shown) {
    const char *targets[16], *text = json_string_value(json_object_get(line, "text"));
    const json_t *list = json_object_get(line, "targets");
    struct check c = {.line = shown, .result = json_object_get(line, "result")};
    sabok_fill_mask_opts opts = {.top_k = (size_t)json_integer_value(json_object_get(line, "top_k"))};
    sabok_error err = {0};
    assert_in_range(json_array_size(list), 0, 16);
    for (; opts.target_count < json_array_size(list); opts.target_count++)
        targets[opts.target_count] = json_string_value(json_array_get(list, opts.target_count));
    opts.targets = list ? targets : NULL;
    const sabok_status status = sabok_fill_mask(m, &text, 1, &opts, check_fills, &c, &err);
    const sabok_status want = c.result ? SABOK_OK : SABOK_EINVAL;
    if (status != want) fail_msg("%s\n%s", shown, err.message);
    assert_int_equal(c.calls, c.result != NULL);
}

static void test_golden(void **state) {
    (void)state;
    FILE *file = fopen(SABOK_TEST_DIR "/golden/fill-mask.jsonl", "r");
    assert_non_null(file);
    char name[64] = "", path[1024];
    sabok_model *m = NULL;
    size_t count = 0, refused = 0, models = 0;
    for (json_t *line; (line = json_loadf(file, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL)); count++) {
        char *shown = json_dumps(line, JSON_COMPACT);
        const char *wanted = json_string_value(json_object_get(line, "model"));
        if (strcmp(name, wanted) != 0) {
            sabok_error err = {0};
            sabok_close(m);
            snprintf(name, sizeof name, "%s", wanted);
            snprintf(path, sizeof path, SABOK_TEST_DIR "/golden/%s", name);
            m = sabok_open(path, &(sabok_open_opts){.threads = 1 + (unsigned)models % 2}, &err);
            if (!m) fail_msg("%s", err.message);
            models++;
        }
        check_line(m, line, shown);
        refused += json_object_get(line, "result") == NULL;
        free(shown);
        json_decref(line);
    }
    sabok_close(m);
    fclose(file);
    assert_int_equal(models, 9);
    assert_int_equal(count, models * 52);
    assert_int_equal(refused, models * 2);
}

// ---- many texts at once are what they are alone

#define TEXTS 600

struct collected {
    double sum[TEXTS];
    size_t texts, masks;
};

static int collect(void *ctx, size_t text, const sabok_fill *fills, size_t masks, size_t count) {
    struct collected *c = ctx;
    assert_int_equal(text, c->texts++);
    for (size_t i = 0; i < masks * count; i++)
        c->sum[text] += (double)fills[i].score * (double)(fills[i].token + i);
    c->masks += masks;
    return 0;
}

static void test_many(void **state) {
    (void)state;
    static const char *const forms[] = {"[MASK]", "the [MASK] cat", "[MASK] and a [MASK]"};
    const char *texts[TEXTS];
    sabok_error err = {0};
    sabok_model *m = sabok_open(SABOK_TEST_DIR "/golden/bert-head-mask", NULL, &err);
    if (!m) fail_msg("%s", err.message);
    for (size_t i = 0; i < TEXTS; i++)
        texts[i] = forms[i % 3];
    struct collected many = {0};
    assert_int_equal(sabok_fill_mask(m, texts, TEXTS, NULL, collect, &many, &err), SABOK_OK);
    assert_int_equal(many.texts, TEXTS);
    assert_int_equal(many.masks, TEXTS / 3 * 4);
    for (size_t i = 0; i < 3; i++) {
        struct collected one = {0};
        assert_int_equal(sabok_fill_mask(m, &texts[i], 1, NULL, collect, &one, &err), SABOK_OK);
        for (size_t k = i; k < TEXTS; k += 3)
            if (many.sum[k] != one.sum[0]) fail_msg("text %zu differs from itself alone", k);
    }
    sabok_close(m);
}

static int stop(void *ctx, size_t text, const sabok_fill *fills, size_t masks, size_t count) {
    (void)ctx, (void)text, (void)fills, (void)masks, (void)count;
    return 1;
}

static void test_arguments(void **state) {
    (void)state;
    sabok_error err = {0};
    sabok_model *m = sabok_open(SABOK_TEST_DIR "/golden/bert-head-mask", NULL, &err);
    if (!m) fail_msg("%s", err.message);
    const char *texts[] = {"[MASK]", "a"};
    size_t fault = 0;
    struct collected c = {0};
    sabok_fill_mask_opts opts = {.input = {.pairs = texts}};
    assert_int_equal(sabok_fill_mask(m, texts, 1, &opts, collect, &c, &err), SABOK_EINVAL);
    opts = (sabok_fill_mask_opts){.input = {.text_at_fault = &fault}};
    assert_int_equal(sabok_fill_mask(m, texts, 2, &opts, collect, &c, &err), SABOK_EINVAL);
    assert_int_equal(fault, 1);
    assert_string_equal(err.message, "bert-head-mask: no mask_token ([MASK]) found");
    assert_int_equal(sabok_fill_mask(m, texts, 2, NULL, collect, &c, &err), SABOK_EINVAL);
    assert_string_equal(err.message, "bert-head-mask: text 1: no mask_token ([MASK]) found");
    assert_int_equal(sabok_fill_mask(m, texts, 1, NULL, stop, NULL, &err), SABOK_ECANCELED);
    assert_int_equal(sabok_fill_mask(m, texts, 1, NULL, stop, NULL, NULL), SABOK_ECANCELED);
    opts = (sabok_fill_mask_opts){.targets = texts};
    assert_int_equal(sabok_fill_mask(m, texts, 1, &opts, collect, &c, &err), SABOK_EINVAL);
    sabok_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_many),
                                       cmocka_unit_test(test_arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
