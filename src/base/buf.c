// A growing byte buffer. After running out of memory it stays failed and takes nothing more.
#include "base/base.h"

#include <string.h>

// Room for n more bytes and a NUL.
static bool buf_reserve(struct buf *b, size_t n) {
    size_t need;
    if (b->failed) return false;
    if (!add_ok(b->size, n, &need) || !add_ok(need, 1, &need) ||
        !mem_grow((void **)&b->data, &b->cap, need, 1)) {
        b->failed = true;
        return false;
    }
    return true;
}

void buf_put(struct buf *b, const void *data, size_t n) {
    if (!buf_reserve(b, n)) return;
    if (n) memcpy(b->data + b->size, data, n);
    b->size += n;
    b->data[b->size] = '\0';
}

void buf_printf(struct buf *b, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n < 0) {
        b->failed = true;
    } else if (buf_reserve(b, (size_t)n)) {
        vsnprintf(b->data + b->size, (size_t)n + 1, format, again);
        b->size += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void buf_free(struct buf *b) {
    mem_free(b->data);
    *b = (struct buf){0};
}
