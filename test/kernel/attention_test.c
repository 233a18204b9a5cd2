// attention: every kernel of kernels.def against plain C, bit for bit, plain C against double, and what a
// sequence's result may depend on.
//   attention_test                all
//   attention_test KERNEL CASE    one case, as a failure prints it
#include "kernel/area.h"

#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

// Sequences of `keys`, and after the first of 1 + (keys * 7 + 5 i) % 90 rows.
#define CASE_FORMAT "s%zu,S%zu,H%zu,d%zu,p%zu,o%zu,R%zu,b%u,v%u"
struct problem {
    size_t sequences, keys, H, d;
    size_t pad;    // ld = H d + pad, + 2 pad, ...
    size_t offset; // floats past 64-byte alignment, of every pointer
    size_t rows;   // query rows in a block, at most
    unsigned bias, values;
};

struct operands {
    struct area q, k, v, bias;
    struct attention_block *blocks;
    size_t units, tokens, longest;
    struct attention_args args; // but y
};

static size_t sequence_keys(const struct problem *p, size_t i) {
    return i == 0 ? p->keys : 1 + (p->keys * 7 + 5 * i) % 90;
}

static struct operands operands_new(const struct problem *p) {
    struct operands o = {0};
    for (size_t i = 0; i < p->sequences; i++) {
        o.tokens += sequence_keys(p, i);
        o.longest = size_max(o.longest, sequence_keys(p, i));
    }
    o.blocks = malloc(o.tokens * sizeof *o.blocks);
    assert_non_null(o.blocks);
    size_t first = 0, blocks = 0;
    for (size_t i = 0; i < p->sequences; i++) {
        size_t keys = sequence_keys(p, i);
        for (size_t row = 0; row < keys; row += p->rows)
            o.blocks[blocks++] =
                (struct attention_block){(uint32_t)(first + row), (uint32_t)size_min(p->rows, keys - row),
                                         (uint32_t)first, (uint32_t)keys};
        first += keys;
    }
    o.units = blocks * p->H;
    const size_t D = p->H * p->d;
    o.args = (struct attention_args){.ldq = D + p->pad,
                                     .ldk = D + 2 * p->pad,
                                     .ldv = D + 3 * p->pad,
                                     .ldy = D + p->pad,
                                     .blocks = o.blocks,
                                     .H = p->H,
                                     .d = p->d,
                                     .scale = 1 / sqrtf((float)p->d)};
    o.q = area_values(o.tokens * o.args.ldq, p->offset, p->values, 1);
    o.k = area_values(o.tokens * o.args.ldk, p->offset, p->values, 2);
    o.v = area_values(o.tokens * o.args.ldv, p->offset, p->values, 3);
    o.args.bias_span = 2 * o.longest - 1;
    o.args.bias_zero = o.longest - 1;
    o.bias = area_values(p->H * o.args.bias_span, p->offset, p->values, 4);
    o.args.q = o.q.first;
    o.args.k = o.k.first;
    o.args.v = o.v.first;
    o.args.bias = p->bias ? o.bias.first : NULL;
    return o;
}

static void operands_free(struct operands *o) {
    free(o->q.block);
    free(o->k.block);
    free(o->v.block);
    free(o->bias.block);
    free(o->blocks);
}

static bool fails(const char *kernel, const struct problem *p, const char *what) {
    print_error("%s: %s\nrerun: attention_test %s " CASE_FORMAT "\n", kernel, what, kernel, p->sequences,
                p->keys, p->H, p->d, p->pad, p->offset, p->rows, p->bias, p->values);
    return false;
}

static struct area run(const struct kernel *k, const struct problem *p, const struct operands *o,
                       size_t begin, size_t end) {
    struct attention_args a = o->args;
    struct area y = area_new(o->tokens * a.ldy, p->offset);
    a.y = y.first;
    k->fn.attention(&a, begin, end);
    return y;
}

