// v16: 16 floats, the unit in which kernel bodies shared by AVX2 and AVX-512 are written. Here two registers.
#ifndef SABOK_KERNEL_V16_AVX2_H
#define SABOK_KERNEL_V16_AVX2_H

#include "kernel/vec_avx2.h"

typedef struct {
    __m256 low, high;
} v16;

static inline v16 v16_zero(void) {
    return (v16){_mm256_setzero_ps(), _mm256_setzero_ps()};
}

static inline v16 v16_set(float x) {
    return (v16){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}

static inline v16 v16_load(const float *p) {
    return (v16){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}

static inline void v16_store(float *p, v16 x) {
    _mm256_storeu_ps(p, x.low);
    _mm256_storeu_ps(p + 8, x.high);
}

// The first n lanes of 16, as two masks.
struct v16_mask {
    __m256i low, high;
};

static inline struct v16_mask v16_mask(size_t n) {
    const __m256i count = _mm256_set1_epi32((int)n);
    return (struct v16_mask){_mm256_cmpgt_epi32(count, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
                             _mm256_cmpgt_epi32(count, _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15))};
}

// The first n <= 16 floats, and zeros; no byte behind them is touched.
static inline v16 v16_load_first(const float *p, size_t n) {
    struct v16_mask mask = v16_mask(n);
    return (v16){_mm256_maskload_ps(p, mask.low), _mm256_maskload_ps(p + 8, mask.high)};
}

static inline void v16_store_first(float *p, v16 x, size_t n) {
    struct v16_mask mask = v16_mask(n);
    _mm256_maskstore_ps(p, mask.low, x.low);
    _mm256_maskstore_ps(p + 8, mask.high, x.high);
}

// Zeros from lane n on.
static inline v16 v16_keep_first(v16 x, size_t n) {
    struct v16_mask mask = v16_mask(n);
    return (v16){_mm256_and_ps(x.low, _mm256_castsi256_ps(mask.low)),
                 _mm256_and_ps(x.high, _mm256_castsi256_ps(mask.high))};
}

static inline v16 v16_add(v16 a, v16 b) {
    return (v16){_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}

static inline v16 v16_sub(v16 a, v16 b) {
    return (v16){_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}

static inline v16 v16_mul(v16 a, v16 b) {
    return (v16){_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}

static inline v16 v16_div(v16 a, v16 b) {
    return (v16){_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
}

// a b + c
static inline v16 v16_fma(v16 a, v16 b, v16 c) {
    return (v16){_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}

// a > b ? a : b, so b when either is NaN.
static inline v16 v16_max(v16 a, v16 b) {
    return (v16){_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}

// `yes` where a == b, else `no`.
static inline v16 v16_if_equal(v16 a, v16 b, v16 yes, v16 no) {
    return (v16){_mm256_blendv_ps(no.low, yes.low, _mm256_cmp_ps(a.low, b.low, _CMP_EQ_OQ)),
                 _mm256_blendv_ps(no.high, yes.high, _mm256_cmp_ps(a.high, b.high, _CMP_EQ_OQ))};
}

// `yes` where a is NaN, else `no`.
static inline v16 v16_if_nan(v16 a, v16 yes, v16 no) {
    return (v16){_mm256_blendv_ps(no.low, yes.low, _mm256_cmp_ps(a.low, a.low, _CMP_UNORD_Q)),
                 _mm256_blendv_ps(no.high, yes.high, _mm256_cmp_ps(a.high, a.high, _CMP_UNORD_Q))};
}

static inline v16 v16_exp_low(v16 x) {
    return (v16){exp_low_avx2(x.low), exp_low_avx2(x.high)};
}

static inline v16 v16_act(v16 x, enum act act) {
    return (v16){act_avx2(x.low, act), act_avx2(x.high, act)};
}

// The sum of all lanes: 16 -> 8 -> 4 -> 2 -> 1, lane j taking lane j + half.
static inline float v16_sum(v16 x) {
    __m256 a = _mm256_add_ps(x.low, x.high);
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

#endif
