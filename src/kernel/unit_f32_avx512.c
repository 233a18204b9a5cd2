// unit for AVX-512.
#include "kernel/v16_avx512.h"

#include "kernel/unit_f32.inc"

void unit_f32_avx512(const struct unit_args *a, size_t begin, size_t end) {
    units_run(a, begin, end);
}
