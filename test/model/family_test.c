// Every family and head against the reference: each folder test/golden/<family>-tiny-* and bert-head-* is opened, and
// hidden states and logits are computed from the reference's ids (expected.safetensors, written by ref/ in double
// precision).
#include "task/task.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HIDDEN_TOLERANCE 1e-5
#define LOGIT_TOLERANCE 1e-4 // of the largest logit

struct expected {
    const char *folder;
    struct safetensors *file;
};

static const struct tensor_entry *find(const struct expected *e, const char *name, size_t i) {
    char full[32];
    snprintf(full, sizeof full, "%s.%zu", name, i);
    return safetensors_find(e->file, full);
}

static void compare(const struct expected *e, const struct tensor_entry *want, const float *have,
                    bool relative) {
    const size_t n = (size_t)want->bytes / sizeof(float);
    double worst = 0, largest = 1;
    for (size_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, want->data + i * sizeof x, sizeof x);
        const double d = fabs((double)x - (double)have[i]);
        if (!(d <= worst)) worst = d;
        largest = fmax(largest, fabs((double)x));
    }
    if (!(worst <= (relative ? LOGIT_TOLERANCE * largest : HIDDEN_TOLERANCE)))
        fail_msg("SABOK_GOLDEN=%s family_test: %s differs by %g", e->folder, want->name, worst);
}

// The rows of a program over the ids of input i.
static float *rows_new(const struct expected *e, const sabok_model *m, size_t i, enum program_kind kind,
                       const float *from) {
    const struct tensor_entry *ids = find(e, "ids", i), *types = find(e, "types", i);
    const size_t length = (size_t)ids->dims[0];
    uint32_t *buffer = mem_zalloc(2 * length * sizeof *buffer);
    float *out = mem_array(length, model_width(m, kind) * sizeof *out);
    struct sequences s = {0};
    sabok_error err = {0};
    memcpy(buffer, ids->data, length * sizeof *buffer);
    if (types) memcpy(buffer + length, types->data, length * sizeof *buffer);
    assert_true(sequences_reserve(&s, 1));
    s.ids[0] = from ? NULL : buffer;
    s.types[0] = buffer + length;
    s.length[0] = (uint32_t)length;
    const struct sequences_run run = {.kind = kind, .end = 1, .out = out, .rows = from};
    if (sequences_compute(&s, m, &run, &err) != SABOK_OK) fail_msg("%s: %s", e->folder, err.message);
    sequences_free(&s);
    mem_free(buffer);
    return out;
}

static void check_input(const struct expected *e, const sabok_model *m, size_t i) {
    const struct tensor_entry *logits = find(e, "logits", i);
    float *hidden = rows_new(e, m, i, PROGRAM_HIDDEN, NULL);
    compare(e, find(e, "hidden", i), hidden, false);
    const enum program_kind kinds[] = {
        [HEAD_CLASSIFY] = PROGRAM_CLASSIFY,
        [HEAD_TAG] = PROGRAM_TAG,
        [HEAD_ANSWER] = PROGRAM_TAG,
        [HEAD_FILL_MASK] = PROGRAM_FILL_MASK,
    };
    assert_int_equal(logits != NULL, m->head.kind != HEAD_NONE);
    if (logits) {
        const enum program_kind kind = kinds[m->head.kind];
        float *rows = rows_new(e, m, i, kind, kind == PROGRAM_FILL_MASK ? hidden : NULL);
        compare(e, logits, rows, true);
        mem_free(rows);
    }
    mem_free(hidden);
}

static size_t check_folder(const char *name) {
    char path[1024];
    sabok_error err = {0};
    snprintf(path, sizeof path, SABOK_TEST_DIR "/golden/%s/expected.safetensors", name);
    struct expected e = {name, safetensors_open(path, false, &err)};
    if (!e.file) fail_msg("%s", err.message);
    snprintf(path, sizeof path, SABOK_TEST_DIR "/golden/%s", name);
    sabok_model *m = sabok_open(path, &(sabok_open_opts){.threads = 2}, &err);
    if (!m) fail_msg("%s", err.message);
    size_t inputs = 0;
    for (; find(&e, "ids", inputs); inputs++)
        check_input(&e, m, inputs);
    sabok_close(m);
    safetensors_close(e.file);
    return inputs;
}

// bugs.md 80: bert-head-mask stores no decoder; the tied one is the embedding.
static void test_families(void **state) {
    (void)state;
    static const char *const starts[] = {"bert-head-",      "roberta-tiny-", "xlm-roberta-tiny-",
                                         "camembert-tiny-", "albert-tiny-",  "distilbert-tiny-",
                                         "mpnet-tiny-",     "electra-tiny-"};
    const char *only = getenv("SABOK_GOLDEN"); // reruns one folder
    size_t folders[COUNT(starts)] = {0};
    DIR *dir = opendir(SABOK_TEST_DIR "/golden");
    assert_non_null(dir);
    for (struct dirent *d; (d = readdir(dir));)
        for (size_t i = 0; i < COUNT(starts); i++) {
            if (strncmp(d->d_name, starts[i], strlen(starts[i])) != 0) continue;
            folders[i]++;
            if (only && strcmp(only, d->d_name) != 0) continue;
            assert_true(check_folder(d->d_name) >= 2);
        }
    closedir(dir);
    for (size_t i = 0; i < COUNT(starts); i++)
        if (folders[i] == 0) fail_msg("no folder %s*", starts[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_families)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
