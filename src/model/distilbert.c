// DistilBERT: Sanh et al., "DistilBERT, a distilled version of BERT", 2019. BERT's layers under other names,
// without segments.
#include "model/model.h"

static const struct layer_names distilbert_layer_names = {
    .q = "attention.q_lin",
    .k = "attention.k_lin",
    .v = "attention.v_lin",
    .out = "attention.out_lin",
    .attention_norm = "sa_layer_norm",
    .up = "ffn.lin1",
    .down = "ffn.lin2",
    .output_norm = "output_layer_norm",
};

static sabok_status distilbert_configure(struct encoder_config *out, const struct config *c,
                                         sabok_error *err) {
    *out = (struct encoder_config){
        .V = 30522, .D = 768, .L = 6, .H = 12, .F = 3072, .positions = 512, .eps = 1e-12f, .act = ACT_GELU};
    TRY(config_u64(c, "vocab_size", 1, 1u << 28, &out->V, err));
    TRY(config_u64(c, "dim", 1, 1u << 16, &out->D, err));
    TRY(config_u64(c, "n_layers", 1, 1u << 12, &out->L, err));
    TRY(config_u64(c, "n_heads", 1, 1u << 16, &out->H, err));
    TRY(config_u64(c, "hidden_dim", 1, 1u << 18, &out->F, err));
    TRY(config_u64(c, "max_position_embeddings", 1, 1u << 24, &out->positions, err));
    TRY(config_act(c, "activation", &out->act, err));
    out->E = out->D;
    out->stored_layers = out->L;
    return config_check(c, out, err);
}

static void distilbert_weights(struct encoder_w *w, const struct encoder_config *c, struct visitor *v) {
    const int64_t D = (int64_t)c->D;
    visit_weight(v, &w->word, WEIGHT_TABLE, (struct shape){2, {(int64_t)c->V, D}},
                 "embeddings.word_embeddings.weight");
    visit_weight(v, &w->position, WEIGHT_TABLE, (struct shape){2, {(int64_t)c->positions, D}},
                 "embeddings.position_embeddings.weight");
    visit_norm(v, &w->norm, c->D, "embeddings.LayerNorm");
    for (size_t i = 0; i < c->L; i++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "transformer.layer.%zu.", i);
        visit_layer(v, &w->layers[i], c, prefix, &distilbert_layer_names);
    }
}

const struct model_family distilbert_family = {
    .model_type = "distilbert",
    .prefix = "distilbert.",
    .heads =
        {
            .classify_dense = "pre_classifier",
            .classify_out = "classifier",
            .classify_act = ACT_RELU,
            .mask_dense = "vocab_transform",
            .mask_norm = "vocab_layer_norm",
            .mask_decoder = "vocab_projector",
        },
    .configure = distilbert_configure,
    .weights = distilbert_weights,
    .forward = block_encoder,
};
