// Shapes: text, equality, and counts that cannot overflow unseen; what a weight owns is freed once.
#include "core/core.h"
#include "base/check.h"

static struct shape make(int rank, int64_t a, int64_t b, int64_t c, int64_t d) {
    return shape_of(rank, (const int64_t[]){a, b, c, d});
}

static void shapes_are_spelled(void **state) {
    (void)state;
    char text[SHAPE_TEXT];
    struct shape s = make(2, DIM_T, 384, 0, 0);
    assert_string_equal(shape_text(&s, text), "[T, 384]");
    s = make(3, DIM_B, 1, 0, 0);
    assert_string_equal(shape_text(&s, text), "[B, 1, 0]");
    s = make(0, 0, 0, 0, 0);
    assert_string_equal(shape_text(&s, text), "[]");
    s = make(4, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN);
    assert_ptr_equal(shape_text(&s, text), text);
    assert_int_equal(strlen(text), 4 * 20 + 3 * 2 + 2);
}

static void shapes_are_compared(void **state) {
    (void)state;
    struct shape a = make(2, DIM_T, 384, 1, 1), b = make(2, DIM_T, 384, 7, 8), c = make(2, DIM_B, 384, 1, 1),
                 d = make(3, DIM_T, 384, 1, 1);
    assert_true(shape_equal(&a, &b));
    assert_false(shape_equal(&a, &c));
    assert_false(shape_equal(&a, &d));
}

static void elements_are_counted(void **state) {
    (void)state;
    size_t n = 77;
    struct shape s = make(2, DIM_T, 384, 0, 0);
    assert_true(shape_count(&s, 10, 3, &n) && n == 3840);
    assert_false(shape_count(&s, SIZE_MAX / 100, 3, &n));
    s = make(3, DIM_B, DIM_T, 2, 0);
    assert_true(shape_count(&s, 10, 3, &n) && n == 60);
    s = make(0, 0, 0, 0, 0);
    assert_true(shape_count(&s, 10, 3, &n) && n == 1);
    s = make(2, INT64_MAX, 2, 0, 0);
    assert_true(shape_count(&s, 1, 1, &n) && n == SIZE_MAX - 1);
    s = make(2, INT64_MAX, 3, 0, 0);
    assert_false(shape_count(&s, 1, 1, &n));
    s = make(2, 5, -3, 0, 0);
    assert_false(shape_count(&s, 1, 1, &n));
    s = make(3, 5, DIM_B, 7, 0);
    assert_true(shape_count(&s, 1, 0, &n) && n == 0);
    s = make(3, INT64_MAX, 3, 0, 0); // 0 behind an overflow
    assert_true(shape_count(&s, 1, 1, &n) && n == 0);
    s = make(3, INT64_MAX, 0, -3, 0); // a zero hides nothing
    assert_false(shape_count(&s, 1, 1, &n));
}

static void weights_free_what_they_own(void **state) {
    (void)state;
    int64_t live = mem_live();
    struct weight w = {.owned = mem_map(1 << 20), .owned_bytes = 1 << 20};
    w.f32 = w.owned;
    weight_free(&w);
    assert_null(w.f32);
    weight_free(&w);
    assert_int_equal(mem_live(), live);
    static const float mapped[1] = {1};
    struct weight m = {.f32 = mapped};
    weight_free(&m);
    assert_ptr_equal(m.f32, mapped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_spelled),
        cmocka_unit_test(shapes_are_compared),
        cmocka_unit_test(elements_are_counted),
        cmocka_unit_test(weights_free_what_they_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
