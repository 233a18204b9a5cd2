// Ops: shape errors stick and name scope and shapes; an op with a lowering computes the same bits as its
// lowering.
#include "exec/exec.h"

#include <math.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

enum { T = 37, B = 3, D = 24, N = 40 };

static struct weight test_weight(const char *name, enum weight_role role, int64_t rows, int64_t columns,
                                 float *data) {
    struct weight w = {.name = name, .role = role, .stored = DT_F32, .data = data, .f32 = data};
    w.shape = columns ? (struct shape){2, {rows, columns}} : (struct shape){1, {rows}};
    const size_t n = (size_t)(rows * (columns ? columns : 1));
    for (size_t i = 0; i < n; i++)
        data[i] = rng_normal(7, hash_bytes(name, strlen(name), 0), i) * 0.3f;
    return w;
}

static void test_shape_errors(void **state) {
    (void)state;
    float data[N * D], bias[N];
    const struct weight w = test_weight("w", WEIGHT_LINEAR, N, D, data);
    const struct weight b = test_weight("b", WEIGHT_BIAS, N - 1, 0, bias);
    prog p;
    prog_init(&p);
    const val x = prog_input(&p, "x", DT_F32, (struct shape){2, {DIM_T, D + 1}}, 0);
    prog_push(&p, "layer.%d", 3);
    const val y = op_linear(&p, x, prog_weight(&p, &w), 0);
    assert_int_equal(y, 0);
    assert_int_equal(p.error.code, SABOK_ESHAPE);
    assert_non_null(strstr(p.error.message, "layer.3"));
    assert_non_null(strstr(p.error.message, "[T, 25]"));
    assert_non_null(strstr(p.error.message, "[40, 24]"));
    char first[sizeof p.error.message];
    memcpy(first, p.error.message, sizeof first);
    // Later ops return 0 and the first error stays.
    assert_int_equal(op_linear(&p, x, prog_weight(&p, &w), prog_weight(&p, &b)), 0);
    assert_int_equal(op_add(&p, y, x), 0);
    assert_string_equal(first, p.error.message);
    prog_pop(&p);
    sabok_error err = {0};
    struct pack_set *packs = pack_new();
    assert_null(plan_new(&p, packs, 4, 1, 1, &err));
    assert_string_equal(err.message, first);
    pack_free(packs);
    prog_free(&p);
}

// Every constructor refuses shapes that do not fit.
static void test_each_op_refuses(void **state) {
    (void)state;
    float data[N * D], vector[N];
    const struct weight w = test_weight("w", WEIGHT_TABLE, N, D, data);
    const struct weight g = test_weight("g", WEIGHT_GAIN, N, 0, vector);
    for (int which = 0; which < 8; which++) {
        prog p;
        prog_init(&p);
        const val x = prog_input(&p, "x", DT_F32, (struct shape){2, {DIM_T, D}}, 0);
        const val z = prog_input(&p, "z", DT_F32, (struct shape){2, {DIM_T, D + 2}}, 1);
        const val line = prog_input(&p, "line", DT_I32, (struct shape){1, {DIM_T}}, 2);
        const val table = prog_weight(&p, &w), gain = prog_weight(&p, &g);
        const val tables[] = {table, gain}, index[] = {line, line};
        const enum pool mode = POOL_MEAN;
        val out = 1;
        switch (which) {
        case 0:
            out = op_layer_norm(&p, x, gain, gain, 1e-5f);
            break;
        case 1:
            out = op_add(&p, x, z);
            break;
        case 2:
            out = op_attention(&p, x, x, z, 0, 4);
            break;
        case 3:
            out = op_attention(&p, x, x, x, 0, 5);
            break;
        case 4:
            out = op_act(&p, line, ACT_GELU);
            break;
        case 5:
            out = op_embed(&p, tables, index, 2);
            break;
        case 6:
            out = op_pool(&p, line, line, 0, &mode, 1);
            break;
        case 7:
            out = op_attention(&p, x, x, x, table, 4);
            break;
        }
        if (out != 0) fail_msg("case %d was accepted", which);
        assert_int_equal(p.error.code, SABOK_ESHAPE);
        prog_free(&p);
    }
}

