// The safetensors writer: its bytes, saving over a mapped file, and every failure of a save.
#include "file/crafted.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

static const float floats[6] = {1, 2, 3, 4, 5, 6};
static const uint16_t halves[2] = {0x3C00, 0x4000};
static const uint8_t bytes[3] = {7, 8, 9};
static const int64_t longs[1] = {-1};
static const uint64_t dims_23[2] = {2, 3}, dims_2[1] = {2}, dims_3[1] = {3};

static const struct tensor_out some[] = {
    {.name = "bytes", .dtype = DT_U8, .dims = dims_3, .rank = 1, .data = bytes},
    {.name = "z", .dtype = DT_F32, .dims = dims_23, .rank = 2, .data = floats},
    {.name = "long", .dtype = DT_I64, .dims = NULL, .rank = 0, .data = longs},
    {.name = "a", .dtype = DT_F32, .dims = dims_2, .rank = 1, .data = floats + 4},
    {.name = "h", .dtype = DT_BF16, .dims = dims_2, .rank = 1, .data = halves},
};

static void expect_some(const char *path) {
    sabok_error err = {0};
    struct safetensors *s = safetensors_open(path, false, &err);
    if (!s) fail_msg("%s", err.message);
    assert_int_equal(safetensors_count(s), COUNT(some));
    static const char *const order[] = {"long", "a", "z", "h", "bytes"};
    for (size_t i = 0; i < COUNT(order); i++)
        assert_string_equal(safetensors_get(s, i)->name, order[i]);
    for (size_t i = 0; i < COUNT(some); i++) {
        const struct tensor_entry *e = safetensors_find(s, some[i].name);
        assert_int_equal(e->dtype, some[i].dtype);
        assert_int_equal(e->rank, some[i].rank);
        for (size_t d = 0; d < e->rank; d++)
            assert_int_equal(e->dims[d], some[i].dims[d]);
        assert_memory_equal(e->data, some[i].data, e->bytes);
    }
    safetensors_close(s);
}

static void test_round_trip_bugs72(void **state) {
    (void)state;
    const char *folder = crafted_folder(), *path = crafted_path(folder, "m.safetensors");
    const char *metadata[][2] = {{"format", "pt"}, {"quote\"", "line\n"}};
    sabok_error err = {0};
    assert_int_equal(safetensors_write(path, some, COUNT(some), metadata, 2, &err), SABOK_OK);
    expect_some(path);
    struct safetensors *s = safetensors_open(path, false, &err);
    assert_string_equal(safetensors_metadata(s, "quote\""), "line\n");
    safetensors_close(s);
    // Every length of name, so every remainder: the data begins on a multiple of 8, padded with blanks.
    char name[32] = "";
    for (size_t n = 0; n < 20; n++) {
        memset(name, 'n', n);
        struct tensor_out t = {.name = name, .dtype = DT_U8, .dims = dims_3, .rank = 1, .data = bytes};
        assert_int_equal(safetensors_write(path, &t, 1, NULL, 0, &err), SABOK_OK);
        struct crafted c = crafted_read(path);
        size_t header = c.data[0];
        assert_int_equal((8 + header) % 8, 0);
        assert_int_equal(c.data[8], '{');
        assert_true(c.data[7 + header] == '}' || c.data[7 + header] == ' ');
        assert_int_equal(c.size, 8 + header + 3);
        crafted_free(&c);
    }
    crafted_remove(folder);
}

static void test_bytes(void **state) {
    (void)state;
    const char *folder = crafted_folder(), *path = crafted_path(folder, "m.safetensors");
    struct tensor_out t = {.name = "\xc3\xa9", .dtype = DT_U8, .dims = dims_3, .rank = 1, .data = bytes};
    assert_int_equal(safetensors_write(path, &t, 1, NULL, 0, NULL), SABOK_OK);
    struct crafted c = crafted_read(path);
    static const char header[] = "{\"\xc3\xa9\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}";
    size_t n = sizeof header - 1;
    assert_memory_equal(c.data + 8, header, n);
    for (size_t i = 8 + n; i < c.size - 3; i++)
        assert_int_equal(c.data[i], ' ');
    assert_memory_equal(c.data + c.size - 3, bytes, 3);
    crafted_free(&c);
    assert_int_equal(safetensors_write(path, NULL, 0, NULL, 0, NULL), SABOK_OK);
    c = crafted_read(path);
    assert_int_equal(c.size, 16);
    assert_memory_equal(c.data, "\x08\0\0\0\0\0\0\0{}      ", 16);
    crafted_free(&c);
    crafted_remove(folder);
}

