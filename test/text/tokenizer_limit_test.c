// Long and hostile texts stay linear; many threads share one tokenizer; both ways give the same ids on every plane.
#include "base/check.h"

#include "hostile.h"
#include "sample.h"
#include "text/tokenizer.h"

#include <pthread.h>
#include <time.h>

// The bound of docs/formats.md; the sanitizers make these loops up to sixteen times slower.
#if defined(__SANITIZE_THREAD__)
#define SLOWER 16
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SLOWER 16
#endif
#endif
#ifndef SLOWER
#define SLOWER 1
#endif
#define SECONDS_A_BYTE (5e-6 * SLOWER)

// Of this thread alone: other programs must not make the test fail.
static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const char *const folders[] = {"uncased",
                                      "cased",
                                      "accents-stripped",
                                      "normalizer-nfkc",
                                      "normalizer-nfd",
                                      "added-plain",
                                      "added-odd",
                                      "model-bare",
                                      "split-whitespace",
                                      "folder-roberta",
                                      "folder-roberta-space",
                                      "folder-xlm-roberta",
                                      "folder-xlm-roberta-bpe",
                                      "folder-albert",
                                      "model-bpe-bytes",
                                      "model-bpe-fallback",
                                      "model-bpe-suffix",
                                      "model-unigram",
                                      "model-wordlevel"};

static sabok_tokenizer *open_golden(const char *name) {
    char path[4096];
    sabok_error err = {0};
    snprintf(path, sizeof path, "%s/golden/tokenizer/%s", SABOK_TEST_DIR, name);
    sabok_tokenizer *tok = sabok_tokenizer_open(path, &err);
    if (!tok) fail_msg("%s", err.message);
    return tok;
}

// The same ids by both ways, offsets inside the text and in order.
static void check_text(const sabok_tokenizer *tok, struct token_scratch *s, const char *text, size_t size,
                       const char *label) {
    struct token_ids ids = {0};
    assert_true(encode_ids(tok, s, (struct json_text){text, size}, SIZE_MAX, &ids));
    assert_true(encode_text(tok, s, text, size));
    if (ids.size != s->token_count) fail_msg("%s: %zu ids and %zu tokens", label, ids.size, s->token_count);
    for (size_t i = 0; i < s->token_count; i++) {
        const struct token *t = &s->tokens[i];
        if (t->id != ids.ids[i]) fail_msg("%s: token %zu differs", label, i);
        if (t->begin > t->end || scratch_byte(s, t->end) > size)
            fail_msg("%s: token %zu lies outside", label, i);
    }
    mem_free(ids.ids);
    mem_free(ids.types);
}

static void hostile_texts(void **state) {
    (void)state;
    for (size_t f = 0; f < COUNT(folders); f++) {
        sabok_tokenizer *tok = open_golden(folders[f]);
        struct token_scratch *s = token_scratch_new(tok);
        for (size_t i = 0; i < COUNT(hostiles); i++) {
            char label[128];
            size_t size;
            char *text = repeat(&hostiles[i], 300000, &size);
            snprintf(label, sizeof label, "%s, %s", folders[f], hostiles[i].name);
            const double start = cpu_seconds();
            check_text(tok, s, text, size, label);
            const double took = cpu_seconds() - start;
            if (took > 2 * SECONDS_A_BYTE * (double)size)
                fail_msg("%s: %.2f s for %zu bytes", label, took, size);
            free(text);
        }
        token_scratch_free(s);
        sabok_tokenizer_close(tok);
    }
}

// A vocabulary made to be slow: pieces of every length, and words of any length.
static void hostile_vocabulary(void **state) {
    (void)state;
    struct buf b = {0};
    buf_printf(&b, "{\"version\":\"1.0\",\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"u\",\"continuing_"
                   "subword_prefix\":\"\","
                   "\"max_input_chars_per_word\":1000000,\"vocab\":{\"u\":0,\"a\":1");
    for (int n = 1; n < 500; n++) { // a, ab, aab, aaab, ...
        buf_printf(&b, ",\"");
        for (int i = 0; i < n; i++)
            buf_put(&b, "a", 1);
        buf_printf(&b, "b\":%d", n + 1);
    }
    buf_printf(&b, "}}}");
    sabok_error err = {0};
    sabok_tokenizer *tok = tokenizer_parse(b.data, b.size, "hostile.json", &err);
    if (!tok) fail_msg("%s", err.message);
    buf_free(&b);
    struct token_scratch *s = token_scratch_new(tok);
    const size_t size = 200000;
    char *text = malloc(size);
    memset(text, 'a', size);
    const double start = cpu_seconds();
    check_text(tok, s, text, size, "hostile vocabulary");
    const double took = cpu_seconds() - start;
    printf("hostile vocabulary: %.2f us a byte, both ways\n", took / (double)size * 1e6);
    if (took > 2 * SECONDS_A_BYTE * (double)size) fail_msg("%.2f s for %zu bytes", took, size);
    assert_int_equal(s->token_count, size);
    free(text);
    token_scratch_free(s);
    sabok_tokenizer_close(tok);
}

