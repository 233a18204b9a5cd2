// The pre-tokenizers a tokenizer.json may name, and running them one after another.
#include "text/regex.h"

#define STEPS_MAX 64

static const struct pretokenizer_kind *const pretokenizer_kinds[] = {
    &pretokenizer_bert,        &pretokenizer_whitespace, &pretokenizer_whitespace_split,
    &pretokenizer_punctuation, &pretokenizer_digits,     &pretokenizer_delimiter,
    &pretokenizer_bytes,       &pretokenizer_split,      &pretokenizer_metaspace,
    &pretokenizer_scripts};

bool pretokenizer_add(struct pretokenizer *p, const struct pretokenizer_step *step) {
    if (p->count == p->cap && !mem_grow((void **)&p->steps, &p->cap, p->count + 1, sizeof *p->steps))
        return false;
    p->steps[p->count++] = *step;
    return true;
}

static bool read_sequence(struct json *j, struct pretokenizer *p) {
    struct json_text key;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        if (!json_text_is(key, "pretokenizers")) {
            if (!json_skip(j)) return false;
            continue;
        }
        if (!json_array_begin(j)) return false;
        while (json_item(j))
            if (!pretokenizer_read(j, p)) return false;
    }
    return !j->failed;
}

bool pretokenizer_read(struct json *j, struct pretokenizer *p) {
    if (json_peek(j) == JSON_NULL) return json_null(j);
    struct json_text type;
    size_t at;
    if (!object_type(j, &type, &at)) return false;
    if (json_text_is(type, "Sequence")) return read_sequence(j, p);
    for (size_t i = 0; i < COUNT(pretokenizer_kinds); i++) {
        if (!json_text_is(type, pretokenizer_kinds[i]->name)) continue;
        struct pretokenizer_step step = {.kind = pretokenizer_kinds[i]};
        bool ok = step.kind->read(j, &step);
        if (ok && p->count == STEPS_MAX) ok = json_fail(j, "more than %d pre_tokenizers", STEPS_MAX);
        ok = ok && (pretokenizer_add(p, &step) || read_memory(j));
        if (!ok) regex_free(step.regex);
        return ok;
    }
    j->at = at;
    return json_fail(j, "pre_tokenizer \"%.*s\" is not supported, expected one of docs/formats.md",
                     text_shown(type), type.data ? type.data : "");
}

bool pretokenizer_run(const struct pretokenizer *p, struct pretext *t) {
    for (size_t i = 0; i < p->count; i++)
        if (!p->steps[i].kind->run(&p->steps[i], t)) return false;
    return true;
}

void pretokenizer_free(struct pretokenizer *p) {
    for (size_t i = 0; i < p->count; i++)
        regex_free(p->steps[i].regex);
    mem_free(p->steps);
    *p = (struct pretokenizer){0};
}

// What a match, or the text between two, does with the part before it.
static bool joins(enum split_behavior behavior, bool match, bool previous_match) {
    switch (behavior) {
    case SPLIT_MERGED_WITH_PREVIOUS:
        return match && !previous_match;
    case SPLIT_MERGED_WITH_NEXT:
        return !match && previous_match;
    case SPLIT_CONTIGUOUS:
        return match == previous_match;
    default:
        return false;
    }
}

bool pretext_add(struct pretext *t, sabok_span units, bool match, enum split_behavior behavior, size_t first,
                 bool *previous) {
    if (units.begin == units.end || (match && behavior == SPLIT_REMOVED)) return true;
    const bool join = t->next.size > first && joins(behavior, match, *previous);
    *previous = match;
    if (!join) return spans_push(&t->next, units.begin, units.end, NO_PIECE);
    t->next.items[t->next.size - 1].end = units.end;
    return true;
}

// One part: runs of characters that do not match, and each that does, joined as the behaviour says.
static bool split_part(const struct pretokenizer_step *step, struct pretext *t, struct span part,
                       char_match_fn *matches, enum split_behavior behavior) {
    const struct unit *u = t->text->items;
    const size_t first = t->next.size;
    bool previous = false;
    for (size_t i = part.begin; i < part.end;) {
        const bool match = matches(step, u[i].c);
        size_t end = i + 1;
        while (!match && end < part.end && !matches(step, u[end].c))
            end++;
        if (!pretext_add(t, (sabok_span){i, end}, match, behavior, first, &previous)) return false;
        i = end;
    }
    return true;
}

void pretext_exchange(struct pretext *t) {
    const struct spans made = t->next;
    t->next = t->parts;
    t->parts = made;
}

void pretext_free(struct pretext *t) {
    spans_free(&t->parts);
    spans_free(&t->next);
    spans_free(&t->matches);
    units_free(&t->spare);
    buf_free(&t->bytes);
}

bool pretext_split(const struct pretokenizer_step *step, struct pretext *t, char_match_fn *matches,
                   enum split_behavior behavior) {
    t->next.size = 0;
    for (size_t i = 0; i < t->parts.size; i++) {
        const struct span part = t->parts.items[i];
        const bool ok = part.added != NO_PIECE ? spans_push(&t->next, part.begin, part.end, part.added)
                                               : split_part(step, t, part, matches, behavior);
        if (!ok) return false;
    }
    pretext_exchange(t);
    return true;
}
