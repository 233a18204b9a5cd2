// tokenizer: the parts of a tokenizer and the state of one encoding. Internal to this folder.
//
// A text becomes units (code points that know which characters of the text they stand for), which the
// normalizer rewrites, the pre-tokenizer splits into words, and the model turns into pieces. Each kind of
// step is one row of a table in its module and one .c file.
#ifndef SABOK_TOKENIZER_H
#define SABOK_TOKENIZER_H

#include "text/char.h"
#include "text/text.h"

#include <string.h>

#define TEXT_BYTES_MAX ((size_t)1 << 31)
#define NO_PIECE UINT32_MAX

// ------------------------------------------------------------------------------------------ reading
// (reading.c) The "type" of the object that comes next, which is not consumed: its text (empty when it has
// none), and the byte to name in errors.
bool object_type(struct json *j, struct json_text *type, size_t *at);
bool read_memory(struct json *j); // fails with "out of memory"
// Bytes of a text that an error shows.
static inline int text_shown(struct json_text t) {
    return (int)size_min(t.size, 100);
}

// ------------------------------------------------------------------------------------------ units (units.c)
// A code point of the normalised text, and the characters [begin, end) of the original text it came from.
struct unit {
    uint32_t c, begin, end;
};
struct units {
    struct unit *items;
    size_t size, cap;
    bool stuck; // a pattern of the file took too many steps on this text
};
bool units_reserve(struct units *u, size_t need);
bool units_push(struct units *u, uint32_t c, uint32_t begin, uint32_t end); // false when out of memory
void units_free(struct units *u);
void units_exchange(struct units *a, struct units *b); // contents; `stuck` stays where it is
// Turns changes, kept in `begin` while a text is rewritten (0: replaces, n > 0: added, n < 0: replaces and removes -n
// after it), into places in the text `from`.
void units_align(const struct units *from, struct units *to);
// UTF-8 of items [begin, end) into b, replacing what is there; false when out of memory.
bool units_write(const struct unit *u, size_t begin, size_t end, struct buf *b);

// A part [begin, end) of the units; `added` is the index of an added token, or NO_PIECE for text.
struct span {
    size_t begin, end;
    uint32_t added;
};
struct spans {
    struct span *items;
    size_t size, cap;
};
bool spans_push(struct spans *s, size_t begin, size_t end, uint32_t added);
void spans_free(struct spans *s);

// ------------------------------------------------------------------------------------------ vocab (vocab.c)
// Pieces of text and their ids, found by a rolling hash, so that the hash of any part of a word costs O(1).
struct vocab_piece {
    uint32_t begin, size; // bytes of the pool
    uint32_t id;
    uint32_t at; // byte of the file, for errors
};
struct vocab_slot {
    uint32_t tag, piece; // piece + 1; 0 is empty
};
struct vocab {
    bool later_wins; // a piece listed twice has its last id, as lines of a vocab.txt do in the reference
    char *pool;      // every piece, NUL-ended
    size_t pool_size, pool_cap;
    struct vocab_piece *pieces;
    size_t count, cap;
    struct vocab_slot *slots; // a power of two, at most half full
    size_t slot_mask;
    uint64_t *filter; // a bit for each hash: most strings that are no piece stop here
    unsigned filter_shift;
    uint64_t *powers; // [longest + 1], of the hash's base
    size_t longest;   // bytes
    uint32_t max_id;
};
// False when out of memory. `at` is the byte of the file where the piece stands.
bool vocab_add(struct vocab *v, struct json_text text, uint32_t id, size_t at);
// Makes the tables after the last vocab_add. *twice: a piece listed twice (else NO_PIECE); *same_id likewise.
bool vocab_build(struct vocab *v, uint32_t *twice, uint32_t *same_id);
void vocab_free(struct vocab *v);
uint32_t vocab_find(const struct vocab *v, const char *text, size_t size); // piece or NO_PIECE
// The hash of text[0, i) into hashes[i], 0 <= i <= size.
void vocab_hash(const char *text, size_t size, uint64_t *hashes);
static inline uint64_t vocab_filter_bit(const struct vocab *v, uint64_t hash) {
    return hash * 0xd6e8feb86659fd93u >> v->filter_shift;
}
static inline bool vocab_may_have(const struct vocab *v, uint64_t hash) {
    const uint64_t bit = vocab_filter_bit(v, hash);
    return v->filter[bit / 64] >> bit % 64 & 1;
}
uint32_t vocab_find_hashed(const struct vocab *v, uint64_t hash, const char *head, size_t head_size,
                           const char *text, size_t size); // piece spelt head + text
