// sabok_encoder_run against sabok_forward: the layers of a model, given the model's own weights and the hidden states
// after its embeddings, give the bits of the model; a padded batch gives the rows of the ragged one.
#include "model/model.h"

#include <setjmp.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { D = 40, H = 5, F = 56, L = 3, V = 60, T = 57, B = 4 };

static sabok_model *open_model(void) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/sabok-encoder-%ld.json", (long)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f,
            "{\"model_type\": \"bert\", \"vocab_size\": %d, \"hidden_size\": %d, \"num_hidden_layers\": %d, "
            "\"num_attention_heads\": %d, \"intermediate_size\": %d}",
            V, D, L, H, F);
    fclose(f);
    sabok_error err = {0};
    sabok_model *m = sabok_open(NULL, &(sabok_open_opts){.config = path, .threads = 2, .seed = 9}, &err);
    unlink(path);
    if (!m) fail_msg("%s", err.message);
    return m;
}

static sabok_encoder *encoder_of(const sabok_model *m, unsigned threads) {
    sabok_layer_weights w[L];
    for (size_t i = 0; i < L; i++) {
        const struct layer_w *l = &m->weights.layers[i];
        w[i] = (sabok_layer_weights){
            .query = l->q.w.f32,
            .query_bias = l->q.b.f32,
            .key = l->k.w.f32,
            .key_bias = l->k.b.f32,
            .value = l->v.w.f32,
            .value_bias = l->v.b.f32,
            .output = l->out.w.f32,
            .output_bias = l->out.b.f32,
            .attention_gain = l->attention_norm.gain.f32,
            .attention_bias = l->attention_norm.bias.f32,
            .up = l->up.w.f32,
            .up_bias = l->up.b.f32,
            .down = l->down.w.f32,
            .down_bias = l->down.b.f32,
            .output_gain = l->output_norm.gain.f32,
            .output_norm_bias = l->output_norm.bias.f32,
        };
    }
    const sabok_encoder_opts opts = {
        .num_layers = L, .hidden_size = D, .num_heads = H, .intermediate_size = F, .threads = threads};
    sabok_error err = {0};
    sabok_encoder *e = sabok_encoder_new(&opts, w, &err);
    if (!e) fail_msg("%s", err.message);
    return e;
}

struct capture {
    float embedded[T * D];
    bool found;
};

static int capture_embeddings(void *ctx, const prog *p, const struct record *r, const float *out, size_t rows,
                              size_t width) {
    struct capture *c = ctx;
    const char *name = p->values[r->out].name;
    if (!name || strcmp(name, "embeddings.out") != 0) return 0;
    memcpy(c->embedded, out, rows * width * sizeof *out);
    c->found = true;
    return 0;
}

static void test_same_bits_as_the_model(void **state) {
    (void)state;
    sabok_model *m = open_model();
    sabok_error err = {0};
    uint32_t ids[T];
    for (size_t i = 0; i < T; i++)
        ids[i] = (uint32_t)(i * 7 % V);
    const size_t offsets[B + 1] = {0, 13, 13, 50, T};
    static float want[T * D], have[T * D];
    static struct capture capture;
    struct session *s = session_take(m, PROGRAM_HIDDEN, T, B, &err);
    assert_non_null(s);
    plan_watch(s->plan, capture_embeddings, &capture);
    for (size_t b = 0; b < B; b++)
        session_add(m, s,
                    &(struct sequence){ids + offsets[b], NULL, (uint32_t)(offsets[b + 1] - offsets[b]), 0});
    assert_int_equal(session_run(m, s, NULL, want, &err), SABOK_OK);
    session_give(m, s);
    assert_true(capture.found);
    for (unsigned threads = 1; threads <= 3; threads++) {
        sabok_encoder *e = encoder_of(m, threads);
        memset(have, 0, sizeof have);
        assert_int_equal(sabok_encoder_run(e, capture.embedded, offsets, B, have, &err), SABOK_OK);
        assert_memory_equal(want, have, sizeof want);
        // A second batch of other lengths, by the same encoder.
        const size_t one[] = {0, 13};
        assert_int_equal(sabok_encoder_run(e, capture.embedded, one, 1, have, &err), SABOK_OK);
        assert_memory_equal(want, have, 13 * D * sizeof(float));
        sabok_encoder_free(e);
    }
    sabok_close(m);
}

static void test_padded_equals_ragged(void **state) {
    (void)state;
    enum { S = 9 };
    sabok_model *m = open_model();
    sabok_encoder *e = encoder_of(m, 2);
    sabok_error err = {0};
    static float padded[2 * S * D], ragged[11 * D], out[2 * S * D], want[11 * D];
    for (size_t i = 0; i < 2 * S * D; i++)
        padded[i] = rng_normal(3, 1, i);
    // A gap inside, padding in front and behind.
    const uint8_t mask[2 * S] = {1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0};
    size_t rows = 0;
    for (size_t i = 0; i < 2 * S; i++)
        if (mask[i]) memcpy(ragged + rows++ * D, padded + i * D, D * sizeof(float));
    assert_int_equal(rows, 11);
    const size_t offsets[] = {0, 5, 11};
    assert_int_equal(sabok_encoder_run(e, ragged, offsets, 2, want, &err), SABOK_OK);
    assert_int_equal(sabok_encoder_run_padded(e, padded, mask, 2, S, out, &err), SABOK_OK);
    for (size_t i = 0, at = 0; i < 2 * S; i++) {
        static const float zeros[D];
        assert_memory_equal(out + i * D, mask[i] ? want + at * D : zeros, D * sizeof(float));
        at += mask[i];
    }
    sabok_encoder_free(e);
    sabok_close(m);
}

static void test_bad_arguments(void **state) {
    (void)state;
    sabok_error err = {0};
    sabok_layer_weights w = {0};
    sabok_encoder_opts opts = {
        .num_layers = 1, .hidden_size = 8, .num_heads = 3, .intermediate_size = 8, .threads = 1};
    assert_null(sabok_encoder_new(&opts, &w, &err));
    assert_non_null(strstr(err.message, "multiple of num_heads 3"));
    opts.num_heads = 2;
    assert_null(sabok_encoder_new(&opts, &w, &err));
    assert_non_null(strstr(err.message, "NULL"));
    opts.hidden_act = "sine";
    assert_null(sabok_encoder_new(&opts, &w, &err));
    assert_int_equal(err.code, SABOK_EUNSUPPORTED);
    opts.num_layers = 0;
    assert_null(sabok_encoder_new(&opts, &w, &err));
    assert_non_null(strstr(err.message, "num_layers is 0"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits_as_the_model),
        cmocka_unit_test(test_padded_equals_ragged),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
