// eval text-classification: what a model says of labelled texts, counted.
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONFUSION_MAX 4096 // labels that a matrix is kept of

enum { AVERAGE_AUTO, AVERAGE_BINARY, AVERAGE_MICRO, AVERAGE_MACRO, AVERAGE_WEIGHTED };
static const char *const average_choices[] = {"auto", "binary", "micro", "macro", "weighted", NULL};
static const char *const division_choices[] = {"0", "1", "nan", NULL};

static const struct option labelled_options[] = {
    OPTION(
        "label_column", OPTION_TEXT, label_column, "NAME",
        "Column of the right label, a name or a number of the model's; default label, else labels. Several "
        "labels of one text stand in a list or with commas between.",
        .alias = "label_column_name"),
    OPTION("average", OPTION_CHOICE, average, "NAME",
           "What precision, recall and F1 are the average of; auto is binary for two labels, micro for texts "
           "with several labels, else macro.",
           .choices = average_choices),
    OPTION("positive", OPTION_TEXT, positive, "LABEL", "The label that binary counts; default number 1.",
           .alias = "pos_label"),
    OPTION("zero_division", OPTION_CHOICE, zero_division, "NUMBER",
           "What stands for a score that is undefined; averages leave nan out.", .choices = division_choices),
    OPTION("confusion", OPTION_FLAG, confusion, NULL,
           "Add the confusion matrix: a row for each right label, a column for each found.",
           .alias = "confusion_matrix"),
};
const struct option_group group_labelled = {"Labels", labelled_options, COUNT(labelled_options)};

struct labelled {
    struct args args;
    struct parted parted;
    const struct rows *rows; // of the group at hand
    sabok_model_info info;
    bool ids;             // the column may hold numbers of labels
    uint64_t n, exact;    // texts, and those whose labels are all right
    sabok_counts *counts; // [labels]
    uint64_t *confusion;  // [labels, labels], or NULL
    bool *expected;       // [labels], of the text at hand
    double *x, *y;        // of a regression: found and expected [n]
    size_t x_cap, y_cap;
};

// ---- labels of the data

static bool row_bad(const struct labelled *e, size_t row, const char *what, size_t n, const char *wanted) {
    const struct place *place = &e->rows->places[row];
    fail("%s: line %llu: column '%s': found \"%.*s\", expected %s", place->path,
         (unsigned long long)place->line, e->args.label_column, n < 60 ? (int)n : 60, what, wanted);
    return false;
}

static bool whole_number(const char *text, size_t n, size_t *out) {
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || i > 8) return false;
        *out = 10 * *out + (size_t)(text[i] - '0');
    }
    return n > 0;
}

// The number of a label, SIZE_MAX when there is none. A name comes first; where a name is a number, numbers are names.
static size_t label_find(const struct labelled *e, const char *text, size_t n) {
    size_t id;
    for (size_t i = 0; i < e->info.num_labels; i++)
        if (strlen(e->info.labels[i]) == n && memcmp(e->info.labels[i], text, n) == 0) return i;
    return e->ids && whole_number(text, n, &id) && id < e->info.num_labels ? id : SIZE_MAX;
}

static bool label_bad(const struct labelled *e, size_t row, const char *text, size_t n) {
    char list[300] = "one of ";
    size_t at = strlen(list);
    for (size_t i = 0; i < e->info.num_labels; i++) {
        const char *name = e->info.labels[i];
        if (at + strlen(name) + 8 > sizeof list) {
            snprintf(list + at, sizeof list - at, ", ...");
            break;
        }
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", name);
    }
    return row_bad(e, row, text, n, list);
}

// The labels of a field into e->expected; a list has a line end after each item.
static bool labels_read(struct labelled *e, size_t row, const char *text, size_t n) {
    const bool list = memchr(text, '\n', n) != NULL, many = e->info.multi_label;
    size_t labels = 0;
    memset(e->expected, 0, e->info.num_labels * sizeof *e->expected);
    if (n == 0 && many) return true;
    for (size_t at = 0; at < n || (at == n && !list); at++, labels++) {
        const char *end = list || many ? memchr(text + at, list ? '\n' : ',', n - at) : NULL;
        size_t begin = at, length = end ? (size_t)(end - text) - at : n - at;
        at += length;
        for (; many && length && text[begin] == ' '; begin++)
            length--;
        while (many && length && text[begin + length - 1] == ' ')
            length--;
        const size_t id = label_find(e, text + begin, length);
        if (id == SIZE_MAX) return label_bad(e, row, text + begin, length);
        e->expected[id] = true;
    }
    return labels == 1 || many || row_bad(e, row, text, n, "one label");
}

