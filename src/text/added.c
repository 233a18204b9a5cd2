// Added tokens: found in the text before (or, when "normalized", after) it is normalised, and never split.
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

static bool *added_flag(struct added_token *t, struct json_text key) {
    if (json_text_is(key, "single_word")) return &t->single_word;
    if (json_text_is(key, "lstrip")) return &t->lstrip;
    if (json_text_is(key, "rstrip")) return &t->rstrip;
    if (json_text_is(key, "normalized")) return &t->normalized;
    if (json_text_is(key, "special")) return &t->special;
    return NULL;
}

static bool read_token(struct json *j, struct added_token *t, struct arena *arena) {
    struct json_text key, text = {0};
    uint64_t id = UINT64_MAX;
    unsigned flags = 0;
    json_peek(j);
    t->at = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        bool *flag = added_flag(t, key), ok;
        if (flag) flags++;
        if (flag)
            ok = json_bool(j, flag);
        else if (json_text_is(key, "content"))
            ok = json_string(j, &text);
        else
            ok = json_text_is(key, "id") ? json_u64(j, &id) : json_skip(j);
        if (!ok) return false;
    }
    if (j->failed) return false;
    const size_t end = j->at;
    j->at = (size_t)t->at;
    if (!text.data || id == UINT64_MAX || flags != 5)
        return json_fail(j,
                         "an added token lacks a field, expected id, content, single_word, lstrip, rstrip, "
                         "normalized and special, once each");
    if (id > INT32_MAX)
        return json_fail(j, "added token id %llu, expected at most %d", (unsigned long long)id, INT32_MAX);
    if (text.size > ADDED_BYTES_MAX)
        return json_fail(j, "an added token of %zu bytes, expected at most %d", text.size, ADDED_BYTES_MAX);
    j->at = end;
    t->id = (uint32_t)id;
    t->size = text.size;
    t->text = arena_copy(arena, text.data, text.size);
    return t->text || read_memory(j);
}

bool added_read(struct json *j, struct added *a, struct arena *arena) {
    if (!json_array_begin(j)) return false;
    while (json_item(j)) {
        struct added_token t = {0};
        if (!read_token(j, &t, arena)) return false;
        if (t.size == 0) continue; // never matches
        if (a->count == a->cap && !mem_grow((void **)&a->tokens, &a->cap, a->count + 1, sizeof *a->tokens))
            return read_memory(j);
        a->tokens[a->count++] = t;
    }
    return !j->failed;
}

void added_free(struct added *a) {
    mem_free(a->tokens);
    mem_free(a->raw.patterns);
    mem_free(a->normalized.patterns);
    *a = (struct added){0};
}

// ---------------------------------------------------------------------------------------------- building

