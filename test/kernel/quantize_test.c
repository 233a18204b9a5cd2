// quantize: every kernel against plain C, bit for bit, and plain C against its maths.
#include "kernel/area.h"
#include "kernel/kernel.h"

#include <setjmp.h>
#include <cmocka.h>

// Rows [M] of D with gaps, at any alignment of x; units one by one, from the last, when `apart`.
static struct area run(const struct kernel *k, const struct area *x, size_t M, size_t D, size_t pad,
                       float scale, bool apart) {
    struct quantize_args a = {.x = x->first, .D = D, .ldx = D + pad, .scale = scale};
    a.ldy = quantize_row_bytes(D) + 64 * pad;
    struct area y = area_new(M * a.ldy / 4, 0);
    a.y = (int8_t *)(void *)y.first;
    if (!apart) k->fn.quantize(&a, 0, M);
    for (size_t m = M; apart && m > 0; m--)
        k->fn.quantize(&a, m - 1, m);
    return y;
}

static void check_row(const int8_t *q, const float *x, size_t D, float fixed) {
    size_t depth = matmul_low_depth(MATMUL_LOW_I8, D);
    struct quantize_tail tail;
    memcpy(&tail, q + depth, sizeof tail);
    float most = 0;
    bool nan = false, infinite = false;
    int32_t sum = 0;
    for (size_t i = 0; i < D; i++) {
        nan = nan || isnan(x[i]);
        infinite = infinite || isinf(x[i]);
        most = fmaxf(most, fabsf(x[i]));
    }
    bool bad = nan || (infinite && fixed == 0), zero = bad || (fixed == 0 && most < QUANTIZE_LEAST);
    float scale = fixed > 0 ? fixed : zero ? 1 : most / 127;
    assert_true(bad ? isnan(tail.scale) : tail.scale == scale);
    for (size_t i = 0; i < depth; i++) {
        sum += q[i];
        double exact = i < D && !zero ? fmin(fmax((double)x[i] / (double)scale, -127), 127) : 0;
        if (!(fabs(q[i] - exact) <= 0.5 + 1e-4))
            fail_msg("D %zu: x[%zu] %a gives %d", D, i, (double)x[i], q[i]);
    }
    assert_int_equal(tail.sum, sum);
}

static void check_kernel(const struct kernel *k) {
    const struct kernel *c = kernel_find("quantize_i8_c");
    for (size_t i = 0; i < 400; i++) {
        size_t D = i % 200, M = i % 7, pad = i % 4;
        float scale = i % 3 == 2 ? 0.004F : 0;
        struct area x = area_values(M * (D + pad), i % 16, (unsigned)(i / 5) % VALUES_COUNT, i);
        struct area want = run(c, &x, M, D, pad, scale, false), y = run(k, &x, M, D, pad, scale, false);
        struct area parts = run(k, &x, M, D, pad, scale, true);
        for (size_t j = 0; j < y.count; j++) // padding holds the guard in both
            if (!float_same(y.first[j], want.first[j]) || !float_same(parts.first[j], want.first[j]))
                fail_msg("%s differs from plain C: case %zu, word %zu", k->name, i, j);
        assert_true(area_guarded(&y) && area_guarded(&parts));
        for (size_t m = 0; m < M; m++)
            check_row((const int8_t *)(const void *)y.first + m * (quantize_row_bytes(D) + 64 * pad),
                      x.first + m * (D + pad), D, scale);
        free(x.block);
        free(want.block);
        free(y.block);
        free(parts.block);
    }
}

static void each_kernel(void (*check)(const struct kernel *k)) {
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        if (k->family != FAMILY_QUANTIZE) continue;
        if (k->isa == ISA_C || cpu_has(k->isa))
            check(k);
        else
            print_message("skipped: %s (1 kernel): no %s here\n", k->name, cpu_isa_name(k->isa));
    }
}

static void test_kernels(void **state) {
    (void)state;
    each_kernel(check_kernel);
}

// Halves go to the even neighbour; the largest value gives 127 whatever it is.
static void check_ties(const struct kernel *k) {
    struct area x = area_new(64, 0);
    for (size_t i = 0; i < 64; i++)
        x.first[i] = (float)i - 31.5F;
    struct area y = run(k, &x, 1, 64, 0, 1, false);
    const int8_t *q = (const int8_t *)(const void *)y.first;
    for (size_t i = 0; i < 64; i++)
        assert_true(q[i] % 2 == 0 && fabsf(q[i] - x.first[i]) == 0.5F);
    free(y.block);
    for (size_t i = 0; i < 2000; i++) {
        x.first[7] = ldexpf(1 + rng_uniform(3, 4, i), (int)(i % 220) - 95);
        for (size_t j = 0; j < 64; j++)
            if (j != 7) x.first[j] = -x.first[7];
        y = run(k, &x, 1, 64, 0, 0, false);
        q = (const int8_t *)(const void *)y.first;
        assert_true(q[7] == 127 && q[6] == -127);
        free(y.block);
    }
    free(x.block);
}

static void test_ties(void **state) {
    (void)state;
    each_kernel(check_ties);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels), cmocka_unit_test(test_ties)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
