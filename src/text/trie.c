// The pieces of a vocabulary as a trie in two dimensions (Aoe 1989): the child of cell n by byte b lies at base[n] ^ b, and
// says that n is its parent. All pieces that begin at one place of a text are found in one walk, which ends where no
// piece goes on. Where only one piece goes on, its other bytes are not cells: they are compared with the vocabulary's own.
//
// Pieces are sorted, and cells given out depth first: a node's children share a block of 256 cells, one of those
// that were opened last, so that building is linear and the tail of a piece lies in one place.
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 256
#define OPEN_BLOCKS 4 // tried for a node's children

struct trie_key { // a piece, with its first bytes as a number
    uint64_t head;
    const char *text;
    uint32_t size, piece;
};

struct builder {
    struct trie *trie;
    struct trie_key *keys;
    size_t count;
    uint64_t *taken; // a bit for each cell
    size_t taken_cap;
    struct { // ranges of keys whose children are to be made
        uint32_t begin, end, cell, depth;
    } * todo;
    size_t todo_count, todo_cap;
};

// ---------------------------------------------------------------------------------------------- order

static uint64_t head_of(const char *text, size_t size) {
    uint64_t h = 0;
    for (size_t i = 0; i < 8; i++)
        h = h << 8 | (i < size ? (uint8_t)text[i] : 0);
    return h;
}

// By 16 bits at a time, the last first.
static bool sort_heads(struct trie_key *keys, size_t n) {
    struct trie_key *from = keys, *to = mem_array(size_max(n, 1), sizeof *to), *const spare = to;
    uint32_t *at = mem_array(65537, sizeof *at);
    const bool ok = to && at;
    for (unsigned shift = 0; ok && shift < 64; shift += 16) {
        memset(at, 0, 65537 * sizeof *at);
        for (size_t i = 0; i < n; i++)
            at[(from[i].head >> shift & 0xffff) + 1]++;
        for (size_t i = 0; i < 65536; i++)
            at[i + 1] += at[i];
        for (size_t i = 0; i < n; i++)
            to[at[from[i].head >> shift & 0xffff]++] = from[i];
        struct trie_key *const swap = from;
        from = to;
        to = swap;
    }
    mem_free(spare); // after four turns all is back in `keys`
    mem_free(at);
    return ok;
}

static int compare_keys(const void *a, const void *b) {
    const struct trie_key *x = a, *y = b;
    const int order = memcmp(x->text, y->text, size_min(x->size, y->size));
    if (order) return order;
    return x->size != y->size ? (x->size > y->size) - (x->size < y->size)
                              : (x->piece > y->piece) - (x->piece < y->piece);
}

static bool sort_keys(struct builder *b) {
    if (!sort_heads(b->keys, b->count)) return false;
    for (size_t i = 0, end; i < b->count; i = end) {
        for (end = i + 1; end < b->count && b->keys[end].head == b->keys[i].head;)
            end++;
        if (end - i > 1) qsort(b->keys + i, end - i, sizeof *b->keys, compare_keys);
    }
    return true;
}

// ---------------------------------------------------------------------------------------------- cells

static bool open_block(struct builder *b) {
    struct trie *t = b->trie;
    const size_t count = t->count + BLOCK;
    if (count > UINT32_MAX / 2) return false;
    if (count > t->cap && !mem_grow((void **)&t->cells, &t->cap, count, sizeof *t->cells)) return false;
    if (count / 64 > b->taken_cap &&
        !mem_grow((void **)&b->taken, &b->taken_cap, count / 64, sizeof *b->taken))
        return false;
    for (size_t i = t->count; i < count; i++)
        t->cells[i] = (struct trie_cell){.piece = NO_PIECE};
    memset(b->taken + t->count / 64, 0, BLOCK / 8);
    t->count = count;
    return true;
}

static inline bool is_taken(const struct builder *b, size_t cell) {
    return b->taken[cell / 64] >> cell % 64 & 1;
}

// A base in the block at which all the children find free cells; false: none.
static bool base_in_block(const struct builder *b, size_t block, const uint8_t *bytes, size_t n,
                          uint32_t *base) {
    for (size_t word = 0; word < BLOCK / 64; word++)
        for (uint64_t free = ~b->taken[block / 64 + word]; free; free &= free - 1) {
            const size_t cell = block + word * 64 + (size_t)__builtin_ctzll(free), at = cell ^ bytes[0];
            size_t i = 1;
            while (i < n && !is_taken(b, at ^ bytes[i]))
                i++;
            if (i < n) continue;
            *base = (uint32_t)at;
            return true;
        }
    return false;
}

