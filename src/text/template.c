// Post-processors, as templates: what stands before, between and after the texts.
#include "text/tokenizer.h"

#include <string.h>

#define TEMPLATE_TEXTS_MAX 16 // bounds the tokens that a text becomes

bool template_add(struct template *t, struct template_piece piece) {
    if (t->count == t->cap && !mem_grow((void **)&t->pieces, &t->cap, t->count + 1, sizeof *t->pieces))
        return false;
    t->pieces[t->count++] = piece;
    t->specials += piece.item == TEMPLATE_SPECIAL;
    return true;
}

void postprocessor_free(struct postprocessor *p) {
    mem_free(p->single.pieces);
    mem_free(p->pair.pieces);
    *p = (struct postprocessor){0};
}

bool postprocessor_default(struct postprocessor *p) {
    const struct template_piece first = {TEMPLATE_FIRST, 0, 0, NULL}, second = {TEMPLATE_SECOND, 1, 0, NULL};
    return template_add(&p->single, first) && template_add(&p->pair, first) && template_add(&p->pair, second);
}

// ---------------------------------------------------------------------------------------------- template

// "special_tokens" of a template may come after the pieces that name them, so pieces keep names until the
// end.
struct special {
    struct json_text name;
    uint32_t *ids;
    const char **texts;
    size_t count;
};
struct draft_piece {
    struct json_text name; // of a special
    size_t at;
    enum template_item item;
    uint32_t type_id;
};
struct draft {
    struct arena *arena;
    struct special *specials;
    size_t special_count, special_cap;
    struct draft_piece *pieces[2]; // single, pair
    size_t counts[2], caps[2];
    bool given[2];
};

static bool read_u32(struct json *j, uint32_t *out) {
    uint64_t x;
    json_peek(j);
    const size_t at = j->at;
    if (!json_u64(j, &x)) return false;
    if (x > INT32_MAX) {
        j->at = at;
        return json_fail(j, "found %llu, expected at most %d", (unsigned long long)x, INT32_MAX);
    }
    *out = (uint32_t)x;
    return true;
}

// The inside of {"Sequence": {"id": "A", "type_id": 0}} or {"SpecialToken": {"id": "[CLS]", "type_id": 0}}.
static bool read_piece_body(struct json *j, struct draft_piece *p, bool pair) {
    struct json_text key, id = {0};
    size_t at = j->at;
    bool typed = false;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        if (json_text_is(key, "id")) {
            json_peek(j);
            at = j->at;
            if (!json_string(j, &id)) return false;
        } else if (json_text_is(key, "type_id")) {
            typed = true;
            if (!read_u32(j, &p->type_id)) return false;
        } else if (!json_skip(j)) {
            return false;
        }
    }
    if (j->failed) return false;
    const size_t end = j->at;
    j->at = p->at = at;
    if (!id.data || !typed) return json_fail(j, "a piece of a template without id or type_id, expected both");
    if (p->item == TEMPLATE_SPECIAL) {
        p->name = id;
    } else if (json_text_is(id, "B") && pair) {
        p->item = TEMPLATE_SECOND;
    } else if (!json_text_is(id, "A")) {
        return json_fail(j, "sequence \"%.*s\" in a template, expected %s", text_shown(id), id.data,
                         pair ? "\"A\" or \"B\"" : "\"A\"");
    }
    j->at = end;
    return true;
}

static bool read_piece(struct json *j, struct draft *d, unsigned which) {
    struct json_text key;
    if (!json_object_begin(j)) return false;
    size_t found = 0;
    while (json_key(j, &key)) {
        struct draft_piece p = {.item = TEMPLATE_FIRST};
        if (json_text_is(key, "SpecialToken"))
            p.item = TEMPLATE_SPECIAL;
        else if (!json_text_is(key, "Sequence"))
            return json_fail(j, "\"%.*s\" in a template, expected Sequence or SpecialToken", text_shown(key),
                             key.data);
        if (!read_piece_body(j, &p, which == 1)) return false;
        if (d->counts[which] == d->caps[which] && !mem_grow((void **)&d->pieces[which], &d->caps[which],
                                                            d->counts[which] + 1, sizeof *d->pieces[which]))
            return read_memory(j);
        d->pieces[which][d->counts[which]++] = p;
        found++;
    }
    if (!j->failed && found != 1)
        return json_fail(j, "a piece of a template with %zu kinds, expected one", found);
    return !j->failed;
}

