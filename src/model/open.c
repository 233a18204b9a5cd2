// open: a model folder (or a shape with random weights) to a model that many threads may use.
#include "model/model.h"

#include <string.h>

// Shapes for measuring, as their config.json would say.
static const struct {
    const char *name, *config;
} open_presets[] = {
    {"minilm", "{\"model_type\": \"bert\", \"hidden_size\": 384, \"num_hidden_layers\": 6, "
               "\"num_attention_heads\": 12, "
               "\"intermediate_size\": 1536}"},
    {"bert-base", "{\"model_type\": \"bert\", \"hidden_size\": 768, \"num_hidden_layers\": 12, "
                  "\"num_attention_heads\": 12, \"intermediate_size\": 3072}"},
    {"bert-large", "{\"model_type\": \"bert\", \"hidden_size\": 1024, \"num_hidden_layers\": 24, "
                   "\"num_attention_heads\": 16, \"intermediate_size\": 4096}"},
};

static sabok_status open_preset(struct sabok_model *m, const char *name, sabok_error *err) {
    for (size_t i = 0; i < COUNT(open_presets); i++) {
        if (strcmp(open_presets[i].name, name) != 0) continue;
        m->config_file = config_parse(open_presets[i].config, strlen(open_presets[i].config), name, err);
        return m->config_file ? SABOK_OK : SABOK_EFORMAT;
    }
    if (!file_exists(name))
        return error_set(err, SABOK_ENOTFOUND, name,
                         "neither a file nor one of minilm, bert-base, bert-large");
    m->config_file = config_open(name, err);
    return m->config_file ? SABOK_OK : SABOK_EFORMAT;
}

static char *open_path(const char *folder, const char *name) {
    struct buf b = {0};
    buf_printf(&b, "%s/%s", folder, name);
    if (!b.failed) return b.data;
    buf_free(&b);
    return NULL;
}

static const char *open_last_part(const char *path, size_t *length) {
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    *length = end - begin;
    return path + begin;
}

// tokenizer_config.json; *out stays NULL when there is none.
static sabok_status open_tokenizer_config(const struct sabok_model *m, struct config **out,
                                          sabok_error *err) {
    char *path = open_path(m->folder, "tokenizer_config.json");
    if (!path) return error_memory(err, m->folder);
    const bool there = file_exists(path);
    if (there) *out = config_open(path, err);
    mem_free(path);
    return !there || *out ? SABOK_OK : err ? err->code : SABOK_EFORMAT;
}

// The sentence-transformers file wins over what tokenizer files say; positions bound both. model_max_length is 1e30 where
// files mean "none".
static sabok_status open_lengths(struct sabok_model *m, const struct config *tokenizer, sabok_error *err) {
    const uint64_t positions = m->config.positions - m->config.position_first;
    uint64_t length = m->sentence.max_seq_length;
    if (length == 0 && tokenizer) {
        double said = 0;
        TRY(config_double(tokenizer, "model_max_length", 0, 1e40, &said, err));
        if (said >= 1 && said < (double)positions) length = (uint64_t)said;
    }
    if (length == 0) length = positions;
    if (length > positions) {
        log_message(SABOK_LOG_WARNING,
                    "%s: max_seq_length %llu is more than the model's %llu positions; %llu is used", m->name,
                    (unsigned long long)length, (unsigned long long)positions, (unsigned long long)positions);
        length = positions;
    }
    m->max_seq_length = (size_t)length;
    return SABOK_OK;
}

// Whether a class of tokenizers is one of these, "NAMETokenizer" or "NAMETokenizerFast".
static bool open_class_among(const char *class, const char *const *names) {
    for (; *names; names++) {
        const size_t n = strlen(*names);
        if (strncmp(class, *names, n) != 0) continue;
        if (strcmp(class + n, "Tokenizer") == 0 || strcmp(class + n, "TokenizerFast") == 0) return true;
    }
    return false;
}

