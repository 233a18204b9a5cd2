// Reader of pytorch_model.bin: what torch.save makes of a state_dict, as a zip archive (since torch 1.6) or as five
// pickles followed by the storages (before). The rules are in docs/formats.md. Tensors that lie in a row in the file are
// used where they are; views with other strides are copied, once, when the file is opened.
#include "file/torch.h"

#include <string.h>

#define PICKLE_BYTES_MAX ((size_t)64 << 20)
// Copies of strided views may take a few times the file, since views can share storages, and a little more.
#define COPY_TIMES 4
#define COPY_FREE ((size_t)1 << 20)
#define COPY_ALIGN 64

// The pickles of a legacy file: this number, the protocol, a description of the machine, the object, the keys.
static const uint8_t legacy_magic[] = {0x80, 2,    0x8a, 10,   0x6c, 0xfc, 0x9c, 0x46,
                                       0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};
#define LEGACY_PROTOCOL 1001

struct torch_file {
    struct file_map map;
    bool owns_map;
    const uint8_t *data;
    size_t size;
    const char *where;
    struct arena arena;
    struct tensor_entry *entries;
    size_t count;
    uint32_t *by_name;
    size_t *views; // entries whose elements do not lie in a row; their strides stand behind their sizes
    size_t view_count, view_cap;
    uint8_t *copies; // the values of these
    size_t copy_bytes;
};

// What is needed while a file is opened.
struct torch_reading {
    struct torch_file *t;
    struct pickle pickle;
    struct zip zip;
    uint64_t *begins; // byte of the file at which a storage's elements lie
    uint32_t *by_key; // storages
    sabok_error *err;
};

static sabok_status torch_fail(const struct torch_reading *r, uint64_t at, const char *what,
                               struct pickle_value name, const char *problem) {
    char shown[QUOTE_TEXT];
    return error_at(r->err, SABOK_EFORMAT, r->t->where, at, "%s '%s': %s", what,
                    quote_text(name.text, name.size, shown), problem);
}

// ---- storages

