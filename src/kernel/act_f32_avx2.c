// act for AVX2.
#include "kernel/v16_avx2.h"

#include "kernel/act_f32.inc"

void act_f32_avx2(const struct act_args *a, size_t begin, size_t end) {
    units_run(a, begin, end);
}
