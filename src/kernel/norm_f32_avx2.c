// norm for AVX2.
#include "kernel/v16_avx2.h"

#include "kernel/norm_f32.inc"

void norm_f32_avx2(const struct norm_args *a, size_t begin, size_t end) {
    units_run(a, begin, end);
}
