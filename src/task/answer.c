// answer: the places of contexts that answer questions, as the QuestionAnsweringPipeline of transformers 4 finds them with a
// fast tokenizer: the last version that has it.
#include "task/task.h"

#include "text/char.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_PAIRS 256               // whose windows are held at a time
#define ANSWER_BYTES ((size_t)1 << 20) // and of whose contexts
#define ANSWER_MASKED (-10000.0F)      // the logit of tokens that cannot be in an answer
#define ANSWER_SPARE 10                // candidates beyond twice those asked for: words join some

struct candidate {
    size_t start, end; // tokens of the window, the last included
    float score;
};

struct found { // in one or more windows, or more than once in one: the same text but for letter case
    sabok_span span;
    const char *lower;
    size_t size;
    uint64_t hash; // of the text in lower case, `size` bytes
    double score;
};

struct pairs {
    const char *const *questions, *const *contexts;
    const size_t *question_lengths, *context_lengths; // or NULL
};

struct answering {
    const sabok_model *m;
    sabok_answer_opts opts; // with no defaults left
    struct pairs pairs;     // of this window
    size_t first;           // number of its first pair
    const sabok_encodings *encodings;
    struct candidate *best; // [candidates]: those of a window
    size_t candidates;
    float *start, *end; // [positions]: probabilities of a window's tokens
    // Of the pair at hand.
    struct arena arena;
    size_t question_tokens;
    uint32_t *places; // [chars + 1]: the byte of each character of the context
    size_t chars;
    struct found *found;
    size_t found_count, found_cap;
    double null_score;
    sabok_answers_fn *fn;
    void *ctx;
};

static size_t pair_length(const char *const *texts, const size_t *lengths, size_t i) {
    return lengths ? lengths[i] : strlen(texts[i]);
}

// ---- candidates of a window

static bool candidate_before(const struct candidate *a, const struct candidate *b) {
    if (a->score != b->score) return a->score > b->score;
    return a->start != b->start ? a->start < b->start : a->end < b->end;
}

// Into the list of the best so far, in order; the last falls out of a full one.
static void candidate_add(struct answering *a, size_t *count, struct candidate c) {
    size_t i = *count;
    if (i == a->candidates && !candidate_before(&c, &a->best[i - 1])) return;
    if (i == a->candidates)
        i--;
    else
        ++*count;
    for (; i > 0 && candidate_before(&c, &a->best[i - 1]); i--)
        a->best[i] = a->best[i - 1];
    a->best[i] = c;
}

// A token of the context, or one that reads as the class token: models answer there that there is no answer.
static bool token_allowed(const struct answering *a, const sabok_encoding *e, sabok_span context, size_t i) {
    return (i >= context.begin && i < context.end) || e->ids[i] == a->m->specials.cls;
}

// score = start[s] end[e], s <= e < s + max_answer_len; start and end are softmaxes over the window.
static size_t window_candidates(struct answering *a, const sabok_encoding *e, sabok_span context,
                                const float *logits) {
    size_t count = 0;
    for (size_t i = 0; i < e->length; i++) {
        const bool allowed = token_allowed(a, e, context, i);
        a->start[i] = allowed ? logits[2 * i] : ANSWER_MASKED;
        a->end[i] = allowed ? logits[2 * i + 1] : ANSWER_MASKED;
    }
    score_softmax(a->start, e->length, a->start);
    score_softmax(a->end, e->length, a->end);
    a->null_score = fmin(a->null_score, (double)(a->start[0] * a->end[0]));
    a->start[0] = a->end[0] = 0;
    for (size_t s = 0; s < e->length; s++) {
        if (!token_allowed(a, e, context, s)) continue;
        const size_t stop = size_min(e->length - s, a->opts.max_answer_len) + s;
        for (size_t t = s; t < stop; t++)
            if (token_allowed(a, e, context, t))
                candidate_add(a, &count, (struct candidate){s, t, a->start[s] * a->end[t]});
    }
    return count;
}

// ---- from tokens to the context

// Characters of the context's word of this number.
static bool word_span(const sabok_encoding *e, sabok_span context, uint32_t word, sabok_span *out) {
    size_t i = context.begin, end;
    while (i < context.end && e->words[i] != word)
        i++;
    if (word == SABOK_NO_WORD || i == context.end) return false;
    for (end = i + 1; end < context.end && e->words[end] == word;)
        end++;
    *out = (sabok_span){e->offsets[i].begin, e->offsets[end - 1].end};
    return true;
}

