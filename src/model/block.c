// block: what families share. Visiting a group of weights, and emitting it.
#include "model/model.h"

#include <string.h>

static void visit_named(struct visitor *v, struct weight *w, enum weight_role role, struct shape shape,
                        const char *name, const char *suffix) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", name, suffix);
    const struct weight_spec spec = {.name = full, .role = role, .shape = shape};
    if (v->status == SABOK_OK) v->status = v->visit(v, w, &spec);
}

static struct shape shape_vector(uint64_t n) {
    return (struct shape){.rank = 1, .dim = {(int64_t)n}};
}

static struct shape shape_matrix(uint64_t rows, uint64_t columns) {
    return (struct shape){.rank = 2, .dim = {(int64_t)rows, (int64_t)columns}};
}

void visit_weight(struct visitor *v, struct weight *w, enum weight_role role, struct shape shape,
                  const char *format, ...) {
    char name[256];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    visit_named(v, w, role, shape, name, "");
}

void visit_optional(struct visitor *v, struct weight *w, enum weight_role role, struct shape shape,
                    const char *format, ...) {
    char name[256];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    const struct weight_spec spec = {.name = name, .role = role, .shape = shape, .optional = true};
    if (v->status == SABOK_OK) v->status = v->visit(v, w, &spec);
}

void visit_linear(struct visitor *v, struct linear_w *l, uint64_t out, uint64_t in, const char *format, ...) {
    char name[256];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    visit_named(v, &l->w, WEIGHT_LINEAR, shape_matrix(out, in), name, ".weight");
    visit_named(v, &l->b, WEIGHT_BIAS, shape_vector(out), name, ".bias");
}

void visit_norm(struct visitor *v, struct norm_w *n, uint64_t D, const char *format, ...) {
    char name[256];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    visit_named(v, &n->gain, WEIGHT_GAIN, shape_vector(D), name, ".weight");
    visit_named(v, &n->bias, WEIGHT_BIAS, shape_vector(D), name, ".bias");
}

val block_linear(prog *p, const struct linear_w *l, val x) {
    return op_linear(p, x, prog_weight(p, &l->w), l->b.name ? prog_weight(p, &l->b) : 0);
}

val block_norm(prog *p, const struct norm_w *n, val x, float eps) {
    return op_layer_norm(p, x, prog_weight(p, &n->gain), prog_weight(p, &n->bias), eps);
}

void visit_layer(struct visitor *v, struct layer_w *l, const struct encoder_config *c, const char *prefix,
                 const struct layer_names *names) {
    visit_linear(v, &l->q, c->D, c->D, "%s%s", prefix, names->q);
    visit_linear(v, &l->k, c->D, c->D, "%s%s", prefix, names->k);
    visit_linear(v, &l->v, c->D, c->D, "%s%s", prefix, names->v);
    visit_linear(v, &l->out, c->D, c->D, "%s%s", prefix, names->out);
    visit_norm(v, &l->attention_norm, c->D, "%s%s", prefix, names->attention_norm);
    visit_linear(v, &l->up, c->F, c->D, "%s%s", prefix, names->up);
    visit_linear(v, &l->down, c->D, c->F, "%s%s", prefix, names->down);
    visit_norm(v, &l->output_norm, c->D, "%s%s", prefix, names->output_norm);
}

val block_layer(prog *p, const struct layer_w *l, const struct encoder_config *c, val x, val relative) {
    val a = op_attention(p, block_linear(p, &l->q, x), block_linear(p, &l->k, x), block_linear(p, &l->v, x),
                         relative, c->H);
    a = prog_name(p, block_linear(p, &l->out, a), "attention.out");
    x = block_norm(p, &l->attention_norm, op_add(p, x, a), c->eps);
    val h = prog_name(p, op_act(p, block_linear(p, &l->up, x), c->act), "intermediate");
    h = block_linear(p, &l->down, h);
    return prog_name(p, block_norm(p, &l->output_norm, op_add(p, x, h), c->eps), "out");
}

val block_embeddings(prog *p, const struct encoder_w *w, const struct encoder_config *c) {
    const struct shape tokens = {1, {DIM_T}};
    val tables[3] = {prog_weight(p, &w->word), prog_weight(p, &w->position)};
    val index[3] = {prog_input(p, "ids", DT_I32, tokens, INPUT_IDS),
                    prog_input(p, "positions", DT_I32, tokens, INPUT_POSITIONS)};
    if (c->types > 0) {
        tables[2] = prog_weight(p, &w->type);
        index[2] = prog_input(p, "types", DT_I32, tokens, INPUT_TYPES);
    }
    prog_push(p, "embeddings");
    val x = block_norm(p, &w->norm, op_embed(p, tables, index, c->types > 0 ? 3 : 2), c->eps);
    if (w->project.w.name) x = block_linear(p, &w->project, x);
    prog_name(p, x, "out");
    prog_pop(p);
    return x;
}

val block_layers(prog *p, const struct encoder_w *w, const struct encoder_config *c, val x) {
    const val relative = c->buckets > 0 ? prog_weight(p, &w->relative_tiles) : 0;
    for (size_t i = 0; i < c->L; i++) {
        prog_push(p, "layer.%zu", i);
        x = block_layer(p, &w->layers[i], c, x, relative);
        prog_pop(p);
    }
    return x;
}

val block_encoder(prog *p, const struct encoder_w *w, const struct encoder_config *c) {
    return block_layers(p, w, c, block_embeddings(p, w, c));
}

sabok_status config_bert_keys(const struct config *c, struct encoder_config *out, sabok_error *err) {
    double eps = (double)out->eps;
    TRY(config_u64(c, "vocab_size", 1, 1u << 28, &out->V, err));
    TRY(config_u64(c, "hidden_size", 1, 1u << 16, &out->D, err));
    TRY(config_u64(c, "num_hidden_layers", 1, 1u << 12, &out->L, err));
    TRY(config_u64(c, "num_attention_heads", 1, 1u << 16, &out->H, err));
    TRY(config_u64(c, "intermediate_size", 1, 1u << 18, &out->F, err));
    TRY(config_u64(c, "max_position_embeddings", 1, 1u << 24, &out->positions, err));
    TRY(config_u64(c, "type_vocab_size", 0, 1u << 16, &out->types, err));
    TRY(config_double(c, "layer_norm_eps", 0, 1, &eps, err));
    TRY(config_act(c, "hidden_act", &out->act, err));
    out->eps = (float)eps;
    out->stored_layers = out->L;
    const char *position = "absolute";
    TRY(config_string(c, "position_embedding_type", &position, err));
    if (strcmp(position, "absolute") != 0)
        return error_set(err, SABOK_EUNSUPPORTED, config_where(c),
                         "position_embedding_type is \"%s\"; supported: \"absolute\"", position);
    return SABOK_OK;
}

sabok_status config_check(const struct config *c, const struct encoder_config *out, sabok_error *err) {
    if (out->D % out->H != 0)
        return error_set(err, SABOK_EFORMAT, config_where(c),
                         "width %llu is not a multiple of the %llu heads", (unsigned long long)out->D,
                         (unsigned long long)out->H);
    if (out->positions <= out->position_first)
        return error_set(
            err, SABOK_EFORMAT, config_where(c),
            "max_position_embeddings %llu leaves no place after pad_token_id, expected more than %llu",
            (unsigned long long)out->positions, (unsigned long long)out->position_first);
    return SABOK_OK;
}