static inline const char *vocab_text(const struct vocab *v, uint32_t piece) {
    return v->pool + v->pieces[piece].begin;
}

// ------------------------------------------------------------------------------------------ trie (trie.c)
// The pieces of up to TRIE_BYTES bytes, byte by byte.
#define TRIE_BYTES 64
#define TRIE_TAIL 0x80000000u // in `piece`: only this piece goes on, with the byte `base`
struct trie_cell {
    uint32_t base, parent; // parent + 1; 0: a free cell, or the root, which is cell 0
    uint32_t piece;        // that ends here, or NO_PIECE
};
struct trie {
    struct trie_cell *cells;
    size_t count, cap;
};
bool trie_build(struct trie *t, const struct vocab *v); // false when out of memory
void trie_free(struct trie *t);
// A walk over the pieces that begin at `text`.
struct trie_walk {
    const char *text;
    size_t size, at; // the piece found last ends at `at`
    uint32_t cell;
    bool over;
};
// The next longer piece; NO_PIECE when there is none.
static inline uint32_t trie_next(const struct trie *t, const struct vocab *v, struct trie_walk *w) {
    while (w->at < w->size && !w->over) {
        const uint8_t byte = (uint8_t)w->text[w->at];
        const uint32_t next = t->cells[w->cell].base ^ byte;
        const struct trie_cell *c = &t->cells[next];
        if (c->parent != w->cell + 1) break;
        w->cell = next;
        w->at++;
        if (c->piece == NO_PIECE) continue;
        if (!(c->piece & TRIE_TAIL)) return c->piece;
        w->over = true;
        if (w->at == w->size || (uint8_t)w->text[w->at] != c->base) break;
        const uint32_t piece = c->piece & ~TRIE_TAIL;
        const struct vocab_piece *p = &v->pieces[piece];
        if (p->size > w->size || memcmp(v->pool + p->begin + w->at, w->text + w->at, p->size - w->at) != 0)
            break;
        w->at = p->size;
        return piece;
    }
    return NO_PIECE;
}

// ------------------------------------------------------------------------------------------ model (model.c)
// A piece found in a word: bytes [begin, end) of it.
struct piece {
    uint32_t piece;
    bool as_written; // called what the word says, not what the vocabulary does
    size_t begin, end;
};
struct pieces {
    struct piece *items;
    size_t size, cap;
    uint64_t *hashes; // scratch of the model
    size_t hash_cap;
    char *space; // more of it
    size_t space_cap;
};
struct piece_search { // a word, and the hashes of its heads
    const char *text;
    size_t size;
    const uint64_t *hashes;
};
void pieces_free(struct pieces *p);
bool pieces_push(struct pieces *p, uint32_t piece, size_t begin, size_t end);
void *pieces_space(struct pieces *p, size_t n, size_t size); // n items of scratch; NULL when out of memory
bool pieces_hash(struct pieces *p, const char *word, size_t size); // vocab_hash into p->hashes

