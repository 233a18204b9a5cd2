// Messages to the caller's function; nowhere by default.
#include "base/base.h"

static sabok_log_fn *log_fn;
static void *log_ctx;
static sabok_log_level log_level;

void sabok_log_set(sabok_log_fn *fn, void *ctx, sabok_log_level most_detailed) {
    log_fn = fn;
    log_ctx = ctx;
    log_level = most_detailed;
}

void log_message(sabok_log_level level, const char *format, ...) {
    if (!log_fn || level > log_level) return;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log_fn(log_ctx, level, text);
}
