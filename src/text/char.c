#include "text/char.h"

#include "text/char_exceptions.h"

#include <string.h>
#include <utf8proc.h>

// Exceptions are sorted; binary search by the last code point of each range.
static unsigned exception_flags(uint32_t c) {
    size_t low = 0, high = COUNT(char_exceptions);
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (char_exceptions[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low < COUNT(char_exceptions) && char_exceptions[low].first <= c ? char_exceptions[low].flags : 0;
}

static bool is_ideograph(uint32_t c) {
    // 0x2b920 is the reference's own number, where the block starts at 0x2b820.
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
           (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) || (c >= 0x2f800 && c <= 0x2fa1f);
}

// Letters in circles and squares: symbols by category, letters by the Alphabetic property.
static bool is_enclosed_letter(uint32_t c) {
    return (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) || (c >= 0x1f150 && c <= 0x1f169) ||
           (c >= 0x1f170 && c <= 0x1f189);
}

static unsigned category_flags(uint32_t c) {
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return CHAR_WORD;
    case UTF8PROC_CATEGORY_MN:
        return CHAR_WORD | CHAR_MARK | CHAR_NONSPACING;
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return CHAR_WORD | CHAR_MARK;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
        return CHAR_WORD | CHAR_NUMERIC;
    case UTF8PROC_CATEGORY_NO:
        return CHAR_NUMERIC;
    case UTF8PROC_CATEGORY_PC:
        return CHAR_WORD | CHAR_PUNCT;
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
        return CHAR_PUNCT;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return CHAR_SPACE;
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
        return CHAR_OTHER;
    default:
        return 0;
    }
}

unsigned char_flags(uint32_t c) {
    unsigned flags = category_flags(c);
    if (c < 0x80) {
        const bool symbol = (c >= 0x21 && c <= 0x2f) || (c >= 0x3a && c <= 0x40) ||
                            (c >= 0x5b && c <= 0x60) || (c >= 0x7b && c <= 0x7e);
        if (symbol) flags |= CHAR_PUNCT;
        if (c >= 9 && c <= 13) flags |= CHAR_SPACE;
        return flags;
    }
    if (c == 0x85) flags |= CHAR_SPACE;
    if (c == 0x200c || c == 0x200d || is_enclosed_letter(c)) flags |= CHAR_WORD;
    if (is_ideograph(c)) flags |= CHAR_IDEOGRAPH;
    const unsigned except = exception_flags(c);
    if (except & EXCEPT_SPACE) flags ^= CHAR_SPACE;
    if (except & EXCEPT_OTHER) flags ^= CHAR_OTHER;
    if (except & EXCEPT_PUNCT) flags ^= CHAR_PUNCT;
    if (except & EXCEPT_NONSPACING) flags ^= CHAR_NONSPACING;
    if (except & EXCEPT_MARK) flags ^= CHAR_MARK;
    if (except & EXCEPT_WORD) flags ^= CHAR_WORD;
    if (except & EXCEPT_NUMERIC) flags ^= CHAR_NUMERIC;
    return flags;
}

unsigned char_combining(uint32_t c) {
    if (c < 0x300) return 0;
    const int class = utf8proc_get_property((utf8proc_int32_t)c)->combining_class;
    if (class == 0 || (exception_flags(c) & EXCEPT_STARTER)) return 0;
    return (unsigned)class;
}

size_t char_lower(uint32_t c, uint32_t out[CHAR_LOWER_MAX]) {
    if (c < 0x80) {
        out[0] = c >= 'A' && c <= 'Z' ? c + 32 : c;
        return 1;
    }
    if (c == 0x130) { // the only letter whose lower-case form is two code points whatever stands around it
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    for (size_t i = 0; i < COUNT(char_lower_exceptions); i++)
        if (c >= char_lower_exceptions[i].first && c <= char_lower_exceptions[i].last) {
            out[0] = (uint32_t)((int32_t)c + char_lower_exceptions[i].step);
            return 1;
        }
    out[0] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
    return 1;
}

size_t char_decompose(uint32_t c, bool compat, uint32_t out[CHAR_DECOMPOSED_MAX]) {
    out[0] = c;
    if (c < 0xa0) return 1;
    const unsigned except = exception_flags(c);
    if (except & (compat ? EXCEPT_NO_COMPAT : EXCEPT_NO_CANONICAL)) return 1;
    utf8proc_int32_t buffer[CHAR_DECOMPOSED_MAX];
    int boundary = 0;
    const utf8proc_option_t options = UTF8PROC_DECOMPOSE | (compat ? UTF8PROC_COMPAT : 0);
    const utf8proc_ssize_t n =
        utf8proc_decompose_char((utf8proc_int32_t)c, buffer, CHAR_DECOMPOSED_MAX, options, &boundary);
    if (n < 1 || n > CHAR_DECOMPOSED_MAX) return 1;
    for (utf8proc_ssize_t i = 0; i < n; i++)
        out[i] = (uint32_t)buffer[i];
    return (size_t)n;
}

uint32_t char_compose(uint32_t a, uint32_t b) {
    if (b < 0x300) return 0; // no ASCII or Latin letter is the second half of a pair
    if (b == 0x11a7)
        return 0; // one before the first final jamo; utf8proc takes it for an absent one, and drops it
    utf8proc_int32_t pair[3] = {(utf8proc_int32_t)a, (utf8proc_int32_t)b, 0};
    if (utf8proc_normalize_utf32(pair, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE) != 1) return 0;
    const uint32_t c = (uint32_t)pair[0];
    return exception_flags(c) & EXCEPT_NO_CANONICAL ? 0 : c;
}

size_t utf8_read(const uint8_t *s, size_t n, uint32_t *c) {
    const uint8_t lead = s[0];
    if (lead < 0x80) {
        *c = lead;
        return 1;
    }
    *c = CHAR_REPLACEMENT;
    if (lead < 0xc2 || lead > 0xf4) return 1;
    const size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    // The second byte's range shuts out overlong forms, surrogates and what lies beyond U+10FFFF.
    const uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (n < 2 || s[1] < low || s[1] > high) return 1;
    uint32_t value = lead & (0xffu >> (size + 1));
    value = value << 6 | (s[1] & 0x3fu);
    for (size_t i = 2; i < size; i++) {
        if (i >= n || (s[i] & 0xc0) != 0x80) return i;
        value = value << 6 | (s[i] & 0x3fu);
    }
    *c = value;
    return size;
}

size_t utf8_check(const char *s, size_t n) {
    for (size_t i = 0; i < n;) {
        uint64_t eight;
        if (n - i >= sizeof eight) {
            memcpy(&eight, s + i, sizeof eight);
            if (!(eight & 0x8080808080808080u)) {
                i += sizeof eight;
                continue;
            }
        }
        uint32_t c;
        const size_t k = utf8_read((const uint8_t *)s + i, n - i, &c);
        if (c == CHAR_REPLACEMENT && (k < 3 || (uint8_t)s[i] != 0xef)) return i;
        i += k;
    }
    return n;
}

size_t utf8_write(uint32_t c, char *out) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    const size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00u >> size & 0xff) | c);
    return size;
}
