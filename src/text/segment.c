// The short way of byte-level tokenizers and of those that part words by Metaspace: the text is cut where no step can tell,
// and the ids of each part are kept.
//
// Byte-level: the parts are the matches of the pattern, each of which begins where the last ended and looks at nothing
// before it. Metaspace: the parts stand between spaces, when neither the normalizer nor a grapheme reaches across one;
// what a part becomes must hold no space and no mark of its own, or the text takes the long way.
#include "text/regex.h"

#include <string.h>

// Parts of up to 15 bytes that become up to three ids are kept in half a cache line, others in a line.
#define SHORT_BYTES 15
#define LONG_BYTES 31
#define LONG_IDS 7
#define LONG_BITS 13

struct cached_segment {
    uint64_t key[4]; // the part's bytes, zeros, and in the last byte their number
    uint32_t count;  // 0: an empty place
    uint32_t ids[LONG_IDS];
};
#define SEGMENT_CACHE_BYTES (sizeof(struct cached_segment) << LONG_BITS)
void segment_cache_free(struct token_scratch *s) {
    mem_unmap(s->segments, SEGMENT_CACHE_BYTES);
}

struct segmenter {
    bool bytes; // byte-level
    enum regex_kind pattern;
    unsigned digits;
    bool prefix;                // a space comes before a text without one
    bool split;                 // words are parted at every blank before Metaspace
    bool spaces_join, end_bare; // many spaces are as one; spaces at the end are as none
    uint32_t mark;
};

// ---------------------------------------------------------------------------------------------- which tokenizers

static bool bytes_fit(const struct sabok_tokenizer *tok, struct segmenter *g) {
    const struct pretokenizer *p = &tok->pretokenizer;
    if (tok->normalizer.count || p->count == 0 || p->count > 2) return false;
    const struct pretokenizer_step *first = &p->steps[0], *last = &p->steps[p->count - 1];
    if (last->kind != &pretokenizer_bytes || !first->regex) return false;
    if (p->count == 2 && (first->kind != &pretokenizer_split || first->behavior != SPLIT_ISOLATED ||
                          first->invert || last->regex || last->prefix_space))
        return false;
    g->pattern = regex_kind(first->regex);
    g->digits = regex_digits(first->regex);
    g->prefix = last->prefix_space;
    g->bytes = true;
    return g->pattern == REGEX_GPT2 || g->pattern == REGEX_GPT4;
}

static bool has_space(const uint32_t *points, size_t n, uint32_t mark) {
    for (size_t i = 0; i < n; i++)
        if (points[i] == ' ' || points[i] == mark) return true;
    return false;
}

// Whether a step leaves spaces alone and looks at nothing across them, or only joins or strips them.
static bool step_fits(const struct normalizer_step *step, struct segmenter *g) {
    static const struct normalizer_kind *const plain[] = {
        &normalizer_precompiled, &normalizer_nfc,       &normalizer_nfd,          &normalizer_nfkc,
        &normalizer_nfkd,        &normalizer_lowercase, &normalizer_strip_accents};
    for (size_t i = 0; i < COUNT(plain); i++)
        if (step->kind == plain[i]) return true;
    if (step->kind == &normalizer_strip) {
        g->end_bare = g->end_bare || step->strip.right;
        return true;
    }
    if (step->kind != &normalizer_replace) return false;
    const struct replace_normalizer *r = &step->replace;
    if (!step->regex) return !has_space(r->pattern, r->pattern_size, g->mark);
    if (regex_kind(step->regex) != REGEX_SPACES) return false;
    g->spaces_join = r->content_size == 1 && has_space(r->content, 1, g->mark);
    return g->spaces_join;
}

// Runs every step but Strip, which a part alone has no part in.
static bool normalize(const struct normalizer *n, struct units *text, struct units *spare) {
    for (size_t i = 0; i < n->count; i++)
        if (n->steps[i].kind != &normalizer_strip && !n->steps[i].kind->run(&n->steps[i], text, spare))
            return false;
    return true;
}

