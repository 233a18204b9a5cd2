// matmul of f32 by f16 weights, for AVX-512.
#include "kernel/kernel_list.h"
#include "kernel/matmul_low_avx512.h"

// A line holds 16 weights of an even k, then 16 of the odd one.
LOW_INLINE __m512 widen(const char *line, const size_t odd) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(line + odd * LOW_LINE / 2)));
}

#include "kernel/matmul_half_avx512.inc"

void matmul_f16w_avx512(const struct matmul_args *a, size_t begin, size_t end) {
    struct half_scratch scratch;
    const struct half_shape shape = {MR, NR, 1000000, tile_any, panel_widen, finish};
    half_loop(a, begin, end, &shape, &scratch);
}