static sabok_span candidate_span(const struct answering *a, const sabok_encoding *e, sabok_span context,
                                 const struct candidate *c) {
    sabok_span first, last;
    if (!a->opts.no_align_to_words && word_span(e, context, e->words[c->start], &first) &&
        word_span(e, context, e->words[c->end], &last))
        return (sabok_span){first.begin, last.end};
    return (sabok_span){e->offsets[c->start].begin, e->offsets[c->end].end};
}

// Bytes of the context at these characters, as a slice in Python: outside there is nothing.
static sabok_span slice(const struct answering *a, sabok_span chars) {
    const sabok_span bytes = {a->places[size_min(chars.begin, a->chars)],
                              a->places[size_min(chars.end, a->chars)]};
    return (sabok_span){bytes.begin, size_max(bytes.begin, bytes.end)};
}

static bool lower_text(struct answering *a, const char *text, size_t size, struct found *out) {
    char *lower = arena_alloc(&a->arena, CHAR_LOWER_MAX * 4 * size + 1);
    if (!lower) return false;
    size_t n = 0;
    for (size_t at = 0; at < size;) {
        uint32_t c, forms[CHAR_LOWER_MAX];
        at += utf8_read((const uint8_t *)text + at, size - at, &c);
        const size_t count = char_lower(c, forms);
        memcpy(lower + n, forms, count * sizeof *forms); // compared, never shown
        n += count * sizeof *forms;
    }
    out->lower = lower;
    out->size = n;
    out->hash = hash_bytes(lower, n, 0);
    return true;
}

static sabok_status found_add(struct answering *a, size_t pair, sabok_span span, float score,
                              sabok_error *err) {
    const sabok_span bytes = slice(a, span);
    struct found f = {.span = span, .score = (double)score};
    if (!lower_text(a, a->pairs.contexts[pair] + bytes.begin, bytes.end - bytes.begin, &f))
        return error_memory(err, a->m->name);
    for (size_t i = 0; i < a->found_count; i++) {
        struct found *other = &a->found[i];
        if (other->hash != f.hash || other->size != f.size || memcmp(other->lower, f.lower, f.size) != 0)
            continue;
        other->score += f.score;
        return SABOK_OK;
    }
    if (!mem_grow((void **)&a->found, &a->found_cap, a->found_count + 1, sizeof *a->found))
        return error_memory(err, a->m->name);
    a->found[a->found_count++] = f;
    return SABOK_OK;
}

// ---- pairs

static sabok_status pair_begin(struct answering *a, size_t pair, sabok_error *err) {
    const char *question = a->pairs.questions[pair], *context = a->pairs.contexts[pair];
    const size_t question_length = pair_length(a->pairs.questions, a->pairs.question_lengths, pair);
    const size_t size = pair_length(a->pairs.contexts, a->pairs.context_lengths, pair);
    const sabok_tokenize_opts opts = {.text_lengths = &question_length,
                                      .no_special = true,
                                      .truncation = SABOK_TRUNCATE_NONE,
                                      .ids_only = true};
    sabok_encodings *encodings = sabok_tokenize(a->m->tokenizer, &question, NULL, 1, &opts, err);
    if (!encodings) return err->code;
    a->question_tokens = sabok_encodings_get(encodings, 0)->length;
    sabok_encodings_free(encodings);
    arena_reset(&a->arena);
    a->places = arena_alloc(&a->arena, (size + 1) * sizeof *a->places);
    if (!a->places) return error_memory(err, a->m->name);
    a->chars = 0;
    for (size_t at = 0; at < size;) {
        uint32_t c;
        a->places[a->chars++] = (uint32_t)at;
        at += utf8_read((const uint8_t *)context + at, size - at, &c);
    }
    a->places[a->chars] = (uint32_t)size;
    a->found_count = 0;
    a->null_score = INFINITY;
    return SABOK_OK;
}

static int compare_found(const void *ctx, uint32_t i, uint32_t k) {
    const struct found *found = ctx;
    return (found[i].score < found[k].score) - (found[i].score > found[k].score);
}

