// matmul of int8 by vpdpbusd: four products a lane, summed in 32 bits. W is the unsigned operand.
#include "kernel/kernel_list.h"
#include "kernel/matmul_low_avx512.h"

typedef __m512i sum;

LOW_INLINE sum sum_zero(void) {
    return _mm512_setzero_si512();
}

LOW_INLINE sum dot(sum s, __m512i w, __m512i x) {
    return _mm512_dpbusd_epi32(s, w, x);
}

LOW_INLINE void dot_fold(sum s[2], const char *x, const __m512i b[2]) {
    __asm__("vpdpbusd %4%{1to16%}, %2, %0\n\tvpdpbusd %4%{1to16%}, %3, %1"
            : "+&v"(s[0]), "+v"(s[1])
            : "v"(b[0]), "v"(b[1]), "m"(*(const int32_t *)(const void *)x));
}

#include "kernel/matmul_dot.inc"

static void finish(const struct matmul_args *a, size_t m, size_t rows, size_t panel, const void *sums) {
    low_finish(a, m, rows, panel, sums, true);
}

void matmul_i8_vnni(const struct matmul_args *a, size_t begin, size_t end) {
    const struct low_shape shape = {MR, NR, sizeof(int8_t), 1000000, MATMUL_LOW_I8, tile_any, finish};
    low_loop(a, begin, end, &shape);
}
