// Measuring: the machine's ceilings, and one kernel by itself.
#include "core/core.h"
#include "kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

enum {
    SAMPLES = 4096,     // kept of one measurement
    HEADS_WIDTH = 64,   // d of attention unless K says
    POOL_TOKENS = 128,  // of a sequence unless K says
    TABLE_ROWS = 30522, // of an embedding table unless K says
    TABLES = 3
};
static const double sample_seconds = 5e-4;
static const size_t cold_bytes_most = (size_t)600 << 20;

union bench_args {
    struct matmul_args matmul;
    struct cast_args cast;
    struct quantize_args quantize;
    struct norm_args norm;
    struct act_args act;
    struct add_args add;
    struct attention_args attention;
    struct embed_args embed;
    struct pool_args pool;
    struct unit_args unit;
};

// When each thread began and ended its part, after a barrier that woke them all.
struct span {
    _Alignas(64) double start, end;
};

static double spans_seconds(const struct span *spans, unsigned threads) {
    double start = spans[0].start, end = spans[0].end;
    for (unsigned i = 1; i < threads; i++) {
        if (spans[i].start < start) start = spans[i].start;
        if (spans[i].end > end) end = spans[i].end;
    }
    return end - start;
}

// A kernel on operands of its own. Call i works on copy i mod copies of what streams through it.
struct bench {
    const struct kernel *kernel;
    union bench_args args;
    size_t units;
    float *x, *y, *gain, *stream; // stream [copies, stream_floats]
    uint32_t *index;
    struct attention_block *blocks;
    size_t x_floats, y_floats, gain_floats, stream_floats, copies, indices, block_count;
    double flops, bytes; // of a call

    struct team *team;
    struct span *spans; // [threads]
    unsigned threads;
    size_t calls; // of a sample
    size_t first; // number of the sample's first call
};

static void run_units(const struct bench *b, size_t call, size_t begin, size_t end) {
    const float *stream = b->stream + call % b->copies * b->stream_floats;
    union bench_args a = b->args;
    switch (b->kernel->family) {
    case FAMILY_MATMUL:
    case FAMILY_MATMUL_BF16W:
    case FAMILY_MATMUL_F16W:
    case FAMILY_MATMUL_BF16:
    case FAMILY_MATMUL_I8:
        a.matmul.w = stream;
        b->kernel->fn.matmul(&a.matmul, begin, end);
        break;
    case FAMILY_CAST:
        a.cast.x = stream;
        b->kernel->fn.cast(&a.cast, begin, end);
        break;
    case FAMILY_QUANTIZE:
        a.quantize.x = stream;
        b->kernel->fn.quantize(&a.quantize, begin, end);
        break;
    case FAMILY_NORM:
        a.norm.x = stream;
        b->kernel->fn.norm(&a.norm, begin, end);
        break;
    case FAMILY_ACT:
        a.act.x = stream;
        b->kernel->fn.act(&a.act, begin, end);
        break;
    case FAMILY_ADD:
        a.add.x = stream;
        b->kernel->fn.add(&a.add, begin, end);
        break;
    case FAMILY_ATTENTION:
        a.attention.q = stream;
        b->kernel->fn.attention(&a.attention, begin, end);
        break;
    case FAMILY_EMBED:
        a.embed.table[0] = stream;
        b->kernel->fn.embed(&a.embed, begin, end);
        break;
    case FAMILY_POOL:
        a.pool.x = stream;
        b->kernel->fn.pool(&a.pool, begin, end);
        break;
    case FAMILY_UNIT:
        a.unit.x = stream;
        b->kernel->fn.unit(&a.unit, begin, end);
        break;
    case FAMILY_COUNT:
        break;
    }
}

// One sample: `calls` calls, each shared by all threads; a thread has the same units in every call, as in a
// plan.
static void sample(void *ctx, unsigned thread, unsigned threads) {
    struct bench *b = ctx;
    size_t begin = b->units * thread / threads, end = b->units * (thread + 1) / threads;
    team_barrier(b->team);
    b->spans[thread].start = clock_seconds();
    for (size_t i = 0; i < b->calls; i++) {
        run_units(b, b->first + i, begin, end);
        if (threads > 1) team_barrier(b->team);
    }
    b->spans[thread].end = clock_seconds();
}

// Seconds a call.
static double sample_take(struct bench *b) {
    team_run(b->team, b->threads, sample, b);
    b->first += b->calls;
    return spans_seconds(b->spans, b->threads) / (double)b->calls;
}

// ---- operands

