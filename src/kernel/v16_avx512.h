// v16: 16 floats, the unit in which kernel bodies shared by AVX2 and AVX-512 are written. Here one register.
#ifndef SABOK_KERNEL_V16_AVX512_H
#define SABOK_KERNEL_V16_AVX512_H

#include "kernel/vec_avx512.h"

typedef __m512 v16;

static inline v16 v16_zero(void) {
    return _mm512_setzero_ps();
}

static inline v16 v16_set(float x) {
    return _mm512_set1_ps(x);
}

static inline v16 v16_load(const float *p) {
    return _mm512_loadu_ps(p);
}

static inline void v16_store(float *p, v16 x) {
    _mm512_storeu_ps(p, x);
}

static inline __mmask16 v16_mask(size_t n) {
    return (__mmask16)((1u << n) - 1);
}

// The first n <= 16 floats, and zeros; no byte behind them is touched.
static inline v16 v16_load_first(const float *p, size_t n) {
    return _mm512_maskz_loadu_ps(v16_mask(n), p);
}

static inline void v16_store_first(float *p, v16 x, size_t n) {
    _mm512_mask_storeu_ps(p, v16_mask(n), x);
}

// Zeros from lane n on.
static inline v16 v16_keep_first(v16 x, size_t n) {
    return _mm512_maskz_mov_ps(v16_mask(n), x);
}

static inline v16 v16_add(v16 a, v16 b) {
    return _mm512_add_ps(a, b);
}

static inline v16 v16_sub(v16 a, v16 b) {
    return _mm512_sub_ps(a, b);
}

static inline v16 v16_mul(v16 a, v16 b) {
    return _mm512_mul_ps(a, b);
}

static inline v16 v16_div(v16 a, v16 b) {
    return _mm512_div_ps(a, b);
}

// a b + c
static inline v16 v16_fma(v16 a, v16 b, v16 c) {
    return _mm512_fmadd_ps(a, b, c);
}

// a > b ? a : b, so b when either is NaN.
static inline v16 v16_max(v16 a, v16 b) {
    return _mm512_max_ps(a, b);
}

// `yes` where a == b, else `no`.
static inline v16 v16_if_equal(v16 a, v16 b, v16 yes, v16 no) {
    return _mm512_mask_mov_ps(no, _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ), yes);
}

// `yes` where a is NaN, else `no`.
static inline v16 v16_if_nan(v16 a, v16 yes, v16 no) {
    return _mm512_mask_mov_ps(no, _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), yes);
}

static inline v16 v16_exp_low(v16 x) {
    return exp_low_avx512(x);
}

static inline v16 v16_act(v16 x, enum act act) {
    return act_avx512(x, act);
}

// The sum of all lanes: 16 -> 8 -> 4 -> 2 -> 1, lane j taking lane j + half.
static inline float v16_sum(v16 x) {
    __m256 a = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

#endif