struct piece_sizes {
    uint32_t *sizes; // [count], the lengths that pieces have, longest first
    uint32_t *from;  // [longest + 1], the first of them that is no longer than this
    uint32_t count;
};
struct wordpiece { // wordpiece.c
    uint32_t unk;  // piece
    const char *prefix;
    size_t prefix_size;
    uint64_t prefix_hash;
    size_t max_chars;
    struct piece_sizes first, next; // of pieces at a word's start, inside it
};
struct bpe_merge { // the pair of pieces left, right becomes result; the lowest rank first
    uint32_t left, right, rank, result;
};
struct bpe_low {            // what a pair of low code points becomes
    uint32_t order, result; // order: rank + 1; 0: they stay apart
};
#define BPE_LOW 512
struct bpe { // bpe.c
    uint32_t unk;
    bool fuse_unk, byte_fallback, ignore_merges;
    struct json_text prefix, suffix; // of pieces inside a word, at its end
    struct bpe_merge *merges;        // a hash table; left is NO_PIECE in an empty place
    size_t merge_mask;
    uint64_t seed;
    uint64_t *filter; // a bit for each pair: most that do not join stop here
    unsigned filter_shift;
    uint32_t low[BPE_LOW];       // pieces of the code points alone, but for prefix and suffix
    uint16_t low_index[BPE_LOW]; // those that have a piece are counted from 1
    uint32_t low_count;
    struct bpe_low *low_merges; // [low_count + 1, low_count + 1], of pairs of such pieces, by index
    _Atomic uint8_t *whole;     // [pieces], what is known of a word that is the piece: a bpe_whole
    uint32_t bytes[256];        // pieces <0x00> to <0xFF>
};
struct unigram {    // unigram.c
    double *scores; // [count]
    size_t score_cap;
    double unk_score;
    uint32_t unk;
    bool byte_fallback;
    struct trie trie;
    uint8_t *have; // [longest + 1], whether a piece has this many bytes; for those that are not in the trie
    uint32_t bytes[256];
};
struct wordlevel { // wordlevel.c
    uint32_t unk;
};
struct model {
    const struct model_kind *kind;
    struct vocab vocab;
    union {
        struct wordpiece wordpiece;
        struct bpe bpe;
        struct unigram unigram;
        struct wordlevel wordlevel;
    };
};
struct model_kind {
    const char *name;
    bool (*read)(struct json *j, struct model *m, struct arena *arena);
    // The pieces of a word of `chars` code points, appended to out; false when out of memory.
    bool (*run)(const struct model *m, const char *word, size_t size, size_t chars, struct pieces *out);
    void (*free)(struct model *m);
};
extern const struct model_kind model_wordpiece, model_bpe, model_unigram, model_wordlevel;
bool model_read(struct json *j, struct model *m, struct arena *arena);
void model_free(struct model *m);
// {"piece": id, ...}; and whether every piece and every id is there once.
bool model_read_vocab(struct json *j, struct model *m);
sabok_status model_build_vocab(struct model *m, const char *where, sabok_error *err);
// The pieces of the bytes, <0x00> to <0xFF>; NO_PIECE where there is none.
void model_find_bytes(const struct vocab *v, uint32_t bytes[256]);
// Tables of a BPE model whose vocabulary is built, from merges that name pieces.
struct bpe_pair {
    struct json_text left, right;
    size_t at; // byte of the file
};
sabok_status bpe_build(struct model *m, const struct bpe_pair *pairs, size_t count, const char *where,
                       sabok_error *err);
// Tables of a Unigram model whose pieces and scores have been added. unk is a piece.
bool unigram_add(struct model *m, struct json_text text, double score, size_t at); // false when out of memory
sabok_status unigram_build(struct model *m, uint64_t unk, const char *where, sabok_error *err);
// Makes the tables of a WordPiece model whose vocabulary has been added.
// `unk_at` is the byte of the file that names the unknown token.
sabok_status wordpiece_build(struct model *m, struct json_text unk, size_t unk_at, const char *where,
                             sabok_error *err);