static void plan_matmul(struct bench *b, const sabok_bench_case *c) {
    struct matmul_args *a = &b->args.matmul;
    *a = (struct matmul_args){.ldx = c->K, .ldy = c->N, .M = c->M, .N = c->N, .K = c->K};
    matmul_units_choose(a, b->kernel, b->threads);
    b->units = matmul_units(a, b->kernel->nr);
    b->x_floats = c->M * c->K;
    b->gain_floats = c->N;
    b->stream_floats = matmul_packed_floats(c->N, c->K, b->kernel->nr);
    b->flops = 2 * (double)c->M * (double)c->N * (double)c->K;
    b->bytes = 4 * ((double)b->x_floats + (double)c->N * (double)c->K + (double)b->y_floats);
}

static enum matmul_low low_of(enum family family) {
    return family == FAMILY_MATMUL_I8 || family == FAMILY_QUANTIZE ? MATMUL_LOW_I8
           : family == FAMILY_MATMUL_F16W                          ? MATMUL_LOW_F16
                                                                   : MATMUL_LOW_BF16;
}

// The low precision matmuls, and the two kernels that make their x.
static void plan_low(struct bench *b, const sabok_bench_case *c) {
    enum family family = b->kernel->family;
    enum matmul_low low = low_of(family);
    size_t size = low == MATMUL_LOW_I8 ? 1 : 2,
           width = family == FAMILY_CAST || family == FAMILY_QUANTIZE ? c->N : c->K;
    size_t ldx = low == MATMUL_LOW_I8 ? quantize_row_bytes(width) : cast_stride(width);
    if (family == FAMILY_CAST) {
        b->args.cast = (struct cast_args){.D = c->N, .ldx = c->N, .ldy = ldx};
    } else if (family == FAMILY_QUANTIZE) {
        b->args.quantize = (struct quantize_args){.D = c->N, .ldx = c->N, .ldy = ldx};
    } else {
        if (family == FAMILY_MATMUL_BF16W || family == FAMILY_MATMUL_F16W) ldx = c->K;
        plan_matmul(b, c);
        b->args.matmul.ldx = ldx;
        b->x_floats = c->M * ldx; // four bytes an element, more than is needed
        b->stream_floats = matmul_low_bytes(low, c->N, c->K) / sizeof(float);
        b->bytes -= (4 - (double)size) * (double)c->N * (double)c->K;
        return;
    }
    b->y_floats = c->M * ldx;
    b->bytes = (4 + (double)size) * (double)c->M * (double)c->N;
}

static void plan_attention(struct bench *b, const sabok_bench_case *c) {
    struct attention_args *a = &b->args.attention;
    size_t d = c->K > 0 ? size_min(c->K, c->N) : size_min(HEADS_WIDTH, c->N);
    *a = (struct attention_args){.ldq = c->N, .ldk = c->N, .ldv = c->N, .ldy = c->N, .H = c->N / d, .d = d};
    a->scale = 0.125F;
    b->block_count = (c->M + ATTENTION_ROWS - 1) / ATTENTION_ROWS;
    b->units = b->block_count * a->H;
    b->x_floats = 2 * c->M * c->N;
    b->flops = 4 * (double)c->M * (double)c->M * (double)(a->H * d);
    b->bytes = 16 * (double)c->M * (double)c->N;
}

// Sizes and cost of every family; M rows of N come in from the stream unless the family says otherwise.
static void plan(struct bench *b, const sabok_bench_case *c) {
    double elements = (double)c->M * (double)c->N;
    b->units = c->M;
    b->stream_floats = b->y_floats = c->M * c->N;
    b->bytes = 8 * elements;
    switch (b->kernel->family) {
    case FAMILY_MATMUL:
        plan_matmul(b, c);
        break;
    case FAMILY_MATMUL_BF16W:
    case FAMILY_MATMUL_F16W:
    case FAMILY_MATMUL_BF16:
    case FAMILY_MATMUL_I8:
    case FAMILY_CAST:
    case FAMILY_QUANTIZE:
        plan_low(b, c);
        break;
    case FAMILY_ATTENTION:
        plan_attention(b, c);
        break;
    case FAMILY_NORM:
        b->args.norm = (struct norm_args){.D = c->N, .eps = 1e-12F};
        b->x_floats = c->M * c->N;
        b->gain_floats = c->N;
        b->bytes = 12 * elements;
        break;
    case FAMILY_ADD:
        b->args.add = (struct add_args){.D = c->N};
        b->x_floats = c->M * c->N;
        b->bytes = 12 * elements;
        break;
    case FAMILY_ACT:
        b->args.act = (struct act_args){.D = c->N, .act = ACT_GELU};
        break;
    case FAMILY_UNIT:
        b->args.unit = (struct unit_args){.D = c->N};
        break;
    case FAMILY_EMBED:
        b->args.embed = (struct embed_args){.tables = TABLES, .D = c->N};
        b->stream_floats = (c->K > 0 ? c->K : TABLE_ROWS) * c->N;
        b->indices = TABLES * c->M;
        b->x_floats = 2 * c->N;
        break;
    case FAMILY_POOL:
        b->args.pool = (struct pool_args){.D = c->N, .ldy = c->N, .mode = POOL_MEAN};
        b->units = (c->M + (c->K > 0 ? c->K : POOL_TOKENS) - 1) / (c->K > 0 ? c->K : POOL_TOKENS);
        b->indices = b->units + 1;
        b->y_floats = b->units * c->N;
        b->bytes = 4 * (elements + (double)b->y_floats);
        break;
    case FAMILY_COUNT:
        break;
    }
}

