// f32 to bf16, 16 lanes: the bits of f32_to_bf16.
#ifndef SABOK_BF16_AVX512_H
#define SABOK_BF16_AVX512_H

#include <immintrin.h>

static inline __m256i bf16_narrow_avx512(__m512 x) {
    __m512i bits = _mm512_castps_si512(x), high = _mm512_srli_epi32(bits, 16);
    __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    rounded = _mm512_srli_epi32(rounded, 16);
    __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    rounded = _mm512_mask_or_epi32(rounded, nan, high, _mm512_set1_epi32(0x40));
    return _mm512_cvtepi32_epi16(rounded);
}

#endif
