// A sink of vectors. The count of rows is not known before the end, so the headers of .npy and .safetensors
// have a fixed size and are written again when the file is closed.
#include "file/file.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NPY_HEADER 128 // a multiple of 64, with room for two numbers of 20 digits
#define SAFETENSORS_HEADER 168
#define TEXT_FLUSH ((size_t)64 << 10)

struct sabok_vectors {
    char *path;
    sabok_format format;
    size_t width;
    uint64_t count;
    struct out_file *file; // NULL: standard output
    struct buf text;       // JSON and CSV not yet written
    sabok_error error;     // the first; code 0: none
};

static sabok_status bytes_write(sabok_vectors *v, const void *data, size_t n, sabok_error *err) {
    return v->file ? out_write(v->file, data, n, err) : standard_write(data, n, err);
}

static sabok_status text_flush(sabok_vectors *v, sabok_error *err) {
    if (v->text.failed) return error_memory(err, v->path);
    sabok_status status = v->text.size ? bytes_write(v, v->text.data, v->text.size, err) : SABOK_OK;
    v->text.size = 0;
    return status;
}

// ---- headers

// Both headers hold their final size from the start: blanks stand where digits may come.
static void npy_header(const sabok_vectors *v, char out[NPY_HEADER]) {
    memset(out, ' ', NPY_HEADER);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)((NPY_HEADER - 10) & 0xFF);
    out[9] = (char)((NPY_HEADER - 10) >> 8);
    char text[NPY_HEADER];
    int n =
        snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (%" PRIu64 ", %zu), }",
                 v->count, v->width);
    memcpy(out + 10, text, (size_t)n);
    out[NPY_HEADER - 1] = '\n';
}

static void safetensors_header(const sabok_vectors *v, char out[SAFETENSORS_HEADER]) {
    memset(out, ' ', SAFETENSORS_HEADER);
    for (size_t i = 0; i < 8; i++)
        out[i] = (char)((uint64_t)(SAFETENSORS_HEADER - 8) >> (8 * i));
    char text[SAFETENSORS_HEADER];
    int n = snprintf(text, sizeof text,
                     "{\"embeddings\":{\"dtype\":\"F32\",\"shape\":[%" PRIu64
                     ",%zu],\"data_offsets\":[0,%" PRIu64 "]}}",
                     v->count, v->width, v->count * v->width * sizeof(float));
    memcpy(out + 8, text, (size_t)n);
}

static sabok_status header_write(sabok_vectors *v, bool again, sabok_error *err) {
    char header[SAFETENSORS_HEADER];
    size_t n = 0;
    if (v->format == SABOK_FORMAT_NPY) {
        npy_header(v, header);
        n = NPY_HEADER;
    } else if (v->format == SABOK_FORMAT_SAFETENSORS) {
        safetensors_header(v, header);
        n = SAFETENSORS_HEADER;
    }
    if (n == 0) return SABOK_OK;
    return again ? out_patch(v->file, 0, header, n, err) : out_write(v->file, header, n, err);
}

// The columns are named by their numbers, as pandas does.
static void csv_header(sabok_vectors *v) {
    for (size_t i = 0; i < v->width; i++)
        buf_printf(&v->text, "%s%zu", i ? "," : "", i);
    buf_put(&v->text, "\n", 1);
}

// ---- rows

static sabok_status json_row(sabok_vectors *v, const float *row, sabok_error *err) {
    char number[32];
    for (size_t i = 0; i < v->width; i++) {
        if (!isfinite(row[i]))
            return error_set(err, SABOK_ENUMERIC, v->path,
                             "row %" PRIu64
                             ", component %zu: found %f, expected a finite number (JSON has no other)",
                             v->count, i, (double)row[i]);
        buf_put(&v->text, i ? "," : "[", 1);
        buf_put(&v->text, number, sabok_format_float(row[i], number));
    }
    buf_put(&v->text, v->width ? "]\n" : "[]\n", v->width ? 2 : 3);
    return SABOK_OK;
}

static void csv_row(sabok_vectors *v, const float *row) {
    char number[32];
    for (size_t i = 0; i < v->width; i++) {
        if (i) buf_put(&v->text, ",", 1);
        if (isfinite(row[i]))
            buf_put(&v->text, number, sabok_format_float(row[i], number));
        else
            buf_printf(&v->text, "%s", isnan(row[i]) ? "nan" : row[i] > 0 ? "inf" : "-inf");
    }
    buf_put(&v->text, "\n", 1);
}

