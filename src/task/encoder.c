// encoder: the layers alone over raw pointers, for hosts that have weights and hidden states of their own.
#include "task/task.h"

#include <string.h>

struct sabok_encoder {
    sabok_model *m;
};

// The caller's layers pose as a family: the same programs, plans and sessions serve them.
static const struct layer_names encoder_names = {
    .q = "query",
    .k = "key",
    .v = "value",
    .out = "output",
    .attention_norm = "attention_norm",
    .up = "up",
    .down = "down",
    .output_norm = "output_norm",
};

static void encoder_weights(struct encoder_w *w, const struct encoder_config *c, struct visitor *v) {
    for (size_t i = 0; i < c->L; i++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "layer.%zu.", i);
        visit_layer(v, &w->layers[i], c, prefix, &encoder_names);
    }
}

static const struct model_family encoder_family = {
    .model_type = "encoder", .prefix = "", .weights = encoder_weights, .forward = block_encoder};

static sabok_status encoder_config_fill(struct encoder_config *c, const sabok_encoder_opts *opts,
                                        sabok_error *err) {
    const char *where = "sabok_encoder_new";
    const struct {
        const char *name;
        size_t value;
    } sizes[] = {
        {"num_layers", opts->num_layers},
        {"hidden_size", opts->hidden_size},
        {"num_heads", opts->num_heads},
        {"intermediate_size", opts->intermediate_size},
    };
    for (size_t i = 0; i < COUNT(sizes); i++)
        if (sizes[i].value == 0 || sizes[i].value > 1u << 18)
            return error_set(err, SABOK_EINVAL, where, "%s is %zu, expected 1 to 262144", sizes[i].name,
                             sizes[i].value);
    if (opts->hidden_size % opts->num_heads != 0)
        return error_set(err, SABOK_EINVAL, where, "hidden_size %zu is not a multiple of num_heads %zu",
                         opts->hidden_size, opts->num_heads);
    *c = (struct encoder_config){
        .D = opts->hidden_size,
        .E = opts->hidden_size,
        .L = opts->num_layers,
        .H = opts->num_heads,
        .F = opts->intermediate_size,
        .stored_layers = opts->num_layers,
        .positions = UINT32_MAX,
        .eps = opts->layer_norm_eps > 0 ? (float)opts->layer_norm_eps : 1e-12f,
        .act = ACT_GELU,
    };
    return opts->hidden_act ? act_find(opts->hidden_act, where, &c->act, err) : SABOK_OK;
}

// Linear weights are packed from the caller's memory; the rest is copied, as it is read at every run.
static sabok_status encoder_vector(sabok_model *m, struct weight *w, size_t n, const float *data,
                                   sabok_error *err) {
    float *copy = arena_alloc(&m->names, n * sizeof *copy);
    if (!copy) return error_memory(err, m->name);
    memcpy(copy, data, n * sizeof *copy);
    w->name = "bias";
    w->shape = (struct shape){1, {(int64_t)n}};
    w->f32 = copy;
    return SABOK_OK;
}

static sabok_status encoder_linear(sabok_model *m, struct linear_w *l, const size_t size[2],
                                   const float *const data[2], sabok_error *err) {
    if (!data[0]) return error_set(err, SABOK_EINVAL, "sabok_encoder_new", "a weight matrix is NULL");
    l->w = (struct weight){
        .name = "weight", .role = WEIGHT_LINEAR, .stored = DT_F32, .data = data[0], .f32 = data[0]};
    l->w.shape = (struct shape){2, {(int64_t)size[0], (int64_t)size[1]}};
    return data[1] ? encoder_vector(m, &l->b, size[0], data[1], err) : SABOK_OK;
}

static sabok_status encoder_layer(sabok_model *m, struct layer_w *l, const sabok_layer_weights *w,
                                  sabok_error *err) {
    const size_t D = (size_t)m->config.D, F = (size_t)m->config.F;
    const struct {
        struct linear_w *to;
        size_t size[2];
        const float *data[2];
    } linear[] = {
        {&l->q, {D, D}, {w->query, w->query_bias}}, {&l->k, {D, D}, {w->key, w->key_bias}},
        {&l->v, {D, D}, {w->value, w->value_bias}}, {&l->out, {D, D}, {w->output, w->output_bias}},
        {&l->up, {F, D}, {w->up, w->up_bias}},      {&l->down, {D, F}, {w->down, w->down_bias}},
    };
    for (size_t i = 0; i < COUNT(linear); i++)
        TRY(encoder_linear(m, linear[i].to, linear[i].size, linear[i].data, err));
    const struct {
        struct weight *to;
        const float *data;
    } norm[] = {
        {&l->attention_norm.gain, w->attention_gain},
        {&l->attention_norm.bias, w->attention_bias},
        {&l->output_norm.gain, w->output_gain},
        {&l->output_norm.bias, w->output_norm_bias},
    };
    for (size_t i = 0; i < COUNT(norm); i++) {
        if (!norm[i].data)
            return error_set(err, SABOK_EINVAL, "sabok_encoder_new", "a weight of a norm is NULL");
        TRY(encoder_vector(m, norm[i].to, D, norm[i].data, err));
    }
    return SABOK_OK;
}

