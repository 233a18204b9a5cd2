// The checks that the tests of the low precision matmuls share: every kernel of the given families against the
// plain C kernel of the same order, bit for bit.
#ifndef SABOK_TEST_LOW_CHECK_H
#define SABOK_TEST_LOW_CHECK_H

#include "kernel/area.h"
#include "kernel/kernel.h"
#include "core/core.h"

#include <setjmp.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// How a case is spelled on the command line; the fields of struct problem in order.
#define CASE_FORMAT "M%zu,N%zu,K%zu,x%zu,r%zu,y%zu,a%u,b%u,z%u,h%u,o%zu,v%u,u%zu,p%zu"
enum { RESIDUAL_NONE, RESIDUAL_APART, RESIDUAL_SAME, RESIDUAL_COUNT };
// TINY: products are subnormal. EXTREME: x and W at the ends of their range, in runs of one sign.
enum { VALUES_TINY = VALUES_COUNT, VALUES_EXTREME, VALUES_MORE };
struct problem {
    size_t M, N, K;
    size_t pad_x, pad_r, pad_y; // of the strides
    unsigned act, bias, residual;
    unsigned half; // y in bf16
    size_t offset; // floats past 64-byte alignment, of every pointer that may be so
    unsigned values;
    size_t unit_rows, unit_panels;
};

static inline float low_value_at(unsigned values, uint64_t stream, size_t i) {
    if (values == VALUES_TINY) return (rng_uniform(11, stream, i) * 2 - 1) * 2e-19F;
    if (values == VALUES_EXTREME) return rng_uniform(11, stream, i / 40) < 0.3F ? -1 : 1;
    return value_at(values, stream, i);
}

static inline struct area low_values(size_t count, size_t offset, unsigned values, uint64_t stream) {
    struct area a = area_new(count, offset);
    for (size_t i = 0; i < count; i++)
        a.first[i] = low_value_at(values, stream, i);
    return a;
}

struct operands {
    struct area source, x; // source f32 [M, K]; x as the family reads it
    struct area w, packed, scale, bias, residual;
    size_t ldx; // of x, in its elements
};

static inline bool takes_f32(enum family family) {
    return family == FAMILY_MATMUL_BF16W || family == FAMILY_MATMUL_F16W;
}

static inline enum matmul_low low_of(enum family family) {
    if (family == FAMILY_MATMUL_I8) return MATMUL_LOW_I8;
    return family == FAMILY_MATMUL_F16W ? MATMUL_LOW_F16 : MATMUL_LOW_BF16;
}

static inline void x_make(struct operands *o, const struct problem *p, enum family family) {
    if (takes_f32(family)) {
        o->ldx = p->K + p->pad_x;
        o->x = area_new(p->M * o->ldx, p->offset);
        for (size_t m = 0; m < p->M; m++)
            memcpy(o->x.first + m * o->ldx, o->source.first + m * p->K, p->K * sizeof(float));
    } else if (family == FAMILY_MATMUL_BF16) {
        // Two elements to a float of padding, so that rows stay 4-byte aligned.
        o->ldx = matmul_low_depth(MATMUL_LOW_BF16, p->K) + 2 * p->pad_x;
        o->x = area_new(p->M * o->ldx / 2, p->offset);
        struct cast_args a = {o->source.first, (uint16_t *)(void *)o->x.first, p->K, p->K, o->ldx};
        kernel_find("cast_bf16_c")->fn.cast(&a, 0, p->M);
    } else {
        o->ldx = quantize_row_bytes(p->K) + 64 * p->pad_x;
        o->x = area_new(p->M * o->ldx / 4, 0);
        struct quantize_args a = {o->source.first, (int8_t *)(void *)o->x.first, p->K, p->K, o->ldx, 0};
        kernel_find("quantize_i8_c")->fn.quantize(&a, 0, p->M);
    }
}

