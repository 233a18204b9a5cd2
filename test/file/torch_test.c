// Files of torch.save: the same tensors as in their safetensors twins, and errors for everything that is not data.
#include "file/archive.h"
#include "file/crafted.h"

#define GOLDEN SABOK_TEST_DIR "/golden/"
// OrderedDict(), a mark, the tensor 'a': REBUILD((storage '0' of 4 floats), ...
#define DICT "\x80\2ccollections\nOrderedDict\n)R(X\1\0\0\0a"
#define REBUILD "ctorch._utils\n_rebuild_tensor_v2\n"
#define STORAGE_OF(type, count)                                                                              \
    "(X\7\0\0\0storage" type "X\1\0\0\0"                                                                     \
    "0X\3\0\0\0cpu" count "tQ"
#define STORAGE STORAGE_OF("ctorch\nFloatStorage\n", "K\4")
#define ARGS_END "\x89}t"
#define TENSOR REBUILD "(" STORAGE "K\0K\4\x85K\1\x85" ARGS_END "R"
#define ORDER "ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE

static const float values[4] = {1, -2, 3, 0.5f};

// An archive with this pickle and a storage '0' of four floats.
static struct crafted archive(const char *pickle, size_t size, bool wide) {
    const struct archive_record records[] = {
        {"m/data.pkl", pickle, size}, {"m/byteorder", "little", 6}, {"m/data/0", values, sizeof values}};
    struct buf b = {0};
    archive_write(&b, records, COUNT(records), wide);
    assert_false(b.failed);
    struct crafted c = crafted_bytes(b.data, b.size);
    buf_free(&b);
    return c;
}

static void refused(struct crafted c, const char *message) {
    int64_t live = mem_live();
    sabok_error err = {0};
    struct torch_file *f = torch_parse(c.data, c.size, "x.bin", &err);
    if (f) fail_msg("opened a bad file, expected \"%s\"", message);
    assert_contains(err.message, message);
    assert_true(strncmp(err.message, "x.bin: ", 7) == 0);
    assert_int_equal(mem_live(), live);
    assert_null(torch_parse(c.data, c.size, "x.bin", NULL));
    crafted_free(&c);
}

// ---- twins

static void same_entry(const struct tensor_entry *a, const struct tensor_entry *b) {
    if (!a || !b) fail_msg("no tensor '%s' in one of the files", a ? a->name : b ? b->name : "?");
    if (a->dtype != b->dtype || a->rank != b->rank || a->bytes != b->bytes ||
        memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0 ||
        memcmp(&a->shape, &b->shape, sizeof a->shape) != 0)
        fail_msg("type or shape of tensor '%s'", a->name);
    if (memcmp(a->data, b->data, (size_t)a->bytes) != 0) fail_msg("values of tensor '%s'", a->name);
}

static void same_files(const char *torch, const char *twin, size_t fewer) {
    for (int read = 0; read < 2; read++) {
        sabok_error err = {0};
        struct torch_file *f = torch_open(torch, read, &err);
        if (!f) fail_msg("%s", err.message);
        struct safetensors *s = safetensors_open(twin, false, &err);
        assert_non_null(s);
        assert_int_equal(torch_count(f), safetensors_count(s) - fewer);
        for (size_t i = 0; i < torch_count(f); i++) {
            const struct tensor_entry *e = torch_get(f, i);
            same_entry(e, safetensors_find(s, e->name));
            assert_ptr_equal(torch_find(f, e->name), e);
        }
        // What one tensor no longer needs may be another's.
        for (size_t i = 0; i < torch_count(f); i++)
            torch_drop(f, torch_get(f, i));
        for (size_t i = 0; i < torch_count(f); i++)
            same_entry(torch_get(f, i), safetensors_find(s, torch_get(f, i)->name));
        assert_null(torch_find(f, "absent"));
        safetensors_close(s);
        torch_close(f);
    }
}

