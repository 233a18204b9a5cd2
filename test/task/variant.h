// A golden model with another config, in a temporary folder.
#ifndef TEST_TASK_VARIANT_H
#define TEST_TASK_VARIANT_H

#include "base/folder.h"
#include "sabok.h"

#include <jansson.h>

static inline void variant_put(const struct folder *f, const char *name, const json_t *value) {
    char *text = json_dumps(value, 0);
    folder_put(f, name, text, strlen(text));
    free(text);
}

static inline void variant_link(const struct folder *f, const char *name) {
    char path[FOLDER_PATH], golden[FOLDER_PATH];
    snprintf(golden, sizeof golden, SABOK_TEST_DIR "/golden/bert-head-nli/%s", name);
    assert_int_equal(symlink(golden, folder_join(f, name, path)), 0);
}

// bert-head-nli with these two files; tokenizer_config may be a JSON null: there is none.
static inline sabok_model *variant_open(struct folder *f, const json_t *config,
                                        const json_t *tokenizer_config) {
    sabok_error err = {0};
    folder_make(f);
    variant_link(f, "model.safetensors");
    variant_link(f, "tokenizer.json");
    variant_put(f, "config.json", config);
    if (!tokenizer_config)
        variant_link(f, "tokenizer_config.json");
    else if (json_is_object(tokenizer_config))
        variant_put(f, "tokenizer_config.json", tokenizer_config);
    sabok_model *m = sabok_open(f->path, NULL, &err);
    if (!m) fail_msg("%s", err.message);
    return m;
}

#endif
