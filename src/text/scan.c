// Matchers of the patterns that byte-level tokenizers use most, over UTF-8. Each alternative of the pattern is one test,
// in the pattern's order.
#include "text/regex.h"
#include "text/scan_exceptions.h"

#include <utf8proc.h>

static bool in_ranges(const uint32_t (*ranges)[2], size_t n, uint32_t c) {
    for (size_t i = 0; i < n; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1]) return true;
    return false;
}

static enum scan_class find_class(uint32_t c) {
    if (char_flags(c) & CHAR_SPACE) return SCAN_SPACE;
    const char *category = utf8proc_category_string((utf8proc_int32_t)c);
    if (category[0] == 'L' || in_ranges(scan_letters, COUNT(scan_letters), c)) return SCAN_LETTER;
    if (category[0] == 'N' || in_ranges(scan_numbers, COUNT(scan_numbers), c)) return SCAN_NUMBER;
    return SCAN_OTHER;
}

// Every code point's class once it has been asked for. Threads that ask at the same time write the same value.
static _Atomic uint8_t classes[0x110000];

enum scan_class scan_class(uint32_t c) {
    uint8_t class = atomic_load_explicit(&classes[c], memory_order_relaxed);
    if (class == SCAN_UNKNOWN) {
        class = (uint8_t)find_class(c);
        atomic_store_explicit(&classes[c], class, memory_order_relaxed);
    }
    return (enum scan_class) class;
}

// The code point at s[at]; s is valid UTF-8.
static inline uint32_t point_at(const uint8_t *s, size_t at, size_t *width) {
    const uint32_t a = s[at];
    if (a < 0x80) {
        *width = 1;
        return a;
    }
    if (a < 0xe0) {
        *width = 2;
        return (a & 0x1f) << 6 | (s[at + 1] & 0x3fu);
    }
    if (a < 0xf0) {
        *width = 3;
        return (a & 0xf) << 12 | (s[at + 1] & 0x3fu) << 6 | (s[at + 2] & 0x3fu);
    }
    *width = 4;
    return (a & 7) << 18 | (s[at + 1] & 0x3fu) << 12 | (s[at + 2] & 0x3fu) << 6 | (s[at + 3] & 0x3fu);
}

static inline enum scan_class class_at(const uint8_t *s, size_t at, size_t *width) {
    return scan_class(point_at(s, at, width));
}

// The end of the run of `class` from at on, of at most `most` characters.
static size_t run_end(const uint8_t *s, size_t size, size_t at, enum scan_class class, size_t most) {
    size_t width;
    if (class == SCAN_LETTER) // the common case
        while (at < size && most > 0 && (uint8_t)((s[at] | 0x20) - 'a') < 26) {
            at++;
            most--;
        }
    while (at < size && most > 0 && class_at(s, at, &width) == class) {
        at += width;
        most--;
    }
    return at;
}

// The end of a contraction, 's 't 're 've 'm 'll 'd, at s[at], or 0.
static size_t contraction(const uint8_t *s, size_t size, size_t at, bool any_case) {
    if (s[at] != '\'' || size - at < 2) return 0;
    const uint8_t fold = any_case ? 0x20 : 0;
    const uint8_t a = s[at + 1] | fold;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return at + 2;
    if (size - at < 3) return 0;
    if (any_case && s[at + 1] == 0xc5 && s[at + 2] == 0xbf) return at + 3; // U+017F, the long s
    const uint8_t b = s[at + 2] | fold;
    return (a == 'l' && b == 'l') || ((a == 'v' || a == 'r') && b == 'e') ? at + 3 : 0;
}

// \s+(?!\S)|\s+ at a space.
static size_t spaces_end(const uint8_t *s, size_t size, size_t at) {
    size_t end = at, last = at, width;
    while (end < size && class_at(s, end, &width) == SCAN_SPACE) {
        last = end;
        end += width;
    }
    return end == size || last == at ? end : last;
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t scan_gpt2(const uint8_t *s, size_t size, size_t at) {
    size_t end = contraction(s, size, at, false), width;
    if (end) return end;
    const size_t begin = at + (s[at] == ' ' && at + 1 < size);
    const enum scan_class class = class_at(s, begin, &width);
    return class == SCAN_SPACE ? spaces_end(s, size, at) : run_end(s, size, begin + width, class, SIZE_MAX);
}

static inline bool is_line_end(uint8_t c) {
    return c == '\r' || c == '\n';
}

// \s*[\r\n]+|\s+(?!\S)|\s+ at a space.
static size_t lines_end(const uint8_t *s, size_t size, size_t at) {
    size_t end = at, line = at, width;
    while (end < size && class_at(s, end, &width) == SCAN_SPACE) {
        end += width;
        if (is_line_end(s[end - 1])) line = end;
    }
    return line > at ? line : spaces_end(s, size, at);
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
size_t scan_gpt4(const uint8_t *s, size_t size, size_t at, unsigned digits) {
    size_t end = contraction(s, size, at, true), width, next;
    if (end) return end;
    enum scan_class class = class_at(s, at, &width);
    if (class == SCAN_LETTER) return run_end(s, size, at + width, SCAN_LETTER, SIZE_MAX);
    if (class == SCAN_NUMBER) return run_end(s, size, at, SCAN_NUMBER, digits);
    if (!is_line_end(s[at]) && at + width < size && class_at(s, at + width, &next) == SCAN_LETTER)
        return run_end(s, size, at + width + next, SCAN_LETTER, SIZE_MAX);
    if (s[at] == ' ' && at + 1 < size && class_at(s, at + 1, &next) == SCAN_OTHER) {
        at++;
        class = SCAN_OTHER;
    }
    if (class != SCAN_OTHER) return lines_end(s, size, at);
    end = run_end(s, size, at, SCAN_OTHER, SIZE_MAX);
    while (end < size && is_line_end(s[end]))
        end++;
    return end;
}
