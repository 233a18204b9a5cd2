// stream: the rows of any number of texts, a part at a time.
#include "task/task.h"

#define STREAM_TEXTS 8192               // whose ids are held at a time
#define STREAM_TOKENS 16384             // whose rows are held at a time, where each token has one
#define STREAM_VALUES ((size_t)1 << 24) // and values of all rows

size_t model_positions(const sabok_model *m) {
    return (size_t)(m->config.positions - m->config.position_first);
}

sabok_status head_require(const sabok_model *m, enum head_kind kind, const char *task, sabok_error *err) {
    if (m->head.kind != kind)
        return error_set(err, SABOK_EUNSUPPORTED, m->name, "%s: the model's head is %s, expected %s", task,
                         head_name(m->head.kind), head_name(kind));
    if (!m->tokenizer) return error_set(err, SABOK_EINVAL, m->name, "the model has no tokenizer");
    return SABOK_OK;
}

sabok_status stream_stopped(const sabok_model *m, sabok_error *err) {
    return error_set(err, SABOK_ECANCELED, m->name, "stopped by the caller");
}

// Sequences [begin, result) are the next part; *rows: how many rows they have.
static size_t part_end(const sabok_model *m, const struct sequences *s, size_t begin, enum program_kind kind,
                       size_t *rows) {
    const bool by_sequence = program_by_sequence(kind);
    const size_t most =
        size_min(by_sequence ? SIZE_MAX : STREAM_TOKENS, STREAM_VALUES / model_width(m, kind));
    size_t i = begin;
    *rows = 0;
    while (i < s->n) {
        const size_t more = by_sequence ? 1 : s->length[i];
        if (i > begin && *rows + more > most) break;
        *rows += more;
        i++;
    }
    return i;
}

static sabok_status check_lengths(const sabok_model *m, const struct sequences *s, size_t first,
                                  size_t *text_at_fault, sabok_error *err) {
    const size_t most = model_positions(m);
    for (size_t i = 0; i < s->n; i++) {
        if (s->length[i] <= most) continue;
        char name[32] = ""; // unless the caller knows a better one
        if (text_at_fault)
            *text_at_fault = first + i;
        else
            snprintf(name, sizeof name, "text %zu: ", first + i);
        return error_set(err, SABOK_EINVAL, m->name, "%s%u tokens, expected at most %zu without truncate",
                         name, s->length[i], most);
    }
    return SABOK_OK;
}

sabok_status stream_sequences(const sabok_model *m, const struct sequences *s, size_t first,
                              const struct stream *stream, sabok_error *err) {
    const size_t width = model_width(m, stream->kind);
    float *rows = NULL; // [sequences or tokens of the part, width]
    size_t cap = 0, count = 0;
    sabok_status status = check_lengths(m, s, first, stream->text_at_fault, err);
    for (size_t begin = 0, end; status == SABOK_OK && begin < s->n; begin = end) {
        end = part_end(m, s, begin, stream->kind, &count);
        if (!mem_grow((void **)&rows, &cap, count * width, sizeof *rows)) {
            status = error_memory(err, m->name);
            break;
        }
        const struct sequences_run run = {.kind = stream->kind,
                                          .begin = begin,
                                          .end = end,
                                          .batch_tokens = stream->batch_tokens,
                                          .out = rows};
        status = sequences_compute(s, m, &run, err);
        const struct stream_part part = {.s = s, .begin = begin, .end = end, .first = first, .rows = rows};
        if (status == SABOK_OK) status = stream->fn(stream->ctx, &part, err);
    }
    mem_free(rows);
    return status;
}

sabok_status stream_texts(const sabok_model *m, const struct text_source *source, const struct stream *stream,
                          sabok_error *err) {
    struct sequences s = {0};
    sabok_status status = SABOK_OK;
    for (size_t begin = 0; status == SABOK_OK && begin < source->n; begin += STREAM_TEXTS) {
        struct text_source window = *source;
        window.texts += begin;
        if (window.lengths) window.lengths += begin;
        if (window.pairs) window.pairs += begin;
        if (window.pair_lengths) window.pair_lengths += begin;
        window.n = size_min(STREAM_TEXTS, source->n - begin);
        status = sequences_tokenize(&s, m, &window, err);
        if (status == SABOK_OK) status = check_lengths(m, &s, begin, source->text_at_fault, err);
        if (status == SABOK_OK) status = stream_sequences(m, &s, begin, stream, err);
    }
    sequences_free(&s);
    return status;
}

sabok_status stream_source(const sabok_model *m, const char *const *texts, size_t n,
                           const sabok_text_opts *opts, struct text_source *out, sabok_error *err) {
    if (opts->text_at_fault) *opts->text_at_fault = SIZE_MAX;
    if (n > 0 && !texts) return error_set(err, SABOK_EINVAL, m->name, "texts is NULL");
    for (size_t i = 0; i < n; i++)
        if (!texts[i] || (opts->pairs && !opts->pairs[i]))
            return error_set(err, SABOK_EINVAL, m->name, "text %zu is NULL, expected a string", i);
    if (opts->max_length > model_positions(m))
        return error_set(err, SABOK_EINVAL, m->name,
                         "max_length %zu, expected at most %zu, the model's positions", opts->max_length,
                         model_positions(m));
    *out = (struct text_source){
        .texts = texts,
        .lengths = opts->text_lengths,
        .pairs = opts->pairs,
        .pair_lengths = opts->pair_lengths,
        .n = n,
        .truncation = opts->truncate || opts->max_length ? SABOK_TRUNCATE_LONGEST_FIRST : SABOK_TRUNCATE_NONE,
        .max_length = opts->max_length ? opts->max_length : m->max_seq_length,
        .text_at_fault = opts->text_at_fault,
    };
    return SABOK_OK;
}
