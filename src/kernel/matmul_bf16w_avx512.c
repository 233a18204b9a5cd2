// matmul of f32 by bf16 weights, for AVX-512.
#include "kernel/kernel_list.h"
#include "kernel/matmul_low_avx512.h"

// A line holds pairs of k: the even one in the low half of each lane, the odd one in the high half.
LOW_INLINE __m512 widen(const char *line, const size_t odd) {
    __m512i v = _mm512_loadu_si512(line);
    v = odd ? _mm512_and_si512(v, _mm512_set1_epi32((int)0xffff0000)) : _mm512_slli_epi32(v, 16);
    return _mm512_castsi512_ps(v);
}

#include "kernel/matmul_half_avx512.inc"

void matmul_bf16w_avx512(const struct matmul_args *a, size_t begin, size_t end) {
    struct half_scratch scratch;
    const struct half_shape shape = {MR, NR, 1000000, tile_any, panel_widen, finish};
    half_loop(a, begin, end, &shape, &scratch);
}
