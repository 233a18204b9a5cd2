// hub: names of models, the environment that says where they are kept, and the cache in huggingface_hub's layout:
//     CACHE/models--ORG--NAME/refs/REVISION               the commit of a branch or tag
//     CACHE/models--ORG--NAME/snapshots/COMMIT/FILE    -> ../../blobs/ETAG
#include "file/hub.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define HUB_PART 96 // characters of a name's part
#define HUB_TOKEN_MAX 4096

// ---- names

// One part of a name: letters, digits, '_', '-', '.'; no '-' or '.' at its ends, no "--", no "..".
static bool name_part_ok(const char *text, size_t n) {
    if (n == 0 || n > HUB_PART) return false;
    for (size_t i = 0; i < n; i++) {
        const char c = text[i];
        const bool mark = c == '-' || c == '.';
        if (!mark && c != '_' && !(isalnum((unsigned char)c) && (unsigned char)c < 0x80)) return false;
        if (mark && (i == 0 || i == n - 1 || text[i - 1] == c)) return false;
    }
    return true;
}

bool hub_revision_ok(const char *text) {
    if (!*text || strlen(text) >= HUB_REVISION) return false;
    for (const char *part = text;;) {
        const size_t n = strcspn(part, "/");
        if (n == 0 || part[0] == '.' || memchr(part, '\\', n)) return false;
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)part[i] < 0x21 || part[i] == 0x7F) return false;
        if (!part[n]) return true;
        part += n + 1;
    }
}

bool hub_name_parse(const char *text, struct hub_name *out) {
    const size_t n = strcspn(text, "@");
    const char *slash = memchr(text, '/', n);
    if (n >= HUB_ID || !name_part_ok(text, slash ? (size_t)(slash - text) : n)) return false;
    if (slash && !name_part_ok(slash + 1, n - (size_t)(slash + 1 - text))) return false;
    if (text[n] && !hub_revision_ok(text + n + 1)) return false;
    memcpy(out->id, text, n);
    out->id[n] = '\0';
    strcpy(out->revision, text[n] ? text + n + 1 : "main");
    return true;
}

bool hub_hex_ok(const char *text, size_t digits) {
    size_t n = 0;
    while (text[n] && n <= digits && strchr("0123456789abcdef", text[n]))
        n++;
    return n == digits && !text[n];
}

bool hub_commit_ok(const char *text) {
    return hub_hex_ok(text, HUB_COMMIT - 1);
}

// ---- the environment

static const char *env_value(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

// A path with "~" at its front and "$NAME", "${NAME}" replaced, as huggingface_hub reads it.
static void env_expand(struct buf *out, const char *path) {
    const char *home = env_value("HOME");
    if (path[0] == '~' && (path[1] == '/' || !path[1]) && home) {
        buf_put(out, home, strlen(home));
        path++;
    }
    while (*path) {
        const bool braces = path[0] == '$' && path[1] == '{';
        const char *name = path + 1 + braces;
        size_t n = 0;
        while (name[n] == '_' || isalnum((unsigned char)name[n]))
            n++;
        char copy[128] = "";
        if (path[0] == '$' && n > 0 && n < sizeof copy && (!braces || name[n] == '}')) memcpy(copy, name, n);
        const char *value = *copy ? getenv(copy) : NULL;
        if (value) {
            buf_put(out, value, strlen(value));
            path = name + n + braces;
        } else {
            buf_put(out, path++, 1);
        }
    }
}

static char *text_of(struct buf *b) {
    if (!b->failed && b->data) return b->data;
    buf_free(b);
    return NULL;
}

char *hub_path(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *path = NULL;
    const int n = vasprintf(&path, format, args);
    va_end(args);
    if (n < 0) return NULL;
    char *copy = mem_copy_bytes(path, (size_t)n);
    free(path);
    return copy;
}

// HF_HOME, with something behind it.
static char *home_path(const char *behind) {
    struct buf b = {0};
    const char *home = env_value("HF_HOME"), *cache = env_value("XDG_CACHE_HOME");
    env_expand(&b, home ? home : cache ? cache : "~/.cache");
    buf_printf(&b, "%s/%s", home ? "" : "/huggingface", behind);
    return text_of(&b);
}

static char *path_or_home(const char *path, const char *behind) {
    struct buf b = {0};
    if (!path) return home_path(behind);
    env_expand(&b, path);
    return text_of(&b);
}

char *hub_cache(void) {
    const char *cache = env_value("HF_HUB_CACHE");
    return path_or_home(cache ? cache : env_value("HUGGINGFACE_HUB_CACHE"), "hub");
}

char *hub_storage(const char *cache, const char *id) {
    struct buf b = {0};
    buf_printf(&b, "%s/models--", cache);
    for (; *id; id++)
        buf_put(&b, *id == '/' ? "--" : id, *id == '/' ? 2 : 1);
    return text_of(&b);
}

char *hub_endpoint(void) {
    const char *given = env_value("HF_ENDPOINT");
    char *endpoint = mem_copy_string(given ? given : "https://huggingface.co");
    for (size_t n = endpoint ? strlen(endpoint) : 0; n > 0 && endpoint[n - 1] == '/'; n--)
        endpoint[n - 1] = '\0';
    return endpoint;
}

static bool env_true(const char *name) {
    static const char *const words[] = {"1", "ON", "YES", "TRUE"};
    const char *value = env_value(name);
    for (size_t i = 0; value && i < COUNT(words); i++)
        if (strcasecmp(value, words[i]) == 0) return true;
    return false;
}

bool hub_offline(void) {
    return env_true(env_value("HF_HUB_OFFLINE") ? "HF_HUB_OFFLINE" : "TRANSFORMERS_OFFLINE");
}

// Blanks around it stripped; *out NULL when nothing is left. Whatever else could not stand in a header is refused, and not
// shown.
static sabok_status token_clean(const char *text, const char *where, char **out, sabok_error *err) {
    *out = NULL;
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)*text))
        text++, n--;
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] <= 0x20 || (unsigned char)text[i] >= 0x7F)
            return error_at(err, SABOK_EFORMAT, where, i, "a character that no token has");
    if (n > 0 && !(*out = mem_copy_bytes(text, n))) return error_memory(err, where);
    return SABOK_OK;
}

