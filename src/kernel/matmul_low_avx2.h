// The end of an int8 matmul in AVX2: a tile of 16 columns, from sums to y.
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
    __m256i exact = _mm256_sub_epi32(sums, _mm256_set1_epi32(tail->sum * 128));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), _mm256_mul_ps(_mm256_set1_ps(tail->scale), scale),
                           bias);
}

LOW_INLINE void low_finish_as(const struct matmul_args *a, size_t m, size_t rows, size_t panel,
                              const int32_t *sums, const enum act act) {
    size_t first = panel * MATMUL_LOW_GROUP, columns = size_min(MATMUL_LOW_GROUP, a->N - first);
    for (size_t j = 0; j < columns; j += 8) {
        __m256i mask = low_mask(size_min(columns - j, 8));
        size_t at = first + j;
        __m256 scale = _mm256_maskload_ps(a->scale + at, mask);
        __m256 bias = a->bias ? _mm256_maskload_ps(a->bias + at, mask) : _mm256_setzero_ps();
        for (size_t i = 0; i < rows; i++) {
            __m256i s = _mm256_load_si256((const void *)(sums + i * MATMUL_LOW_GROUP + j));
            __m256 v = act_avx2(low_value(s, low_tail(a, m + i), scale, bias), act);
            if (a->residual)
                v = _mm256_add_ps(v, _mm256_maskload_ps(a->residual + (m + i) * a->ldr + at, mask));
            _mm256_maskstore_ps((float *)a->y + (m + i) * a->ldy + at, mask, v);
        }
    }
}

static void low_finish(const struct matmul_args *a, size_t m, size_t rows, size_t panel, const void *sums) {
    switch (a->act) {
    case ACT_GELU:
        low_finish_as(a, m, rows, panel, sums, ACT_GELU);
        break;
    case ACT_GELU_TANH:
        low_finish_as(a, m, rows, panel, sums, ACT_GELU_TANH);
        break;
    case ACT_QUICK_GELU:
        low_finish_as(a, m, rows, panel, sums, ACT_QUICK_GELU);
        break;
    case ACT_RELU:
        low_finish_as(a, m, rows, panel, sums, ACT_RELU);
        break;
    case ACT_TANH:
        low_finish_as(a, m, rows, panel, sums, ACT_TANH);
        break;
    case ACT_SIGMOID:
        low_finish_as(a, m, rows, panel, sums, ACT_SIGMOID);
        break;
    case ACT_SILU:
        low_finish_as(a, m, rows, panel, sums, ACT_SILU);
        break;
    case ACT_NONE:
    case ACT_COUNT:
        low_finish_as(a, m, rows, panel, sums, ACT_NONE);
        break;
    }
}

#endif
