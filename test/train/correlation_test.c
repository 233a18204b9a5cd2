// Correlations against values of scipy 1.17.
#include "file/crafted.h"

#include <math.h>

static void assert_near(double found, double expected, double bound) {
    if (!(fabs(found - expected) <= bound)) fail_msg("found %.17g, expected %.17g", found, expected);
}

static void test_pearson(void **state) {
    (void)state;
    const double x[] = {1, 2, 3, 4, 5}, y[] = {2, 1, 4, 3, 7};
    assert_near(sabok_pearson(x, y, 5), 0.8241633836921339, 1e-15);
    assert_true(sabok_pearson(x, x, 5) == 1);
    const double minus[] = {-2, -4, -6, -8, -10}, flat[] = {3, 3, 3, 3, 3};
    assert_true(sabok_pearson(x, minus, 5) == -1);
    assert_true(isnan(sabok_pearson(x, flat, 5)));
    assert_true(isnan(sabok_pearson(flat, x, 5)));
    assert_true(isnan(sabok_pearson(x, y, 1)));
    assert_true(isnan(sabok_pearson(x, y, 0)));
    const double nan[] = {1, NAN, 3, 4, 5}, inf[] = {1, INFINITY, 3, 4, 5};
    assert_true(isnan(sabok_pearson(x, nan, 5)));
    assert_true(isnan(sabok_pearson(nan, x, 5)));
    assert_true(isnan(sabok_pearson(x, inf, 5)));
    // Far from zero, and near the ends of the range.
    const double far[] = {1e8 + 1, 1e8 + 2, 1e8 + 3, 1e8 + 4, 1e8 + 5};
    assert_near(sabok_pearson(far, y, 5), 0.8241633836921339, 1e-14);
    const double huge[] = {1e300, 2e300, 3e300, 4e300, 5e300},
                 tiny[] = {1e-300, 2e-300, 3e-300, 4e-300, 5e-300};
    assert_near(sabok_pearson(huge, y, 5), 0.8241633836921339, 1e-14);
    assert_near(sabok_pearson(tiny, y, 5), 0.8241633836921339, 1e-14);
    // 0.1 three times: its mean is not 0.1 to the last bit, yet it does not vary.
    const double same[] = {0.1, 0.1, 0.1};
    assert_true(isnan(sabok_pearson(same, x, 3)));
}

static void test_spearman(void **state) {
    (void)state;
    const double x[] = {1, 2, 2, 3, 5, 5, 5, 8}, y[] = {3, 1, 4, 1, 5, 9, 2, 6};
    assert_near(sabok_spearman(x, y, 8), 0.5495502618648208, 1e-15);
    const double up[] = {1, 10, 100, 1000}, cube[] = {1, 1000, 1e6, 1e9};
    assert_true(sabok_spearman(up, cube, 4) == 1);
    const double flat[] = {7, 7, 7, 7}, nan[] = {1, 2, NAN, 4}, inf[] = {1, 2, INFINITY, -INFINITY};
    assert_true(isnan(sabok_spearman(up, flat, 4)));
    assert_true(isnan(sabok_spearman(up, nan, 4)));
    assert_near(sabok_spearman(up, inf, 4), -0.2, 1e-15); // infinities have ranks
    const double zeros[] = {0.0, -0.0, 1, 2};             // 0 and -0 are tied
    assert_near(sabok_spearman(zeros, up, 4), 0.9486832980505138, 1e-15);
    assert_true(isnan(sabok_spearman(up, cube, 1)));
    mem_fail_at(1, true);
    assert_true(isnan(sabok_spearman(x, y, 8)));
    mem_fail_at(0, false);
}

// Ranks by counting, to check the sorting ones.
static void test_spearman_random(void **state) {
    (void)state;
    enum { N = 200 };
    for (uint64_t seed = 0; seed < 50; seed++) {
        double v[2][N], ranks[2][N];
        for (unsigned s = 0; s < 2; s++)
            for (size_t i = 0; i < N; i++)
                v[s][i] = floor((double)rng_uniform(seed, s, i) * (seed % 2 ? 20 : 1e6));
        for (unsigned s = 0; s < 2; s++)
            for (size_t i = 0; i < N; i++) {
                double below = 0, equal = 0;
                for (size_t k = 0; k < N; k++) {
                    below += v[s][k] < v[s][i];
                    equal += v[s][k] == v[s][i];
                }
                ranks[s][i] = below + (equal + 1) / 2;
            }
        double expected = sabok_pearson(ranks[0], ranks[1], N), found = sabok_spearman(v[0], v[1], N);
        if (found != expected)
            fail_msg("found %.17g, expected %.17g; rerun: seed %llu", found, expected,
                     (unsigned long long)seed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pearson), cmocka_unit_test(test_spearman),
                                       cmocka_unit_test(test_spearman_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
