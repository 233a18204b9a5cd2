// train: what training and evaluation compute besides the model.
#ifndef SABOK_TRAIN_H
#define SABOK_TRAIN_H

#include "file/file.h"

// ---- sum.c
typedef double sum_term(const void *ctx, size_t i);
// Of terms [begin, begin + n), in the order in which numpy adds a row, so that a metric agrees to the last bit.
double sum_pairwise(sum_term *term, const void *ctx, size_t begin, size_t n);

#endif
