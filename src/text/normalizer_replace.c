// Replace: every match of a pattern, from the left, by a string. What is put in stands where the last code point of what
// it replaces stood (of what comes before, where it replaces nothing). Prepend: a string before a text that is not empty.
#include "text/regex.h"

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

static bool replace_read(struct json *j, struct normalizer_step *step, struct arena *arena) {
    struct replace_normalizer *r = &step->replace;
    struct json_text key, content = {0};
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        const bool is_pattern = json_text_is(key, "pattern");
        if (is_pattern && step->regex) return json_fail(j, "a second \"pattern\"");
        const bool ok = is_pattern                     ? (step->regex = regex_read(j)) != NULL
                        : json_text_is(key, "content") ? json_string(j, &content)
                                                       : json_skip(j);
        if (!ok) return false;
    }
    if (j->failed) return false;
    if (!step->regex || !content.data) {
        j->at = begin;
        return json_fail(j, "Replace lacks \"%s\", expected a string", step->regex ? "content" : "pattern");
    }
    // A plain string needs no bytes to be searched.
    const struct json_text literal = regex_literal(step->regex);
    if (regex_kind(step->regex) == REGEX_LITERAL) {
        const bool ok = copy_points(j, literal, arena, &r->pattern, &r->pattern_size);
        regex_free(step->regex);
        step->regex = NULL;
        if (!ok) return false;
    }
    return copy_points(j, content, arena, &r->content, &r->content_size);
}

static size_t replace_growth(const struct normalizer_step *step) {
    const struct replace_normalizer *r = &step->replace;
    if (!step->regex) return (r->content_size + r->pattern_size - 1) / r->pattern_size;
    const size_t least = regex_least(step->regex);
    return least ? (r->content_size + least - 1) / least : r->content_size + 1;
}

static bool pattern_at(const struct replace_normalizer *r, const struct units *text, size_t at) {
    if (text->size - at < r->pattern_size) return false;
    for (size_t i = 0; i < r->pattern_size; i++)
        if (text->items[at + i].c != r->pattern[i]) return false;
    return true;
}

static bool put_content(const struct replace_normalizer *r, struct units *out, uint32_t begin, uint32_t end) {
    for (size_t k = 0; k < r->content_size; k++)
        if (!units_push(out, r->content[k], begin, end)) return false;
    return true;
}

static bool put_units(const struct units *from, size_t begin, size_t end, struct units *out) {
    if (!units_reserve(out, out->size + (end - begin))) return false;
    for (size_t i = begin; i < end; i++)
        out->items[out->size++] = from->items[i];
    return true;
}

// `matches` are spans of bytes of the text's UTF-8.
static bool replace_spans(const struct replace_normalizer *r, const struct spans *matches, struct units *text,
                          struct units *spare) {
    const struct unit *u = text->items;
    size_t unit = 0, byte = 0;
    char skip[4];
    for (size_t i = 0; i < matches->size; i++) {
        const size_t before = unit;
        while (byte < matches->items[i].begin)
            byte += utf8_write(u[unit++].c, skip);
        if (!put_units(text, before, unit, spare)) return false;
        while (byte < matches->items[i].end)
            byte += utf8_write(u[unit++].c, skip);
        const bool inside = unit > 0;
        if (!put_content(r, spare, inside ? u[unit - 1].begin : u[0].begin,
                         inside ? u[unit - 1].end : u[0].begin))
            return false;
    }
    return put_units(text, unit, text->size, spare);
}

static bool replace_regex(const struct normalizer_step *step, struct units *text, struct units *spare) {
    struct buf bytes = {0};
    struct spans matches = {0};
    bool ok = units_write(text->items, 0, text->size, &bytes) &&
              regex_find(step->regex, bytes.data, bytes.size, &matches, &text->stuck);
    if (ok && matches.size) {
        spare->size = 0;
        ok = replace_spans(&step->replace, &matches, text, spare);
        if (ok) units_exchange(text, spare);
    }
    buf_free(&bytes);
    spans_free(&matches);
    return ok;
}

// " {2,}", the pattern that most sentencepiece files have.
static bool has_spaces(const struct units *text) {
    for (size_t i = 1; i < text->size; i++)
        if (text->items[i].c == ' ' && text->items[i - 1].c == ' ') return true;
    return false;
}

static bool replace_run(const struct normalizer_step *step, struct units *text, struct units *spare) {
    const struct replace_normalizer *r = &step->replace;
    if (text->size == 0) return true;
    if (step->regex && regex_kind(step->regex) == REGEX_SPACES && !has_spaces(text)) return true;
    if (step->regex) return replace_regex(step, text, spare);
    spare->size = 0;
    for (size_t i = 0; i < text->size;) {
        if (!pattern_at(r, text, i)) {
            const struct unit u = text->items[i++];
            if (!units_push(spare, u.c, u.begin, u.end)) return false;
            continue;
        }
        const struct unit last = text->items[i + r->pattern_size - 1];
        if (!put_content(r, spare, last.begin, last.end)) return false;
        i += r->pattern_size;
    }
    units_exchange(text, spare);
    return true;
}

const struct normalizer_kind normalizer_replace = {"Replace", replace_read, replace_run, false,
                                                   replace_growth};

// ---------------------------------------------------------------------------------------------- Prepend

static bool prepend_read(struct json *j, struct normalizer_step *step, struct arena *arena) {
    struct json_text key, text = {0};
    json_peek(j);
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key))
        if (!(json_text_is(key, "prepend") ? json_string(j, &text) : json_skip(j))) return false;
    if (j->failed) return false;
    if (!text.data) {
        j->at = begin;
        return json_fail(j, "Prepend lacks \"prepend\", expected a string");
    }
    return copy_points(j, text, arena, &step->replace.content, &step->replace.content_size);
}

static bool prepend_run(const struct normalizer_step *step, struct units *text, struct units *spare) {
    if (text->size == 0 || step->replace.content_size == 0) return true;
    spare->size = 0;
    if (!put_content(&step->replace, spare, text->items[0].begin, text->items[0].end) ||
        !put_units(text, 0, text->size, spare))
        return false;
    units_exchange(text, spare);
    return true;
}

static size_t prepend_growth(const struct normalizer_step *step) {
    return step->replace.content_size + 1;
}

const struct normalizer_kind normalizer_prepend = {"Prepend", prepend_read, prepend_run, false,
                                                   prepend_growth};