static bool number_read(struct labelled *e, size_t row, const char *text, size_t n) {
    char *end;
    const double value = strtod(text, &end);
    if (end == text || end != text + n || !isfinite(value)) return row_bad(e, row, text, n, "a number");
    heap_grow(&e->y, &e->y_cap, e->n + 1, sizeof *e->y);
    e->y[e->n] = value;
    return true;
}

// ---- counting

static void count_one(struct labelled *e, size_t found) {
    size_t expected = 0;
    while (!e->expected[expected])
        expected++;
    e->counts[found].found++;
    e->counts[expected].expected++;
    e->counts[found].correct += found == expected;
    e->exact += found == expected;
    if (e->confusion) e->confusion[expected * e->info.num_labels + found]++;
}

static void count_many(struct labelled *e, const sabok_label *labels, size_t count) {
    bool exact = true;
    for (size_t i = 0; i < count; i++) {
        // A probability above one half.
        const bool found = labels[i].score > 0, expected = e->expected[labels[i].id];
        sabok_counts *c = &e->counts[labels[i].id];
        c->found += found;
        c->expected += expected;
        c->correct += found && expected;
        exact &= found == expected;
    }
    e->exact += exact;
}

static int text_count(void *ctx, size_t text, const sabok_label *labels, size_t count) {
    struct labelled *e = ctx;
    const size_t field = (e->rows->width - 1) * e->rows->n + text;
    const char *label = e->parted.fields[field];
    const size_t n = e->parted.lengths[field];
    if (e->info.regression) {
        if (!number_read(e, text, label, n)) return 1;
        heap_grow(&e->x, &e->x_cap, e->n + 1, sizeof *e->x);
        e->x[e->n] = (double)labels[0].score;
    } else if (!labels_read(e, text, label, n)) {
        return 1;
    } else if (e->info.multi_label) {
        count_many(e, labels, count);
    } else {
        count_one(e, labels[0].id);
    }
    e->n++;
    return 0;
}

static bool model_fits(struct labelled *e, const sabok_model *model) {
    sabok_model_get_info(model, &e->info);
    const size_t n = e->info.num_labels;
    size_t id;
    if (e->info.regression && n != 1)
        return fail("%s: a regression of %zu numbers, expected one", e->info.name, n) == EXIT_DONE;
    e->ids = true;
    for (size_t i = 0; i < n; i++)
        if (whole_number(e->info.labels[i], strlen(e->info.labels[i]), &id)) e->ids = false;
    if (e->args.positive && label_find(e, e->args.positive, strlen(e->args.positive)) == SIZE_MAX)
        return fail("--positive: the model has no label \"%s\"", e->args.positive) == EXIT_DONE;
    if (e->args.average == AVERAGE_BINARY && n != 2 && !e->args.positive)
        return fail("--average binary: the model has %zu labels, expected --positive to choose one", n) ==
               EXIT_DONE;
    if (e->args.confusion && (e->info.multi_label || e->info.regression || n > CONFUSION_MAX))
        return fail("--confusion: expected a model that gives each text one label of at most %d",
                    CONFUSION_MAX) == EXIT_DONE;
    e->expected = heap_array(n, sizeof *e->expected);
    e->counts = calloc(n, sizeof *e->counts);
    if (e->args.confusion) e->confusion = calloc(n * n, sizeof *e->confusion);
    return (e->counts && (e->confusion || !e->args.confusion)) || fail("out of memory") == EXIT_DONE;
}

static bool labelled_group(void *ctx, const sabok_model *model, const struct rows *rows) {
    struct labelled *e = ctx;
    size_t fault = SIZE_MAX;
    sabok_error err = {0};
    sabok_classify_opts opts = {.function = SABOK_FUNCTION_NONE};
    e->rows = rows;
    text_options(&e->args, rows, &e->parted, &opts.input);
    if (rows->width < 3) opts.input.pairs = NULL;
    opts.input.text_at_fault = &fault;
    opts.top_k = e->info.multi_label ? 0 : 1;
    const sabok_status status = sabok_classify(model, e->parted.fields, rows->n, &opts, text_count, e, &err);
    if (status != SABOK_OK) return status != SABOK_ECANCELED && row_fail(rows, fault, &err);
    return e->counts || model_fits(e, model);
}

// ---- report

static double undefined_score(const struct labelled *e) {
    return e->args.zero_division == 2 ? (double)NAN : (double)e->args.zero_division;
}

// The classes that averages are over, in *out: of single labels those that the data or the model named.
static size_t classes_take(const struct labelled *e, sabok_counts *out) {
    size_t n = 0;
    for (size_t i = 0; i < e->info.num_labels; i++)
        if (e->info.multi_label || e->counts[i].found || e->counts[i].expected) out[n++] = e->counts[i];
    return n;
}

