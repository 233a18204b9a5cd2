// sabok_tokenize: texts to encodings, with truncation, windows and templates.
#include "text/tokenizer.h"

#include <string.h>

struct sabok_encodings {
    struct arena arena;
    sabok_encoding *items;
    size_t count, cap;
};

size_t sabok_encodings_count(const sabok_encodings *encs) {
    return encs ? encs->count : 0;
}

const sabok_encoding *sabok_encodings_get(const sabok_encodings *encs, size_t i) {
    return encs && i < encs->count ? &encs->items[i] : NULL;
}

void sabok_encodings_free(sabok_encodings *encs) {
    if (!encs) return;
    arena_free(&encs->arena);
    mem_free(encs->items);
    mem_free(encs);
}

// The tokens of one text of a pair, before they are cut.
struct sequence {
    struct json_text text;
    size_t size;
    uint32_t *ids;
    sabok_span *offsets, *offsets_bytes; // these and the next two are NULL when only ids are wanted
    uint32_t *words;
    const char **tokens;
};

struct job {
    const struct sabok_tokenizer *tok;
    const sabok_tokenize_opts *opts;
    struct truncation truncation;
    struct token_scratch *scratch;
    struct token_ids ids;
    struct arena work; // of the text in hand
    sabok_encodings *out;
    sabok_error *err;
};

static sabok_status out_of_memory(struct job *job) {
    return token_scratch_error(job->scratch, job->tok, job->err);
}

static void *take(struct arena *a, size_t n, size_t size) {
    size_t bytes;
    return mul_ok(n ? n : 1, size, &bytes) ? arena_alloc(a, bytes) : NULL;
}

static sabok_status sequence_ids(struct job *job, struct json_text text, struct sequence *q) {
    job->ids.size = 0;
    if (!encode_ids(job->tok, job->scratch, text, SIZE_MAX, &job->ids)) return out_of_memory(job);
    q->size = job->ids.size;
    q->ids = take(&job->work, q->size, sizeof *q->ids);
    if (!q->ids) return out_of_memory(job);
    if (q->size) memcpy(q->ids, job->ids.ids, q->size * sizeof *q->ids);
    return SABOK_OK;
}

static sabok_status sequence_make(struct job *job, struct json_text text, struct sequence *q) {
    if (text.size > TEXT_BYTES_MAX)
        return error_set(job->err, SABOK_EINVAL, NULL, "a text of %zu bytes, expected at most %zu", text.size,
                         TEXT_BYTES_MAX);
    q->text = text;
    if (job->opts->ids_only) return sequence_ids(job, text, q);
    struct token_scratch *s = job->scratch;
    if (!encode_text(job->tok, s, text.data, text.size)) return out_of_memory(job);
    q->size = s->token_count;
    q->ids = take(&job->work, q->size, sizeof *q->ids);
    q->offsets = take(&job->work, q->size, sizeof *q->offsets);
    q->offsets_bytes = take(&job->work, q->size, sizeof *q->offsets_bytes);
    q->words = take(&job->work, q->size, sizeof *q->words);
    q->tokens = take(&job->work, q->size, sizeof *q->tokens);
    char *texts = take(&job->out->arena, s->texts.size, 1);
    if (!q->ids || !q->offsets || !q->offsets_bytes || !q->words || !q->tokens || !texts)
        return out_of_memory(job);
    if (s->texts.size) memcpy(texts, s->texts.data, s->texts.size);
    for (size_t i = 0; i < q->size; i++) {
        const struct token *t = &s->tokens[i];
        q->ids[i] = t->id;
        q->offsets[i] = (sabok_span){t->begin, t->end};
        q->offsets_bytes[i] = (sabok_span){scratch_byte(s, t->begin), scratch_byte(s, t->end)};
        q->words[i] = t->word;
        q->tokens[i] = texts + t->text;
    }
    return SABOK_OK;
}

// ---------------------------------------------------------------------------------------------- windows

// A window of an encoding being filled.
struct fill {
    uint32_t *ids, *types, *words;
    uint8_t *special;
    sabok_span *offsets, *offsets_bytes;
    const char **tokens;
    size_t size;
};

static bool fill_new(struct job *job, size_t length, struct fill *f) {
    *f = (struct fill){.ids = take(&job->out->arena, length, sizeof *f->ids),
                       .types = take(&job->out->arena, length, sizeof *f->types),
                       .special = take(&job->out->arena, length, 1)};
    if (!f->ids || !f->types || !f->special) return false;
    if (job->opts->ids_only) return true;
    f->words = take(&job->out->arena, length, sizeof *f->words);
    f->offsets = take(&job->out->arena, length, sizeof *f->offsets);
    f->offsets_bytes = take(&job->out->arena, length, sizeof *f->offsets_bytes);
    f->tokens = take(&job->out->arena, length, sizeof *f->tokens);
    return f->words && f->offsets && f->offsets_bytes && f->tokens;
}

