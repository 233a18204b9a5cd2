// The safetensors reader: every rule of docs/formats.md with a file that breaks it, and files that must be
// read. Numbers after "bugs" are rows of the project's list of public bug reports.
#include "file/crafted.h"

#define T(shape, offsets) "{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void expect_refused(const struct crafted *c, sabok_status code, const char *message) {
    int64_t live = mem_live();
    sabok_error err = {0};
    struct safetensors *s = safetensors_parse(c->data, c->size, "x.safetensors", &err);
    if (s) fail_msg("read a bad file, expected the error \"%s\"", message);
    assert_contains(err.message, message);
    assert_contains(err.message, "x.safetensors: byte ");
    assert_int_equal(err.code, code);
    assert_int_equal(mem_live(), live);
    assert_null(safetensors_parse(c->data, c->size, "x", NULL)); // err may be NULL
}

static void refuse(const char *header, size_t data, const char *message) {
    struct crafted c = crafted_tensors(header, data);
    expect_refused(&c, SABOK_EFORMAT, message);
    crafted_free(&c);
}

static struct safetensors *accept(const struct crafted *c) {
    sabok_error err = {0};
    struct safetensors *s = safetensors_parse(c->data, c->size, "x.safetensors", &err);
    if (!s) fail_msg("refused a good file: %s", err.message);
    return s;
}

static void test_rule1_length(void **state) {
    (void)state;
    for (size_t n = 0; n < 8; n++) {
        struct crafted c = crafted_bytes("\x02\0\0\0\0\0\0\0", n);
        expect_refused(&c, SABOK_EFORMAT, "expected 8 bytes of header length");
        crafted_free(&c);
    }
}

static void test_rule2_little_endian(void **state) {
    (void)state;
    char header[300];
    memset(header, ' ', sizeof header);
    header[0] = '{', header[1] = '}', header[299] = '\0'; // 299 = 0x012B
    struct crafted c = crafted_tensors(header, 0);
    struct safetensors *s = accept(&c);
    assert_int_equal(safetensors_count(s), 0);
    safetensors_close(s);
    crafted_free(&c);
}

