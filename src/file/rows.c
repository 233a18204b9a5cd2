// A stream of rows from lines, JSON lines, CSV or TSV. One buffer holds the record at hand; it grows to the
// longest record and no further. Fields are cut in place and given a NUL.
#include "file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER ((size_t)512 << 10) // to begin with; less for a small file
#define RECORD_MAX ((size_t)1 << 30)
#define PLACE_TEXT 300 // "file:line"

struct field {
    char *data;
    size_t size;
};

// Where in a CSV record the scan for its end stands.
enum csv_state { CSV_FIELD, CSV_PLAIN, CSV_QUOTED, CSV_QUOTE };

struct sabok_rows {
    char *path; // as shown in errors
    int fd;
    bool owns_fd, ended;
    sabok_format format;
    char *data; // records not yet returned are data[begin, end); data[end] may be written
    size_t begin, end, cap;
    uint64_t consumed, size; // bytes; size 0: unknown
    uint64_t line, next_line;
    struct field *fields; // of the record at hand
    size_t field_count, field_cap;
    bool pending;  // the record at hand was read at opening, to see its columns
    bool named;    // the caller named the columns
    bool lists;    // arrays are fields
    char **wanted; // NULL names are chosen by the first row
    size_t wanted_count;
    size_t *places; // CSV and TSV: which field each wanted column is
    char **columns; // CSV and TSV: all of them
    size_t column_count, column_cap;
    struct arena arena; // unescaped strings of the row at hand
    struct buf list;    // items of an array
    sabok_error error;  // the first; code 0: none
};

static const char *place_text(const struct sabok_rows *r, char out[PLACE_TEXT]) {
    snprintf(out, PLACE_TEXT, "%.250s:%llu", r->path, (unsigned long long)r->line);
    return out;
}

// ---- records

// Reads more behind data[end]; at the end of the file sets `ended`.
static sabok_status rows_fill(struct sabok_rows *r, sabok_error *err) {
    if (r->begin > 0) {
        memmove(r->data, r->data + r->begin, r->end - r->begin);
        r->end -= r->begin;
        r->begin = 0;
    }
    if (r->cap - r->end <= r->cap / 2) {
        char place[PLACE_TEXT];
        r->line = r->next_line;
        if (r->end >= RECORD_MAX)
            return error_set(err, SABOK_EUNSUPPORTED, place_text(r, place),
                             "found a row of more than %zu bytes, expected a shorter one", RECORD_MAX);
        size_t first = r->size && r->size < BUFFER ? (size_t)r->size + 64 : BUFFER;
        size_t cap = r->cap ? 2 * r->cap : first;
        char *data = mem_realloc(r->data, cap);
        if (!data) return error_memory(err, r->path);
        r->data = data;
        r->cap = cap;
    }
    for (;;) {
        ssize_t n = read(r->fd, r->data + r->end, r->cap - r->end - 1);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return error_errno(err, r->path, "cannot read");
        r->ended = n == 0;
        r->end += (size_t)n;
        return SABOK_OK;
    }
}

// Bytes of the line at `text`, or SIZE_MAX when its end is not there yet; *scanned goes on where it stopped.
static size_t line_end(const char *text, size_t n, size_t *scanned) {
    const char *lf = memchr(text + *scanned, '\n', n - *scanned);
    *scanned = n;
    return lf ? (size_t)(lf - text) : SIZE_MAX;
}

// The same for a CSV record, whose quoted fields may hold line ends.
static size_t csv_end(const char *text, size_t n, size_t *scanned, enum csv_state *state) {
    enum csv_state s = *state;
    for (size_t i = *scanned; i < n; i++) {
        char c = text[i];
        if (s == CSV_QUOTED) {
            if (c == '"') s = CSV_QUOTE;
        } else if (c == '\n') {
            return i;
        } else if (c == ',') {
            s = CSV_FIELD;
        } else if (c == '"' && (s == CSV_FIELD || s == CSV_QUOTE)) {
            s = CSV_QUOTED;
        } else if (s == CSV_FIELD) {
            s = CSV_PLAIN;
        }
    }
    *scanned = n;
    *state = s;
    return SIZE_MAX;
}