// The tokenizer's model_input_names say whether the model is told the segments of a text: by that key, else by the class
// that the tokenizer's config, the model's config or the type of the model names. As of transformers 5 these classes have
// token_type_ids among the names; as of 4 all but those of models without segments.
static sabok_status open_segments(struct sabok_model *m, const struct config *tokenizer, sabok_error *err) {
    static const char *const have[] = {
        "Bert",   "Electra",           "LayoutLM",           "MobileBert", "SqueezeBert", "ConvBert",
        "Lxmert", "DPRContextEncoder", "DPRQuestionEncoder", "Deberta",    "DebertaV2",   "FNet",
        NULL};
    static const char *const had_none[] = {"Roberta", "XLMRoberta", "Camembert", "DistilBert", "MPNet", NULL};
    const char *const *names = NULL, *class = NULL;
    size_t n = 0;
    if (tokenizer) {
        TRY(config_strings(tokenizer, "model_input_names", &names, &n, err));
        TRY(config_string(tokenizer, "tokenizer_class", &class, err));
    }
    for (size_t i = 0; i < n; i++)
        m->segments = m->segments || strcmp(names[i], "token_type_ids") == 0;
    m->segments_4 = m->segments;
    if (names) return SABOK_OK;
    if (!class && m->config_file) TRY(config_string(m->config_file, "tokenizer_class", &class, err));
    const char *type = m->family->model_type;
    const bool bert = strcmp(type, "bert") == 0 || strcmp(type, "electra") == 0;
    m->segments = class ? open_class_among(class, have) : bert;
    m->segments_4 = class ? !open_class_among(class, had_none) : bert || strcmp(type, "albert") == 0;
    return SABOK_OK;
}

// A table of one row serves every segment.
static sabok_status open_segments_fit(const struct sabok_model *m, sabok_error *err) {
    if (!m->tokenizer || !m->segments || m->config.types < 2) return SABOK_OK;
    const uint32_t last = tokenizer_last_type(m->tokenizer);
    if (last < m->config.types) return SABOK_OK;
    return error_set(err, SABOK_EFORMAT, m->folder,
                     "the tokenizer has type ids up to %u, but the table of segments has %llu rows "
                     "(type_vocab_size)",
                     last, (unsigned long long)m->config.types);
}

static sabok_status open_tokenizer_said(struct sabok_model *m, sabok_error *err) {
    struct config *tokenizer = NULL;
    if (m->folder) TRY(open_tokenizer_config(m, &tokenizer, err));
    sabok_status status = open_lengths(m, tokenizer, err);
    if (status == SABOK_OK) status = open_segments(m, tokenizer, err);
    if (status == SABOK_OK) status = open_segments_fit(m, err);
    config_close(tokenizer);
    return status;
}

static sabok_status open_tokenizer_fits(const struct sabok_model *m, sabok_error *err) {
    const size_t size = tokenizer_vocab_size(m->tokenizer);
    if (size > m->config.V)
        return error_set(
            err, SABOK_EFORMAT, m->folder,
            "the tokenizer has ids up to %zu, but the embedding table has %llu rows (vocab_size)", size - 1,
            (unsigned long long)m->config.V);
    return SABOK_OK;
}

struct open_tokenizer {
    const char *folder;
    sabok_tokenizer *tokenizer;
    sabok_error err;
    pthread_t thread;
    bool started;
};

static void *open_tokenizer_work(void *ctx) {
    struct open_tokenizer *job = ctx;
    job->tokenizer = sabok_tokenizer_open(job->folder, &job->err);
    return NULL;
}

static sabok_status open_modules(struct sabok_model *m, sabok_error *err) {
    uint64_t width = m->config.D;
    for (size_t i = 0; i < m->sentence.count; i++)
        m->dense_count += m->sentence.modules[i].kind == MODULE_DENSE;
    m->dense = mem_zalloc(m->dense_count * sizeof *m->dense);
    if (!m->dense) return error_memory(err, m->name);
    size_t dense = 0;
    for (size_t i = 0; i < m->sentence.count; i++) {
        const struct sentence_module *module = &m->sentence.modules[i];
        if (module->kind == MODULE_POOLING) width *= (uint64_t)__builtin_popcount(module->pooling);
        if (module->kind != MODULE_DENSE) continue;
        m->dense[dense].store = module->store;
        m->dense[dense].act = ACT_TANH;
        if (module->activation) TRY(act_find(module->activation, module->folder, &m->dense[dense].act, err));
        if (module->in_features != width)
            return error_set(err, SABOK_ESHAPE, module->folder,
                             "in_features %llu, expected %llu, the width before it",
                             (unsigned long long)module->in_features, (unsigned long long)width);
        width = module->out_features;
        dense++;
    }
    m->embed_width = (size_t)width;
    return SABOK_OK;
}

static sabok_status open_folder(struct sabok_model *m, const sabok_open_opts *opts, sabok_error *err) {
    TRY(sentence_open(&m->sentence, m->folder, err));
    if (strcmp(m->sentence.transformer, m->folder) != 0) {
        mem_free(m->folder);
        m->folder = mem_copy_string(m->sentence.transformer);
        if (!m->folder) return error_memory(err, m->name);
    }
    char *path = open_path(m->folder, "config.json");
    if (!path) return error_memory(err, m->folder);
    m->config_file = config_open(path, err);
    mem_free(path);
    if (!m->config_file) return err ? err->code : SABOK_EFORMAT;
    m->store = store_open(m->folder, opts->no_mmap, err);
    return m->store ? SABOK_OK : err ? err->code : SABOK_EFORMAT;
}