// Every float as two equal 16-bit numbers, so that no bit pattern is a NaN or subnormal.
static void halves(float *p, size_t n, enum matmul_low low) {
    for (size_t i = 0; i < n; i++) {
        uint16_t half = low == MATMUL_LOW_F16 ? f32_to_f16(p[i]) : f32_to_bf16(p[i]);
        uint16_t both[2] = {half, half};
        memcpy(p + i, both, sizeof both);
    }
}

static void point_matmul(struct bench *b) {
    enum family family = b->kernel->family;
    b->args.matmul.x = b->x;
    b->args.matmul.bias = b->args.matmul.scale = b->gain;
    b->args.matmul.y = b->y;
    if (family == FAMILY_MATMUL || family == FAMILY_MATMUL_I8) return;
    halves(b->stream, b->copies * b->stream_floats, low_of(family));
    if (family == FAMILY_MATMUL_BF16) halves(b->x, b->x_floats, MATMUL_LOW_BF16);
}

static void point(struct bench *b, const sabok_bench_case *c) {
    switch (b->kernel->family) {
    case FAMILY_MATMUL:
    case FAMILY_MATMUL_BF16W:
    case FAMILY_MATMUL_F16W:
    case FAMILY_MATMUL_BF16:
    case FAMILY_MATMUL_I8:
        point_matmul(b);
        break;
    case FAMILY_CAST:
        b->args.cast.y = (uint16_t *)(void *)b->y;
        break;
    case FAMILY_QUANTIZE:
        b->args.quantize.y = (int8_t *)(void *)b->y;
        break;
    case FAMILY_NORM:
        b->args.norm.residual = b->x;
        b->args.norm.gamma = b->args.norm.beta = b->gain;
        b->args.norm.y = b->y;
        break;
    case FAMILY_ACT:
        b->args.act.y = b->y;
        break;
    case FAMILY_ADD:
        b->args.add.z = b->x;
        b->args.add.y = b->y;
        break;
    case FAMILY_ATTENTION:
        b->args.attention.k = b->x;
        b->args.attention.v = b->x + c->M * c->N;
        b->args.attention.y = b->y;
        b->args.attention.blocks = b->blocks;
        for (uint32_t i = 0; i < b->block_count; i++) {
            uint32_t row = i * ATTENTION_ROWS, rows = (uint32_t)size_min(ATTENTION_ROWS, c->M - row);
            b->blocks[i] = (struct attention_block){row, rows, 0, (uint32_t)c->M};
        }
        break;
    case FAMILY_EMBED:
        for (size_t i = 0; i < TABLES; i++) {
            uint32_t limit = i == 0 ? (uint32_t)(b->stream_floats / c->N) : 1;
            b->args.embed.table[i] = i == 0 ? b->stream : b->x + (i - 1) * c->N;
            b->args.embed.index[i] = b->index + i * c->M;
            for (size_t t = 0; t < c->M; t++)
                b->index[i * c->M + t] = (uint32_t)((double)rng_uniform(3, i, t) * limit);
        }
        b->args.embed.y = b->y;
        break;
    case FAMILY_POOL:
        for (size_t i = 0; i < b->indices; i++)
            b->index[i] = (uint32_t)size_min(i * (c->K > 0 ? c->K : POOL_TOKENS), c->M);
        b->args.pool.offsets = b->index;
        b->args.pool.y = b->y;
        break;
    case FAMILY_UNIT:
        b->args.unit.y = b->y;
        break;
    case FAMILY_COUNT:
        break;
    }
}

