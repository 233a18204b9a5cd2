// The short way from a text to ids: one look at each character's action, and a cache of words.
#include "text/tokenizer.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

bool token_ids_reserve(struct token_ids *t, size_t need) {
    if (need <= t->cap) return true;
    size_t cap = t->cap, types_cap = t->cap;
    if (!mem_grow((void **)&t->ids, &cap, need, sizeof *t->ids)) return false;
    // Grown ids with old types are still whole: `cap` is what both have.
    if (!mem_grow((void **)&t->types, &types_cap, cap, sizeof *t->types)) return false;
    t->cap = size_min(cap, types_cap);
    return true;
}

static inline bool put_id(struct token_ids *t, uint32_t id) {
    if (t->size == t->cap && !token_ids_reserve(t, t->size + 1)) return false;
    t->ids[t->size++] = id;
    return true;
}

// A word being gathered. Past the model's longest word only its length is counted.
struct word {
    size_t size, chars;
    bool has_nul;
};

static bool word_append(struct token_scratch *s, struct word *w, const char *bytes, size_t size, size_t chars,
                        size_t max_chars) {
    w->chars += chars;
    if (w->chars > max_chars) return true;
    if (w->size + size > s->word.cap &&
        !mem_grow((void **)&s->word.data, &s->word.cap, w->size + size + 64, 1))
        return false;
    for (size_t i = 0; i < size; i++) {
        w->has_nul = w->has_nul || bytes[i] == '\0';
        s->word.data[w->size + i] = bytes[i];
    }
    w->size += size;
    return true;
}

static bool put_pieces(const struct sabok_tokenizer *tok, const struct pieces *p, struct token_ids *out) {
    if (!token_ids_reserve(out, out->size + p->size)) return false;
    for (size_t i = 0; i < p->size; i++)
        out->ids[out->size++] = tok->model.vocab.pieces[p->items[i].piece].id;
    return true;
}

static bool model_ids(const struct sabok_tokenizer *tok, struct token_scratch *s, const char *word,
                      size_t size, size_t chars, struct token_ids *out) {
    s->pieces.size = 0;
    return tok->model.kind->run(&tok->model, word, size, chars, &s->pieces) &&
           put_pieces(tok, &s->pieces, out);
}

// The ids of a word not found in the cache, which it enters.
static __attribute__((noinline)) bool cache_miss(const struct sabok_tokenizer *tok, struct token_scratch *s,
                                                 struct cached_word key, size_t size, struct token_ids *out) {
    char bytes[16];
    memcpy(bytes, &key.low, 8);
    memcpy(bytes + 8, &key.high, 8);
    size_t chars = 0;
    for (size_t i = 0; i < size; i++)
        chars += ((unsigned char)bytes[i] & 0xc0) != 0x80;
    if (!model_ids(tok, s, bytes, size, chars, out)) return false;
    if (s->pieces.size > COUNT(key.ids)) return true;
    key.count = (uint32_t)s->pieces.size;
    for (uint32_t i = 0; i < key.count; i++)
        key.ids[i] = tok->model.vocab.pieces[s->pieces.items[i].piece].id;
    const size_t place = cached_word_place(key.low, key.high);
    // The newest word takes the first of two places and moves what was there to the second.
    s->cache[place ^ 1] = s->cache[place];
    s->cache[place] = key;
    return true;
}

static inline bool cache_ids(const struct sabok_tokenizer *tok, struct token_scratch *s, uint64_t low,
                             uint64_t high, size_t size, struct token_ids *out) {
    const size_t place = cached_word_place(low, high);
    const struct cached_word *e = &s->cache[place];
    if (e->low != low || e->high != high) {
        e = &s->cache[place ^ 1];
        if (e->low != low || e->high != high)
            return cache_miss(tok, s, (struct cached_word){.low = low, .high = high}, size, out);
    }
    if (out->cap - out->size < COUNT(e->ids) && !token_ids_reserve(out, out->size + COUNT(e->ids)))
        return false;
    memcpy(out->ids + out->size, e->ids, sizeof e->ids);
    out->size += e->count;
    return true;
}

