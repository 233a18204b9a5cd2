// A ladder of f32 matmuls over AVX-512: each rung adds one idea; the last two are ideas that do not pay.
//   gcc -O3 -std=gnu17 -ffp-contract=off -mavx512f -mprefer-vector-width=512 ladder.c -o ladder && ./ladder 128 768 768
// Every rung is timed in turn, between two runs of the multiply-add loop, in CPU time of the thread, many times over; the
// table shows the median of the ratios. All rungs but the first give the same bits, which is checked.
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define INLINE static inline __attribute__((always_inline))
enum { MR = 14, NR = 32, DEEP = 4096, ROUNDS = 60 };

// What a rung does; constants to the compiler.
struct rung {
    bool fetch; // W 1 KiB ahead into L1
    bool next;  // the next panel into L2
    size_t
        plain; // rows that broadcast x by an instruction of their own; the others fold it into the multiply-adds
};

INLINE void row(__m512 s[2], const float *x, __m512 b0, __m512 b1, const bool fold) {
    if (fold) {
        __asm__("vfmadd231ps %4%{1to16%}, %2, %0\n\tvfmadd231ps %4%{1to16%}, %3, %1"
                : "+&v"(s[0]), "+v"(s[1])
                : "v"(b0), "v"(b1), "m"(*x));
    } else {
        __m512 v = _mm512_set1_ps(*x);
        s[0] = _mm512_fmadd_ps(v, b0, s[0]);
        s[1] = _mm512_fmadd_ps(v, b1, s[1]);
    }
}

// y [rows, 32] = x [rows, K] w [K, 32]
INLINE void tile(float *y, size_t ldy, const float *x, size_t ld, const float *w, const float *next, size_t K,
                 const size_t rows, const struct rung r) {
    const float *p[5] = {x, x + 3 * ld, x + 6 * ld, x + 9 * ld, x + 12 * ld};
    const __m512 z = _mm512_setzero_ps();
    __m512 s[MR][2] = {{z, z}, {z, z}, {z, z}, {z, z}, {z, z}, {z, z}, {z, z},
                       {z, z}, {z, z}, {z, z}, {z, z}, {z, z}, {z, z}, {z, z}};
    for (size_t k = 0; k < K; k++) {
        __asm__("" : "+r"(p[0]), "+r"(p[1]), "+r"(p[2]), "+r"(p[3]), "+r"(p[4]));
        __m512 b0 = _mm512_loadu_ps(w), b1 = _mm512_loadu_ps(w + 16);
        if (r.fetch) {
            _mm_prefetch((const char *)w + 1024, _MM_HINT_T0);
            _mm_prefetch((const char *)w + 1088, _MM_HINT_T0);
        }
        if (r.next && k % 2 == 0) _mm_prefetch((const char *)(next + k * 8), _MM_HINT_T1);
#define ROW(i)                                                                                               \
    if (rows > i) row(s[i], p[i / 3] + i % 3 * ld, b0, b1, i + r.plain < rows)
        ROW(0);
        ROW(1);
        ROW(2);
        ROW(3);
        ROW(4);
        ROW(5);
        ROW(6);
        ROW(7);
        ROW(8);
        ROW(9);
        ROW(10);
        ROW(11);
        ROW(12);
        ROW(13);
        p[0]++, p[1]++, p[2]++, p[3]++, p[4]++;
        w += NR;
    }
#define STORE(i)                                                                                             \
    if (rows > i) {                                                                                          \
        _mm512_storeu_ps(y + i * ldy, s[i][0]);                                                              \
        _mm512_storeu_ps(y + i * ldy + 16, s[i][1]);                                                         \
    }
    STORE(0)
    STORE(1)
    STORE(2)
    STORE(3) STORE(4) STORE(5) STORE(6) STORE(7) STORE(8) STORE(9) STORE(10) STORE(11) STORE(12) STORE(13)
}

