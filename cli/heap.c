// Memory of the command: short memory ends it.
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>

static _Noreturn void heap_fail(void) {
    sink_abandon();
    exit(fail("out of memory"));
}

void *heap_array(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    if (!p) heap_fail();
    return p;
}

void heap_grow(void *items, size_t *cap, size_t need, size_t size) {
    if (need <= *cap) return;
    size_t wanted = *cap > SIZE_MAX / 2 ? need : 2 * *cap;
    if (wanted < need) wanted = need;
    if (wanted < 16) wanted = 16;
    void **place = items;
    void *p = wanted > SIZE_MAX / size ? NULL : realloc(*place, wanted * size);
    if (!p) heap_fail();
    *place = p;
    *cap = wanted;
}

char *heap_format(const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *text = NULL;
    int n = vasprintf(&text, format, list);
    va_end(list);
    if (n < 0) heap_fail();
    return text;
}
