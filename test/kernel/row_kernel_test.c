// The families whose units are rows: every kernel of kernels.def against plain C, bit for bit, in one piece
// and in parts, and plain C against double.
//   row_kernel_test                all
//   row_kernel_test CASE           one case, as a failure prints it
#include "kernel/area.h"

#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

// `mode`: norm and add, which operand y is (0 none, 1 the first, 2 the second; norm 3: no residual); unit, 1:
// y is x; act, the activation, and from ACT_COUNT on in place; embed, tables - 1; pool, the mode, and from POOL_COUNT on with skipped tokens.
#define CASE_FORMAT "f%u,r%zu,D%zu,o%zu,v%u,m%u"
struct problem {
    unsigned family;
    size_t rows, D;
    size_t offset; // floats past 64-byte alignment, of every pointer
    unsigned values, mode;
};

enum { TABLE_ROWS = 7, POOL_GAP = 5, POOL_UNITS = 4 };

// One sequence keeps some tokens, one has none, one loses all it has, one keeps two.
static const uint32_t skipped_tokens[POOL_UNITS] = {3, 1, 2, 1};
struct operands {
    struct area x, z, gamma, beta, table[EMBED_TABLES];
    uint32_t *index[EMBED_TABLES];
    uint32_t offsets[POOL_UNITS + 1];
};

static size_t problem_units(const struct problem *p) {
    return p->family == FAMILY_POOL ? POOL_UNITS : p->rows;
}

static size_t problem_ldy(const struct problem *p) {
    return p->family == FAMILY_POOL ? p->D + POOL_GAP : p->D;
}

// pool: sequences of `rows`, 0, 1 and 3 tokens.
static struct operands operands_new(const struct problem *p) {
    struct operands o = {
        .offsets = {0, (uint32_t)p->rows, (uint32_t)p->rows, (uint32_t)p->rows + 1, (uint32_t)p->rows + 4}};
    size_t tokens = p->family == FAMILY_POOL ? p->rows + 4 : p->rows;
    o.x = area_values(tokens * p->D, p->offset, p->values, 1);
    o.z = area_values(p->rows * p->D, p->offset, p->values, 2);
    o.gamma = area_values(p->D, p->offset, VALUES_NORMAL, 3);
    o.beta = area_values(p->D, p->offset, VALUES_NORMAL, 4);
    for (unsigned i = 0; i < EMBED_TABLES; i++) {
        o.table[i] = area_values(TABLE_ROWS * p->D, p->offset, p->values, 5 + i);
        o.index[i] = malloc((p->rows + 1) * sizeof *o.index[i]);
        assert_non_null(o.index[i]);
        for (size_t t = 0; t < p->rows; t++)
            o.index[i][t] = (uint32_t)(rng_uniform(14, i, t) * TABLE_ROWS);
    }
    return o;
}

static void operands_free(struct operands *o) {
    free(o->x.block);
    free(o->z.block);
    free(o->gamma.block);
    free(o->beta.block);
    for (unsigned i = 0; i < EMBED_TABLES; i++) {
        free(o->table[i].block);
        free(o->index[i]);
    }
}

// The operand that y takes the place of, NULL when none.
static const struct area *operand_replaced(const struct problem *p, const struct operands *o) {
    if (p->family == FAMILY_NORM || p->family == FAMILY_ADD || p->family == FAMILY_UNIT)
        return p->mode == 1 ? &o->x : p->mode == 2 ? &o->z : NULL;
    return p->family == FAMILY_ACT && p->mode >= ACT_COUNT ? &o->x : NULL;
}

