// matmul over AVX-512: a tile of 14 x 32 sums takes 28 of the 32 registers.
#include "kernel/kernel_list.h"
#include "kernel/matmul_loop.h"
#include "kernel/vec_avx512.h"

enum {
    MR = matmul_f32_avx512_mr,
    NR = matmul_f32_avx512_nr,
    LANES = 16,
    MR_ALIASED = 11,
    EASY = 6,    // rows of a tile that broadcast for themselves
    SMALL = 8,   // a tile of so few rows has less time for each line of W
    FETCH = 1024 // bytes of W ahead, into L1
};

// s += x b for one row of the tile. A broadcast of its own takes one load for two multiply-adds, but a third
// instruction; folded into each multiply-add it takes two loads. Loads are bound by two a cycle, instructions
// by the front end, of which another thread on the core leaves half: so some rows do the one and some the
// other.
MATMUL_INLINE void row(__m512 s[2], const float *x, const __m512 b[2], const bool fold) {
    if (fold) {
        __asm__("vfmadd231ps %4%{1to16%}, %2, %0\n\tvfmadd231ps %4%{1to16%}, %3, %1"
                : "+&v"(s[0]), "+v"(s[1])
                : "v"(b[0]), "v"(b[1]), "m"(*x));
    } else {
        __m512 v = _mm512_set1_ps(*x);
        s[0] = _mm512_fmadd_ps(v, b[0], s[0]);
        s[1] = _mm512_fmadd_ps(v, b[1], s[1]);
    }
}

// sums += x[.., k] w[k, ..]. Five pointers and one stride reach fourteen rows without spilling an address.
MATMUL_INLINE void step(__m512 s[MR][2], const float *const x[5], size_t ld, const float *w, const size_t k,
                        const size_t rows) {
    const __m512 b[2] = {_mm512_loadu_ps(w + k * NR), _mm512_loadu_ps(w + k * NR + LANES)};
    _mm_prefetch((const char *)(w + k * NR) + FETCH, _MM_HINT_T0);
    _mm_prefetch((const char *)(w + k * NR + LANES) + FETCH, _MM_HINT_T0);
    row(s[0], x[0] + k, b, EASY < rows);
    if (rows > 1) row(s[1], x[0] + ld + k, b, 1 + EASY < rows);
    if (rows > 2) row(s[2], x[0] + 2 * ld + k, b, 2 + EASY < rows);
    if (rows > 3) row(s[3], x[1] + k, b, 3 + EASY < rows);
    if (rows > 4) row(s[4], x[1] + ld + k, b, 4 + EASY < rows);
    if (rows > 5) row(s[5], x[1] + 2 * ld + k, b, 5 + EASY < rows);
    if (rows > 6) row(s[6], x[2] + k, b, 6 + EASY < rows);
    if (rows > 7) row(s[7], x[2] + ld + k, b, 7 + EASY < rows);
    if (rows > 8) row(s[8], x[2] + 2 * ld + k, b, 8 + EASY < rows);
    if (rows > 9) row(s[9], x[3] + k, b, 9 + EASY < rows);
    if (rows > 10) row(s[10], x[3] + ld + k, b, 10 + EASY < rows);
    if (rows > 11) row(s[11], x[3] + 2 * ld + k, b, 11 + EASY < rows);
    if (rows > 12) row(s[12], x[4] + k, b, 12 + EASY < rows);
    if (rows > 13) row(s[13], x[4] + ld + k, b, 13 + EASY < rows);
}

MATMUL_INLINE void store(float *sums, const __m512 s[2]) {
    _mm512_store_ps(sums, s[0]);
    _mm512_store_ps(sums + LANES, s[1]);
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
    const size_t ld = t->ldx,
                 share = rows <= SMALL ? 2 * LANES : LANES; // floats of the next panel for two steps
    const float *x[5] = {t->x, t->x + 3 * ld, t->x + 6 * ld, t->x + 9 * ld, t->x + 12 * ld};
    const float *w = t->w, *next = t->next + t->index * t->K / 2 * share;
    const __m512 z = _mm512_setzero_ps();
    __m512 s[MR][2] = {{z, z}, {z, z}, {z, z}, {z, z}, {z, z}, {z, z}, {z, z},
                       {z, z}, {z, z}, {z, z}, {z, z}, {z, z}, {z, z}, {z, z}};
    size_t k = t->K;
    for (; k >= 2; k -= 2) {
        // Opaque, so that clang keeps these five and does not make fourteen of them.
        __asm__("" : "+r"(x[0]), "+r"(x[1]), "+r"(x[2]), "+r"(x[3]), "+r"(x[4]));
        _mm_prefetch((const char *)next, _MM_HINT_T1);
        if (share > LANES) _mm_prefetch((const char *)(next + LANES), _MM_HINT_T1);
        step(s, x, ld, w, 0, rows);
        step(s, x, ld, w, 1, rows);
        x[0] += 2, x[1] += 2, x[2] += 2, x[3] += 2, x[4] += 2;
        w += 2 * NR;
        next += share;
    }
    if (k > 0) step(s, x, ld, w, 0, rows);
    store_all(t->sums, s, rows);
}

static __attribute__((noinline)) void tile_any(const struct matmul_tile *t, size_t rows) {
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
        __mmask16 mask = (__mmask16)((1U << size_min(columns - j, LANES)) - 1);
        size_t at = first + j;
        __m512 bias = a->bias ? _mm512_maskz_loadu_ps(mask, a->bias + at) : _mm512_setzero_ps();
        for (size_t i = 0; i < rows; i++) {
            __m512 v = _mm512_load_ps(sums + i * NR + j);
            if (a->bias) v = _mm512_add_ps(v, bias);
            v = act_avx512(v, act);
            if (a->residual)
                v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, a->residual + (m + i) * a->ldr + at));
            _mm512_mask_storeu_ps((float *)a->y + (m + i) * a->ldy + at, mask, v);
        }
    }
}

static void finish(const struct matmul_args *a, size_t m, size_t rows, size_t panel, const float *sums) {
    switch (a->act) {
    case ACT_GELU:
        finish_as(a, m, rows, panel, sums, ACT_GELU);
        break;
    case ACT_GELU_TANH:
        finish_as(a, m, rows, panel, sums, ACT_GELU_TANH);
        break;
    case ACT_QUICK_GELU:
        finish_as(a, m, rows, panel, sums, ACT_QUICK_GELU);
        break;
    case ACT_RELU:
        finish_as(a, m, rows, panel, sums, ACT_RELU);
        break;
    case ACT_TANH:
        finish_as(a, m, rows, panel, sums, ACT_TANH);
        break;
    case ACT_SIGMOID:
        finish_as(a, m, rows, panel, sums, ACT_SIGMOID);
        break;
    case ACT_SILU:
        finish_as(a, m, rows, panel, sums, ACT_SILU);
        break;
    case ACT_NONE:
    case ACT_COUNT:
        finish_as(a, m, rows, panel, sums, ACT_NONE);
        break;
    }
}

void matmul_f32_avx512(const struct matmul_args *a, size_t begin, size_t end) {
    const struct matmul_shape shape = {MR, NR, MR_ALIASED, 250000, tile_any, finish};
    matmul_loop(a, begin, end, &shape);
}
