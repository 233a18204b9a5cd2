// Folders without tokenizer.json: what is refused and with which words, files cut and changed anywhere, every allocation
// failing. What they give is in tokenizer_golden_test.c.
#include "base/check.h"

#include "text/folder.h"

#define VOCAB "{\"<s>\":0,\"</s>\":1,\"a\":2,\"b\":3,\"ab\":4}"
#define LINES "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n"

static struct folder_file file_of(const char *text, const char *path) {
    return (struct folder_file){text, text ? strlen(text) : 0, path};
}

// ---------------------------------------------------------------------------------------------- refusals

struct refusal {
    const char *vocab, *merges, *config, *specials, *added, *model; // merges: the vocabulary is a vocab.json
    const char *expected;
};
static const struct refusal refusals[] = {
    {VOCAB, "#version: 0.2\na b\nab\n",
     .expected = "merges.txt: byte 18: line 3: \"ab\", expected two pieces"},
    {VOCAB, "a b c\n", .expected = "line 1: \"a b c\", expected two pieces with one space between"},
    {VOCAB, "a b\n\na b\n", .expected = "line 2: \"\", expected two pieces"},
    {VOCAB, " b\n", .expected = "expected two pieces"},
    {VOCAB, "a \n", .expected = "expected two pieces"},
    {VOCAB, "a \xff\n", .expected = "byte 2: line 1: byte 0xff is not UTF-8"},
    {VOCAB, "a b\nb a\n", .expected = "a merge names \"ba\", which is not in the vocabulary"},
    {VOCAB, "a q\n", .expected = "a merge names \"q\", which is not in the vocabulary"},
    {"{\"a\":0,\"a\":1}", "", .expected = "vocab.json: byte 11: \"a\" is in the vocabulary a second time"},
    {"{\"a\":0,\"b\":0}", "", .expected = "vocab.json: byte 11: \"b\" has id 0, as an earlier piece has"},
    {"{\"a\":-1}", "", .expected = "vocab.json: byte 5"},
    {"{\"a\":0} x", "", .expected = "vocab.json: byte 8: found 'x', expected the end"},
    {"{\"a\":0}", "", .expected = "cls_token \"<s>\" is not in the vocabulary"},
    {"{\"<s>\":0}", "", .expected = "sep_token \"</s>\" is not in the vocabulary"},
    {VOCAB, "", "{\"add_prefix_space\":1}", .expected = "tokenizer_config.json: byte 20"},
    {VOCAB, "", "{\"added_tokens_decoder\":{\"x\":{}}}",
     .expected = "added_tokens_decoder \"x\", expected an id"},
    {VOCAB, "", "{\"added_tokens_decoder\":{\"5\":\"x\"}}", .expected = "an added token, expected an object"},
    {VOCAB, "", "{\"added_tokens_decoder\":{\"5\":{\"lstrip\":true}}}",
     .expected = "a token without \"content\""},
    {VOCAB, "", NULL, "{\"mask_token\":\"\"}",
     .expected = "special_tokens_map.json: byte 14: a token without"},
    {VOCAB, "", NULL, "{\"mask_token\":[]}", .expected = "special_tokens_map.json: byte 14"},
    {VOCAB, "", NULL, NULL, "{\"\":7}", .expected = "added_tokens.json: byte 4: an added token of 0 bytes"},
    {VOCAB, "", NULL, NULL, "{\"x\":1.5}", .expected = "added_tokens.json: byte 5"},
    {VOCAB, "", .model = "{\"model_type\":", .expected = "config.json: byte 14"},
    {LINES, .config = "{\"unk_token\":\"[NONE]\"}", .expected = "the unknown token \"[NONE]\" is not in"},
};

static void refused(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        const struct refusal *r = &refusals[i];
        const char *name = r->merges ? "vocab.json" : "vocab.txt";
        const struct folder_files f = {
            .vocab = file_of(r->vocab, name),
            .merges = file_of(r->merges, "merges.txt"),
            .config = file_of(r->config, "tokenizer_config.json"),
            .specials = file_of(r->specials, "special_tokens_map.json"),
            .added = file_of(r->added, "added_tokens.json"),
            .model = file_of(r->model, "config.json"),
        };
        sabok_error err = {0};
        if (folder_parse(&f, name, &err)) fail_msg("refusal %zu opens, expected \"%s\"", i, r->expected);
        assert_int_equal(err.code, SABOK_EFORMAT);
        if (!strstr(err.message, r->expected))
            fail_msg("refusal %zu: \"%s\" lacks \"%s\"", i, err.message, r->expected);
    }
}

// ---------------------------------------------------------------------------------------------- sentencepiece

// Pieces of the bytes given in C strings; NULs are bytes of theirs.
struct broken {
    const char *bytes;
    size_t size;
    const char *expected;
};
#define BYTES(s) (s), sizeof(s) - 1
#define PIECES                                                                                               \
    "\n\x0a\n\x01"                                                                                           \
    "a\x15\0\0\x80\xbf\x18\x01"                                                                              \
    "\n\x07\n\x05<unk>"
