// Reads a text with base's reader and with jansson, and compares verdicts and values.
//
// Deliberate differences, on what RFC 8259 leaves to the implementation: base's reader stops at a depth of 64
// (jansson: 2,048), and takes a NUL character in a key (jansson refuses it). And one fault of jansson's: it
// loses a raw NUL byte that follows a number or a word, where the grammar has none.
#ifndef TEST_BASE_JSON_ORACLE_H
#define TEST_BASE_JSON_ORACLE_H

#include "base/base.h"

#include <string.h>

// The names that both have: jansson's get another prefix here. None of its functions so renamed is called.
#define json_null jansson_null
#define json_string jansson_string
#define JSON_NULL JANSSON_NULL
#define JSON_STRING JANSSON_STRING
#define JSON_ARRAY JANSSON_ARRAY
#define JSON_OBJECT JANSSON_OBJECT
#include <jansson.h>
#undef json_null
#undef json_string
#undef JSON_NULL
#undef JSON_STRING
#undef JSON_ARRAY
#undef JSON_OBJECT

// Reads a number as jansson does: an integer when it is spelled as one.
static inline bool oracle_number(struct json *j, bool *real, double *d, int64_t *n) {
    struct json ahead = *j;
    ahead.err = NULL;
    if (!json_skip(&ahead)) return json_skip(j);
    *real = false;
    for (size_t i = j->at; i < ahead.at; i++)
        *real |= memchr(".eE", j->text[i], 3) != NULL;
    return *real ? json_double(j, d) : json_i64(j, n);
}

// Reads any value with the typed calls.
static inline bool oracle_read(struct json *j) {
    struct json_text text;
    bool truth, real = false;
    double d;
    int64_t n;
    switch (json_peek(j)) {
    case JSON_NULL:
        return json_null(j);
    case JSON_BOOL:
        return json_bool(j, &truth);
    case JSON_NUMBER:
        return oracle_number(j, &real, &d, &n);
    case JSON_STRING:
        return json_string(j, &text);
    case JSON_ARRAY:
        if (!json_array_begin(j)) return false;
        while (json_item(j))
            if (!oracle_read(j)) return false;
        return !j->failed;
    case JSON_OBJECT:
        if (!json_object_begin(j)) return false;
        while (json_key(j, &text))
            if (!oracle_read(j)) return false;
        return !j->failed;
    case JSON_ERROR:
        break;
    }
    return false;
}

static inline bool oracle_same(struct json *j, const json_t *v);

static inline bool oracle_same_object(struct json *j, const json_t *v) {
    struct json_text key;
    struct json count = *j;
    size_t keys = 0;
    if (json_typeof(v) != JANSSON_OBJECT || !json_object_begin(&count)) return false;
    for (; json_key(&count, &key); keys++)
        json_skip(&count);
    // Of a key that comes twice jansson keeps one value, so such objects cannot be compared.
    if (keys != json_object_size(v)) return json_skip(j);
    json_object_begin(j);
    while (json_key(j, &key))
        if (!oracle_same(j, json_object_getn(v, key.data, key.size))) return false;
    return !j->failed;
}

// True when the next value is v.
static inline bool oracle_same(struct json *j, const json_t *v) {
    struct json_text text;
    bool truth, real = false;
    double d;
    int64_t n;
    if (!v) return false;
    switch (json_peek(j)) {
    case JSON_NULL:
        return json_null(j) && json_typeof(v) == JANSSON_NULL;
    case JSON_BOOL:
        return json_bool(j, &truth) && json_typeof(v) == (truth ? JSON_TRUE : JSON_FALSE);
    case JSON_NUMBER:
        if (!oracle_number(j, &real, &d, &n)) return false;
        if (!real) return json_typeof(v) == JSON_INTEGER && json_integer_value(v) == n;
        return json_typeof(v) == JSON_REAL && json_real_value(v) == d;
    case JSON_STRING:
        return json_string(j, &text) && json_typeof(v) == JANSSON_STRING &&
               json_string_length(v) == text.size && memcmp(json_string_value(v), text.data, text.size) == 0;
    case JSON_ARRAY:
        if (json_typeof(v) != JANSSON_ARRAY || !json_array_begin(j)) return false;
        n = 0;
        while (json_item(j))
            if (!oracle_same(j, json_array_get(v, (size_t)n++))) return false;
        return !j->failed && (size_t)n == json_array_size(v);
    case JSON_OBJECT:
        return oracle_same_object(j, v);
    case JSON_ERROR:
        break;
    }
    return false;
}

// NULL when both readers agree on the text, else what they disagree on. *accepted is base's verdict.
static inline const char *oracle_compare(const char *text, size_t size, bool *accepted) {
    struct arena arena;
    arena_init(&arena, 0);
    sabok_error err = {0};
    struct json j;
    json_init(&j, text, size, "text", &arena, &err);
    *accepted = oracle_read(&j) && json_end(&j);
    const char *problem = NULL;
    if (!*accepted && (err.code != SABOK_EFORMAT || err.offset > size))
        problem = "an error without its place";

    struct json skip;
    json_init(&skip, text, size, "text", &arena, NULL);
    if (*accepted && !(json_skip(&skip) && json_end(&skip))) problem = "json_skip refuses what was read";

    json_error_t jansson = {0};
    json_t *root = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &jansson);
    bool excused = (!*accepted && strstr(err.message, "nested deeper") != NULL) ||
                   (!*accepted && size > 0 && memchr(text, '\0', size) != NULL) ||
                   (!root && json_error_code(&jansson) == json_error_null_byte_in_key);
    if (!problem && !excused && *accepted != (root != NULL))
        problem = root ? "only jansson accepts it" : "only base accepts it";
    if (!problem && *accepted && root) {
        json_init(&j, text, size, "text", &arena, NULL);
        if (!oracle_same(&j, root)) problem = "the values differ";
    }
    json_decref(root);
    arena_free(&arena);
    return problem;
}

#endif
