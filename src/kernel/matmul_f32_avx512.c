// matmul over AVX-512: a tile of 14 x 32 sums is 28 of the 32 registers.
#include "kernel/kernel_list.h"
#include "kernel/matmul_loop.h"

#include <immintrin.h>

enum {
    MR = matmul_f32_avx512_mr,
    NR = matmul_f32_avx512_nr,
    LANES = 16,
    LD = MATMUL_STRIDE,
    FOLDED = 8,  // rows whose x is broadcast by the multiply-add itself
    FETCH = 1024 // bytes of W ahead, from L2 to L1
};

// s += x * b, x broadcast from memory.
MATMUL_INLINE void fma_memory(__m512 *s, const float *x, __m512 b) {
    __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(*s) : "v"(b), "m"(*x));
}

// Row i of the tile. A broadcast of its own is one load for two multiply-adds but one more instruction;
// folded broadcasts are two loads. Two loads a cycle bound the one and the width of the front end the other
// (the half of it, when another thread shares the core), so some rows do this and some that.
MATMUL_INLINE void row(__m512 s[2], const float *x, const __m512 b[2], const size_t i) {
    if (i < FOLDED) {
        fma_memory(&s[0], x, b[0]);
        fma_memory(&s[1], x, b[1]);
    } else {
        __m512 v = _mm512_set1_ps(*x);
        s[0] = _mm512_fmadd_ps(v, b[0], s[0]);
        s[1] = _mm512_fmadd_ps(v, b[1], s[1]);
    }
}

// sums += x[.., k] w[k, ..]
MATMUL_INLINE void step(__m512 s[MR][2], const float *x, const float *w, const size_t k, const size_t rows) {
    const __m512 b[2] = {_mm512_loadu_ps(w + k * NR), _mm512_loadu_ps(w + k * NR + LANES)};
    row(s[0], x + k, b, 0);
    if (rows > 1) row(s[1], x + 1 * LD + k, b, 1);
    if (rows > 2) row(s[2], x + 2 * LD + k, b, 2);
    if (rows > 3) row(s[3], x + 3 * LD + k, b, 3);
    if (rows > 4) row(s[4], x + 4 * LD + k, b, 4);
    if (rows > 5) row(s[5], x + 5 * LD + k, b, 5);
    if (rows > 6) row(s[6], x + 6 * LD + k, b, 6);
    if (rows > 7) row(s[7], x + 7 * LD + k, b, 7);
    if (rows > 8) row(s[8], x + 8 * LD + k, b, 8);
    if (rows > 9) row(s[9], x + 9 * LD + k, b, 9);
    if (rows > 10) row(s[10], x + 10 * LD + k, b, 10);
    if (rows > 11) row(s[11], x + 11 * LD + k, b, 11);
    if (rows > 12) row(s[12], x + 12 * LD + k, b, 12);
    if (rows > 13) row(s[13], x + 13 * LD + k, b, 13);
}

MATMUL_INLINE void load(__m512 s[2], const float *sums) {
    s[0] = _mm512_load_ps(sums);
    s[1] = _mm512_load_ps(sums + LANES);
}

MATMUL_INLINE void store(float *sums, const __m512 s[2]) {
    _mm512_store_ps(sums, s[0]);
    _mm512_store_ps(sums + LANES, s[1]);
}

MATMUL_INLINE void load_all(__m512 s[MR][2], const float *sums, const size_t rows) {
    load(s[0], sums);
    if (rows > 1) load(s[1], sums + 1 * NR);
    if (rows > 2) load(s[2], sums + 2 * NR);
    if (rows > 3) load(s[3], sums + 3 * NR);
    if (rows > 4) load(s[4], sums + 4 * NR);
    if (rows > 5) load(s[5], sums + 5 * NR);
    if (rows > 6) load(s[6], sums + 6 * NR);
    if (rows > 7) load(s[7], sums + 7 * NR);
    if (rows > 8) load(s[8], sums + 8 * NR);
    if (rows > 9) load(s[9], sums + 9 * NR);
    if (rows > 10) load(s[10], sums + 10 * NR);
    if (rows > 11) load(s[11], sums + 11 * NR);
    if (rows > 12) load(s[12], sums + 12 * NR);
    if (rows > 13) load(s[13], sums + 13 * NR);
}

