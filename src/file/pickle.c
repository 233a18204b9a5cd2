// A pickle machine that executes nothing. A global is looked up in a table of what state_dicts are made of, and a call
// fills a record; whatever else a pickle asks for ends the reading. Nothing recurses, and each byte of a pickle makes at
// most one value, so memory is bounded by the file and by the limits below, never by a number in it.
#include "file/torch.h"

#include <string.h>

#define STACK_MAX ((size_t)1 << 22)
#define ITEMS_MAX ((size_t)1 << 24)   // of all tuples; of all lists and dicts; of the memo
#define OBJECTS_MAX ((size_t)1 << 20) // lists and dicts; storages; tensors
#define NAME_MAX_SIZE 255             // of a module or a global
#define RANK_MAX 64
#define ANY_COUNT SIZE_MAX

enum global_what { GLOBAL_ORDERED_DICT, GLOBAL_REBUILD, GLOBAL_PARAMETER, GLOBAL_STORAGE, GLOBAL_DTYPE };
// All that a pickle may name. Calls take least .. most arguments.
static const struct {
    const char *module, *name;
    enum global_what what;
    enum dtype dtype;
    unsigned least, most;
} globals[] = {
    {"collections", "OrderedDict", GLOBAL_ORDERED_DICT, DT_COUNT, 0, 1},
    {"torch._utils", "_rebuild_tensor", GLOBAL_REBUILD, DT_COUNT, 4, 4},
    {"torch._utils", "_rebuild_tensor_v2", GLOBAL_REBUILD, DT_COUNT, 6, 7},
    {"torch._utils", "_rebuild_tensor_v3", GLOBAL_REBUILD, DT_COUNT, 7, 8}, // argument 6 is the type
    {"torch._utils", "_rebuild_parameter", GLOBAL_PARAMETER, DT_COUNT, 3, 3},
    {"torch", "FloatStorage", GLOBAL_STORAGE, DT_F32, 0, 0},
    {"torch", "HalfStorage", GLOBAL_STORAGE, DT_F16, 0, 0},
    {"torch", "BFloat16Storage", GLOBAL_STORAGE, DT_BF16, 0, 0},
    {"torch", "DoubleStorage", GLOBAL_STORAGE, DT_F64, 0, 0},
    {"torch", "LongStorage", GLOBAL_STORAGE, DT_I64, 0, 0},
    {"torch", "IntStorage", GLOBAL_STORAGE, DT_I32, 0, 0},
    {"torch", "ShortStorage", GLOBAL_STORAGE, DT_I16, 0, 0},
    {"torch", "CharStorage", GLOBAL_STORAGE, DT_I8, 0, 0},
    {"torch", "ByteStorage", GLOBAL_STORAGE, DT_U8, 0, 0},
    {"torch", "BoolStorage", GLOBAL_STORAGE, DT_BOOL, 0, 0},
    {"torch.storage", "UntypedStorage", GLOBAL_STORAGE, DT_U8, 0, 0},
    {"torch", "uint16", GLOBAL_DTYPE, DT_U16, 0, 0},
    {"torch", "uint32", GLOBAL_DTYPE, DT_U32, 0, 0},
    {"torch", "uint64", GLOBAL_DTYPE, DT_U64, 0, 0},
};

const char *pickle_noun(uint32_t kind) {
    static const char *const nouns[] = {"None",   "True or False", "an integer", "a number",
                                        "a text", "a global",      "a tuple",    "a list",
                                        "a dict", "a storage",     "a tensor"};
    ASSERT(kind < COUNT(nouns));
    return nouns[kind];
}

bool pickle_text_is(struct pickle_value v, const char *s) {
    return v.kind == PICKLE_TEXT && v.size == strlen(s) && memcmp(v.text, s, v.size) == 0;
}

__attribute__((format(printf, 2, 3))) static sabok_status pickle_fail(struct pickle *p, const char *format,
                                                                      ...) {
    char message[400];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return error_at(p->err, SABOK_EFORMAT, p->where, p->op, "%s", message);
}

