// The loops of the int8 kernels without a dot product instruction. Both operands are widened to 16 bits and
// multiplied by vpmaddwd, two products a lane, which cannot overflow. W is widened in registers: even and odd
// bytes of each step by a mask and a shift. x is widened into scratch, once for all panels of a unit:
//
//   for each unit
//     for each tile of at most mr rows       (its x, widened: L1)
//       for each panel                       (its W: L2)
//
// A row of scratch is [even] and [odd]: for each step the pair of bytes 0 and 2, and 1 and 3, as 16 bits. K
// past `depth` comes in parts, whose sums add up in the tile's sums.
#ifndef SABOK_MATMUL_WIDE_H
#define SABOK_MATMUL_WIDE_H

#include "kernel/matmul_low.h"

enum { WIDE_STEPS = 1024 }; // of a part of K

// One call of a microkernel.
struct wide_tile {
    const uint32_t *x; // [rows][2][WIDE_STEPS]
    const char *w;     // groups lie w_ld bytes apart
    int32_t *sums;     // [rows][nr], 64-byte aligned; added to unless `fresh`
    size_t steps, w_ld;
    bool fresh;
};

struct wide_shape {
    size_t mr, nr;
    size_t w_bytes;    // of W that a tile passes over before the next tile
    uint32_t *scratch; // [mr][2][WIDE_STEPS], 64-byte aligned
    void (*widen)(uint32_t *out, const int8_t *x, size_t steps);
    void (*tile)(const struct wide_tile *t, size_t rows);
    void (*finish)(const struct matmul_args *a, size_t m, size_t rows, size_t panel, const void *sums);
};

LOW_INLINE void wide_widen(const struct matmul_args *a, const struct wide_shape *s, size_t row, size_t rows,
                           size_t step, size_t steps) {
    for (size_t i = 0; i < rows; i++)
        s->widen(s->scratch + i * 2 * WIDE_STEPS, (const int8_t *)a->x + (row + i) * a->ldx + step * LOW_STEP,
                 steps);
}

// A tile of rows against panels [first, last).
LOW_INLINE void wide_rows(const struct matmul_args *a, const struct wide_shape *s, size_t row, size_t rows,
                          size_t first, size_t last) {
    _Alignas(64) int32_t sums[16 * 32];
    const size_t steps = low_steps(MATMUL_LOW_I8, a->K), w_ld = steps * LOW_LINE;
    const bool whole = steps <= WIDE_STEPS;
    if (whole) wide_widen(a, s, row, rows, 0, steps);
    for (size_t p = first; p < last; p++) {
        struct wide_tile t = {.x = s->scratch, .sums = sums, .w_ld = w_ld, .fresh = true};
        size_t step = 0;
        do {
            t.steps = size_min(WIDE_STEPS, steps - step);
            if (!whole) wide_widen(a, s, row, rows, step, t.steps);
            t.w = (const char *)a->w + p * (s->nr / MATMUL_LOW_GROUP) * w_ld + step * LOW_LINE;
            s->tile(&t, rows);
            t.fresh = false;
            step += t.steps;
        } while (step < steps);
        s->finish(a, row, rows, p, sums);
    }
}

LOW_INLINE void wide_loop(const struct matmul_args *a, size_t begin, size_t end, const struct wide_shape *s) {
    const size_t R = (a->M + a->unit_rows - 1) / a->unit_rows, panels = (a->N + s->nr - 1) / s->nr;
    const size_t panel_bytes = s->nr * matmul_low_depth(MATMUL_LOW_I8, a->K);
    const size_t most = size_max(s->w_bytes / size_max(panel_bytes, 1), 1);
    for (size_t unit = begin; unit < end; unit++) {
        const size_t top = unit % R * a->unit_rows, rows = size_min(a->unit_rows, a->M - top);
        const size_t tiles = (rows + s->mr - 1) / s->mr;
        size_t first = unit / R * a->unit_panels;
        const size_t last = size_min(first + a->unit_panels, panels);
        for (; first < last; first += most) {
            const size_t part = size_min(first + most, last);
            for (size_t i = 0; i < tiles; i++) {
                size_t row = top + rows * i / tiles, row_end = top + rows * (i + 1) / tiles;
                wide_rows(a, s, row, row_end - row, first, part);
            }
        }
    }
}

#endif
