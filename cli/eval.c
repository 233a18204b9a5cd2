// eval: one task's metrics over labelled data.
#include "cli.h"

static const struct task tasks[] = {
    {"sts",
     {"semantic-similarity", "stsbenchmark"},
     "Correlation of the similarity of pairs of texts with people's scores.",
     {&group_model, &group_input, &group_output, &group_embed, &group_sts},
     sts_run},
};

const struct verb verb_eval = {
    .name = "eval",
    .usage = "TASK MODEL FILE [--json]",
    .summary = "Measure a model on labelled data.",
    .about =
        "Runs a model over a file of labelled examples (.tsv, .csv, .jsonl) and prints the metrics of the "
        "task: a table for people, or one object with --json.",
    .groups = {&group_task},
    .tasks = tasks,
    .task_count = COUNT(tasks),
    .positional_max = SIZE_MAX,
};