static bool read_pieces(struct json *j, struct draft *d, unsigned which) {
    if (d->given[which]) return json_fail(j, "the template is given twice");
    d->given[which] = true;
    if (!json_array_begin(j)) return false;
    while (json_item(j))
        if (!read_piece(j, d, which)) return false;
    return !j->failed;
}

// {"id": "[CLS]", "ids": [101], "tokens": ["[CLS]"]}
static bool read_special(struct json *j, struct special *s, struct arena *arena) {
    struct json_text key, text;
    size_t ids = 0, texts = 0, id_cap = 0, text_cap = 0;
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        const bool is_ids = json_text_is(key, "ids");
        if (!is_ids && !json_text_is(key, "tokens")) {
            if (!json_skip(j)) return false;
            continue;
        }
        if (!json_array_begin(j)) return false;
        while (json_item(j)) {
            if (is_ids) {
                if (ids == id_cap && !mem_grow((void **)&s->ids, &id_cap, ids + 1, sizeof *s->ids))
                    return read_memory(j);
                if (!read_u32(j, &s->ids[ids++])) return false;
            } else {
                if (texts == text_cap &&
                    !mem_grow((void **)&s->texts, &text_cap, texts + 1, sizeof *s->texts))
                    return read_memory(j);
                if (!json_string(j, &text)) return false;
                s->texts[texts] = arena_copy(arena, text.data, text.size);
                if (!s->texts[texts++]) return read_memory(j);
            }
        }
    }
    if (j->failed) return false;
    s->count = ids;
    if (ids == texts && ids > 0) return true;
    j->at = begin;
    return json_fail(j, "a special token of a template with %zu ids and %zu tokens, expected as many", ids,
                     texts);
}

static bool read_specials(struct json *j, struct draft *d) {
    struct json_text key;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        if (d->special_count == d->special_cap &&
            !mem_grow((void **)&d->specials, &d->special_cap, d->special_count + 1, sizeof *d->specials))
            return read_memory(j);
        struct special *s = &d->specials[d->special_count++];
        *s = (struct special){.name = key};
        if (!read_special(j, s, d->arena)) return false;
    }
    return !j->failed;
}

static bool resolve(struct json *j, const struct draft *d, unsigned which, struct template *t) {
    size_t texts = 0;
    for (size_t i = 0; i < d->counts[which]; i++) {
        const struct draft_piece *p = &d->pieces[which][i];
        if (p->item != TEMPLATE_SPECIAL && ++texts > TEMPLATE_TEXTS_MAX) {
            j->at = p->at;
            return json_fail(j, "a template with more than %d texts, expected fewer", TEMPLATE_TEXTS_MAX);
        }
        const struct special *s = NULL;
        for (size_t k = 0; k < d->special_count && p->item == TEMPLATE_SPECIAL; k++)
            if (d->specials[k].name.size == p->name.size &&
                memcmp(d->specials[k].name.data, p->name.data, p->name.size) == 0)
                s = &d->specials[k];
        if (p->item == TEMPLATE_SPECIAL && !s) {
            j->at = p->at;
            return json_fail(j, "\"%.*s\" is not in special_tokens, expected one of them",
                             text_shown(p->name), p->name.data);
        }
        for (size_t k = 0; k < (s ? s->count : 1); k++)
            if (!template_add(t, (struct template_piece){p->item, p->type_id, s ? s->ids[k] : 0,
                                                         s ? s->texts[k] : NULL}))
                return read_memory(j);
    }
    return true;
}

static void draft_free(struct draft *d) {
    for (size_t i = 0; i < d->special_count; i++) {
        mem_free(d->specials[i].ids);
        mem_free(d->specials[i].texts);
    }
    mem_free(d->specials);
    mem_free(d->pieces[0]);
    mem_free(d->pieces[1]);
}

static bool read_template_keys(struct json *j, struct draft *d) {
    struct json_text key;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        const bool ok = json_text_is(key, "single")           ? read_pieces(j, d, 0)
                        : json_text_is(key, "pair")           ? read_pieces(j, d, 1)
                        : json_text_is(key, "special_tokens") ? read_specials(j, d)
                                                              : json_skip(j);
        if (!ok) return false;
    }
    return !j->failed;
}