// Every float of `got` equals `want` where units [begin, end) write, and is untouched elsewhere.
static bool part_agrees(const struct kernel *k, const struct problem *p, const struct operands *o,
                        const float *want, size_t begin, size_t end) {
    struct area y = run(k, p, o, begin, end);
    const size_t ldy = o->args.ldy;
    bool ok = area_guarded(&y);
    size_t left = 0; // floats that no unit writes
    for (size_t i = 0; i < y.count; i++)
        left += area_bits(y.first[i]) == area_guard_bits;
    size_t written = 0;
    for (size_t unit = begin; unit < end; unit++) {
        const struct attention_block *b = &o->blocks[unit / p->H];
        written += b->rows * p->d;
        for (size_t r = b->first; r < b->first + (size_t)b->rows; r++)
            for (size_t i = unit % p->H * p->d; i < (unit % p->H + 1) * p->d; i++)
                ok &= float_same(y.first[r * ldy + i], want[r * ldy + i]);
    }
    ok &= left == y.count - written;
    free(y.block);
    return ok;
}

// Largest error of plain C against double.
static double c_error(const struct problem *p, const struct operands *o, const float *y) {
    const struct attention_args *a = &o->args;
    double worst = 0, *s = malloc(o->longest * sizeof *s);
    assert_non_null(s);
    for (size_t unit = 0; unit < o->units; unit++) {
        const struct attention_block *b = &o->blocks[unit / p->H];
        size_t head = unit % p->H;
        for (size_t r = b->first; r < b->first + (size_t)b->rows; r++) {
            double top = -INFINITY, sum = 0;
            for (size_t j = 0; j < b->keys; j++) {
                s[j] = 0;
                for (size_t i = head * p->d; i < (head + 1) * p->d; i++)
                    s[j] += (double)a->q[r * a->ldq + i] * (double)a->k[(b->key_first + j) * a->ldk + i];
                s[j] *= (double)a->scale;
                if (a->bias)
                    s[j] += (double)a->bias[head * a->bias_span + a->bias_zero + b->key_first + j - r];
                top = fmax(top, s[j]);
            }
            for (size_t j = 0; j < b->keys; j++)
                sum += s[j] = exp(s[j] - top);
            for (size_t i = head * p->d; i < (head + 1) * p->d; i++) {
                double want = 0;
                for (size_t j = 0; j < b->keys; j++)
                    want += s[j] * (double)a->v[(b->key_first + j) * a->ldv + i];
                worst = fmax(worst, fabs(want / sum - (double)y[r * a->ldy + i]));
            }
        }
    }
    free(s);
    return worst;
}

static unsigned skipped[ISA_COUNT];

static bool check_kernel(const struct kernel *k, const struct problem *p, const struct operands *o,
                         const float *want) {
    bool ok = part_agrees(k, p, o, want, 0, o->units);
    if (!ok) fails(k->name, p, "differs from plain C");
    for (size_t u = 0; ok && u < o->units; u += 1 + o->units / 4) {
        ok &= part_agrees(k, p, o, want, u, u + 1) && part_agrees(k, p, o, want, u, o->units);
        if (!ok) fails(k->name, p, "a part differs from the whole");
    }
    return ok;
}

static bool check(const struct problem *p, const char *only) {
    struct operands o = operands_new(p);
    const struct kernel *c = kernel_find("attention_f32_c");
    struct area want = run(c, p, &o, 0, o.units);
    bool ok = true;
    if (!area_guarded(&want)) ok = fails(c->name, p, "wrote past y");
    if (p->values == VALUES_NORMAL && !(c_error(p, &o, want.first) <= 1e-6))
        ok = fails(c->name, p, "far from double");
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        if (k->family != FAMILY_ATTENTION || (only && strcmp(only, k->name) != 0)) continue;
        if (!cpu_found(k->isa))
            skipped[k->isa]++;
        else
            ok &= check_kernel(k, p, &o, want.first);
    }
    free(want.block);
    operands_free(&o);
    return ok;
}

