// The encoder over ids on random weights: same bits whatever the batch, the place, the threads and the way of
// running; nothing allocates while plans run; sticky failures of memory are clean.
#include "model/model.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { D = 36, V = 101, POSITIONS = 130 };
static char config_path[64];

static int write_config(void **state) {
    (void)state;
    snprintf(config_path, sizeof config_path, "/tmp/sabok-forward-%ld.json", (long)getpid());
    FILE *f = fopen(config_path, "w");
    if (!f) return -1;
    fprintf(f,
            "{\"model_type\": \"bert\", \"vocab_size\": %d, \"hidden_size\": %d, \"num_hidden_layers\": 2, "
            "\"num_attention_heads\": 3, \"intermediate_size\": 52, \"max_position_embeddings\": %d}",
            V, D, POSITIONS);
    return fclose(f);
}

static int remove_config(void **state) {
    (void)state;
    return unlink(config_path);
}

static sabok_model *open_as(unsigned threads, sabok_dtype dtype) {
    sabok_error err = {0};
    sabok_model *m = sabok_open(
        NULL, &(sabok_open_opts){.config = config_path, .threads = threads, .seed = 5, .dtype = dtype}, &err);
    if (!m) fail_msg("%s", err.message);
    return m;
}

static sabok_model *open_random(unsigned threads) {
    return open_as(threads, SABOK_FLOAT32);
}

struct ragged {
    uint32_t ids[4096];
    size_t offsets[65], B;
};

static void ragged_make(struct ragged *r, uint64_t seed, size_t B, size_t longest) {
    r->B = B;
    r->offsets[0] = 0;
    for (size_t b = 0; b < B; b++) {
        uint32_t bits[4];
        rng_philox(seed, 2, b, bits);
        r->offsets[b + 1] = r->offsets[b] + bits[0] % (longest + 1);
        for (size_t i = r->offsets[b]; i < r->offsets[b + 1]; i++) {
            rng_philox(seed, 3 + b, i - r->offsets[b], bits);
            r->ids[i] = bits[0] % V;
        }
    }
}

// Each sequence alone on one thread against all together on 1 to 5 threads, for one dtype. `alone` receives the former.
static void check_same_bits(sabok_dtype dtype, const struct ragged *r, float *alone) {
    static float together[4096 * D];
    const size_t T = r->offsets[r->B];
    sabok_model *one = open_as(1, dtype);
    sabok_error err = {0};
    for (size_t b = 0; b < r->B; b++) {
        const size_t offsets[] = {0, r->offsets[b + 1] - r->offsets[b]};
        assert_int_equal(
            sabok_forward(one, r->ids + r->offsets[b], NULL, offsets, 1, alone + r->offsets[b] * D, &err),
            SABOK_OK);
    }
    sabok_close(one);
    for (size_t i = 0; i < T * D; i++)
        assert_true(isfinite(alone[i]));
    for (unsigned threads = 1; threads <= 5; threads++) {
        sabok_model *m = open_as(threads, dtype);
        memset(together, 0, sizeof together);
        assert_int_equal(sabok_forward(m, r->ids, NULL, r->offsets, r->B, together, &err), SABOK_OK);
        if (memcmp(alone, together, T * D * sizeof(float)) != 0)
            fail_msg("dtype %d, %u threads: other bits", (int)dtype, threads);
        sabok_close(m);
    }
}

static void test_same_bits(void **state) {
    (void)state;
    static struct ragged r;
    static float wide[4096 * D], narrow[4096 * D];
    ragged_make(&r, 1, 40, 90);
    check_same_bits(SABOK_FLOAT32, &r, wide);
    // Other formats: their own bits always, and near those of float32. Rows are normalised, so values are about 1.
    static const struct {
        sabok_dtype dtype;
        double least, most; // of the largest difference: not a copy of float32, and not noise
    } formats[] = {{SABOK_FLOAT16, 1e-6, 4e-3}, {SABOK_BFLOAT16, 1e-4, 6e-2}, {SABOK_INT8, 1e-4, 0.1}};
    for (size_t f = 0; f < COUNT(formats); f++) {
        check_same_bits(formats[f].dtype, &r, narrow);
        double worst = 0;
        for (size_t i = 0; i < r.offsets[r.B] * D; i++)
            worst = fmax(worst, fabs((double)wide[i] - (double)narrow[i]));
        if (!(worst >= formats[f].least && worst <= formats[f].most))
            fail_msg("dtype %d: largest difference %g", (int)formats[f].dtype, worst);
    }
}

