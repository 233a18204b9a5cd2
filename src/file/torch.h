// What torch.save writes: a zip archive, or pickles one after another. Nothing of a file is ever executed.
#ifndef SABOK_TORCH_H
#define SABOK_TORCH_H

#include "file/file.h"

// ---- zip.c
// The directory of an archive whose records are stored as they are.
struct zip_entry {
    const char *name; // bytes of the file, not NUL-ended
    size_t name_size;
    uint64_t at;    // byte of the file where the directory speaks of it
    uint64_t begin; // of its bytes
    uint64_t size;
};
struct zip {
    const uint8_t *data; // borrowed
    size_t size;
    const char *where;
    struct zip_entry *entries; // in the order of the directory
    size_t count, cap;
    uint32_t *by_name;
};
// Every entry's bytes lie in the file when this succeeds. zip_free in any case.
sabok_status zip_read(struct zip *z, const uint8_t *data, size_t size, const char *where, sabok_error *err);
const struct zip_entry *zip_find(const struct zip *z, const char *name, size_t name_size); // NULL if absent
void zip_free(struct zip *z);

// ---- pickle.c
// A machine for the pickles of state_dicts. It knows data, and the few globals that stand for a container, a type, a
// storage or a tensor; any other opcode or global is an error.
enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_FLOAT,
    PICKLE_TEXT,
    PICKLE_GLOBAL,
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICT,
    PICKLE_STORAGE,
    PICKLE_TENSOR
};
struct pickle_value {
    uint32_t kind; // enum pickle_kind
    uint32_t size; // bytes of a text, items of a tuple
    union {
        int64_t integer;  // BOOL, INT
        const char *text; // bytes of the file
        size_t index;     // GLOBAL, LIST, DICT, STORAGE, TENSOR; TUPLE: its first item in `items`
    };
};
struct pickle_group { // a list, or keys and values of a dict in turn
    struct pickle_value *items;
    size_t count, cap;
};
struct pickle_storage {
    struct pickle_value key; // text
    enum dtype dtype;
    uint64_t count;               // elements of the whole storage
    uint64_t view_at, view_count; // the part of it that tensors see; all of it in files of today
    uint64_t at;                  // byte of the file that speaks of it
};
struct pickle_tensor {
    size_t storage;
    enum dtype dtype;
    uint64_t offset;                  // in elements
    struct pickle_value size, stride; // tuples of integers >= 0, of equal length
    uint64_t at;
};
#define PICKLE_DEPTH 64
struct pickle {
    const uint8_t *data; // the whole file, borrowed
    size_t at, end, begin;
    size_t op; // byte of the opcode at work
    const char *where;
    sabok_error *err;
    struct pickle_value *stack, *memo, *items; // `items`: those of all tuples
    size_t depth, stack_cap, memo_count, memo_cap, item_count, item_cap;
    struct pickle_group *groups;
    size_t group_count, group_cap, group_items;
    struct pickle_storage *storages;
    size_t storage_count, storage_cap;
    struct pickle_tensor *tensors;
    size_t tensor_count, tensor_cap;
    size_t marks[PICKLE_DEPTH];
    size_t mark_count;
};
// Runs the pickle at data[begin, end) to its STOP; p->at is then the byte behind it. What earlier pickles made stays.
sabok_status pickle_run(struct pickle *p, size_t begin, size_t end, struct pickle_value *out);
void pickle_free(struct pickle *p);
const char *pickle_noun(uint32_t kind); // "a number"
bool pickle_text_is(struct pickle_value v, const char *s);

#endif
