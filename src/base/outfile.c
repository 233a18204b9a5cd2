// Files to write: under a temporary name until all of it is on the disk, then under the final one.
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUT_BUFFER ((size_t)256 << 10)
#define OUT_TRIES 16
#define NAME_KEPT 200 // of the final name in the temporary one, which must stay under NAME_MAX

struct out_file {
    int fd;
    size_t used;      // of the buffer
    uint64_t written; // bytes taken, buffered ones included
    char path[PATH_MAX], temp[PATH_MAX + 64];
    const char *name;  // the caller's, for errors
    sabok_error error; // the first failure; code 0: none
    unsigned char buffer[OUT_BUFFER];
};

static atomic_uint_fast64_t fail_in;
static atomic_int fail_error;

void out_fail_at(uint64_t k, int error_number) {
    atomic_store(&fail_error, error_number);
    atomic_store(&fail_in, k);
}

// True when the system call about to be made is the one to fail.
static bool call_fails(void) {
    uint_fast64_t left = atomic_load(&fail_in);
    while (left != 0)
        if (atomic_compare_exchange_weak(&fail_in, &left, left - 1)) return left == 1;
    return false;
}

static ssize_t call_write(int fd, const void *data, size_t n, off_t at) {
    if (call_fails()) {
        errno = atomic_load(&fail_error);
        if (errno != 0) return -1;
        n = (n + 1) / 2; // a short write
    }
    return at < 0 ? write(fd, data, n) : pwrite(fd, data, n, at);
}

static int call_sync(int fd) {
    if (call_fails() && (errno = atomic_load(&fail_error)) != 0) return -1;
    return fsync(fd);
}

static int call_rename(const char *from, const char *to) {
    if (call_fails() && (errno = atomic_load(&fail_error)) != 0) return -1;
    return rename(from, to);
}

// `at` < 0: at the end.
static int write_all(int fd, const void *data, size_t n, off_t at) {
    const char *p = data;
    while (n > 0) {
        ssize_t done = call_write(fd, p, size_min(n, (size_t)1 << 30), at);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return -1;
        p += done;
        n -= (size_t)done;
        if (at >= 0) at += done;
    }
    return 0;
}

static int sync_all(int fd) {
    int rc;
    do
        rc = call_sync(fd);
    while (rc != 0 && errno == EINTR);
    return rc;
}

static int rename_all(const char *from, const char *to) {
    int rc;
    do
        rc = call_rename(from, to);
    while (rc != 0 && errno == EINTR);
    return rc;
}

// Bytes of `path` up to and with the last slash.
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

// The file to replace: links are followed, so that the link stays and its target is written; *mode is that of
// the file replaced, 0 when there is none.
static sabok_status target_find(struct out_file *f, const char *path, mode_t *mode, sabok_error *err) {
    struct stat st;
    *mode = 0;
    if (stat(path, &st) == 0) {
        if (!S_ISREG(st.st_mode))
            return error_set(err, SABOK_EIO, path, "is there and is no regular file: not replaced");
        if (!realpath(path, f->path) || access(path, W_OK) != 0)
            return error_errno(err, path, "cannot write");
        *mode = st.st_mode & 0777;
        return SABOK_OK;
    }
    if (errno != ENOENT) return error_errno(err, path, "cannot write");
    size_t n = strlen(path);
    if (n == 0 || path[n - 1] == '/')
        return error_set(err, SABOK_EINVAL, path, "expected the name of a file to write");
    if (n >= sizeof f->path) {
        errno = ENAMETOOLONG;
        return error_errno(err, path, "cannot write");
    }
    memcpy(f->path, path, n + 1);
    return SABOK_OK;
}

