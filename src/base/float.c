// Numbers as the shortest decimal text that reads back as the same value and, among those of that length, is
// nearest to it; spelled as Python's repr spells them. Floats follow R. Giulietti, "The Schubfach way to
// render doubles" (2021), in its single-precision form; doubles, which are printed rarely, the free-format
// algorithm of Steele and White, "How to print floating-point numbers accurately" (1990).
#include "base/base.h"

#include <string.h>

// ---- spelling

// 0.d1d2d3... * 10^point, the digits without trailing zeros.
struct decimal {
    char digits[20];
    int count, point;
};

static size_t exponent_put(char *out, int exponent) {
    size_t n = 0;
    out[n++] = 'e';
    out[n++] = exponent < 0 ? '-' : '+';
    int x = exponent < 0 ? -exponent : exponent;
    if (x >= 100) out[n++] = (char)('0' + x / 100);
    out[n++] = (char)('0' + x / 10 % 10);
    out[n++] = (char)('0' + x % 10);
    return n;
}

static size_t decimal_put(char *out, const struct decimal *d, bool negative) {
    size_t n = 0, count = (size_t)d->count;
    if (negative) out[n++] = '-';
    if (d->point < -3 || d->point > 16) {
        out[n++] = d->digits[0];
        if (count > 1) out[n++] = '.';
        memcpy(out + n, d->digits + 1, count - 1);
        n += count - 1;
        n += exponent_put(out + n, d->point - 1);
    } else if (d->point <= 0) {
        size_t zeros = (size_t)-d->point;
        memcpy(out + n, "0.000", 2 + zeros);
        n += 2 + zeros;
        memcpy(out + n, d->digits, count);
        n += count;
    } else {
        size_t whole = (size_t)d->point, head = size_min(whole, count);
        memcpy(out + n, d->digits, head);
        memset(out + n + head, '0', whole - head);
        n += whole;
        out[n++] = '.';
        if (count > whole) {
            memcpy(out + n, d->digits + whole, count - whole);
            n += count - whole;
        } else {
            out[n++] = '0';
        }
    }
    out[n] = '\0';
    return n;
}

static size_t text_put(char *out, const char *text, bool negative) {
    size_t n = strlen(text);
    if (negative) out[0] = '-';
    memcpy(out + negative, text, n + 1);
    return n + negative;
}

// The digits of m * 10^exponent, m > 0.
static void decimal_fill(struct decimal *d, uint64_t m, int exponent) {
    while (m % 10 == 0) {
        m /= 10;
        exponent++;
    }
    char text[20];
    int at = (int)sizeof text;
    for (; m; m /= 10)
        text[--at] = (char)('0' + m % 10);
    d->count = (int)sizeof text - at;
    d->point = d->count + exponent;
    memcpy(d->digits, text + at, (size_t)d->count);
}

// ---- floats

#define POWER_MIN (-31)
// 10^p for p = -31 ... 45: the upper 64 bits, rounded up.
static const uint64_t float_powers[] = {
    0x81ceb32c4b43fcf5, 0xa2425ff75e14fc32, 0xcad2f7f5359a3b3f, 0xfd87b5f28300ca0e, 0x9e74d1b791e07e49,
    0xc612062576589ddb, 0xf79687aed3eec552, 0x9abe14cd44753b53, 0xc16d9a0095928a28, 0xf1c90080baf72cb2,
    0x971da05074da7bef, 0xbce5086492111aeb, 0xec1e4a7db69561a6, 0x9392ee8e921d5d08, 0xb877aa3236a4b44a,
    0xe69594bec44de15c, 0x901d7cf73ab0acda, 0xb424dc35095cd810, 0xe12e13424bb40e14, 0x8cbccc096f5088cc,
    0xafebff0bcb24aaff, 0xdbe6fecebdedd5bf, 0x89705f4136b4a598, 0xabcc77118461cefd, 0xd6bf94d5e57a42bd,
    0x8637bd05af6c69b6, 0xa7c5ac471b478424, 0xd1b71758e219652c, 0x83126e978d4fdf3c, 0xa3d70a3d70a3d70b,
    0xcccccccccccccccd, 0x8000000000000000, 0xa000000000000000, 0xc800000000000000, 0xfa00000000000000,
    0x9c40000000000000, 0xc350000000000000, 0xf424000000000000, 0x9896800000000000, 0xbebc200000000000,
    0xee6b280000000000, 0x9502f90000000000, 0xba43b74000000000, 0xe8d4a51000000000, 0x9184e72a00000000,
    0xb5e620f480000000, 0xe35fa931a0000000, 0x8e1bc9bf04000000, 0xb1a2bc2ec5000000, 0xde0b6b3a76400000,
    0x8ac7230489e80000, 0xad78ebc5ac620000, 0xd8d726b7177a8000, 0x878678326eac9000, 0xa968163f0a57b400,
    0xd3c21bcecceda100, 0x84595161401484a0, 0xa56fa5b99019a5c8, 0xcecb8f27f4200f3a, 0x813f3978f8940985,
    0xa18f07d736b90be6, 0xc9f2c9cd04674edf, 0xfc6f7c4045812297, 0x9dc5ada82b70b59e, 0xc5371912364ce306,
    0xf684df56c3e01bc7, 0x9a130b963a6c115d, 0xc097ce7bc90715b4, 0xf0bdc21abb48db21, 0x96769950b50d88f5,
    0xbc143fa4e250eb32, 0xeb194f8e1ae525fe, 0x92efd1b8d0cf37bf, 0xb7abc627050305ae, 0xe596b7b0c643c71a,
    0x8f7e32ce7bea5c70, 0xb35dbf821ae4f38c,
};