static bool space_stays(const struct normalizer *n, bool *stays) {
    struct units text = {0}, spare = {0};
    const bool ok = units_push(&text, ' ', 0, 1) && normalize(n, &text, &spare);
    *stays = ok && text.size == 1 && text.items[0].c == ' ';
    units_free(&text);
    units_free(&spare);
    return ok;
}

static bool words_fit(const struct sabok_tokenizer *tok, struct segmenter *g) {
    const struct pretokenizer *p = &tok->pretokenizer;
    if (p->count == 0 || p->count > 2 || tok->added.normalized.count) return false;
    const struct pretokenizer_step *last = &p->steps[p->count - 1];
    if (last->kind != &pretokenizer_metaspace || !last->split) return false;
    g->split = p->count == 2;
    if (g->split && p->steps[0].kind != &pretokenizer_whitespace_split) return false;
    if (last->prepend != PREPEND_ALWAYS && (g->split || last->prepend != PREPEND_FIRST)) return false;
    g->mark = last->delimiter;
    for (size_t i = 0; i < tok->normalizer.count; i++)
        if (!step_fits(&tok->normalizer.steps[i], g)) return false;
    g->spaces_join = g->spaces_join || g->split;
    g->end_bare = g->end_bare || g->split;
    return true;
}

bool segmenter_make(struct sabok_tokenizer *tok) {
    struct segmenter g = {0};
    tok->segmenter = NULL;
    bool fits = bytes_fit(tok, &g);
    if (!fits) {
        g = (struct segmenter){0};
        fits = words_fit(tok, &g);
        if (fits && !space_stays(&tok->normalizer, &fits)) return false;
    }
    if (!fits) return true;
    tok->segmenter = mem_alloc(sizeof g);
    if (tok->segmenter) *tok->segmenter = g;
    return tok->segmenter != NULL;
}

void segmenter_free(struct segmenter *g) {
    mem_free(g);
}

// ---------------------------------------------------------------------------------------------- parts

struct cut { // a text on the short way
    const struct sabok_tokenizer *tok;
    const struct segmenter *g;
    struct token_scratch *s;
    struct token_ids *out;
};

// The pieces of a part of a byte-level text: its bytes as letters.
static enum way run_bytes(const struct cut *c, const char *part, size_t size) {
    struct token_scratch *s = c->s;
    if (2 * size > s->word.cap && !mem_grow((void **)&s->word.data, &s->word.cap, 2 * size, 1))
        return WAY_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += utf8_write(byte_char((uint8_t)part[i]), s->word.data + n);
    return c->tok->model.kind->run(&c->tok->model, s->word.data, n, size, &s->pieces) ? WAY_DONE : WAY_MEMORY;
}

// The part's characters as units; false when out of memory.
static bool decode(struct units *u, const char *part, size_t size) {
    u->size = 0;
    if (!units_reserve(u, size + 1)) return false;
    for (size_t at = 0; at < size; u->size++) {
        uint32_t c;
        at += utf8_read((const uint8_t *)part + at, size - at, &c);
        u->items[u->size] = (struct unit){c, 0, 0};
    }
    return true;
}

static enum way run_metaspace(const struct cut *c) {
    struct token_scratch *s = c->s;
    const struct unit *u = s->part.items;
    if (s->part.size == 0) return WAY_LONG;
    for (size_t i = 0; i < s->part.size; i++)
        if (u[i].c == c->g->mark || (char_flags(u[i].c) & CHAR_SPACE)) return WAY_LONG;
    char mark[4];
    s->word.size = 0;
    buf_put(&s->word, mark, utf8_write(c->g->mark, mark));
    if (!units_write(u, 0, s->part.size, &s->bytes)) return WAY_MEMORY;
    buf_put(&s->word, s->bytes.data, s->bytes.size);
    if (s->word.failed) return WAY_MEMORY;
    return c->tok->model.kind->run(&c->tok->model, s->word.data, s->word.size, s->part.size + 1, &s->pieces)
               ? WAY_DONE
               : WAY_MEMORY;
}

// Every step on a part alone; the ids go to `out`.
static enum way run_split(const struct cut *c, const char *part, size_t size) {
    struct token_scratch *s = c->s;
    if (!encode_text(c->tok, s, part, size)) return WAY_MEMORY;
    if (!token_ids_reserve(c->out, c->out->size + s->token_count)) return WAY_MEMORY;
    for (size_t i = 0; i < s->token_count; i++)
        c->out->ids[c->out->size++] = s->tokens[i].id;
    return WAY_DONE;
}

