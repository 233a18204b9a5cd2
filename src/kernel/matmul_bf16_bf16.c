// matmul of bf16 by vdpbf16ps: two products a lane.
#include "kernel/kernel_list.h"
#include "kernel/matmul_low_avx512.h"

typedef __m512 sum;

LOW_INLINE sum sum_zero(void) {
    return _mm512_setzero_ps();
}

LOW_INLINE sum dot(sum s, __m512i w, __m512i x) {
    return _mm512_dpbf16_ps(s, (__m512bh)w, (__m512bh)x);
}

LOW_INLINE void dot_fold(sum s[2], const char *x, const __m512i b[2]) {
    __asm__("vdpbf16ps %4%{1to16%}, %2, %0\n\tvdpbf16ps %4%{1to16%}, %3, %1"
            : "+&v"(s[0]), "+v"(s[1])
            : "v"(b[0]), "v"(b[1]), "m"(*(const int32_t *)(const void *)x));
}

#include "kernel/matmul_dot.inc"

static void finish(const struct matmul_args *a, size_t m, size_t rows, size_t panel, const void *sums) {
    low_finish(a, m, rows, panel, sums, false);
}

void matmul_bf16_bf16(const struct matmul_args *a, size_t begin, size_t end) {
    const struct low_shape shape = {MR, NR, sizeof(uint16_t), 1000000, MATMUL_LOW_BF16, tile_any, finish};
    low_loop(a, begin, end, &shape);
}