static inline struct operands operands_new(const struct problem *p, enum family family) {
    unsigned w_values = p->values == VALUES_SPECIAL ? VALUES_NORMAL : p->values;
    enum matmul_low low = low_of(family);
    struct operands o = {.source = low_values(p->M * p->K, 0, p->values, 1),
                         .w = low_values(p->N * p->K, p->offset, w_values, 2),
                         .packed = area_new(matmul_low_bytes(low, p->N, p->K) / 4, 0),
                         .scale = area_new(p->N, p->offset),
                         .bias = low_values(p->N, p->offset, p->values, 3),
                         .residual = low_values(p->M * (p->N + p->pad_r), p->offset, p->values, 4)};
    x_make(&o, p, family);
    size_t panels = (p->N + MATMUL_LOW_COLUMNS - 1) / MATMUL_LOW_COLUMNS;
    matmul_pack_low(low, o.packed.first, o.scale.first, o.w.first, p->N, p->K, 0, panels);
    assert_true(area_guarded(&o.packed) && area_guarded(&o.scale) && area_guarded(&o.x));
    return o;
}

static inline void operands_free(struct operands *o) {
    struct area *all[] = {&o->source, &o->x, &o->w, &o->packed, &o->scale, &o->bias, &o->residual};
    for (size_t i = 0; i < COUNT(all); i++)
        free(all[i]->block);
}

// Row stride of y in its elements, and bytes of an element.
static inline size_t y_stride(const struct problem *p) {
    return p->half ? round_up(p->N, MATMUL_LOW_COLUMNS) + 2 * p->pad_y : p->N + p->pad_y;
}

// Runs one kernel; guards are in and around the result. Units run from last to first, each by its own call,
// when `apart`.
static inline struct area run(const struct kernel *k, const struct problem *p, const struct operands *o,
                              bool apart) {
    size_t ldy = y_stride(p);
    struct area y = area_new(p->half ? p->M * ldy / 2 : p->M * ldy, p->offset);
    struct matmul_args a = {.x = o->x.first,
                            .w = o->packed.first,
                            .scale = k->family == FAMILY_MATMUL_I8 ? o->scale.first : NULL,
                            .bias = p->bias ? o->bias.first : NULL,
                            .y = y.first,
                            .ldx = o->ldx,
                            .ldy = ldy,
                            .M = p->M,
                            .N = p->N,
                            .K = p->K,
                            .unit_rows = p->unit_rows,
                            .unit_panels = p->unit_panels,
                            .act = (enum act)p->act,
                            .y_bf16 = p->half};
    if (p->residual == RESIDUAL_APART || (p->residual == RESIDUAL_SAME && p->half)) {
        a.residual = o->residual.first;
        a.ldr = p->N + p->pad_r;
    } else if (p->residual == RESIDUAL_SAME) {
        for (size_t i = 0; i < p->M; i++)
            memcpy(y.first + i * ldy, o->residual.first + i * (p->N + p->pad_r), p->N * sizeof(float));
        a.residual = y.first;
        a.ldr = ldy;
    }
    size_t units = matmul_units(&a, k->nr);
    if (!apart) k->fn.matmul(&a, 0, units);
    for (size_t u = units; apart && u > 0; u--)
        k->fn.matmul(&a, u - 1, u);
    return y;
}

static inline float y_at(const struct problem *p, const struct area *y, size_t m, size_t n) {
    size_t at = m * y_stride(p) + n;
    return p->half ? bf16_to_f32(((const uint16_t *)(const void *)y->first)[at]) : y->first[at];
}

static inline void fail_case(const struct kernel *k, const struct problem *p, const char *what, size_t m,
                             size_t n) {
    char text[256];
    snprintf(text, sizeof text, CASE_FORMAT, p->M, p->N, p->K, p->pad_x, p->pad_r, p->pad_y, p->act, p->bias,
             p->residual, p->half, p->offset, p->values, p->unit_rows, p->unit_panels);
    fail_msg("%s at row %zu, column %zu; rerun: %s %s %s", what, m, n, TEST_NAME, k->name, text);
}

