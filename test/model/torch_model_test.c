// Models whose weights are files of torch.save compute the same bits as those of safetensors.
#include "file/crafted.h"

#define GOLDEN SABOK_TEST_DIR "/golden/"

static void link_file(const char *folder, const char *from, const char *name) {
    assert_int_equal(symlink(from, crafted_path(folder, name)), 0);
}

static void embed(const char *folder, float *out, size_t n) {
    static const char *const texts[] = {"The cat plays with him.", "", "Music, guitar & two running dogs!"};
    sabok_error err = {0};
    sabok_model *m = sabok_open(folder, &(sabok_open_opts){.threads = 1}, &err);
    if (!m) fail_msg("%s", err.message);
    assert_int_equal(sabok_embed_width(m) * COUNT(texts), n);
    if (sabok_embed(m, texts, COUNT(texts), NULL, out, &err) != SABOK_OK) fail_msg("%s", err.message);
    sabok_close(m);
}

// A model gives the same bits whatever kind of file its weights are in.
static void test_models(void **state) {
    (void)state;
    static const struct {
        const char *model, *weights;
    } cases[] = {{"bert-tiny", "bert-tiny.bin"},
                 {"bert-tiny", "bert-tiny-legacy.bin"},
                 {"bert-tiny", NULL}, // shards
                 {"bert-tiny-f16", "bert-tiny-f16.bin"},
                 {"bert-tiny-bf16", "bert-tiny-bf16.bin"}};
    static const char *const shards[] = {"pytorch_model.bin.index.json", "pytorch_model-00001-of-00002.bin",
                                         "pytorch_model-00002-of-00002.bin"};
    static const char *const rest[] = {
        "config.json", "tokenizer.json", "tokenizer_config.json", "modules.json", "sentence_bert_config.json",
        "1_Pooling"};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *folder = crafted_folder();
        char path[512];
        for (size_t k = 0; k < COUNT(rest); k++) {
            snprintf(path, sizeof path, GOLDEN "%s/%s", cases[i].model, rest[k]);
            if (file_exists(path)) link_file(folder, path, rest[k]);
        }
        for (size_t k = 0; k < (cases[i].weights ? 1 : COUNT(shards)); k++) {
            snprintf(path, sizeof path, GOLDEN "torch/%s", cases[i].weights ? cases[i].weights : shards[k]);
            link_file(folder, path, cases[i].weights ? "pytorch_model.bin" : shards[k]);
        }
        float found[3 * 32], expected[3 * 32];
        const size_t n = 3 * 32;
        embed(folder, found, n);
        snprintf(path, sizeof path, GOLDEN "%s", cases[i].model);
        embed(path, expected, n);
        if (memcmp(found, expected, n * sizeof *found) != 0) fail_msg("other bits; rerun: case %zu", i);
        crafted_remove(folder);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
