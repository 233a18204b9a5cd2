// The trie finds exactly the pieces that begin at a place, the shorter ones first.
#include "base/check.h"

#include "text/tokenizer.h"

static void add(struct vocab *v, const char *text, size_t size) {
    assert_true(vocab_add(v, (struct json_text){text, size}, (uint32_t)v->count, 0));
}

// What a walk from text[at] on should give: of each length the last piece so spelt, up to TRIE_BYTES.
static void check_walk(const struct trie *t, const struct vocab *v, const char *text, size_t size,
                       const char *label) {
    struct trie_walk walk = {.text = text, .size = size};
    for (size_t n = 1; n <= size_min(size, TRIE_BYTES); n++) {
        uint32_t want = NO_PIECE;
        for (uint32_t i = 0; i < v->count; i++)
            if (v->pieces[i].size == n && memcmp(vocab_text(v, i), text, n) == 0) want = i;
        if (want == NO_PIECE) continue;
        const uint32_t found = trie_next(t, v, &walk);
        if (found != want || walk.at != n)
            fail_msg("%s: piece %u of %zu bytes, expected %u of %zu", label, found, walk.at, want, n);
    }
    assert_true(trie_next(t, v, &walk) == NO_PIECE);
}

static void random_vocabularies(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 24; seed++) {
        struct vocab v = {.later_wins = true};
        struct trie t = {0};
        const uint32_t letters = seed % 3 == 0 ? 2 : seed % 3 == 1 ? 26 : 256; // NUL is one of the last
        const size_t longest = seed % 4 == 0 ? 80 : 8;
        uint32_t r[4];
        for (uint64_t i = 0; i < 200; i++) {
            char text[128];
            rng_philox(seed, 1, i, r);
            const size_t size = 1 + r[0] % longest;
            for (size_t k = 0; k < size; k++) {
                rng_philox(seed, 2 + i, k, r);
                text[k] = (char)(letters == 256 ? r[1] % 256 : 'a' + r[1] % letters);
            }
            add(&v, text, size);
            if (i % 10 == 0) add(&v, text, size); // spelt alike
            if (i % 5 == 0 && size > 1) add(&v, text, size - 1);
        }
        assert_true(trie_build(&t, &v));
        for (uint32_t i = 0; i < v.count;
             i++) { // every piece, with what its neighbour goes on with; and cut short
            char text[256], label[64];
            const struct vocab_piece *p = &v.pieces[i], *q = &v.pieces[(i + 1) % v.count];
            memcpy(text, v.pool + p->begin, p->size);
            memcpy(text + p->size, v.pool + q->begin, q->size);
            snprintf(label, sizeof label, "seed %llu, piece %u", (unsigned long long)seed, i);
            for (size_t size = 0; size <= p->size + q->size; size += size < 12 ? 1 : 17)
                check_walk(&t, &v, text, size, label);
        }
        trie_free(&t);
        vocab_free(&v);
    }
}

// A node with every child, and one that has a child for each of theirs.
static void wide_nodes(void **state) {
    (void)state;
    struct vocab v = {0};
    struct trie t = {0};
    for (unsigned a = 0; a < 256; a++) {
        const char one[2] = {(char)a, (char)(255 - a)};
        add(&v, one, 1);
        add(&v, one, 2);
    }
    for (unsigned b = 0; b < 256; b++) {
        const char two[3] = {'x', (char)b, 'y'};
        add(&v, two, 3);
    }
    assert_true(trie_build(&t, &v));
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; b < 256; b++) {
            const char text[3] = {(char)a, (char)b, 'y'};
            check_walk(&t, &v, text, 3, "wide");
        }
    trie_free(&t);
    vocab_free(&v);
}

static void empty(void **state) {
    (void)state;
    struct vocab v = {0};
    struct trie t = {0};
    assert_true(trie_build(&t, &v));
    check_walk(&t, &v, "abc", 3, "no pieces");
    trie_free(&t);
    add(&v, "", 0);
    assert_true(trie_build(&t, &v));
    check_walk(&t, &v, "abc", 3, "an empty piece");
    trie_free(&t);
    vocab_free(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_vocabularies),
        cmocka_unit_test(wide_nodes),
        cmocka_unit_test(empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
