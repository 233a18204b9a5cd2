// Output: one result stream a run, text or vectors. The lock lets the signal thread throw it away at any time.
#include "cli.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER ((size_t)64 << 10)

static struct {
    pthread_mutex_t lock;
    sabok_vectors *vectors;
    sabok_output *output;
    atomic_bool named; // a file, which is to be thrown away unless it is whole
    char buffer[BUFFER];
    size_t used;
    bool failed;
} sink = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool sink_result(sabok_status status, const sabok_error *err) {
    if (status == SABOK_OK) return true;
    if (!sink.failed) fail_error(err);
    sink.failed = true;
    return false;
}

// The name to open, noted.
static const char *output_path(const struct args *args) {
    const char *path = args->output ? args->output : "-";
    sink.named = strcmp(path, "-") != 0;
    return path;
}

static sabok_format output_format(const struct args *args) {
    // In the order of the choices of --output_format.
    static const sabok_format formats[] = {SABOK_FORMAT_AUTO, SABOK_FORMAT_JSONL, SABOK_FORMAT_CSV,
                                           SABOK_FORMAT_NPY, SABOK_FORMAT_SAFETENSORS};
    return formats[args->output_format];
}

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

bool sink_open(const struct args *args) {
    const char *path = output_path(args);
    if (args->output_format > 1 || ends_with(path, ".npy") || ends_with(path, ".csv") ||
        ends_with(path, ".safetensors"))
        usage_fail("--output: this task writes JSON lines only, expected a name such as out.jsonl");
    sabok_error err = {0};
    pthread_mutex_lock(&sink.lock);
    sink.output = sabok_output_open(path, &err);
    const bool ok = sink_result(sink.output ? SABOK_OK : SABOK_EIO, &err);
    pthread_mutex_unlock(&sink.lock);
    return ok;
}

bool sink_open_vectors(const struct args *args, size_t width) {
    sabok_error err = {0};
    pthread_mutex_lock(&sink.lock);
    sink.vectors = sabok_vectors_open(output_path(args), output_format(args), width, &err);
    const bool ok = sink_result(sink.vectors ? SABOK_OK : SABOK_EIO, &err);
    pthread_mutex_unlock(&sink.lock);
    return ok;
}

bool sink_flush(void) {
    if (sink.failed) return false;
    sabok_error err = {0};
    pthread_mutex_lock(&sink.lock);
    const bool ok = sink_result(sabok_output_write(sink.output, sink.buffer, sink.used, &err), &err);
    pthread_mutex_unlock(&sink.lock);
    sink.used = 0;
    return ok;
}

bool sink_text(const char *text, size_t n) {
    while (n > 0) {
        if (sink.used == BUFFER && !sink_flush()) return false;
        const size_t part = n < BUFFER - sink.used ? n : BUFFER - sink.used;
        memcpy(sink.buffer + sink.used, text, part);
        sink.used += part;
        text += part;
        n -= part;
    }
    return !sink.failed;
}

bool sink_format(const char *format, ...) {
    char text[1024];
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return sink_text(text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

// JSON has no NaN; Python's reader knows these names.
static bool sink_special(double x) {
    return sink_format("%s", isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
}

bool sink_float(float x) {
    char text[32];
    if (!isfinite(x)) return sink_special((double)x);
    return sink_text(text, sabok_format_float(x, text));
}

bool sink_double(double x) {
    char text[32];
    if (!isfinite(x)) return sink_special(x);
    return sink_text(text, sabok_format_double(x, text));
}

bool sink_string(const char *text, size_t n) {
    char small[512];
    const size_t need = sabok_format_json_string(text, n, small, sizeof small);
    if (need < sizeof small) return sink_text(small, need);
    char *big = heap_array(need + 1, 1);
    sabok_format_json_string(text, n, big, need + 1);
    const bool ok = sink_text(big, need);
    free(big);
    return ok;
}

bool sink_vectors(const float *rows, size_t n) {
    sabok_error err = {0};
    pthread_mutex_lock(&sink.lock);
    const bool ok = sink_result(sabok_vectors_write(sink.vectors, rows, n, &err), &err);
    pthread_mutex_unlock(&sink.lock);
    return ok;
}

// With the lock held.
static sabok_status sink_close(bool commit, sabok_error *err) {
    sabok_status status = SABOK_OK;
    if (sink.vectors) status = sabok_vectors_close(sink.vectors, commit, err);
    if (sink.output) status = sabok_output_close(sink.output, commit, err);
    sink.vectors = NULL;
    sink.output = NULL;
    return status;
}

bool sink_commit(void) {
    const bool flushed = sink.output ? sink_flush() : !sink.failed;
    sabok_error err = {0};
    pthread_mutex_lock(&sink.lock);
    const bool ok = sink_result(sink_close(flushed, &err), &err) && flushed;
    pthread_mutex_unlock(&sink.lock);
    return ok;
}

void sink_abandon(void) {
    // A write to a pipe that nobody reads holds the lock for ever, and there is nothing to throw away.
    if (!sink.named) return;
    pthread_mutex_lock(&sink.lock);
    (void)sink_close(false, NULL);
    pthread_mutex_unlock(&sink.lock);
}

int sink_write(void *ctx, const char *text, size_t n) {
    (void)ctx;
    return sink_text(text, n) ? 0 : 1;
}
