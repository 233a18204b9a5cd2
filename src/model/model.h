// model: families of transformers. A family reads a config, names its weights once (by a visitor), and emits
// its program. It checks nothing that ops check, and knows nothing of formats, threads or devices.
#ifndef SABOK_MODEL_H
#define SABOK_MODEL_H

#include "exec/exec.h"
#include "file/file.h"
#include "text/text.h"

#include <pthread.h>

// ---- weights (block.c)
struct linear_w {
    struct weight w, b; // [out, in], [out]
};
struct norm_w {
    struct weight gain, bias; // [D]
};
// A post-norm encoder layer.
struct layer_w {
    struct linear_w q, k, v, out;
    struct norm_w attention_norm;
    struct linear_w up, down;
    struct norm_w output_norm;
};
struct encoder_w {
    struct weight word, position, type; // [V, E], [positions, E], [types, E]
    struct norm_w norm;
    struct linear_w project;      // E -> D, where a family has it
    struct layer_w *layers;       // [stored_layers]
    struct weight relative;       // [buckets, H]: score bias by distance, MPNet
    struct weight relative_tiles; // [H, 2 * positions - 1], made of it when loaded
};

// What encoders share; the ranges are checked when the config is read.
struct encoder_config {
    uint64_t V, E, D, L, H, F;
    uint64_t stored_layers;    // in the file; layers may be shared
    uint64_t positions, types; // types 0: no segment table
    uint64_t position_first;   // position of a sequence's first token
    bool positions_skip_pad;   // a pad token in the text stays at position_first - 1 and is not counted
                               // (RoBERTa)
    uint64_t pad_id;
    uint64_t groups, inner; // ALBERT: groups of `inner` stored layers
    uint64_t buckets;       // MPNet
    float eps;
    enum act act;
};