#define TILES(name, ...)                                                                                     \
    static void name(float *y, size_t ldy, const float *x, size_t ld, const float *w, const float *next,     \
                     size_t K, size_t rows) {                                                                \
        const struct rung r = {__VA_ARGS__};                                                                 \
        switch (rows) {                                                                                      \
        case 1:                                                                                              \
            tile(y, ldy, x, ld, w, next, K, 1, r);                                                           \
            break;                                                                                           \
        case 2:                                                                                              \
            tile(y, ldy, x, ld, w, next, K, 2, r);                                                           \
            break;                                                                                           \
        case 8:                                                                                              \
            tile(y, ldy, x, ld, w, next, K, 8, r);                                                           \
            break;                                                                                           \
        case 9:                                                                                              \
            tile(y, ldy, x, ld, w, next, K, 9, r);                                                           \
            break;                                                                                           \
        case 10:                                                                                             \
            tile(y, ldy, x, ld, w, next, K, 10, r);                                                          \
            break;                                                                                           \
        case 11:                                                                                             \
            tile(y, ldy, x, ld, w, next, K, 11, r);                                                          \
            break;                                                                                           \
        case 12:                                                                                             \
            tile(y, ldy, x, ld, w, next, K, 12, r);                                                          \
            break;                                                                                           \
        case 13:                                                                                             \
            tile(y, ldy, x, ld, w, next, K, 13, r);                                                          \
            break;                                                                                           \
        case 14:                                                                                             \
            tile(y, ldy, x, ld, w, next, K, 14, r);                                                          \
            break;                                                                                           \
        default:                                                                                             \
            abort();                                                                                         \
        }                                                                                                    \
    }
TILES(tile_plain, false, false, MR)
TILES(tile_fetch, true, false, MR)
TILES(tile_next, true, true, MR)
TILES(tile_fold, true, true, 6)
TILES(tile_fold_all, true, true, 0)
typedef void tile_fn(float *, size_t, const float *, size_t, const float *, const float *, size_t, size_t);

struct shape {
    size_t M, N, K;
    const float *x, *w;
    float *y;
};

// 1. One row at a time, by the compiler.
static void by_compiler(const struct shape *s) {
    for (size_t p = 0; p < s->N / NR; p++)
        for (size_t m = 0; m < s->M; m++) {
            float sum[NR] = {0};
            const float *w = s->w + p * NR * s->K, *x = s->x + m * s->K;
            for (size_t k = 0; k < s->K; k++)
                for (size_t j = 0; j < NR; j++)
                    sum[j] = __builtin_fmaf(x[k], w[k * NR + j], sum[j]);
            memcpy(s->y + m * s->N + p * NR, sum, sizeof sum);
        }
}

// Panels outside, tiles inside. `even`: 128 rows are ten tiles of 13 or 12, else nine of 14 and one of 2.
INLINE void panels(const struct shape *s, tile_fn *fn, bool even) {
    size_t most = 250000 / s->K < MR ? MR : 250000 / s->K, blocks = (s->M + most - 1) / most, row = 0;
    for (size_t b = 0; b < blocks; b++) {
        size_t rows = (s->M - row) / (blocks - b), tiles = (rows + MR - 1) / MR;
        for (size_t p = 0; p < s->N / NR; p++) {
            const float *w = s->w + p * NR * s->K;
            for (size_t i = 0, m = row; i < tiles; i++) {
                size_t left = row + rows - m, n = even ? left / (tiles - i) : left < MR ? left : MR;
                const float *next = w + NR * s->K + (i < 4 ? i : 0) * s->K * 8;
                fn(s->y + m * s->N + p * NR, s->N, s->x + m * s->K, s->K, w, next, s->K, n);
                m += n;
            }
        }
        row += rows;
    }
}

static void registers(const struct shape *s) {
    panels(s, tile_plain, false);
} // 2. 28 sums in registers
static void even_tiles(const struct shape *s) {
    panels(s, tile_plain, true);
} // 3. no small tail
static void fetched(const struct shape *s) {
    panels(s, tile_fetch, true);
} // 4. W into L1
static void next_panel(const struct shape *s) {
    panels(s, tile_next, true);
} // 5. next panel into L2
static void folded(const struct shape *s) {
    panels(s, tile_fold, true);
} // 6. fewer instructions
static void folded_all(const struct shape *s) {
    panels(s, tile_fold_all, true);
} // 7. too many loads

