// char.h against the reference's answer for every code point (test/golden/tokenizer/unicode.jsonl), and UTF-8.
#include "base/check.h"

#include "text/char.h"

#define FILE_NAME SABOK_TEST_DIR "/golden/tokenizer/unicode.jsonl"
#define POINTS 0x110000u

enum golden_flag { DROP = 1, SPACE = 2, IDEOGRAPH = 4, PUNCTUATION = 8, SEPARATOR = 16, MARK = 32 };
static const char *const flag_names[] = {"drop", "space", "ideograph", "punctuation", "separator", "mark"};

struct mapping {
    uint32_t to[8];
    size_t size; // 0: itself
};
static uint8_t *flags;
static struct mapping *strips, *lowers;

static void read_ranges(struct json *j, uint8_t flag) {
    uint64_t x[2];
    assert_true(json_array_begin(j));
    while (json_item(j)) {
        assert_true(json_array_begin(j));
        for (int i = 0; i < 2; i++)
            assert_true(json_item(j) && json_u64(j, &x[i]));
        assert_false(json_item(j));
        assert_true(x[1] < POINTS);
        for (uint64_t c = x[0]; c <= x[1]; c++)
            flags[c] |= flag;
    }
}

static void read_map(struct json *j, struct mapping *m) {
    assert_true(json_array_begin(j));
    while (json_item(j)) {
        uint64_t from = POINTS, x;
        assert_true(json_array_begin(j));
        while (json_item(j)) {
            assert_true(json_u64(j, &x) && x < POINTS);
            if (from == POINTS)
                from = x;
            else
                m[from].to[m[from].size++] = (uint32_t)x;
        }
        if (from < POINTS && m[from].size == 0) m[from].size = SIZE_MAX; // becomes nothing
    }
}

static void read_line(struct json *j) {
    struct json_text key, kind = {0};
    assert_true(json_object_begin(j));
    while (json_key(j, &key)) {
        if (json_text_is(key, "kind")) {
            assert_true(json_string(j, &kind));
        } else if (json_text_is(key, "ranges")) {
            size_t i = 0;
            while (i < COUNT(flag_names) && !json_text_is(kind, flag_names[i]))
                i++;
            assert_true(i < COUNT(flag_names));
            read_ranges(j, (uint8_t)(1u << i));
        } else if (json_text_is(key, "map")) {
            assert_true(json_text_is(kind, "strip") || json_text_is(kind, "lower"));
            read_map(j, json_text_is(kind, "strip") ? strips : lowers);
        } else {
            fail_msg("%s: unknown key %.*s", FILE_NAME, (int)key.size, key.data);
        }
    }
    assert_true(json_end(j));
}

static int setup(void **state) {
    (void)state;
    sabok_error err = {0};
    char *text;
    size_t size;
    if (file_read(FILE_NAME, (size_t)1 << 28, &text, &size, &err) != SABOK_OK) fail_msg("%s", err.message);
    flags = calloc(POINTS, 1);
    strips = calloc(POINTS, sizeof *strips);
    lowers = calloc(POINTS, sizeof *lowers);
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t n = end ? (size_t)(end - text) - at : size - at;
        struct arena arena;
        struct json j;
        arena_init(&arena, 0);
        json_init(&j, text + at, n, FILE_NAME, &arena, &err);
        read_line(&j);
        arena_free(&arena);
        at += n + 1;
    }
    mem_free(text);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    free(flags);
    free(strips);
    free(lowers);
    return 0;
}

static bool surrogate(uint32_t c) {
    return c >= 0xd800 && c < 0xe000;
}

static unsigned golden_of(uint32_t c) {
    const unsigned f = char_flags(c);
    unsigned g = 0;
    const bool blank = c == '\t' || c == '\n' || c == '\r';
    const bool drop = !blank && (c == 0 || c == CHAR_REPLACEMENT || (f & CHAR_OTHER));
    if (drop) g |= DROP;
    if (!drop && (f & CHAR_SPACE)) g |= SPACE;
    if (f & CHAR_IDEOGRAPH) g |= IDEOGRAPH;
    if (f & CHAR_PUNCT) g |= PUNCTUATION;
    if (f & CHAR_SPACE) g |= SEPARATOR;
    if (f & CHAR_NONSPACING) g |= MARK;
    return g;
}

static void classes(void **state) {
    (void)state;
    for (uint32_t c = 0; c < POINTS; c++) {
        uint32_t d[CHAR_DECOMPOSED_MAX];
        if (surrogate(c)) continue;
        // A mark that decomposes never meets the question itself; its parts do.
        const unsigned care = char_decompose(c, false, d) > 1 || d[0] != c ? ~(unsigned)MARK : ~0u;
        if ((golden_of(c) & care) != (flags[c] & care))
            fail_msg("U+%04X: classes %02x, expected %02x", c, golden_of(c), flags[c]);
    }
}

