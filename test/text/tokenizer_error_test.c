// What a broken tokenizer file gives: an error that names the byte; never a crash, and nothing left behind.
#include "base/check.h"
#include "base/folder.h"

#include "sample.h"
#include "text/tokenizer.h"

// The sample with `from` replaced by `to`, whose error names the byte of `place` and says `what`.
struct fault {
    const char *from, *to, *place, *what;
};

static const struct fault faults[] = {
    {"\"1.0\"", "\"2.0\"", "\"2.0\"", "version \"2.0\", expected \"1.0\""},
    {"\"LongestFirst\"", "\"Longest\"", "\"Longest\"", "truncation strategy \"Longest\""},
    {"\"stride\":2", "\"stripe\":2", "{\"direction", "truncation lacks \"stride\""},
    {"\"max_length\":64,", "", "{\"direction", "truncation lacks \"max_length\""},
    {"\"max_length\":64", "\"max_length\":-1", "-1", ""},
    {"\"direction\":\"Right\",\"max", "\"direction\":\"Up\",\"max", "\"Up\"", "direction \"Up\""},
    {"{\"Fixed\":64}", "\"Longest\"", "\"Longest\"", "padding strategy \"Longest\""},
    {"\"id\":1,", "\"id\":4294967296,", "{\"id\":4294967296", "added token id 4294967296"},
    {"\"id\":1,", "\"id\":4,", "{\"id\":4,",
     "added token \"[UNK]\" has id 4, expected 1, its id in the vocabulary"},
    {"\"id\":15,", "\"id\":16,", "{\"id\":16,", "has id 16, expected 15, the next after the vocabulary"},
    {"\"lstrip\":true,", "", "{\"id\":15", "an added token lacks a field"},
    {"\"id\":15,\"content\":\"\\u003cNEW>\"", "\"id\":1,\"content\":\"[UNK]\"",
     "{\"id\":1,\"content\":\"[UNK]\",\"single_word\":true", "listed again with another id or other flags"},
    {"\"BertNormalizer\"", "\"BurtNormalizer\"", "\"BurtNormalizer\"",
     "normalizer \"BurtNormalizer\" is not supported"},
    {"\"clean_text\":true,", "", "{\"type\":\"BertNormalizer\"", "BertNormalizer lacks \"clean_text\""},
    {"{\"String\":\"``\"}", "{\"Regex\":\"a(\"}", "{\"Regex\"",
     "the pattern is wrong: missing closing parenthesis"},
    {"{\"String\":\"``\"}", "{\"Regex\":\"[a&&b]\"}", "{\"Regex\"", "has \"&&b]\" at its byte 2"},
    {"{\"String\":\"``\"}", "{\"Glob\":\"a*\"}", "\"a*\"", "pattern \"Glob\" is not supported"},
    {"{\"String\":\"``\"}", "{\"String\":\"\"}", "{\"String\"", "a pattern of 0 bytes, expected 1 to 65536"},
    {"\"content\":\"\\\"\"}",
     "\"content\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"},{\"type\":"
     "\"Replace\",\"pattern\":{\"String\":\"0\"},\"content\":\"0000\"}",
     "\"Replace\",\"pattern\":{\"String\":\"0\"}", "more than 64 times longer"},
    {"\"BertPreTokenizer\"", "\"ByteLevel\"", "{\"type\":\"ByteLevel\"",
     "ByteLevel lacks \"add_prefix_space\""},
    {"\"BertPreTokenizer\"", "\"FixedLength\"", "\"FixedLength\"",
     "pre_tokenizer \"FixedLength\" is not supported"},
    {"\"BertPreTokenizer\"", "\"Split\"", "{\"type\":\"Split\"", "Split lacks \"pattern\""},
    {"\"BertPreTokenizer\"", "\"Metaspace\",\"replacement\":\"__\"", "{\"type\":\"Metaspace\"",
     "a replacement of one character"},
    {"\"TemplateProcessing\"", "\"RobertaProcessing\"", "{\"type\":\"RobertaProcessing\"",
     "RobertaProcessing lacks \"cls\""},
    {"\"TemplateProcessing\"", "\"Mystery\"", "\"Mystery\"", "\"Mystery\" is not supported"},
    {"{\"type\":\"NFKC\"}", "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAA\"}", "\"AAAA\"",
     "a charsmap that is cut short"},
    {"{\"type\":\"NFKC\"}", "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"A\"}", "\"A\"}",
     "is not base64"},
    {"\"single\":[", "\"simple\":[", "{\"type\":\"TemplateProcessing\"",
     "TemplateProcessing lacks \"single\""},
    {"{\"Sequence\":{\"id\":\"A\"", "{\"Sequence\":{\"id\":\"B\"",
     "\"B\",\"type_id\":0}},{\"SpecialToken\":{\"id\":\"[SEP]\",\"type_id\":0}}],\"pair",
     "sequence \"B\" in a template, expected \"A\""},
    {"\"special_tokens\":{\"[CLS]\"", "\"special_tokens\":{\"[CLX]\"",
     "\"[CLS]\",\"type_id\":0}},{\"Sequence\"", "\"[CLS]\" is not in special_tokens"},
    {"\"ids\":[2]", "\"ids\":[2,3]", "{\"id\":\"[CLS]\",\"ids\"", "with 2 ids and 1 tokens"},
    {"\"ids\":[2]", "\"ids\":[9999999999]", "9999999999", "found 9999999999, expected at most"},
    {"\"decoder\":{\"type\":\"WordPiece\"", "\"decoder\":{\"type\":\"CTC\"", "{\"type\":\"CTC\"",
     "the decoder lacks \"pad_token\""},
    {"\"decoder\":{\"type\":\"WordPiece\"", "\"decoder\":{\"type\":\"Runes\"", "\"Runes\"",
     "decoder \"Runes\" is not supported"},
    {"\"model\":{\"type\":\"WordPiece\"", "\"model\":{\"type\":\"Neural\"", "\"Neural\"",
     "model \"Neural\" is not supported"},
    {"\"model\":{\"type\":\"WordPiece\"", "\"model\":{\"type\":\"BPE\",\"dropout\":0.1", "0.1",
     "dropout 0.1, expected none"},
    {"\"model\":{\"type\":\"WordPiece\"", "\"model\":{\"type\":\"BPE\",\"merges\":[\"b ##q\"]", "\"b ##q\"",
     "a merge names \"##q\", which is not in the vocabulary"},
    {"\"model\":{\"type\":\"WordPiece\"", "\"model\":{\"type\":\"BPE\",\"merges\":[\"a b c\"]", "\"a b c\"",
     "expected two pieces with one space between"},
    {"\"unk_token\":\"[UNK]\",", "\"unk_token\":\"<none>\",", "\"<none>\"", "the unknown token \"<none>\""},
    {"\"model\":", "\"mudel\":", NULL, "no \"model\" in the file"},
    {"\"decoder\":", "\"normalizer\":null,\"normalizer\":", "null,\"normalizer\"", "a second \"normalizer\""},
    {"\"unk_token\":\"[UNK]\",", "", "{\"type\":\"WordPiece\",\"cont", "without \"unk_token\""},
    {"\"unk_token\":\"[UNK]\"", "\"unk_token\":\"<unk>\"", "\"<unk>\"",
     "the unknown token \"<unk>\" is not in the vocabulary"},
    {"\"##a\":5", "\"##a\":4", "4,\"b\"", "\"##a\" has id 4, as an earlier piece has"},
    {"\"##a\":5", "\"a\":5", "5,\"b\"", "\"a\" is in the vocabulary a second time"},
    {"\"##a\":5", "\"##a\":2147483648", "2147483648",
     "id 2147483648 of \"##a\", expected at most 2147483647"},
    {"\"##a\":5", "\"##a\":-5", "-5", ""},
    {"\"##a\":5", "\"##a\":\"5\"", "\"5\"", "found a string, expected a number"},
    {"\"vocab\":{", "\"vocab\":[{", "[{\"[PAD]", "found an array, expected an object"},
    {"\"max_input_chars_per_word\":20", "\"max_input_chars_per_word\":2.5", "2.5", ""},
};

