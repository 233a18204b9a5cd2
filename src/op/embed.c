// embed: y[t] = sum_i table_i[index_i[t]], t over tokens; tables [rows_i, D].
#include "op/op.h"

val op_embed(prog *p, const val *tables, const val *index, size_t count) {
    ASSERT(count >= 1 && count <= EMBED_TABLES);
    val in[2 * EMBED_TABLES];
    int64_t D = 0;
    for (size_t i = 0; i < count; i++) {
        if (!tables[i] || !index[i]) return 0;
        const struct shape *ts = &prog_value(p, tables[i])->shape, *is = &prog_value(p, index[i])->shape;
        char tt[SHAPE_TEXT], it[SHAPE_TEXT];
        if (ts->rank != 2 || is->rank != 1 || (i > 0 && ts->dim[1] != D))
            return prog_fail(p, "embed: table %s and index %s do not fit width %lld", shape_text(ts, tt),
                             shape_text(is, it), (long long)D);
        D = ts->dim[1];
        in[2 * i] = tables[i];
        in[2 * i + 1] = index[i];
    }
    const struct shape out = {.rank = 2, .dim = {DIM_T, D}};
    return prog_emit(p, OP_EMBED, in, 2 * count, NULL, 0, out, DT_F32);
}

static void embed_bind(const struct run_view *view, struct step *step) {
    const struct record *r = step->record;
    struct embed_args *a = &step->args.embed;
    *a = (struct embed_args){
        .tables = r->inputs / 2u,
        .D = (size_t)prog_value(view->p, r->out)->shape.dim[1],
        .y = view->address[r->out],
    };
    for (size_t i = 0; i < a->tables; i++) {
        a->table[i] = view->address[r->in[2 * i]];
        a->index[i] = view->address[r->in[2 * i + 1]];
    }
    step->units = view->T;
    step->grain = 16;
}

const struct op_rules op_embed_rules = {
    .rows = ROWS_TOKEN,
    .bind = embed_bind,
};