MATMUL_INLINE void store_all(float *sums, __m512 s[MR][2], const size_t rows) {
    store(sums, s[0]);
    if (rows > 1) store(sums + 1 * NR, s[1]);
    if (rows > 2) store(sums + 2 * NR, s[2]);
    if (rows > 3) store(sums + 3 * NR, s[3]);
    if (rows > 4) store(sums + 4 * NR, s[4]);
    if (rows > 5) store(sums + 5 * NR, s[5]);
    if (rows > 6) store(sums + 6 * NR, s[6]);
    if (rows > 7) store(sums + 7 * NR, s[7]);
    if (rows > 8) store(sums + 8 * NR, s[8]);
    if (rows > 9) store(sums + 9 * NR, s[9]);
    if (rows > 10) store(sums + 10 * NR, s[10]);
    if (rows > 11) store(sums + 11 * NR, s[11]);
    if (rows > 12) store(sums + 12 * NR, s[12]);
    if (rows > 13) store(sums + 13 * NR, s[13]);
}

MATMUL_INLINE void tile(const struct matmul_tile *t, const size_t rows) {
    const float *x = t->x, *w = t->w, *ahead = t->ahead;
    const __m512 z = _mm512_setzero_ps();
    __m512 s[MR][2] = {{z, z}, {z, z}, {z, z}, {z, z}, {z, z}, {z, z}, {z, z},
                       {z, z}, {z, z}, {z, z}, {z, z}, {z, z}, {z, z}, {z, z}};
    if (t->more) load_all(s, t->sums, rows);
    size_t k = t->K;
    for (; k >= 2; k -= 2) {
        // Few rows leave little time for each line of W.
        if (rows <= 8) {
            _mm_prefetch((const char *)w + FETCH, _MM_HINT_T0);
            _mm_prefetch((const char *)w + FETCH + 64, _MM_HINT_T0);
            _mm_prefetch((const char *)w + FETCH + 128, _MM_HINT_T0);
            _mm_prefetch((const char *)w + FETCH + 192, _MM_HINT_T0);
        } else
            _mm_prefetch((const char *)ahead, _MM_HINT_T1);
        step(s, x, w, 0, rows);
        step(s, x, w, 1, rows);
        x += 2;
        w += 2 * NR;
        ahead += LANES;
    }
    if (k > 0) step(s, x, w, 0, rows);
    store_all(t->sums, s, rows);
}

static void tile_any(const struct matmul_tile *t, size_t rows) {
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
    case 13:
        tile(t, 13);
        break;
    case 14:
        tile(t, 14);
        break;
    default:
        ASSERT(false);
    }
}

MATMUL_INLINE void finish_as(const struct matmul_args *a, size_t m, size_t rows, size_t panel,
                             const float *sums, const enum act act) {
    size_t first = panel * NR, columns = size_min(NR, a->N - first);
    for (size_t j = 0; j < columns; j += LANES) {
        __mmask16 mask = columns - j >= LANES ? 0xffff : (__mmask16)((1U << (columns - j)) - 1);
        size_t at = first + j;
        __m512 bias = a->bias ? _mm512_maskz_loadu_ps(mask, a->bias + at) : _mm512_setzero_ps();
        for (size_t i = 0; i < rows; i++) {
            __m512 v = _mm512_load_ps(sums + i * NR + j);
            if (a->bias) v = _mm512_add_ps(v, bias);
            if (act == ACT_RELU) v = _mm512_max_ps(v, _mm512_setzero_ps());
            if (a->residual)
                v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, a->residual + (m + i) * a->ldr + at));
            _mm512_mask_storeu_ps(a->y + (m + i) * a->ldy + at, mask, v);
        }
    }
}

static void finish(const struct matmul_args *a, size_t m, size_t rows, size_t panel, const float *sums) {
    switch (a->act) {
    case ACT_RELU:
        finish_as(a, m, rows, panel, sums, ACT_RELU);
        break;
    default:
        finish_as(a, m, rows, panel, sums, ACT_NONE);
        break;
    }
}

void matmul_f32_avx512(const struct matmul_args *a, size_t begin, size_t end) {
    const struct matmul_shape shape = {MR, NR, tile_any, finish};
    matmul_loop(a, begin, end, &shape);
}
