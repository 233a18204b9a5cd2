// eval question-answering: answers to the questions of a SQuAD file, matched with those that people gave.
#include "cli.h"

#include <stdlib.h>

#define GROUP_QUESTIONS 256

struct matching {
    const struct args *args;
    const sabok_squad *squad;
    size_t first;  // of the group at hand
    bool negative; // some questions have no answer
    struct sums {
        double exact, f1;
        size_t n;
    } answered, unanswered; // by the data
};

static int answer_match(void *ctx, size_t pair, const sabok_answered *answers, size_t count) {
    struct matching *m = ctx;
    const sabok_squad_question *q = sabok_squad_get(m->squad, m->first + pair);
    const sabok_match match =
        sabok_answer_match(count ? answers[0].answer : "", q->answers, q->impossible ? 0 : q->answer_count);
    struct sums *sums = q->impossible || q->answer_count == 0 ? &m->unanswered : &m->answered;
    sums->exact += match.exact;
    sums->f1 += match.f1;
    sums->n++;
    return 0;
}

static bool group_answer_all(struct matching *m, const sabok_model *model, size_t n) {
    const char **questions = heap_array(n + 1, sizeof *questions),
               **contexts = heap_array(n + 1, sizeof *contexts);
    size_t fault = SIZE_MAX;
    sabok_error err = {0};
    const sabok_answer_opts opts = {
        .max_answer_len = m->args->max_answer_len,
        .max_seq_len = m->args->max_seq_len,
        .doc_stride = m->args->doc_stride,
        .handle_impossible_answer = m->negative || m->args->handle_impossible_answer,
        .no_align_to_words = m->args->align_to_words != 0,
        .batch_tokens = m->args->batch_tokens,
        .text_at_fault = &fault,
    };
    for (size_t i = 0; i < n; i++) {
        questions[i] = sabok_squad_get(m->squad, m->first + i)->question;
        contexts[i] = sabok_squad_get(m->squad, m->first + i)->context;
    }
    const bool ok = sabok_answer(model, questions, contexts, n, &opts, answer_match, m, &err) == SABOK_OK;
    if (!ok && fault < n)
        fail("%s: question %s: %s", m->args->inputs.items[0], sabok_squad_get(m->squad, m->first + fault)->id,
             err.message);
    else if (!ok)
        fail_error(&err);
    free(questions);
    free(contexts);
    return ok;
}

static bool questions_answer(struct matching *m, const sabok_model *model) {
    const size_t total = sabok_squad_count(m->squad);
    struct progress progress;
    bool ok = true;
    progress_start(&progress, m->args, "questions");
    for (; ok && m->first < total; m->first += GROUP_QUESTIONS) {
        const size_t n = total - m->first < GROUP_QUESTIONS ? total - m->first : GROUP_QUESTIONS;
        ok = group_answer_all(m, model, n);
        progress_add(&progress, n, (double)(m->first + n) / (double)total);
    }
    progress_end(&progress);
    return ok;
}

// ---- report

static double percent(double sum, size_t n) {
    return 100 * sum / (double)n;
}

static bool sums_json(const char *prefix, const struct sums *s) {
    return s->n == 0 || (sink_format(", \"%sexact\": ", prefix) && sink_double(percent(s->exact, s->n)) &&
                         sink_format(", \"%sf1\": ", prefix) && sink_double(percent(s->f1, s->n)) &&
                         sink_format(", \"%stotal\": %zu", prefix, s->n));
}

static bool sums_row(const char *name, const struct sums *s) {
    return s->n == 0 || sink_format("%-24s %10.2f %10.2f %10zu\n", name, percent(s->exact, s->n),
                                    percent(s->f1, s->n), s->n);
}

static bool report(const struct matching *m) {
    const struct sums *a = &m->answered, *u = &m->unanswered;
    const struct sums all = {a->exact + u->exact, a->f1 + u->f1, a->n + u->n};
    if (!m->args->json)
        return sink_format("%-24s %10s %10s %10s\n", "questions", "exact", "F1", "number") &&
               sums_row("with an answer", a) && sums_row("without", u) && sums_row("all", &all);
    return sink_format("{\"eval_%s\": ", m->negative ? "exact" : "exact_match") &&
           sink_double(percent(all.exact, all.n)) && sink_format(", \"eval_f1\": ") &&
           sink_double(percent(all.f1, all.n)) && sink_format(", \"eval_samples\": %zu", all.n) &&
           (!m->negative || (sums_json("eval_HasAns_", a) && sums_json("eval_NoAns_", u))) &&
           sink_text("}\n", 2);
}

int eval_answer_run(const struct args *args) {
    sabok_error err = {0};
    if (args->questions.count || args->contexts.count || args->texts.count || args->inputs.count != 1)
        usage_fail("expected one file of questions: sabok eval %s", verb_eval.usage);
    const char *path = args->inputs.items[0];
    sabok_squad *squad = sabok_squad_open(path, &err);
    if (!squad) return fail_error(&err);
    struct matching m = {.args = args, .squad = squad};
    for (size_t i = 0; i < sabok_squad_count(squad); i++)
        m.negative |= sabok_squad_get(squad, i)->impossible || !sabok_squad_get(squad, i)->answer_count;
    sabok_model *model = model_open(args);
    // A model that cannot do the task is reported before any question is read.
    bool ok = model && group_answer_all(&m, model, 0);
    if (ok && sabok_squad_count(squad) == 0) ok = fail("%s: found no questions", path) == EXIT_DONE;
    ok = ok && sink_open(args) && questions_answer(&m, model) && report(&m);
    if (ok)
        ok = sink_commit();
    else
        sink_abandon();
    sabok_squad_close(squad);
    sabok_close(model);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
