// Similarity of all rows of a with all rows of b.
//   cosine: a / max(|a|, 1e-12) . b / max(|b|, 1e-12)     dot: a . b
//   euclidean: -sqrt(sum (a - b)^2)                       manhattan: -sum |a - b|
#include "file/file.h"

#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

#define ROWS 256    // of a, in one matmul
#define COLUMNS 512 // rows of b, packed together
#define SMALL 64    // fewer results than this are not worth packing
#define TILE 32     // rows of b side by side, for the distances
#define DEPTH 64    // components added in one go

struct job {
    const float *a, *b;
    size_t na, nb, width;
    float *out; // [na, nb]
};

// ---- dot, cosine

// max(|x|, 1e-12), what torch's normalize divides by.
static float row_length(const float *x, size_t width) {
    double sum = 0;
    for (size_t i = 0; i < width; i++)
        sum += (double)x[i] * (double)x[i];
    return fmaxf((float)sqrt(sum), 1e-12F);
}

// Copies n rows, each divided by its length.
static void rows_unit(const float *x, size_t n, size_t width, float *out) {
    for (size_t r = 0; r < n; r++) {
        float length = row_length(x + r * width, width);
        for (size_t i = 0; i < width; i++)
            out[r * width + i] = x[r * width + i] / length;
    }
}

// The same sums in the same order as the kernel, ORDER_SEQ, without memory of its own.
static void dot_direct(const struct job *job, bool unit) {
    for (size_t i = 0; i < job->na; i++) {
        const float *x = job->a + i * job->width;
        float lx = unit ? row_length(x, job->width) : 1;
        for (size_t j = 0; j < job->nb; j++) {
            const float *y = job->b + j * job->width;
            float ly = unit ? row_length(y, job->width) : 1, sum = 0;
            for (size_t k = 0; k < job->width; k++)
                sum = fmaf(x[k] / lx, y[k] / ly, sum);
            job->out[i * job->nb + j] = sum;
        }
    }
}

struct scratch {
    float *a, *b, *packed; // [ROWS, width], [COLUMNS, width], COLUMNS rows packed
};

static bool scratch_new(struct scratch *s, const struct job *job, size_t nr, bool unit) {
    size_t rows = size_min(ROWS, job->na), columns = size_min(COLUMNS, job->nb), a, b, packed;
    *s = (struct scratch){0};
    if (!mul_ok(rows * sizeof(float), job->width, &a) || !mul_ok(columns * sizeof(float), job->width, &b) ||
        !mul_ok(round_up(columns, nr) * sizeof(float), job->width, &packed))
        return false;
    s->packed = mem_map(packed);
    s->a = unit ? mem_alloc(a) : NULL;
    s->b = unit ? mem_alloc(b) : NULL;
    return s->packed && (!unit || (s->a && s->b));
}

static void scratch_free(struct scratch *s, const struct job *job, size_t nr) {
    size_t columns = size_min(COLUMNS, job->nb);
    if (s->packed) mem_unmap(s->packed, round_up(columns, nr) * sizeof(float) * job->width);
    mem_free(s->a);
    mem_free(s->b);
}

static void dot_packed(const struct job *job, const struct kernel *kernel, const struct scratch *s,
                       bool unit) {
    size_t nr = kernel->nr, width = job->width;
    for (size_t j = 0; j < job->nb; j += COLUMNS) {
        size_t columns = size_min(COLUMNS, job->nb - j);
        const float *b = job->b + j * width;
        if (unit) rows_unit(b, columns, width, s->b);
        matmul_pack(s->packed, unit ? s->b : b, columns, width, nr, 0, (columns + nr - 1) / nr);
        for (size_t i = 0; i < job->na; i += ROWS) {
            size_t rows = size_min(ROWS, job->na - i);
            const float *a = job->a + i * width;
            if (unit) rows_unit(a, rows, width, s->a);
            struct matmul_args args = {.x = unit ? s->a : a,
                                       .w = s->packed,
                                       .y = job->out + i * job->nb + j,
                                       .ldx = width,
                                       .ldy = job->nb,
                                       .M = rows,
                                       .N = columns,
                                       .K = width};
            matmul_units_choose(&args, kernel, 1);
            kernel->fn.matmul(&args, 0, matmul_units(&args, nr));
        }
    }
}

static void dot_all(const struct job *job, bool unit) {
    const struct kernel *kernel = kernel_best(FAMILY_MATMUL);
    struct scratch s = {0};
    bool packed = job->nb > SMALL / job->na && scratch_new(&s, job, kernel->nr, unit);
    if (packed)
        dot_packed(job, kernel, &s, unit);
    else
        dot_direct(job, unit);
    scratch_free(&s, job, kernel->nr);
}

