// The JSON reader: against jansson on generated and mutated texts, every truncation and every single-byte
// change of small ones, every failing allocation; and by hand on errors and numbers.
#include "base/check.h"
#include "base/json_oracle.h"

#include <locale.h>
#include <math.h>

// ---- against jansson

static void check_text(const char *text, size_t size, const char *rerun) {
    // A copy of the exact size, so that the address sanitizer sees a read behind the end.
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    bool accepted;
    const char *problem = oracle_compare(copy, size, &accepted);
    free(copy);
    if (problem) fail_msg("%s: %s\n%.*s", rerun, problem, (int)size, text);
}

static uint32_t draw(uint64_t seed, uint64_t *at, uint32_t below) {
    uint32_t r[4];
    rng_philox(seed, 1, (*at)++, r);
    return r[0] % below;
}

struct maker {
    struct buf out;
    uint64_t seed, at;
};

static void make_blank(struct maker *m) {
    static const char *const blanks[] = {"", "", "", " ", "\n", "\r\n\t "};
    const char *b = blanks[draw(m->seed, &m->at, COUNT(blanks))];
    buf_put(&m->out, b, strlen(b));
}

static void make_string(struct maker *m) {
    static const char *const pieces[] = {"a",
                                         "hello world, a longer run",
                                         "\\n",
                                         "\\\"",
                                         "\\\\",
                                         "\\/",
                                         "\\u0041",
                                         "\\u00e9",
                                         "\\ud83d\\ude00",
                                         "\\u0000",
                                         "\xc3\xa9",
                                         "\xe2\x82\xac",
                                         "\xf0\x9f\x98\x80",
                                         "\x7f",
                                         "##ing",
                                         "\\uDBFF\\uDFFF",
                                         "\\ud800",
                                         "\xed\xa0\x80",
                                         "\xc0\xaf",
                                         "\xf4\x90\x80\x80",
                                         "\t",
                                         "\\x"};
    uint32_t n = draw(m->seed, &m->at, 6);
    buf_put(&m->out, "\"", 1);
    for (uint32_t i = 0; i < n; i++) {
        // Mostly the valid ones, which come first.
        uint32_t valid = 16, p = draw(m->seed, &m->at, draw(m->seed, &m->at, 12) ? valid : COUNT(pieces));
        buf_put(&m->out, pieces[p], strlen(pieces[p]));
    }
    buf_put(&m->out, "\"", 1);
}

static void make_number(struct maker *m) {
    static const char *const numbers[] = {"0",
                                          "-0",
                                          "7",
                                          "-12",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "1.5",
                                          "-0.0",
                                          "1e5",
                                          "2E-3",
                                          "1.25e+2",
                                          "123456789012345678901234567890.5",
                                          "4.35",
                                          "1e308",
                                          "5e-324",
                                          "0e99999",
                                          "1e400",
                                          "9223372036854775808",
                                          "01",
                                          "1.",
                                          ".5",
                                          "1e",
                                          "--1",
                                          "+1",
                                          "0x1",
                                          "NaN",
                                          "Infinity"};
    uint32_t valid = 16, p = draw(m->seed, &m->at, draw(m->seed, &m->at, 12) ? valid : COUNT(numbers));
    buf_put(&m->out, numbers[p], strlen(numbers[p]));
}

static void make_value(struct maker *m, uint32_t depth) {
    static const char *const words[] = {"null", "true", "false"};
    make_blank(m);
    uint32_t kind = draw(m->seed, &m->at, depth < 6 ? 7 : 3);
    if (kind == 0) {
        const char *w = words[draw(m->seed, &m->at, 3)];
        buf_put(&m->out, w, strlen(w));
    } else if (kind == 1) {
        make_number(m);
    } else if (kind == 2) {
        make_string(m);
    } else {
        bool object = kind >= 5;
        buf_put(&m->out, object ? "{" : "[", 1);
        uint32_t n = draw(m->seed, &m->at, 5);
        for (uint32_t i = 0; i < n; i++) {
            if (i) buf_put(&m->out, ",", 1);
            make_blank(m);
            if (object) {
                make_string(m);
                make_blank(m);
                buf_put(&m->out, ":", 1);
            }
            make_value(m, depth + 1);
        }
        make_blank(m);
        buf_put(&m->out, object ? "}" : "]", 1);
    }
    make_blank(m);
}

