// The files that sentence-transformers writes beside a transformer: which modules run after it and how. Names
// in them are data; folders must lie inside the model's folder.
#include "file/file.h"

#include <string.h>

#define MODULES_MAX ((size_t)1 << 20)  // bytes of modules.json
#define WIDTH_MAX ((uint64_t)1 << 20)  // components of a vector
#define LENGTH_MAX ((uint64_t)1 << 24) // tokens of a text

static const struct {
    enum module_kind kind;
    const char *name;
} module_names[] = {
    {MODULE_TRANSFORMER, "Transformer"},
    {MODULE_POOLING, "Pooling"},
    {MODULE_DENSE, "Dense"},
    {MODULE_NORMALIZE, "Normalize"},
};

// In the order in which the modes are concatenated; the first spelling is the old boolean key.
static const struct {
    enum pooling_flag flag;
    const char *key, *name;
} pooling_names[] = {
    {POOLING_CLS, "pooling_mode_cls_token", "cls"},
    {POOLING_MAX, "pooling_mode_max_tokens", "max"},
    {POOLING_MEAN, "pooling_mode_mean_tokens", "mean"},
    {POOLING_MEAN_SQRT_LEN, "pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
    {POOLING_WEIGHTEDMEAN, "pooling_mode_weightedmean_tokens", "weightedmean"},
    {POOLING_LASTTOKEN, "pooling_mode_lasttoken", "lasttoken"},
};

// "folder/name", or "folder" for an empty name; free with mem_free.
static char *path_join(const char *folder, const char *name) {
    size_t a = strlen(folder), b = strlen(name), n;
    if (!add_ok(a, b, &n) || !add_ok(n, 2, &n)) return NULL;
    char *path = mem_alloc(n);
    if (!path) return NULL;
    memcpy(path, folder, a);
    if (b) {
        path[a++] = '/';
        memcpy(path + a, name, b);
    }
    path[a + b] = '\0';
    return path;
}

// Relative, inside the folder, and no longer than a path may be.
static bool module_path_ok(struct json_text path) {
    if (path.size > 1024 || memchr(path.data, 0, path.size) || memchr(path.data, '\\', path.size))
        return false;
    if (path.size && path.data[0] == '/') return false;
    for (size_t begin = 0; begin < path.size;) {
        const char *slash = memchr(path.data + begin, '/', path.size - begin);
        size_t end = slash ? (size_t)(slash - path.data) : path.size;
        if (end - begin == 2 && memcmp(path.data + begin, "..", 2) == 0) return false;
        begin = end + 1;
    }
    return true;
}

// The last part of the Python path names the kind, whichever version of sentence-transformers wrote it.
static bool module_kind_parse(struct json_text type, enum module_kind *out) {
    static const char package[] = "sentence_transformers.";
    if (type.size < sizeof package || memcmp(type.data, package, sizeof package - 1) != 0) return false;
    size_t last = type.size;
    while (type.data[last - 1] != '.')
        last--;
    struct json_text name = {type.data + last, type.size - last};
    for (size_t i = 0; i < COUNT(module_names); i++)
        if (json_text_is(name, module_names[i].name)) {
            *out = module_names[i].kind;
            return true;
        }
    return false;
}

static bool module_type(struct json *j, struct sentence_module *m) {
    struct json_text text;
    char shown[QUOTE_TEXT];
    if (!json_string(j, &text)) return false;
    if (module_kind_parse(text, &m->kind)) return true;
    json_fail(j,
              "found the module type '%s', expected Transformer, Pooling, Dense or Normalize of "
              "sentence_transformers",
              quote_text(text.data, text.size, shown));
    if (j->err) j->err->code = SABOK_EUNSUPPORTED;
    return false;
}

static bool module_path(struct json *j, const char *folder, struct sentence_module *m) {
    struct json_text text;
    char shown[QUOTE_TEXT];
    if (!json_string(j, &text)) return false;
    if (!module_path_ok(text))
        return json_fail(j, "found the module path '%s', expected a relative path inside this folder",
                         quote_text(text.data, text.size, shown));
    char *name = mem_copy_bytes(text.data, text.size);
    m->folder = name ? path_join(folder, name) : NULL;
    mem_free(name);
    if (m->folder) return true;
    error_memory(j->err, j->where);
    return false;
}

// One item of modules.json, already appended to `out` so that an error frees it with the rest.
static bool module_read(struct json *j, const char *folder, struct sentence_module *m) {
    struct json_text key;
    bool has_type = false;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        bool is_type = json_text_is(key, "type"), is_path = json_text_is(key, "path");
        if ((is_type && has_type) || (is_path && m->folder))
            return json_fail(j, "found '%.*s' twice, expected it once", (int)key.size, key.data);
        bool ok = is_type ? module_type(j, m) : is_path ? module_path(j, folder, m) : json_skip(j);
        if (!ok) return false;
        has_type |= is_type;
    }
    if (j->failed) return false;
    if (!has_type || !m->folder)
        return json_fail(j, "found a module without '%s', expected 'type' and 'path'",
                         has_type ? "path" : "type");
    return true;
}