static void test_golden(void **state) {
    (void)state;
    same_files(GOLDEN "torch/mixed.bin", GOLDEN "torch/mixed.safetensors", 0);
    same_files(GOLDEN "torch/protocol4.bin", GOLDEN "torch/mixed.safetensors", 0);
    same_files(GOLDEN "torch/legacy.bin", GOLDEN "torch/mixed.safetensors", 1);
    same_files(GOLDEN "torch/bert-tiny.bin", GOLDEN "bert-tiny/model.safetensors", 0);
    same_files(GOLDEN "torch/bert-tiny-legacy.bin", GOLDEN "bert-tiny/model.safetensors", 0);
    same_files(GOLDEN "torch/bert-tiny-f16.bin", GOLDEN "bert-tiny-f16/model.safetensors", 0);
    same_files(GOLDEN "torch/bert-tiny-bf16.bin", GOLDEN "bert-tiny-bf16/model.safetensors", 0);
    torch_close(NULL);
}

// Tensors in a row are the file's own bytes, aligned; shared ones are the same bytes.
static void test_in_place(void **state) {
    (void)state;
    struct crafted c = crafted_read(GOLDEN "torch/mixed.bin");
    struct torch_file *f = torch_parse(c.data, c.size, "x.bin", NULL);
    assert_non_null(f);
    const struct tensor_entry *base = torch_find(f, "base"), *rows = torch_find(f, "rows");
    assert_ptr_equal(base->data, c.data + base->begin);
    assert_int_equal(base->begin % 64, 0);
    assert_ptr_equal(rows->data, base->data + 8 * sizeof(float));
    assert_ptr_equal(torch_find(f, "tied")->data, torch_find(f, "tied_again")->data);
    const uint8_t *turned = torch_find(f, "turned")->data;
    assert_true(turned < c.data || turned >= c.data + c.size);
    assert_int_equal(torch_find(f, "turned")->begin, base->begin);
    torch_close(f);
    crafted_free(&c);
}

// ---- pickles

struct bad {
    const char *pickle;
    size_t size;
    const char *message;
};
#define BAD(pickle, message)                                                                                 \
    { pickle, sizeof(pickle) - 1, message }

static void test_good_pickles(void **state) {
    (void)state;
    static const struct bad good[] = {
        BAD(DICT TENSOR "u.", ""),
        BAD("\x80\2}X\1\0\0\0a" TENSOR "s.", ""),                                     // a dict
        BAD("\x80\2ccollections\nOrderedDict\n](](X\1\0\0\0a" TENSOR "ee\x85R.", ""), // Python 2
        BAD("\x80\2ccollections\nOrderedDict\n](](U\1a" TENSOR "ee\x85R.", ""),
        BAD(DICT "ctorch._utils\n_rebuild_parameter\n" TENSOR "\x88}\x87Ru.", ""),
        BAD(DICT "ctorch._utils\n_rebuild_tensor\n(" STORAGE "\x8a\0K\4\x85\x8a\1\1\x85tRu.", ""),
        BAD(DICT REBUILD "(" STORAGE_OF("ctorch\nFloatStorage\n", "K\4N") "K\0K\4\x85K\1\x85" ARGS_END "Ru.",
            ""),
    };
    for (size_t i = 0; i < COUNT(good); i++)
        for (int wide = 0; wide < 2; wide++) {
            struct crafted c = archive(good[i].pickle, good[i].size, wide);
            sabok_error err = {0};
            struct torch_file *f = torch_parse(c.data, c.size, "x.bin", &err);
            if (!f) fail_msg("%s; rerun: pickle %zu", err.message, i);
            assert_int_equal(torch_count(f), 1);
            const struct tensor_entry *e = torch_find(f, "a");
            assert_non_null(e);
            assert_int_equal(e->bytes, sizeof values);
            assert_memory_equal(e->data, values, sizeof values);
            torch_close(f);
            crafted_free(&c);
        }
}

