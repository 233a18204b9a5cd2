// A strict pull reader of JSON (RFC 8259) over a buffer. Text that needs no unescaping is returned in place.
// Every byte that is consumed has been checked: grammar, UTF-8, escapes.
#include "base/base.h"

#include <float.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define JSON_DEPTH 64

void json_init(struct json *j, const char *text, size_t size, const char *where, struct arena *arena,
               sabok_error *err) {
    ASSERT(arena != NULL);
    *j = (struct json){.text = text, .size = size, .where = where, .err = err, .arena = arena};
}

// ---- errors

bool json_fail(struct json *j, const char *format, ...) {
    if (j->failed) return false;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    j->failed = true;
    error_at(j->err, SABOK_EFORMAT, j->where, j->at, "%s", text);
    return false;
}

static bool fail_memory(struct json *j) {
    j->failed = true;
    error_memory(j->err, j->where);
    return false;
}

// What stands at the current byte against what should.
static bool fail_found(struct json *j, const char *expected) {
    if (j->at >= j->size) return json_fail(j, "the text ends here, expected %s", expected);
    unsigned char c = (unsigned char)j->text[j->at];
    if (c > 0x20 && c < 0x7f) return json_fail(j, "found '%c', expected %s", c, expected);
    return json_fail(j, "found byte 0x%02x, expected %s", c, expected);
}

// ---- structure

static inline bool is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// The next byte that is no blank, or 0 at the end. A NUL in the text is no valid byte anywhere outside
// strings, and fails in the same places as the end does.
static inline char next_byte(struct json *j) {
    while (j->at < j->size && is_blank(j->text[j->at]))
        j->at++;
    return j->at < j->size ? j->text[j->at] : '\0';
}

static enum json_kind kind_of(char c) {
    switch (c) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
    case 'f':
        return JSON_BOOL;
    case 'n':
        return JSON_NULL;
    default:
        return c == '-' || (c >= '0' && c <= '9') ? JSON_NUMBER : JSON_ERROR;
    }
}

enum json_kind json_peek(struct json *j) {
    if (j->failed) return JSON_ERROR;
    enum json_kind kind = kind_of(next_byte(j));
    if (kind == JSON_ERROR) fail_found(j, "a value");
    return kind;
}

const char *json_kind_name(enum json_kind kind) {
    static const char *const names[] = {
        [JSON_ERROR] = "nothing",    [JSON_NULL] = "null",       [JSON_BOOL] = "true or false",
        [JSON_NUMBER] = "a number",  [JSON_STRING] = "a string", [JSON_ARRAY] = "an array",
        [JSON_OBJECT] = "an object",
    };
    return names[kind];
}

// True when a value of this kind comes next.
static bool expect_kind(struct json *j, enum json_kind kind) {
    enum json_kind found = json_peek(j);
    if (found == kind) return true;
    return found == JSON_ERROR
               ? false
               : json_fail(j, "found %s, expected %s", json_kind_name(found), json_kind_name(kind));
}

static inline uint8_t depth_bit(const struct json *j) {
    return (uint8_t)(1u << ((j->depth - 1) & 7));
}

static bool container_begin(struct json *j, enum json_kind kind) {
    if (!expect_kind(j, kind)) return false;
    if (j->depth == JSON_DEPTH) return json_fail(j, "nested deeper than %d", JSON_DEPTH);
    j->at++;
    j->depth++;
    j->fresh[(j->depth - 1) / 8] |= depth_bit(j);
    return true;
}

bool json_object_begin(struct json *j) {
    return container_begin(j, JSON_OBJECT);
}

bool json_array_begin(struct json *j) {
    return container_begin(j, JSON_ARRAY);
}

// Moves to the next item of the innermost container; false at its end, which is consumed, and on error.
static bool container_next(struct json *j, char close, const char *expected) {
    if (j->failed) return false;
    ASSERT(j->depth > 0);
    char c = next_byte(j);
    uint8_t *fresh = &j->fresh[(j->depth - 1) / 8], bit = depth_bit(j);
    if (c == close) {
        j->at++;
        j->depth--;
        return false;
    }
    if (*fresh & bit) {
        *fresh &= (uint8_t)~bit;
        return true;
    }
    if (c != ',') return fail_found(j, expected);
    j->at++;
    return true;
}

