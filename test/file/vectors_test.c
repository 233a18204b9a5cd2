// Vectors out: the bytes of each format, and that nothing partial is ever left under the final name.
#include "file/crafted.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>

static const float rows[6] = {1, -0.5f, 3e-30f, 0.1f, 16777216, -0.0f};

static void write_rows(const char *path, sabok_format format, size_t width, size_t n) {
    sabok_error err = {0};
    sabok_vectors *v = sabok_vectors_open(path, format, width, &err);
    if (!v) fail_msg("%s", err.message);
    for (size_t i = 0; i < n; i++)
        if (sabok_vectors_write(v, rows + i * width, 1, &err) != SABOK_OK) fail_msg("%s", err.message);
    assert_int_not_equal(access(path, F_OK), 0); // not before it is closed
    if (sabok_vectors_close(v, true, &err) != SABOK_OK) fail_msg("%s", err.message);
}

static void test_text(void **state) {
    (void)state;
    const char *folder = crafted_folder(), *path = crafted_path(folder, "v.jsonl");
    write_rows(path, SABOK_FORMAT_AUTO, 3, 2);
    struct crafted c = crafted_read(path);
    assert_string_equal((char *)c.data, "[1.0,-0.5,3e-30]\n[0.1,16777216.0,-0.0]\n");
    crafted_free(&c);
    path = crafted_path(folder, "v.csv");
    write_rows(path, SABOK_FORMAT_AUTO, 2, 3);
    c = crafted_read(path);
    assert_string_equal((char *)c.data, "0,1\n1.0,-0.5\n3e-30,0.1\n16777216.0,-0.0\n");
    crafted_free(&c);
    path = crafted_path(folder, "w"); // no ending
    write_rows(path, SABOK_FORMAT_AUTO, 1, 1);
    c = crafted_read(path);
    assert_string_equal((char *)c.data, "[1.0]\n");
    crafted_free(&c);
    crafted_remove(folder);
}

static void test_npy(void **state) {
    (void)state;
    const char *folder = crafted_folder(), *path = crafted_path(folder, "v.npy");
    for (size_t n = 0; n <= 2; n++) {
        unlink(path);
        write_rows(path, SABOK_FORMAT_AUTO, 3, n);
        struct crafted c = crafted_read(path);
        assert_int_equal(c.size, 128 + n * 12);
        assert_memory_equal(c.data, "\x93NUMPY\x01\x00\x76\x00", 10);
        char expected[100];
        snprintf(expected, sizeof expected, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, 3), } ",
                 n);
        assert_memory_equal(c.data + 10, expected, strlen(expected));
        assert_int_equal(c.data[127], '\n');
        assert_memory_equal(c.data + 128, rows, n * 12);
        crafted_free(&c);
    }
    crafted_remove(folder);
}

static void test_safetensors(void **state) {
    (void)state;
    const char *folder = crafted_folder(), *path = crafted_path(folder, "v.safetensors");
    for (size_t n = 0; n <= 2; n++) {
        unlink(path);
        write_rows(path, SABOK_FORMAT_AUTO, 3, n);
        sabok_error err = {0};
        struct safetensors *s = safetensors_open(path, false, &err);
        if (!s) fail_msg("%s", err.message);
        const struct tensor_entry *e = safetensors_find(s, "embeddings");
        assert_int_equal(e->rank, 2);
        assert_int_equal(e->dims[0], n);
        assert_int_equal(e->dims[1], 3);
        assert_int_equal(e->dtype, DT_F32);
        assert_int_equal(e->begin % 8, 0);
        assert_memory_equal(e->data, rows, n * 12);
        safetensors_close(s);
    }
    crafted_remove(folder);
}

