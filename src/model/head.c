// head: what stands on an encoder. Which one a folder holds is told by "architectures" in config.json.
//
//   classify   out(act(dense(x[first token])))          [B, labels]
//   tag        out(x)                                   [T, labels]
//   answer     out(x): start and end of the answer      [T, 2]
//   fill mask  decoder(norm(act(dense(x)))), over the rows of masked tokens; the decoder is the word table
//   unless a
//              matrix of its own is stored              [rows, V]
#include "model/model.h"

#include <string.h>

static const struct {
    const char *suffix;
    enum head_kind kind;
} head_architectures[] = {
    {"ForSequenceClassification", HEAD_CLASSIFY}, {"ForTokenClassification", HEAD_TAG},
    {"ForQuestionAnswering", HEAD_ANSWER},        {"ForMaskedLM", HEAD_FILL_MASK},
    {"ForPreTraining", HEAD_FILL_MASK},
};

const char *head_name(enum head_kind kind) {
    static const char *const names[] = {"none", "sequence classification", "token classification",
                                        "question answering", "masked language model"};
    return names[kind];
}

static sabok_status head_labels(struct head *h, const struct config *c, sabok_error *err) {
    h->labels = 2;
    TRY(config_u64(c, "num_labels", 1, 1u << 20, &h->labels, err));
    struct config *map = NULL;
    TRY(config_object(c, "id2label", &map, err));
    if (map) h->labels = config_count(map);
    if (h->labels == 0 || h->labels > 1u << 20)
        return error_set(err, SABOK_EFORMAT, config_where(c),
                         "id2label has %llu entries, expected 1 to 1048576", (unsigned long long)h->labels);
    if (h->kind == HEAD_ANSWER) h->labels = 2;
    return SABOK_OK;
}

sabok_status head_configure(struct head *h, const struct config *c, sabok_error *err) {
    const char *const *names = NULL;
    size_t n = 0;
    TRY(config_strings(c, "architectures", &names, &n, err));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < COUNT(head_architectures); j++) {
            const size_t length = strlen(names[i]), tail = strlen(head_architectures[j].suffix);
            if (length >= tail && strcmp(names[i] + length - tail, head_architectures[j].suffix) == 0)
                h->kind = head_architectures[j].kind;
        }
    return head_labels(h, c, err);
}

void head_weights(struct head *h, const struct head_names *names, const struct encoder_config *c,
                  struct visitor *v) {
    switch (h->kind) {
    case HEAD_NONE:
        return;
    case HEAD_CLASSIFY:
        visit_linear(v, &h->dense, c->D, c->D, "%s", names->classify_dense);
        visit_linear(v, &h->out, h->labels, c->D, "%s", names->classify_out);
        return;
    case HEAD_TAG:
        visit_linear(v, &h->out, h->labels, c->D, "classifier");
        return;
    case HEAD_ANSWER:
        visit_linear(v, &h->out, h->labels, c->D, "qa_outputs");
        return;
    case HEAD_FILL_MASK:
        visit_linear(v, &h->dense, c->E, c->D, "%s", names->mask_dense);
        visit_norm(v, &h->norm, c->E, "%s", names->mask_norm);
        visit_optional(v, &h->out.w, WEIGHT_LINEAR, (struct shape){2, {(int64_t)c->V, (int64_t)c->E}}, "%s",
                       names->mask_decoder);
        visit_weight(v, &h->out.b, WEIGHT_BIAS, (struct shape){1, {(int64_t)c->V}}, "%s", names->mask_bias);
        return;
    }
}

val head_classify(prog *p, const struct head *h, const struct head_names *names, val x) {
    const enum pool first = POOL_CLS;
    const val offsets = prog_input(p, "offsets", DT_I32, (struct shape){1, {DIM_B}}, INPUT_OFFSETS);
    x = op_pool(p, x, offsets, 0, &first, 1);
    x = op_act(p, block_linear(p, &h->dense, x), names->classify_act);
    return block_linear(p, &h->out, x);
}

val head_fill_mask(prog *p, const struct head *h, const struct head_names *names, const struct encoder_w *w,
                   const struct encoder_config *c, val x) {
    const enum act act = names->mask_act == ACT_NONE ? c->act : names->mask_act;
    x = block_norm(p, &h->norm, op_act(p, block_linear(p, &h->dense, x), act), c->eps);
    return op_linear(p, x, prog_weight(p, h->out.w.name ? &h->out.w : &w->word), prog_weight(p, &h->out.b));
}