static void fill_special(struct fill *f, const struct template_piece *p) {
    const size_t i = f->size++;
    f->ids[i] = p->id;
    f->types[i] = p->type_id;
    f->special[i] = 1;
    if (!f->words) return;
    f->words[i] = SABOK_NO_WORD;
    f->tokens[i] = p->text;
}

// Spaces that a token's own spelling has at one end; byte-level vocabularies spell a space as U+0120.
static size_t count_spaces(const char *text, bool at_end) {
    const size_t size = strlen(text);
    size_t n = 0, space = 0;
    for (size_t at = 0; at < size; n++) {
        uint32_t c;
        at += utf8_read((const uint8_t *)text + at, size - at, &c);
        const bool is_space = c == byte_char(' ') || (char_flags(c) & CHAR_SPACE);
        if (!is_space && !at_end) return space;
        space = is_space ? space + 1 : 0;
    }
    return space;
}

// Moves a byte offset by so many characters of the text.
static size_t step_over(struct json_text text, size_t at, size_t characters) {
    for (uint32_t c; characters > 0 && at < text.size; characters--)
        at += utf8_read((const uint8_t *)text.data + at, text.size - at, &c);
    return at;
}

// Takes spaces off both ends of the offsets of a window's tokens, as the reference's byte-level post-processor does: by
// their number in the token's spelling.
static void trim_offsets(const struct postprocessor *p, struct fill *f, const struct sequence *q,
                         size_t begin) {
    for (size_t i = begin; i < f->size; i++) {
        sabok_span *o = &f->offsets[i], *b = &f->offsets_bytes[i];
        const size_t before = o->end - o->begin;
        size_t left = count_spaces(f->tokens[i], false);
        const size_t right = count_spaces(f->tokens[i], true);
        if (left && p->prefix_space && (i == begin || o->begin == 0)) left = 0;
        left = size_min(left, before);
        o->begin += left;
        if (o->end >= right) o->end = size_max(o->end - right, o->begin);
        if (left == 0 && o->end - o->begin == before) continue;
        b->begin = step_over(q->text, b->begin, left);
        b->end = step_over(q->text, b->begin, o->end - o->begin);
    }
}

static void fill_sequence(const struct postprocessor *p, struct fill *f, const struct sequence *q,
                          sabok_span part, uint32_t type_id) {
    const size_t n = part.end - part.begin, at = f->size;
    if (n == 0) return;
    memcpy(f->ids + at, q->ids + part.begin, n * sizeof *f->ids);
    for (size_t i = 0; i < n; i++)
        f->types[at + i] = type_id;
    f->size += n;
    if (!f->words) return;
    memcpy(f->words + at, q->words + part.begin, n * sizeof *f->words);
    memcpy(f->offsets + at, q->offsets + part.begin, n * sizeof *f->offsets);
    memcpy(f->offsets_bytes + at, q->offsets_bytes + part.begin, n * sizeof *f->offsets_bytes);
    memcpy(f->tokens + at, q->tokens + part.begin, n * sizeof *f->tokens);
    if (p->trim) trim_offsets(p, f, q, at);
}

static const char *special_text(struct job *job, const struct template_piece *p) {
    return job->opts->ids_only ? "" : arena_copy(&job->out->arena, p->text, strlen(p->text));
}

struct texts { // the two texts of one encoding, and what is kept of them
    size_t index;
    const struct sequence *q[2];
    const struct template *template;
    struct kept kept;
};

static sabok_status window_add(struct job *job, const struct texts *t, sabok_span a, sabok_span b) {
    sabok_encodings *out = job->out;
    size_t length = 0;
    for (size_t i = 0; i < t->template->count; i++) {
        const enum template_item item = t->template->pieces[i].item;
        length += item == TEMPLATE_FIRST    ? a.end - a.begin
                  : item == TEMPLATE_SECOND ? b.end - b.begin
                                            : !job->opts->no_special;
    }
    struct fill f;
    if (!fill_new(job, length, &f)) return out_of_memory(job);
    for (size_t i = 0; i < t->template->count; i++) {
        struct template_piece p = t->template->pieces[i];
        if (p.item == TEMPLATE_FIRST) {
            fill_sequence(&job->tok->post, &f, t->q[0], a, p.type_id);
        } else if (p.item == TEMPLATE_SECOND) {
            fill_sequence(&job->tok->post, &f, t->q[1], b, p.type_id);
        } else if (!job->opts->no_special) {
            p.text = special_text(job, &p);
            if (!p.text) return out_of_memory(job);
            fill_special(&f, &p);
        }
    }
    if (out->count == out->cap &&
        !mem_grow((void **)&out->items, &out->cap, out->count + 1, sizeof *out->items))
        return out_of_memory(job);
    out->items[out->count++] = (sabok_encoding){.text = t->index,
                                                .length = length,
                                                .ids = f.ids,
                                                .type_ids = f.types,
                                                .special_mask = f.special,
                                                .offsets = f.offsets,
                                                .offsets_bytes = f.offsets_bytes,
                                                .words = f.words,
                                                .tokens = f.tokens};
    return SABOK_OK;
}

