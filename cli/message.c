// What goes to stderr, and the nearest name to a misspelt one.
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void message(const char *format, va_list list) {
    char line[2048];
    vsnprintf(line, sizeof line, format, list);
    // Names of files may hold line ends; a message is one line.
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F) *c = '?';
    fprintf(stderr, "sabok: %s\n", line);
}

int fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    message(format, list);
    va_end(list);
    return EXIT_FAILED;
}

int fail_error(const sabok_error *err) {
    return fail("%s", err->message[0] ? err->message : sabok_status_name(err->code));
}

_Noreturn void usage_fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    message(format, list);
    va_end(list);
    sink_abandon();
    exit(EXIT_USAGE);
}

static void message_log(void *ctx, sabok_log_level level, const char *text) {
    (void)ctx;
    fprintf(stderr, "sabok: %s: %s\n", level == SABOK_LOG_ERROR ? "error" : "warning", text);
}

void message_listen(bool quiet) {
    if (!quiet) sabok_log_set(message_log, NULL, SABOK_LOG_WARNING);
}

// ---- nearest name

#define WORD_MAX 64

static size_t least(size_t a, size_t b, size_t c) {
    const size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static bool letter_equal(char a, char b) {
    return (a == '-' ? '_' : a) == (b == '-' ? '_' : b);
}

// Letters to insert, delete or change to make b of a.
static size_t distance(const char *a, const char *b) {
    const size_t m = strlen(b);
    size_t row[WORD_MAX + 1];
    if (m > WORD_MAX) return SIZE_MAX;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const size_t change = diagonal + !letter_equal(a[i - 1], b[j - 1]);
            diagonal = row[j];
            row[j] = least(row[j] + 1, row[j - 1] + 1, change);
        }
    }
    return row[m];
}

const char *nearest_hint(const char *word, const char *prefix, const char *const *names, size_t n) {
    static char hint[128];
    const size_t length = strlen(word);
    size_t best = length / 3 + 1, found = n;
    hint[0] = '\0';
    if (length > WORD_MAX) return hint;
    for (size_t i = 0; i < n; i++) {
        const size_t d = distance(word, names[i]);
        const bool starts = length >= 3 && strncmp(word, names[i], length) == 0;
        if (d <= best || (starts && found == n)) {
            if (d < best || found == n) found = i;
            if (d <= best) best = d;
        }
    }
    if (found < n) snprintf(hint, sizeof hint, "; did you mean %s%s?", prefix, names[found]);
    return hint;
}