static char *replace(const char *from, const char *to) {
    const char *at = strstr(sample_json, from);
    if (!at) fail_msg("the sample lacks %s", from);
    char *out = malloc(sizeof sample_json + strlen(to));
    sprintf(out, "%.*s%s%s", (int)(at - sample_json), sample_json, to, at + strlen(from));
    return out;
}

static void faults_named(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        const struct fault *f = &faults[i];
        char *text = replace(f->from, f->to);
        sabok_error err = {0};
        const int64_t live = mem_live();
        if (tokenizer_parse(text, strlen(text), "sample.json", &err))
            fail_msg("row %zu: %s is accepted", i, f->to);
        assert_int_equal(mem_live(), live);
        if (err.code != SABOK_EFORMAT || !strstr(err.message, f->what) ||
            !strstr(err.message, "sample.json: byte "))
            fail_msg("row %zu: \"%s\" lacks \"%s\"", i, err.message, f->what);
        if (f->place) {
            const char *place = strstr(text, f->place);
            assert_non_null(place);
            // Numbers are named by their first byte or by the byte at which reading stopped.
            const uint64_t begin = (uint64_t)(place - text),
                           end = begin + (f->what[0] ? 0 : strlen(f->place));
            if (err.offset < begin || err.offset > end)
                fail_msg("row %zu: \"%s\" names another byte than %llu", i, err.message,
                         (unsigned long long)begin);
        }
        free(text);
    }
}