// ---- distances

// Components [k, k + depth) of TILE rows of b, turned so that equal components lie side by side.
static void tile_pack(const struct job *job, size_t j, size_t k, size_t depth, float tile[DEPTH][TILE]) {
    size_t columns = size_min(TILE, job->nb - j);
    memset(tile, 0, sizeof(float[DEPTH][TILE]));
    for (size_t c = 0; c < columns; c++)
        for (size_t d = 0; d < depth; d++)
            tile[d][c] = job->b[(j + c) * job->width + k + d];
}

// Four components side by side: what every x86-64 has, and what other machines lower well.
typedef float lanes __attribute__((vector_size(16)));
typedef int32_t lane_bits __attribute__((vector_size(16)));

static inline lanes lanes_load(const float *x) {
    lanes v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline lanes lanes_abs(lanes x) {
    return (lanes)((lane_bits)x & (lane_bits){INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX});
}

// sum[c] = sum over d of (x[d] - tile[d][c])^2, or of its magnitude, for half a tile.
static inline void tile_sum(const float *x, size_t depth, float tile[DEPTH][TILE], size_t c, bool squares,
                            float sum[TILE]) {
    lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    for (size_t d = 0; d < depth; d++) {
        lanes v = {x[d], x[d], x[d], x[d]};
        lanes d0 = v - lanes_load(&tile[d][c]), d1 = v - lanes_load(&tile[d][c + 4]);
        lanes d2 = v - lanes_load(&tile[d][c + 8]), d3 = v - lanes_load(&tile[d][c + 12]);
        s0 += squares ? d0 * d0 : lanes_abs(d0);
        s1 += squares ? d1 * d1 : lanes_abs(d1);
        s2 += squares ? d2 * d2 : lanes_abs(d2);
        s3 += squares ? d3 * d3 : lanes_abs(d3);
    }
    memcpy(sum + c, &s0, sizeof s0);
    memcpy(sum + c + 4, &s1, sizeof s1);
    memcpy(sum + c + 8, &s2, sizeof s2);
    memcpy(sum + c + 12, &s3, sizeof s3);
}

static void tile_squares(const float *x, size_t depth, float tile[DEPTH][TILE], float sum[TILE]) {
    for (size_t c = 0; c < TILE; c += 16)
        tile_sum(x, depth, tile, c, true, sum);
}

static void tile_magnitudes(const float *x, size_t depth, float tile[DEPTH][TILE], float sum[TILE]) {
    for (size_t c = 0; c < TILE; c += 16)
        tile_sum(x, depth, tile, c, false, sum);
}

// Adds the part of components [k, k + depth) to the results of TILE columns from j on.
static void distance_part(const struct job *job, size_t j, size_t k, bool squares) {
    float tile[DEPTH][TILE];
    size_t depth = size_min(DEPTH, job->width - k), columns = size_min(TILE, job->nb - j);
    tile_pack(job, j, k, depth, tile);
    for (size_t i = 0; i < job->na; i++) {
        float sum[TILE];
        const float *x = job->a + i * job->width + k;
        if (squares)
            tile_squares(x, depth, tile, sum);
        else
            tile_magnitudes(x, depth, tile, sum);
        for (size_t c = 0; c < columns; c++)
            job->out[i * job->nb + j + c] += sum[c];
    }
}

static void distance_all(const struct job *job, bool squares) {
    for (size_t i = 0; i < job->na * job->nb; i++)
        job->out[i] = 0;
    for (size_t j = 0; j < job->nb; j += TILE)
        for (size_t k = 0; k < job->width; k += DEPTH)
            distance_part(job, j, k, squares);
    for (size_t i = 0; i < job->na * job->nb; i++)
        job->out[i] = -(squares ? sqrtf(job->out[i]) : job->out[i]);
}

void sabok_similarity(const float *a, size_t na, const float *b, size_t nb, size_t width,
                      sabok_similarity_fn fn, float *out) {
    struct job job = {.a = a, .b = b, .na = na, .nb = nb, .width = width, .out = out};
    if (na == 0 || nb == 0) return;
    switch (fn) {
    case SABOK_COSINE:
    case SABOK_DOT:
        dot_all(&job, fn == SABOK_COSINE);
        return;
    case SABOK_EUCLIDEAN:
    case SABOK_MANHATTAN:
        distance_all(&job, fn == SABOK_EUCLIDEAN);
        return;
    }
}
