// Hashes and random numbers against published values; and the clock.
#include "base/base.h"
#include "base/check.h"

#include <math.h>

static void sha256_matches_the_standard(void **state) {
    (void)state;
    // FIPS 180-4's examples, and lengths around the padding's edges.
    static const struct {
        const char *text;
        size_t repeat;
        const char *digest;
    } cases[] = {
        {"", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
        {"a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {"a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {"a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
    };
    static char data[1000001];
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t width = strlen(cases[i].text), n = width * cases[i].repeat;
        for (size_t j = 0; j < n; j++)
            data[j] = cases[i].text[j % width];
        uint8_t digest[32];
        sha256(data, n, digest);
        char text[65];
        for (size_t j = 0; j < 32; j++)
            snprintf(text + 2 * j, 3, "%02x", digest[j]);
        assert_string_equal(text, cases[i].digest);
    }
}

static int compare_u64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// Flipping any bit of the input, its length or the seed must change the value, in about half of its bits.
static void hash_spreads(void **state) {
    (void)state;
    static uint64_t seen[70 * 70 / 2 * 8 + 8];
    size_t count = 0;
    double flipped = 0;
    for (size_t n = 0; n < 70; n++) {
        unsigned char text[70] = {0};
        uint64_t h = hash_bytes(text, n, 1);
        assert_true(hash_bytes(text, n, 1) == h);
        assert_true(hash_bytes(text, n, 2) != h);
        seen[count++] = h;
        for (size_t bit = 0; bit < 8 * n; bit++) {
            text[bit / 8] ^= (unsigned char)(1 << bit % 8);
            uint64_t g = hash_bytes(text, n, 1);
            flipped += __builtin_popcountll(g ^ h);
            text[bit / 8] ^= (unsigned char)(1 << bit % 8);
            if (count < COUNT(seen)) seen[count++] = g;
        }
    }
    flipped /= 8 * 70 * 69 / 2;
    assert_true(flipped > 31 && flipped < 33);
    qsort(seen, count, sizeof *seen, compare_u64);
    for (size_t i = 1; i < count; i++)
        assert_true(seen[i] != seen[i - 1]);
}

// The known answers of the authors' Random123 kit.
static void philox_matches_the_authors(void **state) {
    (void)state;
    static const struct {
        uint64_t seed, stream, counter;
        uint32_t out[4];
    } cases[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822,
         0x0370734413198a2e,
         0x85a308d3243f6a88,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint32_t out[4];
        rng_philox(cases[i].seed, cases[i].stream, cases[i].counter, out);
        assert_memory_equal(out, cases[i].out, sizeof out);
    }
}

static void random_numbers_are_spread_right(void **state) {
    (void)state;
    enum { N = 200000 };
    double sum = 0, sum2 = 0, sum4 = 0, uniform = 0;
    unsigned tenth[10] = {0};
    for (uint64_t i = 0; i < N; i++) {
        double x = (double)rng_normal(3, 1, i);
        assert_true(isfinite(x));
        sum += x;
        sum2 += x * x;
        sum4 += x * x * x * x;
        float u = rng_uniform(3, 2, i);
        assert_true(u >= 0 && u < 1);
        uniform += (double)u;
        tenth[(int)(u * 10)]++;
    }
    // About five standard errors each.
    assert_true(fabs(sum / N) < 0.012 && fabs(sum2 / N - 1) < 0.016 && fabs(sum4 / N - 3) < 0.11);
    assert_true(fabs(uniform / N - 0.5) < 0.0035);
    for (int i = 0; i < 10; i++)
        assert_true(tenth[i] > N / 10 - 700 && tenth[i] < N / 10 + 700);
    assert_true(rng_normal(3, 1, 5) == rng_normal(3, 1, 5));
    assert_true(rng_normal(3, 1, 5) != rng_normal(4, 1, 5));
}

static void clock_goes_forward(void **state) {
    (void)state;
    double before = clock_seconds(), now = before;
    for (int i = 0; i < 10000000 && now == before; i++)
        now = clock_seconds();
    assert_true(now > before && now - before < 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_matches_the_standard), cmocka_unit_test(hash_spreads),
        cmocka_unit_test(philox_matches_the_authors),  cmocka_unit_test(random_numbers_are_spread_right),
        cmocka_unit_test(clock_goes_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
