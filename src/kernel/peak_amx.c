// Tile products in registers: four tiles of sums, as a matmul has them.
#include "kernel/peak.h"
#include "kernel/tiles_amx.h"

double peak_i8_amx(size_t steps, float *sink) {
    (void)sink;
    tiles_open(2 * TILE_ROWS);
    for (size_t i = 0; i < steps; i++) {
        tiles_i8_low();
        tiles_i8_high();
    }
    tiles_close();
    return 2.0 * 4 * TILE_ROWS * TILE_BYTES * (double)steps;
}

double peak_bf16_amx(size_t steps, float *sink) {
    (void)sink;
    tiles_open(2 * TILE_ROWS);
    for (size_t i = 0; i < steps; i++) {
        tiles_bf16_low();
        tiles_bf16_high();
    }
    tiles_close();
    return 2.0 * 4 * TILE_ROWS * TILE_BYTES / 2 * (double)steps;
}