static void test_eager_and_check_give_the_same_bits(void **state) {
    (void)state;
    static struct ragged r;
    static float plain[4096 * D], other[4096 * D];
    ragged_make(&r, 2, 9, 70);
    sabok_model *m = open_random(2);
    sabok_error err = {0};
    assert_int_equal(sabok_forward(m, r.ids, NULL, r.offsets, r.B, plain, &err), SABOK_OK);
    setenv("SABOK_EAGER", "1", 1);
    assert_int_equal(sabok_forward(m, r.ids, NULL, r.offsets, r.B, other, &err), SABOK_OK);
    unsetenv("SABOK_EAGER");
    assert_memory_equal(plain, other, r.offsets[r.B] * D * sizeof(float));
    sabok_close(m);
    setenv("SABOK_CHECK", "1", 1);
    m = open_random(2);
    assert_int_equal(sabok_forward(m, r.ids, NULL, r.offsets, r.B, other, &err), SABOK_OK);
    assert_memory_equal(plain, other, r.offsets[r.B] * D * sizeof(float));
    // A NaN weight is found, with the record that met it first.
    ((float *)m->weights.layers[1].output_norm.gain.owned)[3] = NAN;
    assert_int_equal(sabok_forward(m, r.ids, NULL, r.offsets, r.B, other, &err), SABOK_ENUMERIC);
    unsetenv("SABOK_CHECK");
    assert_non_null(strstr(err.message, "layer.1"));
    assert_non_null(strstr(err.message, "layer_norm"));
    assert_non_null(strstr(err.message, "column 3"));
    sabok_close(m);
}

static void test_bad_ids(void **state) {
    (void)state;
    sabok_model *m = open_random(1);
    static float out[200 * D];
    uint32_t ids[200] = {0}, types[200] = {0};
    sabok_error err = {0};
    const size_t fits[] = {0, POSITIONS}, long_one[] = {0, POSITIONS + 1}, falling[] = {0, 5, 3},
                 late[] = {1, 2};
    assert_int_equal(sabok_forward(m, ids, types, fits, 1, out, &err), SABOK_OK);
    assert_int_equal(sabok_forward(m, ids, types, long_one, 1, out, &err), SABOK_EINVAL);
    assert_int_equal(sabok_forward(m, ids, types, falling, 2, out, &err), SABOK_EINVAL);
    assert_int_equal(sabok_forward(m, ids, types, late, 1, out, &err), SABOK_EINVAL);
    ids[4] = V;
    assert_int_equal(sabok_forward(m, ids, types, fits, 1, out, &err), SABOK_EINVAL);
    assert_non_null(strstr(err.message, "token 4 has id 101"));
    ids[4] = 0;
    types[7] = 2;
    assert_int_equal(sabok_forward(m, ids, types, fits, 1, out, &err), SABOK_EINVAL);
    sabok_close(m);
}

// A session that has been used once runs again without a single allocation.
static void test_run_allocates_nothing(void **state) {
    (void)state;
    sabok_model *m = open_random(2);
    static float out[200 * D];
    uint32_t ids[100] = {3, 4, 5};
    sabok_error err = {0};
    struct session *s = session_take(m, PROGRAM_HIDDEN, 100, 1, &err);
    assert_non_null(s);
    for (int round = 0; round < 3; round++) {
        session_add(m, s, &(struct sequence){ids, NULL, 100, 0});
        const uint64_t before = mem_count();
        assert_int_equal(session_run(m, s, m->team, out, &err), SABOK_OK);
        assert_int_equal(mem_count(), before);
    }
    session_give(m, s);
    sabok_close(m);
}

static void test_allocation_failures(void **state) {
    (void)state;
    static float out[60 * D];
    uint32_t ids[60] = {1, 2, 3};
    const size_t offsets[] = {0, 20, 60};
    const int64_t live = mem_live();
    for (int sticky = 0; sticky < 2; sticky++) {
        bool done = false;
        for (uint64_t k = 1; !done; k++) {
            sabok_error err = {0};
            mem_fail_at(k, sticky != 0);
            sabok_model *m = sabok_open(NULL, &(sabok_open_opts){.config = config_path, .threads = 1}, &err);
            sabok_status status = m ? sabok_forward(m, ids, NULL, offsets, 2, out, &err) : err.code;
            mem_fail_at(0, false);
            done = status == SABOK_OK;
            if (!done && status != SABOK_ENOMEM) fail_msg("allocation %zu: %s", (size_t)k, err.message);
            if (m && !done) assert_int_equal(sabok_forward(m, ids, NULL, offsets, 2, out, &err), SABOK_OK);
            sabok_close(m);
            if (mem_live() != live)
                fail_msg("allocation %zu: %d blocks leak", (size_t)k, (int)(mem_live() - live));
            assert_true(k < 10000);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_eager_and_check_give_the_same_bits),
        cmocka_unit_test(test_bad_ids),
        cmocka_unit_test(test_run_allocates_nothing),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, write_config, remove_config);
}