// ------------------------------------------------------------------------------------------ normalizer
struct bert_normalizer {
    bool clean_text, ideographs, strip_accents, lower_case;
};
struct strip_normalizer {
    bool left, right;
};
struct replace_normalizer {
    const uint32_t *pattern, *content; // code points
    size_t pattern_size, content_size;
};
struct charsmap; // normalizer_precompiled.c
struct normalizer_step {
    const struct normalizer_kind *kind;
    struct regex *regex; // of a Replace whose pattern is no plain string; owned
    union {
        struct bert_normalizer bert;
        struct strip_normalizer strip;
        struct replace_normalizer replace; // of Prepend too: `content`
        const struct charsmap *charsmap;
    };
};
// Rewrites `text`; `spare` is workspace. False when out of memory.
typedef bool normalizer_fn(const struct normalizer_step *step, struct units *text, struct units *spare);
struct normalizer_kind {
    const char *name;
    bool (*read)(struct json *j, struct normalizer_step *step, struct arena *arena); // at the object's begin
    normalizer_fn *run;
    bool each_char; // a character's result depends on it alone, but for the order of combining marks
    // The most code points that one may become; NULL: a few at most.
    size_t (*growth)(const struct normalizer_step *step);
};
struct normalizer {
    struct normalizer_step *steps;
    size_t count, cap;
    size_t growth; // how many times longer the steps may make a text, less 1
};
extern const struct normalizer_kind normalizer_bert, normalizer_nfc, normalizer_nfd, normalizer_nfkc,
    normalizer_nfkd, normalizer_lowercase, normalizer_strip, normalizer_strip_accents, normalizer_replace,
    normalizer_precompiled, normalizer_nmt, normalizer_prepend, normalizer_bytes;
// The step of a charsmap as sentencepiece files hold it; NULL: *problem says what is wrong with it, or is NULL when out
// of memory. It lives in the arena.
const struct charsmap *charsmap_make(const uint8_t *blob, size_t size, struct arena *arena,
                                     const char **problem);
// True when c and a space beside it, before or after, may be looked up as one.
bool grapheme_joins_space(uint32_t c);
bool normalizer_read(struct json *j, struct normalizer *n, struct arena *arena); // an object or null
bool normalizer_run(const struct normalizer *n, struct units *text, struct units *spare);
// The same for a part that begins inside a text: what is done at a text's begin is left out.
bool normalizer_run_inside(const struct normalizer *n, struct units *text, struct units *spare);
void normalizer_free(struct normalizer *n);
bool normalizer_add(struct normalizer *n, const struct normalizer_step *step);
bool normalizer_add_charsmap(struct normalizer *n, const struct charsmap *map);
// Steps that several kinds are made of (normalizer_forms.c).
bool units_decompose(struct units *text, struct units *spare, bool compat);
bool units_lower(struct units *text, struct units *spare);

// ------------------------------------------------------------------------------------------ pretokenizer
enum char_role { ROLE_INSIDE, ROLE_REMOVED, ROLE_ALONE }; // of a character, for steps that look at each alone
enum split_behavior {
    SPLIT_REMOVED,
    SPLIT_ISOLATED,
    SPLIT_MERGED_WITH_PREVIOUS,
    SPLIT_MERGED_WITH_NEXT,
    SPLIT_CONTIGUOUS
};
enum prepend_scheme { PREPEND_ALWAYS, PREPEND_FIRST, PREPEND_NEVER };
struct pretokenizer_step {
    const struct pretokenizer_kind *kind;
    struct regex *regex; // of Split and ByteLevel; owned
    enum split_behavior behavior;
    uint32_t delimiter; // of Metaspace: what stands for a space
    enum prepend_scheme prepend;
    bool prefix_space, invert, split;
};
// The text being split, and its parts so far; a step makes `next` from `parts` and exchanges them.
struct pretext {
    struct units *text;
    struct spans parts, next;
    struct units spare; // for steps that rewrite the text
    struct spans matches;
    struct buf bytes;
};
struct pretokenizer_kind {
    const char *name;
    bool (*read)(struct json *j, struct pretokenizer_step *step);
    bool (*run)(const struct pretokenizer_step *step, struct pretext *t); // false when out of memory
    // The role of a character, where the split depends on each character alone; else NULL.
    enum char_role (*role)(const struct pretokenizer_step *step, uint32_t c);
};
struct pretokenizer {
    struct pretokenizer_step *steps;
    size_t count, cap;
};
extern const struct pretokenizer_kind pretokenizer_bert, pretokenizer_whitespace,
    pretokenizer_whitespace_split, pretokenizer_punctuation, pretokenizer_digits, pretokenizer_delimiter,
    pretokenizer_bytes, pretokenizer_split, pretokenizer_metaspace, pretokenizer_scripts;
