// Options that several verbs have.
#include "cli.h"

// In the order of enum sabok_dtype.
static const char *const dtype_choices[] = {"default", "float32", "float16", "bfloat16",
                                            "int8",    "auto",    NULL};
static const char *const device_choices[] = {"cpu", NULL};
static const char *const input_choices[] = {"auto", "lines", "jsonl", "csv", "tsv", "json", "pipe", NULL};
static const char *const output_choices[] = {"auto", "jsonl", "csv", "npy", "safetensors", NULL};
static const char *const isa_choices[] = {"auto", "c",    "avx2", "avxvnni", "avx512",
                                          "vnni", "bf16", "amx",  NULL};

static const struct option general_options[] = {
    OPTION("threads", OPTION_COUNT, threads, "N",
           "Threads to compute with; 0 (the default): all CPUs that the process may use."),
    OPTION("isa", OPTION_TEXT, isa, "NAME",
           "The widest instruction set to use; the same as SABOK_ISA in the environment.",
           .choices = isa_choices),
    OPTION("dtype", OPTION_CHOICE, dtype, "TYPE",
           "Number format of the weights and the arithmetic; default: float32.", .choices = dtype_choices),
    OPTION("device", OPTION_CHOICE, device, "NAME", "Where to compute.", .choices = device_choices),
    OPTION("seed", OPTION_COUNT, seed, "N", "Seed of random numbers; default 0."),
    OPTION("pin", OPTION_FLAG, pin, NULL, "Tie each thread to a CPU."),
    OPTION("no_mmap", OPTION_FLAG, no_mmap, NULL, "Read the weights instead of mapping their file."),
    OPTION("quiet", OPTION_FLAG, quiet, NULL, "No progress bar, no warnings."),
    OPTION("help", OPTION_FLAG, help, NULL, "Print this help."),
};

static const struct option task_options[] = {
    OPTION("task", OPTION_TEXT, task, "TASK", "The task; the same as the argument TASK."),
};

static const struct option model_options[] = {
    OPTION("model", OPTION_TEXT, model, "MODEL",
           "A model's folder, or its name on a hub, when `sabok pull` has fetched it; the same as the "
           "argument MODEL.",
           .alias = "model_name_or_path", .files = true),
};

static const struct option input_options[] = {
    OPTION("text", OPTION_TEXTS, texts, "TEXT", "A text; may be given again."),
    OPTION(
        "input", OPTION_TEXTS, inputs, "FILE",
        "A file of texts: lines, .jsonl, .csv, .tsv, or - for standard input; the same as the argument FILE.",
        .files = true),
    OPTION("column", OPTION_NAMES, columns, "NAME",
           "Column (or key) of the input that holds the text; default text, sentence, sentence1, else the "
           "first.",
           .alias = "text_column"),
    OPTION("format", OPTION_CHOICE, input_format, "NAME",
           "Format of the input; auto goes by the ending of the file name.", .choices = input_choices,
           .alias = "input_format"),
    OPTION("no_header", OPTION_FLAG, no_header, NULL,
           "The first row of a .csv or .tsv is data; columns are then named 0, 1, ..."),
};

static const struct option output_options[] = {
    OPTION("output", OPTION_TEXT, output, "FILE",
           "File to write; it appears only when complete. Default: standard output, as JSON lines.",
           .files = true),
    OPTION("output_format", OPTION_CHOICE, output_format, "NAME",
           "Format of the output; auto goes by the ending of the file name.", .choices = output_choices),
};

static const struct option embed_group_options[] = {
    OPTION("prompt", OPTION_TEXT, prompt, "TEXT", "Put before every text."),
    OPTION("prompt_name", OPTION_TEXT, prompt_name, "NAME", "The model's own prompt of this name."),
    OPTION("truncate_dim", OPTION_COUNT, truncate_dim, "N", "Keep the first N components of each vector."),
    OPTION("normalize", OPTION_FLAG, normalize, NULL, "Divide each vector by its length.",
           .alias = "normalize_embeddings"),
    OPTION("max_seq_length", OPTION_COUNT, max_seq_length, "N",
           "Cut texts at N tokens; default: the model's own length."),
    OPTION(
        "batch_tokens", OPTION_COUNT, batch_tokens, "N",
        "Most tokens computed together; default: chosen for the machine. The result does not depend on it."),
    OPTION("timing", OPTION_FLAG, timing, NULL, "Print on stderr how long each step took."),
};

const struct option_group group_general = {"General options", general_options, COUNT(general_options)};
const struct option_group group_task = {"Task", task_options, COUNT(task_options)};
const struct option_group group_model = {"Model", model_options, COUNT(model_options)};
const struct option_group group_input = {"Input", input_options, COUNT(input_options)};
const struct option_group group_output = {"Output", output_options, COUNT(output_options)};
const struct option_group group_embed = {"Vectors", embed_group_options, COUNT(embed_group_options)};

const char *dtype_name(const struct args *args) {
    return dtype_choices[args->dtype ? args->dtype : 1];
}
