// load: weights from a model folder, or random ones.
#include "model/model.h"

#include <string.h>

struct load_visitor {
    struct visitor v;
    struct sabok_model *m;
    struct buf missing;
    size_t missing_count;
    sabok_error *err;
};

// Old checkpoints call a norm's weights gamma and beta.
static const struct tensor_entry *load_find_old(const struct tensor_store *store, const char *name) {
    static const char *const renamed[][2] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                                             {"LayerNorm.bias", "LayerNorm.beta"}};
    const size_t n = strlen(name);
    for (size_t i = 0; i < COUNT(renamed); i++) {
        const size_t tail = strlen(renamed[i][0]);
        char old[512];
        if (n < tail || strcmp(name + n - tail, renamed[i][0]) != 0) continue;
        snprintf(old, sizeof old, "%.*s%s", (int)(n - tail), name, renamed[i][1]);
        return store_find(store, old);
    }
    return NULL;
}

static const struct tensor_entry *load_find(const struct tensor_store *store, const char *prefix,
                                            const char *name) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const char *const tries[] = {name, full};
    for (size_t i = 0; i < COUNT(tries); i++) {
        const struct tensor_entry *e = store_find(store, tries[i]);
        if (!e) e = load_find_old(store, tries[i]);
        if (e) return e;
    }
    return NULL;
}

static bool load_floating(enum dtype t) {
    return t == DT_F32 || t == DT_F16 || t == DT_BF16 || t == DT_F64;
}

static sabok_status load_check(const struct tensor_store *store, const struct tensor_entry *e,
                               const struct weight_spec *spec, sabok_error *err) {
    char have[SHAPE_TEXT], want[SHAPE_TEXT];
    if (!shape_equal(&e->shape, &spec->shape))
        return error_at(err, SABOK_ESHAPE, store_path(store, e), e->begin,
                        "tensor \"%s\" has shape %s, expected %s by config.json", e->name,
                        shape_text(&e->shape, have), shape_text(&spec->shape, want));
    if (!load_floating(e->dtype))
        return error_at(err, SABOK_EFORMAT, store_path(store, e), e->begin,
                        "tensor \"%s\" has type %s, expected F32, F16, BF16 or F64", e->name,
                        dtype_name(e->dtype));
    return SABOK_OK;
}

// Leaves f32 values where they can be used as they lie in the file, or where the weight is not going to be
// packed.
static sabok_status load_values(struct weight *w, const struct tensor_entry *e, sabok_error *err) {
    w->stored = e->dtype;
    w->data = e->data;
    w->stored_bytes = e->bytes;
    if (e->dtype == DT_F32 && (uintptr_t)e->data % sizeof(float) == 0) {
        w->f32 = (const float *)(const void *)e->data;
        return SABOK_OK;
    }
    if (w->role == WEIGHT_LINEAR) return SABOK_OK;
    const size_t n = (size_t)e->bytes / dtype_bytes(e->dtype);
    w->owned_bytes = size_max(n, 1) * sizeof(float);
    w->owned = mem_map(w->owned_bytes);
    if (!w->owned) return error_memory(err, w->name);
    dtype_to_f32(w->owned, e->data, e->dtype, n);
    w->f32 = w->owned;
    return SABOK_OK;
}

static bool load_name(struct sabok_model *m, struct weight *w, const struct weight_spec *spec) {
    w->name = arena_copy(&m->names, spec->name, strlen(spec->name));
    w->role = spec->role;
    w->shape = spec->shape;
    size_t items = 0;
    shape_count(&spec->shape, 0, 0, &items);
    m->parameters += items;
    return w->name != NULL;
}

// "2_Dense.linear.weight" lives in that module's own store as "linear.weight".
static const struct tensor_store *load_store(const struct sabok_model *m, const struct weight *w,
                                             const char **name) {
    for (size_t i = 0; i < m->dense_count; i++)
        if (w == &m->dense[i].linear.w || w == &m->dense[i].linear.b) {
            *name = strchr(*name, '.') + 1;
            return m->dense[i].store;
        }
    return m->store;
}

static sabok_status load_visit(struct visitor *v, struct weight *w, const struct weight_spec *spec) {
    struct load_visitor *l = (struct load_visitor *)(void *)v;
    const char *name = spec->name;
    const struct tensor_store *store = load_store(l->m, w, &name);
    const struct tensor_entry *e = load_find(store, store == l->m->store ? l->m->family->prefix : "", name);
    if (!e && spec->optional) return SABOK_OK;
    if (!load_name(l->m, w, spec)) return error_memory(l->err, l->m->folder);
    if (!e) {
        if (l->missing_count++ < 6)
            buf_printf(&l->missing, "%s\"%s\"", l->missing_count > 1 ? ", " : "", spec->name);
        return SABOK_OK;
    }
    TRY(load_check(store, e, spec, l->err));
    return load_values(w, e, l->err);
}

