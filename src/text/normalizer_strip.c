// Strip and StripAccents: removing spaces at the ends, and marks anywhere.
#include "text/tokenizer.h"

static bool strip_read(struct json *j, struct normalizer_step *step, struct arena *arena) {
    (void)arena;
    struct json_text key;
    unsigned found = 0;
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        bool ok;
        if (json_text_is(key, "strip_left")) {
            found |= 1;
            ok = json_bool(j, &step->strip.left);
        } else if (json_text_is(key, "strip_right")) {
            found |= 2;
            ok = json_bool(j, &step->strip.right);
        } else {
            ok = json_skip(j);
        }
        if (!ok) return false;
    }
    if (!j->failed && found != 3) {
        j->at = begin;
        return json_fail(j, "Strip lacks \"%s\", expected true or false",
                         found & 1 ? "strip_right" : "strip_left");
    }
    return !j->failed;
}

static bool is_space(uint32_t c) {
    return (char_flags(c) & CHAR_SPACE) != 0;
}

static bool strip_run(const struct normalizer_step *step, struct units *text, struct units *spare) {
    (void)spare;
    size_t begin = 0, end = text->size;
    while (step->strip.left && begin < end && is_space(text->items[begin].c))
        begin++;
    while (step->strip.right && end > begin && is_space(text->items[end - 1].c))
        end--;
    for (size_t i = begin; i < end; i++)
        text->items[i - begin] = text->items[i];
    text->size = end - begin;
    return true;
}

static bool accents_read(struct json *j, struct normalizer_step *step, struct arena *arena) {
    (void)step;
    (void)arena;
    return json_skip(j);
}

static bool accents_run(const struct normalizer_step *step, struct units *text, struct units *spare) {
    (void)step;
    (void)spare;
    size_t n = 0;
    for (size_t i = 0; i < text->size; i++)
        if (!(char_flags(text->items[i].c) & CHAR_MARK)) text->items[n++] = text->items[i];
    text->size = n;
    return true;
}

const struct normalizer_kind normalizer_strip = {"Strip", strip_read, strip_run, false, NULL};
const struct normalizer_kind normalizer_strip_accents = {"StripAccents", accents_read, accents_run, true,
                                                         NULL};
