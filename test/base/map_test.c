// Reading files: mapped and read alike, what is no regular file refused without waiting, pages given back.
#include "base/base.h"
#include "base/check.h"
#include "base/folder.h"

#include <sys/stat.h>
#include <unistd.h>

#define SIZE ((size_t)300000 + 17)

static unsigned char byte_at(size_t i) {
    return (unsigned char)(i * 2654435761u >> 13);
}

static void fill_file(const struct folder *f, const char *name, size_t n) {
    unsigned char *data = malloc(n + 1);
    assert_non_null(data);
    for (size_t i = 0; i < n; i++)
        data[i] = byte_at(i);
    folder_put(f, name, data, n);
    free(data);
}

static void files_are_mapped_or_read(void **state) {
    (void)state;
    struct folder f;
    char path[FOLDER_PATH];
    folder_make(&f);
    static const size_t sizes[] = {0, 1, 4096, SIZE};
    int64_t live = mem_live();
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (int read = 0; read < 2; read++) {
            fill_file(&f, "data", sizes[s]);
            struct file_map map;
            sabok_error e;
            assert_int_equal(map_open(&map, folder_join(&f, "data", path), read, &e), SABOK_OK);
            assert_int_equal(map.size, sizes[s]);
            assert_non_null(map.data);
            assert_int_equal(map.mapped, !read && sizes[s] > 0);
            for (size_t i = 0; i < map.size; i++)
                if (map.data[i] != byte_at(i)) fail_msg("size %zu, read %d: byte %zu", sizes[s], read, i);
            map_close(&map);
            assert_null(map.data);
        }
    assert_int_equal(mem_live(), live);
    folder_remove(&f);
}

static void dropped_pages_do_not_take_their_neighbours(void **state) {
    (void)state;
    struct folder f;
    char path[FOLDER_PATH];
    folder_make(&f);
    fill_file(&f, "data", SIZE);
    static const size_t ranges[][2] = {
        {0, SIZE}, {5000, 90001}, {4096, 8192}, {1, 4097}, {7, 7}, {9, 3}, {SIZE - 5000, SIZE + 99999}};
    for (size_t r = 0; r < COUNT(ranges); r++)
        for (int read = 0; read < 2; read++) {
            struct file_map map;
            assert_int_equal(map_open(&map, folder_join(&f, "data", path), read, NULL), SABOK_OK);
            size_t begin = ranges[r][0], end = ranges[r][1];
            map_drop(&map, begin, end);
            for (size_t i = 0; i < map.size; i++) {
                bool dropped = read && i >= begin && i < end;
                if (!dropped && map.data[i] != byte_at(i))
                    fail_msg("drop %zu..%zu, read %d: byte %zu is lost", begin, end, read, i);
            }
            map_close(&map);
        }
    folder_remove(&f);
}

static void only_regular_files_are_opened(void **state) {
    (void)state;
    struct folder f;
    char path[FOLDER_PATH], expected[FOLDER_PATH + 128];
    folder_make(&f);
    assert_int_equal(mkfifo(folder_join(&f, "pipe", path), 0600), 0);
    static const struct {
        const char *name, *text; // a name with a slash is a path of its own
        sabok_status code;
    } cases[] = {
        {"pipe", "is a pipe, expected a regular file", SABOK_EIO},
        {".", "is a folder, expected a regular file", SABOK_EIO},
        {"/dev/zero", "is a device, expected a regular file", SABOK_EIO},
        {"missing", "cannot open: No such file or directory", SABOK_ENOTFOUND},
        {"missing/too", "cannot open: No such file or directory", SABOK_ENOTFOUND},
    };
    alarm(20); // an open that waits for the pipe's writer would never end
    for (size_t i = 0; i < COUNT(cases); i++) {
        folder_join(&f, cases[i].name, path);
        if (cases[i].name[0] == '/') snprintf(path, sizeof path, "%s", cases[i].name);
        snprintf(expected, sizeof expected, "%s: %s", path, cases[i].text);
        struct file_map map;
        sabok_error e;
        assert_int_equal(map_open(&map, path, false, &e), cases[i].code);
        assert_string_equal(e.message, expected);
        assert_int_equal(map.size, 0);
        char *text = NULL;
        size_t size;
        assert_int_equal(file_read(path, 1000, &text, &size, &e), cases[i].code);
        assert_string_equal(e.message, expected);
        assert_null(text);
    }
    alarm(0);
    assert_true(file_exists(f.path) && !file_exists(folder_join(&f, "missing", path)));
    // A link to nowhere is not taken for a file that may be left out.
    assert_int_equal(symlink("missing", folder_join(&f, "link", path)), 0);
    assert_true(file_exists(path));
    folder_remove(&f);
}

static void small_files_are_read_whole(void **state) {
    (void)state;
    struct folder f;
    char path[FOLDER_PATH], *text = NULL;
    size_t size;
    sabok_error e;
    folder_make(&f);
    folder_put(&f, "a", "hello\0you", 9);
    folder_join(&f, "a", path);
    assert_int_equal(file_read(path, 9, &text, &size, &e), SABOK_OK);
    assert_int_equal(size, 9);
    assert_memory_equal(text, "hello\0you", 10);
    mem_free(text);
    text = NULL;
    assert_int_equal(file_read(path, 8, &text, &size, &e), SABOK_EFORMAT);
    assert_non_null(strstr(e.message, "9 bytes, expected at most 8"));
    int64_t live = mem_live();
    mem_fail_at(1, true);
    assert_int_equal(file_read(path, 9, &text, &size, &e), SABOK_ENOMEM);
    struct file_map map;
    assert_int_equal(map_open(&map, path, true, &e), SABOK_ENOMEM);
    mem_fail_at(0, false);
    assert_null(text);
    assert_int_equal(mem_live(), live);
    folder_remove(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_mapped_or_read),
        cmocka_unit_test(dropped_pages_do_not_take_their_neighbours),
        cmocka_unit_test(only_regular_files_are_opened),
        cmocka_unit_test(small_files_are_read_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
