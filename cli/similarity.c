// run similarity: scores of pairs, or with --query the nearest texts of a file.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#define TOP_DEFAULT 5

// In the order of enum sabok_similarity_fn.
static const char *const similarity_choices[] = {"cosine", "dot", "euclidean", "manhattan", NULL};

static const struct option similarity_options[] = {
    OPTION("query", OPTION_TEXTS, queries, "TEXT",
           "Print the texts nearest to this one; may be given again."),
    OPTION("top_k", OPTION_COUNT, top_k, "N", "How many texts to print for each query; default 5."),
    OPTION("similarity", OPTION_CHOICE, similarity, "NAME",
           "How to compare vectors; the two distances are negated.", .choices = similarity_choices,
           .alias = "similarity_fn_name"),
    OPTION("plain", OPTION_FLAG, plain, NULL, "Print for people instead of JSON lines."),
};
const struct option_group group_similarity = {"Similarity", similarity_options, COUNT(similarity_options)};

// ---- pairs

static bool pairs_write(const struct args *args, const float *vectors, size_t n, size_t width) {
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        float score;
        sabok_similarity(vectors + 2 * i * width, 1, vectors + (2 * i + 1) * width, 1, width,
                         (sabok_similarity_fn)args->similarity, &score);
        ok = (args->plain || sink_text("{\"score\": ", 10)) && sink_float(score) &&
             (args->plain || sink_text("}", 1)) && sink_text("\n", 1);
    }
    return ok && sink_flush();
}

static bool pairs_run(const struct args *args, const sabok_model *model, struct texts *texts, size_t width,
                      struct timing *timing) {
    struct rows rows = {0};
    struct progress progress;
    sabok_embed_opts opts;
    sabok_error err = {0};
    float *vectors = NULL;
    size_t cap = 0;
    bool ok = true;
    embed_options(args, &opts);
    progress_start(&progress, args, "pairs");
    while (ok && texts_next(texts, &rows)) {
        heap_grow(&vectors, &cap, 2 * rows.n * width, sizeof *vectors);
        ok = timed_embed(model, &rows, &opts, timing, vectors, &err) == SABOK_OK;
        if (!ok) fail_error(&err);
        ok = ok && pairs_write(args, vectors, rows.n, width);
        progress_add(&progress, rows.n, texts_progress(texts));
    }
    progress_end(&progress);
    free(vectors);
    rows_free(&rows);
    return ok && !texts->failed;
}

// ---- search

struct hit {
    float score;
    uint64_t index;
    char *text;
    size_t length;
};

struct search {
    const struct args *args;
    size_t width, top;
    float *queries;   // [queries, width]
    struct hit *hits; // [queries, top], best first
    size_t *counts;   // [queries]
};

// Keeps a hit when it is among the best; of equal ones the earlier stays first.
static void hits_add(struct search *s, size_t query, const struct hit *hit) {
    struct hit *hits = s->hits + query * s->top;
    size_t at = s->counts[query];
    if (at == s->top && !(hit->score > hits[at - 1].score)) return;
    if (at == s->top)
        free(hits[--at].text);
    else
        s->counts[query]++;
    for (; at > 0 && hit->score > hits[at - 1].score; at--)
        hits[at] = hits[at - 1];
    hits[at] = *hit;
    hits[at].text = heap_array(hit->length + 1, 1);
    memcpy(hits[at].text, hit->text, hit->length);
}

static bool hit_write(const struct search *s, size_t query, size_t rank) {
    const struct hit *hit = &s->hits[query * s->top + rank];
    const char *text = s->args->queries.items[query];
    if (s->args->plain)
        return (rank > 0 || (sink_format("%s", query ? "\n" : "") && sink_text(text, strlen(text)) &&
                             sink_text("\n", 1))) &&
               sink_format("  %.4f  ", (double)hit->score) && sink_text(hit->text, hit->length) &&
               sink_text("\n", 1);
    return sink_text("{\"query\": ", 10) && sink_string(text, strlen(text)) &&
           sink_format(", \"rank\": %zu, \"corpus_id\": %llu, \"score\": ", rank + 1,
                       (unsigned long long)hit->index) &&
           sink_float(hit->score) && sink_text(", \"text\": ", 10) && sink_string(hit->text, hit->length) &&
           sink_text("}\n", 2);
}

