// Configuration files: one JSON object whose values are read, with their ranges, when they are asked for.
#include "file/file.h"

#include <inttypes.h>
#include <string.h>

#define CONFIG_MAX ((size_t)16 << 20) // bytes of a file

struct config_entry {
    const char *key;
    size_t at; // byte of the value
    enum json_kind kind;
};

// Nested objects share the text and the arena of the outermost one, which owns both.
struct config {
    const char *where;
    char *text;
    size_t size;
    struct arena *arena;
    struct config_entry *entries;
    size_t count, cap;
    uint32_t *by_key;
    struct config *next; // of the objects owned by the outermost one
    struct config *root;
};

static int compare_entries(const void *ctx, uint32_t a, uint32_t b) {
    const struct config_entry *entries = ctx;
    return strcmp(entries[a].key, entries[b].key);
}

// Reads the keys of the object at the reader's place.
static bool config_scan(struct config *c, struct json *j) {
    struct json_text key;
    if (json_peek(j) != JSON_OBJECT && !j->failed)
        return json_fail(j, "found %s, expected an object", json_kind_name(json_peek(j)));
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        char shown[QUOTE_TEXT];
        if (memchr(key.data, 0, key.size))
            return json_fail(j, "found a NUL byte in the key '%s', expected none",
                             quote_text(key.data, key.size, shown));
        struct config_entry entry = {.key = arena_copy(c->arena, key.data, key.size)};
        entry.kind = json_peek(j);
        entry.at = j->at;
        if (!entry.key || !mem_grow((void **)&c->entries, &c->cap, c->count + 1, sizeof *c->entries)) {
            error_memory(j->err, c->where);
            return false;
        }
        c->entries[c->count++] = entry;
        if (!json_skip(j)) return false;
    }
    return !j->failed;
}

static sabok_status config_sort(struct config *c, sabok_error *err) {
    c->by_key = order_new(c->count, compare_entries, c->entries);
    if (!c->by_key) return error_memory(err, c->where);
    for (size_t i = 1; i < c->count; i++) {
        const struct config_entry *e = &c->entries[c->by_key[i]];
        char shown[QUOTE_TEXT];
        if (strcmp(e->key, c->entries[c->by_key[i - 1]].key) == 0)
            return error_at(err, SABOK_EFORMAT, c->where, e->at, "found the key '%s' twice, expected it once",
                            quote_text(e->key, strlen(e->key), shown));
    }
    return SABOK_OK;
}

static sabok_status config_read(struct config *c, size_t at, bool whole, sabok_error *err) {
    sabok_error local = {0};
    struct json j;
    json_init(&j, c->text, c->size, c->where, c->arena, &local);
    j.at = at;
    if (!config_scan(c, &j) || (whole && !json_end(&j))) {
        if (err) *err = local;
        return local.code ? local.code : SABOK_EFORMAT;
    }
    return config_sort(c, err);
}

// Takes `text`, also when it fails.
static struct config *config_new(char *text, size_t size, const char *where, sabok_error *err) {
    struct config *c = mem_zalloc(sizeof *c);
    struct arena *arena = mem_zalloc(sizeof *arena);
    if (!c || !arena) {
        mem_free(text);
        mem_free(c);
        mem_free(arena);
        error_memory(err, where);
        return NULL;
    }
    arena_init(arena, 0);
    *c = (struct config){.text = text, .size = size, .arena = arena, .root = c};
    c->where = arena_copy(arena, where, strlen(where));
    sabok_status status = c->where ? config_read(c, 0, true, err) : error_memory(err, where);
    if (status == SABOK_OK) return c;
    config_close(c);
    return NULL;
}

struct config *config_open(const char *path, sabok_error *err) {
    char *text;
    size_t size;
    if (file_read(path, CONFIG_MAX, &text, &size, err) != SABOK_OK) return NULL;
    return config_new(text, size, path, err);
}

struct config *config_parse(const char *text, size_t size, const char *where, sabok_error *err) {
    char *copy = mem_copy_bytes(text, size);
    if (!copy) {
        error_memory(err, where);
        return NULL;
    }
    return config_new(copy, size, where, err);
}

void config_close(struct config *c) {
    while (c) {
        struct config *next = c->next;
        if (c->root == c) {
            mem_free(c->text);
            arena_free(c->arena);
            mem_free(c->arena);
        }
        mem_free(c->entries);
        mem_free(c->by_key);
        mem_free(c);
        c = next;
    }
}

const char *config_where(const struct config *c) {
    return c->where;
}

size_t config_count(const struct config *c) {
    return c->count;
}

const char *config_key(const struct config *c, size_t i) {
    ASSERT(i < c->count);
    return c->entries[i].key;
}

