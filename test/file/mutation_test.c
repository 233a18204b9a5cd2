// R6 and R7 on small good files: every byte changed to every value, every truncation, every failed
// allocation. A changed file is refused with a clean error, or it is read and all its bytes can be touched.
#include "file/crafted.h"

static const struct {
    const char *name, *header;
    size_t data;
} files[] = {
    {"one tensor", "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]}}", 8},
    {"metadata and blanks",
     "{\"__metadata__\":{\"k\":\"\\u00e9\",\"j\":\"\"},\"w\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_"
     "offsets\":[0,6]}} "
     " ",
     6},
    {"three tensors, one empty",
     "{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[4,5]},\"e\":{\"dtype\":\"I64\",\"shape\":[0],"
     "\"data_offsets\":[4,4]},\"a\":{\"dtype\":\"F16\",\"shape\":[1,2],\"data_offsets\":[0,4]}}",
     5},
};

static const char index_json[] = "{\"metadata\":{\"total_size\":8},\"weight_map\":{\"a\":\"s1.safetensors\","
                                 "\"b\":\"s2.safetensors\"}}";
static const char config_json[] = "{\"hidden_size\":384,\"eps\":1e-12,\"act\":\"gelu\",\"tied\":true,"
                                  "\"none\":null,\"labels\":[\"a\",\"b\"],"
                                  "\"nested\":{\"x\":[1,{}],\"y\":\"\\ud83d\\ude00\"}}";

// What every reader of an entry may rely on.
static size_t check_entries(const struct safetensors *s, const struct crafted *c) {
    size_t sum = 0;
    for (size_t i = 0; i < safetensors_count(s); i++) {
        const struct tensor_entry *e = safetensors_get(s, i);
        size_t bytes = dtype_bytes(e->dtype);
        for (size_t d = 0; d < e->rank; d++)
            assert_true(mul_ok(bytes, (size_t)e->dims[d], &bytes));
        assert_int_equal(bytes, e->bytes);
        assert_true(e->data >= c->data && e->bytes <= c->size && e->begin <= c->size - e->bytes);
        for (size_t b = 0; b < e->bytes; b++)
            sum += e->data[b];
        assert_ptr_equal(safetensors_find(s, e->name), e);
    }
    return sum;
}

static bool try_file(const struct crafted *c, const char *what, size_t at, unsigned value) {
    sabok_error err = {0};
    struct safetensors *s = safetensors_parse(c->data, c->size, "x", &err);
    if (s) {
        check_entries(s, c);
        safetensors_close(s);
    } else if (err.code == SABOK_OK || !err.message[0]) {
        fail_msg("no error; rerun: %s, byte %zu set to %u", what, at, value);
    }
    return s != NULL;
}

static void test_every_byte(void **state) {
    (void)state;
    for (size_t f = 0; f < COUNT(files); f++) {
        struct crafted c = crafted_tensors(files[f].header, files[f].data);
        assert_true(try_file(&c, files[f].name, 0, c.data[0]));
        int64_t live = mem_live();
        size_t read = 0, refused = 0, header = c.size - files[f].data;
        for (size_t i = 0; i < c.size; i++) {
            uint8_t old = c.data[i];
            for (unsigned value = 0; value < 256; value++) {
                c.data[i] = (uint8_t)value;
                bool ok = try_file(&c, files[f].name, i, value);
                read += ok;
                refused += !ok;
                if (i >= header && !ok)
                    fail_msg("refused by its data; rerun: %s, byte %zu", files[f].name, i);
            }
            c.data[i] = old;
        }
        assert_true(refused > read);
        assert_int_equal(mem_live(), live);
        crafted_free(&c);
    }
}

static void test_every_truncation(void **state) {
    (void)state;
    for (size_t f = 0; f < COUNT(files); f++) {
        struct crafted c = crafted_tensors(files[f].header, files[f].data);
        for (size_t n = 0; n < c.size; n++) {
            struct crafted cut = crafted_bytes(c.data, n);
            if (try_file(&cut, files[f].name, n, 0)) fail_msg("read %zu bytes of %s", n, files[f].name);
            crafted_free(&cut);
        }
        crafted_free(&c);
    }
}

static void test_every_allocation(void **state) {
    (void)state;
    for (size_t f = 0; f < COUNT(files); f++)
        for (int sticky = 0; sticky < 2; sticky++) {
            struct crafted c = crafted_tensors(files[f].header, files[f].data);
            uint64_t k = 1;
            for (;; k++) {
                int64_t live = mem_live();
                sabok_error err = {0};
                mem_fail_at(k, sticky);
                struct safetensors *s = safetensors_parse(c.data, c.size, "x", &err);
                mem_fail_at(0, false);
                bool done = s != NULL;
                safetensors_close(s);
                assert_int_equal(mem_live(), live);
                if (done) break;
                assert_int_equal(err.code, SABOK_ENOMEM);
                if (k > 1000) fail_msg("never succeeds; rerun: %s", files[f].name);
            }
            assert_true(k > 3);
            crafted_free(&c);
        }
}

