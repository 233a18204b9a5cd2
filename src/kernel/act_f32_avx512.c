// act for AVX-512.
#include "kernel/v16_avx512.h"

#include "kernel/act_f32.inc"

void act_f32_avx512(const struct act_args *a, size_t begin, size_t end) {
    units_run(a, begin, end);
}
