// All tensors of a model folder, from one file or from the shards that an index names. Names in an index are
// data: they may only name files of the folder itself.
#include "file/file.h"

#include <string.h>

// The kinds of weights, in the order in which they are looked for: a folder with several is read as the first.
static const struct store_kind {
    const char *file, *index;
    bool torch;
} store_kinds[] = {
    {"model.safetensors", "model.safetensors.index.json", false},
    {"pytorch_model.bin", "pytorch_model.bin.index.json", true},
};

#define INDEX_MAX ((size_t)256 << 20) // bytes of an index
#define SHARD_NAME_MAX 255

struct shard {
    const char *name; // without the folder
    char *path;
    struct safetensors *file; // this, or
    struct torch_file *torch; // this
};

// One line of the index: this tensor is in that shard.
struct placing {
    const char *tensor;
    const char *shard;
    uint64_t at;
    size_t file;
};

struct tensor_store {
    struct arena arena;
    const struct store_kind *kind;
    struct shard *shards;
    size_t shard_count, shard_cap;
    struct tensor_entry *entries;
    size_t count, cap;
    uint32_t *by_name;
};

static size_t shard_entries(const struct shard *s) {
    return s->torch ? torch_count(s->torch) : safetensors_count(s->file);
}

static const struct tensor_entry *shard_get(const struct shard *s, size_t i) {
    return s->torch ? torch_get(s->torch, i) : safetensors_get(s->file, i);
}

static const struct tensor_entry *shard_find(const struct shard *s, const char *name) {
    return s->torch ? torch_find(s->torch, name) : safetensors_find(s->file, name);
}

static sabok_status store_add(struct tensor_store *s, const struct tensor_entry *e, size_t file,
                              sabok_error *err) {
    if (!mem_grow((void **)&s->entries, &s->cap, s->count + 1, sizeof *s->entries))
        return error_memory(err, s->shards[file].path);
    s->entries[s->count] = *e;
    s->entries[s->count++].file = file;
    return SABOK_OK;
}

static sabok_status shard_open(struct tensor_store *s, const char *folder, const char *name, bool read,
                               sabok_error *err) {
    if (!mem_grow((void **)&s->shards, &s->shard_cap, s->shard_count + 1, sizeof *s->shards))
        return error_memory(err, folder);
    struct shard shard = {.name = name, .path = arena_printf(&s->arena, "%s/%s", folder, name)};
    if (!shard.path) return error_memory(err, folder);
    sabok_error local = {0};
    if (s->kind->torch)
        shard.torch = torch_open(shard.path, read, &local);
    else
        shard.file = safetensors_open(shard.path, read, &local);
    if (!shard.torch && !shard.file) {
        if (err) *err = local;
        return local.code ? local.code : SABOK_EIO;
    }
    s->shards[s->shard_count++] = shard;
    return SABOK_OK;
}

static sabok_status store_single(struct tensor_store *s, const char *folder, bool read, sabok_error *err) {
    TRY(shard_open(s, folder, s->kind->file, read, err));
    for (size_t i = 0; i < shard_entries(&s->shards[0]); i++)
        TRY(store_add(s, shard_get(&s->shards[0], i), 0, err));
    return SABOK_OK;
}

struct index {
    const char *path;
    struct placing *placings;
    size_t count, cap;
};

// A plain name of a file of the folder: it can neither leave the folder nor be cut short by a NUL.
static bool shard_name_ok(struct json_text name) {
    if (name.size == 0 || name.size > SHARD_NAME_MAX) return false;
    if (json_text_is(name, ".") || json_text_is(name, "..")) return false;
    return !memchr(name.data, '/', name.size) && !memchr(name.data, '\\', name.size) &&
           !memchr(name.data, 0, name.size);
}

static bool index_weight_map(struct tensor_store *s, struct index *index, struct json *j) {
    struct json_text text;
    char shown[QUOTE_TEXT];
    if (!json_object_begin(j)) return false;
    while (json_key(j, &text)) {
        struct placing p = {.at = j->at};
        if (memchr(text.data, 0, text.size))
            return json_fail(j, "found a NUL byte in the tensor name '%s', expected none",
                             quote_text(text.data, text.size, shown));
        p.tensor = arena_copy(&s->arena, text.data, text.size);
        if (!json_string(j, &text)) return false;
        if (!shard_name_ok(text))
            return json_fail(j, "found the shard name '%s', expected the plain name of a file in this folder",
                             quote_text(text.data, text.size, shown));
        p.shard = index->count && json_text_is(text, index->placings[index->count - 1].shard)
                      ? index->placings[index->count - 1].shard
                      : arena_copy(&s->arena, text.data, text.size);
        if (!p.tensor || !p.shard ||
            !mem_grow((void **)&index->placings, &index->cap, index->count + 1, sizeof *index->placings)) {
            error_memory(j->err, index->path);
            return false;
        }
        index->placings[index->count++] = p;
    }
    return !j->failed;
}