static void sample_is_good(void **state) {
    (void)state;
    sabok_error err = {0};
    sabok_tokenizer *tok = tokenizer_parse(sample_json, sizeof sample_json - 1, "sample.json", &err);
    if (!tok) fail_msg("%s", err.message);
    assert_int_equal(tokenizer_vocab_size(tok), 16);
    assert_int_equal(tokenizer_max_length(tok), 64);
    assert_true(tok->padding.given && tok->padding.fixed == 64);
    assert_string_equal(tok->padding.token, "[PAD]");
    assert_true(tok->decoder.given && tok->decoder.count == 1 && tok->decoder.steps[0].flag);
    sabok_tokenizer_close(tok);
}

// Whatever the bytes: an error or a tokenizer that works.
static void try_bytes(const char *text, size_t size) {
    sabok_error err = {0};
    const int64_t live = mem_live();
    sabok_tokenizer *tok = tokenizer_parse(text, size, "mutant.json", &err);
    if (tok) {
        const char *texts[1] = {sample_text};
        sabok_encodings_free(sabok_tokenize(tok, texts, texts, 1, NULL, &err));
        sabok_tokenizer_close(tok);
    } else {
        assert_int_not_equal(err.code, SABOK_OK);
        assert_true(err.message[0] != '\0');
    }
    assert_int_equal(mem_live(), live);
}

static void every_truncation(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof sample_json - 1; n++) {
        char *copy = malloc(n + 1); // of exactly this size, so that a sanitizer sees reads beyond
        memcpy(copy, sample_json, n);
        sabok_error err = {0};
        if (n < sizeof sample_json - 2) assert_null(tokenizer_parse(copy, n, "cut.json", &err));
        free(copy);
    }
}

static void every_byte(void **state) {
    (void)state;
    static const unsigned char values[] = {0, '"', '0', '9', 'a', '{', ']', ',', ':', '\\', 0x80, 0xff};
    char copy[sizeof sample_json];
    for (size_t i = 0; i < sizeof sample_json - 1; i++)
        for (size_t k = 0; k < COUNT(values) + 8; k++) {
            memcpy(copy, sample_json, sizeof copy);
            copy[i] = k < COUNT(values) ? (char)values[k] : (char)(copy[i] ^ 1 << (k - COUNT(values)));
            try_bytes(copy, sizeof copy - 1);
        }
}

