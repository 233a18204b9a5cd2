// Scores of classes: precision, recall, F1 and Matthews' correlation, as scikit-learn computes them.
#include "train/train.h"

#include <math.h>

enum score { PRECISION, RECALL, F1 };

// What averages add up: one score of classes [n].
struct scoring {
    const sabok_counts *classes;
    enum score score;
    double undefined;
};

static double score_one(const sabok_counts *c, enum score score, double undefined) {
    const double correct = (double)c->correct, found = (double)c->found, expected = (double)c->expected;
    const double above = score == F1 ? 2 * correct : correct;
    const double below = score == PRECISION ? found : score == RECALL ? expected : expected + found;
    return below == 0 ? undefined : above / below;
}

static double score_term(const void *ctx, size_t i) {
    const struct scoring *s = ctx;
    const double x = score_one(&s->classes[i], s->score, s->undefined);
    return isnan(x) ? 0 : x;
}

static double weighted_term(const void *ctx, size_t i) {
    const struct scoring *s = ctx;
    return score_term(ctx, i) * (double)s->classes[i].expected;
}

static double score_mean(const struct scoring *s, size_t n, bool weighted) {
    double weight = 0;
    size_t defined = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(score_one(&s->classes[i], s->score, s->undefined))) continue;
        defined++;
        weight += (double)s->classes[i].expected; // a sum of whole numbers has no order
    }
    if (defined == 0) return NAN;
    if (weighted && weight > 0) return sum_pairwise(weighted_term, s, 0, n) / weight;
    return sum_pairwise(score_term, s, 0, n) / (double)defined;
}

sabok_scores sabok_scores_average(const sabok_counts *classes, size_t n, sabok_average average,
                                  double undefined) {
    sabok_counts sum = {0};
    for (size_t i = 0; i < n; i++) {
        sum.correct += classes[i].correct;
        sum.found += classes[i].found;
        sum.expected += classes[i].expected;
    }
    const bool micro = average == SABOK_AVERAGE_MICRO && n > 0;
    double out[3];
    for (unsigned k = 0; k < 3; k++) {
        const struct scoring s = {micro ? &sum : classes, (enum score)k, undefined};
        out[k] = score_mean(&s, micro ? 1 : n, average == SABOK_AVERAGE_WEIGHTED);
    }
    return (sabok_scores){out[PRECISION], out[RECALL], out[F1]};
}

// (c s - sum t p) / sqrt((s^2 - sum p^2) (s^2 - sum t^2)): c examples of s are right, t of a class are expected, p found
double sabok_matthews(const sabok_counts *classes, size_t n) {
    double c = 0, s = 0, tp = 0, pp = 0, tt = 0;
    for (size_t i = 0; i < n; i++) {
        const double t = (double)classes[i].expected, p = (double)classes[i].found;
        c += (double)classes[i].correct;
        s += p;
        tp += t * p;
        pp += p * p;
        tt += t * t;
    }
    const double squares = (s * s - pp) * (s * s - tt);
    return squares == 0 ? 0 : (c * s - tp) / sqrt(squares);
}
