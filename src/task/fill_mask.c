// fill_mask: the tokens that fit the masks of texts, as transformers' FillMaskPipeline finds them.
#include "task/task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILL_TOP_K 5
#define FILL_ROWS 256                 // masks that go to the vocabulary together
#define FILL_VALUES ((size_t)1 << 24) // and values of all their logits, and choices held at a time

struct choice {
    uint32_t id;
    float score; // its logit, until the choices of a mask are complete
};

struct filling {
    const sabok_model *m;
    const struct text_source *source;
    uint32_t *targets; // [target_count], rising; NULL: the whole vocabulary
    size_t target_count;
    size_t top_k;
    float *rows;            // [FILL_ROWS, D]: hidden states of masks
    float *logits;          // [rows so far, V]
    size_t logits_cap;      // in values
    struct choice *choices; // [masks, top_k], of the texts at hand
    size_t choices_cap;
    struct arena arena; // of one text
    sabok_fills_fn *fn;
    void *ctx;
};

// ---- the best tokens of a mask

static bool choice_before(struct choice a, struct choice b) {
    return a.score > b.score || (a.score == b.score && a.id < b.id);
}

static int compare_choices(const void *a, const void *b) {
    const struct choice *x = a, *y = b;
    return choice_before(*y, *x) - choice_before(*x, *y);
}

// The last of the choices [n] is at the top of a heap; puts `c` there, and where it belongs.
static void heap_sink(struct choice *heap, size_t n, struct choice c) {
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && choice_before(heap[child], heap[child + 1])) child++;
        if (!choice_before(c, heap[child])) break;
        heap[i] = heap[child];
    }
    heap[i] = c;
}

