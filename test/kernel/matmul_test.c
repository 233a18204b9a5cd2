// matmul: every kernel of kernels.def against plain C, bit for bit.
//   matmul_test                 all
//   matmul_test KERNEL CASE     one case, as a failure prints it
#include "kernel/kernel.h"

#include <setjmp.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// How a case is spelled on the command line; the fields of struct problem in order.
#define CASE_FORMAT "M%zu,N%zu,K%zu,x%zu,r%zu,y%zu,a%u,b%u,z%u,o%zu,v%u,u%zu,p%zu"
enum { RESIDUAL_NONE, RESIDUAL_APART, RESIDUAL_SAME, RESIDUAL_COUNT };
enum { VALUES_NORMAL, VALUES_SMALL, VALUES_SPECIAL, VALUES_COUNT };
struct problem {
    size_t M, N, K;
    size_t pad_x, pad_r, pad_y; // ldx = K + pad_x, ...
    unsigned act, bias, residual;
    size_t offset; // floats past 64-byte alignment, of every pointer
    unsigned values;
    size_t unit_rows, unit_panels;
};

enum { GUARD = 32 };
static const uint32_t guard_bits = 0xa5a5a5a5;

// A matrix between guards, `offset` floats past alignment.
struct area {
    void *block;
    float *first;
    size_t count;
};

static struct area area_new(size_t count, size_t offset) {
    struct area a = {.count = count};
    size_t floats = round_up(count + 2 * GUARD + offset, 16);
    a.block = aligned_alloc(64, floats * sizeof(float));
    assert_non_null(a.block);
    for (size_t i = 0; i < floats; i++)
        ((uint32_t *)a.block)[i] = guard_bits;
    a.first = (float *)a.block + GUARD + offset;
    return a;
}

static uint32_t bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static bool area_guarded(const struct area *a) {
    for (size_t i = 1; i <= GUARD; i++)
        if (bits_of(a->first[-(ptrdiff_t)i]) != guard_bits ||
            bits_of(a->first[a->count + i - 1]) != guard_bits)
            return false;
    return true;
}

static float value_at(unsigned values, uint64_t stream, size_t i) {
    float u = rng_uniform(17, stream, i) * 2 - 1;
    if (values == VALUES_SMALL) return u * 1e-22F; // products are subnormal
    if (values == VALUES_SPECIAL && i % 61 == 7) {
        static const float special[] = {INFINITY, -INFINITY, NAN, 1e38F, -1e38F, 1e-44F, -0.0F, 0};
        return special[i / 61 % COUNT(special)];
    }
    return u;
}

static void fill(float *p, size_t rows, size_t columns, size_t ld, unsigned values, uint64_t stream) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            p[i * ld + j] = value_at(values, stream, i * columns + j);
}

struct operands {
    struct area x, w, bias, residual;
};

static struct operands operands_new(const struct problem *p) {
    struct operands o = {area_new(p->M * (p->K + p->pad_x), p->offset), area_new(p->N * p->K, p->offset),
                         area_new(p->N, p->offset), area_new(p->M * (p->N + p->pad_r), p->offset)};
    fill(o.x.first, p->M, p->K, p->K + p->pad_x, p->values, 1);
    fill(o.w.first, p->N, p->K, p->K, p->values == VALUES_SPECIAL ? VALUES_NORMAL : p->values, 2);
    fill(o.bias.first, 1, p->N, p->N, p->values, 3);
    fill(o.residual.first, p->M, p->N, p->N + p->pad_r, p->values, 4);
    return o;
}

static void operands_free(struct operands *o) {
    free(o->x.block);
    free(o->w.block);
    free(o->bias.block);
    free(o->residual.block);
}

