// Compiling and running patterns. A pattern is written anew for PCRE2 where its classes or its spelling differ from the
// reference's: \s \w \d \h, letters and numbers of later Unicode versions, \uXXXX, {,n}.
#include "text/regex.h"
#include "text/scan_exceptions.h"

#include <string.h>
#include <time.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define PATTERN_BYTES_MAX 65536
#define MATCH_STEPS_MAX 1000000 // of one search
#define MATCH_KILOBYTES_MAX 65536
#define SEARCH_BYTES 256 // places where a match may begin, before the time is looked at again
#define SECONDS_LEAST 1.0
#define SECONDS_A_BYTE 4e-6

struct regex {
    enum regex_kind kind;
    unsigned digits;
    size_t least;
    struct json_text literal;
    pcre2_code *code;
    pcre2_general_context *memory;
};

static void *pcre_alloc(size_t n, void *ctx) {
    (void)ctx;
    return mem_alloc(n);
}
static void pcre_free(void *p, void *ctx) {
    (void)ctx;
    mem_free(p);
}

#define GPT4(numbers)                                                                                        \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers                                    \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
static const struct {
    const char *pattern;
    enum regex_kind kind;
    unsigned digits;
} known[] = {
    {" {2,}", REGEX_SPACES, 0},
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", REGEX_GPT2, 0},
    {"'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", REGEX_GPT2, 0},
    {GPT4("\\p{N}{1,3}"), REGEX_GPT4, 3},
    {GPT4("\\p{N}"), REGEX_GPT4, 1},
};

// ---------------------------------------------------------------------------------------------- translation

static void put_ranges(struct buf *b, const uint32_t (*ranges)[2], size_t n) {
    for (size_t i = 0; i < n; i++)
        buf_printf(b, "\\x{%x}-\\x{%x}", ranges[i][0], ranges[i][1]);
}

static void put_letters(struct buf *b) {
    buf_printf(b, "\\p{L}");
    put_ranges(b, pcre_letters, COUNT(pcre_letters));
}
static void put_numbers(struct buf *b) {
    buf_printf(b, "\\p{N}");
    put_ranges(b, pcre_numbers, COUNT(pcre_numbers));
}
static void put_words(struct buf *b) {
    buf_printf(b, "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}");
}
static void put_hexadecimal(struct buf *b) {
    buf_printf(b, "0-9A-Fa-f");
}

// A class of the reference's, alone or inside brackets. What a bracket cannot hold is refused.
static const struct {
    const char *text, *opposite;
    void (*put)(struct buf *b);
} spelt_out[] = {
    {"\\p{L}", "\\P{L}", put_letters},
    {"\\p{N}", "\\P{N}", put_numbers},
    {"\\w", "\\W", put_words},
    {"\\h", "\\H", put_hexadecimal},
};
static const struct {
    const char *text, *put;
} renamed[] = {
    {"\\s", "\\p{White_Space}"}, {"\\S", "\\P{White_Space}"}, {"\\d", "\\p{Nd}"}, {"\\D", "\\P{Nd}"}};

static bool begins(struct json_text t, size_t at, const char *with) {
    const size_t n = strlen(with);
    return t.size - at >= n && memcmp(t.data + at, with, n) == 0;
}

// Writes the escape at t[at]; returns its bytes, or 0 when it is not supported.
static size_t put_escape(struct json_text t, size_t at, bool inside, struct buf *b) {
    for (size_t i = 0; i < COUNT(spelt_out); i++) {
        const bool same = begins(t, at, spelt_out[i].text);
        if (!same && !begins(t, at, spelt_out[i].opposite)) continue;
        if (!same && inside) return 0;
        if (!inside) buf_printf(b, same ? "[" : "[^");
        spelt_out[i].put(b);
        if (!inside) buf_printf(b, "]");
        return strlen(spelt_out[i].text);
    }
    for (size_t i = 0; i < COUNT(renamed); i++)
        if (begins(t, at, renamed[i].text)) {
            buf_printf(b, "%s", renamed[i].put);
            return 2;
        }
    if (begins(t, at, "\\u") && t.size - at >= 6) {
        buf_printf(b, "\\x{%.4s}", t.data + at + 2);
        return 6;
    }
    const size_t n = size_min(2, t.size - at);
    buf_put(b, t.data + at, n);
    return n;
}

