// pool for AVX-512.
#include "kernel/v16_avx512.h"

enum { STRIP = 8 }; // v16s in a strip
#include "kernel/pool_f32.inc"

void pool_f32_avx512(const struct pool_args *a, size_t begin, size_t end) {
    units_run(a, begin, end);
}
