// head: what stands on an encoder. Which one a folder holds is told by "architectures" in config.json.
//
//   classify   out(act(dense(x[first token])))          [B, labels]
//   tag        out(x)                                   [T, labels]
//   answer     out(x): start and end of the answer      [T, 2]
//   fill mask  decoder(norm(act(dense(x)))), over the rows of masked tokens; the decoder is the word table unless
//              a matrix of its own is stored            [rows, V]
#include "model/model.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

// The names of id2label by their number; "LABEL_3" and so on when the file has none.
static sabok_status head_names(struct head *h, const struct config *map, struct arena *arena,
                               sabok_error *err) {
    h->names = arena_alloc(arena, (size_t)h->labels * sizeof *h->names);
    if (!h->names) return error_memory(err, "labels");
    for (size_t i = 0; map && i < config_count(map); i++) {
        const char *key = config_key(map, i);
        char *end;
        const unsigned long long id = strtoull(key, &end, 10);
        if (key[0] < '0' || key[0] > '9' || *end || id >= h->labels || h->names[id])
            return error_set(err, SABOK_EFORMAT, config_where(map),
                             "id2label has the key \"%.40s\", expected each of 0 to %llu once", key,
                             (unsigned long long)h->labels - 1);
        TRY(config_string(map, key, &h->names[id], err));
    }
    for (size_t i = 0; i < h->labels; i++) {
        if (!h->names[i]) h->names[i] = arena_printf(arena, "LABEL_%zu", i);
        if (!h->names[i]) return error_memory(err, "labels");
    }
    return SABOK_OK;
}

// The label that says "entailment", for zero-shot classification: the first of label2id whose name begins with
// "entail", in any case.
static sabok_status head_entailment(struct head *h, const struct config *c, sabok_error *err) {
    struct config *map = NULL;
    h->entailment = SIZE_MAX;
    TRY(config_object(c, "label2id", &map, err));
    for (size_t i = 0; map && h->entailment == SIZE_MAX && i < config_count(map); i++) {
        uint64_t id = 0;
        if (strncasecmp(config_key(map, i), "entail", 6) != 0) continue;
        TRY(config_u64(map, config_key(map, i), 0, h->labels - 1, &id, err));
        h->entailment = (size_t)id;
    }
    for (size_t i = 0; !map && h->entailment == SIZE_MAX && i < h->labels; i++)
        if (strncasecmp(h->names[i], "entail", 6) == 0) h->entailment = i;
    return SABOK_OK;
}

static sabok_status head_labels(struct head *h, const struct config *c, struct arena *arena,
                                sabok_error *err) {
    h->labels = 2;
    TRY(config_u64(c, "num_labels", 1, 1u << 20, &h->labels, err));
    struct config *map = NULL;
    TRY(config_object(c, "id2label", &map, err));
    if (map) h->labels = config_count(map);
    if (h->labels == 0 || h->labels > 1u << 20)
        return error_set(err, SABOK_EFORMAT, config_where(c),
                         "id2label has %llu entries, expected 1 to 1048576", (unsigned long long)h->labels);
    if (h->kind == HEAD_ANSWER) {
        h->labels = 2;
        map = NULL;
    }
    TRY(head_names(h, map, arena, err));
    return head_entailment(h, c, err);
}

static sabok_status head_problem(struct head *h, const struct config *c, sabok_error *err) {
    static const char *const names[] = {
        [PROBLEM_UNSAID] = "",
        [PROBLEM_REGRESSION] = "regression",
        [PROBLEM_SINGLE_LABEL] = "single_label_classification",
        [PROBLEM_MULTI_LABEL] = "multi_label_classification",
    };
    const char *name = NULL;
    TRY(config_string(c, "problem_type", &name, err));
    if (!name) return SABOK_OK;
    for (size_t i = PROBLEM_REGRESSION; i < COUNT(names); i++)
        if (strcmp(names[i], name) == 0) {
            h->problem = (enum head_problem)i;
            return SABOK_OK;
        }
    return error_set(err, SABOK_EFORMAT, config_where(c), "problem_type is \"%s\", expected %s, %s or %s",
                     name, names[1], names[2], names[3]);
}

