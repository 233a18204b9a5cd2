// eval sts: Pearson and Spearman correlation of similarity and score, over all pairs and in each subset.
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct option sts_options[] = {
    OPTION("subset_column", OPTION_TEXT, column_subset, "NAME",
           "Column that names a pair's subset; default subset, when there is one."),
};
const struct option_group group_sts = {"Subsets", sts_options, COUNT(sts_options)};

// In the order of enum sabok_similarity_fn.
static const char *const measures[] = {"cosine", "dot", "euclidean", "manhattan"};
#define MEASURES COUNT(measures)

struct sts {
    const struct args *args;
    double *scores, *similarities[MEASURES];
    size_t *subsets; // of each pair
    size_t scores_cap, similarity_caps[MEASURES], subsets_cap;
    size_t n;
    struct strings names; // of subsets, by first appearance
};

static size_t subset_number(struct sts *s, const char *name) {
    for (size_t i = 0; i < s->names.count; i++)
        if (strcmp(s->names.items[i], name) == 0) return i;
    strings_add(&s->names, heap_format("%s", name));
    return s->names.count - 1;
}

static bool score_read(const struct rows *rows, size_t row, double *out) {
    const char *text = rows->fields[row * rows->width + 2];
    char *end;
    *out = strtod(text, &end);
    while (*end == ' ')
        end++;
    if (end != text && !*end && isfinite(*out)) return true;
    sabok_error err = {.code = SABOK_EFORMAT};
    snprintf(err.message, sizeof err.message, "score: found \"%.40s\", expected a number", text);
    return row_fail(rows, row, &err);
}

static void pair_add(struct sts *s, double score, const char *subset, const float *vectors, size_t width) {
    heap_grow(&s->scores, &s->scores_cap, s->n + 1, sizeof *s->scores);
    heap_grow(&s->subsets, &s->subsets_cap, s->n + 1, sizeof *s->subsets);
    s->scores[s->n] = score;
    s->subsets[s->n] = subset ? subset_number(s, subset) : 0;
    for (size_t i = 0; i < MEASURES; i++) {
        float similarity;
        sabok_similarity(vectors, 1, vectors + width, 1, width, (sabok_similarity_fn)i, &similarity);
        heap_grow(&s->similarities[i], &s->similarity_caps[i], s->n + 1, sizeof *s->similarities[i]);
        s->similarities[i][s->n] = (double)similarity;
    }
    s->n++;
}

// The fields of a row are sentence1, sentence2, score and perhaps the subset; only the first two are embedded.
static bool group_add(struct sts *s, const sabok_model *model, const struct rows *rows, size_t width,
                      struct timing *timing) {
    struct rows pairs = {.n = rows->n, .width = 2};
    pairs.fields = heap_array(2 * rows->n, sizeof *pairs.fields);
    pairs.lengths = heap_array(2 * rows->n, sizeof *pairs.lengths);
    for (size_t i = 0; i < 2 * rows->n; i++) {
        pairs.fields[i] = rows->fields[i / 2 * rows->width + i % 2];
        pairs.lengths[i] = rows->lengths[i / 2 * rows->width + i % 2];
    }
    float *vectors = heap_array(2 * rows->n * width, sizeof *vectors);
    sabok_embed_opts opts;
    sabok_error err = {0};
    embed_options(s->args, &opts);
    bool ok = timed_embed(model, &pairs, &opts, timing, vectors, &err) == SABOK_OK;
    if (!ok) fail_error(&err);
    for (size_t i = 0; ok && i < rows->n; i++) {
        const char *subset = rows->width > 3 ? rows->fields[i * rows->width + 3] : NULL;
        double score;
        ok = score_read(rows, i, &score);
        if (ok) pair_add(s, score, subset, vectors + 2 * i * width, width);
    }
    free(vectors);
    rows_free(&pairs);
    return ok;
}

// ---- results

struct correlation {
    double pearson, spearman;
    size_t n;
};

// Of the pairs of one subset, or of all when `subset` is SIZE_MAX.
static struct correlation correlate(const struct sts *s, size_t measure, size_t subset) {
    double *x = heap_array(s->n, sizeof *x), *y = heap_array(s->n, sizeof *y);
    struct correlation c = {0};
    for (size_t i = 0; i < s->n; i++) {
        if (subset != SIZE_MAX && s->subsets[i] != subset) continue;
        x[c.n] = s->similarities[measure][i];
        y[c.n++] = s->scores[i];
    }
    c.pearson = sabok_pearson(x, y, c.n);
    c.spearman = sabok_spearman(x, y, c.n);
    free(x);
    free(y);
    return c;
}

