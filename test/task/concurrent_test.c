// One model used by many threads at once: every thread gets the bits that a thread alone gets.
#include "model/model.h"

#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 4, ROUNDS = 12, TEXTS = 40, WIDTH_MAX = 64 };

static char text_bytes[TEXTS][160];
static const char *texts[TEXTS];

static void texts_make(void) {
    static const char *const words[] = {"the",   "cat", "dog",     "plays",  "with",
                                        "music", "new", "running", "[MASK]", "zzz"};
    for (size_t i = 0; i < TEXTS; i++) {
        text_bytes[i][0] = '\0';
        for (size_t w = 0; w < i % 19; w++) {
            strcat(text_bytes[i], words[(i * 7 + w * 3) % COUNT(words)]);
            strcat(text_bytes[i], " ");
        }
        texts[i] = text_bytes[i];
    }
}

struct caller {
    const sabok_model *m;
    const float *want;
    size_t first; // where this caller starts, so that callers ask for different things
    bool good;
    pthread_t thread;
};

static void *caller_work(void *ctx) {
    struct caller *c = ctx;
    const size_t width = sabok_embed_width(c->m);
    float out[TEXTS * WIDTH_MAX];
    c->good = true;
    for (size_t round = 0; round < ROUNDS; round++) {
        const size_t first = (c->first + round * 5) % TEXTS, n = TEXTS - first;
        sabok_error err = {0};
        if (sabok_embed(c->m, texts + first, n, NULL, out, &err) != SABOK_OK ||
            memcmp(out, c->want + first * width, n * width * sizeof *out) != 0)
            c->good = false;
        sabok_encodings *encs = sabok_tokenize(sabok_model_tokenizer(c->m), texts, NULL, TEXTS, NULL, &err);
        if (!encs || sabok_encodings_count(encs) != TEXTS) c->good = false;
        sabok_encodings_free(encs);
    }
    return NULL;
}

static void test_many_callers(void **state) {
    (void)state;
    texts_make();
    for (unsigned threads = 1; threads <= 3; threads++) {
        sabok_error err = {0};
        sabok_model *m =
            sabok_open(SABOK_TEST_DIR "/golden/bert-tiny", &(sabok_open_opts){.threads = threads}, &err);
        if (!m) fail_msg("%s", err.message);
        const size_t width = sabok_embed_width(m);
        assert_true(width <= WIDTH_MAX);
        float *want = mem_array(TEXTS * width, sizeof *want);
        assert_int_equal(sabok_embed(m, texts, TEXTS, NULL, want, &err), SABOK_OK);
        struct caller callers[THREADS];
        for (size_t i = 0; i < THREADS; i++) {
            callers[i] = (struct caller){.m = m, .want = want, .first = i * 9};
            assert_int_equal(pthread_create(&callers[i].thread, NULL, caller_work, &callers[i]), 0);
        }
        for (size_t i = 0; i < THREADS; i++)
            pthread_join(callers[i].thread, NULL);
        for (size_t i = 0; i < THREADS; i++)
            if (!callers[i].good) fail_msg("caller %zu got other bits (%u threads)", i, threads);
        mem_free(want);
        sabok_close(m);
    }
}

// A text alone, in a batch, at any place of it: R19.
static void test_place_in_batch(void **state) {
    (void)state;
    texts_make();
    sabok_error err = {0};
    sabok_model *m = sabok_open(SABOK_TEST_DIR "/golden/bert-tiny", &(sabok_open_opts){.threads = 2}, &err);
    if (!m) fail_msg("%s", err.message);
    const size_t width = sabok_embed_width(m);
    float all[TEXTS * WIDTH_MAX], one[WIDTH_MAX], turned[TEXTS * WIDTH_MAX];
    assert_int_equal(sabok_embed(m, texts, TEXTS, NULL, all, &err), SABOK_OK);
    const char *reversed[TEXTS];
    for (size_t i = 0; i < TEXTS; i++)
        reversed[i] = texts[TEXTS - 1 - i];
    const sabok_embed_opts small = {.batch_tokens = 24};
    assert_int_equal(sabok_embed(m, reversed, TEXTS, &small, turned, &err), SABOK_OK);
    for (size_t i = 0; i < TEXTS; i++) {
        assert_int_equal(sabok_embed(m, &texts[i], 1, NULL, one, &err), SABOK_OK);
        if (memcmp(one, all + i * width, width * sizeof *one) != 0)
            fail_msg("text %zu depends on its batch", i);
        if (memcmp(one, turned + (TEXTS - 1 - i) * width, width * sizeof *one) != 0)
            fail_msg("text %zu depends on its place", i);
    }
    sabok_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_callers),
        cmocka_unit_test(test_place_in_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
