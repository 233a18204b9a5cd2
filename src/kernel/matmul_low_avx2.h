// The end of a low precision matmul in AVX2: a tile of 16 columns, from sums to y.
#ifndef SABOK_MATMUL_LOW_AVX2_H
#define SABOK_MATMUL_LOW_AVX2_H

#include "kernel/matmul_low.h"
#include "kernel/vec_avx2.h"

// The first `count` lanes, at most 8.
LOW_INLINE __m256i low_mask(size_t count) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lane);
}

// act's argument, from 8 sums. The excess of int8 weights stored plus 128 is taken off.
LOW_INLINE __m256 low_value(__m256i sums, const struct quantize_tail *tail, __m256 scale, __m256 bias) {
    __m256i exact = _mm256_sub_epi32(sums, _mm256_slli_epi32(_mm256_set1_epi32(tail->sum), 7));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), _mm256_mul_ps(_mm256_set1_ps(tail->scale), scale),
                           bias);
}

LOW_INLINE void low_finish_as(const struct matmul_args *a, size_t m, size_t rows, size_t panel,
                              const float *sums, const bool i8, const enum act act) {
    size_t first = panel * MATMUL_LOW_GROUP, columns = size_min(MATMUL_LOW_GROUP, a->N - first);
    for (size_t j = 0; j < columns; j += 8) {
        __m256i mask = low_mask(size_min(columns - j, 8));
        size_t at = first + j;
        __m256 scale = i8 ? _mm256_maskload_ps(a->scale + at, mask) : _mm256_setzero_ps();
        __m256 bias = a->bias ? _mm256_maskload_ps(a->bias + at, mask) : _mm256_setzero_ps();
        for (size_t i = 0; i < rows; i++) {
            __m256 v = _mm256_load_ps(sums + i * MATMUL_LOW_GROUP + j);
            if (i8)
                v = low_value(_mm256_castps_si256(v), low_tail(a, m + i), scale, bias);
            else if (a->bias)
                v = _mm256_add_ps(v, bias);
            v = act_avx2(v, act);
            if (a->residual)
                v = _mm256_add_ps(v, _mm256_maskload_ps(a->residual + (m + i) * a->ldr + at, mask));
            _mm256_maskstore_ps((float *)a->y + (m + i) * a->ldy + at, mask, v);
        }
    }
}

LOW_INLINE void low_finish(const struct matmul_args *a, size_t m, size_t rows, size_t panel, const void *sums,
                           const bool i8) {
    switch (a->act) {
    case ACT_GELU:
        low_finish_as(a, m, rows, panel, sums, i8, ACT_GELU);
        break;
    case ACT_GELU_TANH:
        low_finish_as(a, m, rows, panel, sums, i8, ACT_GELU_TANH);
        break;
    case ACT_QUICK_GELU:
        low_finish_as(a, m, rows, panel, sums, i8, ACT_QUICK_GELU);
        break;
    case ACT_RELU:
        low_finish_as(a, m, rows, panel, sums, i8, ACT_RELU);
        break;
    case ACT_TANH:
        low_finish_as(a, m, rows, panel, sums, i8, ACT_TANH);
        break;
    case ACT_SIGMOID:
        low_finish_as(a, m, rows, panel, sums, i8, ACT_SIGMOID);
        break;
    case ACT_SILU:
        low_finish_as(a, m, rows, panel, sums, i8, ACT_SILU);
        break;
    case ACT_NONE:
    case ACT_COUNT:
        low_finish_as(a, m, rows, panel, sums, i8, ACT_NONE);
        break;
    }
}

#endif