static bool modules_read(struct sentence_folder *out, const char *folder, struct json *j) {
    size_t cap = 0;
    if (!json_array_begin(j)) return false;
    while (json_item(j)) {
        if (!mem_grow((void **)&out->modules, &cap, out->count + 1, sizeof *out->modules)) {
            error_memory(j->err, j->where);
            return false;
        }
        struct sentence_module *m = &out->modules[out->count++];
        *m = (struct sentence_module){.include_prompt = true};
        if (!module_read(j, folder, m)) return false;
        if (out->count <= 2 && m->kind != (out->count == 1 ? MODULE_TRANSFORMER : MODULE_POOLING))
            return json_fail(j, "found a %s module at place %zu, expected %s", module_names[m->kind].name,
                             out->count, out->count == 1 ? "Transformer" : "Pooling");
        if (out->count > 2 && m->kind != MODULE_DENSE && m->kind != MODULE_NORMALIZE)
            return json_fail(j, "found a %s module at place %zu, expected Dense or Normalize",
                             module_names[m->kind].name, out->count);
    }
    if (!j->failed && out->count == 0) return json_fail(j, "found 0 modules, expected Transformer at least");
    return !j->failed && json_end(j);
}

static sabok_status modules_open(struct sentence_folder *out, const char *folder, const char *path,
                                 sabok_error *err) {
    char *text;
    size_t size;
    TRY(file_read(path, MODULES_MAX, &text, &size, err));
    struct arena arena;
    struct json j;
    sabok_error local = {0};
    arena_init(&arena, 0);
    json_init(&j, text, size, path, &arena, &local);
    bool ok = modules_read(out, folder, &j);
    arena_free(&arena);
    mem_free(text);
    if (ok) return SABOK_OK;
    if (err) *err = local;
    return local.code ? local.code : SABOK_EFORMAT;
}

static sabok_status pooling_by_name(struct config *c, const char *const *names, size_t n,
                                    struct sentence_module *m, sabok_error *err) {
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        while (at < COUNT(pooling_names) && strcmp(names[i], pooling_names[at].name) != 0)
            at++;
        char shown[QUOTE_TEXT];
        if (at == COUNT(pooling_names))
            return error_set(err, SABOK_EUNSUPPORTED, config_where(c),
                             "\"pooling_mode\": found '%s', expected cls, max, mean, mean_sqrt_len_tokens, "
                             "weightedmean or lasttoken",
                             quote_text(names[i], strlen(names[i]), shown));
        if (m->pooling >= (unsigned)pooling_names[at].flag)
            return error_set(
                err, SABOK_EUNSUPPORTED, config_where(c),
                "\"pooling_mode\": found '%s' out of order, expected each mode once, in the order "
                "cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken",
                names[i]);
        m->pooling |= (unsigned)pooling_names[at].flag;
    }
    if (n) return SABOK_OK;
    return error_set(err, SABOK_EFORMAT, config_where(c), "\"pooling_mode\": found [], expected a mode");
}

