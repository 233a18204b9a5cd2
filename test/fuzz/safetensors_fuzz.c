// The safetensors reader over any bytes: a file that is read satisfies the rules when they are checked again
// in another way, and its header alone gets the same verdict.
#include "file/file.h"

#include <stdlib.h>
#include <string.h>

#define REQUIRE(x)                                                                                           \
    do {                                                                                                     \
        if (!(x)) abort();                                                                                   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t header_length(const uint8_t *data) {
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--)
        n = n << 8 | data[i];
    return n;
}

static void check_tensors(const struct safetensors *s, const uint8_t *data, size_t size) {
    uint64_t next = 8 + header_length(data);
    volatile uint8_t sink = 0;
    for (size_t i = 0; i < safetensors_count(s); i++) {
        const struct tensor_entry *e = safetensors_get(s, i);
        REQUIRE(e->begin == next && e->data == data + e->begin);
        uint64_t items = 1;
        for (size_t d = 0; d < e->rank; d++)
            items *= e->dims[d];
        REQUIRE(items * dtype_bytes(e->dtype) == e->bytes && e->bytes <= size);
        for (uint64_t b = 0; b < e->bytes; b++)
            sink ^= e->data[b];
        const struct tensor_entry *found = safetensors_find(s, e->name);
        REQUIRE(found == e);
        next += e->bytes;
    }
    REQUIRE(next == size);
    (void)sink;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t live = mem_live();
    sabok_error err = {0}, again = {0};
    struct safetensors *s = safetensors_parse(data, size, "fuzz", &err);
    if (s) {
        check_tensors(s, data, size);
        (void)safetensors_metadata(s, "format");
        safetensors_close(s);
    } else {
        REQUIRE(err.code != SABOK_OK && strncmp(err.message, "fuzz: ", 6) == 0);
        REQUIRE(!strchr(err.message, '\n'));
    }
    if (size >= 8 && header_length(data) <= size - 8) {
        // The data is left out: the verdict must not depend on it.
        size_t header = 8 + (size_t)header_length(data);
        uint8_t *copy = malloc(header);
        REQUIRE(copy != NULL);
        memcpy(copy, data, header);
        REQUIRE(safetensors_check(copy, size, "fuzz", &again) == err.code);
        REQUIRE(strcmp(again.message, err.message) == 0);
        free(copy);
    }
    REQUIRE(mem_live() == live);
    return 0;
}