static int compare_patterns(const void *a, const void *b) {
    const struct added_pattern *x = a, *y = b;
    const int order = memcmp(x->text, y->text, size_min(x->size, y->size));
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

static void matcher_build(struct added_matcher *m) {
    if (m->count) qsort(m->patterns, m->count, sizeof *m->patterns, compare_patterns);
    uint32_t k = 0;
    for (unsigned b = 0; b < 256; b++) {
        m->first[b] = k;
        while (k < m->count && (unsigned char)m->patterns[k].text[0] == b)
            k++;
    }
    m->first[256] = k;
}

// The token's text as the normalizer leaves it.
static bool normalize(const struct added_token *t, const struct normalizer *n, struct arena *arena,
                      struct added_pattern *out) {
    struct units text = {0}, spare = {0};
    struct buf bytes = {0};
    bool ok = true;
    for (size_t at = 0; ok && at < t->size;) {
        uint32_t c;
        const size_t size = utf8_read((const uint8_t *)t->text + at, t->size - at, &c);
        ok = units_push(&text, c, 0, 0);
        at += size;
    }
    ok = ok && normalizer_run(n, &text, &spare) && units_write(text.items, 0, text.size, &bytes);
    if (ok) {
        out->size = bytes.size;
        out->text = arena_copy(arena, bytes.size ? bytes.data : "", bytes.size);
        ok = out->text != NULL;
    }
    units_free(&text);
    units_free(&spare);
    buf_free(&bytes);
    return ok;
}

static bool same_token(const struct added_token *a, const struct added_token *b) {
    return a->single_word == b->single_word && a->lstrip == b->lstrip && a->rstrip == b->rstrip &&
           a->normalized == b->normalized && a->special == b->special && a->id == b->id;
}

static int compare_texts(const void *a, const void *b) {
    const struct added_token *x = *(const struct added_token *const *)a;
    const struct added_token *y = *(const struct added_token *const *)b;
    const int order = memcmp(x->text, y->text, size_min(x->size, y->size));
    if (order || x->size != y->size) return order ? order : x->size < y->size ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

// Drops tokens listed again just the same; an error when the second differs.
static sabok_status drop_repeats(struct added *a, const char *where, sabok_error *err) {
    struct added_token **sorted = mem_array(a->count, sizeof *sorted);
    if (!sorted) return error_memory(err, where);
    for (size_t i = 0; i < a->count; i++)
        sorted[i] = &a->tokens[i];
    qsort(sorted, a->count, sizeof *sorted, compare_texts);
    sabok_status status = SABOK_OK;
    for (size_t i = 1; i < a->count && status == SABOK_OK; i++) {
        const struct added_token *x = sorted[i - 1];
        struct added_token *y = sorted[i];
        if (x->size != y->size || memcmp(x->text, y->text, x->size) != 0) continue;
        if (!same_token(x, y))
            status = error_at(
                err, SABOK_EFORMAT, where, y->at,
                "added token \"%.100s\" is listed again with another id or other flags, expected once",
                y->text);
        const uint64_t at = x->at;
        *y = *x;
        y->at = at;
        sorted[i - 1]->size = 0;
    }
    mem_free(sorted);
    size_t n = 0;
    for (size_t i = 0; i < a->count; i++)
        if (a->tokens[i].size) a->tokens[n++] = a->tokens[i];
    a->count = n;
    return status;
}

// Ids as the reference gives them: a piece of the vocabulary keeps its own, others count on from the number
// of pieces (which, in a vocabulary with holes, may be another piece's: such files exist, and mean what the
// reference does).
static sabok_status check_ids(const struct added *a, const struct vocab *v, const char *where,
                              sabok_error *err) {
    uint64_t next = v->count;
    for (size_t i = 0; i < a->count; i++) {
        const struct added_token *t = &a->tokens[i];
        const uint32_t piece = vocab_find(v, t->text, t->size);
        const uint64_t expected = piece != NO_PIECE ? v->pieces[piece].id : next++;
        if (t->id != expected)
            return error_at(err, SABOK_EFORMAT, where, t->at,
                            "added token \"%.100s\" has id %u, expected %llu, %s", t->text, t->id,
                            (unsigned long long)expected,
                            piece != NO_PIECE ? "its id in the vocabulary" : "the next after the vocabulary");
    }
    return SABOK_OK;
}

sabok_status added_patterns(struct added *a, const struct normalizer *n, struct arena *arena,
                            const char *where, sabok_error *err) {
    a->raw.count = a->normalized.count = 0;
    for (size_t i = 0; i < a->count; i++) {
        const struct added_token *t = &a->tokens[i];
        struct added_matcher *m = t->normalized ? &a->normalized : &a->raw;
        struct added_pattern p = {t->text, t->size, (uint32_t)i};
        if (t->normalized && !normalize(t, n, arena, &p)) return error_memory(err, where);
        if (p.size == 0)
            return error_at(err, SABOK_EFORMAT, where, t->at,
                            "added token \"%.100s\" is normalised to nothing, expected some text", t->text);
        m->patterns[m->count++] = p;
    }
    matcher_build(&a->raw);
    matcher_build(&a->normalized);
    for (size_t i = 1; i < a->normalized.count; i++)
        if (compare_patterns(&a->normalized.patterns[i - 1], &a->normalized.patterns[i]) == 0)
            return error_at(err, SABOK_EFORMAT, where, a->tokens[a->normalized.patterns[i].token].at,
                            "added tokens \"%.100s\" and \"%.100s\" are the same when normalised",
                            a->tokens[a->normalized.patterns[i - 1].token].text,
                            a->tokens[a->normalized.patterns[i].token].text);
    return SABOK_OK;
}

sabok_status added_build(struct added *a, const struct vocab *v, const struct normalizer *n,
                         struct arena *arena, const char *where, sabok_error *err) {
    if (a->count) {
        TRY(drop_repeats(a, where, err));
        TRY(check_ids(a, v, where, err));
        a->raw.patterns = mem_array(a->count, sizeof *a->raw.patterns);
        a->normalized.patterns = mem_array(a->count, sizeof *a->normalized.patterns);
        if (!a->raw.patterns || !a->normalized.patterns) return error_memory(err, where);
    }
    return added_patterns(a, n, arena, where, err);
}
