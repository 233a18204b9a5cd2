// BERT: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
// 2019.
//
//   x = norm(word[id] + position[i] + type[s])
//   L times:  x = norm(x + out(attention(q(x), k(x), v(x))));  x = norm(x + down(act(up(x))))
//
// RoBERTa (Liu et al., 2019), XLM-RoBERTa (Conneau et al., 2020) and CamemBERT (Martin et al., 2020) are the
// same body; their positions start behind the pad id. ELECTRA (Clark et al., 2020) may have narrower
// embeddings. Letters: V vocabulary, E embedding width, D width, L layers, H heads, F feed-forward width.
#include "model/model.h"

static const struct layer_names bert_layer_names = {
    .q = "attention.self.query",
    .k = "attention.self.key",
    .v = "attention.self.value",
    .out = "attention.output.dense",
    .attention_norm = "attention.output.LayerNorm",
    .up = "intermediate.dense",
    .down = "output.dense",
    .output_norm = "output.LayerNorm",
};

static sabok_status bert_configure(struct encoder_config *out, const struct config *c, sabok_error *err) {
    *out = (struct encoder_config){.V = 30522,
                                   .D = 768,
                                   .L = 12,
                                   .H = 12,
                                   .F = 3072,
                                   .positions = 512,
                                   .types = 2,
                                   .eps = 1e-12f,
                                   .act = ACT_GELU};
    TRY(config_bert_keys(c, out, err));
    out->E = out->D;
    return config_check(c, out, err);
}

static sabok_status roberta_configure(struct encoder_config *out, const struct config *c, sabok_error *err) {
    *out = (struct encoder_config){.V = 50265,
                                   .D = 768,
                                   .L = 12,
                                   .H = 12,
                                   .F = 3072,
                                   .positions = 512,
                                   .types = 2,
                                   .eps = 1e-12f,
                                   .act = ACT_GELU};
    out->pad_id = 1;
    TRY(config_bert_keys(c, out, err));
    TRY(config_u64(c, "pad_token_id", 0, out->V - 1, &out->pad_id, err));
    out->E = out->D;
    out->position_first = out->pad_id + 1;
    out->positions_skip_pad = true;
    return config_check(c, out, err);
}

static sabok_status electra_configure(struct encoder_config *out, const struct config *c, sabok_error *err) {
    *out = (struct encoder_config){.V = 30522,
                                   .E = 128,
                                   .D = 256,
                                   .L = 12,
                                   .H = 4,
                                   .F = 1024,
                                   .positions = 512,
                                   .types = 2,
                                   .eps = 1e-12f,
                                   .act = ACT_GELU};
    TRY(config_bert_keys(c, out, err));
    TRY(config_u64(c, "embedding_size", 1, 1u << 16, &out->E, err));
    return config_check(c, out, err);
}

static void bert_weights(struct encoder_w *w, const struct encoder_config *c, struct visitor *v) {
    const int64_t E = (int64_t)c->E;
    visit_weight(v, &w->word, WEIGHT_TABLE, (struct shape){2, {(int64_t)c->V, E}},
                 "embeddings.word_embeddings.weight");
    visit_weight(v, &w->position, WEIGHT_TABLE, (struct shape){2, {(int64_t)c->positions, E}},
                 "embeddings.position_embeddings.weight");
    if (c->types > 0)
        visit_weight(v, &w->type, WEIGHT_TABLE, (struct shape){2, {(int64_t)c->types, E}},
                     "embeddings.token_type_embeddings.weight");
    visit_norm(v, &w->norm, c->E, "embeddings.LayerNorm");
    if (c->E != c->D) visit_linear(v, &w->project, c->D, c->E, "embeddings_project");
    for (size_t i = 0; i < c->L; i++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "encoder.layer.%zu.", i);
        visit_layer(v, &w->layers[i], c, prefix, &bert_layer_names);
    }
}

const struct model_family bert_family = {
    .model_type = "bert",
    .prefix = "bert.",
    .heads =
        {
            .classify_dense = "pooler.dense",
            .classify_out = "classifier",
            .classify_act = ACT_TANH,
            .mask_dense = "cls.predictions.transform.dense",
            .mask_norm = "cls.predictions.transform.LayerNorm",
            .mask_bias = "cls.predictions.bias",
            .mask_decoder = "cls.predictions.decoder",
        },
    .configure = bert_configure,
    .weights = bert_weights,
    .forward = block_encoder,
};

const struct model_family roberta_family = {
    .model_type = "roberta",
    .prefix = "roberta.",
    .heads =
        {
            .classify_dense = "classifier.dense",
            .classify_out = "classifier.out_proj",
            .classify_act = ACT_TANH,
            .mask_dense = "lm_head.dense",
            .mask_norm = "lm_head.layer_norm",
            .mask_bias = "lm_head.bias",
            .mask_decoder = "lm_head.decoder",
            .mask_act = ACT_GELU,
        },
    .configure = roberta_configure,
    .weights = bert_weights,
    .forward = block_encoder,
};

const struct model_family xlm_roberta_family = {
    .model_type = "xlm-roberta",
    .prefix = "roberta.",
    .heads =
        {
            .classify_dense = "classifier.dense",
            .classify_out = "classifier.out_proj",
            .classify_act = ACT_TANH,
            .mask_dense = "lm_head.dense",
            .mask_norm = "lm_head.layer_norm",
            .mask_bias = "lm_head.bias",
            .mask_decoder = "lm_head.decoder",
            .mask_act = ACT_GELU,
        },
    .configure = roberta_configure,
    .weights = bert_weights,
    .forward = block_encoder,
};

const struct model_family camembert_family = {
    .model_type = "camembert",
    .prefix = "roberta.",
    .heads =
        {
            .classify_dense = "classifier.dense",
            .classify_out = "classifier.out_proj",
            .classify_act = ACT_TANH,
            .mask_dense = "lm_head.dense",
            .mask_norm = "lm_head.layer_norm",
            .mask_bias = "lm_head.bias",
            .mask_decoder = "lm_head.decoder",
            .mask_act = ACT_GELU,
        },
    .configure = roberta_configure,
    .weights = bert_weights,
    .forward = block_encoder,
};

const struct model_family electra_family = {
    .model_type = "electra",
    .prefix = "electra.",
    .heads =
        {
            .classify_dense = "classifier.dense",
            .classify_out = "classifier.out_proj",
            .classify_act = ACT_GELU,
            .mask_dense = "generator_predictions.dense",
            .mask_norm = "generator_predictions.LayerNorm",
            .mask_decoder = "generator_lm_head",
            .mask_act = ACT_GELU,
        },
    .configure = electra_configure,
    .weights = bert_weights,
    .forward = block_encoder,
};
