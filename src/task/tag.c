// tag: labels of tokens, or of the words and entities they make, as transformers' TokenClassificationPipeline finds
// them with a fast tokenizer.
#include "task/task.h"

#include <math.h>
#include <string.h>

#define TAG_TEXTS 1024 // whose encodings are held at a time

// A token, or what several make: [begin, end) in characters of the text.
struct span {
    const char *word;
    const char *label;
    const float *scores; // [labels], of a token
    float score;
    size_t index, begin, end;
    bool subword;
};

struct tagging {
    const sabok_model *m;
    const sabok_tag_opts *opts;
    const char *const *texts; // of this window
    const size_t *lengths;    // or NULL
    size_t first;             // number of its first text
    const sabok_encodings *encodings;
    struct arena arena;  // of one sequence
    struct arena words;  // of one text
    sabok_entity *found; // [count], of the windows of one text so far
    size_t count, cap, windows;
    bool pieces; // tokens inside a word are spelt with a prefix
    uint32_t unk;
    sabok_entities_fn *fn;
    void *ctx;
};

// Of scores that are numbers; NaN of none.
struct mean {
    double sum;
    size_t n;
};

static void mean_add(struct mean *m, float score) {
    if (isnan(score)) return;
    m->sum += (double)score;
    m->n++;
}

static float mean_of(const struct mean *m) {
    return m->n ? (float)(m->sum / (double)m->n) : NAN;
}

static size_t argmax(const float *x, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}

static void span_label(const struct tagging *t, struct span *s, const float *scores) {
    const size_t best = argmax(scores, (size_t)t->m->head.labels);
    s->label = t->m->head.names[best];
    s->score = scores[best];
}