bool pretokenizer_read_behavior(struct json *j, struct pretokenizer_step *step);
bool pretokenizer_read(struct json *j, struct pretokenizer *p); // an object or null
bool pretokenizer_run(const struct pretokenizer *p, struct pretext *t);
void pretokenizer_free(struct pretokenizer *p);
bool pretokenizer_add(struct pretokenizer *p, const struct pretokenizer_step *step);
// Splits every part at the characters that `matches` accepts, as `behavior` says.
typedef bool char_match_fn(const struct pretokenizer_step *step, uint32_t c);
bool pretext_split(const struct pretokenizer_step *step, struct pretext *t, char_match_fn *matches,
                   enum split_behavior behavior);
// Adds units [begin, end), a match or what is between two, to t->next as `behavior` says; *first is the index in
// t->next where this part's own spans begin, *previous whether the last added was a match.
bool pretext_add(struct pretext *t, sabok_span units, bool match, enum split_behavior behavior, size_t first,
                 bool *previous);
void pretext_exchange(struct pretext *t); // parts and next
void pretext_free(struct pretext *t);
// The code point that stands for a byte in byte-level vocabularies, and the other way round (-1: none).
uint32_t byte_char(uint8_t byte);
int char_byte(uint32_t c);

// ------------------------------------------------------------------------------------------ added (added.c)
#define ADDED_BYTES_MAX 1024 // bounds the work at each byte of a text
struct added_token {
    const char *text;
    size_t size;
    uint64_t at; // byte of the file, for errors
    uint32_t id;
    bool single_word, lstrip, rstrip, normalized, special;
};
// Strings searched for in a text, leftmost and then longest: sorted, narrowed byte by byte.
struct added_matcher {
    struct added_pattern {
        const char *text;
        size_t size;
        uint32_t token;
    } * patterns;
    size_t count;
    uint32_t first[257]; // patterns that begin with byte b: [first[b], first[b + 1])
};
struct added {
    struct added_token *tokens;
    size_t count, cap;
    struct added_matcher raw, normalized; // matched in the text itself, in the normalised text
};
bool added_read(struct json *j, struct added *a, struct arena *arena);
sabok_status added_build(struct added *a, const struct vocab *v, const struct normalizer *n,
                         struct arena *arena, const char *where, sabok_error *err);
// Makes the patterns anew, for a normalizer that has changed.
sabok_status added_patterns(struct added *a, const struct normalizer *n, struct arena *arena,
                            const char *where, sabok_error *err);
void added_free(struct added *a);
// Cuts units [begin, end), whose UTF-8 is in `bytes`, at the added tokens; appends to out.
bool added_split(const struct added *a, const struct added_matcher *m, const struct unit *u, struct span part,
                 const struct buf *bytes, struct spans *out);
// True when a pattern may begin somewhere in the bytes.
bool added_may_match(const struct added_matcher *m, const char *text, size_t size);

// ------------------------------------------------------------------------------------------ template
enum template_item { TEMPLATE_SPECIAL, TEMPLATE_FIRST, TEMPLATE_SECOND };
struct template_piece {
    enum template_item item;
    uint32_t type_id;
    uint32_t id; // of a special
    const char *text;
};
struct template {
    struct template_piece *pieces;
    size_t count, cap;
    size_t specials;
};
struct postprocessor {
    struct template single, pair;
    bool given;        // false: texts follow one another without specials
    bool trim;         // offsets leave out the spaces at a token's ends
    bool prefix_space; // but for a first token, which has one that is not the text's
};
bool postprocessor_read(struct json *j, struct postprocessor *p, struct arena *arena);
// ["[SEP]", 102]
bool template_read_named(struct json *j, struct template_piece *p, struct arena *arena);
bool postprocessor_read_roberta(struct json *j, struct postprocessor *p, struct arena *arena);
bool postprocessor_read_bytes(struct json *j, struct postprocessor *p, struct arena *arena);
// <s> A </s>, and <s> A </s></s> B </s>, all of type 0.
bool postprocessor_roberta(struct postprocessor *p, struct template_piece cls, struct template_piece sep);
bool postprocessor_default(struct postprocessor *p);
bool template_add(struct template *t, struct template_piece piece);
void postprocessor_free(struct postprocessor *p);

