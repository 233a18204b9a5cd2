// Philox 4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#include "base/base.h"

#include <math.h>

#define PHILOX_ROUNDS 10

void rng_philox(uint64_t seed, uint64_t stream, uint64_t counter, uint32_t out[4]) {
    uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), (uint32_t)stream,
                     (uint32_t)(stream >> 32)};
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53 * c[0], p1 = (uint64_t)0xCD9E8D57 * c[2];
        uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c[3] ^ k1,
                            (uint32_t)p0};
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        k0 += 0x9E3779B9; // the golden ratio and sqrt(3) - 1, as fractions of 2^32
        k1 += 0xBB67AE85;
    }
    for (int i = 0; i < 4; i++)
        out[i] = c[i];
}

float rng_uniform(uint64_t seed, uint64_t stream, uint64_t counter) {
    uint32_t r[4];
    rng_philox(seed, stream, counter, r);
    return (float)(r[0] >> 8) * 0x1p-24f;
}

float rng_normal(uint64_t seed, uint64_t stream, uint64_t counter) {
    uint32_t r[4];
    rng_philox(seed, stream, counter, r);
    // In double, so that the float result does not hang on the last bit of a mathematical library.
    double u = ((double)r[0] + 0.5) * 0x1p-32, v = (double)r[1] * 0x1p-32;
    return (float)(sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v));
}
