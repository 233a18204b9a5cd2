// inspect: what a model is, its program, its weights, and the machine.
#include "cli.h"

static const struct option options[] = {
    OPTION("program", OPTION_FLAG, program, NULL,
           "Print the program: every record with shapes, bytes and the kernel bound to it."),
    OPTION("weights", OPTION_FLAG, weights, NULL, "Print every weight: name, shape, bytes."),
    OPTION("cpu", OPTION_FLAG, cpu, NULL, "Print what the CPU has and which kernels are chosen."),
    OPTION(
        "config", OPTION_TEXT, config, "NAME",
        "Instead of a model: random weights of this shape: minilm, bert-base, bert-large or a config.json.",
        .files = true),
    OPTION("batch_size", OPTION_COUNTS, batch_sizes, "B", "Sequences the printed program is made for."),
    OPTION("sequence_length", OPTION_COUNTS, sequence_lengths, "S",
           "Tokens of each; default the model's longest."),
    OPTION("json", OPTION_FLAG, json, NULL, "Print JSON."),
};
static const struct option_group group = {"Inspection", options, COUNT(options)};

static int inspect_cpu(const struct args *args) {
    sabok_error err = {0};
    if (sabok_cpu_print(args->json, sink_write, NULL, &err) == SABOK_OK) return EXIT_DONE;
    return err.code == SABOK_ECANCELED ? EXIT_FAILED : fail_error(&err);
}

static int inspect_model(const struct args *args, const sabok_model *model, sabok_print what) {
    sabok_model_info info;
    sabok_model_get_info(model, &info);
    const size_t B = args->batch_sizes.count ? args->batch_sizes.items[0] : 1;
    const size_t S = args->sequence_lengths.count ? args->sequence_lengths.items[0] : info.max_seq_length;
    if (S && B > SIZE_MAX / S) usage_fail("--batch_size: %zu sequences of %zu tokens are too many", B, S);
    const sabok_print_opts opts = {.json = args->json, .tokens = B * S, .sequences = B};
    sabok_error err = {0};
    if (sabok_model_print(model, what, &opts, sink_write, NULL, &err) == SABOK_OK) return EXIT_DONE;
    return err.code == SABOK_ECANCELED ? EXIT_FAILED : fail_error(&err);
}

static int inspect_parts(const struct args *args) {
    int status = args->cpu ? inspect_cpu(args) : EXIT_DONE;
    if (status != EXIT_DONE || (!args->model && !args->config)) return status;
    sabok_model *model = model_open(args);
    if (!model) return EXIT_FAILED;
    if (!args->program && !args->weights && !args->cpu)
        status = inspect_model(args, model, SABOK_PRINT_SUMMARY);
    if (args->program) status = inspect_model(args, model, SABOK_PRINT_PROGRAM);
    if (args->weights && status == EXIT_DONE) status = inspect_model(args, model, SABOK_PRINT_WEIGHTS);
    sabok_close(model);
    return status;
}

static int inspect_run(struct args *args) {
    if (!args->cpu || args->positionals.count) args_take_model(&verb_inspect, args);
    if (args->json && args->cpu + args->program + args->weights > 1)
        usage_fail("--json: expected one of --cpu, --program, --weights");
    if (!sink_open(args)) return EXIT_FAILED;
    const int status = inspect_parts(args);
    if (status == EXIT_DONE) return sink_commit() ? EXIT_DONE : EXIT_FAILED;
    sink_abandon();
    return status;
}

const struct verb verb_inspect = {
    .name = "inspect",
    .usage = "MODEL [--program] [--weights] [--cpu]",
    .summary = "Print what a model is, its program, its weights; or what the CPU has.",
    .about =
        "Prints a summary of a model folder, or with flags its program after all passes, its weights, and "
        "the machine.",
    .groups = {&group, &group_model, &group_output},
    .positional_max = 1,
    .run = inspect_run,
};