// "pooling_mode", a name or a list of names; else the old booleans; else mean.
static sabok_status pooling_modes(struct config *c, struct sentence_module *m, sabok_error *err) {
    const char *one;
    const char *const *names;
    size_t n = 0;
    if (config_has(c, "pooling_mode")) {
        if (config_strings(c, "pooling_mode", &names, &n, NULL) == SABOK_OK)
            return pooling_by_name(c, names, n, m, err);
        TRY(config_string(c, "pooling_mode", &one, err));
        return pooling_by_name(c, &one, 1, m, err);
    }
    for (size_t i = 0; i < COUNT(pooling_names); i++) {
        bool on = false;
        TRY(config_bool(c, pooling_names[i].key, &on, err));
        if (on) m->pooling |= (unsigned)pooling_names[i].flag;
    }
    if (!m->pooling) m->pooling = POOLING_MEAN;
    return SABOK_OK;
}

static sabok_status pooling_read(struct config *c, struct sentence_module *m, sabok_error *err) {
    TRY(config_u64(c, "word_embedding_dimension", 1, WIDTH_MAX, &m->in_features, err));
    TRY(config_u64(c, "embedding_dimension", 1, WIDTH_MAX, &m->in_features, err));
    TRY(config_bool(c, "include_prompt", &m->include_prompt, err));
    return pooling_modes(c, m, err);
}

// A switch or a name that only one value of is known here.
static sabok_status expect_string(struct config *c, const char *key, const char *expected, sabok_error *err) {
    const char *found = expected;
    char shown[QUOTE_TEXT];
    TRY(config_string(c, key, &found, err));
    if (strcmp(found, expected) == 0) return SABOK_OK;
    return error_set(err, SABOK_EUNSUPPORTED, config_where(c), "\"%s\": found '%s', expected '%s'", key,
                     quote_text(found, strlen(found), shown), expected);
}

static sabok_status dense_activation(struct config *c, struct sentence_module *m, sabok_error *err) {
    const char *name = "torch.nn.modules.activation.Tanh";
    char shown[QUOTE_TEXT];
    TRY(config_string(c, "activation_function", &name, err));
    if (strncmp(name, "torch.nn.", 9) != 0)
        return error_set(err, SABOK_EUNSUPPORTED, config_where(c),
                         "\"activation_function\": found '%s', expected a class of torch.nn",
                         quote_text(name, strlen(name), shown));
    m->activation = mem_copy_string(strrchr(name, '.') + 1);
    if (!m->activation) return error_memory(err, config_where(c));
    for (char *at = m->activation; *at; at++)
        if (*at >= 'A' && *at <= 'Z') *at = (char)(*at - 'A' + 'a');
    return SABOK_OK;
}

static sabok_status dense_weight(const struct sentence_module *m, const char *name, size_t rank,
                                 sabok_error *err) {
    const struct tensor_entry *e = store_find(m->store, name);
    if (!e)
        return error_set(err, SABOK_ENOTFOUND, m->folder, "found no tensor '%s', expected it for Dense",
                         name);
    uint64_t dims[2] = {m->out_features, m->in_features};
    if (e->rank == rank && memcmp(e->dims, dims, rank * sizeof *dims) == 0) return SABOK_OK;
    char found[SHAPE_TEXT] = "more than 4 dimensions", expected[SHAPE_TEXT];
    if (e->rank <= SHAPE_RANK) shape_text(&e->shape, found);
    struct shape shape = {.rank = (int)rank, .dim = {(int64_t)dims[0], (int64_t)dims[1]}};
    return error_set(err, SABOK_ESHAPE, store_path(m->store, e),
                     "tensor '%s': found %s, expected %s by the config", name, found,
                     shape_text(&shape, expected));
}