sabok_status hub_token(char **out, sabok_error *err) {
    *out = NULL;
    if (env_true("HF_HUB_DISABLE_IMPLICIT_TOKEN")) return SABOK_OK;
    static const char *const names[] = {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"};
    for (size_t i = 0; i < COUNT(names); i++)
        if (env_value(names[i])) return token_clean(env_value(names[i]), names[i], out, err);
    char *path = path_or_home(env_value("HF_TOKEN_PATH"), "token"), *text = NULL;
    if (!path) return error_memory(err, "token");
    size_t size = 0;
    sabok_status status = SABOK_OK;
    if (file_exists(path)) status = file_read(path, HUB_TOKEN_MAX, &text, &size, err);
    if (text) status = token_clean(text, path, out, err);
    mem_free(text);
    mem_free(path);
    return status;
}

// ---- the cache

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

// The commit that a revision stands for; "" when the cache has none.
static sabok_status cache_commit(const char *storage, const char *revision, char commit[HUB_COMMIT],
                                 sabok_error *err) {
    commit[0] = '\0';
    if (hub_commit_ok(revision)) {
        strcpy(commit, revision);
        return SABOK_OK;
    }
    char *path = hub_path("%s/refs/%s", storage, revision), *text = NULL;
    if (!path) return error_memory(err, storage);
    size_t n = 0;
    sabok_status status = SABOK_OK;
    if (file_exists(path) && !is_folder(path)) status = file_read(path, HUB_TOKEN_MAX, &text, &n, err);
    if (text) {
        while (n > 0 && isspace((unsigned char)text[n - 1]))
            text[--n] = '\0';
        if (hub_commit_ok(text))
            strcpy(commit, text);
        else
            status = error_set(err, SABOK_EFORMAT, path, "expected a commit of 40 hexadecimal digits");
    }
    mem_free(text);
    mem_free(path);
    return status;
}

static sabok_status snapshot_absent(const struct hub_name *name, const char *cache, bool known,
                                    sabok_error *err) {
    const bool main = strcmp(name->revision, "main") == 0;
    if (!known)
        return error_set(err, SABOK_ENOTFOUND, name->id,
                         "found neither here nor in the cache %s; `sabok pull %s%s%s` fetches it from a hub",
                         cache, name->id, main ? "" : "@", main ? "" : name->revision);
    return error_set(err, SABOK_ENOTFOUND, name->id,
                     "the cache %s has no revision '%s' of it; `sabok pull %s@%s` fetches it from a hub",
                     cache, name->revision, name->id, name->revision);
}

sabok_status hub_find_snapshot(const struct hub_name *name, char **folder, sabok_error *err) {
    char *cache = hub_cache(), *storage = cache ? hub_storage(cache, name->id) : NULL;
    char commit[HUB_COMMIT] = "";
    *folder = NULL;
    sabok_status status = storage ? SABOK_OK : error_memory(err, name->id);
    if (status == SABOK_OK) status = cache_commit(storage, name->revision, commit, err);
    if (status == SABOK_OK && commit[0]) {
        *folder = hub_path("%s/snapshots/%s", storage, commit);
        if (!*folder) status = error_memory(err, name->id);
    }
    if (status == SABOK_OK && (!*folder || !is_folder(*folder))) {
        status = snapshot_absent(name, cache, is_folder(storage), err);
        mem_free(*folder);
        *folder = NULL;
    }
    mem_free(storage);
    mem_free(cache);
    return status;
}

sabok_status hub_find(const char *path, char **folder, sabok_error *err) {
    struct stat st;
    struct hub_name name;
    if (stat(path, &st) != 0 && hub_name_parse(path, &name)) return hub_find_snapshot(&name, folder, err);
    *folder = mem_copy_string(path);
    return *folder ? SABOK_OK : error_memory(err, path);
}
