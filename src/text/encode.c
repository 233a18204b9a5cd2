// The long way from a text to tokens: every step as the tokenizer gives it, with places in the original text.
#include "text/tokenizer.h"

#include <string.h>

struct token_scratch *token_scratch_new(const sabok_tokenizer *tok) {
    (void)tok;
    return mem_zalloc(sizeof(struct token_scratch)); // its buffers grow with the texts
}

bool scratch_cache(struct token_scratch *s) {
    if (!s->cache) s->cache = mem_map(sizeof *s->cache << CACHE_BITS);
    return s->cache != NULL;
}

void token_scratch_free(struct token_scratch *s) {
    if (!s) return;
    units_free(&s->text);
    units_free(&s->part);
    units_free(&s->spare);
    spans_free(&s->raw);
    pretext_free(&s->pre);
    buf_free(&s->bytes);
    buf_free(&s->word);
    buf_free(&s->texts);
    for (size_t i = 0; i < COUNT(s->pair); i++) {
        mem_free(s->pair[i].ids);
        mem_free(s->pair[i].types);
    }
    pieces_free(&s->pieces);
    mem_free(s->starts);
    mem_free(s->tokens);
    mem_unmap(s->cache, sizeof *s->cache << CACHE_BITS);
    segment_cache_free(s);
    mem_free(s);
}

sabok_status token_scratch_error(const struct token_scratch *s, const sabok_tokenizer *tok,
                                 sabok_error *err) {
    if (s && s->stuck)
        return error_set(err, SABOK_EUNSUPPORTED, tok->path,
                         "a pattern of the tokenizer takes too many steps on a text, expected fewer");
    return error_memory(err, tok->path);
}

// The text's characters as units, and where each begins.
static bool decode(struct token_scratch *s, const char *text, size_t size) {
    struct units *u = &s->text;
    u->size = 0;
    if (!units_reserve(u, size)) return false;
    size_t at = 0;
    for (; at < size && (unsigned char)text[at] < 0x80; at++)
        u->items[at] = (struct unit){(unsigned char)text[at], (uint32_t)at, (uint32_t)at + 1};
    u->size = at;
    s->ascii = at == size;
    if (s->ascii) return true;
    if (size + 1 > s->starts_cap &&
        !mem_grow((void **)&s->starts, &s->starts_cap, size + 1, sizeof *s->starts))
        return false;
    for (size_t i = 0; i < at; i++)
        s->starts[i] = (uint32_t)i;
    while (at < size) {
        uint32_t c;
        const uint32_t k = (uint32_t)u->size;
        s->starts[k] = (uint32_t)at;
        at += utf8_read((const uint8_t *)text + at, size - at, &c);
        u->items[u->size++] = (struct unit){c, k, k + 1};
    }
    s->starts[u->size] = (uint32_t)size;
    return true;
}

static bool token_push(struct token_scratch *s, struct token t, const char *text, size_t size) {
    if (s->token_count == s->token_cap &&
        !mem_grow((void **)&s->tokens, &s->token_cap, s->token_count + 1, sizeof *s->tokens))
        return false;
    t.text = s->texts.size;
    buf_put(&s->texts, text, size);
    buf_put(&s->texts, "", 1);
    s->tokens[s->token_count++] = t;
    return !s->texts.failed;
}

// An added token: called what the text (or the normalised text) says at its place.
static bool push_added(const struct sabok_tokenizer *tok, struct token_scratch *s, const struct unit *u,
                       struct span part, uint32_t word) {
    if (!units_write(u, part.begin, part.end, &s->word)) return false;
    const struct token t = {.id = tok->added.tokens[part.added].id,
                            .begin = u[part.begin].begin,
                            .end = u[part.end - 1].end,
                            .word = word};
    return token_push(s, t, s->word.data, s->word.size);
}