// Room for one more of something of which there may be `most`.
static sabok_status pickle_grow(struct pickle *p, void **items, size_t *cap, size_t count, size_t size,
                                size_t most) {
    if (count >= most) return pickle_fail(p, "found more than %zu values of one kind in the pickle", most);
    return mem_grow(items, cap, count + 1, size) ? SABOK_OK : error_memory(p->err, p->where);
}

// ---- bytes

static sabok_status pickle_bytes(struct pickle *p, size_t n, const uint8_t **out) {
    if (n > p->end - p->at)
        return pickle_fail(p, "the pickle ends inside this opcode, which asks for %zu bytes", n);
    *out = p->data + p->at;
    p->at += n;
    return SABOK_OK;
}

static sabok_status pickle_number(struct pickle *p, size_t bytes, uint64_t *out) {
    const uint8_t *b = NULL;
    TRY(pickle_bytes(p, bytes, &b));
    *out = 0;
    for (size_t i = bytes; i-- > 0;)
        *out = *out << 8 | b[i];
    return SABOK_OK;
}

// A line of a GLOBAL, without its end.
static sabok_status pickle_line(struct pickle *p, struct pickle_value *out) {
    const char *begin = (const char *)p->data + p->at;
    const char *end = memchr(begin, '\n', size_min(p->end - p->at, NAME_MAX_SIZE + 1));
    if (!end)
        return pickle_fail(p, "found no line end after the name of a global, expected one within %d bytes",
                           NAME_MAX_SIZE);
    *out = (struct pickle_value){.kind = PICKLE_TEXT, .size = (uint32_t)(end - begin), .text = begin};
    p->at += out->size + 1;
    return SABOK_OK;
}

// ---- the stack

static sabok_status pickle_push(struct pickle *p, struct pickle_value v) {
    TRY(pickle_grow(p, (void **)&p->stack, &p->stack_cap, p->depth, sizeof *p->stack, STACK_MAX));
    p->stack[p->depth++] = v;
    return SABOK_OK;
}

// Pops n values, which lie above the last mark; *out points to them until the next push. ANY_COUNT: all down to the
// mark, which goes too.
static sabok_status pickle_pop(struct pickle *p, size_t n, const struct pickle_value **out, size_t *count) {
    if (n == ANY_COUNT && p->mark_count == 0) return pickle_fail(p, "found no mark, expected one");
    const size_t floor = p->mark_count ? p->marks[p->mark_count - 1] : 0;
    if (n == ANY_COUNT) {
        n = p->depth - floor;
        p->mark_count--;
    } else if (n > p->depth - floor) {
        return pickle_fail(p, "found %zu values on the stack, expected %zu", p->depth - floor, n);
    }
    p->depth -= n;
    *out = p->depth ? p->stack + p->depth : p->stack; // which may be NULL
    if (count) *count = n;
    return SABOK_OK;
}

static sabok_status pickle_push_tuple(struct pickle *p, const struct pickle_value *items, size_t n) {
    struct pickle_value v = {.kind = PICKLE_TUPLE, .size = (uint32_t)n, .index = p->item_count};
    for (size_t i = 0; i < n; i++) {
        TRY(pickle_grow(p, (void **)&p->items, &p->item_cap, p->item_count, sizeof *p->items, ITEMS_MAX));
        p->items[p->item_count++] = items[i];
    }
    return pickle_push(p, v);
}

static sabok_status pickle_push_group(struct pickle *p, enum pickle_kind kind) {
    TRY(pickle_grow(p, (void **)&p->groups, &p->group_cap, p->group_count, sizeof *p->groups, OBJECTS_MAX));
    p->groups[p->group_count] = (struct pickle_group){0};
    return pickle_push(p, (struct pickle_value){.kind = kind, .index = p->group_count++});
}

static sabok_status pickle_add(struct pickle *p, struct pickle_value group, const struct pickle_value *items,
                               size_t n) {
    struct pickle_group *g = &p->groups[group.index];
    for (size_t i = 0; i < n; i++) {
        if (p->group_items++ >= ITEMS_MAX) return pickle_fail(p, "found more than %zu items", ITEMS_MAX);
        if (!mem_grow((void **)&g->items, &g->cap, g->count + 1, sizeof *g->items))
            return error_memory(p->err, p->where);
        g->items[g->count++] = items[i];
    }
    return SABOK_OK;
}

