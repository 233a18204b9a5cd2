// pool for AVX2.
#include "kernel/v16_avx2.h"

enum { STRIP = 4 }; // v16s in a strip
#include "kernel/pool_f32.inc"

void pool_f32_avx2(const struct pool_args *a, size_t begin, size_t end) {
    units_run(a, begin, end);
}
