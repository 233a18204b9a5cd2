// matmul of bf16, and of f32 by weights stored in 16 bits: every kernel against the plain C kernel of its
// order, bit for bit, and all against their maths.
//   matmul_bf16_test                 all
//   matmul_bf16_test KERNEL CASE     one case, as a failure prints it
#define TEST_NAME "matmul_bf16_test"
#define TEST_FAMILIES                                                                                        \
    { FAMILY_MATMUL_BF16, FAMILY_MATMUL_BF16W, FAMILY_MATMUL_F16W }
#include "kernel/low_check.h"

static float narrow(enum matmul_low low, float x) {
    return low == MATMUL_LOW_F16 ? f16_to_f32(f32_to_f16(x)) : bf16_to_f32(f32_to_bf16(x));
}

// W of any alignment, in any split, value by value.
static void test_pack(void **state) {
    (void)state;
    for (size_t i = 0; i < 120; i++) {
        enum matmul_low low = i % 2 ? MATMUL_LOW_BF16 : MATMUL_LOW_F16;
        size_t N = 1 + i * 7 % 131, K = i * 13 % 283, panels = (N + 31) / 32, middle = panels / 2;
        size_t depth = matmul_low_depth(low, K);
        struct area w = low_values(N * K, 0, VALUES_SPECIAL, i);
        char *moved = malloc(N * K * sizeof(float) + 3);
        memcpy(moved + i % 4, w.first, N * K * sizeof(float));
        struct area packed = area_new(matmul_low_bytes(low, N, K) / 4, 0);
        const float *source = (const float *)(const void *)(moved + i % 4);
        matmul_pack_low(low, packed.first, NULL, source, N, K, middle, panels);
        matmul_pack_low(low, packed.first, NULL, source, N, K, 0, middle);
        assert_true(area_guarded(&packed));
        for (size_t n = 0; n < panels * 32; n++)
            for (size_t k = 0; k < depth; k++) {
                size_t at = n / 16 * 16 * depth + k / 2 * 32;
                at += low == MATMUL_LOW_F16 ? k % 2 * 16 + n % 16 : n % 16 * 2 + k % 2;
                uint16_t got = ((const uint16_t *)(const void *)packed.first)[at];
                float value = low == MATMUL_LOW_F16 ? f16_to_f32(got) : bf16_to_f32(got);
                if (!float_same(value, n < N && k < K ? narrow(low, w.first[n * K + k]) : 0))
                    fail_msg("i %zu: column %zu, depth %zu", i, n, k);
            }
        free(moved);
        free(w.block);
        free(packed.block);
    }
}

// |y - exact| <= (K + 3) eps sum |x| |w| for the operands as they were rounded, then the bias.
static void check_bound_of(const struct kernel *k, size_t M, size_t K) {
    struct problem p = {.M = M, .N = 45, .K = K, .bias = 1, .unit_rows = M, .unit_panels = 3};
    struct operands o = operands_new(&p, k->family);
    struct area y = run(k, &p, &o, false);
    enum matmul_low low = low_of(k->family);
    for (size_t m = 0; m < p.M; m++)
        for (size_t n = 0; n < p.N; n++) {
            double exact = o.bias.first[n], size = fabs(exact);
            for (size_t i = 0; i < p.K; i++) {
                float x = o.source.first[m * p.K + i];
                if (!takes_f32(k->family)) x = narrow(low, x);
                double product = (double)x * narrow(low, o.w.first[n * p.K + i]);
                exact += product;
                size += fabs(product);
            }
            double bound = (double)(p.K + 3) * (double)FLT_EPSILON / 2 * size;
            if (!(fabs(y.first[m * p.N + n] - exact) <= bound))
                fail_case(k, &p, "past the error bound", m, n);
        }
    free(y.block);
    operands_free(&o);
}

// Depths at and past the parts of K that the kernels work in, with rows enough to share a widened panel.
static void check_bound(const struct kernel *k) {
    static const size_t depths[] = {510, 511, 512, 513, 1024, 1025, 1200, 1536, 2048};
    for (size_t i = 0; i < COUNT(depths); i++) {
        check_bound_of(k, 19, depths[i]);
        check_bound_of(k, 61, depths[i]);
    }
}

static void test_bound(void **state) {
    (void)state;
    each_kernel(check_bound);
}

// What is bound can run, takes the packing it is given, and is no plain C where there is more.
static void test_best(void **state) {
    (void)state;
    for (enum matmul_low low = MATMUL_LOW_BF16; low <= MATMUL_LOW_I8; low++) {
        const struct kernel *k = kernel_best_low(low);
        assert_true(k->isa == ISA_C || cpu_has(k->isa));
        assert_int_equal(low_of(k->family), low);
        assert_true(k->isa != ISA_C || !cpu_has(ISA_AVX2));
    }
    if (cpu_has(ISA_AMX)) assert_string_equal(kernel_best_low(MATMUL_LOW_BF16)->name, "matmul_bf16t_amx");
}

int main(int argc, char **argv) {
    if (argc == 3) return rerun(argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pack), LOW_TESTS, cmocka_unit_test(test_bound),
                                       cmocka_unit_test(test_best)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