static sabok_status temp_open(struct out_file *f, const char *path, mode_t mode, sabok_error *err) {
    size_t folder = folder_length(f->path);
    static atomic_uint_fast64_t serial;
    for (int i = 0; i < OUT_TRIES; i++) {
        uint64_t random = (uint64_t)(clock_seconds() * 1e9) + atomic_fetch_add(&serial, 1);
        (void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
        snprintf(f->temp, sizeof f->temp, "%.*s%.*s.tmp-%ld-%016llx", (int)folder, f->path, NAME_KEPT,
                 f->path + folder, (long)getpid(), (unsigned long long)random);
        f->fd = open(f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (f->fd >= 0) {
            // The access rights of the file replaced are kept where the system allows it.
            if (mode) (void)!fchmod(f->fd, mode);
            return SABOK_OK;
        }
        if (errno != EEXIST && errno != EINTR) break;
    }
    return error_errno(err, path, "cannot create");
}

struct out_file *out_open(const char *path, sabok_error *err) {
    struct out_file *f = mem_alloc(sizeof *f);
    char *name = mem_copy_string(path);
    mode_t mode;
    if (!f || !name) {
        error_memory(err, path);
    } else {
        f->fd = -1;
        f->used = 0;
        f->written = 0;
        f->name = name;
        f->error.code = SABOK_OK;
        if (target_find(f, path, &mode, err) == SABOK_OK && temp_open(f, path, mode, err) == SABOK_OK)
            return f;
    }
    mem_free(name);
    mem_free(f);
    return NULL;
}

// Keeps the first failure, so that a later commit cannot succeed, and reports it.
static sabok_status out_failed(struct out_file *f, const char *what, sabok_error *err) {
    if (f->error.code == SABOK_OK) error_errno(&f->error, f->name, what);
    if (err) *err = f->error;
    return f->error.code;
}

static sabok_status out_flush(struct out_file *f, sabok_error *err) {
    size_t n = f->used;
    f->used = 0;
    return write_all(f->fd, f->buffer, n, -1) == 0 ? SABOK_OK : out_failed(f, "cannot write", err);
}

sabok_status out_write(struct out_file *f, const void *data, size_t n, sabok_error *err) {
    if (f->error.code != SABOK_OK) return out_failed(f, "", err);
    if (n > OUT_BUFFER - f->used) {
        TRY(out_flush(f, err));
        if (n >= OUT_BUFFER) {
            if (write_all(f->fd, data, n, -1) != 0) return out_failed(f, "cannot write", err);
            f->written += n;
            return SABOK_OK;
        }
    }
    if (n) memcpy(f->buffer + f->used, data, n);
    f->used += n;
    f->written += n;
    return SABOK_OK;
}

sabok_status out_patch(struct out_file *f, uint64_t offset, const void *data, size_t n, sabok_error *err) {
    ASSERT(offset <= f->written && n <= f->written - offset);
    if (f->error.code != SABOK_OK) return out_failed(f, "", err);
    TRY(out_flush(f, err));
    if (write_all(f->fd, data, n, (off_t)offset) != 0) return out_failed(f, "cannot write", err);
    return SABOK_OK;
}

// Makes the new name itself durable. Filesystems that cannot sync a folder say EINVAL.
static sabok_status folder_sync(struct out_file *f, sabok_error *err) {
    size_t folder = folder_length(f->path);
    f->path[folder] = '\0';
    int fd = open(folder ? f->path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return SABOK_OK; // a folder may be writable and yet not readable
    sabok_status status = SABOK_OK;
    if (sync_all(fd) != 0 && errno != EINVAL) status = out_failed(f, "cannot sync the folder", err);
    close(fd);
    return status;
}

static sabok_status out_commit(struct out_file *f, sabok_error *err) {
    if (f->error.code != SABOK_OK) return out_failed(f, "", err);
    TRY(out_flush(f, err));
    if (sync_all(f->fd) != 0) return out_failed(f, "cannot sync", err);
    int rc = close(f->fd);
    f->fd = -1;
    if (rc != 0 && errno != EINTR) return out_failed(f, "cannot close", err);
    if (rename_all(f->temp, f->path) != 0) return out_failed(f, "cannot rename", err);
    f->temp[0] = '\0';
    return folder_sync(f, err);
}

sabok_status out_close(struct out_file *f, bool commit, sabok_error *err) {
    sabok_status status = commit ? out_commit(f, err) : SABOK_OK;
    if (f->fd >= 0) close(f->fd);
    if (f->temp[0]) unlink(f->temp);
    mem_free((void *)(uintptr_t)f->name);
    mem_free(f);
    return status;
}
