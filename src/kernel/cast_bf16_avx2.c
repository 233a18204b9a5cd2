// cast for AVX2.
#include "kernel/kernel_list.h"

#include <immintrin.h>

// The bits of f32_to_bf16, in the low half of each lane.
static inline __m256i narrow(__m256 x) {
    __m256i bits = _mm256_castps_si256(x), high = _mm256_srli_epi32(bits, 16);
    __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
    __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    rounded = _mm256_srli_epi32(rounded, 16);
    __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
    return _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
}

// Lanes i .. i + 8 of a row of D; zeros past it.
static inline __m256 load(const float *x, size_t i, size_t D) {
    if (i + 8 <= D) return _mm256_loadu_ps(x + i);
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i left = _mm256_set1_epi32((int)(D - size_min(i, D)));
    return _mm256_maskload_ps(x + i, _mm256_cmpgt_epi32(left, lane));
}

void cast_bf16_avx2(const struct cast_args *a, size_t begin, size_t end) {
    size_t depth = matmul_low_depth(MATMUL_LOW_BF16, a->D);
    for (size_t row = begin; row < end; row++) {
        const float *x = a->x + row * a->ldx;
        uint16_t *y = a->y + row * a->ldy;
        for (size_t i = 0; i < depth; i += 16) {
            __m256i both = _mm256_packus_epi32(narrow(load(x, i, a->D)), narrow(load(x, i + 8, a->D)));
            _mm256_storeu_si256((void *)(y + i), _mm256_permute4x64_epi64(both, 0xd8));
        }
    }
}