// Texts of random code points of every plane, words and spaces between; seed printed by a failure.
static size_t random_text(uint64_t seed, char *out) {
    static const char *const pieces[] = {"the",
                                         "THE",
                                         " ",
                                         "  ",
                                         "[MASK]",
                                         "<Tlrn>",
                                         "un",
                                         "é",
                                         "\xcc\x81",
                                         "\xff",
                                         "大",
                                         "!",
                                         "İ",
                                         "ΑΣ",
                                         "\xe1\x84\x80\xe1\x85\xa1",
                                         "12",
                                         "<tolro>",
                                         "ab",
                                         "abcd",
                                         "running",
                                         "<mask>",
                                         "\xe2\x96\x81",
                                         " a",
                                         "\xc2\xa0",
                                         "``",
                                         "'s ",
                                         "\xd8\x80",
                                         "\n"};
    size_t n = 0;
    uint32_t r[4];
    for (uint64_t i = 0; n < 100; i++) {
        rng_philox(seed, 1, i, r);
        if (r[0] % 3 == 0) {
            const char *p = pieces[r[1] % COUNT(pieces)];
            memcpy(out + n, p, strlen(p));
            n += strlen(p);
            continue;
        }
        static const uint32_t tops[] = {0x80, 0x800, 0x3000, 0x10000, 0x20000, 0x110000};
        const uint32_t c = r[1] % tops[r[2] % COUNT(tops)];
        if (c < 0xd800 || c > 0xdfff) n += utf8_write(c, out + n);
        if (r[3] % 24 == 0) break;
    }
    return n;
}

static void both_ways(void **state) {
    (void)state;
    for (size_t f = 0; f < COUNT(folders); f++) {
        sabok_tokenizer *tok = open_golden(folders[f]);
        struct token_scratch *s = token_scratch_new(tok);
        for (uint64_t seed = 0; seed < 3000; seed++) {
            char text[256], label[128];
            const size_t size = random_text(seed, text);
            snprintf(label, sizeof label, "%s, seed %llu", folders[f], (unsigned long long)seed);
            check_text(tok, s, text, size, label);
        }
        token_scratch_free(s);
        sabok_tokenizer_close(tok);
    }
}

// Every code point alone, between letters and after a letter with a mark.
static void every_point(void **state) {
    (void)state;
    for (size_t f = 0; f < 2; f++) {
        sabok_tokenizer *tok = open_golden(folders[f]);
        struct token_scratch *s = token_scratch_new(tok);
        for (uint32_t c = 0; c < 0x110000; c++) {
            if (c >= 0xd800 && c < 0xe000) continue;
            char text[64] = "e\xcc\x81", label[32];
            size_t n = 3;
            n += utf8_write(c, text + n);
            text[n++] = 'b';
            text[n++] = ' ';
            n += utf8_write(c, text + n);
            snprintf(label, sizeof label, "%s, U+%04X", folders[f], c);
            check_text(tok, s, text, n, label);
        }
        token_scratch_free(s);
        sabok_tokenizer_close(tok);
    }
}

// ---------------------------------------------------------------------------------------------- threads

struct worker {
    const sabok_tokenizer *tok;
    uint64_t first;
    uint64_t sum;
    bool ok;
};

static void *work(void *ctx) {
    struct worker *w = ctx;
    struct token_scratch *s = token_scratch_new(w->tok);
    struct token_ids ids = {0};
    w->ok = s != NULL;
    for (uint64_t i = 0; w->ok && i < 2000; i++) {
        char text[256];
        // Each thread begins elsewhere, so that they meet blocks of characters in different orders.
        const size_t size = random_text((i + w->first) % 2000, text);
        ids.size = 0;
        w->ok = tokenizer_encode_ids(w->tok, s, text, size, 0, &ids);
        w->sum += hash_bytes(ids.ids, ids.size * sizeof *ids.ids, 0);
    }
    mem_free(ids.ids);
    mem_free(ids.types);
    token_scratch_free(s);
    return NULL;
}

static void threads_share(void **state) {
    (void)state;
    sabok_tokenizer *tok = open_golden("uncased");
    struct worker workers[8];
    pthread_t threads[8];
    for (size_t i = 0; i < COUNT(workers); i++) {
        workers[i] = (struct worker){.tok = tok, .first = i * 251};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < COUNT(workers); i++) {
        pthread_join(threads[i], NULL);
        assert_true(workers[i].ok);
        assert_true(workers[i].sum == workers[0].sum);
    }
    sabok_tokenizer_close(tok);
}

// The short way cuts where the long way would be cut.
static void cut_short(void **state) {
    (void)state;
    static const char *const names[] = {"uncased", "baked-left"};
    for (size_t f = 0; f < COUNT(names); f++) {
        sabok_tokenizer *tok = open_golden(names[f]);
        struct token_scratch *s = token_scratch_new(tok);
        for (uint64_t seed = 0; seed < 300; seed++)
            for (size_t most = 2; most < 12; most++) {
                char text[256];
                const size_t size = random_text(seed, text);
                const char *texts[1] = {text};
                const sabok_tokenize_opts opts = {
                    .text_lengths = &size, .truncation = SABOK_TRUNCATE_LONGEST_FIRST, .max_length = most};
                sabok_encodings *encs = sabok_tokenize(tok, texts, NULL, 1, &opts, NULL);
                struct token_ids ids = {0};
                assert_true(tokenizer_encode_ids(tok, s, text, size, most, &ids));
                const sabok_encoding *e = sabok_encodings_get(encs, 0);
                if (ids.size != e->length || memcmp(ids.ids, e->ids, ids.size * sizeof *ids.ids) != 0)
                    fail_msg("%s, seed %llu, max_length %zu", names[f], (unsigned long long)seed, most);
                mem_free(ids.ids);
                mem_free(ids.types);
                sabok_encodings_free(encs);
            }
        token_scratch_free(s);
        sabok_tokenizer_close(tok);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_texts), cmocka_unit_test(hostile_vocabulary), cmocka_unit_test(both_ways),
        cmocka_unit_test(every_point),   cmocka_unit_test(threads_share),      cmocka_unit_test(cut_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
