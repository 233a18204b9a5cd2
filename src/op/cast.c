// cast: y = bf16(x), by rows. quantize: y = int8(x / s) by rows, with the scale of each row (or a given one) kept in the
// row. Both make operands of linear; rows are padded as the kernels read them (kernel.h).
#include "op/op.h"

size_t value_row_bytes(const struct value *v) {
    const size_t D = (size_t)v->shape.dim[1];
    switch (v->dtype) {
    case DT_BF16:
        return cast_stride(D) * sizeof(uint16_t);
    case DT_I8:
        return quantize_row_bytes(D);
    default:
        ASSERT(v->dtype == DT_F32);
        return D * sizeof(float);
    }
}

val op_cast(prog *p, val x) {
    if (!x) return 0;
    const struct shape xs = prog_value(p, x)->shape;
    char xt[SHAPE_TEXT];
    if (xs.rank != 2) return prog_fail(p, "cast: x %s is not a matrix", shape_text(&xs, xt));
    return prog_emit(p, OP_CAST, &x, 1, NULL, 0, xs, DT_BF16);
}

static void cast_bind(const struct run_view *view, struct step *step) {
    const struct record *r = step->record;
    const struct shape *ys = &prog_value(view->p, r->out)->shape;
    const size_t D = (size_t)ys->dim[1];
    step->args.cast = (struct cast_args){
        .x = view->address[r->in[0]], .y = view->address[r->out], .D = D, .ldx = D, .ldy = cast_stride(D)};
    step->units = ys->dim[0] == DIM_T ? view->T : view->B;
    step->grain = 16;
}

const struct op_rules op_cast_rules = {
    .rows = ROWS_TOKEN,
    .bind = cast_bind,
};

val op_quantize(prog *p, val x, float scale) {
    if (!x) return 0;
    const struct shape xs = prog_value(p, x)->shape;
    char xt[SHAPE_TEXT];
    if (xs.rank != 2) return prog_fail(p, "quantize: x %s is not a matrix", shape_text(&xs, xt));
    const struct quantize_params params = {.scale = scale};
    return prog_emit(p, OP_QUANTIZE, &x, 1, &params, sizeof params, xs, DT_I8);
}

static void quantize_bind(const struct run_view *view, struct step *step) {
    const struct record *r = step->record;
    const struct quantize_params *params = (const void *)r->params;
    const struct shape *ys = &prog_value(view->p, r->out)->shape;
    const size_t D = (size_t)ys->dim[1];
    step->args.quantize = (struct quantize_args){.x = view->address[r->in[0]],
                                                 .y = view->address[r->out],
                                                 .D = D,
                                                 .ldx = D,
                                                 .ldy = quantize_row_bytes(D),
                                                 .scale = params->scale};
    step->units = ys->dim[0] == DIM_T ? view->T : view->B;
    step->grain = 16;
}

const struct op_rules op_quantize_rules = {
    .rows = ROWS_TOKEN,
    .bind = quantize_bind,
};