// What a cross-encoder does to its score: the last part of the Python name that sentence-transformers stores, in one of
// three places by its version, the newest being `said`; else sigmoid for one label.
static sabok_status head_rank_act(struct head *h, const struct config *c, const char *said,
                                  sabok_error *err) {
    const char *name = said && strncmp(said, "torch.", 6) == 0 ? said : NULL;
    struct config *st = NULL;
    if (!name) TRY(config_object(c, "sentence_transformers", &st, err));
    if (st) TRY(config_string(st, "activation_fn", &name, err));
    if (!name) TRY(config_string(c, "sbert_ce_default_activation_function", &name, err));
    h->rank_act = h->labels == 1 ? ACT_SIGMOID : ACT_NONE;
    if (!name || strncmp(name, "torch.", 6) != 0) return SABOK_OK;
    char word[32] = "";
    const char *last = strrchr(name, '.') + 1;
    for (size_t i = 0; last[i] && i + 1 < sizeof word; i++)
        word[i] = (char)(last[i] >= 'A' && last[i] <= 'Z' ? last[i] - 'A' + 'a' : last[i]);
    return act_find(word, config_where(c), &h->rank_act, err);
}

sabok_status head_configure(struct head *h, const struct config *c, const char *rank_activation,
                            struct arena *arena, sabok_error *err) {
    const char *const *names = NULL;
    size_t n = 0;
    TRY(config_strings(c, "architectures", &names, &n, err));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < COUNT(head_architectures); j++) {
            const size_t length = strlen(names[i]), tail = strlen(head_architectures[j].suffix);
            if (length >= tail && strcmp(names[i] + length - tail, head_architectures[j].suffix) == 0)
                h->kind = head_architectures[j].kind;
        }
    // ELECTRA is trained first to tell replaced tokens from others: a head of no task.
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], "ElectraForPreTraining") == 0) h->kind = HEAD_NONE;
    h->tied = true;
    TRY(config_bool(c, "tie_word_embeddings", &h->tied, err));
    TRY(head_problem(h, c, err));
    TRY(head_labels(h, c, arena, err));
    return head_rank_act(h, c, rank_activation, err);
}

static void head_mask_weights(struct head *h, const struct head_names *names, const struct encoder_config *c,
                              struct visitor *v) {
    const struct shape table = {2, {(int64_t)c->V, (int64_t)c->E}}, vector = {1, {(int64_t)c->V}};
    visit_linear(v, &h->dense, c->E, c->D, "%s", names->mask_dense);
    visit_norm(v, &h->norm, c->E, "%s", names->mask_norm);
    visit_optional(v, &h->out.w, WEIGHT_LINEAR, table, "%s.weight", names->mask_decoder);
    visit_optional(v, &h->out.b, WEIGHT_BIAS, vector, "%s.bias", names->mask_decoder);
    if (names->mask_bias) visit_optional(v, &h->bias, WEIGHT_BIAS, vector, "%s", names->mask_bias);
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
        head_mask_weights(h, names, c, v);
        return;
    }
}

// The bias beside the decoder is the decoder's own where the two are tied; else each stands for itself, and the
// decoder's counts.
static const struct weight *head_mask_bias(const struct head *h) {
    const struct weight *first = h->tied ? &h->bias : &h->out.b, *second = h->tied ? &h->out.b : &h->bias;
    return first->name ? first : second->name ? second : NULL;
}

sabok_status head_loaded(const struct head *h, const struct head_names *names, const char *where,
                         sabok_error *err) {
    if (h->kind != HEAD_FILL_MASK) return SABOK_OK;
    if (!h->tied && !h->out.w.name)
        return error_set(err, SABOK_ENOTFOUND, where,
                         "tie_word_embeddings is false and \"%s.weight\" is missing", names->mask_decoder);
    if (!head_mask_bias(h))
        return error_set(err, SABOK_ENOTFOUND, where, "1 weights are missing: \"%s.bias\"",
                         names->mask_decoder);
    return SABOK_OK;
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
    const struct weight *bias = head_mask_bias(h);
    return op_linear(p, x, prog_weight(p, h->out.w.name ? &h->out.w : &w->word),
                     bias ? prog_weight(p, bias) : 0);
}
