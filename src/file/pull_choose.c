// pull_choose: the files of a model that sabok reads, or those that the caller's patterns name.
#include "file/hub.h"

#include <fnmatch.h>
#include <string.h>

// Read from the folder itself and from the folders of modules, "1_Pooling".
static const char *const plain_names[] = {
    "config.json",
    "modules.json",
    "config_sentence_transformers.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
    "sentence_*_config.json",
};
// The first kind of weights that a folder has.
static const char *const weight_names[][3] = {
    {"model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors"},
    {"pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin"},
};

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// The model's folder or one of "NUMBER_NAME" in it.
static bool folder_is_read(const char *path) {
    const char *slash = strchr(path, '/');
    if (!slash) return true;
    const size_t digits = strspn(path, "0123456789");
    return digits > 0 && path[digits] == '_' && !strchr(slash + 1, '/');
}

static bool matches(const char *pattern, const char *name) {
    return fnmatch(pattern, name, FNM_NOESCAPE) == 0;
}

// The kind of weights that a file is; COUNT(weight_names): none.
static size_t weight_kind(const char *path) {
    size_t kind = 0;
    for (; kind < COUNT(weight_names); kind++)
        for (size_t i = 0; i < COUNT(weight_names[kind]); i++)
            if (matches(weight_names[kind][i], base_name(path))) return kind;
    return kind;
}

static bool same_folder(const char *a, const char *b) {
    const size_t n = (size_t)(base_name(a) - a);
    return n == (size_t)(base_name(b) - b) && memcmp(a, b, n) == 0;
}

static bool is_read(const struct hub_listing *listing, const char *path) {
    if (!folder_is_read(path)) return false;
    for (size_t i = 0; i < COUNT(plain_names); i++)
        if (matches(plain_names[i], base_name(path))) return true;
    const size_t kind = weight_kind(path);
    if (kind == COUNT(weight_names)) return false;
    for (size_t i = 0; i < listing->count; i++)
        if (same_folder(path, listing->files[i].path) && weight_kind(listing->files[i].path) < kind)
            return false;
    return true;
}

// As huggingface_hub does: "*" goes over slashes too, and a folder's name with a slash means all that is in it.
static bool matches_any(const char *const *patterns, size_t n, const char *path) {
    for (size_t i = 0; i < n; i++) {
        const size_t length = strlen(patterns[i]);
        if (length > 0 && patterns[i][length - 1] == '/' && strncmp(patterns[i], path, length) == 0)
            return true;
        if (matches(patterns[i], path)) return true;
    }
    return false;
}

sabok_status pull_choose(struct hub_listing *listing, const sabok_pull_opts *opts, const char *where,
                         sabok_error *err) {
    size_t wanted = 0;
    for (size_t i = 0; i < listing->count; i++) {
        struct hub_file *file = &listing->files[i];
        file->wanted = opts->include_count ? matches_any(opts->include, opts->include_count, file->path)
                                           : is_read(listing, file->path);
        file->wanted &= !matches_any(opts->exclude, opts->exclude_count, file->path);
        wanted += file->wanted;
    }
    if (wanted) return SABOK_OK;
    if (opts->include_count || opts->exclude_count)
        return error_set(err, SABOK_ENOTFOUND, where, "the patterns leave none of its %zu files",
                         listing->count);
    return error_set(err, SABOK_ENOTFOUND, where, "none of its %zu files is one that sabok reads",
                     listing->count);
}
