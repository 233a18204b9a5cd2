// What the low precision matmul kernels share: where packed values lie, and the loops around a microkernel.
//
//   for each unit
//     for each block of rows                 (its x: half of the L2 cache)
//       for each panel                       (its W: the other half)
//         for each tile of at most mr rows   (its sums: registers, over all of K)
#ifndef SABOK_MATMUL_LOW_H
#define SABOK_MATMUL_LOW_H

#include "kernel/kernel.h"

#define LOW_INLINE static inline __attribute__((always_inline))

enum { LOW_STEP = 4, LOW_LINE = 64 }; // bytes of a step in a row of x; in a group of W

static inline size_t low_steps(enum matmul_low low, size_t K) {
    size_t size = low == MATMUL_LOW_I8 ? 1 : 2;
    return matmul_low_depth(low, K) * size / LOW_STEP;
}

static inline const struct quantize_tail *low_tail(const struct matmul_args *a, size_t m) {
    const char *row = (const char *)a->x + m * a->ldx;
    return (const struct quantize_tail *)(const void *)(row + matmul_low_depth(MATMUL_LOW_I8, a->K));
}

// One call of a microkernel: sums [rows, columns] = x [rows, steps] w [groups, steps].
struct low_tile {
    const char *x;    // row stride ldx bytes
    const char *w;    // groups lie steps * LOW_LINE apart
    const char *next; // the panel after w, or w: to be prefetched, by each tile from its share
    void *sums;       // 64-byte aligned, 4 bytes each
    size_t ldx, steps;
    size_t index; // of the tile in its panel
};

// The block table of an instruction set.
struct low_shape {
    size_t mr, nr;
    size_t x_size;  // bytes of an element of x
    size_t x_bytes; // of x in a block of rows
    enum matmul_low low;
    void (*tile)(const struct low_tile *t, size_t rows);
    // y = act(...) + residual for rows m .. m + rows and the panel's columns.
    void (*finish)(const struct matmul_args *a, size_t m, size_t rows, size_t panel, const void *sums);
};

// Rows row .. row + rows of one panel, in even tiles.
LOW_INLINE void low_panel(const struct matmul_args *a, const struct low_shape *s, size_t row, size_t rows,
                          size_t panel, bool last, void *sums) {
    size_t tiles = (rows + s->mr - 1) / s->mr, end = row + rows, steps = low_steps(s->low, a->K);
    size_t bytes = s->nr / MATMUL_LOW_GROUP * steps * LOW_LINE;
    struct low_tile t = {.w = (const char *)a->w + panel * bytes, .sums = sums, .steps = steps};
    t.ldx = a->ldx * s->x_size;
    t.next = last ? t.w : t.w + bytes;
    for (; t.index < tiles; t.index++) {
        size_t count = (end - row) / (tiles - t.index);
        t.x = (const char *)a->x + row * t.ldx;
        s->tile(&t, count);
        s->finish(a, row, count, panel, sums);
        row += count;
    }
}

LOW_INLINE void low_loop(const struct matmul_args *a, size_t begin, size_t end, const struct low_shape *s) {
    _Alignas(64) float sums[16 * 32];
    ASSERT(s->mr * s->nr <= COUNT(sums));
    size_t R = (a->M + a->unit_rows - 1) / a->unit_rows, panels = (a->N + s->nr - 1) / s->nr;
    size_t most = size_max(s->x_bytes / size_max(a->K * s->x_size, 1), s->mr);
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit % R * a->unit_rows, rows = size_min(a->unit_rows, a->M - row);
        size_t first = unit / R * a->unit_panels, last = size_min(first + a->unit_panels, panels);
        for (size_t blocks = (rows + most - 1) / most; blocks > 0; blocks--) {
            size_t count = rows / blocks;
            // The last rows of a panel group are followed by the next group, in this unit's successor.
            size_t ahead = row + count == a->M ? panels : last;
            for (size_t p = first; p < last; p++)
                low_panel(a, s, row, count, p, p + 1 == ahead, sums);
            row += count;
            rows -= count;
        }
    }
}

#endif