static bool word_end(const struct sabok_tokenizer *tok, struct token_scratch *s, struct word *w,
                     struct token_ids *out) {
    const struct word done = *w;
    *w = (struct word){0};
    if (done.chars == 0) return true;
    if (done.size > 16 || done.has_nul || done.chars > tok->model.wordpiece.max_chars)
        return model_ids(tok, s, s->word.data, done.size, done.chars, out);
    uint64_t key[2] = {0, 0};
    memcpy(key, s->word.data, done.size);
    return cache_ids(tok, s, key[0], key[1], done.size, out);
}

// ---------------------------------------------------------------------------------------------- ASCII words

struct head { // the letters and digits that a text begins with, up to 16, small if capitals become so
    uint64_t low, high;
    size_t size;
};

#ifdef __SSE2__
static inline struct head read_head(const uint8_t *p, size_t left, bool lower) {
    uint8_t copy[16] = {0};
    if (left < 16) {
        memcpy(copy, p, left);
        p = copy;
    }
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    const __m128i small = _mm_or_si128(v, _mm_set1_epi8(0x20));
    // Signed compares: bytes from 0x80 up are negative, and fall outside both ranges.
    const __m128i letter = _mm_and_si128(_mm_cmpgt_epi8(small, _mm_set1_epi8('a' - 1)),
                                         _mm_cmplt_epi8(small, _mm_set1_epi8('z' + 1)));
    const __m128i digit =
        _mm_and_si128(_mm_cmpgt_epi8(v, _mm_set1_epi8('0' - 1)), _mm_cmplt_epi8(v, _mm_set1_epi8('9' + 1)));
    const unsigned other = ~(unsigned)_mm_movemask_epi8(_mm_or_si128(letter, digit)) & 0xffff;
    const __m128i folded = lower ? _mm_or_si128(v, _mm_and_si128(letter, _mm_set1_epi8(0x20))) : v;
    // What is beyond the head is cleared, so that the head alone is the key of the cache.
    static const uint8_t keep[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                     255, 255, 255, 255, 255, 255, 255, 255};
    const size_t n = (size_t)__builtin_ctz(other | 0x10000);
    const __m128i key =
        _mm_and_si128(folded, _mm_loadu_si128((const __m128i *)(const void *)(keep + 16 - n)));
    uint64_t half[2];
    _mm_storeu_si128((__m128i *)(void *)half, key);
    return (struct head){half[0], half[1], n};
}
#else
static inline struct head read_head(const uint8_t *p, size_t left, bool lower) {
    uint8_t bytes[16] = {0};
    struct head h = {0};
    for (; h.size < left && h.size < 16; h.size++) {
        const uint8_t c = p[h.size], small = c | 0x20;
        const bool letter = small >= 'a' && small <= 'z' && c < 0x80;
        if (!letter && !(c >= '0' && c <= '9')) break;
        bytes[h.size] = letter && lower ? small : c;
    }
    memcpy(&h.low, bytes, 8);
    memcpy(&h.high, bytes + 8, 8);
    return h;
}
#endif

// ---------------------------------------------------------------------------------------------- the loop

struct run {
    const struct sabok_tokenizer *tok;
    struct token_scratch *s;
    struct token_ids *out;
    size_t most; // ids in out at which to stop
    struct word word;
};

// One character through its action.
static inline enum way step(struct run *r, const struct action *a) {
    switch (a->kind) {
    case ACTION_DROP:
        return WAY_DONE;
    case ACTION_INSIDE:
        return word_append(r->s, &r->word, a->bytes, a->size, a->chars, r->tok->model.wordpiece.max_chars)
                   ? WAY_DONE
                   : WAY_MEMORY;
    case ACTION_SPACE:
        return word_end(r->tok, r->s, &r->word, r->out) ? WAY_DONE : WAY_MEMORY;
    case ACTION_ALONE:
        if (r->word.chars == 0) return put_id(r->out, a->id) ? WAY_DONE : WAY_MEMORY;
        return word_end(r->tok, r->s, &r->word, r->out) && put_id(r->out, a->id) ? WAY_DONE : WAY_MEMORY;
    default:
        return WAY_LONG;
    }
}

