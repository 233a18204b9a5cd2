// cast, the definition: y = bf16(x), by f32_to_bf16.
#include "kernel/kernel_list.h"

#include "core/core.h"

void cast_bf16_c(const struct cast_args *a, size_t begin, size_t end) {
    size_t depth = matmul_low_depth(MATMUL_LOW_BF16, a->D);
    for (size_t row = begin; row < end; row++) {
        const float *x = a->x + row * a->ldx;
        uint16_t *y = a->y + row * a->ldy;
        for (size_t i = 0; i < depth; i++)
            y[i] = i < a->D ? f32_to_bf16(x[i]) : 0;
    }
}
