// run zero-shot-classification: labels chosen on the command line, as the pipeline of this name prints them.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static const struct option zero_shot_options[] = {
    OPTION("candidate_labels", OPTION_TEXTS, candidate_labels, "A,B,...",
           "The labels to choose among, with commas between; may be given again."),
    OPTION("hypothesis_template", OPTION_TEXT, hypothesis_template, "TEXT",
           "What a label becomes, with {} in its place; default \"This example is {}.\"."),
    OPTION("multi_label", OPTION_FLAG, multi_label, NULL,
           "Score each label for itself: several may be true."),
    OPTION("max_length", OPTION_COUNT, max_length, "N",
           "Cut a text so that it has N tokens together with a label; default: the model's own length."),
    OPTION(
        "batch_tokens", OPTION_COUNT, batch_tokens, "N",
        "Most tokens computed together; default: chosen for the machine. The result does not depend on it."),
};
const struct option_group group_zero_shot = {"Labels", zero_shot_options, COUNT(zero_shot_options)};

struct zero_shot {
    const struct args *args;
    struct strings labels;
    struct parted parted;
};

// Labels without the blanks around them; empty ones are none.
static void labels_split(const char *text, struct strings *out) {
    static const char blanks[] = " \t\n\r\f\v";
    for (;;) {
        const size_t end = strcspn(text, ",");
        size_t begin = strspn(text, blanks), n = end;
        begin = begin < end ? begin : end;
        while (n > begin && strchr(blanks, text[n - 1]))
            n--;
        if (n > begin) {
            heap_grow(&out->items, &out->cap, out->count + 1, sizeof *out->items);
            out->items[out->count++] = heap_format("%.*s", (int)(n - begin), text + begin);
        }
        if (!text[end]) return;
        text += end + 1;
    }
}

static int zero_shot_write(void *ctx, size_t text, const sabok_label *labels, size_t count) {
    const struct zero_shot *z = ctx;
    bool ok = sink_text("{\"sequence\": ", 13) &&
              sink_string(z->parted.fields[text], z->parted.lengths[text]) &&
              sink_text(", \"labels\": [", 13);
    for (size_t i = 0; ok && i < count; i++)
        ok = (i == 0 || sink_text(", ", 2)) && sink_string(labels[i].name, strlen(labels[i].name));
    ok = ok && sink_text("], \"scores\": [", 14);
    for (size_t i = 0; ok && i < count; i++)
        ok = (i == 0 || sink_text(", ", 2)) && sink_double((double)labels[i].score);
    return ok && sink_text("]}\n", 3) ? 0 : 1;
}

static bool zero_shot_group(void *ctx, const sabok_model *model, const struct rows *rows) {
    struct zero_shot *z = ctx;
    size_t fault = SIZE_MAX;
    sabok_error err = {0};
    sabok_zero_shot_opts opts = {
        .candidate_labels = z->labels.items,
        .candidate_count = z->labels.count,
        .hypothesis_template = z->args->hypothesis_template,
        .multi_label = z->args->multi_label,
    };
    text_options(z->args, rows, &z->parted, &opts.input);
    opts.input.text_at_fault = &fault;
    const sabok_status status =
        sabok_zero_shot(model, z->parted.fields, rows->n, &opts, zero_shot_write, z, &err);
    return status == SABOK_OK || (status != SABOK_ECANCELED && row_fail(rows, fault, &err));
}

int zero_shot_run(const struct args *args) {
    struct zero_shot z = {.args = args};
    if (args->columns.count > 1) usage_fail("--column: expected one column, found %zu", args->columns.count);
    for (size_t i = 0; i < args->candidate_labels.count; i++)
        labels_split(args->candidate_labels.items[i], &z.labels);
    if (!z.labels.count) usage_fail("zero-shot-classification: expected --candidate_labels A,B,...");
    const int status =
        stream_run(args, &(struct stream){.unit = "texts", .group = zero_shot_group, .ctx = &z});
    for (size_t i = 0; i < z.labels.count; i++)
        free((char *)(uintptr_t)z.labels.items[i]);
    free(z.labels.items);
    parted_free(&z.parted);
    return status;
}