static void generated_texts_agree(void **state) {
    (void)state;
    const char *only = getenv("JSON_SEED");
    uint64_t first = only ? strtoull(only, NULL, 10) : 0, end = only ? first + 1 : 6000;
    for (uint64_t seed = first; seed < end; seed++) {
        struct maker m = {.seed = seed};
        make_value(&m, 0);
        char rerun[64];
        snprintf(rerun, sizeof rerun, "JSON_SEED=%llu ./json_test", (unsigned long long)seed);
        check_text(m.out.data, m.out.size, rerun);
        for (int i = 0; i < 8; i++) { // each with one byte changed, taken out or doubled
            static const char bytes[] = "{}[],:\"\\0-.eE1ntf \n\x01\x80\xc3\xff";
            char text[8192];
            if (m.out.size + 1 >= sizeof text || m.out.size == 0) break;
            size_t at = draw(seed, &m.at, (uint32_t)m.out.size), size = m.out.size;
            memcpy(text, m.out.data, size);
            uint32_t how = draw(seed, &m.at, 3);
            if (how == 0) text[at] = bytes[draw(seed, &m.at, sizeof bytes - 1)];
            if (how == 1) memmove(text + at, text + at + 1, --size - at);
            if (how == 2) memmove(text + at + 1, text + at, size++ - at);
            check_text(text, size, rerun);
        }
        buf_free(&m.out);
    }
}

static const char *const documents[] = {
    "{\"version\":\"1.0\",\"added_tokens\":[{\"id\":0,\"content\":\"[PAD]\",\"special\":true}],\"x\":null}",
    " [ 1 , -2.5e-3, \"\\u00e9\\ud83d\\ude00\\n\", {\"a\" : [ ] , \"\" : { } } , false ]\r\n",
    "\"plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 text longer than one vector of sixteen bytes\"",
    "[[[[0]]],[1E+2,0.1e1],{\"k\":{\"k\":{\"k\":\"v\"}}}]",
};

static void every_truncation_and_byte_change_agrees(void **state) {
    (void)state;
    for (size_t d = 0; d < COUNT(documents); d++) {
        size_t size = strlen(documents[d]);
        char text[256], rerun[64];
        assert_true(size < sizeof text);
        memcpy(text, documents[d], size);
        for (size_t n = 0; n <= size; n++) {
            snprintf(rerun, sizeof rerun, "document %zu cut to %zu bytes", d, n);
            check_text(text, n, rerun);
        }
        for (size_t at = 0; at < size; at++) {
            for (int byte = 0; byte < 256; byte++) {
                text[at] = (char)byte;
                snprintf(rerun, sizeof rerun, "document %zu with byte %zu set to 0x%02x", d, at,
                         (unsigned)byte);
                check_text(text, size, rerun);
            }
            text[at] = documents[d][at];
        }
    }
}

static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    static const char text[] =
        "[\"\\n\", {\"\\u0041\": \"\\\\\"}, 123456789012345678901234567890123456789012345678"
        "901234567890123456789012345678901234567890123456789012345678901234567890123456"
        "789012345678901234567890.5]";
    int64_t live = mem_live();
    for (uint64_t k = 1;; k++) {
        struct arena arena;
        arena_init(&arena, 16);
        sabok_error err = {0};
        struct json j;
        json_init(&j, text, sizeof text - 1, "text", &arena, &err);
        mem_fail_at(k, true);
        bool ok = oracle_read(&j) && json_end(&j);
        mem_fail_at(0, false);
        arena_free(&arena);
        assert_int_equal(mem_live(), live);
        if (ok) {
            assert_true(k > 3);
            break;
        }
        assert_int_equal(err.code, SABOK_ENOMEM);
        assert_string_equal(err.message, "text: out of memory");
        assert_false(json_item(&j)); // and stays failed
    }
}

// ---- by hand

struct reading {
    struct json j;
    struct arena arena;
    sabok_error err;
};

static struct json *reading_begin(struct reading *r, const char *text) {
    arena_init(&r->arena, 0);
    r->err = (sabok_error){0};
    json_init(&r->j, text, strlen(text), "f.json", &r->arena, &r->err);
    return &r->j;
}

