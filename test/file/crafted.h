// Files and folders made by tests of src/file.
#ifndef TEST_FILE_CRAFTED_H
#define TEST_FILE_CRAFTED_H

#include "file/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

// A file of bytes, allocated to its exact size so that a sanitizer sees every read past its end.
struct crafted {
    uint8_t *data;
    size_t size;
};

static inline struct crafted crafted_bytes(const void *data, size_t size) {
    struct crafted c = {.data = malloc(size ? size : 1), .size = size};
    assert_non_null(c.data);
    if (size) memcpy(c.data, data, size);
    return c;
}

// Header length, header and `data` bytes 0, 1, 2, ...
static inline struct crafted crafted_tensors(const char *header, size_t data) {
    size_t n = strlen(header);
    struct crafted c = {.data = malloc(8 + n + data), .size = 8 + n + data};
    assert_non_null(c.data);
    for (size_t i = 0; i < 8; i++)
        c.data[i] = (uint8_t)((uint64_t)n >> (8 * i));
    memcpy(c.data + 8, header, n);
    for (size_t i = 0; i < data; i++)
        c.data[8 + n + i] = (uint8_t)i;
    return c;
}

static inline void crafted_free(struct crafted *c) {
    free(c->data);
    *c = (struct crafted){0};
}

// A new folder under $TMPDIR or /tmp; static storage, one at a time.
static inline const char *crafted_folder(void) {
    static char path[512];
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/sabok-test-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

static inline const char *crafted_path(const char *folder, const char *name) {
    static char path[4][1024];
    static unsigned next;
    char *out = path[next++ % 4];
    snprintf(out, 1024, "%s/%s", folder, name);
    return out;
}

static inline void crafted_write(const char *folder, const char *name, const void *data, size_t size) {
    FILE *f = fopen(crafted_path(folder, name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static inline void crafted_text(const char *folder, const char *name, const char *text) {
    crafted_write(folder, name, text, strlen(text));
}

static inline void crafted_shard(const char *folder, const char *name, const char *header, size_t data) {
    struct crafted c = crafted_tensors(header, data);
    crafted_write(folder, name, c.data, c.size);
    crafted_free(&c);
}

// The whole file, for comparing.
static inline struct crafted crafted_read(const char *path) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    long size = ftell(f);
    rewind(f);
    struct crafted c = {.data = malloc((size_t)size + 1), .size = (size_t)size};
    assert_non_null(c.data);
    assert_int_equal(fread(c.data, 1, c.size, f), c.size);
    c.data[c.size] = 0;
    fclose(f);
    return c;
}

static inline size_t crafted_count(const char *folder) {
    size_t n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static inline void crafted_remove(const char *folder) {
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        char path[1024];
        struct stat st;
        if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= (int)sizeof path) continue;
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            crafted_remove(path);
        else
            unlink(path);
    }
    closedir(dir);
    rmdir(folder);
}

static inline void assert_contains(const char *text, const char *part) {
    if (strstr(text, part)) return;
    fail_msg("found the message \"%s\", expected \"%s\" in it", text, part);
}

#endif