bool json_item(struct json *j) {
    return container_next(j, ']', "',' or ']'");
}

// ---- strings

// Length of the valid UTF-8 sequence at p (0: invalid), for a first byte >= 0x80: Unicode, table 3-7.
static size_t utf8_length(const unsigned char *p, size_t left) {
    unsigned a = p[0];
    size_t n = a < 0xc2 ? 0 : a < 0xe0 ? 2 : a < 0xf0 ? 3 : a < 0xf5 ? 4 : 0;
    if (n == 0 || left < n) return 0;
    unsigned low = a == 0xe0 ? 0xa0 : a == 0xf0 ? 0x90 : 0x80;
    unsigned high = a == 0xed ? 0x9f : a == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high) return 0;
    for (size_t i = 2; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    return n;
}

// Bytes of p[0..n) before the first that is a quote, a backslash, a control or not ASCII.
static inline size_t plain_length(const char *p, size_t n) {
    size_t i = 0;
#ifdef __SSE2__
    for (; n - i >= 16; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        // As signed bytes, everything from 0x80 up is below 0x20 too.
        __m128i stop = _mm_or_si128(
            _mm_cmplt_epi8(v, _mm_set1_epi8(0x20)),
            _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'))));
        int mask = _mm_movemask_epi8(stop);
        if (mask) return i + (size_t)__builtin_ctz((unsigned)mask);
    }
#endif
    for (; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\') break;
    }
    return i;
}

// Four hexadecimal digits at byte `at`; false when they are not there.
static bool read_hex4(const struct json *j, size_t at, unsigned *out) {
    if (at > j->size || j->size - at < 4) return false;
    unsigned x = 0;
    for (size_t i = 0; i < 4; i++) {
        char c = j->text[at + i];
        if (c >= '0' && c <= '9')
            x = x << 4 | (unsigned)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            x = x << 4 | (unsigned)((c | 0x20) - 'a' + 10);
        else
            return false;
    }
    *out = x;
    return true;
}

// The escape at the current byte, a backslash: its code point, and its length in *length.
static bool read_escape(struct json *j, uint32_t *code, size_t *length) {
    static const char names[] = "\"\\/bfnrt", codes[] = "\"\\/\b\f\n\r\t";
    char c = j->at + 1 < j->size ? j->text[j->at + 1] : '\0';
    if (c != 'u') {
        const char *name = c ? strchr(names, c) : NULL;
        if (!name) return json_fail(j, "unknown escape in a string");
        *code = (uint32_t)(unsigned char)codes[name - names];
        *length = 2;
        return true;
    }
    unsigned high, low;
    if (!read_hex4(j, j->at + 2, &high)) return json_fail(j, "\\u is followed by four hexadecimal digits");
    *code = high;
    *length = 6;
    if (high < 0xd800 || high > 0xdfff) return true;
    if (high > 0xdbff || j->size - j->at < 12 || j->text[j->at + 6] != '\\' || j->text[j->at + 7] != 'u' ||
        !read_hex4(j, j->at + 8, &low) || low < 0xdc00 || low > 0xdfff)
        return json_fail(j, "lone surrogate \\u%04x in a string", high);
    *code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    *length = 12;
    return true;
}

static size_t utf8_put(char *out, uint32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00u >> n & 0xf0u) | c);
    return n;
}

// Moves over the string at the current byte, a quote; *escapes counts its escapes.
static bool string_scan(struct json *j, struct json_text *raw, size_t *escapes) {
    size_t begin = ++j->at;
    *escapes = 0;
    for (;;) {
        j->at += plain_length(j->text + j->at, j->size - j->at);
        if (j->at >= j->size) return json_fail(j, "the text ends inside a string");
        unsigned char c = (unsigned char)j->text[j->at];
        if (c == '"') break;
        if (c == '\\') {
            uint32_t code;
            size_t length;
            if (!read_escape(j, &code, &length)) return false;
            ++*escapes;
            j->at += length;
        } else if (c < 0x20) {
            return json_fail(j, "control byte 0x%02x inside a string", c);
        } else {
            size_t n = utf8_length((const unsigned char *)j->text + j->at, j->size - j->at);
            if (n == 0) return json_fail(j, "byte 0x%02x inside a string is not UTF-8", c);
            j->at += n;
        }
    }
    *raw = (struct json_text){.data = j->text + begin, .size = j->at - begin};
    j->at++;
    return true;
}

