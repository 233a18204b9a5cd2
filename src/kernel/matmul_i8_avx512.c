// matmul of int8 by AVX-512's vpmaddwd: a tile of 12 x 32 sums takes 24 of the 32 registers.
#include "kernel/kernel_list.h"
#include "kernel/matmul_low_avx512.h"
#include "kernel/matmul_wide.h"

enum {
    MR = matmul_i8_avx512_mr,
    NR = MATMUL_LOW_COLUMNS,
    FETCH = 1024 // bytes of W ahead in each group, into L1
};

static void widen(uint32_t *out, const int8_t *x, size_t steps) {
    for (size_t i = 0; i < steps; i += 16) {
        __m512i v = _mm512_loadu_si512(x + i * LOW_STEP);
        _mm512_store_si512(out + i, _mm512_srai_epi16(_mm512_slli_epi16(v, 8), 8));
        _mm512_store_si512(out + WIDE_STEPS + i, _mm512_srai_epi16(v, 8));
    }
}

// s += the products of half the bytes of a step
LOW_INLINE void row(__m512i s[2], const uint32_t *x, const __m512i b[2]) {
    __m512i v = _mm512_set1_epi32((int)*x);
    s[0] = _mm512_add_epi32(s[0], _mm512_madd_epi16(b[0], v));
    s[1] = _mm512_add_epi32(s[1], _mm512_madd_epi16(b[1], v));
}

LOW_INLINE void half(__m512i s[MR][2], const uint32_t *x, const __m512i b[2], const size_t rows) {
    const size_t ld = 2 * WIDE_STEPS;
    row(s[0], x, b);
    if (rows > 1) row(s[1], x + ld, b);
    if (rows > 2) row(s[2], x + 2 * ld, b);
    if (rows > 3) row(s[3], x + 3 * ld, b);
    if (rows > 4) row(s[4], x + 4 * ld, b);
    if (rows > 5) row(s[5], x + 5 * ld, b);
    if (rows > 6) row(s[6], x + 6 * ld, b);
    if (rows > 7) row(s[7], x + 7 * ld, b);
    if (rows > 8) row(s[8], x + 8 * ld, b);
    if (rows > 9) row(s[9], x + 9 * ld, b);
    if (rows > 10) row(s[10], x + 10 * ld, b);
    if (rows > 11) row(s[11], x + 11 * ld, b);
}

LOW_INLINE void tile(const struct wide_tile *t, const size_t rows) {
    const uint32_t *x = t->x;
    const char *w[2] = {t->w, t->w + t->w_ld};
    __m512i *out = (__m512i *)(void *)t->sums;
    __m512i s[MR][2];
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < 2; j++)
            s[i][j] = t->fresh ? _mm512_setzero_si512() : out[2 * i + j];
    const __m512i low = _mm512_set1_epi16(0xff);
    for (size_t k = t->steps; k > 0; k--) {
        const __m512i b[2] = {_mm512_loadu_si512(w[0]), _mm512_loadu_si512(w[1])};
        _mm_prefetch(w[0] + FETCH, _MM_HINT_T0);
        _mm_prefetch(w[1] + FETCH, _MM_HINT_T0);
        const __m512i even[2] = {_mm512_and_si512(b[0], low), _mm512_and_si512(b[1], low)};
        half(s, x, even, rows);
        const __m512i odd[2] = {_mm512_srli_epi16(b[0], 8), _mm512_srli_epi16(b[1], 8)};
        half(s, x + WIDE_STEPS, odd, rows);
        x++;
        w[0] += LOW_LINE;
        w[1] += LOW_LINE;
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++) {
        out[2 * i] = s[i][0];
        out[2 * i + 1] = s[i][1];
    }
}

static void tile_any(const struct wide_tile *t, size_t rows) {
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
    case 7:
        tile(t, 7);
        break;
    case 8:
        tile(t, 8);
        break;
    case 9:
        tile(t, 9);
        break;
    case 10:
        tile(t, 10);
        break;
    case 11:
        tile(t, 11);
        break;
    case 12:
        tile(t, 12);
        break;
    default:
        ASSERT(false);
    }
}

static void finish(const struct matmul_args *a, size_t m, size_t rows, size_t panel, const void *sums) {
    low_finish(a, m, rows, panel, sums, true);
}

void matmul_i8_avx512(const struct matmul_args *a, size_t begin, size_t end) {
    _Alignas(64) uint32_t scratch[MR * 2 * WIDE_STEPS];
    const struct wide_shape shape = {MR, NR, 500000, scratch, widen, tile_any, finish};
    wide_loop(a, begin, end, &shape);
}
