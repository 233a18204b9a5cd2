// run question-answering: answers from contexts, as transformers' pipeline of this name prints them.
#include "cli.h"

#include <stdlib.h>

static const char *const align_choices[] = {"true", "false", NULL};

static const struct option answer_options[] = {
    OPTION("question", OPTION_TEXTS, questions, "TEXT",
           "A question; may be given again, with a --context each."),
    OPTION("context", OPTION_TEXTS, contexts, "TEXT",
           "The text that answers; one alone serves every --question."),
    OPTION("top_k", OPTION_COUNT, top_k, "N",
           "Print a list of the N best answers; default: the best one, without a list.", .alias = "topk"),
    OPTION("max_answer_len", OPTION_COUNT, max_answer_len, "N", "Most tokens of an answer; default 15.",
           .alias = "max_answer_length"),
    OPTION("max_seq_len", OPTION_COUNT, max_seq_len, "N",
           "Most tokens of a question with a part of its context; default 384, or what the model holds."),
    OPTION("doc_stride", OPTION_COUNT, doc_stride, "N",
           "Tokens that two parts of a long context share; default 128, or half of max_seq_len."),
    OPTION("max_question_len", OPTION_COUNT, max_question_len, "N",
           "Taken for the pipeline's sake, which does not cut questions either."),
    OPTION("handle_impossible_answer", OPTION_FLAG, handle_impossible_answer, NULL,
           "Let no answer, an empty one, be an answer.", .alias = "version_2_with_negative"),
    OPTION("align_to_words", OPTION_CHOICE, align_to_words, "BOOL",
           "Whether answers are whole words; default true.", .choices = align_choices),
    OPTION(
        "batch_tokens", OPTION_COUNT, batch_tokens, "N",
        "Most tokens computed together; default: chosen for the machine. The result does not depend on it."),
};
const struct option_group group_answer = {"Answers", answer_options, COUNT(answer_options)};

struct answering {
    const struct args *args;
    struct parted parted;
};

static bool answer_write(const sabok_answered *a) {
    return sink_format("{\"score\": ") && sink_double(a->score) &&
           sink_format(", \"start\": %zu, \"end\": %zu, \"answer\": ", a->span.begin, a->span.end) &&
           sink_string(a->answer, a->answer_length) && sink_format("}");
}

static int answers_write(void *ctx, size_t text, const sabok_answered *answers, size_t count) {
    const bool list = count != 1; // whatever was asked for, as in the pipeline
    bool ok = !list || sink_text("[", 1);
    (void)ctx, (void)text;
    for (size_t i = 0; ok && i < count; i++)
        ok = (i == 0 || sink_text(", ", 2)) && answer_write(&answers[i]);
    return ok && (!list || sink_text("]", 1)) && sink_text("\n", 1) ? 0 : 1;
}

static bool answer_group(void *ctx, const sabok_model *model, const struct rows *rows) {
    struct answering *a = ctx;
    size_t fault = SIZE_MAX;
    sabok_error err = {0};
    columns_part(rows, &a->parted);
    const char *const *contexts = rows->n ? a->parted.fields + rows->n : NULL;
    const sabok_answer_opts opts = {
        .question_lengths = a->parted.lengths,
        .context_lengths = rows->n ? a->parted.lengths + rows->n : NULL,
        .top_k = a->args->top_k,
        .doc_stride = a->args->doc_stride,
        .max_answer_len = a->args->max_answer_len,
        .max_seq_len = a->args->max_seq_len,
        .handle_impossible_answer = a->args->handle_impossible_answer,
        .no_align_to_words = a->args->align_to_words != 0,
        .batch_tokens = a->args->batch_tokens,
        .text_at_fault = &fault,
    };
    const sabok_status status =
        sabok_answer(model, a->parted.fields, contexts, rows->n, &opts, answers_write, a, &err);
    return status == SABOK_OK || (status != SABOK_ECANCELED && row_fail(rows, fault, &err));
}

static void string_add(struct strings *s, const char *item) {
    heap_grow(&s->items, &s->cap, s->count + 1, sizeof *s->items);
    s->items[s->count++] = item;
}

// Questions and contexts of the command line become texts, in turn; a row of a file has a column of each.
static void pairs_take(struct args *args) {
    const struct strings *q = &args->questions, *c = &args->contexts;
    if (args->texts.count) usage_fail("--text: expected --question and --context");
    if (q->count + c->count > 0) {
        if (args->inputs.count)
            usage_fail("--question: goes without files, which have a column of this name");
        if (c->count == 0 || (c->count != 1 && c->count != q->count))
            usage_fail("--context: found %zu for %zu of --question, expected one, or as many", c->count,
                       q->count);
        if (q->count == 0) usage_fail("--context: expected a --question");
    }
    for (size_t i = 0; i < q->count; i++) {
        string_add(&args->texts, q->items[i]);
        string_add(&args->texts, c->items[c->count == 1 ? 0 : i]);
    }
    if (args->columns.count == 0) {
        string_add(&args->columns, "question");
        string_add(&args->columns, "context");
    }
    if (args->columns.count != 2)
        usage_fail("--column: expected two columns, of questions and of contexts, found %zu",
                   args->columns.count);
}

int answer_run(const struct args *args) {
    static struct args taken; // like the arguments it lives as long as the program
    taken = *args;
    struct answering a = {.args = &taken};
    pairs_take(&taken);
    const int status =
        stream_run(&taken, &(struct stream){.unit = "pairs", .group = answer_group, .ctx = &a});
    parted_free(&a.parted);
    return status;
}
