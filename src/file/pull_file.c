// pull_file: one file from the hub to its place. What has been received lies in a file of its own, "ETAG.incomplete", until
// it is whole and checked; a lock keeps others from writing it at the same time. The steps that others see are renames.
#include "file/hub.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_POLL_MS 50
#define METADATA_MAX 1024
#define SHA_DIGITS 64

// ---- folders and locks

sabok_status pull_make_parents(const char *path, sabok_error *err) {
    char *copy = mem_copy_string(path);
    if (!copy) return error_memory(err, path);
    sabok_status status = SABOK_OK;
    for (char *at = copy + 1; status == SABOK_OK && (at = strchr(at, '/')); at++) {
        *at = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST && !file_exists(copy))
            status = error_errno(err, copy, "cannot make the folder");
        *at = '/';
    }
    mem_free(copy);
    return status;
}

// Waits for the lock that huggingface_hub takes too: flock on a file of this name. A lock file that was removed meanwhile
// locks nothing; then it is made anew.
static sabok_status lock_take(struct hub *hub, const char *path, int *fd, sabok_error *err) {
    TRY(pull_make_parents(path, err));
    for (;;) {
        *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (*fd < 0) return error_errno(err, path, "cannot open the lock");
        struct stat st;
        if (flock(*fd, LOCK_EX | LOCK_NB) == 0) {
            if (fstat(*fd, &st) == 0 && st.st_nlink > 0) return SABOK_OK;
            close(*fd);
            continue;
        }
        const bool taken = errno == EWOULDBLOCK || errno == EINTR;
        const sabok_status status = taken ? SABOK_OK : error_errno(err, path, "cannot lock");
        close(*fd);
        if (!taken) return status;
        if (hub_stop(hub)) return error_set(err, SABOK_ECANCELED, path, "stopped");
        nanosleep(&(struct timespec){.tv_nsec = LOCK_POLL_MS * 1000000L}, NULL);
    }
}

// ---- receiving

struct receipt {
    struct hub *hub;
    const char *path; // of the incomplete file
    int fd;
    uint64_t held; // bytes in it
    bool sized, started;
    uint64_t size; // of the whole
};

static sabok_status receipt_cut(struct receipt *r, sabok_error *err) {
    if (ftruncate(r->fd, 0) != 0) return error_errno(err, r->path, "cannot cut");
    r->hub->done -= r->held;
    r->held = 0;
    return SABOK_OK;
}

static sabok_status receipt_prepare(struct http_request *q, sabok_error *err) {
    struct receipt *r = q->ctx;
    if (r->sized && r->held > r->size) TRY(receipt_cut(r, err));
    q->from = r->held;
    r->started = false;
    return SABOK_OK;
}

static sabok_status receipt_start(struct receipt *r, const struct http_reply *reply, sabok_error *err) {
    r->started = true;
    if (reply->status == 200 && r->held > 0) TRY(receipt_cut(r, err));
    if (reply->status == 206 && reply->first != r->held)
        return error_set(err, SABOK_EFORMAT, r->path,
                         "the server sent another part than the one from byte %llu",
                         (unsigned long long)r->held);
    return SABOK_OK;
}

static sabok_status receipt_take(void *ctx, const struct http_reply *reply, const void *data, size_t n,
                                 sabok_error *err) {
    struct receipt *r = ctx;
    if (!r->started) TRY(receipt_start(r, reply, err));
    if (r->sized && n > r->size - r->held)
        return error_set(err, SABOK_EFORMAT, r->path, "the server sends more than the file's %llu bytes",
                         (unsigned long long)r->size);
    const char *from = data;
    while (n > 0) {
        const ssize_t wrote = pwrite(r->fd, from, n, (off_t)r->held);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return error_errno(err, r->path, "cannot write");
        from += wrote;
        n -= (size_t)wrote;
        r->held += (uint64_t)wrote;
        r->hub->done += (uint64_t)wrote;
    }
    return SABOK_OK;
}

static sabok_status receive(struct receipt *r, const char *url, sabok_error *err) {
    struct http_request q = {.url = url, .body = receipt_take, .ctx = r};
    struct http_reply reply;
    TRY(hub_ask(r->hub, &q, receipt_prepare, 416, &reply, err));
    if (reply.status != 416) return SABOK_OK;
    // What is held reaches to the end of the file, or beyond it.
    TRY(receipt_cut(r, err));
    return hub_ask(r->hub, &q, receipt_prepare, 0, &reply, err);
}

// ---- checking

struct expected {
    const char *etag;
    const char *sha256; // NULL: not said
    bool sized;
    uint64_t size;
};

static void hex_of(const uint8_t *bytes, size_t n, char *out) {
    for (size_t i = 0; i < n; i++)
        sprintf(out + 2 * i, "%02x", bytes[i]);
}