// JSON has no NaN; the other formats have.
static void test_not_finite(void **state) {
    (void)state;
    const char *folder = crafted_folder(), *path = crafted_path(folder, "v.jsonl");
    float bad[2] = {1, NAN};
    sabok_error err = {0};
    sabok_vectors *v = sabok_vectors_open(path, SABOK_FORMAT_AUTO, 2, &err);
    assert_int_equal(sabok_vectors_write(v, rows, 1, &err), SABOK_OK);
    assert_int_equal(sabok_vectors_write(v, bad, 1, &err), SABOK_ENUMERIC);
    assert_contains(err.message, "row 1, component 1: found nan");
    assert_int_equal(sabok_vectors_write(v, rows, 1, &err), SABOK_ENUMERIC); // it stays
    assert_int_equal(sabok_vectors_close(v, true, &err), SABOK_ENUMERIC);
    assert_int_equal(crafted_count(folder), 0);
    bad[0] = -INFINITY;
    path = crafted_path(folder, "v.csv");
    v = sabok_vectors_open(path, SABOK_FORMAT_AUTO, 2, &err);
    assert_int_equal(sabok_vectors_write(v, bad, 1, &err), SABOK_OK);
    assert_int_equal(sabok_vectors_close(v, true, &err), SABOK_OK);
    struct crafted c = crafted_read(path);
    assert_string_equal((char *)c.data, "0,1\n-inf,nan\n");
    crafted_free(&c);
    crafted_remove(folder);
}

static void test_refusals(void **state) {
    (void)state;
    const char *folder = crafted_folder();
    sabok_error err = {0};
    assert_null(sabok_vectors_open("-", SABOK_FORMAT_NPY, 2, &err));
    assert_contains(err.message, "standard output takes jsonl or csv");
    assert_null(sabok_vectors_open(crafted_path(folder, "v.tsv"), SABOK_FORMAT_AUTO, 2, &err));
    assert_contains(err.message, "vectors are written as jsonl, csv, npy or safetensors");
    assert_null(sabok_vectors_open(crafted_path(folder, "no/v.npy"), SABOK_FORMAT_AUTO, 2, &err));
    assert_contains(err.message, "no/v.npy");
    assert_null(sabok_vectors_open(folder, SABOK_FORMAT_NPY, 2, &err));
    assert_null(sabok_vectors_open(NULL, SABOK_FORMAT_NPY, 2, &err));
    assert_null(sabok_vectors_open(crafted_path(folder, "v.npy"), SABOK_FORMAT_AUTO, SIZE_MAX / 2, &err));
    assert_contains(err.message, "width overflows");
    assert_int_equal(sabok_vectors_close(NULL, true, &err), SABOK_OK);
    assert_int_equal(crafted_count(folder), 0);
    crafted_remove(folder);
}

// Thrown away: nothing is left, and what was there before stays.
static void test_abandoned(void **state) {
    (void)state;
    const char *folder = crafted_folder(), *path = crafted_path(folder, "v.npy");
    crafted_text(folder, "v.npy", "old");
    sabok_vectors *v = sabok_vectors_open(path, SABOK_FORMAT_AUTO, 3, NULL);
    assert_int_equal(sabok_vectors_write(v, rows, 2, NULL), SABOK_OK);
    assert_int_equal(sabok_vectors_close(v, false, NULL), SABOK_OK);
    struct crafted c = crafted_read(path);
    assert_string_equal((char *)c.data, "old");
    crafted_free(&c);
    assert_int_equal(crafted_count(folder), 1);
    crafted_remove(folder);
}