// False, and *at the place, where the pattern says what PCRE2 would understand otherwise.
static bool translate(struct json_text t, struct buf *b, size_t *at) {
    bool inside = false;
    size_t begin = 0; // of the class
    for (*at = 0; *at < t.size;) {
        const char c = t.data[*at];
        if (c == '\\') {
            const size_t n = put_escape(t, *at, inside, b);
            if (n == 0) return false;
            *at += n;
            continue;
        }
        if (!inside && c == '[') {
            inside = true;
            begin = *at + 1 + begins(t, *at, "[^");
        } else if (inside && c == ']' && *at > begin) {
            inside = false;
        } else if (inside && (begins(t, *at, "&&") || (c == '[' && !begins(t, *at, "[:")))) {
            return false;
        } else if (!inside && (begins(t, *at, "(?m") || begins(t, *at, "(?s"))) {
            return false;
        }
        if (inside && begins(t, *at, "[:")) { // [:alpha:], whole
            const char *end = memchr(t.data + *at, ']', t.size - *at);
            if (!end) return false;
            const size_t n = (size_t)(end + 1 - t.data) - *at;
            buf_put(b, t.data + *at, n);
            *at += n;
            continue;
        }
        buf_put(b, &c, 1);
        ++*at;
        if (!inside && c == '{' && *at < t.size && t.data[*at] == ',') buf_put(b, "0", 1);
    }
    return true;
}

// ---------------------------------------------------------------------------------------------- making

// Compiles what `translate` wrote. False after json_fail.
static bool compile(struct json *j, struct regex *r, const struct buf *b, size_t at) {
    int code;
    PCRE2_SIZE where;
    r->memory = pcre2_general_context_create(pcre_alloc, pcre_free, NULL);
    pcre2_compile_context *context = r->memory ? pcre2_compile_context_create(r->memory) : NULL;
    if (!context) return read_memory(j);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, 50);
    const uint32_t options =
        PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT;
    r->code = pcre2_compile((PCRE2_SPTR)b->data, b->size, options, &code, &where, context);
    pcre2_compile_context_free(context);
    if (!r->code) {
        if (code == PCRE2_ERROR_HEAP_FAILED) return read_memory(j);
        PCRE2_UCHAR text[128] = {0};
        pcre2_get_error_message(code, text, sizeof text);
        j->at = at;
        return json_fail(j, "the pattern is wrong: %s, expected a regular expression", (const char *)text);
    }
    pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE); // without, it runs more slowly
    // PCRE2 10.42 takes (7)|(?=c) for a pattern of one character at least.
    uint32_t least = 0;
    if (!memmem(b->data, b->size, "(?", 2)) pcre2_pattern_info(r->code, PCRE2_INFO_MINLENGTH, &least);
    r->least = least;
    return true;
}

static bool fill(struct json *j, struct regex *r, struct json_text pattern, bool literal, size_t at) {
    if (pattern.size == 0 || pattern.size > PATTERN_BYTES_MAX) {
        j->at = at;
        return json_fail(j, "a pattern of %zu bytes, expected 1 to %d", pattern.size, PATTERN_BYTES_MAX);
    }
    r->least = pattern.size;
    if (literal) {
        r->kind = REGEX_LITERAL;
        r->literal = (struct json_text){mem_copy_bytes(pattern.data, pattern.size), pattern.size};
        return r->literal.data || read_memory(j);
    }
    for (size_t i = 0; i < COUNT(known); i++)
        if (json_text_is(pattern, known[i].pattern)) {
            r->kind = known[i].kind;
            r->digits = known[i].digits;
            r->least = r->kind == REGEX_SPACES ? 2 : 1;
            return true;
        }
    struct buf b = {0};
    size_t wrong;
    const bool whole = translate(pattern, &b, &wrong);
    bool ok;
    if (b.failed) {
        ok = read_memory(j);
    } else if (!whole) {
        j->at = at;
        ok = json_fail(j, "the pattern has \"%.*s\" at its byte %zu, which is not supported",
                       (int)size_min(pattern.size - wrong, 8), pattern.data + wrong, wrong);
    } else {
        ok = compile(j, r, &b, at);
    }
    buf_free(&b);
    return ok;
}

struct regex *regex_make(struct json *j, struct json_text pattern, bool literal, size_t at) {
    struct regex *r = mem_zalloc(sizeof *r);
    if (!r) {
        read_memory(j);
        return NULL;
    }
    const size_t end = j->at;
    if (fill(j, r, pattern, literal, at)) {
        j->at = end;
        return r;
    }
    regex_free(r);
    return NULL;
}

struct regex *regex_read(struct json *j) {
    struct json_text key, text = {0};
    bool literal = false;
    json_peek(j);
    const size_t begin = j->at;
    if (!json_object_begin(j)) return NULL;
    while (json_key(j, &key)) {
        literal = json_text_is(key, "String");
        if (text.data || (!literal && !json_text_is(key, "Regex"))) {
            json_fail(j, "pattern \"%.*s\" is not supported, expected one \"String\" or \"Regex\"",
                      text_shown(key), key.data);
            return NULL;
        }
        if (!json_string(j, &text)) return NULL;
    }
    return j->failed ? NULL : regex_make(j, text, literal, begin);
}

void regex_free(struct regex *r) {
    if (!r) return;
    mem_free((char *)(uintptr_t)r->literal.data);
    pcre2_code_free(r->code);
    pcre2_general_context_free(r->memory);
    mem_free(r);
}

