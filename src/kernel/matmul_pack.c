// Packing of W [N, K] into panels [K, nr]: a transposition, 4 x 4 at a time, over blocks whose target stays
// in L1.
#include "kernel/kernel.h"

#include <string.h>

enum { SIDE = 4, DEPTH = 64 };
typedef float float4 __attribute__((vector_size(16)));

// packed[k][0 .. 4) = w[0 .. 4)[k] for k < 4; rows of w lie `stride` bytes apart.
static inline void transpose(float *packed, size_t nr, const char *w, size_t stride) {
    float4 a, b, c, d;
    memcpy(&a, w, sizeof a);
    memcpy(&b, w + stride, sizeof b);
    memcpy(&c, w + 2 * stride, sizeof c);
    memcpy(&d, w + 3 * stride, sizeof d);
    float4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    float4 ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    float4 row0 = __builtin_shufflevector(ab, cd, 0, 1, 4, 5),
           row1 = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    float4 row2 = __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5);
    float4 row3 = __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7);
    memcpy(packed, &row0, sizeof row0);
    memcpy(packed + nr, &row1, sizeof row1);
    memcpy(packed + 2 * nr, &row2, sizeof row2);
    memcpy(packed + 3 * nr, &row3, sizeof row3);
}

static inline void copy_one(float *packed, const char *w) {
    memcpy(packed, w, sizeof *packed);
}

// Depth [k, k_end) of one panel whose columns are the `columns` rows at w.
static void pack_block(float *packed, const char *w, size_t columns, size_t K, size_t nr, size_t k,
                       size_t k_end) {
    size_t stride = K * sizeof(float), j = 0;
    for (; j + SIDE <= columns; j += SIDE) {
        size_t i = k;
        for (; i + SIDE <= k_end; i += SIDE)
            transpose(packed + i * nr + j, nr, w + j * stride + i * sizeof(float), stride);
        for (; i < k_end; i++)
            for (size_t c = j; c < j + SIDE; c++)
                copy_one(packed + i * nr + c, w + c * stride + i * sizeof(float));
    }
    for (; j < columns; j++)
        for (size_t i = k; i < k_end; i++)
            copy_one(packed + i * nr + j, w + j * stride + i * sizeof(float));
    for (size_t i = k; i < k_end && columns < nr; i++)
        memset(packed + i * nr + columns, 0, (nr - columns) * sizeof(float));
}

void matmul_pack(float *packed, const float *w, size_t N, size_t K, size_t nr, size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; panel++) {
        size_t first = panel * nr;
        const char *rows = (const char *)w + first * K * sizeof(float);
        for (size_t k = 0; k < K; k += DEPTH)
            pack_block(packed + first * K, rows, size_min(nr, N - first), K, nr, k, size_min(k + DEPTH, K));
    }
}