// floor(p * log2(10)), exact for |p| <= 1233.
static int log2_power(int p) {
    return p * 1741647 >> 19;
}

// (g * c) >> 64, with the lowest bit set when bits were lost; g is rounded up by less than one unit, which
// reaches at most the lowest bit of the 32 looked at.
static uint32_t round_odd(uint64_t g, uint32_t c) {
    unsigned __int128 p = (unsigned __int128)g * c;
    return (uint32_t)(p >> 64) | ((uint32_t)(p >> 32) > 1);
}

// The shortest decimal m * 10^*exponent in the rounding interval of c * 2^q.
static uint32_t float_shortest(uint32_t c, int q, bool narrow, int *exponent) {
    // Below a power of two the neighbour is only half as far.
    int k = narrow ? (q * 1262611 - 524031) >> 22 : q * 1262611 >> 22;
    int h = q + log2_power(-k) + 1;
    uint64_t g = float_powers[-k - POWER_MIN];
    uint32_t odd = c & 1;
    uint32_t low = round_odd(g, (4 * c - (narrow ? 1 : 2)) << h) + odd;
    uint32_t mid = round_odd(g, (4 * c) << h);
    uint32_t high = round_odd(g, (4 * c + 2) << h) - odd;
    uint32_t s = mid / 4, ten = s / 10 * 10;
    *exponent = k;
    // At most one multiple of ten lies in the interval; it has a digit less.
    if (low <= 4 * ten) return ten;
    if (4 * (ten + 10) <= high) return ten + 10;
    bool down = low <= 4 * s, up = 4 * (s + 1) <= high;
    if (down != up) return down ? s : s + 1;
    uint32_t middle = 4 * s + 2;
    return mid < middle || (mid == middle && s % 2 == 0) ? s : s + 1;
}

size_t sabok_format_float(float x, char out[32]) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bool negative = bits >> 31;
    uint32_t fraction = bits & 0x7fffff, biased = bits >> 23 & 0xff;
    if (biased == 0xff) return text_put(out, fraction ? "NaN" : "Infinity", negative && !fraction);
    if ((bits & 0x7fffffff) == 0) return text_put(out, "0.0", negative);
    uint32_t c = biased ? fraction | 0x800000 : fraction;
    int q = (biased ? (int)biased : 1) - 150, exponent;
    struct decimal d;
    uint32_t m = float_shortest(c, q, fraction == 0 && biased > 1, &exponent);
    decimal_fill(&d, m, exponent);
    return decimal_put(out, &d, negative);
}

// ---- doubles

// An unsigned integer of up to 1,280 bits: 4 * 2^1074 * 10 and 10^309 * 16 are below it.
#define BIG_LIMBS 40
struct big {
    uint32_t limb[BIG_LIMBS];
    int size;
};

static void big_set(struct big *b, uint64_t x) {
    b->size = 0;
    for (; x; x >>= 32)
        b->limb[b->size++] = (uint32_t)x;
}

static void big_push(struct big *b, uint32_t limb) {
    if (limb == 0) return;
    ASSERT(b->size < BIG_LIMBS);
    b->limb[b->size++] = limb;
}

