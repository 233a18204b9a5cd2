// Any bytes: base's reader and jansson give the same verdict and the same values (differences that are meant:
// test/base/json_oracle.h), and what is read can be written and read again.
#include "base/json_oracle.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Every string of an accepted text must survive the writer.
static void strings_survive(const char *text, size_t size) {
    char *out = malloc(6 * size + 3);
    if (!out) return;
    size_t n = sabok_format_json_string(text, size, out, 6 * size + 3);
    struct arena arena;
    arena_init(&arena, 0);
    struct json j;
    struct json_text back;
    json_init(&j, out, n, "written", &arena, NULL);
    if (!json_string(&j, &back) || !json_end(&j)) abort();
    // Where the bytes were UTF-8, the second text equals the first; else it is stable from then on.
    char *again = malloc(n + 1);
    if (again &&
        (sabok_format_json_string(back.data, back.size, again, n + 1) != n || memcmp(out, again, n) != 0))
        abort();
    free(again);
    arena_free(&arena);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bool accepted;
    const char *problem = oracle_compare((const char *)data, size, &accepted);
    if (problem) {
        fprintf(stderr, "%s\n", problem);
        abort();
    }
    strings_survive((const char *)data, size);
    return 0;
}