static bool json_measures(const struct sts *s, size_t subset) {
    bool ok = true;
    for (size_t i = 0; ok && i < MEASURES; i++) {
        const struct correlation c = correlate(s, i, subset);
        ok = sink_format("%s\"pearson_%s\": ", i ? ", " : "", measures[i]) && sink_double(c.pearson) &&
             sink_format(", \"spearman_%s\": ", measures[i]) && sink_double(c.spearman);
    }
    return ok && sink_format(", \"pairs\": %zu", correlate(s, 0, subset).n);
}

static bool json_write(const struct sts *s) {
    bool ok = sink_text("{", 1) && json_measures(s, SIZE_MAX);
    if (s->names.count) ok = ok && sink_format(", \"subsets\": {");
    for (size_t i = 0; ok && i < s->names.count; i++)
        ok = (i == 0 || sink_text(", ", 2)) && sink_string(s->names.items[i], strlen(s->names.items[i])) &&
             sink_text(": {", 3) && json_measures(s, i) && sink_text("}", 1);
    return ok && (s->names.count == 0 || sink_text("}", 1)) && sink_text("}\n", 2);
}

static bool table_row(const struct sts *s, const char *name, size_t subset) {
    const struct correlation c = correlate(s, s->args->similarity, subset);
    return sink_format("%-24s %8zu %10.2f %10.2f\n", name, c.n, 100 * c.spearman, 100 * c.pearson);
}

static bool table_write(const struct sts *s) {
    bool ok = sink_format("%-24s %8s %10s %10s\n", "subset", "pairs", "Spearman", "Pearson");
    for (size_t i = 0; ok && i < s->names.count; i++)
        ok = table_row(s, s->names.items[i], i);
    return ok && table_row(s, "all", SIZE_MAX);
}

static void sts_free(struct sts *s) {
    for (size_t i = 0; i < MEASURES; i++)
        free(s->similarities[i]);
    for (size_t i = 0; i < s->names.count; i++)
        free((void *)s->names.items[i]);
    free(s->names.items);
    free(s->scores);
    free(s->subsets);
}

static bool sts_read(struct sts *s, const sabok_model *model, struct texts *texts, struct timing *timing) {
    const size_t width = embed_width(s->args, model);
    struct rows rows = {0};
    struct progress progress;
    bool ok = true;
    progress_start(&progress, s->args, "pairs");
    while (ok && texts_next(texts, &rows)) {
        ok = group_add(s, model, &rows, width, timing);
        progress_add(&progress, rows.n, texts_progress(texts));
    }
    progress_end(&progress);
    rows_free(&rows);
    return ok && !texts->failed;
}

// ---- arguments

static void sts_columns(const struct args *args, const char *names[4], struct strings *out) {
    static const char *const usual[] = {"sentence1", "sentence2", "score"};
    if (args->columns.count != 0 && args->columns.count != 3)
        usage_fail("--column: expected three columns, for instance sentence1,sentence2,score; found %zu",
                   args->columns.count);
    memcpy(names, args->columns.count ? args->columns.items : (const char **)usual, 3 * sizeof *names);
    *out = (struct strings){.items = names, .count = 3};
    names[3] = args->column_subset ? args->column_subset : "subset";
    if (args->column_subset || texts_have_column(args, args->inputs.items[0], names[3])) out->count = 4;
}

int sts_run(const struct args *args) {
    const char *names[4];
    struct strings columns;
    struct texts texts;
    struct sts s = {.args = args};
    struct timing timing = {.wanted = args->timing};
    if (args->texts.count || args->inputs.count != 1)
        usage_fail("expected one file of pairs: sabok eval %s", verb_eval.usage);
    sts_columns(args, names, &columns);
    if (!texts_open(&texts, args, &columns)) return EXIT_FAILED;
    const double start = now_seconds();
    sabok_model *model = model_open(args);
    timing.open_s = now_seconds() - start;
    bool ok = model && sink_open(args) && sts_read(&s, model, &texts, &timing);
    if (ok && s.n == 0) ok = fail("%s: found no pairs", texts_name(args->inputs.items[0])) == EXIT_DONE;
    if (ok) ok = args->json ? json_write(&s) : table_write(&s);
    if (ok)
        ok = sink_commit();
    else
        sink_abandon();
    if (ok) timing_print(&timing);
    sts_free(&s);
    texts_close(&texts);
    sabok_close(model);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
