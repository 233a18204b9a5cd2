// All heap use, counted, with failures on demand; and big blocks in huge pages.
#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define MEM_GUARDED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEM_GUARDED 1
#endif
#endif

#define HUGE_BYTES ((size_t)2 << 20)
#define PAGE_BYTES ((size_t)4096)
#define LINE_BYTES ((size_t)64)
#ifdef MEM_GUARDED
// Blocks from malloc have guards around them under the address sanitizer; mapped ones have none.
#define MAP_THRESHOLD SIZE_MAX
#else
#define MAP_THRESHOLD ((size_t)128 << 10)
#endif

static atomic_uint_fast64_t allocations;
static atomic_int_fast64_t live_blocks;
static atomic_uint_fast64_t fail_in; // allocations until the one that fails, itself included; 0: off
static atomic_bool fail_sticky;

static bool alloc_fails(void) {
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    uint_fast64_t left = atomic_load_explicit(&fail_in, memory_order_relaxed);
    while (left != 0) {
        bool now = left == 1;
        if (now && atomic_load(&fail_sticky)) return true;
        if (atomic_compare_exchange_weak(&fail_in, &left, left - 1)) return now;
    }
    return false;
}

static void *count_block(void *p) {
    if (p) atomic_fetch_add_explicit(&live_blocks, 1, memory_order_relaxed);
    return p;
}

void *mem_alloc(size_t n) {
    if (alloc_fails()) return NULL;
    return count_block(malloc(n ? n : 1));
}

void *mem_zalloc(size_t n) {
    if (alloc_fails()) return NULL;
    return count_block(calloc(1, n ? n : 1));
}

void *mem_array(size_t n, size_t size) {
    size_t bytes;
    return mul_ok(n, size, &bytes) ? mem_alloc(bytes) : NULL;
}

void *mem_realloc(void *p, size_t n) {
    if (!p) return mem_alloc(n);
    if (alloc_fails()) return NULL;
    return realloc(p, n ? n : 1);
}

void mem_free(void *p) {
    if (!p) return;
    atomic_fetch_sub_explicit(&live_blocks, 1, memory_order_relaxed);
    free(p);
}

char *mem_copy_string(const char *s) {
    return mem_copy_bytes(s, strlen(s));
}

char *mem_copy_bytes(const char *s, size_t n) {
    size_t bytes;
    char *copy = add_ok(n, 1, &bytes) ? mem_alloc(bytes) : NULL;
    if (!copy) return NULL;
    if (n) memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

// Pages from the system, aligned to a huge page when they can fill one.
static void *map_pages(size_t bytes) {
    size_t extra = bytes >= HUGE_BYTES ? HUGE_BYTES - PAGE_BYTES : 0, total;
    if (!add_ok(bytes, extra, &total)) return NULL;
    char *raw = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return NULL;
    if (extra == 0) return raw;
    size_t head = round_up((uintptr_t)raw, HUGE_BYTES) - (uintptr_t)raw;
    if (head) munmap(raw, head);
    if (extra > head) munmap(raw + head + bytes, extra - head);
#ifdef MADV_HUGEPAGE
    // A refusal leaves small pages, which work as well.
    (void)madvise(raw + head, bytes, MADV_HUGEPAGE);
#endif
    return raw + head;
}

void *mem_map(size_t n) {
    if (alloc_fails() || n > PTRDIFF_MAX - PAGE_BYTES) return NULL; // no object may be larger
    if (n >= MAP_THRESHOLD) return count_block(map_pages(round_up(n, PAGE_BYTES)));
    size_t bytes = round_up(n ? n : 1, LINE_BYTES);
    void *p = aligned_alloc(LINE_BYTES, bytes);
    if (p) memset(p, 0, bytes);
    return count_block(p);
}

void mem_unmap(void *p, size_t n) {
    if (!p) return;
    if (n < MAP_THRESHOLD) {
        mem_free(p);
        return;
    }
    atomic_fetch_sub_explicit(&live_blocks, 1, memory_order_relaxed);
    munmap(p, round_up(n, PAGE_BYTES));
}

void mem_fail_at(uint64_t k, bool sticky) {
    atomic_store(&fail_sticky, sticky);
    atomic_store(&fail_in, k);
}

uint64_t mem_count(void) {
    return atomic_load_explicit(&allocations, memory_order_relaxed);
}

int64_t mem_live(void) {
    return atomic_load_explicit(&live_blocks, memory_order_relaxed);
}

bool mem_grow(void **items, size_t *cap, size_t need, size_t size) {
    if (need <= *cap) return true;
    size_t n = *cap <= SIZE_MAX / 2 ? size_max(need, *cap * 2) : need, bytes;
    if (n < 8 && size <= SIZE_MAX / 8) n = 8;
    if (!mul_ok(n, size, &bytes)) return false;
    void *grown = mem_realloc(*items, bytes);
    if (!grown) return false;
    *items = grown;
    *cap = n;
    return true;
}