static sabok_status pair_end(struct answering *a, size_t pair, sabok_error *err) {
    if (a->opts.handle_impossible_answer) {
        if (!mem_grow((void **)&a->found, &a->found_cap, a->found_count + 1, sizeof *a->found))
            return error_memory(err, a->m->name);
        a->found[a->found_count++] = (struct found){.score = a->null_score};
    }
    const size_t count = size_min(a->opts.top_k, a->found_count);
    sabok_answered *answers = arena_alloc(&a->arena, (count + 1) * sizeof *answers);
    uint32_t *order = order_new(a->found_count, compare_found, a->found);
    bool ok = answers && order;
    for (size_t i = 0; ok && i < count; i++) {
        const struct found *f = &a->found[order[i]];
        const sabok_span bytes = slice(a, f->span);
        const size_t length = bytes.end - bytes.begin;
        const char *text = arena_copy(&a->arena, a->pairs.contexts[pair] + bytes.begin, length);
        answers[i] = (sabok_answered){f->score, f->span, text, length};
        ok = text != NULL;
    }
    mem_free(order);
    if (!ok) return error_memory(err, a->m->name);
    return a->fn(a->ctx, a->first + pair, answers, count) == 0 ? SABOK_OK : stream_stopped(a->m, err);
}

static sabok_status answer_part(void *ctx, const struct stream_part *part, sabok_error *err) {
    struct answering *a = ctx;
    const float *logits = part->rows; // [tokens, 2]
    for (size_t i = part->begin; i < part->end; i++) {
        const sabok_encoding *e = sabok_encodings_get(a->encodings, i);
        const sabok_encoding *before = i ? sabok_encodings_get(a->encodings, i - 1) : NULL;
        const sabok_encoding *next = sabok_encodings_get(a->encodings, i + 1);
        if (!before || before->text != e->text) TRY(pair_begin(a, e->text, err));
        const sabok_span context = tokenizer_second(a->m->tokenizer, a->question_tokens, e->length);
        const size_t count = e->length ? window_candidates(a, e, context, logits) : 0;
        for (size_t k = 0; k < count; k++)
            TRY(found_add(a, e->text, candidate_span(a, e, context, &a->best[k]), a->best[k].score, err));
        logits += e->length * 2;
        if (!next || next->text != e->text) TRY(pair_end(a, e->text, err));
    }
    return SABOK_OK;
}

// ---- windows

static sabok_encodings *pairs_tokenize(const struct answering *a, size_t begin, size_t n, sabok_error *err) {
    const struct pairs *p = &a->pairs;
    const sabok_tokenize_opts opts = {
        .text_lengths = p->question_lengths ? p->question_lengths + begin : NULL,
        .pair_lengths = p->context_lengths ? p->context_lengths + begin : NULL,
        .truncation = SABOK_TRUNCATE_ONLY_SECOND,
        .max_length = a->opts.max_seq_len,
        .stride = a->opts.doc_stride,
        .overflow = true,
    };
    return sabok_tokenize(a->m->tokenizer, p->questions + begin, p->contexts + begin, n, &opts, err);
}

// Which of the pairs cannot be tokenized.
static sabok_status pairs_fault(const struct answering *a, size_t n, sabok_error *err) {
    const sabok_status status = err->code;
    for (size_t i = 0; i < n && a->opts.text_at_fault; i++) {
        sabok_encodings *encodings = pairs_tokenize(a, i, 1, NULL);
        if (!encodings) {
            *a->opts.text_at_fault = a->first + i;
            break;
        }
        sabok_encodings_free(encodings);
    }
    return status;
}

static sabok_status answer_pairs(struct answering *a, size_t n, sabok_error *err) {
    sabok_encodings *encodings = pairs_tokenize(a, 0, n, err);
    if (!encodings) return pairs_fault(a, n, err);
    const struct stream stream = {
        .kind = PROGRAM_TAG, .batch_tokens = a->opts.batch_tokens, .fn = answer_part, .ctx = a};
    struct sequences s = {0};
    a->encodings = encodings;
    sabok_status status = sequences_take(&s, a->m, encodings, err);
    for (size_t i = 0; i < s.n; i++) // what the pipeline's own version would tell
        s.types[i] = a->m->segments_4 ? sabok_encodings_get(encodings, i)->type_ids : NULL;
    if (status == SABOK_OK) status = stream_sequences(a->m, &s, a->first, &stream, err);
    sequences_free(&s);
    sabok_encodings_free(encodings);
    return status;
}

