// Bump allocation: no two items overlap, all are zeroed and aligned, and failure leaves the arena usable.
#include "base/base.h"
#include "base/check.h"

#define ITEMS 3000

static size_t item_size(size_t i) {
    uint32_t r[4];
    rng_philox(7, 0, i, r);
    return r[0] % 16 == 0 ? r[1] % 60000 : r[1] % 100;
}

static void items_are_apart(void **state) {
    (void)state;
    static const size_t blocks[] = {0, 1, 64, 100000};
    for (size_t b = 0; b < COUNT(blocks); b++) {
        struct arena a;
        arena_init(&a, blocks[b]);
        static unsigned char *items[ITEMS];
        for (int round = 0; round < 2; round++) { // the second one in the block that the reset has kept
            for (size_t i = 0; i < ITEMS; i++) {
                items[i] = arena_alloc(&a, item_size(i));
                assert_non_null(items[i]);
                assert_int_equal((uintptr_t)items[i] % 16, 0);
                for (size_t j = 0; j < item_size(i); j++)
                    assert_int_equal(items[i][j], 0);
                memset(items[i], (int)(i % 251 + 1), item_size(i));
            }
            for (size_t i = 0; i < ITEMS; i++)
                for (size_t j = 0; j < item_size(i); j++)
                    assert_int_equal(items[i][j], i % 251 + 1);
            arena_reset(&a);
        }
        arena_free(&a);
    }
}

static void texts_are_copied(void **state) {
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    arena_reset(&a); // of an empty one
    assert_memory_equal(arena_copy(&a, "a\0b!", 3), "a\0b", 4);
    assert_string_equal(arena_copy(&a, NULL, 0), "");
    assert_string_equal(arena_printf(&a, "layer.%d.%s", 3, "attention"), "layer.3.attention");
    arena_free(&a);
}

static void failures_leave_it_usable(void **state) {
    (void)state;
    int64_t live = mem_live();
    struct arena a;
    arena_init(&a, 64);
    assert_null(arena_alloc(&a, SIZE_MAX));
    assert_null(arena_alloc(&a, SIZE_MAX - 20));
    assert_null(arena_copy(&a, "x", SIZE_MAX));
    mem_fail_at(1, false);
    assert_null(arena_alloc(&a, 10));
    char *p = arena_alloc(&a, 10);
    assert_non_null(p);
    mem_fail_at(1, false);
    assert_null(arena_alloc(&a, 1000));
    assert_non_null(arena_alloc(&a, 1000));
    uint64_t count = mem_count();
    arena_reset(&a);
    assert_non_null(arena_alloc(&a, 16));
    assert_int_equal(mem_count(), count);
    arena_free(&a);
    assert_int_equal(mem_live(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_apart),
        cmocka_unit_test(texts_are_copied),
        cmocka_unit_test(failures_leave_it_usable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
