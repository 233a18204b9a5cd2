// Whole models against the reference: every folder test/golden/bert-tiny* is opened, its texts embedded, and
// the vectors and hidden states compared with expected.safetensors (written by ref/, computed in double
// precision).
#include "file/file.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TOLERANCE 1e-5

struct texts {
    char *text[64];
    size_t length[64], n;
};

static void texts_read(struct texts *t, const char *folder) {
    char path[1024];
    snprintf(path, sizeof path, "%s/texts.jsonl", folder);
    sabok_error err = {0};
    sabok_rows *rows = sabok_rows_open(path, NULL, &err);
    if (!rows) fail_msg("%s", err.message);
    const char *field;
    size_t length;
    int more;
    for (t->n = 0; (more = sabok_rows_next(rows, &field, &length, &err)) > 0; t->n++) {
        assert_true(t->n < COUNT(t->text));
        t->text[t->n] = mem_copy_bytes(field, length);
        t->length[t->n] = length;
    }
    if (more < 0) fail_msg("%s", err.message);
    sabok_rows_close(rows);
}

static void texts_free(struct texts *t) {
    for (size_t i = 0; i < t->n; i++)
        mem_free(t->text[i]);
}

static void compare(const char *folder, const struct tensor_entry *e, const float *have, size_t n) {
    assert_int_equal(e->bytes, n * sizeof(float));
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        float want;
        memcpy(&want, e->data + i * sizeof want, sizeof want);
        const double difference = fabs((double)want - (double)have[i]);
        if (!(difference <= worst)) worst = difference;
    }
    if (!(worst <= TOLERANCE)) fail_msg("%s: %s differs by %g", folder, e->name, worst);
}

static void check_embedding(const char *folder, const sabok_model *m, const struct texts *t,
                            const struct tensor_entry *e) {
    sabok_error err = {0};
    sabok_embed_opts opts = {.text_lengths = t->length};
    const char *name = strchr(e->name, '.');
    if (name && strcmp(name, ".none") == 0)
        opts.prompt = "";
    else if (name)
        opts.prompt_name = name + 1;
    const size_t n = t->n * sabok_embed_width(m);
    float *out = mem_array(n, sizeof *out);
    if (sabok_embed(m, (const char *const *)t->text, t->n, &opts, out, &err) != SABOK_OK)
        fail_msg("%s", err.message);
    compare(folder, e, out, n);
    mem_free(out);
}

struct hidden_check {
    const char *folder;
    const struct safetensors *expected;
    size_t width, seen;
};

static int check_hidden(void *ctx, size_t text, const float *hidden, size_t length) {
    struct hidden_check *check = ctx;
    char name[32];
    snprintf(name, sizeof name, "hidden.%zu", text);
    const struct tensor_entry *e = safetensors_find(check->expected, name);
    if (!e) return 0;
    compare(check->folder, e, hidden, length * check->width);
    check->seen++;
    return 0;
}

static void check_pair(const char *folder, const sabok_model *m, const struct safetensors *expected,
                       size_t width) {
    const struct tensor_entry *ids = safetensors_find(expected, "pair.ids");
    const struct tensor_entry *types = safetensors_find(expected, "pair.type_ids");
    const struct tensor_entry *hidden = safetensors_find(expected, "pair.hidden");
    if (!ids) return;
    const size_t length = (size_t)ids->dims[0], offsets[] = {0, length};
    uint32_t *buffer = mem_array(2 * length, sizeof *buffer);
    memcpy(buffer, ids->data, length * sizeof *buffer);
    memcpy(buffer + length, types->data, length * sizeof *buffer);
    float *out = mem_array(length * width, sizeof *out);
    sabok_error err = {0};
    if (sabok_forward(m, buffer, buffer + length, offsets, 1, out, &err) != SABOK_OK)
        fail_msg("%s", err.message);
    compare(folder, hidden, out, length * width);
    mem_free(buffer);
    mem_free(out);
}

static void check_folder(const char *folder) {
    sabok_error err = {0};
    char path[1024];
    snprintf(path, sizeof path, "%s/expected.safetensors", folder);
    struct safetensors *expected = safetensors_open(path, false, &err);
    if (!expected) fail_msg("%s", err.message);
    struct texts t;
    texts_read(&t, folder);
    for (unsigned threads = 1; threads <= 2; threads++) {
        sabok_model *m =
            sabok_open(folder, &(sabok_open_opts){.threads = threads, .no_mmap = threads == 2}, &err);
        if (!m) fail_msg("%s", err.message);
        sabok_model_info info;
        sabok_model_get_info(m, &info);
        size_t embeddings = 0;
        for (size_t i = 0; i < safetensors_count(expected); i++) {
            const struct tensor_entry *e = safetensors_get(expected, i);
            if (strncmp(e->name, "embedding", 9) != 0) continue;
            check_embedding(folder, m, &t, e);
            embeddings++;
        }
        assert_true(embeddings > 0);
        struct hidden_check check = {folder, expected, info.hidden_size, 0};
        const sabok_embed_opts opts = {.text_lengths = t.length, .prompt = ""};
        if (sabok_embed_tokens(m, (const char *const *)t.text, t.n, &opts, check_hidden, &check, &err) !=
            SABOK_OK)
            fail_msg("%s", err.message);
        assert_true(check.seen > 0);
        check_pair(folder, m, expected, info.hidden_size);
        sabok_close(m);
    }
    texts_free(&t);
    safetensors_close(expected);
}

static void test_golden_models(void **state) {
    (void)state;
    DIR *dir = opendir(SABOK_TEST_DIR "/golden");
    assert_non_null(dir);
    const char *only = getenv("SABOK_GOLDEN"); // reruns one folder
    size_t done = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        if (strncmp(e->d_name, "bert-tiny", 9) != 0 || (only && strcmp(only, e->d_name) != 0)) continue;
        char folder[512];
        snprintf(folder, sizeof folder, SABOK_TEST_DIR "/golden/%s", e->d_name);
        printf("SABOK_GOLDEN=%s golden_test\n", e->d_name);
        fflush(stdout);
        check_folder(folder);
        done++;
    }
    closedir(dir);
    assert_true(done > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
