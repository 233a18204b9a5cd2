// zero-shot: texts to labels chosen by the caller. Each label makes a hypothesis, and a model of natural language
// inference says how far the text entails it.
//
//   one of many     scores = softmax over the labels of the logit of entailment
//   multi_label     score = softmax of the logits of contradiction and entailment, each label for itself
#include "task/task.h"

#include <math.h>
#include <string.h>

#define WINDOW_PAIRS 8192

struct zero_shot {
    const sabok_model *m;
    const sabok_zero_shot_opts *opts;
    size_t entailment, contradiction; // places among the model's labels
    struct buf hypotheses;            // one after another, each with its end
    size_t count;                     // of labels, C
    size_t window;                    // texts whose pairs are computed together
    const char **texts, **pairs;      // [window, C]
    size_t *lengths, *pair_lengths;   // [window, C]; lengths NULL: of texts that end at their 0
    float (*logits)[2];               // [window, C] of contradiction and entailment
    float *scores;                    // [C]
    sabok_label *labels;              // [C]
};

// ---- hypotheses

static sabok_status template_fail(const sabok_model *m, const char *template, sabok_error *err) {
    return error_set(
        err, SABOK_EINVAL, m->name,
        "hypothesis_template \"%.200s\", expected {} where the label goes ({{ and }} for braces)", template);
}

// Appends the template with the label in place of {} or of any {0}, as Python's str.format does.
static sabok_status hypothesis_put(const sabok_model *m, const char *template, const char *label,
                                   struct buf *out, sabok_error *err) {
    size_t plain = 0, numbered = 0;
    for (const char *at = template; *at; at++) {
        if ((at[0] == '{' || at[0] == '}') && at[1] == at[0]) {
            buf_put(out, at++, 1);
        } else if (at[0] == '{' && (at[1] == '}' || strncmp(at + 1, "0}", 2) == 0)) {
            plain += at[1] == '}';
            numbered += at[1] == '0';
            at += at[1] == '0' ? 2 : 1;
            buf_put(out, label, strlen(label));
        } else if (at[0] == '{' || at[0] == '}') {
            return template_fail(m, template, err);
        } else {
            buf_put(out, at, 1);
        }
    }
    if (plain > 1 || (plain && numbered)) return template_fail(m, template, err);
    buf_put(out, "", 1);
    return out->failed ? error_memory(err, m->name) : SABOK_OK;
}

static sabok_status hypotheses_make(struct zero_shot *z, sabok_error *err) {
    const char *template = z->opts->hypothesis_template;
    if (!template) template = "This example is {}.";
    for (size_t i = 0; i < z->count; i++) {
        if (!z->opts->candidate_labels[i])
            return error_set(err, SABOK_EINVAL, z->m->name, "candidate label %zu is NULL, expected a string",
                             i);
        TRY(hypothesis_put(z->m, template, z->opts->candidate_labels[i], &z->hypotheses, err));
    }
    return strcmp(z->hypotheses.data, template) == 0 ? template_fail(z->m, template, err) : SABOK_OK;
}

// ---- scores

static void label_scores(const struct zero_shot *z, const float (*logits)[2]) {
    if (z->opts->multi_label || z->count == 1) {
        for (size_t i = 0; i < z->count; i++) {
            float both[2];
            score_softmax(logits[i], 2, both);
            z->scores[i] = both[1];
        }
        return;
    }
    for (size_t i = 0; i < z->count; i++)
        z->scores[i] = logits[i][1];
    score_softmax(z->scores, z->count, z->scores);
}

// Falling scores, a NaN first, and of equal ones the later label: the reference's rising order, turned round.
static int compare_labels(const void *ctx, uint32_t a, uint32_t b) {
    const float *scores = ctx;
    const float x = scores[a], y = scores[b];
    if (isnan(x) != isnan(y)) return isnan(y) - isnan(x);
    return x > y ? -1 : x < y ? 1 : (a < b) - (a > b);
}

static sabok_status text_finish(const struct zero_shot *z, size_t text, const float (*logits)[2],
                                sabok_labels_fn *fn, void *ctx, sabok_error *err) {
    label_scores(z, logits);
    uint32_t *order = order_new(z->count, compare_labels, z->scores);
    if (!order) return error_memory(err, z->m->name);
    for (size_t i = 0; i < z->count; i++)
        z->labels[i] = (sabok_label){z->opts->candidate_labels[order[i]], order[i], z->scores[order[i]]};
    mem_free(order);
    return fn(ctx, text, z->labels, z->count) == 0 ? SABOK_OK : stream_stopped(z->m, err);
}

static sabok_status zero_shot_part(void *ctx, const struct stream_part *part, sabok_error *err) {
    const struct zero_shot *z = ctx;
    const size_t labels = (size_t)z->m->head.labels;
    const float *rows = part->rows; // [pairs, labels]
    (void)err;
    for (size_t i = part->begin; i < part->end; i++, rows += labels) {
        z->logits[part->first + i][0] = rows[z->contradiction];
        z->logits[part->first + i][1] = rows[z->entailment];
    }
    return SABOK_OK;
}

// ---- texts

