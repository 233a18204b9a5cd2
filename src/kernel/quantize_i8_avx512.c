// quantize for AVX-512: one pass for the largest |x|, one for q.
#include "kernel/kernel_list.h"
#include "kernel/quantize_step.h"

#include <immintrin.h>

static inline __mmask16 mask_of(size_t i, size_t D) {
    size_t left = D - size_min(i, D);
    return left >= 16 ? 0xffff : (__mmask16)((1U << left) - 1);
}

static uint32_t row_largest(const float *x, size_t D) {
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    __m512i most[4] = {{0}, {0}, {0}, {0}};
    for (size_t i = 0; i < D; i += 64)
        for (size_t j = 0; j < 4; j++) {
            __m512i bits = _mm512_maskz_loadu_epi32(mask_of(i + 16 * j, D), x + i + 16 * j);
            most[j] = _mm512_max_epu32(most[j], _mm512_and_si512(bits, magnitude));
        }
    most[0] = _mm512_max_epu32(_mm512_max_epu32(most[0], most[1]), _mm512_max_epu32(most[2], most[3]));
    return _mm512_reduce_max_epu32(most[0]);
}

// q of a row; the tail follows it.
static void row_quantize(int8_t *y, const float *x, size_t D, struct quantize_step step) {
    size_t depth = matmul_low_depth(MATMUL_LOW_I8, D);
    const __m512 r = _mm512_set1_ps(step.inverse), most = _mm512_set1_ps(127), least = _mm512_set1_ps(-127);
    const __mmask16 any = step.inverse > 0 ? 0xffff : 0;
    __m512i sum = _mm512_setzero_si512();
    for (size_t i = 0; i < depth; i += 16) {
        __mmask16 mask = mask_of(i, D) & any;
        __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, x + i), r);
        __m512i q = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(v, least), most));
        sum = _mm512_add_epi32(sum, q);
        _mm_storeu_si128((void *)(y + i), _mm512_cvtepi32_epi8(q));
    }
    struct quantize_tail tail = {step.scale, _mm512_reduce_add_epi32(sum)};
    memcpy(y + depth, &tail, sizeof tail);
}

void quantize_i8_avx512(const struct quantize_args *a, size_t begin, size_t end) {
    for (size_t row = begin; row < end; row++) {
        const float *x = a->x + row * a->ldx;
        struct quantize_step step = quantize_step_of(row_largest(x, a->D), a->scale);
        row_quantize(a->y + row * a->ldy, x, a->D, step);
    }
}
