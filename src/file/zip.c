// Reader of zip archives as torch.save writes them: every record stored, with or without the 64-bit extension. The
// directory at the end of the file is what counts; each local header must agree with it.
#include "file/torch.h"

#include <string.h>

#define END_SIZE 22
#define END_COMMENT 65535
#define LOCATOR_SIZE 20
#define END64_SIZE 56
#define CENTRAL_SIZE 46
#define LOCAL_SIZE 30
#define EXTRA_ZIP64 1

static uint64_t zip_number(const uint8_t *p, size_t bytes) {
    uint64_t x = 0;
    for (size_t i = bytes; i-- > 0;)
        x = x << 8 | p[i];
    return x;
}

static bool zip_signature(const uint8_t *p, char a, char b) {
    return p[0] == 'P' && p[1] == 'K' && p[2] == a && p[3] == b;
}

struct zip_directory {
    uint64_t at, size, count;
};

// The 64-bit end record, which a locator in front of the plain one points to.
static sabok_status zip_find_end64(const struct zip *z, size_t locator, struct zip_directory *d,
                                   sabok_error *err) {
    const uint64_t at = zip_number(z->data + locator + 8, 8);
    if (at > locator || locator - at < END64_SIZE || !zip_signature(z->data + at, 6, 6))
        return error_at(err, SABOK_EFORMAT, z->where, locator,
                        "found a zip64 locator to byte %llu, expected the end record there",
                        (unsigned long long)at);
    d->count = zip_number(z->data + at + 32, 8);
    d->size = zip_number(z->data + at + 40, 8);
    d->at = zip_number(z->data + at + 48, 8);
    return SABOK_OK;
}

// The end record is the last thing in the file but for a comment of a length that it tells.
static sabok_status zip_find_end(const struct zip *z, struct zip_directory *d, sabok_error *err) {
    size_t end = z->size;
    for (size_t comment = 0; comment <= END_COMMENT && comment + END_SIZE <= z->size; comment++) {
        const size_t at = z->size - END_SIZE - comment;
        if (!zip_signature(z->data + at, 5, 6) || zip_number(z->data + at + 20, 2) != comment) continue;
        end = at;
        break;
    }
    if (end == z->size)
        return error_at(err, SABOK_EFORMAT, z->where, z->size,
                        "found no end record of a zip archive, expected one: the file may be cut short");
    d->count = zip_number(z->data + end + 10, 2);
    d->size = zip_number(z->data + end + 12, 4);
    d->at = zip_number(z->data + end + 16, 4);
    if (end >= LOCATOR_SIZE && zip_signature(z->data + end - LOCATOR_SIZE, 6, 7))
        TRY(zip_find_end64(z, end - LOCATOR_SIZE, d, err));
    if (d->at > end || d->size > end - d->at)
        return error_at(err, SABOK_EFORMAT, z->where, end,
                        "found a zip directory of %llu bytes at byte %llu, expected it in front of this",
                        (unsigned long long)d->size, (unsigned long long)d->at);
    return SABOK_OK;
}

// Sizes and offset of a record; those that do not fit 32 bits stand in the extra field.
static bool zip_sizes(const uint8_t *central, uint64_t *size, uint64_t *packed, uint64_t *local) {
    const uint8_t *extra = central + CENTRAL_SIZE + zip_number(central + 28, 2);
    size_t left = (size_t)zip_number(central + 30, 2);
    uint64_t *const values[] = {size, packed, local};
    static const size_t at[] = {24, 20, 42};
    bool wide = false;
    for (size_t i = 0; i < COUNT(values); i++) {
        *values[i] = zip_number(central + at[i], 4);
        wide = wide || *values[i] == UINT32_MAX;
    }
    while (wide && left >= 4) {
        size_t n = (size_t)zip_number(extra + 2, 2);
        if (n > left - 4) return false;
        const uint8_t *next = extra + 4;
        if (zip_number(extra, 2) == EXTRA_ZIP64) {
            for (size_t i = 0; i < COUNT(values); i++) {
                if (*values[i] != UINT32_MAX) continue;
                if (n < 8) return false;
                *values[i] = zip_number(next, 8);
                next += 8;
                n -= 8;
            }
            return true;
        }
        extra = next + n;
        left -= 4 + n;
    }
    return !wide;
}

static sabok_status zip_fail(const struct zip *z, const struct zip_entry *e, const char *problem,
                             sabok_error *err) {
    char name[QUOTE_TEXT];
    return error_at(err, SABOK_EFORMAT, z->where, e->at, "record '%s': %s",
                    quote_text(e->name, e->name_size, name), problem);
}