// NULL when the key is absent or null.
static const struct config_entry *config_find(const struct config *c, const char *key) {
    size_t low = 0, high = c->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct config_entry *e = &c->entries[c->by_key[middle]];
        int order = strcmp(key, e->key);
        if (order == 0) return e->kind == JSON_NULL ? NULL : e;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

bool config_has(const struct config *c, const char *key) {
    return config_find(c, key) != NULL;
}

// A reader placed at the value.
static struct json config_value(const struct config *c, const struct config_entry *e, sabok_error *err) {
    struct json j;
    json_init(&j, c->text, c->size, c->where, c->arena, err);
    j.at = e->at;
    return j;
}

// "key": found <the value as the file spells it>, expected ...
static sabok_status config_error(const struct config *c, const struct config_entry *e, const char *expected,
                                 sabok_error *err) {
    struct json j = config_value(c, e, NULL);
    char key[QUOTE_TEXT], found[QUOTE_TEXT];
    json_skip(&j);
    quote_text(c->text + e->at, j.at > e->at ? j.at - e->at : 0, found);
    return error_at(err, SABOK_EFORMAT, c->where, e->at, "\"%s\": found %s, expected %s",
                    quote_text(e->key, strlen(e->key), key), found, expected);
}

sabok_status config_u64(const struct config *c, const char *key, uint64_t min, uint64_t max, uint64_t *out,
                        sabok_error *err) {
    const struct config_entry *e = config_find(c, key);
    if (!e) return SABOK_OK;
    uint64_t x;
    struct json j = config_value(c, e, NULL);
    if (e->kind == JSON_NUMBER && json_u64(&j, &x) && x >= min && x <= max) {
        *out = x;
        return SABOK_OK;
    }
    char expected[96];
    snprintf(expected, sizeof expected, "an integer from %" PRIu64 " to %" PRIu64, min, max);
    return config_error(c, e, expected, err);
}

sabok_status config_double(const struct config *c, const char *key, double min, double max, double *out,
                           sabok_error *err) {
    const struct config_entry *e = config_find(c, key);
    if (!e) return SABOK_OK;
    double x;
    struct json j = config_value(c, e, NULL);
    if (e->kind == JSON_NUMBER && json_double(&j, &x) && x >= min && x <= max) {
        *out = x;
        return SABOK_OK;
    }
    char expected[96];
    snprintf(expected, sizeof expected, "a number from %g to %g", min, max);
    return config_error(c, e, expected, err);
}

sabok_status config_bool(const struct config *c, const char *key, bool *out, sabok_error *err) {
    const struct config_entry *e = config_find(c, key);
    if (!e) return SABOK_OK;
    struct json j = config_value(c, e, NULL);
    if (e->kind == JSON_BOOL && json_bool(&j, out)) return SABOK_OK;
    return config_error(c, e, "true or false", err);
}

// A NUL-ended copy of the string at the reader, in the arena.
static sabok_status config_copy(const struct config *c, const struct config_entry *e, struct json *j,
                                const char **out, sabok_error *err) {
    struct json_text text;
    sabok_error local = {0};
    j->err = &local;
    if (!json_string(j, &text)) {
        if (err) *err = local;
        return local.code ? local.code : SABOK_EFORMAT;
    }
    if (memchr(text.data, 0, text.size)) return config_error(c, e, "a string without NUL bytes", err);
    *out = arena_copy(c->arena, text.data, text.size);
    return *out ? SABOK_OK : error_memory(err, c->where);
}

sabok_status config_string(const struct config *c, const char *key, const char **out, sabok_error *err) {
    const struct config_entry *e = config_find(c, key);
    if (!e) return SABOK_OK;
    if (e->kind != JSON_STRING) return config_error(c, e, "a string", err);
    struct json j = config_value(c, e, NULL);
    const char *copy;
    TRY(config_copy(c, e, &j, &copy, err));
    *out = copy;
    return SABOK_OK;
}

sabok_status config_strings(const struct config *c, const char *key, const char *const **out, size_t *n,
                            sabok_error *err) {
    const struct config_entry *e = config_find(c, key);
    if (!e) return SABOK_OK;
    if (e->kind != JSON_ARRAY) return config_error(c, e, "an array of strings", err);
    struct json j = config_value(c, e, NULL);
    size_t count = 0;
    json_array_begin(&j);
    while (json_item(&j)) {
        if (json_peek(&j) != JSON_STRING) return config_error(c, e, "an array of strings", err);
        json_skip(&j);
        count++;
    }
    size_t bytes;
    const char **items = mul_ok(count + 1, sizeof *items, &bytes) ? arena_alloc(c->arena, bytes) : NULL;
    if (!items) return error_memory(err, c->where);
    j = config_value(c, e, NULL);
    json_array_begin(&j);
    for (size_t i = 0; i < count && json_item(&j); i++)
        TRY(config_copy(c, e, &j, &items[i], err));
    *out = items;
    *n = count;
    return SABOK_OK;
}

sabok_status config_object(const struct config *c, const char *key, struct config **out, sabok_error *err) {
    const struct config_entry *e = config_find(c, key);
    if (!e) return SABOK_OK;
    if (e->kind != JSON_OBJECT) return config_error(c, e, "an object", err);
    struct config *nested = mem_zalloc(sizeof *nested);
    if (!nested) return error_memory(err, c->where);
    *nested = (struct config){.where = c->where, .text = c->text, .size = c->size, .arena = c->arena};
    nested->root = c->root;
    nested->next = c->root->next;
    c->root->next = nested;
    TRY(config_read(nested, e->at, false, err));
    *out = nested;
    return SABOK_OK;
}
