// bf16 products in registers: independent chains enough to hide the latency of every unit.
#include "kernel/peak.h"

#include <immintrin.h>

double peak_bf16_bf16(size_t steps, float *sink) {
    enum { CHAINS = 24, PRODUCTS = 32 };
    __m512 s[CHAINS];
    __m512i w = _mm512_set1_epi16(0x3f80), x = _mm512_set1_epi16((short)*sink);
#pragma GCC unroll 32
    for (size_t j = 0; j < CHAINS; j++)
        s[j] = _mm512_set1_ps((float)j);
    for (size_t i = 0; i < steps; i++) {
#pragma GCC unroll 32
        for (size_t j = 0; j < CHAINS; j++)
            s[j] = _mm512_dpbf16_ps(s[j], (__m512bh)w, (__m512bh)x);
    }
#pragma GCC unroll 32
    for (size_t j = 0; j < CHAINS; j++)
        *sink += _mm512_reduce_add_ps(s[j]);
    return 2.0 * CHAINS * PRODUCTS * (double)steps;
}