// `data_end`: the directory, behind which no record can lie.
static sabok_status zip_place(const struct zip *z, const uint8_t *central, uint64_t data_end,
                              struct zip_entry *e, sabok_error *err) {
    uint64_t packed, local;
    if (!zip_sizes(central, &e->size, &packed, &local))
        return zip_fail(z, e, "found no zip64 field with its sizes, expected one", err);
    if (zip_number(central + 8, 2) & 1) return zip_fail(z, e, "found it encrypted, expected it plain", err);
    if (zip_number(central + 10, 2) != 0 || packed != e->size)
        return zip_fail(z, e, "found it compressed, expected it stored", err);
    if (local > data_end || data_end - local < LOCAL_SIZE || !zip_signature(z->data + local, 3, 4))
        return zip_fail(z, e, "found no header of it where the directory points to", err);
    const uint8_t *header = z->data + local;
    const uint64_t name = zip_number(header + 26, 2), extra = zip_number(header + 28, 2);
    const uint64_t room = data_end - local - LOCAL_SIZE;
    if (name != e->name_size || name > room || memcmp(header + LOCAL_SIZE, e->name, e->name_size) != 0)
        return zip_fail(z, e, "found another name in its header", err);
    if (extra > room - name || e->size > room - name - extra)
        return zip_fail(z, e, "found fewer bytes in the file than its size", err);
    e->begin = local + LOCAL_SIZE + name + extra;
    return SABOK_OK;
}

static sabok_status zip_entries(struct zip *z, const struct zip_directory *d, sabok_error *err) {
    uint64_t at = d->at, end = d->at + d->size;
    while (at < end) {
        const uint8_t *central = z->data + at;
        if (end - at < CENTRAL_SIZE || !zip_signature(central, 1, 2))
            return error_at(err, SABOK_EFORMAT, z->where, at,
                            "found no entry of the zip directory, expected one");
        const uint64_t rest =
            zip_number(central + 28, 2) + zip_number(central + 30, 2) + zip_number(central + 32, 2);
        if (rest > end - at - CENTRAL_SIZE)
            return error_at(err, SABOK_EFORMAT, z->where, at, "the zip directory ends inside this entry");
        struct zip_entry e = {.name = (const char *)central + CENTRAL_SIZE,
                              .name_size = (size_t)zip_number(central + 28, 2),
                              .at = at};
        TRY(zip_place(z, central, d->at, &e, err));
        if (!mem_grow((void **)&z->entries, &z->cap, z->count + 1, sizeof *z->entries))
            return error_memory(err, z->where);
        z->entries[z->count++] = e;
        at += CENTRAL_SIZE + rest;
    }
    if (z->count != d->count)
        return error_at(err, SABOK_EFORMAT, z->where, d->at,
                        "found %zu entries in the zip directory, expected %llu by the end record", z->count,
                        (unsigned long long)d->count);
    return SABOK_OK;
}

static int zip_compare_name(const struct zip_entry *e, const char *name, size_t size) {
    int order = memcmp(e->name, name, size_min(e->name_size, size));
    return order ? order : (e->name_size > size) - (e->name_size < size);
}

static int zip_compare(const void *ctx, uint32_t a, uint32_t b) {
    const struct zip_entry *entries = ctx;
    return zip_compare_name(&entries[a], entries[b].name, entries[b].name_size);
}

sabok_status zip_read(struct zip *z, const uint8_t *data, size_t size, const char *where, sabok_error *err) {
    *z = (struct zip){.data = data, .size = size, .where = where};
    struct zip_directory d = {0};
    TRY(zip_find_end(z, &d, err));
    TRY(zip_entries(z, &d, err));
    z->by_name = order_new(z->count, zip_compare, z->entries);
    if (!z->by_name) return error_memory(err, where);
    for (size_t i = 1; i < z->count; i++)
        if (zip_compare(z->entries, z->by_name[i - 1], z->by_name[i]) == 0)
            return zip_fail(z, &z->entries[z->by_name[i]], "found this name twice, expected it once", err);
    return SABOK_OK;
}

const struct zip_entry *zip_find(const struct zip *z, const char *name, size_t name_size) {
    size_t low = 0, high = z->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct zip_entry *e = &z->entries[z->by_name[middle]];
        int order = zip_compare_name(e, name, name_size);
        if (order == 0) return e;
        if (order > 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

void zip_free(struct zip *z) {
    mem_free(z->entries);
    mem_free(z->by_name);
    *z = (struct zip){0};
}
