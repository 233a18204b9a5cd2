// Cutting: how many tokens each text keeps, and the windows a long text is cut into.
#include "text/tokenizer.h"

static bool read_strategy(struct json *j, struct truncation *t) {
    struct json_text text;
    json_peek(j);
    const size_t at = j->at;
    if (!json_string(j, &text)) return false;
    if (json_text_is(text, "LongestFirst"))
        t->strategy = SABOK_TRUNCATE_LONGEST_FIRST;
    else if (json_text_is(text, "OnlyFirst"))
        t->strategy = SABOK_TRUNCATE_ONLY_FIRST;
    else if (json_text_is(text, "OnlySecond"))
        t->strategy = SABOK_TRUNCATE_ONLY_SECOND;
    if (t->strategy != SABOK_TRUNCATE_NONE) return true;
    j->at = at;
    return json_fail(j, "truncation strategy \"%.*s\", expected LongestFirst, OnlyFirst or OnlySecond",
                     text_shown(text), text.data);
}

// "Left" or "Right".
static bool read_direction(struct json *j, bool *left) {
    struct json_text text;
    json_peek(j);
    const size_t at = j->at;
    if (!json_string(j, &text)) return false;
    *left = json_text_is(text, "Left");
    if (*left || json_text_is(text, "Right")) return true;
    j->at = at;
    return json_fail(j, "direction \"%.*s\", expected Left or Right", text_shown(text), text.data);
}

static bool read_size(struct json *j, size_t *out) {
    uint64_t x;
    if (!json_u64(j, &x)) return false;
    *out = x > SIZE_MAX ? SIZE_MAX : (size_t)x;
    return true;
}

bool truncation_read(struct json *j, struct truncation *t) {
    *t = (struct truncation){.strategy = SABOK_TRUNCATE_NONE};
    if (json_peek(j) == JSON_NULL) return json_null(j);
    struct json_text key;
    unsigned found = 0;
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        bool ok;
        if (json_text_is(key, "max_length")) {
            found |= 1;
            ok = read_size(j, &t->max_length);
        } else if (json_text_is(key, "stride")) {
            found |= 2;
            ok = read_size(j, &t->stride);
        } else if (json_text_is(key, "strategy")) {
            found |= 4;
            ok = read_strategy(j, t);
        } else {
            ok = json_text_is(key, "direction") ? read_direction(j, &t->left) : json_skip(j);
        }
        if (!ok) return false;
    }
    if (!j->failed && found != 7) {
        j->at = begin;
        return json_fail(j, "truncation lacks \"%s\", expected one",
                         !(found & 1)   ? "max_length"
                         : !(found & 2) ? "stride"
                                        : "strategy");
    }
    return !j->failed;
}

// "BatchLongest" or {"Fixed": 128}
static bool read_padding_strategy(struct json *j, struct padding *p) {
    struct json_text text;
    if (json_peek(j) == JSON_STRING) {
        const size_t at = j->at;
        if (!json_string(j, &text)) return false;
        if (json_text_is(text, "BatchLongest")) return true;
        j->at = at;
        return json_fail(j, "padding strategy \"%.*s\", expected BatchLongest or Fixed", text_shown(text),
                         text.data);
    }
    if (!json_object_begin(j)) return false;
    while (json_key(j, &text))
        if (!(json_text_is(text, "Fixed") ? read_size(j, &p->fixed) : json_skip(j))) return false;
    return !j->failed;
}

bool padding_read(struct json *j, struct padding *p, struct arena *arena) {
    if (json_peek(j) == JSON_NULL) return json_null(j);
    struct json_text key, token = {0};
    uint64_t id = 0, type_id = 0;
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        bool ok;
        if (json_text_is(key, "strategy"))
            ok = read_padding_strategy(j, p);
        else if (json_text_is(key, "direction"))
            ok = read_direction(j, &p->left);
        else if (json_text_is(key, "pad_to_multiple_of"))
            ok = json_peek(j) == JSON_NULL ? json_null(j) : read_size(j, &p->multiple_of);
        else if (json_text_is(key, "pad_id"))
            ok = json_u64(j, &id);
        else if (json_text_is(key, "pad_type_id"))
            ok = json_u64(j, &type_id);
        else
            ok = json_text_is(key, "pad_token") ? json_string(j, &token) : json_skip(j);
        if (!ok) return false;
    }
    if (j->failed) return false;
    if (id > INT32_MAX || type_id > INT32_MAX) {
        j->at = begin;
        return json_fail(j, "padding with an id above %d", INT32_MAX);
    }
    p->given = true;
    p->id = (uint32_t)id;
    p->type_id = (uint32_t)type_id;
    p->token = arena_copy(arena, token.data ? token.data : "", token.size);
    return p->token || read_memory(j);
}

// ---------------------------------------------------------------------------------------------- cutting

// The reference's rule: the shorter text keeps all if the longer can give way; else each keeps half, the
// longer one the odd token.
static struct kept share_longest_first(size_t a, size_t b, size_t room) {
    size_t shorter = size_min(a, b), longer = shorter;
    if (shorter <= room) longer = size_max(shorter, room - shorter);
    if (shorter > room || longer > room - shorter) {
        shorter = room / 2;
        longer = room - shorter;
    }
    return a > b ? (struct kept){longer, shorter} : (struct kept){shorter, longer};
}

sabok_status truncation_share(const struct truncation *t, size_t a, size_t b, bool pair, size_t room,
                              struct kept *out, sabok_error *err) {
    *out = (struct kept){a, b};
    if (t->strategy == SABOK_TRUNCATE_NONE || a + b <= room) return SABOK_OK;
    if (room == 0) {
        *out = (struct kept){0, 0};
    } else if (t->strategy == SABOK_TRUNCATE_LONGEST_FIRST) {
        *out = pair ? share_longest_first(a, b, room) : (struct kept){room, 0};
    } else {
        const bool first = t->strategy == SABOK_TRUNCATE_ONLY_FIRST;
        if (!first && !pair)
            return error_set(err, SABOK_EINVAL, NULL,
                             "truncation only_second of a single text, expected a pair");
        const size_t remove = a + b - room, target = first ? a : b;
        if (target <= remove)
            return error_set(
                err, SABOK_EINVAL, NULL,
                "truncation only_%s: %zu tokens cannot give way to fit %zu, of which %zu are the other's",
                first ? "first" : "second", target, room, a + b - target);
        if (first)
            out->a = target - remove;
        else
            out->b = target - remove;
    }
    out->a = size_min(out->a, a);
    out->b = size_min(out->b, b);
    return SABOK_OK;
}

size_t truncation_windows(const struct truncation *t, size_t size, size_t kept) {
    if (kept >= size) return 1;
    if (kept == 0) return 2; // nothing, and then everything: so does the reference
    const size_t step = kept - t->stride;
    return 1 + (size - kept + step - 1) / step;
}

void truncation_window(const struct truncation *t, size_t size, size_t kept, size_t i, size_t *begin,
                       size_t *end) {
    *begin = 0;
    *end = size;
    if (kept >= size) return;
    if (kept == 0) {
        if (i == 0) *end = 0;
        return;
    }
    const size_t skip = i * (kept - t->stride);
    if (t->left) {
        *end = size - skip;
        *begin = *end > kept ? *end - kept : 0;
    } else {
        *begin = skip;
        *end = size_min(skip + kept, size);
    }
}
