// Packing of W [N, K] into groups of 16 columns: rows of W become words of 4 bytes, and those are transposed,
// 4 x 4 at a time, over blocks that stay in L1.
#include "kernel/matmul_low.h"
#include "kernel/quantize_step.h"

#include "core/core.h"

#include <string.h>

enum { SIDE = 4, BLOCK = 64 /* steps */, GROUP = MATMUL_LOW_GROUP, VALUES = BLOCK * 4 };
typedef uint32_t word4 __attribute__((vector_size(16)));

// words[column][step]
struct block {
    _Alignas(64) uint32_t words[GROUP][BLOCK];
};

// group[step][column] = words[column][step]
static void transpose(uint32_t *group, const struct block *b, size_t steps) {
    for (size_t step = 0; step < steps; step += SIDE)
        for (size_t column = 0; column < GROUP; column += SIDE) {
            word4 r0, r1, r2, r3;
            memcpy(&r0, &b->words[column][step], sizeof r0);
            memcpy(&r1, &b->words[column + 1][step], sizeof r1);
            memcpy(&r2, &b->words[column + 2][step], sizeof r2);
            memcpy(&r3, &b->words[column + 3][step], sizeof r3);
            word4 a = __builtin_shufflevector(r0, r1, 0, 4, 1, 5),
                  c = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
            word4 d = __builtin_shufflevector(r0, r1, 2, 6, 3, 7),
                  e = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
            word4 out[SIDE] = {
                __builtin_shufflevector(a, c, 0, 1, 4, 5), __builtin_shufflevector(a, c, 2, 3, 6, 7),
                __builtin_shufflevector(d, e, 0, 1, 4, 5), __builtin_shufflevector(d, e, 2, 3, 6, 7)};
            for (size_t i = 0; i < SIDE; i++)
                memcpy(group + (step + i) * GROUP + column, &out[i], sizeof out[i]);
        }
}

// Lines of pairs become lines of 16 values of even k, then 16 of odd k.
static void split(uint32_t *group, size_t steps) {
    for (size_t step = 0; step < steps; step++) {
        uint16_t line[2][GROUP];
        for (size_t j = 0; j < GROUP; j++) {
            line[0][j] = (uint16_t)group[step * GROUP + j];
            line[1][j] = (uint16_t)(group[step * GROUP + j] >> 16);
        }
        memcpy(group + step * GROUP, line, sizeof line);
    }
}

// 1.5 * 2^23: adding it rounds to an integer in the low bits.
static const float round_bits = 0x1.8p23F;

static void narrow_i8(uint8_t *out, const float *in, size_t n, float inverse) {
    for (size_t i = 0; i < n; i++) {
        float t = in[i] * inverse + round_bits;
        uint32_t bits;
        memcpy(&bits, &t, sizeof bits);
        out[i] = (uint8_t)(bits + 128);
    }
}

static void narrow_16(uint16_t *out, const float *in, size_t n, enum matmul_low low) {
    if (low == MATMUL_LOW_BF16)
        for (size_t i = 0; i < n; i++)
            out[i] = f32_to_bf16(in[i]);
    else
        for (size_t i = 0; i < n; i++)
            out[i] = f32_to_f16(in[i]);
}

// n <= VALUES values at `in`, any alignment, then zeros up to `depth`, as the words of one column.
static void narrow(uint32_t *words, const char *in, size_t n, size_t depth, enum matmul_low low,
                   float inverse) {
    float x[VALUES];
    if (inverse == 0) n = 0;
    if (n > 0) memcpy(x, in, n * sizeof *x); // an empty W may be NULL
    memset(x + n, 0, (depth - n) * sizeof *x);
    if (low == MATMUL_LOW_I8)
        narrow_i8((uint8_t *)words, x, depth, inverse);
    else
        narrow_16((uint16_t *)words, x, depth, low);
}

static uint32_t row_largest(const char *row, size_t K) {
    uint32_t largest = 0;
    for (size_t k = 0; k < K; k++) {
        uint32_t bits;
        memcpy(&bits, row + k * sizeof(float), sizeof bits);
        bits &= 0x7fffffff;
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

// One group, whose columns are the `columns` rows at w.
static void pack_group(enum matmul_low low, uint32_t *group, float *scale, const char *w, size_t columns,
                       size_t K) {
    size_t steps = low_steps(low, K), size = low == MATMUL_LOW_I8 ? 1 : 2, values = LOW_STEP / size;
    float inverse[GROUP] = {0};
    for (size_t j = 0; j < columns; j++) {
        inverse[j] = 1;
        if (low != MATMUL_LOW_I8) continue;
        struct quantize_step step = quantize_step_of(row_largest(w + j * K * sizeof(float), K), 0);
        scale[j] = step.scale;
        inverse[j] = step.inverse;
    }
    struct block b;
    for (size_t step = 0; step < steps; step += BLOCK) {
        size_t count = size_min(BLOCK, steps - step), k = step * values;
        for (size_t j = 0; j < GROUP; j++)
            narrow(b.words[j], j < columns ? w + (j * K + k) * sizeof(float) : NULL,
                   size_min(K - size_min(k, K), count * values), count * values, low, inverse[j]);
        transpose(group + step * GROUP, &b, count);
        if (low == MATMUL_LOW_F16) split(group + step * GROUP, count);
    }
}

void matmul_pack_low(enum matmul_low low, void *packed, float *scale, const float *w, size_t N, size_t K,
                     size_t begin, size_t end) {
    const size_t words = low_steps(low, K) * GROUP, groups = MATMUL_LOW_COLUMNS / GROUP;
    for (size_t group = begin * groups; group < end * groups; group++) {
        size_t first = group * GROUP, columns = first < N ? size_min(GROUP, N - first) : 0;
        pack_group(low, (uint32_t *)packed + group * words, columns && scale ? scale + first : NULL,
                   (const char *)w + size_min(first, N) * K * sizeof(float), columns, K);
    }
}