static void big_scale(struct big *b, uint32_t factor) {
    uint64_t carry = 0;
    for (int i = 0; i < b->size; i++) {
        carry += (uint64_t)b->limb[i] * factor;
        b->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    big_push(b, (uint32_t)carry);
}

static void big_shift(struct big *b, int bits) {
    big_scale(b, 1u << (bits % 32));
    int limbs = bits / 32;
    if (limbs == 0 || b->size == 0) return;
    ASSERT(b->size + limbs <= BIG_LIMBS);
    memmove(b->limb + limbs, b->limb, (size_t)b->size * sizeof *b->limb);
    memset(b->limb, 0, (size_t)limbs * sizeof *b->limb);
    b->size += limbs;
}

static void big_scale_power(struct big *b, int power) {
    for (; power >= 9; power -= 9)
        big_scale(b, 1000000000u);
    for (; power > 0; power--)
        big_scale(b, 10);
}

static int big_compare(const struct big *a, const struct big *b) {
    if (a->size != b->size) return a->size < b->size ? -1 : 1;
    for (int i = a->size - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

static void big_add(struct big *a, const struct big *b) {
    uint64_t carry = 0;
    for (int i = 0; i < a->size || i < b->size; i++) {
        if (i == a->size) a->limb[a->size++] = 0;
        carry += (uint64_t)a->limb[i] + (i < b->size ? b->limb[i] : 0);
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    big_push(a, (uint32_t)carry);
}

// a -= b, a >= b.
static void big_subtract(struct big *a, const struct big *b) {
    int64_t borrow = 0;
    for (int i = 0; i < a->size; i++) {
        borrow += (int64_t)a->limb[i] - (i < b->size ? (int64_t)b->limb[i] : 0);
        a->limb[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    while (a->size > 0 && a->limb[a->size - 1] == 0)
        a->size--;
}

static int big_sum_compare(const struct big *a, const struct big *b, const struct big *c) {
    struct big sum = *a;
    big_add(&sum, b);
    return big_compare(&sum, c);
}

// The value is r / s, the interval around it (r - below) / s to (r + above) / s.
struct double_state {
    struct big r, s, below, above;
    bool closed; // the ends of the interval read back as the value too
};

static void state_init(struct double_state *t, uint64_t c, int q, bool narrow, int point) {
    t->closed = c % 2 == 0;
    big_set(&t->r, c);
    big_set(&t->s, 1);
    big_set(&t->below, 1);
    big_set(&t->above, 1);
    // In quarters (narrow) or halves of the last place.
    big_shift(&t->r, (q > 0 ? q : 0) + (narrow ? 2 : 1));
    big_shift(&t->s, (q < 0 ? -q : 0) + (narrow ? 2 : 1));
    big_shift(&t->below, q > 0 ? q : 0);
    big_shift(&t->above, (q > 0 ? q : 0) + narrow);
    if (point > 0) {
        big_scale_power(&t->s, point);
    } else {
        big_scale_power(&t->r, -point);
        big_scale_power(&t->below, -point);
        big_scale_power(&t->above, -point);
    }
}

static void double_shortest(struct decimal *d, uint64_t c, int q, bool narrow) {
    // The power of ten above the value, or one too low; too low shows when the interval reaches 1.
    int top = 63 - __builtin_clzll(c) + q;
    int point = (int)((int64_t)top * 1262611 >> 22) + 1;
    struct double_state t;
    state_init(&t, c, q, narrow, point);
    int over = big_sum_compare(&t.r, &t.above, &t.s);
    if (over > 0 || (over == 0 && t.closed)) {
        point++;
        big_scale(&t.s, 10);
    }
    d->count = 0;
    d->point = point;
    bool low, high;
    do {
        big_scale(&t.r, 10);
        big_scale(&t.below, 10);
        big_scale(&t.above, 10);
        int digit = 0;
        for (; big_compare(&t.r, &t.s) >= 0; digit++)
            big_subtract(&t.r, &t.s);
        int under = big_compare(&t.r, &t.below);
        over = big_sum_compare(&t.r, &t.above, &t.s);
        low = under < 0 || (under == 0 && t.closed);
        high = over > 0 || (over == 0 && t.closed);
        int half = low && high ? big_sum_compare(&t.r, &t.r, &t.s) : high ? 1 : -1;
        if (half > 0 || (half == 0 && digit % 2 == 1)) digit += low || high;
        d->digits[d->count++] = (char)('0' + digit);
    } while (!low && !high);
}

// Numbers of at most 15 digits, the usual case, without big integers. Two decimals of 15 digits never read as
// one double, so the one that reads back is the shortest.
static bool double_few_digits(struct decimal *d, double x) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (!(x >= 1e-7 && x < 1e15)) return false;
    int k = 22;
    while (k > 0 && x * powers[k] >= 1e15)
        k--;
    uint64_t m = (uint64_t)(x * powers[k] + 0.5);
    if (m == 0 || m > (uint64_t)1e15 || (double)m / powers[k] != x) return false;
    decimal_fill(d, m, -k);
    return true;
}

size_t sabok_format_double(double x, char out[32]) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bool negative = bits >> 63;
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    int biased = (int)(bits >> 52 & 0x7ff);
    if (biased == 0x7ff) return text_put(out, fraction ? "NaN" : "Infinity", negative && !fraction);
    if (biased == 0 && fraction == 0) return text_put(out, "0.0", negative);
    struct decimal d;
    if (!double_few_digits(&d, negative ? -x : x)) {
        uint64_t c = biased ? fraction | (uint64_t)1 << 52 : fraction;
        double_shortest(&d, c, (biased ? biased : 1) - 1075, fraction == 0 && biased > 1);
    }
    return decimal_put(out, &d, negative);
}
