// bench: how fast a model runs, beside the ceiling of the machine measured in the same run.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#define SECONDS_DEFAULT 1.0
#define PEAK_SECONDS 0.3
#define LEAST_RUNS 5

static const struct option options[] = {
    OPTION(
        "config", OPTION_TEXT, config, "NAME",
        "Instead of a model: random weights of this shape: minilm, bert-base, bert-large or a config.json.",
        .files = true),
    OPTION("batch_size", OPTION_COUNTS, batch_sizes, "B,...", "Sequences computed together; default 1."),
    OPTION("sequence_length", OPTION_COUNTS, sequence_lengths, "S,...", "Tokens of each; default 128."),
    OPTION("seconds", OPTION_REAL, seconds, "T", "How long each row is measured; default 1."),
    OPTION("peak", OPTION_FLAG, peak, NULL, "Print the ceilings of the machine."),
    OPTION("kernel", OPTION_TEXT, kernel, "NAME",
           "Measure one kernel: a family (matmul, norm, ...) or a line of kernels.def (matmul_f32_avx2)."),
    OPTION("shape", OPTION_SHAPES, shapes, "MxNxK,...", "Shapes for --kernel; default 128x384x384."),
    OPTION("cold", OPTION_FLAG, cold, NULL, "With --kernel: weights come from memory, not from a cache."),
    OPTION("tokenizer", OPTION_FLAG, tokenizer, NULL,
           "Measure the tokenizer alone, in CPU time of one thread: opening it, and the texts of FILE to ids "
           "and to encodings with offsets."),
    OPTION("json", OPTION_FLAG, json, NULL, "Print one JSON object a row."),
};
static const struct option_group group = {"Measurement", options, COUNT(options)};

// ---- times

void times_add(struct bench_times *t, double seconds) {
    heap_grow(&t->seconds, &t->cap, t->count + 1, sizeof *t->seconds);
    t->seconds[t->count++] = seconds;
    t->total += seconds;
}