static sabok_status index_parse(struct tensor_store *s, struct index *index, const char *text, size_t size,
                                sabok_error *err) {
    sabok_error local = {0};
    struct json j;
    json_init(&j, text, size, index->path, &s->arena, &local);
    struct json_text key;
    bool found = false, ok = json_object_begin(&j);
    while (ok && json_key(&j, &key)) {
        if (!json_text_is(key, "weight_map")) {
            ok = json_skip(&j);
            continue;
        }
        ok = found ? json_fail(&j, "found 'weight_map' twice, expected it once")
                   : index_weight_map(s, index, &j);
        found = true;
    }
    ok = ok && !j.failed && json_end(&j);
    if (ok && !found) ok = json_fail(&j, "found no 'weight_map', expected one");
    if (ok) return SABOK_OK;
    if (err) *err = local;
    return local.code ? local.code : SABOK_EFORMAT;
}

static int compare_tensor_names(const void *ctx, uint32_t a, uint32_t b) {
    const struct placing *placings = ctx;
    return strcmp(placings[a].tensor, placings[b].tensor);
}

static int compare_shard_names(const void *ctx, uint32_t a, uint32_t b) {
    const struct placing *placings = ctx;
    return strcmp(placings[a].shard, placings[b].shard);
}

static sabok_status index_check_names(const struct index *index, sabok_error *err) {
    uint32_t *order = order_new(index->count, compare_tensor_names, index->placings);
    if (!order) return error_memory(err, index->path);
    sabok_status status = SABOK_OK;
    for (size_t i = 1; i < index->count && status == SABOK_OK; i++) {
        const struct placing *p = &index->placings[order[i]];
        char shown[QUOTE_TEXT];
        if (strcmp(p->tensor, index->placings[order[i - 1]].tensor) == 0)
            status = error_at(err, SABOK_EFORMAT, index->path, p->at,
                              "tensor '%s': found it twice, expected it once",
                              quote_text(p->tensor, strlen(p->tensor), shown));
    }
    mem_free(order);
    return status;
}

// Opens each shard once, in the order of their names.
static sabok_status index_open_shards(struct tensor_store *s, struct index *index, const char *folder,
                                      bool read, sabok_error *err) {
    uint32_t *order = order_new(index->count, compare_shard_names, index->placings);
    if (!order) return error_memory(err, index->path);
    sabok_status status = SABOK_OK;
    for (size_t i = 0; i < index->count && status == SABOK_OK; i++) {
        struct placing *p = &index->placings[order[i]];
        if (s->shard_count == 0 || strcmp(s->shards[s->shard_count - 1].name, p->shard) != 0)
            status = shard_open(s, folder, p->shard, read, err);
        p->file = s->shard_count - 1;
    }
    mem_free(order);
    return status;
}

static sabok_status index_take(struct tensor_store *s, const struct index *index, sabok_error *err) {
    char shown[QUOTE_TEXT], shard[QUOTE_TEXT];
    for (size_t i = 0; i < index->count; i++) {
        const struct placing *p = &index->placings[i];
        const struct tensor_entry *e = shard_find(&s->shards[p->file], p->tensor);
        if (!e)
            return error_at(err, SABOK_ENOTFOUND, index->path, p->at,
                            "tensor '%s': not found in '%s', where the index places it",
                            quote_text(p->tensor, strlen(p->tensor), shown),
                            quote_text(p->shard, strlen(p->shard), shard));
        TRY(store_add(s, e, p->file, err));
    }
    return SABOK_OK;
}

static int compare_entries(const void *ctx, uint32_t a, uint32_t b) {
    const struct tensor_entry *entries = ctx;
    return strcmp(entries[a].name, entries[b].name);
}

// A tensor of a shard that the index places elsewhere would have two values; one that it does not name at all
// is left alone, with a note.
static sabok_status store_check_extra(const struct tensor_store *s, sabok_error *err) {
    size_t ignored = 0;
    char shown[QUOTE_TEXT];
    for (size_t f = 0; f < s->shard_count; f++)
        for (size_t i = 0; i < shard_entries(&s->shards[f]); i++) {
            const struct tensor_entry *e = shard_get(&s->shards[f], i);
            const struct tensor_entry *listed = store_find(s, e->name);
            if (!listed) {
                ignored++;
                continue;
            }
            if (listed->file != f)
                return error_set(err, SABOK_EFORMAT, s->shards[f].path,
                                 "tensor '%s': found here and in '%s', expected it in one shard",
                                 quote_text(e->name, strlen(e->name), shown), s->shards[listed->file].name);
        }
    if (ignored)
        log_message(SABOK_LOG_WARNING, "%s: %zu tensors that the index does not name are ignored",
                    s->shards[0].path, ignored);
    return SABOK_OK;
}