// The text of a scanned string, its escapes resolved into the arena.
static bool string_unescape(struct json *j, struct json_text raw, struct json_text *out) {
    char *text = arena_alloc(j->arena, raw.size);
    if (!text) return fail_memory(j);
    struct json inner = {.text = raw.data, .size = raw.size, .failed = false};
    size_t n = 0;
    while (inner.at < raw.size) {
        const char *slash = memchr(raw.data + inner.at, '\\', raw.size - inner.at);
        size_t run = slash ? (size_t)(slash - raw.data) - inner.at : raw.size - inner.at, length = 0;
        memcpy(text + n, raw.data + inner.at, run);
        n += run;
        inner.at += run;
        if (!slash) break;
        uint32_t code = 0;
        bool ok = read_escape(&inner, &code, &length);
        ASSERT(ok); // the scan has checked it
        n += utf8_put(text + n, code);
        inner.at += length;
    }
    *out = (struct json_text){.data = text, .size = n};
    return true;
}

static bool string_read(struct json *j, struct json_text *out) {
    struct json_text raw;
    size_t escapes;
    if (!string_scan(j, &raw, &escapes)) return false;
    if (escapes) return string_unescape(j, raw, out);
    *out = raw;
    return true;
}

bool json_string(struct json *j, struct json_text *out) {
    return expect_kind(j, JSON_STRING) && string_read(j, out);
}

// Moves to the next key of an object and over its opening quote's blanks.
static bool key_begin(struct json *j) {
    if (!container_next(j, '}', "',' or '}'")) return false;
    return next_byte(j) == '"' ? true : fail_found(j, "a key in quotes");
}

static bool key_colon(struct json *j) {
    if (next_byte(j) != ':') return fail_found(j, "':'");
    j->at++;
    return true;
}

bool json_key(struct json *j, struct json_text *key) {
    return key_begin(j) && string_read(j, key) && key_colon(j);
}

// ---- literals

static bool literal_read(struct json *j, const char *word) {
    size_t n = strlen(word);
    if (j->size - j->at < n || memcmp(j->text + j->at, word, n) != 0) return fail_found(j, "a value");
    j->at += n;
    return true;
}

bool json_bool(struct json *j, bool *out) {
    if (!expect_kind(j, JSON_BOOL)) return false;
    bool x = j->text[j->at] == 't';
    if (!literal_read(j, x ? "true" : "false")) return false;
    *out = x;
    return true;
}

bool json_null(struct json *j) {
    return expect_kind(j, JSON_NULL) && literal_read(j, "null");
}

// ---- numbers

struct number {
    size_t begin, end; // bytes of the text
    bool negative, integer, exact;
    uint64_t digits; // all digits as one integer, when `exact`
    int64_t exponent;
};

static bool is_digit(const struct json *j) {
    return j->at < j->size && j->text[j->at] >= '0' && j->text[j->at] <= '9';
}

// One or more digits into n->digits; 19 always fit.
static bool digits_scan(struct json *j, struct number *n) {
    if (!is_digit(j)) return fail_found(j, "a digit");
    for (; is_digit(j); j->at++)
        if (n->digits > (UINT64_MAX - 9) / 10 && n->exact) {
            uint64_t shifted;
            n->exact = !__builtin_mul_overflow(n->digits, 10u, &shifted) &&
                       !__builtin_add_overflow(shifted, (uint64_t)(j->text[j->at] - '0'), &n->digits);
        } else if (n->exact) {
            n->digits = n->digits * 10 + (uint64_t)(j->text[j->at] - '0');
        }
    return true;
}

