// A writer of JSON into a growing buffer, spelled as Python's json.dumps(ensure_ascii=False) spells it.
#include "base/base.h"

#include <string.h>

void json_out_free(struct json_out *o) {
    mem_free(o->data);
    *o = (struct json_out){.spaced = o->spaced};
}

static char *out_reserve(struct json_out *o, size_t n) {
    size_t need;
    if (o->failed) return NULL;
    if (!add_ok(o->size, n, &need) || !mem_grow((void **)&o->data, &o->cap, need, 1)) {
        o->failed = true;
        return NULL;
    }
    return o->data + o->size;
}

static void out_put(struct json_out *o, const char *s, size_t n) {
    char *to = out_reserve(o, n);
    if (!to) return;
    if (n) memcpy(to, s, n);
    o->size += n;
}

// The comma that separates an item from the one before it.
static void out_separate(struct json_out *o) {
    if (!o->first && o->size > 0 && o->data[o->size - 1] != '\n') out_put(o, ", ", o->spaced ? 2 : 1);
    o->first = false;
}

void json_out_begin(struct json_out *o, char open) {
    out_separate(o);
    out_put(o, &open, 1);
    o->first = true;
}

void json_out_end(struct json_out *o, char close) {
    out_put(o, &close, 1);
    o->first = false;
}

void json_out_key(struct json_out *o, const char *key) {
    json_out_string(o, key, strlen(key));
    out_put(o, ": ", o->spaced ? 2 : 1);
    o->first = true;
}

// Bytes at the front of p[0..n) that may stand in a JSON string as they are.
static size_t plain_length(const unsigned char *p, size_t n) {
    size_t i = 0;
    while (i < n && p[i] >= 0x20 && p[i] < 0x80 && p[i] != '"' && p[i] != '\\')
        i++;
    return i;
}

// Reads one UTF-8 sequence, first byte >= 0x80: its length, with *valid false when that is a maximal invalid
// subsequence (Unicode 3.9), to be replaced as a whole.
static size_t utf8_step(const unsigned char *p, size_t n, bool *valid) {
    unsigned a = p[0];
    size_t want = a < 0xc2 ? 1 : a < 0xe0 ? 2 : a < 0xf0 ? 3 : a < 0xf5 ? 4 : 1, i = 1;
    unsigned low = a == 0xe0 ? 0xa0 : a == 0xf0 ? 0x90 : 0x80;
    unsigned high = a == 0xed ? 0x9f : a == 0xf4 ? 0x8f : 0xbf;
    for (; i < want && i < n && p[i] >= low && p[i] <= high; i++) {
        low = 0x80;
        high = 0xbf;
    }
    *valid = want > 1 && i == want;
    return i;
}

// The escape of one byte into out; returns its length, at most 6.
static size_t escape_put(unsigned char c, char out[6]) {
    static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt", hex[] = "0123456789abcdef";
    const char *name = c ? strchr(named, c) : NULL;
    out[0] = '\\';
    if (name) {
        out[1] = letters[name - named];
        return 2;
    }
    memcpy(out + 1, "u00", 3);
    out[4] = hex[c >> 4];
    out[5] = hex[c & 15];
    return 6;
}

// The next piece of a JSON string's inside: bytes of s as they are, or an escape in `piece`.
static size_t string_piece(const unsigned char *s, size_t n, char piece[6], const char **out,
                           size_t *length) {
    size_t run = plain_length(s, n);
    *out = (const char *)s;
    *length = run;
    if (run) return run;
    if (s[0] < 0x80) {
        *out = piece;
        *length = escape_put(s[0], piece);
        return 1;
    }
    bool valid;
    size_t used = utf8_step(s, n, &valid);
    *length = used;
    if (!valid) {
        *out = "\xef\xbf\xbd";
        *length = 3;
    }
    return used;
}

void json_out_string(struct json_out *o, const char *s, size_t n) {
    out_separate(o);
    out_put(o, "\"", 1);
    char piece[6];
    for (size_t at = 0; at < n;) {
        const char *part;
        size_t length;
        at += string_piece((const unsigned char *)s + at, n - at, piece, &part, &length);
        out_put(o, part, length);
    }
    out_put(o, "\"", 1);
}

size_t sabok_format_json_string(const char *text, size_t length, char *out, size_t size) {
    size_t total = 0;
    char piece[6];
    if (total < size) out[total] = '"';
    total++;
    for (size_t at = 0; at < length;) {
        const char *part;
        size_t n;
        at += string_piece((const unsigned char *)text + at, length - at, piece, &part, &n);
        if (total < size) memcpy(out + total, part, size_min(n, size - total));
        total += n;
    }
    if (total < size) out[total] = '"';
    total++;
    if (total < size) out[total] = '\0';
    return total;
}

void json_out_u64(struct json_out *o, uint64_t x) {
    char text[20];
    size_t at = sizeof text;
    do
        text[--at] = (char)('0' + x % 10);
    while ((x /= 10) != 0);
    out_separate(o);
    out_put(o, text + at, sizeof text - at);
}

void json_out_double(struct json_out *o, double x) {
    out_separate(o);
    char *to = out_reserve(o, 32);
    if (to) o->size += sabok_format_double(x, to);
}

void json_out_float(struct json_out *o, float x) {
    out_separate(o);
    char *to = out_reserve(o, 32);
    if (to) o->size += sabok_format_float(x, to);
}

void json_out_bool(struct json_out *o, bool x) {
    out_separate(o);
    out_put(o, x ? "true" : "false", x ? 4 : 5);
}

void json_out_raw(struct json_out *o, const char *s, size_t n) {
    bool line = n > 0 && s[0] == '\n';
    if (!line) out_separate(o);
    out_put(o, s, n);
    if (line) o->first = true;
}
