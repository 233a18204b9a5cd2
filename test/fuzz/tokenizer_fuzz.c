// Any bytes as tokenizer.json: an error that says where, or a tokenizer whose two ways agree and whose offsets lie inside
// the text.
#include "text/sample.h"
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok) {
    if (!ok) abort();
}

static void encode_both(const sabok_tokenizer *tok, const char *text, size_t size) {
    struct token_scratch *s = token_scratch_new(tok);
    struct token_ids ids = {0};
    check(s && encode_ids(tok, s, (struct json_text){text, size}, SIZE_MAX, &ids) &&
          encode_text(tok, s, text, size));
    check(ids.size == s->token_count);
    for (size_t i = 0; i < s->token_count; i++) {
        check(ids.ids[i] == s->tokens[i].id && ids.ids[i] < tokenizer_vocab_size(tok));
        check(s->tokens[i].begin <= s->tokens[i].end && scratch_byte(s, s->tokens[i].end) <= size);
    }
    ids.size = 0;
    check(tokenizer_encode_ids(tok, s, text, size, 5, &ids) && ids.size <= 5);
    mem_free(ids.ids);
    mem_free(ids.types);
    token_scratch_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sabok_error err = {0};
    const int64_t live = mem_live();
    sabok_tokenizer *tok = tokenizer_parse((const char *)data, size, "fuzz.json", &err);
    if (!tok) {
        check(err.code == SABOK_EFORMAT && err.offset <= size && strstr(err.message, "fuzz.json: byte "));
    } else {
        const char *texts[1] = {sample_text};
        const sabok_tokenize_opts opts = {.max_length = 9, .stride = 1, .overflow = true};
        encode_both(tok, sample_text, sizeof sample_text - 1);
        sabok_encodings_free(sabok_tokenize(tok, texts, NULL, 1, NULL, &err));
        sabok_encodings_free(sabok_tokenize(tok, texts, texts, 1, &opts, &err));
        sabok_tokenizer_close(tok);
    }
    check(mem_live() == live);
    return 0;
}
