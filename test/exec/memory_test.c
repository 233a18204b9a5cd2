// The memory pass: no two values that live in one stage share bytes, unless one takes the other's place on
// purpose.
#include "exec/exec.h"

#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

// A random program of element-wise ops and norms over a few widths.
static void random_program(prog *p, uint64_t seed, const struct weight *gains) {
    val pool[64];
    size_t count = 0;
    for (int w = 0; w < 2; w++)
        pool[count++] = op_act(
            p, prog_input(p, "x", DT_F32, (struct shape){2, {w ? DIM_B : DIM_T, 16 << w}}, 0), ACT_TANH);
    for (uint64_t i = 0; i < 40; i++) {
        uint32_t r[4];
        rng_philox(seed, 1, i, r);
        const val x = pool[r[0] % count], y = pool[r[1] % count];
        const struct shape xs = p->values[x].shape,
                           ys = p->values[y].shape; // by value: weights move the values
        val out;
        if (r[2] % 3 == 0 && shape_equal(&xs, &ys))
            out = op_add(p, x, y);
        else if (r[2] % 3 == 1)
            out = op_layer_norm(p, x, prog_weight(p, &gains[xs.dim[1] == 32]),
                                prog_weight(p, &gains[xs.dim[1] == 32]), 1e-5f);
        else
            out = op_act(p, x, ACT_RELU);
        pool[count++] = out;
    }
    prog_output(p, pool[count - 1], 0);
}

static uint32_t last_use(const prog *p, const struct memory_plan *m, val v, uint32_t stage) {
    for (size_t i = 0; i < p->record_count; i++)
        for (size_t j = 0; j < p->records[i].inputs; j++)
            if (p->records[i].in[j] == v && m->stage[i] > stage) stage = m->stage[i];
    return stage;
}

static void check_program(uint64_t seed, const struct weight *gains) {
    enum { T = 50, B = 7 };
    prog p;
    prog_init(&p);
    random_program(&p, seed, gains);
    assert_int_equal(p.error.code, SABOK_OK);
    struct memory_plan m;
    assert_int_equal(memory_plan_make(&m, &p, T, B, NULL), SABOK_OK);
    for (size_t i = 0; i < p.record_count; i++) {
        const struct record *a = &p.records[i];
        for (size_t j = 0; j < a->inputs; j++)
            for (size_t k = 0; k < p.record_count; k++)
                if (p.records[k].out == a->in[j] && m.stage[k] >= m.stage[i])
                    fail_msg("seed %zu: record %zu reads too early", (size_t)seed, i);
        if (m.offset[a->out] == SIZE_MAX) continue;
        for (size_t k = i + 1; k < p.record_count; k++) {
            const struct record *b = &p.records[k];
            if (m.offset[b->out] == SIZE_MAX) continue;
            size_t an = 0, bn = 0;
            assert_true(shape_count(&p.values[a->out].shape, T, B, &an) &&
                        shape_count(&p.values[b->out].shape, T, B, &bn));
            const size_t ab = m.offset[a->out], ae = ab + an * 4, bb = m.offset[b->out], be = bb + bn * 4;
            if (ab >= be || bb >= ae) continue;
            // They share bytes: the first must be dead when the second is made, or handed over by the record
            // itself.
            const uint32_t dies = last_use(&p, &m, a->out, m.stage[i]);
            bool handed = false;
            for (size_t j = 0; j < b->inputs; j++)
                handed = handed ||
                         (b->in[j] == a->out && (op_rules(b->op)->in_place >> j & 1) && ab == bb && an == bn);
            if (!(dies < m.stage[k] || (handed && dies == m.stage[k])))
                fail_msg("seed %zu: records %zu and %zu share memory", (size_t)seed, i, k);
        }
    }
    memory_plan_free(&m);
    prog_free(&p);
}

static void test_no_overlap(void **state) {
    (void)state;
    float data[32] = {0};
    const struct weight gains[2] = {
        {.name = "g16", .role = WEIGHT_GAIN, .shape = {1, {16}}, .f32 = data},
        {.name = "g32", .role = WEIGHT_GAIN, .shape = {1, {32}}, .f32 = data},
    };
    for (uint64_t seed = 0; seed < 300; seed++)
        check_program(seed, gains);
}

// A chain of in-place ops needs the memory of one value.
static void test_chain_in_place(void **state) {
    (void)state;
    prog p;
    prog_init(&p);
    val x = op_act(&p, prog_input(&p, "x", DT_F32, (struct shape){2, {DIM_T, 64}}, 0), ACT_RELU);
    for (int i = 0; i < 9; i++)
        x = op_act(&p, x, ACT_TANH);
    prog_output(&p, x, 0);
    struct memory_plan m;
    assert_int_equal(memory_plan_make(&m, &p, 10, 1, NULL), SABOK_OK);
    assert_int_equal(m.bytes, 10 * 64 * 4);
    memory_plan_free(&m);
    prog_free(&p);
}

static void test_allocation_failure(void **state) {
    (void)state;
    prog p;
    prog_init(&p);
    val x = op_act(&p, prog_input(&p, "x", DT_F32, (struct shape){2, {DIM_T, 64}}, 0), ACT_RELU);
    prog_output(&p, op_act(&p, x, ACT_TANH), 0);
    const int64_t live = mem_live();
    bool done = false;
    for (uint64_t k = 1; !done; k++) {
        struct memory_plan m;
        sabok_error err = {0};
        mem_fail_at(k, false);
        const sabok_status status = memory_plan_make(&m, &p, 10, 1, &err);
        mem_fail_at(0, false);
        done = status == SABOK_OK;
        if (done)
            memory_plan_free(&m);
        else
            assert_int_equal(err.code, SABOK_ENOMEM);
        assert_int_equal(mem_live(), live);
        assert_true(k < 100);
    }
    prog_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_overlap),
        cmocka_unit_test(test_chain_in_place),
        cmocka_unit_test(test_allocation_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