// Names of every length around an arena's first block: so each kind of copy is once the one that needs more
// memory, and does not get it.
static void test_every_copy(void **state) {
    (void)state;
    enum { SHORTEST = 3400, LONGEST = 4200 };
    static char name[LONGEST + 1], header[LONGEST + 200];
    static const char *const forms[] = {
        "{\"%s\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1],\"data_offsets\":[0,1]}}",
        "{\"__metadata__\":{\"%s\":\"value\"},\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
    };
    for (size_t n = SHORTEST; n < LONGEST; n += 16) {
        memset(name, 'n', n);
        name[n] = '\0';
        for (size_t form = 0; form < COUNT(forms); form++) {
            snprintf(header, sizeof header, forms[form], name);
            struct crafted c = crafted_tensors(header, 1);
            for (uint64_t k = 1;; k++) {
                int64_t live = mem_live();
                sabok_error err = {0};
                mem_fail_at(k, false);
                struct safetensors *s = safetensors_parse(c.data, c.size, "x", &err);
                mem_fail_at(0, false);
                bool done = s != NULL;
                if (s) check_entries(s, &c);
                safetensors_close(s);
                assert_int_equal(mem_live(), live);
                if (done) break;
                if (err.code != SABOK_ENOMEM)
                    fail_msg("%s; rerun: length %zu, form %zu", err.message, n, form);
            }
            crafted_free(&c);
        }
    }
}

// Asks for every value of a config in every way.
static void walk_config(const struct config *c, unsigned depth) {
    for (size_t i = 0; i < config_count(c); i++) {
        const char *key = config_key(c, i), *text = NULL;
        const char *const *strings = NULL;
        uint64_t x = 0;
        double y = 0;
        bool z = false;
        size_t n = 0;
        struct config *nested = NULL;
        int good = 0;
        sabok_error err = {0};
        good += config_u64(c, key, 0, UINT64_MAX, &x, &err) == SABOK_OK;
        good += config_double(c, key, -1e300, 1e300, &y, &err) == SABOK_OK;
        good += config_bool(c, key, &z, &err) == SABOK_OK;
        good += config_string(c, key, &text, &err) == SABOK_OK;
        good += config_strings(c, key, &strings, &n, &err) == SABOK_OK;
        good += config_object(c, key, &nested, &err) == SABOK_OK;
        assert_true(config_has(c, key) ? good <= 2 : good == 6);
        for (size_t s = 0; s < n; s++)
            assert_true(strlen(strings[s]) < 1000);
        if (nested && depth < 80) walk_config(nested, depth + 1);
    }
}

static void test_config_bytes(void **state) {
    (void)state;
    char text[sizeof config_json];
    int64_t live = mem_live();
    for (size_t i = 0; i + 1 < sizeof config_json; i++)
        for (unsigned value = 0; value < 256; value++) {
            memcpy(text, config_json, sizeof text);
            text[i] = (char)value;
            sabok_error err = {0};
            struct config *c = config_parse(text, sizeof text - 1, "x", &err);
            if (c)
                walk_config(c, 0);
            else if (err.code != SABOK_EFORMAT)
                fail_msg("no error; rerun: config, byte %zu set to %u", i, value);
            config_close(c);
        }
    for (size_t n = 0; n + 1 < sizeof config_json; n++) {
        struct crafted cut = crafted_bytes(config_json, n);
        assert_null(config_parse((const char *)cut.data, cut.size, "x", NULL));
        crafted_free(&cut);
    }
    assert_int_equal(mem_live(), live);
}

static void test_config_allocations(void **state) {
    (void)state;
    for (int sticky = 0; sticky < 2; sticky++)
        for (uint64_t k = 1;; k++) {
            int64_t live = mem_live();
            sabok_error err = {0};
            struct config *nested = NULL;
            const char *const *strings;
            const char *text;
            size_t n;
            mem_fail_at(k, sticky);
            struct config *c = config_parse(config_json, sizeof config_json - 1, "x", &err);
            bool done = c && config_object(c, "nested", &nested, &err) == SABOK_OK &&
                        config_string(nested, "y", &text, &err) == SABOK_OK &&
                        config_strings(c, "labels", &strings, &n, &err) == SABOK_OK;
            mem_fail_at(0, false);
            if (done) assert_string_equal(text, "\xf0\x9f\x98\x80");
            config_close(c);
            assert_int_equal(mem_live(), live);
            if (done) break;
            assert_int_equal(err.code, SABOK_ENOMEM);
            assert_true(k < 1000);
        }
}

