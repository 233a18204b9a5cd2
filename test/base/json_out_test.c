// The JSON writer: spelling, separators, escapes, and failures.
#include "base/base.h"
#include "base/check.h"

static void write_all(struct json_out *o) {
    json_out_begin(o, '{');
    json_out_key(o, "text");
    json_out_string(o, "a\"b\\c\n\x01\xc3\xa9", 9);
    json_out_key(o, "ids");
    json_out_begin(o, '[');
    json_out_u64(o, 0);
    json_out_u64(o, 101);
    json_out_u64(o, UINT64_MAX);
    json_out_end(o, ']');
    json_out_key(o, "empty");
    json_out_begin(o, '{');
    json_out_end(o, '}');
    json_out_key(o, "rows");
    json_out_begin(o, '[');
    json_out_begin(o, '[');
    json_out_float(o, 0.1f);
    json_out_double(o, 0.1f);
    json_out_end(o, ']');
    json_out_bool(o, true);
    json_out_bool(o, false);
    json_out_raw(o, "null", 4);
    json_out_end(o, ']');
    json_out_end(o, '}');
}

static const char compact[] =
    "{\"text\":\"a\\\"b\\\\c\\n\\u0001\xc3\xa9\",\"ids\":[0,101,18446744073709551615],"
    "\"empty\":{},\"rows\":[[0.1,0.10000000149011612],true,false,null]}";
static const char spaced[] =
    "{\"text\": \"a\\\"b\\\\c\\n\\u0001\xc3\xa9\", \"ids\": [0, 101, 18446744073709551615], "
    "\"empty\": {}, \"rows\": [[0.1, 0.10000000149011612], true, false, null]}";

static void texts_are_spelled_as_python_spells_them(void **state) {
    (void)state;
    for (int s = 0; s < 2; s++) {
        const char *expected = s ? spaced : compact;
        struct json_out o = {.spaced = s};
        write_all(&o);
        assert_false(o.failed);
        assert_int_equal(o.size, strlen(expected));
        assert_memory_equal(o.data, expected, o.size);
        json_out_raw(&o, "\n", 1); // JSON lines: the next value stands for itself
        write_all(&o);
        assert_int_equal(o.size, 2 * strlen(expected) + 1);
        assert_memory_equal(o.data + strlen(expected) + 1, expected, strlen(expected));
        json_out_free(&o);
        assert_null(o.data);
    }
}

static void running_out_of_memory_sticks(void **state) {
    (void)state;
    int64_t live = mem_live();
    for (uint64_t k = 1;; k++) {
        struct json_out o = {0};
        mem_fail_at(k, false);
        write_all(&o);
        mem_fail_at(0, false);
        bool failed = o.failed;
        json_out_free(&o);
        assert_int_equal(mem_live(), live);
        if (!failed) {
            assert_true(k > 3);
            break;
        }
    }
}

static void every_byte_is_escaped_right(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *out;
    } cases[] = {
        {"", 0, "\"\""},
        {"\b\f\n\r\t\"\\/", 8, "\"\\b\\f\\n\\r\\t\\\"\\\\/\""},
        {"\0\x1f\x7f", 3, "\"\\u0000\\u001f\x7f\""},
        {"\xf0\x9f\x98\x80", 4, "\"\xf0\x9f\x98\x80\""},
        // Invalid UTF-8: one U+FFFD for each maximal subpart.
        {"\xff", 1, "\"\xef\xbf\xbd\""},
        {"a\xe2\x82", 3, "\"a\xef\xbf\xbd\""},
        {"\xf0\x9f\x98z", 4, "\"\xef\xbf\xbdz\""},
        {"\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xc0\xaf", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xf4\x90\x80\x80", 4, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xc3\xa9\xc3", 3, "\"\xc3\xa9\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t n = strlen(cases[i].out);
        struct json_out o = {0};
        json_out_string(&o, cases[i].text, cases[i].size);
        assert_int_equal(o.size, n);
        assert_memory_equal(o.data, cases[i].out, n);
        json_out_free(&o);
        for (size_t room = 0; room <= n + 2; room++) { // the buffer's end is never passed
            char out[64];
            memset(out, 0x55, sizeof out);
            assert_int_equal(sabok_format_json_string(cases[i].text, cases[i].size, out, room), n);
            assert_memory_equal(out, cases[i].out, size_min(room, n));
            if (room > n) assert_int_equal(out[n], 0);
            for (size_t b = room; b < sizeof out; b++)
                assert_int_equal(out[b], 0x55);
        }
    }
    assert_int_equal(sabok_format_json_string("abc", 3, NULL, 0), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_spelled_as_python_spells_them),
        cmocka_unit_test(running_out_of_memory_sticks),
        cmocka_unit_test(every_byte_is_escaped_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
