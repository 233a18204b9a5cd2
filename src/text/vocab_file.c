// vocab.txt, one piece a line: WordPiece as BERT has it.
#include "text/folder.h"

#include <string.h>

static sabok_status read_lines(struct sabok_tokenizer *tok, const char *text, size_t size, sabok_error *err) {
    size_t at = 0;
    for (uint32_t id = 0; at < size; id++) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t next = end ? (size_t)(end - text) + 1 : size;
        size_t n = (end ? (size_t)(end - text) : size) - at;
        if (n > 0 && text[at + n - 1] == '\r') n--;
        if (id == INT32_MAX)
            return error_at(err, SABOK_EFORMAT, tok->path, at, "more than %d lines", INT32_MAX);
        const size_t bad = utf8_check(text + at, n);
        if (bad < n)
            return error_at(err, SABOK_EFORMAT, tok->path, at + bad, "byte 0x%02x is not UTF-8",
                            (unsigned char)text[at + bad]);
        tok->model.vocab.later_wins = true;
        // An empty line takes its id and is no piece: nothing in a text is spelt with nothing.
        if (n > 0 && !vocab_add(&tok->model.vocab, (struct json_text){text + at, n}, id, at))
            return error_memory(err, tok->path);
        at = next;
    }
    return SABOK_OK;
}

sabok_status folder_read_lines(struct sabok_tokenizer *tok, const struct folder_files *f,
                               const struct folder_config *c, sabok_error *err) {
    static const char decoder[] = "{\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true}}";
    struct model *m = &tok->model;
    m->kind = &model_wordpiece;
    m->wordpiece.prefix = "##";
    m->wordpiece.prefix_size = 2;
    m->wordpiece.max_chars = 100;
    TRY(read_lines(tok, f->vocab.text, f->vocab.size, err));
    TRY(wordpiece_build(m, folder_special_text(c, SPECIAL_UNK), 0, tok->path, err));
    const struct normalizer_step bert = {
        .kind = &normalizer_bert,
        .bert = {true, c->ideographs, c->accents_given ? c->strip_accents : c->lower_case, c->lower_case}};
    const struct pretokenizer_step split = {.kind = &pretokenizer_bert};
    if (!normalizer_add(&tok->normalizer, &bert) || !pretokenizer_add(&tok->pretokenizer, &split))
        return error_memory(err, tok->path);
    TRY(tokenizer_read_steps(tok, decoder, sizeof decoder - 1, err));
    TRY(folder_add_tokens(tok, c, err));
    struct folder_template t = {.second = 1, .doubled = c->class->pair_doubled};
    TRY(folder_find_token(tok, folder_special_text(c, SPECIAL_CLS), "cls_token", &t.cls, err));
    TRY(folder_find_token(tok, folder_special_text(c, SPECIAL_SEP), "sep_token", &t.sep, err));
    return folder_template_add(tok, t) ? SABOK_OK : error_memory(err, tok->path);
}
