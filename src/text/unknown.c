// unknown: which token the files of a folder call the unknown one. They may differ from the tokenizer's model.
#include "text/folder.h"

#include "file/file.h"

#include <string.h>

#define CONFIG_FILE_MAX ((size_t)1 << 28)

static sabok_status read_config_file(const char *tokenizer, const char *name, struct folder_file *out,
                                     sabok_error *err) {
    const char *slash = strrchr(tokenizer, '/');
    char *text = NULL;
    struct buf path = {0};
    if (slash) buf_put(&path, tokenizer, (size_t)(slash + 1 - tokenizer));
    buf_put(&path, name, strlen(name) + 1);
    out->path = path.data;
    if (path.failed) return error_memory(err, tokenizer);
    if (!file_exists(path.data)) return SABOK_OK;
    const sabok_status status = file_read(path.data, CONFIG_FILE_MAX, &text, &out->size, err);
    out->text = text;
    return status;
}

static const char *usual_vocab_name(const struct model *m) {
    return m->kind == &model_bpe       ? "vocab.json"
           : m->kind == &model_unigram ? "sentencepiece.bpe.model"
                                       : "vocab.txt";
}

static uint32_t unk_id(const sabok_tokenizer *tok, const struct folder_config *c) {
    struct template_piece found;
    if (c->general && !c->special[SPECIAL_UNK].text.data) return UINT32_MAX;
    const struct json_text text = folder_special_text(c, SPECIAL_UNK);
    return folder_find_token(tok, text, "unk_token", &found, NULL) == SABOK_OK ? found.id : UINT32_MAX;
}

sabok_status tokenizer_unk(const sabok_tokenizer *tok, uint32_t *id, sabok_error *err) {
    struct folder_files f = {0};
    struct folder_config c = {0};
    struct arena arena;
    const struct {
        const char *name;
        struct folder_file *file;
    } list[] = {{"tokenizer_config.json", &f.config},
                {"special_tokens_map.json", &f.specials},
                {"config.json", &f.model}};
    sabok_status status = SABOK_OK;
    arena_init(&arena, 0);
    for (size_t i = 0; i < COUNT(list) && status == SABOK_OK; i++)
        status = read_config_file(tok->path, list[i].name, list[i].file, err);
    if (status == SABOK_OK) status = folder_config_read(&f, usual_vocab_name(&tok->model), &c, &arena, err);
    if (status == SABOK_OK) *id = unk_id(tok, &c);
    folder_config_free(&c);
    arena_free(&arena);
    for (size_t i = 0; i < COUNT(list); i++) {
        mem_free((char *)(uintptr_t)list[i].file->text);
        mem_free((char *)(uintptr_t)list[i].file->path);
    }
    return status;
}