static sabok_status encoder_build(sabok_model *m, const sabok_encoder_opts *opts,
                                  const sabok_layer_weights *layers, sabok_error *err) {
    TRY(encoder_config_fill(&m->config, opts, err));
    m->family = &encoder_family;
    m->weights.layers = mem_zalloc(m->config.L * sizeof *m->weights.layers);
    if (!m->weights.layers) return error_memory(err, m->name);
    for (size_t i = 0; i < m->config.L; i++)
        TRY(encoder_layer(m, &m->weights.layers[i], &layers[i], err));
    return model_prog(m, PROGRAM_LAYERS, err) ? SABOK_OK : err->code;
}

sabok_encoder *sabok_encoder_new(const sabok_encoder_opts *opts, const sabok_layer_weights *layers,
                                 sabok_error *err) {
    sabok_error ignored;
    if (!err) err = &ignored;
    *err = (sabok_error){.offset = SABOK_NO_OFFSET};
    if (!opts || !layers) {
        error_set(err, SABOK_EINVAL, "sabok_encoder_new", "opts or layers is NULL");
        return NULL;
    }
    sabok_encoder *e = mem_zalloc(sizeof *e);
    if (!e) {
        error_memory(err, "encoder");
        return NULL;
    }
    e->m = model_new("encoder", strlen("encoder"), opts->threads, opts->pin, err);
    if (e->m && encoder_build(e->m, opts, layers, err) == SABOK_OK) return e;
    sabok_encoder_free(e);
    return NULL;
}

void sabok_encoder_free(sabok_encoder *e) {
    if (!e) return;
    sabok_close(e->m);
    mem_free(e);
}

sabok_status sabok_encoder_run(const sabok_encoder *e, const float *in, const size_t *offsets, size_t B,
                               float *out, sabok_error *err) {
    struct sequences s = {0};
    sabok_status status = SABOK_OK;
    for (size_t b = 0; b < B && status == SABOK_OK; b++)
        if (offsets[b + 1] < offsets[b] || offsets[b + 1] > UINT32_MAX / 2 || offsets[0] != 0)
            status = error_set(err, SABOK_EINVAL, "sabok_encoder_run",
                               "sequence %zu runs from row %zu to %zu, expected rising offsets from 0", b,
                               offsets[b], offsets[b + 1]);
    if (status == SABOK_OK && !sequences_reserve(&s, B)) status = error_memory(err, "encoder");
    for (size_t b = 0; status == SABOK_OK && b < B; b++) {
        s.ids[b] = s.types[b] = NULL;
        s.length[b] = (uint32_t)(offsets[b + 1] - offsets[b]);
    }
    const struct sequences_run run = {.kind = PROGRAM_LAYERS, .end = B, .out = out, .rows = in};
    if (status == SABOK_OK) status = sequences_compute(&s, e->m, &run, err);
    sequences_free(&s);
    return status;
}

// Rows with a token, one after another; offsets [B + 1]. Returns how many.
static size_t padded_offsets(const uint8_t *mask, size_t B, size_t S, size_t *offsets) {
    size_t rows = 0;
    for (size_t b = 0; b < B; b++) {
        offsets[b] = rows;
        for (size_t i = 0; i < S; i++)
            rows += !mask || mask[b * S + i];
    }
    offsets[B] = rows;
    return rows;
}

sabok_status sabok_encoder_run_padded(const sabok_encoder *e, const float *in, const uint8_t *mask, size_t B,
                                      size_t S, float *out, sabok_error *err) {
    const size_t D = (size_t)e->m->config.D;
    size_t *offsets = mem_array(B + 1, sizeof *offsets);
    if (!offsets) return error_memory(err, "encoder");
    const size_t rows = padded_offsets(mask, B, S, offsets);
    float *packed = mem_array(2 * rows, D * sizeof *packed);
    sabok_status status = packed ? SABOK_OK : error_memory(err, "encoder");
    for (size_t i = 0, at = 0; status == SABOK_OK && i < B * S; i++)
        if (!mask || mask[i]) memcpy(packed + at++ * D, in + i * D, D * sizeof *packed);
    if (status == SABOK_OK) status = sabok_encoder_run(e, packed, offsets, B, packed + rows * D, err);
    for (size_t i = 0, at = rows; status == SABOK_OK && i < B * S; i++) {
        if (!mask || mask[i])
            memcpy(out + i * D, packed + at++ * D, D * sizeof *packed);
        else
            memset(out + i * D, 0, D * sizeof *packed);
    }
    mem_free(packed);
    mem_free(offsets);
    return status;
}
