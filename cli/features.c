// run feature-extraction: the vectors of every token, as the pipeline of this name prints them.
#include "cli.h"

struct features {
    size_t width; // of a token's vector
};

static int features_write(void *ctx, size_t text, const float *hidden, size_t length) {
    const struct features *f = ctx;
    (void)text;
    bool ok = sink_format("[[");
    for (size_t t = 0; ok && t < length; t++) {
        for (size_t i = 0; ok && i < f->width; i++)
            ok = sink_text(i   ? ", "
                           : t ? ", ["
                               : "[",
                           i   ? 2
                           : t ? 3
                               : 1) &&
                 sink_float(hidden[t * f->width + i]);
        ok = ok && sink_text("]", 1);
    }
    return ok && sink_text("]]\n", 3) ? 0 : 1;
}

static bool features_groups(const struct args *args, const sabok_model *model, struct texts *texts) {
    sabok_model_info info;
    sabok_model_get_info(model, &info);
    struct features features = {info.hidden_size};
    struct rows rows = {0};
    struct progress progress;
    sabok_embed_opts opts;
    bool ok = true;
    embed_options(args, &opts);
    progress_start(&progress, args, "texts");
    while (ok && texts_next(texts, &rows)) {
        sabok_error err = {0};
        opts.text_lengths = rows.lengths;
        const sabok_status status =
            sabok_embed_tokens(model, rows.fields, rows.n, &opts, features_write, &features, &err);
        ok = status == SABOK_OK && sink_flush();
        if (status != SABOK_OK && status != SABOK_ECANCELED) fail_error(&err);
        progress_add(&progress, rows.n, texts_progress(texts));
    }
    progress_end(&progress);
    rows_free(&rows);
    return ok && !texts->failed;
}

int features_run(const struct args *args) {
    struct texts texts;
    if (args->columns.count > 1) usage_fail("--column: expected one column, found %zu", args->columns.count);
    if (!texts_open(&texts, args, &args->columns)) return EXIT_FAILED;
    sabok_model *model = model_open(args);
    bool ok = model && sink_open(args) && features_groups(args, model, &texts);
    if (ok)
        ok = sink_commit();
    else
        sink_abandon();
    texts_close(&texts);
    sabok_close(model);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
