// sabok_convert: the folder it writes, what it refuses, and that nothing is left of one that fails.
#include "file/crafted.h"

#include <errno.h>

#define GOLDEN SABOK_TEST_DIR "/golden/"
#define TINY GOLDEN "bert-tiny"

static char last_log[4000];

static void keep_log(void *ctx, sabok_log_level level, const char *message) {
    (void)ctx, (void)level;
    const size_t n = strlen(last_log);
    snprintf(last_log + n, sizeof last_log - n, "%s\n", message);
}

static void converts(const char *from, const char *to, const sabok_convert_opts *opts) {
    int64_t live = mem_live();
    sabok_error err = {0};
    if (sabok_convert(from, to, opts, &err) != SABOK_OK) fail_msg("%s", err.message);
    assert_int_equal(mem_live(), live);
}

static void refused(const char *from, const char *to, const sabok_convert_opts *opts, const char *message) {
    int64_t live = mem_live();
    sabok_error err = {0};
    if (sabok_convert(from, to, opts, &err) == SABOK_OK) fail_msg("converted, expected \"%s\"", message);
    assert_contains(err.message, message);
    assert_int_equal(mem_live(), live);
    assert_int_not_equal(sabok_convert(from, to, opts, NULL), SABOK_OK);
}

// crafted_path's own storage is used again too soon.
static const char *out_path(const char *root) {
    static char path[600];
    snprintf(path, sizeof path, "%s/out", root);
    return path;
}

static void same_bytes(const char *a, const char *b) {
    struct crafted x = crafted_read(a), y = crafted_read(b);
    if (x.size != y.size || memcmp(x.data, y.data, x.size) != 0) fail_msg("%s and %s differ", a, b);
    crafted_free(&x);
    crafted_free(&y);
}

// A folder with the small files of bert-tiny and these weights.
static const char *torch_folder(const char *root, const char *weights) {
    static char folder[600];
    static const char *const rest[] = {"config.json", "tokenizer.json", "tokenizer_config.json",
                                       "modules.json", "1_Pooling"};
    char path[600];
    snprintf(folder, sizeof folder, "%s/model", root);
    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < COUNT(rest); i++) {
        snprintf(path, sizeof path, TINY "/%s", rest[i]);
        assert_int_equal(symlink(path, crafted_path(folder, rest[i])), 0);
    }
    snprintf(path, sizeof path, GOLDEN "torch/%s", weights);
    assert_int_equal(symlink(path, crafted_path(folder, "pytorch_model.bin")), 0);
    crafted_text(folder, "training_args.bin", "x");
    return folder;
}

static void test_torch(void **state) {
    (void)state;
    static const char *const weights[] = {"bert-tiny.bin", "bert-tiny-legacy.bin"};
    for (size_t i = 0; i < COUNT(weights); i++) {
        const char *root = crafted_folder(), *out = out_path(root);
        converts(torch_folder(root, weights[i]), out, NULL);
        same_bytes(crafted_path(out, "model.safetensors"), TINY "/model.safetensors");
        same_bytes(crafted_path(out, "config.json"), TINY "/config.json");
        same_bytes(crafted_path(out, "1_Pooling/config.json"), TINY "/1_Pooling/config.json");
        assert_int_equal(crafted_count(out), 6); // neither pytorch_model.bin nor training_args.bin
        assert_int_equal(crafted_count(root), 2);
        struct stat st;
        assert_int_equal(lstat(crafted_path(out, "tokenizer.json"), &st), 0);
        assert_true(S_ISREG(st.st_mode));
        crafted_remove(root);
    }
}

// A file for each tensor that is too large for any, and as many of the others in one as fit.
static void test_shards(void **state) {
    (void)state;
    const char *root = crafted_folder();
    for (uint64_t most = 1; most < 200000; most = most * 3 + 1) {
        const char *out = out_path(root);
        converts(TINY, out, &(sabok_convert_opts){.max_shard_size = most, .overwrite = true});
        struct tensor_store *a = store_open(TINY, false, NULL), *b = store_open(out, false, NULL);
        assert_non_null(b);
        assert_int_equal(store_count(a), store_count(b));
        size_t index = file_exists(crafted_path(out, "model.safetensors.index.json"));
        assert_int_equal(index, most < 107000);
        for (size_t i = 0; i < store_count(a); i++) {
            const struct tensor_entry *x = store_get(a, i), *y = store_find(b, x->name);
            assert_true(y && x->dtype == y->dtype && x->bytes == y->bytes);
            assert_memory_equal(x->data, y->data, (size_t)x->bytes);
        }
        store_close(a);
        store_close(b);
    }
    crafted_remove(root);
}

