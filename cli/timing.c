// How long the steps of a run took, for --timing.
#include "cli.h"

// Tokens of the texts as embed computes them, for --timing.
static double tokens_of(const sabok_model *model, const struct rows *rows, size_t max_length) {
    sabok_model_info info;
    sabok_model_get_info(model, &info);
    const sabok_tokenize_opts opts = {
        .text_lengths = rows->lengths,
        .truncation = SABOK_TRUNCATE_LONGEST_FIRST,
        .max_length = max_length ? max_length : info.max_seq_length,
        .ids_only = true,
    };
    sabok_encodings *encodings =
        sabok_tokenize(sabok_model_tokenizer(model), rows->fields, NULL, rows->n * rows->width, &opts, NULL);
    double tokens = 0;
    for (size_t i = 0; encodings && i < sabok_encodings_count(encodings); i++)
        tokens += (double)sabok_encodings_get(encodings, i)->length;
    sabok_encodings_free(encodings);
    return tokens;
}

void timing_add(struct timing *timing, const sabok_model *model, const struct rows *rows, size_t max_length,
                double seconds) {
    timing->embed_s += seconds;
    timing->texts += (double)(rows->n * rows->width);
    if (timing->wanted) timing->tokens += tokens_of(model, rows, max_length);
}

sabok_status timed_embed(const sabok_model *model, const struct rows *rows, const sabok_embed_opts *base,
                         struct timing *timing, float *out, sabok_error *err) {
    sabok_embed_opts opts = *base;
    opts.text_lengths = rows->lengths;
    const double start = now_seconds();
    const sabok_status status = sabok_embed(model, rows->fields, rows->n * rows->width, &opts, out, err);
    timing_add(timing, model, rows, base->max_seq_length, now_seconds() - start);
    return status;
}

void timing_print(const struct timing *t) {
    if (!t->wanted) return;
    fprintf(stderr, "open %.1f ms, embed %.1f ms (%.0f texts, %.0f tokens: %.0f texts/s, %.0f tokens/s)\n",
            1e3 * t->open_s, 1e3 * t->embed_s, t->texts, t->tokens, t->texts / t->embed_s,
            t->tokens / t->embed_s);
}
