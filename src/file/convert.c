// convert: a model's folder as another one with safetensors weights, in the form of transformers' save_pretrained.
#include "file/file.h"

#include <dirent.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

#define SHARD_BYTES ((uint64_t)5000000000)
#define CONFIG_MAX ((size_t)16 << 20)

// Second names that transformers gives to one tensor, and the name under which it saves it.
static const struct {
    const char *name, *kept;
} tied_names[] = {
    {"cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"},
    {"cls.predictions.decoder.bias", "cls.predictions.bias"},
    {"lm_head.decoder.weight", "roberta.embeddings.word_embeddings.weight"},
    {"lm_head.decoder.weight", "mpnet.embeddings.word_embeddings.weight"},
    {"lm_head.decoder.bias", "lm_head.bias"},
    {"vocab_projector.weight", "distilbert.embeddings.word_embeddings.weight"},
    {"predictions.decoder.weight", "albert.embeddings.word_embeddings.weight"},
    {"predictions.decoder.bias", "predictions.bias"},
    {"generator_lm_head.weight", "electra.embeddings.word_embeddings.weight"},
    {"lm_head.weight", "transformer.wte.weight"},
    {"lm_head.weight", "shared.weight"},
    {"encoder.embed_tokens.weight", "shared.weight"},
    {"decoder.embed_tokens.weight", "shared.weight"},
};

// Files that go along: what is text, but for the indexes of weights.
static const char *const copied_names[] = {"*.json", "*.txt",      "*.model", "*.md",     "*.py",   "*.jinja",
                                           "*.spm",  "*.tiktoken", "*.bpe",   "LICENSE*", "NOTICE*"};
static const char *const left_names[] = {".*", "*.safetensors.index.json", "*.bin.index.json"};

// The folder itself, or that of a module, "2_Dense".
struct part {
    const char *from, *to;      // folders
    struct tensor_store *store; // NULL: no weights
    struct tensor_out *tensors;
    size_t count;
    uint64_t bytes, parameters;
};

struct converting {
    const sabok_convert_opts *opts;
    const char *where;
    enum dtype dtype;
    bool cast;
    struct arena arena;
    struct part *parts;
    size_t part_count, part_cap;
    const char *file; // at work
    uint64_t done, total;
    sabok_error *err;
};

static bool convert_told(void *ctx, size_t bytes) {
    struct converting *c = ctx;
    c->done += bytes;
    return !c->opts->progress || c->opts->progress(c->opts->ctx, c->file, c->done, c->total) == 0;
}

static const char *convert_path(struct converting *c, const char *folder, const char *name) {
    const char *path = arena_printf(&c->arena, "%s/%s", folder, name);
    if (!path) error_memory(c->err, c->where);
    return path;
}

// ---- tensors

static bool floating(enum dtype t) {
    return t == DT_F32 || t == DT_F16 || t == DT_BF16 || t == DT_F64;
}

static sabok_status part_is_tied(struct converting *c, const struct part *p, bool *tied) {
    const char *path = convert_path(c, p->from, "config.json");
    if (!path) return c->err->code;
    *tied = true;
    if (!file_exists(path)) return SABOK_OK;
    struct config *config = config_open(path, c->err);
    const sabok_status status =
        config ? config_bool(config, "tie_word_embeddings", tied, c->err) : c->err->code;
    config_close(config);
    return status;
}

// Whether loading finds the tensor again under the name that is kept.
static bool tensor_is_tied(const struct tensor_store *store, const struct tensor_entry *e) {
    for (size_t i = 0; i < COUNT(tied_names); i++) {
        if (strcmp(e->name, tied_names[i].name) != 0) continue;
        const struct tensor_entry *kept = store_find(store, tied_names[i].kept);
        if (kept && kept->dtype == e->dtype && kept->rank == e->rank && kept->bytes == e->bytes &&
            memcmp(kept->dims, e->dims, e->rank * sizeof *e->dims) == 0 &&
            (kept->data == e->data || memcmp(kept->data, e->data, (size_t)e->bytes) == 0))
            return true;
    }
    return false;
}