static bool number_scan(struct json *j, struct number *n) {
    if (!expect_kind(j, JSON_NUMBER)) return false;
    *n = (struct number){.begin = j->at, .integer = true, .exact = true};
    n->negative = j->text[j->at] == '-';
    j->at += n->negative;
    bool zero = j->at < j->size && j->text[j->at] == '0';
    if (zero)
        j->at++;
    else if (!digits_scan(j, n))
        return false;
    if (zero && is_digit(j)) return json_fail(j, "a digit after a leading zero");
    if (j->at < j->size && j->text[j->at] == '.') {
        size_t point = ++j->at;
        n->integer = false;
        if (!digits_scan(j, n)) return false;
        n->exponent = -(int64_t)(j->at - point);
    }
    if (j->at < j->size && (j->text[j->at] | 0x20) == 'e') {
        j->at++;
        n->integer = false;
        bool negative = j->at < j->size && j->text[j->at] == '-';
        if (negative || (j->at < j->size && j->text[j->at] == '+')) j->at++;
        struct number e = {.exact = true};
        if (!digits_scan(j, &e)) return false;
        // Beyond this every number is zero or infinite, whatever its digits: texts are far shorter.
        int64_t size = e.exact && e.digits < INT64_MAX / 4 ? (int64_t)e.digits : INT64_MAX / 4;
        n->exponent += negative ? -size : size;
    }
    n->end = j->at;
    return true;
}

// Correctly rounded in any case; the locale's decimal point must not matter.
static bool number_slow(struct json *j, const struct number *n, double *out) {
    size_t size = n->end - n->begin;
    char small[128], *text = size < sizeof small ? small : mem_alloc(size + 1);
    if (!text) return fail_memory(j);
    memcpy(text, j->text + n->begin, size);
    text[size] = '\0';
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); // the C library's own, nothing is allocated
    if (c) *out = strtod_l(text, NULL, c);
    if (c) freelocale(c);
    if (text != small) mem_free(text);
    return c ? true : fail_memory(j);
}

bool json_double(struct json *j, double *out) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct number n;
    if (!number_scan(j, &n)) return false;
    double x;
    if (n.exact && n.digits <= (uint64_t)1 << 53 && n.exponent >= -22 && n.exponent <= 22) {
        // Both factors are exact, so one rounding is all there is.
        x = n.exponent < 0 ? (double)n.digits / powers[-n.exponent] : (double)n.digits * powers[n.exponent];
        x = n.negative ? -x : x;
    } else if (!number_slow(j, &n, &x)) {
        return false;
    }
    if (x > DBL_MAX || x < -DBL_MAX) {
        j->at = n.begin;
        return json_fail(j, "the number is too large");
    }
    *out = x;
    return true;
}

static bool integer_scan(struct json *j, struct number *n) {
    if (!number_scan(j, n)) return false;
    if (n->integer && n->exact) return true;
    j->at = n->begin;
    return json_fail(j, n->integer ? "the integer is too large" : "found a fraction, expected an integer");
}

bool json_u64(struct json *j, uint64_t *out) {
    struct number n;
    if (!integer_scan(j, &n)) return false;
    if (n.negative && n.digits != 0) {
        j->at = n.begin;
        return json_fail(j, "found a negative number, expected 0 or more");
    }
    *out = n.digits;
    return true;
}

bool json_i64(struct json *j, int64_t *out) {
    struct number n;
    if (!integer_scan(j, &n)) return false;
    if (n.digits > (uint64_t)INT64_MAX + n.negative) {
        j->at = n.begin;
        return json_fail(j, "the integer is too large");
    }
    *out = n.negative ? (int64_t)(0 - n.digits) : (int64_t)n.digits;
    return true;
}

// ---- skipping

// Depth is bounded by JSON_DEPTH, so the recursion is.
bool json_skip(struct json *j) {
    struct json_text raw;
    struct number n;
    size_t escapes;
    bool truth;
    switch (json_peek(j)) {
    case JSON_NULL:
        return json_null(j);
    case JSON_BOOL:
        return json_bool(j, &truth);
    case JSON_NUMBER:
        return number_scan(j, &n);
    case JSON_STRING:
        return string_scan(j, &raw, &escapes);
    case JSON_ARRAY:
        if (!json_array_begin(j)) return false;
        while (json_item(j))
            if (!json_skip(j)) return false;
        return !j->failed;
    case JSON_OBJECT:
        if (!json_object_begin(j)) return false;
        while (key_begin(j))
            if (!string_scan(j, &raw, &escapes) || !key_colon(j) || !json_skip(j)) return false;
        return !j->failed;
    case JSON_ERROR:
        break;
    }
    return false;
}

bool json_end(struct json *j) {
    if (j->failed) return false;
    ASSERT(j->depth == 0);
    next_byte(j);
    return j->at == j->size ? true : fail_found(j, "the end of the text");
}
