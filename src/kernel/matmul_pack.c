// Packing of W [N, K] into panels [K, nr].
#include "kernel/kernel.h"

#include <string.h>

void matmul_pack(float *packed, const float *w, size_t N, size_t K, size_t nr, size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; panel++) {
        float *out = packed + panel * nr * K; // [K, nr]
        size_t first = panel * nr, columns = size_min(nr, N - first);
        for (size_t k = 0; k < K; k++) {
            for (size_t j = 0; j < columns; j++)
                memcpy(&out[k * nr + j], (const char *)w + ((first + j) * K + k) * sizeof *w, sizeof *w);
            for (size_t j = columns; j < nr; j++)
                out[k * nr + j] = 0;
        }
    }
}
