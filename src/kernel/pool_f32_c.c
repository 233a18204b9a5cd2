// pool, the definition. One column of one sequence of n tokens, o = x_0 and so on in order:
//   mean, mean_sqrt  s = x_0 + x_1 + ... from 0, then s / n or s / sqrt(n)
//   weighted         s = fma(i + 1, x_i, s) from 0, then s / (n (n + 1) / 2)
//   max              m = x_i > m ? x_i : m from x_0; NaN when any x_i is
//   cls, last        x_0, x_(n - 1)
// With skip, all but cls start at x_skip, and weighted divides by the weights that are left.
#include "kernel/kernel_list.h"

#include <math.h>
#include <string.h>

static float column(const float *x, size_t D, size_t n, size_t skip, enum pool mode) {
    float y = mode == POOL_MAX ? x[0] : 0;
    for (size_t i = 0; i < n; i++) {
        float v = x[i * D];
        if (mode == POOL_WEIGHTED)
            y = fmaf((float)(skip + i + 1), v, y);
        else if (mode == POOL_MAX)
            y = v > y || isnan(v) ? v : y;
        else
            y += v;
    }
    if (mode == POOL_MAX) return y;
    if (mode == POOL_MEAN) return y / (float)n;
    return y / (mode == POOL_MEAN_SQRT ? sqrtf((float)n) : (float)n * (float)(2 * skip + n + 1) / 2);
}

void pool_f32_c(const struct pool_args *a, size_t begin, size_t end) {
    for (size_t b = begin; b < end; b++) {
        size_t first = a->offsets[b], n = a->offsets[b + 1] - first;
        const float *x = a->x + first * a->D;
        float *y = a->y + b * a->ldy;
        const size_t skip = a->skip && a->mode != POOL_CLS ? size_min(a->skip[b], n) : 0;
        x += skip * a->D;
        n -= skip;
        if (n == 0)
            memset(y, 0, a->D * sizeof *y);
        else if (a->mode == POOL_CLS)
            memcpy(y, x, a->D * sizeof *y);
        else if (a->mode == POOL_LAST)
            memcpy(y, x + (n - 1) * a->D, a->D * sizeof *y);
        else
            for (size_t i = 0; i < a->D; i++)
                y[i] = column(x + i, a->D, n, skip, a->mode);
    }
}
