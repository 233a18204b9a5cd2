// Similarity against sums in double.
#include "file/crafted.h"

#include <math.h>

static double similarity_in_double(const float *a, const float *b, size_t width, sabok_similarity_fn fn) {
    double dot = 0, aa = 0, bb = 0, squares = 0, magnitudes = 0;
    for (size_t i = 0; i < width; i++) {
        dot += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
        squares += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        magnitudes += fabs((double)a[i] - (double)b[i]);
    }
    switch (fn) {
    case SABOK_COSINE:
        return dot / (fmax(sqrt(aa), 1e-12) * fmax(sqrt(bb), 1e-12));
    case SABOK_DOT:
        return dot;
    case SABOK_EUCLIDEAN:
        return -sqrt(squares);
    case SABOK_MANHATTAN:
        return -magnitudes;
    }
    return 0;
}

static void check_similarity(size_t na, size_t nb, size_t width, sabok_similarity_fn fn) {
    float *a = malloc((na * width + 1) * sizeof *a), *b = malloc((nb * width + 1) * sizeof *b);
    float *out = malloc((na * nb + 1) * sizeof *out);
    assert_true(a && b && out);
    for (size_t i = 0; i < na * width; i++)
        a[i] = rng_normal(1, 0, i);
    for (size_t i = 0; i < nb * width; i++)
        b[i] = rng_normal(2, 0, i);
    if (na && nb && width) memcpy(b, a, width * sizeof *b); // one pair is equal
    if (nb > 1) memset(b + width, 0, width * sizeof *b);    // one row is zero
    out[na * nb] = 42;
    int64_t live = mem_live();
    sabok_similarity(a, na, b, nb, width, fn, out);
    assert_int_equal(mem_live(), live);
    assert_true(out[na * nb] == 42);
    for (size_t i = 0; i < na; i++)
        for (size_t j = 0; j < nb; j++) {
            double expected = similarity_in_double(a + i * width, b + j * width, width, fn);
            double bound = 2e-6 * fmax(1, fabs(expected)) * (fn == SABOK_DOT ? sqrt((double)width) : 1);
            if (!(fabs((double)out[i * nb + j] - expected) <= bound))
                fail_msg("found %.9g, expected %.9g; rerun: %zu x %zu x %zu, fn %d, row %zu, column %zu",
                         (double)out[i * nb + j], expected, na, nb, width, (int)fn, i, j);
        }
    free(a);
    free(b);
    free(out);
}

static void test_similarity(void **state) {
    (void)state;
    static const size_t sizes[][3] = {{1, 1, 1},    {1, 1, 384}, {2, 3, 5},      {1, 200, 384},
                                      {200, 1, 17}, {33, 31, 0}, {0, 5, 4},      {5, 0, 4},
                                      {70, 65, 64}, {3, 33, 65}, {300, 530, 20}, {257, 513, 3}};
    static const sabok_similarity_fn fns[] = {SABOK_COSINE, SABOK_DOT, SABOK_EUCLIDEAN, SABOK_MANHATTAN};
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t f = 0; f < COUNT(fns); f++)
            check_similarity(sizes[i][0], sizes[i][1], sizes[i][2], fns[f]);
}

// The same bits alone, in a big batch, and when there is no memory for packing.
static void test_similarity_bits(void **state) {
    (void)state;
    enum { NA = 40, NB = 50, WIDTH = 96 };
    static float a[NA * WIDTH], b[NB * WIDTH], all[NA * NB], poor[NA * NB];
    for (size_t i = 0; i < NA * WIDTH; i++)
        a[i] = rng_normal(3, 0, i);
    for (size_t i = 0; i < NB * WIDTH; i++)
        b[i] = rng_normal(4, 0, i);
    for (int fn = SABOK_COSINE; fn <= SABOK_MANHATTAN; fn++) {
        sabok_similarity(a, NA, b, NB, WIDTH, (sabok_similarity_fn)fn, all);
        for (uint64_t k = 1; k <= 3; k++) {
            mem_fail_at(k, true);
            sabok_similarity(a, NA, b, NB, WIDTH, (sabok_similarity_fn)fn, poor);
            mem_fail_at(0, false);
            assert_memory_equal(all, poor, sizeof all);
        }
        for (size_t i = 0; i < NA; i++)
            for (size_t j = 0; j < NB; j++) {
                float one;
                sabok_similarity(a + i * WIDTH, 1, b + j * WIDTH, 1, WIDTH, (sabok_similarity_fn)fn, &one);
                assert_memory_equal(&one, &all[i * NB + j], sizeof one);
            }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_similarity),
                                       cmocka_unit_test(test_similarity_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
