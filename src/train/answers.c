// Answers compared as the scripts of SQuAD do: exactly, and by the words they share.
#include "train/train.h"

#include <math.h>
#include <string.h>

#include <utf8proc.h>

// An answer's words: lower-case, without ASCII punctuation, articles left out.
struct words {
    struct buf text;
    struct word {
        size_t begin, n;
    } * items;
    size_t n, cap;
    bool failed;
};

static bool is_space(int32_t c) {
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

static bool is_punctuation(int32_t c) {
    return c > 0x20 && c < 0x7F && strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", (int)c) != NULL;
}

// What a regular expression's \w matches.
static bool is_letter(int32_t c) {
    const utf8proc_category_t k = utf8proc_category(c);
    return c == '_' || (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO) ||
           (k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO);
}

static bool is_article(const char *text, size_t n) {
    return (n == 1 && text[0] == 'a') || (n == 2 && memcmp(text, "an", 2) == 0) ||
           (n == 3 && memcmp(text, "the", 3) == 0);
}

static int32_t char_next(const char *text, size_t n, size_t *at) {
    utf8proc_int32_t c;
    const utf8proc_ssize_t step =
        utf8proc_iterate((const utf8proc_uint8_t *)text + *at, (utf8proc_ssize_t)(n - *at), &c);
    *at += step > 0 ? (size_t)step : 1;
    return step > 0 ? c : 0xFFFD;
}

static void char_put(struct buf *b, int32_t c) {
    utf8proc_uint8_t bytes[4];
    buf_put(b, bytes, (size_t)utf8proc_encode_char(c, bytes));
}

// A capital sigma that ends a word is a small final one.
static int32_t sigma_lower(const char *text, size_t n, size_t after, bool in_word) {
    const bool more = after < n && is_letter(char_next(text, n, &after));
    return in_word && !more ? 0x3C2 : 0x3C3;
}

static void lower(struct buf *out, const char *text, size_t n) {
    bool in_word = false;
    for (size_t at = 0; at < n;) {
        const int32_t c = char_next(text, n, &at);
        if (c == 0x130) { // the one letter whose small form is two
            buf_put(out, "i\xCC\x87", 3);
        } else if (!is_punctuation(c)) {
            char_put(out, c == 0x3A3 ? sigma_lower(text, n, at, in_word) : utf8proc_tolower(c));
        }
        in_word = is_letter(c);
    }
}

// Articles become spaces; then words stand between spaces.
static bool words_read(struct words *w, const char *text) {
    struct buf plain = {0};
    lower(&plain, text, strlen(text));
    for (size_t at = 0, begin = 0; at < plain.size; begin = at) {
        const bool letter = is_letter(char_next(plain.data, plain.size, &at));
        for (size_t next = at; letter && next < plain.size; at = next)
            if (!is_letter(char_next(plain.data, plain.size, &next))) break;
        if (letter && is_article(plain.data + begin, at - begin))
            buf_put(&w->text, " ", 1);
        else
            buf_put(&w->text, plain.data + begin, at - begin);
    }
    w->failed = plain.failed || w->text.failed;
    for (size_t at = 0, begin = 0; !w->failed && at <= w->text.size;) {
        const size_t end = at;
        if (at < w->text.size && !is_space(char_next(w->text.data, w->text.size, &at))) continue;
        if (end > begin) {
            if (!mem_grow((void **)&w->items, &w->cap, w->n + 1, sizeof *w->items)) w->failed = true;
            if (!w->failed) w->items[w->n++] = (struct word){begin, end - begin};
        }
        begin = at;
        if (end == w->text.size) break;
    }
    buf_free(&plain);
    return !w->failed;
}

static void words_free(struct words *w) {
    buf_free(&w->text);
    mem_free(w->items);
}

static int word_compare(const struct words *a, size_t i, const struct words *b, size_t j) {
    const struct word *x = &a->items[i], *y = &b->items[j];
    const int order = memcmp(a->text.data + x->begin, b->text.data + y->begin, size_min(x->n, y->n));
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

static int word_order(const void *ctx, uint32_t i, uint32_t j) {
    return word_compare(ctx, i, ctx, j);
}

// How many words the two share, each as often as both have it; SIZE_MAX when out of memory.
static size_t words_shared(const struct words *a, const struct words *b) {
    uint32_t *x = order_new(a->n, word_order, a), *y = order_new(b->n, word_order, b);
    size_t shared = 0;
    for (size_t i = 0, j = 0; x && y && i < a->n && j < b->n;) {
        const int order = word_compare(a, x[i], b, y[j]);
        shared += order == 0;
        i += order <= 0;
        j += order >= 0;
    }
    const bool ok = x && y;
    mem_free(x);
    mem_free(y);
    return ok ? shared : SIZE_MAX;
}

static bool words_equal(const struct words *a, const struct words *b) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++)
        if (word_compare(a, i, b, i) != 0) return false;
    return true;
}

// With one expected answer; false when out of memory.
static bool match_one(const struct words *found, const struct words *expected, sabok_match *out) {
    const size_t shared = words_shared(found, expected);
    if (shared == SIZE_MAX) return false;
    const double p = found->n ? (double)shared / (double)found->n : 0,
                 r = expected->n ? (double)shared / (double)expected->n : 0;
    out->exact = words_equal(found, expected);
    out->f1 = shared ? 2 * p * r / (p + r) : 0;
    // Nothing is matched by nothing.
    if (found->n == 0 || expected->n == 0) out->f1 = out->exact;
    return true;
}

sabok_match sabok_answer_match(const char *found, const char *const *expected, size_t n) {
    struct words a = {0};
    sabok_match best = {0};
    size_t answers = 0;
    bool ok = words_read(&a, found);
    for (size_t i = 0; ok && i < n; i++) {
        struct words b = {0};
        sabok_match match = {0};
        ok = words_read(&b, expected[i]) && (b.n == 0 || match_one(&a, &b, &match));
        answers += b.n > 0;
        best.exact = fmax(best.exact, match.exact);
        best.f1 = fmax(best.f1, match.f1);
        words_free(&b);
    }
    if (answers == 0) best.exact = best.f1 = a.n == 0;
    words_free(&a);
    return ok ? best : (sabok_match){NAN, NAN};
}