static void test_types(void **state) {
    (void)state;
    static const struct {
        sabok_dtype dtype;
        enum dtype stored;
        const char *name;
    } types[] = {{SABOK_FLOAT16, DT_F16, "\"dtype\": \"float16\""},
                 {SABOK_BFLOAT16, DT_BF16, "\"dtype\": \"bfloat16\""},
                 {SABOK_FLOAT32, DT_F32, "\"dtype\": \"float32\""}};
    const char *root = crafted_folder(), *out = out_path(root);
    for (size_t t = 0; t < COUNT(types); t++) {
        converts(TINY, out, &(sabok_convert_opts){.dtype = types[t].dtype, .overwrite = true});
        struct tensor_store *a = store_open(TINY, false, NULL), *b = store_open(out, false, NULL);
        for (size_t i = 0; i < store_count(a); i++) {
            const struct tensor_entry *x = store_get(a, i), *y = store_find(b, x->name);
            assert_int_equal(y->dtype, types[t].stored);
            for (size_t k = 0; k < x->bytes / 4; k++) {
                float f;
                memcpy(&f, x->data + 4 * k, 4);
                const uint16_t narrow = types[t].stored == DT_F16 ? f32_to_f16(f) : f32_to_bf16(f);
                if (types[t].stored == DT_F32)
                    assert_memory_equal(y->data + 4 * k, &f, 4);
                else
                    assert_memory_equal(y->data + 2 * k, &narrow, 2);
            }
        }
        store_close(a);
        store_close(b);
        struct crafted c = crafted_read(crafted_path(out, "config.json"));
        assert_contains((char *)c.data, types[t].name);
        crafted_free(&c);
    }
    refused(TINY, out, &(sabok_convert_opts){.dtype = SABOK_INT8}, "expected float32, float16 or bfloat16");
    crafted_remove(root);
}

#define F32(begin, end) "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[" #begin "," #end "]}"

// What is another's tensor by the config is left out; where it is not, or differs, it is kept. Values beyond float16 are
// told.
static void test_tied(void **state) {
    (void)state;
    static const struct {
        const char *config;
        float second;
        size_t kept;
    } cases[] = {{"{\"model_type\": \"bert\", \"torch_dtype\": \"float32\"}", 1e6f, 1},
                 {"{\"tie_word_embeddings\": true}", 1e6f, 1},
                 {"{\"tie_word_embeddings\": false}", 1e6f, 2},
                 {"{}", 2, 2}};
    static const char header[] = "{\"bert.embeddings.word_embeddings.weight\":" F32(
        0, 4) ",\"cls.predictions.decoder.weight\":" F32(4, 8) "}";
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *root = crafted_folder();
        char from[600], out[600];
        snprintf(from, sizeof from, "%s/from", root);
        snprintf(out, sizeof out, "%s/out", root);
        assert_int_equal(mkdir(from, 0700), 0);
        struct crafted c = crafted_tensors(header, 8);
        const float values[2] = {1e6f, cases[i].second};
        memcpy(c.data + c.size - 8, values, 8);
        crafted_write(from, "model.safetensors", c.data, c.size);
        crafted_free(&c);
        crafted_text(from, "config.json", cases[i].config);
        last_log[0] = '\0';
        sabok_log_set(keep_log, NULL, SABOK_LOG_WARNING);
        converts(from, out, &(sabok_convert_opts){.dtype = SABOK_FLOAT16});
        sabok_log_set(NULL, NULL, SABOK_LOG_ERROR);
        assert_contains(last_log, "1 values are beyond the range of F16");
        struct tensor_store *s = store_open(out, false, NULL);
        assert_int_equal(store_count(s), cases[i].kept);
        assert_non_null(store_find(s, "bert.embeddings.word_embeddings.weight"));
        store_close(s);
        c = crafted_read(crafted_path(out, "config.json"));
        if (i == 0)
            assert_string_equal((char *)c.data, "{\"model_type\": \"bert\", \"torch_dtype\": \"float16\"}");
        crafted_free(&c);
        crafted_remove(root);
    }
}

static void test_names(void **state) {
    (void)state;
    const char *root = crafted_folder();
    char from[600];
    snprintf(from, sizeof from, "%s/from", root);
    assert_int_equal(mkdir(from, 0700), 0);
    assert_int_equal(symlink(TINY "/config.json", crafted_path(from, "config.json")), 0);
    crafted_shard(from, "model.safetensors", "{\"encoder.layer.0.odd\":" F32(0, 4) "}", 4);
    last_log[0] = '\0';
    sabok_log_set(keep_log, NULL, SABOK_LOG_WARNING);
    converts(from, crafted_path(root, "out"), NULL);
    sabok_log_set(NULL, NULL, SABOK_LOG_ERROR);
    assert_contains(last_log, "37 weights of the model are missing: \"embeddings.word_embeddings.weight\", ");
    assert_contains(last_log, "1 tensors are kept that the model does not use: \"encoder.layer.0.odd\"");
    crafted_remove(root);
}