struct fixture {
    float w[N * D], w2[D * N], b[N], b2[D], gain[D], beta[D];
    struct weight ww, ww2, wb, wb2, wgain, wbeta;
    float x[T * D], z[T * D];
    uint32_t offsets[B + 1];
};

static void fixture_make(struct fixture *f) {
    f->ww = test_weight("w", WEIGHT_LINEAR, N, D, f->w);
    f->ww2 = test_weight("w2", WEIGHT_LINEAR, D, N, f->w2);
    f->wb = test_weight("b", WEIGHT_BIAS, N, 0, f->b);
    f->wb2 = test_weight("b2", WEIGHT_BIAS, D, 0, f->b2);
    f->wgain = test_weight("gain", WEIGHT_GAIN, D, 0, f->gain);
    f->wbeta = test_weight("beta", WEIGHT_BIAS, D, 0, f->beta);
    for (size_t i = 0; i < T * D; i++) {
        f->x[i] = rng_normal(1, 1, i);
        f->z[i] = rng_normal(1, 2, i);
    }
    const uint32_t offsets[B + 1] = {0, 5, 5, T};
    memcpy(f->offsets, offsets, sizeof offsets);
}

// Builds norm(x + down(act(up(x)))) + z, and runs it. Inputs ride in the slots of ids and types.
static void run_block(const struct fixture *f, bool fuse, unsigned threads, float *out) {
    prog p;
    prog_init(&p);
    const struct shape rows = {2, {DIM_T, D}};
    const val x = prog_input(&p, "x", DT_F32, rows, INPUT_IDS),
              z = prog_input(&p, "z", DT_F32, rows, INPUT_TYPES);
    val h = op_act(&p, op_linear(&p, x, prog_weight(&p, &f->ww), prog_weight(&p, &f->wb)), ACT_GELU);
    h = op_linear(&p, h, prog_weight(&p, &f->ww2), prog_weight(&p, &f->wb2));
    h = op_layer_norm(&p, op_add(&p, x, h), prog_weight(&p, &f->wgain), prog_weight(&p, &f->wbeta), 1e-5f);
    h = op_add(&p, op_linear(&p, op_linear(&p, h, prog_weight(&p, &f->ww), 0), prog_weight(&p, &f->ww2), 0),
               z);
    h = op_normalize(&p, op_add(&p, h, h));
    prog_output(&p, h, 0);
    const size_t records = p.record_count;
    if (fuse) prog_fuse(&p);
    assert_int_equal(p.record_count, fuse ? records - 3 : records);
    struct pack_set *packs = pack_new();
    struct team *team = team_new(threads, false, NULL);
    sabok_error err = {0};
    assert_int_equal(pack_program(packs, &p, team, NULL, NULL, &err), SABOK_OK);
    struct plan *plan = plan_new(&p, packs, T + 9, B + 1, threads, &err);
    assert_non_null(plan);
    const struct batch batch = {
        .T = T, .B = B, .ids = (const void *)f->x, .types = (const void *)f->z, .offsets = f->offsets};
    float *outputs[OUTPUT_MAX] = {out};
    assert_int_equal(plan_run(plan, &batch, outputs, team, &err), SABOK_OK);
    plan_free(plan);
    team_free(team);
    pack_free(packs);
    prog_free(&p);
}

// Fused records (linear + act, add + norm, linear + add) give the bits of the records they replace.
static void test_fused_equals_lowered(void **state) {
    (void)state;
    static struct fixture f;
    fixture_make(&f);
    static float plain[T * D], fused[T * D], shared[T * D];
    run_block(&f, false, 1, plain);
    run_block(&f, true, 1, fused);
    run_block(&f, true, 3, shared);
    assert_memory_equal(plain, fused, sizeof plain);
    assert_memory_equal(plain, shared, sizeof plain);
    double sum = 0;
    for (size_t i = 0; i < T * D; i++)
        sum += fabs((double)plain[i]);
    assert_true(sum > 1); // not a comparison of zeros
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape_errors),
        cmocka_unit_test(test_each_op_refuses),
        cmocka_unit_test(test_fused_equals_lowered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