// What the reader would refuse is not written, and the old file stays.
static void test_refusals(void **state) {
    (void)state;
    const char *folder = crafted_folder(), *path = crafted_path(folder, "m.safetensors");
    assert_int_equal(safetensors_write(path, some, COUNT(some), NULL, 0, NULL), SABOK_OK);
    sabok_error err = {0};
    struct tensor_out twice[2] = {some[0], some[0]};
    assert_int_equal(safetensors_write(path, twice, 2, NULL, 0, &err), SABOK_EFORMAT);
    assert_contains(err.message, "twice");
    struct tensor_out t = some[0];
    t.name = "__metadata__";
    assert_int_not_equal(safetensors_write(path, &t, 1, NULL, 0, &err), SABOK_OK);
    uint64_t huge[2] = {UINT64_MAX, 3};
    t = (struct tensor_out){.name = "a", .dtype = DT_U8, .dims = huge, .rank = 2, .data = bytes};
    assert_int_equal(safetensors_write(path, &t, 1, NULL, 0, &err), SABOK_EINVAL);
    assert_contains(err.message, "overflows");
    uint64_t many[65];
    for (size_t i = 0; i < 65; i++)
        many[i] = 1;
    t = (struct tensor_out){.name = "a", .dtype = DT_U8, .dims = many, .rank = 65, .data = bytes};
    assert_int_not_equal(safetensors_write(path, &t, 1, NULL, 0, &err), SABOK_OK);
    expect_some(path);
    assert_int_equal(crafted_count(folder), 1);
    assert_int_not_equal(safetensors_write(crafted_path(folder, "no/m.safetensors"), some, 1, NULL, 0, &err),
                         SABOK_OK);
    assert_contains(err.message, "no/m.safetensors");
    crafted_remove(folder);
}

// R12: the old file is mapped, and its own tensors are what is written.
static void test_save_over_mapped(void **state) {
    (void)state;
    const char *folder = crafted_folder(), *path = crafted_path(folder, "m.safetensors");
    assert_int_equal(safetensors_write(path, some, COUNT(some), NULL, 0, NULL), SABOK_OK);
    struct safetensors *s = safetensors_open(path, false, NULL);
    struct tensor_out again[COUNT(some)];
    for (size_t i = 0; i < COUNT(some); i++) {
        const struct tensor_entry *e = safetensors_get(s, i);
        again[i] = (struct tensor_out){
            .name = e->name, .dtype = e->dtype, .dims = e->dims, .rank = e->rank, .data = e->data};
    }
    assert_int_equal(safetensors_write(path, again, COUNT(some), NULL, 0, NULL), SABOK_OK);
    expect_some(path);
    assert_memory_equal(safetensors_find(s, "z")->data, floats, sizeof floats); // the old mapping is whole
    safetensors_close(s);
    crafted_remove(folder);
}