// The next record without its line end: 1, 0 at the end, -1 on error. It ends with a NUL.
static int rows_record(struct sabok_rows *r, char **text, size_t *n, sabok_error *err) {
    size_t scanned = 0, length;
    enum csv_state state = CSV_FIELD;
    for (;;) {
        const char *at = r->data + r->begin;
        length = r->format == SABOK_FORMAT_CSV ? csv_end(at, r->end - r->begin, &scanned, &state)
                                               : line_end(at, r->end - r->begin, &scanned);
        if (length != SIZE_MAX || r->ended) break;
        if (rows_fill(r, err) != SABOK_OK) return -1;
    }
    if (length == SIZE_MAX && r->begin == r->end) return 0;
    bool whole = length != SIZE_MAX;
    if (!whole) length = r->end - r->begin;
    r->line = r->next_line++;
    *text = r->data + r->begin;
    r->begin += length + whole;
    r->consumed += length + whole;
    for (const char *lf = *text; r->format == SABOK_FORMAT_CSV; lf++) {
        lf = memchr(lf, '\n', (size_t)(*text + length - lf));
        if (!lf) break;
        r->next_line++;
    }
    if (!whole && state == CSV_QUOTED) {
        char place[PLACE_TEXT];
        error_set(err, SABOK_EFORMAT, place_text(r, place),
                  "found the end of the file inside a quoted field, expected a closing quote");
        return -1;
    }
    if (length && (*text)[length - 1] == '\r') length--;
    (*text)[length] = '\0';
    *n = length;
    return 1;
}

// ---- CSV and TSV

static sabok_status field_add(struct sabok_rows *r, char *data, size_t size, sabok_error *err) {
    if (!mem_grow((void **)&r->fields, &r->field_cap, r->field_count + 1, sizeof *r->fields))
        return error_memory(err, r->path);
    r->fields[r->field_count++] = (struct field){data, size};
    return SABOK_OK;
}

static sabok_status tsv_split(struct sabok_rows *r, char *text, size_t n, sabok_error *err) {
    for (;;) {
        char *tab = memchr(text, '\t', n);
        size_t size = tab ? (size_t)(tab - text) : n;
        TRY(field_add(r, text, size, err));
        if (!tab) return SABOK_OK;
        *tab = '\0';
        text = tab + 1;
        n -= size + 1;
    }
}

// Cuts the quoted field that begins at text[at], a quote; returns where the field ends, a comma or n, or
// SIZE_MAX on error. Doubled quotes are joined in place.
static size_t csv_quoted(struct sabok_rows *r, char *text, size_t n, size_t at, sabok_error *err) {
    char *field = text + at + 1;
    size_t size = 0;
    for (at++; at < n; at++) {
        if (text[at] == '"') {
            if (at + 1 >= n || text[at + 1] != '"') break;
            at++;
        }
        field[size++] = text[at];
    }
    at++; // the closing quote, which is there: the record would not have ended otherwise
    if (at < n && text[at] != ',') {
        char place[PLACE_TEXT], shown[QUOTE_TEXT];
        error_at(err, SABOK_EFORMAT, place_text(r, place), at,
                 "found '%s' after the closing quote of field %zu, expected a comma or the end of the line",
                 quote_text(text + at, size_min(n - at, 8), shown), r->field_count + 1);
        return SIZE_MAX;
    }
    field[size] = '\0';
    return field_add(r, field, size, err) == SABOK_OK ? size_min(at, n) : SIZE_MAX;
}

static sabok_status csv_split(struct sabok_rows *r, char *text, size_t n, sabok_error *err) {
    sabok_error local = {0};
    for (size_t at = 0;;) {
        if (at < n && text[at] == '"') {
            at = csv_quoted(r, text, n, at, &local);
            if (at == SIZE_MAX) {
                if (err) *err = local;
                return local.code;
            }
        } else {
            char *comma = memchr(text + at, ',', n - at);
            size_t end = comma ? (size_t)(comma - text) : n;
            TRY(field_add(r, text + at, end - at, err));
            at = end;
        }
        if (at >= n) return SABOK_OK;
        text[at++] = '\0';
    }
}