static const struct broken broken[] = {
    {BYTES("\n\x05\n\x01"), "byte 0: a field that is longer than its message, expected all of its bytes"},
    {BYTES("\n\x80"), "byte 1: a number that the message ends in"},
    {BYTES("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), "byte 0: a number of more than ten bytes"},
    {BYTES("\x02\x00"), "byte 0: a field without a number, expected a sentencepiece file"},
    {BYTES("\x0b"), "byte 0: a field of an unknown kind"},
    {BYTES("\x08\x01"), "byte 0: field 1 of wire type 0, expected 2"},
    {BYTES("\n\x02\n\x00"), "byte 2: a piece of 0 bytes, expected 1 to 1024"},
    {BYTES("\n\x03\n\x01\xff"), "byte 4: a byte that is not UTF-8, expected text"},
    {BYTES("\n\x08\n\x01"
           "a\x15\0\0\xc0\x7f"),
     "byte 2: a score that is no finite number"},
    {BYTES("\n\x05\n\x01"
           "a\x10\x01"),
     "byte 5: field 2 of wire type 0, expected 5"},
    {BYTES(PIECES "\x12\x02\x18\x03"), "model_type 3, expected unigram or bpe"},
    {BYTES(PIECES "\x1a\x03\x12\x01x"),
     "a charsmap that is cut short, expected the map of a sentencepiece file"},
};

static void broken_pieces(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(broken); i++) {
        const struct folder_files f = {.vocab = {broken[i].bytes, broken[i].size, "x.model"}};
        sabok_error err = {0};
        if (folder_parse(&f, "x.model", &err))
            fail_msg("file %zu opens, expected \"%s\"", i, broken[i].expected);
        if (!strstr(err.message, broken[i].expected) || !strstr(err.message, "x.model"))
            fail_msg("file %zu: \"%s\" lacks \"%s\"", i, err.message, broken[i].expected);
    }
}

static const char *const smalls[] = {"small-unigram", "small-bpe", "small-albert"};
static const char *const models[] = {"xlm-roberta", "camembert", "albert"};

static char *read_small(size_t i, size_t *size) {
    char path[4096], *text;
    sabok_error err = {0};
    snprintf(path, sizeof path, "%s/fuzz/corpus/sentencepiece/%s", SABOK_TEST_DIR, smalls[i]);
    assert_int_equal(file_read(path, 1 << 20, &text, size, &err), SABOK_OK);
    return text;
}

static bool open_small(size_t i, const char *bytes, size_t size) {
    char model[64];
    snprintf(model, sizeof model, "{\"model_type\":\"%s\"}", models[i]);
    const struct folder_files f = {.vocab = {bytes, size, "x.model"}, .model = file_of(model, "config.json")};
    sabok_error err = {0};
    sabok_tokenizer *tok = folder_parse(&f, "x.model", &err);
    if (!tok) assert_true(err.code != SABOK_OK && err.message[0]);
    sabok_tokenizer_close(tok);
    return tok != NULL;
}

// Cut anywhere and with every byte changed to every eighth value: an error or a tokenizer, and nothing leaks.
static void every_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(smalls); i++) {
        size_t size, refusals_seen = 0;
        char *text = read_small(i, &size), *bytes = text + 1; // the first picks the class when fuzzing
        const int64_t live = mem_live();
        assert_true(open_small(i, bytes, size - 1));
        for (size_t cut = 0; cut + 1 < size; cut++)
            refusals_seen += !open_small(i, bytes, cut);
        for (size_t at = 0; at + 1 < size; at++)
            for (int change = 1; change < 256; change += 8) {
                const char before = bytes[at];
                bytes[at] = (char)(before ^ change);
                refusals_seen += !open_small(i, bytes, size - 1);
                bytes[at] = before;
            }
        assert_true(refusals_seen > size);
        assert_int_equal(mem_live(), live);
        mem_free(text);
    }
}

// ---------------------------------------------------------------------------------------------- memory

static bool run_parse(struct folder_files *f, const char *name) {
    static const char config[] = "{\"added_tokens_decoder\":{\"9\":{\"content\":\"q\"}},"
                                 "\"additional_special_tokens\":[\"x\"]}";
    f->config = file_of(config, "tokenizer_config.json");
    sabok_error err = {0};
    sabok_tokenizer *tok = folder_parse(f, name, &err);
    if (!tok) assert_int_equal(err.code, SABOK_ENOMEM);
    sabok_tokenizer_close(tok);
    return tok != NULL;
}

static void fail_each(struct folder_files *f, const char *name) {
    for (int sticky = 0; sticky < 2; sticky++) {
        bool ok = false;
        uint64_t k = 1;
        for (; !ok && k < 5000; k++) {
            const int64_t live = mem_live();
            mem_fail_at(k, sticky);
            ok = run_parse(f, name);
            mem_fail_at(0, false);
            if (mem_live() != live) fail_msg("%s: allocation %llu leaks", name, (unsigned long long)k);
        }
        assert_true(ok && k > 10);
    }
}

static void every_allocation(void **state) {
    (void)state;
    struct folder_files merges = {.vocab = file_of(VOCAB, "vocab.json"),
                                  .merges = file_of("a b\n", "merges.txt")};
    struct folder_files lines = {.vocab = file_of(LINES, "vocab.txt")};
    fail_each(&merges, "vocab.json");
    fail_each(&lines, "vocab.txt");
    for (size_t i = 0; i < COUNT(smalls); i++) {
        char model[64];
        size_t size;
        char *text = read_small(i, &size);
        snprintf(model, sizeof model, "{\"model_type\":\"%s\"}", models[i]);
        struct folder_files f = {.vocab = {text + 1, size - 1, "x.model"},
                                 .model = file_of(model, "config.json")};
        fail_each(&f, "x.model");
        mem_free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(refused), cmocka_unit_test(broken_pieces),
                                       cmocka_unit_test(every_byte), cmocka_unit_test(every_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