// A cheap mix of values in [-0.5, 0.5): a block of random numbers, over and over.
static float *floats_new(size_t n) {
    enum { BLOCK = 4093 };
    float *p = mem_map(n * sizeof(float));
    if (p == NULL) return NULL;
    for (size_t i = 0; i < size_min(n, BLOCK); i++)
        p[i] = rng_uniform(1, 2, i) - 0.5F;
    for (size_t i = BLOCK; i < n; i += BLOCK)
        memcpy(p + i, p, size_min(n - i, BLOCK) * sizeof(float));
    return p;
}

static void operands_free(struct bench *b) {
    if (b->x) mem_unmap(b->x, b->x_floats * sizeof(float));
    if (b->y) mem_unmap(b->y, b->y_floats * sizeof(float));
    if (b->gain) mem_unmap(b->gain, b->gain_floats * sizeof(float));
    if (b->stream) mem_unmap(b->stream, b->copies * b->stream_floats * sizeof(float));
    if (b->spans) mem_unmap(b->spans, b->threads * sizeof *b->spans);
    mem_free(b->index);
    mem_free(b->blocks);
}

// Bytes that no cache can keep between two uses, where memory allows.
static size_t cold_bytes(void) {
    return size_min(size_max(2 * cpu_cache_bytes(3), (size_t)64 << 20), cold_bytes_most);
}

static bool operands_new(struct bench *b, const sabok_bench_case *c) {
    size_t bytes = b->stream_floats * sizeof(float);
    b->copies = c->cold ? cold_bytes() / bytes + 1 : 1;
    b->x_floats = size_max(b->x_floats, 1);
    b->gain_floats = size_max(b->gain_floats, 1);
    b->x = floats_new(b->x_floats);
    b->y = floats_new(b->y_floats);
    b->gain = floats_new(b->gain_floats);
    b->stream = floats_new(b->copies * b->stream_floats);
    b->spans = mem_map(b->threads * sizeof *b->spans);
    b->index = mem_array(b->indices, sizeof *b->index);
    b->blocks = mem_array(b->block_count, sizeof *b->blocks);
    return b->x && b->y && b->gain && b->stream && b->spans && b->index && b->blocks;
}

// ---- measuring

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(struct bench *b, double seconds, double *times, sabok_bench_result *out) {
    double end = clock_seconds() + seconds;
    b->calls = 1;
    double once = sample_take(b);
    once = sample_take(b); // the first touched every page
    b->calls = once < sample_seconds ? (size_t)(sample_seconds / (once + 1e-9)) + 1 : 1;
    size_t n = 0;
    while (n < 3 || (n < SAMPLES && clock_seconds() < end))
        times[n++] = sample_take(b);
    qsort(times, n, sizeof *times, compare);
    double median = times[n / 2];
    snprintf(out->kernel, sizeof out->kernel, "%s", b->kernel->name);
    out->ms_median = median * 1e3;
    out->ms_min = times[0] * 1e3;
    out->gflops = b->flops / median * 1e-9;
    out->gbytes = b->bytes / median * 1e-9;
}

// By the name of a family and perhaps of a kernel in it, or of a kernel alone.
static sabok_status find_kernel(const sabok_bench_case *c, const struct kernel **out, sabok_error *err) {
    const char *name = c->name ? c->name : "";
    enum family f = 0;
    while (f < FAMILY_COUNT && strcmp(name, kernel_family_name(f)) != 0)
        f++;
    const bool family = f < FAMILY_COUNT;
    const struct kernel *k = c->kernel ? kernel_find(c->kernel) : family ? kernel_best(f) : kernel_find(name);
    if (!family && (!k || c->kernel))
        return error_set(err, SABOK_EINVAL, NULL,
                         "found kernel \"%s\", expected a family or a line of kernels.def", name);
    if (!k || (family && k->family != f))
        return error_set(err, SABOK_EINVAL, NULL,
                         "found kernel \"%s\", expected one of family %s in kernels.def", c->kernel, name);
    if (k->isa != ISA_C && !cpu_has(k->isa))
        return error_set(err, SABOK_EUNSUPPORTED, NULL,
                         "kernel %s needs %s, which this machine lacks or SABOK_ISA hides", k->name,
                         cpu_isa_name(k->isa));
    *out = k;
    return SABOK_OK;
}

