// Multiply-adds in registers: independent chains enough to hide the latency of every unit.
#include "kernel/peak.h"

#include <immintrin.h>

double peak_flops_avx512(size_t steps, float *sink) {
    enum { CHAINS = 24, LANES = 16 };
    __m512 s[CHAINS], half = _mm512_set1_ps(0.5F), one = _mm512_set1_ps(1.0F);
#pragma GCC unroll 32
    for (size_t j = 0; j < CHAINS; j++)
        s[j] = _mm512_set1_ps(*sink + (float)j);
    for (size_t i = 0; i < steps; i++) {
#pragma GCC unroll 32
        for (size_t j = 0; j < CHAINS; j++)
            s[j] = _mm512_fmadd_ps(s[j], half, one);
    }
    float lanes[LANES];
    for (size_t j = 0; j < CHAINS; j++) {
        _mm512_storeu_ps(lanes, s[j]);
        *sink += lanes[0];
    }
    return 2.0 * CHAINS * LANES * (double)steps;
}

// Widened to 16 bits: a multiplication of pairs, and an addition.
double peak_i8_avx512(size_t steps, float *sink) {
    enum { CHAINS = 24, PRODUCTS = 32 };
    __m512i s[CHAINS], w = _mm512_set1_epi16(3), x = _mm512_set1_epi16((short)*sink);
#pragma GCC unroll 32
    for (size_t j = 0; j < CHAINS; j++)
        s[j] = _mm512_set1_epi32((int)j);
    for (size_t i = 0; i < steps; i++) {
#pragma GCC unroll 32
        for (size_t j = 0; j < CHAINS; j++) {
            __asm__("" : "+v"(x)); // or one multiplication would serve all
            s[j] = _mm512_add_epi32(s[j], _mm512_madd_epi16(w, x));
        }
    }
#pragma GCC unroll 32
    for (size_t j = 0; j < CHAINS; j++)
        *sink += (float)_mm512_reduce_add_epi32(s[j]);
    return 2.0 * CHAINS * PRODUCTS * (double)steps;
}
