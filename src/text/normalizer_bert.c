// BertNormalizer: cleaning, spaces round ideographs, accents, letter case, in this order.
#include "text/tokenizer.h"

static bool bert_read(struct json *j, struct normalizer_step *step, struct arena *arena) {
    (void)arena;
    struct bert_normalizer *b = &step->bert;
    struct json_text key;
    const size_t begin = j->at;
    unsigned found = 0;
    bool accents_given = false;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        bool ok;
        if (json_text_is(key, "clean_text")) {
            found |= 1;
            ok = json_bool(j, &b->clean_text);
        } else if (json_text_is(key, "handle_chinese_chars")) {
            found |= 2;
            ok = json_bool(j, &b->ideographs);
        } else if (json_text_is(key, "lowercase")) {
            found |= 4;
            ok = json_bool(j, &b->lower_case);
        } else if (json_text_is(key, "strip_accents") && json_peek(j) != JSON_NULL) {
            accents_given = true;
            ok = json_bool(j, &b->strip_accents);
        } else {
            ok = json_skip(j);
        }
        if (!ok) return false;
    }
    if (j->failed) return false;
    if (found != 7) {
        j->at = begin;
        return json_fail(j, "BertNormalizer lacks \"%s\", expected true or false",
                         !(found & 1)   ? "clean_text"
                         : !(found & 2) ? "handle_chinese_chars"
                                        : "lowercase");
    }
    if (!accents_given) b->strip_accents = b->lower_case;
    return true;
}

static void clean(struct units *text) {
    size_t n = 0;
    for (size_t i = 0; i < text->size; i++) {
        struct unit u = text->items[i];
        if (u.c == '\t' || u.c == '\n' || u.c == '\r') {
            u.c = ' ';
        } else if (u.c < 0x20 || u.c >= 0x7f) {
            const unsigned flags = char_flags(u.c);
            if (u.c == 0 || u.c == CHAR_REPLACEMENT || (flags & CHAR_OTHER)) continue;
            if (flags & CHAR_SPACE) u.c = ' ';
        }
        text->items[n++] = u;
    }
    text->size = n;
}

static bool space_ideographs(struct units *text, struct units *spare) {
    size_t found = 0;
    for (size_t i = 0; i < text->size; i++)
        found += text->items[i].c >= 0x3400 && (char_flags(text->items[i].c) & CHAR_IDEOGRAPH);
    if (!found) return true;
    spare->size = 0;
    if (!units_reserve(spare, text->size + 2 * found)) return false;
    for (size_t i = 0; i < text->size; i++) {
        const struct unit u = text->items[i];
        const bool ideograph = u.c >= 0x3400 && (char_flags(u.c) & CHAR_IDEOGRAPH);
        if (ideograph) spare->items[spare->size++] = (struct unit){' ', u.begin, u.end};
        spare->items[spare->size++] = u;
        if (ideograph) spare->items[spare->size++] = (struct unit){' ', u.begin, u.end};
    }
    const struct units full = *spare;
    *spare = *text;
    *text = full;
    return true;
}

static bool strip_accents(struct units *text, struct units *spare) {
    if (!units_decompose(text, spare, false)) return false;
    size_t n = 0;
    for (size_t i = 0; i < text->size; i++)
        if (text->items[i].c < 0x300 || !(char_flags(text->items[i].c) & CHAR_NONSPACING))
            text->items[n++] = text->items[i];
    text->size = n;
    return true;
}

static bool bert_run(const struct normalizer_step *step, struct units *text, struct units *spare) {
    const struct bert_normalizer *b = &step->bert;
    if (b->clean_text) clean(text);
    if (b->ideographs && !space_ideographs(text, spare)) return false;
    if (b->strip_accents && !strip_accents(text, spare)) return false;
    return !b->lower_case || units_lower(text, spare);
}

const struct normalizer_kind normalizer_bert = {"BertNormalizer", bert_read, bert_run, true, NULL};
