// A temporary folder for one test.
#ifndef TEST_BASE_FOLDER_H
#define TEST_BASE_FOLDER_H

#include "base/check.h"

#include <dirent.h>
#include <unistd.h>

#define FOLDER_PATH 512
struct folder {
    char path[256];
};

static inline void folder_make(struct folder *f) {
    const char *base = getenv("TMPDIR");
    snprintf(f->path, sizeof f->path, "%s/sabok-test-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(f->path));
}

static inline const char *folder_join(const struct folder *f, const char *name, char out[FOLDER_PATH]) {
    assert_true(snprintf(out, FOLDER_PATH, "%s/%s", f->path, name) < FOLDER_PATH);
    return out;
}

// How many entries it holds.
static inline size_t folder_count(const struct folder *f) {
    size_t n = 0;
    DIR *dir = opendir(f->path);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static inline void folder_put(const struct folder *f, const char *name, const void *data, size_t n) {
    char path[FOLDER_PATH];
    FILE *out = fopen(folder_join(f, name, path), "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(data, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
}

// Removes the folder and the files in it.
static inline void folder_remove(const struct folder *f) {
    char path[FOLDER_PATH];
    DIR *dir = opendir(f->path);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            int n = snprintf(path, sizeof path, "%s/%s", f->path, e->d_name);
            assert_true(n > 0 && n < (int)sizeof path);
            if (unlink(path) != 0) rmdir(path);
        }
    closedir(dir);
    assert_int_equal(rmdir(f->path), 0);
}

#endif