// ---- opcodes of data

static sabok_status op_proto(struct pickle *p) {
    uint64_t version = 0;
    TRY(pickle_number(p, 1, &version));
    if (version >= 2 && version <= 5) return SABOK_OK;
    return pickle_fail(p, "found pickle protocol %u, expected 2 to 5", (unsigned)version);
}

static sabok_status op_frame(struct pickle *p) {
    uint64_t size = 0;
    TRY(pickle_number(p, 8, &size));
    return size <= p->end - p->at ? SABOK_OK : pickle_fail(p, "found a frame that ends behind the pickle");
}

static sabok_status op_none(struct pickle *p) {
    return pickle_push(p, (struct pickle_value){.kind = PICKLE_NONE});
}

static sabok_status op_true(struct pickle *p) {
    return pickle_push(p, (struct pickle_value){.kind = PICKLE_BOOL, .integer = 1});
}

static sabok_status op_false(struct pickle *p) {
    return pickle_push(p, (struct pickle_value){.kind = PICKLE_BOOL});
}

static sabok_status pickle_integer(struct pickle *p, size_t bytes, bool has_sign) {
    uint64_t x = 0;
    TRY(pickle_number(p, bytes, &x));
    if (has_sign && bytes > 0 && bytes < 8 && x >> (8 * bytes - 1)) x |= UINT64_MAX << (8 * bytes);
    return pickle_push(p, (struct pickle_value){.kind = PICKLE_INT, .integer = (int64_t)x});
}

static sabok_status op_binint(struct pickle *p) {
    return pickle_integer(p, 4, true);
}

static sabok_status op_binint1(struct pickle *p) {
    return pickle_integer(p, 1, false);
}

static sabok_status op_binint2(struct pickle *p) {
    return pickle_integer(p, 2, false);
}

static sabok_status op_long1(struct pickle *p) {
    uint64_t bytes = 0;
    TRY(pickle_number(p, 1, &bytes));
    if (bytes > 8) return pickle_fail(p, "found an integer of %u bytes, expected at most 8", (unsigned)bytes);
    return pickle_integer(p, (size_t)bytes, true);
}

static sabok_status op_binfloat(struct pickle *p) {
    const uint8_t *bytes = NULL;
    TRY(pickle_bytes(p, 8, &bytes)); // no value of a state_dict's tensors depends on one
    return pickle_push(p, (struct pickle_value){.kind = PICKLE_FLOAT});
}

static sabok_status pickle_text(struct pickle *p, size_t length_bytes) {
    uint64_t n = 0;
    const uint8_t *bytes = NULL;
    TRY(pickle_number(p, length_bytes, &n));
    TRY(pickle_bytes(p, (size_t)n, &bytes));
    return pickle_push(
        p, (struct pickle_value){.kind = PICKLE_TEXT, .size = (uint32_t)n, .text = (const char *)bytes});
}

static sabok_status op_short_text(struct pickle *p) {
    return pickle_text(p, 1);
}

static sabok_status op_text(struct pickle *p) {
    return pickle_text(p, 4);
}

static sabok_status op_mark(struct pickle *p) {
    if (p->mark_count == PICKLE_DEPTH) return pickle_fail(p, "nested deeper than %d", PICKLE_DEPTH);
    p->marks[p->mark_count++] = p->depth;
    return SABOK_OK;
}

static sabok_status op_empty_tuple(struct pickle *p) {
    return pickle_push_tuple(p, NULL, 0);
}

// The items must not move while they are copied; a tuple's items and the stack are two arrays.
static sabok_status pickle_tuple(struct pickle *p, size_t n) {
    const struct pickle_value *items = NULL;
    TRY(pickle_pop(p, n, &items, &n));
    return pickle_push_tuple(p, items, n);
}