// Sizes small enough that no product of them overflows, and that attention's and embed's indices fit.
static sabok_status check_sizes(const sabok_bench_case *c, sabok_error *err) {
    const size_t most = (size_t)1 << 24, elements = (size_t)1 << 32;
    bool ok = c->M > 0 && c->N > 0 && c->M <= most && c->N <= most && c->K <= most;
    ok = ok && c->M <= elements / c->N && (c->K == 0 || (c->M <= elements / c->K && c->N <= elements / c->K));
    if (ok && (strncmp(c->name, "matmul", strlen("matmul")) != 0 || c->K > 0)) return SABOK_OK;
    return error_set(
        err, SABOK_EINVAL, c->name,
        "found the shape %zu x %zu x %zu, expected M and N (for matmul K too) from 1 to 2^24, and "
        "products of two up to 2^32",
        c->M, c->N, c->K);
}

sabok_status sabok_bench_kernel(const sabok_bench_case *c, sabok_bench_result *out, sabok_error *err) {
    struct bench b = {.threads = c->threads > 0 ? c->threads : cpu_count()};
    memset(out, 0, sizeof *out);
    TRY(find_kernel(c, &b.kernel, err));
    TRY(check_sizes(c, err));
    double *times = mem_array(SAMPLES, sizeof *times);
    if (times == NULL) return error_memory(err, c->name);
    sabok_error local = {0};
    b.team = team_new(b.threads, true, &local);
    if (b.team) {
        plan(&b, c);
        if (operands_new(&b, c)) {
            point(&b, c);
            measure(&b, c->seconds, times, out);
        } else {
            error_memory(&local, c->name);
        }
        operands_free(&b);
        team_free(b.team);
    }
    mem_free(times);
    if (local.code != SABOK_OK && err) *err = local;
    return local.code;
}

// ---- ceilings

// Rounds are short, so that some fall between the disturbances of a shared machine.
enum { PEAK_STEPS = 20000, PEAK_BYTES = 8 << 20 };

struct peak {
    struct team *team;
    struct span *spans;
    const char *data; // of the reading rounds; NULL: multiply-adds
    size_t bytes, at; // bytes is a multiple of what a round reads
    double work;      // of thread 0's part
};

static void peak_round(void *ctx, unsigned thread, unsigned threads) {
    struct peak *p = ctx;
    (void)threads;
    team_barrier(p->team);
    p->spans[thread].start = clock_seconds();
    float flops_sink = (float)thread;
    uint64_t read_sink = 0;
    double work = p->data
                      ? peak_read_run(p->data + p->at + (size_t)thread * PEAK_BYTES, PEAK_BYTES, &read_sink)
                      : peak_flops_run(PEAK_STEPS, &flops_sink);
    p->spans[thread].end = clock_seconds();
    if (thread == 0) p->work = work;
}

// The best of the rounds that fit in `seconds`, and of once through the data, in work a second of all
// threads.
static double peak_best(struct peak *p, double seconds) {
    unsigned threads = team_size(p->team);
    double end = clock_seconds() + seconds, best = 0;
    for (size_t i = 0; i < p->bytes / PEAK_BYTES / threads || clock_seconds() < end; i++) {
        team_run(p->team, threads, peak_round, p);
        double rate = p->work * threads / spans_seconds(p->spans, threads);
        if (rate > best) best = rate;
        p->at = (p->at + (size_t)threads * PEAK_BYTES) % p->bytes;
    }
    return best;
}

sabok_status sabok_peak_measure(unsigned threads, double seconds, sabok_peak *out, sabok_error *err) {
    memset(out, 0, sizeof *out);
    if (threads == 0) threads = cpu_count();
    sabok_error local = {0};
    struct peak p = {.team = team_new(threads, true, &local), .bytes = 1};
    if (p.team == NULL) {
        if (err) *err = local;
        return local.code;
    }
    size_t bytes = round_up(cold_bytes(), (size_t)threads * PEAK_BYTES);
    float *data = floats_new(bytes / sizeof(float));
    size_t span_bytes = threads * sizeof *p.spans;
    p.spans = mem_map(span_bytes);
    bool ok = data && p.spans;
    if (ok) {
        out->flops_f32 = peak_best(&p, seconds / 2);
        p.data = (const char *)data;
        p.bytes = bytes;
        out->read_bytes = peak_best(&p, seconds / 2);
    }
    if (data) mem_unmap(data, bytes);
    if (p.spans) mem_unmap(p.spans, span_bytes);
    team_free(p.team);
    out->threads = threads;
    out->isa = cpu_isa_name(cpu_has(ISA_AVX512) ? ISA_AVX512 : cpu_has(ISA_AVX2) ? ISA_AVX2 : ISA_C);
    return ok ? SABOK_OK : error_memory(err, "peak");
}
