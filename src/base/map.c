// Files to read: mapped, or read into memory.
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *mode_noun(mode_t mode) {
    if (S_ISDIR(mode)) return "a folder";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    return "a special file";
}

// Opens a regular file. O_NONBLOCK, because opening a pipe that nobody writes to would wait for ever.
static sabok_status regular_open(const char *path, int *fd, uint64_t *size, sabok_error *err) {
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0) return error_errno(err, path, "cannot open");
    struct stat st;
    if (fstat(*fd, &st) != 0) {
        sabok_status status = error_errno(err, path, "cannot stat");
        close(*fd);
        return status;
    }
    if (!S_ISREG(st.st_mode)) {
        close(*fd);
        return error_set(err, SABOK_EIO, path, "is %s, expected a regular file", mode_noun(st.st_mode));
    }
    *size = (uint64_t)st.st_size;
    return SABOK_OK;
}

// Reads up to n bytes; *done is how many there were.
static sabok_status read_all(int fd, const char *path, void *out, size_t n, size_t *done, sabok_error *err) {
    *done = 0;
    while (*done < n) {
        ssize_t got = read(fd, (char *)out + *done, size_min(n - *done, (size_t)1 << 30));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return error_errno(err, path, "cannot read");
        if (got == 0) break;
        *done += (size_t)got;
    }
    return SABOK_OK;
}

static sabok_status map_read(struct file_map *map, int fd, const char *path, sabok_error *err) {
    void *block = mem_map(map->size);
    if (!block) return error_memory(err, path);
    size_t done;
    sabok_status status = read_all(fd, path, block, map->size, &done, err);
    if (status == SABOK_OK && done < map->size)
        status = error_at(err, SABOK_EIO, path, done, "the file ended here, expected %zu bytes", map->size);
    if (status != SABOK_OK) {
        mem_unmap(block, map->size);
        return status;
    }
    map->data = block;
    return SABOK_OK;
}

sabok_status map_open(struct file_map *map, const char *path, bool read, sabok_error *err) {
    *map = (struct file_map){0};
    int fd;
    uint64_t size = 0;
    TRY(regular_open(path, &fd, &size, err));
    struct file_map m = {.data = (const uint8_t *)"", .size = (size_t)size};
    sabok_status status = SABOK_OK;
    if (size > SIZE_MAX / 2) {
        status = error_set(err, SABOK_EUNSUPPORTED, path, "%llu bytes are more than can be mapped",
                           (unsigned long long)size);
    } else if (size > 0) {
        void *p = read ? MAP_FAILED : mmap(NULL, m.size, PROT_READ, MAP_PRIVATE, fd, 0);
        m.mapped = p != MAP_FAILED;
        if (m.mapped)
            m.data = p;
        else
            status = map_read(&m, fd, path, err);
    }
    close(fd);
    if (status == SABOK_OK) *map = m;
    return status;
}

void map_close(struct file_map *map) {
    if (map->size > 0) {
        if (map->mapped)
            munmap((void *)(uintptr_t)map->data, map->size);
        else
            mem_unmap((void *)(uintptr_t)map->data, map->size);
    }
    *map = (struct file_map){0};
}

void map_drop(const struct file_map *map, size_t begin, size_t end) {
    if (end > map->size) end = map->size;
    if (begin >= end) return;
    // Whole pages only: the bytes beside the range, on the same pages, may still be needed.
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), base = (uintptr_t)map->data;
    uintptr_t from = (base + begin + page - 1) / page * page, to = (base + end) / page * page;
    if (from < to) (void)madvise((void *)from, to - from, MADV_DONTNEED);
}

sabok_status file_read(const char *path, size_t limit, char **out, size_t *size, sabok_error *err) {
    int fd;
    uint64_t length = 0;
    TRY(regular_open(path, &fd, &length, err));
    size_t bytes = 0;
    char *text = NULL;
    sabok_status status = SABOK_OK;
    if (length > limit || !add_ok((size_t)length, 1, &bytes))
        status = error_set(err, SABOK_EFORMAT, path, "%llu bytes, expected at most %zu",
                           (unsigned long long)length, limit);
    else if (!(text = mem_alloc(bytes)))
        status = error_memory(err, path);
    else
        status = read_all(fd, path, text, (size_t)length, size, err);
    close(fd);
    if (status != SABOK_OK) {
        mem_free(text);
        return status;
    }
    text[*size] = '\0';
    *out = text;
    return SABOK_OK;
}

bool file_exists(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}