static void errors_name_the_byte_and_what_was_expected(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "f.json: byte 0: the text ends here, expected a value"},
        {" \n}", "f.json: byte 2: found '}', expected a value"},
        {"[1 2]", "f.json: byte 3: found '2', expected ',' or ']'"},
        {"[1,]", "f.json: byte 3: found ']', expected a value"},
        {"{\"a\" 1}", "f.json: byte 5: found '1', expected ':'"},
        {"{\"a\":1 \"b\":2}", "f.json: byte 7: found '\"', expected ',' or '}'"},
        {"{\"a\":1,}", "f.json: byte 7: found '}', expected a key in quotes"},
        {"{a:1}", "f.json: byte 1: found 'a', expected a key in quotes"},
        {"[tru]", "f.json: byte 1: found 't', expected a value"},
        {"[1]x", "f.json: byte 3: found 'x', expected the end of the text"},
        {"[01]", "f.json: byte 2: a digit after a leading zero"},
        {"[1.]", "f.json: byte 3: found ']', expected a digit"},
        {"[-", "f.json: byte 2: the text ends here, expected a digit"},
        {"[1e999]", "f.json: byte 1: the number is too large"},
        {"[\"a", "f.json: byte 3: the text ends inside a string"},
        {"[\"a\nb\"]", "f.json: byte 3: control byte 0x0a inside a string"},
        {"[\"a\\q\"]", "f.json: byte 3: unknown escape in a string"},
        {"[\"\\u12g4\"]", "f.json: byte 2: \\u is followed by four hexadecimal digits"},
        {"[\"\\ud800x\"]", "f.json: byte 2: lone surrogate \\ud800 in a string"},
        {"[\"\\udc00\"]", "f.json: byte 2: lone surrogate \\udc00 in a string"},
        {"[\"\\ud800\\u0041\"]", "f.json: byte 2: lone surrogate \\ud800 in a string"},
        {"[\"ab\xff\"]", "f.json: byte 4: byte 0xff inside a string is not UTF-8"},
        {"[\"\xed\xa0\x80\"]", "f.json: byte 2: byte 0xed inside a string is not UTF-8"},
        {"\xef\xbb\xbf[]", "f.json: byte 0: found byte 0xef, expected a value"},
        {"[NaN]", "f.json: byte 1: found 'N', expected a value"},
        {"[-Infinity]", "f.json: byte 2: found 'I', expected a digit"},
        {"/* */ 1", "f.json: byte 0: found '/', expected a value"},
        {"'a'", "f.json: byte 0: found ''', expected a value"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct reading r;
        struct json *j = reading_begin(&r, cases[i].text);
        assert_false(oracle_read(j) && json_end(j));
        assert_string_equal(r.err.message, cases[i].message);
        assert_int_equal(r.err.code, SABOK_EFORMAT);
        // The first error stays.
        assert_false(json_fail(j, "another"));
        assert_false(json_skip(j));
        assert_false(json_end(j));
        assert_int_equal(json_peek(j), JSON_ERROR);
        assert_string_equal(r.err.message, cases[i].message);
        arena_free(&r.arena);
    }
}

static void wrong_kinds_are_named(void **state) {
    (void)state;
    struct reading r;
    struct json_text text;
    uint64_t u;
    int64_t n;
    struct json *j = reading_begin(&r, " 1");
    assert_false(json_string(j, &text));
    assert_string_equal(r.err.message, "f.json: byte 1: found a number, expected a string");
    j = reading_begin(&r, "[]");
    assert_false(json_object_begin(j));
    assert_string_equal(r.err.message, "f.json: byte 0: found an array, expected an object");
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"1.0", "f.json: byte 0: found a fraction, expected an integer"},
        {"1e2", "f.json: byte 0: found a fraction, expected an integer"},
        {"18446744073709551616", "f.json: byte 0: the integer is too large"},
        {"-1", "f.json: byte 0: found a negative number, expected 0 or more"},
        {"true", "f.json: byte 0: found true or false, expected a number"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        j = reading_begin(&r, cases[i].text);
        assert_false(json_u64(j, &u));
        assert_string_equal(r.err.message, cases[i].message);
    }
    j = reading_begin(&r, "9223372036854775808");
    assert_false(json_i64(j, &n));
    assert_string_equal(r.err.message, "f.json: byte 0: the integer is too large");
    j = reading_begin(&r, "-9223372036854775809");
    assert_false(json_i64(j, &n));
    j = reading_begin(&r, "[18446744073709551615,-0,-9223372036854775808]");
    assert_true(json_array_begin(j) && json_item(j) && json_u64(j, &u) && u == UINT64_MAX);
    assert_true(json_item(j) && json_u64(j, &u) && u == 0);
    assert_true(json_item(j) && json_i64(j, &n) && n == INT64_MIN);
    assert_true(!json_item(j) && json_end(j));
}

