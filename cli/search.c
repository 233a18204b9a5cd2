// run semantic-search: the texts of a file that are nearest to queries. The file may be larger than memory: only texts
// that are among the best so far are kept.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#define TOP_DEFAULT 10

static const struct option search_options[] = {
    OPTION("query", OPTION_TEXTS, queries, "TEXT",
           "Print the texts nearest to this one; may be given again."),
    OPTION("query_file", OPTION_TEXTS, query_files, "FILE", "A file of queries, in any format of texts.",
           .files = true),
    OPTION("top_k", OPTION_COUNT, top_k, "N", "How many texts to print for each query; default 10."),
    OPTION("similarity", OPTION_CHOICE, similarity, "NAME",
           "How to compare vectors; the two distances are negated.", .choices = similarity_choices,
           .alias = "similarity_fn_name"),
    OPTION("plain", OPTION_FLAG, plain, NULL, "Print for people instead of JSON lines."),
};
const struct option_group group_search = {"Search", search_options, COUNT(search_options)};

struct kept { // a text that is among the hits of a query, by rising id
    size_t id, length;
    char *text;
    bool wanted;
};

struct search {
    const struct args *args;
    struct rows queries;
    sabok_search *search;
    sabok_hit *hits; // of one query
    struct kept *kept;
    bool *fresh; // [rows of the group]: is among the hits
    size_t hits_cap, kept_count, kept_cap, fresh_cap, top;
};

// ---- texts of hits

static int compare_kept(const void *id, const void *item) {
    const size_t a = *(const size_t *)id, b = ((const struct kept *)item)->id;
    return (a > b) - (a < b);
}

static struct kept *kept_find(const struct search *s, size_t id) {
    return s->kept_count ? bsearch(&id, s->kept, s->kept_count, sizeof *s->kept, compare_kept) : NULL;
}

static size_t hits_read(struct search *s, size_t query, size_t taken) {
    heap_grow(&s->hits, &s->hits_cap, taken < s->top ? taken : s->top, sizeof *s->hits);
    return sabok_search_hits(s->search, query, s->hits);
}

// After the search of rows, numbered from `first` on: keeps the texts of hits and drops all others.
static void texts_keep(struct search *s, const struct rows *rows, size_t first) {
    heap_grow(&s->fresh, &s->fresh_cap, rows->n, sizeof *s->fresh);
    memset(s->fresh, 0, rows->n * sizeof *s->fresh);
    for (size_t i = 0; i < s->kept_count; i++)
        s->kept[i].wanted = false;
    for (size_t q = 0; q < s->queries.n; q++) {
        const size_t count = hits_read(s, q, first + rows->n);
        for (size_t i = 0; i < count; i++)
            *(s->hits[i].corpus_id < first ? &kept_find(s, s->hits[i].corpus_id)->wanted
                                           : &s->fresh[s->hits[i].corpus_id - first]) = true;
    }
    size_t n = 0;
    for (size_t i = 0; i < s->kept_count; i++)
        if (s->kept[i].wanted)
            s->kept[n++] = s->kept[i];
        else
            free(s->kept[i].text);
    s->kept_count = n;
    for (size_t i = 0; i < rows->n; i++) {
        if (!s->fresh[i]) continue;
        heap_grow(&s->kept, &s->kept_cap, s->kept_count + 1, sizeof *s->kept);
        struct kept *k = &s->kept[s->kept_count++];
        *k = (struct kept){
            .id = first + i, .length = rows->lengths[i], .text = heap_array(rows->lengths[i] + 1, 1)};
        memcpy(k->text, rows->fields[i], k->length);
    }
}

// ---- output