static const struct bad attacks[] = {
    BAD("\x80\2cos\nsystem\nX\2\0\0\0id\x85R.", "byte 42: found the global 'os.system'"),
    BAD("\x80\2cposix\nsystem\nX\2\0\0\0id\x85R.", "found the global 'posix.system'"),
    BAD("\x80\2"
        "c__builtin__\neval\nX\1\0\0\0"
        "1\x85R.",
        "found the global '__builtin__.eval'"),
    BAD("\x80\4\x8c\10builtins\x8c\4eval\x93X\1\0\0\0"
        "1\x85R.",
        "found the global 'builtins.eval'"),
    BAD("\x80\2"
        "cbuiltins\ngetattr\n.",
        "found the global 'builtins.getattr'"),
    BAD("\x80\2"
        "csubprocess\nPopen\n.",
        "found the global 'subprocess.Popen'"),
    BAD("\x80\2"
        "ctorch\nload\n.",
        "found the global 'torch.load'"),
    BAD("\x80\2"
        "ctorch.storage\n_load_from_bytes\n.",
        "found the global 'torch.storage._load_from_bytes'"),
    BAD("\x80\2"
        "ctorch\nos.system\n.",
        "found the global 'torch.os.system'"),
    BAD("\x80\2"
        "ccollections\nOrderedDict.fromkeys\n.",
        "'collections.OrderedDict.fromkeys'"),
    BAD("\x80\2"
        "ccollections\nOrderedDict\0\n.",
        "found the global 'collections.OrderedDict?'"),
    BAD("\x80\2"
        "c\n\n.",
        "found the global '.'"),
    // Inside a state_dict, inside arguments, inside attributes.
    BAD(DICT REBUILD "(" STORAGE "K\0K\4\x85K\1\x85\x89"
                     "cos\nsystem\n)RtRu.",
        "found the global 'os.system'"),
    BAD(DICT TENSOR "u}X\1\0\0\0x"
                    "cos\nsystem\n)Rsb.",
        "found the global 'os.system'"),
    BAD(DICT "](](cnt\nsystem\neeu.", "found the global 'nt.system'"),
    // Opcodes that make or call objects, or reach outside the pickle.
    BAD("\x80\2(ios\nsystem\n.", "found the opcode 0x69"),
    BAD("\x80\2(oos\n.", "found the opcode 0x6f"),
    BAD("\x80\2"
        "ccollections\nOrderedDict\n)\x81.",
        "found the opcode 0x81"),
    BAD("\x80\2"
        "ccollections\nOrderedDict\n)}\x92.",
        "found the opcode 0x92"),
    BAD("\x80\2\x82\1.", "found the opcode 0x82"),
    BAD("\x80\2P0\n.", "found the opcode 0x50"),
    BAD("\x80\5\x97.", "found the opcode 0x97"),
    BAD("\x80\2I1\n.", "found the opcode 0x49"),
    // Data in the place of something to call.
    BAD("\x80\2X\2\0\0\0os)R.", "found a text as the thing to call"),
    BAD(DICT TENSOR "})Ru.", "found a dict as the thing to call"),
    BAD("\x80\2"
        "ctorch\nFloatStorage\n)R.",
        "found a call of 'FloatStorage'"),
    BAD("\x80\2"
        "ctorch\nuint16\n)R.",
        "found a call of 'uint16'"),
    BAD("\x80\2"
        "ccollections\nOrderedDict\n}b.",
        "found a global as the object with attributes"),
};

// Whatever would run something is named, with its byte in the file.
static void test_attacks(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(attacks); i++)
        refused(archive(attacks[i].pickle, attacks[i].size, false), attacks[i].message);
}

