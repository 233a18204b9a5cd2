// WordPiece: the longest piece at the word's start, then the longest continuing piece, and so on; a word that
// cannot be covered, or is too long, is the unknown token alone.
#include "text/tokenizer.h"

#include <string.h>

struct wordpiece_file {
    struct json_text unk, prefix;
    uint64_t max_chars;
    size_t unk_at;
    unsigned found; // bits of wordpiece_field
};
enum wordpiece_field { FIELD_UNK = 1, FIELD_PREFIX = 2, FIELD_MAX = 4, FIELD_VOCAB = 8 };

static bool read_field(struct json *j, struct model *m, struct json_text key, struct wordpiece_file *f) {
    if (json_text_is(key, "unk_token")) {
        f->found |= FIELD_UNK;
        f->unk_at = j->at;
        return json_string(j, &f->unk);
    }
    if (json_text_is(key, "continuing_subword_prefix")) {
        f->found |= FIELD_PREFIX;
        return json_string(j, &f->prefix);
    }
    if (json_text_is(key, "max_input_chars_per_word")) {
        f->found |= FIELD_MAX;
        return json_u64(j, &f->max_chars);
    }
    if (json_text_is(key, "vocab")) {
        f->found |= FIELD_VOCAB;
        return model_read_vocab(j, m);
    }
    return json_skip(j);
}

// The lengths whose `bit` is set. There are at most sqrt(2 x bytes of the vocabulary) of them, which bounds the work
// at each place of a word.
static bool sizes_make(struct piece_sizes *p, const uint8_t *have, uint8_t bit, size_t longest) {
    p->sizes = mem_array(longest + 1, sizeof *p->sizes);
    p->from = mem_array(longest + 1, sizeof *p->from);
    if (!p->sizes || !p->from) return false;
    for (size_t n = longest; n > 0; n--) {
        p->from[n] = p->count;
        if (have[n] & bit) p->sizes[p->count++] = (uint32_t)n;
    }
    p->from[0] = p->count;
    return true;
}

static bool collect_sizes(struct model *m) {
    enum { FIRST = 1, NEXT = 2 };
    const struct vocab *v = &m->vocab;
    struct wordpiece *w = &m->wordpiece;
    uint8_t *have = mem_zalloc(v->longest + 1);
    if (!have) return false;
    for (size_t i = 0; i < v->count; i++) {
        const struct vocab_piece *p = &v->pieces[i];
        have[p->size] |= FIRST;
        if (p->size >= w->prefix_size && memcmp(v->pool + p->begin, w->prefix, w->prefix_size) == 0)
            have[p->size - w->prefix_size] |= NEXT;
    }
    const bool ok =
        sizes_make(&w->first, have, FIRST, v->longest) && sizes_make(&w->next, have, NEXT, v->longest);
    mem_free(have);
    return ok;
}

sabok_status wordpiece_build(struct model *m, struct json_text unk, size_t unk_at, const char *where,
                             sabok_error *err) {
    struct vocab *v = &m->vocab;
    TRY(model_build_vocab(m, where, err));
    m->wordpiece.unk = vocab_find(v, unk.data, unk.size);
    if (m->wordpiece.unk == NO_PIECE)
        return error_at(err, SABOK_EFORMAT, where, unk_at,
                        "the unknown token \"%.*s\" is not in the vocabulary, expected a piece of it",
                        text_shown(unk), unk.data);
    uint64_t *hashes = mem_array(m->wordpiece.prefix_size + 1, sizeof *hashes);
    if (!hashes || !collect_sizes(m)) {
        mem_free(hashes);
        return error_memory(err, where);
    }
    vocab_hash(m->wordpiece.prefix, m->wordpiece.prefix_size, hashes);
    m->wordpiece.prefix_hash = hashes[m->wordpiece.prefix_size];
    mem_free(hashes);
    return SABOK_OK;
}

static bool wordpiece_read(struct json *j, struct model *m, struct arena *arena) {
    struct wordpiece_file f = {0};
    struct json_text key;
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key))
        if (!read_field(j, m, key, &f)) return false;
    if (j->failed) return false;
    static const char *const names[] = {"unk_token", "continuing_subword_prefix", "max_input_chars_per_word",
                                        "vocab"};
    const size_t end = j->at;
    for (unsigned i = 0; i < COUNT(names); i++)
        if (!(f.found >> i & 1)) {
            j->at = begin;
            return json_fail(j, "model WordPiece without \"%s\", expected one", names[i]);
        }
    m->wordpiece.prefix = arena_copy(arena, f.prefix.data, f.prefix.size);
    if (!m->wordpiece.prefix) return read_memory(j);
    m->wordpiece.prefix_size = f.prefix.size;
    m->wordpiece.max_chars = f.max_chars;
    if (wordpiece_build(m, f.unk, f.unk_at, j->where, j->err) != SABOK_OK) j->failed = true;
    j->at = end;
    return !j->failed;
}

// The longest piece at text[at, size), and its length; NO_PIECE when there is none.
static uint32_t longest_piece(const struct model *m, const struct piece_search *s, size_t at,
                              size_t *length) {
    const struct vocab *v = &m->vocab;
    const struct wordpiece *w = &m->wordpiece;
    const struct piece_sizes *p = at > 0 ? &w->next : &w->first;
    const size_t head = at > 0 ? w->prefix_size : 0;
    const uint64_t base = (at > 0 ? w->prefix_hash : 0) - s->hashes[at];
    for (uint32_t i = p->from[size_min(s->size - at, v->longest)]; i < p->count; i++) {
        const size_t n = p->sizes[i];
        const uint64_t hash = s->hashes[at + n] + base * v->powers[n]; // of the prefix and the n bytes
        if (!vocab_may_have(v, hash)) continue;
        const uint32_t piece = vocab_find_hashed(v, hash, w->prefix, head, s->text + at, n);
        if (piece == NO_PIECE) continue;
        *length = n;
        return piece;
    }
    return NO_PIECE;
}

static bool wordpiece_run(const struct model *m, const char *word, size_t size, size_t chars,
                          struct pieces *out) {
    const struct wordpiece *w = &m->wordpiece;
    if (chars > w->max_chars) return pieces_push(out, w->unk, 0, size);
    if (!pieces_hash(out, word, size)) return false;
    const struct piece_search search = {word, size, out->hashes};
    const size_t first = out->size;
    for (size_t at = 0; at < size;) {
        size_t length = 0;
        const uint32_t piece = longest_piece(m, &search, at, &length);
        if (piece == NO_PIECE) {
            out->size = first;
            return pieces_push(out, w->unk, 0, size);
        }
        if (!pieces_push(out, piece, at, at + length)) return false;
        at += length;
    }
    return true;
}

static void wordpiece_free(struct model *m) {
    mem_free(m->wordpiece.first.sizes);
    mem_free(m->wordpiece.first.from);
    mem_free(m->wordpiece.next.sizes);
    mem_free(m->wordpiece.next.from);
}

const struct model_kind model_wordpiece = {"WordPiece", wordpiece_read, wordpiece_run, wordpiece_free};
