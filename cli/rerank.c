// run text-ranking: documents in the order of a cross-encoder, as sentence-transformers' rank gives them.
#include "cli.h"

#include <stdlib.h>

static const struct option rerank_options[] = {
    OPTION("query", OPTION_TEXTS, queries, "TEXT",
           "Rank the texts by how well they fit this one; may be given again."),
    OPTION("top_k", OPTION_COUNT, top_k, "N", "How many texts to print for each query; default: all."),
    OPTION("max_length", OPTION_COUNT, max_length, "N",
           "Cut a query and its text at N tokens, special ones included; default: the model's own length."),
    OPTION(
        "batch_tokens", OPTION_COUNT, batch_tokens, "N",
        "Most tokens computed together; default: chosen for the machine. The result does not depend on it."),
};
const struct option_group group_rerank = {"Ranking", rerank_options, COUNT(rerank_options)};

static bool ranks_write(const struct rows *rows, const sabok_ranked *ranks, size_t n) {
    bool ok = sink_text("[", 1);
    for (size_t i = 0; ok && i < n; i++) {
        const size_t id = ranks[i].corpus_id;
        ok = sink_format("%s{\"corpus_id\": %zu, \"score\": ", i ? ", " : "", id) &&
             sink_double((double)ranks[i].score) && sink_text(", \"text\": ", 10) &&
             sink_string(rows->fields[id], rows->lengths[id]) && sink_text("}", 1);
    }
    return ok && sink_text("]\n", 2) && sink_flush();
}

static bool queries_rank(const struct args *args, const sabok_model *model, const struct rows *rows) {
    sabok_ranked *ranks = heap_array(rows->n, sizeof *ranks);
    size_t fault = SIZE_MAX;
    sabok_error err = {0};
    const sabok_text_opts opts = {
        .text_lengths = rows->lengths,
        .max_length = args->max_length,
        .batch_tokens = args->batch_tokens,
        .text_at_fault = &fault,
    };
    bool ok = true;
    for (size_t q = 0; ok && q < args->queries.count; q++) {
        ok = sabok_rerank(model, args->queries.items[q], rows->fields, rows->n, &opts, ranks, &err) ==
                 SABOK_OK ||
             row_fail(rows, fault, &err);
        ok = ok && ranks_write(rows, ranks, args->top_k && args->top_k < rows->n ? args->top_k : rows->n);
    }
    free(ranks);
    return ok;
}

int rerank_run(const struct args *args) {
    struct texts texts;
    struct rows rows = {0};
    sabok_error err = {0};
    if (!args->queries.count) usage_fail("text-ranking: expected --query");
    if (args->columns.count > 1) usage_fail("--column: expected one column, found %zu", args->columns.count);
    if (!texts_open(&texts, args, &args->columns)) return EXIT_FAILED;
    sabok_model *model = model_open(args);
    bool ok = model != NULL;
    // A model that cannot do the task is reported before any text is read.
    if (ok && sabok_rerank(model, NULL, NULL, 0, NULL, NULL, &err) != SABOK_OK) {
        fail_error(&err);
        ok = false;
    }
    ok = ok && sink_open(args);
    if (ok) {
        texts_rest(&texts, &rows);
        ok = !texts.failed && queries_rank(args, model, &rows);
    }
    if (ok)
        ok = sink_commit();
    else
        sink_abandon();
    rows_free(&rows);
    texts_close(&texts);
    sabok_close(model);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
