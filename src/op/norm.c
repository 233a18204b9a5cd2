// layer_norm: y = (s - mean(s)) / sqrt(var(s) + eps) * gamma + beta, s = x + residual, over rows of [rows,
// D]. normalize: y = x / max(|x|, 1e-12).
#include "op/op.h"

// Rows of a value for one run: its first axis is T or B.
static size_t norm_rows(const struct run_view *view, val v) {
    return prog_value(view->p, v)->shape.dim[0] == DIM_T ? view->T : view->B;
}

val op_layer_norm(prog *p, val x, val gamma, val beta, float eps) {
    if (!x || !gamma || !beta) return 0;
    const struct shape xs = prog_value(p, x)->shape;
    const struct shape gs = prog_value(p, gamma)->shape, bs = prog_value(p, beta)->shape;
    char xt[SHAPE_TEXT], gt[SHAPE_TEXT], bt[SHAPE_TEXT];
    if (xs.rank != 2 || gs.rank != 1 || gs.dim[0] != xs.dim[1] || !shape_equal(&gs, &bs))
        return prog_fail(p, "layer_norm: x %s, gain %s and bias %s do not fit", shape_text(&xs, xt),
                         shape_text(&gs, gt), shape_text(&bs, bt));
    const struct norm_params params = {.eps = eps};
    const val in[] = {x, 0, gamma, beta};
    return prog_emit(p, OP_LAYER_NORM, in, COUNT(in), &params, sizeof params, xs, DT_F32);
}

static val layer_norm_lower(prog *p, const struct record *r, const val *in) {
    const struct norm_params *params = (const void *)r->params;
    if (!in[1]) return 0;
    return op_layer_norm(p, op_add(p, in[0], in[1]), in[2], in[3], params->eps);
}

static void layer_norm_bind(const struct run_view *view, struct step *step) {
    const struct record *r = step->record;
    const struct norm_params *params = (const void *)r->params;
    step->args.norm = (struct norm_args){
        .x = view->address[r->in[0]],
        .residual = r->in[1] ? view->address[r->in[1]] : NULL,
        .gamma = view->address[r->in[2]],
        .beta = view->address[r->in[3]],
        .y = view->address[r->out],
        .D = (size_t)prog_value(view->p, r->out)->shape.dim[1],
        .eps = params->eps,
    };
    step->units = norm_rows(view, r->out);
    step->grain = 16;
}

const struct op_rules op_layer_norm_rules = {
    .rows = ROWS_TOKEN,
    .in_place = 1u << 0 | 1u << 1,
    .lower = layer_norm_lower,
    .bind = layer_norm_bind,
};

val op_normalize(prog *p, val x) {
    if (!x) return 0;
    const struct shape xs = prog_value(p, x)->shape;
    char xt[SHAPE_TEXT];
    if (xs.rank != 2) return prog_fail(p, "normalize: x %s is not a matrix", shape_text(&xs, xt));
    return prog_emit(p, OP_NORMALIZE, &x, 1, NULL, 0, xs, DT_F32);
}

static void normalize_bind(const struct run_view *view, struct step *step) {
    const struct record *r = step->record;
    step->args.unit = (struct unit_args){
        .x = view->address[r->in[0]],
        .y = view->address[r->out],
        .D = (size_t)prog_value(view->p, r->out)->shape.dim[1],
    };
    step->units = norm_rows(view, r->out);
    step->grain = 16;
}

const struct op_rules op_normalize_rules = {
    .rows = ROWS_TOKEN,
    .in_place = 1u << 0,
    .bind = normalize_bind,
};
