// matmul of int8: every kernel against plain C, bit for bit, and plain C against its maths.
//   matmul_i8_test                 all
//   matmul_i8_test KERNEL CASE     one case, as a failure prints it
#define TEST_NAME "matmul_i8_test"
#define TEST_FAMILIES                                                                                        \
    { FAMILY_MATMUL_I8 }
#include "kernel/low_check.h"

// q of W [n][k], found from the packed bytes by the layout that kernel.h describes.
static int32_t packed_at(const uint8_t *packed, size_t K, size_t n, size_t k) {
    size_t depth = matmul_low_depth(MATMUL_LOW_I8, K);
    return packed[n / 16 * 16 * depth + k / 4 * 64 + n % 16 * 4 + k % 4] - 128;
}

// W of any alignment, in any split, column by column.
static void test_pack(void **state) {
    (void)state;
    for (size_t i = 0; i < 60; i++) {
        size_t N = 1 + i * 7 % 131, K = i * 13 % 283, panels = (N + 31) / 32, middle = panels / 2;
        struct area w = low_values(N * K, 0, i % 5 == 4 ? VALUES_SPECIAL : VALUES_NORMAL, i);
        char *moved = malloc(N * K * sizeof(float) + 3);
        memcpy(moved + i % 4, w.first, N * K * sizeof(float));
        struct area packed = area_new(matmul_low_bytes(MATMUL_LOW_I8, N, K) / 4, 0),
                    scale = area_new(N, i % 16);
        const float *source = (const float *)(const void *)(moved + i % 4);
        matmul_pack_low(MATMUL_LOW_I8, packed.first, scale.first, source, N, K, middle, panels);
        matmul_pack_low(MATMUL_LOW_I8, packed.first, scale.first, source, N, K, 0, middle);
        assert_true(area_guarded(&packed) && area_guarded(&scale));
        for (size_t n = 0; n < panels * 32; n++) {
            double most = 0;
            bool finite = true;
            for (size_t k = 0; k < K && n < N; k++) {
                finite = finite && isfinite(w.first[n * K + k]);
                most = fmax(most, fabs((double)w.first[n * K + k]));
            }
            float want = most > 0 ? (float)most / 127 : 1;
            if (n < N && !(finite ? scale.first[n] == want : isnan(scale.first[n])))
                fail_msg("i %zu: scale of column %zu", i, n);
            for (size_t k = 0; k < matmul_low_depth(MATMUL_LOW_I8, K); k++) {
                int32_t q = packed_at((const uint8_t *)packed.first, K, n, k);
                double exact = n < N && k < K && finite ? (double)w.first[n * K + k] / (double)want : 0;
                if (!(fabs(q - exact) <= 0.5 + 1e-4) || abs(q) > 127)
                    fail_msg("i %zu: column %zu, depth %zu: %d, not %g", i, n, k, q, exact);
            }
        }
        free(moved);
        free(w.block);
        free(packed.block);
        free(scale.block);
    }
}

// Sums as the maths has them, at values where 16 bits would saturate and where float sums would round.
static void check_exact(const struct kernel *k) {
    for (unsigned values = 0; values < 2; values++) {
        struct problem p = {.M = 9, .N = 40, .K = 4096, .unit_rows = 9, .unit_panels = 4};
        p.values = values ? VALUES_EXTREME : VALUES_NORMAL;
        struct operands o = operands_new(&p, k->family);
        struct area y = run(k, &p, &o, false);
        for (size_t m = 0; m < p.M; m++) {
            const int8_t *x = (const int8_t *)(const void *)o.x.first + m * o.ldx;
            struct quantize_tail tail;
            memcpy(&tail, x + p.K, sizeof tail);
            for (size_t n = 0; n < p.N; n++) {
                int64_t sum = 0;
                for (size_t i = 0; i < p.K; i++)
                    sum += x[i] * packed_at((const uint8_t *)o.packed.first, p.K, n, i);
                float want = (float)sum * (tail.scale * o.scale.first[n]);
                if (y.first[m * p.N + n] != want) fail_case(k, &p, "not the exact sum", m, n);
            }
        }
        free(y.block);
        operands_free(&o);
    }
}

static void test_exact(void **state) {
    (void)state;
    each_kernel(check_exact);
}

// y against f32 arithmetic: half a step of x times |W|, half a step of W times |x|, and their product.
static void check_bound(const struct kernel *k) {
    struct problem p = {.M = 19, .N = 45, .K = 700, .bias = 1, .unit_rows = 19, .unit_panels = 3};
    struct operands o = operands_new(&p, k->family);
    struct area y = run(k, &p, &o, false);
    for (size_t m = 0; m < p.M; m++)
        for (size_t n = 0; n < p.N; n++) {
            double exact = o.bias.first[n], x_step = 1.0 / 254, w_step = 1.0 / 254, bound = 1e-4;
            for (size_t i = 0; i < p.K; i++) {
                double x = o.source.first[m * p.K + i], w = o.w.first[n * p.K + i];
                exact += x * w;
                bound += fabs(w) * x_step + fabs(x) * w_step + x_step * w_step;
            }
            if (!(fabs(y.first[m * p.N + n] - exact) <= bound))
                fail_case(k, &p, "past the error bound", m, n);
        }
    free(y.block);
    operands_free(&o);
}

static void test_bound(void **state) {
    (void)state;
    each_kernel(check_bound);
}

int main(int argc, char **argv) {
    if (argc == 3) return rerun(argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pack), LOW_TESTS, cmocka_unit_test(test_exact),
                                       cmocka_unit_test(test_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