static sabok_status dense_read(struct config *c, struct sentence_module *m, sabok_error *err) {
    bool residual = false;
    m->bias = true;
    TRY(config_u64(c, "in_features", 1, WIDTH_MAX, &m->in_features, err));
    TRY(config_u64(c, "out_features", 1, WIDTH_MAX, &m->out_features, err));
    TRY(config_bool(c, "bias", &m->bias, err));
    TRY(config_bool(c, "use_residual", &residual, err));
    TRY(expect_string(c, "module_input_name", "sentence_embedding", err));
    TRY(expect_string(c, "module_output_name", "sentence_embedding", err));
    if (!m->in_features || !m->out_features)
        return error_set(err, SABOK_EFORMAT, config_where(c), "found no \"%s\", expected it for Dense",
                         m->in_features ? "out_features" : "in_features");
    if (residual)
        return error_set(err, SABOK_EUNSUPPORTED, config_where(c),
                         "\"use_residual\": found true, expected false");
    TRY(dense_activation(c, m, err));
    sabok_error local = {0};
    m->store = store_open(m->folder, false, &local);
    if (!m->store) {
        if (err) *err = local;
        return local.code ? local.code : SABOK_EIO;
    }
    TRY(dense_weight(m, "linear.weight", 2, err));
    return m->bias ? dense_weight(m, "linear.bias", 1, err) : SABOK_OK;
}

static sabok_status normalize_read(struct config *c, sabok_error *err) {
    TRY(expect_string(c, "module_input_name", "sentence_embedding", err));
    return expect_string(c, "module_output_name", "sentence_embedding", err);
}

static sabok_status transformer_read(struct config *c, struct sentence_folder *out, sabok_error *err) {
    TRY(config_u64(c, "max_seq_length", 1, LENGTH_MAX, &out->max_seq_length, err));
    TRY(config_bool(c, "do_lower_case", &out->lower_case, err));
    const char *task = NULL;
    TRY(config_string(c, "transformer_task", &task, err));
    out->cross_encoder = task && strcmp(task, "sequence-classification") == 0;
    return out->cross_encoder ? SABOK_OK : expect_string(c, "transformer_task", "feature-extraction", err);
}

// The tokenizer's own limit, which stands in for an absent max_seq_length. Files without a limit hold a huge
// number.
static sabok_status tokenizer_limit(struct config *c, struct sentence_folder *out, sabok_error *err) {
    double limit = 0;
    TRY(config_double(c, "model_max_length", 0, 1e300, &limit, err));
    if (limit >= 1 && limit <= (double)LENGTH_MAX) out->max_seq_length = (uint64_t)limit;
    return SABOK_OK;
}

static sabok_status prompts_read(struct config *c, struct sentence_folder *out, sabok_error *err) {
    struct config *prompts = NULL;
    const char *chosen = NULL;
    TRY(config_string(c, "default_prompt_name", &chosen, err));
    TRY(config_object(c, "prompts", &prompts, err));
    size_t n = prompts ? config_count(prompts) : 0;
    out->prompt_names = mem_zalloc((n + 1) * sizeof *out->prompt_names);
    out->prompts = mem_zalloc((n + 1) * sizeof *out->prompts);
    if (!out->prompt_names || !out->prompts) return error_memory(err, config_where(c));
    for (size_t i = 0; i < n; i++) {
        const char *name = config_key(prompts, i), *text = "";
        TRY(config_string(prompts, name, &text, err));
        out->prompt_count = i + 1;
        out->prompt_names[i] = mem_copy_string(name);
        out->prompts[i] = mem_copy_string(text);
        if (!out->prompt_names[i] || !out->prompts[i]) return error_memory(err, config_where(c));
        if (!chosen || strcmp(name, chosen) != 0) continue;
        out->default_prompt = mem_copy_string(text);
        if (!out->default_prompt) return error_memory(err, config_where(c));
    }
    char shown[QUOTE_TEXT];
    if (chosen && !out->default_prompt)
        return error_set(err, SABOK_EFORMAT, config_where(c),
                         "\"default_prompt_name\": found '%s', expected a key of \"prompts\"",
                         quote_text(chosen, strlen(chosen), shown));
    return SABOK_OK;
}

