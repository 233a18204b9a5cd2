// The scale of a quantised row, from the largest |x| in it. Shared by the kernels of quantize and the packing
// of int8 weights.
#ifndef SABOK_QUANTIZE_STEP_H
#define SABOK_QUANTIZE_STEP_H

#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

struct quantize_step {
    float scale, inverse; // inverse 0: every q is 0
};

// `largest`: bits of the largest |x|, as an integer: infinity above every number, NaN above infinity.
// `fixed`: the static scale, or 0.
static inline struct quantize_step quantize_step_of(uint32_t largest, float fixed) {
    const uint32_t infinity = 0x7f800000;
    if (largest > infinity || (largest == infinity && fixed == 0)) return (struct quantize_step){NAN, 0};
    if (fixed > 0) return (struct quantize_step){fixed, 1 / fixed};
    float most;
    memcpy(&most, &largest, sizeof most);
    if (most < QUANTIZE_LEAST) return (struct quantize_step){1, 0};
    return (struct quantize_step){most / 127, 127 / most};
}

#endif