static sabok_status op_tuple(struct pickle *p) {
    return pickle_tuple(p, ANY_COUNT);
}

static sabok_status op_tuple1(struct pickle *p) {
    return pickle_tuple(p, 1);
}

static sabok_status op_tuple2(struct pickle *p) {
    return pickle_tuple(p, 2);
}

static sabok_status op_tuple3(struct pickle *p) {
    return pickle_tuple(p, 3);
}

static sabok_status op_empty_list(struct pickle *p) {
    return pickle_push_group(p, PICKLE_LIST);
}

static sabok_status op_empty_dict(struct pickle *p) {
    return pickle_push_group(p, PICKLE_DICT);
}

// Adds the n values on top (ANY_COUNT: down to the mark) to the list or dict below them, which stays.
static sabok_status pickle_extend(struct pickle *p, size_t n, enum pickle_kind kind) {
    const struct pickle_value *items = NULL, *group = NULL;
    TRY(pickle_pop(p, n, &items, &n));
    TRY(pickle_pop(p, 1, &group, NULL));
    p->depth++;
    if (group->kind != kind)
        return pickle_fail(p, "found %s to put items into, expected %s", pickle_noun(group->kind),
                           pickle_noun(kind));
    if (kind == PICKLE_DICT && n % 2 != 0) return pickle_fail(p, "found a key without a value");
    return pickle_add(p, *group, items, n);
}

static sabok_status op_append(struct pickle *p) {
    return pickle_extend(p, 1, PICKLE_LIST);
}

static sabok_status op_appends(struct pickle *p) {
    return pickle_extend(p, ANY_COUNT, PICKLE_LIST);
}

static sabok_status op_setitem(struct pickle *p) {
    return pickle_extend(p, 2, PICKLE_DICT);
}

static sabok_status op_setitems(struct pickle *p) {
    return pickle_extend(p, ANY_COUNT, PICKLE_DICT);
}

// ---- the memo

static sabok_status pickle_put(struct pickle *p, uint64_t i) {
    const struct pickle_value *top = NULL;
    TRY(pickle_pop(p, 1, &top, NULL));
    p->depth++;
    // Each number was written before by an opcode of two bytes or more.
    if (i > p->op - p->begin || i >= ITEMS_MAX)
        return pickle_fail(
            p, "found %llu as the number of a value, expected at most that of the bytes before it",
            (unsigned long long)i);
    const size_t old = p->memo_count;
    if (i >= old) {
        if (!mem_grow((void **)&p->memo, &p->memo_cap, (size_t)i + 1, sizeof *p->memo))
            return error_memory(p->err, p->where);
        memset(p->memo + old, 0xff, ((size_t)i + 1 - old) * sizeof *p->memo); // no kind: not there
        p->memo_count = (size_t)i + 1;
    }
    p->memo[i] = *top;
    return SABOK_OK;
}

static sabok_status op_put1(struct pickle *p) {
    uint64_t i = 0;
    TRY(pickle_number(p, 1, &i));
    return pickle_put(p, i);
}

static sabok_status op_put4(struct pickle *p) {
    uint64_t i = 0;
    TRY(pickle_number(p, 4, &i));
    return pickle_put(p, i);
}

static sabok_status op_memoize(struct pickle *p) {
    return pickle_put(p, p->memo_count);
}

static sabok_status pickle_get(struct pickle *p, size_t bytes) {
    uint64_t i = 0;
    TRY(pickle_number(p, bytes, &i));
    if (i >= p->memo_count || p->memo[i].kind == UINT32_MAX)
        return pickle_fail(p, "asks for value %llu, which is not there", (unsigned long long)i);
    return pickle_push(p, p->memo[i]);
}

static sabok_status op_get1(struct pickle *p) {
    return pickle_get(p, 1);
}

static sabok_status op_get4(struct pickle *p) {
    return pickle_get(p, 4);
}

// ---- globals and calls