static unsigned average_chosen(const struct labelled *e) {
    if (e->args.average != AVERAGE_AUTO) return e->args.average;
    if (e->args.positive) return AVERAGE_BINARY;
    if (e->info.multi_label) return AVERAGE_MICRO;
    return e->info.num_labels == 2 ? AVERAGE_BINARY : AVERAGE_MACRO;
}

// By a number of average_choices.
static sabok_scores scores_of(const struct labelled *e, unsigned average) {
    static const sabok_average averages[] = {[AVERAGE_MICRO] = SABOK_AVERAGE_MICRO,
                                             [AVERAGE_MACRO] = SABOK_AVERAGE_MACRO,
                                             [AVERAGE_WEIGHTED] = SABOK_AVERAGE_WEIGHTED};
    if (average == AVERAGE_BINARY) {
        const char *positive = e->args.positive;
        const size_t id = positive ? label_find(e, positive, strlen(positive)) : 1;
        return sabok_scores_average(&e->counts[id], 1, SABOK_AVERAGE_MACRO, undefined_score(e));
    }
    sabok_counts *classes = heap_array(e->info.num_labels, sizeof *classes);
    const size_t n = classes_take(e, classes);
    const sabok_scores scores = sabok_scores_average(classes, n, averages[average], undefined_score(e));
    free(classes);
    return scores;
}

bool scores_json(const char *prefix, const char *suffix, sabok_scores s) {
    return sink_format("\"%sprecision%s\": ", prefix, suffix) && sink_double(s.precision) &&
           sink_format(", \"%srecall%s\": ", prefix, suffix) && sink_double(s.recall) &&
           sink_format(", \"%sf1%s\": ", prefix, suffix) && sink_double(s.f1);
}

static bool json_labels(const struct labelled *e) {
    bool ok = sink_format(", \"labels\": {");
    for (size_t i = 0; ok && i < e->info.num_labels; i++) {
        const char *name = e->info.labels[i];
        const sabok_scores s =
            sabok_scores_average(&e->counts[i], 1, SABOK_AVERAGE_MACRO, undefined_score(e));
        ok = (i == 0 || sink_text(", ", 2)) && sink_string(name, strlen(name)) && sink_text(": {", 3) &&
             scores_json("", "", s) &&
             sink_format(", \"support\": %llu}", (unsigned long long)e->counts[i].expected);
    }
    return ok && sink_text("}", 1);
}

static bool json_confusion(const struct labelled *e) {
    const size_t n = e->info.num_labels;
    bool ok = sink_format(", \"confusion_matrix\": [");
    for (size_t i = 0; ok && i < n * n; i++)
        ok = sink_format("%s%llu%s",
                         i % n ? ", "
                         : i   ? ", ["
                               : "[",
                         (unsigned long long)e->confusion[i], (i + 1) % n ? "" : "]");
    return ok && sink_text("]", 1);
}

static bool json_report(const struct labelled *e) {
    const unsigned chosen = average_chosen(e);
    bool ok = sink_format("{\"eval_accuracy\": ") && sink_double((double)e->exact / (double)e->n) &&
              sink_text(", ", 2) && scores_json("eval_", "", scores_of(e, chosen)) &&
              sink_format(", \"average\": \"%s\"", average_choices[chosen]);
    if (!e->info.multi_label)
        ok = ok && sink_format(", \"eval_matthews_correlation\": ") &&
             sink_double(sabok_matthews(e->counts, e->info.num_labels));
    for (unsigned a = AVERAGE_MICRO; ok && a <= AVERAGE_WEIGHTED; a++) {
        char suffix[16];
        snprintf(suffix, sizeof suffix, "_%s", average_choices[a]);
        ok = sink_text(", ", 2) && scores_json("eval_", suffix, scores_of(e, a));
    }
    return ok && sink_format(", \"eval_samples\": %llu", (unsigned long long)e->n) && json_labels(e) &&
           (!e->confusion || json_confusion(e)) && sink_text("}\n", 2);
}

bool scores_row(const char *name, sabok_scores s, uint64_t support) {
    return sink_format("%-24s %10.4f %10.4f %10.4f %10llu\n", name, s.precision, s.recall, s.f1,
                       (unsigned long long)support);
}

static bool table_confusion(const struct labelled *e) {
    const size_t n = e->info.num_labels;
    bool ok = sink_format("\n%-24s", "expected \\ found");
    for (size_t i = 0; ok && i < n; i++)
        ok = sink_format(" %10.24s", e->info.labels[i]);
    for (size_t i = 0; ok && i < n * n; i++) {
        if (i % n == 0) ok = sink_format("\n%-24s", e->info.labels[i / n]);
        ok = ok && sink_format(" %10llu", (unsigned long long)e->confusion[i]);
    }
    return ok && sink_text("\n", 1);
}