// ------------------------------------------------------------------------------------------ truncation
struct truncation {
    sabok_truncation strategy; // SABOK_TRUNCATE_NONE: none
    size_t max_length, stride;
    bool left;
};
bool truncation_read(struct json *j, struct truncation *t);
struct padding {
    bool given, left;
    size_t fixed; // 0: to the longest of the batch
    size_t multiple_of;
    uint32_t id, type_id;
    const char *token;
};
bool padding_read(struct json *j, struct padding *p, struct arena *arena);
// Tokens that each text keeps of `a` and `b` (`pair` false: b is 0), so that both fit in `room`.
struct kept {
    size_t a, b;
};
sabok_status truncation_share(const struct truncation *t, size_t a, size_t b, bool pair, size_t room,
                              struct kept *out, sabok_error *err);
// Windows of `kept` out of `size` tokens; window i is [*begin, *end).
size_t truncation_windows(const struct truncation *t, size_t size, size_t kept);
void truncation_window(const struct truncation *t, size_t size, size_t kept, size_t i, size_t *begin,
                       size_t *end);

// ------------------------------------------------------------------------------------------ tokenizer.c
struct decoder_kind;
struct decoder_step {
    const struct decoder_kind *kind;
    struct regex *regex; // of Replace; owned
    struct json_text text, other;
    uint32_t character;
    size_t left, right;
    bool flag;
};
struct decoder { // decoder.c
    bool given;  // false: pieces are joined with spaces
    struct decoder_step *steps;
    size_t count, cap;
};
bool decoder_read(struct json *j, struct decoder *d, struct arena *arena);
bool decoder_add(struct decoder *d, const struct decoder_step *step);
void decoder_free(struct decoder *d);
// Pieces of text being decoded: their bytes one after another, and where each begins.
struct strings {
    struct buf bytes;
    size_t *ends, count, cap;
};
bool strings_end(struct strings *s); // a string ends with the bytes put so far
void strings_free(struct strings *s);
static inline struct json_text strings_get(const struct strings *s, size_t i) {
    const size_t begin = i ? s->ends[i - 1] : 0;
    return (struct json_text){s->bytes.data ? s->bytes.data + begin : "", s->ends[i] - begin};
}
// Runs every step over `in`; `out` is workspace. The text is what is then in `in`, joined. *stuck: a pattern took too
// many steps. False when out of memory (or stuck).
bool decoder_run(const struct decoder *d, struct strings *in, struct strings *out, bool *stuck);
extern const struct decoder_kind *const decoder_bytes, *const decoder_metaspace;
struct sabok_tokenizer {
    char *path;
    struct arena arena;
    struct normalizer normalizer;
    struct pretokenizer pretokenizer;
    struct model model;
    struct postprocessor post;
    struct added added;
    struct truncation truncation;
    struct padding padding;
    struct decoder decoder;
    size_t folder_max_length;         // 0: the folder says nothing
    struct actions *actions;          // NULL: no short way character by character
    struct segmenter *segmenter;      // NULL: no short way part by part
    _Atomic(struct id_table *) by_id; // pieces and added tokens by id, for decoding (detokenize.c)
};
struct sabok_tokenizer *tokenizer_new(const char *path, sabok_error *err);
sabok_status tokenizer_read_json(struct sabok_tokenizer *tok, const char *text, size_t size,
                                 sabok_error *err); // tokenizer_json.c
// Sections without the model, as a tokenizer.json spells them, appended to what is there.
sabok_status tokenizer_read_steps(struct sabok_tokenizer *tok, const char *text, size_t size,
                                  sabok_error *err);
// Checks and tables once everything is read.
sabok_status tokenizer_finish(struct sabok_tokenizer *tok, sabok_error *err);
// What truncation applies, given the folder's word and the options.
sabok_status tokenizer_truncation(const struct sabok_tokenizer *tok, const sabok_tokenize_opts *opts,
                                  struct truncation *out, sabok_error *err);
// The same from bytes in memory, for tests and fuzzing.
struct sabok_tokenizer *tokenizer_parse(const char *text, size_t size, const char *where, sabok_error *err);

