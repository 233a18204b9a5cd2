// The measuring calls of sabok.h: every kernel of kernels.def can be measured, and bad cases are refused.
#include "kernel/kernel.h"

#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

static void check_kernel(const struct kernel *k, bool cold, unsigned threads) {
    sabok_bench_case c = {.name = kernel_family_name(k->family),
                          .kernel = k->name,
                          .M = 40,
                          .N = 192,
                          .K = 64,
                          .threads = threads,
                          .seconds = 0.001,
                          .cold = cold};
    sabok_bench_result r;
    sabok_error err;
    assert_int_equal(sabok_bench_kernel(&c, &r, &err), SABOK_OK);
    assert_string_equal(r.kernel, k->name);
    assert_true(r.ms_min > 0 && r.ms_median >= r.ms_min && r.gbytes > 0);
    bool multiplies = strncmp(c.name, "matmul", 6) == 0 || k->family == FAMILY_ATTENTION;
    assert_true(multiplies ? r.gflops > 0 : r.gflops == 0);
}

static void test_each_kernel(void **state) {
    (void)state;
    int64_t live = mem_live();
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        if (k->isa == ISA_C || cpu_has(k->isa))
            check_kernel(k, false, 1 + i % 2);
        else
            print_message("skipped: %s (1 kernel): no %s here\n", k->name, cpu_isa_name(k->isa));
    }
    assert_int_equal(mem_live(), live);
}

static void test_cold(void **state) {
    (void)state;
    check_kernel(kernel_best(FAMILY_MATMUL), true, 1);
}

static void test_best_kernel(void **state) {
    (void)state;
    sabok_bench_case c = {.name = "matmul", .M = 3, .N = 5, .K = 7};
    sabok_bench_result r;
    assert_int_equal(sabok_bench_kernel(&c, &r, NULL), SABOK_OK);
    assert_string_equal(r.kernel, kernel_best(FAMILY_MATMUL)->name);
}

static void test_refusals(void **state) {
    (void)state;
    const sabok_bench_case cases[] = {
        {.name = "matmull", .M = 1, .N = 1, .K = 1},
        {.name = NULL, .M = 1, .N = 1, .K = 1},
        {.name = "matmul", .kernel = "norm_f32_c", .M = 1, .N = 1, .K = 1},
        {.name = "norm_f32_c", .kernel = "norm_f32_c", .M = 1, .N = 1, .K = 1},
        {.name = "matmul", .kernel = "matmul_f32_abacus", .M = 1, .N = 1, .K = 1},
        {.name = "matmul", .M = 0, .N = 1, .K = 1},
        {.name = "matmul", .M = 1, .N = 1, .K = 0},
        {.name = "matmul", .M = SIZE_MAX / 2, .N = 3, .K = 1},
        {.name = "matmul", .M = 1 << 24, .N = 1 << 24, .K = 1 << 24},
        {.name = "norm", .M = SIZE_MAX, .N = SIZE_MAX},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        sabok_bench_result r;
        sabok_error err;
        assert_int_equal(sabok_bench_kernel(&cases[i], &r, &err), SABOK_EINVAL);
        assert_true(strlen(err.message) > 0);
    }
}

// Every allocation fails in turn: an error each time, and nothing kept.
static void test_memory(void **state) {
    (void)state;
    sabok_bench_case c = {.name = "matmul", .M = 3, .N = 5, .K = 7, .threads = 2};
    int64_t live = mem_live();
    for (uint64_t k = 1;; k++) {
        sabok_bench_result r;
        sabok_error err;
        mem_fail_at(k, false);
        sabok_status status = sabok_bench_kernel(&c, &r, &err);
        mem_fail_at(0, false);
        assert_int_equal(mem_live(), live);
        if (status == SABOK_OK) break;
        assert_int_equal(status, SABOK_ENOMEM);
        assert_true(k < 100);
    }
}

static void test_peak(void **state) {
    (void)state;
    sabok_peak p;
    sabok_error err;
    assert_int_equal(sabok_peak_measure(2, 0.01, &p, &err), SABOK_OK);
    assert_true(p.flops_f32 > 0 && p.read_bytes > 0);
    assert_int_equal(p.threads, 2);
    assert_non_null(p.isa);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kernel), cmocka_unit_test(test_cold),   cmocka_unit_test(test_best_kernel),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_memory), cmocka_unit_test(test_peak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
