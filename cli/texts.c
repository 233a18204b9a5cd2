// Input: the --text values, then each file in turn; standard input when there is neither. Rows come in groups
// small enough that memory stays bounded and Ctrl-C, progress and output are prompt.
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP_ROWS 2048
#define GROUP_BYTES ((size_t)512 << 10)

static sabok_format input_format(const struct args *args) {
    // In the order of the choices of --format.
    static const sabok_format formats[] = {
        SABOK_FORMAT_AUTO, SABOK_FORMAT_LINES, SABOK_FORMAT_JSONL, SABOK_FORMAT_CSV,
        SABOK_FORMAT_TSV,  SABOK_FORMAT_JSONL, SABOK_FORMAT_LINES,
    };
    return formats[args->input_format];
}

static bool file_open(struct texts *t, const char *path) {
    const sabok_rows_opts opts = {
        .format = input_format(t->args),
        .columns = t->columns && t->columns->count ? t->columns->items : NULL,
        .column_count = t->columns ? t->columns->count : 0,
        .no_header = t->args->no_header,
        .lists = t->args->lists,
    };
    sabok_error err = {0};
    t->rows = sabok_rows_open(path, &opts, &err);
    if (!t->rows) fail_error(&err);
    t->failed = !t->rows;
    return t->rows != NULL;
}

static const char *file_name(const struct texts *t, size_t i) {
    return t->args->inputs.count ? t->args->inputs.items[i] : "-";
}

const char *texts_name(const char *path) {
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static size_t file_count(const struct texts *t) {
    if (t->args->inputs.count) return t->args->inputs.count;
    return t->args->texts.count ? 0 : 1;
}

// The first file is opened at once, so that a wrong name is reported before a model is read.
bool texts_open(struct texts *t, const struct args *args, const struct strings *columns) {
    *t = (struct texts){.args = args, .columns = columns};
    t->width = columns && columns->count ? columns->count : 1;
    if (!args->inputs.count && !args->texts.count && isatty(STDIN_FILENO))
        usage_fail("expected --text TEXT, a file of texts, or - for standard input");
    if (file_count(t) == 0) return true;
    return file_open(t, file_name(t, t->next_file++));
}

static void rows_add(struct rows *r, size_t field, const char *text, size_t n) {
    heap_grow(&r->begins, &r->begins_cap, field + 1, sizeof *r->begins);
    heap_grow(&r->lengths, &r->lengths_cap, field + 1, sizeof *r->lengths);
    const size_t begin = field ? r->begins[field - 1] + r->lengths[field - 1] + 1 : 0;
    heap_grow(&r->bytes, &r->bytes_cap, begin + n + 1, 1);
    memcpy(r->bytes + begin, text, n);
    r->bytes[begin + n] = '\0';
    r->begins[field] = begin;
    r->lengths[field] = n;
}

// Ends the row that was added.
static void rows_place(struct rows *r, const char *path, uint64_t line) {
    heap_grow(&r->places, &r->places_cap, r->n + 1, sizeof *r->places);
    r->places[r->n++] = (struct place){path, line};
}

static bool group_full(const struct rows *r, bool whole) {
    if (r->n == 0 || whole) return false;
    const size_t last = r->n * r->width - 1;
    return r->n >= GROUP_ROWS || r->begins[last] + r->lengths[last] >= GROUP_BYTES;
}

// One row of the open file: 1, 0 at its end, -1 on error.
static int file_row(struct texts *t, struct rows *out, const char **fields, size_t *lengths) {
    sabok_error err = {0};
    const int got = sabok_rows_next(t->rows, fields, lengths, &err);
    if (got < 0) {
        fail_error(&err);
        t->failed = true;
    }
    for (size_t j = 0; got > 0 && j < t->width; j++)
        rows_add(out, out->n * t->width + j, fields[j], lengths[j]);
    if (got > 0) rows_place(out, texts_name(file_name(t, t->next_file - 1)), sabok_rows_line(t->rows));
    return got;
}

static void group_files(struct texts *t, struct rows *out, bool whole) {
    const char **fields = heap_array(t->width, sizeof *fields);
    size_t *lengths = heap_array(t->width, sizeof *lengths);
    while (!group_full(out, whole)) {
        if (!t->rows && (t->next_file >= file_count(t) || !file_open(t, file_name(t, t->next_file++)))) break;
        const int got = file_row(t, out, fields, lengths);
        if (got < 0) break;
        if (got > 0) continue;
        sabok_rows_close(t->rows);
        t->rows = NULL;
    }
    free(fields);
    free(lengths);
}

static bool group_read(struct texts *t, struct rows *out, bool whole) {
    out->n = 0;
    out->width = t->width;
    const struct strings *texts = &t->args->texts;
    // Texts of the command line fill whole rows; what is over is reported by the verb.
    while (t->next_text + t->width <= texts->count && !group_full(out, whole)) {
        for (size_t j = 0; j < t->width; j++, t->next_text++)
            rows_add(out, out->n * t->width + j, texts->items[t->next_text],
                     strlen(texts->items[t->next_text]));
        rows_place(out, NULL, t->next_text / t->width);
    }
    group_files(t, out, whole);
    if (t->failed) return false;
    const size_t n = out->n * out->width;
    heap_grow(&out->fields, &out->fields_cap, n, sizeof *out->fields);
    for (size_t i = 0; i < n; i++)
        out->fields[i] = out->bytes + out->begins[i];
    t->taken += out->n;
    return out->n > 0;
}

bool texts_next(struct texts *t, struct rows *out) {
    return group_read(t, out, false);
}

bool texts_rest(struct texts *t, struct rows *out) {
    return group_read(t, out, true);
}

double texts_progress(const struct texts *t) {
    const size_t files = file_count(t);
    if (files == 0) return -1;
    const double inside = t->rows ? sabok_rows_progress(t->rows) : 1;
    if (inside < 0) return -1;
    return ((double)t->next_file - 1 + inside) / (double)files;
}

// Only what can be read again is looked into: of a pipe, the first rows would be lost.
bool texts_have_column(const struct args *args, const char *path, const char *name) {
    struct stat st;
    if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return false;
    const char *field;
    size_t length;
    const sabok_rows_opts opts = {.format = input_format(args),
                                  .columns = &name,
                                  .column_count = 1,
                                  .no_header = args->no_header,
                                  .lists = true};
    sabok_rows *rows = sabok_rows_open(path, &opts, NULL);
    const bool there = rows && sabok_rows_next(rows, &field, &length, NULL) > 0;
    sabok_rows_close(rows);
    return there;
}

void texts_close(struct texts *t) {
    sabok_rows_close(t->rows);
    t->rows = NULL;
}

void rows_free(struct rows *r) {
    free(r->fields);
    free(r->lengths);
    free(r->bytes);
    free(r->begins);
    free(r->places);
    *r = (struct rows){0};
}
