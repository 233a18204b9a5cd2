// BPE: the characters of a word, and the best ranked of neighbouring pairs joined until none is left; of equals the
// leftmost.
#include "text/tokenizer.h"

#include <string.h>

#define SHORT_WORD 40 // symbols, up to which looking at all pairs is faster than a heap

struct bpe_file {
    struct json_text unk, prefix, suffix;
    struct bpe_pair *pairs;
    size_t count, cap;
    bool fuse_unk, byte_fallback, ignore_merges;
};

// ---------------------------------------------------------------------------------------------- reading

// "a b", or ["a", "b"].
static bool read_pair(struct json *j, struct bpe_pair *p) {
    json_peek(j);
    p->at = j->at;
    if (json_peek(j) == JSON_ARRAY) {
        const bool two = json_array_begin(j) && json_item(j) && json_string(j, &p->left) && json_item(j) &&
                         json_string(j, &p->right) && !json_item(j);
        return two && !j->failed ? true : j->failed ? false : json_fail(j, "a merge, expected two pieces");
    }
    struct json_text text;
    if (!json_string(j, &text)) return false;
    const char *space = text.size ? memchr(text.data, ' ', text.size) : NULL;
    const size_t left = space ? (size_t)(space - text.data) : text.size;
    if (!space || memchr(space + 1, ' ', text.size - left - 1)) {
        j->at = p->at;
        return json_fail(j, "the merge \"%.*s\", expected two pieces with one space between",
                         text_shown(text), text.data);
    }
    p->left = (struct json_text){text.data, left};
    p->right = (struct json_text){space + 1, text.size - left - 1};
    return true;
}

static bool is_comment(const struct bpe_pair *p) {
    return p->left.size >= 8 && memcmp(p->left.data, "#version", 8) == 0;
}

static bool read_merges(struct json *j, struct bpe_file *f) {
    if (f->pairs) return json_fail(j, "a second \"merges\"");
    if (!json_array_begin(j)) return false;
    while (json_item(j)) {
        struct bpe_pair p = {0};
        if (!read_pair(j, &p)) return false;
        if (is_comment(&p)) continue;
        if (f->count == f->cap && !mem_grow((void **)&f->pairs, &f->cap, f->count + 1, sizeof *f->pairs))
            return read_memory(j);
        f->pairs[f->count++] = p;
    }
    return !j->failed;
}

static bool read_text(struct json *j, struct json_text *out) {
    return json_peek(j) == JSON_NULL ? json_null(j) : json_string(j, out);
}
static bool read_flag(struct json *j, bool *out) {
    return json_peek(j) == JSON_NULL ? json_null(j) : json_bool(j, out);
}

static bool read_dropout(struct json *j) {
    double x = 0;
    json_peek(j);
    const size_t at = j->at;
    if (json_peek(j) == JSON_NULL) return json_null(j);
    if (!json_double(j, &x)) return false;
    j->at = x > 0 || x < 0 ? at : j->at;
    return (x <= 0 && x >= 0) || json_fail(j, "dropout %g, expected none: the same text has the same ids", x);
}

static bool read_field(struct json *j, struct model *m, struct json_text key, struct bpe_file *f) {
    if (json_text_is(key, "vocab")) return model_read_vocab(j, m);
    if (json_text_is(key, "merges")) return read_merges(j, f);
    if (json_text_is(key, "dropout")) return read_dropout(j);
    if (json_text_is(key, "unk_token")) return read_text(j, &f->unk);
    if (json_text_is(key, "continuing_subword_prefix")) return read_text(j, &f->prefix);
    if (json_text_is(key, "end_of_word_suffix")) return read_text(j, &f->suffix);
    if (json_text_is(key, "fuse_unk")) return read_flag(j, &f->fuse_unk);
    if (json_text_is(key, "byte_fallback")) return read_flag(j, &f->byte_fallback);
    if (json_text_is(key, "ignore_merges")) return read_flag(j, &f->ignore_merges);
    return json_skip(j);
}

static bool keep(struct json *j, struct json_text from, struct json_text *to, struct arena *arena) {
    *to = (struct json_text){arena_copy(arena, from.size ? from.data : "", from.size), from.size};
    return to->data || read_memory(j);
}