static bool table_report(const struct labelled *e) {
    bool ok = sink_format("%-24s %10s %10s %10s %10s\n", "label", "precision", "recall", "F1", "texts");
    uint64_t support = 0;
    for (size_t i = 0; ok && i < e->info.num_labels; i++) {
        const sabok_counts *c = &e->counts[i];
        support += c->expected;
        if (!e->info.multi_label && !c->found && !c->expected) continue;
        ok = scores_row(e->info.labels[i],
                        sabok_scores_average(c, 1, SABOK_AVERAGE_MACRO, undefined_score(e)), c->expected);
    }
    for (unsigned a = AVERAGE_MICRO; ok && a <= AVERAGE_WEIGHTED; a++)
        ok = scores_row(average_choices[a], scores_of(e, a), support);
    ok = ok && sink_format("\naccuracy %.4f", (double)e->exact / (double)e->n);
    if (average_chosen(e) == AVERAGE_BINARY)
        ok = ok && sink_format(", F1 %.4f", scores_of(e, AVERAGE_BINARY).f1);
    if (!e->info.multi_label)
        ok = ok && sink_format(", Matthews %.4f", sabok_matthews(e->counts, e->info.num_labels));
    ok = ok && sink_format(", %llu texts\n", (unsigned long long)e->n);
    return ok && (!e->confusion || table_confusion(e));
}

static bool regression_report(const struct labelled *e) {
    const size_t n = (size_t)e->n;
    const double pearson = sabok_pearson(e->x, e->y, n), spearman = sabok_spearman(e->x, e->y, n),
                 error = sabok_mean_squared_error(e->x, e->y, n);
    if (!e->args.json)
        return sink_format("Pearson %.4f, Spearman %.4f, mean squared error %.4f, %zu texts\n", pearson,
                           spearman, error, n);
    return sink_format("{\"eval_pearson\": ") && sink_double(pearson) &&
           sink_format(", \"eval_spearmanr\": ") && sink_double(spearman) &&
           sink_format(", \"eval_mse\": ") && sink_double(error) &&
           sink_format(", \"eval_samples\": %zu}\n", n);
}

static bool labelled_end(void *ctx, const sabok_model *model) {
    const struct labelled *e = ctx;
    (void)model;
    if (e->n == 0) return fail("%s: found no rows", texts_name(e->args.inputs.items[0])) == EXIT_DONE;
    if (e->info.regression) return regression_report(e);
    return e->args.json ? json_report(e) : table_report(e);
}

// ---- arguments

static const char *column_find(const struct args *args, const char *const *names, size_t n) {
    const char *path = args->inputs.items[0];
    // Standard input cannot be read twice.
    for (size_t i = 0; strcmp(path, "-") != 0 && i < n; i++)
        if (texts_have_column(args, path, names[i])) return names[i];
    return names[0];
}

// The columns of a row: the text, perhaps its pair, the label.
static void labelled_columns(struct args *args) {
    static const char *const texts[] = {"text", "sentence", "sentence1"}, *const labels[] = {"label",
                                                                                             "labels"};
    const char *pair = args->pairs.count ? args->pairs.items[0] : NULL, *text = NULL;
    if (args->pairs.count > 1) usage_fail("--pair: expected one column, found %zu", args->pairs.count);
    if (args->columns.count > 1) usage_fail("--column: expected one column, found %zu", args->columns.count);
    if (args->columns.count) {
        text = args->columns.items[0];
    } else {
        text = column_find(args, texts, COUNT(texts));
        const char *other = strcmp(text, "text") == 0        ? "text_pair"
                            : strcmp(text, "sentence1") == 0 ? "sentence2"
                                                             : NULL;
        const bool there = other && !pair && strcmp(args->inputs.items[0], "-") != 0 &&
                           texts_have_column(args, args->inputs.items[0], other);
        if (there) pair = other;
    }
    if (!args->label_column) args->label_column = column_find(args, labels, COUNT(labels));
    args->columns = (struct strings){0};
    heap_grow(&args->columns.items, &args->columns.cap, 3, sizeof *args->columns.items);
    args->columns.items[args->columns.count++] = text;
    if (pair) args->columns.items[args->columns.count++] = pair;
    args->columns.items[args->columns.count++] = args->label_column;
}

int eval_classify_run(const struct args *args) {
    static struct labelled e; // its arguments live as long as the program
    e.args = *args;
    e.args.lists = true;
    if (args->texts.count || args->text_pairs.count || args->inputs.count != 1)
        usage_fail("expected one file of labelled texts: sabok eval %s", verb_eval.usage);
    labelled_columns(&e.args);
    const int status = stream_run(
        &e.args, &(struct stream){.unit = "texts", .group = labelled_group, .end = labelled_end, .ctx = &e});
    parted_free(&e.parted);
    free(e.counts);
    free(e.confusion);
    free(e.expected);
    free(e.x);
    free(e.y);
    return status;
}
