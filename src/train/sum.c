// sum: eight sums side by side up to 128 terms, halves above (numpy's pairwise_sum).
#include "train/train.h"

#define LANES 8
#define BLOCK 128

static double sum_block(sum_term *term, const void *ctx, size_t begin, size_t n) {
    double lane[LANES];
    size_t i = LANES;
    for (size_t k = 0; k < LANES; k++)
        lane[k] = term(ctx, begin + k);
    for (; i < n - n % LANES; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lane[k] += term(ctx, begin + i + k);
    double sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    for (; i < n; i++)
        sum += term(ctx, begin + i);
    return sum;
}

double sum_pairwise(sum_term *term, const void *ctx, size_t begin, size_t n) {
    if (n > BLOCK) {
        const size_t half = n / 2 - n / 2 % LANES;
        return sum_pairwise(term, ctx, begin, half) + sum_pairwise(term, ctx, begin + half, n - half);
    }
    if (n >= LANES) return sum_block(term, ctx, begin, n);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += term(ctx, begin + i);
    return sum;
}