static sabok_status text_write(sabok_vectors *v, const float *rows, size_t n, sabok_error *err) {
    for (size_t i = 0; i < n; i++, v->count++) {
        if (v->format == SABOK_FORMAT_JSONL)
            TRY(json_row(v, rows + i * v->width, err));
        else
            csv_row(v, rows + i * v->width);
        if (v->text.size >= TEXT_FLUSH) TRY(text_flush(v, err));
    }
    // A reader of the pipe sees every row that has been written so far.
    return v->file ? SABOK_OK : text_flush(v, err);
}

static sabok_status rows_write(sabok_vectors *v, const float *rows, size_t n, sabok_error *err) {
    if (v->format == SABOK_FORMAT_JSONL || v->format == SABOK_FORMAT_CSV) return text_write(v, rows, n, err);
    size_t bytes;
    uint64_t total;
    if (!mul_ok(n, v->width * sizeof *rows, &bytes) || __builtin_add_overflow(v->count, n, &total) ||
        !mul_ok((size_t)total, v->width * sizeof *rows, &(size_t){0}))
        return error_set(err, SABOK_EINVAL, v->path, "the size of the file overflows");
    v->count = total;
    return bytes ? bytes_write(v, rows, bytes, err) : SABOK_OK;
}

sabok_status sabok_vectors_write(sabok_vectors *v, const float *rows, size_t n, sabok_error *err) {
    if (v->error.code == SABOK_OK) (void)rows_write(v, rows, n, &v->error);
    if (v->error.code != SABOK_OK && err) *err = v->error;
    return v->error.code;
}

// ---- open and close

static sabok_status vectors_start(sabok_vectors *v, const char *path, sabok_error *err) {
    bool standard = strcmp(path, "-") == 0;
    if (v->format == SABOK_FORMAT_AUTO) v->format = format_of_path(path, SABOK_FORMAT_JSONL);
    if (v->format == SABOK_FORMAT_LINES || v->format == SABOK_FORMAT_TSV)
        return error_set(err, SABOK_EINVAL, path, "vectors are written as jsonl, csv, npy or safetensors");
    if (standard && v->format != SABOK_FORMAT_JSONL && v->format != SABOK_FORMAT_CSV)
        return error_set(err, SABOK_EINVAL, path, "standard output takes jsonl or csv, expected a file name");
    if (!mul_ok(v->width, sizeof(float), &(size_t){0}))
        return error_set(err, SABOK_EINVAL, path, "the width overflows");
    v->path = mem_copy_string(standard ? "standard output" : path);
    if (!v->path) return error_memory(err, path);
    if (!standard) {
        sabok_error local = {0};
        v->file = out_open(path, &local);
        if (!v->file) {
            if (err) *err = local;
            return local.code ? local.code : SABOK_EIO;
        }
    }
    if (v->format == SABOK_FORMAT_CSV) csv_header(v);
    return header_write(v, false, err);
}

static void vectors_free(sabok_vectors *v) {
    buf_free(&v->text);
    mem_free(v->path);
    mem_free(v);
}

sabok_vectors *sabok_vectors_open(const char *path, sabok_format format, size_t width, sabok_error *err) {
    if (!path) {
        error_set(err, SABOK_EINVAL, "sabok_vectors_open", "path is NULL, expected a file or \"-\"");
        return NULL;
    }
    sabok_vectors *v = mem_zalloc(sizeof *v);
    if (!v) {
        error_memory(err, path);
        return NULL;
    }
    v->format = format;
    v->width = width;
    if (vectors_start(v, path, err) == SABOK_OK) return v;
    if (v->file) out_close(v->file, false, NULL);
    vectors_free(v);
    return NULL;
}

sabok_status sabok_vectors_close(sabok_vectors *v, bool commit, sabok_error *err) {
    if (!v) return SABOK_OK;
    sabok_error local = v->error;
    if (commit && local.code == SABOK_OK) (void)text_flush(v, &local);
    if (commit && local.code == SABOK_OK) (void)header_write(v, true, &local);
    if (v->file) {
        if (commit && local.code == SABOK_OK)
            (void)out_close(v->file, true, &local);
        else
            (void)out_close(v->file, false, NULL);
    }
    vectors_free(v);
    if (!commit) return SABOK_OK;
    if (local.code != SABOK_OK && err) *err = local;
    return local.code;
}