static bool bpe_fill(struct json *j, struct model *m, const struct bpe_file *f, struct arena *arena) {
    struct bpe *b = &m->bpe;
    b->fuse_unk = f->fuse_unk;
    b->byte_fallback = f->byte_fallback;
    b->ignore_merges = f->ignore_merges;
    if (!keep(j, f->prefix, &b->prefix, arena) || !keep(j, f->suffix, &b->suffix, arena)) return false;
    if (model_build_vocab(m, j->where, j->err) != SABOK_OK) return !(j->failed = true);
    b->unk = f->unk.data ? vocab_find(&m->vocab, f->unk.data, f->unk.size) : NO_PIECE;
    if (bpe_build(m, f->pairs, f->count, j->where, j->err) != SABOK_OK) j->failed = true;
    return !j->failed;
}

static bool bpe_read(struct json *j, struct model *m, struct arena *arena) {
    struct bpe_file f = {0};
    struct json_text key;
    bool ok = json_object_begin(j);
    while (ok && json_key(j, &key))
        ok = read_field(j, m, key, &f);
    ok = ok && !j->failed && bpe_fill(j, m, &f, arena);
    mem_free(f.pairs);
    return ok;
}

// ---------------------------------------------------------------------------------------------- merges

static inline uint64_t merge_hash(const struct bpe *b, uint32_t left, uint32_t right) {
    const uint64_t h = (((uint64_t)left << 32 | right) ^ b->seed) * 0x9e3779b97f4a7c15u;
    return (h ^ h >> 32) * 0xd6e8feb86659fd93u;
}
static inline size_t merge_place(const struct bpe *b, uint64_t hash) {
    return (size_t)(hash >> 20) & b->merge_mask;
}

static inline const struct bpe_merge *merge_find(const struct bpe *b, uint32_t left, uint32_t right) {
    const uint64_t hash = merge_hash(b, left, right), bit = hash >> b->filter_shift;
    if (!(b->filter[bit / 64] >> bit % 64 & 1)) return NULL;
    for (size_t i = merge_place(b, hash);; i = (i + 1) & b->merge_mask) {
        const struct bpe_merge *m = &b->merges[i];
        if (m->left == left && m->right == right) return m;
        if (m->left == NO_PIECE) return NULL;
    }
}

// A pair listed again has its last rank, as in the reference.
static void merge_put(struct bpe *b, struct bpe_merge m) {
    const uint64_t hash = merge_hash(b, m.left, m.right), bit = hash >> b->filter_shift;
    size_t i = merge_place(b, hash);
    b->filter[bit / 64] |= (uint64_t)1 << bit % 64;
    while (b->merges[i].left != NO_PIECE && (b->merges[i].left != m.left || b->merges[i].right != m.right))
        i = (i + 1) & b->merge_mask;
    b->merges[i] = m;
}

static sabok_status missing(const char *where, const struct bpe_pair *p, struct json_text piece,
                            sabok_error *err) {
    return error_at(err, SABOK_EFORMAT, where, p->at,
                    "a merge names \"%.*s\", which is not in the vocabulary, expected a piece of it",
                    text_shown(piece), piece.data);
}

static sabok_status add_merge(struct model *m, const struct bpe_pair *p, size_t rank, struct buf *joined,
                              const char *where, sabok_error *err) {
    const struct vocab *v = &m->vocab;
    const size_t skip = m->bpe.prefix.size;
    struct bpe_merge out = {.rank = (uint32_t)rank};
    out.left = vocab_find(v, p->left.data, p->left.size);
    out.right = vocab_find(v, p->right.data, p->right.size);
    if (out.left == NO_PIECE) return missing(where, p, p->left, err);
    if (out.right == NO_PIECE) return missing(where, p, p->right, err);
    if (p->right.size < skip)
        return error_at(err, SABOK_EFORMAT, where, p->at,
                        "a merge's second piece \"%.*s\" is shorter than continuing_subword_prefix",
                        text_shown(p->right), p->right.data);
    joined->size = 0;
    buf_put(joined, p->left.data, p->left.size);
    buf_put(joined, p->right.data + skip, p->right.size - skip);
    if (joined->failed) return error_memory(err, where);
    out.result = vocab_find(v, joined->data, joined->size);
    if (out.result == NO_PIECE) return missing(where, p, (struct json_text){joined->data, joined->size}, err);
    merge_put(&m->bpe, out);
    return SABOK_OK;
}

