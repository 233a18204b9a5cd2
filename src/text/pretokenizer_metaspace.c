// Metaspace: spaces become a visible character, which also stands before a text, and words begin with it.
#include "text/tokenizer.h"

struct metaspace_file {
    struct json_text replacement, scheme;
    size_t scheme_at;
    bool prefix_space, prefix_given;
};

static bool metaspace_fill(struct json *j, struct pretokenizer_step *step, const struct metaspace_file *f,
                           size_t begin) {
    static const char *const names[] = {"always", "first", "never"};
    const struct json_text r = f->replacement;
    const size_t end = j->at;
    j->at = begin;
    if (r.size == 0 || utf8_read((const uint8_t *)r.data, r.size, &step->delimiter) != r.size)
        return json_fail(j, "Metaspace without a replacement of one character, expected one");
    if (!f->scheme.data && !f->prefix_given)
        return json_fail(j, "Metaspace lacks \"prepend_scheme\", expected always, first or never");
    // Files of before the schemes have only the flag.
    step->prepend = f->prefix_given && !f->prefix_space ? PREPEND_NEVER : PREPEND_ALWAYS;
    if (f->scheme.data) {
        size_t i = 0;
        while (i < COUNT(names) && !json_text_is(f->scheme, names[i]))
            i++;
        j->at = f->scheme_at;
        if (i == COUNT(names))
            return json_fail(j, "prepend_scheme \"%.*s\" is not supported, expected always, first or never",
                             text_shown(f->scheme), f->scheme.data);
        if (f->prefix_given && !f->prefix_space && i != PREPEND_NEVER)
            return json_fail(j, "add_prefix_space is false, expected prepend_scheme never");
        step->prepend = (enum prepend_scheme)i;
    }
    j->at = end;
    return true;
}

static bool metaspace_read(struct json *j, struct pretokenizer_step *step) {
    struct metaspace_file f = {0};
    struct json_text key;
    step->split = true;
    json_peek(j);
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        bool ok;
        json_peek(j);
        if (json_text_is(key, "replacement")) {
            ok = json_string(j, &f.replacement);
        } else if (json_text_is(key, "prepend_scheme")) {
            f.scheme_at = j->at;
            ok = json_string(j, &f.scheme);
        } else if (json_text_is(key, "add_prefix_space")) {
            f.prefix_given = true;
            ok = json_bool(j, &f.prefix_space);
        } else if (json_text_is(key, "split")) {
            ok = json_bool(j, &step->split);
        } else {
            ok = json_skip(j);
        }
        if (!ok) return false;
    }
    return !j->failed && metaspace_fill(j, step, &f, begin);
}

// A part: rewritten into t->spare, then cut before each delimiter.
static bool metaspace_part(const struct pretokenizer_step *step, struct pretext *t, struct span part) {
    const struct unit *u = t->text->items;
    const uint32_t mark = step->delimiter;
    size_t begin = t->spare.size;
    if (part.begin == part.end) return true;
    if (!units_reserve(&t->spare, begin + (part.end - part.begin) + 1)) return false;
    struct unit *out = t->spare.items + begin;
    const struct unit head = u[part.begin];
    const bool wanted =
        step->prepend == PREPEND_ALWAYS || (step->prepend == PREPEND_FIRST && head.begin == 0);
    if (wanted && head.c != ' ' && head.c != mark) *out++ = (struct unit){mark, head.begin, head.end};
    for (size_t i = part.begin; i < part.end; i++)
        *out++ = (struct unit){u[i].c == ' ' ? mark : u[i].c, u[i].begin, u[i].end};
    t->spare.size = (size_t)(out - t->spare.items);
    for (size_t i = begin + 1; step->split && i < t->spare.size; i++)
        if (t->spare.items[i].c == mark) {
            if (!spans_push(&t->next, begin, i, NO_PIECE)) return false;
            begin = i;
        }
    return spans_push(&t->next, begin, t->spare.size, NO_PIECE);
}

static bool metaspace_run(const struct pretokenizer_step *step, struct pretext *t) {
    t->next.size = t->spare.size = 0;
    for (size_t i = 0; i < t->parts.size; i++) {
        const struct span part = t->parts.items[i];
        if (part.added == NO_PIECE) {
            if (!metaspace_part(step, t, part)) return false;
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

const struct pretokenizer_kind pretokenizer_metaspace = {"Metaspace", metaspace_read, metaspace_run, NULL};
