// quantize, the definition.
#include "kernel/kernel_list.h"
#include "kernel/quantize_step.h"
#include "kernel/vec_c.h"

// The bits of |x| rise with |x|, infinity above every number and NaN above infinity.
static uint32_t row_largest(const float *x, size_t n) {
    uint32_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = float_bits(x[i]) & 0x7fffffff;
        if (bits > largest) largest = bits;
    }
    return largest;
}

static int8_t value(float x, float r) {
    float v = x * r;
    v = v < -127 ? -127 : v > 127 ? 127 : v;
    return (int8_t)(v + vec_round - vec_round);
}

// q of a row; the tail follows it.
static void row_quantize(int8_t *y, const float *x, size_t D, float scale, float r) {
    size_t depth = matmul_low_depth(MATMUL_LOW_I8, D);
    struct quantize_tail tail = {.scale = scale};
    for (size_t i = 0; i < depth; i++) {
        y[i] = i < D && r > 0 ? value(x[i], r) : 0;
        tail.sum += y[i];
    }
    memcpy(y + depth, &tail, sizeof tail);
}

void quantize_i8_c(const struct quantize_args *a, size_t begin, size_t end) {
    for (size_t row = begin; row < end; row++) {
        const float *x = a->x + row * a->ldx;
        struct quantize_step step = quantize_step_of(row_largest(x, a->D), a->scale);
        row_quantize(a->y + row * a->ldy, x, a->D, step.scale, step.inverse);
    }
}