// Words begin as low code points in byte-level vocabularies: their pairs have a small table of their own.
static bool find_low(struct model *m) {
    struct bpe *b = &m->bpe;
    for (uint32_t c = 0; c < BPE_LOW; c++) {
        char text[4];
        b->low[c] = vocab_find(&m->vocab, text, utf8_write(c, text));
        b->low_index[c] = b->low[c] == NO_PIECE ? 0 : (uint16_t)++b->low_count;
    }
    const size_t row = b->low_count + 1;
    b->low_merges = mem_zalloc(row * row * sizeof *b->low_merges);
    if (!b->low_merges) return false;
    for (uint32_t x = 0; x < BPE_LOW; x++)
        for (uint32_t y = 0; y < BPE_LOW && b->low_index[x]; y++) {
            const struct bpe_merge *found = b->low_index[y] ? merge_find(b, b->low[x], b->low[y]) : NULL;
            if (!found) continue;
            b->low_merges[b->low_index[x] * row + b->low_index[y]] =
                (struct bpe_low){found->rank + 1, found->result};
        }
    return true;
}

static bool make_tables(struct model *m, size_t merges) {
    struct bpe *b = &m->bpe;
    size_t size = 64;
    while (size < 2 * merges)
        size *= 2;
    b->merges = mem_array(size, sizeof *b->merges);
    b->filter = mem_zalloc(size);
    b->whole = mem_zalloc(size_max(m->vocab.count, 1));
    if (!b->merges || !b->filter || !b->whole) return false;
    for (size_t i = 0; i < size; i++)
        b->merges[i].left = NO_PIECE;
    b->merge_mask = size - 1;
    b->filter_shift = (unsigned)__builtin_clzll(8 * size) + 1; // 8 bits a place
    b->seed =
        (uint64_t)(uintptr_t)b->merges * 0xbf58476d1ce4e5b9u; // where a pair lies is no file's to choose
    return true;
}

sabok_status bpe_build(struct model *m, const struct bpe_pair *pairs, size_t count, const char *where,
                       sabok_error *err) {
    struct bpe *b = &m->bpe;
    if (count >= INT32_MAX) return error_set(err, SABOK_EFORMAT, where, "too many merges");
    if (!make_tables(m, count)) return error_memory(err, where);
    struct buf joined = {0};
    sabok_status status = SABOK_OK;
    for (size_t i = 0; i < count && status == SABOK_OK; i++)
        status = add_merge(m, &pairs[i], i, &joined, where, err);
    buf_free(&joined);
    if (status == SABOK_OK && !find_low(m)) return error_memory(err, where);
    model_find_bytes(&m->vocab, b->bytes);
    return status;
}

// ---------------------------------------------------------------------------------------------- symbols

struct symbol {
    uint32_t piece, size;    // bytes of the word
    uint32_t previous, next; // NO_PIECE: none; of a symbol that was joined to the one before, size is 0
    uint32_t low;            // its low_index while it is one such code point, else 0
};
struct symbols {
    struct symbol *items;
    size_t count;
};

static inline void symbol_push(struct symbols *s, uint32_t piece, size_t size) {
    s->items[s->count++] = (struct symbol){.piece = piece, .size = (uint32_t)size};
}

// The piece of one character, with what stands for its place in the word.
static uint32_t char_piece(const struct model *m, struct json_text c, bool first, bool last, uint32_t *low) {
    const struct bpe *b = &m->bpe;
    const bool prefix = !first && b->prefix.size, suffix = last && b->suffix.size;
    *low = 0;
    if (!prefix && !suffix) {
        uint32_t point;
        utf8_read((const uint8_t *)c.data, c.size, &point);
        if (point >= BPE_LOW) return vocab_find(&m->vocab, c.data, c.size);
        *low = b->low_index[point];
        return b->low[point];
    }
    char text[256];
    size_t n = 0;
    if (b->prefix.size + b->suffix.size + 4 > sizeof text) return NO_PIECE;
    if (prefix) memcpy(text, b->prefix.data, n = b->prefix.size);
    memcpy(text + n, c.data, c.size);
    n += c.size;
    if (suffix) memcpy(text + n, b->suffix.data, b->suffix.size);
    return vocab_find(&m->vocab, text, n + (suffix ? b->suffix.size : 0));
}

