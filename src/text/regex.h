// regex: patterns of tokenizer files. Those in wide use have matchers of their own (scan.c); the rest are PCRE2's, with
// the classes of characters that the reference has.
#ifndef SABOK_REGEX_H
#define SABOK_REGEX_H

#include "text/tokenizer.h"

enum regex_kind { REGEX_PCRE, REGEX_LITERAL, REGEX_SPACES, REGEX_GPT2, REGEX_GPT4 };
struct regex;
// From {"String": ...} or {"Regex": ...}; NULL after json_fail.
struct regex *regex_read(struct json *j);
struct regex *regex_make(struct json *j, struct json_text pattern, bool literal, size_t at);
void regex_free(struct regex *r);
enum regex_kind regex_kind(const struct regex *r);
unsigned regex_digits(const struct regex *r); // of REGEX_GPT4: the most digits of a match
size_t regex_least(const struct regex *r);    // characters of the shortest match, or fewer
// The literal text; empty for other kinds.
struct json_text regex_literal(const struct regex *r);
// Every match in text [size], which is UTF-8, from the left, as spans of bytes appended to out. *stuck: the pattern took
// too many steps. False when out of memory or stuck.
bool regex_find(const struct regex *r, const char *text, size_t size, struct spans *out, bool *stuck);

// (scan.c) The end of the match that begins at s[at], at < size; s is UTF-8. A match is never empty, and the next begins
// where it ends.
size_t scan_gpt2(const uint8_t *s, size_t size, size_t at);
size_t scan_gpt4(const uint8_t *s, size_t size, size_t at, unsigned digits);
enum scan_class { SCAN_UNKNOWN, SCAN_LETTER, SCAN_NUMBER, SCAN_SPACE, SCAN_OTHER };
enum scan_class scan_class(uint32_t c);

#endif