static void search_group(struct search *s, const struct rows *rows, uint64_t first, const float *vectors,
                         float *scores) {
    for (size_t q = 0; q < s->args->queries.count; q++) {
        sabok_similarity(s->queries + q * s->width, 1, vectors, rows->n, s->width,
                         (sabok_similarity_fn)s->args->similarity, scores);
        for (size_t i = 0; i < rows->n; i++)
            hits_add(s, q, &(struct hit){scores[i], first + i, (char *)rows->fields[i], rows->lengths[i]});
    }
}

static bool search_corpus(struct search *s, const sabok_model *model, struct texts *texts,
                          const sabok_embed_opts *opts, struct timing *timing) {
    struct rows rows = {0};
    struct progress progress;
    sabok_error err = {0};
    float *vectors = NULL, *scores = NULL;
    size_t cap = 0, scores_cap = 0;
    bool ok = true;
    progress_start(&progress, s->args, "texts");
    while (ok && texts_next(texts, &rows)) {
        heap_grow(&vectors, &cap, rows.n * s->width, sizeof *vectors);
        heap_grow(&scores, &scores_cap, rows.n, sizeof *scores);
        ok = timed_embed(model, &rows, opts, timing, vectors, &err) == SABOK_OK;
        if (ok)
            search_group(s, &rows, texts->taken - rows.n, vectors, scores);
        else
            fail_error(&err);
        progress_add(&progress, rows.n, texts_progress(texts));
    }
    progress_end(&progress);
    free(vectors);
    free(scores);
    rows_free(&rows);
    return ok && !texts->failed;
}

static void search_free(struct search *s) {
    for (size_t q = 0; q < s->args->queries.count; q++)
        for (size_t i = 0; i < s->counts[q]; i++)
            free(s->hits[q * s->top + i].text);
    free(s->queries);
    free(s->hits);
    free(s->counts);
}

static bool search_run(const struct args *args, const sabok_model *model, struct texts *texts, size_t width,
                       struct timing *timing) {
    const size_t n = args->queries.count, top = args->top_k ? args->top_k : TOP_DEFAULT;
    if (top > SIZE_MAX / sizeof(struct hit) / n) usage_fail("--top_k: %zu is too many", top);
    struct search s = {.args = args, .width = width, .top = top};
    s.queries = heap_array(n * width, sizeof *s.queries);
    s.hits = heap_array(n * top, sizeof *s.hits);
    s.counts = heap_array(n, sizeof *s.counts);
    sabok_embed_opts opts;
    sabok_error err = {0};
    embed_options(args, &opts);
    bool ok = sabok_embed(model, args->queries.items, n, &opts, s.queries, &err) == SABOK_OK;
    if (!ok) fail_error(&err);
    ok = ok && search_corpus(&s, model, texts, &opts, timing);
    for (size_t q = 0; ok && q < n; q++)
        for (size_t i = 0; ok && i < s.counts[q]; i++)
            ok = hit_write(&s, q, i);
    search_free(&s);
    return ok;
}

// ---- both

// The columns of a file of pairs.
static void pair_columns(const struct args *args, struct strings *out) {
    static const char *names[] = {"sentence1", "sentence2"};
    const struct strings usual = {names, 2, 2};
    *out = args->columns;
    if (args->columns.count == 0) *out = usual;
    if (out->count != 2)
        usage_fail("--column: expected two columns, for instance sentence1,sentence2; found %zu", out->count);
    if (args->texts.count % 2)
        usage_fail("--text: found %zu texts, expected pairs: --text A --text B", args->texts.count);
}

int similarity_run(const struct args *args) {
    struct texts texts;
    struct strings columns = args->columns;
    struct timing timing = {.wanted = args->timing};
    const bool search = args->queries.count > 0;
    if (!search) pair_columns(args, &columns);
    if (search && columns.count > 1) usage_fail("--column: expected one column, found %zu", columns.count);
    if (!texts_open(&texts, args, &columns)) return EXIT_FAILED;
    const double start = now_seconds();
    sabok_model *model = model_open(args);
    timing.open_s = now_seconds() - start;
    bool ok = model && sink_open(args);
    const size_t width = !ok ? 0 : args->truncate_dim ? args->truncate_dim : sabok_embed_width(model);
    if (ok) ok = (search ? search_run : pairs_run)(args, model, &texts, width, &timing);
    if (ok)
        ok = sink_commit();
    else
        sink_abandon();
    if (ok) timing_print(&timing);
    texts_close(&texts);
    sabok_close(model);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