// The bytes of a character as pieces; false when there is not one for each.
static bool push_bytes(const struct bpe *b, struct json_text c, struct symbols *s) {
    for (size_t i = 0; i < c.size; i++)
        if (b->bytes[(uint8_t)c.data[i]] == NO_PIECE) return false;
    for (size_t i = 0; i < c.size; i++)
        symbol_push(s, b->bytes[(uint8_t)c.data[i]], 1);
    return true;
}

// Without an unknown token what has no piece is left out, and what follows takes its place, as in the reference. An
// unknown one waits for the next known character, which byte pieces are not.
static void split(const struct model *m, const char *word, size_t size, struct symbols *s) {
    const struct bpe *b = &m->bpe;
    size_t waiting = 0; // bytes of the unknown token
    for (size_t at = 0; at < size;) {
        uint32_t point, low;
        const struct json_text c = {word + at, utf8_read((const uint8_t *)word + at, size - at, &point)};
        const uint32_t piece = char_piece(m, c, at == 0, at + c.size == size, &low);
        at += c.size;
        if (piece != NO_PIECE) {
            if (waiting) symbol_push(s, b->unk, waiting);
            waiting = 0;
            symbol_push(s, piece, c.size);
            s->items[s->count - 1].low = low;
        } else if (!(b->byte_fallback && push_bytes(b, c, s)) && b->unk != NO_PIECE) {
            if (waiting && !b->fuse_unk) {
                symbol_push(s, b->unk, waiting);
                waiting = 0;
            }
            waiting += c.size;
        }
    }
    if (waiting) symbol_push(s, b->unk, waiting);
}

// ---------------------------------------------------------------------------------------------- joining

// What the pairs of neighbours become; order 0 where they stay apart.
struct pairs {
    uint32_t order[SHORT_WORD], result[SHORT_WORD];
};

static inline void pair_set(const struct bpe *b, const struct symbols *s, struct pairs *p, size_t i) {
    const struct symbol *x = &s->items[i], *y = x + 1;
    if (x->low && y->low) {
        const struct bpe_low *l = &b->low_merges[x->low * (size_t)(b->low_count + 1) + y->low];
        p->order[i] = l->order;
        p->result[i] = l->result;
        return;
    }
    const struct bpe_merge *m = merge_find(b, x->piece, y->piece);
    p->order[i] = m ? m->rank + 1 : 0;
    p->result[i] = m ? m->result : 0;
}

static void join_short(const struct bpe *b, struct symbols *s) {
    struct pairs p; // of symbols i and i + 1
    for (size_t i = 0; i + 1 < s->count; i++)
        pair_set(b, s, &p, i);
    while (s->count > 1) {
        size_t best = 0;
        uint32_t least = UINT32_MAX; // of order - 1, which puts 0 last
        for (size_t i = 0; i + 1 < s->count; i++) {
            const uint32_t rank = p.order[i] - 1;
            best = rank < least ? i : best;
            least = rank < least ? rank : least;
        }
        if (least == UINT32_MAX) return;
        s->items[best].piece = p.result[best];
        s->items[best].low = 0;
        s->items[best].size += s->items[best + 1].size;
        s->count--;
        const size_t after = s->count - best - 1; // symbols, and one pair fewer
        memmove(&s->items[best + 1], &s->items[best + 2], after * sizeof *s->items);
        if (after) {
            memmove(&p.order[best + 1], &p.order[best + 2], (after - 1) * sizeof *p.order);
            memmove(&p.result[best + 1], &p.result[best + 2], (after - 1) * sizeof *p.result);
            pair_set(b, s, &p, best);
        }
        if (best > 0) pair_set(b, s, &p, best - 1);
    }
}

struct candidate {
    uint32_t rank, at, result;
};
struct heap {
    struct candidate *items;
    size_t count;
};

static inline bool before(struct candidate a, struct candidate b) {
    return a.rank != b.rank ? a.rank < b.rank : a.at < b.at;
}

static void heap_push(struct heap *h, struct candidate c) {
    size_t i = h->count++;
    for (; i > 0 && before(c, h->items[(i - 1) / 2]); i = (i - 1) / 2)
        h->items[i] = h->items[(i - 1) / 2];
    h->items[i] = c;
}