// Texts [begin, begin + n) with every hypothesis.
static void window_fill(struct zero_shot *z, const struct text_source *source, size_t begin, size_t n) {
    const char *hypothesis = z->hypotheses.data;
    for (size_t c = 0; c < z->count; c++) {
        const size_t length = strlen(hypothesis);
        for (size_t i = 0; i < n; i++) {
            const size_t at = i * z->count + c;
            z->texts[at] = source->texts[begin + i];
            if (z->lengths) z->lengths[at] = source->lengths[begin + i];
            z->pairs[at] = hypothesis;
            z->pair_lengths[at] = length;
        }
        hypothesis += length + 1;
    }
}

static sabok_status window_run(struct zero_shot *z, const struct text_source *source, size_t begin, size_t n,
                               sabok_error *err) {
    size_t fault = SIZE_MAX;
    const struct stream stream = {.kind = PROGRAM_CLASSIFY,
                                  .batch_tokens = z->opts->input.batch_tokens,
                                  .fn = zero_shot_part,
                                  .ctx = z};
    struct text_source pairs = *source;
    window_fill(z, source, begin, n);
    pairs.texts = z->texts;
    pairs.lengths = z->lengths;
    pairs.pairs = z->pairs;
    pairs.pair_lengths = z->pair_lengths;
    pairs.n = n * z->count;
    pairs.text_at_fault = &fault;
    const sabok_status status = stream_texts(z->m, &pairs, &stream, err);
    if (fault == SIZE_MAX) return status;
    // As much of the text was cut as there was, so the label is to blame.
    if (source->text_at_fault) *source->text_at_fault = begin + fault / z->count;
    return error_set(err, SABOK_EINVAL, z->m->name,
                     "candidate label \"%.80s\": too many tokens, expected at most %zu with the text",
                     z->opts->candidate_labels[fault % z->count], model_positions(z->m));
}

// The label that says "entailment" and the one against it. Where none does it is the last, as in the reference, which
// warns too.
static void zero_shot_places(struct zero_shot *z) {
    const struct head *h = &z->m->head;
    struct sabok_model *shared = (struct sabok_model *)(uintptr_t)z->m; // the warning comes once
    if (h->entailment == SIZE_MAX && !atomic_exchange(&shared->entailment_told, true))
        log_message(SABOK_LOG_WARNING,
                    "%s: no name in label2id begins with \"entail\"; the last label is taken for entailment",
                    z->m->name);
    const size_t last = (size_t)h->labels - 1;
    z->entailment = h->entailment == SIZE_MAX ? last : h->entailment;
    z->contradiction = h->entailment == 0 ? last : 0;
}

static bool zero_shot_reserve(struct zero_shot *z, const struct text_source *source) {
    z->window = size_min(source->n, z->count < WINDOW_PAIRS ? WINDOW_PAIRS / z->count : 1);
    size_t n;
    if (!mul_ok(z->window, z->count, &n)) return false;
    z->texts = mem_array(n, sizeof *z->texts);
    z->pairs = mem_array(n, sizeof *z->pairs);
    z->pair_lengths = mem_array(n, sizeof *z->pair_lengths);
    z->logits = mem_array(n, sizeof *z->logits);
    z->scores = mem_array(z->count, sizeof *z->scores);
    z->labels = mem_array(z->count, sizeof *z->labels);
    if (source->lengths) z->lengths = mem_array(n, sizeof *z->lengths);
    return z->texts && z->pairs && z->pair_lengths && z->logits && z->scores && z->labels &&
           (z->lengths || !source->lengths);
}

static void zero_shot_free(struct zero_shot *z) {
    buf_free(&z->hypotheses);
    mem_free(z->texts);
    mem_free(z->pairs);
    mem_free(z->lengths);
    mem_free(z->pair_lengths);
    mem_free(z->logits);
    mem_free(z->scores);
    mem_free(z->labels);
}

sabok_status sabok_zero_shot(const sabok_model *m, const char *const *texts, size_t n,
                             const sabok_zero_shot_opts *opts, sabok_labels_fn *fn, void *ctx,
                             sabok_error *err) {
    struct text_source source;
    TRY(head_require(m, HEAD_CLASSIFY, "zero-shot-classification", err));
    if (n == 0) return SABOK_OK;
    if (!opts || !opts->candidate_labels || opts->candidate_count == 0)
        return error_set(err, SABOK_EINVAL, m->name,
                         "zero-shot-classification: no candidate labels, expected one or more");
    if (opts->input.pairs)
        return error_set(err, SABOK_EINVAL, m->name, "zero-shot-classification: pairs is not NULL");
    TRY(stream_source(m, texts, n, &opts->input, &source, err));
    source.truncation = SABOK_TRUNCATE_ONLY_FIRST; // so that the label stays
    struct zero_shot z = {.m = m, .opts = opts, .count = opts->candidate_count};
    zero_shot_places(&z);
    sabok_status status = hypotheses_make(&z, err);
    if (status == SABOK_OK && !zero_shot_reserve(&z, &source)) status = error_memory(err, m->name);
    for (size_t begin = 0; status == SABOK_OK && begin < n; begin += z.window) {
        const size_t count = size_min(z.window, n - begin);
        status = window_run(&z, &source, begin, count, err);
        for (size_t i = 0; status == SABOK_OK && i < count; i++)
            status = text_finish(&z, begin + i, (const float(*)[2])(z.logits + i * z.count), fn, ctx, err);
    }
    zero_shot_free(&z);
    return status;
}
