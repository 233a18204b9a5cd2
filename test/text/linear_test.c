// Four times the text takes about four times as long: every normalizer, pre-tokenizer and model alone, on hostile texts.
#include "base/check.h"

#include "hostile.h"
#include "text/tokenizer.h"

#include <time.h>

#define SHORT_TEXT 4000
#define TIMES_LONGER 4
#define TIMES_SLOWER 10    // quadratic work would be 16
#define LEAST_SECONDS 0.02 // below which nothing is compared: quadratic work of 16,000 bytes takes longer

// Of this thread alone: other programs must not make the test fail.
static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const char *const models[] = {
    "\"type\":\"WordPiece\",\"unk_token\":\"u\",\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_"
    "word\":"
    "1000000,\"vocab\":{\"u\":0,\"a\":1,\"##a\":2,\"##aa\":3,\"##aaaaaaab\":4}",
    "\"type\":\"BPE\",\"unk_token\":\"u\",\"vocab\":{\"u\":0,\"a\":1,\"aa\":2,\"aaaa\":3,\"b\":4,\"ab\":5},"
    "\"merges\":[\"a "
    "a\",\"aa aa\",\"a b\"]",
    "\"type\":\"BPE\",\"byte_fallback\":true,\"fuse_unk\":true,\"vocab\":{\"<0x61>\":0,\"<0xCC>\":1,\"<0x81>"
    "\":2,\" "
    "\":3},\"merges\":[]",
    "\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"u\",0.0],[\"a\",-1.0],[\"aa\",-1.5],[\"aaaaaaaab\",-1.0]"
    ",[\" "
    "\",-2.0],[\"\u0301\u0301\",-3.0]]",
    "\"type\":\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{\"u\":0,\"a\":1}",
};

#define NORMALIZER(x) "\"normalizer\":{\"type\":" x "}"
#define PRETOKENIZER(x) "\"pre_tokenizer\":{\"type\":" x "}"
static const char *const steps[] = {
    NORMALIZER("\"NFC\""),
    NORMALIZER("\"NFD\""),
    NORMALIZER("\"NFKC\""),
    NORMALIZER("\"NFKD\""),
    NORMALIZER("\"Lowercase\""),
    NORMALIZER("\"StripAccents\""),
    NORMALIZER("\"Strip\",\"strip_left\":true,\"strip_right\":true"),
    NORMALIZER("\"Nmt\""),
    NORMALIZER("\"ByteLevel\""),
    NORMALIZER("\"Prepend\",\"prepend\":\"_\""),
    NORMALIZER("\"Replace\",\"pattern\":{\"String\":\"aaaaaaaab\"},\"content\":\"b\""),
    NORMALIZER("\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"__\""),
    NORMALIZER("\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \""),
    NORMALIZER("\"Replace\",\"pattern\":{\"Regex\":\"[^a-z]b?\"},\"content\":\"\""),
    NORMALIZER("\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,\"strip_accents\":true,"
               "\"lowercase\":true"),
    PRETOKENIZER("\"BertPreTokenizer\""),
    PRETOKENIZER("\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true"),
    PRETOKENIZER(
        "\"Split\",\"pattern\":{\"Regex\":\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?"
        "\\\\p{L}+|\\\\p{N}{1,3}| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|"
        "\\\\s+(?!\\\\S)|\\\\s+\"},\"behavior\":\"Isolated\",\"invert\":false"),
    PRETOKENIZER(
        "\"Split\",\"pattern\":{\"Regex\":\"\\\\w|[^\\\\w\\\\s]\"},\"behavior\":\"MergedWithPrevious\","
        "\"invert\":false"),
    PRETOKENIZER("\"Metaspace\",\"replacement\":\"\u2581\",\"prepend_scheme\":\"always\",\"split\":true"),
    PRETOKENIZER("\"Metaspace\",\"replacement\":\"\u2581\",\"prepend_scheme\":\"never\",\"split\":false"),
    PRETOKENIZER("\"Whitespace\""),
    PRETOKENIZER("\"WhitespaceSplit\""),
    PRETOKENIZER("\"Punctuation\",\"behavior\":\"Contiguous\""),
    PRETOKENIZER("\"Digits\",\"individual_digits\":true"),
    PRETOKENIZER("\"CharDelimiterSplit\",\"delimiter\":\"a\""),
    PRETOKENIZER("\"UnicodeScripts\""),
};

// The less of two runs, both ways of each.
static double run_seconds(const sabok_tokenizer *tok, struct token_scratch *s, const struct hostile *h,
                          size_t size, const char *label) {
    size_t n;
    char *text = repeat(h, size, &n);
    double least = 1e9;
    for (int run = 0; run < 2; run++) {
        struct token_ids ids = {0};
        const double start = cpu_seconds();
        if (!encode_text(tok, s, text, n)) fail_msg("%s: not encoded", label);
        assert_true(encode_ids(tok, s, (struct json_text){text, n}, SIZE_MAX, &ids));
        const double took = cpu_seconds() - start;
        least = took < least ? took : least;
        if (ids.size != s->token_count) fail_msg("%s: %zu ids, %zu tokens", label, ids.size, s->token_count);
        for (size_t i = 0; i < ids.size; i++)
            if (ids.ids[i] != s->tokens[i].id) fail_msg("%s: token %zu differs", label, i);
        mem_free(ids.ids);
        mem_free(ids.types);
    }
    free(text);
    return least;
}

static void check(const char *step, const char *model) {
    struct buf b = {0};
    sabok_error err = {0};
    buf_printf(&b, "{\"version\":\"1.0\",%s%s\"model\":{%s}}", step, *step ? "," : "", model);
    assert_false(b.failed);
    sabok_tokenizer *tok = tokenizer_parse(b.data, b.size, "step", &err);
    if (!tok) fail_msg("%s: %s", b.data, err.message);
    struct token_scratch *s = token_scratch_new(tok);
    for (size_t i = 0; i < COUNT(hostiles); i++) {
        char label[256];
        snprintf(label, sizeof label, "%.90s with %.40s, %s", step, model, hostiles[i].name);
        const double once = run_seconds(tok, s, &hostiles[i], SHORT_TEXT, label);
        const double more = run_seconds(tok, s, &hostiles[i], SHORT_TEXT * TIMES_LONGER, label);
        if (more > LEAST_SECONDS && more > TIMES_SLOWER * once)
            fail_msg("%s: %.4f s for %d bytes, %.4f s for %d", label, once, SHORT_TEXT, more,
                     SHORT_TEXT * TIMES_LONGER);
    }
    token_scratch_free(s);
    sabok_tokenizer_close(tok);
    buf_free(&b);
}

static void every_step(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(steps); i++)
        check(steps[i], models[3]);
}

static void every_model(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(models); i++)
        check("", models[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step),
        cmocka_unit_test(every_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
