// The vocabulary's hash table. The hash of a string of bytes s is a polynomial in HASH_BASE modulo 2^64, so
// the hash of s[i, j) follows from those of s[0, i) and s[0, j), and the hash of a + b from those of a and b.
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#define HASH_BASE 0x9e3779b97f4a7c15u // odd
#define FILTER_BITS_PER_PIECE 16

// The low bits of the polynomial depend on the low bits of the text only; this spreads all of them over all.
static inline uint64_t hash_spread(uint64_t h) {
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    return h;
}

void vocab_hash(const char *text, size_t size, uint64_t *hashes) {
    uint64_t h = 0;
    hashes[0] = 0;
    for (size_t i = 0; i < size; i++) {
        h = h * HASH_BASE + (unsigned char)text[i] + 1;
        hashes[i + 1] = h;
    }
}

static uint64_t hash_text(const char *text, size_t size) {
    uint64_t h = 0;
    for (size_t i = 0; i < size; i++)
        h = h * HASH_BASE + (unsigned char)text[i] + 1;
    return h;
}

bool vocab_add(struct vocab *v, struct json_text text, uint32_t id, size_t at) {
    size_t end;
    if (!add_ok(v->pool_size, text.size, &end) || !add_ok(end, 1, &end) || end > UINT32_MAX) return false;
    if (end > v->pool_cap && !mem_grow((void **)&v->pool, &v->pool_cap, end, 1)) return false;
    if (v->count == v->cap && !mem_grow((void **)&v->pieces, &v->cap, v->count + 1, sizeof *v->pieces))
        return false;
    memcpy(v->pool + v->pool_size, text.data, text.size);
    v->pool[end - 1] = '\0';
    v->pieces[v->count++] =
        (struct vocab_piece){(uint32_t)v->pool_size, (uint32_t)text.size, id, (uint32_t)at};
    v->pool_size = end;
    v->longest = size_max(v->longest, text.size);
    if (id > v->max_id) v->max_id = id;
    return true;
}

static size_t power_of_two(size_t at_least) {
    size_t n = 64;
    while (n < at_least)
        n *= 2;
    return n;
}

// Puts a piece into the table; a piece of the same spelling that is there already is returned.
static uint32_t slot_fill(struct vocab *v, uint32_t piece) {
    const struct vocab_piece *p = &v->pieces[piece];
    const char *text = v->pool + p->begin;
    const uint64_t hash = hash_text(text, p->size), h = hash_spread(hash), bit = vocab_filter_bit(v, hash);
    v->filter[bit / 64] |= (uint64_t)1 << bit % 64;
    for (size_t i = h & v->slot_mask;; i = (i + 1) & v->slot_mask) {
        struct vocab_slot *slot = &v->slots[i];
        if (slot->piece == 0) {
            *slot = (struct vocab_slot){(uint32_t)(h >> 32), piece + 1};
            return NO_PIECE;
        }
        const struct vocab_piece *other = &v->pieces[slot->piece - 1];
        if (slot->tag == (uint32_t)(h >> 32) && other->size == p->size &&
            memcmp(v->pool + other->begin, text, p->size) == 0) {
            if (!v->later_wins) return slot->piece - 1;
            slot->piece = piece + 1;
            return NO_PIECE;
        }
    }
}

static int compare_ids(const void *a, const void *b) {
    const struct vocab_piece *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : (x->begin > y->begin) - (x->begin < y->begin);
}

// A piece that has the id of an earlier one, or NO_PIECE. False when out of memory.
static bool find_same_id(const struct vocab *v, uint32_t *same) {
    *same = NO_PIECE;
    if (v->max_id / 64 <= v->count) {
        uint64_t *seen = mem_zalloc(((size_t)v->max_id / 64 + 1) * sizeof *seen);
        if (!seen) return false;
        for (size_t i = 0; i < v->count && *same == NO_PIECE; i++) {
            const uint64_t bit = (uint64_t)1 << v->pieces[i].id % 64;
            if (seen[v->pieces[i].id / 64] & bit) *same = (uint32_t)i;
            seen[v->pieces[i].id / 64] |= bit;
        }
        mem_free(seen);
        return true;
    }
    struct vocab_piece *sorted = mem_array(v->count, sizeof *sorted);
    if (!sorted) return false;
    memcpy(sorted, v->pieces, v->count * sizeof *sorted);
    qsort(sorted, v->count, sizeof *sorted, compare_ids);
    for (size_t i = 1; i < v->count && *same == NO_PIECE; i++)
        if (sorted[i].id == sorted[i - 1].id)
            for (size_t k = 0; k < v->count; k++)
                if (v->pieces[k].begin == sorted[i].begin) *same = (uint32_t)k;
    mem_free(sorted);
    return true;
}

bool vocab_build(struct vocab *v, uint32_t *twice, uint32_t *same_id) {
    *twice = NO_PIECE;
    v->slot_mask = power_of_two(v->count * 2) - 1;
    const size_t filter_bits = power_of_two(v->count * FILTER_BITS_PER_PIECE);
    v->filter_shift = (unsigned)__builtin_clzll(filter_bits) + 1;
    v->slots = mem_zalloc((v->slot_mask + 1) * sizeof *v->slots);
    v->filter = mem_zalloc(filter_bits / 8);
    v->powers = mem_array(v->longest + 1, sizeof *v->powers);
    if (!v->slots || !v->filter || !v->powers) return false;
    v->powers[0] = 1;
    for (size_t i = 1; i <= v->longest; i++)
        v->powers[i] = v->powers[i - 1] * HASH_BASE;
    for (size_t i = 0; i < v->count && *twice == NO_PIECE; i++)
        if (slot_fill(v, (uint32_t)i) != NO_PIECE) *twice = (uint32_t)i;
    return find_same_id(v, same_id);
}

void vocab_free(struct vocab *v) {
    mem_free(v->pool);
    mem_free(v->pieces);
    mem_free(v->slots);
    mem_free(v->filter);
    mem_free(v->powers);
    *v = (struct vocab){0};
}

uint32_t vocab_find_hashed(const struct vocab *v, uint64_t hash, const char *head, size_t head_size,
                           const char *text, size_t size) {
    const uint64_t h = hash_spread(hash);
    for (size_t i = h & v->slot_mask; v->slots[i].piece != 0; i = (i + 1) & v->slot_mask) {
        if (v->slots[i].tag != (uint32_t)(h >> 32)) continue;
        const uint32_t piece = v->slots[i].piece - 1;
        const char *found = v->pool + v->pieces[piece].begin;
        if (v->pieces[piece].size == head_size + size && memcmp(found, head, head_size) == 0 &&
            memcmp(found + head_size, text, size) == 0)
            return piece;
    }
    return NO_PIECE;
}

uint32_t vocab_find(const struct vocab *v, const char *text, size_t size) {
    const uint64_t hash = hash_text(text, size);
    return vocab_may_have(v, hash) ? vocab_find_hashed(v, hash, "", 0, text, size) : NO_PIECE;
}
