// cast for AVX-512.
#include "kernel/bf16_avx512.h"
#include "kernel/kernel_list.h"

void cast_bf16_avx512(const struct cast_args *a, size_t begin, size_t end) {
    size_t depth = matmul_low_depth(MATMUL_LOW_BF16, a->D);
    for (size_t row = begin; row < end; row++) {
        const float *x = a->x + row * a->ldx;
        uint16_t *y = a->y + row * a->ldy;
        for (size_t i = 0; i < depth; i += 16) {
            size_t left = a->D - size_min(i, a->D);
            __mmask16 mask = left >= 16 ? 0xffff : (__mmask16)((1U << left) - 1);
            __m512 v = _mm512_maskz_loadu_ps(mask, x + i);
            _mm256_storeu_si256((void *)(y + i), bf16_narrow_avx512(v));
        }
    }
}