static void lengths(void **state) {
    (void)state;
    static const size_t widths[] = {32, 64, 17, 1, 48};
    static const size_t longer[] = {191, 256, 257, 511, 1024};
    for (size_t S = 1; S <= 130; S++) {
        struct problem p = {
            1, S, 2, widths[S % COUNT(widths)], S % 3, S % 16, ATTENTION_ROWS, S % 2, S % 5 ? 0 : 1};
        assert_true(check(&p, NULL));
    }
    for (size_t i = 0; i < COUNT(longer); i++)
        assert_true(check(&(struct problem){1, longer[i], 1, 32, 0, 1, ATTENTION_ROWS, i % 2, 0}, NULL));
}

static void widths(void **state) {
    (void)state;
    static const size_t wide[] = {80, 96, 127, 128, 129, 160, 255, 256, 257, 400};
    for (size_t d = 1; d <= 70; d++)
        assert_true(
            check(&(struct problem){2, 20 + d % 50, 1 + d % 3, d, d % 2, d % 7, ATTENTION_ROWS, 0, 0}, NULL));
    for (size_t i = 0; i < COUNT(wide); i++)
        assert_true(check(&(struct problem){2, 70, 2, wide[i], 3, i, ATTENTION_ROWS, i % 2, 0}, NULL));
}

static void values(void **state) {
    (void)state;
    for (size_t S = 1; S <= 100; S += 9)
        for (unsigned v = 0; v < VALUES_COUNT; v++)
            for (unsigned bias = 0; bias < 2; bias++)
                assert_true(
                    check(&(struct problem){3, S, 2, 20 + S % 3, 1, 0, ATTENTION_ROWS, bias, v}, NULL));
}

// A row's bits depend neither on the rows of its block nor on the other sequences of the batch.
static void row_alone(void **state) {
    (void)state;
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        if (k->family != FAMILY_ATTENTION || !cpu_found(k->isa)) continue;
        for (size_t rows = 1; rows <= ATTENTION_ROWS; rows++) {
            struct problem p = {5, 67, 3, 32, 0, 0, ATTENTION_ROWS, 0, 0}, q = p;
            q.rows = rows;
            struct operands o = operands_new(&p), few = operands_new(&q);
            struct area whole = run(k, &p, &o, 0, o.units), parts = run(k, &q, &few, 0, few.units);
            bool ok = memcmp(whole.first, parts.first, whole.count * sizeof(float)) == 0;
            // Each sequence moved to the front of a batch of its own.
            size_t first = 0;
            for (size_t s = 0; s < p.sequences; s++) {
                size_t keys = sequence_keys(&p, s), D = p.H * p.d;
                struct attention_block b = {0, 0, 0, (uint32_t)keys};
                struct area alone = area_new(keys * D, rows % 16);
                struct attention_args a = o.args;
                a.q += first * D, a.k += first * D, a.v += first * D, a.y = alone.first, a.blocks = &b;
                for (size_t row = 0; row < keys; row += b.rows) {
                    b.first = (uint32_t)row;
                    b.rows = (uint32_t)size_min(rows, keys - row);
                    k->fn.attention(&a, 0, p.H);
                }
                ok &= memcmp(alone.first, whole.first + first * D, alone.count * sizeof(float)) == 0;
                first += keys;
                free(alone.block);
            }
            if (!ok) fails(k->name, &q, "a row's bits depend on its neighbours");
            assert_true(ok);
            free(whole.block);
            free(parts.block);
            operands_free(&o);
            operands_free(&few);
        }
    }
}

// bugs.md 152: a row that sees nothing gives zeros, the others what they would give. Row r sees key j only
// from r + 90 on: rows 10 to 99 see nothing, rows 0 to 9 nothing in their first key block.
static void bug_152_rows_without_keys(void **state) {
    (void)state;
    struct problem p = {1, 100, 1, 24, 0, 0, ATTENTION_ROWS, 1, 0};
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        if (k->family != FAMILY_ATTENTION || !cpu_found(k->isa)) continue;
        struct operands o = operands_new(&p);
        for (size_t j = 0; j < o.bias.count; j++)
            if (j < o.args.bias_zero + 90) o.bias.first[j] = -INFINITY;
        struct area y = run(k, &p, &o, 0, o.units);
        for (size_t j = 0; j < 100 * 24; j++)
            assert_true(j < 10 * 24 ? isfinite(y.first[j]) && y.first[j] != 0 : y.first[j] == 0);
        // Row 9 sees key 99 alone.
        for (size_t j = 0; j < 24; j++)
            assert_true(y.first[9 * 24 + j] == o.v.first[99 * 24 + j]);
        free(y.block);
        operands_free(&o);
    }
}

