// matmul of f32 by f16 weights, the definition:
//   s = 0;  s = fma(x[m][k], W[n][k], s) for k = 0, 1, ..., K - 1;  y[m][n] = act(s + bias[n]) +
//   residual[m][n]
#include "kernel/kernel_list.h"
#include "kernel/matmul_low_c.h"

static float element(const struct matmul_args *a, size_t m, size_t n) {
    size_t steps = low_steps(MATMUL_LOW_F16, a->K);
    const float *x = (const float *)a->x + m * a->ldx;
    float s = 0;
    for (size_t k = 0; k < a->K; k++) {
        const uint16_t *line = low_column(a, steps, n / MATMUL_LOW_GROUP * MATMUL_LOW_GROUP, k / 2);
        s = fmaf(x[k], f16_to_f32(line[k % 2 * MATMUL_LOW_GROUP + n % MATMUL_LOW_GROUP]), s);
    }
    return low_bias(a, n, s);
}

void matmul_f16w_c(const struct matmul_args *a, size_t begin, size_t end) {
    low_units_c(a, begin, end, element);
}
