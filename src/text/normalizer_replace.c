// Replace: every occurrence of a string, from the left, by another. What is put in stands where the last code
// point of what it replaces stood.
#include "text/tokenizer.h"

static bool copy_points(struct json *j, struct json_text t, struct arena *arena, const uint32_t **out,
                        size_t *n) {
    size_t bytes;
    uint32_t *points = mul_ok(t.size + 1, sizeof *points, &bytes) ? arena_alloc(arena, bytes) : NULL;
    if (!points) return read_memory(j);
    *n = 0;
    for (size_t at = 0; at < t.size;)
        at += utf8_read((const uint8_t *)t.data + at, t.size - at, &points[(*n)++]);
    *out = points;
    return true;
}

static bool read_pattern(struct json *j, struct json_text *pattern) {
    struct json_text key;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        if (!json_text_is(key, "String"))
            return json_fail(j, "Replace with pattern \"%.*s\" is not supported, expected \"String\"",
                             text_shown(key), key.data);
        if (!json_string(j, pattern)) return false;
    }
    return !j->failed;
}

static bool replace_read(struct json *j, struct normalizer_step *step, struct arena *arena) {
    struct replace_normalizer *r = &step->replace;
    struct json_text key, pattern = {0}, content = {0};
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        const bool ok = json_text_is(key, "pattern")   ? read_pattern(j, &pattern)
                        : json_text_is(key, "content") ? json_string(j, &content)
                                                       : json_skip(j);
        if (!ok) return false;
    }
    if (j->failed) return false;
    if (pattern.size == 0 || !content.data) {
        j->at = begin;
        return json_fail(j, "Replace lacks \"%s\", expected a string", pattern.size ? "content" : "pattern");
    }
    return copy_points(j, pattern, arena, &r->pattern, &r->pattern_size) &&
           copy_points(j, content, arena, &r->content, &r->content_size);
}

static bool pattern_at(const struct replace_normalizer *r, const struct units *text, size_t at) {
    if (text->size - at < r->pattern_size) return false;
    for (size_t i = 0; i < r->pattern_size; i++)
        if (text->items[at + i].c != r->pattern[i]) return false;
    return true;
}

static bool replace_run(const struct normalizer_step *step, struct units *text, struct units *spare) {
    const struct replace_normalizer *r = &step->replace;
    spare->size = 0;
    for (size_t i = 0; i < text->size;) {
        if (!pattern_at(r, text, i)) {
            const struct unit u = text->items[i++];
            if (!units_push(spare, u.c, u.begin, u.end)) return false;
            continue;
        }
        const struct unit last = text->items[i + r->pattern_size - 1];
        for (size_t k = 0; k < r->content_size; k++)
            if (!units_push(spare, r->content[k], last.begin, last.end)) return false;
        i += r->pattern_size;
    }
    const struct units made = *spare;
    *spare = *text;
    *text = made;
    return true;
}

const struct normalizer_kind normalizer_replace = {"Replace", replace_read, replace_run, false};
