// Any bytes as a sentencepiece file, read as each class reads it: an error that names the file, or a tokenizer whose two ways
// agree and that decodes what it encodes. The first byte picks the class.
#include "text/folder.h"
#include "text/sample.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const configs[] = {"{\"model_type\":\"xlm-roberta\"}", "{\"model_type\":\"camembert\"}",
                                      "{\"model_type\":\"albert\"}"};

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
    sabok_error err = {0};
    sabok_text_free(sabok_detokenize(tok, ids.ids, ids.size, NULL, NULL, &err));
    mem_free(ids.ids);
    mem_free(ids.types);
    token_scratch_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const char *config = configs[data[0] % COUNT(configs)];
    const struct folder_files files = {
        .vocab = {(const char *)data + 1, size - 1, "fuzz.model"},
        .model = {config, strlen(config), "config.json"},
    };
    sabok_error err = {0};
    const int64_t live = mem_live();
    sabok_tokenizer *tok = folder_parse(&files, "fuzz.model", &err);
    if (tok)
        encode_both(tok);
    else
        check((err.code == SABOK_EFORMAT || err.code == SABOK_EUNSUPPORTED) &&
              strstr(err.message, "fuzz.model"));
    sabok_tokenizer_close(tok);
    check(mem_live() == live);
    return 0;
}