static const char *index_folder(void) {
    const char *folder = crafted_folder();
    crafted_shard(folder, "s1.safetensors",
                  "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4);
    crafted_shard(folder, "s2.safetensors",
                  "{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4);
    crafted_text(folder, "model.safetensors.index.json", index_json);
    return folder;
}

static void test_index_bytes(void **state) {
    (void)state;
    const char *folder = index_folder();
    size_t read = 0;
    char text[sizeof index_json];
    for (size_t i = 0; i + 1 < sizeof index_json; i++)
        for (unsigned value = 0; value < 256; value += 5) {
            memcpy(text, index_json, sizeof text);
            text[i] = (char)value;
            crafted_write(folder, "model.safetensors.index.json", text, sizeof text - 1);
            sabok_error err = {0};
            struct tensor_store *s = store_open(folder, false, &err);
            if (!s && err.code == SABOK_OK) fail_msg("no error; rerun: index, byte %zu set to %u", i, value);
            read += s != NULL;
            store_close(s);
        }
    assert_true(read > 0);
    for (size_t n = 0; n + 1 < sizeof index_json; n++) {
        crafted_write(folder, "model.safetensors.index.json", index_json, n);
        if (store_open(folder, false, NULL)) fail_msg("read %zu bytes of the index", n);
    }
    crafted_remove(folder);
}

static void test_store_allocations(void **state) {
    (void)state;
    const char *folder = index_folder();
    for (int sticky = 0; sticky < 2; sticky++)
        for (uint64_t k = 1;; k++) {
            int64_t live = mem_live();
            sabok_error err = {0};
            mem_fail_at(k, sticky);
            struct tensor_store *s = store_open(folder, false, &err);
            mem_fail_at(0, false);
            bool done = s != NULL;
            if (done) assert_int_equal(store_count(s), 2);
            store_close(s);
            assert_int_equal(mem_live(), live);
            if (done) break;
            assert_int_equal(err.code, SABOK_ENOMEM);
            assert_true(k < 1000);
        }
    crafted_remove(folder);
}

// The same with the names of an index and with a long path.
static void test_store_copies(void **state) {
    (void)state;
    static char name[4200], text[4400], path[4096];
    const char *folder = index_folder();
    for (size_t n = 3600; n < 4100; n += 16) {
        memset(name, 'n', n);
        name[n] = '\0';
        bool long_path = n < 3700; // else a long name
        const char *opened = folder;
        if (long_path) {
            size_t at = (size_t)snprintf(path, sizeof path, "%s", folder);
            for (; at + 2 < n; at += 2)
                memcpy(path + at, "/.", 3);
            opened = path;
        }
        snprintf(text, sizeof text, "{\"weight_map\":{\"%s\":\"s1.safetensors\"}}", long_path ? "a" : name);
        crafted_text(folder, "model.safetensors.index.json", text);
        for (uint64_t k = 1;; k++) {
            int64_t live = mem_live();
            sabok_error err = {0};
            mem_fail_at(k, false);
            struct tensor_store *s = store_open(opened, false, &err);
            mem_fail_at(0, false);
            // The long name is in no shard; when all memory is had, that is what is said.
            bool done = s != NULL || (!long_path && strstr(err.message, "not found in 's1.safetensors'"));
            if (s) assert_string_equal(store_get(s, 0)->name, "a");
            if (s) assert_memory_equal(store_path(s, store_get(s, 0)), opened, strlen(opened));
            store_close(s);
            assert_int_equal(mem_live(), live);
            if (done) break;
            if (err.code != SABOK_ENOMEM)
                fail_msg("%s; rerun: length %zu, allocation %d", err.message, n, (int)k);
        }
    }
    crafted_remove(folder);
}

static void test_sentence_allocations(void **state) {
    (void)state;
    const char *folder = SABOK_TEST_DIR "/golden/bert-tiny-dense";
    struct sentence_folder out;
    sabok_error err = {0};
    if (sentence_open(&out, folder, &err) != SABOK_OK) fail_msg("%s", err.message);
    sentence_close(&out);
    for (int sticky = 0; sticky < 2; sticky++)
        for (uint64_t k = 1;; k++) {
            int64_t live = mem_live();
            mem_fail_at(k, sticky);
            sabok_status status = sentence_open(&out, folder, &err);
            mem_fail_at(0, false);
            if (status == SABOK_OK) sentence_close(&out);
            assert_int_equal(mem_live(), live);
            if (status == SABOK_OK) break;
            assert_int_equal(status, SABOK_ENOMEM);
            assert_int_equal(err.code, SABOK_ENOMEM);
            assert_true(k < 2000);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_byte),         cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_allocation),   cmocka_unit_test(test_every_copy),
        cmocka_unit_test(test_store_copies),       cmocka_unit_test(test_config_bytes),
        cmocka_unit_test(test_config_allocations), cmocka_unit_test(test_index_bytes),
        cmocka_unit_test(test_store_allocations),  cmocka_unit_test(test_sentence_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