static sabok_status part_take(struct converting *c, struct part *p) {
    bool tied = false;
    p->store = store_open(p->from, false, c->err);
    if (!p->store) return c->err->code;
    TRY(part_is_tied(c, p, &tied));
    p->tensors = mem_array(store_count(p->store), sizeof *p->tensors);
    if (!p->tensors) return error_memory(c->err, c->where);
    for (size_t i = 0; i < store_count(p->store); i++) {
        const struct tensor_entry *e = store_get(p->store, i);
        if (tied && tensor_is_tied(p->store, e)) continue;
        struct tensor_out t = {.name = e->name,
                               .dtype = e->dtype,
                               .dims = e->dims,
                               .rank = e->rank,
                               .data = e->data,
                               .stored = e->dtype};
        t.cast = c->cast && floating(e->dtype);
        if (t.cast) t.dtype = c->dtype;
        const size_t items = (size_t)e->bytes / dtype_bytes(e->dtype);
        size_t bytes = 0;
        if (!mul_ok(items, dtype_bytes(t.dtype), &bytes) || !add_ok(p->bytes, bytes, &p->bytes))
            return error_set(c->err, SABOK_EFORMAT, p->from, "the sizes of its tensors do not fit together");
        if (floating(e->dtype)) p->parameters += items;
        p->tensors[p->count++] = t;
    }
    c->total += p->bytes;
    return SABOK_OK;
}

// ---- shards

struct shards {
    size_t *file;    // [tensors] the number of each one's file
    uint32_t *order; // tensors, file by file
    size_t count;
};

static int compare_files(const void *ctx, uint32_t a, uint32_t b) {
    const size_t *file = ctx;
    return (file[a] > file[b]) - (file[a] < file[b]);
}

// As transformers splits: a file takes tensors in their order until the next would be too much. One that is too much for
// any gets a file of its own, numbered in front of the file that is still being filled.
static sabok_status shards_split(struct converting *c, const struct part *p, struct shards *s) {
    const uint64_t most = c->opts->max_shard_size ? c->opts->max_shard_size : SHARD_BYTES;
    const size_t open = SIZE_MAX; // the file being filled, not numbered yet
    uint64_t used = 0;
    size_t begin = 0;
    s->file = mem_array(p->count, sizeof *s->file);
    if (!s->file) return error_memory(c->err, c->where);
    for (size_t i = 0; i <= p->count; i++) {
        size_t bytes = 0;
        if (i < p->count) tensor_out_bytes(&p->tensors[i], &bytes);
        if (i < p->count && bytes > most) {
            s->file[i] = s->count++;
            continue;
        }
        if (i == p->count || used + bytes > most) {
            const size_t number = s->count;
            for (; begin < i; begin++)
                if (s->file[begin] == open) s->file[begin] = number, s->count = number + 1;
            used = 0;
        }
        if (i < p->count) s->file[i] = open;
        used += bytes;
    }
    s->order = order_new(p->count, compare_files, s->file);
    return s->order ? SABOK_OK : error_memory(c->err, c->where);
}

static const char *shard_name(struct converting *c, size_t i, size_t count) {
    const char *name = count <= 1 ? "model.safetensors"
                                  : arena_printf(&c->arena, "model-%05zu-of-%05zu.safetensors", i + 1, count);
    if (!name) error_memory(c->err, c->where);
    return name;
}

static int compare_names(const void *ctx, uint32_t a, uint32_t b) {
    const struct tensor_out *t = ctx;
    return strcmp(t[a].name, t[b].name);
}

static sabok_status bytes_write(const char *path, const void *data, size_t n, sabok_error *err) {
    struct out_file *f = out_open(path, err);
    if (!f) return err->code;
    const sabok_status status = out_write(f, data, n, err);
    if (status == SABOK_OK) return out_close(f, true, err);
    out_close(f, false, NULL);
    return status;
}

