// cast: every kernel against f32_to_bf16, bit for bit.
#include "kernel/area.h"
#include "kernel/kernel.h"
#include "core/core.h"

#include <setjmp.h>
#include <cmocka.h>

static void check_kernel(const struct kernel *k) {
    for (size_t i = 0; i < 400; i++) {
        size_t D = i % 150, M = i % 7, pad = i % 4, depth = matmul_low_depth(MATMUL_LOW_BF16, D);
        size_t ldx = D + pad, ldy = depth + 2 * pad;
        struct area x = area_values(M * ldx, i % 16, (unsigned)(i / 5) % VALUES_COUNT, i);
        for (size_t j = 0; j < x.count && i % 2; j++) { // any bits
            uint32_t bits[4];
            rng_philox(7, i, j, bits);
            memcpy(x.first + j, bits, sizeof(float));
        }
        struct area y = area_new(M * ldy / 2, i % 16);
        struct cast_args a = {x.first, (uint16_t *)(void *)y.first, D, ldx, ldy};
        k->fn.cast(&a, M / 2, M);
        for (size_t m = M / 2; m > 0; m--)
            k->fn.cast(&a, m - 1, m);
        for (size_t m = 0; m < M; m++)
            for (size_t j = 0; j < ldy; j++) {
                uint16_t want = j < D ? f32_to_bf16(x.first[m * ldx + j]) : j < depth ? 0 : 0xa5a5;
                if (a.y[m * ldy + j] != want) fail_msg("%s: case %zu, row %zu, column %zu", k->name, i, m, j);
            }
        assert_true(area_guarded(&y));
        free(x.block);
        free(y.block);
    }
}

static void test_kernels(void **state) {
    (void)state;
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        if (k->family != FAMILY_CAST) continue;
        if (k->isa == ISA_C || cpu_has(k->isa))
            check_kernel(k);
        else
            print_message("skipped: %s (1 kernel): no %s here\n", k->name, cpu_isa_name(k->isa));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
