// Element types and their conversions. All are exact but for the roundings to nearest even that core.h names.
// Integer arithmetic on the bits, so that a flush-to-zero mode of the calling program changes nothing.
#include "core/core.h"

#include <string.h>

struct dtype_info {
    const char *name;
    size_t bytes;
};

static const struct dtype_info infos[DT_COUNT] = {
#define X(name, text, bits) [DT_##name] = {text, (bits) / 8},
    DTYPE_LIST(X)
#undef X
};

const char *dtype_name(enum dtype t) {
    ASSERT(t < DT_COUNT);
    return infos[t].name;
}

size_t dtype_bytes(enum dtype t) {
    ASSERT(t < DT_COUNT);
    return infos[t].bytes;
}

bool dtype_parse(const char *text, size_t n, enum dtype *out) {
    for (size_t i = 0; i < DT_COUNT; i++)
        if (strlen(infos[i].name) == n && memcmp(infos[i].name, text, n) == 0) {
            *out = (enum dtype)i;
            return true;
        }
    return false;
}

static inline uint32_t float_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float bits_float(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

uint16_t f32_to_bf16(float x) {
    uint32_t u = float_bits(x);
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40); // quiet, or it might become infinite
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

float bf16_to_f32(uint16_t x) {
    return bits_float((uint32_t)x << 16);
}

uint16_t f32_to_f16(float x) {
    uint32_t u = float_bits(x), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
    if (a > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (a >> 13 & 0x3ff));
    if (a >= 0x477ff000) return (uint16_t)(sign | 0x7c00); // 65520 and more round to infinity
    if (a >= 0x38800000) {                                 // normal in f16: 2^-14 and more
        uint32_t r = a - 0x38000000;
        return (uint16_t)(sign | (r + 0xfff + (r >> 13 & 1)) >> 13);
    }
    if (a <= 0x33000000) return (uint16_t)sign; // 2^-25, halfway to the smallest, goes to the even zero
    uint32_t shift = 126 - (a >> 23), m = (a & 0x7fffff) | 0x800000;
    uint32_t half = m >> shift, rest = m & ((1u << shift) - 1), middle = 1u << (shift - 1);
    return (uint16_t)(sign | (half + (rest > middle || (rest == middle && (half & 1)))));
}

static inline float f16_widen(uint16_t x) {
    uint32_t sign = (uint32_t)(x & 0x8000) << 16, a = (uint32_t)(x & 0x7fff) << 13;
    // Subnormals: 2^-14 put in front as a leading one, then taken off; both steps are exact.
    uint32_t low = float_bits(bits_float(a + 0x38800000) - 0x1p-14f);
    uint32_t special = a | 0x7f800000 | (a & 0x7fffff ? 0x400000 : 0); // infinity, or a quiet NaN
    uint32_t r = a < 0x00800000 ? low : a >= 0x0f800000 ? special : a + 0x38000000;
    return bits_float(sign | r);
}

float f16_to_f32(uint16_t x) {
    return f16_widen(x);
}

// The loops read through memcpy, which costs nothing and allows any alignment.
static void widen_floats(float *out, const unsigned char *in, enum dtype t, size_t n) {
    if (t == DT_F32) {
        if (n) memmove(out, in, n * sizeof *out);
    } else if (t == DT_BF16) {
        for (size_t i = 0; i < n; i++) {
            uint16_t x;
            memcpy(&x, in + 2 * i, sizeof x);
            out[i] = bits_float((uint32_t)x << 16);
        }
    } else if (t == DT_F16) {
        for (size_t i = 0; i < n; i++) {
            uint16_t x;
            memcpy(&x, in + 2 * i, sizeof x);
            out[i] = f16_widen(x);
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            double x;
            memcpy(&x, in + 8 * i, sizeof x);
            out[i] = (float)x;
        }
    }
}

#define INTEGER_LIST(X)                                                                                      \
    X(I64, int64_t)                                                                                          \
    X(I32, int32_t)                                                                                          \
    X(I16, int16_t)                                                                                          \
    X(I8, int8_t)                                                                                            \
    X(U64, uint64_t)                                                                                         \
    X(U32, uint32_t)                                                                                         \
    X(U16, uint16_t)                                                                                         \
    X(U8, uint8_t)

#define X(name, type)                                                                                        \
    static void widen_##name(float *out, const unsigned char *in, size_t n) {                                \
        for (size_t i = 0; i < n; i++) {                                                                     \
            type x;                                                                                          \
            memcpy(&x, in + sizeof x * i, sizeof x);                                                         \
            out[i] = (float)x;                                                                               \
        }                                                                                                    \
    }
INTEGER_LIST(X)
#undef X

void dtype_to_f32(float *out, const void *data, enum dtype t, size_t n) {
    const unsigned char *in = data;
    switch (t) {
#define X(name, type)                                                                                        \
    case DT_##name:                                                                                          \
        widen_##name(out, in, n);                                                                            \
        break;
        INTEGER_LIST(X)
#undef X
    case DT_F32:
    case DT_F16:
    case DT_BF16:
    case DT_F64:
        widen_floats(out, in, t, n);
        break;
    case DT_BOOL:
        for (size_t i = 0; i < n; i++)
            out[i] = in[i] ? 1.0f : 0.0f;
        break;
    case DT_COUNT:
        ASSERT(false);
    }
}
