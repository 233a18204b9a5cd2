// attention for AVX-512: score tiles of 8 keys x 32 rows, mix tiles of 4 rows x 64 or 8 rows x 32 columns.
#include "kernel/v16_avx512.h"

#include <string.h>

enum { SCORE_ROWS = 2, SCORE_KEYS = 8, MIX_WIDE = 4, MIX_ROWS = 8 };
#include "kernel/attention_f32.inc"

void attention_f32_avx512(const struct attention_args *a, size_t begin, size_t end) {
    units_run(a, begin, end);
}
