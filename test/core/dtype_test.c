// Element types: every 16-bit value, every rounding boundary between two of them, every type at any
// alignment.
#include "core/core.h"
#include "base/check.h"

#include <math.h>

static uint32_t bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

// The value of a float format of 16 bits from its definition.
static double value16(uint16_t x, int fraction_bits, int bias) {
    int exponent = (x & 0x7fff) >> fraction_bits, fraction = x & ((1 << fraction_bits) - 1);
    int top = (1 << (15 - fraction_bits)) - 1;
    double sign = x & 0x8000 ? -1 : 1;
    if (exponent == top) return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

struct format16 {
    int fraction_bits, bias;
    float (*widen)(uint16_t);
    uint16_t (*narrow)(float);
    enum dtype dtype;
};
static const struct format16 formats[] = {
    {10, 15, f16_to_f32, f32_to_f16, DT_F16},
    {7, 127, bf16_to_f32, f32_to_bf16, DT_BF16},
};

// bugs.md 156: subnormals of float16 are kept.
static void every_16_bit_value_is_widened_exactly(void **state) {
    (void)state;
    for (size_t f = 0; f < COUNT(formats); f++) {
        static uint16_t in[65536];
        static float out[65536];
        for (uint32_t i = 0; i < 65536; i++)
            in[i] = (uint16_t)i;
        dtype_to_f32(out, in, formats[f].dtype, 65536);
        for (uint32_t i = 0; i < 65536; i++) {
            double expected = value16((uint16_t)i, formats[f].fraction_bits, formats[f].bias);
            float x = formats[f].widen((uint16_t)i);
            bool same = isnan(expected) ? isnan(x) && isnan(out[i])
                                        : (double)x == expected && bits_of(out[i]) == bits_of(x) &&
                                              !signbit(x) == !(i & 0x8000);
            if (!same) fail_msg("%s 0x%04x", dtype_name(formats[f].dtype), i);
            // And back: NaN stays a NaN of the same sign.
            uint16_t back = formats[f].narrow(x);
            if (isnan(expected) ? !isnan(formats[f].widen(back)) || ((back ^ i) & 0x8000) : back != i)
                fail_msg("%s 0x%04x came back as 0x%04x", dtype_name(formats[f].dtype), i, back);
        }
    }
}

// Between two neighbours everything below the middle goes down, everything above up, the middle to the even.
static void every_boundary_rounds_to_nearest_even(void **state) {
    (void)state;
    for (size_t f = 0; f < COUNT(formats); f++) {
        uint32_t infinity = (uint32_t)0x7fff >> formats[f].fraction_bits << formats[f].fraction_bits;
        for (uint32_t i = 0; i < infinity; i++)
            for (uint32_t sign = 0; sign <= 0x8000; sign += 0x8000) {
                double a = value16((uint16_t)i, formats[f].fraction_bits, formats[f].bias), b;
                if (i + 1 < infinity)
                    b = value16((uint16_t)(i + 1), formats[f].fraction_bits, formats[f].bias);
                else // infinity stands where the next value would
                    b = a + (a - value16((uint16_t)(i - 1), formats[f].fraction_bits, formats[f].bias));
                float middle = (float)((a + b) / 2);
                assert_true((double)middle == (a + b) / 2);
                uint32_t m = bits_of(middle), even = i % 2 ? i + 1 : i;
                for (int side = -1; side <= 1; side++) {
                    uint32_t u = (m + (uint32_t)side) | sign << 16;
                    float x;
                    memcpy(&x, &u, sizeof x);
                    uint32_t expected = (side < 0 ? i : side > 0 ? i + 1 : even) | sign;
                    if (formats[f].narrow(x) != expected)
                        fail_msg("%s: %a gives 0x%04x, expected 0x%04x", dtype_name(formats[f].dtype),
                                 (double)x, formats[f].narrow(x), expected);
                }
            }
        // Every NaN of 32 bits stays one, even when all its upper bits are cut off.
        for (uint32_t u = 0x7f800001; u < 0x80000000; u += 4099) {
            float x;
            memcpy(&x, &u, sizeof x);
            assert_true(isnan(formats[f].widen(formats[f].narrow(x))));
        }
    }
}

static void every_type_is_widened_at_any_alignment(void **state) {
    (void)state;
    static const double f64[] = {1.5, -0.0, 1e300, 0x1.000001p0, 0x1.000003p0, 1e-46, 0x1p-149};
    static const int64_t i64[] = {0, -1, INT64_MAX, INT64_MIN, 16777217, 16777219, -42};
    static const uint64_t u64[] = {0, UINT64_MAX, 1, 16777217, 1u << 31, 5, 6};
    static const int32_t i32[] = {0, -1, INT32_MAX, INT32_MIN, 16777217, 16777219, 7};
    static const uint32_t u32[] = {0, UINT32_MAX, 1, 16777217, 3, 4, 5};
    static const int16_t i16[] = {0, -1, INT16_MAX, INT16_MIN, 5, 6, 7};
    static const uint16_t u16[] = {0, UINT16_MAX, 1, 2, 3, 4, 5};
    static const int8_t i8[] = {0, -1, INT8_MAX, INT8_MIN, 5, 6, 7};
    static const uint8_t u8[] = {0, UINT8_MAX, 1, 2, 3, 4, 5};
    static const uint8_t truth[] = {0, 1, 2, 255, 0, 0, 1};
    static const float f32[] = {1.5f, -0.0f, 0x1p-149f, INFINITY, 3, 4, 5};
    static const struct {
        enum dtype t;
        const void *data;
        float expected[7];
    } cases[] = {
        {DT_F32, f32, {1.5f, -0.0f, 0x1p-149f, INFINITY, 3, 4, 5}},
        {DT_F64, f64, {1.5f, -0.0f, INFINITY, 0x1p0f, 0x1.000004p0f, 0, 0x1p-149f}},
        {DT_I64, i64, {0, -1, 0x1p63f, -0x1p63f, 16777216, 16777220, -42}},
        {DT_U64, u64, {0, 0x1p64f, 1, 16777216, 0x1p31f, 5, 6}},
        {DT_I32, i32, {0, -1, 0x1p31f, -0x1p31f, 16777216, 16777220, 7}},
        {DT_U32, u32, {0, 0x1p32f, 1, 16777216, 3, 4, 5}},
        {DT_I16, i16, {0, -1, 32767, -32768, 5, 6, 7}},
        {DT_U16, u16, {0, 65535, 1, 2, 3, 4, 5}},
        {DT_I8, i8, {0, -1, 127, -128, 5, 6, 7}},
        {DT_U8, u8, {0, 255, 1, 2, 3, 4, 5}},
        {DT_BOOL, truth, {0, 1, 1, 1, 0, 0, 1}},
    };
    for (size_t c = 0; c < COUNT(cases); c++)
        for (size_t shift = 0; shift < 8; shift++)
            for (size_t n = 0; n <= 7; n++) {
                size_t bytes = n * dtype_bytes(cases[c].t);
                unsigned char *in = malloc(shift + bytes + 1);
                float out[8];
                assert_non_null(in);
                memcpy(in + shift, cases[c].data, bytes);
                memset(out, 0x55, sizeof out);
                dtype_to_f32(out, in + shift, cases[c].t, n);
                for (size_t i = 0; i < n; i++)
                    if (bits_of(out[i]) != bits_of(cases[c].expected[i]))
                        fail_msg("%s, item %zu, shift %zu: %a", dtype_name(cases[c].t), i, shift,
                                 (double)out[i]);
                assert_int_equal(bits_of(out[n]), 0x55555555);
                free(in);
            }
}

static void types_have_names_and_sizes(void **state) {
    (void)state;
    for (int i = 0; i < DT_COUNT; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(dtype_name((enum dtype)i), dtype_name((enum dtype)j));
    assert_string_equal(dtype_name(DT_BF16), "BF16");
    assert_int_equal(dtype_bytes(DT_BF16), 2);
    assert_int_equal(dtype_bytes(DT_BOOL), 1);
    assert_int_equal(dtype_bytes(DT_I64), 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_16_bit_value_is_widened_exactly),
        cmocka_unit_test(every_boundary_rounds_to_nearest_even),
        cmocka_unit_test(every_type_is_widened_at_any_alignment),
        cmocka_unit_test(types_have_names_and_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
