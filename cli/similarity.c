// run similarity: scores of pairs of texts.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

// In the order of enum sabok_similarity_fn.
const char *const similarity_choices[] = {"cosine", "dot", "euclidean", "manhattan", NULL};

static const struct option similarity_options[] = {
    OPTION("query", OPTION_TEXTS, queries, "TEXT", "Search the texts for this one, as semantic-search does."),
    OPTION("top_k", OPTION_COUNT, top_k, "N", "How many texts to print for each query; default 10."),
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
    if (args->queries.count) return search_run(args);
    pair_columns(args, &columns);
    if (!texts_open(&texts, args, &columns)) return EXIT_FAILED;
    const double start = now_seconds();
    sabok_model *model = model_open(args);
    timing.open_s = now_seconds() - start;
    bool ok = model && sink_open(args);
    const size_t width = ok ? embed_width(args, model) : 0;
    ok = ok && pairs_run(args, model, &texts, width, &timing);
    if (ok)
        ok = sink_commit();
    else
        sink_abandon();
    if (ok) timing_print(&timing);
    texts_close(&texts);
    sabok_close(model);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