static void kernel_run(const struct kernel *k, const struct problem *p, const struct operands *o, float *y,
                       size_t begin, size_t end) {
    const struct area *replaced = operand_replaced(p, o);
    const float *x = replaced == &o->x ? y : o->x.first, *z = replaced == &o->z ? y : o->z.first;
    if (p->family == FAMILY_NORM) {
        struct norm_args a = {x, p->mode == 3 ? NULL : z, o->gamma.first, o->beta.first, y, p->D, 1e-12F};
        k->fn.norm(&a, begin, end);
    } else if (p->family == FAMILY_ACT) {
        k->fn.act(&(struct act_args){x, y, p->D, (enum act)(p->mode % ACT_COUNT)}, begin, end);
    } else if (p->family == FAMILY_ADD) {
        k->fn.add(&(struct add_args){x, z, y, p->D}, begin, end);
    } else if (p->family == FAMILY_UNIT) {
        k->fn.unit(&(struct unit_args){x, y, p->D}, begin, end);
    } else if (p->family == FAMILY_EMBED) {
        struct embed_args a = {.tables = p->mode + 1, .D = p->D, .y = y};
        for (size_t i = 0; i <= p->mode; i++) {
            a.table[i] = o->table[i].first;
            a.index[i] = o->index[i];
        }
        k->fn.embed(&a, begin, end);
    } else {
        struct pool_args a = {.x = x,
                              .offsets = o->offsets,
                              .skip = p->mode < POOL_COUNT ? NULL : skipped_tokens,
                              .y = y,
                              .D = p->D,
                              .ldy = problem_ldy(p),
                              .mode = (enum pool)(p->mode % POOL_COUNT)};
        k->fn.pool(&a, begin, end);
    }
}

// One output element in double.
static double exact(const struct problem *p, const struct operands *o, size_t row, size_t i) {
    const float *x = o->x.first + row * p->D, *z = o->z.first + row * p->D;
    const double D = (double)p->D;
    double sum = 0, squares = 0;
    switch (p->family) {
    case FAMILY_NORM:
        for (size_t j = 0; j < p->D; j++)
            sum += (double)x[j] + (p->mode == 3 ? 0 : (double)z[j]);
        for (size_t j = 0; j < p->D; j++) {
            double s = (double)x[j] + (p->mode == 3 ? 0 : (double)z[j]) - sum / D;
            squares += s * s;
        }
        sum = (double)x[i] + (p->mode == 3 ? 0 : (double)z[i]) - sum / D;
        return sum / sqrt(squares / D + 1e-12) * (double)o->gamma.first[i] + (double)o->beta.first[i];
    case FAMILY_ADD:
        return (double)x[i] + (double)z[i];
    case FAMILY_UNIT:
        for (size_t j = 0; j < p->D; j++)
            squares += (double)x[j] * (double)x[j];
        return (double)x[i] / fmax(sqrt(squares), 1e-12);
    case FAMILY_EMBED:
        for (size_t j = 0; j <= p->mode; j++)
            sum += (double)o->table[j].first[o->index[j][row] * p->D + i];
        return sum;
    default:
        return NAN; // act: vec_test.c
    }
}

static double exact_pool(const struct problem *p, const struct operands *o, size_t b, size_t i) {
    const enum pool mode = (enum pool)(p->mode % POOL_COUNT);
    size_t first = o->offsets[b], n = o->offsets[b + 1] - first;
    size_t skip = p->mode < POOL_COUNT || mode == POOL_CLS ? 0 : skipped_tokens[b];
    const float *x = o->x.first + first * p->D + i;
    double sum = 0, weights = 0, most = -INFINITY;
    if (n <= skip) return 0;
    for (size_t t = skip; t < n; t++) {
        double v = (double)x[t * p->D], w = mode == POOL_WEIGHTED ? (double)(t + 1) : 1;
        sum += w * v;
        weights += w;
        most = fmax(most, v);
    }
    switch (mode) {
    case POOL_CLS:
        return (double)x[0];
    case POOL_LAST:
        return (double)x[(n - 1) * p->D];
    case POOL_MAX:
        return most;
    case POOL_MEAN_SQRT:
        return sum / sqrt(weights);
    default:
        return sum / weights;
    }
}

static bool fails(const char *kernel, const struct problem *p, const char *what) {
    print_error("%s: %s\nrerun: row_kernel_test " CASE_FORMAT "\n", kernel, what, p->family, p->rows, p->D,
                p->offset, p->values, p->mode);
    return false;
}

// Runs units [begin, end) into a fresh y, and compares them with `want` and the rest with what was there.
static bool part_agrees(const struct kernel *k, const struct problem *p, const struct operands *o,
                        const float *want, size_t begin, size_t end) {
    const size_t units = problem_units(p), ldy = problem_ldy(p), count = units * ldy;
    const struct area *replaced = operand_replaced(p, o);
    struct area y = area_new(count, p->offset);
    if (replaced) memcpy(y.first, replaced->first, count * sizeof(float));
    kernel_run(k, p, o, y.first, begin, end);
    bool ok = area_guarded(&y);
    for (size_t u = 0; u < units; u++)
        for (size_t i = 0; i < ldy; i++) {
            float got = y.first[u * ldy + i];
            bool written = u >= begin && u < end && i < p->D;
            if (written)
                ok &= float_same(got, want[u * ldy + i]);
            else
                ok &=
                    area_bits(got) == (replaced ? area_bits(replaced->first[u * ldy + i]) : area_guard_bits);
        }
    free(y.block);
    return ok;
}

