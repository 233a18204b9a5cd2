// run: a plan binds a fused program to kernels and memory once, then runs any batch that fits.
#include "exec/exec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Work that pays for waking one more thread, per stage: about 2 us of one core.
#define RUN_FLOPS_PER_THREAD 2e5

struct plan_counter {
    _Alignas(64) _Atomic size_t next;
};

struct plan {
    const prog *p;
    struct memory_plan memory;
    uint8_t *arena;
    void **address;                // [value_count]
    struct step *steps;            // [record_count]
    struct plan_counter *counters; // [record_count]
    struct attention_block *blocks;
    size_t T, B;
    unsigned threads;
    plan_watch_fn *watch;
    void *watch_ctx;
    bool check;
};

struct plan_run_job {
    struct plan *plan;
    struct team *team;
};

double prog_flops(const prog *p, double T, double B, double pairs) {
    double sum = 0;
    for (size_t i = 0; i < p->record_count; i++) {
        const struct op_rules *rules = op_rules(p->records[i].op);
        if (rules->flops) sum += rules->flops(p, &p->records[i], T, B, pairs);
    }
    return sum;
}

bool prog_splits(const prog *p) {
    for (size_t i = 0; i < p->record_count; i++)
        if (op_rules(p->records[i].op)->rows == ROWS_ALL) return false;
    return true;
}

static sabok_status plan_bind(struct plan *plan, struct pack_set *packs, sabok_error *err) {
    const prog *p = plan->p;
    for (size_t i = 0; i < p->record_count; i++) {
        struct step *step = &plan->steps[i];
        const struct record *r = &p->records[i];
        *step = (struct step){
            .record = r, .stage = plan->memory.stage[i], .kernel = kernel_best(record_family(p, r))};
        if (r->op != OP_LINEAR) continue;
        step->packed = pack_find(packs, p, r);
        if (!step->packed) return error_set(err, SABOK_EINVAL, r->scope, "linear weights are not packed");
    }
    for (size_t v = 0; v < p->value_count; v++) {
        const struct value *value = &p->values[v];
        if (plan->memory.offset[v] != SIZE_MAX) plan->address[v] = plan->arena + plan->memory.offset[v];
        if (value->kind == VALUE_WEIGHT) plan->address[v] = (void *)(uintptr_t)value->weight->f32;
    }
    return SABOK_OK;
}

static bool plan_allocate(struct plan *plan) {
    const prog *p = plan->p;
    plan->arena = mem_map(size_max(plan->memory.bytes, 64));
    plan->address = mem_zalloc(p->value_count * sizeof *plan->address);
    plan->steps = mem_zalloc(p->record_count * sizeof *plan->steps);
    plan->counters = mem_map(size_max(p->record_count, 1) * sizeof *plan->counters);
    plan->blocks = mem_array(attention_blocks_most(plan->T, plan->B), sizeof *plan->blocks);
    return plan->arena && plan->address && plan->steps && plan->counters && plan->blocks;
}

struct plan *plan_new(const prog *p, struct pack_set *packs, size_t T, size_t B, unsigned threads,
                      sabok_error *err) {
    if (p->error.code != SABOK_OK) {
        if (err) *err = p->error;
        return NULL;
    }
    ASSERT(T <= UINT32_MAX && B <= UINT32_MAX);
    struct plan *plan = mem_zalloc(sizeof *plan);
    if (!plan) {
        error_memory(err, "plan");
        return NULL;
    }
    *plan = (struct plan){.p = p, .T = T, .B = B, .threads = threads ? threads : 1};
    const char *check = getenv("SABOK_CHECK");
    plan->check = check && strcmp(check, "0") != 0 && *check;
    sabok_status status = memory_plan_make(&plan->memory, p, T, B, err);
    if (status == SABOK_OK)
        status = plan_allocate(plan) ? plan_bind(plan, packs, err) : error_memory(err, "plan");
    if (status != SABOK_OK) {
        plan_free(plan);
        return NULL;
    }
    return plan;
}

void plan_free(struct plan *plan) {
    if (!plan) return;
    if (plan->arena) mem_unmap(plan->arena, size_max(plan->memory.bytes, 64));
    if (plan->counters)
        mem_unmap(plan->counters, size_max(plan->p->record_count, 1) * sizeof *plan->counters);
    mem_free(plan->address);
    mem_free(plan->steps);
    mem_free(plan->blocks);
    memory_plan_free(&plan->memory);
    mem_free(plan);
}

size_t plan_tokens(const struct plan *plan) {
    return plan->T;
}

size_t plan_sequences(const struct plan *plan) {
    return plan->B;
}

size_t plan_bytes(const struct plan *plan) {
    return plan->memory.bytes;
}

void plan_watch(struct plan *plan, plan_watch_fn *fn, void *ctx) {
    plan->watch = fn;
    plan->watch_ctx = ctx;
}

// Query blocks of about equal height, so that the last one is not a sliver. Returns the sum of squared
// lengths.
double attention_blocks_make(const struct batch *batch, struct attention_block *blocks, size_t *count) {
    double pairs = 0;
    size_t n = 0;
    for (size_t b = 0; b < batch->B; b++) {
        const uint32_t first = batch->offsets[b], length = batch->offsets[b + 1] - first;
        const uint32_t parts = (length + ATTENTION_ROWS - 1) / ATTENTION_ROWS;
        pairs += (double)length * length;
        for (uint32_t i = 0, at = 0; i < parts; i++) {
            const uint32_t rows = (length - at + (parts - i) - 1) / (parts - i);
            blocks[n++] = (struct attention_block){first + at, rows, first, length};
            at += rows;
        }
    }
    *count = n;
    return pairs;
}

