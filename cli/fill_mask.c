// run fill-mask: tokens for the masks of texts, as the pipeline of this name prints them; a list for each text.
#include "cli.h"

static const struct option fill_mask_options[] = {
    OPTION("top_k", OPTION_COUNT, top_k, "N", "Tokens for each mask; default 5."),
    OPTION("targets", OPTION_NAMES, targets, "TOKEN",
           "Choose among these tokens only; a word that is no token stands for its first one."),
};
const struct option_group group_fill_mask = {"Masks", fill_mask_options, COUNT(fill_mask_options)};

struct filling {
    const struct args *args;
    struct parted parted;
};

static bool fill_write(const sabok_fill *f) {
    return sink_format("{\"score\": ") && sink_double((double)f->score) &&
           sink_format(", \"token\": %u, \"token_str\": ", f->token) &&
           sink_string(f->token_str, f->token_str_length) && sink_format(", \"sequence\": ") &&
           sink_string(f->sequence, f->sequence_length) && sink_format("}");
}

static int fills_write(void *ctx, size_t text, const sabok_fill *fills, size_t masks, size_t count) {
    bool ok = masks == 1 || sink_text("[", 1);
    (void)ctx, (void)text;
    for (size_t i = 0; ok && i < masks; i++) {
        ok = (i == 0 || sink_text(", ", 2)) && sink_text("[", 1);
        for (size_t k = 0; ok && k < count; k++)
            ok = (k == 0 || sink_text(", ", 2)) && fill_write(&fills[i * count + k]);
        ok = ok && sink_text("]", 1);
    }
    return ok && (masks == 1 || sink_text("]", 1)) && sink_text("\n", 1) ? 0 : 1;
}

static bool fill_mask_group(void *ctx, const sabok_model *model, const struct rows *rows) {
    struct filling *f = ctx;
    size_t fault = SIZE_MAX;
    sabok_error err = {0};
    sabok_fill_mask_opts opts = {
        .top_k = f->args->top_k,
        .targets = f->args->targets.items,
        .target_count = f->args->targets.count,
    };
    text_options(f->args, rows, &f->parted, &opts.input);
    opts.input.text_at_fault = &fault;
    const sabok_status status =
        sabok_fill_mask(model, f->parted.fields, rows->n, &opts, fills_write, f, &err);
    return status == SABOK_OK || (status != SABOK_ECANCELED && row_fail(rows, fault, &err));
}

int fill_mask_run(const struct args *args) {
    struct filling f = {.args = args};
    if (args->columns.count > 1) usage_fail("--column: expected one column, found %zu", args->columns.count);
    const int status =
        stream_run(args, &(struct stream){.unit = "texts", .group = fill_mask_group, .ctx = &f});
    parted_free(&f.parted);
    return status;
}
