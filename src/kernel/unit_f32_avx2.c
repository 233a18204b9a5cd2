// unit for AVX2.
#include "kernel/v16_avx2.h"

#include "kernel/unit_f32.inc"

void unit_f32_avx2(const struct unit_args *a, size_t begin, size_t end) {
    units_run(a, begin, end);
}
