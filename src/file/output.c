// A sink of bytes: a file written under a temporary name first, or standard output as it comes.
#include "file/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct sabok_output {
    struct out_file *file; // NULL: standard output
    sabok_error error;     // the first; code 0: none
};

sabok_output *sabok_output_open(const char *path, sabok_error *err) {
    if (!path) {
        error_set(err, SABOK_EINVAL, "sabok_output_open", "path is NULL, expected a file or \"-\"");
        return NULL;
    }
    sabok_output *o = mem_zalloc(sizeof *o);
    if (!o) {
        error_memory(err, path);
        return NULL;
    }
    if (strcmp(path, "-") == 0) return o;
    o->file = out_open(path, err);
    if (o->file) return o;
    mem_free(o);
    return NULL;
}

sabok_status standard_write(const void *data, size_t n, sabok_error *err) {
    for (const char *at = data; n > 0;) {
        ssize_t done = write(STDOUT_FILENO, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return error_errno(err, "standard output", "cannot write");
        at += done;
        n -= (size_t)done;
    }
    return SABOK_OK;
}

sabok_status sabok_output_write(sabok_output *o, const void *data, size_t n, sabok_error *err) {
    if (o->error.code == SABOK_OK)
        (void)(o->file ? out_write(o->file, data, n, &o->error) : standard_write(data, n, &o->error));
    if (o->error.code != SABOK_OK && err) *err = o->error;
    return o->error.code;
}

sabok_status sabok_output_close(sabok_output *o, bool commit, sabok_error *err) {
    if (!o) return SABOK_OK;
    sabok_error local = o->error;
    const bool whole = commit && local.code == SABOK_OK;
    if (o->file) (void)out_close(o->file, whole, whole ? &local : NULL);
    mem_free(o);
    if (!commit) return SABOK_OK;
    if (local.code != SABOK_OK && err) *err = local;
    return local.code;
}