static bool c_exact(const struct problem *p, const struct operands *o, const float *y) {
    const size_t ldy = problem_ldy(p);
    if (p->values != VALUES_NORMAL || p->family == FAMILY_ACT) return true;
    for (size_t u = 0; u < problem_units(p); u++)
        for (size_t i = 0; i < p->D; i++) {
            double want = p->family == FAMILY_POOL ? exact_pool(p, o, u, i) : exact(p, o, u, i);
            // Norms of few columns divide by a small spread, whose error is relative to the operands.
            double bound = p->family == FAMILY_NORM && p->D < 16 ? 1e-4 : 2e-6;
            if (!(fabs((double)y[u * ldy + i] - want) <= bound)) return false;
        }
    return true;
}

static unsigned skipped[ISA_COUNT];

static bool check(const struct problem *p) {
    const size_t units = problem_units(p), count = units * problem_ldy(p);
    struct operands o = operands_new(p);
    struct area want = area_new(count, p->offset);
    const struct area *replaced = operand_replaced(p, &o);
    bool ok = true;
    if (replaced) memcpy(want.first, replaced->first, count * sizeof(float));
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        if (k->family != p->family) continue;
        if (k->isa == ISA_C) {
            kernel_run(k, p, &o, want.first, 0, units);
            if (!area_guarded(&want)) ok = fails(k->name, p, "wrote past y");
            if (!c_exact(p, &o, want.first)) ok = fails(k->name, p, "far from double");
        } else if (!cpu_found(k->isa)) {
            skipped[k->isa]++;
            continue;
        }
        if (!part_agrees(k, p, &o, want.first, 0, units)) ok = fails(k->name, p, "differs from plain C");
        for (size_t u = 0; ok && u < units; u += 1 + units / 5) {
            if (!part_agrees(k, p, &o, want.first, u, u + 1)) ok = fails(k->name, p, "one unit differs");
            if (!part_agrees(k, p, &o, want.first, u, units)) ok = fails(k->name, p, "a part differs");
        }
    }
    free(want.block);
    operands_free(&o);
    return ok;
}

static unsigned family_modes(unsigned family) {
    static const unsigned modes[FAMILY_COUNT] = {
        [FAMILY_NORM] = 4, [FAMILY_ACT] = 2 * ACT_COUNT,  [FAMILY_ADD] = 3,
        [FAMILY_UNIT] = 2, [FAMILY_EMBED] = EMBED_TABLES, [FAMILY_POOL] = 2 * POOL_COUNT,
    };
    return modes[family];
}

static void family_checks(unsigned family) {
    static const size_t real[] = {384, 768, 1024, 1536, 3072};
    for (unsigned mode = 0; mode < family_modes(family); mode++) {
        for (size_t D = 1; D <= 257; D++) {
            struct problem p = {family, 1 + D % 9, D, D % 16, (unsigned)D % VALUES_COUNT, mode};
            assert_true(check(&p));
        }
        for (size_t i = 0; i < COUNT(real); i++) {
            struct problem p = {family, 9, real[i], i % 2, (unsigned)i % VALUES_COUNT, mode};
            assert_true(check(&p));
        }
        for (unsigned values = 0; values < VALUES_COUNT; values++) {
            struct problem p = {family, 5, 131, 3, values, mode};
            assert_true(check(&p));
        }
    }
}

static void norm_rows(void **state) {
    (void)state;
    family_checks(FAMILY_NORM);
}

static void act_rows(void **state) {
    (void)state;
    family_checks(FAMILY_ACT);
}

static void add_rows(void **state) {
    (void)state;
    family_checks(FAMILY_ADD);
}

static void embed_rows(void **state) {
    (void)state;
    family_checks(FAMILY_EMBED);
}

static void pool_rows(void **state) {
    (void)state;
    family_checks(FAMILY_POOL);
}

static void unit_rows(void **state) {
    (void)state;
    family_checks(FAMILY_UNIT);
}