static bool find_base(struct builder *b, const uint8_t *bytes, size_t n, uint32_t *base) {
    const size_t blocks = b->trie->count / BLOCK;
    for (size_t i = blocks > OPEN_BLOCKS ? blocks - OPEN_BLOCKS : 0; i < blocks; i++)
        if (base_in_block(b, i * BLOCK, bytes, n, base)) return true;
    return open_block(b) && base_in_block(b, blocks * BLOCK, bytes, n, base);
}

static bool todo_push(struct builder *b, size_t begin, size_t end, size_t cell, size_t depth) {
    if (b->todo_count == b->todo_cap &&
        !mem_grow((void **)&b->todo, &b->todo_cap, b->todo_count + 1, sizeof *b->todo))
        return false;
    b->todo[b->todo_count].begin = (uint32_t)begin;
    b->todo[b->todo_count].end = (uint32_t)end;
    b->todo[b->todo_count].cell = (uint32_t)cell;
    b->todo[b->todo_count++].depth = (uint32_t)depth;
    return true;
}

static inline uint8_t key_byte(const struct trie_key *k, size_t depth) {
    return depth < 8 ? (uint8_t)(k->head >> (56 - 8 * depth)) : (uint8_t)k->text[depth];
}

// The children of a cell, whose keys [begin, end) share `depth` bytes.
static bool add_children(struct builder *b, size_t begin, size_t end, size_t cell, size_t depth) {
    struct trie *t = b->trie;
    uint8_t bytes[256];
    size_t begins[257], n = 0;
    for (; begin < end && b->keys[begin].size == depth; begin++)
        t->cells[cell].piece = b->keys[begin].piece; // of pieces spelt alike the last one counts
    for (size_t i = begin; i < end; i++) {
        const uint8_t byte = key_byte(&b->keys[i], depth);
        if (n && bytes[n - 1] == byte) continue;
        bytes[n] = byte;
        begins[n++] = i;
    }
    begins[n] = end;
    if (n == 0) return true;
    if (end - begin == 1 && t->cells[cell].piece == NO_PIECE && cell != 0) {
        t->cells[cell].base = bytes[0];
        t->cells[cell].piece = b->keys[begin].piece | TRIE_TAIL;
        return true;
    }
    uint32_t base;
    if (!find_base(b, bytes, n, &base)) return false;
    t->cells[cell].base = base;
    for (size_t i = n; i-- > 0;) {
        const size_t child = base ^ bytes[i];
        b->taken[child / 64] |= (uint64_t)1 << child % 64;
        t->cells[child].parent = (uint32_t)cell + 1;
        if (!todo_push(b, begins[i], begins[i + 1], child, depth + 1)) return false;
    }
    return true;
}

bool trie_build(struct trie *t, const struct vocab *v) {
    struct builder b = {.trie = t};
    b.keys = mem_array(size_max(v->count, 1), sizeof *b.keys);
    if (!b.keys) return false;
    for (size_t i = 0; i < v->count; i++) {
        const struct vocab_piece *p = &v->pieces[i];
        const char *text = v->pool + p->begin;
        if (p->size > 0 && p->size <= TRIE_BYTES)
            b.keys[b.count++] = (struct trie_key){head_of(text, p->size), text, p->size, (uint32_t)i};
    }
    bool ok = sort_keys(&b) && open_block(&b);
    if (ok) b.taken[0] |= 1; // the root
    ok = ok && (b.count == 0 || todo_push(&b, 0, b.count, 0, 0));
    while (ok && b.todo_count) {
        b.todo_count--;
        ok = add_children(&b, b.todo[b.todo_count].begin, b.todo[b.todo_count].end, b.todo[b.todo_count].cell,
                          b.todo[b.todo_count].depth);
    }
    mem_free(b.keys);
    mem_free(b.taken);
    mem_free(b.todo);
    return ok;
}

void trie_free(struct trie *t) {
    mem_free(t->cells);
    *t = (struct trie){0};
}