// All that the config says: family, sizes, head, modules. No weight has values yet.
static sabok_status open_shape(struct sabok_model *m, sabok_error *err) {
    TRY(family_find(m->config_file, &m->family, err));
    TRY(m->family->configure(&m->config, m->config_file, err));
    m->weights.layers = mem_zalloc(m->config.stored_layers * sizeof *m->weights.layers);
    if (!m->weights.layers) return error_memory(err, m->name);
    TRY(head_configure(&m->head, m->config_file, m->sentence.rank_activation, &m->names, err));
    return open_modules(m, err);
}

static sabok_status open_weights(struct sabok_model *m, const sabok_open_opts *opts, sabok_error *err) {
    TRY(open_shape(m, err));
    TRY(m->store ? model_load(m, err) : model_randomize(m, opts->seed, err));
    if (m->store) TRY(head_loaded(&m->head, &m->family->heads, m->folder, err));
    if (m->family->prepare) TRY(m->family->prepare(&m->weights, &m->config, err));
    // Packing the weights is most of the work of opening; it is done now, on all threads.
    return model_prog(m, model_main_program(m), err) ? SABOK_OK : err->code;
}

static sabok_status open_precision(struct sabok_model *m, sabok_dtype dtype, sabok_error *err) {
    if (dtype == SABOK_DTYPE_DEFAULT) dtype = SABOK_FLOAT32;
    if (dtype == SABOK_DTYPE_AUTO) {
        dtype =
            kernel_best_low(MATMUL_LOW_BF16)->family == FAMILY_MATMUL_BF16 ? SABOK_BFLOAT16 : SABOK_FLOAT32;
        log_message(SABOK_LOG_INFO, "%s: dtype auto is %s on this CPU", m->name,
                    dtype == SABOK_FLOAT32 ? "float32" : "bfloat16");
    }
    if (format_of(dtype, &m->precision.format)) return SABOK_OK;
    return error_set(err, SABOK_EINVAL, m->name, "dtype %d is none of sabok_dtype", (int)dtype);
}

static sabok_status open_all(struct sabok_model *m, const char *path, const sabok_open_opts *opts,
                             sabok_error *err) {
    TRY(open_precision(m, opts->dtype, err));
    if (!path) {
        TRY(open_preset(m, opts->config, err));
        TRY(open_weights(m, opts, err));
        return open_tokenizer_said(m, err);
    }
    TRY(open_folder(m, opts, err));
    // The tokenizer's files are read while the weights are packed.
    struct open_tokenizer job = {.folder = m->folder};
    job.started = pthread_create(&job.thread, NULL, open_tokenizer_work, &job) == 0;
    if (!job.started) open_tokenizer_work(&job);
    sabok_status status = open_weights(m, opts, err);
    if (job.started) pthread_join(job.thread, NULL);
    m->tokenizer = job.tokenizer;
    TRY(status);
    if (!m->tokenizer) {
        if (err) *err = job.err;
        return job.err.code;
    }
    if (m->sentence.lower_case) TRY(tokenizer_set_lower_case(m->tokenizer, err));
    TRY(open_tokenizer_fits(m, err));
    if (m->head.kind == HEAD_FILL_MASK || m->head.kind == HEAD_ANSWER)
        TRY(tokenizer_specials(m->tokenizer, &m->specials, err));
    TRY(open_tokenizer_said(m, err));
    tokenizer_set_max_length(m->tokenizer, m->max_seq_length);
    return SABOK_OK;
}

static sabok_status model_start(struct sabok_model *m, const char *name, size_t name_length, unsigned threads,
                                bool pin, sabok_error *err) {
    const char *problem = cpu_isa_problem();
    if (problem) return error_set(err, SABOK_EINVAL, NULL, "%s", problem);
    m->name = mem_copy_bytes(name, name_length);
    m->packs = pack_new();
    if (!m->name || !m->packs) return error_memory(err, "model");
    m->team = team_new(threads ? threads : cpu_count(), pin, err);
    return m->team ? SABOK_OK : err->code;
}

struct sabok_model *model_new(const char *name, size_t name_length, unsigned threads, bool pin,
                              sabok_error *err) {
    struct sabok_model *m = mem_zalloc(sizeof *m);
    if (!m) {
        error_memory(err, "model");
        return NULL;
    }
    pthread_mutex_init(&m->session_lock, NULL);
    pthread_mutex_init(&m->program_lock, NULL);
    arena_init(&m->names, 0);
    if (model_start(m, name, name_length, threads, pin, err) == SABOK_OK) return m;
    sabok_close(m);
    return NULL;
}

