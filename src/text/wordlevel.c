// WordLevel: a word is a piece, or the unknown token.
#include "text/tokenizer.h"

static bool wordlevel_read(struct json *j, struct model *m, struct arena *arena) {
    (void)arena;
    struct json_text key, unk = {0};
    size_t at = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        const bool is_unk = json_text_is(key, "unk_token");
        if (is_unk) at = j->at;
        const bool ok = is_unk                       ? json_string(j, &unk)
                        : json_text_is(key, "vocab") ? model_read_vocab(j, m)
                                                     : json_skip(j);
        if (!ok) return false;
    }
    if (j->failed) return false;
    if (model_build_vocab(m, j->where, j->err) != SABOK_OK) return !(j->failed = true);
    m->wordlevel.unk = unk.data ? vocab_find(&m->vocab, unk.data, unk.size) : NO_PIECE;
    if (m->wordlevel.unk != NO_PIECE) return true;
    j->at = at;
    return json_fail(j, "the unknown token \"%.*s\" is not in the vocabulary, expected a piece of it",
                     text_shown(unk), unk.data ? unk.data : "");
}

static bool wordlevel_run(const struct model *m, const char *word, size_t size, size_t chars,
                          struct pieces *out) {
    (void)chars;
    const uint32_t piece = vocab_find(&m->vocab, word, size);
    return pieces_push(out, piece != NO_PIECE ? piece : m->wordlevel.unk, 0, size);
}

static void wordlevel_free(struct model *m) {
    (void)m;
}

const struct model_kind model_wordlevel = {"WordLevel", wordlevel_read, wordlevel_run, wordlevel_free};
