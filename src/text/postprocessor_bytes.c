// The post-processors of byte-level tokenizers: RobertaProcessing, and ByteLevel, which only trims offsets.
#include "text/tokenizer.h"

bool postprocessor_roberta(struct postprocessor *p, struct template_piece cls, struct template_piece sep) {
    const struct template_piece first = {TEMPLATE_FIRST, 0, 0, NULL}, second = {TEMPLATE_SECOND, 0, 0, NULL};
    return template_add(&p->single, cls) && template_add(&p->single, first) &&
           template_add(&p->single, sep) && template_add(&p->pair, cls) && template_add(&p->pair, first) &&
           template_add(&p->pair, sep) && template_add(&p->pair, sep) && template_add(&p->pair, second) &&
           template_add(&p->pair, sep);
}

static bool set_trim(struct json *j, struct postprocessor *p, bool trim, bool prefix_space, size_t at) {
    if (trim && p->trim) {
        j->at = at;
        return json_fail(j, "offsets are trimmed by two post-processors, expected one");
    }
    if (!trim) return true;
    p->trim = true;
    p->prefix_space = prefix_space;
    return true;
}

bool postprocessor_read_roberta(struct json *j, struct postprocessor *p, struct arena *arena) {
    struct template_piece cls = {0}, sep = {0};
    struct json_text key;
    bool trim = true, prefix_space = true;
    json_peek(j);
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        const bool ok = json_text_is(key, "cls")                ? template_read_named(j, &cls, arena)
                        : json_text_is(key, "sep")              ? template_read_named(j, &sep, arena)
                        : json_text_is(key, "trim_offsets")     ? json_bool(j, &trim)
                        : json_text_is(key, "add_prefix_space") ? json_bool(j, &prefix_space)
                                                                : json_skip(j);
        if (!ok) return false;
    }
    if (j->failed || !set_trim(j, p, trim, prefix_space, begin)) return false;
    if (cls.text && sep.text) return postprocessor_roberta(p, cls, sep) || read_memory(j);
    j->at = begin;
    return json_fail(j, "RobertaProcessing lacks \"%s\", expected a token and its id",
                     cls.text ? "sep" : "cls");
}

bool postprocessor_read_bytes(struct json *j, struct postprocessor *p, struct arena *arena) {
    (void)arena;
    struct json_text key;
    bool trim = true, prefix_space = true;
    json_peek(j);
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        const bool ok = json_text_is(key, "trim_offsets")       ? json_bool(j, &trim)
                        : json_text_is(key, "add_prefix_space") ? json_bool(j, &prefix_space)
                                                                : json_skip(j);
        if (!ok) return false;
    }
    return !j->failed && set_trim(j, p, trim, prefix_space, begin);
}
