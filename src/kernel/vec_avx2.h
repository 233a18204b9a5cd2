// Vector maths, 8 lanes: the bits of vec_c.h. Minima and maxima have the variable second, so that NaN stays.
#ifndef SABOK_KERNEL_VEC_AVX2_H
#define SABOK_KERNEL_VEC_AVX2_H

#include "kernel/kernel.h"
#include "kernel/vec_table.h"

#include <float.h>
#include <immintrin.h>

static inline __m256 abs_avx2(__m256 x) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

// The magnitude of a >= 0 with the sign of x.
static inline __m256 sign_avx2(__m256 a, __m256 x) {
    return _mm256_or_ps(a, _mm256_and_ps(_mm256_set1_ps(-0.0f), x));
}

// e^x / 2^n.
static inline __m256 exp_fraction_avx2(__m256 x, __m256 n) {
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(vec_ln2_high), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(vec_ln2_low), r);
    __m256 p = _mm256_fmadd_ps(_mm256_set1_ps(vec_exp[4]), r, _mm256_set1_ps(vec_exp[3]));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(vec_exp[2]));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(vec_exp[1]));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(vec_exp[0]));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1));
    return _mm256_fmadd_ps(p, r, _mm256_set1_ps(1));
}

// e^x below vec_exp_min is 0.
static inline __m256 exp_floor_avx2(__m256 y, __m256 x) {
    return _mm256_and_ps(y, _mm256_cmp_ps(x, _mm256_set1_ps(vec_exp_min), _CMP_NLT_UQ));
}

// The bias of the exponent rides on the rounding constant, so that a shift of t gives a power of two.
static inline __m256 exp_avx2(__m256 x) {
    const __m256 round = _mm256_set1_ps(vec_round + 126);
    __m256 z = _mm256_min_ps(_mm256_set1_ps(vec_exp_max), x);
    __m256 t = _mm256_fmadd_ps(z, _mm256_set1_ps(vec_log2_e), round);
    __m256 p = exp_fraction_avx2(z, _mm256_sub_ps(t, round));
    __m256 y = _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(t), 23)));
    return exp_floor_avx2(_mm256_add_ps(y, y), x);
}

// exp_avx2 for x <= 0 or NaN, in fewer steps. An odd bias rounds ties the other way, but x log2(e) is never
// half an integer: the constant is an odd number of 24 bits times a power of two.
static inline __m256 exp_low_avx2(__m256 x) {
    const __m256 round = _mm256_set1_ps(vec_round + 127);
    __m256 t = _mm256_fmadd_ps(x, _mm256_set1_ps(vec_log2_e), round);
    __m256 p = exp_fraction_avx2(x, _mm256_sub_ps(t, round));
    __m256 y = _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(t), 23)));
    return exp_floor_avx2(y, x);
}

// A polynomial in each of eight intervals; `past` is the value from the end of the last on. a is in [0, end].
static inline __m256 piecewise_avx2(const float table[7][16], __m256 a, float steps, float past) {
    const __m256 round = _mm256_set1_ps(vec_round);
    __m256 t = _mm256_fmadd_ps(a, _mm256_set1_ps(steps), round), n = _mm256_sub_ps(t, round);
    __m256 d = _mm256_fmsub_ps(a, _mm256_set1_ps(steps), n);
    __m256i interval = _mm256_castps_si256(t);
    __m256 p = _mm256_permutevar8x32_ps(_mm256_load_ps(table[6]), interval);
    for (int i = 5; i >= 0; i--)
        p = _mm256_fmadd_ps(p, d, _mm256_permutevar8x32_ps(_mm256_load_ps(table[i]), interval));
    return _mm256_blendv_ps(p, _mm256_set1_ps(past), _mm256_cmp_ps(n, _mm256_set1_ps(8), _CMP_GE_OQ));
}

static inline __m256 erf_avx2(__m256 x) {
    __m256 a = _mm256_min_ps(_mm256_set1_ps(vec_erf_end), abs_avx2(x));
    __m256 y = piecewise_avx2(vec_erf, a, vec_erf_steps, 1);
    __m256 small = _mm256_cmp_ps(a, _mm256_set1_ps(vec_erf_split), _CMP_LT_OQ);
    return sign_avx2(_mm256_add_ps(y, _mm256_and_ps(small, a)), x);
}

static inline __m256 tanh_avx2(__m256 x) {
    const __m256 one = _mm256_set1_ps(1);
    __m256 a = abs_avx2(x), z = _mm256_mul_ps(x, x), p = _mm256_set1_ps(vec_tanh[5]);
    for (int i = 4; i >= 0; i--)
        p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(vec_tanh[i]));
    __m256 small = _mm256_fmadd_ps(_mm256_mul_ps(x, z), p, x);
    __m256 e = _mm256_add_ps(exp_avx2(_mm256_add_ps(a, a)), one);
    __m256 large = sign_avx2(_mm256_sub_ps(one, _mm256_div_ps(_mm256_set1_ps(2), e)), x);
    return _mm256_blendv_ps(large, small, _mm256_cmp_ps(a, _mm256_set1_ps(vec_tanh_split), _CMP_LT_OQ));
}

static inline __m256 gelu_avx2(__m256 x) {
    __m256 a = _mm256_min_ps(_mm256_set1_ps(vec_gelu_end), abs_avx2(x));
    __m256 p = piecewise_avx2(vec_gelu, a, vec_gelu_steps, 0);
    return _mm256_fnmadd_ps(_mm256_mul_ps(a, p), p, _mm256_max_ps(_mm256_setzero_ps(), x));
}

// x / (1 + e^-z).
static inline __m256 gate_avx2(__m256 x, __m256 z) {
    __m256 e = exp_avx2(_mm256_xor_ps(z, _mm256_set1_ps(-0.0f)));
    return _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1), e));
}

static inline __m256 act_avx2(__m256 x, enum act act) {
    __m256 finite = _mm256_max_ps(_mm256_set1_ps(-FLT_MAX), x);
    switch (act) {
    case ACT_GELU:
        return gelu_avx2(x);
    case ACT_GELU_TANH: {
        __m256 g = _mm256_fmadd_ps(_mm256_mul_ps(finite, finite), _mm256_set1_ps(vec_gelu_tanh[1]),
                                   _mm256_set1_ps(vec_gelu_tanh[0]));
        return gate_avx2(finite, _mm256_mul_ps(finite, g));
    }
    case ACT_QUICK_GELU:
        return gate_avx2(finite, _mm256_mul_ps(finite, _mm256_set1_ps(vec_quick_gelu)));
    case ACT_RELU:
        return _mm256_max_ps(_mm256_setzero_ps(), x);
    case ACT_TANH:
        return tanh_avx2(x);
    case ACT_SIGMOID:
        return gate_avx2(_mm256_set1_ps(1), x);
    case ACT_SILU:
        return gate_avx2(finite, finite);
    case ACT_NONE:
    case ACT_COUNT:
        break;
    }
    return x;
}

#endif