static void test_broken_pickles(void **state) {
    (void)state;
    static const struct bad broken[] = {
        BAD("", "the pickle ends here"),
        BAD("\x80\2", "the pickle ends here"),
        BAD("\x80\1.", "found pickle protocol 1"),
        BAD("\x80\6.", "found pickle protocol 6"),
        BAD("\x80\2.", "found 0 values and 0 marks"),
        BAD("\x80\2NN.", "found 2 values and 0 marks"),
        BAD("\x80\2N(.", "found 1 values and 1 marks"),
        BAD("\x80\2N.", "found None, expected a state_dict"),
        BAD("\x80\2N.N", "found bytes after the end of the pickle"),
        BAD("\x80\2X\xff\xff\xff\xff"
            "a.",
            "which asks for 4294967295 bytes"),
        BAD("\x80\2X\1\0", "which asks for 4 bytes"),
        BAD("\x80\2T\xff\xff\xff\x7f"
            "a.",
            "which asks for 2147483647 bytes"),
        BAD("\x80\4\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", "found a frame that ends behind"),
        BAD("\x80\2\x8a\x09"
            "123456789.",
            "found an integer of 9 bytes"),
        BAD("\x80\2h\0.", "asks for value 0, which is not there"),
        BAD("\x80\2Nq\2h\1.", "asks for value 1, which is not there"),
        BAD("\x80\2Nr\xff\xff\xff\x7f.", "found 2147483647 as the number of a value"),
        BAD("\x80\2q\0.", "found 0 values on the stack, expected 1"),
        BAD("\x80\2N(\x85.", "found 0 values on the stack, expected 1"),
        BAD("\x80\2t.", "found no mark"),
        BAD("\x80\2]N(Na.", "found 0 values on the stack, expected 1"),
        BAD("\x80\2NNa.", "found None to put items into, expected a list"),
        BAD("\x80\2]NNs.", "found a list to put items into, expected a dict"),
        BAD("\x80\2}(Nu.", "found a key without a value"),
        BAD("\x80\2}NNs.", "found None as a name in the state_dict"),
        BAD(DICT "K\1u.", "'a': found an integer, expected a tensor"),
        BAD(DICT "}u.", "'a': found a dict, expected a tensor"),
        BAD(DICT TENSOR "X\1\0\0\0a" TENSOR "u.", "tensor 'a': found it twice"),
        BAD("\x80\2}X\2\0\0\0a\0" TENSOR "s.", "found a NUL byte in its name"),
        BAD("\x80\2"
            "ctorch",
            "found no line end after the name of a global"),
        BAD("\x80\2ccollections\nOrderedDict\nNR.", "found None as the arguments of a call"),
        BAD("\x80\2ccollections\nOrderedDict\nNN\x86R.",
            "found 2 arguments of 'OrderedDict', expected 0 to 1"),
        BAD("\x80\2ccollections\nOrderedDict\nN\x85R.", "found None as the argument of OrderedDict"),
        BAD("\x80\2ccollections\nOrderedDict\n]Na\x85R.", "found None in the argument of OrderedDict"),
        BAD("\x80\2ccollections\nOrderedDict\n](N\x85"
            "e\x85R.",
            "found a tuple in the argument of OrderedDict"),
        BAD("\x80\2ctorch._utils\n_rebuild_parameter\nN\x88}\x87R.", "found None as the data of a parameter"),
    };
    for (size_t i = 0; i < COUNT(broken); i++)
        refused(archive(broken[i].pickle, broken[i].size, false), broken[i].message);
    char deep[200];
    memset(deep, '(', sizeof deep);
    memcpy(deep, "\x80\2", 2);
    refused(archive(deep, sizeof deep, false), "nested deeper than 64");
}

#define TEXT(s) s, sizeof(s) - 1
#define TWICE(a, b) a "q\1" b "q\2"

// More of anything than any file needs: a piece many times over.
static void test_many(void **state) {
    (void)state;
    static const struct {
        const char *begin;
        size_t begin_size;
        const char *piece;
        size_t piece_size, n;
    } many[] = {
        {TEXT("\x80\2"), TEXT("N"), ((size_t)1 << 22) + 1},     // values on the stack
        {TEXT("\x80\2"), TEXT("]"), ((size_t)1 << 20) + 1},     // lists
        {TEXT("\x80\2N"), TEXT("\x85"), ((size_t)1 << 24) + 1}, // items of tuples
        {TEXT("\x80\2]"), TEXT("Na"), ((size_t)1 << 24) + 1},   // items of lists
        {TEXT("\x80\2(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
              "0X\3\0\0\0cpuK\4tq\1"),
         TEXT("h\1Q"), ((size_t)1 << 20) + 1},
        {TEXT("\x80\2" TWICE(REBUILD, "(" STORAGE "K\0K\4\x85K\1\x85" ARGS_END)), TEXT("h\1h\2R"),
         ((size_t)1 << 20) + 1},
    };
    struct buf b = {0};
    for (size_t i = 0; i < COUNT(many); i++) {
        b.size = 0;
        buf_put(&b, many[i].begin, many[i].begin_size);
        for (size_t k = 0; k < many[i].n; k++)
            buf_put(&b, many[i].piece, many[i].piece_size);
        buf_put(&b, ".", 1);
        assert_false(b.failed);
        refused(archive(b.data, b.size, false), "found more than");
    }
    // The memo, behind a long text.
    b.size = 0;
    buf_put(&b, "\x80\2X\0\0\0\1", 7);
    for (size_t i = 0; i < (size_t)1 << 24; i++)
        buf_put(&b, "x", 1);
    buf_put(&b, "r\0\0\0\1.", 6);
    refused(archive(b.data, b.size, false), "found 16777216 as the number of a value");
    // The pickle itself.
    static const char zeros[1 << 16];
    while (b.size <= (size_t)64 << 20)
        buf_put(&b, zeros, sizeof zeros);
    refused(archive(b.data, b.size, false), "expected at most 67108864");
    buf_free(&b);
}

