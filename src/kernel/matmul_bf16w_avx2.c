// matmul of f32 by bf16 weights, for AVX2.
#include "kernel/kernel_list.h"
#include "kernel/matmul_low_avx2.h"

// A line holds pairs of k: the even one in the low half of each lane, the odd one in the high half.
LOW_INLINE __m256 widen(const char *line, const size_t half, const size_t odd) {
    __m256i v = _mm256_loadu_si256((const void *)(line + half * LOW_LINE / 2));
    v = odd ? _mm256_and_si256(v, _mm256_set1_epi32((int)0xffff0000)) : _mm256_slli_epi32(v, 16);
    return _mm256_castsi256_ps(v);
}

#include "kernel/matmul_half_avx2.inc"

void matmul_bf16w_avx2(const struct matmul_args *a, size_t begin, size_t end) {
    struct half_scratch scratch;
    const struct half_shape shape = {MR, NR, 500000, tile_any, panel_widen, finish};
    half_loop(a, begin, end, &shape, &scratch);
}