static sabok_status settings_read(struct config *c, struct sentence_folder *out, sabok_error *err) {
    static const char *const known[] = {"cosine", "dot", "euclidean", "manhattan"};
    const char *name = NULL;
    char shown[QUOTE_TEXT];
    TRY(prompts_read(c, out, err));
    TRY(config_string(c, "activation_fn", &name, err));
    if (name && !(out->rank_activation = mem_copy_string(name))) return error_memory(err, config_where(c));
    name = NULL;
    TRY(config_string(c, "similarity_fn_name", &name, err));
    if (!name) return SABOK_OK;
    for (size_t i = 0; i < COUNT(known); i++)
        if (strcmp(name, known[i]) == 0) {
            out->similarity = mem_copy_string(name);
            return out->similarity ? SABOK_OK : error_memory(err, config_where(c));
        }
    return error_set(err, SABOK_EUNSUPPORTED, config_where(c),
                     "\"similarity_fn_name\": found '%s', expected cosine, dot, euclidean or manhattan",
                     quote_text(name, strlen(name), shown));
}

// What to do with one config file of the folder.
struct reading {
    enum { READ_POOLING, READ_DENSE, READ_NORMALIZE, READ_TRANSFORMER, READ_TOKENIZER, READ_SETTINGS } what;
    struct sentence_folder *out;
    struct sentence_module *module;
    bool optional;
    bool found;
};

static sabok_status reading_apply(const struct reading *r, struct config *c, sabok_error *err) {
    switch (r->what) {
    case READ_POOLING:
        return pooling_read(c, r->module, err);
    case READ_DENSE:
        return dense_read(c, r->module, err);
    case READ_NORMALIZE:
        return normalize_read(c, err);
    case READ_TRANSFORMER:
        return transformer_read(c, r->out, err);
    case READ_TOKENIZER:
        return tokenizer_limit(c, r->out, err);
    case READ_SETTINGS:
        return settings_read(c, r->out, err);
    }
    return SABOK_OK;
}

static sabok_status read_file(struct reading *r, const char *folder, const char *name, sabok_error *err) {
    char *path = path_join(folder, name);
    if (!path) return error_memory(err, folder);
    sabok_error local = {0};
    sabok_status status = SABOK_OK;
    r->found = !r->optional || file_exists(path);
    struct config *c = r->found ? config_open(path, &local) : NULL;
    if (c)
        status = reading_apply(r, c, &local);
    else if (r->found)
        status = local.code ? local.code : SABOK_EIO;
    if (status != SABOK_OK && err) *err = local;
    config_close(c);
    mem_free(path);
    return status;
}

// sentence_bert_config.json, under whichever of its names; then the tokenizer's limit when nothing was said.
static sabok_status transformer_files(struct sentence_folder *out, sabok_error *err) {
    static const char *const names[] = {
        "sentence_bert_config.json",      "sentence_roberta_config.json", "sentence_distilbert_config.json",
        "sentence_camembert_config.json", "sentence_albert_config.json",  "sentence_xlm-roberta_config.json",
        "sentence_xlnet_config.json",
    };
    struct reading r = {.what = READ_TRANSFORMER, .out = out, .optional = true};
    for (size_t i = 0; i < COUNT(names) && !r.found; i++)
        TRY(read_file(&r, out->transformer, names[i], err));
    if (out->max_seq_length) return SABOK_OK;
    r = (struct reading){.what = READ_TOKENIZER, .out = out, .optional = true};
    return read_file(&r, out->transformer, "tokenizer_config.json", err);
}

// A folder without modules.json: the transformer alone, and the mean of its tokens.
static sabok_status modules_default(struct sentence_folder *out, const char *folder, sabok_error *err) {
    out->modules = mem_zalloc(2 * sizeof *out->modules);
    if (!out->modules) return error_memory(err, folder);
    out->count = 2;
    for (size_t i = 0; i < 2; i++) {
        out->modules[i] = (struct sentence_module){.kind = i ? MODULE_POOLING : MODULE_TRANSFORMER,
                                                   .pooling = i ? POOLING_MEAN : 0,
                                                   .include_prompt = true};
        out->modules[i].folder = mem_copy_string(folder);
        if (!out->modules[i].folder) return error_memory(err, folder);
    }
    return SABOK_OK;
}

