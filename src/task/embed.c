// embed: texts to vectors, and to the vectors of their tokens.
#include "task/task.h"

#include <string.h>

#define EMBED_CHUNK_TEXTS 8192 // whose ids are held at a time

static sabok_status embed_prompt(const sabok_model *m, const sabok_embed_opts *opts, const char **out,
                                 sabok_error *err) {
    *out = opts->prompt ? opts->prompt : opts->prompt_name ? NULL : m->sentence.default_prompt;
    for (size_t i = 0; opts->prompt_name && !opts->prompt && i < m->sentence.prompt_count; i++)
        if (strcmp(m->sentence.prompt_names[i], opts->prompt_name) == 0) *out = m->sentence.prompts[i];
    if (opts->prompt_name && !*out) {
        char names[512] = "";
        for (size_t i = 0; i < m->sentence.prompt_count; i++) {
            strncat(names, i ? ", " : "", sizeof names - strlen(names) - 1);
            strncat(names, m->sentence.prompt_names[i], sizeof names - strlen(names) - 1);
        }
        return error_set(err, SABOK_ENOTFOUND, m->name, "no prompt named \"%s\"; there are: %s",
                         opts->prompt_name, names[0] ? names : "none");
    }
    if (*out && !**out) *out = NULL;
    return SABOK_OK;
}

// Tokens of the prompt alone, without the last special one: what a pooling with include_prompt false leaves out.
static sabok_status embed_skip(const sabok_model *m, const struct text_source *source, struct sequences *s,
                               sabok_error *err) {
    bool left_out = false;
    for (size_t i = 0; i < m->sentence.count; i++)
        left_out = left_out ||
                   (m->sentence.modules[i].kind == MODULE_POOLING && !m->sentence.modules[i].include_prompt);
    if (!left_out || !source->prompt) return SABOK_OK;
    const struct text_source prompt = {.texts = &source->prompt, .n = 1, .max_length = source->max_length};
    TRY(sequences_tokenize(s, m, &prompt, err));
    s->skip = s->length[0] ? s->length[0] - 1 : 0;
    return SABOK_OK;
}

static sabok_status embed_max_length(const sabok_model *m, const sabok_embed_opts *opts, size_t *out,
                                     sabok_error *err) {
    *out = opts->max_seq_length ? opts->max_seq_length : m->max_seq_length;
    if (*out > model_positions(m))
        return error_set(err, SABOK_EINVAL, m->name,
                         "max_seq_length %zu, expected at most %zu, the model's positions", *out,
                         model_positions(m));
    return SABOK_OK;
}

static sabok_status embed_arguments(const sabok_model *m, const char *const *texts, size_t n,
                                    const sabok_embed_opts *opts, struct text_source *source,
                                    sabok_error *err) {
    if (n > 0 && !texts) return error_set(err, SABOK_EINVAL, m->name, "texts is NULL");
    if (opts->truncate_dim > m->embed_width)
        return error_set(err, SABOK_EINVAL, m->name, "truncate_dim %zu, expected at most %zu",
                         opts->truncate_dim, m->embed_width);
    TRY(embed_prompt(m, opts, &source->prompt, err));
    return embed_max_length(m, opts, &source->max_length, err);
}

static void source_window(struct text_source *source, const char *const *texts, const size_t *lengths,
                          size_t begin, size_t n) {
    source->texts = texts + begin;
    source->lengths = lengths ? lengths + begin : NULL;
    source->n = n;
}

// Keeps the first `width` components of each row.
static void embed_cut(const float *rows, size_t n, size_t full, size_t width, float *out) {
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * width, rows + i * full, width * sizeof(float));
}

static sabok_status embed_chunk(const sabok_model *m, struct sequences *s, const struct text_source *source,
                                const sabok_embed_opts *opts, float *full, float *out, sabok_error *err) {
    TRY(sequences_tokenize(s, m, source, err));
    const size_t width = opts->truncate_dim ? opts->truncate_dim : m->embed_width;
    const struct sequences_run run = {
        .kind = PROGRAM_EMBED, .end = s->n, .batch_tokens = opts->batch_tokens, .out = full ? full : out};
    TRY(sequences_compute(s, m, &run, err));
    if (full) embed_cut(full, s->n, m->embed_width, width, out);
    if (opts->normalize) {
        const struct unit_args a = {.x = out, .y = out, .D = width};
        kernel_best(FAMILY_UNIT)->fn.unit(&a, 0, s->n);
    }
    return SABOK_OK;
}

sabok_status sabok_embed(const sabok_model *m, const char *const *texts, size_t n,
                         const sabok_embed_opts *opts, float *out, sabok_error *err) {
    static const sabok_embed_opts defaults;
    if (!opts) opts = &defaults;
    struct text_source source = {0};
    TRY(embed_arguments(m, texts, n, opts, &source, err));
    const size_t width = opts->truncate_dim ? opts->truncate_dim : m->embed_width;
    const size_t chunk = size_min(n, EMBED_CHUNK_TEXTS);
    float *full = width < m->embed_width ? mem_array(chunk, m->embed_width * sizeof(float)) : NULL;
    struct sequences s = {0};
    sabok_status status = width < m->embed_width && !full ? error_memory(err, m->name) : SABOK_OK;
    if (status == SABOK_OK) status = embed_skip(m, &source, &s, err);
    for (size_t begin = 0; status == SABOK_OK && begin < n; begin += chunk) {
        source_window(&source, texts, opts->text_lengths, begin, size_min(chunk, n - begin));
        status = embed_chunk(m, &s, &source, opts, full, out + begin * width, err);
    }
    sequences_free(&s);
    mem_free(full);
    return status;
}

// ---- token vectors
struct tokens_sink {
    const sabok_model *m;
    sabok_tokens_fn *fn;
    void *ctx;
};

static sabok_status tokens_part(void *ctx, const struct stream_part *part, sabok_error *err) {
    const struct tokens_sink *sink = ctx;
    const size_t D = (size_t)sink->m->config.D;
    const float *hidden = part->rows; // [tokens, D]
    for (size_t i = part->begin; i < part->end; hidden += part->s->length[i++] * D)
        if (sink->fn(sink->ctx, part->first + i, hidden, part->s->length[i]) != 0)
            return stream_stopped(sink->m, err);
    return SABOK_OK;
}

sabok_status sabok_embed_tokens(const sabok_model *m, const char *const *texts, size_t n,
                                const sabok_embed_opts *opts, sabok_tokens_fn *fn, void *ctx,
                                sabok_error *err) {
    static const sabok_embed_opts defaults;
    if (!opts) opts = &defaults;
    struct text_source source = {.texts = texts, .lengths = opts->text_lengths, .n = n};
    TRY(embed_arguments(m, texts, n, opts, &source, err));
    struct tokens_sink sink = {.m = m, .fn = fn, .ctx = ctx};
    const struct stream stream = {
        .kind = PROGRAM_HIDDEN, .batch_tokens = opts->batch_tokens, .fn = tokens_part, .ctx = &sink};
    return stream_texts(m, &source, &stream, err);
}
