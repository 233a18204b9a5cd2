// Finding added tokens in a text: the leftmost, then the longest, then what its flags ask of its neighbours.
#include "text/tokenizer.h"

#include <string.h>

// The longest pattern at text[at, size), or NULL. The patterns that agree with the text so far stay one range
// of the sorted list; a pattern that ends comes first in its range.
static const struct added_pattern *match_at(const struct added_matcher *m, const char *text, size_t at,
                                            size_t size) {
    const unsigned char *s = (const unsigned char *)text + at;
    const struct added_pattern *best = NULL;
    size_t low = m->first[s[0]], high = m->first[s[0] + 1u];
    for (size_t depth = 1; low < high; depth++) {
        if (m->patterns[low].size == depth) best = &m->patterns[low++];
        if (depth == size - at) break;
        if (high - low == 1) { // the common case: one candidate
            const struct added_pattern *p = &m->patterns[low];
            const bool whole = p->size <= size - at && memcmp(p->text, s, p->size) == 0;
            return whole ? p : best;
        }
        size_t a = low, b = high;
        while (a < b) { // first pattern whose next byte is not below the text's
            const size_t middle = (a + b) / 2;
            if ((unsigned char)m->patterns[middle].text[depth] < s[depth])
                a = middle + 1;
            else
                b = middle;
        }
        low = a;
        for (b = high; a < b;) { // first whose next byte is above
            const size_t middle = (a + b) / 2;
            if ((unsigned char)m->patterns[middle].text[depth] <= s[depth])
                a = middle + 1;
            else
                b = middle;
        }
        high = a;
    }
    return best;
}

bool added_may_match(const struct added_matcher *m, const char *text, size_t size) {
    if (m->count == 0) return false;
    const unsigned char lead = (unsigned char)m->patterns[0].text[0];
    if (m->first[lead + 1u] == m->count) { // all begin alike, as "[CLS]" and its kin do
        const char *end = text + size;
        for (const char *p = text; (p = memchr(p, lead, (size_t)(end - p))) != NULL; p++)
            if (match_at(m, text, (size_t)(p - text), size)) return true;
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        const unsigned char b = (unsigned char)text[i];
        if (m->first[b] != m->first[b + 1u] && match_at(m, text, i, size)) return true;
    }
    return false;
}

static bool has_flag(const struct unit *u, unsigned flag) {
    return (char_flags(u->c) & flag) != 0;
}

struct walk {
    size_t done;               // everything before this is in a span
    size_t run_begin, run_end; // the last run of spaces walked over, so that none is walked over twice
};

// Takes in the spaces that the token's flags ask for. False when the token must be a word of its own and is
// not.
static bool widen(const struct added_token *t, const struct unit *u, struct span part, struct walk *w,
                  size_t *begin, size_t *end) {
    if (t->single_word) {
        if (*begin > part.begin && has_flag(&u[*begin - 1], CHAR_WORD)) return false;
        if (*end < part.end && has_flag(&u[*end], CHAR_WORD)) return false;
    }
    if (t->lstrip) {
        size_t b = *begin;
        while (b > w->done && has_flag(&u[b - 1], CHAR_SPACE))
            b--;
        *begin = size_max(b, w->done);
    }
    if (t->rstrip) {
        if (*end < w->run_begin || *end > w->run_end) {
            w->run_begin = w->run_end = *end;
            while (w->run_end < part.end && has_flag(&u[w->run_end], CHAR_SPACE))
                w->run_end++;
        }
        *end = w->run_end;
    }
    return *begin < *end;
}

bool added_split(const struct added *a, const struct added_matcher *m, const struct unit *u, struct span part,
                 const struct buf *bytes, struct spans *out) {
    struct walk w = {.done = part.begin};
    size_t at = 0, unit = part.begin;
    while (m->count && at < bytes->size) {
        const struct added_pattern *p = NULL;
        const unsigned char b = (unsigned char)bytes->data[at];
        if (m->first[b] != m->first[b + 1u]) p = match_at(m, bytes->data, at, bytes->size);
        if (!p) {
            char skip[4];
            at += utf8_write(u[unit++].c, skip);
            continue;
        }
        size_t begin = unit, end = unit;
        for (size_t left = p->size; left > 0; end++) {
            char skip[4];
            left -= utf8_write(u[end].c, skip);
        }
        at += p->size;
        unit = end;
        if (!widen(&a->tokens[p->token], u, part, &w, &begin, &end)) continue;
        if (w.done < begin && !spans_push(out, w.done, begin, NO_PIECE)) return false;
        if (!spans_push(out, begin, end, p->token)) return false;
        w.done = end;
    }
    return w.done == part.end || spans_push(out, w.done, part.end, NO_PIECE);
}