#define VIEW(offset, size, stride) DICT REBUILD "(" STORAGE offset size stride ARGS_END "Ru."
#define STORED(type, count) DICT REBUILD "(" STORAGE_OF(type, count) "K\0K\4\x85K\1\x85" ARGS_END "Ru."
#define LONG_MAX_8 "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"

// Tensors and storages that are not there, or say more than there is.
static void test_lies(void **state) {
    (void)state;
    static const struct bad lies[] = {
        BAD(VIEW("K\0", "K\5\x85", "K\1\x85"),
            "tensor 'a': found it to end behind its storage of 4 elements"),
        BAD(VIEW("K\1", "K\4\x85", "K\1\x85"), "found it to end behind its storage"),
        BAD(VIEW("K\0", "K\2K\2\x86", "K\3K\1\x86"), "found it to end behind its storage"),
        BAD(VIEW("K\5", "K\1\x85", "K\1\x85"), "found it to end behind its storage"),
        BAD(VIEW(LONG_MAX_8, "K\1\x85", "K\1\x85"), "found it to end behind its storage"),
        BAD(VIEW("K\0", LONG_MAX_8 "\x85", "K\1\x85"), "found it to end behind its storage"),
        BAD(VIEW("K\0", "K\2\x85", LONG_MAX_8 "\x85"), "found it to end behind its storage"),
        BAD(VIEW("K\0", LONG_MAX_8 LONG_MAX_8 "\x86", "K\0K\0\x86"), "found it to end behind its storage"),
        // Strides of 0 repeat one element: as many copies as the file is long are allowed, not more.
        BAD(VIEW("K\0", "J\0\0\0\x7f\x85", "K\0\x85"), "strided views that repeat the file"),
        BAD(VIEW("K\0", "\x8a\x06\0\0\0\0\0\1\x85", "K\0\x85"), "strided views that repeat the file"),
        BAD(VIEW("J\xff\xff\xff\xff", "K\1\x85", "K\1\x85"), "found -1 as the offset of a tensor"),
        BAD(VIEW("K\0", "J\xff\xff\xff\xff\x85", "K\1\x85"), "found -1 as the size of a tensor"),
        BAD(VIEW("K\0", "K\4\x85", "J\xff\xff\xff\xff\x85"), "found -1 as the stride of a tensor"),
        BAD(VIEW("K\0", "K\4K\1\x86", "K\1\x85"), "found 2 sizes and 1 strides"),
        BAD(VIEW("K\0", "K\4", "K\1\x85"), "found an integer as the size of a tensor"),
        BAD(VIEW("K\0", "N\x85", "K\1\x85"), "found None as the size of a tensor"),
        BAD(VIEW("N", "K\4\x85", "K\1\x85"), "found None as the offset of a tensor"),
        BAD(DICT REBUILD "(NK\0K\4\x85K\1\x85" ARGS_END "Ru.", "found None as the storage of a tensor"),
        BAD(DICT REBUILD "(" STORAGE "tRu.", "found 1 arguments of '_rebuild_tensor_v2', expected 6 to 7"),
        BAD(DICT REBUILD "(" STORAGE "K\0K\4\x85K\1\x85\x89}}tRu.", "found a tensor with attributes"),
        BAD(STORED("ctorch\nFloatStorage\n", "K\5"),
            "storage '0': found 16 bytes in its record, expected 20"),
        BAD(STORED("ctorch\nHalfStorage\n", "K\4"), "found 16 bytes in its record, expected 8"),
        BAD(STORED("ctorch\nFloatStorage\n", LONG_MAX_8), "storage '0': its size overflows"),
        BAD(STORED("ctorch\nFloatStorage\n", "J\xff\xff\xff\xff"), "found -1 as the length of a storage"),
        BAD(STORED("ctorch\nuint16\n", "K\4"), "found 'uint16' as the type of a storage"),
        BAD(STORED("N", "K\4"), "found None as the type of a storage"),
        BAD(STORED("ctorch\nFloatStorage\n", "K\4NN"), "found 7 items in the name of a storage"),
        BAD(STORED("ctorch\nFloatStorage\n", "K\4NK\0K\5\x87"), "found a view that ends behind its storage"),
        BAD(STORED("ctorch\nFloatStorage\n", "K\4N\x85"), "found 1 items in the view of a storage"),
        BAD(DICT "(X\7\0\0\0storage"
                 "ctorch\nFloatStorage\nX\1\0\0\0"
                 "1X\3\0\0\0cpuK\4tQ0.",
            "found the opcode 0x30"),
        BAD("\x80\2NQ.", "found None as the name of a storage"),
        BAD("\x80\2(X\6\0\0\0moduleNNNNtQ.", "found a name that is not that of a storage"),
        BAD(DICT TENSOR "X\1\0\0\0b" REBUILD
                        "(" STORAGE_OF("ctorch\nIntStorage\n", "K\4") "K\0K\4\x85K\1\x85" ARGS_END "Ru.",
            "storage '0': found it with two types or lengths"),
        BAD(DICT "ctorch._utils\n_rebuild_tensor_v3\n(" STORAGE "K\0K\4\x85K\1\x85\x89}NtRu.",
            "found None as the type of a tensor"),
        BAD(DICT "ctorch._utils\n_rebuild_tensor_v3\n(" STORAGE "K\0K\4\x85K\1\x85\x89}ctorch\nuint64\ntRu.",
            "tensor 'a': found it to end behind its storage of 2 elements"),
        BAD(DICT "ctorch._utils\n_rebuild_tensor_v3\n(" STORAGE
                 "K\0K\4\x85K\1\x85\x89}ctorch\nLongStorage\ntRu.",
            "found 'LongStorage' as the type of a tensor"),
    };
    for (size_t i = 0; i < COUNT(lies); i++)
        refused(archive(lies[i].pickle, lies[i].size, false), lies[i].message);
    static const char other[] = DICT REBUILD "("
                                             "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
                                             "1X\3\0\0\0cpuK\4tQ"
                                             "K\0K\4\x85K\1\x85" ARGS_END "Ru.";
    refused(archive(other, sizeof other - 1, false), "storage '1': found no record");
}

