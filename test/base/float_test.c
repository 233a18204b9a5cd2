// Decimal texts of floats and doubles: they read back, no shorter one does, none of that length is nearer,
// and they are spelled as Python's repr spells them. FLOAT_STRIDE=1 tries every float.
#include "base/base.h"
#include "base/check.h"

#include <float.h>
#include <math.h>

// The parts of a text: its digits without leading and trailing zeros, and how many there are.
static int digit_count(const char *text) {
    int count = 0, zeros = 0;
    for (const char *c = text; *c && *c != 'e'; c++) {
        if (*c < '0' || *c > '9') continue;
        if (*c == '0') {
            zeros += count > 0;
        } else {
            count += zeros + 1;
            zeros = 0;
        }
    }
    return count;
}

// x correctly rounded to so many digits.
static void print_digits(double x, int digits, char out[64]) {
    if (digits < 1 || digits > 20) fail_msg("%d digits", digits);
    assert_true(snprintf(out, 64, "%.*e", digits - 1, x) < 64);
}

typedef bool reads_back_fn(const char *text, double x);

static bool float_reads_back(const char *text, double x) {
    return strtof(text, NULL) == (float)x;
}

static bool double_reads_back(const char *text, double x) {
    return strtod(text, NULL) == x;
}

// x to `digits` digits, and its neighbours of that many digits: where the rounding interval is lopsided (at
// powers of two) a neighbour may read back although the nearest does not.
static bool some_reads_back(double x, int digits, reads_back_fn *reads_back) {
    char text[64];
    print_digits(x, digits, text);
    if (reads_back(text, x)) return true;
    char *e = strchr(text, 'e');
    double unit = pow(10, atoi(e + 1) - digits + 1);
    for (int side = -1; side <= 1; side += 2) {
        print_digits(strtod(text, NULL) + side * unit, digits, text);
        if (reads_back(text, x)) return true;
        print_digits(x, digits, text);
    }
    return false;
}

static void check_number(double x, const char *text, size_t n, reads_back_fn *reads_back, bool lopsided) {
    char nearest[64];
    if (n != strlen(text) || n >= 32) fail_msg("%a: \"%s\" with length %zu", x, text, n);
    if (!reads_back(text, x)) fail_msg("%a: \"%s\" does not read back", x, text);
    int digits = digit_count(text);
    if (digits > 1) {
        print_digits(x, digits - 1, nearest);
        if (reads_back(nearest, x) || (lopsided && some_reads_back(x, digits - 1, reads_back)))
            fail_msg("%a: \"%s\", but %d digits do", x, text, digits - 1);
    }
    print_digits(x, digits, nearest);
    if (reads_back(nearest, x) && strtod(nearest, NULL) != strtod(text, NULL))
        fail_msg("%a: \"%s\", but %s is nearer", x, text, nearest);
}

static void check_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    if (!isfinite(x) || x == 0) return;
    char text[32];
    size_t n = sabok_format_float(x, text);
    check_number((double)x, text, n, float_reads_back, (bits & 0x7fffff) == 0);
}

static void check_double(double x) {
    if (!isfinite(x) || x == 0) return;
    char text[32];
    size_t n = sabok_format_double(x, text);
    int exponent;
    check_number(x, text, n, double_reads_back, frexp(fabs(x), &exponent) == 0.5);
}

static void floats_are_shortest_and_nearest(void **state) {
    (void)state;
    const char *given = getenv("FLOAT_STRIDE");
    uint64_t stride = given ? strtoull(given, NULL, 10) : 9973;
    for (uint64_t bits = 0; bits < (uint64_t)1 << 31; bits += stride)
        check_float((uint32_t)bits);
    for (uint32_t exponent = 0; exponent < 255; exponent++) // around every power of two
        for (uint32_t i = 0; i < 64; i++) {
            check_float(exponent << 23 | i);
            check_float((exponent << 23 | 0x7fffff) - i);
        }
    for (uint32_t i = 0; i < 20000; i++) // the smallest subnormals
        check_float(i);
    check_float(0x80000001);
}

static void doubles_are_shortest_and_nearest(void **state) {
    (void)state;
    for (int exponent = -1074; exponent <= 1023; exponent++) {
        double x = ldexp(1, exponent);
        check_double(x);
        check_double(-nextafter(x, 0));
        check_double(nextafter(x, INFINITY));
    }
    for (int power = -323; power <= 308; power++) {
        char text[16];
        snprintf(text, sizeof text, "1e%d", power);
        double x = strtod(text, NULL);
        check_double(x);
        check_double(nextafter(x, 0));
        check_double(nextafter(x, INFINITY));
    }
    for (uint64_t i = 0; i < 100000; i++) {
        uint32_t r[4];
        rng_philox(5, 0, i, r);
        uint64_t bits = (uint64_t)r[0] << 32 | r[1];
        double x;
        memcpy(&x, &bits, sizeof x);
        check_double(x);
        check_double((double)(r[2] % 1000000) / 10000); // two to six digits
        check_double((double)r[2] * 1e-9);
        check_double((double)(float)(r[3] * 1e-10));
    }
}

static void spelling_is_pythons(void **state) {
    (void)state;
    static const struct {
        double x;
        const char *text;
    } cases[] = {
        {1, "1.0"},
        {-0.0, "-0.0"},
        {0, "0.0"},
        {0.1, "0.1"},
        {1e-4, "0.0001"},
        {1.5e-4, "0.00015"},
        {1e-5, "1e-05"},
        {1.5e-5, "1.5e-05"},
        {123456, "123456.0"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {1.5e16, "1.5e+16"},
        {1234567890123456.7, "1234567890123456.8"},
        {1e100, "1e+100"},
        {-1.5e-300, "-1.5e-300"},
        {1.0 / 3, "0.3333333333333333"},
        {2.0 / 3, "0.6666666666666666"},
        {5e-324, "5e-324"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {9007199254740993.0, "9007199254740992.0"},
        {0x1p-44, "5.684341886080802e-14"},
        {2e-44, "2e-44"},
        {85.39, "85.39"},
        {-123.456, "-123.456"},
        {NAN, "NaN"},
        {-NAN, "NaN"},
        {INFINITY, "Infinity"},
        {-INFINITY, "-Infinity"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[32];
        assert_int_equal(sabok_format_double(cases[i].x, text), strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
    }
    static const struct {
        float x;
        const char *text;
    } floats[] = {
        {0.1f, "0.1"},
        {16777216, "16777216.0"},
        {33554432, "33554432.0"},
        {1e-45f, "1e-45"},
        {FLT_MAX, "3.4028235e+38"},
        {FLT_MIN, "1.1754944e-38"},
        {1.0f / 3, "0.33333334"},
        {-0.0001f, "-0.0001"},
        {1e-5f, "1e-05"},
        {1e16f, "1e+16"},
        {8589934592.0f, "8589935000.0"},
        {-0.0f, "-0.0"},
        {NAN, "NaN"},
        {-INFINITY, "-Infinity"},
    };
    for (size_t i = 0; i < COUNT(floats); i++) {
        char text[32];
        assert_int_equal(sabok_format_float(floats[i].x, text), strlen(floats[i].text));
        assert_string_equal(text, floats[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_shortest_and_nearest),
        cmocka_unit_test(doubles_are_shortest_and_nearest),
        cmocka_unit_test(spelling_is_pythons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