static bool hit_write(const struct search *s, size_t query, size_t rank) {
    const sabok_hit *hit = &s->hits[rank];
    const struct kept *kept = kept_find(s, hit->corpus_id);
    const char *text = s->queries.fields[query];
    const size_t length = s->queries.lengths[query];
    if (s->args->plain)
        return (rank > 0 ||
                (sink_format("%s", query ? "\n" : "") && sink_text(text, length) && sink_text("\n", 1))) &&
               sink_format("  %.4f  ", (double)hit->score) && sink_text(kept->text, kept->length) &&
               sink_text("\n", 1);
    return sink_text("{\"query\": ", 10) && sink_string(text, length) &&
           sink_format(", \"rank\": %zu, \"corpus_id\": %zu, \"score\": ", rank + 1, hit->corpus_id) &&
           sink_float(hit->score) && sink_text(", \"text\": ", 10) && sink_string(kept->text, kept->length) &&
           sink_text("}\n", 2);
}

static bool hits_write(struct search *s, size_t taken) {
    bool ok = true;
    for (size_t q = 0; ok && q < s->queries.n; q++) {
        const size_t count = hits_read(s, q, taken);
        for (size_t i = 0; ok && i < count; i++)
            ok = hit_write(s, q, i);
    }
    return ok && sink_flush();
}

// ---- the run

// --query and --query_file, read as texts are.
static bool queries_read(const struct args *args, struct rows *out) {
    struct args input = *args;
    struct texts texts;
    const struct strings columns = {0};
    input.texts = args->queries;
    input.inputs = args->query_files;
    if (!texts_open(&texts, &input, &columns)) return false;
    texts_rest(&texts, out);
    texts_close(&texts);
    return !texts.failed;
}

static bool corpus_search(struct search *s, const sabok_model *model, struct texts *texts,
                          struct timing *timing) {
    struct rows rows = {0};
    struct progress progress;
    sabok_error err = {0};
    bool ok = true;
    progress_start(&progress, s->args, "texts");
    while (ok && texts_next(texts, &rows)) {
        const double start = now_seconds();
        ok = sabok_search_add(s->search, rows.fields, rows.lengths, rows.n, &err) == SABOK_OK;
        timing_add(timing, model, &rows, s->args->max_seq_length, now_seconds() - start);
        if (ok)
            texts_keep(s, &rows, texts->taken - rows.n);
        else
            fail_error(&err);
        progress_add(&progress, rows.n, texts_progress(texts));
    }
    progress_end(&progress);
    rows_free(&rows);
    return ok && !texts->failed;
}

static bool search_all(struct search *s, const sabok_model *model, struct texts *texts,
                       struct timing *timing) {
    sabok_search_opts opts = {.similarity = (sabok_similarity_fn)s->args->similarity, .top_k = s->top};
    sabok_error err = {0};
    embed_options(s->args, &opts.embed);
    opts.embed.text_lengths = s->queries.lengths;
    s->search = sabok_search_new(model, s->queries.fields, s->queries.n, &opts, &err);
    if (!s->search) fail_error(&err);
    const bool ok =
        s->search && corpus_search(s, model, texts, timing) && hits_write(s, (size_t)texts->taken);
    sabok_search_free(s->search);
    for (size_t i = 0; i < s->kept_count; i++)
        free(s->kept[i].text);
    free(s->kept);
    free(s->hits);
    free(s->fresh);
    return ok;
}

int search_run(const struct args *args) {
    struct texts texts;
    struct search s = {.args = args, .top = args->top_k ? args->top_k : TOP_DEFAULT};
    struct timing timing = {.wanted = args->timing};
    if (!args->queries.count && !args->query_files.count)
        usage_fail("semantic-search: expected --query TEXT or --query_file FILE");
    if (args->columns.count > 1) usage_fail("--column: expected one column, found %zu", args->columns.count);
    if (!texts_open(&texts, args, &args->columns)) return EXIT_FAILED;
    const double start = now_seconds();
    bool ok = queries_read(args, &s.queries);
    sabok_model *model = ok ? model_open(args) : NULL;
    timing.open_s = now_seconds() - start;
    ok = model && sink_open(args) && search_all(&s, model, &texts, &timing);
    if (ok)
        ok = sink_commit();
    else
        sink_abandon();
    if (ok) timing_print(&timing);
    rows_free(&s.queries);
    texts_close(&texts);
    sabok_close(model);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