// A full disk, at every system call: one clean error, and nothing partial.
static void test_io_failures(void **state) {
    (void)state;
    static const char *const names[] = {"v.jsonl", "v.csv", "v.npy", "v.safetensors"};
    const char *folder = crafted_folder();
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *path = crafted_path(folder, names[i]);
        uint64_t k = 1;
        for (;; k++) {
            sabok_error err = {0};
            int64_t live = mem_live();
            sabok_vectors *v = sabok_vectors_open(path, SABOK_FORMAT_AUTO, 3, &err);
            assert_non_null(v);
            out_fail_at(k, ENOSPC);
            sabok_vectors_write(v, rows, 2, NULL);
            sabok_status status = sabok_vectors_close(v, true, &err);
            out_fail_at(0, 0);
            assert_int_equal(mem_live(), live);
            struct crafted c = {0};
            size_t left = crafted_count(folder);
            if (status == SABOK_OK) break;
            assert_int_equal(status, SABOK_EIO);
            assert_contains(err.message, names[i]);
            assert_contains(err.message, "No space left");
            // Only the sync of the folder comes after the rename: the file is then there, whole.
            assert_true(left == 0 || (left == 1 && strstr(err.message, "sync the folder")));
            if (left) {
                c = crafted_read(path);
                assert_true(c.size > 20);
                crafted_free(&c);
                unlink(path);
            }
        }
        assert_true(k > 4);
        unlink(path);
    }
    crafted_remove(folder);
}

static void test_memory_failures(void **state) {
    (void)state;
    static const char *const names[] = {"v.jsonl", "v.csv", "v.npy", "v.safetensors"};
    const char *folder = crafted_folder();
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *path = crafted_path(folder, names[i]);
        for (uint64_t k = 1;; k++) {
            sabok_error err = {0};
            int64_t live = mem_live();
            mem_fail_at(k, true);
            sabok_vectors *v = sabok_vectors_open(path, SABOK_FORMAT_AUTO, 3, &err);
            sabok_status status = err.code;
            if (v) {
                sabok_vectors_write(v, rows, 2, NULL);
                status = sabok_vectors_close(v, true, &err);
            }
            mem_fail_at(0, false);
            assert_int_equal(mem_live(), live);
            if (status == SABOK_OK) break;
            assert_int_equal(status, SABOK_ENOMEM);
            assert_int_equal(crafted_count(folder), 0);
        }
        unlink(path);
    }
    crafted_remove(folder);
}

static void test_standard_output(void **state) {
    (void)state;
    const char *folder = crafted_folder(), *path = crafted_path(folder, "out");
    fflush(stdout);
    int saved = dup(STDOUT_FILENO), fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(saved >= 0 && fd >= 0);
    assert_true(dup2(fd, STDOUT_FILENO) >= 0);
    sabok_vectors *v = sabok_vectors_open("-", SABOK_FORMAT_AUTO, 2, NULL);
    sabok_status status = sabok_vectors_write(v, rows, 3, NULL);
    sabok_status closed = sabok_vectors_close(v, true, NULL);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    close(saved);
    close(fd);
    assert_int_equal(status, SABOK_OK);
    assert_int_equal(closed, SABOK_OK);
    struct crafted c = crafted_read(path);
    assert_string_equal((char *)c.data, "[1.0,-0.5]\n[3e-30,0.1]\n[16777216.0,-0.0]\n");
    crafted_free(&c);
    crafted_remove(folder);
}

// /dev/full takes nothing, as a full disk behind a pipe does.
static void test_standard_output_full(void **state) {
    (void)state;
    int fd = open("/dev/full", O_WRONLY);
    if (fd < 0) {
        print_message("skipped: /dev/full is not here\n");
        skip();
    }
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    assert_true(dup2(fd, STDOUT_FILENO) >= 0);
    sabok_error err = {0};
    sabok_vectors *v = sabok_vectors_open("-", SABOK_FORMAT_CSV, 2, NULL);
    sabok_status status = sabok_vectors_write(v, rows, 3, &err);
    sabok_status closed = sabok_vectors_close(v, true, NULL);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    close(saved);
    close(fd);
    assert_int_equal(status, SABOK_EIO);
    assert_int_equal(closed, SABOK_EIO);
    assert_contains(err.message, "standard output: cannot write");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_npy),
        cmocka_unit_test(test_safetensors),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_abandoned),
        cmocka_unit_test(test_io_failures),
        cmocka_unit_test(test_memory_failures),
        cmocka_unit_test(test_standard_output),
        cmocka_unit_test(test_standard_output_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
