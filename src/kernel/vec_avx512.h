// Vector maths, 16 lanes: the bits of vec_c.h. Minima and maxima have the variable second, so that NaN stays.
#ifndef SABOK_KERNEL_VEC_AVX512_H
#define SABOK_KERNEL_VEC_AVX512_H

#include "kernel/kernel.h"
#include "kernel/vec_table.h"

#include <float.h>
#include <immintrin.h>

static inline __m512 abs_avx512(__m512 x) {
    return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), x);
}

// The magnitude of a >= 0 with the sign of x.
static inline __m512 sign_avx512(__m512 a, __m512 x) {
    return _mm512_or_ps(a, _mm512_and_ps(_mm512_set1_ps(-0.0f), x));
}

// e^x / 2^n.
static inline __m512 exp_fraction_avx512(__m512 x, __m512 n) {
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(vec_ln2_high), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(vec_ln2_low), r);
    __m512 p = _mm512_fmadd_ps(_mm512_set1_ps(vec_exp[4]), r, _mm512_set1_ps(vec_exp[3]));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(vec_exp[2]));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(vec_exp[1]));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(vec_exp[0]));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1));
    return _mm512_fmadd_ps(p, r, _mm512_set1_ps(1));
}

// 0 below vec_exp_min, where scalef would give denormals.
static inline __m512 exp_scale_avx512(__m512 p, __m512 n, __m512 x) {
    __mmask16 normal = _mm512_cmp_ps_mask(x, _mm512_set1_ps(vec_exp_min), _CMP_NLT_UQ);
    return _mm512_maskz_scalef_ps(normal, p, n);
}

// exp_avx512 for x <= 0 or NaN, in fewer steps.
static inline __m512 exp_low_avx512(__m512 x) {
    const __m512 round = _mm512_set1_ps(vec_round);
    __m512 n = _mm512_sub_ps(_mm512_fmadd_ps(x, _mm512_set1_ps(vec_log2_e), round), round);
    return exp_scale_avx512(exp_fraction_avx512(x, n), n, x);
}

static inline __m512 exp_avx512(__m512 x) {
    return exp_low_avx512(_mm512_min_ps(_mm512_set1_ps(vec_exp_max), x));
}

// A polynomial in each of eight intervals. a is in [0, end].
static inline __m512 piecewise_avx512(const float table[7][16], __m512 a, float steps) {
    const __m512 round = _mm512_set1_ps(vec_round);
    __m512 t = _mm512_fmadd_ps(a, _mm512_set1_ps(steps), round), n = _mm512_sub_ps(t, round);
    __m512 d = _mm512_fmsub_ps(a, _mm512_set1_ps(steps), n);
    __m512i interval = _mm512_castps_si512(t);
    __m512 p = _mm512_permutexvar_ps(interval, _mm512_load_ps(table[6]));
    for (int i = 5; i >= 0; i--)
        p = _mm512_fmadd_ps(p, d, _mm512_permutexvar_ps(interval, _mm512_load_ps(table[i])));
    return p;
}

static inline __m512 erf_avx512(__m512 x) {
    __m512 a = _mm512_min_ps(_mm512_set1_ps(vec_erf_end), abs_avx512(x));
    __m512 y = piecewise_avx512(vec_erf, a, vec_erf_steps);
    __mmask16 small = _mm512_cmp_ps_mask(a, _mm512_set1_ps(vec_erf_split), _CMP_LT_OQ);
    return sign_avx512(_mm512_mask_add_ps(y, small, y, a), x);
}

static inline __m512 tanh_avx512(__m512 x) {
    const __m512 one = _mm512_set1_ps(1);
    __m512 a = abs_avx512(x), z = _mm512_mul_ps(x, x), p = _mm512_set1_ps(vec_tanh[5]);
    for (int i = 4; i >= 0; i--)
        p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(vec_tanh[i]));
    __m512 small = _mm512_fmadd_ps(_mm512_mul_ps(x, z), p, x);
    __m512 e = _mm512_add_ps(exp_avx512(_mm512_add_ps(a, a)), one);
    __m512 large = sign_avx512(_mm512_sub_ps(one, _mm512_div_ps(_mm512_set1_ps(2), e)), x);
    return _mm512_mask_mov_ps(large, _mm512_cmp_ps_mask(a, _mm512_set1_ps(vec_tanh_split), _CMP_LT_OQ),
                              small);
}

static inline __m512 gelu_avx512(__m512 x) {
    __m512 a = _mm512_min_ps(_mm512_set1_ps(vec_gelu_end), abs_avx512(x));
    __m512 p = piecewise_avx512(vec_gelu, a, vec_gelu_steps);
    return _mm512_fnmadd_ps(_mm512_mul_ps(a, p), p, _mm512_max_ps(_mm512_setzero_ps(), x));
}

// x / (1 + e^-z).
static inline __m512 gate_avx512(__m512 x, __m512 z) {
    __m512 e = exp_avx512(_mm512_xor_ps(z, _mm512_set1_ps(-0.0f)));
    return _mm512_div_ps(x, _mm512_add_ps(_mm512_set1_ps(1), e));
}

static inline __m512 act_avx512(__m512 x, enum act act) {
    __m512 finite = _mm512_max_ps(_mm512_set1_ps(-FLT_MAX), x);
    switch (act) {
    case ACT_GELU:
        return gelu_avx512(x);
    case ACT_GELU_TANH: {
        __m512 g = _mm512_fmadd_ps(_mm512_mul_ps(finite, finite), _mm512_set1_ps(vec_gelu_tanh[1]),
                                   _mm512_set1_ps(vec_gelu_tanh[0]));
        return gate_avx512(finite, _mm512_mul_ps(finite, g));
    }
    case ACT_QUICK_GELU:
        return gate_avx512(finite, _mm512_mul_ps(finite, _mm512_set1_ps(vec_quick_gelu)));
    case ACT_RELU:
        return _mm512_max_ps(_mm512_setzero_ps(), x);
    case ACT_TANH:
        return tanh_avx512(x);
    case ACT_SIGMOID:
        return gate_avx512(_mm512_set1_ps(1), x);
    case ACT_SILU:
        return gate_avx512(finite, finite);
    case ACT_NONE:
    case ACT_COUNT:
        break;
    }
    return x;
}

#endif