// Everything that allocates, from reading to encodings; the k-th allocation fails.
static bool whole_run(void) {
    sabok_error err = {0};
    sabok_tokenizer *tok = tokenizer_parse(sample_json, sizeof sample_json - 1, "sample.json", &err);
    const char *texts[1] = {sample_text};
    const sabok_tokenize_opts opts = {.max_length = 12, .stride = 1, .overflow = true};
    const sabok_tokenize_opts ids = {.ids_only = true};
    sabok_encodings *a = tok ? sabok_tokenize(tok, texts, texts, 1, &opts, &err) : NULL;
    sabok_encodings *b = a ? sabok_tokenize(tok, texts, NULL, 1, &ids, &err) : NULL;
    const bool ok = b != NULL;
    if (!ok) assert_int_equal(err.code, SABOK_ENOMEM);
    sabok_encodings_free(a);
    sabok_encodings_free(b);
    sabok_tokenizer_close(tok);
    return ok;
}

static bool short_run(const sabok_tokenizer *tok) {
    struct token_scratch *s = token_scratch_new(tok);
    struct token_ids ids = {0};
    bool ok = s != NULL;
    for (size_t i = 0; ok && i < 3; i++)
        ok = tokenizer_encode_ids(tok, s, sample_text, sizeof sample_text - 1, 0, &ids);
    mem_free(ids.ids);
    mem_free(ids.types);
    token_scratch_free(s);
    return ok;
}

static bool golden_run(void) {
    sabok_error err = {0};
    sabok_tokenizer *tok = sabok_tokenizer_open(SABOK_TEST_DIR "/golden/tokenizer/template-old", &err);
    if (!tok) assert_int_equal(err.code, SABOK_ENOMEM);
    const bool ok = tok && short_run(tok);
    sabok_tokenizer_close(tok);
    return ok;
}

static bool vocab_run(void) {
    sabok_error err = {0};
    sabok_tokenizer *tok = sabok_tokenizer_open(SABOK_TEST_DIR "/golden/tokenizer/vocab-uncased", &err);
    if (!tok) assert_int_equal(err.code, SABOK_ENOMEM);
    const bool ok = tok && short_run(tok);
    sabok_tokenizer_close(tok);
    return ok;
}

static void every_allocation(void **state) {
    (void)state;
    static bool (*const runs[])(void) = {whole_run, golden_run, vocab_run};
    for (size_t i = 0; i < COUNT(runs); i++)
        for (int sticky = 0; sticky < 2; sticky++) {
            bool ok = false;
            uint64_t k = 1;
            for (; !ok && k < 5000; k++) {
                const int64_t live = mem_live();
                mem_fail_at(k, sticky);
                ok = runs[i]();
                mem_fail_at(0, false);
                if (mem_live() != live) fail_msg("run %zu: allocation %llu leaks", i, (unsigned long long)k);
            }
            assert_true(ok && k > 20);
        }
}

// ---------------------------------------------------------------------------------------------- files

static void expect_open(const char *path, sabok_status code, const char *what) {
    sabok_error err = {0};
    if (sabok_tokenizer_open(path, &err)) fail_msg("%s opens, expected \"%s\"", path, what);
    if (err.code != code || !strstr(err.message, what))
        fail_msg("%s: \"%s\" lacks \"%s\"", path, err.message, what);
}

static void put_text(const struct folder *folder, const char *name, const char *text) {
    folder_put(folder, name, text, strlen(text));
}

