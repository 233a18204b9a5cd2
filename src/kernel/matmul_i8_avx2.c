// matmul of int8 by AVX2's vpmaddwd: a tile of 6 x 16 sums takes 12 of the 16 registers.
#include "kernel/kernel_list.h"
#include "kernel/matmul_low_avx2.h"
#include "kernel/matmul_wide.h"

enum {
    MR = matmul_i8_avx2_mr,
    NR = MATMUL_LOW_GROUP,
    FETCH = 1024 // bytes of W ahead, into L1
};

static void widen(uint32_t *out, const int8_t *x, size_t steps) {
    for (size_t i = 0; i < steps; i += 8) {
        __m256i v = _mm256_loadu_si256((const void *)(x + i * LOW_STEP));
        __m256i even = _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8), odd = _mm256_srai_epi16(v, 8);
        _mm256_store_si256((void *)(out + i), even);
        _mm256_store_si256((void *)(out + WIDE_STEPS + i), odd);
    }
}

// s += the products of half the bytes of a step
LOW_INLINE void row(__m256i s[2], const uint32_t *x, const __m256i b[2]) {
    __m256i v = _mm256_set1_epi32((int)*x);
    s[0] = _mm256_add_epi32(s[0], _mm256_madd_epi16(b[0], v));
    s[1] = _mm256_add_epi32(s[1], _mm256_madd_epi16(b[1], v));
}

LOW_INLINE void half(__m256i s[MR][2], const uint32_t *x, const __m256i b[2], const size_t rows) {
    const size_t ld = 2 * WIDE_STEPS;
    row(s[0], x, b);
    if (rows > 1) row(s[1], x + ld, b);
    if (rows > 2) row(s[2], x + 2 * ld, b);
    if (rows > 3) row(s[3], x + 3 * ld, b);
    if (rows > 4) row(s[4], x + 4 * ld, b);
    if (rows > 5) row(s[5], x + 5 * ld, b);
}

LOW_INLINE void tile(const struct wide_tile *t, const size_t rows) {
    const uint32_t *x = t->x;
    const char *w = t->w;
    __m256i *out = (__m256i *)(void *)t->sums;
    __m256i s[MR][2];
#pragma GCC unroll 8
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < 2; j++)
            s[i][j] = t->fresh ? _mm256_setzero_si256() : out[2 * i + j];
    const __m256i low = _mm256_set1_epi16(0xff);
    for (size_t k = t->steps; k > 0; k--) {
        _mm_prefetch(w + FETCH, _MM_HINT_T0);
        const __m256i *at = (const void *)w;
        __m256i even[2] = {_mm256_and_si256(_mm256_loadu_si256(at), low),
                           _mm256_and_si256(_mm256_loadu_si256(at + 1), low)};
        half(s, x, even, rows);
        __m256i odd[2] = {_mm256_srli_epi16(_mm256_loadu_si256(at), 8),
                          _mm256_srli_epi16(_mm256_loadu_si256(at + 1), 8)};
        half(s, x + WIDE_STEPS, odd, rows);
        x++;
        w += LOW_LINE;
    }
#pragma GCC unroll 8
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
    default:
        ASSERT(false);
    }
}

static void finish(const struct matmul_args *a, size_t m, size_t rows, size_t panel, const void *sums) {
    low_finish(a, m, rows, panel, sums, true);
}

void matmul_i8_avx2(const struct matmul_args *a, size_t begin, size_t end) {
    _Alignas(64) uint32_t scratch[MR * 2 * WIDE_STEPS];
    const struct wide_shape shape = {MR, NR, 250000, scratch, widen, tile_any, finish};
    wide_loop(a, begin, end, &shape);
}
