// Floats between guards, made-up values, and the comparison of bits, for the tests of kernels.
#ifndef SABOK_TEST_AREA_H
#define SABOK_TEST_AREA_H

#include "kernel/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AREA_GUARD = 32 };
static const uint32_t area_guard_bits = 0xa5a5a5a5;

struct area {
    uint32_t *block;
    float *first;
    size_t count;
};

static inline uint32_t area_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

// `offset` floats past 64-byte alignment; every float starts as the guard.
static inline struct area area_new(size_t count, size_t offset) {
    size_t floats = round_up(count + 2 * AREA_GUARD + offset, 16);
    struct area a = {.count = count, .block = aligned_alloc(64, floats * sizeof(float))};
    if (!a.block) abort();
    for (size_t i = 0; i < floats; i++)
        a.block[i] = area_guard_bits;
    a.first = (float *)a.block + AREA_GUARD + offset;
    return a;
}

static inline bool area_guarded(const struct area *a) {
    for (size_t i = 1; i <= AREA_GUARD; i++)
        if (area_bits(a->first[-(ptrdiff_t)i]) != area_guard_bits ||
            area_bits(a->first[a->count + i - 1]) != area_guard_bits)
            return false;
    return true;
}

enum values { VALUES_NORMAL, VALUES_SMALL, VALUES_SPECIAL, VALUES_COUNT };

static inline float value_at(unsigned values, uint64_t stream, size_t i) {
    static const float special[] = {INFINITY, -INFINITY, NAN, 1e38F, -1e38F, 1e-44F, -0.0F, 0};
    float u = rng_uniform(11, stream, i) * 2 - 1;
    if (values == VALUES_SMALL) return u * 1e-38F; // many are denormal
    if (values == VALUES_SPECIAL && rng_uniform(12, stream, i) < 0.02F)
        return special[(size_t)(rng_uniform(13, stream, i) * 8)];
    return u;
}

static inline struct area area_values(size_t count, size_t offset, unsigned values, uint64_t stream) {
    struct area a = area_new(count, offset);
    for (size_t i = 0; i < count; i++)
        a.first[i] = value_at(values, stream, i);
    return a;
}

// The same bits, or both NaN: of two NaNs an addition keeps one, and which is the compiler's choice.
static inline bool float_same(float a, float b) {
    return area_bits(a) == area_bits(b) || (isnan(a) && isnan(b));
}

#endif