static void vocab_files(void **state) {
    (void)state;
    struct folder folder;
    char path[FOLDER_PATH];
    folder_make(&folder);
    expect_open(folder.path, SABOK_ENOTFOUND, "expected tokenizer.json or vocab.txt");
    expect_open(folder_join(&folder, "none.json", path), SABOK_ENOTFOUND, "none.json");
    put_text(&folder, "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n");
    sabok_error err = {0};
    sabok_tokenizer *tok = sabok_tokenizer_open(folder.path, &err);
    assert_non_null(tok);
    assert_int_equal(tokenizer_vocab_size(tok), 4);
    sabok_tokenizer_close(tok);
    put_text(&folder, "vocab.txt", "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n\r\nx");
    tok = sabok_tokenizer_open(folder.path, &err);
    if (!tok) fail_msg("%s", err.message);
    assert_int_equal(tokenizer_vocab_size(tok), 6); // the empty line takes an id
    assert_int_equal(vocab_find(&tok->model.vocab, "x", 1), 4);
    sabok_tokenizer_close(tok);
    put_text(&folder, "vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\na\n");
    tok = sabok_tokenizer_open(folder.path, &err);
    if (!tok) fail_msg("%s", err.message);
    assert_int_equal(tok->model.vocab.pieces[vocab_find(&tok->model.vocab, "a", 1)].id, 4); // the last line's
    sabok_tokenizer_close(tok);
    put_text(&folder, "vocab.txt", "[UNK]\n[SEP]\n");
    expect_open(folder.path, SABOK_EFORMAT, "cls_token \"[CLS]\" is not in the vocabulary");
    put_text(&folder, "vocab.txt", "[CLS]\n[SEP]\n");
    expect_open(folder.path, SABOK_EFORMAT, "the unknown token \"[UNK]\" is not in the vocabulary");
    put_text(&folder, "vocab.txt",
             "[UNK]\n[CLS]\n[SEP]\na\xff"
             "\n");
    expect_open(folder.path, SABOK_EFORMAT, "byte 19: byte 0xff is not UTF-8");
    put_text(&folder, "vocab.txt", "<unk>\n<s>\n</s>\nA\n##b\n");
    const char config[] =
        "{\"do_lower_case\":false,\"unk_token\":{\"content\":\"<unk>\"},\"cls_token\":\"<s>\","
        "\"sep_token\":\"</s>\",\"strip_accents\":null,\"other\":[1,{}]}";
    put_text(&folder, "tokenizer_config.json", config);
    tok = sabok_tokenizer_open(folder.path, &err);
    if (!tok) fail_msg("%s", err.message);
    const char *texts[1] = {"Ab </s>x"};
    sabok_encodings *encs = sabok_tokenize(tok, texts, NULL, 1, NULL, &err);
    const uint32_t expected[] = {1, 3, 4, 2, 0, 2};
    assert_int_equal(sabok_encodings_get(encs, 0)->length, COUNT(expected));
    assert_memory_equal(sabok_encodings_get(encs, 0)->ids, expected, sizeof expected);
    sabok_encodings_free(encs);
    sabok_tokenizer_close(tok);
    put_text(&folder, "tokenizer_config.json", "{\"do_lower_case\":3}");
    expect_open(folder.path, SABOK_EFORMAT, "tokenizer_config.json: byte 17");
    folder_remove(&folder);
}

static void bad_arguments(void **state) {
    (void)state;
    sabok_error err = {0};
    assert_null(sabok_tokenizer_open(NULL, &err));
    assert_int_equal(err.code, SABOK_EINVAL);
    sabok_tokenizer *tok = tokenizer_parse(sample_json, sizeof sample_json - 1, "sample.json", &err);
    const char *texts[2] = {"a", NULL};
    assert_null(sabok_tokenize(NULL, texts, NULL, 1, NULL, &err));
    assert_null(sabok_tokenize(tok, texts, NULL, 2, NULL, &err));
    assert_non_null(strstr(err.message, "text 1 is NULL"));
    sabok_tokenize_opts opts = {.truncation = SABOK_TRUNCATE_LONGEST_FIRST, .max_length = 1};
    assert_null(sabok_tokenize(tok, texts, NULL, 1, &opts, &err));
    assert_non_null(strstr(err.message, "max_length 1, expected at least the 2 special tokens"));
    const size_t huge[1] = {TEXT_BYTES_MAX + 1};
    opts = (sabok_tokenize_opts){.text_lengths = huge};
    assert_null(sabok_tokenize(tok, texts, NULL, 1, &opts, &err));
    assert_non_null(strstr(err.message, "a text of 2147483649 bytes"));
    sabok_encodings *none = sabok_tokenize(tok, NULL, NULL, 0, NULL, &err);
    assert_int_equal(sabok_encodings_count(none), 0);
    assert_null(sabok_encodings_get(none, 0));
    sabok_encodings_free(none);
    sabok_tokenizer_close(tok);
    sabok_tokenizer_close(NULL);
    sabok_encodings_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample_is_good),   cmocka_unit_test(faults_named),
        cmocka_unit_test(every_truncation), cmocka_unit_test(every_byte),
        cmocka_unit_test(every_allocation), cmocka_unit_test(vocab_files),
        cmocka_unit_test(bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
