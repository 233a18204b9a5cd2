// Any bytes as the files of a folder without a tokenizer.json, NULs between them: the vocabulary (vocab.json where it begins
// with a brace, else vocab.txt), merges.txt, tokenizer_config.json, special_tokens_map.json, added_tokens.json, config.json.
// An error that names one of them, or a tokenizer whose two ways agree.
#include "text/folder.h"
#include "text/sample.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok) {
    if (!ok) abort();
}

static void encode_both(const sabok_tokenizer *tok) {
    const size_t size = sizeof sample_text - 1;
    struct token_scratch *s = token_scratch_new(tok);
    struct token_ids ids = {0};
    check(s && encode_ids(tok, s, (struct json_text){sample_text, size}, SIZE_MAX, &ids));
    check(encode_text(tok, s, sample_text, size) && ids.size == s->token_count);
    for (size_t i = 0; i < ids.size; i++)
        check(ids.ids[i] == s->tokens[i].id && ids.ids[i] < tokenizer_vocab_size(tok));
    mem_free(ids.ids);
    mem_free(ids.types);
    token_scratch_free(s);
}

// The bytes up to the next NUL; a part that is missing is a file that is missing.
static void take(struct folder_file *f, const char *path, const char **at, const char *end) {
    f->path = path;
    if (!*at) return;
    const char *stop = *at < end ? memchr(*at, 0, (size_t)(end - *at)) : NULL;
    f->text = *at;
    f->size = (size_t)((stop ? stop : end) - *at);
    *at = stop ? stop + 1 : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *at = (const char *)data, *end = at + size;
    const bool merges = size > 0 && data[0] == '{';
    struct folder_files f = {0};
    take(&f.vocab, "fuzz/vocab", &at, end);
    take(&f.merges, "fuzz/merges.txt", &at, end);
    take(&f.config, "fuzz/tokenizer_config.json", &at, end);
    take(&f.specials, "fuzz/special_tokens_map.json", &at, end);
    take(&f.added, "fuzz/added_tokens.json", &at, end);
    take(&f.model, "fuzz/config.json", &at, end);
    if (!f.vocab.text) f.vocab.text = "";
    if (!f.merges.text) f.merges.text = "";
    sabok_error err = {0};
    const int64_t live = mem_live();
    sabok_tokenizer *tok = folder_parse(&f, merges ? "vocab.json" : "vocab.txt", &err);
    if (tok)
        encode_both(tok);
    else
        check(err.code == SABOK_EFORMAT && strstr(err.message, "fuzz/"));
    sabok_tokenizer_close(tok);
    check(mem_live() == live);
    return 0;
}