// bugs.md 154: NaN in one sequence reaches no other, and NaN in one query row only that row.
static void bug_154_nan_stays(void **state) {
    (void)state;
    struct problem p = {3, 40, 2, 16, 0, 0, ATTENTION_ROWS, 0, 0};
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        if (k->family != FAMILY_ATTENTION || !cpu_found(k->isa)) continue;
        struct operands o = operands_new(&p);
        size_t D = p.H * p.d, first = 40, second = 40 + sequence_keys(&p, 1);
        struct area clean = run(k, &p, &o, 0, o.units);
        for (size_t j = first * D; j < second * D; j++)
            o.k.first[j] = o.v.first[j] = NAN;
        o.q.first[7 * D] = NAN; // row 7, head 0
        struct area y = run(k, &p, &o, 0, o.units);
        for (size_t j = 0; j < y.count; j++) {
            size_t row = j / D;
            bool nan = (row >= first && row < second) || (row == 7 && j % D < p.d);
            assert_true(nan ? isnan(y.first[j]) : area_bits(y.first[j]) == area_bits(clean.first[j]));
        }
        free(clean.block);
        free(y.block);
        operands_free(&o);
    }
}

// bugs.md 100: no length gives NaN.
static void bug_100_every_length(void **state) {
    (void)state;
    for (size_t S = 1; S <= 1024; S++) {
        struct problem p = {1, S, 1, 8, 0, 0, ATTENTION_ROWS, 0, 0};
        struct operands o = operands_new(&p);
        struct area y = run(kernel_best(FAMILY_ATTENTION), &p, &o, 0, o.units);
        bool finite = true;
        for (size_t j = 0; j < y.count; j++)
            finite &= (bool)isfinite(y.first[j]);
        if (!finite) fails(kernel_best(FAMILY_ATTENTION)->name, &p, "not finite");
        assert_true(finite);
        free(y.block);
        operands_free(&o);
    }
}

// Scores of any size: a shift of all of them changes nothing but rounding, and none overflows.
static void large_scores(void **state) {
    (void)state;
    struct problem p = {1, 90, 1, 16, 0, 0, ATTENTION_ROWS, 0, 0};
    struct operands o = operands_new(&p);
    for (size_t j = 0; j < o.q.count; j++)
        o.q.first[j] *= 3e18F, o.k.first[j] *= 3e18F;
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        if (k->family != FAMILY_ATTENTION || !cpu_found(k->isa)) continue;
        struct area y = run(k, &p, &o, 0, o.units);
        for (size_t j = 0; j < y.count; j++)
            assert_true(fabsf(y.first[j]) <= 1);
        free(y.block);
    }
    operands_free(&o);
}

int main(int argc, char **argv) {
    struct problem p;
    if (argc == 3) {
        if (sscanf(argv[2], CASE_FORMAT, &p.sequences, &p.keys, &p.H, &p.d, &p.pad, &p.offset, &p.rows,
                   &p.bias, &p.values) != 9 ||
            !kernel_find(argv[1]) || p.rows == 0 || p.rows > ATTENTION_ROWS || p.values >= VALUES_COUNT) {
            print_error("no such kernel or case\n");
            return 2;
        }
        return !check(&p, argv[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths),
        cmocka_unit_test(widths),
        cmocka_unit_test(values),
        cmocka_unit_test(row_alone),
        cmocka_unit_test(bug_152_rows_without_keys),
        cmocka_unit_test(bug_154_nan_stays),
        cmocka_unit_test(bug_100_every_length),
        cmocka_unit_test(large_scores),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned isa = 0; isa < ISA_COUNT; isa++)
        if (skipped[isa])
            print_message("skipped: %u cases of %s, not on this machine\n", skipped[isa],
                          cpu_isa_name((enum cpu_isa)isa));
    return failed;
}
