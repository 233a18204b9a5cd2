// Every matmul kernel that this machine can run, on the shapes of BERT, beside the ceiling of its instructions
// measured in the same run.
//   kernel_bench [--threads N] [--seconds S] [--kernel NAME] [--cold] [--shape M,N,K]...
#include "kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

struct shape {
    size_t M, N, K;
};
// MiniLM, BERT-base and BERT-large: projections, up, down; 1, 16, 128 and 1024 tokens.
static const struct shape defaults[] = {
    {1, 384, 384},      {1, 1024, 1024},    {1, 4096, 1024},    {16, 384, 384},    {16, 768, 768},
    {16, 4096, 1024},   {128, 384, 384},    {128, 1536, 384},   {128, 384, 1536},  {128, 768, 768},
    {128, 3072, 768},   {128, 768, 3072},   {128, 1024, 1024},  {128, 4096, 1024}, {128, 1024, 4096},
    {512, 768, 768},    {1024, 1152, 384},  {1024, 768, 768},   {1024, 3072, 768}, {1024, 768, 3072},
    {1024, 3072, 1024}, {1024, 4096, 1024}, {1024, 1024, 4096}, {4096, 4096, 1024}};

struct options {
    unsigned threads;
    double seconds;
    const char *kernel;
    bool cold;
    struct shape shapes[64];
    size_t count;
};

struct ceiling {
    const struct kernel *kernel;
    _Atomic uint64_t work;
};

static void ceiling_part(void *ctx, unsigned thread, unsigned threads) {
    struct ceiling *c = ctx;
    (void)threads;
    float sink = (float)thread;
    atomic_fetch_add(&c->work, (uint64_t)peak_matmul_run(c->kernel, 4000, &sink));
}

// 1e9 operations a second of all threads together: the best of rounds that last `seconds`.
static double ceiling_measure(struct team *team, const struct kernel *k, double seconds) {
    double best = 0, end = clock_seconds() + seconds;
    do {
        struct ceiling c = {.kernel = k};
        double start = clock_seconds();
        team_run(team, team_size(team), ceiling_part, &c);
        double rate = (double)c.work / (clock_seconds() - start) * 1e-9;
        best = rate > best ? rate : best;
    } while (clock_seconds() < end);
    return best;
}

static bool kernel_wanted(const struct kernel *k, const struct options *o) {
    if (strncmp(k->name, "matmul_", 7) != 0) return false;
    if (o->kernel) return strcmp(k->name, o->kernel) == 0;
    return k->isa != ISA_C && cpu_has(k->isa);
}

static void kernel_print(const struct kernel *k, struct team *team, const struct options *o) {
    double ceiling = ceiling_measure(team, k, o->seconds);
    printf("%-20s ceiling %.0f\n", k->name, ceiling);
    for (size_t i = 0; i < o->count; i++) {
        const struct shape *s = &o->shapes[i];
        sabok_bench_case c = {.name = kernel_family_name(k->family),
                              .kernel = k->name,
                              .M = s->M,
                              .N = s->N,
                              .K = s->K,
                              .threads = o->threads,
                              .seconds = o->seconds,
                              .cold = o->cold};
        sabok_bench_result r;
        sabok_error err;
        if (sabok_bench_kernel(&c, &r, &err) != SABOK_OK) {
            printf("  %s\n", err.message);
            continue;
        }
        double best = r.gflops * r.ms_median / r.ms_min;
        printf("  %5zu x %5zu x %5zu  %9.1f us  %8.1f Gop/s  best %8.1f = %3.0f %%  %6.1f GB/s\n", s->M, s->N,
               s->K, r.ms_median * 1e3, r.gflops, best, 100 * best / ceiling, r.gbytes);
    }
    fflush(stdout);
}

static bool options_read(struct options *o, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        struct shape *s = &o->shapes[o->count];
        if (strcmp(argv[i], "--cold") == 0) {
            o->cold = true;
            continue;
        }
        if (strcmp(argv[i], "--threads") == 0)
            o->threads = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--seconds") == 0)
            o->seconds = strtod(value, NULL);
        else if (strcmp(argv[i], "--kernel") == 0)
            o->kernel = value;
        else if (strcmp(argv[i], "--shape") != 0 || o->count == COUNT(o->shapes) ||
                 sscanf(value, "%zu,%zu,%zu", &s->M, &s->N, &s->K) != 3)
            return false;
        else
            o->count++;
        i++;
    }
    if (o->count > 0) return true;
    memcpy(o->shapes, defaults, sizeof defaults);
    o->count = COUNT(defaults);
    return true;
}

int main(int argc, char **argv) {
    struct options o = {.threads = 1, .seconds = 0.1};
    if (!options_read(&o, argc, argv) || o.threads == 0) {
        fprintf(stderr,
                "kernel_bench [--threads N] [--seconds S] [--kernel NAME] [--cold] [--shape M,N,K]...\n");
        return 2;
    }
    struct team *team = team_new(o.threads, false, NULL);
    if (!team) return 1;
    printf("%s, %u threads, %s weights\n", cpu_brand(), o.threads, o.cold ? "cold" : "warm");
    for (size_t i = 0; i < kernel_count; i++)
        if (kernel_wanted(&kernel_table[i], &o)) kernel_print(&kernel_table[i], team, &o);
    team_free(team);
    return 0;
}
