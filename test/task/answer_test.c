// question-answering against the pipeline of transformers 4: the same answers and places, scores within 1e-5
// (test/golden/answer.jsonl).
#include "sabok.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#define GOLDEN SABOK_TEST_DIR "/golden/"

struct check {
    const char *line; // for failures
    const json_t *result;
    size_t calls;
};

static int check_answers(void *ctx, size_t pair, const sabok_answered *answers, size_t count) {
    struct check *c = ctx;
    const bool list = json_is_array(c->result); // of any number but one
    assert_int_equal(pair, 0);
    c->calls++;
    if (!c->result) return 0;
    if ((list ? json_array_size(c->result) : 1) != count) fail_msg("%s\nfound %zu", c->line, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *want = list ? json_array_get(c->result, i) : c->result;
        const json_t *answer = json_object_get(want, "answer");
        if ((size_t)json_integer_value(json_object_get(want, "start")) != answers[i].span.begin ||
            (size_t)json_integer_value(json_object_get(want, "end")) != answers[i].span.end ||
            json_string_length(answer) != answers[i].answer_length ||
            strcmp(json_string_value(answer), answers[i].answer) != 0 ||
            !(fabs(json_real_value(json_object_get(want, "score")) - answers[i].score) <= 1e-5))
            fail_msg("%s\nfound %zu: %.9g [%zu, %zu) \"%s\"", c->line, i, answers[i].score,
                     answers[i].span.begin, answers[i].span.end, answers[i].answer);
    }
    return 0;
}

static size_t option(const json_t *line, const char *name) {
    return (size_t)json_integer_value(json_object_get(line, name));
}

static void check_line(const sabok_model *m, const json_t *line, const char *shown) {
    const char *question = json_string_value(json_object_get(line, "question"));
    const char *context = json_string_value(json_object_get(line, "context"));
    const sabok_answer_opts opts = {
        .top_k = option(line, "top_k"),
        .max_answer_len = option(line, "max_answer_len"),
        .max_seq_len = option(line, "max_seq_len"),
        .doc_stride = option(line, "doc_stride"),
        .handle_impossible_answer = json_is_true(json_object_get(line, "handle_impossible_answer")),
        .no_align_to_words = json_is_false(json_object_get(line, "align_to_words")),
    };
    struct check c = {.line = shown, .result = json_object_get(line, "result")};
    sabok_error err = {0};
    const sabok_status status = sabok_answer(m, &question, &context, 1, &opts, check_answers, &c, &err);
    if (status != (c.result ? SABOK_OK : SABOK_EINVAL)) fail_msg("%s\n%s", shown, err.message);
    assert_int_equal(c.calls, c.result != NULL);
}

static void test_golden(void **state) {
    (void)state;
    FILE *file = fopen(GOLDEN "answer.jsonl", "r");
    assert_non_null(file);
    char name[64] = "", path[1024];
    sabok_model *m = NULL;
    size_t count = 0, models = 0;
    for (json_t *line; (line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)); count++) {
        char *shown = json_dumps(line, JSON_COMPACT);
        const char *wanted = json_string_value(json_object_get(line, "model"));
        if (strcmp(name, wanted) != 0) {
            sabok_error err = {0};
            sabok_close(m);
            snprintf(name, sizeof name, "%s", wanted);
            snprintf(path, sizeof path, GOLDEN "%s", name);
            m = sabok_open(path, &(sabok_open_opts){.threads = 1 + (unsigned)models % 2}, &err);
            if (!m) fail_msg("%s", err.message);
            models++;
        }
        check_line(m, line, shown);
        free(shown);
        json_decref(line);
    }
    sabok_close(m);
    fclose(file);
    assert_int_equal(models, 9);
    assert_int_equal(count, models * 50);
}

// ---- many pairs at once are what they are alone

#define PAIRS 700

struct collected {
    double score[PAIRS];
    size_t begin[PAIRS], count;
};

static int collect(void *ctx, size_t pair, const sabok_answered *answers, size_t count) {
    struct collected *c = ctx;
    assert_int_equal(pair, c->count++);
    assert_true(count > 0);
    c->score[pair] = answers[0].score;
    c->begin[pair] = answers[0].span.begin;
    return 0;
}

static sabok_model *open_model(void) {
    sabok_error err = {0};
    sabok_model *m = sabok_open(GOLDEN "bert-head-answer", NULL, &err);
    if (!m) fail_msg("%s", err.message);
    return m;
}

