// matmul of int8, the definition:
//   s = sum_k x[m][k] q[n][k], exact;  y[m][n] = act(fma(float(s), xs[m] scale[n], bias[n])) + residual[m][n]
#include "kernel/kernel_list.h"
#include "kernel/matmul_low_c.h"

static float element(const struct matmul_args *a, size_t m, size_t n) {
    size_t steps = low_steps(MATMUL_LOW_I8, a->K);
    const int8_t *x = (const int8_t *)a->x + m * a->ldx;
    int32_t s = 0;
    for (size_t step = 0; step < steps; step++) {
        const uint8_t *w = low_column(a, steps, n, step);
        for (size_t i = 0; i < LOW_STEP; i++)
            s += x[step * LOW_STEP + i] * (w[i] - 128);
    }
    float scale = low_tail(a, m)->scale * a->scale[n];
    return fmaf((float)s, scale, a->bias ? a->bias[n] : 0);
}

void matmul_i8_c(const struct matmul_args *a, size_t begin, size_t end) {
    low_units_c(a, begin, end, element);
}
