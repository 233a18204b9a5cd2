// matmul of int8 by the 256-bit vpdpbusd: a tile of 6 x 16 sums takes 12 of the 16 registers.
#include "kernel/kernel_list.h"
#include "kernel/matmul_low_avx2.h"

#include <string.h>

enum {
    MR = matmul_i8_avxvnni_mr,
    NR = MATMUL_LOW_GROUP,
    FETCH = 1024 // bytes of W ahead, into L1
};

LOW_INLINE void row(__m256i s[2], const char *x, const __m256i b[2]) {
    int32_t bytes;
    memcpy(&bytes, x, sizeof bytes);
    __m256i v = _mm256_set1_epi32(bytes);
    s[0] = _mm256_dpbusd_avx_epi32(s[0], b[0], v);
    s[1] = _mm256_dpbusd_avx_epi32(s[1], b[1], v);
}

// sums += one step
LOW_INLINE void step(__m256i s[MR][2], const char *const x[2], size_t ld, const char *w, const size_t k,
                     const size_t rows) {
    const __m256i b[2] = {_mm256_loadu_si256((const void *)(w + k * LOW_LINE)),
                          _mm256_loadu_si256((const void *)(w + k * LOW_LINE + 32))};
    const size_t at = k * LOW_STEP;
    row(s[0], x[0] + at, b);
    if (rows > 1) row(s[1], x[0] + ld + at, b);
    if (rows > 2) row(s[2], x[0] + 2 * ld + at, b);
    if (rows > 3) row(s[3], x[1] + at, b);
    if (rows > 4) row(s[4], x[1] + ld + at, b);
    if (rows > 5) row(s[5], x[1] + 2 * ld + at, b);
}

LOW_INLINE void tile(const struct low_tile *t, const size_t rows) {
    const size_t ld = t->ldx;
    const char *x[2] = {t->x, t->x + 3 * ld}, *w = t->w;
    const char *next = t->next + t->index * t->steps / 2 * LOW_LINE;
    const __m256i z = _mm256_setzero_si256();
    __m256i s[MR][2] = {{z, z}, {z, z}, {z, z}, {z, z}, {z, z}, {z, z}};
    for (size_t k = t->steps; k > 0; k -= 2) {
        _mm_prefetch(w + FETCH, _MM_HINT_T0);
        _mm_prefetch(w + LOW_LINE + FETCH, _MM_HINT_T0);
        _mm_prefetch(next, _MM_HINT_T1);
        step(s, x, ld, w, 0, rows);
        step(s, x, ld, w, 1, rows);
        x[0] += 2 * LOW_STEP, x[1] += 2 * LOW_STEP;
        w += 2 * LOW_LINE;
        next += LOW_LINE;
    }
    __m256i *out = t->sums;
#pragma GCC unroll 8
    for (size_t i = 0; i < rows; i++) {
        out[2 * i] = s[i][0];
        out[2 * i + 1] = s[i][1];
    }
}

static void tile_any(const struct low_tile *t, size_t rows) {
    switch (rows) {
    case 1:
        tile(t, 1);
        break;
    case 2:
        tile(t, 2);
        break;
    case 3:
        tile(t, 3);
        break;
    case 4:
        tile(t, 4);
        break;
    case 5:
        tile(t, 5);
        break;
    case 6:
        tile(t, 6);
        break;
    default:
        ASSERT(false);
    }
}

static void finish(const struct matmul_args *a, size_t m, size_t rows, size_t panel, const void *sums) {
    low_finish(a, m, rows, panel, sums, true);
}

void matmul_i8_avxvnni(const struct matmul_args *a, size_t begin, size_t end) {
    const struct low_shape shape = {MR, NR, sizeof(int8_t), 500000, MATMUL_LOW_I8, tile_any, finish};
    low_loop(a, begin, end, &shape);
}
