// Two series compared: correlation, as scipy.stats.pearsonr and spearmanr compute it; squared error.
#include "train/train.h"

#include <math.h>

// Undefined for fewer than two pairs, for a NaN, and when one series does not vary.
static bool series_ok(const double *x, size_t n) {
    bool varies = false;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) return false;
        if (x[i] != x[0]) varies = true;
    }
    return varies;
}

// sum (x - mx)(y - my) / sqrt(sum (x - mx)^2 sum (y - my)^2), each sum in extended precision. Both series are
// divided by their largest distance from the mean, so that no square overflows or vanishes.
double sabok_pearson(const double *x, const double *y, size_t n) {
    if (n < 2 || !series_ok(x, n) || !series_ok(y, n)) return NAN;
    long double mx = 0, my = 0, scale_x = 0, scale_y = 0;
    for (size_t i = 0; i < n; i++) {
        mx += x[i];
        my += y[i];
    }
    mx /= (long double)n;
    my /= (long double)n;
    for (size_t i = 0; i < n; i++) {
        scale_x = fmaxl(scale_x, fabsl(x[i] - mx));
        scale_y = fmaxl(scale_y, fabsl(y[i] - my));
    }
    long double xy = 0, xx = 0, yy = 0;
    for (size_t i = 0; i < n; i++) {
        long double dx = (x[i] - mx) / scale_x, dy = (y[i] - my) / scale_y;
        xy += dx * dy;
        xx += dx * dx;
        yy += dy * dy;
    }
    long double r = xy / sqrtl(xx * yy);
    return r > 1 ? 1 : r < -1 ? -1 : (double)r;
}

static int compare_values(const void *ctx, uint32_t a, uint32_t b) {
    const double *x = ctx;
    return (x[a] > x[b]) - (x[a] < x[b]);
}

// Ranks from 1; equal values share the mean of theirs. Free with mem_free; NULL when out of memory.
static double *ranks_new(const double *x, size_t n) {
    uint32_t *order = order_new(n, compare_values, x);
    double *ranks = mem_array(n, sizeof *ranks);
    for (size_t begin = 0; order && ranks && begin < n;) {
        size_t end = begin + 1;
        while (end < n && x[order[end]] == x[order[begin]])
            end++;
        for (size_t i = begin; i < end; i++)
            ranks[order[i]] = (double)(begin + 1 + end) / 2;
        begin = end;
    }
    if (!order) {
        mem_free(ranks);
        ranks = NULL;
    }
    mem_free(order);
    return ranks;
}

double sabok_spearman(const double *x, const double *y, size_t n) {
    if (n < 2 || !series_ok(x, n) || !series_ok(y, n)) return NAN;
    double *a = ranks_new(x, n), *b = ranks_new(y, n);
    double r = a && b ? sabok_pearson(a, b, n) : NAN;
    mem_free(a);
    mem_free(b);
    return r;
}

struct pair_series {
    const double *x, *y;
};

static double squared_error(const void *ctx, size_t i) {
    const struct pair_series *s = ctx;
    const double d = s->x[i] - s->y[i];
    return d * d;
}

double sabok_mean_squared_error(const double *x, const double *y, size_t n) {
    const struct pair_series s = {x, y};
    return n ? sum_pairwise(squared_error, &s, 0, n) / (double)n : NAN;
}