static struct candidate heap_pop(struct heap *h) {
    const struct candidate top = h->items[0], last = h->items[--h->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count && before(h->items[child + 1], h->items[child])) child++;
        if (!before(h->items[child], last)) break;
        h->items[i] = h->items[child];
    }
    h->items[i] = last;
    return top;
}

static void push_pair(const struct bpe *b, const struct symbols *s, struct heap *h, uint32_t left) {
    const uint32_t right = s->items[left].next;
    if (right == NO_PIECE) return;
    const struct bpe_merge *m = merge_find(b, s->items[left].piece, s->items[right].piece);
    if (m) heap_push(h, (struct candidate){m->rank, left, m->result});
}

// A candidate whose symbols have changed since is passed over: their pair now gives something else.
static void join_long(const struct bpe *b, struct symbols *s, struct heap *h) {
    struct symbol *u = s->items;
    for (size_t i = 0; i < s->count; i++) {
        u[i].previous = i ? (uint32_t)i - 1 : NO_PIECE;
        u[i].next = i + 1 < s->count ? (uint32_t)i + 1 : NO_PIECE;
    }
    for (uint32_t i = 0; i < s->count; i++)
        push_pair(b, s, h, i);
    while (h->count) {
        const struct candidate c = heap_pop(h);
        const uint32_t right = u[c.at].next;
        if (u[c.at].size == 0 || right == NO_PIECE) continue;
        const struct bpe_merge *m = merge_find(b, u[c.at].piece, u[right].piece);
        if (!m || m->result != c.result) continue;
        u[c.at].piece = c.result;
        u[c.at].size += u[right].size;
        u[c.at].next = u[right].next;
        u[right].size = 0;
        if (u[right].next != NO_PIECE) u[u[right].next].previous = c.at;
        if (u[c.at].previous != NO_PIECE) push_pair(b, s, h, u[c.at].previous);
        push_pair(b, s, h, c.at);
    }
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++)
        if (u[i].size) u[n++] = u[i];
    s->count = n;
}

// Of a word that is a piece: whether the merges lead to that piece.
enum bpe_whole { WHOLE_NOT_KNOWN, WHOLE_PIECE, WHOLE_PARTED };

static bool bpe_run(const struct model *m, const char *word, size_t size, size_t chars, struct pieces *out) {
    const struct bpe *b = &m->bpe;
    const uint32_t whole = vocab_find(&m->vocab, word, size);
    const uint8_t known =
        whole == NO_PIECE ? WHOLE_PARTED : atomic_load_explicit(&b->whole[whole], memory_order_relaxed);
    if (known == WHOLE_PIECE || (whole != NO_PIECE && b->ignore_merges))
        return pieces_push(out, whole, 0, size);
    // Each join takes one symbol away and adds at most two candidates.
    const size_t most = b->byte_fallback ? size : chars;
    const size_t candidates = most <= SHORT_WORD ? 0 : 3 * most;
    char *space = pieces_space(out, most * sizeof(struct symbol) + candidates * sizeof(struct candidate), 1);
    if (!space) return false;
    struct symbols s = {(struct symbol *)(void *)space, 0};
    split(m, word, size, &s);
    if (s.count <= SHORT_WORD) {
        join_short(b, &s);
    } else {
        struct heap h = {(struct candidate *)(void *)(space + most * sizeof(struct symbol)), 0};
        join_long(b, &s, &h);
    }
    if (known == WHOLE_NOT_KNOWN) { // threads that come here together write the same
        const bool one = s.count == 1 && s.items[0].piece == whole && s.items[0].size == size;
        atomic_store_explicit(&b->whole[whole], one ? WHOLE_PIECE : WHOLE_PARTED, memory_order_relaxed);
    }
    size_t at = 0;
    for (size_t i = 0; i < s.count; i++) {
        if (!pieces_push(out, s.items[i].piece, at, at + s.items[i].size)) return false;
        at += s.items[i].size;
    }
    return true;
}

static void bpe_free(struct model *m) {
    mem_free(m->bpe.merges);
    mem_free(m->bpe.filter);
    mem_free(m->bpe.low_merges);
    mem_free((void *)m->bpe.whole);
}

const struct model_kind model_bpe = {"BPE", bpe_read, bpe_run, bpe_free};
