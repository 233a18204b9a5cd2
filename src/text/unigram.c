// Unigram: of all ways to cover a word with pieces the one with the highest sum of scores. A character that no piece
// covers alone is unknown; unknown neighbours are one token.
#include "text/tokenizer.h"

#include <string.h>

#define UNKNOWN_PENALTY 10.0 // below the lowest score
#define PIECE_BYTES_MAX 1024 // these two bound the work at each place of a word
#define PIECE_SIZES_MAX 256

bool unigram_add(struct model *m, struct json_text text, double score, size_t at) {
    struct unigram *u = &m->unigram;
    const size_t i = m->vocab.count;
    if (i == u->score_cap && !mem_grow((void **)&u->scores, &u->score_cap, i + 1, sizeof *u->scores))
        return false;
    u->scores[i] = score;
    m->vocab.later_wins = true;
    return vocab_add(&m->vocab, text, (uint32_t)i, at);
}

// A score as the reference reads it: the digits as an integer, then scaled, with two roundings. Sums that are nearly
// equal would otherwise fall out differently.
static bool read_score(struct json *j, double *out) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (json_peek(j) != JSON_NUMBER) return json_double(j, out); // which fails
    const size_t begin = j->at;
    if (!json_skip(j)) return false;
    uint64_t digits = 0;
    int scale = 0;
    bool point = false, simple = true;
    for (size_t i = begin; i < j->at && simple; i++) {
        const char c = j->text[i];
        if (c == '.') {
            point = true;
        } else if (c >= '0' && c <= '9') {
            simple = !__builtin_mul_overflow(digits, 10, &digits) &&
                     !__builtin_add_overflow(digits, (uint64_t)(c - '0'), &digits);
            scale += point;
        } else {
            simple = c == '-' && i == begin;
        }
    }
    if (!simple || scale >= (int)COUNT(powers)) {
        j->at = begin;
        return json_double(j, out);
    }
    *out = (double)digits / powers[scale];
    if (j->text[begin] == '-') *out = -*out;
    return true;
}

static bool read_pieces(struct json *j, struct model *m) {
    if (m->vocab.count) return json_fail(j, "a second \"vocab\"");
    if (!json_array_begin(j)) return false;
    while (json_item(j)) {
        struct json_text text;
        double score;
        json_peek(j);
        const size_t at = j->at;
        if (!json_array_begin(j) || !json_item(j) || !json_string(j, &text) || !json_item(j) ||
            !read_score(j, &score) || json_item(j))
            return j->failed ? false : json_fail(j, "a piece, expected a text and a score");
        if (j->failed) return false;
        if (m->vocab.count >= INT32_MAX) return json_fail(j, "more than %d pieces", INT32_MAX);
        if (!unigram_add(m, text, score, at)) return read_memory(j);
    }
    return !j->failed;
}

static sabok_status collect_sizes(struct model *m, const char *where, sabok_error *err) {
    const struct vocab *v = &m->vocab;
    struct unigram *u = &m->unigram;
    size_t sizes = 0;
    u->have = mem_zalloc(v->longest + 1);
    if (!u->have) return error_memory(err, where);
    for (size_t i = 0; i < v->count; i++) {
        const struct vocab_piece *p = &v->pieces[i];
        sizes += !u->have[p->size];
        u->have[p->size] = 1;
        if (p->size > PIECE_BYTES_MAX || sizes > PIECE_SIZES_MAX)
            return error_at(err, SABOK_EFORMAT, where, p->at,
                            p->size > PIECE_BYTES_MAX
                                ? "a piece of %zu bytes, expected at most %d"
                                : "pieces of %zu different lengths, expected at most %d",
                            p->size > PIECE_BYTES_MAX ? (size_t)p->size : sizes,
                            p->size > PIECE_BYTES_MAX ? PIECE_BYTES_MAX : PIECE_SIZES_MAX);
    }
    return SABOK_OK;
}

sabok_status unigram_build(struct model *m, uint64_t unk, const char *where, sabok_error *err) {
    struct vocab *v = &m->vocab;
    struct unigram *u = &m->unigram;
    uint32_t twice, same_id;
    if (unk >= v->count)
        return error_set(err, SABOK_EFORMAT, where,
                         "unk_id %llu, expected the number of one of the %zu pieces", (unsigned long long)unk,
                         v->count);
    u->unk = (uint32_t)unk;
    TRY(collect_sizes(m, where, err));
    if (!vocab_build(v, &twice, &same_id) || !trie_build(&u->trie, v)) return error_memory(err, where);
    double least = u->scores[0];
    for (size_t i = 1; i < v->count; i++)
        if (u->scores[i] < least) least = u->scores[i];
    u->unk_score = least - UNKNOWN_PENALTY;
    model_find_bytes(v, u->bytes);
    return SABOK_OK;
}

static bool unigram_read(struct json *j, struct model *m, struct arena *arena) {
    (void)arena;
    struct json_text key;
    uint64_t unk = UINT64_MAX;
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        bool ok;
        if (json_text_is(key, "vocab"))
            ok = read_pieces(j, m);
        else if (json_text_is(key, "unk_id"))
            ok = json_peek(j) == JSON_NULL ? json_null(j) : json_u64(j, &unk);
        else if (json_text_is(key, "byte_fallback"))
            ok = json_peek(j) == JSON_NULL ? json_null(j) : json_bool(j, &m->unigram.byte_fallback);
        else
            ok = json_skip(j);
        if (!ok) return false;
    }
    if (j->failed) return false;
    if (unk >= m->vocab.count) {
        j->at = begin;
        return json_fail(j, "model Unigram without the \"unk_id\" of a piece, expected one");
    }
    if (unigram_build(m, unk, j->where, j->err) != SABOK_OK) j->failed = true;
    return !j->failed;
}

