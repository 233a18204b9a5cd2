// MPNet: Song et al., "MPNet: Masked and Permuted Pre-training for Language Understanding", 2020. BERT's
// layers without segments; every head adds a learnt bias to its scores, by the bucket of key - query (T5's
// buckets).
#include "model/model.h"

#include <math.h>

// The reference divides distances into this many buckets, whatever relative_attention_num_buckets says: that is the
// height of the table only.
#define MPNET_BUCKETS 32
// Positions leave out this id, whatever pad_token_id says: as in the reference.
#define MPNET_PAD 1
#define MPNET_MAX_DISTANCE 128

static const struct layer_names mpnet_layer_names = {
    .q = "attention.attn.q",
    .k = "attention.attn.k",
    .v = "attention.attn.v",
    .out = "attention.attn.o",
    .attention_norm = "attention.LayerNorm",
    .up = "intermediate.dense",
    .down = "output.dense",
    .output_norm = "output.LayerNorm",
};

static sabok_status mpnet_configure(struct encoder_config *out, const struct config *c, sabok_error *err) {
    *out = (struct encoder_config){.V = 30527,
                                   .D = 768,
                                   .L = 12,
                                   .H = 12,
                                   .F = 3072,
                                   .positions = 512,
                                   .pad_id = MPNET_PAD,
                                   .buckets = 32,
                                   .eps = 1e-12f,
                                   .act = ACT_GELU};
    TRY(config_bert_keys(c, out, err));
    TRY(config_u64(c, "relative_attention_num_buckets", MPNET_BUCKETS, 1024, &out->buckets, err));
    out->types = 0;
    out->E = out->D;
    out->position_first = out->pad_id + 1;
    out->positions_skip_pad = true;
    return config_check(c, out, err);
}

static void mpnet_weights(struct encoder_w *w, const struct encoder_config *c, struct visitor *v) {
    const int64_t D = (int64_t)c->D;
    visit_weight(v, &w->word, WEIGHT_TABLE, (struct shape){2, {(int64_t)c->V, D}},
                 "embeddings.word_embeddings.weight");
    visit_weight(v, &w->position, WEIGHT_TABLE, (struct shape){2, {(int64_t)c->positions, D}},
                 "embeddings.position_embeddings.weight");
    visit_norm(v, &w->norm, c->D, "embeddings.LayerNorm");
    visit_weight(v, &w->relative, WEIGHT_TABLE, (struct shape){2, {(int64_t)c->buckets, (int64_t)c->H}},
                 "encoder.relative_attention_bias.weight");
    for (size_t i = 0; i < c->L; i++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "encoder.layer.%zu.", i);
        visit_layer(v, &w->layers[i], c, prefix, &mpnet_layer_names);
    }
}

// Half of the buckets are for keys behind the query; in each half, half are exact and the rest grow with log
// distance.
static size_t mpnet_bucket(int64_t distance) {
    const size_t half = MPNET_BUCKETS / 2, exact = half / 2;
    const size_t side = distance > 0 ? half : 0;
    const size_t n = (size_t)(distance < 0 ? -distance : distance);
    if (n < exact) return side + n;
    const float place = logf((float)n / (float)exact) / logf((float)MPNET_MAX_DISTANCE / (float)exact) *
                        (float)(half - exact);
    return side + size_min(exact + (size_t)place, half - 1);
}

static sabok_status mpnet_prepare(struct encoder_w *w, const struct encoder_config *c, sabok_error *err) {
    const size_t H = (size_t)c->H, positions = (size_t)c->positions, span = 2 * positions - 1;
    struct weight *tiles = &w->relative_tiles;
    *tiles = (struct weight){
        .name = "relative_tiles", .role = WEIGHT_TABLE, .shape = {2, {(int64_t)H, (int64_t)span}}};
    if (!mul_ok(H * sizeof(float), span, &tiles->owned_bytes) ||
        !(tiles->owned = mem_map(tiles->owned_bytes)))
        return error_memory(err, tiles->name);
    float *out = tiles->owned;
    for (size_t i = 0; i < span; i++) {
        const size_t bucket = mpnet_bucket((int64_t)i - (int64_t)(positions - 1));
        for (size_t h = 0; h < H; h++)
            out[h * span + i] = w->relative.f32[bucket * H + h];
    }
    tiles->f32 = out;
    return SABOK_OK;
}

const struct model_family mpnet_family = {
    .model_type = "mpnet",
    .prefix = "mpnet.",
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
    .configure = mpnet_configure,
    .weights = mpnet_weights,
    .forward = block_encoder,
    .prepare = mpnet_prepare,
};
