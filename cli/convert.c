// convert: a model's folder as another one, with safetensors weights.
#include "cli.h"

#include <stdlib.h>
#include <strings.h>

static const struct option options[] = {
    OPTION("max_shard_size", OPTION_TEXT, max_shard_size, "SIZE",
           "Bytes of tensors a file, for instance 500MB; more are split into files with an index. Default: "
           "5GB."),
    OPTION("overwrite", OPTION_FLAG, overwrite, NULL, "Replace the model's folder that is there."),
};
static const struct option_group group = {"Output", options, COUNT(options)};

struct converting {
    struct progress progress;
    uint64_t megabytes;
};

static int convert_told(void *ctx, const char *file, uint64_t done, uint64_t total) {
    struct converting *c = ctx;
    (void)file;
    progress_add(&c->progress, done / 1000000 - c->megabytes, total ? (double)done / (double)total : -1);
    c->megabytes = done / 1000000;
    return interrupt_asked();
}

// "5GB" as transformers reads it: powers of ten; a number alone is bytes.
static uint64_t size_read(const char *text) {
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};
    char *end;
    const double number = strtod(text, &end);
    for (size_t i = 0; i < COUNT(units) && end != text; i++)
        if (strcasecmp(end, units[i].name) == 0 && number * units[i].bytes >= 1 &&
            number * units[i].bytes < 1e18)
            return (uint64_t)(number * units[i].bytes);
    usage_fail("--max_shard_size: found \"%s\", expected a size like 5GB or 500MB", text);
}

static int convert_run(struct args *args) {
    if (args->positionals.count != 2)
        usage_fail("expected a model and a folder to write: sabok convert MODEL OUT");
    struct converting c = {0};
    const sabok_convert_opts opts = {
        .dtype = (sabok_dtype)args->dtype,
        .max_shard_size = args->max_shard_size ? size_read(args->max_shard_size) : 0,
        .overwrite = args->overwrite,
        .progress = convert_told,
        .ctx = &c,
    };
    interrupt_describe(args->positionals.items[0]);
    interrupt_defer();
    progress_start(&c.progress, args, "MB");
    sabok_error err = {0};
    const sabok_status status =
        sabok_convert(args->positionals.items[0], args->positionals.items[1], &opts, &err);
    progress_end(&c.progress);
    if (status == SABOK_OK) return EXIT_DONE;
    if (status == SABOK_ECANCELED) {
        fail("interrupted");
        return 128 + interrupt_asked();
    }
    return fail_error(&err);
}

const struct verb verb_convert = {
    .name = "convert",
    .usage = "MODEL OUT [--dtype TYPE] [--max_shard_size SIZE] [--overwrite]",
    .summary = "Write a model as a new folder with safetensors weights.",
    .about =
        "Reads the weights of MODEL, safetensors or pytorch_model.bin, and writes them as safetensors to the "
        "new "
        "folder OUT, with the configs and tokenizer files. --dtype float32, float16 or bfloat16 rounds them; "
        "without it they stay as they are. OUT appears when it is complete. Weights that are missing and "
        "tensors "
        "that the model does not use are named.",
    .groups = {&group},
    .positional_max = 2,
    .run = convert_run,
};