// In the layout of Python's json.dumps(indent=2, sort_keys=True).
static sabok_status index_write(struct converting *c, const struct part *p, const struct shards *s) {
    const char *path = convert_path(c, p->to, "model.safetensors.index.json");
    uint32_t *order = order_new(p->count, compare_names, p->tensors);
    struct buf b = {0};
    bool failed = !path || !order;
    buf_printf(&b, "{\n  \"metadata\": {\n    \"total_parameters\": %llu,\n    \"total_size\": %llu\n  },\n",
               (unsigned long long)p->parameters, (unsigned long long)p->bytes);
    buf_printf(&b, "  \"weight_map\": {");
    for (size_t i = 0; i < p->count && !failed; i++) {
        struct json_out name = {.first = true};
        const char *file = shard_name(c, s->file[order[i]], s->count);
        json_out_string(&name, p->tensors[order[i]].name, strlen(p->tensors[order[i]].name));
        failed = name.failed || !file;
        if (!failed) buf_printf(&b, "%s\n    %.*s: \"%s\"", i ? "," : "", (int)name.size, name.data, file);
        json_out_free(&name);
    }
    buf_printf(&b, "\n  }\n}\n");
    const sabok_status status =
        failed || b.failed ? error_memory(c->err, c->where) : bytes_write(path, b.data, b.size, c->err);
    buf_free(&b);
    mem_free(order);
    return status;
}

static sabok_status shard_write(struct converting *c, const struct part *p, const char *name,
                                const struct tensor_out *tensors, size_t n) {
    static const char *const metadata[1][2] = {{"format", "pt"}};
    const char *path = name ? convert_path(c, p->to, name) : NULL;
    if (!path) return c->err->code;
    c->file = name;
    const struct safetensors_out out = {.path = path,
                                        .tensors = tensors,
                                        .n = n,
                                        .metadata = metadata,
                                        .metadata_count = COUNT(metadata),
                                        .wrote = convert_told,
                                        .ctx = c};
    return safetensors_save(&out, c->err);
}

static sabok_status part_write(struct converting *c, const struct part *p) {
    struct shards s = {0};
    struct tensor_out *tensors = mem_array(p->count, sizeof *tensors);
    sabok_status status = tensors ? shards_split(c, p, &s) : error_memory(c->err, c->where);
    size_t i = 0, file = 0;
    do {
        size_t n = 0;
        for (; status == SABOK_OK && i < p->count && s.file[s.order[i]] == file; i++)
            tensors[n++] = p->tensors[s.order[i]];
        if (status == SABOK_OK) status = shard_write(c, p, shard_name(c, file, s.count), tensors, n);
    } while (status == SABOK_OK && ++file < s.count);
    if (status == SABOK_OK && s.count > 1) status = index_write(c, p, &s);
    mem_free(tensors);
    mem_free(s.file);
    mem_free(s.order);
    return status;
}

// ---- the other files

static bool is_copied(const char *name) {
    for (size_t i = 0; i < COUNT(left_names); i++)
        if (fnmatch(left_names[i], name, 0) == 0) return false;
    for (size_t i = 0; i < COUNT(copied_names); i++)
        if (fnmatch(copied_names[i], name, 0) == 0) return true;
    return false;
}

// config.json with the type that the weights now have, under the key of today or the older one; all else stays.
static sabok_status config_retype(struct converting *c, const char *text, size_t size, const char *where,
                                  struct buf *out) {
    static const char *const names[] = {[DT_F32] = "float32", [DT_F16] = "float16", [DT_BF16] = "bfloat16"};
    struct json j;
    struct json_text key, value;
    size_t kept = 0;
    json_init(&j, text, size, where, &c->arena, c->err);
    bool ok = json_object_begin(&j);
    while (ok && json_key(&j, &key)) {
        const bool type = json_text_is(key, "dtype") || json_text_is(key, "torch_dtype");
        if (!type || json_peek(&j) != JSON_STRING) {
            ok = json_skip(&j);
            continue;
        }
        buf_put(out, text + kept, j.at - kept);
        buf_printf(out, "\"%s\"", names[c->dtype]);
        ok = json_string(&j, &value);
        kept = j.at;
    }
    if (!ok || j.failed || !json_end(&j)) return c->err->code;
    buf_put(out, text + kept, size - kept);
    return out->failed ? error_memory(c->err, c->where) : SABOK_OK;
}

static sabok_status config_write(struct converting *c, const char *from, const char *to) {
    char *text = NULL;
    size_t size = 0;
    struct buf b = {0};
    TRY(file_read(from, CONFIG_MAX, &text, &size, c->err));
    sabok_status status = config_retype(c, text, size, from, &b);
    if (status == SABOK_OK) status = bytes_write(to, b.data, b.size, c->err);
    buf_free(&b);
    mem_free(text);
    return status;
}