// ---- archives

static struct crafted good_archive(bool wide) {
    static const char pickle[] = DICT TENSOR "u.";
    return archive(pickle, sizeof pickle - 1, wide);
}

// The first place of these bytes, from the end of the file backwards.
static size_t find_last(const struct crafted *c, const char *bytes, size_t n) {
    size_t at = c->size - n;
    while (memcmp(c->data + at, bytes, n) != 0)
        at--;
    return at;
}

static void test_archives(void **state) {
    (void)state;
    static const struct {
        const char *near; // the last record with this signature, `at` bytes on, becomes `value`
        size_t at;
        uint8_t value;
        bool wide;
        const char *message;
    } bad[] = {
        {"PK\5\6", 0, 'x', false, "found no end record of a zip archive"},
        {"PK\5\6", 20, 1, false, "found no end record"},
        {"PK\5\6", 10, 4, false, "found 3 entries in the zip directory, expected 4"},
        {"PK\5\6", 12, 1, false, "entr"},
        {"PK\5\6", 15, 1, false, "found a zip directory of"},
        {"PK\5\6", 19, 1, false, "found a zip directory of"},
        {"PK\1\2", 0, 'x', false, "found no entry of the zip directory"},
        {"PK\1\2", 28, 200, false, "the zip directory ends inside this entry"},
        {"PK\1\2", 8, 1, false, "record 'm/data/0': found it encrypted"},
        {"PK\1\2", 10, 8, false, "record 'm/data/0': found it compressed"},
        {"PK\1\2", 20, 1, false, "found it compressed"},
        {"PK\1\2", 42, 1, false, "found no header of it"},
        {"PK\1\2", 45, 1, false, "found no header of it"},
        {"PK\1\2", 46, 'x', false, "found another name in its header"},
        {"PK\3\4", 28, 200, false, "found fewer bytes in the file"},
        {"PK\3\4", 0, 'x', false, "found no header of it"},
        {"PK\6\7", 8, 1, true, "found a zip64 locator"},
        {"PK\6\7", 15, 1, true, "found a zip64 locator"},
        {"PK\6\6", 0, 'x', true, "found a zip64 locator"},
        {"PK\6\6", 47, 1, true, "found a zip directory of"},
        {"PK\6\6", 32, 9, true, "expected 9 by the end record"},
        {"PK\1\2", 46 + 8 + 5, 2, true, "found no zip64 field"},
        {"PK\1\2", 46 + 8 + 7, 16, true, "found no zip64 field"},
        {"PK\1\2", 46 + 8 + 2, 99, true, "found no zip64 field"},
        {"PK\1\2", 46 + 8 + 9 + 7, 1, true, "found it compressed"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct crafted c = good_archive(bad[i].wide);
        c.data[find_last(&c, bad[i].near, 4) + bad[i].at] = bad[i].value;
        refused(c, bad[i].message);
    }
    static const struct archive_record one[] = {{"m/x", "", 0}},
                                       big[] = {{"m/data.pkl", "", 0}, {"m/byteorder", "big", 3}};
    static const struct archive_record twice[] = {{"m/x", "", 0}, {"m/x", "", 0}};
    const struct {
        const struct archive_record *records;
        size_t n;
        const char *message;
    } archives[] = {{one, 0, "found neither a zip archive"},
                    {one, 1, "found no record 'data.pkl'"},
                    {big, 2, "found another byte order"},
                    {twice, 2, "record 'm/x': found this name twice"}};
    for (size_t i = 0; i < COUNT(archives); i++) {
        struct buf b = {0};
        archive_write(&b, archives[i].records, archives[i].n, false);
        refused(crafted_bytes(b.data, b.size), archives[i].message);
        buf_free(&b);
    }
    refused(crafted_bytes("", 0), "found neither a zip archive");
    refused(crafted_bytes("version https://git-lfs", 23), "found neither a zip archive");
}

// ---- legacy files

static void test_legacy(void **state) {
    (void)state;
#define MAGIC "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
#define PROTOCOL "\x80\2M\xe9\3."
#define MACHINE "\x80\2}X\15\0\0\0little_endian\x88s."
#define OBJECT DICT TENSOR "u."
#define KEYS                                                                                                 \
    "\x80\2]X\1\0\0\0"                                                                                       \
    "0a."
#define BYTES                                                                                                \
    "\4\0\0\0\0\0\0\0"                                                                                       \
    "0123456789abcdef"
    static const struct bad bad[] = {
        BAD(MAGIC, "the pickle ends here"),
        BAD(MAGIC "\x80\2K\1.", "found another protocol of torch"),
        BAD(MAGIC PROTOCOL "\x80\2N.", "found None, expected a description of the machine"),
        BAD(MAGIC PROTOCOL "\x80\2}.", "found no 'little_endian': True"),
        BAD(MAGIC PROTOCOL "\x80\2}X\15\0\0\0little_endian\x89s.", "found no 'little_endian': True"),
        BAD(MAGIC PROTOCOL MACHINE "\x80\2"
                                   "cos\nsystem\n.",
            "byte 47: found the global 'os.system'"),
        BAD(MAGIC PROTOCOL MACHINE OBJECT "\x80\2N.", "found None, expected the list of storage keys"),
        BAD(MAGIC PROTOCOL MACHINE OBJECT "\x80\2]Na." BYTES, "found None as the key of a storage"),
        BAD(MAGIC PROTOCOL MACHINE OBJECT "\x80\2]." BYTES, "storage '0': found it not listed"),
        BAD(MAGIC PROTOCOL MACHINE OBJECT "\x80\2]X\1\0\0\0"
                                          "1a." BYTES,
            "storage '1': found its key listed"),
        BAD(MAGIC PROTOCOL MACHINE OBJECT "\x80\2](X\1\0\0\0"
                                          "0X\1\0\0\0"
                                          "0e." BYTES BYTES,
            "found its key listed twice"),
        BAD(MAGIC PROTOCOL MACHINE OBJECT KEYS "\5\0\0\0\0\0\0\0"
                                               "0123456789abcdef",
            "found another length"),
        BAD(MAGIC PROTOCOL MACHINE OBJECT KEYS "\4\0\0\0\0\0\0\0"
                                               "0123456789abcde",
            "or the end of the file"),
        BAD(MAGIC PROTOCOL MACHINE OBJECT KEYS "\4\0\0", "or the end of the file"),
        BAD(MAGIC PROTOCOL MACHINE OBJECT KEYS BYTES "x", "found bytes after the last storage"),
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        refused(crafted_bytes(bad[i].pickle, bad[i].size), bad[i].message);
    static const char whole[] = MAGIC PROTOCOL MACHINE OBJECT KEYS BYTES;
    // Views of storages, as torch wrote them before 0.4: elements 1 and 2 of the storage, of which the tensor has the last.
    static const char views[] = MAGIC PROTOCOL MACHINE DICT REBUILD
        "(" STORAGE_OF("ctorch\nFloatStorage\n", "K\4X\1\0\0\0vK\1K\2\x87") "K\1K\1\x85K\1\x85" ARGS_END
                                                                            "Ru." KEYS BYTES;
    struct crafted c = crafted_bytes(whole, sizeof whole - 1);
    struct torch_file *f = torch_parse(c.data, c.size, "x.bin", NULL);
    assert_non_null(f);
    assert_memory_equal(torch_get(f, 0)->data, "0123456789abcdef", 16);
    torch_close(f);
    crafted_free(&c);
    c = crafted_bytes(views, sizeof views - 1);
    f = torch_parse(c.data, c.size, "x.bin", NULL);
    assert_non_null(f);
    assert_int_equal(torch_get(f, 0)->bytes, 4);
    assert_memory_equal(torch_get(f, 0)->data, "89ab", 4);
    torch_close(f);
    crafted_free(&c);
}

// ---- every byte, every cut, every allocation

static const char *const files[] = {GOLDEN "torch/mixed.bin", GOLDEN "torch/protocol4.bin",
                                    GOLDEN "torch/legacy.bin"};

static size_t touch(const struct torch_file *f) {
    size_t sum = 0;
    for (size_t i = 0; i < torch_count(f); i++) {
        const struct tensor_entry *e = torch_get(f, i);
        for (size_t b = 0; b < e->bytes; b++)
            sum += e->data[b];
    }
    return sum;
}

static void test_every_byte(void **state) {
    (void)state;
    static const uint8_t flips[] = {1, 2, 4, 0x10, 0x80, 0xff};
    for (size_t i = 0; i < COUNT(files); i++) {
        struct crafted whole = crafted_read(files[i]), c = crafted_bytes(whole.data, whole.size);
        int64_t live = mem_live();
        size_t refusals = 0;
        for (size_t at = 0; at < c.size; at++)
            for (size_t k = 0; k < COUNT(flips); k++) {
                c.data[at] ^= flips[k];
                sabok_error err = {0};
                struct torch_file *f = torch_parse(c.data, c.size, "x", &err);
                c.data[at] ^= flips[k];
                if (f)
                    touch(f);
                else if (err.code == SABOK_OK || !err.message[0])
                    fail_msg("no error; rerun: %s, byte %zu ^ %u", files[i], at, flips[k]);
                refusals += !f;
                torch_close(f);
            }
        assert_true(refusals > c.size);
        assert_int_equal(mem_live(), live);
        crafted_free(&whole);
        crafted_free(&c);
    }
}

static void test_every_truncation(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        struct crafted whole = crafted_read(files[i]);
        for (size_t n = 0; n < whole.size; n++)
            refused(crafted_bytes(whole.data, n), "");
        crafted_free(&whole);
    }
    // Of the pickle alone, in an archive that is whole.
    static const char pickle[] = DICT TENSOR "u}X\11\0\0\0_metadata}sb.";
    for (size_t n = 0; n < sizeof pickle - 1; n++)
        refused(archive(pickle, n, false), "");
    struct crafted c = archive(pickle, sizeof pickle - 1, false);
    struct torch_file *f = torch_parse(c.data, c.size, "x", NULL);
    assert_non_null(f);
    torch_close(f);
    crafted_free(&c);
}

static void test_every_allocation(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(files); i++)
        for (int sticky = 0; sticky < 2; sticky++) {
            struct crafted c = crafted_read(files[i]);
            uint64_t k = 1;
            for (;; k++) {
                int64_t live = mem_live();
                sabok_error err = {0};
                mem_fail_at(k, sticky);
                struct torch_file *f = torch_parse(c.data, c.size, "x", &err);
                mem_fail_at(0, false);
                const bool done = f != NULL;
                torch_close(f);
                assert_int_equal(mem_live(), live);
                if (done) break;
                if (err.code != SABOK_ENOMEM || k > 2000)
                    fail_msg("%s; rerun: %s, allocation %llu", err.message, files[i], (unsigned long long)k);
            }
            assert_true(k > 10);
            crafted_free(&c);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_good_pickles),
        cmocka_unit_test(test_attacks),
        cmocka_unit_test(test_broken_pickles),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_archives),
        cmocka_unit_test(test_legacy),
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
