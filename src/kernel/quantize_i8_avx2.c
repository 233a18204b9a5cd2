// quantize for AVX2: one pass for the largest |x|, one for q.
#include "kernel/kernel_list.h"
#include "kernel/quantize_step.h"

#include <immintrin.h>

// Lanes i .. i + 8 of a row of D; zeros past it.
static inline __m256 load(const float *x, size_t i, size_t D) {
    if (i + 8 <= D) return _mm256_loadu_ps(x + i);
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i left = _mm256_set1_epi32((int)(D - size_min(i, D)));
    return _mm256_maskload_ps(x + i, _mm256_cmpgt_epi32(left, lane));
}

static uint32_t row_largest(const float *x, size_t D) {
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i most[4] = {{0}, {0}, {0}, {0}};
    for (size_t i = 0; i < D; i += 32)
        for (size_t j = 0; j < 4; j++) {
            __m256i bits = _mm256_castps_si256(load(x, i + 8 * j, D));
            most[j] = _mm256_max_epu32(most[j], _mm256_and_si256(bits, magnitude));
        }
    most[0] = _mm256_max_epu32(_mm256_max_epu32(most[0], most[1]), _mm256_max_epu32(most[2], most[3]));
    uint32_t lanes[8], largest = 0;
    _mm256_storeu_si256((void *)lanes, most[0]);
    for (size_t i = 0; i < COUNT(lanes); i++)
        largest = lanes[i] > largest ? lanes[i] : largest;
    return largest;
}

static inline __m256i value(__m256 x, __m256 r) {
    __m256 v = _mm256_max_ps(_mm256_mul_ps(x, r), _mm256_set1_ps(-127));
    return _mm256_cvtps_epi32(_mm256_min_ps(v, _mm256_set1_ps(127)));
}

static inline int32_t lanes_sum(__m256i x) {
    int32_t lanes[8], sum = 0;
    _mm256_storeu_si256((void *)lanes, x);
    for (size_t i = 0; i < COUNT(lanes); i++)
        sum += lanes[i];
    return sum;
}

// q of a row; the tail follows it.
static void row_quantize(int8_t *y, const float *x, size_t D, struct quantize_step step) {
    size_t depth = matmul_low_depth(MATMUL_LOW_I8, D);
    if (!(step.inverse > 0)) D = 0;
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256 r = _mm256_set1_ps(step.inverse);
    __m256i sum = _mm256_setzero_si256();
    for (size_t i = 0; i < depth; i += 32) {
        __m256i q[4];
        for (size_t j = 0; j < 4; j++) {
            q[j] = value(load(x, i + 8 * j, D), r);
            sum = _mm256_add_epi32(sum, q[j]);
        }
        // Packing works within halves of 16 bytes: first come the low halves of all four, then the high ones.
        __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
        _mm256_storeu_si256((void *)(y + i), _mm256_permutevar8x32_epi32(bytes, order));
    }
    struct quantize_tail tail = {step.scale, lanes_sum(sum)};
    memcpy(y + depth, &tail, sizeof tail);
}

void quantize_i8_avx2(const struct quantize_args *a, size_t begin, size_t end) {
    for (size_t row = begin; row < end; row++) {
        const float *x = a->x + row * a->ldx;
        struct quantize_step step = quantize_step_of(row_largest(x, a->D), a->scale);
        row_quantize(a->y + row * a->ldy, x, a->D, step);
    }
}
