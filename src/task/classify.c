// classify: texts, or pairs of them, to labels with scores.
#include "task/task.h"

#include <math.h>

// scores = 1 / (1 + exp(-logits)), each for itself
static void score_sigmoid(const float *logits, size_t n, float *scores) {
    for (size_t i = 0; i < n; i++)
        scores[i] = (float)(1 / (1 + exp(-(double)logits[i])));
}

// scores = exp(logits - max) / sum of them
void score_softmax(const float *logits, size_t n, float *scores) {
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, (double)logits[i]);
    for (size_t i = 0; i < n; i++)
        sum += exp((double)logits[i] - most);
    for (size_t i = 0; i < n; i++)
        scores[i] = (float)(exp((double)logits[i] - most) / sum);
}

static sabok_function default_function(const struct head *h) {
    switch (h->problem) {
    case PROBLEM_REGRESSION:
        return SABOK_FUNCTION_NONE;
    case PROBLEM_MULTI_LABEL:
        return SABOK_FUNCTION_SIGMOID;
    default:
        return h->labels == 1 ? SABOK_FUNCTION_SIGMOID : SABOK_FUNCTION_SOFTMAX;
    }
}

struct classify {
    const sabok_model *m;
    sabok_function function;
    size_t top_k;
    float *scores;       // [labels]
    sabok_label *labels; // [top_k]
    sabok_labels_fn *fn;
    void *ctx;
};

// Falling scores; a NaN comes last.
static int compare_scores(const void *ctx, uint32_t a, uint32_t b) {
    const float *scores = ctx;
    const float x = scores[a], y = scores[b];
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return (x < y) - (x > y);
}

static void label_set(const struct classify *c, size_t rank, size_t id) {
    c->labels[rank] = (sabok_label){c->m->head.names[id], id, c->scores[id]};
}

static sabok_status labels_order(const struct classify *c, sabok_error *err) {
    const size_t n = (size_t)c->m->head.labels;
    if (c->top_k == 1) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
            if (compare_scores(c->scores, (uint32_t)i, (uint32_t)best) < 0) best = i;
        label_set(c, 0, best);
        return SABOK_OK;
    }
    uint32_t *order = order_new(n, compare_scores, c->scores);
    if (!order) return error_memory(err, c->m->name);
    for (size_t i = 0; i < c->top_k; i++)
        label_set(c, i, order[i]);
    mem_free(order);
    return SABOK_OK;
}

static sabok_status classify_part(void *ctx, const struct stream_part *part, sabok_error *err) {
    const struct classify *c = ctx;
    const size_t labels = (size_t)c->m->head.labels;
    const float *logits = part->rows; // [sequences, labels]
    for (size_t i = part->begin; i < part->end; i++, logits += labels) {
        if (c->function == SABOK_FUNCTION_SIGMOID)
            score_sigmoid(logits, labels, c->scores);
        else if (c->function == SABOK_FUNCTION_SOFTMAX)
            score_softmax(logits, labels, c->scores);
        else
            for (size_t j = 0; j < labels; j++)
                c->scores[j] = logits[j];
        TRY(labels_order(c, err));
        if (c->fn(c->ctx, part->first + i, c->labels, c->top_k) != 0) return stream_stopped(c->m, err);
    }
    return SABOK_OK;
}

sabok_status sabok_classify(const sabok_model *m, const char *const *texts, size_t n,
                            const sabok_classify_opts *opts, sabok_labels_fn *fn, void *ctx,
                            sabok_error *err) {
    static const sabok_classify_opts defaults;
    if (!opts) opts = &defaults;
    struct text_source source;
    TRY(head_require(m, HEAD_CLASSIFY, "text-classification", err));
    TRY(stream_source(m, texts, n, &opts->input, &source, err));
    source.pair_optional = true; // as the reference's tokenizer takes one pair
    const size_t labels = (size_t)m->head.labels;
    struct classify c = {
        .m = m,
        .function = opts->function == SABOK_FUNCTION_DEFAULT ? default_function(&m->head) : opts->function,
        .top_k = opts->top_k ? size_min(opts->top_k, labels) : labels,
        .fn = fn,
        .ctx = ctx,
    };
    c.scores = mem_array(labels, sizeof *c.scores);
    c.labels = mem_array(c.top_k, sizeof *c.labels);
    const struct stream stream = {
        .kind = PROGRAM_CLASSIFY, .batch_tokens = opts->input.batch_tokens, .fn = classify_part, .ctx = &c};
    const sabok_status status =
        c.scores && c.labels ? stream_texts(m, &source, &stream, err) : error_memory(err, m->name);
    mem_free(c.scores);
    mem_free(c.labels);
    return status;
}
