// sabok_convert: the folder is converted by file/; what is said of its names takes a family.
#include "model/model.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

// Replacing a folder that the model is in would delete it.
static sabok_status convert_apart(const char *folder, const char *out, sabok_error *err) {
    char from[PATH_MAX], to[PATH_MAX];
    if (!realpath(folder, from) || !realpath(out, to)) return SABOK_OK; // one is not there
    const size_t n = strlen(to);
    if (strncmp(from, to, n) != 0 || (from[n] != '\0' && from[n] != '/')) return SABOK_OK;
    return error_set(err, SABOK_EINVAL, out,
                     "holds the model that is to be converted, expected another folder");
}

static void convert_tell(const char *folder, const char *what, const struct buf *names, size_t count) {
    if (count && !names->failed)
        log_message(SABOK_LOG_WARNING, "%s: %zu %s: %.*s%s", folder, count, what, (int)names->size,
                    names->data, count > NAMES_LISTED ? ", ..." : "");
}

// A family that is not known, or a config that it does not take, leaves nothing to compare with.
static void convert_compare(const char *folder) {
    struct model_names names = {0};
    sabok_error err = {0};
    if (model_compare(folder, &names, &err) != SABOK_OK)
        log_message(SABOK_LOG_INFO, "%s: its tensors are not compared with a model's: %s", folder,
                    err.message);
    convert_tell(folder, "weights of the model are missing", &names.missing, names.missing_count);
    convert_tell(folder, "tensors are kept that the model does not use", &names.unused, names.unused_count);
    buf_free(&names.missing);
    buf_free(&names.unused);
}

sabok_status sabok_convert(const char *path, const char *out, const sabok_convert_opts *opts,
                           sabok_error *err) {
    static const sabok_convert_opts defaults;
    if (!opts) opts = &defaults;
    sabok_error ignored;
    if (!err) err = &ignored;
    *err = (sabok_error){.offset = SABOK_NO_OFFSET};
    if (!path || !out || !*out)
        return error_set(err, SABOK_EINVAL, "sabok_convert", "expected a model and the name of a folder");
    if (opts->dtype != SABOK_DTYPE_DEFAULT && opts->dtype != SABOK_FLOAT32 && opts->dtype != SABOK_FLOAT16 &&
        opts->dtype != SABOK_BFLOAT16)
        return error_set(err, SABOK_EINVAL, "dtype", "expected float32, float16 or bfloat16");
    char *folder = NULL;
    TRY(hub_find(path, &folder, err));
    sabok_status status = convert_apart(folder, out, err);
    if (status == SABOK_OK) status = convert_folder(folder, out, opts, err);
    if (status == SABOK_OK) convert_compare(folder);
    mem_free(folder);
    return status;
}
