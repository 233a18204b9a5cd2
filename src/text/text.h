// text: from UTF-8 to token ids and back to places in the text.
#ifndef SABOK_TEXT_H
#define SABOK_TEXT_H

#include "base/base.h"

// sabok_tokenizer of sabok.h is struct sabok_tokenizer here; sabok_tokenizer_* and sabok_tokenize live in
// this folder.

// What the model folder says about lengths and wins over tokenizer.json (bugs.md 46): called once, before
// sharing. max_length 0 leaves the tokenizer's own.
void tokenizer_set_max_length(sabok_tokenizer *tok, size_t max_length);
size_t tokenizer_max_length(const sabok_tokenizer *tok);  // 0: none
size_t tokenizer_vocab_size(const sabok_tokenizer *tok);  // largest id + 1, added tokens included
uint32_t tokenizer_last_type(const sabok_tokenizer *tok); // largest type id of its templates

// do_lower_case of a sentence-transformers folder: lower case comes before the file's own normalizers, unless they
// have it already. Called once, before sharing.
sabok_status tokenizer_set_lower_case(sabok_tokenizer *tok, sabok_error *err);

// The fast path of the embedding tasks: ids of prompt + text, specials included, cut at max_length tokens (0:
// not cut) as truncation "longest_first" cuts a single text. Appends to *ids; false when out of memory.
// `scratch` is the calling thread's own (word cache, buffers), made once and reused.
struct token_ids {
    uint32_t *ids, *types;
    size_t size, cap;
};
struct token_scratch;
struct token_scratch *token_scratch_new(const sabok_tokenizer *tok);
void token_scratch_free(struct token_scratch *s);
bool tokenizer_encode_ids(const sabok_tokenizer *tok, struct token_scratch *scratch, const char *text,
                          size_t length, size_t max_length, struct token_ids *out);
// The same of two texts together. What cannot be cut as `truncation` says (only_first, where the second text alone is too
// long) stays whole, as all does with SABOK_TRUNCATE_NONE.
struct text_pair {
    const char *text[2];
    size_t length[2];
};
bool tokenizer_encode_pair_ids(const sabok_tokenizer *tok, struct token_scratch *scratch,
                               const struct text_pair *pair, sabok_truncation truncation, size_t max_length,
                               struct token_ids *out);
// ---- special.c
#define NO_TOKEN UINT32_MAX
// Tokens that the folder names for a purpose, NO_TOKEN where there is none; mask_text lives with the tokenizer.
struct token_specials {
    uint32_t cls, pad, mask;
    const char *mask_text;
    bool clean_up; // the folder wants spaces tidied after decoding
};
// By the files beside the tokenizer's, else by the class they name, as in the reference.
sabok_status tokenizer_specials(const sabok_tokenizer *tok, struct token_specials *out, sabok_error *err);
uint32_t tokenizer_token_id(const sabok_tokenizer *tok, const char *text,
                            size_t size); // as the vocabulary spells it
// Where the second text's tokens stand in a pair of `length` tokens, whose first text has `first`.
sabok_span tokenizer_second(const sabok_tokenizer *tok, size_t first, size_t length);
// Takes the spaces before punctuation and clitics out of a decoded text; returns its new size, and ends it with NUL.
size_t tokenizer_clean_up(char *text, size_t size);

// The error after tokenizer_encode_ids was false: out of memory, or a pattern of the file that gave up on the text.
sabok_status token_scratch_error(const struct token_scratch *s, const sabok_tokenizer *tok, sabok_error *err);

// For tasks over tokens: the text of tokens as the decoder joins them (free with mem_free, NULL on error), whether pieces
// inside a word are spelt with a prefix, and the id of what the files beside the tokenizer's call the unknown token, which
// may be another than its model's (UINT32_MAX: none).
char *tokenizer_join(const sabok_tokenizer *tok, const char *const *tokens, size_t n, sabok_error *err);
bool tokenizer_has_prefix(const sabok_tokenizer *tok);
sabok_status tokenizer_unk(const sabok_tokenizer *tok, uint32_t *id, sabok_error *err);

#endif
