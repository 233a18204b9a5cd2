// unit, the definition: y = x / max(sqrt(sum of squares), 1e-12), each square added by fma.
#include "kernel/kernel_list.h"

#include <math.h>

enum { LANES = 16 };

void unit_f32_c(const struct unit_args *a, size_t begin, size_t end) {
    for (size_t row = begin; row < end; row++) {
        const float *x = a->x + row * a->D;
        float *y = a->y + row * a->D, lane[LANES] = {0};
        for (size_t i = 0; i < a->D; i++)
            lane[i % LANES] = fmaf(x[i], x[i], lane[i % LANES]);
        for (size_t half = LANES / 2; half > 0; half /= 2)
            for (size_t j = 0; j < half; j++)
                lane[j] += lane[j + half];
        float length = sqrtf(lane[0]);
        if (length < 1e-12f) length = 1e-12f;
        for (size_t i = 0; i < a->D; i++)
            y[i] = x[i] / length;
    }
}