// Runs one kernel; the result is [M, N + pad_y] with guards in and around it. Units run from last to first,
// each by its own call, when `apart`.
static struct area run(const struct kernel *k, const struct problem *p, const struct operands *o,
                       bool apart) {
    size_t ldy = p->N + p->pad_y, packed_floats = matmul_packed_floats(p->N, p->K, k->nr);
    struct area packed = area_new(packed_floats, p->offset), y = area_new(p->M * ldy, p->offset);
    size_t panels = (p->N + k->nr - 1) / k->nr;
    matmul_pack(packed.first, o->w.first, p->N, p->K, k->nr, 0, panels);
    assert_true(area_guarded(&packed));

    struct matmul_args a = {.x = o->x.first,
                            .w = packed.first,
                            .bias = p->bias ? o->bias.first : NULL,
                            .y = y.first,
                            .ldx = p->K + p->pad_x,
                            .ldy = ldy,
                            .M = p->M,
                            .N = p->N,
                            .K = p->K,
                            .unit_rows = p->unit_rows,
                            .unit_panels = p->unit_panels,
                            .act = (enum act)p->act};
    if (p->residual == RESIDUAL_APART) {
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
    free(packed.block);
    return y;
}

// NaNs are equal whatever their payload.
static bool same(float a, float b) {
    return bits_of(a) == bits_of(b) || (isnan(a) && isnan(b));
}

static void fail_case(const struct kernel *k, const struct problem *p, const char *what, size_t m, size_t n) {
    char text[256];
    snprintf(text, sizeof text, CASE_FORMAT, p->M, p->N, p->K, p->pad_x, p->pad_r, p->pad_y, p->act, p->bias,
             p->residual, p->offset, p->values, p->unit_rows, p->unit_panels);
    fail_msg("%s at row %zu, column %zu; rerun: matmul_test %s %s", what, m, n, k->name, text);
}

// y against the result `want` of plain C; the gaps of y's rows still hold the guard.
static void check_same(const struct kernel *k, const struct problem *p, const struct area *y,
                       const struct area *want, const char *what) {
    size_t ldy = p->N + p->pad_y;
    for (size_t m = 0; m < p->M; m++)
        for (size_t n = 0; n < ldy; n++)
            if (!same(y->first[m * ldy + n], want->first[m * ldy + n])) fail_case(k, p, what, m, n);
    if (!area_guarded(y)) fail_case(k, p, "wrote outside y", 0, 0);
}

static void check_case(const struct kernel *k, const struct problem *p) {
    struct operands o = operands_new(p);
    struct problem whole = *p;
    whole.unit_rows = size_max(p->M, 1);
    whole.unit_panels = size_max(p->N, 1);
    struct area want = run(kernel_find("matmul_f32_c"), &whole, &o, false);
    struct area y = run(k, &whole, &o, false), parts = run(k, p, &o, true);
    check_same(k, p, &y, &want, "differs from plain C");
    check_same(k, p, &parts, &want, "parts differ from the whole");
    free(want.block);
    free(y.block);
    free(parts.block);
    operands_free(&o);
}

// Calls `check` with every matmul kernel that this machine can run, and says which it cannot.
static void each_kernel(void (*check)(const struct kernel *k)) {
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        if (k->family != FAMILY_MATMUL) continue;
        if (k->isa == ISA_C || cpu_has(k->isa))
            check(k);
        else
            print_message("skipped: %s (1 kernel): no %s here\n", k->name, cpu_isa_name(k->isa));
    }
}

static void sweep_rows(const struct kernel *k) {
    for (size_t M = 0; M <= 40; M++) {
        struct problem p = {.M = M, .N = 35, .K = 9, .bias = 1, .pad_y = 3, .unit_rows = 5, .unit_panels = 1};
        check_case(k, &p);
    }
}

static void sweep_columns(const struct kernel *k) {
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
    }
}

static void sweep_depth(const struct kernel *k) {
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
static void sweep_blocks(const struct kernel *k) {
    static const size_t sizes[][3] = {{3, 70, 511},    {5, 33, 512},   {14, 40, 513},
                                      {29, 1056, 514}, {90, 33, 700},  {171, 40, 96},
                                      {97, 420, 1025}, {1, 100, 3072}, {16, 16, 4097}};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct problem p = {.M = sizes[i][0],
                            .N = sizes[i][1],
                            .K = sizes[i][2],
                            .bias = 1,
                            .residual = (unsigned)i % RESIDUAL_COUNT,
                            .unit_rows = 47,
                            .unit_panels = 5};
        check_case(k, &p);
    }
}

