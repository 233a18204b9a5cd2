// matmul of bf16 by pairs, the definition:
//   s = 0;  for k = 0, 2, 4, ...: s = x[m][k + 1] W[n][k + 1] + s, then s = x[m][k] W[n][k] + s
//   y[m][n] = act(s + bias[n]) + residual[m][n]
// each sum one rounding, subnormal operands and results zero (flush_c.h).
#include "kernel/kernel_list.h"
#include "kernel/flush_c.h"
#include "kernel/matmul_low_c.h"

static float element(const struct matmul_args *a, size_t m, size_t n) {
    size_t steps = low_steps(MATMUL_LOW_BF16, a->K);
    const uint16_t *x = (const uint16_t *)a->x + m * a->ldx;
    float s = 0;
    for (size_t step = 0; step < steps; step++) {
        const uint16_t *w = low_column(a, steps, n, step);
        s = flush_fma_c(flush_bf16_c(x[2 * step + 1]), flush_bf16_c(w[1]), s);
        s = flush_fma_c(flush_bf16_c(x[2 * step]), flush_bf16_c(w[0]), s);
    }
    return low_bias(a, n, s);
}

void matmul_bf16_c(const struct matmul_args *a, size_t begin, size_t end) {
    low_units_c(a, begin, end, element);
}
