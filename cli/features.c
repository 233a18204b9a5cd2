// run feature-extraction: the vectors of every token, as the pipeline of this name prints them.
#include "cli.h"

struct features {
    const struct args *args;
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

static bool features_group(void *ctx, const sabok_model *model, const struct rows *rows) {
    struct features *features = ctx;
    sabok_model_info info;
    sabok_embed_opts opts;
    sabok_error err = {0};
    sabok_model_get_info(model, &info);
    features->width = info.hidden_size;
    embed_options(features->args, &opts);
    opts.text_lengths = rows->lengths;
    const sabok_status status =
        sabok_embed_tokens(model, rows->fields, rows->n, &opts, features_write, features, &err);
    return status == SABOK_OK || (status != SABOK_ECANCELED && row_fail(rows, SIZE_MAX, &err));
}

int features_run(const struct args *args) {
    struct features features = {.args = args};
    if (args->columns.count > 1) usage_fail("--column: expected one column, found %zu", args->columns.count);
    return stream_run(args, &(struct stream){.unit = "texts", .group = features_group, .ctx = &features});
}
