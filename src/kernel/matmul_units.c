// How a matmul is cut into units.
#include "kernel/kernel.h"

enum {
    UNITS_PER_THREAD = 4,  // so that a late thread costs a quarter of its share
    UNIT_WORK = 1000000,   // multiply-adds that are worth a unit: about 10 us
    UNIT_TILES = 12,       // most row tiles of a unit: its x stays in the L2 cache
    UNIT_PANELS_COPY = 16, // panels that share one copy of x, about
};

// The time of a unit, in multiply-adds of one panel column: every tile of r rows costs max(r, 4), since fewer
// rows leave the units waiting for W; copying a row of x costs as much as 1/8 row of one panel; bringing a
// panel near costs 4 rows.
static double unit_cost(const struct kernel *k, size_t rows, size_t panels) {
    size_t tiles = (rows + k->mr - 1) / k->mr;
    size_t copies = (panels + UNIT_PANELS_COPY - 1) / UNIT_PANELS_COPY;
    double row_time = (double)size_max(rows, 4 * tiles);
    return (double)panels * (row_time + 4) + (double)(copies * rows) / 8;
}

static size_t ceil_div(size_t a, size_t b) {
    return (a + b - 1) / b;
}

void matmul_units_choose(struct matmul_args *a, const struct kernel *k, unsigned threads) {
    size_t tiles = size_max(ceil_div(a->M, k->mr), 1), panels = size_max(ceil_div(a->N, k->nr), 1);
    double work = (double)a->M * (double)a->N * (double)a->K / UNIT_WORK;
    size_t most = threads > 1 ? (size_t)threads * UNITS_PER_THREAD : 1;
    size_t wanted = work < (double)most ? size_max((size_t)work, 1) : most;

    size_t R = ceil_div(tiles, UNIT_TILES), R_last = size_min(tiles, size_max(R, wanted));
    double best = 0;
    for (; R <= R_last; R++) {
        size_t rows = size_max(ceil_div(a->M, R), 1);
        size_t G = size_min(ceil_div(wanted, R), panels);
        size_t G_last = wanted < threads ? G : size_min(G + threads - 1, panels);
        for (; G <= G_last; G++) {
            size_t group = ceil_div(panels, G);
            size_t units = ceil_div(size_max(a->M, 1), rows) * ceil_div(panels, group);
            double time = (double)ceil_div(units, threads) * unit_cost(k, rows, group);
            if (best > 0 && time >= best) continue;
            best = time;
            a->unit_rows = rows;
            a->unit_panels = group;
        }
    }
}
