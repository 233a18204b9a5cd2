// act: y = act(x). add: y = x + z. Elementwise over [rows, D].
#include "op/op.h"

val op_act(prog *p, val x, enum act act) {
    if (!x || act == ACT_NONE) return x;
    const struct shape xs = prog_value(p, x)->shape;
    char xt[SHAPE_TEXT];
    if (xs.rank != 2) return prog_fail(p, "act: x %s is not a matrix", shape_text(&xs, xt));
    const struct act_params params = {.act = act};
    return prog_emit(p, OP_ACT, &x, 1, &params, sizeof params, xs, DT_F32);
}

static void act_bind(const struct run_view *view, struct step *step) {
    const struct record *r = step->record;
    const struct act_params *params = (const void *)r->params;
    const struct shape *ys = &prog_value(view->p, r->out)->shape;
    step->args.act = (struct act_args){
        .x = view->address[r->in[0]],
        .y = view->address[r->out],
        .D = (size_t)ys->dim[1],
        .act = params->act,
    };
    step->units = ys->dim[0] == DIM_T ? view->T : view->B;
    step->grain = 8;
}

const struct op_rules op_act_rules = {
    .rows = ROWS_TOKEN,
    .in_place = 1u << 0,
    .bind = act_bind,
};

val op_add(prog *p, val x, val y) {
    if (!x || !y) return 0;
    const struct shape xs = prog_value(p, x)->shape, ys = prog_value(p, y)->shape;
    char xt[SHAPE_TEXT], yt[SHAPE_TEXT];
    if (xs.rank != 2 || !shape_equal(&xs, &ys))
        return prog_fail(p, "add: %s and %s differ", shape_text(&xs, xt), shape_text(&ys, yt));
    const val in[] = {x, y};
    return prog_emit(p, OP_ADD, in, COUNT(in), NULL, 0, xs, DT_F32);
}

static void add_bind(const struct run_view *view, struct step *step) {
    const struct record *r = step->record;
    const struct shape *ys = &prog_value(view->p, r->out)->shape;
    step->args.add = (struct add_args){
        .x = view->address[r->in[0]],
        .z = view->address[r->in[1]],
        .y = view->address[r->out],
        .D = (size_t)ys->dim[1],
    };
    step->units = ys->dim[0] == DIM_T ? view->T : view->B;
    step->grain = 16;
}

const struct op_rules op_add_rules = {
    .rows = ROWS_TOKEN,
    .in_place = 1u << 0 | 1u << 1,
    .bind = add_bind,
};
