// Heap use, failures on demand, big blocks, growing arrays.
#include "base/base.h"
#include "base/check.h"

static void blocks_are_counted(void **state) {
    (void)state;
    int64_t live = mem_live();
    uint64_t count = mem_count();
    void *a = mem_alloc(0), *b = mem_zalloc(100), *c = mem_array(3, 7), *d = mem_map(1 << 20);
    char *s = mem_copy_string("sabok"), *t = mem_copy_bytes("ab\0c", 4);
    assert_non_null(a);
    assert_int_equal(mem_live() - live, 6);
    assert_int_equal(mem_count() - count, 6);
    assert_string_equal(s, "sabok");
    assert_memory_equal(t, "ab\0c", 5);
    for (int i = 0; i < 100; i++)
        assert_int_equal(((char *)b)[i], 0);
    a = mem_realloc(a, 50);
    assert_int_equal(mem_live() - live, 6);
    mem_free(a);
    mem_free(b);
    mem_free(c);
    mem_free(s);
    mem_free(t);
    mem_free(NULL);
    mem_unmap(d, 1 << 20);
    mem_unmap(NULL, 1 << 20);
    assert_int_equal(mem_live(), live);
}

static void kth_allocation_fails(void **state) {
    (void)state;
    for (uint64_t k = 1; k <= 4; k++)
        for (int sticky = 0; sticky < 2; sticky++) {
            mem_fail_at(k, sticky);
            void *p[4] = {mem_alloc(8), mem_zalloc(8), mem_map(8), mem_copy_string("x")};
            mem_fail_at(0, false);
            for (uint64_t i = 0; i < 4; i++)
                assert_int_equal(p[i] == NULL, sticky ? i + 1 >= k : i + 1 == k);
            mem_free(p[0]);
            mem_free(p[1]);
            mem_unmap(p[2], 8);
            mem_free(p[3]);
        }
    char *kept = mem_copy_string("kept");
    mem_fail_at(1, false);
    assert_null(mem_realloc(kept, 1000));
    assert_string_equal(kept, "kept");
    mem_free(kept);
}

static void overflowing_sizes_are_refused(void **state) {
    (void)state;
    int64_t live = mem_live();
    assert_null(mem_array(SIZE_MAX / 2, 3));
    assert_null(mem_map(SIZE_MAX));
    assert_null(mem_map(SIZE_MAX - 4096));
    assert_null(mem_copy_bytes("x", SIZE_MAX));
    void *items = NULL;
    size_t cap = 0;
    assert_false(mem_grow(&items, &cap, SIZE_MAX / 4, 8));
    assert_null(items);
    assert_int_equal(cap, 0);
    assert_int_equal(mem_live(), live);
    size_t r;
    assert_false(mul_ok(SIZE_MAX, 2, &r));
    assert_false(add_ok(SIZE_MAX, 1, &r));
    assert_true(mul_ok(SIZE_MAX / 2, 2, &r) && r == SIZE_MAX - 1);
    assert_true(add_ok(SIZE_MAX, 0, &r) && r == SIZE_MAX);
    assert_int_equal(round_up(0, 64), 0);
    assert_int_equal(round_up(65, 64), 128);
}

static void big_blocks_are_aligned_zero_and_whole(void **state) {
    (void)state;
    static const size_t sizes[] = {
        0, 1, 64, 65, 4095, 131071, 131072, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, (5 << 20) + 12345};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        unsigned char *p = mem_map(sizes[i]);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        for (size_t b = 0; b < sizes[i]; b++)
            if (p[b] != 0) fail_msg("mem_map(%zu): byte %zu is not zero", sizes[i], b);
        memset(p, 0xab, sizes[i]);
        mem_unmap(p, sizes[i]);
    }
}

static void arrays_grow(void **state) {
    (void)state;
    int *items = NULL;
    size_t cap = 0, grown = 0;
    for (size_t i = 0; i < 10000; i++) {
        size_t before = cap;
        assert_true(mem_grow((void **)&items, &cap, i + 1, sizeof *items));
        grown += cap != before;
        items[i] = (int)i;
    }
    for (size_t i = 0; i < 10000; i++)
        assert_int_equal(items[i], i);
    assert_true(grown < 20);
    mem_fail_at(1, false);
    assert_false(mem_grow((void **)&items, &cap, cap + 1, sizeof *items));
    assert_int_equal(items[9999], 9999);
    mem_free(items);
}

static void buffers_fail_for_good(void **state) {
    (void)state;
    struct buf b = {0};
    buf_put(&b, "ab", 2);
    buf_printf(&b, "%d-%s", 42, "long enough to need more room than the first eight bytes");
    assert_string_equal(b.data, "ab42-long enough to need more room than the first eight bytes");
    assert_int_equal(b.size, strlen(b.data));
    mem_fail_at(1, false);
    for (int i = 0; i < 100; i++)
        buf_put(&b, "0123456789", 10);
    assert_true(b.failed);
    buf_free(&b);
    assert_null(b.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_counted),
        cmocka_unit_test(kth_allocation_fails),
        cmocka_unit_test(overflowing_sizes_are_refused),
        cmocka_unit_test(big_blocks_are_aligned_zero_and_whole),
        cmocka_unit_test(arrays_grow),
        cmocka_unit_test(buffers_fail_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
