// A whole model folder with one file changed: opened, and when it opens, two texts embedded. Whatever the bytes, the
// answer is an error or vectors. Byte 0 of the input picks the file, byte 1 the kind of change:
//   even  the rest replaces the file
//   odd   the rest is edits of five bytes: offset (3, little-endian), value, and 1 to cut the file at the offset
#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const folder_files[] = {
    "config.json",           "model.safetensors",
    "tokenizer.json",        "modules.json",
    "1_Pooling/config.json", "sentence_bert_config.json",
    "tokenizer_config.json", "config_sentence_transformers.json",
};
enum { FILES = COUNT(folder_files) };

static char folder[64];
static char *contents[FILES];
static size_t sizes[FILES];

static void folder_write(size_t i, const void *data, size_t size) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, folder_files[i]);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0)
        abort(); // no scratch space: nothing to test
}

static void folder_remove(void) {
    char path[256];
    for (size_t i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, folder_files[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/1_Pooling", folder);
    rmdir(path);
    rmdir(folder);
}

static void folder_make(void) {
    const char *scratch = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/sabok-fuzz-XXXXXX", scratch);
    if (!mkdtemp(folder)) abort();
    atexit(folder_remove);
    char path[512];
    snprintf(path, sizeof path, "%s/1_Pooling", folder);
    if (mkdir(path, 0700) != 0) abort();
    for (size_t i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, SABOK_TEST_DIR "/golden/bert-tiny/%s", folder_files[i]);
        sabok_error err = {0};
        if (file_read(path, 1 << 20, &contents[i], &sizes[i], &err) != SABOK_OK) abort();
        folder_write(i, contents[i], sizes[i]);
    }
}

static void folder_edit(size_t file, const uint8_t *edits, size_t size) {
    size_t length = sizes[file];
    char *copy = malloc(length + 1);
    if (!copy) abort();
    memcpy(copy, contents[file], length);
    for (; size >= 5 && length > 0; edits += 5, size -= 5) {
        const size_t at = ((size_t)edits[0] | (size_t)edits[1] << 8 | (size_t)edits[2] << 16) % length;
        if (edits[4] == 1)
            length = at;
        else
            copy[at] = (char)edits[3];
    }
    folder_write(file, copy, length);
    free(copy);
}

static void folder_use(void) {
    static const char *const texts[] = {"The cat plays with him.", "zzzz [MASK] \xf0\x9f\x99\x82"};
    sabok_error err = {0};
    sabok_model *m = sabok_open(folder, &(sabok_open_opts){.threads = 1}, &err);
    if (!m) {
        if (err.code == SABOK_OK || err.message[0] == '\0') abort(); // a failure says why
        return;
    }
    const size_t width = sabok_embed_width(m);
    float *out = malloc(2 * width * sizeof *out);
    if (!out) abort();
    if (sabok_embed(m, texts, 2, NULL, out, &err) != SABOK_OK && err.message[0] == '\0') abort();
    free(out);
    sabok_close(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!folder[0]) folder_make();
    if (size < 2) return 0;
    const size_t file = data[0] % FILES;
    if (data[1] % 2 == 0)
        folder_write(file, data + 2, size - 2);
    else
        folder_edit(file, data + 2, size - 2);
    folder_use();
    folder_write(file, contents[file], sizes[file]);
    return 0;
}
