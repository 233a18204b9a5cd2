// eval text-ranking: how high a cross-encoder puts the documents that answer a query.
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct option ranked_options[] = {
    OPTION("query_column", OPTION_TEXT, query_column, "NAME",
           "Column of the query; default query. A query's documents stand in rows that follow each other."),
    OPTION("relevance_column", OPTION_TEXT, label_column, "NAME",
           "Column of the relevance, 0 or more; default label.", .alias = "label_column"),
    OPTION("at_k", OPTION_COUNT, top_k, "N", "How many of the best documents count; default 10.",
           .alias = "top_k"),
    OPTION("max_length", OPTION_COUNT, max_length, "N",
           "Cut a query and its text at N tokens, special ones included; default: the model's own length."),
    OPTION(
        "batch_tokens", OPTION_COUNT, batch_tokens, "N",
        "Most tokens computed together; default: chosen for the machine. The result does not depend on it."),
};
const struct option_group group_ranked = {"Ranking", ranked_options, COUNT(ranked_options)};

struct ranked {
    struct args args;
    char *query; // of the documents at hand; NULL: none
    char **texts;
    double *relevance, *scores;
    struct place *places;
    size_t n, texts_cap, relevance_cap, scores_cap, places_cap;
    double mrr, ndcg; // sums over queries
    uint64_t queries, documents;
};

static void query_clear(struct ranked *r) {
    for (size_t i = 0; i < r->n; i++)
        free(r->texts[i]);
    free(r->query);
    r->query = NULL;
    r->n = 0;
}

// Ranks the documents at hand, if any.
static bool query_end(struct ranked *r, const sabok_model *model) {
    if (!r->query) return true;
    size_t fault = SIZE_MAX;
    sabok_error err = {0};
    const sabok_text_opts opts = {
        .max_length = r->args.max_length, .batch_tokens = r->args.batch_tokens, .text_at_fault = &fault};
    sabok_ranked *ranks = heap_array(r->n, sizeof *ranks);
    bool ok =
        sabok_rerank(model, r->query, (const char *const *)r->texts, r->n, &opts, ranks, &err) == SABOK_OK;
    if (!ok) ok = row_fail(&(struct rows){.n = r->n, .places = r->places}, fault, &err);
    heap_grow(&r->scores, &r->scores_cap, r->n, sizeof *r->scores);
    for (size_t i = 0; ok && i < r->n; i++)
        r->scores[ranks[i].corpus_id] = (double)ranks[i].score;
    if (ok) {
        r->mrr += sabok_reciprocal_rank(r->relevance, r->scores, r->n, r->args.top_k);
        r->ndcg += sabok_ndcg(r->relevance, r->scores, r->n, r->args.top_k);
        r->queries++;
        r->documents += r->n;
    }
    free(ranks);
    query_clear(r);
    return ok;
}

// The fields of a row are query, text, relevance.
static bool row_add(struct ranked *r, const sabok_model *model, const char *const *fields,
                    const struct place *place) {
    char *end;
    const double relevance = strtod(fields[2], &end);
    if (end == fields[2] || *end || !isfinite(relevance) || relevance < 0)
        return fail("%s: line %llu: column '%s': found \"%.60s\", expected a number of 0 or more",
                    place->path, (unsigned long long)place->line, r->args.label_column,
                    fields[2]) == EXIT_DONE;
    if (r->query && strcmp(r->query, fields[0]) != 0 && !query_end(r, model)) return false;
    if (!r->query) r->query = heap_format("%s", fields[0]);
    heap_grow(&r->texts, &r->texts_cap, r->n + 1, sizeof *r->texts);
    heap_grow(&r->relevance, &r->relevance_cap, r->n + 1, sizeof *r->relevance);
    heap_grow(&r->places, &r->places_cap, r->n + 1, sizeof *r->places);
    r->texts[r->n] = heap_format("%s", fields[1]);
    r->relevance[r->n] = relevance;
    r->places[r->n++] = *place;
    return true;
}

static bool ranked_group(void *ctx, const sabok_model *model, const struct rows *rows) {
    struct ranked *r = ctx;
    sabok_error err = {0};
    if (rows->n == 0 && sabok_rerank(model, NULL, NULL, 0, NULL, NULL, &err) != SABOK_OK)
        return fail_error(&err) == EXIT_DONE;
    for (size_t i = 0; i < rows->n; i++)
        if (!row_add(r, model, rows->fields + i * rows->width, &rows->places[i])) return false;
    return true;
}

static bool ranked_end(void *ctx, const sabok_model *model) {
    struct ranked *r = ctx;
    if (!query_end(r, model)) return false;
    if (r->queries == 0) return fail("%s: found no rows", r->args.inputs.items[0]) == EXIT_DONE;
    const double mrr = r->mrr / (double)r->queries, ndcg = r->ndcg / (double)r->queries;
    const unsigned long long queries = r->queries, documents = r->documents;
    if (!r->args.json)
        return sink_format("MRR@%zu %.4f, nDCG@%zu %.4f, %llu queries, %llu documents\n", r->args.top_k, mrr,
                           r->args.top_k, ndcg, queries, documents);
    return sink_format("{\"eval_mrr@%zu\": ", r->args.top_k) && sink_double(mrr) &&
           sink_format(", \"eval_ndcg@%zu\": ", r->args.top_k) && sink_double(ndcg) &&
           sink_format(", \"eval_queries\": %llu, \"eval_samples\": %llu}\n", queries, documents);
}

int eval_rank_run(const struct args *args) {
    static struct ranked r; // its arguments live as long as the program
    static const char *columns[3];
    r.args = *args;
    if (args->texts.count || args->inputs.count != 1)
        usage_fail("expected one file of queries and documents: sabok eval %s", verb_eval.usage);
    if (args->columns.count > 1) usage_fail("--column: expected one column, found %zu", args->columns.count);
    if (!r.args.top_k) r.args.top_k = 10;
    if (!r.args.label_column) r.args.label_column = "label";
    columns[0] = args->query_column ? args->query_column : "query";
    columns[1] = args->columns.count ? args->columns.items[0] : "text";
    columns[2] = r.args.label_column;
    r.args.columns = (struct strings){.items = columns, .count = 3};
    const int status = stream_run(
        &r.args, &(struct stream){.unit = "documents", .group = ranked_group, .end = ranked_end, .ctx = &r});
    query_clear(&r);
    free(r.texts);
    free(r.relevance);
    free(r.scores);
    free(r.places);
    return status;
}
