// attention for AVX2: score tiles of 6 keys x 16 rows, mix tiles of 6 rows x 16 columns.
#include "kernel/v16_avx2.h"

#include <string.h>

enum { SCORE_ROWS = 1, SCORE_KEYS = 6, MIX_WIDE = 1, MIX_ROWS = 6 };
#include "kernel/attention_f32.inc"

void attention_f32_avx2(const struct attention_args *a, size_t begin, size_t end) {
    units_run(a, begin, end);
}
