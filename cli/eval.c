// eval: one task's metrics over labelled data.
#include "cli.h"

static const struct option report_options[] = {
    OPTION("json", OPTION_FLAG, json, NULL,
           "Print one JSON object of fractions: pearson_cosine, spearman_cosine, ... of sts, eval_accuracy, "
           "eval_f1, ... of the others."),
};
static const struct option_group group_report = {"Report", report_options, COUNT(report_options)};

static const struct task tasks[] = {
    {"text-classification",
     {"sentiment-analysis", "classify"},
     "Accuracy, precision, recall, F1 and Matthews' correlation of labels; of a regression, correlations.",
     {&group_model, &group_input, &group_pair, &group_output, &group_length, &group_labelled},
     eval_classify_run},
    {"token-classification",
     {"ner", "tag"},
     "Precision, recall and F1 of the entities in sentences of tagged words, as seqeval counts them.",
     {&group_model, &group_input, &group_output, &group_length, &group_tagged},
     eval_tag_run},
    {"text-ranking",
     {"rerank", "rank"},
     "Mean reciprocal rank and nDCG of documents in the order of a cross-encoder.",
     {&group_model, &group_input, &group_output, &group_ranked},
     eval_rank_run},
    {"question-answering",
     {"qa"},
     "Exact match and F1 of answers to the questions of a SQuAD file, in percent.",
     {&group_model, &group_input, &group_output, &group_answer},
     eval_answer_run},
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
    .about = "Runs a model over a file of labelled examples (.tsv, .csv, .jsonl, .conll) and prints the "
             "metrics of the "
             "task: a table for people, or one object with --json.",
    .groups = {&group_task, &group_report},
    .tasks = tasks,
    .task_count = COUNT(tasks),
    .positional_max = SIZE_MAX,
};