// The pieces of one word of s->part.
static bool push_word(const struct sabok_tokenizer *tok, struct token_scratch *s, struct span part,
                      uint32_t word) {
    const struct vocab *v = &tok->model.vocab;
    const struct unit *u = s->part.items;
    s->pieces.size = 0;
    if (!units_write(u, part.begin, part.end, &s->word)) return false;
    if (!tok->model.kind->run(&tok->model, s->word.data, s->word.size, part.end - part.begin, &s->pieces))
        return false;
    size_t unit = part.begin, byte = 0; // the unit that begins at this byte
    for (size_t i = 0; i < s->pieces.size; i++) {
        // Pieces stand in order; one may begin or end inside a unit, and then takes in all of it.
        const struct piece *p = &s->pieces.items[i];
        size_t width = 0;
        char skip[4];
        for (; unit < part.end && byte + (width = utf8_write(u[unit].c, skip)) <= p->begin; unit++)
            byte += width;
        size_t last = unit, end = byte + width;
        while (end < p->end && last + 1 < part.end)
            end += utf8_write(u[++last].c, skip);
        if (last >= part.end) unit = last = part.end - 1;
        const struct token t = {
            .id = v->pieces[p->piece].id, .begin = u[unit].begin, .end = u[last].end, .word = word};
        const bool ok = p->as_written ? token_push(s, t, s->word.data + p->begin, p->end - p->begin)
                                      : token_push(s, t, vocab_text(v, p->piece), v->pieces[p->piece].size);
        if (!ok) return false;
    }
    return true;
}

// A part of the text that holds no added token that is matched as written.
static bool encode_part(const struct sabok_tokenizer *tok, struct token_scratch *s, struct span raw,
                        uint32_t *word) {
    s->part.size = 0;
    if (!units_reserve(&s->part, raw.end - raw.begin)) return false;
    memcpy(s->part.items, s->text.items + raw.begin, (raw.end - raw.begin) * sizeof *s->part.items);
    s->part.size = raw.end - raw.begin;
    s->part.stuck = false;
    if (!normalizer_run(&tok->normalizer, &s->part, &s->spare)) {
        s->stuck = s->part.stuck;
        return false;
    }
    if (s->part.size == 0) return true;
    s->pre.text = &s->part;
    s->pre.parts.size = 0;
    const struct span whole = {0, s->part.size, NO_PIECE};
    bool ok = true;
    if (tok->added.normalized.count) {
        ok = units_write(s->part.items, 0, s->part.size, &s->bytes) &&
             added_split(&tok->added, &tok->added.normalized, s->part.items, whole, &s->bytes, &s->pre.parts);
    } else {
        ok = spans_push(&s->pre.parts, whole.begin, whole.end, NO_PIECE);
    }
    if (!ok || !pretokenizer_run(&tok->pretokenizer, &s->pre)) {
        s->stuck = s->part.stuck;
        return false;
    }
    for (size_t i = 0; i < s->pre.parts.size; i++) {
        const struct span part = s->pre.parts.items[i];
        ok = part.added != NO_PIECE ? push_added(tok, s, s->part.items, part, *word)
                                    : push_word(tok, s, part, *word);
        if (!ok) return false;
        ++*word;
    }
    return true;
}

bool encode_text(const struct sabok_tokenizer *tok, struct token_scratch *s, const char *text, size_t size) {
    s->token_count = 0;
    s->texts.size = 0;
    s->stuck = false;
    if (size == 0) return true;
    if (!decode(s, text, size)) return false;
    s->raw.size = 0;
    const struct span whole = {0, s->text.size, NO_PIECE};
    if (tok->added.raw.count) {
        if (!units_write(s->text.items, 0, s->text.size, &s->bytes)) return false;
        if (!added_split(&tok->added, &tok->added.raw, s->text.items, whole, &s->bytes, &s->raw))
            return false;
    } else if (!spans_push(&s->raw, whole.begin, whole.end, NO_PIECE)) {
        return false;
    }
    uint32_t word = 0;
    for (size_t i = 0; i < s->raw.size; i++) {
        const struct span part = s->raw.items[i];
        if (part.added == NO_PIECE) {
            if (!encode_part(tok, s, part, &word)) return false;
        } else if (!push_added(tok, s, s->text.items, part, word++)) {
            return false;
        }
    }
    return true;
}