static sabok_status pickle_find_global(struct pickle *p, struct pickle_value module,
                                       struct pickle_value name) {
    char shown[QUOTE_TEXT], shown_name[QUOTE_TEXT];
    if (module.kind != PICKLE_TEXT || name.kind != PICKLE_TEXT)
        return pickle_fail(p, "found %s and %s as the name of a global, expected texts",
                           pickle_noun(module.kind), pickle_noun(name.kind));
    for (size_t i = 0; i < COUNT(globals); i++)
        if (pickle_text_is(module, globals[i].module) && pickle_text_is(name, globals[i].name))
            return pickle_push(p, (struct pickle_value){.kind = PICKLE_GLOBAL, .index = i});
    return pickle_fail(
        p, "found the global '%s.%s', expected one that a state_dict of tensors needs; nothing is run",
        quote_text(module.text, module.size, shown), quote_text(name.text, name.size, shown_name));
}

static sabok_status op_global(struct pickle *p) {
    struct pickle_value module = {0}, name = {0};
    TRY(pickle_line(p, &module));
    TRY(pickle_line(p, &name));
    return pickle_find_global(p, module, name);
}

static sabok_status op_stack_global(struct pickle *p) {
    const struct pickle_value *names = NULL;
    TRY(pickle_pop(p, 2, &names, NULL));
    return pickle_find_global(p, names[0], names[1]);
}

static sabok_status pickle_expect(struct pickle *p, struct pickle_value v, enum pickle_kind kind,
                                  const char *what) {
    if (v.kind == kind) return SABOK_OK;
    return pickle_fail(p, "found %s as the %s, expected %s", pickle_noun(v.kind), what, pickle_noun(kind));
}

static sabok_status pickle_count(struct pickle *p, struct pickle_value v, const char *what, uint64_t *out) {
    TRY(pickle_expect(p, v, PICKLE_INT, what));
    if (v.integer < 0)
        return pickle_fail(p, "found %lld as the %s, expected 0 or more", (long long)v.integer, what);
    *out = (uint64_t)v.integer;
    return SABOK_OK;
}

static sabok_status pickle_counts(struct pickle *p, struct pickle_value tuple, const char *what) {
    uint64_t ignored;
    TRY(pickle_expect(p, tuple, PICKLE_TUPLE, what));
    if (tuple.size > RANK_MAX)
        return pickle_fail(p, "found %u dimensions, expected at most %d", tuple.size, RANK_MAX);
    for (size_t i = 0; i < tuple.size; i++)
        TRY(pickle_count(p, p->items[tuple.index + i], what, &ignored));
    return SABOK_OK;
}

// ("storage", type, key, location, count) and, in legacy files, the view of it: None or (key, offset, count).
static sabok_status op_binpersid(struct pickle *p) {
    const struct pickle_value *id = NULL;
    TRY(pickle_pop(p, 1, &id, NULL));
    TRY(pickle_expect(p, *id, PICKLE_TUPLE, "name of a storage"));
    if (id->size != 5 && id->size != 6)
        return pickle_fail(p, "found %u items in the name of a storage, expected 5 or 6", id->size);
    const struct pickle_value *item = p->items + id->index;
    if (!pickle_text_is(item[0], "storage"))
        return pickle_fail(p, "found a name that is not that of a storage, expected 'storage'");
    TRY(pickle_expect(p, item[1], PICKLE_GLOBAL, "type of a storage"));
    if (globals[item[1].index].what != GLOBAL_STORAGE)
        return pickle_fail(p, "found '%s' as the type of a storage", globals[item[1].index].name);
    TRY(pickle_expect(p, item[2], PICKLE_TEXT, "key of a storage"));
    struct pickle_storage s = {.key = item[2], .dtype = globals[item[1].index].dtype, .at = p->op};
    TRY(pickle_count(p, item[4], "length of a storage", &s.count));
    s.view_count = s.count;
    if (id->size == 6 && item[5].kind != PICKLE_NONE) {
        TRY(pickle_expect(p, item[5], PICKLE_TUPLE, "view of a storage"));
        if (item[5].size != 3)
            return pickle_fail(p, "found %u items in the view of a storage, expected 3", item[5].size);
        TRY(pickle_count(p, p->items[item[5].index + 1], "offset of a view", &s.view_at));
        TRY(pickle_count(p, p->items[item[5].index + 2], "length of a view", &s.view_count));
        if (s.view_at > s.count || s.view_count > s.count - s.view_at)
            return pickle_fail(p, "found a view that ends behind its storage of %llu elements",
                               (unsigned long long)s.count);
    }
    TRY(pickle_grow(p, (void **)&p->storages, &p->storage_cap, p->storage_count, sizeof *p->storages,
                    OBJECTS_MAX));
    p->storages[p->storage_count] = s;
    return pickle_push(p, (struct pickle_value){.kind = PICKLE_STORAGE, .index = p->storage_count++});
}