enum regex_kind regex_kind(const struct regex *r) {
    return r->kind;
}
unsigned regex_digits(const struct regex *r) {
    return r->digits;
}
size_t regex_least(const struct regex *r) {
    return r->least;
}
struct json_text regex_literal(const struct regex *r) {
    return r->literal;
}

// ---------------------------------------------------------------------------------------------- running

static double thread_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct search {
    const struct regex *r;
    const char *text;
    size_t size;
    pcre2_match_context *context;
    pcre2_match_data *data;
    double deadline;
    unsigned calls;
    bool stuck;
};

// One search from `at`: 1 with the match in *out, 0 none, -1 out of memory or stuck.
static int search_next(struct search *s, size_t at, struct span *out) {
    for (;;) {
        if (++s->calls % 64 == 0 && thread_seconds() > s->deadline) break;
        const size_t limit = s->size - at > SEARCH_BYTES ? at + SEARCH_BYTES : s->size;
        pcre2_set_offset_limit(s->context, limit);
        int n = pcre2_match(s->r->code, (PCRE2_SPTR)s->text, s->size, at, PCRE2_NO_UTF_CHECK, s->data,
                            s->context);
        if (n == PCRE2_ERROR_JIT_STACKLIMIT) // the interpreter's stack is the heap
            n = pcre2_match(s->r->code, (PCRE2_SPTR)s->text, s->size, at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                            s->data, s->context);
        if (n > 0) {
            const PCRE2_SIZE *found = pcre2_get_ovector_pointer(s->data);
            *out = (struct span){found[0], size_max(found[0], found[1]), NO_PIECE};
            return 1;
        }
        if (n == PCRE2_ERROR_NOMEMORY) return -1;
        if (n != PCRE2_ERROR_NOMATCH) break;
        if (limit == s->size) return 0;
        at = limit;
        while (at < s->size && (s->text[at] & 0xc0) == 0x80)
            at++;
    }
    s->stuck = true;
    return -1;
}

// An empty match just after the last match is passed over, as in the reference.
static bool search_all(struct search *s, struct spans *out) {
    size_t at = 0, last = SIZE_MAX;
    while (at <= s->size) {
        struct span m = {0};
        const int found = search_next(s, at, &m);
        if (found <= 0) return found == 0;
        at = m.end;
        if (m.begin == m.end && m.end == last) {
            at++;
            while (at < s->size && (s->text[at] & 0xc0) == 0x80)
                at++;
            continue;
        }
        last = m.end;
        if (!spans_push(out, m.begin, m.end, NO_PIECE)) return false;
    }
    return true;
}

static bool find_pcre(const struct regex *r, const char *text, size_t size, struct spans *out, bool *stuck) {
    struct search s = {.r = r, .text = text, .size = size};
    s.context = pcre2_match_context_create(r->memory);
    s.data = pcre2_match_data_create(1, r->memory);
    bool ok = s.context && s.data;
    if (ok) {
        pcre2_set_match_limit(s.context, MATCH_STEPS_MAX);
        pcre2_set_heap_limit(s.context, MATCH_KILOBYTES_MAX);
        s.deadline = thread_seconds() + SECONDS_LEAST + SECONDS_A_BYTE * (double)size;
        ok = search_all(&s, out);
    }
    pcre2_match_data_free(s.data);
    pcre2_match_context_free(s.context);
    *stuck = *stuck || s.stuck;
    return ok;
}

static bool find_literal(const struct regex *r, const char *text, size_t size, struct spans *out) {
    const char *at = text, *const end = text + size;
    while ((at = memmem(at, (size_t)(end - at), r->literal.data, r->literal.size)) != NULL) {
        const size_t begin = (size_t)(at - text);
        if (!spans_push(out, begin, begin + r->literal.size, NO_PIECE)) return false;
        at += r->literal.size;
    }
    return true;
}

static bool find_spaces(const char *text, size_t size, struct spans *out) {
    for (size_t at = 0; at < size;) {
        size_t end = at;
        while (end < size && text[end] == ' ')
            end++;
        if (end - at >= 2 && !spans_push(out, at, end, NO_PIECE)) return false;
        at = end + 1;
    }
    return true;
}

bool regex_find(const struct regex *r, const char *text, size_t size, struct spans *out, bool *stuck) {
    if (size == 0) return true; // nothing is found in nothing, whatever the pattern
    switch (r->kind) {
    case REGEX_PCRE:
        return find_pcre(r, text, size, out, stuck);
    case REGEX_LITERAL:
        return find_literal(r, text, size, out);
    case REGEX_SPACES:
        return find_spaces(text, size, out);
    default:
        break;
    }
    for (size_t at = 0; at < size;) {
        const size_t end = r->kind == REGEX_GPT2 ? scan_gpt2((const uint8_t *)text, size, at)
                                                 : scan_gpt4((const uint8_t *)text, size, at, r->digits);
        if (!spans_push(out, at, end, NO_PIECE)) return false;
        at = end;
    }
    return true;
}
