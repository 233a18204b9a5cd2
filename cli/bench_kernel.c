// bench --kernel: one kernel at given shapes, beside the ceiling.
#include "cli.h"

#define KERNEL_SECONDS 0.3
#define PEAK_SECONDS 0.3

static bool kernel_row(const struct args *args, const sabok_bench_case *c, const sabok_bench_result *r,
                       const sabok_peak *peak, bool later) {
    const double share = 1e9 * r->gflops / peak->flops_f32, read = 1e9 * r->gbytes / peak->read_bytes;
    if (args->json)
        return sink_format(
            "{\"kernel\": \"%s\", \"threads\": %u, \"M\": %zu, \"N\": %zu, \"K\": %zu, \"cold\": %s, "
            "\"ms_median\": %.5f, \"ms_min\": %.5f, \"gflops\": %.2f, \"peak_share\": %.4f, "
            "\"gb_per_s\": %.2f, \"read_share\": %.4f}\n",
            r->kernel, peak->threads, c->M, c->N, c->K, c->cold ? "true" : "false", r->ms_median, r->ms_min,
            r->gflops, share, r->gbytes, read);
    if (!later && !sink_format("%-24s %7s %7s %7s %10s %10s %9s %6s %8s %6s\n", "kernel", "M", "N", "K",
                               "ms median", "ms min", "GFLOP/s", "peak", "GB/s", "read"))
        return false;
    return sink_format("%-24s %7zu %7zu %7zu %10.4f %10.4f %9.1f %5.0f%% %8.1f %5.0f%%\n", r->kernel, c->M,
                       c->N, c->K, r->ms_median, r->ms_min, r->gflops, 100 * share, r->gbytes, 100 * read);
}

bool bench_kernels(const struct args *args) {
    static size_t usual[1][3] = {{128, 384, 384}};
    const struct shapes shapes = args->shapes.count ? args->shapes : (struct shapes){usual, 1, 1};
    sabok_peak peak;
    sabok_error err = {0};
    bool ok = sabok_peak_measure((unsigned)args->threads, PEAK_SECONDS, &peak, &err) == SABOK_OK;
    for (size_t i = 0; ok && i < shapes.count; i++) {
        sabok_bench_case c = {.name = args->kernel,
                              .M = shapes.items[i][0],
                              .N = shapes.items[i][1],
                              .K = shapes.items[i][2],
                              .threads = (unsigned)args->threads,
                              .seconds = args->seconds > 0 ? args->seconds : KERNEL_SECONDS,
                              .cold = args->cold};
        sabok_bench_result r;
        ok = sabok_bench_kernel(&c, &r, &err) == SABOK_OK;
        if (ok && !(kernel_row(args, &c, &r, &peak, i > 0) && sink_flush())) return false;
    }
    if (!ok) fail_error(&err);
    return ok;
}