// (storage, offset, size, stride, requires_grad, hooks), the type when `typed`, and attributes.
static sabok_status pickle_rebuild(struct pickle *p, const struct pickle_value *args, size_t n, bool typed) {
    const bool has_attributes = n > (typed ? 7 : 6) && args[n - 1].kind != PICKLE_NONE;
    TRY(pickle_expect(p, args[0], PICKLE_STORAGE, "storage of a tensor"));
    struct pickle_tensor t = {.storage = args[0].index, .size = args[2], .stride = args[3], .at = p->op};
    t.dtype = p->storages[t.storage].dtype;
    TRY(pickle_count(p, args[1], "offset of a tensor", &t.offset));
    TRY(pickle_counts(p, args[2], "size of a tensor"));
    TRY(pickle_counts(p, args[3], "stride of a tensor"));
    if (t.size.size != t.stride.size)
        return pickle_fail(p, "found %u sizes and %u strides, expected as many", t.size.size, t.stride.size);
    if (typed) {
        TRY(pickle_expect(p, args[6], PICKLE_GLOBAL, "type of a tensor"));
        if (globals[args[6].index].what != GLOBAL_DTYPE)
            return pickle_fail(p, "found '%s' as the type of a tensor", globals[args[6].index].name);
        t.dtype = globals[args[6].index].dtype;
    }
    if (has_attributes)
        return pickle_fail(p, "found a tensor with attributes (conjugate, negative), expected none");
    TRY(pickle_grow(p, (void **)&p->tensors, &p->tensor_cap, p->tensor_count, sizeof *p->tensors,
                    OBJECTS_MAX));
    p->tensors[p->tensor_count] = t;
    return pickle_push(p, (struct pickle_value){.kind = PICKLE_TENSOR, .index = p->tensor_count++});
}

// OrderedDict(), or OrderedDict([[key, value], ...]) as Python 2 wrote it.
static sabok_status pickle_ordered_dict(struct pickle *p, struct pickle_value args) {
    struct pickle_value pairs = {.kind = PICKLE_NONE};
    if (args.size == 1) {
        pairs = p->items[args.index];
        TRY(pickle_expect(p, pairs, PICKLE_LIST, "argument of OrderedDict"));
    }
    TRY(pickle_push_group(p, PICKLE_DICT));
    if (pairs.kind == PICKLE_NONE) return SABOK_OK;
    const struct pickle_value dict = p->stack[p->depth - 1];
    for (size_t i = 0; i < p->groups[pairs.index].count; i++) {
        struct pickle_value pair = p->groups[pairs.index].items[i];
        const bool list = pair.kind == PICKLE_LIST;
        if ((!list && pair.kind != PICKLE_TUPLE) || (list ? p->groups[pair.index].count : pair.size) != 2)
            return pickle_fail(p, "found %s in the argument of OrderedDict, expected a key and a value",
                               pickle_noun(pair.kind));
        TRY(pickle_add(p, dict, list ? p->groups[pair.index].items : p->items + pair.index, 2));
    }
    return SABOK_OK;
}

