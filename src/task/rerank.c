// rerank: documents in the order in which a cross-encoder finds them fit for a query.
#include "task/task.h"

#include <math.h>

struct rerank {
    const sabok_model *m;
    float *scores; // [n]
};

static sabok_status rerank_part(void *ctx, const struct stream_part *part, sabok_error *err) {
    const struct rerank *r = ctx;
    const struct act_args a = {
        .x = part->rows, .y = r->scores + part->first + part->begin, .D = 1, .act = r->m->head.rank_act};
    (void)err;
    kernel_best(FAMILY_ACT)->fn.act(&a, 0, part->end - part->begin);
    return SABOK_OK;
}

// Falling scores; a NaN comes last.
static int compare_scores(const void *ctx, uint32_t a, uint32_t b) {
    const float x = ((const float *)ctx)[a], y = ((const float *)ctx)[b];
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return (x < y) - (x > y);
}

static sabok_status rerank_order(const struct rerank *r, size_t n, sabok_ranked *out, sabok_error *err) {
    uint32_t *order = order_new(n, compare_scores, r->scores);
    if (!order) return error_memory(err, r->m->name);
    for (size_t i = 0; i < n; i++)
        out[i] = (sabok_ranked){order[i], r->scores[order[i]]};
    mem_free(order);
    return SABOK_OK;
}

sabok_status sabok_rerank(const sabok_model *m, const char *query, const char *const *texts, size_t n,
                          const sabok_text_opts *opts, sabok_ranked *out, sabok_error *err) {
    static const sabok_text_opts defaults;
    struct text_source source;
    sabok_text_opts input = opts ? *opts : defaults;
    TRY(head_require(m, HEAD_CLASSIFY, "text-ranking", err));
    if (m->head.labels != 1)
        return error_set(err, SABOK_EUNSUPPORTED, m->name,
                         "text-ranking: the model has %llu labels, expected 1",
                         (unsigned long long)m->head.labels);
    if (input.pairs) return error_set(err, SABOK_EINVAL, m->name, "text-ranking: pairs is not NULL");
    if (n == 0) return SABOK_OK;
    if (!query) return error_set(err, SABOK_EINVAL, m->name, "query is NULL, expected a string");
    input.truncate = true;
    TRY(stream_source(m, texts, n, &input, &source, err));
    struct rerank r = {m, mem_array(n, sizeof *r.scores)};
    const char **queries = mem_array(n, sizeof *queries);
    for (size_t i = 0; queries && i < n; i++)
        queries[i] = query;
    source.texts = queries;
    source.lengths = NULL;
    source.pairs = texts;
    source.pair_lengths = input.text_lengths;
    const struct stream stream = {
        .kind = PROGRAM_CLASSIFY, .batch_tokens = input.batch_tokens, .fn = rerank_part, .ctx = &r};
    sabok_status status =
        r.scores && queries ? stream_texts(m, &source, &stream, err) : error_memory(err, m->name);
    if (status == SABOK_OK) status = rerank_order(&r, n, out, err);
    mem_free(queries);
    mem_free(r.scores);
    return status;
}
