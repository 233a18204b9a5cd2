// Configs and the JSON files of model folders. The first byte chooses: a config whose every value is asked
// for in every way, or one file of a folder, whose other files are good.
#include "file/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUIRE(x)                                                                                           \
    do {                                                                                                     \
        if (!(x)) abort();                                                                                   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const char *name, *text;
} files[] = {
    {"modules.json", "[{\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"},"
                     "{\"path\":\"1_Pooling\",\"type\":\"sentence_transformers.models.Pooling\"},"
                     "{\"path\":\"2_Dense\",\"type\":\"sentence_transformers.models.Dense\"}]"},
    {"1_Pooling/config.json", "{\"word_embedding_dimension\":2,\"pooling_mode_mean_tokens\":true}"},
    {"2_Dense/config.json", "{\"in_features\":2,\"out_features\":1,\"bias\":false}"},
    {"sentence_bert_config.json", "{\"max_seq_length\":16,\"do_lower_case\":false}"},
    {"config_sentence_transformers.json", "{\"prompts\":{\"q\":\"x\"},\"default_prompt_name\":\"q\"}"},
    {"model.safetensors.index.json", "{\"weight_map\":{\"a\":\"s.safetensors\"}}"},
};

static char folder[64];

static void file_put(const char *name, const void *data, size_t size) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

static void shard_put(const char *name, const char *header, size_t data) {
    char bytes[400] = {0};
    size_t n = strlen(header);
    REQUIRE(8 + n + data <= sizeof bytes);
    bytes[0] = (char)n;
    memcpy(bytes + 8, header, n);
    file_put(name, bytes, 8 + n + data);
}

static void folder_remove(void) {
    static const char *const names[] = {"2_Dense/model.safetensors", "s.safetensors", "1_Pooling", "2_Dense",
                                        ""};
    char path[160];
    for (size_t i = 0; i < COUNT(files) + COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/%s", folder,
                 i < COUNT(files) ? files[i].name : names[i - COUNT(files)]);
        (void)remove(path);
    }
}

static void folder_make(void) {
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/sabok-fuzz-XXXXXX", base);
    REQUIRE(mkdtemp(folder));
    REQUIRE(atexit(folder_remove) == 0);
    char path[160];
    snprintf(path, sizeof path, "%s/1_Pooling", folder);
    REQUIRE(mkdir(path, 0700) == 0);
    snprintf(path, sizeof path, "%s/2_Dense", folder);
    REQUIRE(mkdir(path, 0700) == 0);
    for (size_t i = 0; i < COUNT(files); i++)
        file_put(files[i].name, files[i].text, strlen(files[i].text));
    shard_put("2_Dense/model.safetensors",
              "{\"linear.weight\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}", 8);
    shard_put("s.safetensors", "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4);
}

static void walk(const struct config *c, unsigned depth) {
    for (size_t i = 0; i < config_count(c) && i < 200; i++) {
        const char *key = config_key(c, i), *text = NULL;
        const char *const *strings = NULL;
        uint64_t x = 7;
        double y = 0;
        bool z = false;
        size_t n = 0;
        struct config *nested = NULL;
        sabok_error err = {0};
        sabok_status status = config_u64(c, key, 3, 1000, &x, &err);
        REQUIRE(x >= 3 && x <= 1000);
        if (status != SABOK_OK) REQUIRE(err.code == status && !strchr(err.message, '\n'));
        (void)config_double(c, key, -1, 1, &y, &err);
        REQUIRE(y >= -1 && y <= 1);
        (void)config_bool(c, key, &z, &err);
        if (config_string(c, key, &text, &err) == SABOK_OK && text) REQUIRE(strlen(text) < 1u << 20);
        (void)config_strings(c, key, &strings, &n, &err);
        for (size_t s = 0; s < n; s++)
            REQUIRE(strlen(strings[s]) < 1u << 20);
        (void)config_object(c, key, &nested, &err);
        if (nested && depth < 3) walk(nested, depth + 1);
    }
}

static void try_folder(size_t which, const uint8_t *data, size_t size) {
    file_put(files[which].name, data, size);
    struct sentence_folder s;
    sabok_error err = {0};
    if (sentence_open(&s, folder, &err) == SABOK_OK) {
        REQUIRE(s.count >= 2 && s.transformer && s.modules[1].pooling);
        sentence_close(&s);
    } else {
        REQUIRE(err.code != SABOK_OK && err.message[0] && !strchr(err.message, '\n'));
    }
    if (which == COUNT(files) - 1) {
        struct tensor_store *store = store_open(folder, false, &err);
        for (size_t i = 0; store && i < store_count(store); i++)
            REQUIRE(store_find(store, store_get(store, i)->name) == store_get(store, i));
        store_close(store);
    }
    file_put(files[which].name, files[which].text, strlen(files[which].text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!folder[0]) folder_make();
    if (size == 0) return 0;
    int64_t live = mem_live();
    size_t which = data[0] % 32;
    if (which < COUNT(files)) {
        try_folder(which, data + 1, size - 1);
    } else {
        sabok_error err = {0};
        struct config *c = config_parse((const char *)data + 1, size - 1, "fuzz", &err);
        if (c)
            walk(c, 0);
        else
            REQUIRE(err.code == SABOK_EFORMAT);
        config_close(c);
    }
    REQUIRE(mem_live() == live);
    return 0;
}
