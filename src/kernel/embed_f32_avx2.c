// embed for AVX2.
#include "kernel/v16_avx2.h"

#include "kernel/embed_f32.inc"

void embed_f32_avx2(const struct embed_args *a, size_t begin, size_t end) {
    units_run(a, begin, end);
}