// A cross-encoder is a transformer alone, which makes vectors as one without modules.json does.
static sabok_status modules_fit(struct sentence_folder *out, const char *folder, sabok_error *err) {
    const bool alone = out->count == 1;
    if (!out->sentence_transformers || (!alone && !out->cross_encoder)) return SABOK_OK;
    if (!alone || !out->cross_encoder)
        return error_set(err, SABOK_EFORMAT, folder, "modules.json: found %zu modules, expected %s",
                         out->count,
                         alone ? "Transformer and Pooling at least"
                               : "the Transformer alone, as transformer_task is sequence-classification");
    size_t cap = out->count;
    if (!mem_grow((void **)&out->modules, &cap, 2, sizeof *out->modules)) return error_memory(err, folder);
    out->modules[out->count++] = (struct sentence_module){.kind = MODULE_POOLING,
                                                          .pooling = POOLING_MEAN,
                                                          .include_prompt = true,
                                                          .folder = mem_copy_string(folder)};
    return out->modules[1].folder ? SABOK_OK : error_memory(err, folder);
}

static sabok_status module_files(struct sentence_folder *out, struct sentence_module *m, sabok_error *err) {
    struct reading r = {.out = out, .module = m};
    switch (m->kind) {
    case MODULE_TRANSFORMER:
        return SABOK_OK;
    case MODULE_POOLING:
        r.what = READ_POOLING;
        break;
    case MODULE_DENSE:
        r.what = READ_DENSE;
        break;
    case MODULE_NORMALIZE:
        r.what = READ_NORMALIZE;
        r.optional = true;
        break;
    }
    return read_file(&r, m->folder, "config.json", err);
}

static sabok_status sentence_read(struct sentence_folder *out, const char *folder, sabok_error *err) {
    char *path = path_join(folder, "modules.json");
    if (!path) return error_memory(err, folder);
    out->sentence_transformers = file_exists(path);
    sabok_status status =
        out->sentence_transformers ? modules_open(out, folder, path, err) : modules_default(out, folder, err);
    mem_free(path);
    TRY(status);
    out->transformer = mem_copy_string(out->modules[0].folder);
    if (!out->transformer) return error_memory(err, folder);
    for (size_t i = 0; i < out->count && out->sentence_transformers; i++)
        TRY(module_files(out, &out->modules[i], err));
    TRY(transformer_files(out, err));
    TRY(modules_fit(out, folder, err));
    struct reading r = {.what = READ_SETTINGS, .out = out, .optional = true};
    return read_file(&r, folder, "config_sentence_transformers.json", err);
}

sabok_status sentence_open(struct sentence_folder *out, const char *folder, sabok_error *err) {
    *out = (struct sentence_folder){0};
    if (!file_exists(folder))
        return error_set(err, SABOK_ENOTFOUND, folder, "found nothing here, expected a model folder");
    sabok_status status = sentence_read(out, folder, err);
    if (status != SABOK_OK) sentence_close(out);
    return status;
}

void sentence_close(struct sentence_folder *s) {
    for (size_t i = 0; i < s->count; i++) {
        mem_free(s->modules[i].folder);
        mem_free(s->modules[i].activation);
        store_close(s->modules[i].store);
    }
    for (size_t i = 0; i < s->prompt_count; i++) {
        mem_free(s->prompt_names[i]);
        mem_free(s->prompts[i]);
    }
    mem_free(s->modules);
    mem_free(s->transformer);
    mem_free(s->prompt_names);
    mem_free(s->prompts);
    mem_free(s->default_prompt);
    mem_free(s->similarity);
    mem_free(s->rank_activation);
    *s = (struct sentence_folder){0};
}
