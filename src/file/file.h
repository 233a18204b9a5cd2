// file: model folders and data files. Every byte read here is data of unknown origin.
#ifndef SABOK_FILE_H
#define SABOK_FILE_H

#include "core/core.h"

// ---- order.c
// compare(ctx, a, b): negative when item a comes before item b, 0 when they are equal.
typedef int order_compare(const void *ctx, uint32_t a, uint32_t b);
// The numbers 0 .. n - 1 in rising order of their items; equal ones keep their order. Free with mem_free.
// NULL when out of memory or n does not fit.
uint32_t *order_new(size_t n, order_compare *compare, const void *ctx);

// ---- quote.c
// Text of a file, made fit for one line of an error message: control bytes and bad UTF-8 become '?', and what
// is longer than the room ends in "...". Returns out.
#define QUOTE_TEXT 100
const char *quote_text(const char *text, size_t n, char out[QUOTE_TEXT]);

// ---- safetensors.c
// The format: https://github.com/huggingface/safetensors; the rules enforced are numbered in docs/formats.md.
struct tensor_entry {
    const char *name; // NUL-ended, lives with the reader (names with a NUL byte are refused)
    enum dtype dtype;
    struct shape shape;   // rank above SHAPE_RANK is kept as rank with `dims` only
    const uint64_t *dims; // [rank], full
    size_t rank;
    const uint8_t *data; // any alignment
    uint64_t bytes;
    uint64_t begin; // byte of the file where data starts
    size_t file;    // which of the store's files
};
struct safetensors; // one mapped file
struct safetensors *safetensors_open(const char *path, bool read, sabok_error *err);
// The same over bytes in memory (borrowed), for tests and fuzzing.
struct safetensors *safetensors_parse(const uint8_t *data, size_t size, const char *where, sabok_error *err);
void safetensors_close(struct safetensors *s);
size_t safetensors_count(const struct safetensors *s);
const struct tensor_entry *safetensors_get(const struct safetensors *s, size_t i); // in order of offset
const struct tensor_entry *safetensors_find(const struct safetensors *s, const char *name);
// Metadata value or NULL.
const char *safetensors_metadata(const struct safetensors *s, const char *key);
// The entry's bytes are not needed in memory any more.
void safetensors_drop(const struct safetensors *s, const struct tensor_entry *e);

// Checks the header of a file of `file_size` bytes by all rules; only the length and the header are read, so
// the data need not be there.
sabok_status safetensors_check(const uint8_t *header, size_t file_size, const char *where, sabok_error *err);

struct tensor_out { // safetensors_writer.c
    const char *name;
    enum dtype dtype;
    const uint64_t *dims;
    size_t rank;
    const void *data;
    bool cast; // floating data of another type, converted while it is written: rounded to nearest even
    enum dtype stored; // that type
};
bool tensor_out_bytes(const struct tensor_out *t, size_t *bytes); // false: they overflow
// Told after some bytes have been written; false stops with SABOK_ECANCELED.
typedef bool safetensors_wrote_fn(void *ctx, size_t bytes);
struct safetensors_out {
    const char *path;
    const struct tensor_out *tensors;
    size_t n;
    const char *const (*metadata)[2];
    size_t metadata_count;
    safetensors_wrote_fn *wrote; // or NULL
    void *ctx;
};
sabok_status safetensors_save(const struct safetensors_out *out, sabok_error *err);
// Writes a file, whole or not at all (temporary name, fsync, rename): tensors in the reference writer's
// order, by falling type rank, then name; header padded so that data starts on a multiple of 8. Names that
// the reader would refuse are refused here.
sabok_status safetensors_write(const char *path, const struct tensor_out *tensors, size_t n,
                               const char *const (*metadata)[2], size_t metadata_count, sabok_error *err);

// ---- torch.c
// A state_dict as torch.save writes it; the rules are in docs/formats.md. Tensors may share bytes. Those whose elements
// do not lie in a row in the file are copies.
struct torch_file;
struct torch_file *torch_open(const char *path, bool read, sabok_error *err);
// The same over bytes in memory (borrowed).
struct torch_file *torch_parse(const uint8_t *data, size_t size, const char *where, sabok_error *err);
void torch_close(struct torch_file *f);
size_t torch_count(const struct torch_file *f);
const struct tensor_entry *torch_get(const struct torch_file *f, size_t i); // in the order of the state_dict
const struct tensor_entry *torch_find(const struct torch_file *f, const char *name);
// The entry's bytes are not needed in memory any more.
void torch_drop(const struct torch_file *f, const struct tensor_entry *e);

