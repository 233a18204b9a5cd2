// The arithmetic of the bf16 dot product instructions: subnormal operands and results are zero.
#ifndef SABOK_FLUSH_C_H
#define SABOK_FLUSH_C_H

#include "kernel/vec_c.h"

static inline float flush_c(float x) {
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

// A bf16 operand.
static inline float flush_bf16_c(uint16_t x) {
    return flush_c(bits_float((uint32_t)x << 16));
}

static inline float flush_add_c(float a, float b) {
    return flush_c(a + b);
}

// x w + s for operands of bf16. A result is subnormal if it is so once rounded to 24 bits with no bound on the
// exponent: fmaf rounds to fewer, so it may show FLT_MIN for what is less. In double nothing near is rounded.
static inline float flush_fma_c(float x, float w, float s) {
    float r = fmaf(x, w, s);
    if (fabsf(r) == FLT_MIN && fabs((double)x * (double)w + (double)s) < 0x1.ffffffp-127)
        return copysignf(0, r);
    return flush_c(r);
}

#endif
