// Folders to write: under a temporary name until all of it is on the disk, then under the final one.
#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_DEPTH 2 // of what may be replaced: files, and files of the folders of modules
#define NAME_ROOM 64   // of a temporary name behind the final one

struct out_folder {
    char path[PATH_MAX], temp[PATH_MAX];
    bool replaces;
};

static bool is_dots(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

// "1_Pooling"
static bool is_module(const char *name) {
    const size_t digits = strspn(name, "0123456789");
    return digits > 0 && name[digits] == '_';
}

// Removes a folder that this file made or has looked through. Links are removed, never followed.
static void folder_remove(const char *path, unsigned depth) {
    DIR *dir = opendir(path);
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir));) {
        char inner[PATH_MAX];
        if (is_dots(e->d_name)) continue;
        if (snprintf(inner, sizeof inner, "%s/%s", path, e->d_name) >= (int)sizeof inner) continue;
        if (unlink(inner) != 0 && depth > 1) folder_remove(inner, depth - 1);
    }
    closedir(dir);
    rmdir(path);
}

struct folder_look {
    bool is_model, empty;
};

// Replacing a folder deletes what it holds, so that must be what a model's folder holds: files, and folders of modules.
static sabok_status folder_look_into(const char *path, unsigned depth, struct folder_look *look,
                                     sabok_error *err) {
    DIR *dir = opendir(path);
    if (!dir) return error_errno(err, path, "cannot read");
    sabok_status status = SABOK_OK;
    for (struct dirent *e; status == SABOK_OK && (e = readdir(dir));) {
        char inner[PATH_MAX];
        struct stat st;
        if (is_dots(e->d_name)) continue;
        look->empty = false;
        look->is_model |= strcmp(e->d_name, "config.json") == 0 || strcmp(e->d_name, "modules.json") == 0;
        if (snprintf(inner, sizeof inner, "%s/%s", path, e->d_name) >= (int)sizeof inner ||
            lstat(inner, &st) != 0)
            status = error_errno(err, path, "cannot look into");
        else if (S_ISDIR(st.st_mode) && depth > 1 && is_module(e->d_name))
            status = folder_look_into(inner, depth - 1, look, err);
        else if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
            status = error_set(err, SABOK_EINVAL, path,
                               "holds '%s', which no model's folder has: not replaced", e->d_name);
    }
    closedir(dir);
    return status;
}

static sabok_status target_check(struct out_folder *f, const char *path, bool replace, sabok_error *err) {
    struct stat st;
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n == 0 || n >= sizeof f->path - NAME_ROOM)
        return error_set(err, SABOK_EINVAL, path, "expected the name of a folder");
    memcpy(f->path, path, n);
    f->path[n] = '\0';
    if (lstat(f->path, &st) != 0) return errno == ENOENT ? SABOK_OK : error_errno(err, path, "cannot write");
    if (!replace) return error_set(err, SABOK_EINVAL, path, "is there already: not replaced");
    // A link stays, and what it leads to is replaced.
    if (stat(path, &st) != 0 || !realpath(path, f->path) || strlen(f->path) >= sizeof f->path - NAME_ROOM)
        return error_errno(err, path, "cannot write");
    if (!S_ISDIR(st.st_mode))
        return error_set(err, SABOK_EINVAL, path, "is there and is no folder: not replaced");
    struct folder_look look = {.empty = true};
    TRY(folder_look_into(f->path, FOLDER_DEPTH, &look, err));
    if (!look.is_model && !look.empty)
        return error_set(err, SABOK_EINVAL, path, "is there and is no model's folder: not replaced");
    f->replaces = true;
    return SABOK_OK;
}

struct out_folder *out_folder_open(const char *path, bool replace, sabok_error *err) {
    struct out_folder *f = mem_zalloc(sizeof *f);
    if (!f) {
        error_memory(err, path);
        return NULL;
    }
    if (target_check(f, path, replace, err) == SABOK_OK) {
        snprintf(f->temp, sizeof f->temp, "%.*s.tmp-XXXXXX", PATH_MAX - NAME_ROOM, f->path);
        if (mkdtemp(f->temp)) {
            const mode_t mask = umask(0);
            umask(mask);
            if (chmod(f->temp, 0777 & ~mask) == 0) return f;
            rmdir(f->temp);
        }
        error_errno(err, path, "cannot create");
    }
    mem_free(f);
    return NULL;
}

const char *out_folder_path(const struct out_folder *f) {
    return f->temp;
}

// Makes the name durable; filesystems that cannot sync a folder say EINVAL.
static sabok_status parent_sync(const struct out_folder *f, sabok_error *err) {
    char parent[PATH_MAX];
    const char *slash = strrchr(f->path, '/');
    snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - f->path) + 1 : 1, slash ? f->path : ".");
    const int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return SABOK_OK; // a folder may be writable and yet not readable
    sabok_status status = SABOK_OK;
    if (fsync(fd) != 0 && errno != EINVAL) status = error_errno(err, f->path, "cannot sync the folder above");
    close(fd);
    return status;
}

// The two folders take each other's names: in one step, so that there is a whole one at any time, where the filesystem
// can do that.
static int folders_swap(const char *a, const char *b) {
    char aside[PATH_MAX];
    if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    if (snprintf(aside, sizeof aside, "%s.old", a) >= (int)sizeof aside || rename(b, aside) != 0) return -1;
    if (rename(a, b) == 0) return rename(aside, a);
    const int number = errno;
    (void)rename(aside, b);
    errno = number;
    return -1;
}

// rename alone would put the folder in the place of an empty one.
static int folder_name(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    return errno == EINVAL || errno == ENOSYS ? rename(from, to) : -1;
}

static sabok_status folder_commit(struct out_folder *f, sabok_error *err) {
    if (f->replaces) {
        if (folders_swap(f->temp, f->path) != 0) return error_errno(err, f->path, "cannot replace");
        folder_remove(f->temp, FOLDER_DEPTH);
    } else if (folder_name(f->temp, f->path) != 0) {
        return error_errno(err, f->path, "cannot rename");
    }
    f->temp[0] = '\0';
    return parent_sync(f, err);
}

sabok_status out_folder_close(struct out_folder *f, bool commit, sabok_error *err) {
    const sabok_status status = commit ? folder_commit(f, err) : SABOK_OK;
    if (f->temp[0]) folder_remove(f->temp, FOLDER_DEPTH);
    mem_free(f);
    return status;
}
