// attention: y = softmax(q k^T / sqrt(d)) v, for each head and each sequence of the ragged batch.
#include "op/op.h"

#include <math.h>

val op_attention(prog *p, val q, val k, val v, val relative, size_t H) {
    if (!q || !k || !v) return 0;
    const struct shape qs = prog_value(p, q)->shape, ks = prog_value(p, k)->shape,
                       vs = prog_value(p, v)->shape;
    char qt[SHAPE_TEXT], kt[SHAPE_TEXT], vt[SHAPE_TEXT];
    if (qs.rank != 2 || qs.dim[0] != DIM_T || !shape_equal(&qs, &ks) || !shape_equal(&qs, &vs) || H == 0 ||
        qs.dim[1] % (int64_t)H != 0)
        return prog_fail(p, "attention: q %s, k %s, v %s do not fit %zu heads", shape_text(&qs, qt),
                         shape_text(&ks, kt), shape_text(&vs, vt), H);
    if (relative) {
        const struct shape rs = prog_value(p, relative)->shape;
        if (rs.rank != 2 || rs.dim[0] != (int64_t)H || rs.dim[1] % 2 != 1)
            return prog_fail(p, "attention: relative %s does not fit %zu heads", shape_text(&rs, qt), H);
    }
    const struct attention_params params = {.H = (uint32_t)H, .d = (uint32_t)(qs.dim[1] / (int64_t)H)};
    const val in[] = {q, k, v, relative};
    return prog_emit(p, OP_ATTENTION, in, COUNT(in), &params, sizeof params, qs, DT_F32);
}

static double attention_flops(const prog *p, const struct record *r, double T, double B, double pairs) {
    (void)p, (void)T, (void)B;
    const struct attention_params *params = (const void *)r->params;
    return 4.0 * pairs * params->H * params->d;
}

static void attention_bind(const struct run_view *view, struct step *step) {
    const struct record *r = step->record;
    const struct attention_params *params = (const void *)r->params;
    const float *base[3];
    size_t stride[3];
    for (size_t i = 0; i < 3; i++) {
        base[i] = (const float *)view->address[r->in[i]] + params->column[i];
        stride[i] = (size_t)prog_value(view->p, r->in[i])->shape.dim[1];
    }
    step->args.attention = (struct attention_args){
        .q = base[0],
        .k = base[1],
        .v = base[2],
        .ldq = stride[0],
        .ldk = stride[1],
        .ldv = stride[2],
        .y = view->address[r->out],
        .ldy = (size_t)params->H * params->d,
        .blocks = view->blocks,
        .H = params->H,
        .d = params->d,
        .scale = 1.0f / sqrtf((float)params->d),
    };
    if (r->in[3]) {
        step->args.attention.bias = view->address[r->in[3]];
        step->args.attention.bias_span = (size_t)prog_value(view->p, r->in[3])->shape.dim[1];
        step->args.attention.bias_zero = step->args.attention.bias_span / 2;
    }
    step->units = view->block_count * params->H;
    step->grain = 1;
}

const struct op_rules op_attention_rules = {
    .rows = ROWS_SEQUENCE,
    .flops = attention_flops,
    .bind = attention_bind,
};
