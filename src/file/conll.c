// Sentences of a CoNLL file: a line for each word, columns between tabs or runs of spaces, a blank line after a sentence.
#include "file/file.h"

#include <string.h>

#include <utf8proc.h>

#define PLACE_TEXT 300 // "file:line"

struct sabok_conll {
    sabok_rows *lines;
    char *path; // as shown in errors
    size_t word_column, tag_column;
    size_t columns;     // of every line; 0: no line was read
    uint64_t line;      // of the sentence's first word
    struct arena arena; // the sentence at hand
    const char **words, **tags;
    size_t n, words_cap, tags_cap;
    sabok_error error; // the first; code 0: none
};

struct column {
    const char *text;
    size_t n;
};

static const char *place_text(const struct sabok_conll *c, char out[PLACE_TEXT]) {
    snprintf(out, PLACE_TEXT, "%.250s:%llu", c->path, (unsigned long long)sabok_rows_line(c->lines));
    return out;
}

static sabok_status conll_empty(const struct sabok_conll *c, sabok_error *err, size_t column, size_t count) {
    char place[PLACE_TEXT];
    return error_set(err, SABOK_EFORMAT, place_text(c, place),
                     "column %zu: found nothing, expected a word or a tag", column ? column : count);
}

static sabok_status conll_wrong(const struct sabok_conll *c, sabok_error *err, const char *what, size_t found,
                                size_t expected) {
    char place[PLACE_TEXT];
    return error_set(err, SABOK_EFORMAT, place_text(c, place), "found %zu column%s, expected %s%zu", found,
                     found == 1 ? "" : "s", what, expected);
}

// The columns of a line: between tabs where it has one, else between runs of spaces. The two that are wanted go to *word
// and *tag; returns how many there are.
static size_t line_split(const struct sabok_conll *c, const char *text, size_t n, struct column *word,
                         struct column *tag) {
    const bool tabs = memchr(text, '\t', n) != NULL;
    size_t count = 0;
    for (size_t at = 0; at < n || (tabs && at == n); at++) {
        const char *end = memchr(text + at, tabs ? '\t' : ' ', n - at);
        const struct column column = {text + at, end ? (size_t)(end - text) - at : n - at};
        at += column.n;
        if (!tabs && column.n == 0) continue;
        count++;
        if (count == c->word_column) *word = column;
        if (count == c->tag_column || c->tag_column == 0) *tag = column;
    }
    return count;
}

// Bytes of text at the front that are well-formed and no NUL.
static size_t utf8_front(const char *text, size_t n) {
    size_t at = 0;
    while (at < n) {
        utf8proc_int32_t c;
        const utf8proc_ssize_t step =
            utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(n - at), &c);
        if (step <= 0 || c == 0) break;
        at += (size_t)step;
    }
    return at;
}

static bool is_blank(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (text[i] != ' ' && text[i] != '\t') return false;
    return true;
}

static sabok_status word_add(struct sabok_conll *c, const char *text, size_t n, sabok_error *err) {
    struct column word = {0}, tag = {0};
    const size_t count = line_split(c, text, n, &word, &tag);
    const size_t least = size_max(size_max(c->word_column, c->tag_column), 2);
    if (count < least) return conll_wrong(c, err, "at least ", count, least);
    if (c->columns && count != c->columns) return conll_wrong(c, err, "", count, c->columns);
    if (!word.n || !tag.n) return conll_empty(c, err, word.n ? c->tag_column : c->word_column, count);
    c->columns = count;
    const size_t good = utf8_front(text, n);
    if (good < n) {
        char place[PLACE_TEXT];
        return error_at(err, SABOK_EFORMAT, place_text(c, place), good,
                        "found a NUL or bytes that are not UTF-8");
    }
    if (!mem_grow((void **)&c->words, &c->words_cap, c->n + 1, sizeof *c->words) ||
        !mem_grow((void **)&c->tags, &c->tags_cap, c->n + 1, sizeof *c->tags))
        return error_memory(err, c->path);
    if (c->n == 0) c->line = sabok_rows_line(c->lines);
    c->words[c->n] = arena_copy(&c->arena, word.text, word.n);
    c->tags[c->n] = arena_copy(&c->arena, tag.text, tag.n);
    return c->words[c->n] && c->tags[c->n++] ? SABOK_OK : error_memory(err, c->path);
}

static int conll_read(struct sabok_conll *c, sabok_error *err) {
    const char *text;
    size_t n;
    int got;
    arena_reset(&c->arena);
    c->n = 0;
    while ((got = sabok_rows_next(c->lines, &text, &n, err)) == 1) {
        const bool document = n >= 10 && memcmp(text, "-DOCSTART-", 10) == 0;
        if (!document && !is_blank(text, n)) {
            if (word_add(c, text, n, err) != SABOK_OK) return -1;
        } else if (c->n) {
            return 1;
        }
    }
    return got < 0 ? -1 : c->n > 0;
}

sabok_conll *sabok_conll_open(const char *path, const sabok_conll_opts *opts, sabok_error *err) {
    static const sabok_conll_opts defaults;
    if (!opts) opts = &defaults;
    struct sabok_conll *c = mem_zalloc(sizeof *c);
    if (!c) {
        error_memory(err, path);
        return NULL;
    }
    arena_init(&c->arena, 0);
    c->word_column = opts->word_column ? opts->word_column : 1;
    c->tag_column = opts->tag_column;
    c->lines = sabok_rows_open(path, &(sabok_rows_opts){.format = SABOK_FORMAT_LINES}, err);
    c->path = c->lines ? mem_copy_string(strcmp(path, "-") == 0 ? "standard input" : path) : NULL;
    if (c->path) return c;
    if (c->lines) error_memory(err, path);
    sabok_conll_close(c);
    return NULL;
}

int sabok_conll_next(sabok_conll *c, sabok_tagged *out, sabok_error *err) {
    const int got = c->error.code == SABOK_OK ? conll_read(c, &c->error) : -1;
    if (got < 0 && err) *err = c->error;
    *out = (sabok_tagged){.words = c->words, .tags = c->tags, .length = got == 1 ? c->n : 0, .line = c->line};
    return got;
}

double sabok_conll_progress(const sabok_conll *c) {
    return sabok_rows_progress(c->lines);
}

void sabok_conll_close(sabok_conll *c) {
    if (!c) return;
    sabok_rows_close(c->lines);
    arena_free(&c->arena);
    mem_free(c->words);
    mem_free(c->tags);
    mem_free(c->path);
    mem_free(c);
}
