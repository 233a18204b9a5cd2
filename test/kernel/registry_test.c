// The registry: what kernels.def promises its readers.
#include "kernel/kernel.h"

#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

// An order of sums is defined by a plain C kernel of the same family.
static bool order_defined(const struct kernel *k) {
    for (size_t i = 0; i < kernel_count; i++)
        if (kernel_table[i].family == k->family && kernel_table[i].isa == ISA_C &&
            kernel_table[i].order == k->order)
            return true;
    return false;
}

// Families together, ISAs rising, plain C first.
static void test_order(void **state) {
    (void)state;
    bool seen[FAMILY_COUNT] = {false};
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i], *before = i > 0 ? k - 1 : NULL;
        assert_true(k->family < FAMILY_COUNT && k->isa < ISA_COUNT);
        if (before && before->family == k->family) {
            assert_true(k->isa > before->isa || (k->isa == ISA_C && before->isa == ISA_C));
        } else {
            assert_false(seen[k->family]);
            assert_int_equal(k->isa, ISA_C);
            seen[k->family] = true;
        }
    }
    for (size_t i = 0; i < kernel_count; i++)
        if (!order_defined(&kernel_table[i]))
            fail_msg("%s: no plain C kernel adds in its order", kernel_table[i].name);
    for (size_t f = 0; f < FAMILY_COUNT; f++)
        assert_true(seen[f]);
}

static void test_names(void **state) {
    (void)state;
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        const char *family = kernel_family_name(k->family), *isa = strrchr(k->name, '_');
        assert_memory_equal(k->name, family, strlen(family));
        assert_string_equal(isa + 1, cpu_isa_name(k->isa));
        assert_ptr_equal(kernel_find(k->name), k);
        assert_non_null(k->fn.any);
        const bool product = strncmp(family, "matmul", 6) == 0;
        assert_int_equal(k->mr > 0 && k->nr > 0, product);
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
