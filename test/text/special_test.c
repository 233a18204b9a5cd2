// The tokens that a folder names for a purpose, and what tidies a decoded text.
#include "text/text.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GOLDEN SABOK_TEST_DIR "/golden/"

static void check_specials(const char *path, uint32_t cls, uint32_t pad, uint32_t mask) {
    sabok_error err = {0};
    struct token_specials s;
    sabok_tokenizer *tok = sabok_tokenizer_open(path, &err);
    if (!tok || tokenizer_specials(tok, &s, &err) != SABOK_OK) fail_msg("%s", err.message);
    if (s.cls != cls || s.pad != pad || s.mask != mask)
        fail_msg("%s: cls %u, pad %u, mask %u", path, s.cls, s.pad, s.mask);
    assert_int_equal(s.mask_text != NULL, mask != NO_TOKEN);
    sabok_tokenizer_close(tok);
}

static void test_specials(void **state) {
    (void)state;
    check_specials(GOLDEN "bert-head-mask", 4, 0, 6);
    check_specials(GOLDEN "fill-mask-bytes", 0, 1, 400); // the mask is an object
    // No file says anything: the names are those of the class that the model's kind stands for.
    check_specials(GOLDEN "tokenizer/model-bpe-bytes", 0, 1, NO_TOKEN);
    check_specials(GOLDEN "tokenizer/model-unigram", 0, 1, NO_TOKEN);
}

static void test_token_ids(void **state) {
    (void)state;
    sabok_tokenizer *tok = sabok_tokenizer_open(GOLDEN "fill-mask-bytes", NULL);
    assert_non_null(tok);
    assert_int_equal(tokenizer_token_id(tok, "<mask>", 6), 400);
    assert_int_equal(tokenizer_token_id(tok, "<mask", 5), NO_TOKEN);
    assert_int_equal(tokenizer_token_id(tok, "", 0), NO_TOKEN);
    sabok_tokenizer_close(tok);
}

// What transformers' clean_up_tokenization makes of these.
static void test_clean_up(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"a . b , c ? ! d .", "a. b, c?! d."},
        {"do n't I 'm it 's we 've they 're", "don't I'm it's we've they're"},
        {"the ' cat '", "the'cat '"},
        {"", ""},
        {"  .", " ."},
        {" ", " "},
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", pairs[i][0]);
        assert_int_equal(tokenizer_clean_up(text, strlen(text)), strlen(pairs[i][1]));
        assert_string_equal(text, pairs[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_specials), cmocka_unit_test(test_token_ids),
                                       cmocka_unit_test(test_clean_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
