// Texts made to be slow: a unit again and again.
#ifndef SABOK_TEST_HOSTILE_H
#define SABOK_TEST_HOSTILE_H

#include <stdlib.h>
#include <string.h>

struct hostile {
    const char *name, *unit; // repeated
    const char *head;
};
static const struct hostile hostiles[] = {
    {"one word", "a", ""},
    {"one unknown word", "q", ""},
    {"marks", "\xcc\x81", "a"},
    {"marks of two classes", "\xcc\x81\xcc\x96", "a"},
    {"marks that are not stripped", "\xf0\x9d\x85\xa5\xf0\x9d\x85\xad", "a"},
    {"bad bytes", "\xff", ""},
    {"half a character", "\xf0\x90\x80", ""},
    {"spaces", " ", ""},
    {"spaces and a token", " ", "<Tooro>"},
    {"heads of added tokens", "<T", ""},
    {"added tokens", "<Tolro>  ", ""},
    {"ideographs", "\xe5\xa4\xa7", ""},
    {"Hangul", "\xea\xb0\x81", ""},
    {"long decompositions", "\xef\xb7\xba", ""},
    {"punctuation", "!?", ""},
    {"brackets", "([{<", ""},
    {"metaspaces", "\xe2\x96\x81", ""},
    {"marks on spaces", " \xcc\x81", ""},
    {"digits", "1,", ""},
    {"NUL", "\1", ""},
    {"words of 16 and 17", "abcdefghijklmnop abcdefghijklmnopq ", ""},
};

static char *repeat(const struct hostile *h, size_t size, size_t *out) {
    const size_t head = strlen(h->head), unit = strlen(h->unit);
    char *text = malloc(size + head + unit);
    memcpy(text, h->head, head);
    size_t n = head;
    for (; n < size; n += unit)
        memcpy(text + n, h->unit, unit);
    for (size_t i = 0; i < n; i++)
        if (text[i] == 1) text[i] = 0;
    *out = n;
    return text;
}

#endif
