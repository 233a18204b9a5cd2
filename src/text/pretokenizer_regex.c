// Split and ByteLevel: pre-tokenizers that cut at the matches of a pattern.
#include "text/regex.h"

// Walks over the units of a part as their UTF-8 goes by.
struct walk {
    const struct unit *u;
    size_t unit, byte;
};

static size_t walk_to(struct walk *w, size_t byte) {
    char skip[4];
    while (w->byte < byte)
        w->byte += utf8_write(w->u[w->unit++].c, skip);
    return w->unit;
}

// The part's bytes into t->bytes, and the pattern's matches in them into t->matches.
static bool find_matches(const struct pretokenizer_step *step, struct pretext *t, struct span part) {
    t->matches.size = 0;
    return units_write(t->text->items, part.begin, part.end, &t->bytes) &&
           regex_find(step->regex, t->bytes.data, t->bytes.size, &t->matches, &t->text->stuck);
}

// ---------------------------------------------------------------------------------------------- Split

static bool split_read(struct json *j, struct pretokenizer_step *step) {
    struct json_text key;
    bool behavior = false;
    json_peek(j);
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        const bool is_pattern = json_text_is(key, "pattern"), is_behavior = json_text_is(key, "behavior");
        if (is_pattern && step->regex) return json_fail(j, "a second \"pattern\"");
        behavior = behavior || is_behavior;
        const bool ok = is_pattern                    ? (step->regex = regex_read(j)) != NULL
                        : is_behavior                 ? pretokenizer_read_behavior(j, step)
                        : json_text_is(key, "invert") ? json_bool(j, &step->invert)
                                                      : json_skip(j);
        if (!ok) return false;
    }
    if (j->failed || (step->regex && behavior)) return !j->failed;
    j->at = begin;
    return json_fail(j, "Split lacks \"%s\", expected one", step->regex ? "behavior" : "pattern");
}

static bool split_part(const struct pretokenizer_step *step, struct pretext *t, struct span part) {
    if (!find_matches(step, t, part)) return false;
    struct walk w = {t->text->items, part.begin, 0};
    const size_t first = t->next.size;
    bool previous = false;
    size_t done = part.begin;
    for (size_t i = 0; i < t->matches.size; i++) {
        const size_t begin = walk_to(&w, t->matches.items[i].begin);
        const size_t end = walk_to(&w, t->matches.items[i].end);
        // An empty match has no text, but parts what stands on its two sides.
        const bool ok =
            pretext_add(t, (sabok_span){done, begin}, step->invert, step->behavior, first, &previous) &&
            pretext_add(t, (sabok_span){begin, end}, !step->invert, step->behavior, first, &previous);
        if (!ok) return false;
        if (begin == end) previous = !step->invert;
        done = end;
    }
    return pretext_add(t, (sabok_span){done, part.end}, step->invert, step->behavior, first, &previous);
}

static bool split_run(const struct pretokenizer_step *step, struct pretext *t) {
    t->next.size = 0;
    for (size_t i = 0; i < t->parts.size; i++) {
        const struct span part = t->parts.items[i];
        const bool ok = part.added != NO_PIECE ? spans_push(&t->next, part.begin, part.end, part.added)
                                               : split_part(step, t, part);
        if (!ok) return false;
    }
    pretext_exchange(t);
    return true;
}

const struct pretokenizer_kind pretokenizer_split = {"Split", split_read, split_run, NULL};

// ---------------------------------------------------------------------------------------------- ByteLevel

static bool bytes_read(struct json *j, struct pretokenizer_step *step) {
    static const char pattern[] =
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
    struct json_text key;
    bool use_regex = true, found = false;
    json_peek(j);
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        const bool is_prefix = json_text_is(key, "add_prefix_space");
        found = found || is_prefix;
        const bool ok = is_prefix                        ? json_bool(j, &step->prefix_space)
                        : json_text_is(key, "use_regex") ? json_bool(j, &use_regex)
                                                         : json_skip(j);
        if (!ok) return false;
    }
    if (j->failed) return false;
    if (!found) {
        const size_t end = j->at;
        j->at = begin;
        json_fail(j, "ByteLevel lacks \"add_prefix_space\", expected true or false");
        j->at = end;
        return false;
    }
    if (!use_regex) return true;
    step->regex = regex_make(j, (struct json_text){pattern, sizeof pattern - 1}, false, begin);
    return step->regex != NULL;
}

// Units [begin, end) byte by byte as a span of t->spare.
static bool put_bytes(struct pretext *t, size_t begin, size_t end, bool prefix) {
    struct units *out = &t->spare;
    const size_t first = out->size;
    const struct unit *u = t->text->items;
    if (prefix && !units_push(out, byte_char(' '), u[begin].begin, u[begin].end)) return false;
    for (size_t i = begin; i < end; i++) {
        char bytes[4];
        const size_t n = utf8_write(u[i].c, bytes);
        for (size_t k = 0; k < n; k++)
            if (!units_push(out, byte_char((uint8_t)bytes[k]), u[i].begin, u[i].end)) return false;
    }
    return out->size == first || spans_push(&t->next, first, out->size, NO_PIECE);
}

static bool bytes_part(const struct pretokenizer_step *step, struct pretext *t, struct span part) {
    if (part.begin == part.end) return true;
    bool prefix = step->prefix_space && t->text->items[part.begin].c != ' ';
    if (!step->regex) return put_bytes(t, part.begin, part.end, prefix);
    t->matches.size = 0;
    if (!units_write(t->text->items, part.begin, part.end, &t->bytes)) return false;
    if (prefix) { // the pattern sees the space
        buf_put(&t->bytes, " ", 1);
        if (t->bytes.failed) return false;
        for (size_t i = t->bytes.size - 1; i > 0; i--)
            t->bytes.data[i] = t->bytes.data[i - 1];
        t->bytes.data[0] = ' ';
    }
    if (!regex_find(step->regex, t->bytes.data, t->bytes.size, &t->matches, &t->text->stuck)) return false;
    struct walk w = {t->text->items, part.begin, 0};
    const size_t shift = prefix;
    for (size_t i = 0; i < t->matches.size; i++) { // the matches cover everything
        const size_t begin = w.unit, end = walk_to(&w, t->matches.items[i].end - shift);
        if (!put_bytes(t, begin, end, prefix)) return false;
        prefix = false;
    }
    return true;
}

static bool bytes_run(const struct pretokenizer_step *step, struct pretext *t) {
    t->next.size = t->spare.size = 0;
    for (size_t i = 0; i < t->parts.size; i++) {
        const struct span part = t->parts.items[i];
        if (part.added == NO_PIECE) {
            if (!bytes_part(step, t, part)) return false;
            continue;
        }
        const size_t first = t->spare.size;
        for (size_t k = part.begin; k < part.end; k++) {
            const struct unit u = t->text->items[k];
            if (!units_push(&t->spare, u.c, u.begin, u.end)) return false;
        }
        if (!spans_push(&t->next, first, t->spare.size, part.added)) return false;
    }
    pretext_exchange(t);
    units_exchange(t->text, &t->spare);
    return true;
}

const struct pretokenizer_kind pretokenizer_bytes = {"ByteLevel", bytes_read, bytes_run, NULL};
