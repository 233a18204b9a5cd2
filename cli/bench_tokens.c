// bench of a tokenizer alone: opening it, and a file of texts to ids and to whole encodings, in CPU time of one thread.
#include "cli.h"

#include <stdlib.h>
#include <time.h>

// Of this thread: what other programs take of the machine is left out.
static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct tokens_work {
    const sabok_tokenizer *tokenizer;
    const struct rows *rows;
    double tokens;
};

// The seconds of one pass; negative after an error.
typedef double pass_fn(const struct args *args, struct tokens_work *work);

static double open_pass(const struct args *args, struct tokens_work *work) {
    (void)work;
    sabok_error err = {0};
    const double start = cpu_seconds();
    sabok_tokenizer *tokenizer = sabok_tokenizer_open(args->model, &err);
    const double seconds = cpu_seconds() - start;
    if (!tokenizer) fail_error(&err);
    sabok_tokenizer_close(tokenizer);
    return tokenizer ? seconds : -1;
}

static double tokens_pass(struct tokens_work *work, bool ids_only) {
    const struct rows *rows = work->rows;
    const sabok_tokenize_opts opts = {
        .text_lengths = rows->lengths, .truncation = SABOK_TRUNCATE_NONE, .ids_only = ids_only};
    sabok_error err = {0};
    const double start = cpu_seconds();
    sabok_encodings *encodings = sabok_tokenize(work->tokenizer, rows->fields, NULL, rows->n, &opts, &err);
    const double seconds = cpu_seconds() - start;
    if (!encodings) {
        fail_error(&err);
        return -1;
    }
    work->tokens = 0;
    for (size_t i = 0; i < sabok_encodings_count(encodings); i++)
        work->tokens += (double)sabok_encodings_get(encodings, i)->length;
    sabok_encodings_free(encodings);
    return seconds;
}
static double ids_pass(const struct args *args, struct tokens_work *work) {
    (void)args;
    return tokens_pass(work, true);
}
static double whole_pass(const struct args *args, struct tokens_work *work) {
    (void)args;
    return tokens_pass(work, false);
}

static bool row_print(const struct args *args, const struct tokens_work *work, const char *what,
                      struct bench_times *times) {
    double bytes = 0;
    for (size_t i = 0; i < work->rows->n; i++)
        bytes += (double)work->rows->lengths[i];
    times_sort(times);
    const double median = times_at(times, 0.5), least = times_at(times, 0);
    const bool opening = work->tokenizer == NULL;
    if (args->json) {
        const bool ok =
            sink_format("{\"what\": \"%s\", \"ms_median\": %.4f, \"ms_min\": %.4f, \"ms_p99\": %.4f", what,
                        1e3 * median, 1e3 * least, 1e3 * times_at(times, 0.99));
        if (!ok || opening) return ok && sink_format("}\n");
        return sink_format(", \"texts\": %zu, \"bytes\": %.0f, \"tokens\": %.0f, \"mb_per_s\": %.2f, "
                           "\"mb_per_s_max\": %.2f}\n",
                           work->rows->n, bytes, work->tokens, 1e-6 * bytes / median, 1e-6 * bytes / least);
    }
    if (opening)
        return sink_format("%10s %10s %10s %10s %10s %10s %10s\n%10s %10s %10s %10.3f %10.3f %10s %10s\n",
                           "what", "texts", "tokens", "ms median", "ms min", "MB/s", "MB/s best", what, "-",
                           "-", 1e3 * median, 1e3 * least, "-", "-");
    return sink_format("%10s %10zu %10.0f %10.3f %10.3f %10.1f %10.1f\n", what, work->rows->n, work->tokens,
                       1e3 * median, 1e3 * least, 1e-6 * bytes / median, 1e-6 * bytes / least);
}

static bool row_time(const struct args *args, struct tokens_work *work, const char *what, pass_fn *pass) {
    struct bench_times times = {0};
    double seconds = pass(args, work); // the first fills caches
    while (seconds >= 0 && !times_enough(args, &times))
        if ((seconds = pass(args, work)) >= 0) times_add(&times, seconds);
    const bool ok = seconds >= 0 && row_print(args, work, what, &times) && sink_flush();
    free(times.seconds);
    return ok;
}

static bool rows_time(const struct args *args, const struct rows *rows) {
    struct tokens_work work = {.rows = rows};
    sabok_error err = {0};
    if (!row_time(args, &work, "open", open_pass)) return false;
    sabok_tokenizer *tokenizer = sabok_tokenizer_open(args->model, &err);
    if (!tokenizer) return fail_error(&err) == EXIT_DONE;
    work.tokenizer = tokenizer;
    const bool ok = row_time(args, &work, "ids", ids_pass) && row_time(args, &work, "encodings", whole_pass);
    sabok_tokenizer_close(tokenizer);
    return ok;
}

bool bench_tokens(const struct args *args) {
    struct texts texts;
    struct rows rows = {0};
    if (!args->inputs.count && !args->texts.count) usage_fail("--tokenizer: expected a FILE of texts");
    if (args->columns.count > 1) usage_fail("--column: expected one column, found %zu", args->columns.count);
    if (!texts_open(&texts, args, &args->columns)) return false;
    bool ok = texts_rest(&texts, &rows);
    if (!ok && !texts.failed) fail("%s: found no texts", texts_name(args->inputs.items[0]));
    ok = ok && rows_time(args, &rows);
    texts_close(&texts);
    rows_free(&rows);
    return ok;
}