static enum way run_part(const struct cut *c, const char *part, size_t size) {
    struct token_scratch *s = c->s;
    enum way way;
    s->pieces.size = 0;
    if (c->g->bytes) {
        way = run_bytes(c, part, size);
    } else {
        if (utf8_check(part, size) < size) return WAY_LONG;
        if (!decode(&s->part, part, size)) return WAY_MEMORY;
        if (grapheme_joins_space(s->part.items[0].c) ||
            grapheme_joins_space(s->part.items[s->part.size - 1].c))
            return WAY_LONG;
        if (c->g->split) return run_split(c, part, size);
        way = normalize(&c->tok->normalizer, &s->part, &s->spare) ? run_metaspace(c) : WAY_MEMORY;
    }
    if (way != WAY_DONE) return way;
    if (!token_ids_reserve(c->out, c->out->size + s->pieces.size)) return WAY_MEMORY;
    for (size_t i = 0; i < s->pieces.size; i++)
        c->out->ids[c->out->size++] = c->tok->model.vocab.pieces[s->pieces.items[i].piece].id;
    return WAY_DONE;
}

static inline size_t long_place(const uint64_t k[4]) {
    const uint64_t a = (k[0] ^ (k[1] * 0x9e3779b97f4a7c15u)) * 0xd6e8feb86659fd93u;
    const uint64_t b = (k[2] ^ (k[3] * 0xbf58476d1ce4e5b9u)) * 0x94d049bb133111ebu;
    const uint64_t h = a ^ b;
    return (size_t)((h ^ h >> 29) * 0xbf58476d1ce4e5b9u >> (64 - LONG_BITS));
}

static inline bool same_key(const uint64_t a[4], const uint64_t b[4]) {
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}

// In both tables the newest takes the first of two places and moves what was there to the second.
static __attribute__((noinline)) enum way short_miss(const struct cut *c, const char *part, size_t size,
                                                     struct cached_word made) {
    const size_t first = c->out->size;
    const enum way way = run_part(c, part, size);
    const size_t n = c->out->size - first;
    if (way != WAY_DONE || n == 0 || n > COUNT(made.ids)) return way;
    made.count = (uint32_t)n;
    memcpy(made.ids, c->out->ids + first, n * sizeof *made.ids);
    const size_t place = cached_word_place(made.low, made.high);
    c->s->cache[place ^ 1] = c->s->cache[place];
    c->s->cache[place] = made;
    return way;
}

static __attribute__((noinline)) enum way long_ids(const struct cut *c, const char *part, size_t size) {
    struct cached_segment made = {.count = 0};
    memcpy(made.key, part, size);
    ((char *)made.key)[LONG_BYTES] = (char)size;
    const size_t place = long_place(made.key);
    const struct cached_segment *e = &c->s->segments[place];
    if (!same_key(e->key, made.key)) e = &c->s->segments[place ^ 1];
    if (same_key(e->key, made.key)) {
        if (!token_ids_reserve(c->out, c->out->size + e->count)) return WAY_MEMORY;
        memcpy(c->out->ids + c->out->size, e->ids, e->count * sizeof *e->ids);
        c->out->size += e->count;
        return WAY_DONE;
    }
    const size_t first = c->out->size;
    const enum way way = run_part(c, part, size);
    const size_t n = c->out->size - first;
    if (way != WAY_DONE || n == 0 || n > LONG_IDS) return way;
    made.count = (uint32_t)n;
    memcpy(made.ids, c->out->ids + first, n * sizeof *made.ids);
    c->s->segments[place ^ 1] = c->s->segments[place];
    c->s->segments[place] = made;
    return way;
}

