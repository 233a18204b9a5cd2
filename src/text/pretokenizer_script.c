// UnicodeScripts: cuts where the writing system changes. Blanks belong to any; those before the first letter are dropped,
// as in the reference.
#include "text/script_ranges.h"
#include "text/tokenizer.h"

static bool plain_read(struct json *j, struct pretokenizer_step *step) {
    (void)step;
    return json_skip(j);
}

static uint32_t script_of(uint32_t c) {
    size_t low = 0, high = COUNT(script_ranges);
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (script_ranges[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low < COUNT(script_ranges) && script_ranges[low].first <= c ? script_ranges[low].script : 0;
}

static bool scripts_part(struct pretext *t, struct span part) {
    size_t begin = part.end;
    uint32_t last = 0;
    for (size_t i = part.begin; i < part.end; i++) {
        const uint32_t script = script_of(t->text->items[i].c);
        if (script == 0 || script == last) continue;
        if (last != 0 && !spans_push(&t->next, begin, i, NO_PIECE)) return false;
        begin = i;
        last = script;
    }
    return begin == part.end || spans_push(&t->next, begin, part.end, NO_PIECE);
}

static bool scripts_run(const struct pretokenizer_step *step, struct pretext *t) {
    (void)step;
    t->next.size = 0;
    for (size_t i = 0; i < t->parts.size; i++) {
        const struct span part = t->parts.items[i];
        const bool ok = part.added != NO_PIECE ? spans_push(&t->next, part.begin, part.end, part.added)
                                               : scripts_part(t, part);
        if (!ok) return false;
    }
    pretext_exchange(t);
    return true;
}

const struct pretokenizer_kind pretokenizer_scripts = {"UnicodeScripts", plain_read, scripts_run, NULL};