// ---- store.c
// All tensors of a model folder: model.safetensors, or the shards that model.safetensors.index.json names; without
// either, pytorch_model.bin, or the shards that pytorch_model.bin.index.json names.
struct tensor_store;
bool store_there(const char *folder); // whether it has weights of any kind
struct tensor_store *store_open(const char *folder, bool read, sabok_error *err);
void store_close(struct tensor_store *s);
size_t store_count(const struct tensor_store *s);
const struct tensor_entry *store_get(const struct tensor_store *s, size_t i);
const struct tensor_entry *store_find(const struct tensor_store *s, const char *name); // NULL if absent
const char *store_path(const struct tensor_store *s, const struct tensor_entry *e);    // the file it is in
// The entry's bytes have been copied elsewhere: its whole pages may leave memory.
void store_drop(const struct tensor_store *s, const struct tensor_entry *e);

// ---- convert.c
// sabok_convert of a folder, whose options are good.
sabok_status convert_folder(const char *folder, const char *out, const sabok_convert_opts *opts,
                            sabok_error *err);

// ---- config.c
// One JSON object, read whole: top-level keys, typed getters that check ranges. Errors name file, key, value
// found, value expected, and the byte.
struct config;
struct config *config_open(const char *path, sabok_error *err);
struct config *config_parse(const char *text, size_t size, const char *where,
                            sabok_error *err); // text is copied
void config_close(struct config *c);
const char *config_where(const struct config *c);
bool config_has(const struct config *c, const char *key); // present and not null
// Each leaves *out alone when the key is absent or null, so the caller's value is the default.
sabok_status config_u64(const struct config *c, const char *key, uint64_t min, uint64_t max, uint64_t *out,
                        sabok_error *err);
sabok_status config_double(const struct config *c, const char *key, double min, double max, double *out,
                           sabok_error *err);
sabok_status config_bool(const struct config *c, const char *key, bool *out, sabok_error *err);
sabok_status config_string(const struct config *c, const char *key, const char **out,
                           sabok_error *err); // lives with c
sabok_status config_object(const struct config *c, const char *key, struct config **out,
                           sabok_error *err); // nested, owned by c
// Keys in file order, for maps such as "prompts" and "id2label".
size_t config_count(const struct config *c);
const char *config_key(const struct config *c, size_t i);
sabok_status config_strings(const struct config *c, const char *key, const char *const **out, size_t *n,
                            sabok_error *err); // ["a", "b"]

// ---- sentence.c
// The sentence-transformers files of a folder: modules.json and what it names. A folder without modules.json
// is a plain transformer with mean pooling.
enum module_kind { MODULE_TRANSFORMER, MODULE_POOLING, MODULE_DENSE, MODULE_NORMALIZE };
enum pooling_flag { // bits, in the order in which several modes are concatenated
    POOLING_CLS = 1,
    POOLING_MAX = 2,
    POOLING_MEAN = 4,
    POOLING_MEAN_SQRT_LEN = 8,
    POOLING_WEIGHTEDMEAN = 16,
    POOLING_LASTTOKEN = 32
};
struct sentence_module {
    enum module_kind kind;
    char *folder;     // full path
    unsigned pooling; // pooling_flag bits
    bool include_prompt;
    uint64_t in_features, out_features; // dense; pooling: in_features is the token width, 0 when not said
    bool bias;                          // dense
    char *activation;           // dense: "tanh", "identity", ... (last part of the Python name, lower case)
    struct tensor_store *store; // dense weights "linear.weight", "linear.bias"
};
struct sentence_folder {
    struct sentence_module *modules;
    size_t count;
    char *transformer;       // folder of the transformer itself
    uint64_t max_seq_length; // of sentence_bert_config.json, else of tokenizer_config.json; 0: not said
    bool lower_case;         // do_lower_case of sentence_bert_config.json
    char **prompt_names, **prompts;
    size_t prompt_count;
    char *default_prompt;       // text, or NULL
    char *similarity;           // "cosine", "dot", "euclidean", "manhattan", or NULL
    bool cross_encoder;         // transformer_task is sequence-classification
    char *rank_activation;      // activation_fn, a Python name; or NULL
    bool sentence_transformers; // modules.json was there
};
sabok_status sentence_open(struct sentence_folder *out, const char *folder, sabok_error *err);
void sentence_close(struct sentence_folder *s);

// ---- hub.c
// The folder of a model: the path itself when something is there or when it can be no name of a hub, else the folder in
// the hub's cache. In memory of its own.
sabok_status hub_find(const char *path, char **folder, sabok_error *err);

// ---- output.c
// Writes n bytes to standard output, all or an error.
sabok_status standard_write(const void *data, size_t n, sabok_error *err);

// ---- data_format.c
// The format that a file's ending names, or `otherwise`.
sabok_format format_of_path(const char *path, sabok_format otherwise);

#endif
