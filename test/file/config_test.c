// Configuration files and the sentence-transformers folder.
#include "file/crafted.h"

static struct config *parse(const char *text) {
    sabok_error err = {0};
    struct config *c = config_parse(text, strlen(text), "config.json", &err);
    if (!c) fail_msg("%s", err.message);
    return c;
}

static void test_values(void **state) {
    (void)state;
    struct config *c =
        parse("{\"n\": 12, \"big\": 18446744073709551615, \"x\": 1e-12, \"i\": 3, \"t\": true,"
              "\"s\": \"a\\u0062\", \"z\": null, \"l\": [\"p\", \"\"], \"o\": {\"k\": {\"m\": 7}}}");
    uint64_t n = 5;
    double x = 0;
    bool t = false;
    const char *s = NULL;
    const char *const *l;
    size_t count;
    struct config *o = NULL, *k = NULL;
    assert_int_equal(config_u64(c, "n", 1, 12, &n, NULL), SABOK_OK);
    assert_int_equal(n, 12);
    assert_int_equal(config_u64(c, "big", 0, UINT64_MAX, &n, NULL), SABOK_OK);
    assert_true(n == UINT64_MAX);
    n = 5;
    assert_int_equal(config_u64(c, "absent", 1, 12, &n, NULL), SABOK_OK);
    assert_int_equal(config_u64(c, "z", 1, 12, &n, NULL), SABOK_OK);
    assert_int_equal(n, 5);
    assert_int_equal(config_double(c, "x", 0, 1, &x, NULL), SABOK_OK);
    assert_true(x == 1e-12);
    assert_int_equal(config_double(c, "i", 0, 10, &x, NULL), SABOK_OK);
    assert_true(x == 3);
    assert_int_equal(config_bool(c, "t", &t, NULL), SABOK_OK);
    assert_true(t);
    assert_int_equal(config_string(c, "s", &s, NULL), SABOK_OK);
    assert_string_equal(s, "ab");
    assert_int_equal(config_strings(c, "l", &l, &count, NULL), SABOK_OK);
    assert_int_equal(count, 2);
    assert_string_equal(l[0], "p");
    assert_string_equal(l[1], "");
    assert_int_equal(config_object(c, "o", &o, NULL), SABOK_OK);
    assert_int_equal(config_object(o, "k", &k, NULL), SABOK_OK);
    assert_int_equal(config_u64(k, "m", 0, 9, &n, NULL), SABOK_OK);
    assert_int_equal(n, 7);
    assert_true(config_has(c, "o") && !config_has(c, "z") && !config_has(c, "absent"));
    assert_int_equal(config_count(c), 9);
    assert_string_equal(config_key(c, 1), "big");
    assert_string_equal(config_where(k), "config.json");
    config_close(c);
}

// Bugs 90, 92, 94: every number has its range, and the message says file, byte, key, found and expected.
static void test_ranges_bugs90_bugs92_bugs94(void **state) {
    (void)state;
    struct config *c =
        parse("{\"layers\": 33, \"neg\": -10, \"f\": 1.5, \"s\": \"8\", \"eps\": 2,\"b\": 1, \"huge\": "
              "1000000000000000019884624838656, \"l\": [1], \"m\": {}, \"nul\": \"a\\u0000b\"}");
    uint64_t n = 5;
    double x = 5;
    bool b = true;
    const char *s = "old";
    const char *const *l = NULL;
    struct config *o = NULL;
    sabok_error err = {0};
    assert_int_equal(config_u64(c, "layers", 1, 32, &n, &err), SABOK_EFORMAT);
    assert_string_equal(err.message,
                        "config.json: byte 11: \"layers\": found 33, expected an integer from 1 to 32");
    assert_int_equal(err.offset, 11);
    assert_int_equal(config_u64(c, "neg", 0, 32, &n, &err), SABOK_EFORMAT);
    assert_contains(err.message, "found -10, expected an integer from 0 to 32");
    assert_int_equal(config_u64(c, "f", 0, 32, &n, &err), SABOK_EFORMAT);
    assert_int_equal(config_u64(c, "s", 0, 32, &n, &err), SABOK_EFORMAT);
    assert_contains(err.message, "found \"8\", expected");
    assert_int_equal(config_u64(c, "b", 2, 32, &n, &err), SABOK_EFORMAT);
    assert_int_equal(config_u64(c, "huge", 0, UINT64_MAX, &n, &err), SABOK_EFORMAT);
    assert_int_equal(config_u64(c, "l", 0, 9, &n, &err), SABOK_EFORMAT);
    assert_int_equal(n, 5);
    assert_int_equal(config_double(c, "eps", 0, 1, &x, &err), SABOK_EFORMAT);
    assert_contains(err.message, "found 2, expected a number from 0 to 1");
    assert_int_equal(config_double(c, "s", 0, 1, &x, &err), SABOK_EFORMAT);
    assert_true(x == 5);
    assert_int_equal(config_bool(c, "b", &b, &err), SABOK_EFORMAT);
    assert_int_equal(config_string(c, "f", &s, &err), SABOK_EFORMAT);
    assert_int_equal(config_string(c, "nul", &s, &err), SABOK_EFORMAT);
    assert_contains(err.message, "expected a string without NUL bytes");
    assert_string_equal(s, "old");
    size_t count;
    assert_int_equal(config_strings(c, "l", &l, &count, &err), SABOK_EFORMAT);
    assert_contains(err.message, "found [1], expected an array of strings");
    assert_int_equal(config_strings(c, "s", &l, &count, &err), SABOK_EFORMAT);
    assert_int_equal(config_object(c, "l", &o, &err), SABOK_EFORMAT);
    assert_null(o);
    config_close(c);
}

static void test_bad_files(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "1",
        "null",
        "{",
        "{\"a\":1,}",
        "{\"a\":1}}",
        "{\"a\":1,\"a\":1}",
        "{\"a\":NaN}",
        "{\"a\\u0000\":1}",
        "{\"a\":'x'}",
        "{\"a\":\"\xff\"}",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        sabok_error err = {0};
        if (config_parse(bad[i], strlen(bad[i]), "config.json", &err)) fail_msg("read %s", bad[i]);
        assert_int_equal(err.code, SABOK_EFORMAT);
        assert_contains(err.message, "config.json: byte");
    }
    sabok_error err = {0};
    assert_null(config_open("/nonexistent/config.json", &err));
    assert_int_equal(err.code, SABOK_ENOTFOUND);
    assert_null(config_open("/", &err));
    config_close(NULL);
}

static void test_many_keys(void **state) {
    (void)state;
    struct buf b = {0};
    size_t n = 100000;
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%c\"%zu\":\"LABEL_%zu\"", i ? ',' : '{', i, i);
    buf_put(&b, "}\0", 2);
    struct config *c = parse(b.data);
    double begin = clock_seconds();
    for (size_t i = 0; i < n; i++) {
        const char *s = NULL;
        assert_int_equal(config_string(c, config_key(c, i), &s, NULL), SABOK_OK);
        assert_int_equal(s[0], 'L');
    }
    if (clock_seconds() - begin > 10) fail_msg("100,000 look-ups took over 10 s");
    config_close(c);
    buf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_ranges_bugs90_bugs92_bugs94),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_many_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