static int compare_texts(struct pickle_value a, struct pickle_value b) {
    int order = memcmp(a.text, b.text, size_min(a.size, b.size));
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_keys(const void *ctx, uint32_t a, uint32_t b) {
    const struct pickle_storage *s = ctx;
    return compare_texts(s[a].key, s[b].key);
}

// Every tensor speaks of its storage anew: they must agree.
static sabok_status storages_sort(struct torch_reading *r) {
    const struct pickle *p = &r->pickle;
    r->by_key = order_new(p->storage_count, compare_keys, p->storages);
    r->begins = mem_array(p->storage_count, sizeof *r->begins);
    if (!r->by_key || !r->begins) return error_memory(r->err, r->t->where);
    for (size_t i = 1; i < p->storage_count; i++) {
        const struct pickle_storage *a = &p->storages[r->by_key[i - 1]], *b = &p->storages[r->by_key[i]];
        if (compare_texts(a->key, b->key) == 0 && (a->dtype != b->dtype || a->count != b->count))
            return torch_fail(r, b->at, "storage", b->key,
                              "found it with two types or lengths, expected one");
    }
    return SABOK_OK;
}

static sabok_status storage_bytes(const struct torch_reading *r, const struct pickle_storage *s,
                                  size_t *bytes) {
    if (mul_ok((size_t)s->count, dtype_bytes(s->dtype), bytes)) return SABOK_OK;
    return torch_fail(r, s->at, "storage", s->key, "its size overflows, expected one that fits");
}

// Places the storages whose key is by_key[*i]'s; *i moves behind them.
static void storages_place(struct torch_reading *r, size_t *i, uint64_t begin) {
    const struct pickle_storage *s = r->pickle.storages;
    const struct pickle_value key = s[r->by_key[*i]].key;
    for (; *i < r->pickle.storage_count && compare_texts(s[r->by_key[*i]].key, key) == 0; ++*i)
        r->begins[r->by_key[*i]] = begin;
}

// ---- the zip form

// The record FOLDER/NAME of the archive, whose records all stand in one folder, that of the first.
static const struct zip_entry *archive_find(const struct torch_reading *r, const char *folder,
                                            struct pickle_value name) {
    char full[1024];
    const struct zip_entry *first = &r->zip.entries[0];
    const char *slash = memchr(first->name, '/', first->name_size);
    const size_t root = slash ? (size_t)(slash + 1 - first->name) : 0, middle = strlen(folder);
    if (root > sizeof full / 2 || name.size > sizeof full / 2 - middle) return NULL;
    memcpy(full, first->name, root);
    memcpy(full + root, folder, middle);
    memcpy(full + root + middle, name.text, name.size);
    return zip_find(&r->zip, full, root + middle + name.size);
}

static const struct zip_entry *archive_record(const struct torch_reading *r, const char *name) {
    return archive_find(r, "", (struct pickle_value){.text = name, .size = (uint32_t)strlen(name)});
}

static sabok_status archive_place(struct torch_reading *r) {
    const struct pickle *p = &r->pickle;
    TRY(storages_sort(r));
    for (size_t i = 0; i < p->storage_count;) {
        const struct pickle_storage *s = &p->storages[r->by_key[i]];
        const struct zip_entry *e = archive_find(r, "data/", s->key);
        if (!e)
            return torch_fail(r, s->at, "storage", s->key, "found no record 'data/KEY' of it, expected one");
        size_t bytes = 0;
        TRY(storage_bytes(r, s, &bytes));
        if (e->size != bytes) {
            char problem[120];
            snprintf(problem, sizeof problem, "found %llu bytes in its record, expected %zu by its %s length",
                     (unsigned long long)e->size, bytes, dtype_name(s->dtype));
            return torch_fail(r, s->at, "storage", s->key, problem);
        }
        storages_place(r, &i, e->begin);
    }
    return SABOK_OK;
}

static sabok_status archive_byteorder(struct torch_reading *r) {
    const struct zip_entry *e = archive_record(r, "byteorder");
    if (!e || (e->size == 6 && memcmp(r->t->data + e->begin, "little", 6) == 0)) return SABOK_OK;
    return error_at(r->err, SABOK_EUNSUPPORTED, r->t->where, e->begin,
                    "found another byte order than 'little', which alone is supported");
}

static sabok_status archive_read(struct torch_reading *r, struct pickle_value *object) {
    TRY(zip_read(&r->zip, r->t->data, r->t->size, r->t->where, r->err));
    const struct zip_entry *e = r->zip.count ? archive_record(r, "data.pkl") : NULL;
    if (!e)
        return error_set(r->err, SABOK_EFORMAT, r->t->where,
                         "found no record 'data.pkl' in the zip archive, expected what torch.save writes");
    TRY(archive_byteorder(r));
    if (e->size > PICKLE_BYTES_MAX)
        return error_at(r->err, SABOK_EFORMAT, r->t->where, e->begin,
                        "found a pickle of %llu bytes, expected at most %zu", (unsigned long long)e->size,
                        PICKLE_BYTES_MAX);
    TRY(pickle_run(&r->pickle, (size_t)e->begin, (size_t)(e->begin + e->size), object));
    if (r->pickle.at != e->begin + e->size)
        return error_at(r->err, SABOK_EFORMAT, r->t->where, r->pickle.at,
                        "found bytes after the end of the pickle");
    return archive_place(r);
}

// ---- the legacy form

static sabok_status legacy_pickle(struct torch_reading *r, struct pickle_value *out) {
    const size_t begin = r->pickle.at, left = r->t->size - begin;
    sabok_status status = pickle_run(&r->pickle, begin, begin + size_min(left, PICKLE_BYTES_MAX), out);
    r->pickle.end = r->t->size;
    return status;
}

// {"protocol_version": 1001, "little_endian": True, "type_sizes": {...}}
static sabok_status legacy_machine(struct torch_reading *r, struct pickle_value v) {
    if (v.kind != PICKLE_DICT)
        return error_at(r->err, SABOK_EFORMAT, r->t->where, r->pickle.op,
                        "found %s, expected a description of the machine", pickle_noun(v.kind));
    const struct pickle_group *g = &r->pickle.groups[v.index];
    for (size_t i = 0; i < g->count; i += 2)
        if (pickle_text_is(g->items[i], "little_endian") && g->items[i + 1].kind == PICKLE_BOOL &&
            g->items[i + 1].integer)
            return SABOK_OK;
    return error_at(r->err, SABOK_EUNSUPPORTED, r->t->where, r->pickle.op,
                    "found no 'little_endian': True, which alone is supported");
}

// Behind the list of keys, for each of them in its order: the number of elements (8 bytes), the elements.
static sabok_status legacy_place(struct torch_reading *r, struct pickle_value keys) {
    const struct pickle *p = &r->pickle;
    if (keys.kind != PICKLE_LIST)
        return error_at(r->err, SABOK_EFORMAT, r->t->where, p->op,
                        "found %s, expected the list of storage keys", pickle_noun(keys.kind));
    TRY(storages_sort(r));
    const struct pickle_group *g = &p->groups[keys.index];
    for (size_t i = 0; i < p->storage_count; i++)
        r->begins[i] = 0; // not placed: nothing begins there but the magic number
    size_t at = p->at;
    for (size_t k = 0; k < g->count; k++) {
        const struct pickle_value key = g->items[k];
        if (key.kind != PICKLE_TEXT)
            return error_at(r->err, SABOK_EFORMAT, r->t->where, p->op,
                            "found %s as the key of a storage, expected a text", pickle_noun(key.kind));
        size_t low = 0, high = p->storage_count, bytes = 0;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (compare_texts(p->storages[r->by_key[middle]].key, key) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        const struct pickle_storage *s = low < p->storage_count ? &p->storages[r->by_key[low]] : NULL;
        if (!s || compare_texts(s->key, key) != 0)
            return torch_fail(r, p->op, "storage", key, "found its key listed, but no tensor in it");
        if (r->begins[r->by_key[low]])
            return torch_fail(r, p->op, "storage", key, "found its key listed twice");
        TRY(storage_bytes(r, s, &bytes));
        uint64_t count = 0;
        for (size_t i = 8; i-- > 0 && r->t->size - at >= 8;)
            count = count << 8 | r->t->data[at + i];
        if (r->t->size - at < 8 || count != s->count || bytes > r->t->size - at - 8)
            return torch_fail(r, at, "storage", key,
                              "found another length than its tensors tell, or the end of the file");
        storages_place(r, &low, at + 8);
        at += 8 + bytes;
    }
    for (size_t i = 0; i < p->storage_count; i++)
        if (!r->begins[i])
            return torch_fail(r, p->storages[i].at, "storage", p->storages[i].key, "found it not listed");
    if (at == r->t->size) return SABOK_OK;
    return error_at(r->err, SABOK_EFORMAT, r->t->where, at,
                    "found bytes after the last storage, expected the end");
}

static sabok_status legacy_read(struct torch_reading *r, struct pickle_value *object) {
    struct pickle_value v = {0};
    r->pickle.at = sizeof legacy_magic;
    TRY(legacy_pickle(r, &v));
    if (v.kind != PICKLE_INT || v.integer != LEGACY_PROTOCOL)
        return error_at(r->err, SABOK_EUNSUPPORTED, r->t->where, r->pickle.op,
                        "found another protocol of torch than %d, which alone is supported", LEGACY_PROTOCOL);
    TRY(legacy_pickle(r, &v));
    TRY(legacy_machine(r, v));
    TRY(legacy_pickle(r, object));
    TRY(legacy_pickle(r, &v));
    return legacy_place(r, v);
}

// ---- tensors

// Bytes of the tensor; that it lies in its storage; whether its elements lie in a row.
static sabok_status tensor_check(const struct torch_reading *r, const struct pickle_tensor *t,
                                 struct pickle_value name, struct tensor_entry *e, bool *in_row) {
    const struct pickle *p = &r->pickle;
    const struct pickle_storage *s = &p->storages[t->storage];
    const struct pickle_value *size = p->items + t->size.index, *stride = p->items + t->stride.index;
    const size_t width = dtype_bytes(t->dtype);
    size_t items = 1, row = 1, last = 0, step = 0, bytes = 0;
    bool fits = true;
    for (size_t d = 0; d < e->rank; d++)
        fits = fits && mul_ok(items, e->dims[d], &items);
    *in_row = true;
    for (size_t d = e->rank; d-- > 0 && items > 0;) {
        if (e->dims[d] == 1) continue;
        *in_row = *in_row && (uint64_t)stride[d].integer == row;
        fits = fits && mul_ok((size_t)size[d].integer - 1, (size_t)stride[d].integer, &step) &&
               add_ok(last, step, &last);
        row *= (size_t)size[d].integer; // no more than `items`
    }
    fits = fits && mul_ok(items, width, &bytes) && add_ok(last, 1, &last) &&
           add_ok(last, (size_t)t->offset, &last);
    if (items == 0) last = 0; // wherever it begins, nothing of it is there
    // Untyped storages count bytes.
    const uint64_t room = s->view_count * dtype_bytes(s->dtype) / width;
    if (!fits || last > room) {
        char problem[120];
        snprintf(problem, sizeof problem, "found it to end behind its storage of %llu elements",
                 (unsigned long long)room);
        return torch_fail(r, t->at, "tensor", name, problem);
    }
    e->bytes = bytes;
    e->begin = r->begins[t->storage] + s->view_at * dtype_bytes(s->dtype) + (items ? t->offset * width : 0);
    return SABOK_OK;
}

static sabok_status tensor_add(struct torch_reading *r, struct pickle_value name,
                               const struct pickle_tensor *t) {
    struct torch_file *f = r->t;
    if (memchr(name.text, 0, name.size))
        return torch_fail(r, t->at, "tensor", name, "found a NUL byte in its name, expected none");
    const size_t rank = t->size.size;
    struct tensor_entry e = {.name = arena_copy(&f->arena, name.text, name.size),
                             .dtype = t->dtype,
                             .rank = rank,
                             .shape = {.rank = (int)rank}};
    uint64_t *dims = arena_alloc(&f->arena, (2 * rank + 1) * sizeof *dims);
    if (!e.name || !dims) return error_memory(r->err, f->where);
    e.dims = dims;
    for (size_t d = 0; d < rank; d++) {
        dims[d] = (uint64_t)r->pickle.items[t->size.index + d].integer;
        dims[rank + d] = (uint64_t)r->pickle.items[t->stride.index + d].integer;
        if (rank <= SHAPE_RANK) e.shape.dim[d] = (int64_t)dims[d];
    }
    bool in_row = true;
    TRY(tensor_check(r, t, name, &e, &in_row));
    e.data = f->data + e.begin;
    if (!in_row) {
        if (!mem_grow((void **)&f->views, &f->view_cap, f->view_count + 1, sizeof *f->views))
            return error_memory(r->err, f->where);
        f->views[f->view_count++] = f->count;
        if (!add_ok(f->copy_bytes, (size_t)e.bytes, &f->copy_bytes) ||
            !add_ok(f->copy_bytes, COPY_ALIGN - 1, &f->copy_bytes) ||
            f->copy_bytes / COPY_TIMES > f->size + COPY_FREE)
            return torch_fail(r, t->at, "tensor", name,
                              "found strided views that repeat the file many times over");
        f->copy_bytes = f->copy_bytes / COPY_ALIGN * COPY_ALIGN;
    }
    f->entries[f->count++] = e;
    return SABOK_OK;
}

static int compare_entries(const void *ctx, uint32_t a, uint32_t b) {
    const struct tensor_entry *entries = ctx;
    return strcmp(entries[a].name, entries[b].name);
}

static sabok_status tensors_read(struct torch_reading *r, struct pickle_value object) {
    struct torch_file *f = r->t;
    if (object.kind != PICKLE_DICT)
        return error_set(r->err, SABOK_EFORMAT, f->where, "found %s, expected a state_dict",
                         pickle_noun(object.kind));
    const struct pickle_group *g = &r->pickle.groups[object.index];
    f->entries = mem_array(g->count / 2, sizeof *f->entries);
    if (!f->entries) return error_memory(r->err, f->where);
    for (size_t i = 0; i < g->count; i += 2) {
        const struct pickle_value name = g->items[i], v = g->items[i + 1];
        char shown[QUOTE_TEXT];
        if (name.kind != PICKLE_TEXT)
            return error_set(r->err, SABOK_EFORMAT, f->where,
                             "found %s as a name in the state_dict, expected a text", pickle_noun(name.kind));
        if (v.kind != PICKLE_TENSOR)
            return error_set(r->err, SABOK_EFORMAT, f->where, "'%s': found %s, expected a tensor",
                             quote_text(name.text, name.size, shown), pickle_noun(v.kind));
        TRY(tensor_add(r, name, &r->pickle.tensors[v.index]));
    }
    f->by_name = order_new(f->count, compare_entries, f->entries);
    if (!f->by_name) return error_memory(r->err, f->where);
    for (size_t i = 1; i < f->count; i++) {
        const char *name = f->entries[f->by_name[i]].name;
        char shown[QUOTE_TEXT];
        if (strcmp(name, f->entries[f->by_name[i - 1]].name) == 0)
            return error_set(r->err, SABOK_EFORMAT, f->where, "tensor '%s': found it twice, expected it once",
                             quote_text(name, strlen(name), shown));
    }
    return SABOK_OK;
}

// Elements in row-major order from a view whose strides (in elements) stand behind its sizes.
static void view_copy(const struct tensor_entry *e, uint8_t *out) {
    const size_t width = dtype_bytes(e->dtype), items = (size_t)e->bytes / width;
    const uint64_t *strides = e->dims + e->rank;
    uint64_t index[64] = {0}, at = 0;
    for (size_t i = 0; i < items; i++) {
        memcpy(out + i * width, e->data + at * width, width);
        for (size_t d = e->rank; d-- > 0;) {
            at += strides[d];
            if (++index[d] < e->dims[d]) break;
            at -= strides[d] * e->dims[d];
            index[d] = 0;
        }
    }
}

static sabok_status views_copy(struct torch_file *f, sabok_error *err) {
    if (f->view_count == 0) return SABOK_OK;
    f->copies = mem_map(f->copy_bytes);
    if (!f->copies) return error_memory(err, f->where);
    size_t at = 0;
    for (size_t i = 0; i < f->view_count; i++) {
        struct tensor_entry *e = &f->entries[f->views[i]];
        view_copy(e, f->copies + at);
        e->data = f->copies + at;
        at = round_up(at + (size_t)e->bytes, COPY_ALIGN);
    }
    return SABOK_OK;
}

// ---- the file

static sabok_status torch_read(struct torch_file *f, sabok_error *err) {
    struct torch_reading r = {.t = f, .pickle = {.data = f->data, .where = f->where, .err = err}, .err = err};
    struct pickle_value object = {0};
    sabok_status status;
    if (f->size >= 4 && memcmp(f->data, "PK\3\4", 4) == 0)
        status = archive_read(&r, &object);
    else if (f->size >= sizeof legacy_magic && memcmp(f->data, legacy_magic, sizeof legacy_magic) == 0)
        status = legacy_read(&r, &object);
    else
        status = error_at(err, SABOK_EFORMAT, f->where, 0,
                          "found neither a zip archive nor the pickles of torch.save, expected one of them");
    if (status == SABOK_OK) status = tensors_read(&r, object);
    if (status == SABOK_OK) status = views_copy(f, err);
    pickle_free(&r.pickle);
    zip_free(&r.zip);
    mem_free(r.begins);
    mem_free(r.by_key);
    return status;
}

static struct torch_file *torch_new(struct file_map map, bool owns_map, const char *where, sabok_error *err) {
    struct torch_file *f = mem_zalloc(sizeof *f);
    if (!f) {
        if (owns_map) map_close(&map);
        error_memory(err, where);
        return NULL;
    }
    f->map = map;
    f->owns_map = owns_map;
    f->data = map.data;
    f->size = map.size;
    arena_init(&f->arena, 0);
    f->where = arena_copy(&f->arena, where, strlen(where));
    sabok_status status = f->where ? torch_read(f, err) : error_memory(err, where);
    if (status == SABOK_OK) return f;
    torch_close(f);
    return NULL;
}

struct torch_file *torch_open(const char *path, bool read, sabok_error *err) {
    struct file_map map;
    if (map_open(&map, path, read, err) != SABOK_OK) return NULL;
    return torch_new(map, true, path, err);
}

struct torch_file *torch_parse(const uint8_t *data, size_t size, const char *where, sabok_error *err) {
    return torch_new((struct file_map){.data = data, .size = size}, false, where, err);
}

void torch_close(struct torch_file *f) {
    if (!f) return;
    mem_free(f->entries);
    mem_free(f->by_name);
    mem_free(f->views);
    mem_unmap(f->copies, f->copy_bytes);
    arena_free(&f->arena);
    if (f->owns_map) map_close(&f->map);
    mem_free(f);
}

size_t torch_count(const struct torch_file *f) {
    return f->count;
}

const struct tensor_entry *torch_get(const struct torch_file *f, size_t i) {
    ASSERT(i < f->count);
    return &f->entries[i];
}

const struct tensor_entry *torch_find(const struct torch_file *f, const char *name) {
    size_t low = 0, high = f->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct tensor_entry *e = &f->entries[f->by_name[middle]];
        int order = strcmp(name, e->name);
        if (order == 0) return e;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

// Tensors may share bytes: pages that were read, rather than mapped, would be lost to the others.
void torch_drop(const struct torch_file *f, const struct tensor_entry *e) {
    if (f->owns_map && f->map.mapped && e->data == f->data + e->begin)
        map_drop(&f->map, (size_t)e->begin, (size_t)(e->begin + e->bytes));
}
