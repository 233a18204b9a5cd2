// memory: when each record runs, and where each temporary lives.
#include "exec/exec.h"

#include <stdlib.h>

// A temporary, or several that take turns in one place (an op that works in place): then `root` is the first of
// them, whose span covers all.
struct span_of_life {
    val root;
    uint32_t first, last; // stages
    size_t bytes;
};

static sabok_status memory_stages(struct memory_plan *m, const prog *p) {
    // ready[v]: the first stage in which v may be read. Stages follow the order of records, so that a stage
    // is a run of neighbouring records.
    uint32_t *ready = mem_zalloc((p->value_count + 1) * sizeof *ready);
    if (!ready) return SABOK_ENOMEM;
    uint32_t stage = 0;
    for (size_t i = 0; i < p->record_count; i++) {
        const struct record *r = &p->records[i];
        for (size_t j = 0; j < r->inputs; j++)
            if (ready[r->in[j]] > stage) stage = ready[r->in[j]];
        m->stage[i] = stage;
        ready[r->out] = stage + 1;
    }
    m->stages = p->record_count ? stage + 1 : 0;
    mem_free(ready);
    return SABOK_OK;
}

// Reads of a value inside one stage, by records other than `but`.
static bool memory_read_elsewhere(const struct memory_plan *m, const prog *p, val v, size_t but) {
    for (size_t i = 0; i < p->record_count; i++) {
        if (i == but || m->stage[i] != m->stage[but]) continue;
        for (size_t j = 0; j < p->records[i].inputs; j++)
            if (p->records[i].in[j] == v) return true;
    }
    return false;
}

static bool memory_same_rows(const struct value *a, const struct value *b) {
    return a->dtype == b->dtype && shape_equal(&a->shape, &b->shape);
}

// The value whose memory record i's output takes over, or 0.
static val memory_in_place(const struct memory_plan *m, const prog *p, const struct span_of_life *life,
                           size_t i) {
    const struct record *r = &p->records[i];
    const unsigned allowed = op_rules(r->op)->in_place;
    const struct value *out = &p->values[r->out];
    if (out->kind != VALUE_TEMP) return 0;
    for (size_t j = 0; j < r->inputs; j++) {
        const val v = r->in[j];
        if (!(allowed >> j & 1) || v == 0 || p->values[v].kind != VALUE_TEMP || p->values[v].tapped) continue;
        if (!memory_same_rows(&p->values[v], out) || life[v].last != m->stage[i]) continue;
        // The memory must not be in use by a later turn of the same place.
        if (life[life[v].root].last != m->stage[i] || memory_read_elsewhere(m, p, v, i)) continue;
        return v;
    }
    return 0;
}

static int memory_compare(const void *a, const void *b) {
    const struct span_of_life *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->root < y->root ? -1 : x->root > y->root;
}

// Largest first, each at the lowest place that is free for all of its life.
static void memory_place(struct memory_plan *m, struct span_of_life *spans, size_t count) {
    qsort(spans, count, sizeof *spans, memory_compare);
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        for (bool moved = true; moved;) {
            moved = false;
            for (size_t j = 0; j < i; j++) {
                const size_t begin = m->offset[spans[j].root], end = begin + spans[j].bytes;
                const bool alive = spans[j].first <= spans[i].last && spans[i].first <= spans[j].last;
                if (alive && at < end && begin < at + spans[i].bytes) {
                    at = end;
                    moved = true;
                }
            }
        }
        m->offset[spans[i].root] = at;
        m->bytes = size_max(m->bytes, at + spans[i].bytes);
    }
}

static sabok_status memory_lives(const struct memory_plan *m, const prog *p, size_t T, size_t B,
                                 struct span_of_life *life, sabok_error *err) {
    for (size_t v = 0; v < p->value_count; v++)
        life[v] = (struct span_of_life){.root = (val)v};
    for (size_t i = 0; i < p->record_count; i++) {
        const struct record *r = &p->records[i];
        const struct value *out = &p->values[r->out];
        size_t bytes;
        if (!mul_ok(out->shape.dim[0] == DIM_T ? T : B, value_row_bytes(out), &bytes) || bytes > SIZE_MAX / 4)
            return error_set(err, SABOK_ESHAPE, r->scope,
                             "a batch of %zu tokens does not fit the address space", T);
        life[r->out].first = life[r->out].last = m->stage[i];
        life[r->out].bytes = round_up(size_max(bytes, 1), 64);
        for (size_t j = 0; j < r->inputs; j++)
            life[r->in[j]].last = m->stage[i];
    }
    for (size_t i = 0; i < p->record_count; i++) {
        const val out = p->records[i].out, in = memory_in_place(m, p, life, i);
        if (in == 0) continue;
        const val root = life[out].root = life[in].root;
        if (life[out].last > life[root].last) life[root].last = life[out].last;
    }
    return SABOK_OK;
}

static sabok_status memory_offsets(struct memory_plan *m, const prog *p, size_t T, size_t B,
                                   sabok_error *err) {
    struct span_of_life *life = mem_array(2 * p->value_count, sizeof *life);
    sabok_status status = life ? memory_lives(m, p, T, B, life, err) : error_memory(err, "plan");
    if (status == SABOK_OK) {
        struct span_of_life *spans = life + p->value_count;
        size_t count = 0;
        for (size_t i = 0; i < p->record_count; i++) {
            const val out = p->records[i].out;
            if (p->values[out].kind == VALUE_TEMP && life[out].root == out) spans[count++] = life[out];
        }
        memory_place(m, spans, count);
        for (size_t i = 0; i < p->record_count; i++)
            m->offset[p->records[i].out] = m->offset[life[p->records[i].out].root];
    }
    mem_free(life);
    return status;
}

sabok_status memory_plan_make(struct memory_plan *m, const prog *p, size_t T, size_t B, sabok_error *err) {
    *m = (struct memory_plan){
        .stage = mem_array(p->record_count, sizeof *m->stage),
        .offset = mem_array(p->value_count, sizeof *m->offset),
    };
    sabok_status status = m->stage && m->offset ? memory_stages(m, p) : SABOK_ENOMEM;
    if (status == SABOK_OK) {
        for (size_t v = 0; v < p->value_count; v++)
            m->offset[v] = SIZE_MAX;
        status = memory_offsets(m, p, T, B, err);
    } else {
        error_memory(err, "plan");
    }
    if (status != SABOK_OK) memory_plan_free(m);
    return status;
}

void memory_plan_free(struct memory_plan *m) {
    mem_free(m->stage);
    mem_free(m->offset);
    *m = (struct memory_plan){0};
}