// The next record's fields; blank lines are passed over.
static int table_record(struct sabok_rows *r, sabok_error *err) {
    char *text = NULL;
    size_t n = 0;
    do {
        int got = rows_record(r, &text, &n, err);
        if (got != 1) return got;
    } while (n == 0);
    r->field_count = 0;
    sabok_status status =
        r->format == SABOK_FORMAT_CSV ? csv_split(r, text, n, err) : tsv_split(r, text, n, err);
    return status == SABOK_OK ? 1 : -1;
}

static int table_next(struct sabok_rows *r, const char **fields, size_t *lengths, sabok_error *err) {
    int got = r->pending ? 1 : table_record(r, err);
    r->pending = false;
    if (got != 1) return got;
    if (r->field_count != r->column_count) {
        char place[PLACE_TEXT];
        error_set(err, SABOK_EFORMAT, place_text(r, place), "found %zu fields, expected %zu", r->field_count,
                  r->column_count);
        return -1;
    }
    for (size_t i = 0; i < r->wanted_count; i++) {
        fields[i] = r->fields[r->places[i]].data;
        lengths[i] = r->fields[r->places[i]].size;
    }
    return 1;
}

// ---- columns

// Edit distance of two names, of which the first 63 bytes count.
static size_t name_distance(const char *a, const char *b) {
    size_t row[64], n = strnlen(b, 63), m = strnlen(a, 63);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t swap = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = size_min(swap, size_min(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

// "found no column 'x', expected one of: a, b (nearest: a)"
static sabok_status column_error(const char *where, const char *name, char *const *columns, size_t n,
                                 sabok_error *err) {
    char list[400] = "", shown[QUOTE_TEXT], wanted[QUOTE_TEXT], nearest[QUOTE_TEXT] = "";
    size_t at = 0, best = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        quote_text(columns[i], strlen(columns[i]), shown);
        size_t distance = name_distance(name, columns[i]);
        if (distance < best) memcpy(nearest, shown, sizeof nearest);
        best = size_min(best, distance);
        if (at + strlen(shown) + 8 > sizeof list) {
            snprintf(list + at, sizeof list - at, ", ...");
            break;
        }
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", shown);
    }
    return error_set(err, SABOK_ENOTFOUND, where, "found no column '%s', expected one of: %s (nearest: %s)",
                     quote_text(name, strlen(name), wanted), list, nearest);
}

// The column taken when none is asked for.
static size_t column_default(char *const *columns, size_t n) {
    static const char *const names[] = {"text", "sentence", "sentence1"};
    for (size_t k = 0; k < COUNT(names); k++)
        for (size_t i = 0; i < n; i++)
            if (strcmp(columns[i], names[k]) == 0) return i;
    return 0;
}

static sabok_status columns_add(struct sabok_rows *r, const char *name, size_t n, sabok_error *err) {
    char *copy = mem_copy_bytes(name, n);
    if (copy && mem_grow((void **)&r->columns, &r->column_cap, r->column_count + 1, sizeof *r->columns)) {
        r->columns[r->column_count++] = copy;
        return SABOK_OK;
    }
    mem_free(copy);
    return error_memory(err, r->path);
}

static void columns_clear(struct sabok_rows *r) {
    for (size_t i = 0; i < r->column_count; i++)
        mem_free(r->columns[i]);
    r->column_count = 0;
}

static sabok_status column_place(struct sabok_rows *r, const char *name, size_t *place, sabok_error *err) {
    size_t found = 0;
    for (size_t i = 0; i < r->column_count; i++)
        if (strcmp(r->columns[i], name) == 0) {
            *place = i;
            found++;
        }
    char shown[QUOTE_TEXT];
    if (found > 1)
        return error_set(err, SABOK_EFORMAT, r->path, "found %zu columns named '%s', expected one", found,
                         quote_text(name, strlen(name), shown));
    return found ? SABOK_OK : column_error(r->path, name, r->columns, r->column_count, err);
}

static sabok_status table_open(struct sabok_rows *r, bool no_header, sabok_error *err) {
    sabok_error local = {0};
    int got = table_record(r, &local);
    if (got < 0) {
        if (err) *err = local;
        return local.code;
    }
    if (got == 0 && !no_header)
        return error_set(err, SABOK_EFORMAT, r->path, "found an empty file, expected a header row");
    for (size_t i = 0; got && i < r->field_count; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        const char *name = no_header ? number : r->fields[i].data;
        TRY(columns_add(r, name, no_header ? strlen(number) : r->fields[i].size, err));
    }
    r->pending = got && no_header;
    if (!(r->places = mem_zalloc((r->wanted_count + 1) * sizeof *r->places)))
        return error_memory(err, r->path);
    for (size_t i = 0; got && i < r->wanted_count; i++) {
        if (r->wanted[i])
            TRY(column_place(r, r->wanted[i], &r->places[i], err));
        else
            r->places[i] = column_default(r->columns, r->column_count);
    }
    return SABOK_OK;
}

// ---- JSON lines

// All keys of the object in `text` into r->columns.
static sabok_status json_columns(struct sabok_rows *r, const char *text, size_t n, sabok_error *err) {
    struct json j;
    struct json_text key;
    columns_clear(r);
    json_init(&j, text, n, NULL, &r->arena, NULL);
    json_object_begin(&j);
    while (json_key(&j, &key)) {
        TRY(columns_add(r, key.data, key.size, err));
        if (!json_skip(&j)) break;
    }
    return SABOK_OK;
}

// Strings as their text, numbers and booleans as they are spelled.
static bool json_plain(struct json *j, enum json_kind kind, struct json_text *out) {
    if (kind == JSON_STRING) return json_string(j, out);
    const size_t begin = j->at;
    if (!json_skip(j)) return false;
    *out = (struct json_text){j->text + begin, j->at - begin};
    return true;
}

// The items of an array, a line end after each, in r->list.
static bool json_list(struct sabok_rows *r, struct json *j, const char *shown, struct json_text *out) {
    struct json_text item;
    r->list.size = 0;
    if (!json_array_begin(j)) return false;
    while (json_item(j)) {
        const enum json_kind kind = json_peek(j);
        if (kind != JSON_STRING && kind != JSON_NUMBER && kind != JSON_BOOL)
            return json_fail(j, "column '%s': found a list of more than strings and numbers", shown);
        if (!json_plain(j, kind, &item)) return false;
        if (kind == JSON_STRING && memchr(item.data, '\n', item.size))
            return json_fail(j, "column '%s': found a line end in an item of a list, expected none", shown);
        buf_put(&r->list, item.data, item.size);
        buf_put(&r->list, "\n", 1);
    }
    *out = (struct json_text){r->list.size ? r->list.data : "", r->list.size};
    if (r->list.failed) error_memory(j->err, r->path);
    return !j->failed && !r->list.failed;
}

static bool json_field(struct sabok_rows *r, struct json *j, const char *name, struct field *out) {
    const enum json_kind kind = json_peek(j);
    struct json_text text;
    char shown[QUOTE_TEXT];
    if (kind == JSON_STRING || kind == JSON_NUMBER || kind == JSON_BOOL) {
        if (!json_plain(j, kind, &text)) return false;
    } else if (kind == JSON_ARRAY && r->lists) {
        if (!json_list(r, j, quote_text(name, strlen(name), shown), &text)) return false;
    } else {
        return json_fail(j, "column '%s': found %s, expected a string or a number",
                         quote_text(name, strlen(name), shown), json_kind_name(kind));
    }
    // The NUL must not be written into text that is still to be read, so the field is copied.
    out->data = arena_copy(&r->arena, text.data, text.size);
    out->size = text.size;
    if (out->data) return true;
    error_memory(j->err, r->path);
    return false;
}

static bool json_object_row(struct sabok_rows *r, struct json *j) {
    struct json_text key;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        size_t i = 0;
        while (i < r->wanted_count && !json_text_is(key, r->wanted[i]))
            i++;
        if (i == r->wanted_count) {
            if (!json_skip(j)) return false;
            continue;
        }
        char shown[QUOTE_TEXT];
        if (r->fields[i].data)
            return json_fail(j, "found the column '%s' twice, expected it once",
                             quote_text(key.data, key.size, shown));
        if (!json_field(r, j, r->wanted[i], &r->fields[i])) return false;
    }
    return !j->failed;
}

static sabok_status json_choose(struct sabok_rows *r, const char *text, size_t n, sabok_error *err) {
    char place[PLACE_TEXT];
    TRY(json_columns(r, text, n, err));
    if (r->column_count == 0)
        return error_set(err, SABOK_EFORMAT, place_text(r, place), "found no column, expected a text");
    r->wanted[0] = mem_copy_string(r->columns[column_default(r->columns, r->column_count)]);
    return r->wanted[0] ? SABOK_OK : error_memory(err, r->path);
}

static bool json_string_row(struct sabok_rows *r, struct json *j) {
    if (r->named || r->wanted_count != 1)
        return json_fail(j, "found a string, expected an object with columns");
    return json_field(r, j, "text", &r->fields[0]);
}

static sabok_status json_row(struct sabok_rows *r, const char *text, size_t n, sabok_error *err) {
    char place[PLACE_TEXT];
    struct json j;
    sabok_error local = {0};
    arena_reset(&r->arena);
    memset(r->fields, 0, r->wanted_count * sizeof *r->fields);
    json_init(&j, text, n, place_text(r, place), &r->arena, &local);
    enum json_kind kind = json_peek(&j);
    if (kind == JSON_OBJECT && !r->wanted[0]) TRY(json_choose(r, text, n, err));
    bool ok = kind == JSON_STRING   ? json_string_row(r, &j)
              : kind == JSON_OBJECT ? json_object_row(r, &j)
              : kind == JSON_ERROR
                  ? false
                  : json_fail(&j, "found %s, expected an object or a string", json_kind_name(kind));
    ok = ok && json_end(&j);
    if (!ok) {
        if (err) *err = local;
        return local.code ? local.code : SABOK_EFORMAT;
    }
    for (size_t i = 0; i < r->wanted_count; i++)
        if (!r->fields[i].data) {
            TRY(json_columns(r, text, n, err));
            return column_error(place_text(r, place), r->wanted[i], r->columns, r->column_count, err);
        }
    return SABOK_OK;
}

static bool is_blank(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r') return false;
    return true;
}

static int json_next(struct sabok_rows *r, const char **fields, size_t *lengths, sabok_error *err) {
    char *text = NULL;
    size_t n = 0;
    do {
        int got = rows_record(r, &text, &n, err);
        if (got != 1) return got;
    } while (is_blank(text, n));
    if (json_row(r, text, n, err) != SABOK_OK) return -1;
    for (size_t i = 0; i < r->wanted_count; i++) {
        fields[i] = r->fields[i].data;
        lengths[i] = r->fields[i].size;
    }
    return 1;
}

// ---- the stream

static int lines_next(struct sabok_rows *r, const char **fields, size_t *lengths, sabok_error *err) {
    char *text = NULL;
    int got = rows_record(r, &text, lengths, err);
    fields[0] = text;
    return got;
}

static sabok_status source_open(struct sabok_rows *r, const char *path, sabok_error *err) {
    bool standard = strcmp(path, "-") == 0;
    r->path = mem_copy_string(standard ? "standard input" : path);
    if (!r->path) return error_memory(err, path);
    r->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (r->fd < 0) return error_errno(err, path, "cannot open");
    r->owns_fd = !standard;
    struct stat st;
    if (fstat(r->fd, &st) != 0) return error_errno(err, r->path, "cannot read");
    if (S_ISDIR(st.st_mode)) return error_set(err, SABOK_EIO, r->path, "is a folder, expected a file");
    if (S_ISREG(st.st_mode) && st.st_size > 0) r->size = (uint64_t)st.st_size;
    do
        TRY(rows_fill(r, err));
    while (!r->ended && r->end < 3);
    if (r->end >= 3 && memcmp(r->data, "\xEF\xBB\xBF", 3) == 0) r->begin = r->consumed = 3;
    return SABOK_OK;
}

static sabok_status wanted_copy(struct sabok_rows *r, const sabok_rows_opts *opts, sabok_error *err) {
    r->named = opts->columns && opts->column_count > 0;
    r->wanted_count = r->named ? opts->column_count : 1;
    r->wanted = r->wanted_count < SIZE_MAX / sizeof *r->wanted
                    ? mem_zalloc(r->wanted_count * sizeof *r->wanted)
                    : NULL;
    if (!r->wanted) return error_memory(err, r->path);
    for (size_t i = 0; r->named && i < r->wanted_count; i++)
        if (!(r->wanted[i] = mem_copy_string(opts->columns[i]))) return error_memory(err, r->path);
    return SABOK_OK;
}

static sabok_status rows_start(struct sabok_rows *r, const char *path, const sabok_rows_opts *opts,
                               sabok_error *err) {
    r->lists = opts->lists;
    r->format = opts->format != SABOK_FORMAT_AUTO ? opts->format : format_of_path(path, SABOK_FORMAT_LINES);
    const char *shown = strcmp(path, "-") == 0 ? "standard input" : path;
    if (r->format == SABOK_FORMAT_NPY || r->format == SABOK_FORMAT_SAFETENSORS)
        return error_set(err, SABOK_EINVAL, shown,
                         "npy and safetensors are for output, expected lines, jsonl, "
                         "csv or tsv");
    if (r->format == SABOK_FORMAT_LINES && opts->columns && opts->column_count)
        return error_set(err, SABOK_EINVAL, shown,
                         "lines of text have no columns, expected jsonl, csv or tsv");
    TRY(source_open(r, path, err));
    TRY(wanted_copy(r, opts, err));
    if (r->format == SABOK_FORMAT_CSV || r->format == SABOK_FORMAT_TSV)
        return table_open(r, opts->no_header, err);
    if (!mem_grow((void **)&r->fields, &r->field_cap, r->wanted_count, sizeof *r->fields))
        return error_memory(err, r->path);
    return SABOK_OK;
}

sabok_rows *sabok_rows_open(const char *path, const sabok_rows_opts *opts, sabok_error *err) {
    static const sabok_rows_opts defaults;
    if (!path) {
        error_set(err, SABOK_EINVAL, "sabok_rows_open", "path is NULL, expected a file or \"-\"");
        return NULL;
    }
    sabok_rows *r = mem_zalloc(sizeof *r);
    if (!r) {
        error_memory(err, path);
        return NULL;
    }
    r->fd = -1;
    r->next_line = 1;
    arena_init(&r->arena, 0);
    if (rows_start(r, path, opts ? opts : &defaults, err) == SABOK_OK) return r;
    sabok_rows_close(r);
    return NULL;
}

int sabok_rows_next(sabok_rows *r, const char **fields, size_t *lengths, sabok_error *err) {
    int got = -1;
    if (r->error.code == SABOK_OK)
        got = r->format == SABOK_FORMAT_LINES   ? lines_next(r, fields, lengths, &r->error)
              : r->format == SABOK_FORMAT_JSONL ? json_next(r, fields, lengths, &r->error)
                                                : table_next(r, fields, lengths, &r->error);
    if (got < 0 && err) *err = r->error;
    return got;
}

size_t sabok_rows_columns(const sabok_rows *r) {
    return r->wanted_count;
}

uint64_t sabok_rows_line(const sabok_rows *r) {
    return r->line;
}

double sabok_rows_progress(const sabok_rows *r) {
    if (!r->size) return -1;
    return r->consumed < r->size ? (double)r->consumed / (double)r->size : 1;
}

void sabok_rows_close(sabok_rows *r) {
    if (!r) return;
    if (r->owns_fd) close(r->fd);
    for (size_t i = 0; i < r->wanted_count && r->wanted; i++)
        mem_free(r->wanted[i]);
    columns_clear(r);
    mem_free(r->columns);
    mem_free(r->wanted);
    mem_free(r->places);
    mem_free(r->fields);
    mem_free(r->data);
    buf_free(&r->list);
    mem_free(r->path);
    arena_free(&r->arena);
    mem_free(r);
}
