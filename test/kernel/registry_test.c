// The registry: what kernels.def promises its readers.
#include "kernel/kernel.h"

#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

// Families together and in the order of their enum, ISAs rising, plain C first.
static void test_order(void **state) {
    (void)state;
    bool seen[FAMILY_COUNT] = {false};
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i], *before = i > 0 ? k - 1 : NULL;
        assert_true(k->family < FAMILY_COUNT && k->isa < ISA_COUNT);
        if (before && before->family == k->family) {
            assert_true(k->isa > before->isa);
            assert_int_equal(k->order, before->order);
        } else {
            assert_false(seen[k->family]);
            assert_int_equal(k->isa, ISA_C);
            seen[k->family] = true;
        }
    }
    for (size_t f = 0; f < FAMILY_COUNT; f++)
        assert_true(seen[f]);
}

static void test_names(void **state) {
    (void)state;
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        char name[64];
        snprintf(name, sizeof name, "%s_f32_%s", kernel_family_name(k->family), cpu_isa_name(k->isa));
        assert_string_equal(k->name, name);
        assert_ptr_equal(kernel_find(k->name), k);
        assert_non_null(k->fn.any);
        assert_int_equal(k->mr > 0 && k->nr > 0, k->family == FAMILY_MATMUL);
    }
    assert_null(kernel_find("matmul_f32"));
    assert_null(kernel_find(""));
}

static void test_best(void **state) {
    (void)state;
    for (enum family f = 0; f < FAMILY_COUNT; f++) {
        const struct kernel *best = kernel_best(f);
        assert_int_equal(best->family, f);
        assert_true(best->isa == ISA_C || cpu_has(best->isa));
        for (size_t i = 0; i < kernel_count; i++)
            if (kernel_table[i].family == f && kernel_table[i].isa > best->isa)
                assert_false(cpu_has(kernel_table[i].isa));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