static sabok_status store_index(struct tensor_store *s, const char *folder, const char *path, bool read,
                                sabok_error *err) {
    struct index index = {.path = path};
    char *text;
    size_t size;
    TRY(file_read(path, INDEX_MAX, &text, &size, err));
    sabok_status status = index_parse(s, &index, text, size, err);
    mem_free(text);
    if (status == SABOK_OK) status = index_check_names(&index, err);
    if (status == SABOK_OK) status = index_open_shards(s, &index, folder, read, err);
    if (status == SABOK_OK) status = index_take(s, &index, err);
    mem_free(index.placings);
    return status;
}

static sabok_status store_sort(struct tensor_store *s, const char *folder, sabok_error *err) {
    s->by_name = order_new(s->count, compare_entries, s->entries);
    return s->by_name ? SABOK_OK : error_memory(err, folder);
}

// The first kind of which a file is there. An index wins over a single file.
static sabok_status store_choose(struct tensor_store *s, const char *folder, const char **index,
                                 sabok_error *err) {
    for (size_t i = 0; i < COUNT(store_kinds); i++) {
        const char *single = arena_printf(&s->arena, "%s/%s", folder, store_kinds[i].file);
        *index = arena_printf(&s->arena, "%s/%s", folder, store_kinds[i].index);
        if (!single || !*index) return error_memory(err, folder);
        const bool has_single = file_exists(single), has_index = file_exists(*index);
        if (!has_single && !has_index) continue;
        if (has_single && has_index)
            log_message(SABOK_LOG_WARNING, "%s: ignored, because %s is there", single, store_kinds[i].index);
        s->kind = &store_kinds[i];
        if (!has_index) *index = NULL;
        return SABOK_OK;
    }
    return error_set(err, SABOK_ENOTFOUND, folder, "found no weights, expected %s, %s, %s or %s",
                     store_kinds[0].file, store_kinds[0].index, store_kinds[1].file, store_kinds[1].index);
}

static sabok_status store_load(struct tensor_store *s, const char *folder, bool read, sabok_error *err) {
    const char *index = NULL;
    TRY(store_choose(s, folder, &index, err));
    TRY(index ? store_index(s, folder, index, read, err) : store_single(s, folder, read, err));
    TRY(store_sort(s, folder, err));
    return index ? store_check_extra(s, err) : SABOK_OK;
}

bool store_there(const char *folder) {
    bool there = false;
    for (size_t i = 0; i < COUNT(store_kinds); i++) {
        struct buf single = {0}, index = {0};
        buf_printf(&single, "%s/%s", folder, store_kinds[i].file);
        buf_printf(&index, "%s/%s", folder, store_kinds[i].index);
        // Out of memory, opening says so.
        there |= single.failed || index.failed || file_exists(single.data) || file_exists(index.data);
        buf_free(&single);
        buf_free(&index);
    }
    return there;
}

struct tensor_store *store_open(const char *folder, bool read, sabok_error *err) {
    struct tensor_store *s = mem_zalloc(sizeof *s);
    if (!s) {
        error_memory(err, folder);
        return NULL;
    }
    arena_init(&s->arena, 0);
    if (store_load(s, folder, read, err) == SABOK_OK) return s;
    store_close(s);
    return NULL;
}

void store_close(struct tensor_store *s) {
    if (!s) return;
    for (size_t i = 0; i < s->shard_count; i++) {
        safetensors_close(s->shards[i].file);
        torch_close(s->shards[i].torch);
    }
    mem_free(s->shards);
    mem_free(s->entries);
    mem_free(s->by_name);
    arena_free(&s->arena);
    mem_free(s);
}

size_t store_count(const struct tensor_store *s) {
    return s->count;
}

const struct tensor_entry *store_get(const struct tensor_store *s, size_t i) {
    ASSERT(i < s->count);
    return &s->entries[i];
}

const struct tensor_entry *store_find(const struct tensor_store *s, const char *name) {
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct tensor_entry *e = &s->entries[s->by_name[middle]];
        int order = strcmp(name, e->name);
        if (order == 0) return e;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const char *store_path(const struct tensor_store *s, const struct tensor_entry *e) {
    return s->shards[e->file].path;
}

void store_drop(const struct tensor_store *s, const struct tensor_entry *e) {
    const struct shard *shard = &s->shards[e->file];
    if (shard->torch)
        torch_drop(shard->torch, e);
    else
        safetensors_drop(shard->file, e);
}
