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
