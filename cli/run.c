// run: one task over texts.
#include "cli.h"

static const struct task tasks[] = {
    {"embed",
     {"sentence-embedding", "embeddings"},
     "Texts to vectors.",
     {&group_model, &group_input, &group_output, &group_embed},
     embed_run},
    {"feature-extraction",
     {"features"},
     "Texts to the vectors of their tokens, as nested JSON [1][tokens][width].",
     {&group_model, &group_input, &group_output, &group_embed},
     features_run},
    {"similarity",
     {"sentence-similarity", "search", "semantic-search"},
     "Scores of pairs of texts, or with --query the texts nearest to a question.",
     {&group_model, &group_input, &group_output, &group_embed, &group_similarity},
     similarity_run},
    {"text-classification",
     {"sentiment-analysis", "classify"},
     "Labels of texts, or of pairs of texts, with scores: {\"label\", \"score\"}.",
     {&group_model, &group_input, &group_pair, &group_output, &group_length, &group_classify},
     classify_run},
    {"token-classification",
     {"ner", "tag"},
     "Labels of tokens, or with --aggregation_strategy of the entities that they make.",
     {&group_model, &group_input, &group_output, &group_length, &group_tag},
     tag_run},
    {"zero-shot-classification",
     {"zero-shot"},
     "How well each of --candidate_labels fits a text: {\"sequence\", \"labels\", \"scores\"}.",
     {&group_model, &group_input, &group_output, &group_zero_shot},
     zero_shot_run},
    {"text-ranking",
     {"rerank"},
     "Texts in the order in which a cross-encoder finds them fit for --query.",
     {&group_model, &group_input, &group_output, &group_rerank},
     rerank_run},
};

const struct verb verb_run = {
    .name = "run",
    .usage = "TASK MODEL [FILE...] [--text TEXT]...",
    .summary = "Run a model on texts: vectors, similarity, search.",
    .about = "Runs one task with a model folder over texts from --text, from files (lines, .jsonl, .csv, "
             ".tsv; - is standard input), or from standard input. TASK, MODEL and FILE may also be given as "
             "--task, --model and --input.",
    .groups = {&group_task},
    .tasks = tasks,
    .task_count = COUNT(tasks),
    .positional_max = SIZE_MAX,
};