// How many of the n pairs come next.
static size_t pairs_count(const struct pairs *p, size_t n) {
    size_t count = 0, bytes = 0;
    for (; count < size_min(n, ANSWER_PAIRS) && bytes < ANSWER_BYTES; count++)
        bytes += pair_length(p->contexts, p->context_lengths, count);
    return count;
}

static void pairs_skip(struct pairs *p, size_t n) {
    p->questions += n;
    p->contexts += n;
    if (p->question_lengths) p->question_lengths += n;
    if (p->context_lengths) p->context_lengths += n;
}

// ---- the task

static sabok_status answer_options(const sabok_model *m, sabok_answer_opts *o, sabok_error *err) {
    if (o->text_at_fault) *o->text_at_fault = SIZE_MAX;
    if (o->top_k == 0) o->top_k = 1;
    if (o->max_answer_len == 0) o->max_answer_len = 15;
    if (o->max_seq_len == 0) o->max_seq_len = size_min(m->max_seq_length, 384);
    if (o->doc_stride == 0) o->doc_stride = size_min(o->max_seq_len / 2, 128);
    if (o->max_seq_len > model_positions(m))
        return error_set(err, SABOK_EINVAL, m->name,
                         "max_seq_len %zu, expected at most %zu, the model's positions", o->max_seq_len,
                         model_positions(m));
    if (o->doc_stride > o->max_seq_len)
        return error_set(err, SABOK_EINVAL, m->name, "doc_stride %zu, expected at most max_seq_len, %zu",
                         o->doc_stride, o->max_seq_len);
    return SABOK_OK;
}

static sabok_status answer_check(const sabok_model *m, const struct pairs *p, size_t n,
                                 const sabok_answer_opts *opts, sabok_error *err) {
    if (n > 0 && (!p->questions || !p->contexts))
        return error_set(err, SABOK_EINVAL, m->name, "questions or contexts is NULL");
    for (size_t i = 0; i < n; i++) {
        const bool strings = p->questions[i] && p->contexts[i];
        if (strings && pair_length(p->questions, p->question_lengths, i) > 0 &&
            pair_length(p->contexts, p->context_lengths, i) > 0)
            continue;
        char name[32] = ""; // unless the caller knows a better one
        if (opts->text_at_fault)
            *opts->text_at_fault = i;
        else
            snprintf(name, sizeof name, "text %zu: ", i);
        return error_set(err, SABOK_EINVAL, m->name, "%sa question or its context is %s, expected some text",
                         name, strings ? "empty" : "NULL");
    }
    return SABOK_OK;
}

static sabok_status answer_run(struct answering *a, size_t n, sabok_error *err) {
    const size_t positions = model_positions(a->m);
    const size_t all = positions * size_min(positions, a->opts.max_answer_len),
                 top_k = size_min(a->opts.top_k, all);
    a->candidates = a->opts.no_align_to_words ? top_k : size_min(2 * top_k + ANSWER_SPARE, all);
    a->best = mem_array(a->candidates, sizeof *a->best);
    a->start = mem_array(positions, sizeof *a->start);
    a->end = mem_array(positions, sizeof *a->end);
    if (!a->best || !a->start || !a->end) return error_memory(err, a->m->name);
    for (size_t count; a->first < n; a->first += count) {
        count = pairs_count(&a->pairs, n - a->first);
        TRY(answer_pairs(a, count, err));
        pairs_skip(&a->pairs, count);
    }
    return SABOK_OK;
}

sabok_status sabok_answer(const sabok_model *m, const char *const *questions, const char *const *contexts,
                          size_t n, const sabok_answer_opts *opts, sabok_answers_fn *fn, void *ctx,
                          sabok_error *err) {
    sabok_error ignored = {0};
    if (!err) err = &ignored;
    struct answering a = {.m = m, .fn = fn, .ctx = ctx};
    if (opts) a.opts = *opts;
    a.pairs = (struct pairs){questions, contexts, a.opts.question_lengths, a.opts.context_lengths};
    TRY(head_require(m, HEAD_ANSWER, "question-answering", err));
    TRY(answer_options(m, &a.opts, err));
    TRY(answer_check(m, &a.pairs, n, &a.opts, err));
    arena_init(&a.arena, (size_t)64 << 10);
    const sabok_status status = answer_run(&a, n, err);
    arena_free(&a.arena);
    mem_free(a.best);
    mem_free(a.start);
    mem_free(a.end);
    mem_free(a.found);
    return status;
}