static sabok_status file_copy(struct converting *c, const struct part *p, const char *name) {
    const char *from = convert_path(c, p->from, name), *to = from ? convert_path(c, p->to, name) : NULL;
    if (!to) return c->err->code;
    if (c->cast && p->store && strcmp(name, "config.json") == 0) return config_write(c, from, to);
    struct file_map map;
    TRY(map_open(&map, from, false, c->err));
    const sabok_status status = bytes_write(to, map.data, map.size, c->err);
    map_close(&map);
    return status;
}

static sabok_status part_copy(struct converting *c, const struct part *p) {
    DIR *dir = opendir(p->from);
    if (!dir) return error_errno(c->err, p->from, "cannot read");
    sabok_status status = SABOK_OK;
    for (struct dirent *e; status == SABOK_OK && (e = readdir(dir));)
        if (is_copied(e->d_name)) status = file_copy(c, p, e->d_name);
    closedir(dir);
    return status;
}

// ---- folders

static sabok_status part_add(struct converting *c, const char *from, const char *to) {
    if (!mem_grow((void **)&c->parts, &c->part_cap, c->part_count + 1, sizeof *c->parts))
        return error_memory(c->err, c->where);
    c->parts[c->part_count++] = (struct part){.from = from, .to = to};
    return SABOK_OK;
}

// The folder of a module, if the name is one's, made anew.
static sabok_status part_add_module(struct converting *c, const char *folder, const char *out,
                                    const char *name) {
    const size_t digits = strspn(name, "0123456789");
    struct stat st;
    if (digits == 0 || name[digits] != '_') return SABOK_OK;
    const char *from = convert_path(c, folder, name), *to = from ? convert_path(c, out, name) : NULL;
    if (!to) return c->err->code;
    if (stat(from, &st) != 0 || !S_ISDIR(st.st_mode)) return SABOK_OK;
    if (mkdir(to, 0777) != 0) return error_errno(c->err, to, "cannot create");
    return part_add(c, from, to);
}

static sabok_status parts_find(struct converting *c, const char *folder, const char *out) {
    TRY(part_add(c, folder, out));
    DIR *dir = opendir(folder);
    if (!dir) return error_errno(c->err, folder, "cannot read");
    sabok_status status = SABOK_OK;
    for (struct dirent *e; status == SABOK_OK && (e = readdir(dir));)
        status = part_add_module(c, folder, out, e->d_name);
    closedir(dir);
    return status;
}

static sabok_status convert_all(struct converting *c, const char *folder, const char *out) {
    size_t with_weights = 0;
    TRY(parts_find(c, folder, out));
    for (size_t i = 0; i < c->part_count; i++)
        if (store_there(c->parts[i].from)) {
            TRY(part_take(c, &c->parts[i]));
            with_weights++;
        }
    if (with_weights == 0) return part_take(c, &c->parts[0]); // which says what was looked for
    for (size_t i = 0; i < c->part_count; i++) {
        if (c->parts[i].store) TRY(part_write(c, &c->parts[i]));
        TRY(part_copy(c, &c->parts[i]));
    }
    return SABOK_OK;
}

sabok_status convert_folder(const char *folder, const char *out, const sabok_convert_opts *opts,
                            sabok_error *err) {
    struct converting c = {
        .opts = opts, .where = out, .cast = opts->dtype != SABOK_DTYPE_DEFAULT, .err = err};
    c.dtype = opts->dtype == SABOK_FLOAT16 ? DT_F16 : opts->dtype == SABOK_BFLOAT16 ? DT_BF16 : DT_F32;
    struct out_folder *f = out_folder_open(out, opts->overwrite, err);
    if (!f) return err->code;
    arena_init(&c.arena, 0);
    const sabok_status status = convert_all(&c, folder, out_folder_path(f));
    for (size_t i = 0; i < c.part_count; i++) {
        store_close(c.parts[i].store);
        mem_free(c.parts[i].tensors);
    }
    mem_free(c.parts);
    arena_free(&c.arena);
    if (status == SABOK_OK) return out_folder_close(f, true, err);
    out_folder_close(f, false, NULL);
    return status;
}