// R12: two processes save to one name; whoever reads it finds one of the two files, whole.
static void test_two_savers(void **state) {
    (void)state;
    const char *folder = crafted_folder(), *path = crafted_path(folder, "m.safetensors");
    static float block[2][20000];
    static const uint64_t dims[1] = {20000};
    pid_t children[2];
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < 20000; i++)
            block[c][i] = (float)(c + 1);
    struct tensor_out t = {.name = "t", .dtype = DT_F32, .dims = dims, .rank = 1, .data = block[0]};
    assert_int_equal(safetensors_write(path, &t, 1, NULL, 0, NULL), SABOK_OK);
    for (size_t c = 0; c < 2; c++) {
        children[c] = fork();
        assert_true(children[c] >= 0);
        if (children[c]) continue;
        t.data = block[c];
        int bad = 0;
        for (int i = 0; i < 20; i++)
            bad |= safetensors_write(path, &t, 1, NULL, 0, NULL) != SABOK_OK;
        _exit(bad);
    }
    for (int i = 0; i < 40; i++) {
        struct safetensors *s = safetensors_open(path, true, NULL);
        assert_non_null(s);
        const uint8_t *data = safetensors_get(s, 0)->data;
        assert_true(!memcmp(data, block[0], sizeof block[0]) || !memcmp(data, block[1], sizeof block[1]));
        safetensors_close(s);
    }
    for (size_t c = 0; c < 2; c++) {
        int status = 1;
        assert_int_equal(waitpid(children[c], &status, 0), children[c]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(crafted_count(folder), 1);
    crafted_remove(folder);
}

// R8: the k-th system call of a save fails; the old file stays whole, or the new one is there whole.
static void test_io_failures(void **state) {
    (void)state;
    static const int numbers[] = {EIO, ENOSPC, EINTR, 0};
    const char *folder = crafted_folder(), *path = crafted_path(folder, "m.safetensors");
    for (size_t e = 0; e < COUNT(numbers); e++) {
        bool failed = true;
        uint64_t k = 1;
        for (; failed && k < 100; k++) {
            assert_int_equal(safetensors_write(path, some, 1, NULL, 0, NULL), SABOK_OK);
            struct crafted old = crafted_read(path);
            int64_t live = mem_live();
            sabok_error err = {0};
            out_fail_at(k, numbers[e]);
            sabok_status status = safetensors_write(path, some, COUNT(some), NULL, 0, &err);
            out_fail_at(0, 0);
            assert_int_equal(mem_live(), live);
            assert_int_equal(crafted_count(folder), 1);
            struct crafted now = crafted_read(path);
            failed = status != SABOK_OK;
            bool same = now.size == old.size && memcmp(now.data, old.data, old.size) == 0;
            if (failed) assert_contains(err.message, "m.safetensors");
            if (!failed || !same) expect_some(path);
            crafted_free(&old);
            crafted_free(&now);
            // An interrupted or a short write is finished, not reported.
            if (numbers[e] == EINTR || numbers[e] == 0) {
                assert_int_equal(status, SABOK_OK);
                failed = k < 8;
            }
        }
        if (numbers[e] == EIO || numbers[e] == ENOSPC) assert_true(k > 4); // write, fsync, rename, fsync
    }
    crafted_remove(folder);
}

static void test_memory_failures(void **state) {
    (void)state;
    const char *folder = crafted_folder(), *path = crafted_path(folder, "m.safetensors");
    assert_int_equal(safetensors_write(path, some, 1, NULL, 0, NULL), SABOK_OK);
    struct crafted old = crafted_read(path);
    for (int sticky = 0; sticky < 2; sticky++) {
        uint64_t k = 1;
        for (;; k++) {
            int64_t live = mem_live();
            sabok_error err = {0};
            mem_fail_at(k, sticky);
            sabok_status status = safetensors_write(path, some, COUNT(some), NULL, 0, &err);
            mem_fail_at(0, false);
            assert_int_equal(mem_live(), live);
            assert_int_equal(crafted_count(folder), 1);
            if (status == SABOK_OK) break;
            assert_int_equal(status, SABOK_ENOMEM);
            assert_contains(err.message, "out of memory");
            struct crafted now = crafted_read(path);
            assert_int_equal(now.size, old.size);
            assert_memory_equal(now.data, old.data, old.size);
            crafted_free(&now);
        }
        assert_true(k > 5);
        expect_some(path);
        assert_int_equal(safetensors_write(path, some, 1, NULL, 0, NULL), SABOK_OK);
    }
    crafted_free(&old);
    crafted_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip_bugs72), cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_refusals),          cmocka_unit_test(test_save_over_mapped),
        cmocka_unit_test(test_two_savers),        cmocka_unit_test(test_io_failures),
        cmocka_unit_test(test_memory_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
