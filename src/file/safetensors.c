// Reader of safetensors files. The rules R1 to R20 named below are those of docs/formats.md; a file that
// breaks one is refused, with the byte at which it does.
#include "file/file.h"

#include <string.h>

#define HEADER_MAX ((uint64_t)100000000)
#define HEADER_LENGTH 8                      // bytes of the length itself
#define NUMBER_MAX (((uint64_t)1 << 48) - 1) // the format's schema: 48 bits
#define RANK_MAX 64                          // of a tensor; NumPy has the same limit

// Every type that the format knows. Those without `ours` are checked like the others and refused at the end.
struct stored_type {
    const char *name;
    unsigned bits;
    bool ours;
    enum dtype dtype;
};
static const struct stored_type stored_types[] = {
#define X(name, text, bits) {text, bits, true, DT_##name},
    DTYPE_LIST(X)
#undef X
        {"F4", 4, false, DT_COUNT},
    {"F6_E2M3", 6, false, DT_COUNT},
    {"F6_E3M2", 6, false, DT_COUNT},
    {"F8_E5M2", 8, false, DT_COUNT},
    {"F8_E4M3", 8, false, DT_COUNT},
    {"F8_E8M0", 8, false, DT_COUNT},
    {"F8_E4M3FNUZ", 8, false, DT_COUNT},
    {"F8_E5M2FNUZ", 8, false, DT_COUNT},
    {"C64", 64, false, DT_COUNT},
};

struct header_item {
    struct tensor_entry entry;
    const struct stored_type *type;
    uint64_t end; // data_offsets[1]; entry.begin holds data_offsets[0] until the whole header is read
    uint64_t at;  // byte of the file where the header speaks of it
};

struct header_pair {
    const char *key, *value;
    uint64_t at;
};

struct safetensors {
    struct file_map map;
    bool owns_map;
    const uint8_t *data;
    size_t size;
    const char *where;
    struct arena arena;
    struct header_item *items;
    size_t count, cap;
    struct header_pair *pairs;
    size_t pair_count, pair_cap;
    bool has_metadata;
    bool header_only; // `data` ends after the header, whatever `size` says
    uint32_t *by_offset, *by_name, *pairs_by_key;
};

static sabok_status header_error(const struct safetensors *s, const struct header_item *item,
                                 const char *problem, sabok_error *err) {
    char name[QUOTE_TEXT];
    return error_at(err, SABOK_EFORMAT, s->where, item->at, "tensor '%s': %s",
                    quote_text(item->entry.name, strlen(item->entry.name), name), problem);
}

// A NUL-ended copy of a key or value; NULL with the reader failed when it holds a NUL byte or memory is out.
static const char *header_string(struct safetensors *s, struct json *j, struct json_text text,
                                 const char *what) {
    if (memchr(text.data, 0, text.size)) { // R11: a shorter name would stand for this one
        char shown[QUOTE_TEXT];
        json_fail(j, "found a NUL byte in %s '%s', expected none", what,
                  quote_text(text.data, text.size, shown));
        return NULL;
    }
    const char *copy = arena_copy(&s->arena, text.data, text.size);
    if (!copy) {
        error_memory(j->err, s->where);
        j->failed = true;
    }
    return copy;
}

static bool header_type(struct json *j, const char *name, struct header_item *item) {
    struct json_text text;
    if (!json_string(j, &text)) return false;
    for (size_t i = 0; i < COUNT(stored_types); i++)
        if (json_text_is(text, stored_types[i].name)) {
            item->type = &stored_types[i];
            item->entry.dtype = stored_types[i].dtype;
            return true;
        }
    char shown[QUOTE_TEXT], shown_name[QUOTE_TEXT];
    return json_fail(j,
                     "tensor '%s': found the unknown dtype '%s', expected one of the format's (F32, F16, "
                     "BF16, ...)",
                     quote_text(name, strlen(name), shown_name), quote_text(text.data, text.size, shown));
}

// R10. "-0" is an integer to JSON; the format has no signs.
static bool header_number(struct json *j, uint64_t *out) {
    if (json_peek(j) == JSON_NUMBER && j->text[j->at] == '-')
        return json_fail(j, "found a number with a sign, expected none");
    return json_u64(j, out);
}

static bool header_shape(struct safetensors *s, struct json *j, const char *name, struct header_item *item) {
    uint64_t dims[RANK_MAX];
    size_t rank = 0;
    if (!json_array_begin(j)) return false;
    while (json_item(j)) {
        if (rank == RANK_MAX) {
            char shown[QUOTE_TEXT];
            return json_fail(j, "tensor '%s': found more than %d dimensions, expected at most %d",
                             quote_text(name, strlen(name), shown), RANK_MAX, RANK_MAX);
        }
        if (!header_number(j, &dims[rank++])) return false;
    }
    if (j->failed) return false;
    uint64_t *copy = arena_alloc(&s->arena, (rank + 1) * sizeof *copy);
    if (!copy) {
        error_memory(j->err, s->where);
        j->failed = true;
        return false;
    }
    memcpy(copy, dims, rank * sizeof *copy);
    item->entry.dims = copy;
    item->entry.rank = rank;
    item->entry.shape.rank = (int)rank;
    return true;
}