static int compare_times(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void times_sort(struct bench_times *t) {
    qsort(t->seconds, t->count, sizeof *t->seconds, compare_times);
}

double times_at(const struct bench_times *t, double share) {
    return t->seconds[(size_t)(share * (double)(t->count - 1) + 0.5)];
}

bool times_enough(const struct args *args, const struct bench_times *t) {
    const double seconds = args->seconds > 0 ? args->seconds : SECONDS_DEFAULT;
    return t->count >= LEAST_RUNS && t->total >= seconds;
}

// ---- one row

static bool row_json(const struct args *args, const sabok_model_info *info, const struct bench_row *row,
                     const struct bench_times *times, double peak_flops) {
    const double median = times_at(times, 0.5), flops = row->flops / median;
    bool ok = sink_format("{\"model\": ") && sink_string(info->name, strlen(info->name)) &&
              sink_format(", \"dtype\": \"%s\", \"isa\": \"%s\", \"threads\": %u", dtype_name(args),
                          info->isa, info->threads);
    if (row->batch_size)
        ok = ok && sink_format(", \"batch_size\": %zu, \"sequence_length\": %zu", row->batch_size,
                               row->sequence_length);
    else
        ok = ok && sink_format(", \"texts\": %.0f, \"tokens\": %.0f", row->sequences, row->tokens);
    return ok && sink_format(
                     ", \"ms_median\": %.4f, \"ms_min\": %.4f, \"ms_p99\": %.4f, \"sequences_per_s\": %.1f, "
                     "\"tokens_per_s\": %.1f, \"gflops\": %.2f, \"peak_share\": %.4f}\n",
                     1e3 * median, 1e3 * times_at(times, 0), 1e3 * times_at(times, 0.99),
                     row->sequences / median, row->tokens / median, 1e-9 * flops, flops / peak_flops);
}

static bool row_head(const struct args *args, const struct bench_row *row) {
    if (args->json) return true;
    return sink_format("%10s %10s %10s %10s %10s %10s %10s %9s %6s\n", row->batch_size ? "batch" : "texts",
                       row->batch_size ? "length" : "tokens", "ms median", "ms min", "ms p99", "seq/s",
                       "tokens/s", "GFLOP/s", "peak");
}

bool bench_print(const struct args *args, const sabok_model_info *info, const struct bench_row *row,
                 struct bench_times *times, double peak_flops) {
    times_sort(times);
    if (args->json) return row_json(args, info, row, times, peak_flops) && sink_flush();
    const double median = times_at(times, 0.5), flops = row->flops / median;
    const double first = row->batch_size ? (double)row->batch_size : row->sequences;
    const double second = row->batch_size ? (double)row->sequence_length : row->tokens;
    if (!row->later && !row_head(args, row)) return false;
    return sink_format("%10.0f %10.0f %10.3f %10.3f %10.3f %10.1f %10.0f %9.1f %5.0f%%\n", first, second,
                       1e3 * median, 1e3 * times_at(times, 0), 1e3 * times_at(times, 0.99),
                       row->sequences / median, row->tokens / median, 1e-9 * flops,
                       100 * flops / peak_flops) &&
           sink_flush();
}

double flops_of(const sabok_model_info *info, double length) {
    return info->flops_per_token * length + info->flops_per_token_pair * length * length;
}

// ---- shapes

struct batch {
    uint32_t *ids;
    size_t *offsets;
    float *hidden;
};

// Ids from a linear congruential generator: the time does not depend on them.
static struct batch batch_new(const struct args *args, const sabok_model_info *info, size_t B, size_t S) {
    if (B > SIZE_MAX / S / info->hidden_size / sizeof(float))
        usage_fail("--batch_size: %zu sequences of %zu tokens are too many", B, S);
    struct batch b = {heap_array(B * S, sizeof *b.ids), heap_array(B + 1, sizeof *b.offsets),
                      heap_array(B * S * info->hidden_size, sizeof *b.hidden)};
    uint64_t state = args->seed + 1;
    for (size_t t = 0; t < B * S; t++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        b.ids[t] = (uint32_t)((state >> 33) % info->vocab_size);
    }
    for (size_t i = 0; i <= B; i++)
        b.offsets[i] = i * S;
    return b;
}

static void batch_free(struct batch *b) {
    free(b->ids);
    free(b->offsets);
    free(b->hidden);
}

static bool bench_shape(const struct args *args, const sabok_model *model, double peak_flops, bool later,
                        size_t B, size_t S) {
    sabok_model_info info;
    sabok_model_get_info(model, &info);
    struct batch b = batch_new(args, &info, B, S);
    struct bench_times times = {0};
    sabok_error err = {0};
    // The first run makes plans and fills caches.
    bool ok = sabok_forward(model, b.ids, NULL, b.offsets, B, b.hidden, &err) == SABOK_OK;
    while (ok && !times_enough(args, &times)) {
        const double start = now_seconds();
        ok = sabok_forward(model, b.ids, NULL, b.offsets, B, b.hidden, &err) == SABOK_OK;
        times_add(&times, now_seconds() - start);
    }
    const struct bench_row row = {.batch_size = B,
                                  .sequence_length = S,
                                  .sequences = (double)B,
                                  .tokens = (double)B * (double)S,
                                  .flops = (double)B * flops_of(&info, (double)S),
                                  .later = later};
    if (ok)
        ok = bench_print(args, &info, &row, &times, peak_flops);
    else
        fail_error(&err);
    batch_free(&b);
    free(times.seconds);
    return ok;
}

static bool bench_shapes(const struct args *args, const sabok_model *model, double peak_flops) {
    static size_t one = 1, length = 128;
    const struct sizes batches = args->batch_sizes.count ? args->batch_sizes : (struct sizes){&one, 1, 1};
    const struct sizes lengths =
        args->sequence_lengths.count ? args->sequence_lengths : (struct sizes){&length, 1, 1};
    bool ok = true;
    for (size_t i = 0; ok && i < batches.count; i++)
        for (size_t j = 0; ok && j < lengths.count; j++)
            ok = bench_shape(args, model, peak_flops, i + j > 0, batches.items[i], lengths.items[j]);
    return ok;
}

// ---- the verb

static bool peak_print(const struct args *args, const sabok_peak *peak) {
    if (args->json)
        return sink_format(
            "{\"isa\": \"%s\", \"threads\": %u, \"peak_gflops\": %.2f, \"read_gb_per_s\": %.2f}\n", peak->isa,
            peak->threads, 1e-9 * peak->flops_f32, 1e-9 * peak->read_bytes);
    return sink_format("ceiling: %.1f GFLOP/s of f32 multiply-adds, %.1f GB/s read (%s, %u thread%s)\n",
                       1e-9 * peak->flops_f32, 1e-9 * peak->read_bytes, peak->isa, peak->threads,
                       peak->threads == 1 ? "" : "s");
}

// The model is opened first, so that a wrong name is reported before anything is measured.
static bool bench_beside_peak(const struct args *args, const sabok_model *model) {
    sabok_peak peak;
    sabok_error err = {0};
    if (sabok_peak_measure((unsigned)args->threads, PEAK_SECONDS, &peak, &err) != SABOK_OK) {
        fail_error(&err);
        return false;
    }
    const bool shown = args->peak || !args->json;
    if (shown && !(peak_print(args, &peak) && sink_flush())) return false;
    if (!model) return true;
    return args->inputs.count || args->texts.count ? bench_text(args, model, peak.flops_f32)
                                                   : bench_shapes(args, model, peak.flops_f32);
}

static bool bench_parts(const struct args *args) {
    if (args->kernel) return bench_kernels(args);
    if (args->tokenizer) return bench_tokens(args);
    if (!args->model && !args->config) return bench_beside_peak(args, NULL);
    sabok_model *model = model_open(args);
    const bool ok = model && bench_beside_peak(args, model);
    sabok_close(model);
    return ok;
}

static int bench_run(struct args *args) {
    if (args->threads > UINT32_MAX) usage_fail("--threads: %zu is too many", args->threads);
    if ((!args->peak && !args->kernel) || args->positionals.count) args_take_model(&verb_bench, args);
    if (!sink_open(args)) return EXIT_FAILED;
    if (bench_parts(args)) return sink_commit() ? EXIT_DONE : EXIT_FAILED;
    sink_abandon();
    return EXIT_FAILED;
}

const struct verb verb_bench = {
    .name = "bench",
    .usage = "MODEL [FILE] [--batch_size 1,8] [--sequence_length 16,128]",
    .summary = "Measure the speed of a model, a kernel, or the machine.",
    .about =
        "Measures the encoder over random tokens of given shapes, or with a FILE of texts the whole way from "
        "text to vectors. Every row stands beside the ceiling that the machine reached in the same run, but "
        "for those of a tokenizer.",
    .groups = {&group, &group_model, &group_input, &group_output},
    .positional_max = SIZE_MAX,
    .run = bench_run,
};
