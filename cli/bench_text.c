// bench over a file of texts: from text to vectors, tokenizing included.
#include "cli.h"

#include <stdlib.h>

// Tokens and multiply-adds of the texts as sabok_embed computes them.
static bool text_work(const sabok_model *model, const struct rows *rows, size_t max_length,
                      struct bench_row *row) {
    sabok_model_info info;
    sabok_error err = {0};
    sabok_model_get_info(model, &info);
    const sabok_tokenize_opts opts = {
        .text_lengths = rows->lengths,
        .truncation = SABOK_TRUNCATE_LONGEST_FIRST,
        .max_length = max_length ? max_length : info.max_seq_length,
        .ids_only = true,
    };
    if (!info.has_tokenizer) usage_fail("--input: the model has no tokenizer, expected --sequence_length");
    sabok_encodings *encodings =
        sabok_tokenize(sabok_model_tokenizer(model), rows->fields, NULL, rows->n, &opts, &err);
    if (!encodings) {
        fail_error(&err);
        return false;
    }
    *row = (struct bench_row){.sequences = (double)rows->n};
    for (size_t i = 0; i < sabok_encodings_count(encodings); i++) {
        const double length = (double)sabok_encodings_get(encodings, i)->length;
        row->tokens += length;
        row->flops += flops_of(&info, length);
    }
    sabok_encodings_free(encodings);
    return true;
}

static bool text_time(const struct args *args, const sabok_model *model, const struct rows *rows,
                      struct bench_times *times) {
    sabok_embed_opts opts;
    sabok_error err = {0};
    embed_options(args, &opts);
    opts.text_lengths = rows->lengths;
    float *vectors = heap_array(rows->n * sabok_embed_width(model), sizeof *vectors);
    bool ok = sabok_embed(model, rows->fields, rows->n < 64 ? rows->n : 64, &opts, vectors, &err) == SABOK_OK;
    while (ok && !times_enough(args, times)) {
        const double start = now_seconds();
        ok = sabok_embed(model, rows->fields, rows->n, &opts, vectors, &err) == SABOK_OK;
        times_add(times, now_seconds() - start);
    }
    if (!ok) fail_error(&err);
    free(vectors);
    return ok;
}

bool bench_text(const struct args *args, const sabok_model *model, double peak_flops) {
    struct texts texts;
    struct rows rows = {0};
    struct bench_row row = {0};
    struct bench_times times = {0};
    sabok_model_info info;
    sabok_model_get_info(model, &info);
    if (args->columns.count > 1) usage_fail("--column: expected one column, found %zu", args->columns.count);
    if (!texts_open(&texts, args, &args->columns)) return false;
    bool ok = texts_rest(&texts, &rows);
    if (!ok && !texts.failed) fail("%s: found no texts", texts_name(args->inputs.items[0]));
    ok = ok && text_work(model, &rows, 0, &row) && text_time(args, model, &rows, &times) &&
         bench_print(args, &info, &row, &times, peak_flops);
    texts_close(&texts);
    rows_free(&rows);
    free(times.seconds);
    return ok;
}