static sabok_status window_pair(struct job *job, const struct texts *t, size_t i, size_t k) {
    sabok_span a, b = {0, 0};
    truncation_window(&job->truncation, t->q[0]->size, t->kept.a, i, &a.begin, &a.end);
    if (t->q[1]) truncation_window(&job->truncation, t->q[1]->size, t->kept.b, k, &b.begin, &b.end);
    return window_add(job, t, a, b);
}

// Every window of the first with every window of the second, in the reference's order: the two first, the
// later ones of the first with each of the second, then the first of the first with the later ones of the
// second.
static sabok_status windows_add(struct job *job, const struct texts *t) {
    TRY(window_pair(job, t, 0, 0));
    if (!job->opts->overflow) return SABOK_OK;
    const size_t n = truncation_windows(&job->truncation, t->q[0]->size, t->kept.a);
    const size_t m = t->q[1] ? truncation_windows(&job->truncation, t->q[1]->size, t->kept.b) : 1;
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < m; k++)
            TRY(window_pair(job, t, i, k));
    for (size_t k = 1; k < m; k++)
        TRY(window_pair(job, t, 0, k));
    return SABOK_OK;
}

static sabok_status check_stride(const struct job *job, const struct texts *t) {
    const size_t stride = job->truncation.stride;
    const bool cut_a = t->kept.a && t->kept.a < t->q[0]->size;
    const bool cut_b = t->q[1] && t->kept.b && t->kept.b < t->q[1]->size;
    if (!job->opts->overflow || !((cut_a && stride >= t->kept.a) || (cut_b && stride >= t->kept.b)))
        return SABOK_OK;
    const size_t least = cut_a && stride >= t->kept.a ? t->kept.a : t->kept.b;
    return error_set(job->err, SABOK_EINVAL, NULL,
                     "stride %zu, expected less than the %zu tokens a window holds", stride, least);
}

static sabok_status encode_one(struct job *job, size_t index, const struct json_text text[2], bool pair) {
    struct sequence q[2] = {{.size = 0}, {.size = 0}};
    arena_reset(&job->work);
    TRY(sequence_make(job, text[0], &q[0]));
    if (pair) TRY(sequence_make(job, text[1], &q[1]));
    const struct template *template = pair ? &job->tok->post.pair : &job->tok->post.single;
    struct texts t = {.index = index, .q = {&q[0], pair ? &q[1] : NULL}, .template = template};
    const size_t specials = job->opts->no_special ? 0 : template->specials;
    if (job->truncation.strategy != SABOK_TRUNCATE_NONE && job->truncation.max_length < specials)
        return error_set(job->err, SABOK_EINVAL, NULL,
                         "max_length %zu, expected at least the %zu special tokens",
                         job->truncation.max_length, specials);
    const size_t room = job->truncation.max_length - specials;
    TRY(truncation_share(&job->truncation, q[0].size, q[1].size, pair, room, &t.kept, job->err));
    TRY(check_stride(job, &t));
    return windows_add(job, &t);
}

static struct json_text text_at(const char *const *texts, const size_t *lengths, size_t i) {
    if (!texts || !texts[i]) return (struct json_text){NULL, 0};
    return (struct json_text){texts[i], lengths ? lengths[i] : strlen(texts[i])};
}

static sabok_status encode_all(struct job *job, const char *const *texts, const char *const *pairs,
                               size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct json_text text[2] = {text_at(texts, job->opts->text_lengths, i),
                                          text_at(pairs, job->opts->pair_lengths, i)};
        if (!text[0].data || (pairs && !text[1].data))
            return error_set(job->err, SABOK_EINVAL, NULL, "text %zu is NULL, expected a string", i);
        TRY(encode_one(job, i, text, pairs != NULL));
    }
    return SABOK_OK;
}

sabok_encodings *sabok_tokenize(const sabok_tokenizer *tok, const char *const *texts,
                                const char *const *pairs, size_t n, const sabok_tokenize_opts *opts,
                                sabok_error *err) {
    static const sabok_tokenize_opts no_opts;
    if (!tok) {
        error_set(err, SABOK_EINVAL, NULL, "the tokenizer is NULL, expected an open one");
        return NULL;
    }
    struct job job = {.tok = tok, .opts = opts ? opts : &no_opts, .err = err};
    arena_init(&job.work, 0);
    if (tokenizer_truncation(tok, job.opts, &job.truncation, err) != SABOK_OK) return NULL;
    job.out = mem_zalloc(sizeof *job.out);
    job.scratch = token_scratch_new(tok);
    sabok_status status = SABOK_OK;
    if (job.out) arena_init(&job.out->arena, 0);
    if (!job.out || !job.scratch)
        status = error_memory(err, tok->path);
    else
        status = encode_all(&job, texts, pairs, n);
    token_scratch_free(job.scratch);
    arena_free(&job.work);
    mem_free(job.ids.ids);
    mem_free(job.ids.types);
    if (status == SABOK_OK) return job.out;
    sabok_encodings_free(job.out);
    return NULL;
}