static void letter_case(void **state) {
    (void)state;
    for (uint32_t c = 0; c < POINTS; c++) {
        uint32_t out[CHAR_LOWER_MAX];
        if (surrogate(c)) continue;
        const size_t n = char_lower(c, out);
        const struct mapping *m = &lowers[c];
        const bool same =
            m->size ? n == m->size && memcmp(out, m->to, n * sizeof *out) == 0 : n == 1 && out[0] == c;
        if (!same) fail_msg("U+%04X: lower case is U+%04X (%zu code points)", c, out[0], n);
    }
}

static void accents(void **state) {
    (void)state;
    for (uint32_t c = 0; c < POINTS; c++) {
        uint32_t out[CHAR_DECOMPOSED_MAX];
        if (surrogate(c) || (c >= 0xac00 && c <= 0xd7a3)) continue;
        const size_t n = char_decompose(c, false, out);
        size_t kept = 0;
        for (size_t i = 0; i < n; i++)
            if (!(char_flags(out[i]) & CHAR_NONSPACING)) out[kept++] = out[i];
        const struct mapping *m = &strips[c];
        bool same;
        if (m->size == SIZE_MAX || (flags[c] & MARK))
            same = kept == 0;
        else if (m->size)
            same = kept == m->size && memcmp(out, m->to, kept * sizeof *out) == 0;
        else
            same = kept == 1 && out[0] == c;
        if (!same) fail_msg("U+%04X: without accents %zu code points, the first U+%04X", c, kept, out[0]);
    }
}

// Hangul by the arithmetic of the Unicode standard, section 3.12.
static void hangul_composes(void **state) {
    (void)state;
    for (uint32_t a = 0x10f0; a < 0xd7b0; a = a == 0x11ff ? 0xabf0 : a + 1)
        for (uint32_t b = 0x1150; b < 0x11d0; b++) {
            const bool lead = a >= 0x1100 && a < 0x1113, vowel = b >= 0x1161 && b < 0x1176;
            const bool open = a >= 0xac00 && a < 0xd7a4 && (a - 0xac00) % 28 == 0;
            const bool tail = b > 0x11a7 && b < 0x11c3;
            const uint32_t want = lead && vowel  ? 0xac00 + ((a - 0x1100) * 21 + b - 0x1161) * 28
                                  : open && tail ? a + b - 0x11a7
                                                 : 0;
            if (char_compose(a, b) != want)
                fail_msg("U+%04X U+%04X: U+%04X, expected U+%04X", a, b, char_compose(a, b), want);
        }
}

static void utf8_round(void **state) {
    (void)state;
    for (uint32_t c = 0; c < POINTS; c++) {
        char bytes[4];
        uint32_t back;
        if (surrogate(c)) continue;
        const size_t n = utf8_write(c, bytes);
        assert_int_equal(n, c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
        if (utf8_read((const uint8_t *)bytes, n, &back) != n || back != c)
            fail_msg("U+%04X does not come back", c);
    }
}

// Table 3-11 of the Unicode standard and its kin: the length of each maximal invalid subsequence.
static void utf8_invalid(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t sizes[8];
    } rows[] = {
        {"\xc0\xaf", {1, 1}},
        {"\xe0\x9f\x80", {1, 1, 1}},
        {"\xed\xa0\x80", {1, 1, 1}},
        {"\xf4\x90\x80\x80", {1, 1, 1, 1}},
        {"\xf5\x80", {1, 1}},
        {"\xe1\x80\xe2", {2, 1}},
        {"\xf0\x91\x92\xf1\xbf", {3, 2}},
        {"\xf0\x90", {2}},
        {"\xc2", {1}},
        {"\x80", {1}},
        {"\xff\xfe", {1, 1}},
        {"\xe3\x81", {2}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const size_t n = strlen(rows[i].bytes);
        size_t at = 0, k = 0;
        while (at < n) {
            uint32_t c;
            const size_t read = utf8_read((const uint8_t *)rows[i].bytes + at, n - at, &c);
            if (c != CHAR_REPLACEMENT || read != rows[i].sizes[k++]) fail_msg("row %zu, byte %zu", i, at);
            at += read;
        }
        assert_true(k == COUNT(rows[i].sizes) || rows[i].sizes[k] == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes),    cmocka_unit_test(letter_case),  cmocka_unit_test(accents),
        cmocka_unit_test(utf8_round), cmocka_unit_test(utf8_invalid), cmocka_unit_test(hangul_composes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