// y against the result `want` of plain C; the gaps of y's rows still hold the guard.
static inline void check_same(const struct kernel *k, const struct problem *p, const struct area *y,
                              const struct area *want, const char *what) {
    for (size_t m = 0; m < p->M; m++)
        for (size_t n = 0; n < y_stride(p); n++)
            if (!float_same(y_at(p, y, m, n), y_at(p, want, m, n))) fail_case(k, p, what, m, n);
    if (!area_guarded(y)) fail_case(k, p, "wrote outside y", 0, 0);
}

// The plain C kernel that defines k.
static inline const struct kernel *definition(const struct kernel *k) {
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *c = &kernel_table[i];
        if (c->family == k->family && c->isa == ISA_C && c->order == k->order) return c;
    }
    fail_msg("%s has no plain C kernel of its order", k->name);
    return NULL;
}

static inline void check_case(const struct kernel *k, const struct problem *p) {
    struct operands o = operands_new(p, k->family);
    struct problem whole = *p;
    whole.unit_rows = size_max(p->M, 1);
    whole.unit_panels = size_max(p->N, 1);
    struct area want = run(definition(k), &whole, &o, false);
    struct area y = run(k, &whole, &o, false), parts = run(k, p, &o, true);
    check_same(k, p, &y, &want, "differs from plain C");
    check_same(k, p, &parts, &want, "parts differ from the whole");
    free(want.block);
    free(y.block);
    free(parts.block);
    operands_free(&o);
}

static inline bool half_allowed(const struct kernel *k) {
    return k->family == FAMILY_MATMUL_BF16;
}

static inline void sweep_rows(const struct kernel *k) {
    for (size_t M = 0; M <= 70; M++) {
        struct problem p = {.M = M, .N = 35, .K = 9, .bias = 1, .pad_y = 3, .unit_rows = 5, .unit_panels = 1};
        if (M > 40) p.unit_rows = M;
        p.half = half_allowed(k) && M % 3 == 1;
        check_case(k, &p);
    }
}

static inline void sweep_columns(const struct kernel *k) {
    for (size_t N = 0; N <= 100; N++) {
        struct problem p = {.M = 7,
                            .N = N,
                            .K = 11,
                            .bias = 1,
                            .residual = RESIDUAL_APART,
                            .pad_y = 1,
                            .pad_r = 2,
                            .offset = N % 16,
                            .unit_rows = 3,
                            .unit_panels = 2};
        check_case(k, &p);
        p.half = half_allowed(k);
        if (p.half) check_case(k, &p);
    }
}

static inline void sweep_depth(const struct kernel *k) {
    for (size_t K = 0; K <= 300; K++) {
        struct problem p = {.M = 3 + K % 13,
                            .N = 37,
                            .K = K,
                            .pad_x = K % 5,
                            .offset = K % 3,
                            .residual = (unsigned)K % RESIDUAL_COUNT,
                            .unit_rows = 4,
                            .unit_panels = 1};
        check_case(k, &p);
    }
}

// Sizes past the blocks of K, of rows and of panels.
static inline void sweep_blocks(const struct kernel *k) {
    static const size_t sizes[][3] = {{3, 70, 511},  {5, 33, 512},   {14, 40, 513},  {29, 264, 514},
                                      {90, 33, 200}, {171, 40, 96},  {41, 97, 1025}, {1, 100, 3072},
                                      {6, 16, 4097}, {33, 33, 2112}, {7, 32, 9000}};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct problem p = {.M = sizes[i][0],
                            .N = sizes[i][1],
                            .K = sizes[i][2],
                            .bias = 1,
                            .residual = (unsigned)i % RESIDUAL_COUNT,
                            .values = i % 2 ? VALUES_EXTREME : VALUES_NORMAL,
                            .unit_rows = 47,
                            .unit_panels = 5};
        check_case(k, &p);
    }
}

