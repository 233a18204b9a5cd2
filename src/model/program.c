// The programs of a model: the encoder, and behind it the sentence-transformers modules.
#include "model/model.h"

void model_weights(struct sabok_model *m, struct visitor *v) {
    m->family->weights(&m->weights, &m->config, v);
    head_weights(&m->head, &m->family->heads, &m->config, v);
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
    const val skip =
        module->include_prompt ? 0 : prog_input(p, "skip", DT_I32, (struct shape){1, {DIM_B}}, INPUT_SKIP);
    return op_pool(p, x, offsets, skip, modes, count);
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
    const bool from_rows = kind == PROGRAM_FILL_MASK || kind == PROGRAM_LAYERS;
    val x = from_rows
                ? prog_input(p, "rows", DT_F32, (struct shape){2, {DIM_T, (int64_t)m->config.D}}, INPUT_ROWS)
                : m->family->forward(p, &m->weights, &m->config);
    switch (kind) {
    case PROGRAM_EMBED:
        x = program_sentence(p, m, x);
        break;
    case PROGRAM_CLASSIFY:
        x = head_classify(p, &m->head, &m->family->heads, x);
        break;
    case PROGRAM_TAG:
        x = block_linear(p, &m->head.out, x);
        break;
    case PROGRAM_FILL_MASK:
        x = head_fill_mask(p, &m->head, &m->family->heads, &m->weights, &m->config, x);
        break;
    case PROGRAM_LAYERS:
        x = block_layers(p, &m->weights, &m->config, x);
        break;
    case PROGRAM_HIDDEN:
    case PROGRAM_COUNT:
        break;
    }
    prog_output(p, x, 0);
}

static bool program_served(const struct sabok_model *m, enum program_kind kind) {
    switch (kind) {
    case PROGRAM_CLASSIFY:
        return m->head.kind == HEAD_CLASSIFY;
    case PROGRAM_TAG:
        return m->head.kind == HEAD_TAG || m->head.kind == HEAD_ANSWER;
    case PROGRAM_FILL_MASK:
        return m->head.kind == HEAD_FILL_MASK;
    default:
        return true;
    }
}

static prog *program_make(struct sabok_model *m, enum program_kind kind, sabok_error *err) {
    prog *p = mem_alloc(sizeof *p);
    if (!p) {
        error_memory(err, m->name);
        return NULL;
    }
    prog_init(p);
    model_program(p, m, kind);
    prog_fuse(p);
    prog_precision(p, &m->precision);
    sabok_status status = p->error.code;
    if (status != SABOK_OK && err) *err = p->error;
    if (status == SABOK_OK) ASSERT(prog_splits(p));
    if (status == SABOK_OK) status = pack_program(m->packs, p, m->team, model_drop_packed, m, err);
    if (status == SABOK_OK) return p;
    prog_free(p);
    mem_free(p);
    return NULL;
}

const prog *model_prog(const struct sabok_model *m, enum program_kind kind, sabok_error *err) {
    if (!program_served(m, kind)) {
        static const char *const wanted[PROGRAM_COUNT] = {
            [PROGRAM_CLASSIFY] = "sequence classification",
            [PROGRAM_TAG] = "token classification or question answering",
            [PROGRAM_FILL_MASK] = "masked language model",
        };
        error_set(err, SABOK_EUNSUPPORTED, m->name, "its head is %s, expected %s", head_name(m->head.kind),
                  wanted[kind]);
        return NULL;
    }
    struct sabok_model *shared =
        (struct sabok_model *)(uintptr_t)m; // programs are made late, under their lock
    // A thread of a team's region comes here too: it must find the program without the lock, as the one who makes a
    // program holds the lock and waits for the team.
    const prog *p = atomic_load(&shared->programs[kind]);
    if (p) return p;
    pthread_mutex_lock(&shared->program_lock);
    if (!atomic_load(&shared->programs[kind]))
        atomic_store(&shared->programs[kind], program_make(shared, kind, err));
    p = atomic_load(&shared->programs[kind]);
    pthread_mutex_unlock(&shared->program_lock);
    return p;
}

enum program_kind model_main_program(const struct sabok_model *m) {
    static const enum program_kind main[] = {
        [HEAD_NONE] = PROGRAM_EMBED, [HEAD_CLASSIFY] = PROGRAM_CLASSIFY, [HEAD_TAG] = PROGRAM_TAG,
        [HEAD_ANSWER] = PROGRAM_TAG, [HEAD_FILL_MASK] = PROGRAM_HIDDEN,
    };
    return main[m->head.kind];
}

bool program_by_sequence(enum program_kind kind) {
    return kind == PROGRAM_EMBED || kind == PROGRAM_CLASSIFY;
}

size_t model_width(const struct sabok_model *m, enum program_kind kind) {
    switch (kind) {
    case PROGRAM_EMBED:
        return m->embed_width;
    case PROGRAM_CLASSIFY:
    case PROGRAM_TAG:
        return (size_t)m->head.labels;
    case PROGRAM_FILL_MASK:
        return (size_t)m->config.V;
    default:
        return (size_t)m->config.D;
    }
}