static void test_refused(void **state) {
    (void)state;
    const char *root = crafted_folder();
    char out[600], other[600];
    snprintf(out, sizeof out, "%s/out", root);
    snprintf(other, sizeof other, "%s/other", root);
    const sabok_convert_opts over = {.overwrite = true};
    refused(NULL, out, NULL, "expected a model");
    refused(TINY, "", NULL, "expected a model");
    refused(crafted_path(root, "none"), out, NULL, "none");
    assert_int_equal(mkdir(other, 0700), 0);
    refused(other, out, NULL, "found no weights, expected model.safetensors");
    converts(TINY, crafted_path(root, "out/"), NULL);
    refused(TINY, out, NULL, "is there already: not replaced");
    refused(out, out, &over, "holds the model that is to be converted");
    refused(out, root, &over, "holds the model that is to be converted");
    converts(TINY, out, &over);
    converts(TINY, other, &over); // an empty folder
    crafted_text(other, "notes", "a file more is no obstacle");
    converts(TINY, other, &over);
    assert_false(file_exists(crafted_path(other, "notes")));
    assert_int_equal(mkdir(crafted_path(other, "mine"), 0700), 0);
    refused(TINY, other, &over, "holds 'mine', which no model's folder has");
    crafted_remove(other);
    assert_int_equal(mkdir(other, 0700), 0);
    crafted_text(other, "letter", "x");
    refused(TINY, other, &over, "is there and is no model's folder");
    refused(TINY, crafted_path(other, "letter"), &over, "is there and is no folder");
    refused(TINY, crafted_path(other, "letter/x"), NULL, "Not a directory");
    assert_int_equal(crafted_count(root), 2);
    assert_int_equal(crafted_count(other), 1);
    // A link stays a link.
    assert_int_equal(symlink("out", crafted_path(root, "link")), 0);
    converts(TINY, crafted_path(root, "link"), &over);
    struct stat st;
    assert_int_equal(lstat(crafted_path(root, "link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    crafted_remove(root);
}

static int stop(void *ctx, const char *file, uint64_t done, uint64_t total) {
    size_t *left = ctx;
    assert_non_null(file);
    assert_true(done > 0 && done <= total);
    return (*left)-- == 0;
}

// Stopped anywhere, with a disk that is full anywhere, and without memory anywhere: nothing is left, or what was there.
static void test_nothing_left(void **state) {
    (void)state;
    const char *root = crafted_folder(), *out = out_path(root);
    size_t stops = 0;
    for (bool done = false; !done; stops++) {
        size_t left = stops;
        sabok_error err = {0};
        done = sabok_convert(TINY, out,
                             &(sabok_convert_opts){.max_shard_size = 30000, .progress = stop, .ctx = &left},
                             &err) == SABOK_OK;
        assert_int_equal(err.code, done ? SABOK_OK : SABOK_ECANCELED);
        assert_int_equal(crafted_count(root), done);
    }
    assert_true(stops > 10);
    struct crafted before = crafted_read(crafted_path(out, "model.safetensors.index.json"));
    for (uint64_t k = 1;; k++) {
        sabok_error err = {0};
        out_fail_at(k, ENOSPC);
        const sabok_status status = sabok_convert(TINY, out, &(sabok_convert_opts){.overwrite = true}, &err);
        out_fail_at(0, 0);
        assert_int_equal(crafted_count(root), 1);
        if (status == SABOK_OK) {
            assert_true(k > 20);
            break;
        }
        assert_contains(err.message, "No space left on device");
        struct crafted after = crafted_read(crafted_path(out, "model.safetensors.index.json"));
        assert_true(before.size == after.size && memcmp(before.data, after.data, before.size) == 0);
        crafted_free(&after);
    }
    crafted_free(&before);
    for (uint64_t k = 1;; k++) {
        int64_t live = mem_live();
        sabok_error err = {0};
        mem_fail_at(k, true);
        const sabok_status status = sabok_convert(TINY, out, &(sabok_convert_opts){.overwrite = true}, &err);
        mem_fail_at(0, false);
        assert_int_equal(mem_live(), live);
        assert_int_equal(crafted_count(root), 1);
        if (status == SABOK_OK) break;
        if (status != SABOK_ENOMEM)
            fail_msg("%s; rerun: allocation %llu", err.message, (unsigned long long)k);
    }
    crafted_remove(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_torch),        cmocka_unit_test(test_shards), cmocka_unit_test(test_types),
        cmocka_unit_test(test_tied),         cmocka_unit_test(test_names),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_nothing_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