// ------------------------------------------------------------------------------------------ actions
// What a character does to the ids, worked out once from the steps themselves (actions.c).
enum action_kind {
    ACTION_UNKNOWN, // not worked out yet
    ACTION_INSIDE,  // its bytes belong to the word
    ACTION_DROP,
    ACTION_SPACE, // ends the word
    ACTION_ALONE, // ends the word; is a word of one token, `id`
    ACTION_SLOW,  // the text takes the long way
};
#define ACTION_BYTES 12
struct action {
    uint8_t kind, size, chars, nothing;
    union {
        char bytes[ACTION_BYTES];
        uint32_t id;
    };
};
#define ACTION_BLOCK 256
struct actions {
    _Atomic(struct action *) blocks[0x110000 / ACTION_BLOCK];
    bool plain_ascii; // letters and digits stand for themselves, but for `lower`, and spaces between words
    bool lower;       // capital ASCII letters become small
};
struct actions *actions_new(const struct sabok_tokenizer *tok); // NULL: out of memory
void actions_free(struct actions *a);
// The block of c; NULL when out of memory.
const struct action *actions_block(const struct sabok_tokenizer *tok, struct actions *a, uint32_t c);
bool actions_possible(const struct sabok_tokenizer *tok);

// ------------------------------------------------------------------------------------------ encode.c
// A word and its ids, kept by the short way. A word is up to 16 bytes, none of them NUL; or up to 15 and their number.
struct cached_word {
    uint64_t low, high;
    uint32_t ids[3];
    uint32_t count; // 0: an empty place
};
#define CACHE_BITS 15
static inline size_t cached_word_place(uint64_t low, uint64_t high) {
    const uint64_t h = (low ^ (high * 0x9e3779b97f4a7c15u)) * 0xd6e8feb86659fd93u;
    return (size_t)((h ^ h >> 29) * 0xbf58476d1ce4e5b9u >> (64 - CACHE_BITS));
}
// A token of the long way: characters [begin, end) of the text.
struct token {
    uint32_t id, begin, end, word;
    size_t text; // where its NUL-ended text begins in `texts`
};
struct cached_segment;
struct token_scratch {
    struct cached_word *cache;       // mapped, so that no entry lies in two cache lines
    struct cached_segment *segments; // of parts longer than a cached_word holds; mapped
    bool stuck; // the last failure was a pattern that took too many steps, not want of memory
    struct units text, part, spare;
    struct spans raw;
    struct pretext pre;
    struct buf bytes, word;
    struct pieces pieces;
    uint32_t *starts; // byte where each character begins, and one more; unused when the text is ASCII
    size_t starts_cap;
    bool ascii;
    struct token *tokens; // of the long way
    size_t token_count, token_cap;
    struct buf texts;
    struct token_ids pair[2]; // of two texts that go together
};
// The long way: everything about the tokens of one text, into s->tokens. False when out of memory.
bool encode_text(const struct sabok_tokenizer *tok, struct token_scratch *s, const char *text, size_t size);
bool scratch_cache(struct token_scratch *s); // makes the cache, once; false when out of memory
static inline size_t scratch_byte(const struct token_scratch *s, uint32_t character) {
    return s->ascii ? character : s->starts[character];
}

// ------------------------------------------------------------------------------------------ segment.c
// Another short way: the text is cut where no step can tell, and the ids of each part are kept.
bool segmenter_make(struct sabok_tokenizer *tok); // false when out of memory
void segmenter_free(struct segmenter *g);
void segment_cache_free(struct token_scratch *s);
enum way { WAY_DONE, WAY_MEMORY, WAY_LONG };
enum way segment_ids(const struct sabok_tokenizer *tok, struct token_scratch *s, struct json_text text,
                     size_t most, struct token_ids *out);

// ------------------------------------------------------------------------------------------ encode_ids.c
// The ids of one text, at most `limit` of them, appended to out: the short way where there is one. False when
// out of memory.
bool encode_ids(const struct sabok_tokenizer *tok, struct token_scratch *s, struct json_text text,
                size_t limit, struct token_ids *out);
bool token_ids_reserve(struct token_ids *t, size_t need);

#endif