// A weight as a family names it. `name` is without the family's prefix.
struct weight_spec {
    const char *name;
    enum weight_role role;
    struct shape shape;
    bool optional; // may be absent from the file; w->name then stays NULL
};
// Loader, initialiser, printer and the rest are visitors. The first failure sticks.
struct visitor {
    sabok_status (*visit)(struct visitor *v, struct weight *w, const struct weight_spec *spec);
    sabok_status status;
};
void visit_weight(struct visitor *v, struct weight *w, enum weight_role role, struct shape shape,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));
void visit_optional(struct visitor *v, struct weight *w, enum weight_role role, struct shape shape,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));
// `name`.weight and `name`.bias
void visit_linear(struct visitor *v, struct linear_w *l, uint64_t out, uint64_t in, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void visit_norm(struct visitor *v, struct norm_w *n, uint64_t D, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// The layer that BERT and its descendants share: x = norm(x + out(attention)); x = norm(x +
// down(act(up(x)))). Visits its sixteen weights by the names of a family; each name is formatted with the
// layer's own prefix.
struct layer_names {
    const char *q, *k, *v, *out, *attention_norm, *up, *down, *output_norm;
};
void visit_layer(struct visitor *v, struct layer_w *l, const struct encoder_config *c, const char *prefix,
                 const struct layer_names *names);
val block_layer(prog *p, const struct layer_w *l, const struct encoder_config *c, val x, val relative);
// x = norm(word[id] + position[i] (+ type[s])), then projected where the family does.
val block_embeddings(prog *p, const struct encoder_w *w, const struct encoder_config *c);
// The L layers; and the embeddings before them.
val block_layers(prog *p, const struct encoder_w *w, const struct encoder_config *c, val x);
val block_encoder(prog *p, const struct encoder_w *w, const struct encoder_config *c);
// The config keys that BERT's descendants share, over the defaults already in *out.
sabok_status config_bert_keys(const struct config *c, struct encoder_config *out, sabok_error *err);
sabok_status config_check(const struct config *c, const struct encoder_config *out, sabok_error *err);

val block_linear(prog *p, const struct linear_w *l, val x);
val block_norm(prog *p, const struct norm_w *n, val x, float eps);

// ---- heads (head.c)
enum head_kind { HEAD_NONE, HEAD_CLASSIFY, HEAD_TAG, HEAD_ANSWER, HEAD_FILL_MASK };
enum head_problem { PROBLEM_UNSAID, PROBLEM_REGRESSION, PROBLEM_SINGLE_LABEL, PROBLEM_MULTI_LABEL };
struct head {
    enum head_kind kind;
    uint64_t labels;
    const char **names;        // [labels]
    enum head_problem problem; // problem_type of config.json
    size_t entailment;         // the label that says so, SIZE_MAX when none does
    enum act rank_act;         // of a cross-encoder's score
    bool tied;                 // the decoder is the word table, unless one is stored
    struct linear_w dense, out;
    struct weight bias; // of a masked language model, beside its decoder
    struct norm_w norm;
};
// How a family calls the weights of its heads.
struct head_names {
    const char *classify_dense, *classify_out;
    enum act classify_act;
    const char *mask_dense, *mask_norm, *mask_decoder;
    const char *mask_bias; // a second name of the decoder's bias; or NULL
    enum act mask_act;     // ACT_NONE: the encoder's own
};
const char *head_name(enum head_kind kind);
// Names of labels live in the arena or with c. rank_activation: of the sentence-transformers folder, or NULL.
sabok_status head_configure(struct head *h, const struct config *c, const char *rank_activation,
                            struct arena *arena, sabok_error *err);
// Whether the weights that may be stored in several ways are there in one of them.
sabok_status head_loaded(const struct head *h, const struct head_names *names, const char *where,
                         sabok_error *err);
void head_weights(struct head *h, const struct head_names *names, const struct encoder_config *c,
                  struct visitor *v);
val head_classify(prog *p, const struct head *h, const struct head_names *names, val x);
val head_fill_mask(prog *p, const struct head *h, const struct head_names *names, const struct encoder_w *w,
                   const struct encoder_config *c, val x);

// ---- families (family.c)
struct model_family {
    const char *model_type; // of config.json
    const char *prefix;     // that checkpoints with a head put before every name
    struct head_names heads;
    sabok_status (*configure)(struct encoder_config *out, const struct config *c, sabok_error *err);
    void (*weights)(struct encoder_w *w, const struct encoder_config *c, struct visitor *v);
    // Last hidden states [T, D].
    val (*forward)(prog *p, const struct encoder_w *w, const struct encoder_config *c);
    // After loading; or NULL.
    sabok_status (*prepare)(struct encoder_w *w, const struct encoder_config *c, sabok_error *err);
};
// By config.json; an unknown model_type is an error that lists those there are.
sabok_status family_find(const struct config *c, const struct model_family **out, sabok_error *err);
// hidden_act and its like; an unknown one is an error that lists those there are.
// By name; `where` is for the error.
sabok_status act_find(const char *name, const char *where, enum act *out, sabok_error *err);
sabok_status config_act(const struct config *c, const char *key, enum act *out, sabok_error *err);

// ---- models
struct dense_w {
    struct linear_w linear;
    enum act act;
    struct tensor_store *store; // borrowed from the sentence folder
};

// What a model can be asked for: hidden states [T, D], vectors [B, width], logits of a sequence [B, labels], of each
// token [T, labels]; and, from given hidden states: of masked tokens [rows, V], and the layers alone [T, D].
enum program_kind {
    PROGRAM_HIDDEN,
    PROGRAM_EMBED,
    PROGRAM_CLASSIFY,
    PROGRAM_TAG,
    PROGRAM_FILL_MASK,
    PROGRAM_LAYERS,
    PROGRAM_COUNT
};

struct session; // session.c

struct sabok_model {
    char *name;
    char *folder;
    const struct model_family *family;
    struct config *config_file;
    struct encoder_config config;
    struct encoder_w weights;
    struct head head;
    struct sentence_folder sentence;
    struct dense_w *dense; // one for each Dense module, in order
    size_t dense_count;
    struct tensor_store *store;
    struct arena names;
    sabok_tokenizer *tokenizer;
    bool segments;   // of the tokenizer's are told to the encoder, else all are 0
    bool segments_4; // the same as of transformers 4, which has the question-answering pipeline
    struct token_specials specials; // where a head needs them
    size_t max_seq_length;
    size_t embed_width;
    uint64_t parameters;
    struct team *team;
    struct pack_set *packs;
    struct precision precision;
    pthread_mutex_t program_lock;
    prog *_Atomic programs[PROGRAM_COUNT]; // fused, packed; made when first asked for
    pthread_mutex_t session_lock;
    struct session *idle;
    size_t idle_count;
    atomic_bool entailment_told; // that no label is called so, by zero-shot classification
};

// Every weight of the model: the encoder's, then the Dense modules'.
void model_weights(struct sabok_model *m, struct visitor *v);
// Emits the program of a kind, with its output in slot 0.
void model_program(prog *p, const struct sabok_model *m, enum program_kind kind);
// The same, fused and with its weights packed, kept by the model. NULL on error; a kind that the model's head does not
// serve is an error that says which head there is.
const prog *model_prog(const struct sabok_model *m, enum program_kind kind, sabok_error *err);
bool program_by_sequence(enum program_kind kind); // the output has a row a sequence, else a row a token
enum program_kind model_main_program(const struct sabok_model *m);       // the one that the folder is for
size_t model_width(const struct sabok_model *m, enum program_kind kind); // of the output's rows

// open.c: an empty model with its locks, team and name; NULL on error. sabok_close frees it.
struct sabok_model *model_new(const char *name, size_t name_length, unsigned threads, bool pin,
                              sabok_error *err);

// load.c: finds each weight in the store (with and without the family's prefix, old and new norm names),
// checks its shape, and leaves f32 values or the stored bytes. Missing weights are listed by name.
sabok_status model_load(struct sabok_model *m, sabok_error *err);
// What the model of a folder needs and the folder lacks, and what it has beyond that: the first few names, quoted, with
// commas between. An error: there is no family or config to compare with.
#define NAMES_LISTED 20
struct model_names {
    struct buf missing, unused;
    size_t missing_count, unused_count;
};
sabok_status model_compare(const char *folder, struct model_names *out, sabok_error *err);          // open.c
sabok_status model_compare_names(struct sabok_model *m, struct model_names *out, sabok_error *err); // load.c
// Random weights for measuring.
sabok_status model_randomize(struct sabok_model *m, uint64_t seed, sabok_error *err);
void model_drop_packed(void *ctx, const struct weight *w); // pack_done_fn over a sabok_model

// session.c: a plan of the model with the arrays of its batch. Taken by one thread at a time from the model's
// pool.
struct session {
    struct plan *plan;
    enum program_kind kind;
    uint32_t *ids, *types, *positions; // [T]
    uint32_t *skip;                    // [B]
    uint32_t *offsets;                 // [B + 1]
    const float *rows;                 // [T, D] of the caller, for programs that start from hidden states
    size_t T, B;                       // filled so far
    struct session *next;
};
struct session *session_take(const struct sabok_model *m, enum program_kind kind, size_t T, size_t B,
                             sabok_error *err);
void session_give(const struct sabok_model *m, struct session *s); // NULL is allowed
void session_pool_free(struct sabok_model *m);
// Appends a sequence; the capacity must hold it. types NULL: all zero. skip: first tokens that pooling leaves out.
struct sequence {
    const uint32_t *ids, *types; // ids NULL: rows only
    uint32_t length, skip;
};
void session_add(const struct sabok_model *m, struct session *s, const struct sequence *sequence);
// Runs what was added; out [rows, width]. team NULL: this thread alone. Leaves the session empty.
sabok_status session_run(const struct sabok_model *m, struct session *s, struct team *team, float *out,
                         sabok_error *err);

#endif
