// special: the tokens that a folder names for a purpose, and tokens by their text; for tasks.
#include "text/folder.h"

#include <string.h>

uint32_t tokenizer_token_id(const sabok_tokenizer *tok, const char *text, size_t size) {
    struct template_piece found;
    const struct json_text wanted = {text, size};
    return folder_find_token(tok, wanted, "token", &found, NULL) == SABOK_OK ? found.id : NO_TOKEN;
}

static void specials_find(const sabok_tokenizer *tok, const struct folder_config *c,
                          struct token_specials *out) {
    const struct {
        enum folder_special which;
        uint32_t *id;
    } wanted[] = {{SPECIAL_CLS, &out->cls}, {SPECIAL_PAD, &out->pad}, {SPECIAL_MASK, &out->mask}};
    for (size_t i = 0; i < COUNT(wanted); i++) {
        const struct json_text text = folder_special_text(c, wanted[i].which);
        struct template_piece found;
        *wanted[i].id = NO_TOKEN;
        if (!text.size || folder_find_token(tok, text, "token", &found, NULL) != SABOK_OK) continue;
        *wanted[i].id = found.id;
        if (wanted[i].which == SPECIAL_MASK) out->mask_text = found.text;
    }
    // Byte-level and other merged vocabularies spell their spaces, which are then the text's own.
    out->clean_up = c->clean_up && tok->model.kind != &model_bpe;
}

sabok_status tokenizer_specials(const sabok_tokenizer *tok, struct token_specials *out, sabok_error *err) {
    const struct model_kind *kind = tok->model.kind;
    const char *vocab_name = kind == &model_bpe       ? "vocab.json"
                             : kind == &model_unigram ? "sentencepiece.bpe.model"
                                                      : "vocab.txt";
    struct folder_files f = {0};
    struct folder_config c = {0};
    struct arena arena;
    sabok_error local = {0};
    if (!err) err = &local;
    *out = (struct token_specials){.cls = NO_TOKEN, .pad = NO_TOKEN, .mask = NO_TOKEN};
    arena_init(&arena, 0);
    sabok_status status = folder_read_beside(tok->path, "tokenizer_config.json", false, &f.config, err);
    if (status == SABOK_OK)
        status = folder_read_beside(tok->path, "special_tokens_map.json", false, &f.specials, err);
    if (status == SABOK_OK) status = folder_read_beside(tok->path, "config.json", false, &f.model, err);
    if (status == SABOK_OK) status = folder_config_read(&f, vocab_name, &c, &arena, err);
    if (status == SABOK_OK) specials_find(tok, &c, out);
    folder_config_free(&c);
    folder_file_free(&f.config);
    folder_file_free(&f.specials);
    folder_file_free(&f.model);
    arena_free(&arena);
    return status;
}

sabok_span tokenizer_second(const sabok_tokenizer *tok, size_t first, size_t length) {
    const struct template *t = &tok->post.pair;
    size_t before = 0, others = 0;
    bool seen = false;
    for (size_t i = 0; i < t->count; i++) {
        const enum template_item item = t->pieces[i].item;
        seen = seen || item == TEMPLATE_SECOND;
        const size_t n = item == TEMPLATE_SPECIAL ? 1 : item == TEMPLATE_FIRST ? first : 0;
        others += n;
        if (!seen) before += n;
    }
    return (sabok_span){before, before + (length > others ? length - others : 0)};
}

// The text with `to`, which is no longer, in the place of each `from`.
static size_t replace_all(char *text, size_t size, const char *from, const char *to) {
    const size_t n = strlen(from), k = strlen(to);
    size_t out = 0;
    for (size_t at = 0; at < size;) {
        if (size - at < n || memcmp(text + at, from, n) != 0) {
            text[out++] = text[at++];
            continue;
        }
        memcpy(text + out, to, k);
        out += k;
        at += n;
    }
    return out;
}

size_t tokenizer_clean_up(char *text, size_t size) {
    static const char *const pairs[][2] = {{" .", "."},     {" ?", "?"},     {" !", "!"},   {" ,", ","},
                                           {" ' ", "'"},    {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"},
                                           {" 've", "'ve"}, {" 're", "'re"}};
    for (size_t i = 0; i < COUNT(pairs); i++)
        size = replace_all(text, size, pairs[i][0], pairs[i][1]);
    text[size] = '\0';
    return size;
}
