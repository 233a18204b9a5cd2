// The scalar definition of the vector maths: vec_avx2.h and vec_avx512.h give these bits for every input.
// NaN gives NaN. No function gives a denormal where its formula would, except where the argument itself is
// one: see vec_table.h and docs/numerics.md.
#ifndef SABOK_KERNEL_VEC_C_H
#define SABOK_KERNEL_VEC_C_H

#include "kernel/kernel.h"
#include "kernel/vec_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

static inline uint32_t float_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float bits_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float exp_c(float x) {
    if (x < vec_exp_min) return 0;
    if (x > vec_exp_max) x = vec_exp_max;
    float t = fmaf(x, vec_log2_e, vec_round), n = t - vec_round;
    float r = fmaf(-n, vec_ln2_high, x);
    r = fmaf(-n, vec_ln2_low, r);
    float p = vec_exp[4];
    for (int i = 3; i >= 0; i--)
        p = fmaf(p, r, vec_exp[i]);
    p = fmaf(p, r, 1);
    p = fmaf(p, r, 1);
    // 2^n in two factors, since 2^128 is no float.
    float y = p * bits_float((float_bits(t) + 126) << 23);
    return y + y;
}

// A polynomial in each of eight intervals. `a` is in [0, end].
static inline float piecewise_c(const float table[7][16], float a, float steps) {
    float t = fmaf(a, steps, vec_round), n = t - vec_round, d = fmaf(a, steps, -n);
    uint32_t interval = float_bits(t) & 15;
    float p = table[6][interval];
    for (int i = 5; i >= 0; i--)
        p = fmaf(p, d, table[i][interval]);
    return p;
}

static inline float erf_c(float x) {
    float a = fabsf(x);
    if (a > vec_erf_end) a = vec_erf_end;
    float y = piecewise_c(vec_erf, a, vec_erf_steps);
    if (a < vec_erf_split) y += a;
    return copysignf(y, x);
}

static inline float tanh_c(float x) {
    float a = fabsf(x);
    if (a < vec_tanh_split) {
        float z = x * x, p = vec_tanh[5];
        for (int i = 4; i >= 0; i--)
            p = fmaf(p, z, vec_tanh[i]);
        return fmaf(x * z, p, x);
    }
    return copysignf(1 - 2 / (exp_c(a + a) + 1), x);
}

static inline float gelu_c(float x) {
    float a = fabsf(x);
    if (a > vec_gelu_end) a = vec_gelu_end;
    float p = piecewise_c(vec_gelu, a, vec_gelu_steps);
    return fmaf(-(a * p), p, x < 0 ? 0 : x);
}

// x / (1 + e^z): the gated activations. -infinity would give -infinity / infinity.
static inline float gate_c(float x, float z) {
    return x / (1 + exp_c(z));
}

static inline float act_c(float x, enum act act) {
    float finite = x < -FLT_MAX ? -FLT_MAX : x;
    switch (act) {
    case ACT_GELU:
        return gelu_c(x);
    case ACT_GELU_TANH: {
        float g = fmaf(finite * finite, vec_gelu_tanh[1], vec_gelu_tanh[0]);
        return gate_c(finite, -finite * g);
    }
    case ACT_QUICK_GELU:
        return gate_c(finite, -finite * vec_quick_gelu);
    case ACT_RELU:
        return x < 0 ? 0 : x;
    case ACT_TANH:
        return tanh_c(x);
    case ACT_SIGMOID:
        return gate_c(1, -x);
    case ACT_SILU:
        return gate_c(finite, -finite);
    case ACT_NONE:
    case ACT_COUNT:
        break;
    }
    return x;
}

#endif
