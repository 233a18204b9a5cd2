// run token-classification: entities of texts, as the pipeline of this name prints them; a list for each text.
#include "cli.h"

#include <string.h>

// In the order of enum sabok_aggregation.
static const char *const aggregation_choices[] = {"none", "simple", "first", "average", "max", NULL};

static const struct option tag_options[] = {
    OPTION(
        "aggregation_strategy", OPTION_CHOICE, aggregation, "NAME",
        "What becomes of tokens: none prints each; simple groups neighbours of one tag; first, average and "
        "max give each word one label before.",
        .choices = aggregation_choices),
    OPTION("ignore_labels", OPTION_NAMES, ignore_labels, "NAME", "Labels that are not printed; default O."),
    OPTION(
        "stride", OPTION_COUNT, stride, "N",
        "Texts of any length, in windows that share N tokens with the next; needs an aggregation strategy.",
        .given = offsetof(struct args, windows)),
};
const struct option_group group_tag = {"Entities", tag_options, COUNT(tag_options)};

struct tagging {
    const struct args *args;
    struct parted parted;
};

static bool entity_write(const sabok_entity *e, bool grouped) {
    return sink_format(grouped ? "{\"entity_group\": " : "{\"entity\": ") &&
           sink_string(e->label, strlen(e->label)) && sink_format(", \"score\": ") &&
           sink_double((double)e->score) && (grouped || sink_format(", \"index\": %zu", e->index)) &&
           sink_format(", \"word\": ") && sink_string(e->word, strlen(e->word)) &&
           sink_format(", \"start\": %zu, \"end\": %zu}", e->span.begin, e->span.end);
}

static int entities_write(void *ctx, size_t text, const sabok_entity *entities, size_t count) {
    const struct tagging *t = ctx;
    bool ok = sink_text("[", 1);
    (void)text;
    for (size_t i = 0; ok && i < count; i++)
        ok = (i == 0 || sink_text(", ", 2)) && entity_write(&entities[i], t->args->aggregation != 0);
    return ok && sink_text("]\n", 2) ? 0 : 1;
}

static bool tag_group(void *ctx, const sabok_model *model, const struct rows *rows) {
    struct tagging *t = ctx;
    size_t fault = SIZE_MAX;
    sabok_error err = {0};
    sabok_tag_opts opts = {
        .aggregation = (sabok_aggregation)t->args->aggregation,
        .ignore_labels = t->args->ignore_labels.items,
        .ignore_count = t->args->ignore_labels.count,
        .windows = t->args->windows,
        .stride = t->args->stride,
    };
    text_options(t->args, rows, &t->parted, &opts.input);
    opts.input.text_at_fault = &fault;
    const sabok_status status = sabok_tag(model, t->parted.fields, rows->n, &opts, entities_write, t, &err);
    return status == SABOK_OK || (status != SABOK_ECANCELED && row_fail(rows, fault, &err));
}

int tag_run(const struct args *args) {
    struct tagging t = {.args = args};
    if (args->columns.count > 1) usage_fail("--column: expected one column, found %zu", args->columns.count);
    const int status = stream_run(args, &(struct stream){.unit = "texts", .group = tag_group, .ctx = &t});
    parted_free(&t.parted);
    return status;
}
