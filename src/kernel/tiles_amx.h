// The tile registers of AMX. A matmul holds four tiles of sums, two of x and two of W:
//   tmm0 tmm1     rows  0 .. 15 x columns 0 .. 15, 16 .. 31       tmm4  x, rows  0 .. 15
//   tmm2 tmm3     rows 16 .. 31                                   tmm5  x, rows 16 .. 31
//                                                                 tmm6 tmm7  W, columns 0 .. 15, 16 .. 31
// In assembly, because gcc 12's intrinsics leave out what they read: a configuration counts for 8 bytes, a
// tile load for no memory at all, so that stores before them are lost.
#ifndef SABOK_TILES_AMX_H
#define SABOK_TILES_AMX_H

#include <stddef.h>
#include <stdint.h>

#define TILE_INLINE static inline __attribute__((always_inline))

enum { TILE_ROWS = 16, TILE_LINE = 64, TILE_BYTES = TILE_ROWS * TILE_LINE };

struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

// Tiles for `rows` rows of x, 1 .. 32. Zeroes all tiles.
TILE_INLINE void tiles_open(size_t rows) {
    const size_t high = rows > TILE_ROWS ? rows - TILE_ROWS : 0, low = rows - high;
    struct tile_config c = {.palette = 1};
    const size_t of[8] = {low, low, high, high, low, high, TILE_ROWS, TILE_ROWS};
    for (size_t i = 0; i < 8; i++) {
        c.rows[i] = (uint8_t)of[i];
        c.row_bytes[i] = of[i] ? TILE_LINE : 0;
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(c));
}

// Leaves the tiles as a process that never had any, which makes task switches cheap again.
TILE_INLINE void tiles_close(void) {
    __asm__ volatile("tilerelease");
}

TILE_INLINE void tiles_load_x0(const char *p, size_t ld) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm4" : : "r"(p), "r"(ld) : "memory");
}
TILE_INLINE void tiles_load_x1(const char *p, size_t ld) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm5" : : "r"(p), "r"(ld) : "memory");
}
TILE_INLINE void tiles_load_w0(const char *p) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm6" : : "r"(p), "r"((size_t)TILE_LINE) : "memory");
}
TILE_INLINE void tiles_load_w1(const char *p) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm7" : : "r"(p), "r"((size_t)TILE_LINE) : "memory");
}

TILE_INLINE void tiles_zero_low(void) {
    __asm__ volatile("tilezero %tmm0\n\ttilezero %tmm1");
}
TILE_INLINE void tiles_zero_high(void) {
    __asm__ volatile("tilezero %tmm2\n\ttilezero %tmm3");
}

// Sums: rows of 32, ld bytes apart.
TILE_INLINE void tiles_load_low(const char *p, size_t ld) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm0\n\ttileloadd 64(%0,%1,1), %%tmm1"
                     :
                     : "r"(p), "r"(ld)
                     : "memory");
}
TILE_INLINE void tiles_load_high(const char *p, size_t ld) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm2\n\ttileloadd 64(%0,%1,1), %%tmm3"
                     :
                     : "r"(p), "r"(ld)
                     : "memory");
}
TILE_INLINE void tiles_store_low(char *p, size_t ld) {
    __asm__ volatile("tilestored %%tmm0, (%0,%1,1)\n\ttilestored %%tmm1, 64(%0,%1,1)"
                     :
                     : "r"(p), "r"(ld)
                     : "memory");
}
TILE_INLINE void tiles_store_high(char *p, size_t ld) {
    __asm__ volatile("tilestored %%tmm2, (%0,%1,1)\n\ttilestored %%tmm3, 64(%0,%1,1)"
                     :
                     : "r"(p), "r"(ld)
                     : "memory");
}

// Sums of signed x by unsigned W, bytes.
TILE_INLINE void tiles_i8_low(void) {
    __asm__ volatile("tdpbsud %tmm6, %tmm4, %tmm0\n\ttdpbsud %tmm7, %tmm4, %tmm1");
}
TILE_INLINE void tiles_i8_high(void) {
    __asm__ volatile("tdpbsud %tmm6, %tmm5, %tmm2\n\ttdpbsud %tmm7, %tmm5, %tmm3");
}
TILE_INLINE void tiles_bf16_low(void) {
    __asm__ volatile("tdpbf16ps %tmm6, %tmm4, %tmm0\n\ttdpbf16ps %tmm7, %tmm4, %tmm1");
}
TILE_INLINE void tiles_bf16_high(void) {
    __asm__ volatile("tdpbf16ps %tmm6, %tmm5, %tmm2\n\ttdpbf16ps %tmm7, %tmm5, %tmm3");
}

#endif
