// Taps: which values a name finds, and that the fuse pass keeps them.
#include "exec/exec.h"

#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

enum { D = 16 };

static float zeros[D * D];

// linear, act, linear; fused without taps it is two records.
static void build(prog *p, const struct weight *w) {
    prog_init(p);
    val x = prog_input(p, "x", DT_F32, (struct shape){2, {DIM_T, D}}, INPUT_ROWS);
    prog_push(p, "layer.0");
    x = prog_name(p, op_linear(p, x, prog_weight(p, w), 0), "up");
    x = prog_name(p, op_act(p, x, ACT_GELU), "act");
    prog_pop(p);
    prog_output(p, op_linear(p, x, prog_weight(p, w), 0), 0);
    assert_int_equal(p->error.code, SABOK_OK);
}

static void check(const char *name, size_t found, size_t records) {
    const struct weight w = {
        .name = "w", .role = WEIGHT_LINEAR, .shape = {2, {D, D}}, .stored = DT_F32, .f32 = zeros};
    prog p;
    build(&p, &w);
    if (prog_tap(&p, name) != found) fail_msg("\"%s\" does not find %zu values", name, found);
    prog_fuse(&p);
    if (p.record_count != records) fail_msg("\"%s\": %zu records", name, p.record_count);
    // Every tapped value is still made by a record.
    for (size_t v = 1; v < p.value_count; v++) {
        bool made = !p.values[v].tapped || p.values[v].kind == VALUE_INPUT;
        for (size_t i = 0; i < p.record_count; i++)
            made |= p.records[i].out == v;
        assert_true(made);
    }
    prog_free(&p);
}

static void test_names(void **state) {
    (void)state;
    check("layer.0.up", 1, 3);
    check("layer.0.act", 1, 2); // what the fused linear makes is this value
    check("layer.*", 2, 3);
    check("x", 1, 2);
    check("layer.0", 0, 2);
    check("layer.1.*", 0, 2);
    check("", 0, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