static void strings_are_returned_in_place(void **state) {
    (void)state;
    static const char text[] = "{\"key\":\"value\",\"k\\u0065y\":\"\\ud83d\\ude00\\u0000\\/\"}";
    struct reading r;
    struct json *j = reading_begin(&r, text);
    uint64_t count = mem_count();
    struct json_text key, value;
    assert_true(json_object_begin(j) && json_key(j, &key) && json_string(j, &value));
    assert_ptr_equal(key.data, text + 2);
    assert_true(json_text_is(key, "key") && json_text_is(value, "value") && !json_text_is(key, "ke"));
    assert_int_equal(mem_count(), count);
    assert_true(json_key(j, &key) && json_string(j, &value));
    assert_true(json_text_is(key, "key"));
    assert_int_equal(value.size, 6);
    assert_memory_equal(value.data, "\xf0\x9f\x98\x80\0/", 6);
    assert_true(!json_key(j, &key) && json_end(j));
    arena_free(&r.arena);
}

static void depth_is_bounded(void **state) {
    (void)state;
    for (size_t depth = 63; depth <= 65; depth++)
        for (int object = 0; object < 2; object++) {
            struct buf b = {0};
            for (size_t i = 0; i < depth; i++)
                buf_put(&b, object ? "{\"\":" : "[", object ? 4 : 1);
            buf_put(&b, "0", 1);
            for (size_t i = 0; i < depth; i++)
                buf_put(&b, object ? "}" : "]", 1);
            struct reading r;
            struct json *j = reading_begin(&r, b.data);
            assert_int_equal(json_skip(j) && json_end(j), depth <= 64);
            if (depth > 64) assert_non_null(strstr(r.err.message, "nested deeper than 64"));
            buf_free(&b);
        }
}

static double read_double(const char *text) {
    struct reading r;
    struct json *j = reading_begin(&r, text);
    double x = NAN;
    if (!json_double(j, &x) || !json_end(j)) fail_msg("\"%s\": %s", text, r.err.message);
    return x;
}

static void numbers_are_rounded_right(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0},
        {"9007199254740993", 9007199254740992.0},
        {"9007199254740992.999999999999999999999999999999999999999999999999999999", 9007199254740992.0},
        {"9007199254740993.000000000000000000000000000000000000000000000000000001", 9007199254740994.0},
        {"1e23", 1e23},
        {"8.5e22", 8.5e22},
        {"4.35", 4.35},
        {"0.000001", 1e-6},
        {"123456789e-22", 123456789e-22},
        {"2.2250738585072011e-308", 2.2250738585072011e-308},
        {"2.4703282292062328e-324", 4.9406564584124654e-324},
        {"2.4703282292062327e-324", 0},
        {"1e-400", 0},
        {"1e-99999999999999999999", 0},
        {"0e99999999999999999999", 0},
        {"1.7976931348623158e308", 1.7976931348623157e308},
        {"0.00000000000000000000000000000000000000000000000000000000000001e60", 0.01},
        {"10000000000000000000000000000000000000000000000000000000000000e-60", 10},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (read_double(cases[i].text) != cases[i].value) fail_msg("%s", cases[i].text);
    assert_true(signbit(read_double("-0")) && signbit(read_double("-0.0e5")));
    for (uint64_t i = 0; i < 200000; i++) {
        uint32_t r[4];
        char text[64];
        rng_philox(11, 0, i, r);
        uint64_t bits = (uint64_t)r[0] << 32 | r[1];
        double x;
        memcpy(&x, &bits, sizeof x);
        if (i % 2) x = (double)(r[0] % 2000000) / 1000.0 - 1000; // everyday ones
        if (!isfinite(x)) continue;
        snprintf(text, sizeof text, "%.*g", (int)(r[2] % 21 + 1), x);
        x = strtod(text, NULL);
        if (isfinite(x) && read_double(text) != x) fail_msg("the number %s", text);
    }
}

static void locale_does_not_matter(void **state) {
    (void)state;
    const char *set = NULL;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "ru_RU.UTF-8"};
    for (size_t i = 0; i < COUNT(names) && !set; i++)
        set = setlocale(LC_NUMERIC, names[i]);
    if (!set) {
        print_message("no locale with a decimal comma is installed: skipped\n");
        skip();
    }
    double x = read_double("2.2250738585072011e-308");
    setlocale(LC_NUMERIC, "C");
    assert_true(x == 2.2250738585072011e-308);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_texts_agree),
        cmocka_unit_test(every_truncation_and_byte_change_agrees),
        cmocka_unit_test(every_failing_allocation_is_reported),
        cmocka_unit_test(errors_name_the_byte_and_what_was_expected),
        cmocka_unit_test(wrong_kinds_are_named),
        cmocka_unit_test(strings_are_returned_in_place),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(numbers_are_rounded_right),
        cmocka_unit_test(locale_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