static void test_rule3_header_limit(void **state) {
    (void)state;
    // 100,000,001 bytes, and they are there.
    size_t n = 100000001;
    struct crafted c = {.data = malloc(8 + n), .size = 8 + n};
    assert_non_null(c.data);
    memset(c.data, ' ', c.size);
    memcpy(c.data, "\x01\xe1\xf5\x05\0\0\0\0{}", 10);
    expect_refused(&c, SABOK_EFORMAT, "expected at most 100000000");
    c.data[0] = 0; // one less is the limit
    c.size--;
    safetensors_close(accept(&c));
    crafted_free(&c);
    c = crafted_bytes("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
    expect_refused(&c, SABOK_EFORMAT, "expected at most 100000000");
    crafted_free(&c);
}

static void test_rule4_header_inside_file(void **state) {
    (void)state;
    struct crafted c = crafted_bytes("\x03\0\0\0\0\0\0\0{}", 10);
    expect_refused(&c, SABOK_EFORMAT, "expected at most the 2 bytes that follow");
    crafted_free(&c);
    c = crafted_bytes("\x01\0\0\0\0\0\0\0", 8);
    expect_refused(&c, SABOK_EFORMAT, "expected at most the 0 bytes that follow");
    crafted_free(&c);
}

static void test_rule5_utf8(void **state) {
    (void)state;
    refuse("{\"\xff\":" T("[1]", "[0,4]") "}", 4, "not UTF-8");
    refuse("{\"\xc0\xaf\":" T("[1]", "[0,4]") "}", 4, "not UTF-8");
    refuse("{\"\xed\xa0\x80\":" T("[1]", "[0,4]") "}", 4, "not UTF-8");
    refuse("{\xc3\xa9}", 0, "expected a key in quotes");
}

static void test_rule6_json_object(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "null",
        "1",
        "\"a\"",
        "{",
        "{\"a\"",
        "{\"a\":}",
        "{,}",
        "{}}",
        "{\"a\":[]}",
        "{\"a\":1}",
        "{\"a\":{}}",
        "{\"a\":null}",
        "{\"a\":" T("[1]", "[0,4]") ",}",
        "{'a':1}",
        "{\"a\":{\"dtype\":\"F32\"}}",
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        refuse(bad[i], 4, "expected");
    refuse("{\"\\ud800\":" T("[1]", "[0,4]") "}", 4, "lone surrogate");
}

static void test_rule7_blanks(void **state) {
    (void)state;
    static const char *const good[] = {" {}", "{} ", "{}   ", "\t\r\n{}\n", "{ }"};
    for (size_t i = 0; i < COUNT(good); i++) {
        struct crafted c = crafted_tensors(good[i], 0);
        safetensors_close(accept(&c));
        crafted_free(&c);
    }
    refuse("{}x", 0, "expected");
    struct crafted c = crafted_bytes("\x03\0\0\0\0\0\0\0{}\0", 11);
    expect_refused(&c, SABOK_EFORMAT, "0x00");
    crafted_free(&c);
}

static void test_rule8_metadata(void **state) {
    (void)state;
    struct crafted c = crafted_tensors("{\"__metadata__\":{\"format\":\"pt\",\"a\\n\":\"\\u00e9\"}}", 0);
    struct safetensors *s = accept(&c);
    assert_string_equal(safetensors_metadata(s, "format"), "pt");
    assert_string_equal(safetensors_metadata(s, "a\n"), "\xc3\xa9");
    assert_null(safetensors_metadata(s, "b"));
    assert_int_equal(safetensors_count(s), 0);
    safetensors_close(s);
    crafted_free(&c);
    refuse("{\"__metadata__\":{\"a\":1}}", 0, "expected a string");
    refuse("{\"__metadata__\":{\"a\":{\"b\":\"c\"}}}", 0, "expected a string");
    refuse("{\"__metadata__\":{\"a\":null}}", 0, "expected a string");
    refuse("{\"__metadata__\":[]}", 0, "expected an object");
    refuse("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "'__metadata__' twice");
    refuse("{\"__metadata__\":{\"a\":\"1\",\"b\":\"2\",\"a\":\"3\"}}", 0, "metadata key 'a': found it twice");
    refuse("{\"__metadata__\":{\"a\\u0000\":\"1\"}}", 0, "NUL byte in the metadata key");
    refuse("{\"__metadata__\":{\"a\":\"1\\u0000\"}}", 0, "NUL byte in the metadata value");
}

static void test_rule9_members(void **state) {
    (void)state;
    refuse("{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "tensor 'a': found no 'dtype'");
    refuse("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "tensor 'a': found no 'shape'");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "tensor 'a': found no 'data_offsets'");
    refuse("{\"a\":" T("[1]", "[0]") "}", 4, "fewer than two data_offsets");
    refuse("{\"a\":" T("[1]", "[]") "}", 4, "fewer than two data_offsets");
    refuse("{\"a\":" T("[1]", "[0,4,4]") "}", 4, "more than two data_offsets");
    refuse("{\"a\":" T("1", "[0,4]") "}", 4, "expected an array");
    refuse("{\"a\":" T("[1]", "4") "}", 4, "expected an array");
    refuse("{\"a\":{\"dtype\":3,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "expected a string");
    refuse("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
           "'dtype' twice");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
           "'shape' twice");
    // What the format does not name is skipped.
    struct crafted c = crafted_tensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"new\":[{\"x\":1}],"
                                       "\"data_offsets\":[0,4]}}",
                                       4);
    safetensors_close(accept(&c));
    crafted_free(&c);
}

static void test_rule10_integers(void **state) {
    (void)state;
    static const char *const bad[] = {"-1",    "1.0",  "1e0", "-0", "18446744073709551616",
                                      "\"1\"", "true", "null"};
    char header[200];
    for (size_t i = 0; i < COUNT(bad); i++) {
        snprintf(header, sizeof header, "{\"a\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[0,4]}}",
                 bad[i]);
        refuse(header, 4, "");
        snprintf(header, sizeof header, "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%s,4]}}",
                 bad[i]);
        refuse(header, 4, "");
        snprintf(header, sizeof header, "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,%s]}}",
                 bad[i]);
        refuse(header, 4, "");
    }
    refuse("{\"a\":" T("[0,281474976710656]", "[0,0]") "}", 0, "above 2^48 - 1");
    struct crafted c = crafted_tensors("{\"a\":" T("[0,281474976710655]", "[0,0]") "}", 0);
    safetensors_close(accept(&c));
    crafted_free(&c);
}

static void test_rule11_names(void **state) {
    (void)state;
    refuse("{\"a\":" T("[1]", "[0,4]") ",\"b\":" T("[1]", "[4,8]") ",\"a\":" T("[1]", "[8,12]") "}", 12,
           "tensor 'a': found this name twice");
    refuse("{\"a\":" T("[0]", "[0,0]") ",\"\\u0061\":" T("[0]", "[0,0]") "}", 0,
           "tensor 'a': found this name twice");
    refuse("{\"a\\u0000b\":" T("[1]", "[0,4]") "}", 4, "NUL byte in the tensor name 'a?b'");
    struct crafted c = crafted_tensors("{\"\":" T("[1]", "[0,4]") ",\"\xd8\xb3\":" T("[1]", "[4,8]") "}", 8);
    struct safetensors *s = accept(&c);
    assert_non_null(safetensors_find(s, ""));
    assert_non_null(safetensors_find(s, "\xd8\xb3"));
    safetensors_close(s);
    crafted_free(&c);
}

static void test_rule12_layout(void **state) {
    (void)state;
    refuse("{\"a\":" T("[1]", "[4,8]") "}", 8, "expected them to begin at 0");
    refuse("{\"a\":" T("[1]", "[0,4]") ",\"b\":" T("[1]", "[8,12]") "}", 12, "expected them to begin at 4");
    refuse("{\"a\":" T("[2]", "[0,8]") ",\"b\":" T("[1]", "[4,8]") "}", 8, "expected them to begin at 8");
    refuse("{\"a\":" T("[1]", "[0,4]") ",\"b\":" T("[1]", "[0,4]") "}", 4, "expected them to begin at 4");
    refuse("{\"a\":" T("[0]", "[0,0]") ",\"b\":" T("[1]", "[0,4]") ",\"c\":" T("[1]", "[4,3]") "}", 4,
           "[4, 3]");
    // Any order in the header.
    struct crafted c = crafted_tensors(
        "{\"b\":" T("[1]", "[4,8]") ",\"c\":" T("[0]", "[4,4]") ",\"a\":" T("[1]", "[0,4]") "}", 8);
    struct safetensors *s = accept(&c);
    assert_string_equal(safetensors_get(s, 0)->name, "a");
    assert_string_equal(safetensors_get(s, 1)->name, "c");
    assert_string_equal(safetensors_get(s, 2)->name, "b");
    assert_int_equal(safetensors_find(s, "b")->data[0], 4);
    safetensors_close(s);
    crafted_free(&c);
}

static void test_rule13_overflow_bugs78_bugs84(void **state) {
    (void)state;
    refuse("{\"a\":" T("[2,18446744073709551614]", "[0,8]") "}", 8, "product of its shape overflows");
    refuse("{\"a\":" T("[2,9223372036854775807]", "[0,8]") "}", 8, "size of its data overflows");
    // 2^32 * 2^32 wraps to 0 elements.
    refuse("{\"a\":" T("[4294967296,4294967296]", "[0,0]") "}", 0, "product of its shape overflows");
    // (2^42 + 1) elements of 2^22 rows: the bytes would wrap to a small number.
    refuse("{\"a\":" T("[4398046511105,4194304]", "[0,16777216]") "}", 8, "overflows");
    // 2^61 elements of 32 bits are 2^66 bits.
    refuse("{\"a\":" T("[2305843009213693952]", "[0,0]") "}", 0, "size of its data overflows");
}

static void test_rule14_whole_bytes(void **state) {
    (void)state;
    refuse("{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 1, "ends inside a byte");
    refuse("{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1, "ends inside a byte");
}

static void test_rule15_size(void **state) {
    (void)state;
    refuse("{\"a\":" T("[2]", "[0,4]") "}", 4, "found 4 bytes of data, expected 8 by its F32 shape");
    refuse("{\"a\":" T("[1]", "[0,8]") "}", 8, "found 8 bytes of data, expected 4 by its F32 shape");
    refuse("{\"a\":" T("[0]", "[0,4]") "}", 4, "found 4 bytes of data, expected 0");
    refuse("{\"a\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
           "expected 16 by its I64 shape");
}

static void test_rule16_whole_file_bugs76(void **state) {
    (void)state;
    refuse("{\"a\":" T("[2]", "[0,8]") "}", 9, "found 1 bytes after the last tensor");
    refuse("{}", 1, "found 1 bytes after the last tensor");
    refuse("{\"a\":" T("[2]", "[0,8]") "}", 6, "its data ends at byte 8 of the data, found only 6 bytes");
    refuse("{\"a\":" T("[2]", "[0,8]") ",\"b\":" T("[2]", "[8,16]") "}", 8, "found only 8 bytes");
}

static void test_rule17_empty_shapes_bugs78(void **state) {
    (void)state;
    struct crafted c = crafted_tensors("{\"a\":" T("[2,0]", "[0,0]") ",\"b\":" T("[]", "[0,4]") "}", 4);
    struct safetensors *s = accept(&c);
    const struct tensor_entry *a = safetensors_find(s, "a"), *b = safetensors_find(s, "b");
    assert_int_equal(a->rank, 2);
    assert_int_equal(a->shape.dim[0], 2);
    assert_int_equal(a->shape.dim[1], 0);
    assert_int_equal(a->bytes, 0);
    assert_int_equal(b->rank, 0);
    assert_int_equal(b->bytes, 4);
    safetensors_close(s);
    crafted_free(&c);
}

static void test_rule18_any_values(void **state) {
    (void)state;
    struct crafted c = crafted_tensors("{\"a\":" T("[1]", "[0,4]") "}", 4);
    memcpy(c.data + c.size - 4, "\x00\x00\xc0\x7f", 4); // NaN
    safetensors_close(accept(&c));
    crafted_free(&c);
}

static void test_rule20_alignment_bugs74(void **state) {
    (void)state;
    struct crafted c = crafted_tensors(
        "{\"u\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"a\":" T("[2]", "[1,9]") "}  ", 9);
    struct safetensors *s = accept(&c);
    const struct tensor_entry *a = safetensors_find(s, "a");
    size_t begin = c.size - 8;
    assert_ptr_equal(a->data, c.data + begin);
    assert_int_equal(a->begin, begin);
    assert_int_equal(safetensors_find(s, "u")->begin, begin - 1);
    float x[2], expected[2];
    dtype_to_f32(x, a->data, a->dtype, 2);
    memcpy(expected, a->data, 8);
    assert_memory_equal(x, expected, 8);
    safetensors_close(s);
    crafted_free(&c);
}

static void test_dtypes_bugs86(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t bytes;
    } ours[] = {{"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F64", 8}, {"I64", 8}, {"I32", 4}, {"I16", 2},
                {"I8", 1},  {"U64", 8}, {"U32", 4},  {"U16", 2}, {"U8", 1},  {"BOOL", 1}};
    static const char *const others[] = {"F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"};
    char header[200], message[100];
    for (size_t i = 0; i < COUNT(ours); i++) {
        snprintf(header, sizeof header, "{\"a\":{\"dtype\":\"%s\",\"shape\":[3],\"data_offsets\":[0,%zu]}}",
                 ours[i].name, 3 * ours[i].bytes);
        struct crafted c = crafted_tensors(header, 3 * ours[i].bytes);
        struct safetensors *s = accept(&c);
        assert_string_equal(dtype_name(safetensors_get(s, 0)->dtype), ours[i].name);
        safetensors_close(s);
        crafted_free(&c);
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        snprintf(header, sizeof header, "{\"a\":{\"dtype\":\"%s\",\"shape\":[3],\"data_offsets\":[0,3]}}",
                 others[i]);
        snprintf(message, sizeof message, "tensor 'a': found dtype %s", others[i]);
        struct crafted c = crafted_tensors(header, 3);
        expect_refused(&c, SABOK_EUNSUPPORTED, message);
        crafted_free(&c);
    }
    struct crafted c = crafted_tensors("{\"a\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8);
    expect_refused(&c, SABOK_EUNSUPPORTED, "C64");
    crafted_free(&c);
    c = crafted_tensors("{\"a\":{\"dtype\":\"F6_E3M2\",\"shape\":[4],\"data_offsets\":[0,3]}}", 3);
    expect_refused(&c, SABOK_EUNSUPPORTED, "F6_E3M2");
    crafted_free(&c);
    refuse("{\"a\":{\"dtype\":\"F33\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "unknown dtype 'F33'");
    refuse("{\"a\":{\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "unknown dtype 'f32'");
}

static void test_rank_bugs88(void **state) {
    (void)state;
    // Five dimensions: more than a shape holds, so they are in `dims` only.
    struct crafted c = crafted_tensors("{\"a\":" T("[1,2,1,1,3]", "[0,24]") "}", 24);
    struct safetensors *s = accept(&c);
    const struct tensor_entry *a = safetensors_get(s, 0);
    assert_int_equal(a->rank, 5);
    assert_int_equal(a->shape.rank, 5);
    assert_int_equal(a->dims[4], 3);
    safetensors_close(s);
    crafted_free(&c);
    char header[400] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1";
    for (size_t i = 1; i < 64; i++)
        strcat(header, ",1");
    strcat(header, "],\"data_offsets\":[0,1]}}");
    c = crafted_tensors(header, 1);
    s = accept(&c);
    assert_int_equal(safetensors_get(s, 0)->rank, 64);
    safetensors_close(s);
    crafted_free(&c);
    char *end = strstr(header, "],\"data");
    memmove(end + 2, end, strlen(end) + 1);
    memcpy(end, ",1", 2);
    refuse(header, 1, "more than 64 dimensions");
}

static void test_error_place(void **state) {
    (void)state;
    struct crafted c = crafted_tensors("{\"a\":" T("[1]", "[0,4]") ",\"b\":" T("[1]", "[4,9]") "}", 9);
    sabok_error err = {0};
    assert_null(safetensors_parse(c.data, c.size, "dir/x.safetensors", &err));
    assert_string_equal(err.where, "dir/x.safetensors");
    // The error points behind "b": in the header.
    assert_true(err.offset > 8 && err.offset < c.size - 9);
    assert_memory_equal(c.data + err.offset - 4, "\"b\":", 4);
    crafted_free(&c);
}

// 100,000 tensors in falling name order, the worst for an insertion: this takes well under a second.
static void test_many_tensors(void **state) {
    (void)state;
    size_t n = 100000;
    struct buf b = {0};
    buf_put(&b, "{", 1);
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%s\"layer.%06zu.weight\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%zu,%zu]}",
                   i ? "," : "", n - 1 - i, i, i + 1);
    buf_put(&b, "}\0", 2);
    struct crafted c = crafted_tensors(b.data, n);
    double begin = clock_seconds();
    struct safetensors *s = accept(&c);
    for (size_t i = 0; i < n; i++)
        assert_ptr_equal(safetensors_find(s, safetensors_get(s, i)->name), safetensors_get(s, i));
    double seconds = clock_seconds() - begin;
    assert_null(safetensors_find(s, "layer.100000.weight"));
    safetensors_close(s);
    crafted_free(&c);
    buf_free(&b);
    if (seconds > 10) fail_msg("100,000 tensors took %.1f s", seconds);
}

// The attacks that the reference keeps: many tensors over one range of data.
static void test_overlapping_entries(void **state) {
    (void)state;
    struct buf b = {0};
    buf_put(&b, "{", 1);
    for (size_t i = 0; i < 100000; i++)
        buf_printf(&b, "%s\"t%zu\":" T("[256]", "[0,1024]"), i ? "," : "", i);
    buf_put(&b, "}\0", 2);
    refuse(b.data, 1024, "expected them to begin at 1024");
    buf_free(&b);
}

static void test_open(void **state) {
    (void)state;
    const char *folder = crafted_folder();
    crafted_shard(folder, "a.safetensors", "{\"a\":" T("[2]", "[0,8]") "}", 8);
    sabok_error err = {0};
    for (int read = 0; read < 2; read++) {
        struct safetensors *s = safetensors_open(crafted_path(folder, "a.safetensors"), read, &err);
        assert_non_null(s);
        const struct tensor_entry *e = safetensors_get(s, 0);
        assert_int_equal(e->data[7], 7);
        safetensors_drop(s, e);
        assert_int_equal(e->data[7], 7); // the pages come back from the file
        safetensors_close(s);
    }
    assert_null(safetensors_open(crafted_path(folder, "b.safetensors"), false, &err));
    assert_int_equal(err.code, SABOK_ENOTFOUND);
    assert_contains(err.message, "b.safetensors");
    assert_null(safetensors_open(folder, false, &err));
    assert_contains(err.message, "is a folder, expected a regular file");
    safetensors_close(NULL);
    crafted_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule1_length),
        cmocka_unit_test(test_rule2_little_endian),
        cmocka_unit_test(test_rule3_header_limit),
        cmocka_unit_test(test_rule4_header_inside_file),
        cmocka_unit_test(test_rule5_utf8),
        cmocka_unit_test(test_rule6_json_object),
        cmocka_unit_test(test_rule7_blanks),
        cmocka_unit_test(test_rule8_metadata),
        cmocka_unit_test(test_rule9_members),
        cmocka_unit_test(test_rule10_integers),
        cmocka_unit_test(test_rule11_names),
        cmocka_unit_test(test_rule12_layout),
        cmocka_unit_test(test_rule13_overflow_bugs78_bugs84),
        cmocka_unit_test(test_rule14_whole_bytes),
        cmocka_unit_test(test_rule15_size),
        cmocka_unit_test(test_rule16_whole_file_bugs76),
        cmocka_unit_test(test_rule17_empty_shapes_bugs78),
        cmocka_unit_test(test_rule18_any_values),
        cmocka_unit_test(test_rule20_alignment_bugs74),
        cmocka_unit_test(test_dtypes_bugs86),
        cmocka_unit_test(test_rank_bugs88),
        cmocka_unit_test(test_error_place),
        cmocka_unit_test(test_many_tensors),
        cmocka_unit_test(test_overlapping_entries),
        cmocka_unit_test(test_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