// ---------------------------------------------------------------------------------------------- running

struct node { // the best way to the place before this byte
    double score;
    uint32_t begin, piece; // of its last piece; NO_PIECE: no way yet
};

static inline void offer(struct node *n, double score, size_t begin, uint32_t piece) {
    if (n->piece != NO_PIECE && !(score > n->score)) return;
    *n = (struct node){score, (uint32_t)begin, piece};
}

// The pieces too long for the trie that begin at `begin`.
static void offer_long(const struct model *m, const struct piece_search *s, struct node *nodes,
                       size_t begin) {
    const struct vocab *v = &m->vocab;
    const size_t most = size_min(s->size - begin, v->longest);
    for (size_t n = TRIE_BYTES + 1; n <= most; n++) {
        if (!m->unigram.have[n]) continue;
        const uint64_t hash = s->hashes[begin + n] - s->hashes[begin] * v->powers[n];
        if (!vocab_may_have(v, hash)) continue;
        const uint32_t piece = vocab_find_hashed(v, hash, "", 0, s->text + begin, n);
        if (piece != NO_PIECE)
            offer(&nodes[begin + n], nodes[begin].score + m->unigram.scores[piece], begin, piece);
    }
}

// Every piece that begins at `begin`; true when one of them is the character there, of `width` bytes.
static inline bool offer_pieces(const struct model *m, const struct piece_search *s, struct node *nodes,
                                size_t begin, size_t width) {
    const double score = nodes[begin].score;
    struct trie_walk walk = {.text = s->text + begin, .size = s->size - begin};
    bool alone = false;
    for (uint32_t piece; (piece = trie_next(&m->unigram.trie, &m->vocab, &walk)) != NO_PIECE;) {
        offer(&nodes[begin + walk.at], score + m->unigram.scores[piece], begin, piece);
        alone = alone || walk.at == width;
    }
    if (s->hashes) offer_long(m, s, nodes, begin);
    return alone;
}

// A run of unknown characters may spell a piece; else it is its bytes, or the unknown token under its own name.
static bool push_unknown(const struct model *m, const char *word, size_t begin, size_t end,
                         struct pieces *out) {
    const struct unigram *u = &m->unigram;
    const uint32_t piece = vocab_find(&m->vocab, word + begin, end - begin);
    if (piece != NO_PIECE) return pieces_push(out, piece, begin, end);
    bool bytes = u->byte_fallback;
    for (size_t i = begin; bytes && i < end; i++)
        bytes = u->bytes[(uint8_t)word[i]] != NO_PIECE;
    if (!bytes) {
        if (!pieces_push(out, u->unk, begin, end)) return false;
        out->items[out->size - 1].as_written = true;
        return true;
    }
    for (size_t i = end; i > begin; i--) // the list is turned round at the end
        if (!pieces_push(out, u->bytes[(uint8_t)word[i - 1]], begin, end)) return false;
    return true;
}

static bool collect(const struct model *m, const char *word, size_t size, const struct node *nodes,
                    struct pieces *out) {
    const uint32_t unk = m->unigram.unk;
    const size_t first = out->size;
    for (size_t end = size; end > 0;) {
        size_t begin = nodes[end].begin;
        if (nodes[end].piece != unk) {
            if (!pieces_push(out, nodes[end].piece, begin, end)) return false;
        } else {
            while (begin > 0 && nodes[begin].piece == unk)
                begin = nodes[begin].begin;
            if (!push_unknown(m, word, begin, end, out)) return false;
        }
        end = begin;
    }
    for (size_t a = first, b = out->size; a + 1 < b; a++, b--) {
        const struct piece p = out->items[a];
        out->items[a] = out->items[b - 1];
        out->items[b - 1] = p;
    }
    return true;
}

static bool unigram_run(const struct model *m, const char *word, size_t size, size_t chars,
                        struct pieces *out) {
    (void)chars;
    if (size == 0) return true;
    struct node *nodes = pieces_space(out, size + 1, sizeof *nodes);
    const bool has_long = size > TRIE_BYTES && m->vocab.longest > TRIE_BYTES;
    if (!nodes || (has_long && !pieces_hash(out, word, size))) return false;
    const struct piece_search search = {word, size, has_long ? out->hashes : NULL};
    for (size_t i = 0; i <= size; i++)
        nodes[i] = (struct node){0, 0, NO_PIECE};
    for (size_t at = 0; at < size;) {
        size_t width = 1;
        while (at + width < size && ((uint8_t)word[at + width] & 0xc0) == 0x80)
            width++;
        if (!offer_pieces(m, &search, nodes, at, width))
            offer(&nodes[at + width], nodes[at].score + m->unigram.unk_score, at, m->unigram.unk);
        at += width;
    }
    return collect(m, word, size, nodes, out);
}

static void unigram_free(struct model *m) {
    mem_free(m->unigram.scores);
    mem_free(m->unigram.have);
    trie_free(&m->unigram.trie);
}

const struct model_kind model_unigram = {"Unigram", unigram_read, unigram_run, unigram_free};
