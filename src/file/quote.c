// Names and values from files inside error messages.
#include "file/file.h"

#include <string.h>

// Bytes of the UTF-8 character at text[0, n), or 0 when it is not one.
static size_t quote_character(const unsigned char *text, size_t n) {
    size_t length = text[0] < 0x80 ? 1 : text[0] >= 0xF0 ? 4 : text[0] >= 0xE0 ? 3 : text[0] >= 0xC2 ? 2 : 0;
    if (!length || length > n || text[0] > 0xF4 || text[0] < 0x20 || text[0] == 0x7F) return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80) return 0;
    return length;
}

const char *quote_text(const char *text, size_t n, char out[QUOTE_TEXT]) {
    size_t at = 0;
    for (size_t i = 0; i < n;) {
        size_t length = quote_character((const unsigned char *)text + i, n - i);
        size_t copy = length ? length : 1;
        if (at + copy > QUOTE_TEXT - 4) {
            memcpy(out + at, "...", 3);
            at += 3;
            break;
        }
        if (length)
            memcpy(out + at, text + i, length);
        else
            out[at] = '?';
        at += copy;
        i += copy;
    }
    out[at] = '\0';
    return out;
}
