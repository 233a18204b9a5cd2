// BERT: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
// 2019.
//
//   x = norm(word[id] + position[i] + type[s])
//   L times:  x = norm(x + out(attention(q(x), k(x), v(x))));  x = norm(x + down(act(up(x))))
//
// Letters: V vocabulary, D width, L layers, H heads, F feed-forward width.
#include "model/model.h"

#include <string.h>

static sabok_status bert_configure(struct encoder_config *out, const struct config *c, sabok_error *err) {
    *out = (struct encoder_config){
        .V = 30522, .D = 768, .L = 12, .H = 12, .F = 3072, .positions = 512, .types = 2, .act = ACT_GELU};
    double eps = 1e-12;
    TRY(config_u64(c, "vocab_size", 1, 1u << 28, &out->V, err));
    TRY(config_u64(c, "hidden_size", 1, 1u << 16, &out->D, err));
    TRY(config_u64(c, "num_hidden_layers", 1, 1u << 12, &out->L, err));
    TRY(config_u64(c, "num_attention_heads", 1, out->D, &out->H, err));
    TRY(config_u64(c, "intermediate_size", 1, 1u << 18, &out->F, err));
    TRY(config_u64(c, "max_position_embeddings", 1, 1u << 24, &out->positions, err));
    TRY(config_u64(c, "type_vocab_size", 1, 1u << 16, &out->types, err));
    TRY(config_double(c, "layer_norm_eps", 0, 1, &eps, err));
    TRY(config_act(c, "hidden_act", &out->act, err));
    out->eps = (float)eps;
    const char *position = "absolute";
    TRY(config_string(c, "position_embedding_type", &position, err));
    if (strcmp(position, "absolute") != 0)
        return error_set(err, SABOK_EUNSUPPORTED, config_where(c),
                         "position_embedding_type is \"%s\"; supported: \"absolute\"", position);
    if (out->D % out->H != 0)
        return error_set(err, SABOK_EFORMAT, config_where(c),
                         "hidden_size %llu is not a multiple of num_attention_heads %llu",
                         (unsigned long long)out->D, (unsigned long long)out->H);
    return SABOK_OK;
}

static void bert_weights(struct encoder_w *w, const struct encoder_config *c, struct visitor *v) {
    const int64_t D = (int64_t)c->D;
    visit_weight(v, &w->word, WEIGHT_TABLE, (struct shape){2, {(int64_t)c->V, D}},
                 "embeddings.word_embeddings.weight");
    visit_weight(v, &w->position, WEIGHT_TABLE, (struct shape){2, {(int64_t)c->positions, D}},
                 "embeddings.position_embeddings.weight");
    visit_weight(v, &w->type, WEIGHT_TABLE, (struct shape){2, {(int64_t)c->types, D}},
                 "embeddings.token_type_embeddings.weight");
    visit_norm(v, &w->norm, c->D, "embeddings.LayerNorm");
    for (size_t i = 0; i < c->L; i++) {
        struct layer_w *l = &w->layers[i];
        visit_linear(v, &l->q, c->D, c->D, "encoder.layer.%zu.attention.self.query", i);
        visit_linear(v, &l->k, c->D, c->D, "encoder.layer.%zu.attention.self.key", i);
        visit_linear(v, &l->v, c->D, c->D, "encoder.layer.%zu.attention.self.value", i);
        visit_linear(v, &l->out, c->D, c->D, "encoder.layer.%zu.attention.output.dense", i);
        visit_norm(v, &l->attention_norm, c->D, "encoder.layer.%zu.attention.output.LayerNorm", i);
        visit_linear(v, &l->up, c->F, c->D, "encoder.layer.%zu.intermediate.dense", i);
        visit_linear(v, &l->down, c->D, c->F, "encoder.layer.%zu.output.dense", i);
        visit_norm(v, &l->output_norm, c->D, "encoder.layer.%zu.output.LayerNorm", i);
    }
}

static val bert_layer(prog *p, const struct layer_w *l, const struct encoder_config *c, val x) {
    val a = op_attention(p, block_linear(p, &l->q, x), block_linear(p, &l->k, x), block_linear(p, &l->v, x),
                         c->H);
    a = prog_name(p, block_linear(p, &l->out, a), "attention.out");
    x = block_norm(p, &l->attention_norm, op_add(p, x, a), c->eps);
    val h = prog_name(p, op_act(p, block_linear(p, &l->up, x), c->act), "intermediate");
    h = block_linear(p, &l->down, h);
    return prog_name(p, block_norm(p, &l->output_norm, op_add(p, x, h), c->eps), "out");
}

static val bert_forward(prog *p, const struct encoder_w *w, const struct encoder_config *c) {
    const struct shape tokens = {1, {DIM_T}};
    const val tables[] = {prog_weight(p, &w->word), prog_weight(p, &w->position), prog_weight(p, &w->type)};
    const val index[] = {prog_input(p, "ids", DT_I32, tokens, INPUT_IDS),
                         prog_input(p, "positions", DT_I32, tokens, INPUT_POSITIONS),
                         prog_input(p, "types", DT_I32, tokens, INPUT_TYPES)};
    prog_push(p, "embeddings");
    val x = block_norm(p, &w->norm, op_embed(p, tables, index, 3), c->eps);
    prog_name(p, x, "out");
    prog_pop(p);
    for (size_t i = 0; i < c->L; i++) {
        prog_push(p, "layer.%zu", i);
        x = bert_layer(p, &w->layers[i], c, x);
        prog_pop(p);
    }
    return x;
}

const struct model_family bert_family = {
    .model_type = "bert",
    .prefix = "bert.",
    .configure = bert_configure,
    .weights = bert_weights,
    .forward = bert_forward,
};
