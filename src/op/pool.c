// pool: one row a sequence out of its tokens; several modes stand side by side, x [T, D] -> [B, D * count].
#include "op/op.h"

#include <string.h>

val op_pool(prog *p, val x, val offsets, val skip, const enum pool *modes, size_t count) {
    if (!x || !offsets) return 0;
    const struct shape xs = prog_value(p, x)->shape;
    char xt[SHAPE_TEXT];
    if (xs.rank != 2 || xs.dim[0] != DIM_T || count == 0 || count > POOL_COUNT)
        return prog_fail(p, "pool: x %s cannot be pooled in %zu modes", shape_text(&xs, xt), count);
    struct pool_params params = {.count = (uint32_t)count};
    memcpy(params.modes, modes, count * sizeof *modes);
    const val in[] = {x, offsets, skip};
    const struct shape out = {.rank = 2, .dim = {DIM_B, xs.dim[1] * (int64_t)count}};
    return prog_emit(p, OP_POOL, in, COUNT(in), &params, sizeof params, out, DT_F32);
}

static void pool_bind(const struct run_view *view, struct step *step) {
    const struct record *r = step->record;
    const struct pool_params *params = (const void *)r->params;
    const size_t D = (size_t)prog_value(view->p, r->in[0])->shape.dim[1];
    step->args.pool = (struct pool_args){
        .x = view->address[r->in[0]],
        .offsets = view->address[r->in[1]],
        .skip = r->in[2] ? view->address[r->in[2]] : NULL,
        .y = view->address[r->out],
        .D = D,
        .ldy = D * params->count,
    };
    step->units = view->B;
    step->grain = 1;
}

void op_pool_run(const struct step *step, size_t begin, size_t end) {
    const struct pool_params *params = (const void *)step->record->params;
    struct pool_args a = step->args.pool;
    for (uint32_t i = 0; i < params->count; i++) {
        a.mode = params->modes[i];
        a.y = step->args.pool.y + i * a.D;
        step->kernel->fn.pool(&a, begin, end);
    }
}

const struct op_rules op_pool_rules = {
    .rows = ROWS_SEQUENCE,
    .bind = pool_bind,
};
