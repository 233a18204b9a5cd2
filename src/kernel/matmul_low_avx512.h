// The end of a low precision matmul in AVX-512: 16 columns of a row, from sums to y.
#ifndef SABOK_MATMUL_LOW_AVX512_H
#define SABOK_MATMUL_LOW_AVX512_H

#include "kernel/bf16_avx512.h"
#include "kernel/matmul_low.h"
#include "kernel/vec_avx512.h"

// 16 columns, and what every row needs of them.
struct low_columns {
    size_t first; // column of y
    __mmask16 mask;
    __m512 bias, scale;
};

LOW_INLINE struct low_columns low_columns_of(const struct matmul_args *a, size_t first, const bool i8) {
    size_t left = a->N - size_min(first, a->N);
    struct low_columns c = {first, left >= 16 ? 0xffff : (__mmask16)((1U << left) - 1), {0}, {0}};
    c.bias = a->bias ? _mm512_maskz_loadu_ps(c.mask, a->bias + first) : _mm512_setzero_ps();
    c.scale = i8 ? _mm512_maskz_loadu_ps(c.mask, a->scale + first) : _mm512_setzero_ps();
    return c;
}

// act's argument, from 16 sums. The excess of int8 weights stored plus 128 is taken off.
LOW_INLINE __m512 low_value_i8(const struct low_columns *c, __m512i sums, const struct quantize_tail *tail) {
    __m512i exact = _mm512_sub_epi32(sums, _mm512_slli_epi32(_mm512_set1_epi32(tail->sum), 7));
    __m512 scale = _mm512_mul_ps(_mm512_set1_ps(tail->scale), c->scale);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact), scale, c->bias);
}

LOW_INLINE __m512 low_value_float(const struct matmul_args *a, const struct low_columns *c, __m512 sums) {
    return a->bias ? _mm512_add_ps(sums, c->bias) : sums;
}

LOW_INLINE void low_store(const struct matmul_args *a, const struct low_columns *c, size_t m, __m512 v,
                          const enum act act) {
    v = act_avx512(v, act);
    if (a->residual)
        v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(c->mask, a->residual + m * a->ldr + c->first));
    if (a->y_bf16) {
        __m256i narrow = bf16_narrow_avx512(_mm512_maskz_mov_ps(c->mask, v));
        _mm256_storeu_si256((void *)((uint16_t *)a->y + m * a->ldy + c->first), narrow);
    } else {
        _mm512_mask_storeu_ps((float *)a->y + m * a->ldy + c->first, c->mask, v);
    }
}

LOW_INLINE void low_finish_as(const struct matmul_args *a, size_t m, size_t rows, size_t panel,
                              const void *sums, const bool i8, const enum act act) {
    for (size_t j = 0; j < MATMUL_LOW_COLUMNS; j += 16) {
        struct low_columns c = low_columns_of(a, panel * MATMUL_LOW_COLUMNS + j, i8);
        if (c.mask == 0 && !a->y_bf16) break;
        for (size_t i = 0; i < rows; i++) {
            const char *at = (const char *)sums + (i * MATMUL_LOW_COLUMNS + j) * sizeof(float);
            __m512i s = _mm512_load_si512(at);
            __m512 v =
                i8 ? low_value_i8(&c, s, low_tail(a, m + i)) : low_value_float(a, &c, _mm512_castsi512_ps(s));
            low_store(a, &c, m + i, v, act);
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