sabok_status model_load(struct sabok_model *m, sabok_error *err) {
    struct load_visitor l = {.v = {.visit = load_visit}, .m = m, .err = err};
    model_weights(m, &l.v);
    if (l.v.status == SABOK_OK && l.missing.failed) l.v.status = error_memory(err, m->folder);
    if (l.v.status == SABOK_OK && l.missing_count > 0)
        l.v.status =
            error_set(err, SABOK_ENOTFOUND, m->folder, "%zu weights are missing: %.*s%s", l.missing_count,
                      (int)l.missing.size, l.missing.data, l.missing_count > 6 ? ", ..." : "");
    buf_free(&l.missing);
    return l.v.status;
}

// ---- names

struct names_visitor {
    struct visitor v;
    const struct sabok_model *m;
    struct model_names *out;
    bool *used; // [store_count]
};

static void names_add(struct buf *b, size_t *count, const char *name) {
    char shown[QUOTE_TEXT];
    if ((*count)++ < NAMES_LISTED)
        buf_printf(b, "%s\"%s\"", *count > 1 ? ", " : "", quote_text(name, strlen(name), shown));
}

static sabok_status names_visit(struct visitor *v, struct weight *w, const struct weight_spec *spec) {
    struct names_visitor *n = (struct names_visitor *)(void *)v;
    const char *name = spec->name;
    const struct tensor_store *store = load_store(n->m, w, &name);
    const bool own = store == n->m->store;
    const struct tensor_entry *e = load_find(store, own ? n->m->family->prefix : "", name);
    if (e && own) n->used[e - store_get(store, 0)] = true;
    if (!e && !spec->optional) names_add(&n->out->missing, &n->out->missing_count, spec->name);
    return SABOK_OK;
}

sabok_status model_compare_names(struct sabok_model *m, struct model_names *out, sabok_error *err) {
    struct names_visitor n = {.v = {.visit = names_visit}, .m = m, .out = out};
    n.used = mem_zalloc(store_count(m->store));
    if (!n.used) return error_memory(err, m->folder);
    model_weights(m, &n.v);
    for (size_t i = 0; i < store_count(m->store); i++)
        if (!n.used[i]) names_add(&out->unused, &out->unused_count, store_get(m->store, i)->name);
    mem_free(n.used);
    return SABOK_OK;
}

void model_drop_packed(void *ctx, const struct weight *w) {
    const struct sabok_model *m = ctx;
    const char *name = w->name;
    const struct tensor_store *store = load_store(m, w, &name);
    if (!store) return; // random weights
    const struct tensor_entry *e = load_find(store, store == m->store ? m->family->prefix : "", name);
    if (e) store_drop(store, e);
}

// ---- random weights
struct random_visitor {
    struct visitor v;
    struct sabok_model *m;
    uint64_t seed, stream;
    sabok_error *err;
};

struct random_job {
    float *out;
    size_t n;
    uint64_t seed, stream;
    float scale, shift;
};

// Uniform with the deviation 0.02 that BERT starts from; gains about 1.
static void random_fill(void *ctx, unsigned thread, unsigned threads) {
    const struct random_job *job = ctx;
    const size_t groups = (job->n + 3) / 4;
    for (size_t g = groups * thread / threads; g < groups * (thread + 1) / threads; g++) {
        uint32_t bits[4];
        rng_philox(job->seed, job->stream, g, bits);
        for (size_t i = 0; i < 4 && g * 4 + i < job->n; i++)
            job->out[g * 4 + i] = ((float)(bits[i] >> 8) * 0x1p-23f - 1.0f) * job->scale + job->shift;
    }
}

static sabok_status random_visit(struct visitor *v, struct weight *w, const struct weight_spec *spec) {
    struct random_visitor *r = (struct random_visitor *)(void *)v;
    if (spec->optional) return SABOK_OK;
    if (!load_name(r->m, w, spec)) return error_memory(r->err, r->m->name);
    size_t n = 0;
    if (!shape_count(&spec->shape, 0, 0, &n) || !mul_ok(n, sizeof(float), &w->owned_bytes) || n == 0 ||
        !(w->owned = mem_map(w->owned_bytes)))
        return error_memory(r->err, r->m->name);
    struct random_job job = {.out = w->owned,
                             .n = n,
                             .seed = r->seed,
                             .stream = r->stream++,
                             .scale = 0.035f,
                             .shift = spec->role == WEIGHT_GAIN ? 1.0f : 0.0f};
    team_run(r->m->team, team_size(r->m->team), random_fill, &job);
    w->f32 = w->owned;
    w->data = w->owned;
    w->stored = DT_F32;
    w->stored_bytes = w->owned_bytes;
    return SABOK_OK;
}

sabok_status model_randomize(struct sabok_model *m, uint64_t seed, sabok_error *err) {
    struct random_visitor r = {.v = {.visit = random_visit}, .m = m, .seed = seed, .err = err};
    model_weights(m, &r.v);
    return r.v.status;
}