static void plan_prepare(struct plan *plan, const struct batch *batch, float *const *outputs,
                         unsigned most_threads, unsigned *threads) {
    const void *inputs[INPUT_COUNT] = {batch->ids,     batch->types, batch->positions,
                                       batch->offsets, batch->skip,  batch->rows};
    const prog *p = plan->p;
    for (size_t v = 1; v < p->value_count; v++) {
        const struct value *value = &p->values[v];
        if (value->kind == VALUE_INPUT) plan->address[v] = (void *)(uintptr_t)inputs[value->slot];
        if (value->kind == VALUE_OUTPUT) plan->address[v] = outputs[value->slot];
    }
    struct run_view view = {
        .p = p, .T = batch->T, .B = batch->B, .address = plan->address, .blocks = plan->blocks};
    const double pairs = attention_blocks_make(batch, plan->blocks, &view.block_count);
    const double flops = prog_flops(p, (double)batch->T, (double)batch->B, pairs);
    const double worth = flops / (RUN_FLOPS_PER_THREAD * (plan->memory.stages + 1));
    *threads = worth < 1 ? 1 : worth < most_threads ? (unsigned)worth : most_threads;
    view.threads = *threads;
    for (size_t i = 0; i < p->record_count; i++) {
        op_rules(p->records[i].op)->bind(&view, &plan->steps[i]);
        atomic_store_explicit(&plan->counters[i].next, 0, memory_order_relaxed);
    }
}

// One thread's share: it takes units of each record of a stage until none is left, then waits for the others.
static void plan_work(void *ctx, unsigned thread, unsigned threads) {
    (void)thread, (void)threads;
    const struct plan_run_job *job = ctx;
    struct plan *plan = job->plan;
    for (size_t i = 0; i < plan->p->record_count; i++) {
        const struct step *step = &plan->steps[i];
        if (i > 0 && step->stage != plan->steps[i - 1].stage) team_barrier(job->team);
        for (;;) {
            const size_t begin =
                atomic_fetch_add_explicit(&plan->counters[i].next, step->grain, memory_order_relaxed);
            if (begin >= step->units) break;
            step_run(step, begin, size_min(begin + step->grain, step->units));
        }
    }
}

static sabok_status plan_check_output(const struct plan *plan, const struct record *r, size_t rows,
                                      sabok_error *err) {
    const struct value *v = &plan->p->values[r->out];
    if (v->dtype == DT_I8) return SABOK_OK; // rounded from numbers that have been looked at
    const size_t D = (size_t)v->shape.dim[1], stride = value_row_bytes(v), size = dtype_bytes(v->dtype);
    const uint8_t *out = plan->address[r->out];
    for (size_t i = 0; i < rows * D; i++) {
        float x;
        dtype_to_f32(&x, out + i / D * stride + i % D * size, v->dtype, 1);
        if (isfinite(x)) continue;
        return error_set(err, SABOK_ENUMERIC, v->name ? v->name : r->scope,
                         "%s made %s at row %zu, column %zu, expected finite numbers", op_name(r->op),
                         isnan(x) ? "a NaN" : "an infinity", i / D, i % D);
    }
    return SABOK_OK;
}

static sabok_status plan_run_watched(struct plan *plan, const struct batch *batch, sabok_error *err) {
    for (size_t i = 0; i < plan->p->record_count; i++) {
        const struct step *step = &plan->steps[i];
        step_run(step, 0, step->units);
        const struct record *r = step->record;
        const struct value *v = &plan->p->values[r->out];
        const size_t rows = v->shape.dim[0] == DIM_T ? batch->T : batch->B, D = (size_t)v->shape.dim[1];
        if (plan->check) TRY(plan_check_output(plan, r, rows, err));
        if (plan->watch && v->dtype == DT_F32 &&
            plan->watch(plan->watch_ctx, plan->p, r, plan->address[r->out], rows, D) != 0)
            return error_set(err, SABOK_ECANCELED, r->scope, "stopped by the caller");
    }
    return SABOK_OK;
}

sabok_status plan_run(struct plan *plan, const struct batch *batch, float *const *outputs, struct team *team,
                      sabok_error *err) {
    ASSERT(batch->T <= plan->T && batch->B <= plan->B);
    if (batch->B == 0) return SABOK_OK;
    const unsigned most = team ? (unsigned)size_min(team_size(team), plan->threads) : 1;
    unsigned threads;
    plan_prepare(plan, batch, outputs, plan->watch || plan->check ? 1 : most, &threads);
    if (plan->watch || plan->check) return plan_run_watched(plan, batch, err);
    if (threads > 1) {
        struct plan_run_job job = {plan, team};
        team_run(team, threads, plan_work, &job);
    } else {
        for (size_t i = 0; i < plan->p->record_count; i++)
            step_run(&plan->steps[i], 0, plan->steps[i].units);
    }
    return SABOK_OK;
}

const prog *plan_prog(const struct plan *plan) {
    return plan->p;
}

const struct step *plan_step(const struct plan *plan, size_t i) {
    return &plan->steps[i];
}

const struct memory_plan *plan_memory(const struct plan *plan) {
    return &plan->memory;
}
