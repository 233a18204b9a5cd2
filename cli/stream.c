// The frame of tasks over streams of texts: input, model, output, progress; and the options of texts that go in pairs.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static const struct option length_options[] = {
    OPTION("truncate", OPTION_FLAG, truncate, NULL,
           "Cut texts that are too long for the model; without it they are an error.", .alias = "truncation"),
    OPTION("max_length", OPTION_COUNT, max_length, "N",
           "Cut texts at N tokens, special ones included; implies --truncate."),
    OPTION(
        "batch_tokens", OPTION_COUNT, batch_tokens, "N",
        "Most tokens computed together; default: chosen for the machine. The result does not depend on it."),
};
const struct option_group group_length = {"Length", length_options, COUNT(length_options)};

static const struct option pair_options[] = {
    OPTION("pair", OPTION_NAMES, pairs, "NAME",
           "Column of a second text, read together with the first; default text_pair, when a file, "
           "not a pipe, has one.",
           .alias = "text_pair_column"),
    OPTION("text_pair", OPTION_TEXTS, text_pairs, "TEXT", "A second text for the --text of the same place."),
};
const struct option_group group_pair = {"Pairs", pair_options, COUNT(pair_options)};

// ---- pairs

void pairs_join(struct args *args) {
    if (args->pairs.count > 1) usage_fail("--pair: expected one column, found %zu", args->pairs.count);
    if (args->columns.count > 1) usage_fail("--column: expected one column, found %zu", args->columns.count);
    if (args->pairs.count) {
        if (!args->columns.count) strings_add(&args->columns, "sentence1");
        strings_add(&args->columns, args->pairs.items[0]);
    }
    if (!args->text_pairs.count) {
        if (args->pairs.count && args->texts.count)
            usage_fail("--pair: is a column of a file; expected --text_pair with --text");
        return;
    }
    if (args->text_pairs.count != args->texts.count)
        usage_fail("--text_pair: found %zu for %zu of --text, expected as many", args->text_pairs.count,
                   args->texts.count);
    if (args->inputs.count) usage_fail("--text_pair: goes with --text only; expected --pair for a file");
    struct strings both = {0};
    for (size_t i = 0; i < args->texts.count; i++) {
        strings_add(&both, args->texts.items[i]);
        strings_add(&both, args->text_pairs.items[i]);
    }
    free(args->texts.items);
    args->texts = both;
    strings_add(&args->columns, "text");
    if (args->columns.count < 2) strings_add(&args->columns, "text_pair");
}

void pairs_find(struct args *args) {
    if (args->columns.count || args->pairs.count || args->texts.count || args->inputs.count != 1) return;
    const char *path = args->inputs.items[0];
    if (!texts_have_column(args, path, "text") || !texts_have_column(args, path, "text_pair")) return;
    strings_add(&args->columns, "text");
    strings_add(&args->pairs, "text_pair");
}

void columns_part(const struct rows *rows, struct parted *out) {
    const size_t n = rows->n * rows->width;
    heap_grow(&out->fields, &out->fields_cap, n, sizeof *out->fields);
    heap_grow(&out->lengths, &out->lengths_cap, n, sizeof *out->lengths);
    for (size_t i = 0; i < n; i++) {
        const size_t place = i % rows->width * rows->n + i / rows->width;
        out->fields[place] = rows->fields[i];
        out->lengths[place] = rows->lengths[i];
    }
}

void parted_free(struct parted *p) {
    free(p->fields);
    free(p->lengths);
    *p = (struct parted){0};
}

// ---- the frame

void text_options(const struct args *args, const struct rows *rows, struct parted *parted,
                  sabok_text_opts *out) {
    columns_part(rows, parted);
    const bool paired = rows->width > 1 && rows->n > 0;
    *out = (sabok_text_opts){
        .text_lengths = parted->lengths,
        .pairs = paired ? parted->fields + rows->n : NULL,
        .pair_lengths = paired ? parted->lengths + rows->n : NULL,
        .truncate = args->truncate,
        .max_length = args->max_length,
        .batch_tokens = args->batch_tokens,
    };
}

bool row_fail(const struct rows *rows, size_t row, const sabok_error *err) {
    if (row >= rows->n) {
        fail_error(err);
        return false;
    }
    const struct place *place = &rows->places[row];
    if (place->path)
        fail("%s: line %llu: %s", place->path, (unsigned long long)place->line, err->message);
    else
        fail("--text %llu: %s", (unsigned long long)place->line, err->message);
    return false;
}

static bool stream_groups(const struct args *args, const struct stream *stream, const sabok_model *model,
                          struct texts *texts) {
    struct rows rows = {0};
    struct progress progress;
    bool ok = true;
    progress_start(&progress, args, stream->unit);
    while (ok && texts_next(texts, &rows)) {
        ok = stream->group(stream->ctx, model, &rows) && sink_flush();
        progress_add(&progress, rows.n, texts_progress(texts));
    }
    progress_end(&progress);
    rows_free(&rows);
    return ok && !texts->failed;
}

int stream_run(const struct args *args, const struct stream *stream) {
    struct texts texts;
    const struct rows none = {.width = args->columns.count > 1 ? args->columns.count : 1};
    if (!texts_open(&texts, args, &args->columns)) return EXIT_FAILED;
    sabok_model *model = model_open(args);
    // A model that cannot do the task is reported before any text is read.
    bool ok = model && stream->group(stream->ctx, model, &none) && sink_open(args) &&
              stream_groups(args, stream, model, &texts) && (!stream->end || stream->end(stream->ctx, model));
    if (ok)
        ok = sink_commit();
    else
        sink_abandon();
    texts_close(&texts);
    sabok_close(model);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
