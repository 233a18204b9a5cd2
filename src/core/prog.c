// The program: records over values, appended in order. Building errors stick; passes walk the flat lists.
#include "core/core.h"

#include <string.h>

void prog_init(prog *p) {
    *p = (prog){0};
    arena_init(&p->arena, 0);
    // Value 0 means "no value", so that an op given the result of a failed op has something to recognise.
    if (mem_grow((void **)&p->values, &p->value_cap, 1, sizeof *p->values)) {
        p->values[0] = (struct value){0};
        p->value_count = 1;
    } else {
        error_memory(&p->error, "program");
    }
}

void prog_free(prog *p) {
    mem_free(p->values);
    mem_free(p->records);
    arena_free(&p->arena);
    *p = (prog){0};
}

val prog_fail(prog *p, const char *format, ...) {
    if (p->error.code != SABOK_OK) return 0;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_set(&p->error, SABOK_ESHAPE, p->scope[0] ? p->scope : "program", "%s", text);
    return 0;
}

static val prog_add_value(prog *p, struct value value) {
    if (p->error.code != SABOK_OK) return 0;
    if (!mem_grow((void **)&p->values, &p->value_cap, p->value_count + 1, sizeof *p->values)) {
        error_memory(&p->error, "program");
        return 0;
    }
    p->values[p->value_count] = value;
    return (val)p->value_count++;
}

val prog_input(prog *p, const char *name, enum dtype dtype, struct shape shape, uint32_t slot) {
    return prog_add_value(
        p, (struct value){.kind = VALUE_INPUT, .shape = shape, .dtype = dtype, .name = name, .slot = slot});
}

val prog_weight(prog *p, const struct weight *w) {
    for (size_t i = 1; i < p->value_count; i++)
        if (p->values[i].weight == w) return (val)i;
    return prog_add_value(
        p, (struct value){
               .kind = VALUE_WEIGHT, .shape = w->shape, .dtype = DT_F32, .name = w->name, .weight = w});
}

void prog_output(prog *p, val v, uint32_t slot) {
    if (p->error.code != SABOK_OK) return;
    ASSERT(v > 0 && v < p->value_count);
    struct value *value = &p->values[v];
    ASSERT(value->kind == VALUE_TEMP);
    value->kind = VALUE_OUTPUT;
    value->slot = slot;
}

val prog_name(prog *p, val v, const char *name) {
    if (p->error.code != SABOK_OK || v == 0) return 0;
    const char *full =
        p->scope[0] ? arena_printf(&p->arena, "%s.%s", p->scope, name) : arena_printf(&p->arena, "%s", name);
    if (full)
        p->values[v].name = full;
    else
        error_memory(&p->error, "program");
    return v;
}

void prog_push(prog *p, const char *format, ...) {
    size_t at = strlen(p->scope);
    if (at > 0 && at + 1 < sizeof p->scope) p->scope[at++] = '.';
    va_list args;
    va_start(args, format);
    vsnprintf(p->scope + at, sizeof p->scope - at, format, args);
    va_end(args);
    ASSERT(p->scope_depth < COUNT(p->scope_ends));
    p->scope_ends[p->scope_depth++] = at > 0 ? at - 1 : 0;
}

void prog_pop(prog *p) {
    ASSERT(p->scope_depth > 0);
    p->scope[p->scope_ends[--p->scope_depth]] = '\0';
}

static const char *prog_scope_text(prog *p) {
    // Neighbouring records share one copy of their scope's name.
    if (p->record_count > 0) {
        const char *last = p->records[p->record_count - 1].scope;
        if (strcmp(last, p->scope) == 0) return last;
    }
    return arena_printf(&p->arena, "%s", p->scope);
}

val prog_emit(prog *p, uint16_t op, const val *in, size_t inputs, const void *params, size_t params_size,
              struct shape out_shape, enum dtype out_dtype) {
    ASSERT(inputs <= RECORD_INPUTS && params_size <= RECORD_PARAMS);
    const val out =
        prog_add_value(p, (struct value){.kind = VALUE_TEMP, .shape = out_shape, .dtype = out_dtype});
    if (out == 0) return 0;
    const char *scope = prog_scope_text(p);
    if (!scope || !mem_grow((void **)&p->records, &p->record_cap, p->record_count + 1, sizeof *p->records)) {
        error_memory(&p->error, "program");
        return 0;
    }
    struct record *r = &p->records[p->record_count++];
    *r = (struct record){.op = op, .inputs = (uint8_t)inputs, .out = out, .scope = scope};
    memcpy(r->in, in, inputs * sizeof *in);
    if (params_size > 0) memcpy(r->params, params, params_size);
    if (p->on_emit) p->on_emit(p->on_emit_ctx, p, r);
    return out;
}

const struct value *prog_value(const prog *p, val v) {
    ASSERT(v < p->value_count);
    return &p->values[v];
}