static bool header_offsets(struct json *j, const char *name, struct header_item *item) {
    uint64_t offsets[2] = {0, 0};
    size_t n = 0;
    if (!json_array_begin(j)) return false;
    while (json_item(j)) {
        if (n < 2 && !header_number(j, &offsets[n])) return false;
        if (n++ >= 2) break;
    }
    if (j->failed) return false;
    if (n != 2) {
        char shown[QUOTE_TEXT];
        return json_fail(j, "tensor '%s': found %s than two data_offsets, expected [begin, end]",
                         quote_text(name, strlen(name), shown), n < 2 ? "fewer" : "more");
    }
    item->entry.begin = offsets[0];
    item->end = offsets[1];
    return true;
}

// One tensor's object (R9). Keys that the format does not name are skipped, as the reference reader does.
static bool header_tensor(struct safetensors *s, struct json *j, const char *name, uint64_t at) {
    struct header_item item = {.entry.name = name, .at = at};
    bool has_type = false, has_shape = false, has_offsets = false;
    struct json_text key;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        bool *seen = json_text_is(key, "dtype")          ? &has_type
                     : json_text_is(key, "shape")        ? &has_shape
                     : json_text_is(key, "data_offsets") ? &has_offsets
                                                         : NULL;
        if (seen && *seen) {
            char shown[QUOTE_TEXT];
            return json_fail(j, "tensor '%s': found '%.*s' twice, expected it once",
                             quote_text(name, strlen(name), shown), (int)key.size, key.data);
        }
        if (seen) *seen = true;
        bool ok = !seen                ? json_skip(j)
                  : seen == &has_type  ? header_type(j, name, &item)
                  : seen == &has_shape ? header_shape(s, j, name, &item)
                                       : header_offsets(j, name, &item);
        if (!ok) return false;
    }
    if (j->failed) return false;
    if (!has_type || !has_shape || !has_offsets) {
        char shown[QUOTE_TEXT];
        return json_fail(j, "tensor '%s': found no '%s', expected dtype, shape and data_offsets",
                         quote_text(name, strlen(name), shown),
                         !has_type    ? "dtype"
                         : !has_shape ? "shape"
                                      : "data_offsets");
    }
    if (!mem_grow((void **)&s->items, &s->cap, s->count + 1, sizeof *s->items)) {
        error_memory(j->err, s->where);
        j->failed = true;
        return false;
    }
    s->items[s->count++] = item;
    return true;
}

// "__metadata__": strings only (R8), or null.
static bool header_metadata(struct safetensors *s, struct json *j) {
    if (s->has_metadata) return json_fail(j, "found '__metadata__' twice, expected it once");
    s->has_metadata = true;
    if (json_peek(j) == JSON_NULL) return json_null(j);
    struct json_text text;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &text)) {
        struct header_pair pair = {.at = j->at};
        if (!(pair.key = header_string(s, j, text, "the metadata key"))) return false;
        if (!json_string(j, &text)) return false;
        if (!(pair.value = header_string(s, j, text, "the metadata value"))) return false;
        if (!mem_grow((void **)&s->pairs, &s->pair_cap, s->pair_count + 1, sizeof *s->pairs)) {
            error_memory(j->err, s->where);
            j->failed = true;
            return false;
        }
        s->pairs[s->pair_count++] = pair;
    }
    return !j->failed;
}

// R5 to R10: the JSON of the header, data[8, end). Offsets in errors count from the start of the file.
static sabok_status header_read(struct safetensors *s, size_t end, sabok_error *err) {
    sabok_error local = {0};
    struct json j;
    json_init(&j, (const char *)s->data, end, s->where, &s->arena, &local);
    j.at = HEADER_LENGTH;
    struct json_text key;
    bool ok = json_object_begin(&j);
    while (ok && json_key(&j, &key)) {
        uint64_t at = j.at;
        if (json_text_is(key, "__metadata__")) {
            ok = header_metadata(s, &j);
            continue;
        }
        const char *name = header_string(s, &j, key, "the tensor name");
        ok = name && header_tensor(s, &j, name, at);
    }
    if (ok && !j.failed && json_end(&j)) return SABOK_OK;
    if (err) *err = local;
    return local.code ? local.code : SABOK_EFORMAT;
}