static sabok_status op_reduce(struct pickle *p) {
    const struct pickle_value *call = NULL;
    TRY(pickle_pop(p, 2, &call, NULL));
    const struct pickle_value callee = call[0], args = call[1];
    TRY(pickle_expect(p, callee, PICKLE_GLOBAL, "thing to call"));
    TRY(pickle_expect(p, args, PICKLE_TUPLE, "arguments of a call"));
    const enum global_what what = globals[callee.index].what;
    if (what == GLOBAL_STORAGE || what == GLOBAL_DTYPE)
        return pickle_fail(p, "found a call of '%s', expected none", globals[callee.index].name);
    if (args.size < globals[callee.index].least || args.size > globals[callee.index].most)
        return pickle_fail(p, "found %u arguments of '%s', expected %u to %u", args.size,
                           globals[callee.index].name, globals[callee.index].least,
                           globals[callee.index].most);
    if (what == GLOBAL_ORDERED_DICT) return pickle_ordered_dict(p, args);
    // A copy: pushing may move the items.
    struct pickle_value copy[8];
    ASSERT(args.size <= COUNT(copy));
    memcpy(copy, p->items + args.index, args.size * sizeof *copy);
    if (what == GLOBAL_REBUILD) return pickle_rebuild(p, copy, args.size, globals[callee.index].least == 7);
    TRY(pickle_expect(p, copy[0], PICKLE_TENSOR, "data of a parameter"));
    return pickle_push(p, copy[0]);
}

// The attributes of a state_dict (`_metadata`) say nothing about its tensors.
static sabok_status op_build(struct pickle *p) {
    const struct pickle_value *pair = NULL;
    TRY(pickle_pop(p, 2, &pair, NULL));
    TRY(pickle_expect(p, pair[0], PICKLE_DICT, "object with attributes"));
    TRY(pickle_expect(p, pair[1], PICKLE_DICT, "attributes of an object"));
    p->depth++;
    return SABOK_OK;
}

typedef sabok_status pickle_op(struct pickle *p);
static pickle_op *const ops[256] = {
    [0x80] = op_proto,        [0x95] = op_frame,    ['N'] = op_none,       [0x88] = op_true,
    [0x89] = op_false,        ['J'] = op_binint,    ['K'] = op_binint1,    ['M'] = op_binint2,
    [0x8a] = op_long1,        ['G'] = op_binfloat,  ['U'] = op_short_text, [0x8c] = op_short_text,
    ['T'] = op_text,          ['X'] = op_text,      ['('] = op_mark,       [')'] = op_empty_tuple,
    ['t'] = op_tuple,         [0x85] = op_tuple1,   [0x86] = op_tuple2,    [0x87] = op_tuple3,
    [']'] = op_empty_list,    ['a'] = op_append,    ['e'] = op_appends,    ['}'] = op_empty_dict,
    ['s'] = op_setitem,       ['u'] = op_setitems,  ['q'] = op_put1,       ['r'] = op_put4,
    [0x94] = op_memoize,      ['h'] = op_get1,      ['j'] = op_get4,       ['c'] = op_global,
    [0x93] = op_stack_global, ['Q'] = op_binpersid, ['R'] = op_reduce,     ['b'] = op_build,
};

sabok_status pickle_run(struct pickle *p, size_t begin, size_t end, struct pickle_value *out) {
    p->at = p->begin = begin;
    p->end = end;
    p->depth = p->mark_count = p->memo_count = 0;
    for (;;) {
        p->op = p->at;
        if (p->at == p->end) return pickle_fail(p, "the pickle ends here, expected a STOP");
        const uint8_t code = p->data[p->at++];
        if (code == '.') break;
        if (!ops[code])
            return pickle_fail(p, "found the opcode 0x%02x, expected one that a state_dict of tensors needs",
                               code);
        TRY(ops[code](p));
    }
    if (p->depth != 1 || p->mark_count != 0)
        return pickle_fail(p, "found %zu values and %zu marks at the end of the pickle, expected one value",
                           p->depth, p->mark_count);
    *out = p->stack[0];
    return SABOK_OK;
}

void pickle_free(struct pickle *p) {
    for (size_t i = 0; i < p->group_count; i++)
        mem_free(p->groups[i].items);
    mem_free(p->groups);
    mem_free(p->stack);
    mem_free(p->memo);
    mem_free(p->items);
    mem_free(p->storages);
    mem_free(p->tensors);
    *p = (struct pickle){0};
}
