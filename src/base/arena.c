// Bump allocation in a chain of blocks, freed at once.
#include "base/base.h"

#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_GUARDED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_GUARDED 1
#endif
#endif
#ifdef ARENA_GUARDED
// Under the address sanitizer every byte that is in no item is forbidden, and items stand apart.
#include <sanitizer/asan_interface.h>
#define ARENA_GAP ((size_t)16)
#else
#define ARENA_GAP ((size_t)0)
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define ARENA_ALIGN ((size_t)16)
#define ARENA_FIRST ((size_t)4 << 10)
#define ARENA_LAST ((size_t)1 << 20)

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    _Alignas(16) unsigned char bytes[];
};

void arena_init(struct arena *a, size_t block_bytes) {
    *a = (struct arena){.block_bytes = block_bytes};
}

static struct arena_block *block_new(size_t size) {
    size_t bytes;
    if (!add_ok(size, sizeof(struct arena_block), &bytes)) return NULL;
    struct arena_block *b = mem_alloc(bytes);
    if (!b) return NULL;
    *b = (struct arena_block){.size = size};
    ASAN_POISON_MEMORY_REGION(b->bytes, size);
    return b;
}

// A block with room for n bytes, in the chain.
static struct arena_block *block_for(struct arena *a, size_t n) {
    struct arena_block *head = a->head;
    if (head && head->size - head->used >= n) return head;
    size_t size = a->block_bytes ? a->block_bytes : ARENA_FIRST;
    struct arena_block *b = block_new(size_max(n, size));
    if (!b) return NULL;
    if (head && n > size / 2) {
        // A big item goes behind the head, whose room stays in use for small ones.
        b->next = head->next;
        head->next = b;
        return b;
    }
    b->next = head;
    a->head = b;
    a->block_bytes = size < ARENA_LAST ? size * 2 : size;
    return b;
}

void *arena_alloc(struct arena *a, size_t n) {
    if (n > SIZE_MAX - ARENA_ALIGN - ARENA_GAP) return NULL;
    size_t room = round_up(n ? n : 1, ARENA_ALIGN) + ARENA_GAP;
    struct arena_block *b = block_for(a, room);
    if (!b) return NULL;
    void *p = b->bytes + b->used;
    b->used += room;
    ASAN_UNPOISON_MEMORY_REGION(p, n);
    return memset(p, 0, n);
}

char *arena_copy(struct arena *a, const char *s, size_t n) {
    size_t bytes;
    char *copy = add_ok(n, 1, &bytes) ? arena_alloc(a, bytes) : NULL;
    if (copy && n) memcpy(copy, s, n);
    return copy;
}

char *arena_printf(struct arena *a, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *text = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
    if (text) vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

static void blocks_free(struct arena_block *b) {
    while (b) {
        struct arena_block *next = b->next;
        mem_free(b);
        b = next;
    }
}

void arena_reset(struct arena *a) {
    if (!a->head) return;
    blocks_free(a->head->next);
    a->head->next = NULL;
    a->head->used = 0;
    ASAN_POISON_MEMORY_REGION(a->head->bytes, a->head->size);
}

void arena_free(struct arena *a) {
    blocks_free(a->head);
    a->head = NULL;
}
