// Zip archives made by tests and the fuzz target of torch files.
#ifndef TEST_FILE_ARCHIVE_H
#define TEST_FILE_ARCHIVE_H

#include "base/base.h"

#include <string.h>

struct archive_record {
    const char *name;
    const void *data;
    size_t size;
};

static inline void archive_number(struct buf *b, uint64_t x, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        buf_put(b, &(char){(char)(x >> (8 * i) & 0xff)}, 1);
}

// Sizes and offsets go into 64-bit fields when `wide`, as they do in files of more than 4 GiB.
static inline void archive_write(struct buf *b, const struct archive_record *records, size_t n, bool wide) {
    uint64_t at[16];
    const uint64_t narrow = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        at[i] = b->size;
        buf_put(b, "PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 18);
        archive_number(b, records[i].size, 4);
        archive_number(b, records[i].size, 4);
        archive_number(b, strlen(records[i].name), 2);
        archive_number(b, 0, 2);
        buf_put(b, records[i].name, strlen(records[i].name));
        buf_put(b, records[i].data, records[i].size);
    }
    const uint64_t directory = b->size;
    for (size_t i = 0; i < n; i++) {
        buf_put(b, "PK\1\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
        archive_number(b, wide ? narrow : records[i].size, 4);
        archive_number(b, wide ? narrow : records[i].size, 4);
        archive_number(b, strlen(records[i].name), 2);
        archive_number(b, wide ? 33 : 0, 2);
        buf_put(b, "\0\0\0\0\0\0\0\0\0\0", 10);
        archive_number(b, wide ? narrow : at[i], 4);
        buf_put(b, records[i].name, strlen(records[i].name));
        if (!wide) continue;
        buf_put(b, "xx\1\0y\1\0\x18", 8); // another field comes first
        buf_put(b, "\0", 1);
        archive_number(b, records[i].size, 8);
        archive_number(b, records[i].size, 8);
        archive_number(b, at[i], 8);
    }
    const uint64_t end = b->size;
    if (wide) {
        buf_put(b, "PK\6\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
        archive_number(b, n, 8);
        archive_number(b, n, 8);
        archive_number(b, end - directory, 8);
        archive_number(b, directory, 8);
        buf_put(b, "PK\6\7\0\0\0\0", 8);
        archive_number(b, end, 8);
        archive_number(b, 1, 4);
    }
    buf_put(b, "PK\5\6\0\0\0\0", 8);
    archive_number(b, n, 2);
    archive_number(b, n, 2);
    archive_number(b, wide ? narrow : end - directory, 4);
    archive_number(b, wide ? narrow : directory, 4);
    archive_number(b, 0, 2);
}

#endif
