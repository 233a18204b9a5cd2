// int8 products in registers: independent chains enough to hide the latency of every unit.
#include "kernel/peak.h"

#include <immintrin.h>

double peak_i8_vnni(size_t steps, float *sink) {
    enum { CHAINS = 24, PRODUCTS = 64 };
    __m512i s[CHAINS], w = _mm512_set1_epi8(3), x = _mm512_set1_epi8((char)*sink);
#pragma GCC unroll 32
    for (size_t j = 0; j < CHAINS; j++)
        s[j] = _mm512_set1_epi32((int)j);
    for (size_t i = 0; i < steps; i++) {
#pragma GCC unroll 32
        for (size_t j = 0; j < CHAINS; j++)
            s[j] = _mm512_dpbusd_epi32(s[j], w, x);
    }
#pragma GCC unroll 32
    for (size_t j = 0; j < CHAINS; j++)
        *sink += (float)_mm512_reduce_add_epi32(s[j]);
    return 2.0 * CHAINS * PRODUCTS * (double)steps;
}