static void sweep_random(const struct kernel *k) {
    for (uint64_t i = 0; i < 400; i++) {
        uint32_t r[12];
        for (uint64_t j = 0; j < 3; j++)
            rng_philox(5, i, j, r + 4 * j);
        struct problem p = {.M = r[0] % 41,
                            .N = r[1] % 101,
                            .K = r[2] % 97,
                            .pad_x = r[3] % 9,
                            .pad_r = r[4] % 9,
                            .pad_y = r[5] % 9,
                            .act = r[6] % ACT_COUNT,
                            .bias = r[7] % 2,
                            .residual = r[8] % RESIDUAL_COUNT,
                            .offset = r[9] % 16,
                            .values = r[7] / 2 % VALUES_COUNT,
                            .unit_rows = 1 + r[10] % 45,
                            .unit_panels = 1 + r[11] % 8};
        check_case(k, &p);
    }
}

// Row m of a large batch, and the same row as the whole batch.
static void check_batch(const struct kernel *k) {
    struct problem p = {.M = 131,
                        .N = 67,
                        .K = 600,
                        .bias = 1,
                        .residual = RESIDUAL_APART,
                        .unit_rows = 50,
                        .unit_panels = 2};
    struct operands o = operands_new(&p);
    struct area y = run(k, &p, &o, false);
    for (size_t m = 0; m < p.M; m++) {
        struct problem one = p;
        one.M = 1;
        struct operands at = o;
        at.x.first += m * p.K;
        at.residual.first += m * p.N;
        struct area row = run(k, &one, &at, false);
        for (size_t n = 0; n < p.N; n++)
            if (!same(row.first[n], y.first[m * p.N + n])) fail_case(k, &p, "differs when alone", m, n);
        free(row.block);
    }
    free(y.block);
    operands_free(&o);
}

// |y - exact| <= (K + 2) eps sum |x| |w|: a chain of K fused multiply-adds, then the bias.
static void check_bound(const struct kernel *k) {
    struct problem p = {.M = 19, .N = 45, .K = 1200, .bias = 1, .unit_rows = 19, .unit_panels = 3};
    struct operands o = operands_new(&p);
    struct area y = run(k, &p, &o, false);
    for (size_t m = 0; m < p.M; m++)
        for (size_t n = 0; n < p.N; n++) {
            double exact = o.bias.first[n], size = fabs(exact);
            for (size_t i = 0; i < p.K; i++) {
                double product = (double)o.x.first[m * p.K + i] * o.w.first[n * p.K + i];
                exact += product;
                size += fabs(product);
            }
            double bound = (double)(p.K + 2) * (double)FLT_EPSILON / 2 * size;
            if (!(fabs(y.first[m * p.N + n] - exact) <= bound))
                fail_case(k, &p, "past the error bound", m, n);
        }
    free(y.block);
    operands_free(&o);
}

// An activation inside matmul, against the act family on the values before it.
static void check_acts(const struct kernel *k) {
    for (unsigned act = 0; act < ACT_COUNT; act++) {
        struct problem p = {.M = 21, .N = 75, .K = 40, .bias = 1, .unit_rows = 21, .unit_panels = 9};
        struct operands o = operands_new(&p);
        for (size_t i = 0; i < p.N; i++)
            o.bias.first[i] *= 20; // both tails of the curve
        struct area plain = run(k, &p, &o, false);
        struct act_args a = {.x = plain.first, .y = plain.first, .D = p.N, .act = (enum act)act};
        kernel_best(FAMILY_ACT)->fn.act(&a, 0, p.M);
        p.act = act;
        struct area y = run(k, &p, &o, false);
        check_same(k, &p, &y, &plain, "differs from the act family");
        free(plain.block);
        free(y.block);
        operands_free(&o);
    }
}

static void test_acts(void **state) {
    (void)state;
    each_kernel(check_acts);
}

// Units within the problem; where the work is worth sharing, no thread has half as much again as its share;
// where it is not, one unit.
static void check_units(const struct kernel *k, size_t M, size_t N, size_t K, unsigned threads) {
    struct matmul_args a = {.M = M, .N = N, .K = K};
    matmul_units_choose(&a, k, threads);
    size_t units = M > 0 && N > 0 ? matmul_units(&a, k->nr) : 0, panels = (N + k->nr - 1) / k->nr;
    double work = (double)M * (double)N * (double)K;
    bool ok = a.unit_rows > 0 && a.unit_panels > 0 && a.unit_rows <= size_max(M, 1) &&
              a.unit_panels <= size_max(panels, 1);
    size_t tiles = (M + k->mr - 1) / k->mr * panels; // that could be units of their own
    if (threads > 1 && work >= 4e6 * threads && tiles >= 8 * (size_t)threads) {
        double most = (double)((units + threads - 1) / threads * a.unit_rows * a.unit_panels);
        ok = ok && most <= 1.5 * (double)(M * panels) / threads;
    }
    if (work <= 1e6 && M <= 12 * k->mr) ok = ok && units <= 1;
    if (!ok)
        fail_msg("%s: M %zu, N %zu, K %zu, %u threads: rows %zu, panels %zu, %zu units", k->name, M, N, K,
                 threads, a.unit_rows, a.unit_panels, units);
}

