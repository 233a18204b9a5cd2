// The normalizers a tokenizer.json may name, and running them one after another.
#include "text/regex.h"

#define GROWTH_MAX 64
#define STEPS_MAX 64

static const struct normalizer_kind *const normalizer_kinds[] = {
    &normalizer_bert,    &normalizer_nfc,         &normalizer_nfd,   &normalizer_nfkc,
    &normalizer_nfkd,    &normalizer_lowercase,   &normalizer_strip, &normalizer_strip_accents,
    &normalizer_replace, &normalizer_precompiled, &normalizer_nmt,   &normalizer_prepend,
    &normalizer_bytes};

bool normalizer_add(struct normalizer *n, const struct normalizer_step *step) {
    if (n->count == n->cap && !mem_grow((void **)&n->steps, &n->cap, n->count + 1, sizeof *n->steps))
        return false;
    n->steps[n->count++] = *step;
    return true;
}

bool normalizer_add_charsmap(struct normalizer *n, const struct charsmap *map) {
    const struct normalizer_step step = {.kind = &normalizer_precompiled, .charsmap = map};
    const size_t times = step.kind->growth(&step);
    if (times > 1) n->growth = (n->growth + 1) * times - 1;
    return normalizer_add(n, &step);
}

// Steps that feed one another could make a short text endless.
static bool check_growth(struct json *j, struct normalizer *n, const struct normalizer_step *step,
                         size_t at) {
    const size_t times = step->kind->growth ? step->kind->growth(step) : 1;
    size_t growth;
    if (n->count == STEPS_MAX) {
        j->at = at;
        return json_fail(j, "more than %d normalizers, expected fewer", STEPS_MAX);
    }
    if (times <= 1) return true;
    if (!mul_ok(n->growth + 1, times, &growth) || growth > GROWTH_MAX) {
        j->at = at;
        return json_fail(j, "the normalizers may make a text more than %d times longer, expected less",
                         GROWTH_MAX);
    }
    n->growth = growth - 1;
    return true;
}

static bool read_sequence(struct json *j, struct normalizer *n, struct arena *arena) {
    struct json_text key;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        if (!json_text_is(key, "normalizers")) {
            if (!json_skip(j)) return false;
            continue;
        }
        if (!json_array_begin(j)) return false;
        while (json_item(j))
            if (!normalizer_read(j, n, arena)) return false;
    }
    return !j->failed;
}

bool normalizer_read(struct json *j, struct normalizer *n, struct arena *arena) {
    if (json_peek(j) == JSON_NULL) return json_null(j);
    struct json_text type;
    size_t at;
    if (!object_type(j, &type, &at)) return false;
    if (json_text_is(type, "Sequence")) return read_sequence(j, n, arena);
    for (size_t i = 0; i < COUNT(normalizer_kinds); i++) {
        if (!json_text_is(type, normalizer_kinds[i]->name)) continue;
        struct normalizer_step step = {.kind = normalizer_kinds[i]};
        const bool ok = step.kind->read(j, &step, arena) && check_growth(j, n, &step, at) &&
                        (normalizer_add(n, &step) || read_memory(j));
        if (!ok) regex_free(step.regex);
        return ok;
    }
    j->at = at;
    return json_fail(j, "normalizer \"%.*s\" is not supported, expected one of docs/formats.md",
                     text_shown(type), type.data ? type.data : "");
}

bool normalizer_run(const struct normalizer *n, struct units *text, struct units *spare) {
    for (size_t i = 0; i < n->count; i++)
        if (!n->steps[i].kind->run(&n->steps[i], text, spare)) return false;
    return true;
}

bool normalizer_run_inside(const struct normalizer *n, struct units *text, struct units *spare) {
    for (size_t i = 0; i < n->count; i++) {
        struct normalizer_step step = n->steps[i];
        if (step.kind == &normalizer_prepend) continue;
        if (step.kind == &normalizer_strip) step.strip.left = false;
        if (!step.kind->run(&step, text, spare)) return false;
    }
    return true;
}

void normalizer_free(struct normalizer *n) {
    for (size_t i = 0; i < n->count; i++)
        regex_free(n->steps[i].regex);
    mem_free(n->steps);
    *n = (struct normalizer){0};
}