static inline void sweep_random(const struct kernel *k) {
    for (uint64_t i = 0; i < 400; i++) {
        uint32_t r[16];
        for (uint64_t j = 0; j < 4; j++)
            rng_philox(5, i, j, r + 4 * j);
        struct problem p = {.M = r[0] % 71,
                            .N = r[1] % 101,
                            .K = r[2] % 197,
                            .pad_x = r[3] % 9,
                            .pad_r = r[4] % 9,
                            .pad_y = r[5] % 9,
                            .act = r[6] % ACT_COUNT,
                            .bias = r[7] % 2,
                            .residual = r[8] % RESIDUAL_COUNT,
                            .half = half_allowed(k) && r[12] % 2,
                            .offset = r[9] % 16,
                            .values = r[7] / 2 % VALUES_MORE,
                            .unit_rows = 1 + r[10] % 75,
                            .unit_panels = 1 + r[11] % 8};
        check_case(k, &p);
    }
}

// Row m of a large batch, and the same row as the whole batch.
static inline void check_batch(const struct kernel *k) {
    struct problem p = {.M = 131,
                        .N = 67,
                        .K = 600,
                        .bias = 1,
                        .residual = RESIDUAL_APART,
                        .unit_rows = 50,
                        .unit_panels = 2};
    struct operands o = operands_new(&p, k->family);
    struct area y = run(k, &p, &o, false);
    size_t size = k->family == FAMILY_MATMUL_I8 ? 1 : k->family == FAMILY_MATMUL_BF16 ? 2 : 4;
    for (size_t m = 0; m < p.M; m++) {
        struct problem one = p;
        one.M = 1;
        struct operands at = o;
        at.x.first += m * o.ldx * size / sizeof(float);
        at.residual.first += m * p.N;
        struct area row = run(k, &one, &at, false);
        for (size_t n = 0; n < p.N; n++)
            if (!float_same(row.first[n], y.first[m * p.N + n])) fail_case(k, &p, "differs when alone", m, n);
        free(row.block);
    }
    free(y.block);
    operands_free(&o);
}

// Calls `check` with every kernel of the test's families that this machine can run, and says which it cannot.
static inline void each_kernel(void (*check)(const struct kernel *k)) {
    static const enum family families[] = TEST_FAMILIES;
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        bool ours = false;
        for (size_t j = 0; j < COUNT(families); j++)
            ours = ours || families[j] == k->family;
        if (!ours) continue;
        if (k->isa == ISA_C || cpu_has(k->isa))
            check(k);
        else
            print_message("skipped: %s (1 kernel): no %s here\n", k->name, cpu_isa_name(k->isa));
    }
}

static inline void test_rows(void **state) {
    (void)state;
    each_kernel(sweep_rows);
}

static inline void test_columns(void **state) {
    (void)state;
    each_kernel(sweep_columns);
}

static inline void test_depth(void **state) {
    (void)state;
    each_kernel(sweep_depth);
}

static inline void test_blocks(void **state) {
    (void)state;
    each_kernel(sweep_blocks);
}

static inline void test_random(void **state) {
    (void)state;
    each_kernel(sweep_random);
}

static inline void test_batch(void **state) {
    (void)state;
    each_kernel(check_batch);
}

#define LOW_TESTS                                                                                            \
    cmocka_unit_test(test_rows), cmocka_unit_test(test_columns), cmocka_unit_test(test_depth),               \
        cmocka_unit_test(test_blocks), cmocka_unit_test(test_random), cmocka_unit_test(test_batch)

// A case of the command line: KERNEL CASE.
static inline int rerun(char **argv) {
    struct problem p;
    const struct kernel *k = kernel_find(argv[1]);
    if (k == NULL ||
        sscanf(argv[2], CASE_FORMAT, &p.M, &p.N, &p.K, &p.pad_x, &p.pad_r, &p.pad_y, &p.act, &p.bias,
               &p.residual, &p.half, &p.offset, &p.values, &p.unit_rows, &p.unit_panels) != 14)
        return 2;
    check_case(k, &p);
    return 0;
}

#endif