// 8. Tiles outside, panels inside, x copied to rows of a fixed stride: the copy costs more than it saves.
static void copied(const struct shape *s) {
    static _Alignas(64) float x[MR * (DEEP + 16)];
    size_t tiles = (s->M + MR - 1) / MR;
    for (size_t i = 0, m = 0; i < tiles; i++) {
        size_t n = (s->M - m) / (tiles - i);
        for (size_t j = 0; j < n; j++)
            memcpy(x + j * (DEEP + 16), s->x + (m + j) * s->K, s->K * sizeof *x);
        for (size_t p = 0; p < s->N / NR; p++) {
            const float *w = s->w + p * NR * s->K;
            tile_fold(s->y + m * s->N + p * NR, s->N, x, DEEP + 16, w, w + NR * s->K, s->K, n);
        }
        m += n;
    }
}

static const struct {
    const char *name;
    void (*fn)(const struct shape *);
} rungs[] = {
    {"1 one row, by the compiler", by_compiler},
    {"2 14 x 32 sums in registers", registers},
    {"3 even tiles", even_tiles},
    {"4 W fetched into L1", fetched},
    {"5 next panel fetched into L2", next_panel},
    {"6 some broadcasts folded", folded},
    {"7 all broadcasts folded", folded_all},
    {"8 x copied, panels inside", copied},
};
enum { RUNGS = sizeof rungs / sizeof *rungs };

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Multiply-adds x 2 a second, in registers.
static double peak(void) {
    enum { CHAINS = 24, STEPS = 10000 };
    static float sink = 1;
    __m512 s[CHAINS], half = _mm512_set1_ps(0.5F);
#pragma GCC unroll 24
    for (int j = 0; j < CHAINS; j++)
        s[j] = _mm512_set1_ps(sink + (float)j);
    double start = cpu_seconds();
    for (int i = 0; i < STEPS; i++) {
#pragma GCC unroll 24
        for (int j = 0; j < CHAINS; j++)
            s[j] = _mm512_fmadd_ps(s[j], half, half);
    }
    double seconds = cpu_seconds() - start;
    for (int j = 0; j < CHAINS; j++)
        sink += _mm512_cvtss_f32(s[j]);
    return 32.0 * CHAINS * STEPS / seconds;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    struct shape s = {
        strtoull(argv[1], 0, 10), strtoull(argv[2], 0, 10) / NR * NR, strtoull(argv[3], 0, 10), 0, 0, 0};
    if (s.M == 0 || s.N == 0 || s.K == 0 || s.K > DEEP) return 2;
    size_t big = (size_t)1 << 21, w_bytes = (s.N * s.K * 4 + 2 * big) / big * big;
    float *w = aligned_alloc(big, w_bytes), *x = aligned_alloc(64, (s.M * s.K + 16) / 16 * 64);
    float *y = aligned_alloc(64, (s.M * s.N + 16) / 16 * 64), *want = malloc(s.M * s.N * 4);
    madvise(w, w_bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < s.N * s.K; i++)
        w[i] = (float)(i * 7 % 31) * 0.01F;
    for (size_t i = 0; i < s.M * s.K; i++)
        x[i] = (float)(i * 5 % 29) * 0.1F - 1;
    s.w = w, s.x = x, s.y = y;
    static double ratio[RUNGS][ROUNDS], rate[RUNGS][ROUNDS];
    double flops = 2.0 * (double)s.M * (double)s.N * (double)s.K;
    for (int i = 0; i < ROUNDS; i++)
        for (int r = 0; r < RUNGS; r++) {
            double before = peak(), start = cpu_seconds();
            rungs[r].fn(&s);
            rate[r][i] = flops / (cpu_seconds() - start);
            ratio[r][i] = rate[r][i] / (0.5 * (before + peak()));
            if (r == 1) memcpy(want, y, s.M * s.N * 4);
            if (r > 1 && memcmp(want, y, s.M * s.N * 4) != 0) return 1;
        }
    for (int r = 0; r < RUNGS; r++) {
        qsort(ratio[r], ROUNDS, sizeof(double), compare);
        qsort(rate[r], ROUNDS, sizeof(double), compare);
        printf("%-30s %6.1f GFLOP/s  %.3f of the peak\n", rungs[r].name, rate[r][ROUNDS / 2] * 1e-9,
               ratio[r][ROUNDS / 2]);
    }
    return 0;
}
