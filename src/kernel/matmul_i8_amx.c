// matmul of int8 by AMX tiles: signed x by unsigned W.
#include "kernel/kernel_list.h"
#include "kernel/matmul_low_avx512.h"
#include "kernel/tiles_amx.h"

enum { I8 = 1 };

LOW_INLINE void dot_low(void) {
    tiles_i8_low();
}

LOW_INLINE void dot_high(void) {
    tiles_i8_high();
}

#include "kernel/matmul_tiles.inc"

void matmul_i8_amx(const struct matmul_args *a, size_t begin, size_t end) {
    units_run(a, begin, end);
}
