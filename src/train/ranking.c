// Scores of a ranking of documents: discounted gain, as scikit-learn's ndcg_score has it, and reciprocal rank.
#include "train/train.h"

#include <math.h>

static int falling(const void *ctx, uint32_t a, uint32_t b) {
    const double *x = ctx;
    return (x[a] < x[b]) - (x[a] > x[b]);
}

// 1 / log2(rank + 2) of the first k ranks
static double discount(size_t rank, size_t k) {
    return rank < k ? 1 / (log((double)rank + 2) / log(2)) : 0;
}

// sum over groups of equal scores: mean relevance of the group x the discounts of its ranks
static double gain(const uint32_t *order, const double *relevance, const double *scores, size_t n, size_t k) {
    double sum = 0;
    for (size_t begin = 0, end; begin < n; begin = end) {
        double relevant = 0, discounts = 0;
        for (end = begin; end < n && scores[order[end]] == scores[order[begin]]; end++) {
            relevant += relevance[order[end]];
            discounts += discount(end, k);
        }
        sum += relevant / (double)(end - begin) * discounts;
    }
    return sum;
}

double sabok_ndcg(const double *relevance, const double *scores, size_t n, size_t k) {
    if (k == 0) k = n;
    for (size_t i = 0; i < n; i++)
        if (isnan(scores[i]) || !(relevance[i] >= 0)) return NAN;
    uint32_t *found = order_new(n, falling, scores), *best = order_new(n, falling, relevance);
    double out = NAN;
    if (found && best) {
        const double ideal = gain(best, relevance, relevance, n, k);
        out = ideal > 0 ? gain(found, relevance, scores, n, k) / ideal : 0;
    }
    mem_free(found);
    mem_free(best);
    return out;
}

double sabok_reciprocal_rank(const double *relevance, const double *scores, size_t n, size_t k) {
    size_t best = SIZE_MAX, rank = 1;
    for (size_t i = 0; i < n; i++)
        if (relevance[i] > 0 && (best == SIZE_MAX || scores[i] >= scores[best])) best = i;
    if (best == SIZE_MAX) return 0;
    for (size_t i = 0; i < n; i++)
        rank += scores[i] > scores[best] || (scores[i] == scores[best] && i > best);
    return k == 0 || rank <= k ? 1 / (double)rank : 0;
}
