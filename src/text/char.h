// char: code points as the reference tokeniser classes them, and UTF-8.
// The tables are utf8proc's, corrected by char_exceptions.h where the reference's Unicode versions differ.
#ifndef SABOK_CHAR_H
#define SABOK_CHAR_H

#include "base/base.h"

#define CHAR_REPLACEMENT 0xfffdu
#define CHAR_DECOMPOSED_MAX 18 // code points of the longest compatibility decomposition (U+FDFA)
#define CHAR_LOWER_MAX 2       // code points of the longest lower-case form (U+0130)

enum char_flag {
    CHAR_SPACE = 1,       // White_Space
    CHAR_OTHER = 2,       // Cc, Cf, Co
    CHAR_PUNCT = 4,       // P*, and every ASCII symbol
    CHAR_NONSPACING = 8,  // Mn
    CHAR_MARK = 16,       // M*
    CHAR_WORD = 32,       // \w of a regular expression
    CHAR_NUMERIC = 64,    // N*
    CHAR_IDEOGRAPH = 128, // the blocks BERT puts spaces round
};
unsigned char_flags(uint32_t c); // char_flag bits; c <= 0x10ffff

// Canonical combining class; 0 is a starter.
unsigned char_combining(uint32_t c);
// Lower-case form, without context (a final sigma is an ordinary sigma); returns the number of code points.
size_t char_lower(uint32_t c, uint32_t out[CHAR_LOWER_MAX]);
// Full decomposition, unordered; returns the number of code points, at least 1.
size_t char_decompose(uint32_t c, bool compat, uint32_t out[CHAR_DECOMPOSED_MAX]);
// The primary composite of a followed by b, or 0.
uint32_t char_compose(uint32_t a, uint32_t b);

// Reads one code point of s [n], n >= 1; returns the bytes read. Each maximal invalid subsequence
// (Unicode 3.9) is one U+FFFD.
size_t utf8_read(const uint8_t *s, size_t n, uint32_t *c);
// The first byte of s [n] that is not UTF-8; n when all are.
size_t utf8_check(const char *s, size_t n);
// Writes c (a scalar value); returns the bytes written, at most 4.
size_t utf8_write(uint32_t c, char *out);

#endif