static sabok_status check_file(const char *path, const struct expected *x, const char *name,
                               sabok_error *err) {
    struct file_map map;
    TRY(map_open(&map, path, false, err));
    sabok_status status = SABOK_OK;
    if (x->sized && map.size != x->size)
        status = error_set(err, SABOK_EFORMAT, name, "received %zu bytes, expected %llu", map.size,
                           (unsigned long long)x->size);
    if (status == SABOK_OK && x->sha256) {
        uint8_t digest[SHA_DIGITS / 2];
        char hex[SHA_DIGITS + 1];
        sha256(map.data, map.size, digest);
        hex_of(digest, sizeof digest, hex);
        if (strcmp(hex, x->sha256) != 0)
            status = error_set(err, SABOK_EFORMAT, name, "received bytes of sha256 %s, expected %s", hex,
                               x->sha256);
    }
    map_close(&map);
    return status;
}

// Fetches what is missing of the incomplete file and moves it to its place.
static sabok_status fetch(struct pull *p, const struct hub_file *file, const struct expected *x,
                          const char *part, const char *place, sabok_error *err) {
    TRY(pull_make_parents(part, err));
    struct receipt r = {.hub = &p->hub, .path = part, .sized = x->sized, .size = x->size};
    r.fd = open(part, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    struct stat st;
    if (r.fd < 0) return error_errno(err, part, "cannot create");
    if (fstat(r.fd, &st) == 0) r.held = (uint64_t)st.st_size;
    p->hub.done += r.held;
    char *url = hub_file_url(&p->hub, p->listing.commit, file->path);
    sabok_status status = url ? SABOK_OK : error_memory(err, part);
    if (status == SABOK_OK && !(x->sized && r.held == x->size)) status = receive(&r, url, err);
    if (status == SABOK_OK && fsync(r.fd) != 0) status = error_errno(err, part, "cannot sync");
    close(r.fd);
    if (status == SABOK_OK) {
        status = check_file(part, x, file->path, err);
        // Wrong bytes are no use to a later pull.
        if (status != SABOK_OK) unlink(part);
    }
    if (status == SABOK_OK) status = pull_make_parents(place, err);
    if (status == SABOK_OK && rename(part, place) != 0) status = error_errno(err, place, "cannot rename");
    mem_free(url);
    return status;
}

// What the hub says of a file: its etag is to be its name.
static sabok_status describe(struct pull *p, const struct hub_file *file, struct http_reply *reply,
                             struct expected *x, sabok_error *err) {
    char *url = hub_file_url(&p->hub, p->listing.commit, file->path);
    if (!url) return error_memory(err, file->path);
    struct http_request q = {.url = url, .head = true};
    sabok_status status = hub_ask(&p->hub, &q, NULL, 0, reply, err);
    char shown[QUOTE_TEXT];
    const size_t n = strspn(reply->etag, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-");
    if (status == SABOK_OK && strcmp(reply->commit, p->listing.commit) != 0)
        status =
            error_set(err, SABOK_EFORMAT, url, "X-Repo-Commit is '%s', expected %s: is HF_ENDPOINT a hub?",
                      quote_text(reply->commit, strlen(reply->commit), shown), p->listing.commit);
    if (status == SABOK_OK && (n == 0 || reply->etag[n] || n > 200))
        status = error_set(err, SABOK_EFORMAT, url, "found the etag '%s', expected one of letters and digits",
                           quote_text(reply->etag, strlen(reply->etag), shown));
    mem_free(url);
    if (status != SABOK_OK) return status;
    *x = (struct expected){.etag = reply->etag,
                           .sha256 = file->sha256                          ? file->sha256
                                     : hub_hex_ok(reply->etag, SHA_DIGITS) ? reply->etag
                                                                           : NULL,
                           .sized = reply->sized || file->sized,
                           .size = reply->sized ? reply->size : file->size};
    return SABOK_OK;
}

// ---- into the cache

static bool has_size(const char *path, const struct expected *x) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (!x->sized || (uint64_t)st.st_size == x->size);
}

// snapshots/COMMIT/a/b -> ../../../blobs/ETAG
static sabok_status link_blob(const char *pointer, const char *path, const char *etag, sabok_error *err) {
    struct buf target = {0};
    buf_printf(&target, "../../");
    for (const char *c = path; *c; c++)
        if (*c == '/') buf_printf(&target, "../");
    buf_printf(&target, "blobs/%s", etag);
    char *other = hub_path("%s.%ld.link", pointer, (long)getpid());
    sabok_status status =
        target.failed || !other ? error_memory(err, pointer) : pull_make_parents(pointer, err);
    // Under another name first: what is there now may be a link that leads nowhere, and others may be reading.
    if (status == SABOK_OK) {
        unlink(other);
        if (symlink(target.data, other) != 0 || rename(other, pointer) != 0)
            status = error_errno(err, pointer, "cannot link");
    }
    mem_free(other);
    buf_free(&target);
    return status;
}

static sabok_status cache_place(struct pull *p, const struct hub_file *file, const struct expected *x,
                                const char *pointer, sabok_error *err) {
    char *blob = hub_path("%s/blobs/%s", p->storage, x->etag);
    char *part = hub_path("%s/blobs/%s.incomplete", p->storage, x->etag);
    char *lock = hub_path("%s/.locks/%s/%s.lock", p->cache, strrchr(p->storage, '/') + 1, x->etag);
    int fd = -1;
    sabok_status status =
        blob && part && lock ? lock_take(&p->hub, lock, &fd, err) : error_memory(err, pointer);
    if (status == SABOK_OK) {
        const bool there = has_size(blob, x);
        if (there)
            p->hub.done += file->size;
        else
            status = fetch(p, file, x, part, blob, err);
        if (status == SABOK_OK) status = link_blob(pointer, file->path, x->etag, err);
        close(fd);
    }
    mem_free(blob);
    mem_free(part);
    mem_free(lock);
    return status;
}

static sabok_status cache_file(struct pull *p, const struct hub_file *file, sabok_error *err) {
    char *pointer = hub_path("%s/snapshots/%s/%s", p->storage, p->listing.commit, file->path);
    if (!pointer) return error_memory(err, file->path);
    struct http_reply reply;
    struct expected x = {.sized = file->sized, .size = file->size};
    sabok_status status = SABOK_OK;
    if (has_size(pointer, &x)) {
        p->hub.done += file->size;
    } else {
        status = describe(p, file, &reply, &x, err);
        if (status == SABOK_OK) status = cache_place(p, file, &x, pointer, err);
    }
    mem_free(pointer);
    return status;
}

// ---- into a folder of the caller's, with a note of what each file is: COMMIT, ETAG, seconds since 1970

struct note {
    char commit[HUB_COMMIT];
    char etag[HTTP_ETAG];
};

// What the note says; empty when there is none, or when the file was changed since.
static void note_read(const char *path, const char *place, struct note *out) {
    char *text = NULL;
    size_t n;
    double time = 0;
    struct stat st;
    *out = (struct note){0};
    if (!file_exists(path) || file_read(path, METADATA_MAX, &text, &n, NULL) != SABOK_OK) return;
    // A second more: the time of a file is not exact everywhere.
    if (sscanf(text, "%40s %255s %lf", out->commit, out->etag, &time) != 3 || stat(place, &st) != 0 ||
        (double)st.st_mtim.tv_sec + 1e-9 * (double)st.st_mtim.tv_nsec - 1 > time)
        *out = (struct note){0};
    mem_free(text);
}

static sabok_status note_write(const char *path, const char *commit, const char *etag, sabok_error *err) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    char text[METADATA_MAX];
    const int n = snprintf(text, sizeof text, "%s\n%s\n%lld.%06ld\n", commit, etag, (long long)now.tv_sec,
                           now.tv_nsec / 1000);
    struct out_file *f = out_open(path, err);
    if (!f) return err->code;
    const sabok_status status = out_write(f, text, (size_t)n, err);
    return status == SABOK_OK ? out_close(f, true, err) : (out_close(f, false, NULL), status);
}

