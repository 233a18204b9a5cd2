// The loops around a matmul microkernel, shared by the instruction sets.
//
//   for each unit
//     for each block of rows                 (its x: half of the L2 cache)
//       for each panel                       (its W: the other half)
//         for each tile of at most mr rows   (its sums: registers, over all of K)
//
// K is never cut: a panel that outgrows L1 comes from L2 fast enough, and sums that rest nowhere cost
// nothing. x is read where it lies, for a copy costs more than the lines it saves.
#ifndef SABOK_MATMUL_LOOP_H
#define SABOK_MATMUL_LOOP_H

#include "kernel/kernel.h"

#define MATMUL_INLINE static inline __attribute__((always_inline))

// One call of a microkernel: sums [rows, nr] = x [rows, K] w [K, nr].
struct matmul_tile {
    const float *x; // row stride ldx
    const float *w;
    const float *next; // the panel after w, or w: to be prefetched, by each tile from its share
    float *sums;       // 64-byte aligned
    size_t ldx, K;
    size_t index; // of the tile in its panel
};

// The block table of an instruction set.
struct matmul_shape {
    size_t mr, nr;
    size_t mr_aliased; // rows of a tile where those of x share one set of L1
    size_t x_floats;   // of x in a block of rows
    void (*tile)(const struct matmul_tile *t, size_t rows);
    // y = act(sums + bias) + residual for rows m .. m + rows and the panel's columns.
    void (*finish)(const struct matmul_args *a, size_t m, size_t rows, size_t panel, const float *sums);
};

// Rows that lie a multiple of 4 KiB apart share one set of L1. A third more of them than it has ways is still
// read at full speed, since L2 makes up for it; with 14 rows on 8 ways a third of the speed was lost.
MATMUL_INLINE size_t tile_rows(const struct matmul_args *a, const struct matmul_shape *s) {
    enum { WAY = 4096 };
    size_t ways = cpu_cache_bytes(1) / WAY;
    bool aliased = a->ldx * sizeof(float) % WAY == 0 && 3 * s->mr > 4 * ways;
    return aliased ? s->mr_aliased : s->mr;
}

// Rows row .. row + rows of one panel. Tiles are even: 128 rows are ten tiles of 13 or 12, not nine of 14 and
// one of 2.
MATMUL_INLINE void matmul_panel(const struct matmul_args *a, const struct matmul_shape *s, size_t row,
                                size_t rows, size_t panel, bool last, float *sums) {
    size_t mr = tile_rows(a, s), tiles = (rows + mr - 1) / mr, end = row + rows;
    struct matmul_tile t = {
        .w = (const float *)a->w + panel * s->nr * a->K, .sums = sums, .ldx = a->ldx, .K = a->K};
    t.next = last ? t.w : t.w + s->nr * a->K;
    for (; t.index < tiles; t.index++) {
        size_t count = (end - row) / (tiles - t.index);
        t.x = (const float *)a->x + row * a->ldx;
        s->tile(&t, count);
        s->finish(a, row, count, panel, sums);
        row += count;
    }
}

MATMUL_INLINE void matmul_loop(const struct matmul_args *a, size_t begin, size_t end,
                               const struct matmul_shape *s) {
    _Alignas(64) float sums[16 * 32];
    ASSERT(s->mr * s->nr <= COUNT(sums));
    size_t R = (a->M + a->unit_rows - 1) / a->unit_rows, panels = (a->N + s->nr - 1) / s->nr;
    size_t most = size_max(s->x_floats / size_max(a->K, 1), s->mr);
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit % R * a->unit_rows, rows = size_min(a->unit_rows, a->M - row);
        size_t first = unit / R * a->unit_panels, last = size_min(first + a->unit_panels, panels);
        for (size_t blocks = (rows + most - 1) / most; blocks > 0; blocks--) {
            size_t count = rows / blocks;
            // The last rows of a panel group are followed by the next group, in this unit's successor.
            size_t ahead = row + count == a->M ? panels : last;
            for (size_t p = first; p < last; p++)
                matmul_panel(a, s, row, count, p, p + 1 == ahead, sums);
            row += count;
            rows -= count;
        }
    }
}

#endif
