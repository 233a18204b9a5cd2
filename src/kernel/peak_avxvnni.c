// int8 products in registers: independent chains enough to hide the latency of every unit.
#include "kernel/peak.h"

#include <immintrin.h>

double peak_i8_avxvnni(size_t steps, float *sink) {
    enum { CHAINS = 12, PRODUCTS = 32 };
    __m256i s[CHAINS], w = _mm256_set1_epi8(3), x = _mm256_set1_epi8((char)*sink);
#pragma GCC unroll 32
    for (size_t j = 0; j < CHAINS; j++)
        s[j] = _mm256_set1_epi32((int)j);
    for (size_t i = 0; i < steps; i++) {
#pragma GCC unroll 32
        for (size_t j = 0; j < CHAINS; j++)
            s[j] = _mm256_dpbusd_avx_epi32(s[j], w, x);
    }
#pragma GCC unroll 32
    for (size_t j = 0; j < CHAINS; j++)
        *sink += (float)_mm256_extract_epi32(s[j], 0);
    return 2.0 * CHAINS * PRODUCTS * (double)steps;
}
