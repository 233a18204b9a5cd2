// Rows of docs/bugs.md, tokenising, on small vocabularies that show the same fault.
#include "base/check.h"

#include "text/tokenizer.h"

// A tokenizer.json of BERT's kind around the pieces given, "[UNK]" first.
struct recipe {
    const char *normalizer;   // the flags of BertNormalizer, or NULL for cased cleaning
    const char *pieces;       // separated by blanks; ids count from 1
    const char *added;        // objects, or NULL
    const char *pretokenizer; // NULL: BertPreTokenizer
    bool specials;            // a template of [CLS] and [SEP]
};

#define CASED "\"clean_text\":true,\"handle_chinese_chars\":true,\"strip_accents\":false,\"lowercase\":false"
#define UNCASED "\"clean_text\":true,\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true"
#define LOWER_ONLY                                                                                           \
    "\"clean_text\":true,\"handle_chinese_chars\":true,\"strip_accents\":false,\"lowercase\":true"
#define TEMPLATE                                                                                             \
    "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"[CLS]\",\"type_id\":0}},"      \
    "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"SpecialToken\":{\"id\":\"[SEP]\",\"type_id\":0}}],"      \
    "\"pair\":[{\"SpecialToken\":{\"id\":\"[CLS]\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":" \
    "0}},"                                                                                                   \
    "{\"SpecialToken\":{\"id\":\"[SEP]\",\"type_id\":0}},{\"Sequence\":{\"id\":\"B\",\"type_id\":1}},"       \
    "{\"SpecialToken\":{\"id\":\"[SEP]\",\"type_id\":1}}],\"special_tokens\":{"                              \
    "\"[CLS]\":{\"id\":\"[CLS]\",\"ids\":[1],\"tokens\":[\"[CLS]\"]},"                                       \
    "\"[SEP]\":{\"id\":\"[SEP]\",\"ids\":[2],\"tokens\":[\"[SEP]\"]}}}"

static sabok_tokenizer *make(const struct recipe *r) {
    struct buf b = {0};
    buf_printf(&b, "{\"version\":\"1.0\",\"added_tokens\":[%s],\"normalizer\":", r->added ? r->added : "");
    buf_printf(&b, "{\"type\":\"BertNormalizer\",%s},", r->normalizer ? r->normalizer : CASED);
    buf_printf(&b, "\"pre_tokenizer\":%s,",
               r->pretokenizer ? r->pretokenizer : "{\"type\":\"BertPreTokenizer\"}");
    buf_printf(&b, "\"post_processor\":%s,", r->specials ? TEMPLATE : "null");
    buf_printf(
        &b, "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","
            "\"max_input_chars_per_word\":100,\"vocab\":{\"[UNK]\":0");
    int id = 1;
    for (const char *p = r->pieces; *p; id++) {
        const size_t n = strcspn(p, " ");
        buf_printf(&b, ",\"%.*s\":%d", (int)n, p, id);
        p += n + (p[n] == ' ');
    }
    buf_printf(&b, "}}}");
    assert_false(b.failed);
    sabok_error err = {0};
    sabok_tokenizer *tok = tokenizer_parse(b.data, b.size, "recipe", &err);
    if (!tok) fail_msg("%s", err.message);
    buf_free(&b);
    return tok;
}

static sabok_encodings *encode(const sabok_tokenizer *tok, const char *text) {
    sabok_error err = {0};
    sabok_encodings *e = sabok_tokenize(tok, &text, NULL, 1, NULL, &err);
    if (!e) fail_msg("%s", err.message);
    return e;
}

// "tokens" separated by blanks, and "0-3 3-5" offsets in characters (NULL: not checked).
static void expect(const sabok_tokenizer *tok, const char *text, const char *tokens, const char *offsets) {
    struct buf found = {0}, places = {0};
    sabok_encodings *encs = encode(tok, text);
    const sabok_encoding *e = sabok_encodings_get(encs, 0);
    buf_printf(&found, "%s", "");
    buf_printf(&places, "%s", "");
    for (size_t i = 0; i < e->length; i++) {
        buf_printf(&found, "%s%s", i ? " " : "", e->tokens[i]);
        buf_printf(&places, "%s%zu-%zu", i ? " " : "", e->offsets[i].begin, e->offsets[i].end);
    }
    assert_string_equal(found.data, tokens);
    if (offsets) assert_string_equal(places.data, offsets);
    struct token_scratch *s = token_scratch_new(tok);
    struct token_ids ids = {0};
    assert_true(tokenizer_encode_ids(tok, s, text, strlen(text), 0, &ids));
    assert_int_equal(ids.size, e->length);
    assert_memory_equal(ids.ids, e->ids, ids.size * sizeof *ids.ids);
    mem_free(ids.ids);
    mem_free(ids.types);
    token_scratch_free(s);
    buf_free(&found);
    buf_free(&places);
    sabok_encodings_free(encs);
}

static void row_2_accents_kept(void **state) {
    (void)state;
    sabok_tokenizer *tok =
        make(&(struct recipe){.normalizer = LOWER_ONLY, .pieces = "schön schon müller muller caf ##é ##e"});
    expect(tok, "schön", "schön", "0-5");
    expect(tok, "Müller", "müller", "0-6");
    expect(tok, "café", "caf ##é", "0-3 3-4");
    sabok_tokenizer_close(tok);
}

static void row_4_kana_offsets(void **state) {
    (void)state;
    sabok_tokenizer *tok =
        make(&(struct recipe){.normalizer = UNCASED, .pieces = "アリハハ ##ハ て ##て す ##す 株"});
    // The marks go, and every offset still counts the original's characters.
    expect(tok, "アリババです", "アリハハ ##て ##す", "0-4 4-5 5-6");
    expect(tok, "アリババで゙す", "アリハハ ##て ##す", "0-4 4-5 6-7");
    expect(tok, "アリババ", "アリハハ", "0-4");
    expect(tok, "バです株で", "[UNK] 株 て", "0-3 3-4 4-5");
    sabok_tokenizer_close(tok);
}

static void row_6_ideographs(void **state) {
    (void)state;
    sabok_tokenizer *tok = make(&(struct recipe){.pieces = "大 家 好 我 是 GPT gpt カナ 하다"});
    expect(tok, "大家好我是GPT", "大 家 好 我 是 GPT", "0-1 1-2 2-3 3-4 4-5 5-8");
    expect(tok, "カナ大하다", "カナ 大 하다", "0-2 2-3 3-5");
    sabok_tokenizer_close(tok);
    tok = make(&(struct recipe){.normalizer = UNCASED, .pieces = "大 GPT gpt"});
    expect(tok, "大GPT", "大 gpt", "0-1 1-4");
    sabok_tokenizer_close(tok);
}

static void row_8_soft_hyphen(void **state) {
    (void)state;
    sabok_tokenizer *tok = make(&(struct recipe){.pieces = "ab"});
    expect(tok, "\u00ad", "", "");
    expect(tok, "\u200b\u200d", "", "");
    expect(tok, "a\u00adb", "ab", "0-3");
    sabok_tokenizer_close(tok);
}

static void row_10_controls(void **state) {
    (void)state;
    sabok_tokenizer *tok = make(&(struct recipe){.normalizer = UNCASED, .pieces = "shoot too much fun"});
    expect(tok, "shoot\xc2\x97 TOO much fun", "shoot too much fun", "0-5 7-10 11-15 16-19");
    sabok_tokenizer_close(tok);
}

static void row_12_dash(void **state) {
    (void)state;
    sabok_tokenizer *tok = make(&(struct recipe){.pieces = "Cretaceous – Pa ##leo ##gene ##– $ ^ `"});
    expect(tok, "Cretaceous–Paleogene", "Cretaceous – Pa ##leo ##gene", "0-10 10-11 11-13 13-16 16-20");
    expect(tok, "Pa$Pa^`", "Pa $ Pa ^ `", "0-2 2-3 3-5 5-6 6-7");
    sabok_tokenizer_close(tok);
}

static void row_14_whole_word_unknown(void **state) {
    (void)state;
    sabok_tokenizer *tok = make(&(struct recipe){.pieces = "un ##want ##ed Te ##as"});
    expect(tok, "unwanted", "un ##want ##ed", "0-2 2-6 6-8");
    expect(tok, "unwantedX", "[UNK]", "0-9");
    expect(tok, "Texas", "[UNK]", "0-5");
    sabok_tokenizer_close(tok);
}

#define HA "\u1112\u1161"
#define SYEO "##\u1109\u1167"
#define SEU "##\u1109\u1173"
#define NI "##\u1102\u1175"
#define KKA "##\u1101\u1161"
#define JAMO HA " " SYEO " ##\u11bb " SEU " ##\u11b8 " NI " " KKA

static void row_16_hangul_offsets(void **state) {
    (void)state;
    sabok_tokenizer *tok = make(&(struct recipe){.normalizer = UNCASED, .pieces = JAMO});
    // The pieces are jamo; their places are syllables.
    expect(tok, "하셨습니까", JAMO, "0-1 1-2 1-2 2-3 2-3 3-4 4-5");
    sabok_tokenizer_close(tok);
}

#define ADDED(id, content, flags) "{\"id\":" id ",\"content\":\"" content "\"," flags ",\"special\":false}"

static void row_38_rstrip(void **state) {
    (void)state;
    sabok_tokenizer *tok = make(&(struct recipe){
        .pieces = "Hello",
        .added = ADDED("2", "<|user|>",
                       "\"single_word\":false,\"lstrip\":false,\"rstrip\":true,\"normalized\":false")});
    expect(tok, "<|user|>Hello", "<|user|> Hello", "0-8 8-13");
    expect(tok, "<|user|>  Hello", "<|user|>   Hello", "0-10 10-15");
    sabok_tokenizer_close(tok);
}

static void row_40_blanks_kept(void **state) {
    (void)state;
    // No pre-tokenizer: blanks between added tokens are text, here the piece "\u2581" stands for none of them.
    sabok_tokenizer *tok = make(&(struct recipe){
        .pieces = "x",
        .pretokenizer = "null",
        .added = ADDED("2", "<x>",
                       "\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false")});
    expect(tok, "<x> <x> <x><x>", "<x> [UNK] <x> [UNK] <x> <x>", "0-3 3-4 4-7 7-8 8-11 11-14");
    sabok_tokenizer_close(tok);
}

// n words "a".
static char *words(size_t n) {
    char *text = malloc(2 * n + 1);
    for (size_t i = 0; i < n; i++)
        memcpy(text + 2 * i, "a ", 2);
    text[2 * n] = '\0';
    return text;
}

static void row_42_longest_first(void **state) {
    (void)state;
    sabok_tokenizer *tok = make(&(struct recipe){.pieces = "[CLS] [SEP] a", .specials = true});
    char *first = words(125), *second = words(130);
    const char *texts[1] = {first}, *pairs[1] = {second};
    const sabok_tokenize_opts opts = {.truncation = SABOK_TRUNCATE_LONGEST_FIRST, .max_length = 128};
    sabok_encodings *encs = sabok_tokenize(tok, texts, pairs, 1, &opts, NULL);
    assert_non_null(encs);
    const sabok_encoding *e = sabok_encodings_get(encs, 0);
    size_t counts[2] = {0, 0};
    for (size_t i = 0; i < e->length; i++)
        if (!e->special_mask[i]) counts[e->type_ids[i]]++;
    assert_int_equal(e->length, 128);
    assert_int_equal(counts[0], 62);
    assert_int_equal(counts[1], 63);
    sabok_encodings_free(encs);
    free(first);
    free(second);
    sabok_tokenizer_close(tok);
}

static void row_44_windows(void **state) {
    (void)state;
    sabok_tokenizer *tok =
        make(&(struct recipe){.pieces = "[CLS] [SEP] a b c d e f g h i j", .specials = true});
    char text[101];
    for (int i = 0; i < 50; i++) {
        text[2 * i] = (char)('a' + i % 10);
        text[2 * i + 1] = ' ';
    }
    text[100] = '\0';
    const char *texts[1] = {text};
    const sabok_tokenize_opts opts = {.truncation = SABOK_TRUNCATE_LONGEST_FIRST,
                                      .max_length = 40,
                                      .stride = 20,
                                      .overflow = true,
                                      .no_special = true};
    sabok_encodings *encs = sabok_tokenize(tok, texts, NULL, 1, &opts, NULL);
    assert_int_equal(sabok_encodings_count(encs), 2);
    const sabok_encoding *a = sabok_encodings_get(encs, 0), *b = sabok_encodings_get(encs, 1);
    assert_int_equal(a->length, 40);
    assert_int_equal(b->length, 30);
    assert_memory_equal(a->ids + 20, b->ids, 20 * sizeof *a->ids);
    assert_int_equal(b->offsets[0].begin, 40);
    assert_int_equal(b->offsets[29].begin, 98);
    sabok_encodings_free(encs);
    sabok_tokenizer_close(tok);
}

static void row_46_folder_wins(void **state) {
    (void)state;
    sabok_error err = {0};
    sabok_tokenizer *tok =
        sabok_tokenizer_open(SABOK_TEST_DIR "/golden/tokenizer/baked", &err); // truncates to 7
    assert_non_null(tok);
    assert_int_equal(tokenizer_max_length(tok), 7);
    char *text = words(300);
    const char *texts[1] = {text};
    tokenizer_set_max_length(tok, 256);
    assert_int_equal(tokenizer_max_length(tok), 256);
    sabok_encodings *encs = sabok_tokenize(tok, texts, NULL, 1, NULL, &err);
    assert_int_equal(sabok_encodings_get(encs, 0)->length, 256);
    sabok_encodings_free(encs);
    text[2 * 200] = '\0';
    encs = sabok_tokenize(tok, texts, NULL, 1, NULL, &err);
    assert_int_equal(sabok_encodings_get(encs, 0)->length, 202);
    sabok_encodings_free(encs);
    free(text);
    sabok_tokenizer_close(tok);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_2_accents_kept),
        cmocka_unit_test(row_4_kana_offsets),
        cmocka_unit_test(row_6_ideographs),
        cmocka_unit_test(row_8_soft_hyphen),
        cmocka_unit_test(row_10_controls),
        cmocka_unit_test(row_12_dash),
        cmocka_unit_test(row_14_whole_word_unknown),
        cmocka_unit_test(row_16_hangul_offsets),
        cmocka_unit_test(row_38_rstrip),
        cmocka_unit_test(row_40_blanks_kept),
        cmocka_unit_test(row_42_longest_first),
        cmocka_unit_test(row_44_windows),
        cmocka_unit_test(row_46_folder_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
