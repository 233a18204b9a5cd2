// linear: y = act(x [W_0; W_1; ...]^T + b) + residual, x [rows, K], W_i [N_i, K], y [rows, sum N_i].
// Programs are written with one part, no epilogue and f32 weights; the fuse pass joins parts and adds epilogues, the
// precision pass sets the format of the weights and the types of x and y.
#include "op/op.h"

val op_linear(prog *p, val x, val w, val b) {
    if (!x || !w) return 0;
    const struct shape xs = prog_value(p, x)->shape, ws = prog_value(p, w)->shape;
    char xt[SHAPE_TEXT], wt[SHAPE_TEXT];
    if (xs.rank != 2 || ws.rank != 2 || xs.dim[1] != ws.dim[1])
        return prog_fail(p, "linear: x %s and weight %s do not share the inner size", shape_text(&xs, xt),
                         shape_text(&ws, wt));
    if (b) {
        const struct shape bs = prog_value(p, b)->shape;
        if (bs.rank != 1 || bs.dim[0] != ws.dim[0])
            return prog_fail(p, "linear: bias %s does not fit weight %s", shape_text(&bs, xt),
                             shape_text(&ws, wt));
    }
    const struct linear_params params = {.parts = 1, .act = ACT_NONE};
    const val in[] = {x, 0, w, b};
    const struct shape out = {.rank = 2, .dim = {xs.dim[0], ws.dim[0]}};
    return prog_emit(p, OP_LINEAR, in, COUNT(in), &params, sizeof params, out, DT_F32);
}

static double linear_flops(const prog *p, const struct record *r, double T, double B, double pairs) {
    (void)pairs;
    const struct shape *x = &prog_value(p, r->in[0])->shape, *y = &prog_value(p, r->out)->shape;
    return 2.0 * (x->dim[0] == DIM_T ? T : B) * (double)x->dim[1] * (double)y->dim[1];
}

// One part: linear, act, add. (Joined parts have no lowering to one value; the fuse pass alone makes them.)
static val linear_lower(prog *p, const struct record *r, const val *in) {
    const struct linear_params *params = (const void *)r->params;
    if (params->parts != 1) return 0;
    const val y = op_act(p, op_linear(p, in[0], in[2], in[3]), params->act);
    return in[1] ? op_add(p, y, in[1]) : y;
}

enum family linear_family(const prog *p, const struct record *r) {
    switch (((const struct linear_params *)(const void *)r->params)->format) {
    case FORMAT_F16:
        return FAMILY_MATMUL_F16W;
    case FORMAT_BF16:
        return prog_value(p, r->in[0])->dtype == DT_BF16 ? FAMILY_MATMUL_BF16 : FAMILY_MATMUL_BF16W;
    case FORMAT_I8:
        return FAMILY_MATMUL_I8;
    default:
        return FAMILY_MATMUL;
    }
}

// Row stride of a matrix value in elements of its type.
static size_t linear_stride(const struct value *v) {
    return value_row_bytes(v) / dtype_bytes(v->dtype);
}

static void linear_bind(const struct run_view *view, struct step *step) {
    const struct record *r = step->record;
    const struct linear_params *params = (const void *)r->params;
    const size_t K = step->packed->K, N = step->packed->N;
    const struct value *x = prog_value(view->p, r->in[0]), *y = prog_value(view->p, r->out);
    struct matmul_args *a = &step->args.matmul;
    *a = (struct matmul_args){
        .x = view->address[r->in[0]],
        .ldx = linear_stride(x),
        .w = step->packed->panels,
        .scale = step->packed->scale,
        .bias = step->packed->bias,
        .residual = r->in[1] ? view->address[r->in[1]] : NULL,
        .ldr = N,
        .y = view->address[r->out],
        .ldy = linear_stride(y),
        .y_bf16 = y->dtype == DT_BF16,
        .M = x->shape.dim[0] == DIM_T ? view->T : view->B,
        .N = N,
        .K = K,
        .act = params->act,
    };
    matmul_units_choose(a, step->kernel, view->threads);
    step->units = matmul_units(a, step->kernel->nr);
    step->grain = 1;
}

const struct op_rules op_linear_rules = {
    .rows = ROWS_TOKEN,
    .in_place = 1u << 1, // y may be the residual's memory
    .flops = linear_flops,
    .lower = linear_lower,
    .bind = linear_bind,
};