static void sweep_units(const struct kernel *k) {
    static const size_t fixed[][3] = {{0, 5, 5}, {5, 0, 5}, {5, 5, 0},
                                      {0, 0, 0}, {1, 1, 1}, {100000, 30522, 768}};
    for (unsigned threads = 1; threads <= 64; threads = threads * 3 / 2 + 1) {
        for (size_t i = 0; i < COUNT(fixed); i++)
            check_units(k, fixed[i][0], fixed[i][1], fixed[i][2], threads);
        for (uint64_t i = 0; i < 300; i++) {
            uint32_t r[4];
            rng_philox(9, threads, i, r);
            check_units(k, 1 + r[0] % (1U << r[3] % 13), 1 + r[1] % 4096, r[2] % 4097, threads);
        }
    }
}

static void test_units(void **state) {
    (void)state;
    each_kernel(sweep_units);
}

static void test_rows(void **state) {
    (void)state;
    each_kernel(sweep_rows);
}

static void test_columns(void **state) {
    (void)state;
    each_kernel(sweep_columns);
}

static void test_depth(void **state) {
    (void)state;
    each_kernel(sweep_depth);
}

static void test_blocks(void **state) {
    (void)state;
    each_kernel(sweep_blocks);
}

static void test_random(void **state) {
    (void)state;
    each_kernel(sweep_random);
}

static void test_batch(void **state) {
    (void)state;
    each_kernel(check_batch);
}

static void test_bound(void **state) {
    (void)state;
    each_kernel(check_bound);
}

// A source at any byte, and panels packed in any split.
static void test_pack(void **state) {
    (void)state;
    static const size_t widths[] = {16, 32, 48, 5};
    for (size_t i = 0; i < COUNT(widths) * 60; i++) {
        size_t nr = widths[i % COUNT(widths)], N = 1 + i * 7 % 131, K = i * 5 % 83, shift = i % 4;
        size_t panels = (N + nr - 1) / nr, middle = panels / 2;
        char *source = malloc(N * K * sizeof(float) + shift);
        for (size_t j = 0; j < N * K; j++)
            memcpy(source + shift + j * sizeof(float), &(float){(float)j}, sizeof(float));
        struct area packed = area_new(matmul_packed_floats(N, K, nr), i % 16);
        const float *w = (const float *)(const void *)(source + shift);
        matmul_pack(packed.first, w, N, K, nr, middle, panels);
        matmul_pack(packed.first, w, N, K, nr, 0, middle);
        for (size_t n = 0; n < panels * nr; n++)
            for (size_t k = 0; k < K; k++) {
                float want = n < N ? (float)(n * K + k) : 0;
                if (packed.first[n / nr * nr * K + k * nr + n % nr] != want)
                    fail_msg("N %zu, K %zu, nr %zu: column %zu, depth %zu", N, K, nr, n, k);
            }
        assert_true(area_guarded(&packed));
        free(packed.block);
        free(source);
    }
}

int main(int argc, char **argv) {
    if (argc == 3) {
        struct problem p;
        const struct kernel *k = kernel_find(argv[1]);
        if (k == NULL ||
            sscanf(argv[2], CASE_FORMAT, &p.M, &p.N, &p.K, &p.pad_x, &p.pad_r, &p.pad_y, &p.act, &p.bias,
                   &p.residual, &p.offset, &p.values, &p.unit_rows, &p.unit_panels) != 13)
            return 2;
        check_case(k, &p);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack),  cmocka_unit_test(test_rows),   cmocka_unit_test(test_columns),
        cmocka_unit_test(test_depth), cmocka_unit_test(test_blocks), cmocka_unit_test(test_random),
        cmocka_unit_test(test_batch), cmocka_unit_test(test_bound),  cmocka_unit_test(test_acts),
        cmocka_unit_test(test_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
