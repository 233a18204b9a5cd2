// matmul of bf16 by AMX tiles.
#include "kernel/kernel_list.h"
#include "kernel/matmul_low_avx512.h"
#include "kernel/tiles_amx.h"

enum { I8 = 0 };

LOW_INLINE void dot_low(void) {
    tiles_bf16_low();
}

LOW_INLINE void dot_high(void) {
    tiles_bf16_high();
}

#include "kernel/matmul_tiles.inc"

void matmul_bf16t_amx(const struct matmul_args *a, size_t begin, size_t end) {
    units_run(a, begin, end);
}