// ASCII words of letters and digits up to 16 long, spaces, and characters that stand alone, from *at on as far as they
// go; no word is being gathered. False when out of memory.
static bool ascii_words(struct run *r, const uint8_t *text, size_t size, size_t *at) {
    const struct actions *const actions = r->tok->actions;
    const struct action *const ascii = atomic_load_explicit(&actions->blocks[0], memory_order_acquire);
    const bool lower = actions->lower;
    const size_t max_chars = size_min(r->tok->model.wordpiece.max_chars, 16);
    size_t i = *at;
    while (i < size && text[i] < 0x80 && r->out->size < r->most) {
        const struct action *a = &ascii[text[i]];
        if (a->kind == ACTION_SPACE) {
            i++;
            continue;
        }
        if (a->kind == ACTION_ALONE) {
            if (!put_id(r->out, a->id)) return false;
            i++;
            continue;
        }
        const struct head h = read_head(text + i, size - i, lower);
        const size_t end = i + h.size;
        if (h.size == 0 || h.size > max_chars) break;
        const uint8_t next = end < size ? text[end] : ' ';
        if (next != ' ' &&
            (next >= 0x80 || (ascii[next].kind != ACTION_SPACE && ascii[next].kind != ACTION_ALONE)))
            break;
        if (!cache_ids(r->tok, r->s, h.low, h.high, h.size, r->out)) return false;
        i = end;
    }
    *at = i;
    return true;
}

static enum way short_way(struct run *r, const uint8_t *text, size_t size) {
    struct actions *const actions = r->tok->actions;
    for (size_t at = 0; at < size && r->out->size < r->most;) {
        if (actions->plain_ascii && r->word.chars == 0) {
            if (!ascii_words(r, text, size, &at)) return WAY_MEMORY;
            if (at == size || r->out->size >= r->most) break;
        }
        uint32_t c;
        at += utf8_read(text + at, size - at, &c);
        const struct action *block = actions_block(r->tok, actions, c);
        if (!block) return WAY_MEMORY;
        const enum way way = step(r, &block[c % ACTION_BLOCK]);
        if (way != WAY_DONE) return way;
    }
    return word_end(r->tok, r->s, &r->word, r->out) ? WAY_DONE : WAY_MEMORY;
}

bool encode_ids(const struct sabok_tokenizer *tok, struct token_scratch *s, struct json_text text,
                size_t limit, struct token_ids *out) {
    const size_t first = out->size;
    enum way way = WAY_LONG;
    if (tok->actions && !added_may_match(&tok->added.raw, text.data, text.size)) {
        if (!scratch_cache(s)) return false;
        struct run r = {.tok = tok, .s = s, .out = out};
        r.most = limit > SIZE_MAX - first ? SIZE_MAX : first + limit;
        way = short_way(&r, (const uint8_t *)text.data, text.size);
    }
    if (tok->segmenter)
        way = segment_ids(tok, s, text, limit > SIZE_MAX - first ? SIZE_MAX : first + limit, out);
    if (way == WAY_MEMORY) return false;
    if (way == WAY_LONG) {
        out->size = first;
        if (!encode_text(tok, s, text.data, text.size)) return false;
        if (!token_ids_reserve(out, first + s->token_count)) return false;
        for (size_t i = 0; i < s->token_count; i++)
            out->ids[out->size++] = s->tokens[i].id;
    }
    if (out->size - first > limit) out->size = first + limit;
    return true;
}

bool tokenizer_encode_ids(const sabok_tokenizer *tok, struct token_scratch *scratch, const char *text,
                          size_t length, size_t max_length, struct token_ids *out) {
    const struct template *t = &tok->post.single;
    const size_t first = out->size;
    const size_t room = !max_length ? SIZE_MAX : max_length > t->specials ? max_length - t->specials : 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct template_piece *p = &t->pieces[i];
        const size_t begin = out->size;
        if (p->item == TEMPLATE_SPECIAL) {
            if (!put_id(out, p->id)) return false;
        } else {
            const bool left = tok->truncation.left;
            if (!encode_ids(tok, scratch, (struct json_text){text, length}, left ? SIZE_MAX : room, out))
                return false;
            const size_t n = out->size - begin;
            if (n > room) { // cut on the left
                memmove(out->ids + begin, out->ids + out->size - room, room * sizeof *out->ids);
                out->size = begin + room;
            }
        }
        for (size_t k = begin; k < out->size; k++)
            out->types[k] = p->type_id;
    }
    // A max_length below the number of specials leaves only as many of them.
    if (max_length && out->size - first > max_length) out->size = first + max_length;
    return true;
}
