// matmul of f32 by f16 weights, for AVX2 with F16C.
#include "kernel/kernel_list.h"
#include "kernel/matmul_low_avx2.h"

// A line holds 16 weights of an even k, then 16 of the odd one.
LOW_INLINE __m256 widen(const char *line, const size_t half, const size_t odd) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const void *)(line + odd * LOW_LINE / 2 + half * LOW_LINE / 4)));
}

#include "kernel/matmul_half_avx2.inc"

void matmul_f16w_avx2(const struct matmul_args *a, size_t begin, size_t end) {
    struct half_scratch scratch;
    const struct half_shape shape = {MR, NR, 500000, tile_any, panel_widen, finish};
    half_loop(a, begin, end, &shape, &scratch);
}