static void heap_rise(struct choice *heap, size_t i, struct choice c) {
    for (; i > 0 && choice_before(heap[(i - 1) / 2], c); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = c;
}

// score = exp(logit - max) / sum over the vocabulary, of the best alone.
static void choose(const struct filling *f, const float *logits, struct choice *out) {
    const size_t V = (size_t)f->m->config.V, n = f->targets ? f->target_count : V;
    float most = logits[0];
    double sum = 0;
    size_t count = 0;
    for (size_t i = 1; i < V; i++)
        most = logits[i] > most ? logits[i] : most;
    for (size_t i = 0; i < V; i++)
        sum += (double)expf(logits[i] - most);
    for (size_t i = 0; i < n; i++) {
        const uint32_t id = f->targets ? f->targets[i] : (uint32_t)i;
        const struct choice c = {id, logits[id]};
        if (count < f->top_k)
            heap_rise(out, count++, c);
        else if (choice_before(c, out[0]))
            heap_sink(out, count, c);
    }
    qsort(out, count, sizeof *out, compare_choices);
    for (size_t i = 0; i < count; i++)
        out[i].score = (float)(exp((double)out[i].score - (double)most) / sum);
}

struct choose_job {
    const struct filling *f;
    struct choice *out;
    size_t n;
    _Atomic size_t next;
};

static void choose_work(void *ctx, unsigned thread, unsigned threads) {
    (void)thread, (void)threads;
    struct choose_job *job = ctx;
    for (size_t i; (i = atomic_fetch_add(&job->next, 1)) < job->n;)
        choose(job->f, job->f->logits + i * job->f->m->config.V, job->out + i * job->f->top_k);
}

// Rows [n, D] that stand in f->rows, to choices.
static sabok_status rows_choose(struct filling *f, size_t n, struct choice *out, sabok_error *err) {
    uint32_t length = (uint32_t)n;
    const uint32_t *none = NULL;
    const struct sequences s = {.n = 1, .ids = &none, .types = &none, .length = &length};
    const unsigned threads = team_size(f->m->team);
    if (!mem_grow((void **)&f->logits, &f->logits_cap, n * (size_t)f->m->config.V, sizeof *f->logits))
        return error_memory(err, f->m->name);
    const struct sequences_run run = {
        .kind = PROGRAM_FILL_MASK, .end = 1, .batch_tokens = n, .out = f->logits, .rows = f->rows};
    TRY(sequences_compute(&s, f->m, &run, err));
    struct choose_job job = {.f = f, .out = out, .n = n};
    if (n > 1 && threads > 1)
        team_run(f->m->team, threads, choose_work, &job);
    else
        choose_work(&job, 0, 1);
    return SABOK_OK;
}

// ---- texts

static size_t masks_count(const struct filling *f, const struct sequences *s, size_t i) {
    size_t count = 0;
    for (size_t t = 0; t < s->length[i]; t++)
        count += s->ids[i][t] == f->m->specials.mask;
    return count;
}

// The text of ids, in the arena; NULL on error.
static const char *decode(struct filling *f, const uint32_t *ids, size_t n, bool keep_special, size_t *length,
                          sabok_error *err) {
    const sabok_detokenize_opts opts = {.keep_special = keep_special};
    char *decoded = sabok_detokenize(f->m->tokenizer, ids, n, &opts, length, err);
    if (!decoded) return NULL;
    if (f->m->specials.clean_up) *length = tokenizer_clean_up(decoded, *length);
    const char *text = arena_copy(&f->arena, decoded, *length);
    sabok_text_free(decoded);
    if (!text) error_memory(err, f->m->name);
    return text;
}

struct shown { // a text with its masks filled, one at a time
    const uint32_t *ids;
    size_t length;
    uint32_t *filled; // [length]
    bool single; // one mask: shown without special tokens; with several, the masks that stay are to be seen
};

static sabok_status fill_show(struct filling *f, const struct shown *text, size_t place, sabok_fill *fill,
                              sabok_error *err) {
    size_t n = 0;
    for (size_t t = 0; t < text->length; t++) {
        const uint32_t id = t == place ? fill->token : text->ids[t];
        if (id != f->m->specials.pad) text->filled[n++] = id;
    }
    fill->sequence = decode(f, text->filled, n, !text->single, &fill->sequence_length, err);
    fill->token_str = fill->sequence ? decode(f, &fill->token, 1, true, &fill->token_str_length, err) : NULL;
    return fill->token_str ? SABOK_OK : err->code;
}

static sabok_status fill_text(struct filling *f, const struct stream_part *part, size_t i, size_t masks,
                              const struct choice *choices, sabok_error *err) {
    struct shown text = {.ids = part->s->ids[i], .length = part->s->length[i], .single = masks == 1};
    arena_reset(&f->arena);
    sabok_fill *fills = arena_alloc(&f->arena, masks * f->top_k * sizeof *fills), *next = fills;
    text.filled = arena_alloc(&f->arena, text.length * sizeof *text.filled);
    if (!fills || !text.filled) return error_memory(err, f->m->name);
    for (size_t t = 0; t < text.length; t++) {
        if (text.ids[t] != f->m->specials.mask) continue;
        for (size_t k = 0; k < f->top_k; k++, next++, choices++) {
            *next = (sabok_fill){.score = choices->score, .token = choices->id};
            TRY(fill_show(f, &text, t, next, err));
        }
    }
    return f->fn(f->ctx, part->first + i, fills, masks, f->top_k) == 0 ? SABOK_OK : stream_stopped(f->m, err);
}

// Texts [begin, end), whose masks are so many: choices of all, then each text's.
static sabok_status fill_texts(struct filling *f, const struct stream_part *part, sabok_span texts,
                               size_t masks, const float *hidden, sabok_error *err) {
    const struct sequences *s = part->s;
    const size_t D = (size_t)f->m->config.D;
    const size_t most = size_max(1, size_min(FILL_ROWS, FILL_VALUES / (size_t)f->m->config.V));
    if (!mem_grow((void **)&f->choices, &f->choices_cap, masks * f->top_k, sizeof *f->choices))
        return error_memory(err, f->m->name);
    size_t n = 0, done = 0;
    for (size_t i = texts.begin; i < texts.end; i++)
        for (size_t t = 0; t < s->length[i]; t++, hidden += D) {
            if (s->ids[i][t] != f->m->specials.mask) continue;
            memcpy(f->rows + n++ * D, hidden, D * sizeof *hidden);
            if (n < most && done + n < masks) continue;
            TRY(rows_choose(f, n, f->choices + done * f->top_k, err));
            done += n;
            n = 0;
        }
    const struct choice *choices = f->choices;
    for (size_t i = texts.begin; i < texts.end; i++) {
        const size_t count = masks_count(f, s, i);
        TRY(fill_text(f, part, i, count, choices, err));
        choices += count * f->top_k;
    }
    return SABOK_OK;
}

static sabok_status mask_missing(const struct filling *f, size_t text, sabok_error *err) {
    char name[32] = ""; // unless the caller knows a better one
    if (f->source->text_at_fault)
        *f->source->text_at_fault = text;
    else
        snprintf(name, sizeof name, "text %zu: ", text);
    return error_set(err, SABOK_EINVAL, f->m->name, "%sno mask_token (%s) found", name,
                     f->m->specials.mask_text);
}

static sabok_status fill_part(void *ctx, const struct stream_part *part, sabok_error *err) {
    struct filling *f = ctx;
    const float *hidden = part->rows; // [tokens, D]
    for (size_t i = part->begin; i < part->end;) {
        const size_t begin = i;
        size_t masks = 0, tokens = 0;
        for (; i < part->end; i++) {
            const size_t more = masks_count(f, part->s, i);
            if (more == 0) return mask_missing(f, part->first + i, err);
            if (masks && (masks + more) * f->top_k > FILL_VALUES) break;
            masks += more;
            tokens += part->s->length[i];
        }
        TRY(fill_texts(f, part, (sabok_span){begin, i}, masks, hidden, err));
        hidden += tokens * (size_t)f->m->config.D;
    }
    return SABOK_OK;
}

// ---- targets

static int compare_ids(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

// The token of a target; of one that is no token, the first that it is made of.
static sabok_status target_find(const sabok_model *m, const char *target, uint32_t *id, sabok_error *err) {
    *id = tokenizer_token_id(m->tokenizer, target, strlen(target));
    if (*id != NO_TOKEN) return SABOK_OK;
    const sabok_tokenize_opts opts = {.no_special = true, .truncation = SABOK_TRUNCATE_NONE};
    sabok_encodings *encodings = sabok_tokenize(m->tokenizer, &target, NULL, 1, &opts, err);
    if (!encodings) return err->code;
    const sabok_encoding *e = sabok_encodings_get(encodings, 0);
    if (e->length) {
        *id = e->ids[0];
        log_message(SABOK_LOG_WARNING, "%s: target \"%s\" is not in the vocabulary; \"%s\" is used", m->name,
                    target, e->tokens[0]);
    } else {
        log_message(SABOK_LOG_WARNING, "%s: target \"%s\" is not in the vocabulary; it is left out", m->name,
                    target);
    }
    sabok_encodings_free(encodings);
    return SABOK_OK;
}

static sabok_status targets_find(struct filling *f, const sabok_fill_mask_opts *opts, sabok_error *err) {
    if (!opts->targets) return SABOK_OK;
    f->targets = mem_array(opts->target_count + 1, sizeof *f->targets);
    if (!f->targets) return error_memory(err, f->m->name);
    size_t n = 0;
    for (size_t i = 0; i < opts->target_count; i++) {
        TRY(target_find(f->m, opts->targets[i], &f->targets[n], err));
        n += f->targets[n] != NO_TOKEN;
    }
    if (n == 0) return error_set(err, SABOK_EINVAL, f->m->name, "no target is left, expected at least one");
    qsort(f->targets, n, sizeof *f->targets, compare_ids);
    f->target_count = 1;
    for (size_t i = 1; i < n; i++)
        if (f->targets[i] != f->targets[f->target_count - 1]) f->targets[f->target_count++] = f->targets[i];
    return SABOK_OK;
}

// ---- the task

static sabok_status fill_run(struct filling *f, const sabok_fill_mask_opts *opts, sabok_error *err) {
    TRY(targets_find(f, opts, err));
    const size_t all = f->targets ? f->target_count : (size_t)f->m->config.V;
    f->top_k = size_min(opts->top_k ? opts->top_k : FILL_TOP_K, all);
    f->rows = mem_array(FILL_ROWS, (size_t)f->m->config.D * sizeof *f->rows);
    if (!f->rows) return error_memory(err, f->m->name);
    const struct stream stream = {
        .kind = PROGRAM_HIDDEN, .batch_tokens = opts->input.batch_tokens, .fn = fill_part, .ctx = f};
    return stream_texts(f->m, f->source, &stream, err);
}

sabok_status sabok_fill_mask(const sabok_model *m, const char *const *texts, size_t n,
                             const sabok_fill_mask_opts *opts, sabok_fills_fn *fn, void *ctx,
                             sabok_error *err) {
    static const sabok_fill_mask_opts defaults;
    sabok_error ignored = {0};
    struct text_source source;
    if (!opts) opts = &defaults;
    if (!err) err = &ignored;
    TRY(head_require(m, HEAD_FILL_MASK, "fill-mask", err));
    TRY(stream_source(m, texts, n, &opts->input, &source, err));
    if (opts->input.pairs)
        return error_set(err, SABOK_EINVAL, m->name, "fill-mask: found pairs, expected texts");
    if (m->specials.mask == NO_TOKEN)
        return error_set(err, SABOK_EUNSUPPORTED, m->name, "the tokenizer has no mask_token");
    if (n == 0) return SABOK_OK;
    struct filling f = {.m = m, .source = &source, .fn = fn, .ctx = ctx};
    arena_init(&f.arena, (size_t)64 << 10);
    const sabok_status status = fill_run(&f, opts, err);
    arena_free(&f.arena);
    mem_free(f.targets);
    mem_free(f.rows);
    mem_free(f.logits);
    mem_free(f.choices);
    return status;
}
