// Precompiled: the map of a sentencepiece file, as the reference applies it. A grapheme of fewer than six bytes is looked
// up whole, then each character; what is found is the shortest key that begins there, and it replaces all that was
// looked up. Keys are in a double array, results NUL-ended in one block.
#include "text/grapheme_exceptions.h"
#include "text/tokenizer.h"

#include <string.h>
#include <utf8proc.h>

#define GRAPHEME_BYTES 6 // graphemes this long are taken apart
#define RESULT_CHARS_MAX 64

struct charsmap {
    const uint8_t *units; // little-endian 32-bit
    size_t count;
    const char *results;          // UTF-8
    size_t result_bytes, longest; // code points
    bool plain[128];              // ASCII characters without an entry
};

static uint32_t unit_at(const struct charsmap *m, size_t i) {
    const uint8_t *p = m->units + 4 * i;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static size_t unit_offset(uint32_t unit) {
    return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

// The result of the shortest key that text begins with; false when there is none.
static bool charsmap_find(const struct charsmap *m, const char *text, size_t size, struct json_text *out) {
    size_t at = unit_offset(unit_at(m, 0));
    for (size_t i = 0; i < size && text[i] != 0; i++) {
        at ^= (uint8_t)text[i];
        if (at >= m->count) return false;
        const uint32_t unit = unit_at(m, at);
        if ((unit & (1u << 31 | 0xff)) != (uint8_t)text[i]) return false;
        at ^= unit_offset(unit);
        if (!(unit >> 8 & 1)) continue;
        const size_t value = at < m->count ? unit_at(m, at) & 0x7fffffff : SIZE_MAX;
        if (value >= m->result_bytes || ((uint8_t)m->results[value] & 0xc0) == 0x80) return false;
        const char *end = memchr(m->results + value, 0, m->result_bytes - value);
        *out = (struct json_text){m->results + value,
                                  (end ? (size_t)(end - m->results) : m->result_bytes) - value};
        return true;
    }
    return false;
}

// The code points of the longest result; SIZE_MAX where they are no UTF-8.
static size_t longest_result(const struct charsmap *m) {
    size_t longest = 0, n = 0;
    for (size_t at = 0; at < m->result_bytes;) {
        uint32_t c;
        const size_t width = utf8_read((const uint8_t *)m->results + at, m->result_bytes - at, &c);
        if (c == CHAR_REPLACEMENT && (width != 3 || (uint8_t)m->results[at] != 0xef)) return SIZE_MAX;
        n = c ? n + 1 : 0;
        longest = size_max(longest, n);
        at += width;
    }
    return longest;
}

const struct charsmap *charsmap_make(const uint8_t *blob, size_t size, struct arena *arena,
                                     const char **problem) {
    *problem = "a charsmap that is cut short";
    if (size < 8) return NULL;
    const size_t bytes =
        (size_t)blob[0] | (size_t)blob[1] << 8 | (size_t)blob[2] << 16 | (size_t)blob[3] << 24;
    if (bytes < 4 || bytes % 4 != 0 || bytes > size - 4) return NULL;
    struct charsmap *m = arena_alloc(arena, sizeof *m);
    const char *copy = arena_copy(arena, (const char *)blob, size);
    *problem = NULL;
    if (!m || !copy) return NULL;
    m->units = (const uint8_t *)copy + 4;
    m->count = bytes / 4;
    m->results = copy + 4 + bytes;
    m->result_bytes = size - 4 - bytes;
    m->longest = longest_result(m);
    *problem = m->longest == SIZE_MAX ? "results of a charsmap that are not UTF-8"
                                      : "a result of a charsmap of more than 64 characters";
    if (m->longest > RESULT_CHARS_MAX) return NULL;
    for (unsigned c = 0; c < 128; c++) {
        struct json_text found;
        const char text[1] = {(char)c};
        m->plain[c] = !charsmap_find(m, text, 1, &found);
    }
    return m;
}

// ---------------------------------------------------------------------------------------------- reading

static int base64_value(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// False when t is no base64. out has room for 3 bytes of every 4.
static bool base64_read(struct json_text t, uint8_t *out, size_t *size) {
    size_t n = t.size, k = 0;
    if (n % 4 != 0) return false;
    for (int i = 0; i < 2 && n > 0 && t.data[n - 1] == '='; i++)
        n--;
    for (size_t i = 0; i < n; i += 4) {
        uint32_t bits = 0;
        const size_t have = size_min(4, n - i);
        for (size_t d = 0; d < 4; d++) {
            const int value = d < have ? base64_value(t.data[i + d]) : 0;
            if (value < 0) return false;
            bits = bits << 6 | (uint32_t)value;
        }
        for (size_t d = 0; d + 1 < have; d++)
            out[k++] = (uint8_t)(bits >> (16 - 8 * d));
    }
    *size = k;
    return true;
}

static bool precompiled_read(struct json *j, struct normalizer_step *step, struct arena *arena) {
    struct json_text key, text = {0};
    json_peek(j);
    size_t at = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        const bool is_map = json_text_is(key, "precompiled_charsmap");
        json_peek(j);
        if (is_map) at = j->at;
        if (!(is_map ? json_string(j, &text) : json_skip(j))) return false;
    }
    if (j->failed) return false;
    const size_t end = j->at;
    size_t size;
    uint8_t *blob = mem_alloc(text.size / 4 * 3);
    if (!blob) return read_memory(j);
    const char *problem = "a precompiled_charsmap that is not base64";
    if (base64_read(text, blob, &size)) step->charsmap = charsmap_make(blob, size, arena, &problem);
    mem_free(blob);
    if (step->charsmap) return true;
    if (!problem) return read_memory(j);
    j->at = at;
    json_fail(j, "%s, expected the map of a sentencepiece file", problem);
    j->at = end;
    return false;
}

// ---------------------------------------------------------------------------------------------- running

// What `old` code points become: the first take their places, more are added, fewer take the rest with the last.
static bool put_result(struct units *out, struct json_text result, size_t old) {
    size_t n = 0;
    for (size_t at = 0; at < result.size; n++) {
        uint32_t c;
        at += utf8_read((const uint8_t *)result.data + at, result.size - at, &c);
        if (!units_push(out, c, 0, 0)) return false;
    }
    for (size_t i = old; i < n; i++)
        out->items[out->size - 1 - (i - old)].begin = 1;
    if (n < old && out->size) out->items[out->size - 1].begin -= (uint32_t)(old - n);
    return true;
}

// A code point that utf8proc treats as the reference does c.
static utf8proc_int32_t grapheme_like(uint32_t c) {
    static const utf8proc_int32_t like[] = {'a', 0x300, 0x600, 0x2764};
    size_t low = 0, high = COUNT(grapheme_exceptions);
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (grapheme_exceptions[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == COUNT(grapheme_exceptions) || grapheme_exceptions[low].first > c) return (utf8proc_int32_t)c;
    return like[grapheme_exceptions[low].is];
}

bool grapheme_joins_space(uint32_t c) {
    if (c < 0x300) return false;
    const utf8proc_int32_t like = grapheme_like(c);
    return !utf8proc_grapheme_break(' ', like) || !utf8proc_grapheme_break(like, ' ');
}

// The end of the grapheme at text[at].
static size_t grapheme_end(const struct units *text, size_t at) {
    utf8proc_int32_t state = 0, last = grapheme_like(text->items[at].c);
    size_t end = at + 1;
    for (; end < text->size; end++) {
        const utf8proc_int32_t next = grapheme_like(text->items[end].c);
        if (utf8proc_grapheme_break_stateful(last, next, &state)) break;
        last = next;
    }
    return end;
}

static bool is_single(const struct units *text, size_t at) {
    const uint32_t c = text->items[at].c;
    if (c >= 0x80) return false;
    if (at + 1 == text->size) return true;
    const uint32_t next = text->items[at + 1].c;
    return next < 0x80 && !(c == '\r' && next == '\n');
}

// Looks up code points [begin, end) as one; *found says whether it was replaced. False when out of memory.
static bool replace_range(const struct charsmap *m, const struct units *text, size_t begin, size_t end,
                          struct units *out, bool *found) {
    char bytes[GRAPHEME_BYTES + 4];
    size_t size = 0;
    *found = false;
    for (size_t i = begin; i < end; i++) {
        size += utf8_write(text->items[i].c, bytes + size);
        if (end - begin > 1 && size >= GRAPHEME_BYTES) return true;
    }
    struct json_text result;
    if (!charsmap_find(m, bytes, size, &result)) return true;
    *found = true;
    return put_result(out, result, end - begin);
}

static bool precompiled_run(const struct normalizer_step *step, struct units *text, struct units *spare) {
    const struct charsmap *m = step->charsmap;
    bool changed = false;
    spare->size = 0;
    if (!units_reserve(spare, text->size)) return false;
    for (size_t at = 0; at < text->size;) {
        if (is_single(text, at) && m->plain[text->items[at].c]) {
            if (!units_push(spare, text->items[at++].c, 0, 0)) return false;
            continue;
        }
        const size_t end = is_single(text, at) ? at + 1 : grapheme_end(text, at);
        bool found;
        if (!replace_range(m, text, at, end, spare, &found)) return false;
        changed = changed || found;
        for (; !found && at < end; at++) {
            bool one;
            if (!replace_range(m, text, at, at + 1, spare, &one)) return false;
            changed = changed || one;
            if (!one && !units_push(spare, text->items[at].c, 0, 0)) return false;
        }
        at = end;
    }
    if (!changed) return true;
    units_align(text, spare);
    units_exchange(text, spare);
    return true;
}

static size_t precompiled_growth(const struct normalizer_step *step) {
    return step->charsmap->longest;
}

const struct normalizer_kind normalizer_precompiled = {"Precompiled", precompiled_read, precompiled_run,
                                                       false, precompiled_growth};
