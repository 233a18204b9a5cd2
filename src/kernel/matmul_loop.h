// The loops around a matmul microkernel, shared by the instruction sets.
//
//   for each unit, block of rows, and group of panels (W group: L2)
//     for each block of K
//       for each tile of at most mr rows
//         copy its x to a buffer (L1)
//         for each panel of the group
//           multiply (sums: registers)
//
// The copy gives x a row stride known to the compiler, so one pointer reaches all rows, and one that spreads
// them over the sets of the L1 cache whatever the stride of x. Between two blocks of K the sums of a tile
// rest in the scratch as the f32 values they are, so blocking changes no bit.
#ifndef SABOK_MATMUL_LOOP_H
#define SABOK_MATMUL_LOOP_H

#include "kernel/kernel.h"

#include <string.h>

#define MATMUL_INLINE static inline __attribute__((always_inline))

enum {
    MATMUL_K = 512,                // most of K in a block
    MATMUL_STRIDE = MATMUL_K + 16, // of the copy of x
    MATMUL_GROUP = 262144,         // floats of W in a group: 1 MiB
    MATMUL_SUMS = 32768,           // floats of sums at rest: 128 KiB
    MATMUL_ROWS = 84,              // rows in a block when sums rest
    MATMUL_MR = 14,                // largest mr
};

// One call of a microkernel: sums [rows, nr] (+)= x [rows, K] w [K, nr].
struct matmul_tile {
    const float *x; // row stride MATMUL_STRIDE
    const float *w;
    const float *ahead; // W that later calls read: to be prefetched, a share a call
    float *sums;        // 64-byte aligned
    size_t K;
    bool more; // start from sums, else from zero
};

struct matmul_shape {
    size_t mr, nr;
    void (*tile)(const struct matmul_tile *t, size_t rows);
    // y = act(sums + bias) + residual for rows m .. m + rows and the panel's columns.
    void (*finish)(const struct matmul_args *a, size_t m, size_t rows, size_t panel, const float *sums);
};

struct matmul_range {
    size_t row, rows, panel, panels;
};

struct matmul_block {
    size_t k, k_end;
    float *sums; // [tiles, panels, rows of the tile, nr]
    bool rest;   // sums of different panels lie apart
};

// All tiles of a range for one block of K. Rows are split evenly: 128 rows are ten tiles of 13 or 12, not
// nine of 14 and one of 2.
MATMUL_INLINE void matmul_block(const struct matmul_args *a, const struct matmul_shape *s,
                                const struct matmul_range *r, const struct matmul_block *b) {
    _Alignas(64) float x[MATMUL_MR * MATMUL_STRIDE];
    size_t tiles = (r->rows + s->mr - 1) / s->mr, K = b->k_end - b->k, row = 0;
    const float *w = (const float *)a->w + r->panel * s->nr * a->K + b->k * s->nr;
    // The same panels in the next block of K, or the next group.
    size_t ahead = b->k_end < a->K ? K * s->nr : r->panels * s->nr * a->K - b->k * s->nr;
    for (size_t i = 0; i < tiles; i++) {
        size_t rows = (r->rows - row) / (tiles - i);
        for (size_t j = 0; j < rows; j++)
            memcpy(x + j * MATMUL_STRIDE, a->x + (r->row + row + j) * a->ldx + b->k, K * sizeof *x);
        struct matmul_tile t = {.x = x, .w = w, .K = K, .more = b->k > 0};
        for (size_t p = 0; p < r->panels; p++) {
            t.w = w + p * s->nr * a->K;
            t.ahead = t.w + ahead + i * (K * s->nr / 4);
            t.sums = b->rest ? b->sums + (row * r->panels + p * rows) * s->nr : b->sums;
            s->tile(&t, rows);
            if (b->k_end == a->K) s->finish(a, r->row + row, rows, r->panel + p, t.sums);
        }
        row += rows;
    }
}

MATMUL_INLINE void matmul_range(const struct matmul_args *a, const struct matmul_shape *s,
                                const struct matmul_range *r) {
    _Alignas(64) float sums[MATMUL_SUMS];
    size_t blocks = size_max((a->K + MATMUL_K - 1) / MATMUL_K, 1), k = 0;
    for (size_t i = 0; i < blocks; i++) {
        struct matmul_block b = {k, k + (a->K - k) / (blocks - i), sums, blocks > 1};
        matmul_block(a, s, r, &b);
        k = b.k_end;
    }
}

MATMUL_INLINE void matmul_loop(const struct matmul_args *a, size_t begin, size_t end,
                               const struct matmul_shape *s) {
    size_t R = (a->M + a->unit_rows - 1) / a->unit_rows, panels = (a->N + s->nr - 1) / s->nr;
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit % R * a->unit_rows, rows = size_min(a->unit_rows, a->M - row);
        size_t panel = unit / R * a->unit_panels, panel_end = size_min(panel + a->unit_panels, panels);
        size_t blocks = a->K > MATMUL_K ? (rows + MATMUL_ROWS - 1) / MATMUL_ROWS : 1;
        for (size_t b = 0; b < blocks; b++) {
            size_t count = rows / (blocks - b);
            size_t group = MATMUL_GROUP / (size_min(a->K, MATMUL_K) + 1) / s->nr;
            if (a->K > MATMUL_K) group = size_min(group, MATMUL_SUMS / (count * s->nr));
            group = size_max(group, 1);
            size_t groups = (panel_end - panel + group - 1) / group;
            for (size_t g = 0, p = panel; g < groups; g++) {
                struct matmul_range r = {row, count, p, (panel_end - p) / (groups - g)};
                matmul_range(a, s, &r);
                p += r.panels;
            }
            row += count;
            rows -= count;
        }
    }
}

#endif
