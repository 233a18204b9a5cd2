// Errors as values: a code, the place, and one complete line of text.
#include "base/base.h"

#include <errno.h>
#include <string.h>

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

const char *sabok_version(void) {
    return TEXT(SABOK_VERSION_MAJOR) "." TEXT(SABOK_VERSION_MINOR) "." TEXT(SABOK_VERSION_PATCH);
}

const char *sabok_status_name(sabok_status code) {
    switch (code) {
    case SABOK_OK:
        return "SABOK_OK";
    case SABOK_EINVAL:
        return "SABOK_EINVAL";
    case SABOK_ENOTFOUND:
        return "SABOK_ENOTFOUND";
    case SABOK_EIO:
        return "SABOK_EIO";
    case SABOK_EFORMAT:
        return "SABOK_EFORMAT";
    case SABOK_ESHAPE:
        return "SABOK_ESHAPE";
    case SABOK_EUNSUPPORTED:
        return "SABOK_EUNSUPPORTED";
    case SABOK_ENOMEM:
        return "SABOK_ENOMEM";
    case SABOK_ENUMERIC:
        return "SABOK_ENUMERIC";
    case SABOK_ECANCELED:
        return "SABOK_ECANCELED";
    }
    return "unknown status";
}

// Names and values from files end up in messages: no byte of them may break the line or steer a terminal, and
// a cut must not split a character.
static void line_clean(char *text, size_t size) {
    size_t n = strlen(text);
    if (n == size - 1) {
        size_t start = n;
        while (start > 0 && n - start < 3 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
            start--;
        if (start > 0 && (unsigned char)text[start - 1] >= 0xc0) {
            unsigned lead = (unsigned char)text[start - 1];
            size_t want = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
            if (n - start < want) text[start - 1] = '\0';
        }
    }
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
}

static sabok_status error_fill(sabok_error *err, sabok_status code, const char *where, uint64_t offset,
                               const char *format, va_list args) {
    if (!err) return code;
    // The new text may be made of the old one's parts.
    sabok_error e = {.code = code, .offset = offset};
    snprintf(e.where, sizeof e.where, "%s", where ? where : "");
    line_clean(e.where, sizeof e.where);
    int n = e.where[0] ? snprintf(e.message, sizeof e.message, "%s: ", e.where) : 0;
    size_t at = n > 0 ? (size_t)n : 0;
    if (offset != SABOK_NO_OFFSET) {
        n = snprintf(e.message + at, sizeof e.message - at, "byte %llu: ", (unsigned long long)offset);
        at += n > 0 ? (size_t)n : 0;
    }
    vsnprintf(e.message + at, sizeof e.message - at, format, args);
    line_clean(e.message, sizeof e.message);
    *err = e;
    return code;
}

sabok_status error_set(sabok_error *err, sabok_status code, const char *where, const char *format, ...) {
    va_list args;
    va_start(args, format);
    error_fill(err, code, where, SABOK_NO_OFFSET, format, args);
    va_end(args);
    return code;
}

sabok_status error_at(sabok_error *err, sabok_status code, const char *where, uint64_t offset,
                      const char *format, ...) {
    va_list args;
    va_start(args, format);
    error_fill(err, code, where, offset, format, args);
    va_end(args);
    return code;
}

sabok_status error_memory(sabok_error *err, const char *where) {
    return error_set(err, SABOK_ENOMEM, where, "out of memory");
}

sabok_status error_errno(sabok_error *err, const char *where, const char *what) {
    int number = errno;
    sabok_status code = number == ENOENT || number == ENOTDIR ? SABOK_ENOTFOUND
                        : number == ENOMEM                    ? SABOK_ENOMEM
                                                              : SABOK_EIO;
    // The untranslated text: a message reads the same in every locale, and the call is safe in any thread.
    const char *text = strerrordesc_np(number);
    if (!text) return error_set(err, code, where, "%s: error %d", what, number);
    return error_set(err, code, where, "%s: %s", what, text);
}