// bugs.md 158: a reduction over every length, here over tokens; over columns it is in the tests above.
static void bug_158_pool_lengths(void **state) {
    (void)state;
    for (unsigned mode = 0; mode < 2 * POOL_COUNT; mode++)
        for (size_t n = 1; n <= 257; n++)
            assert_true(check(&(struct problem){FAMILY_POOL, n, 1 + n % 67, 0, VALUES_NORMAL, mode}));
}

// bugs.md 98: rows that follow the sequence are not its own.
static void bug_98_mean_of_own_rows(void **state) {
    (void)state;
    const float x[] = {1, 0, 1, 0, 0, 2, 0, 2};
    const uint32_t offsets[] = {0, 2, 4};
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        if (k->family != FAMILY_POOL || !cpu_found(k->isa)) continue;
        float y[4];
        k->fn.pool(
            &(struct pool_args){.x = x, .offsets = offsets, .y = y, .D = 2, .ldy = 2, .mode = POOL_MEAN}, 0,
            2);
        assert_true(y[0] == 1 && y[1] == 0 && y[2] == 0 && y[3] == 2);
    }
}

// skip leaves out first tokens, but for cls; the weights of those left stay what they were.
static void pool_skip(void **state) {
    (void)state;
    const float x[] = {8, 1, 2, 4, 1};
    const uint32_t offsets[] = {0, 4, 5}, skip[] = {2, 1};
    static const float want[POOL_COUNT] = {[POOL_MEAN] = 3,
                                           [POOL_CLS] = 8,
                                           [POOL_MAX] = 4,
                                           [POOL_MEAN_SQRT] = 6 / 1.41421354F,
                                           [POOL_WEIGHTED] = 22.0F / 7,
                                           [POOL_LAST] = 4};
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        if (k->family != FAMILY_POOL || !cpu_found(k->isa)) continue;
        for (int mode = 0; mode < POOL_COUNT; mode++) {
            float y[2] = {-1, -1};
            k->fn.pool(&(struct pool_args){.x = x,
                                           .offsets = offsets,
                                           .skip = skip,
                                           .y = y,
                                           .D = 1,
                                           .ldy = 1,
                                           .mode = (enum pool)mode},
                       0, 2);
            if (y[0] != want[mode])
                fail_msg("%s, mode %d: %.9g, expected %.9g", k->name, mode, (double)y[0], (double)want[mode]);
            assert_true(y[1] == (mode == POOL_CLS ? 1 : 0));
        }
    }
}

// A zero vector stays one; NaN stays in its row.
static void unit_edges(void **state) {
    (void)state;
    const float x[] = {0, 0, NAN, 1, 3, 4};
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        if (k->family != FAMILY_UNIT || !cpu_found(k->isa)) continue;
        float y[6];
        k->fn.unit(&(struct unit_args){x, y, 2}, 0, 3);
        assert_true(y[0] == 0 && y[1] == 0 && isnan(y[3]) && y[4] == 3.0F / 5 && y[5] == 4.0F / 5);
    }
}

int main(int argc, char **argv) {
    struct problem p;
    if (argc == 2) {
        if (sscanf(argv[1], CASE_FORMAT, &p.family, &p.rows, &p.D, &p.offset, &p.values, &p.mode) != 6 ||
            p.family >= FAMILY_COUNT || p.mode >= family_modes(p.family) || p.values >= VALUES_COUNT) {
            print_error("no case: " CASE_FORMAT "\n", 0U, (size_t)0, (size_t)0, (size_t)0, 0U, 0U);
            return 2;
        }
        return !check(&p);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norm_rows),
        cmocka_unit_test(act_rows),
        cmocka_unit_test(add_rows),
        cmocka_unit_test(embed_rows),
        cmocka_unit_test(pool_rows),
        cmocka_unit_test(pool_skip),
        cmocka_unit_test(unit_rows),
        cmocka_unit_test(bug_158_pool_lengths),
        cmocka_unit_test(bug_98_mean_of_own_rows),
        cmocka_unit_test(unit_edges),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned isa = 0; isa < ISA_COUNT; isa++)
        if (skipped[isa])
            print_message("skipped: %u cases of %s, not on this machine\n", skipped[isa],
                          cpu_isa_name((enum cpu_isa)isa));
    return failed;
}
