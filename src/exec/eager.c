// eager: runs each record as it is emitted, unfused, one thread, every value in memory of its own. For
// debugging: a fault shows at the line of the model that made the record.
#include "exec/exec.h"

#include <string.h>

struct eager {
    struct batch batch;
    struct attention_block *blocks;
    size_t block_count;
    float **memory; // by val
    size_t memory_cap;
    struct pack_set *packs;
    sabok_error *err;
    sabok_status status;
};

static void eager_free(struct eager *e) {
    for (size_t v = 0; v < e->memory_cap; v++)
        mem_free(e->memory[v]);
    mem_free(e->memory);
    mem_free(e->blocks);
    pack_free(e->packs);
    mem_free(e);
}

static bool eager_grow(struct eager *e, size_t values) {
    const size_t before = e->memory_cap;
    if (!mem_grow((void **)&e->memory, &e->memory_cap, values, sizeof *e->memory)) return false;
    if (e->memory_cap > before) memset(e->memory + before, 0, (e->memory_cap - before) * sizeof *e->memory);
    return true;
}

static void eager_addresses(const struct eager *e, const prog *p, void **address) {
    const void *inputs[INPUT_COUNT] = {e->batch.ids,     e->batch.types, e->batch.positions,
                                       e->batch.offsets, e->batch.skip,  e->batch.rows};
    for (size_t v = 1; v < p->value_count; v++) {
        const struct value *value = &p->values[v];
        address[v] = value->kind == VALUE_INPUT    ? (void *)(uintptr_t)inputs[value->slot]
                     : value->kind == VALUE_WEIGHT ? (void *)(uintptr_t)value->weight->f32
                                                   : e->memory[v];
    }
}

static sabok_status eager_run(struct eager *e, const prog *p, const struct record *r) {
    size_t items;
    if (!eager_grow(e, p->value_count) ||
        !shape_count(&p->values[r->out].shape, e->batch.T, e->batch.B, &items))
        return error_memory(e->err, r->scope);
    e->memory[r->out] = mem_array(size_max(items, 1), sizeof(float));
    void **address = mem_zalloc(p->value_count * sizeof *address);
    sabok_status status = e->memory[r->out] && address ? SABOK_OK : error_memory(e->err, r->scope);
    if (status == SABOK_OK) eager_addresses(e, p, address);
    struct step step = {.record = r, .kernel = kernel_best(record_family(p, r))};
    if (status == SABOK_OK && r->op == OP_LINEAR) {
        status = pack_program(e->packs, p, NULL, NULL, NULL, e->err);
        step.packed = pack_find(e->packs, p, r);
    }
    if (status == SABOK_OK) {
        const struct run_view view = {p, e->batch.T, e->batch.B, address, e->blocks, e->block_count, 1};
        op_rules(r->op)->bind(&view, &step);
        step_run(&step, 0, step.units);
    }
    mem_free(address);
    return status;
}

static void eager_emit(void *ctx, prog *p, struct record *r) {
    struct eager *e = ctx;
    if (e->status == SABOK_OK) e->status = eager_run(e, p, r);
}

struct eager *eager_attach(prog *p, const struct batch *batch, sabok_error *err) {
    struct eager *e = mem_zalloc(sizeof *e);
    if (e) {
        *e = (struct eager){.batch = *batch, .err = err, .packs = pack_new()};
        e->blocks = mem_array(attention_blocks_most(batch->T, batch->B), sizeof *e->blocks);
    }
    if (!e || !e->packs || !e->blocks) {
        error_memory(err, "eager");
        if (e) eager_free(e);
        return NULL;
    }
    attention_blocks_make(batch, e->blocks, &e->block_count);
    p->on_emit = eager_emit;
    p->on_emit_ctx = e;
    return e;
}

sabok_status eager_finish(struct eager *e, const prog *p, float *const *outputs, sabok_error *err) {
    sabok_status status = e->status;
    if (status == SABOK_OK && p->error.code != SABOK_OK) {
        if (err) *err = p->error;
        status = p->error.code;
    }
    for (size_t v = 1; status == SABOK_OK && v < p->value_count; v++) {
        const struct value *value = &p->values[v];
        size_t items;
        if (value->kind != VALUE_OUTPUT || !shape_count(&value->shape, e->batch.T, e->batch.B, &items))
            continue;
        memcpy(outputs[value->slot], e->memory[v], items * sizeof(float));
    }
    eager_free(e);
    return status;
}
