// Writing files: whole or not at all, whatever fails, and nothing left beside them.
#include "base/base.h"
#include "base/check.h"
#include "base/folder.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NEW_SIZE ((size_t)700001)

static unsigned char new_byte(size_t i) {
    return (unsigned char)(i * 2654435761u >> 11);
}

// Writes the new contents in uneven pieces, some larger than any buffer, and patches the first bytes last.
static sabok_status write_new(const char *path, sabok_error *err) {
    static unsigned char data[NEW_SIZE];
    for (size_t i = 0; i < NEW_SIZE; i++)
        data[i] = new_byte(i);
    struct out_file *f = out_open(path, err);
    if (!f) return err->code;
    sabok_status status = SABOK_OK;
    for (size_t at = 0, piece = 1; at < NEW_SIZE && status == SABOK_OK; piece = piece * 7 + 1) {
        size_t n = size_min(piece, NEW_SIZE - at);
        if (at == 0) { // patched below
            static const unsigned char wrong[1] = {0};
            status = out_write(f, wrong, 1, err);
        } else {
            status = out_write(f, data + at, n, err);
        }
        at += n;
    }
    if (status == SABOK_OK) status = out_patch(f, 0, data, 3, err);
    if (status == SABOK_OK) return out_close(f, true, err);
    // Committing after a failure must fail with the same error.
    sabok_error again;
    assert_int_equal(out_close(f, true, &again), status);
    assert_string_equal(again.message, err->message);
    return status;
}

enum contents { CONTENTS_OLD, CONTENTS_NEW, CONTENTS_OTHER };

static enum contents contents_of(const char *path) {
    struct file_map map;
    if (map_open(&map, path, false, NULL) != SABOK_OK) return CONTENTS_OTHER;
    enum contents c = CONTENTS_OTHER;
    if (map.size == 3 && memcmp(map.data, "old", 3) == 0) c = CONTENTS_OLD;
    if (map.size == NEW_SIZE) {
        c = CONTENTS_NEW;
        for (size_t i = 0; i < NEW_SIZE; i++)
            if (map.data[i] != new_byte(i)) c = CONTENTS_OTHER;
    }
    map_close(&map);
    return c;
}

static void every_failing_call_leaves_the_old_file(void **state) {
    (void)state;
    struct folder f;
    char path[FOLDER_PATH];
    folder_make(&f);
    folder_join(&f, "out.bin", path);
    int64_t live = mem_live();
    static const int numbers[] = {ENOSPC, EIO, EDQUOT};
    for (size_t n = 0; n < COUNT(numbers); n++)
        for (uint64_t k = 1;; k++) {
            folder_put(&f, "out.bin", "old", 3);
            sabok_error e = {0};
            out_fail_at(k, numbers[n]);
            sabok_status status = write_new(path, &e);
            out_fail_at(0, 0);
            assert_int_equal(folder_count(&f), 1);
            assert_int_equal(mem_live(), live);
            enum contents c = contents_of(path);
            if (status == SABOK_OK) {
                assert_int_equal(c, CONTENTS_NEW);
                assert_true(k > 6); // writes, a patch, two syncs and the rename have all failed once
                break;
            }
            assert_int_equal(status, SABOK_EIO);
            assert_non_null(strstr(e.message, strerror(numbers[n])));
            assert_int_equal(strncmp(e.message, path, strlen(path)), 0);
            // Only when the folder cannot be synced is the new file there already, and whole.
            bool folder = strstr(e.message, "sync the folder") != NULL;
            if (c != (folder ? CONTENTS_NEW : CONTENTS_OLD))
                fail_msg("call %llu failing with errno %d", (unsigned long long)k, numbers[n]);
        }
    folder_remove(&f);
}

static void interrupted_and_short_calls_are_repeated(void **state) {
    (void)state;
    struct folder f;
    char path[FOLDER_PATH];
    folder_make(&f);
    folder_join(&f, "out.bin", path);
    static const int numbers[] = {EINTR, 0};
    for (size_t n = 0; n < COUNT(numbers); n++)
        for (uint64_t k = 1; k < 16; k++) {
            folder_put(&f, "out.bin", "old", 3);
            sabok_error e = {0};
            out_fail_at(k, numbers[n]);
            sabok_status status = write_new(path, &e);
            out_fail_at(0, 0);
            if (status != SABOK_OK || contents_of(path) != CONTENTS_NEW)
                fail_msg("call %llu with errno %d: %s", (unsigned long long)k, numbers[n], e.message);
            assert_int_equal(folder_count(&f), 1);
        }
    folder_remove(&f);
}

static void a_full_disk_is_reported(void **state) {
    (void)state;
    struct folder f;
    char path[FOLDER_PATH];
    folder_make(&f);
    folder_put(&f, "out.bin", "old", 3);
    folder_join(&f, "out.bin", path);
    // A limit on the size of files makes the kernel itself refuse a write in the middle.
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 300000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    sabok_error e;
    sabok_status status = write_new(path, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, SABOK_EIO);
    assert_non_null(strstr(e.message, "cannot write: File too large"));
    assert_int_equal(contents_of(path), CONTENTS_OLD);
    assert_int_equal(folder_count(&f), 1);
    folder_remove(&f);
}