static sabok_status folder_place(struct pull *p, const struct hub_file *file, const char *stem,
                                 const char *place, sabok_error *err) {
    char *note = hub_path("%s.metadata", stem), *part = NULL;
    if (!note) return error_memory(err, place);
    struct note known;
    struct http_reply reply;
    struct expected x;
    sabok_status status = SABOK_OK;
    note_read(note, place, &known);
    bool current = strcmp(known.commit, p->listing.commit) == 0;
    if (!current) {
        status = describe(p, file, &reply, &x, err);
        current = status == SABOK_OK && strcmp(known.etag, x.etag) == 0;
        if (status == SABOK_OK && !current) {
            part = hub_path("%s.%s.incomplete", stem, x.etag);
            status = part ? fetch(p, file, &x, part, place, err) : error_memory(err, place);
        }
        if (status == SABOK_OK) status = note_write(note, p->listing.commit, x.etag, err);
    }
    if (current) p->hub.done += file->size;
    mem_free(part);
    mem_free(note);
    return status;
}

static sabok_status folder_file(struct pull *p, const struct hub_file *file, sabok_error *err) {
    char *place = hub_path("%s/%s", p->local_dir, file->path);
    char *stem = hub_path("%s/.cache/huggingface/download/%s", p->local_dir, file->path);
    char *lock = stem ? hub_path("%s.lock", stem) : NULL;
    int fd = -1;
    sabok_status status = place && lock ? lock_take(&p->hub, lock, &fd, err) : error_memory(err, file->path);
    if (status == SABOK_OK) {
        status = folder_place(p, file, stem, place, err);
        close(fd);
    }
    mem_free(lock);
    mem_free(stem);
    mem_free(place);
    return status;
}

sabok_status pull_file(struct pull *p, const struct hub_file *file, sabok_error *err) {
    p->hub.file = file->path;
    return p->local_dir ? folder_file(p, file, err) : cache_file(p, file, err);
}