// The bytes of a part of at most 15, zeros after them, their number in the last byte. Reads 16 bytes where the text has
// so many: a copy of a size known beforehand is two loads.
static inline void short_key(const char *part, size_t size, const char *text_end, uint64_t key[2]) {
    if ((size_t)(text_end - part) < 16) {
        char bytes[16] = {0};
        memcpy(bytes, part, size);
        memcpy(key, bytes, 16);
    } else {
        memcpy(key, part, 16);
        const uint64_t keep = ~(uint64_t)0;
        key[0] &= size < 8 ? ~(keep << 8 * size) : keep;
        key[1] &= size <= 8 ? 0 : ~(keep << 8 * (size - 8));
    }
    key[1] |= (uint64_t)size << 56;
}

static inline enum way part_ids(const struct cut *c, const char *part, size_t size, const char *text_end) {
    if (size > SHORT_BYTES) return size > LONG_BYTES ? run_part(c, part, size) : long_ids(c, part, size);
    uint64_t key[2];
    short_key(part, size, text_end, key);
    const size_t place = cached_word_place(key[0], key[1]);
    const struct cached_word *e = &c->s->cache[place];
    if (e->low != key[0] || e->high != key[1]) {
        e = &c->s->cache[place ^ 1];
        if (e->low != key[0] || e->high != key[1])
            return short_miss(c, part, size, (struct cached_word){.low = key[0], .high = key[1]});
    }
    struct token_ids *out = c->out;
    if (out->cap - out->size < COUNT(e->ids) && !token_ids_reserve(out, out->size + COUNT(e->ids)))
        return WAY_MEMORY;
    memcpy(out->ids + out->size, e->ids, sizeof e->ids);
    out->size += e->count;
    return WAY_DONE;
}

// ---------------------------------------------------------------------------------------------- texts

static enum way cut_bytes(const struct cut *c, struct json_text text, size_t most) {
    const struct segmenter *g = c->g;
    if (utf8_check(text.data, text.size) < text.size) return WAY_LONG;
    if (g->prefix && text.data[0] != ' ') {
        struct buf *copy = &c->s->bytes;
        copy->size = 0;
        buf_put(copy, " ", 1);
        buf_put(copy, text.data, text.size);
        if (copy->failed) return WAY_MEMORY;
        text = (struct json_text){copy->data, copy->size};
    }
    const uint8_t *s = (const uint8_t *)text.data;
    for (size_t at = 0; at < text.size && c->out->size < most;) {
        const size_t end =
            g->pattern == REGEX_GPT2 ? scan_gpt2(s, text.size, at) : scan_gpt4(s, text.size, at, g->digits);
        const enum way way = part_ids(c, text.data + at, end - at, text.data + text.size);
        if (way != WAY_DONE) return way;
        at = end;
    }
    return WAY_DONE;
}

static enum way cut_words(const struct cut *c, struct json_text text, size_t most) {
    const struct segmenter *g = c->g;
    const char *s = text.data;
    const size_t first = c->out->size;
    for (size_t at = 0; at < text.size;) {
        if (s[at] == ' ') {
            const size_t next = at + 1;
            if (next == text.size ? !g->end_bare : s[next] == ' ' && !g->spaces_join) return WAY_LONG;
            at = next;
            continue;
        }
        size_t end = at + 1;
        while (end < text.size && s[end] != ' ')
            end++;
        if (c->out->size >= most) return WAY_DONE;
        const enum way way = part_ids(c, s + at, end - at, s + text.size);
        if (way != WAY_DONE) return way;
        at = end;
    }
    return c->out->size > first ? WAY_DONE : WAY_LONG;
}

enum way segment_ids(const struct sabok_tokenizer *tok, struct token_scratch *s, struct json_text text,
                     size_t most, struct token_ids *out) {
    const struct added *a = &tok->added;
    if (text.size == 0) return WAY_DONE;
    // Without a normalizer the normalised text is the text.
    if (added_may_match(&a->raw, text.data, text.size) ||
        added_may_match(&a->normalized, text.data, text.size))
        return WAY_LONG;
    if (!scratch_cache(s)) return WAY_MEMORY;
    if (!s->segments && !(s->segments = mem_map(SEGMENT_CACHE_BYTES))) return WAY_MEMORY;
    const struct cut c = {tok, tok->segmenter, s, out};
    return c.g->bytes ? cut_bytes(&c, text, most) : cut_words(&c, text, most);
}
