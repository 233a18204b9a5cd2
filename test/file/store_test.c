// The tensors of a folder: single file, shards, and indexes that attack (R30) or do not fit their shards.
#include "file/crafted.h"

#include <sys/types.h>

#define F32(begin, end) "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[" #begin "," #end "]}"
#define ONE(name) "{\"" name "\":" F32(0, 4) "}"
#define INDEX "model.safetensors.index.json"

static char last_log[600];

static void keep_log(void *ctx, sabok_log_level level, const char *message) {
    (void)ctx;
    (void)level;
    snprintf(last_log, sizeof last_log, "%s", message);
}

static struct tensor_store *good(const char *folder) {
    sabok_error err = {0};
    struct tensor_store *s = store_open(folder, false, &err);
    if (!s) fail_msg("%s", err.message);
    return s;
}

static void refused(const char *folder, sabok_status code, const char *message) {
    int64_t live = mem_live();
    sabok_error err = {0};
    struct tensor_store *s = store_open(folder, false, &err);
    if (s) fail_msg("opened a bad folder, expected \"%s\"", message);
    assert_contains(err.message, message);
    assert_int_equal(err.code, code);
    assert_int_equal(mem_live(), live);
    assert_null(store_open(folder, false, NULL));
}

static void test_single(void **state) {
    (void)state;
    const char *folder = crafted_folder();
    refused(folder, SABOK_ENOTFOUND,
            "found no weights, expected model.safetensors, " INDEX ", pytorch_model.bin or ");
    crafted_shard(folder, "model.safetensors", "{\"b\":" F32(0, 4) ",\"a\":" F32(4, 8) "}", 8);
    for (int read = 0; read < 2; read++) {
        struct tensor_store *s = store_open(folder, read, NULL);
        assert_non_null(s);
        assert_int_equal(store_count(s), 2);
        assert_string_equal(store_get(s, 0)->name, "b");
        const struct tensor_entry *a = store_find(s, "a");
        assert_ptr_equal(a, store_get(s, 1));
        assert_int_equal(a->data[0], 4);
        assert_string_equal(store_path(s, a), crafted_path(folder, "model.safetensors"));
        assert_null(store_find(s, "c"));
        assert_null(store_find(s, ""));
        store_drop(s, a);
        assert_int_equal(a->data[3], 7);
        store_close(s);
    }
    store_close(NULL);
    crafted_remove(folder);
    refused(folder, SABOK_ENOTFOUND, "found no weights");
}

static const char *shards(const char *map) {
    const char *folder = crafted_folder();
    crafted_shard(folder, "s1.safetensors", ONE("a"), 4);
    crafted_shard(folder, "s2.safetensors", "{\"b\":" F32(0, 4) ",\"c\":" F32(4, 8) "}", 8);
    char text[1000];
    snprintf(text, sizeof text, "{\"metadata\":{\"total_size\":12},\"weight_map\":{%s}}", map);
    crafted_text(folder, INDEX, text);
    return folder;
}

static void test_shards(void **state) {
    (void)state;
    const char *folder = shards("\"c\":\"s2.safetensors\",\"a\":\"s1.safetensors\",\"b\":\"s2.safetensors\"");
    struct tensor_store *s = good(folder);
    assert_int_equal(store_count(s), 3);
    assert_int_equal(store_find(s, "c")->data[0], 4);
    assert_string_equal(store_path(s, store_find(s, "a")), crafted_path(folder, "s1.safetensors"));
    assert_string_equal(store_path(s, store_find(s, "b")), crafted_path(folder, "s2.safetensors"));
    store_drop(s, store_find(s, "b"));
    store_close(s);
    crafted_remove(folder);
}

// The index wins over a stray single file; what it names must be there.
static void test_index_wins_bugs82(void **state) {
    (void)state;
    const char *folder = shards("\"a\":\"s1.safetensors\",\"b\":\"s2.safetensors\",\"c\":\"s2.safetensors\"");
    crafted_shard(folder, "model.safetensors", ONE("stray"), 4);
    sabok_log_set(keep_log, NULL, SABOK_LOG_DEBUG);
    last_log[0] = '\0';
    struct tensor_store *s = good(folder);
    assert_contains(last_log, "model.safetensors: ignored");
    assert_null(store_find(s, "stray"));
    store_close(s);
    unlink(crafted_path(folder, "s2.safetensors"));
    refused(folder, SABOK_ENOTFOUND, "s2.safetensors");
    crafted_remove(folder);
    folder = shards("\"a\":\"s1.safetensors\",\"b\":\"s2.safetensors\""); // stale: c is not named
    last_log[0] = '\0';
    s = good(folder);
    assert_contains(last_log, "1 tensors that the index does not name are ignored");
    assert_null(store_find(s, "c"));
    store_close(s);
    sabok_log_set(NULL, NULL, SABOK_LOG_ERROR);
    crafted_remove(folder);
}

