// Any bytes before a NUL as a pattern, and those after it as a text: the pattern is refused, or its matches lie in the text
// and in order, or it gives up. Whatever it is, it ends.
#include "text/regex.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok) {
    if (!ok) abort();
}

static void search(const struct regex *r, const char *text, size_t size) {
    struct spans spans = {0};
    bool stuck = false;
    if (utf8_check(text, size) < size) return; // patterns meet UTF-8 only
    const bool ok = regex_find(r, text, size, &spans, &stuck);
    check(ok || stuck);
    size_t done = 0;
    for (size_t i = 0; ok && i < spans.size; i++) {
        check(spans.items[i].begin >= done && spans.items[i].begin <= spans.items[i].end);
        check(spans.items[i].end <= size && spans.items[i].end - spans.items[i].begin >= regex_least(r));
        done = spans.items[i].end;
    }
    spans_free(&spans);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *stop = size ? memchr(data, 0, size) : NULL;
    const struct json_text pattern = {(const char *)data, stop ? (size_t)(stop - data) : size};
    if (!pattern.data || utf8_check(pattern.data, pattern.size) < pattern.size) return 0;
    const int64_t live = mem_live();
    sabok_error err = {0};
    struct arena arena;
    struct json j;
    arena_init(&arena, 0);
    json_init(&j, pattern.data, pattern.size, "fuzz.json", &arena, &err);
    struct regex *r = regex_make(&j, pattern, false, 0);
    if (r)
        search(r, stop ? (const char *)stop + 1 : "", stop ? size - pattern.size - 1 : 0);
    else
        check(j.failed && strstr(err.message, "fuzz.json"));
    regex_free(r);
    arena_free(&arena);
    check(mem_live() == live);
    return 0;
}