sabok_model *sabok_open(const char *path, const sabok_open_opts *opts, sabok_error *err) {
    static const sabok_open_opts defaults;
    if (!opts) opts = &defaults;
    sabok_error ignored;
    if (!err) err = &ignored;
    *err = (sabok_error){.offset = SABOK_NO_OFFSET};
    if (!path && !opts->config) {
        error_set(err, SABOK_EINVAL, "sabok_open", "neither a path nor a config is given");
        return NULL;
    }
    size_t length;
    const char *name = open_last_part(path ? path : opts->config, &length);
    sabok_model *m = model_new(name, length, opts->threads, opts->pin, err);
    if (!m) return NULL;
    sabok_status status = path ? hub_find(path, &m->folder, err) : SABOK_OK;
    if (status == SABOK_OK) status = open_all(m, path, opts, err);
    if (status == SABOK_OK) return m;
    sabok_close(m);
    return NULL;
}

sabok_status model_compare(const char *folder, struct model_names *out, sabok_error *err) {
    struct sabok_model *m = model_new("model", 5, 1, false, err);
    if (!m) return err->code;
    m->folder = mem_copy_string(folder);
    sabok_status status = m->folder ? open_folder(m, &(sabok_open_opts){0}, err) : error_memory(err, folder);
    if (status == SABOK_OK) status = open_shape(m, err);
    if (status == SABOK_OK) status = model_compare_names(m, out, err);
    sabok_close(m);
    return status;
}

static sabok_status close_visit(struct visitor *v, struct weight *w, const struct weight_spec *spec) {
    (void)v, (void)spec;
    weight_free(w);
    return SABOK_OK;
}

void sabok_close(sabok_model *m) {
    if (!m) return;
    session_pool_free(m);
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        if (m->programs[i]) prog_free(m->programs[i]);
        mem_free(m->programs[i]);
    }
    pack_free(m->packs);
    struct visitor v = {.visit = close_visit};
    if (m->family && m->weights.layers && (m->dense || m->dense_count == 0)) model_weights(m, &v);
    weight_free(&m->weights.relative_tiles);
    mem_free(m->weights.layers);
    mem_free(m->dense);
    sabok_tokenizer_close(m->tokenizer);
    store_close(m->store);
    config_close(m->config_file);
    sentence_close(&m->sentence);
    team_free(m->team);
    arena_free(&m->names);
    pthread_mutex_destroy(&m->session_lock);
    pthread_mutex_destroy(&m->program_lock);
    mem_free(m->name);
    mem_free(m->folder);
    mem_free(m);
}

const sabok_tokenizer *sabok_model_tokenizer(const sabok_model *model) {
    return model->tokenizer;
}

size_t sabok_embed_width(const sabok_model *model) {
    return model->embed_width;
}

void sabok_model_get_info(const sabok_model *m, sabok_model_info *info) {
    const prog *p = model_prog(m, PROGRAM_HIDDEN, NULL);
    const bool labelled = m->head.kind == HEAD_CLASSIFY || m->head.kind == HEAD_TAG;
    *info = (sabok_model_info){
        .model_type = m->family->model_type,
        .name = m->name,
        .hidden_size = (size_t)m->config.D,
        .num_layers = (size_t)m->config.L,
        .num_heads = (size_t)m->config.H,
        .vocab_size = (size_t)m->config.V,
        .max_seq_length = m->max_seq_length,
        .embed_width = m->embed_width,
        .parameters = m->parameters,
        .flops_per_token = p ? prog_flops(p, 1, 0, 0) : 0,
        .flops_per_token_pair = p ? prog_flops(p, 0, 0, 1) : 0,
        .threads = team_size(m->team),
        .isa = cpu_isa_name(kernel_best(FAMILY_MATMUL)->isa),
        .has_tokenizer = m->tokenizer != NULL,
        .num_labels = labelled ? (size_t)m->head.labels : 0,
        .labels = labelled ? m->head.names : NULL,
        .multi_label = m->head.kind == HEAD_CLASSIFY && m->head.problem == PROBLEM_MULTI_LABEL,
        // One output of a model that does not say what it is was trained as a number.
        .regression =
            m->head.kind == HEAD_CLASSIFY && (m->head.problem == PROBLEM_REGRESSION ||
                                              (m->head.problem == PROBLEM_UNSAID && m->head.labels == 1)),
    };
}