static void test_many(void **state) {
    (void)state;
    static const char *const contexts[] = {
        "the cat and a dog",
        "it was new",
        ("the man and the woman said that they could play music and that the cat "
         "was running after the dog before it was new again"),
    };
    const char *q[PAIRS], *c[PAIRS];
    sabok_error err = {0};
    sabok_model *m = open_model();
    for (size_t i = 0; i < PAIRS; i++) {
        q[i] = i % 2 ? "who?" : "what was it";
        c[i] = contexts[i % 3];
    }
    struct collected many = {0};
    assert_int_equal(sabok_answer(m, q, c, PAIRS, NULL, collect, &many, &err), SABOK_OK);
    assert_int_equal(many.count, PAIRS);
    for (size_t i = 0; i < 6; i++) {
        struct collected one = {0};
        const sabok_answer_opts opts = {.batch_tokens = 1};
        assert_int_equal(sabok_answer(m, &q[i], &c[i], 1, &opts, collect, &one, &err), SABOK_OK);
        for (size_t k = i; k < PAIRS; k += 6)
            if (many.score[k] != one.score[0] || many.begin[k] != one.begin[0])
                fail_msg("pair %zu differs from itself alone", k);
    }
    sabok_close(m);
}

// bugs.md 108: no answer's score is that of the first token's start and end, the least of all windows.
struct impossible {
    double none, best;
    size_t count;
};

static int find_none(void *ctx, size_t pair, const sabok_answered *answers, size_t count) {
    struct impossible *n = ctx;
    (void)pair;
    n->count = count;
    n->best = answers[0].score;
    for (size_t i = 0; i < count; i++)
        if (answers[i].answer_length == 0) {
            assert_int_equal(answers[i].span.begin, 0);
            assert_int_equal(answers[i].span.end, 0);
            n->none = fmax(n->none, answers[i].score); // the class token's own span reads empty, too
        }
    return 0;
}

static void row_108_impossible_answer(void **state) {
    (void)state;
    const char *question = "how is it?";
    const char *const contexts[] = {"the man said",
                                    "the man said that they could play music and that the cat was "
                                    "running after the dog before it was new again"};
    sabok_error err = {0};
    sabok_model *m = open_model();
    sabok_answer_opts opts = {.top_k = 1000, .handle_impossible_answer = true, .doc_stride = 1};
    struct impossible n[2] = {{.none = -1}, {.none = -1}}, without = {.none = -1};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(sabok_answer(m, &question, &contexts[i], 1, &opts, find_none, &n[i], &err),
                         SABOK_OK);
    // Of one window all spans and no answer share a mass of 1, but for those that end before they start or are too long.
    assert_true(n[0].none > 0 && n[0].none < 1);
    assert_true(n[1].none > 0 && n[1].none < 1);
    opts.handle_impossible_answer = false;
    assert_int_equal(sabok_answer(m, &question, &contexts[1], 1, &opts, find_none, &without, &err), SABOK_OK);
    assert_true(without.none <= 0);
    sabok_close(m);
}

static int stop(void *ctx, size_t pair, const sabok_answered *answers, size_t count) {
    (void)ctx, (void)pair, (void)answers, (void)count;
    return 1;
}

static void test_arguments(void **state) {
    (void)state;
    sabok_error err = {0};
    sabok_model *m = open_model();
    const char *q[] = {"who", "the cat and the dog and the cat and the dog and the cat"};
    const char *c[] = {"the cat", "the cat and the dog and the cat and the dog and the cat"};
    size_t fault = 0;
    struct collected none = {0};
    sabok_answer_opts opts = {.text_at_fault = &fault};
    assert_int_equal(sabok_answer(m, q, c, 2, &opts, collect, &none, &err), SABOK_EINVAL);
    assert_int_equal(fault, 1);
    q[1] = "";
    assert_int_equal(sabok_answer(m, q, c, 2, &opts, collect, &none, &err), SABOK_EINVAL);
    assert_int_equal(fault, 1);
    assert_int_equal(none.count, 0);
    assert_int_equal(sabok_answer(m, q, c, 2, NULL, collect, &none, &err), SABOK_EINVAL);
    assert_string_equal(err.message,
                        "bert-head-answer: text 1: a question or its context is empty, expected some text");
    assert_int_equal(sabok_answer(m, q, NULL, 1, NULL, collect, &none, &err), SABOK_EINVAL);
    opts = (sabok_answer_opts){.max_seq_len = 31};
    assert_int_equal(sabok_answer(m, q, c, 1, &opts, collect, &none, &err), SABOK_EINVAL);
    opts = (sabok_answer_opts){.max_seq_len = 20, .doc_stride = 21};
    assert_int_equal(sabok_answer(m, q, c, 1, &opts, collect, &none, &err), SABOK_EINVAL);
    assert_int_equal(sabok_answer(m, q, c, 1, NULL, stop, NULL, &err), SABOK_ECANCELED);
    assert_int_equal(sabok_answer(m, NULL, NULL, 0, NULL, collect, &none, NULL), SABOK_OK);
    sabok_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_many),
                                       cmocka_unit_test(row_108_impossible_answer),
                                       cmocka_unit_test(test_arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
