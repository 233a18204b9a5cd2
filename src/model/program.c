// The programs of a model: the encoder, and behind it the sentence-transformers modules.
#include "model/model.h"

void model_weights(struct sabok_model *m, struct visitor *v) {
    m->family->weights(&m->weights, &m->config, v);
    size_t dense = 0;
    for (size_t i = 0; i < m->sentence.count; i++) {
        const struct sentence_module *module = &m->sentence.modules[i];
        if (module->kind != MODULE_DENSE) continue;
        struct dense_w *d = &m->dense[dense++];
        const struct shape matrix = {2, {(int64_t)module->out_features, (int64_t)module->in_features}};
        const struct shape vector = {1, {(int64_t)module->out_features}};
        visit_weight(v, &d->linear.w, WEIGHT_LINEAR, matrix, "%zu_Dense.linear.weight", i);
        if (module->bias) visit_weight(v, &d->linear.b, WEIGHT_BIAS, vector, "%zu_Dense.linear.bias", i);
    }
}

static val program_pool(prog *p, const struct sentence_module *module, val x) {
    static const struct {
        unsigned flag;
        enum pool mode;
    } order[] = {
        {POOLING_CLS, POOL_CLS},
        {POOLING_MAX, POOL_MAX},
        {POOLING_MEAN, POOL_MEAN},
        {POOLING_MEAN_SQRT_LEN, POOL_MEAN_SQRT},
        {POOLING_WEIGHTEDMEAN, POOL_WEIGHTED},
        {POOLING_LASTTOKEN, POOL_LAST},
    };
    enum pool modes[POOL_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < COUNT(order); i++)
        if (module->pooling & order[i].flag) modes[count++] = order[i].mode;
    const val offsets = prog_input(p, "offsets", DT_I32, (struct shape){1, {DIM_B}}, INPUT_OFFSETS);
    return op_pool(p, x, offsets, modes, count);
}

static val program_sentence(prog *p, const struct sabok_model *m, val x) {
    size_t dense = 0;
    for (size_t i = 0; i < m->sentence.count; i++) {
        const struct sentence_module *module = &m->sentence.modules[i];
        const char *names[] = {"transformer", "pooling", "dense", "normalize"};
        prog_push(p, "%s", names[module->kind]);
        switch (module->kind) {
        case MODULE_TRANSFORMER:
            break;
        case MODULE_POOLING:
            x = program_pool(p, module, x);
            break;
        case MODULE_DENSE: {
            const struct dense_w *d = &m->dense[dense++];
            x = op_act(p, block_linear(p, &d->linear, x), d->act);
            break;
        }
        case MODULE_NORMALIZE:
            x = op_normalize(p, x);
            break;
        }
        prog_name(p, x, "out");
        prog_pop(p);
    }
    return x;
}

void model_program(prog *p, const struct sabok_model *m, enum program_kind kind) {
    val x = m->family->forward(p, &m->weights, &m->config);
    if (kind == PROGRAM_EMBED) x = program_sentence(p, m, x);
    prog_output(p, x, 0);
}
