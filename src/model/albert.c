// ALBERT: Lan et al., "ALBERT: A Lite BERT for Self-supervised Learning of Language Representations", 2020.
// Narrow embeddings; L layers computed, `groups` of `inner` layers stored. Layer i uses group i / (L /
// groups).
#include "model/model.h"

static const struct layer_names albert_layer_names = {
    .q = "attention.query",
    .k = "attention.key",
    .v = "attention.value",
    .out = "attention.dense",
    .attention_norm = "attention.LayerNorm",
    .up = "ffn",
    .down = "ffn_output",
    .output_norm = "full_layer_layer_norm",
};

static sabok_status albert_configure(struct encoder_config *out, const struct config *c, sabok_error *err) {
    *out = (struct encoder_config){.V = 30000,
                                   .E = 128,
                                   .D = 4096,
                                   .L = 12,
                                   .H = 64,
                                   .F = 16384,
                                   .positions = 512,
                                   .types = 2,
                                   .groups = 1,
                                   .inner = 1,
                                   .eps = 1e-12f,
                                   .act = ACT_GELU_TANH};
    TRY(config_bert_keys(c, out, err));
    TRY(config_u64(c, "embedding_size", 1, 1u << 16, &out->E, err));
    TRY(config_u64(c, "num_hidden_groups", 1, out->L, &out->groups, err));
    TRY(config_u64(c, "inner_group_num", 1, 64, &out->inner, err));
    out->stored_layers = out->groups * out->inner;
    return config_check(c, out, err);
}

static void albert_weights(struct encoder_w *w, const struct encoder_config *c, struct visitor *v) {
    const int64_t E = (int64_t)c->E;
    visit_weight(v, &w->word, WEIGHT_TABLE, (struct shape){2, {(int64_t)c->V, E}},
                 "embeddings.word_embeddings.weight");
    visit_weight(v, &w->position, WEIGHT_TABLE, (struct shape){2, {(int64_t)c->positions, E}},
                 "embeddings.position_embeddings.weight");
    visit_weight(v, &w->type, WEIGHT_TABLE, (struct shape){2, {(int64_t)c->types, E}},
                 "embeddings.token_type_embeddings.weight");
    visit_norm(v, &w->norm, c->E, "embeddings.LayerNorm");
    visit_linear(v, &w->project, c->D, c->E, "encoder.embedding_hidden_mapping_in");
    for (size_t i = 0; i < c->stored_layers; i++) {
        char prefix[128];
        snprintf(prefix, sizeof prefix, "encoder.albert_layer_groups.%zu.albert_layers.%zu.",
                 i / (size_t)c->inner, i % (size_t)c->inner);
        visit_layer(v, &w->layers[i], c, prefix, &albert_layer_names);
    }
}

static val albert_forward(prog *p, const struct encoder_w *w, const struct encoder_config *c) {
    val x = block_embeddings(p, w, c);
    for (size_t i = 0; i < c->L; i++) {
        const size_t group =
            (size_t)((double)i / ((double)c->L / (double)c->groups)); // as the reference rounds
        for (size_t j = 0; j < c->inner; j++) {
            prog_push(p, "layer.%zu.%zu", i, j);
            x = block_layer(p, &w->layers[group * (size_t)c->inner + j], c, x, 0);
            prog_pop(p);
        }
    }
    return x;
}

const struct model_family albert_family = {
    .model_type = "albert",
    .prefix = "albert.",
    .heads =
        {
            .classify_dense = "pooler",
            .classify_out = "classifier",
            .classify_act = ACT_TANH,
            .mask_dense = "predictions.dense",
            .mask_norm = "predictions.LayerNorm",
            .mask_bias = "predictions.bias",
            .mask_decoder = "predictions.decoder",
        },
    .configure = albert_configure,
    .weights = albert_weights,
    .forward = albert_forward,
};
