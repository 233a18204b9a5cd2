// run text-classification: labels of texts or of pairs, as the pipeline of this name prints them.
#include "cli.h"

#include <string.h>

// In the order of enum sabok_function.
static const char *const function_choices[] = {"default", "sigmoid", "softmax", "none", NULL};

static const struct option classify_options[] = {
    OPTION("top_k", OPTION_COUNT, top_k, "N",
           "Print a list of the N best labels of each text; default: the best one, without a list."),
    OPTION("return_all_scores", OPTION_FLAG, all_scores, NULL, "Print a list of all labels of each text."),
    OPTION("function_to_apply", OPTION_CHOICE, function, "NAME",
           "What makes scores of the model's outputs; default: none for a regression, sigmoid for one label "
           "or for several at once, else softmax.",
           .choices = function_choices),
};
const struct option_group group_classify = {"Classification", classify_options, COUNT(classify_options)};

struct classify {
    const struct args *args;
    struct parted parted;
};

bool label_write(const sabok_label *label) {
    return sink_text("{\"label\": ", 10) && sink_string(label->name, strlen(label->name)) &&
           sink_text(", \"score\": ", 11) && sink_double((double)label->score) && sink_text("}", 1);
}

static int classify_write(void *ctx, size_t text, const sabok_label *labels, size_t count) {
    const struct classify *c = ctx;
    const bool list = c->args->top_k || c->args->all_scores;
    bool ok = !list || sink_text("[", 1);
    (void)text;
    for (size_t i = 0; ok && i < count; i++)
        ok = (i == 0 || sink_text(", ", 2)) && label_write(&labels[i]);
    return ok && sink_text(list ? "]\n" : "\n", list ? 2 : 1) ? 0 : 1;
}

static bool classify_group(void *ctx, const sabok_model *model, const struct rows *rows) {
    struct classify *c = ctx;
    size_t fault = SIZE_MAX;
    sabok_error err = {0};
    sabok_classify_opts opts = {
        .function = (sabok_function)c->args->function,
        .top_k = c->args->all_scores ? 0
                 : c->args->top_k    ? c->args->top_k
                                     : 1,
    };
    text_options(c->args, rows, &c->parted, &opts.input);
    opts.input.text_at_fault = &fault;
    const sabok_status status =
        sabok_classify(model, c->parted.fields, rows->n, &opts, classify_write, c, &err);
    return status == SABOK_OK || (status != SABOK_ECANCELED && row_fail(rows, fault, &err));
}

int classify_run(const struct args *args) {
    static struct args joined; // like the arguments it lives as long as the program
    joined = *args;
    struct classify c = {.args = &joined};
    pairs_find(&joined);
    pairs_join(&joined);
    const int status =
        stream_run(&joined, &(struct stream){.unit = "texts", .group = classify_group, .ctx = &c});
    parted_free(&c.parted);
    return status;
}
