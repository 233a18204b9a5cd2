// add for AVX-512.
#include "kernel/v16_avx512.h"

#include "kernel/add_f32.inc"

void add_f32_avx512(const struct add_args *a, size_t begin, size_t end) {
    units_run(a, begin, end);
}