static void test_index_against_shards(void **state) {
    (void)state;
    static const struct {
        const char *map, *message;
        sabok_status code;
    } bad[] = {
        {"\"a\":\"s1.safetensors\",\"x\":\"s2.safetensors\"", "tensor 'x': not found in 's2.safetensors'",
         SABOK_ENOTFOUND},
        {"\"a\":\"s2.safetensors\"", "tensor 'a': not found in 's2.safetensors'", SABOK_ENOTFOUND},
        {"\"a\":\"s1.safetensors\",\"b\":\"s2.safetensors\",\"a\":\"s1.safetensors\"",
         "tensor 'a': found it twice", SABOK_EFORMAT},
        {"\"a\":\"s1.safetensors\",\"\\u0061\":\"s2.safetensors\"", "tensor 'a': found it twice",
         SABOK_EFORMAT},
        {"\"a\\u0000\":\"s1.safetensors\"", "NUL byte in the tensor name", SABOK_EFORMAT},
        {"\"a\":1", "expected a string", SABOK_EFORMAT},
        {"\"a\":\"absent.safetensors\"", "absent.safetensors", SABOK_ENOTFOUND},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        const char *folder = shards(bad[i].map);
        refused(folder, bad[i].code, bad[i].message);
        crafted_remove(folder);
    }
    // The same tensor in two shards.
    const char *folder = shards("\"a\":\"s1.safetensors\",\"b\":\"s2.safetensors\",\"c\":\"s2.safetensors\"");
    crafted_shard(folder, "s2.safetensors", "{\"b\":" F32(0, 4) ",\"c\":" F32(4, 8) ",\"a\":" F32(8, 12) "}",
                  12);
    refused(folder, SABOK_EFORMAT, "tensor 'a': found here and in 's1.safetensors'");
    // A shard that is no safetensors file.
    crafted_text(folder, "s2.safetensors", "{}");
    refused(folder, SABOK_EFORMAT, "s2.safetensors: byte");
    crafted_remove(folder);
}

#define TORCH SABOK_TEST_DIR "/golden/torch/"

// A folder with both kinds is read as safetensors; without these, the index of the other kind wins over its single file.
static void test_torch(void **state) {
    (void)state;
    static const char *const names[] = {"pytorch_model.bin.index.json", "pytorch_model-00001-of-00002.bin",
                                        "pytorch_model-00002-of-00002.bin"};
    const char *folder = crafted_folder();
    assert_int_equal(symlink(TORCH "mixed.bin", crafted_path(folder, "pytorch_model.bin")), 0);
    struct tensor_store *s = good(folder);
    assert_non_null(store_find(s, "turned"));
    assert_string_equal(store_path(s, store_get(s, 0)), crafted_path(folder, "pytorch_model.bin"));
    for (size_t i = 0; i < store_count(s); i++)
        store_drop(s, store_get(s, i));
    store_close(s);
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[600];
        snprintf(path, sizeof path, TORCH "%s", names[i]);
        assert_int_equal(symlink(path, crafted_path(folder, names[i])), 0);
    }
    s = good(folder);
    assert_null(store_find(s, "turned"));
    const struct tensor_entry *e = store_find(s, "embeddings.word_embeddings.weight");
    assert_non_null(e);
    assert_string_equal(store_path(s, e), crafted_path(folder, names[1]));
    assert_non_null(store_find(s, "pooler.dense.weight"));
    store_close(s);
    unlink(crafted_path(folder, names[2]));
    refused(folder, SABOK_ENOTFOUND, names[2]);
    assert_int_equal(symlink(TORCH "mixed.safetensors", crafted_path(folder, names[2])), 0);
    refused(folder, SABOK_EFORMAT, "found neither a zip archive nor the pickles of torch.save");
    crafted_shard(folder, "model.safetensors", ONE("a"), 4);
    s = good(folder);
    assert_int_equal(store_count(s), 1);
    assert_non_null(store_find(s, "a"));
    store_close(s);
    crafted_remove(folder);
}

static void test_index_json(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"weight_map\":[]}",
        "{\"weight_map\":{}",
        "{\"weight_map\":{}}x",
        "{\"weight_map\":{},\"weight_map\":{}}",
        "{\"weight_map\":null}",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        const char *folder = crafted_folder();
        crafted_text(folder, INDEX, bad[i]);
        refused(folder, SABOK_EFORMAT, INDEX ": byte");
        crafted_remove(folder);
    }
}

