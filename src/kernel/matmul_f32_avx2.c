// matmul over AVX2 and FMA: a tile of 6 x 16 sums takes 12 of the 16 registers.
#include "kernel/kernel_list.h"
#include "kernel/matmul_loop.h"
#include "kernel/vec_avx2.h"

enum {
    MR = matmul_f32_avx2_mr,
    NR = matmul_f32_avx2_nr,
    LANES = 8,
    FETCH = 1024 // bytes of W ahead, into L1
};

// s += x b for one row of the tile.
MATMUL_INLINE void row(__m256 s[2], const float *x, const __m256 b[2]) {
    __m256 v = _mm256_broadcast_ss(x);
    s[0] = _mm256_fmadd_ps(v, b[0], s[0]);
    s[1] = _mm256_fmadd_ps(v, b[1], s[1]);
}

// sums += x[.., k] w[k, ..]
MATMUL_INLINE void step(__m256 s[MR][2], const float *const x[2], size_t ld, const float *w, const size_t k,
                        const size_t rows) {
    const __m256 b[2] = {_mm256_loadu_ps(w + k * NR), _mm256_loadu_ps(w + k * NR + LANES)};
    row(s[0], x[0] + k, b);
    if (rows > 1) row(s[1], x[0] + ld + k, b);
    if (rows > 2) row(s[2], x[0] + 2 * ld + k, b);
    if (rows > 3) row(s[3], x[1] + k, b);
    if (rows > 4) row(s[4], x[1] + ld + k, b);
    if (rows > 5) row(s[5], x[1] + 2 * ld + k, b);
}

MATMUL_INLINE void store(float *sums, const __m256 s[2]) {
    _mm256_store_ps(sums, s[0]);
    _mm256_store_ps(sums + LANES, s[1]);
}

MATMUL_INLINE void tile(const struct matmul_tile *t, const size_t rows) {
    const size_t ld = t->ldx;
    const float *x[2] = {t->x, t->x + 3 * ld};
    const float *w = t->w, *next = t->next + t->index * t->K / 2 * NR;
    const __m256 z = _mm256_setzero_ps();
    __m256 s[MR][2] = {{z, z}, {z, z}, {z, z}, {z, z}, {z, z}, {z, z}};
    size_t k = t->K;
    for (; k >= 2; k -= 2) {
        _mm_prefetch((const char *)w + FETCH, _MM_HINT_T0);
        _mm_prefetch((const char *)(w + NR) + FETCH, _MM_HINT_T0);
        _mm_prefetch((const char *)next, _MM_HINT_T1);
        step(s, x, ld, w, 0, rows);
        step(s, x, ld, w, 1, rows);
        x[0] += 2, x[1] += 2;
        w += 2 * NR;
        next += NR;
    }
    if (k > 0) step(s, x, ld, w, 0, rows);
    store(t->sums, s[0]);
    if (rows > 1) store(t->sums + 1 * NR, s[1]);
    if (rows > 2) store(t->sums + 2 * NR, s[2]);
    if (rows > 3) store(t->sums + 3 * NR, s[3]);
    if (rows > 4) store(t->sums + 4 * NR, s[4]);
    if (rows > 5) store(t->sums + 5 * NR, s[5]);
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
    default:
        ASSERT(false);
    }
}

// The first `count` lanes, at most 8.
MATMUL_INLINE __m256i mask_of(size_t count) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lane);
}

MATMUL_INLINE void finish_as(const struct matmul_args *a, size_t m, size_t rows, size_t panel,
                             const float *sums, const enum act act) {
    size_t first = panel * NR, columns = size_min(NR, a->N - first);
    for (size_t j = 0; j < columns; j += LANES) {
        __m256i mask = mask_of(size_min(columns - j, LANES));
        size_t at = first + j;
        __m256 bias = a->bias ? _mm256_maskload_ps(a->bias + at, mask) : _mm256_setzero_ps();
        for (size_t i = 0; i < rows; i++) {
            __m256 v = _mm256_load_ps(sums + i * NR + j);
            if (a->bias) v = _mm256_add_ps(v, bias);
            v = act_avx2(v, act);
            if (a->residual)
                v = _mm256_add_ps(v, _mm256_maskload_ps(a->residual + (m + i) * a->ldr + at, mask));
            _mm256_maskstore_ps((float *)a->y + (m + i) * a->ldy + at, mask, v);
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

void matmul_f32_avx2(const struct matmul_args *a, size_t begin, size_t end) {
    const struct matmul_shape shape = {MR, NR, MR, 100000, tile_any, finish};
    matmul_loop(a, begin, end, &shape);
}
