// The precision pass: formats by rule, one operand for all its readers, bf16 written where nobody else reads.
#include "exec/exec.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { D = 32, F = 64 };

static float zeros[F * D];

static struct weight linear_weight(const char *name, int64_t N, int64_t K) {
    return (struct weight){
        .name = name, .role = WEIGHT_LINEAR, .shape = {2, {N, K}}, .stored = DT_F32, .f32 = zeros};
}

static void test_rules(void **state) {
    (void)state;
    const struct precision_rule rules[] = {{"encoder.layer.*.output.dense.weight", FORMAT_BF16},
                                           {"*layer.1.*", FORMAT_F32},
                                           {"exact", FORMAT_F16}};
    const struct precision how = {FORMAT_I8, rules, COUNT(rules)};
    assert_int_equal(precision_of(&how, "encoder.layer.0.output.dense.weight"), FORMAT_BF16);
    assert_int_equal(precision_of(&how, "encoder.layer.1.output.dense.weight"), FORMAT_F32);
    assert_int_equal(precision_of(&how, "encoder.layer.11.output.dense.weight"), FORMAT_BF16);
    assert_int_equal(precision_of(&how, "encoder.layer.0.intermediate.dense.weight"), FORMAT_I8);
    assert_int_equal(precision_of(&how, "exact"), FORMAT_F16);
    assert_int_equal(precision_of(&how, "exactly"), FORMAT_I8);
}

static size_t count_ops(const prog *p, enum op_id op) {
    size_t n = 0;
    for (size_t i = 0; i < p->record_count; i++)
        n += p->records[i].op == op;
    return n;
}

// up and gate read one x; down reads what up makes.
static void build(prog *p, const struct weight w[3]) {
    prog_init(p);
    const val x = prog_input(p, "x", DT_F32, (struct shape){2, {DIM_T, D}}, INPUT_ROWS);
    prog_push(p, "layer.0");
    const val up = op_act(p, op_linear(p, x, prog_weight(p, &w[0]), 0), ACT_GELU);
    const val gate = op_linear(p, x, prog_weight(p, &w[1]), 0);
    const val down = op_linear(p, up, prog_weight(p, &w[2]), 0);
    prog_output(p, op_add(p, down, gate), 0);
    prog_pop(p);
    prog_fuse(p);
    assert_int_equal(p->error.code, SABOK_OK);
}

static void test_int8_shares_operands(void **state) {
    (void)state;
    const struct weight w[3] = {linear_weight("up", F, D), linear_weight("gate", D, D),
                                linear_weight("down", D, F)};
    prog p;
    build(&p, w);
    prog_precision(&p, &(struct precision){.format = FORMAT_I8});
    assert_int_equal(p.error.code, SABOK_OK);
    assert_int_equal(count_ops(&p, OP_QUANTIZE), 2); // x once, up once
    assert_int_equal(count_ops(&p, OP_CAST), 0);
    for (size_t i = 0; i < p.record_count; i++)
        if (p.records[i].op == OP_LINEAR) assert_int_equal(p.values[p.records[i].in[0]].dtype, DT_I8);
    prog_free(&p);
}

static void test_rule_keeps_float32(void **state) {
    (void)state;
    const struct weight w[3] = {linear_weight("up", F, D), linear_weight("gate", D, D),
                                linear_weight("down", D, F)};
    prog p;
    build(&p, w);
    const struct precision_rule keep = {"down", FORMAT_F32};
    prog_precision(&p, &(struct precision){FORMAT_I8, &keep, 1});
    assert_int_equal(count_ops(&p, OP_QUANTIZE), 1);
    prog_free(&p);
    // float32 everywhere changes nothing.
    build(&p, w);
    const size_t records = p.record_count;
    prog_precision(&p, &(struct precision){.format = FORMAT_F32});
    assert_int_equal(p.record_count, records);
    prog_free(&p);
}

static void test_bf16_by_what_the_cpu_has(void **state) {
    (void)state;
    const struct weight w[3] = {linear_weight("up", F, D), linear_weight("gate", D, D),
                                linear_weight("down", D, F)};
    prog p;
    build(&p, w);
    prog_precision(&p, &(struct precision){.format = FORMAT_BF16});
    const bool arithmetic = kernel_best_low(MATMUL_LOW_BF16)->family == FAMILY_MATMUL_BF16;
    assert_int_equal(count_ops(&p, OP_CAST), arithmetic ? 1 : 0); // x; up is written as bf16 by its linear
    size_t narrow = 0;
    for (size_t i = 0; i < p.record_count; i++)
        narrow += p.records[i].op == OP_LINEAR && p.values[p.records[i].out].dtype == DT_BF16;
    assert_int_equal(narrow, arithmetic ? 1 : 0);
    prog_free(&p);
}

// SABOK_CHECK=1 reads every operand by its own type, and finds what is not finite in each format.
static void test_checked_in_every_format(void **state) {
    (void)state;
    enum { T = 3 };
    static float x[T * D], y[T * D];
    const struct weight w[3] = {linear_weight("up", F, D), linear_weight("gate", D, D),
                                linear_weight("down", D, F)};
    const uint32_t offsets[] = {0, T};
    const struct batch batch = {.T = T, .B = 1, .offsets = offsets, .rows = x};
    setenv("SABOK_CHECK", "1", 1);
    for (enum weight_format format = 0; format < FORMAT_COUNT; format++) {
        prog p;
        build(&p, w);
        prog_precision(&p, &(struct precision){.format = format});
        struct pack_set *packs = pack_new();
        assert_int_equal(pack_program(packs, &p, NULL, NULL, NULL, NULL), SABOK_OK);
        struct plan *plan = plan_new(&p, packs, T, 1, 1, NULL);
        assert_non_null(plan);
        // As int8 these are the bytes 0x81 and 0x7f, which read as f32 are a NaN.
        for (size_t i = 0; i < T * D; i++)
            x[i] = i % 2 ? 1.0f : -1.0f;
        sabok_error err = {0};
        if (plan_run(plan, &batch, (float *const[]){y}, NULL, &err) != SABOK_OK)
            fail_msg("%s: %s", format_name(format), err.message);
        x[D + 5] = INFINITY;
        assert_int_equal(plan_run(plan, &batch, (float *const[]){y}, NULL, &err), SABOK_ENUMERIC);
        plan_free(plan);
        pack_free(packs);
        prog_free(&p);
    }
    unsetenv("SABOK_CHECK");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_int8_shares_operands),
        cmocka_unit_test(test_rule_keeps_float32),
        cmocka_unit_test(test_bf16_by_what_the_cpu_has),
        cmocka_unit_test(test_checked_in_every_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
