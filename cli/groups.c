// Options that several verbs have.
#include "cli.h"

#include <stddef.h>

#define PLACE(field) offsetof(struct args, field)

// In the order of enum sabok_dtype.
static const char *const dtype_choices[] = {"auto", "float32", NULL};
static const char *const device_choices[] = {"cpu", NULL};
static const char *const input_choices[] = {"auto", "lines", "jsonl", "csv", "tsv", "json", "pipe", NULL};
static const char *const output_choices[] = {"auto", "jsonl", "csv", "npy", "safetensors", NULL};
static const char *const isa_choices[] = {"auto", "c", "avx2", "avx512", NULL};

static const struct option general_options[] = {
    {"threads", OPTION_COUNT, PLACE(threads), "N",
     "Threads to compute with; 0 (the default): all CPUs that the process may use."},
    {"isa", OPTION_TEXT, PLACE(isa), "NAME",
     "The widest instruction set to use; the same as SABOK_ISA in the environment.", isa_choices},
    {"dtype", OPTION_CHOICE, PLACE(dtype), "TYPE", "Number format of the weights.", dtype_choices},
    {"device", OPTION_CHOICE, PLACE(device), "NAME", "Where to compute.", device_choices},
    {"seed", OPTION_COUNT, PLACE(seed), "N", "Seed of random numbers; default 0."},
    {"pin", OPTION_FLAG, PLACE(pin), NULL, "Tie each thread to a CPU."},
    {"no_mmap", OPTION_FLAG, PLACE(no_mmap), NULL, "Read the weights instead of mapping their file."},
    {"quiet", OPTION_FLAG, PLACE(quiet), NULL, "No progress bar, no warnings."},
    {"help", OPTION_FLAG, PLACE(help), NULL, "Print this help."},
};

static const struct option task_options[] = {
    {"task", OPTION_TEXT, PLACE(task), "TASK", "The task; the same as the argument TASK."},
};

static const struct option model_options[] = {
    {"model", OPTION_TEXT, PLACE(model), "FOLDER",
     "Model folder; the same as the argument MODEL.", NULL, "model_name_or_path", true},
};

static const struct option input_options[] = {
    {"text", OPTION_TEXTS, PLACE(texts), "TEXT", "A text; may be given again."},
    {"input", OPTION_TEXTS, PLACE(inputs), "FILE",
     "A file of texts: lines, .jsonl, .csv, .tsv, or - for standard input; the same as the argument FILE.",
     NULL, NULL, true},
    {"column", OPTION_NAMES, PLACE(columns), "NAME",
     "Column (or key) of the input that holds the text; default text, sentence, sentence1, else the first."},
    {"format", OPTION_CHOICE, PLACE(input_format), "NAME",
     "Format of the input; auto goes by the ending of the file name.", input_choices, "input_format"},
    {"no_header", OPTION_FLAG, PLACE(no_header), NULL,
     "The first row of a .csv or .tsv is data; columns are then named 0, 1, ..."},
};

static const struct option output_options[] = {
    {"output", OPTION_TEXT, PLACE(output), "FILE",
     "File to write; it appears only when complete. Default: standard output, as JSON lines.", NULL, NULL,
     true},
    {"output_format", OPTION_CHOICE, PLACE(output_format), "NAME",
     "Format of the output; auto goes by the ending of the file name.", output_choices},
};

static const struct option embed_group_options[] = {
    {"prompt", OPTION_TEXT, PLACE(prompt), "TEXT", "Put before every text."},
    {"prompt_name", OPTION_TEXT, PLACE(prompt_name), "NAME", "The model's own prompt of this name."},
    {"truncate_dim", OPTION_COUNT, PLACE(truncate_dim), "N", "Keep the first N components of each vector."},
    {"normalize", OPTION_FLAG, PLACE(normalize), NULL, "Divide each vector by its length.", NULL,
     "normalize_embeddings"},
    {"max_seq_length", OPTION_COUNT, PLACE(max_seq_length), "N",
     "Cut texts at N tokens; default: the model's own length."},
    {"batch_tokens", OPTION_COUNT, PLACE(batch_tokens), "N",
     "Most tokens computed together; default: chosen for the machine. The result does not depend on it."},
    {"timing", OPTION_FLAG, PLACE(timing), NULL, "Print on stderr how long each step took."},
};

const struct option_group group_general = {"General options", general_options, COUNT(general_options)};
const struct option_group group_task = {"Task", task_options, COUNT(task_options)};
const struct option_group group_model = {"Model", model_options, COUNT(model_options)};
const struct option_group group_input = {"Input", input_options, COUNT(input_options)};
const struct option_group group_output = {"Output", output_options, COUNT(output_options)};
const struct option_group group_embed = {"Vectors", embed_group_options, COUNT(embed_group_options)};
