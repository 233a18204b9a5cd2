// Errors: one complete line whatever the parts hold; and the log.
#include "base/base.h"
#include "base/check.h"

#include <errno.h>

static void messages_are_complete(void **state) {
    (void)state;
    sabok_error e;
    assert_int_equal(error_set(&e, SABOK_ESHAPE, "layer.0", "found %d, expected %d", 3, 4), SABOK_ESHAPE);
    assert_int_equal(e.code, SABOK_ESHAPE);
    assert_string_equal(e.where, "layer.0");
    assert_string_equal(e.message, "layer.0: found 3, expected 4");
    assert_true(e.offset == SABOK_NO_OFFSET);
    error_at(&e, SABOK_EFORMAT, "a.json", 17, "found %s", "x");
    assert_string_equal(e.message, "a.json: byte 17: found x");
    assert_int_equal(e.offset, 17);
    error_set(&e, SABOK_EINVAL, NULL, "no place");
    assert_string_equal(e.message, "no place");
    assert_string_equal(e.where, "");
    assert_int_equal(error_memory(&e, "w"), SABOK_ENOMEM);
    assert_string_equal(e.message, "w: out of memory");
    assert_int_equal(error_set(NULL, SABOK_EIO, "w", "nowhere to go"), SABOK_EIO);
    // The text of the old error may be part of the new one.
    error_set(&e, SABOK_EIO, e.where, "outer: %s", e.message);
    assert_string_equal(e.message, "w: outer: w: out of memory");
}

static void errno_has_its_code_and_text(void **state) {
    (void)state;
    static const struct {
        int number;
        sabok_status code;
        const char *text;
    } cases[] = {
        {ENOENT, SABOK_ENOTFOUND, "f: cannot open: No such file or directory"},
        {ENOTDIR, SABOK_ENOTFOUND, "f: cannot open: Not a directory"},
        {ENOSPC, SABOK_EIO, "f: cannot open: No space left on device"},
        {EACCES, SABOK_EIO, "f: cannot open: Permission denied"},
        {ENOMEM, SABOK_ENOMEM, "f: cannot open: Cannot allocate memory"},
        {99999, SABOK_EIO, "f: cannot open: error 99999"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        sabok_error e;
        errno = cases[i].number;
        assert_int_equal(error_errno(&e, "f", "cannot open"), cases[i].code);
        assert_string_equal(e.message, cases[i].text);
    }
}

// A cut must not fall inside a character, and no byte may break the line.
static void long_and_dirty_text_stays_one_line(void **state) {
    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        char text[4000] = "....";
        static const char *const chars[] = {"\xd0\xb0", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
        for (size_t c = 0; c < COUNT(chars); c++) {
            size_t n = shift, width = strlen(chars[c]);
            for (; n + width < sizeof text; n += width)
                memcpy(text + n, chars[c], width);
            text[n] = '\0';
            sabok_error e;
            error_set(&e, SABOK_EFORMAT, text, "%s", text);
            size_t where = strlen(e.where), message = strlen(e.message);
            assert_true(where < sizeof e.where && message < sizeof e.message);
            assert_int_equal((where - shift) % width, 0);
            assert_int_equal((message - where - 2 - shift) % width, 0);
            assert_true(where >= sizeof e.where - 4 && message >= sizeof e.message - 4);
        }
    }
    sabok_error e;
    error_set(&e, SABOK_EFORMAT, "a\nb", "c\x1b[31m\td\x7f");
    assert_string_equal(e.message, "a?b: c?[31m?d?");
}

static char logged[128];
static int logged_count;
static void keep_log(void *ctx, sabok_log_level level, const char *message) {
    assert_ptr_equal(ctx, logged);
    snprintf(logged, sizeof logged, "%d %s", (int)level, message);
    logged_count++;
}

static void log_goes_to_the_callback(void **state) {
    (void)state;
    log_message(SABOK_LOG_ERROR, "nobody listens");
    sabok_log_set(keep_log, logged, SABOK_LOG_INFO);
    log_message(SABOK_LOG_INFO, "x = %d", 5);
    assert_string_equal(logged, "2 x = 5");
    log_message(SABOK_LOG_DEBUG, "too detailed");
    assert_int_equal(logged_count, 1);
    sabok_log_set(NULL, NULL, SABOK_LOG_DEBUG);
    log_message(SABOK_LOG_ERROR, "nobody listens");
    assert_int_equal(logged_count, 1);
}

static void names_are_there(void **state) {
    (void)state;
    assert_string_equal(sabok_version(), "0.1.0");
    assert_string_equal(sabok_status_name(SABOK_OK), "SABOK_OK");
    assert_string_equal(sabok_status_name(SABOK_ECANCELED), "SABOK_ECANCELED");
    for (int code = SABOK_ECANCELED; code < 0; code++)
        assert_memory_equal(sabok_status_name((sabok_status)code), "SABOK_E", 7);
    assert_string_equal(sabok_status_name((sabok_status)77), "unknown status");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_complete),
        cmocka_unit_test(errno_has_its_code_and_text),
        cmocka_unit_test(long_and_dirty_text_stays_one_line),
        cmocka_unit_test(log_goes_to_the_callback),
        cmocka_unit_test(names_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