static bool read_template(struct json *j, struct postprocessor *p, struct arena *arena) {
    struct draft d = {.arena = arena};
    const size_t begin = j->at;
    bool ok = read_template_keys(j, &d);
    const size_t end = j->at;
    if (ok && !(d.given[0] && d.given[1])) {
        j->at = begin;
        ok = json_fail(j, "TemplateProcessing lacks \"%s\", expected a list", d.given[0] ? "pair" : "single");
    }
    ok = ok && resolve(j, &d, 0, &p->single) && resolve(j, &d, 1, &p->pair);
    if (ok) j->at = end;
    draft_free(&d);
    return ok;
}

// ---------------------------------------------------------------------------------------------- BERT

// ["[SEP]", 102]
bool template_read_named(struct json *j, struct template_piece *p, struct arena *arena) {
    struct json_text text;
    if (!json_array_begin(j) || !json_item(j) || !json_string(j, &text) || !json_item(j) ||
        !read_u32(j, &p->id))
        return j->failed ? false : json_fail(j, "expected a pair of a token and its id");
    if (json_item(j)) return json_fail(j, "expected a pair of a token and its id");
    p->text = arena_copy(arena, text.data, text.size);
    return p->text ? !j->failed : read_memory(j);
}

static bool read_bert(struct json *j, struct postprocessor *p, struct arena *arena) {
    struct template_piece cls = {0}, sep = {0};
    struct json_text key;
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        const bool ok = json_text_is(key, "cls")   ? template_read_named(j, &cls, arena)
                        : json_text_is(key, "sep") ? template_read_named(j, &sep, arena)
                                                   : json_skip(j);
        if (!ok) return false;
    }
    if (j->failed) return false;
    if (!cls.text || !sep.text) {
        j->at = begin;
        return json_fail(j, "BertProcessing lacks \"%s\", expected a token and its id",
                         cls.text ? "sep" : "cls");
    }
    const struct template_piece first = {TEMPLATE_FIRST, 0, 0, NULL}, second = {TEMPLATE_SECOND, 1, 0, NULL};
    struct template_piece end = sep;
    end.type_id = 1;
    const bool ok = template_add(&p->single, cls) && template_add(&p->single, first) &&
                    template_add(&p->single, sep) && template_add(&p->pair, cls) &&
                    template_add(&p->pair, first) && template_add(&p->pair, sep) &&
                    template_add(&p->pair, second) && template_add(&p->pair, end);
    return ok || read_memory(j);
}

static const struct postprocessor_kind {
    const char *name;
    bool (*read)(struct json *j, struct postprocessor *p, struct arena *arena);
} postprocessor_kinds[] = {{"TemplateProcessing", read_template},
                           {"BertProcessing", read_bert},
                           {"RobertaProcessing", postprocessor_read_roberta},
                           {"ByteLevel", postprocessor_read_bytes}};

static bool read_sequence(struct json *j, struct postprocessor *p, struct arena *arena) {
    struct json_text key;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        if (!json_text_is(key, "processors")) {
            if (!json_skip(j)) return false;
            continue;
        }
        if (!json_array_begin(j)) return false;
        while (json_item(j))
            if (!postprocessor_read(j, p, arena)) return false;
    }
    return !j->failed;
}

bool postprocessor_read(struct json *j, struct postprocessor *p, struct arena *arena) {
    if (json_peek(j) == JSON_NULL) return json_null(j);
    struct json_text type;
    size_t at;
    if (!object_type(j, &type, &at)) return false;
    if (json_text_is(type, "Sequence")) return read_sequence(j, p, arena);
    for (size_t i = 0; i < COUNT(postprocessor_kinds); i++) {
        if (!json_text_is(type, postprocessor_kinds[i].name)) continue;
        const bool bytes = postprocessor_kinds[i].read == postprocessor_read_bytes;
        if (p->given && !bytes) return json_fail(j, "a second template among the post-processors");
        p->given = p->given || !bytes;
        return postprocessor_kinds[i].read(j, p, arena);
    }
    j->at = at;
    return json_fail(j,
                     "post_processor \"%.*s\" is not supported, expected TemplateProcessing, BertProcessing, "
                     "RobertaProcessing, ByteLevel or Sequence",
                     text_shown(type), type.data ? type.data : "");
}