static int compare_offsets(const void *ctx, uint32_t a, uint32_t b) {
    const struct header_item *x = (const struct header_item *)ctx + a,
                             *y = (const struct header_item *)ctx + b;
    if (x->entry.begin != y->entry.begin) return x->entry.begin < y->entry.begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int compare_names(const void *ctx, uint32_t a, uint32_t b) {
    const struct header_item *items = ctx;
    return strcmp(items[a].entry.name, items[b].entry.name);
}

static int compare_keys(const void *ctx, uint32_t a, uint32_t b) {
    const struct header_pair *pairs = ctx;
    return strcmp(pairs[a].key, pairs[b].key);
}

// R11: no name and no metadata key twice.
static sabok_status check_names(struct safetensors *s, sabok_error *err) {
    s->by_name = order_new(s->count, compare_names, s->items);
    s->pairs_by_key = order_new(s->pair_count, compare_keys, s->pairs);
    s->by_offset = order_new(s->count, compare_offsets, s->items);
    if (!s->by_name || !s->pairs_by_key || !s->by_offset) return error_memory(err, s->where);
    for (size_t i = 1; i < s->count; i++)
        if (compare_names(s->items, s->by_name[i - 1], s->by_name[i]) == 0)
            return header_error(s, &s->items[s->by_name[i]], "found this name twice, expected it once", err);
    for (size_t i = 1; i < s->pair_count; i++) {
        const struct header_pair *pair = &s->pairs[s->pairs_by_key[i]];
        char shown[QUOTE_TEXT];
        if (strcmp(pair->key, s->pairs[s->pairs_by_key[i - 1]].key) == 0)
            return error_at(err, SABOK_EFORMAT, s->where, pair->at,
                            "metadata key '%s': found it twice, expected it once",
                            quote_text(pair->key, strlen(pair->key), shown));
    }
    return SABOK_OK;
}

// R10, R13, R14: the bytes that the shape and the type ask for.
static sabok_status check_size(const struct safetensors *s, const struct header_item *item, size_t *bytes,
                               sabok_error *err) {
    size_t bits = 1;
    for (size_t i = 0; i < item->entry.rank; i++)
        if (!mul_ok(bits, item->entry.dims[i], &bits))
            return header_error(s, item, "the product of its shape overflows, expected one that fits", err);
    if (!mul_ok(bits, item->type->bits, &bits))
        return header_error(s, item, "the size of its data overflows, expected one that fits", err);
    for (size_t i = 0; i < item->entry.rank; i++)
        if (item->entry.dims[i] > NUMBER_MAX)
            return header_error(s, item, "a dimension is above 2^48 - 1, the most that the format allows",
                                err);
    if (bits % 8 != 0) return header_error(s, item, "its data ends inside a byte, expected whole bytes", err);
    *bytes = bits / 8;
    return SABOK_OK;
}

// R12 to R16: the tensors cover the data from its first byte to its last, without hole or overlap.
static sabok_status check_layout(struct safetensors *s, size_t data_begin, sabok_error *err) {
    uint64_t next = 0, available = s->size - data_begin;
    char problem[200];
    for (size_t i = 0; i < s->count; i++) {
        struct header_item *item = &s->items[s->by_offset[i]];
        struct tensor_entry *e = &item->entry;
        if (e->begin != next || item->end < e->begin) {
            snprintf(
                problem, sizeof problem,
                "found data_offsets [%llu, %llu], expected them to begin at %llu, without hole or overlap",
                (unsigned long long)e->begin, (unsigned long long)item->end, (unsigned long long)next);
            return header_error(s, item, problem, err);
        }
        size_t bytes = 0;
        TRY(check_size(s, item, &bytes, err));
        if (item->end - e->begin != bytes) {
            snprintf(problem, sizeof problem, "found %llu bytes of data, expected %zu by its %s shape",
                     (unsigned long long)(item->end - e->begin), bytes, item->type->name);
            return header_error(s, item, problem, err);
        }
        if (item->end > available) {
            snprintf(problem, sizeof problem, "its data ends at byte %llu of the data, found only %llu bytes",
                     (unsigned long long)item->end, (unsigned long long)available);
            return header_error(s, item, problem, err);
        }
        next = item->end;
    }
    if (next != available)
        return error_at(err, SABOK_EFORMAT, s->where, data_begin + next,
                        "found %llu bytes after the last tensor, expected the end of the file",
                        (unsigned long long)(available - next));
    return SABOK_OK;
}

// The layout is known to be good: places every entry.
static sabok_status place_entries(struct safetensors *s, size_t data_begin, sabok_error *err) {
    for (size_t i = 0; i < s->count; i++) {
        struct header_item *item = &s->items[s->by_offset[i]];
        struct tensor_entry *e = &item->entry;
        if (!item->type->ours) {
            char name[QUOTE_TEXT];
            return error_at(err, SABOK_EUNSUPPORTED, s->where, item->at,
                            "tensor '%s': found dtype %s, which the format knows and sabok does not support",
                            quote_text(e->name, strlen(e->name), name), item->type->name);
        }
        e->bytes = item->end - e->begin;
        e->begin += data_begin;
        e->data = s->header_only ? NULL : s->data + e->begin;
        for (size_t d = 0; d < e->rank && e->rank <= SHAPE_RANK; d++)
            e->shape.dim[d] = (int64_t)e->dims[d];
    }
    return SABOK_OK;
}

static sabok_status safetensors_read(struct safetensors *s, sabok_error *err) {
    if (s->size < HEADER_LENGTH) // R1
        return error_at(err, SABOK_EFORMAT, s->where, s->size,
                        "found the end of the file, expected 8 bytes of header length");
    uint64_t length = 0; // R2
    for (size_t i = 0; i < HEADER_LENGTH; i++)
        length |= (uint64_t)s->data[i] << (8 * i);
    if (length > HEADER_MAX) // R3
        return error_at(err, SABOK_EFORMAT, s->where, 0,
                        "found a header length of %llu bytes, expected at most %llu",
                        (unsigned long long)length, (unsigned long long)HEADER_MAX);
    if (length > s->size - HEADER_LENGTH) // R4
        return error_at(err, SABOK_EFORMAT, s->where, 0,
                        "found a header length of %llu bytes, expected at most the %zu bytes that follow",
                        (unsigned long long)length, s->size - HEADER_LENGTH);
    size_t data_begin = HEADER_LENGTH + (size_t)length;
    TRY(header_read(s, data_begin, err));
    TRY(check_names(s, err));
    TRY(check_layout(s, data_begin, err));
    return place_entries(s, data_begin, err);
}

enum source { SOURCE_FILE, SOURCE_BYTES, SOURCE_HEADER };

static struct safetensors *safetensors_new(struct file_map map, enum source source, const char *where,
                                           sabok_error *err) {
    struct safetensors *s = mem_zalloc(sizeof *s);
    if (!s) {
        if (source == SOURCE_FILE) map_close(&map);
        error_memory(err, where);
        return NULL;
    }
    s->map = map;
    s->owns_map = source == SOURCE_FILE;
    s->header_only = source == SOURCE_HEADER;
    s->data = map.data;
    s->size = map.size;
    arena_init(&s->arena, 0);
    s->where = arena_copy(&s->arena, where, strlen(where));
    sabok_status status = s->where ? safetensors_read(s, err) : error_memory(err, where);
    if (status == SABOK_OK) return s;
    safetensors_close(s);
    return NULL;
}

struct safetensors *safetensors_open(const char *path, bool read, sabok_error *err) {
    struct file_map map;
    if (map_open(&map, path, read, err) != SABOK_OK) return NULL;
    return safetensors_new(map, SOURCE_FILE, path, err);
}

struct safetensors *safetensors_parse(const uint8_t *data, size_t size, const char *where, sabok_error *err) {
    return safetensors_new((struct file_map){.data = data, .size = size}, SOURCE_BYTES, where, err);
}

sabok_status safetensors_check(const uint8_t *header, size_t file_size, const char *where, sabok_error *err) {
    sabok_error local = {0};
    struct file_map map = {.data = header, .size = file_size};
    struct safetensors *s = safetensors_new(map, SOURCE_HEADER, where, &local);
    if (!s && err) *err = local;
    safetensors_close(s);
    return local.code;
}

void safetensors_close(struct safetensors *s) {
    if (!s) return;
    mem_free(s->by_offset);
    mem_free(s->by_name);
    mem_free(s->pairs_by_key);
    mem_free(s->items);
    mem_free(s->pairs);
    arena_free(&s->arena);
    if (s->owns_map) map_close(&s->map);
    mem_free(s);
}

size_t safetensors_count(const struct safetensors *s) {
    return s->count;
}

const struct tensor_entry *safetensors_get(const struct safetensors *s, size_t i) {
    ASSERT(i < s->count);
    return &s->items[s->by_offset[i]].entry;
}

const struct tensor_entry *safetensors_find(const struct safetensors *s, const char *name) {
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct tensor_entry *e = &s->items[s->by_name[middle]].entry;
        int order = strcmp(name, e->name);
        if (order == 0) return e;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const char *safetensors_metadata(const struct safetensors *s, const char *key) {
    for (size_t i = 0; i < s->pair_count; i++)
        if (strcmp(s->pairs[i].key, key) == 0) return s->pairs[i].value;
    return NULL;
}

void safetensors_drop(const struct safetensors *s, const struct tensor_entry *e) {
    if (s->owns_map) map_drop(&s->map, (size_t)e->begin, (size_t)(e->begin + e->bytes));
}