static size_t count_chars(const char *text, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

// The words of spans [n], joined by the tokenizer's decoder; in the arena, NULL on error.
static const char *join_words(struct tagging *t, const struct span *spans, size_t n, sabok_error *err) {
    const char **words = arena_alloc(&t->arena, n * sizeof *words);
    for (size_t i = 0; words && i < n; i++)
        words[i] = spans[i].word;
    char *joined = words ? tokenizer_join(t->m->tokenizer, words, n, err) : NULL;
    if (!joined) {
        if (!words) error_memory(err, t->m->name);
        return NULL;
    }
    const char *kept = arena_copy(&t->arena, joined, strlen(joined));
    if (!kept) error_memory(err, t->m->name);
    mem_free(joined);
    return kept;
}

// ---- tokens

// Whether the token goes on with the word before it: by its prefix where the vocabulary has one (it is then longer than
// its text), else where no space stands before it.
static bool token_subword(const struct tagging *t, const sabok_encoding *e, size_t i, const char *text) {
    const sabok_span bytes = e->offsets_bytes[i];
    if (t->pieces)
        return count_chars(e->tokens[i], strlen(e->tokens[i])) != e->offsets[i].end - e->offsets[i].begin;
    if (e->offsets[i].begin == 0) return false;
    const size_t length = t->lengths ? t->lengths[e->text] : strlen(text);
    return text[bytes.begin - 1] != ' ' && (bytes.begin >= length || text[bytes.begin] != ' ');
}

static sabok_status tokens_read(struct tagging *t, const sabok_encoding *e, const float *logits,
                                struct span *out, size_t *count) {
    const size_t labels = (size_t)t->m->head.labels;
    const char *text = t->texts[e->text];
    for (size_t i = 0; i < e->length; i++, logits += labels) {
        if (e->special_mask[i]) continue;
        float *scores = arena_alloc(&t->arena, labels * sizeof *scores);
        if (!scores) return SABOK_ENOMEM;
        score_softmax(logits, labels, scores);
        struct span *s = &out[(*count)++];
        *s = (struct span){.word = e->tokens[i],
                           .scores = scores,
                           .index = i,
                           .begin = e->offsets[i].begin,
                           .end = e->offsets[i].end,
                           .subword = e->ids[i] != t->unk && token_subword(t, e, i, text)};
        if (e->ids[i] == t->unk) {
            const sabok_span bytes = e->offsets_bytes[i];
            s->word = arena_copy(&t->arena, text + bytes.begin, bytes.end - bytes.begin);
            if (!s->word) return SABOK_ENOMEM;
        }
        span_label(t, s, scores);
    }
    return SABOK_OK;
}

// ---- words: a token and those that go on with it

static sabok_status word_make(struct tagging *t, const struct span *tokens, size_t n, struct span *out,
                              sabok_error *err) {
    const size_t labels = (size_t)t->m->head.labels;
    struct span word = {
        .word = join_words(t, tokens, n, err), .begin = tokens[0].begin, .end = tokens[n - 1].end};
    if (!word.word) return SABOK_ENOMEM;
    const struct span *chosen = tokens;
    if (t->opts->aggregation == SABOK_AGGREGATE_AVERAGE) {
        float *mean = arena_alloc(&t->arena, labels * sizeof *mean); // zeroed
        if (!mean) return error_memory(err, t->m->name);
        for (size_t j = 0; j < labels; j++) {
            struct mean m = {0};
            for (size_t i = 0; i < n; i++)
                mean_add(&m, tokens[i].scores[j]);
            mean[j] = mean_of(&m);
        }
        span_label(t, &word, mean);
    } else {
        for (size_t i = 1; t->opts->aggregation == SABOK_AGGREGATE_MAX && i < n; i++)
            if (tokens[i].score > chosen->score) chosen = &tokens[i];
        span_label(t, &word, chosen->scores);
    }
    *out = word; // which may be the first of the tokens' place
    return SABOK_OK;
}

// In place.
static sabok_status words_make(struct tagging *t, struct span *spans, size_t *count, sabok_error *err) {
    size_t words = 0;
    for (size_t i = 0, end; i < *count; i = end) {
        for (end = i + 1; end < *count && spans[end].subword;)
            end++;
        TRY(word_make(t, spans + i, end - i, &spans[words++], err));
    }
    *count = words;
    return SABOK_OK;
}

// ---- groups: neighbours of one tag, anew at each B-

static const char *label_tag(const char *label) {
    return strncmp(label, "B-", 2) == 0 || strncmp(label, "I-", 2) == 0 ? label + 2 : label;
}

static sabok_status groups_make(struct tagging *t, struct span *spans, size_t *count, sabok_error *err) {
    size_t groups = 0;
    for (size_t i = 0, end; i < *count; i = end) {
        struct mean mean = {0};
        mean_add(&mean, spans[i].score);
        const char *tag = label_tag(spans[i].label);
        for (end = i + 1; end < *count && strncmp(spans[end].label, "B-", 2) != 0 &&
                          strcmp(label_tag(spans[end].label), tag) == 0;)
            mean_add(&mean, spans[end++].score);
        const char *dash = strchr(spans[i].label, '-');
        const struct span group = {.word = join_words(t, spans + i, end - i, err),
                                   .label = dash ? dash + 1 : spans[i].label,
                                   .score = mean_of(&mean),
                                   .begin = spans[i].begin,
                                   .end = spans[end - 1].end};
        if (!group.word) return SABOK_ENOMEM;
        spans[groups++] = group;
    }
    *count = groups;
    return SABOK_OK;
}

// ---- texts

static bool label_ignored(const sabok_tag_opts *opts, const char *label) {
    if (!opts->ignore_labels) return strcmp(label, "O") == 0;
    for (size_t i = 0; i < opts->ignore_count; i++)
        if (strcmp(label, opts->ignore_labels[i]) == 0) return true;
    return false;
}

// Adds the entities of one sequence to those found.
static sabok_status tag_sequence(struct tagging *t, const sabok_encoding *e, const float *logits,
                                 sabok_error *err) {
    arena_reset(&t->arena);
    size_t count = 0;
    struct span *spans = arena_alloc(&t->arena, (e->length + 1) * sizeof *spans);
    if (!spans || tokens_read(t, e, logits, spans, &count) != SABOK_OK) return error_memory(err, t->m->name);
    if (t->opts->aggregation > SABOK_AGGREGATE_SIMPLE) TRY(words_make(t, spans, &count, err));
    if (t->opts->aggregation != SABOK_AGGREGATE_NONE) TRY(groups_make(t, spans, &count, err));
    if (!mem_grow((void **)&t->found, &t->cap, t->count + count + 1, sizeof *t->found))
        return error_memory(err, t->m->name);
    for (size_t i = 0; i < count; i++) {
        const struct span *s = &spans[i];
        if (label_ignored(t->opts, s->label)) continue;
        const char *word = arena_copy(&t->words, s->word, strlen(s->word));
        if (!word) return error_memory(err, t->m->name);
        t->found[t->count++] = (sabok_entity){s->label, s->score, word, s->index, {s->begin, s->end}};
    }
    return SABOK_OK;
}

// In the order of their beginnings, else of the windows. What is found is nearly in order, so insertion is quick.
static void found_sort(struct tagging *t) {
    for (size_t i = 1; i < t->count; i++) {
        const sabok_entity e = t->found[i];
        size_t j = i;
        for (; j > 0 && t->found[j - 1].span.begin > e.span.begin; j--)
            t->found[j] = t->found[j - 1];
        t->found[j] = e;
    }
}

// Of entities that overlap, as those of two windows do, the longest stays; of equal ones the one with the best score.
static void found_merge(struct tagging *t) {
    if (t->count == 0) return;
    found_sort(t);
    size_t kept = 0;
    sabok_entity best = t->found[0];
    // As in the reference, the first is held against itself: one without characters comes twice.
    for (size_t i = 0; i < t->count; i++) {
        const sabok_entity e = t->found[i];
        const size_t length = e.span.end - e.span.begin, most = best.span.end - best.span.begin;
        if (e.span.begin >= best.span.end) {
            t->found[kept++] = best;
            best = e;
        } else if (length > most || (length == most && e.score > best.score)) {
            best = e;
        }
    }
    t->found[kept++] = best;
    t->count = kept;
}

static sabok_status text_give(struct tagging *t, size_t text, sabok_error *err) {
    if (t->windows > 1) found_merge(t);
    if (t->fn(t->ctx, t->first + text, t->found, t->count) != 0) return stream_stopped(t->m, err);
    arena_reset(&t->words);
    t->count = t->windows = 0;
    return SABOK_OK;
}

static sabok_status tag_part(void *ctx, const struct stream_part *part, sabok_error *err) {
    struct tagging *t = ctx;
    const float *logits = part->rows; // [tokens, labels]
    for (size_t i = part->begin; i < part->end; i++) {
        const sabok_encoding *e = sabok_encodings_get(t->encodings, i);
        const sabok_encoding *next = sabok_encodings_get(t->encodings, i + 1);
        TRY(tag_sequence(t, e, logits, err));
        t->windows++;
        if (!next || next->text != e->text) TRY(text_give(t, e->text, err));
        logits += e->length * (size_t)t->m->head.labels;
    }
    return SABOK_OK;
}

static sabok_status tag_texts(struct tagging *t, const struct text_source *source, size_t n,
                              sabok_error *err) {
    const sabok_tokenize_opts opts = {
        .text_lengths = t->lengths,
        .truncation = t->opts->windows ? SABOK_TRUNCATE_LONGEST_FIRST : source->truncation,
        .max_length = source->max_length,
        .stride = t->opts->stride,
        .overflow = t->opts->windows,
    };
    sabok_encodings *encodings = sabok_tokenize(t->m->tokenizer, t->texts, NULL, n, &opts, err);
    if (!encodings) return err->code;
    const struct stream stream = {.kind = PROGRAM_TAG,
                                  .batch_tokens = t->opts->input.batch_tokens,
                                  .text_at_fault = source->text_at_fault,
                                  .fn = tag_part,
                                  .ctx = t};
    struct sequences s = {0};
    t->encodings = encodings;
    sabok_status status = sequences_take(&s, t->m, encodings, err);
    if (status == SABOK_OK) status = stream_sequences(t->m, &s, t->first, &stream, err);
    sequences_free(&s);
    sabok_encodings_free(encodings);
    return status;
}

static sabok_status tag_check(const sabok_model *m, const sabok_tag_opts *opts,
                              const struct text_source *source, sabok_error *err) {
    if (opts->input.pairs)
        return error_set(err, SABOK_EINVAL, m->name, "token-classification: found pairs, expected texts");
    if (!opts->windows && opts->stride > 0)
        return error_set(err, SABOK_EINVAL, m->name, "stride %zu without windows", opts->stride);
    if (opts->windows && opts->aggregation == SABOK_AGGREGATE_NONE)
        return error_set(err, SABOK_EINVAL, m->name,
                         "stride with aggregation_strategy none, expected simple, first, average or max");
    if (opts->windows && opts->stride >= source->max_length)
        return error_set(err, SABOK_EINVAL, m->name, "stride %zu, expected less than max_length, %zu",
                         opts->stride, source->max_length);
    return SABOK_OK;
}

sabok_status sabok_tag(const sabok_model *m, const char *const *texts, size_t n, const sabok_tag_opts *opts,
                       sabok_entities_fn *fn, void *ctx, sabok_error *err) {
    static const sabok_tag_opts defaults;
    sabok_error ignored = {0};
    struct text_source source;
    if (!opts) opts = &defaults;
    if (!err) err = &ignored;
    TRY(head_require(m, HEAD_TAG, "token-classification", err));
    TRY(stream_source(m, texts, n, &opts->input, &source, err));
    TRY(tag_check(m, opts, &source, err));
    struct tagging t = {.m = m, .opts = opts, .fn = fn, .ctx = ctx};
    t.pieces = tokenizer_has_prefix(m->tokenizer);
    TRY(tokenizer_unk(m->tokenizer, &t.unk, err));
    arena_init(&t.arena, (size_t)64 << 10);
    arena_init(&t.words, (size_t)16 << 10);
    sabok_status status = SABOK_OK;
    for (; status == SABOK_OK && t.first < n; t.first += TAG_TEXTS) {
        t.texts = texts + t.first;
        t.lengths = source.lengths ? source.lengths + t.first : NULL;
        status = tag_texts(&t, &source, size_min(TAG_TEXTS, n - t.first), err);
    }
    arena_free(&t.arena);
    arena_free(&t.words);
    mem_free(t.found);
    return status;
}