// R30: names that would leave the folder, or hide where they lead, are refused before anything is opened.
static void test_index_attacks(void **state) {
    (void)state;
    static const char *const names[] = {
        "../x.safetensors",
        "..",
        ".",
        "",
        "/etc/passwd",
        "a/b.safetensors",
        "a\\\\b.safetensors",
        "..\\\\x",
        "s1.safetensors\\u0000",
        "\\u002e\\u002e/x",
        "./s1.safetensors",
        "/dev/zero",
        "s1.safetensors/",
    };
    char map[500];
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(map, sizeof map, "\"a\":\"%s\"", names[i]);
        const char *folder = shards(map);
        refused(folder, SABOK_EFORMAT, "expected the plain name of a file in this folder");
        crafted_remove(folder);
    }
    char name[300];
    memset(name, 'n', 256);
    name[256] = '\0';
    snprintf(map, sizeof map, "\"a\":\"%s\"", name);
    const char *folder = shards(map);
    refused(folder, SABOK_EFORMAT, "expected the plain name of a file in this folder");
    crafted_remove(folder);
}

// R30: what a good name leads to must be a regular file; the user's own links are followed. A pipe that
// nobody writes to would hang a reader that opened it.
static void test_special_files(void **state) {
    (void)state;
    const char *folder = shards("\"a\":\"s1.safetensors\",\"b\":\"x\"");
    const char *x = crafted_path(folder, "x");
    assert_int_equal(mkfifo(x, 0600), 0);
    refused(folder, SABOK_EIO, "is a pipe, expected a regular file");
    unlink(x);
    assert_int_equal(mkdir(x, 0700), 0);
    refused(folder, SABOK_EIO, "is a folder, expected a regular file");
    rmdir(x);
    assert_int_equal(symlink("/dev/zero", x), 0);
    refused(folder, SABOK_EIO, "is a device, expected a regular file");
    unlink(x);
    assert_int_equal(symlink(".", x), 0);
    refused(folder, SABOK_EIO, "is a folder, expected a regular file");
    unlink(x);
    assert_int_equal(symlink("s2.safetensors", x), 0);
    struct tensor_store *s = good(folder);
    assert_int_equal(store_count(s), 2);
    store_close(s);
    // The index itself.
    unlink(crafted_path(folder, INDEX));
    assert_int_equal(mkfifo(crafted_path(folder, INDEX), 0600), 0);
    refused(folder, SABOK_EIO, "is a pipe, expected a regular file");
    crafted_remove(folder);
}

// 100,000 tensors in an index: neither the duplicates nor the shards are searched one by one.
static void test_many_tensors(void **state) {
    (void)state;
    const char *folder = crafted_folder();
    size_t n = 100000;
    struct buf header = {0}, index = {0};
    buf_printf(&index, "{\"weight_map\":{");
    buf_put(&header, "{", 1);
    for (size_t i = 0; i < n; i++) {
        const char *comma = i ? "," : "";
        buf_printf(&header, "%s\"t%zu\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%zu,%zu]}", comma,
                   i, i, i + 1);
        buf_printf(&index, "%s\"t%zu\":\"s.safetensors\"", comma, n - 1 - i);
    }
    buf_put(&header, "}\0", 2);
    buf_printf(&index, "}}");
    crafted_shard(folder, "s.safetensors", header.data, n);
    crafted_write(folder, INDEX, index.data, index.size);
    double begin = clock_seconds();
    struct tensor_store *s = good(folder);
    double seconds = clock_seconds() - begin;
    assert_int_equal(store_count(s), n);
    assert_non_null(store_find(s, "t99999"));
    store_close(s);
    buf_free(&header);
    buf_free(&index);
    crafted_remove(folder);
    if (seconds > 10) fail_msg("100,000 tensors took %.1f s", seconds);
}

static void test_golden_shards(void **state) {
    (void)state;
    struct tensor_store *s = good(SABOK_TEST_DIR "/golden/bert-tiny-sharded");
    struct tensor_store *dense = good(SABOK_TEST_DIR "/golden/bert-tiny-dense");
    assert_int_equal(store_count(s), store_count(dense));
    for (size_t i = 0; i < store_count(dense); i++)
        assert_non_null(store_find(s, store_get(dense, i)->name));
    store_close(s);
    store_close(dense);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single),
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_index_wins_bugs82),
        cmocka_unit_test(test_index_against_shards),
        cmocka_unit_test(test_torch),
        cmocka_unit_test(test_index_json),
        cmocka_unit_test(test_index_attacks),
        cmocka_unit_test(test_special_files),
        cmocka_unit_test(test_many_tensors),
        cmocka_unit_test(test_golden_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
