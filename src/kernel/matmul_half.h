// The loops around the kernels of f32 by weights of 16 bits. A few tiles of rows widen W as they read it. Many
// tiles share a panel that has been widened once, a part of K at a time; their sums wait in memory between
// the parts, which keeps the order of additions.
//
//   for each unit
//     for each block of rows
//       for each panel
//         for each part of K                   (its W, widened: half the L2 cache at most)
//           for each tile of at most mr rows
#ifndef SABOK_MATMUL_HALF_H
#define SABOK_MATMUL_HALF_H

#include "kernel/matmul_low.h"

enum {
    HALF_DEPTH = 512, // most of K in a part
    HALF_ROWS = 224,  // most rows of a block
    HALF_TILES = 4    // least that share a widened panel: widening costs as much as three tiles lose
};

// One call of a microkernel: sums [rows, nr] += x [rows, depth] w [depth, nr].
struct half_tile {
    const float *x;    // row stride ldx
    const char *w;     // groups lie w_ld bytes apart
    const float *wide; // the same widened, [depth][nr], or NULL
    float *sums;       // 64-byte aligned
    size_t ldx, w_ld, depth;
    bool fresh; // sums start at zero
};

struct half_shape {
    size_t mr, nr;
    size_t x_bytes; // of x in a block of rows
    void (*tile)(const struct half_tile *t, size_t rows);
    // out [pairs of k][2][nr] from the groups at w.
    void (*widen)(float *out, const char *w, size_t w_ld, size_t pairs);
    void (*finish)(const struct matmul_args *a, size_t m, size_t rows, size_t panel, const void *sums);
};

struct half_scratch {
    _Alignas(64) float sums[HALF_ROWS * 32];
    _Alignas(64) float wide[HALF_DEPTH * 32];
};

LOW_INLINE void half_panel(const struct matmul_args *a, const struct half_shape *s, size_t row, size_t rows,
                           size_t panel, struct half_scratch *scratch) {
    const size_t tiles = (rows + s->mr - 1) / s->mr, w_ld = low_steps(MATMUL_LOW_BF16, a->K) * LOW_LINE;
    const char *w = (const char *)a->w + panel * (s->nr / MATMUL_LOW_GROUP) * w_ld;
    const bool wide = tiles >= HALF_TILES;
    const size_t parts = wide ? size_max((a->K + HALF_DEPTH - 1) / HALF_DEPTH, 1) : 1;
    const size_t most = round_up((a->K + parts - 1) / parts, 2); // of a part: even, so at most HALF_DEPTH
    for (size_t part = 0, k = 0; part < parts; part++) {
        struct half_tile t = {.ldx = a->ldx, .w = w + k / 2 * LOW_LINE, .w_ld = w_ld, .fresh = part == 0};
        t.depth = parts > 1 ? size_min(most, a->K - k) : a->K;
        if (wide) {
            s->widen(scratch->wide, t.w, w_ld, (t.depth + 1) / 2);
            t.wide = scratch->wide;
        }
        for (size_t i = 0; i < tiles; i++) {
            const size_t first = rows * i / tiles, last = rows * (i + 1) / tiles;
            t.x = (const float *)a->x + (row + first) * a->ldx + k;
            t.sums = scratch->sums + first * s->nr;
            s->tile(&t, last - first);
        }
        k += t.depth;
    }
    s->finish(a, row, rows, panel, scratch->sums);
}

LOW_INLINE void half_loop(const struct matmul_args *a, size_t begin, size_t end, const struct half_shape *s,
                          struct half_scratch *scratch) {
    const size_t R = (a->M + a->unit_rows - 1) / a->unit_rows, panels = (a->N + s->nr - 1) / s->nr;
    size_t most = size_max(s->x_bytes / size_max(a->K * sizeof(float), 1), s->mr);
    most = size_min(most, HALF_ROWS);
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit % R * a->unit_rows, rows = size_min(a->unit_rows, a->M - row);
        const size_t first = unit / R * a->unit_panels, last = size_min(first + a->unit_panels, panels);
        for (size_t blocks = (rows + most - 1) / most; blocks > 0; blocks--) {
            const size_t count = rows / blocks;
            for (size_t p = first; p < last; p++)
                half_panel(a, s, row, count, p, scratch);
            row += count;
            rows -= count;
        }
    }
}

#endif
