// Sentences of CoNLL files.
#include "file/crafted.h"

// All sentences of `text`: word/tag pairs with spaces between, a line each with the line of the first word; an error's
// message ends it.
static char *sentences_of(const char *text, size_t size, const sabok_conll_opts *opts) {
    const char *folder = crafted_folder(), *path = crafted_path(folder, "x.conll");
    crafted_write(folder, "x.conll", text, size);
    const int64_t live = mem_live();
    struct buf out = {0};
    sabok_error err = {0};
    sabok_conll *conll = sabok_conll_open(path, opts, &err);
    sabok_tagged s;
    int got = conll ? 1 : -1;
    while (conll && (got = sabok_conll_next(conll, &s, &err)) == 1) {
        buf_printf(&out, "%llu:", (unsigned long long)s.line);
        for (size_t i = 0; i < s.length; i++)
            buf_printf(&out, " %s/%s", s.words[i], s.tags[i]);
        buf_put(&out, "\n", 1);
        assert_true(sabok_conll_progress(conll) > 0 && sabok_conll_progress(conll) <= 1);
    }
    if (got < 0) {
        const char *at = strstr(err.message, "x.conll");
        buf_printf(&out, "ERROR %s", at ? at : err.message);
        sabok_error again = {0};
        if (conll) assert_int_equal(sabok_conll_next(conll, &s, &again), -1); // it stays
        if (conll) assert_string_equal(again.message, err.message);
    }
    sabok_conll_close(conll);
    buf_put(&out, "", 1);
    assert_int_equal(mem_live(), live + 1);
    crafted_remove(folder);
    return out.data;
}

static void expect(const char *text, const sabok_conll_opts *opts, const char *expected) {
    char *found = sentences_of(text, strlen(text), opts);
    assert_string_equal(found, expected);
    mem_free(found);
}

static void test_sentences(void **state) {
    (void)state;
    expect("", NULL, "");
    expect("\n\n", NULL, "");
    expect("a\tO\nb\tB-X\n\nc\tO\n", NULL, "1: a/O b/B-X\n4: c/O\n");
    expect("\xEF\xBB\xBF\r\na O\r\nb B-X\r\n \t \r\n\r\nc O", NULL, "2: a/O b/B-X\n6: c/O\n");
    // The columns of CoNLL 2003, and its documents.
    expect("-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n-DOCSTART- -X- O O\nA B C D\n",
           NULL, "3: EU/B-ORG rejects/O\n6: A/D\n");
    expect("  a   x  O  \nb y O\n", NULL, "1: a/O b/O\n");
    expect("a b\tO\n# x\tO\n", NULL, "1: a b/O # x/O\n"); // with tabs, a space is a letter
    expect("1\ta\tN\tB-X\n2\tb\tN\tO\n", &(sabok_conll_opts){.word_column = 2}, "1: a/B-X b/O\n");
    expect("1 a N B-X\n", &(sabok_conll_opts){.word_column = 2, .tag_column = 3}, "1: a/N\n");
}

static void test_errors(void **state) {
    (void)state;
    expect("a O\nb\n", NULL, "ERROR x.conll:2: found 1 column, expected at least 2");
    expect("a O\n\nb x O\n", NULL, "1: a/O\nERROR x.conll:3: found 3 columns, expected 2");
    expect("a\tO\nb\t\n", NULL, "ERROR x.conll:2: column 2: found nothing, expected a word or a tag");
    expect("a\tO\n\tO\n", NULL, "ERROR x.conll:2: column 1: found nothing, expected a word or a tag");
    expect("a O\n", &(sabok_conll_opts){.tag_column = 3},
           "ERROR x.conll:1: found 2 columns, expected at least 3");
    expect("a O\nb\xff O\n", NULL, "ERROR x.conll:2: byte 1: found a NUL or bytes that are not UTF-8");
    sabok_error err = {0};
    assert_null(sabok_conll_open("nowhere.conll", NULL, &err));
    assert_int_equal(err.code, SABOK_ENOTFOUND);
    assert_non_null(strstr(err.message, "nowhere.conll"));
    sabok_conll_close(NULL);
}

static void test_memory_failures(void **state) {
    (void)state;
    const char *folder = crafted_folder(), *path = crafted_path(folder, "x.conll");
    crafted_text(folder, "x.conll", "a O\nb B-X\n\nc O\n");
    for (uint64_t k = 1;; k++) {
        const int64_t live = mem_live();
        sabok_error err = {0};
        sabok_tagged s;
        mem_fail_at(k, true);
        sabok_conll *conll = sabok_conll_open(path, NULL, &err);
        int got = conll ? 1 : -1;
        while (conll && (got = sabok_conll_next(conll, &s, &err)) == 1)
            continue;
        mem_fail_at(0, false);
        sabok_conll_close(conll);
        assert_int_equal(mem_live(), live);
        if (got == 0) break;
        assert_int_equal(err.code, SABOK_ENOMEM);
        assert_true(k < 500);
    }
    crafted_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sentences), cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_memory_failures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
