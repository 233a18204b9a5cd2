// print: the program as it will run, for people or as JSON lines.
#include "exec/exec.h"

#include <string.h>

static void print_inputs(struct buf *b, const prog *p, const struct record *r) {
    char text[SHAPE_TEXT];
    for (size_t i = 0; i < r->inputs; i++) {
        const struct value *v = &p->values[r->in[i]];
        if (r->in[i] == 0) continue;
        if (v->kind == VALUE_WEIGHT || v->kind == VALUE_INPUT)
            buf_printf(b, " %s", v->name);
        else
            buf_printf(b, " %%%u%s", r->in[i], shape_text(&v->shape, text));
    }
}

static size_t print_weight_bytes(const struct plan *plan, const struct step *step) {
    const prog *p = plan_prog(plan);
    if (step->packed) return pack_bytes(step->packed, step->kernel);
    size_t bytes = 0;
    for (size_t i = 0; i < step->record->inputs; i++) {
        const struct value *v = &p->values[step->record->in[i]];
        size_t items;
        if (v->kind == VALUE_WEIGHT && shape_count(&v->shape, 0, 0, &items)) bytes += items * sizeof(float);
    }
    return bytes;
}

static void print_params(struct buf *b, const struct record *r) {
    static const char *const act[ACT_COUNT] = {
        [ACT_NONE] = "none",           [ACT_GELU] = "gelu",
        [ACT_GELU_TANH] = "gelu_tanh", [ACT_QUICK_GELU] = "quick_gelu",
        [ACT_RELU] = "relu",           [ACT_TANH] = "tanh",
        [ACT_SIGMOID] = "sigmoid",     [ACT_SILU] = "silu",
    };
    if (r->op == OP_LINEAR) {
        const struct linear_params *params = (const void *)r->params;
        if (params->parts > 1) buf_printf(b, "+%u parts", params->parts);
        if (params->act != ACT_NONE) buf_printf(b, "+%s", act[params->act]);
    }
    if (r->op == OP_ACT)
        buf_printf(b, "(%s)", act[((const struct act_params *)(const void *)r->params)->act]);
    const bool residual = (r->op == OP_LINEAR || r->op == OP_LAYER_NORM) && r->in[1] != 0;
    if (residual) buf_printf(b, "+residual");
}

static void print_text(struct buf *b, const struct plan *plan, size_t i) {
    const prog *p = plan_prog(plan);
    const struct step *step = plan_step(plan, i);
    const struct record *r = step->record;
    const struct value *out = &p->values[r->out];
    const size_t at = plan_memory(plan)->offset[r->out];
    struct buf what = {0};
    buf_printf(&what, "%s", op_name(r->op));
    print_params(&what, r);
    char text[SHAPE_TEXT];
    buf_printf(b, "%3zu %3u  %-26s %-22.*s -> %%%u%s", i, step->stage, r->scope, (int)what.size,
               what.data ? what.data : "", r->out, shape_text(&out->shape, text));
    if (at == SIZE_MAX)
        buf_printf(b, " @output");
    else
        buf_printf(b, " @%zu", at);
    buf_printf(b, "  %zu weight bytes  %s  <-", print_weight_bytes(plan, step), step->kernel->name);
    print_inputs(b, p, r);
    buf_printf(b, "\n");
    if (what.failed) b->failed = true;
    buf_free(&what);
}

static void print_json(struct buf *b, const struct plan *plan, size_t i) {
    const prog *p = plan_prog(plan);
    const struct step *step = plan_step(plan, i);
    const struct record *r = step->record;
    const struct value *out = &p->values[r->out];
    struct json_out o = {.spaced = true, .first = true};
    char text[SHAPE_TEXT];
    shape_text(&out->shape, text);
    json_out_begin(&o, '{');
    json_out_key(&o, "record");
    json_out_u64(&o, i);
    json_out_key(&o, "stage");
    json_out_u64(&o, step->stage);
    json_out_key(&o, "scope");
    json_out_string(&o, r->scope, strlen(r->scope));
    json_out_key(&o, "op");
    json_out_string(&o, op_name(r->op), strlen(op_name(r->op)));
    json_out_key(&o, "shape");
    json_out_string(&o, text, strlen(text));
    if (plan_memory(plan)->offset[r->out] != SIZE_MAX) {
        json_out_key(&o, "offset");
        json_out_u64(&o, plan_memory(plan)->offset[r->out]);
    }
    json_out_key(&o, "weight_bytes");
    json_out_u64(&o, print_weight_bytes(plan, step));
    json_out_key(&o, "kernel");
    json_out_string(&o, step->kernel->name, strlen(step->kernel->name));
    json_out_end(&o, '}');
    buf_put(b, o.data, o.size);
    buf_put(b, "\n", 1);
    if (o.failed) b->failed = true;
    json_out_free(&o);
}

sabok_status plan_print(const struct plan *plan, const struct print_target *to, sabok_error *err) {
    struct buf b = {0};
    const size_t records = plan_prog(plan)->record_count;
    if (!to->json)
        buf_printf(
            &b, "program for up to %zu tokens in %zu sequences: %zu records in %u stages, arena %zu bytes\n",
            plan_tokens(plan), plan_sequences(plan), records, plan_memory(plan)->stages, plan_bytes(plan));
    for (size_t i = 0; i < records; i++)
        (to->json ? print_json : print_text)(&b, plan, i);
    sabok_status status = SABOK_OK;
    if (b.failed)
        status = error_memory(err, "program");
    else if (to->write(to->ctx, b.data, b.size) != 0)
        status = error_set(err, SABOK_ECANCELED, "program", "stopped by the caller");
    buf_free(&b);
    return status;
}
