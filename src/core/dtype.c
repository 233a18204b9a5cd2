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

// Read as unsigned, then the sign is spread: both casts to float round to nearest even, as the types' own would.
static void widen_integers(float *out, const unsigned char *in, enum dtype t, size_t n) {
    const size_t size = dtype_bytes(t);
    const unsigned above = 64 - 8 * (unsigned)size; // bits of a register beside the item's
    const bool has_sign = t == DT_I64 || t == DT_I32 || t == DT_I16 || t == DT_I8;
    for (size_t i = 0; i < n; i++) {
        uint64_t x = 0;
        for (size_t b = 0; b < size; b++)
            x |= (uint64_t)in[size * i + b] << (8 * b);
        out[i] = has_sign ? (float)((int64_t)(x << above) >> above) : (float)x;
    }
}

void dtype_to_f32(float *out, const void *data, enum dtype t, size_t n) {
    const unsigned char *in = data;
    switch (t) {
    case DT_F32:
    case DT_F16:
    case DT_BF16:
    case DT_F64:
        widen_floats(out, in, t, n);
        break;
    case DT_I64:
    case DT_I32:
    case DT_I16:
    case DT_I8:
    case DT_U64:
    case DT_U32:
    case DT_U16:
    case DT_U8:
        widen_integers(out, in, t, n);
        break;
    case DT_BOOL:
        for (size_t i = 0; i < n; i++)
            out[i] = in[i] ? 1.0f : 0.0f;
        break;
    case DT_COUNT:
        ASSERT(false);
    }
}
