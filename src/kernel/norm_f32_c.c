// norm, the definition:
//   s = x + residual;  m = sum(s) / D;  v = sum((s - m)^2) / D, each square added by fma;
//   y = fma((s - m) (1 / sqrt(v + eps)), gamma, beta)
#include "kernel/kernel_list.h"

#include <math.h>

enum { LANES = 16 };

static float lanes_sum(float lane[LANES]) {
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t j = 0; j < half; j++)
            lane[j] += lane[j + half];
    return lane[0];
}

void norm_f32_c(const struct norm_args *a, size_t begin, size_t end) {
    const float count = (float)a->D;
    for (size_t row = begin; row < end; row++) {
        const float *x = a->x + row * a->D, *residual = a->residual ? a->residual + row * a->D : NULL;
        float *y = a->y + row * a->D;
        float sum[LANES] = {0}, squares[LANES] = {0};
        for (size_t i = 0; i < a->D; i++) {
            y[i] = residual ? x[i] + residual[i] : x[i];
            sum[i % LANES] += y[i];
        }
        float mean = lanes_sum(sum) / count;
        for (size_t i = 0; i < a->D; i++)
            squares[i % LANES] = fmaf(y[i] - mean, y[i] - mean, squares[i % LANES]);
        float inverse = 1 / sqrtf(lanes_sum(squares) / count + a->eps);
        for (size_t i = 0; i < a->D; i++)
            y[i] = fmaf((y[i] - mean) * inverse, a->gamma[i], a->beta[i]);
    }
}