static void nothing_appears_without_commit(void **state) {
    (void)state;
    struct folder f;
    char path[FOLDER_PATH];
    folder_make(&f);
    sabok_error e;
    struct out_file *o = out_open(folder_join(&f, "out.bin", path), &e);
    assert_non_null(o);
    assert_int_equal(out_write(o, "abc", 3, &e), SABOK_OK);
    assert_false(file_exists(path));
    assert_int_equal(out_close(o, false, &e), SABOK_OK);
    assert_int_equal(folder_count(&f), 0);
    o = out_open(path, &e); // and an empty file is a file
    assert_int_equal(out_close(o, true, &e), SABOK_OK);
    char *text;
    size_t size;
    assert_int_equal(file_read(path, 10, &text, &size, &e), SABOK_OK);
    assert_int_equal(size, 0);
    mem_free(text);
    mem_fail_at(1, false);
    assert_null(out_open(path, &e));
    assert_int_equal(e.code, SABOK_ENOMEM);
    mem_fail_at(2, false);
    assert_null(out_open(path, &e));
    assert_int_equal(e.code, SABOK_ENOMEM);
    folder_remove(&f);
}

static void links_and_rights_are_kept(void **state) {
    (void)state;
    struct folder f;
    char path[FOLDER_PATH], link[FOLDER_PATH];
    folder_make(&f);
    folder_put(&f, "out.bin", "old", 3);
    folder_join(&f, "out.bin", path);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("out.bin", folder_join(&f, "link", link)), 0);
    sabok_error e;
    assert_int_equal(write_new(link, &e), SABOK_OK);
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(contents_of(path), CONTENTS_NEW);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(folder_count(&f), 2);
    folder_remove(&f);
}

static void impossible_names_are_refused(void **state) {
    (void)state;
    struct folder f;
    char path[FOLDER_PATH], expected[FOLDER_PATH + 100], longest[300];
    folder_make(&f);
    memset(longest, 'n', sizeof longest);
    longest[255] = '\0';
    sabok_error e;
    assert_int_equal(write_new(folder_join(&f, longest, path), &e),
                     SABOK_OK); // the temporary name is shorter
    assert_int_equal(unlink(path), 0);
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"missing/out.bin", "cannot create: No such file or directory"},
        {"", "is there and is no regular file: not replaced"},
        {"missing/", "expected the name of a file to write"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        folder_join(&f, cases[i].name, path);
        assert_null(out_open(path, &e));
        snprintf(expected, sizeof expected, "%s: %s", path, cases[i].text);
        assert_string_equal(e.message, expected);
        assert_true(e.code < 0);
    }
    assert_null(out_open("/dev/null", &e));
    assert_non_null(strstr(e.message, "not replaced"));
    assert_null(out_open("", &e));
    assert_int_equal(folder_count(&f), 0);
    folder_remove(&f);
}

#define WRITER_SIZE 300000
static void writer_main(const char *path, char letter) {
    static char data[WRITER_SIZE];
    memset(data, letter, sizeof data);
    for (int i = 0; i < 40; i++) {
        struct out_file *f = out_open(path, NULL);
        if (!f || out_write(f, data, sizeof data, NULL) != SABOK_OK || out_close(f, true, NULL) != SABOK_OK)
            _exit(1);
    }
    _exit(0);
}

static void two_writers_of_one_name_do_not_mix(void **state) {
    (void)state;
    struct folder f;
    char path[FOLDER_PATH];
    folder_make(&f);
    folder_join(&f, "out.bin", path);
    pid_t writers[2];
    for (int i = 0; i < 2; i++) {
        writers[i] = fork();
        assert_true(writers[i] >= 0);
        if (writers[i] == 0) writer_main(path, (char)('a' + i));
    }
    int running = 2;
    unsigned looks = 0;
    while (running > 0) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid > 0) {
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            running--;
        }
        char *text;
        size_t size;
        if (file_read(path, WRITER_SIZE, &text, &size, NULL) != SABOK_OK) continue;
        assert_int_equal(size, WRITER_SIZE);
        for (size_t i = 0; i < size; i++)
            if (text[i] != text[0]) fail_msg("byte %zu is of another writer", i);
        mem_free(text);
        looks++;
    }
    assert_true(looks > 0);
    assert_int_equal(folder_count(&f), 1);
    folder_remove(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_call_leaves_the_old_file),
        cmocka_unit_test(interrupted_and_short_calls_are_repeated),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(nothing_appears_without_commit),
        cmocka_unit_test(links_and_rights_are_kept),
        cmocka_unit_test(impossible_names_are_refused),
        cmocka_unit_test(two_writers_of_one_name_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
