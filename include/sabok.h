// sabok: runs Hugging Face transformers on ordinary CPUs.
//
// This header is the whole public API. What holds for all of it, unless a declaration says otherwise:
//   * Shapes are written [rows, columns], row-major, with the letters B sequences, T tokens, D model width, H heads, F
//     feed-forward width, V vocabulary, L layers. Numbers are float32; sizes are counted in items, not bytes.
//   * A function that can fail returns a sabok_status (0 is success) or NULL, and fills *err when err is not NULL.
//     What it was to write is then unspecified.
//   * What is passed in is the caller's, and is borrowed for the call; results go to the caller's memory. A handle is
//     freed by its close or free, which takes NULL, too. Strings and arrays inside a handle or an info struct live as
//     long as the handle.
//   * Options structs may be NULL; a zeroed struct is the default. Other pointers may be NULL only where that is said.
//   * Text is UTF-8. Where an options struct carries `text_lengths`, text i is text_lengths[i] bytes long and may
//     hold NUL bytes; otherwise it ends at its first NUL. Invalid UTF-8 is read as U+FFFD, one for each maximal
//     invalid subsequence (the rule of the Unicode standard, section 3.9).
//   * Same input, same bits: a result never depends on the batch around it, its place in it, or the threads.
//   * Handles marked "shared" may be used from many threads at once, but closed only when no call on them is running.
//     All others belong to one thread at a time. Functions without a handle may be called from any thread.
//   * A caller's function is called on the thread that made the call, and must not close the handle that calls it.
#ifndef SABOK_H
#define SABOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SABOK_API __attribute__((visibility("default")))
#else
#define SABOK_API
#endif

#define SABOK_VERSION_MAJOR 0
#define SABOK_VERSION_MINOR 1
#define SABOK_VERSION_PATCH 0

// The version of the library, which may be newer than this header's: "0.1.0"; static storage.
SABOK_API const char *sabok_version(void);

// ---- errors
typedef enum sabok_status {
    SABOK_OK = 0,
    SABOK_EINVAL = -1,       // a bad argument of the caller
    SABOK_ENOTFOUND = -2,    // a file, tensor or name that is not there
    SABOK_EIO = -3,          // the operating system refused a read or a write
    SABOK_EFORMAT = -4,      // bytes of a file or a text that break its format
    SABOK_ESHAPE = -5,       // shapes that do not fit together
    SABOK_EUNSUPPORTED = -6, // well-formed, but not something sabok does
    SABOK_ENOMEM = -7,       // out of memory
    SABOK_ENUMERIC = -8,     // a NaN or an infinity (only under SABOK_CHECK=1)
    SABOK_ECANCELED = -9,    // stopped by the caller's callback
} sabok_status;

#define SABOK_NO_OFFSET UINT64_MAX

typedef struct sabok_error {
    sabok_status code;
    uint64_t offset;   // byte offset in `where`, or SABOK_NO_OFFSET
    char where[256];   // the file, tensor or scope at fault; may be empty
    char message[768]; // one line, complete: "where: byte N: what was found, what was expected"
} sabok_error;
// The name of a status, "SABOK_EFORMAT"; static storage, never NULL.
SABOK_API const char *sabok_status_name(sabok_status code);
typedef enum sabok_log_level {
    SABOK_LOG_ERROR,
    SABOK_LOG_WARNING,
    SABOK_LOG_INFO,
    SABOK_LOG_DEBUG,
} sabok_log_level;
// Receives one line, without its end, on any thread of the library's.
typedef void sabok_log_fn(void *ctx, sabok_log_level level, const char *message);
// Sends the library's messages, up to the level `most_detailed`, to `fn` (NULL: nowhere, the default). Process-wide;
// call it before other threads use the library. ctx must live as long as it is set.
SABOK_API void sabok_log_set(sabok_log_fn *fn, void *ctx, sabok_log_level most_detailed);

// Receives printed text piece by piece; returns 0 to go on, anything else to stop with SABOK_ECANCELED.
typedef int sabok_write_fn(void *ctx, const char *text, size_t length);

// ---- models
typedef struct sabok_model sabok_model; // shared

// How linear weights are kept, and computed where the CPU can. Activations between layers are float32.
typedef enum sabok_dtype {
    SABOK_DTYPE_DEFAULT = 0, // float32
    SABOK_FLOAT32,
    SABOK_FLOAT16,    // weights stored narrow, float32 arithmetic
    SABOK_BFLOAT16,   // bfloat16 arithmetic where the CPU has it, else weights stored narrow
    SABOK_INT8,       // weights by output channel, activations by token, exact integer sums
    SABOK_DTYPE_AUTO, // bfloat16 where the CPU computes it, else float32; sabok_model_print says which
} sabok_dtype;
typedef struct sabok_open_opts {
    sabok_dtype dtype;
    unsigned threads;   // 0: all CPUs this process may use (affinity and cgroup limits honoured)
    bool pin;           // pin each thread to a CPU
    bool no_mmap;       // read the weights instead of mapping the file
    const char *config; // with path NULL: random weights of this shape ("minilm", "bert-base", "bert-large",
                        // or a config.json), for measuring; such a model has no tokenizer
    uint64_t seed;      // of those random weights
} sabok_open_opts;
// Opens a model folder (Hugging Face or sentence-transformers layout), or with the name of a model on a hub,
// "ORG/NAME" or "NAME", either with "@REVISION", what the hub's cache has of it (sabok_pull); a folder of that name
// comes first. NULL on error. No network is used.
SABOK_API sabok_model *sabok_open(const char *path, const sabok_open_opts *opts, sabok_error *err);
SABOK_API void sabok_close(sabok_model *model); // NULL is allowed

typedef struct sabok_model_info {
    const char *model_type;      // "bert"; lives as long as the model, as all strings here
    const char *name;            // the last part of the path it was opened by, or the config's name
    size_t hidden_size;          // D
    size_t num_layers;           // L
    size_t num_heads;            // H
    size_t vocab_size;           // V, rows of the embedding table
    size_t max_seq_length;       // tokens a text may have, specials included
    size_t embed_width;          // width of sabok_embed's rows, before truncate_dim
    uint64_t parameters;         // stored weights, counted once
    double flops_per_token;      // multiply-adds x 2 of the linear layers, a token
    double flops_per_token_pair; // multiply-adds x 2 of attention, for each (query, key) pair of a sequence
    unsigned threads;            // of the model's team, the caller's own included
    const char *isa;             // "avx512", "avx2", "c": the widest in use for float32
    bool has_tokenizer;
    size_t num_labels;         // that sabok_classify or sabok_tag can give; 0: the model has no such head
    const char *const *labels; // [num_labels]: names by id
    bool multi_label;          // of sequence classification: a text may have several labels, or none
    bool regression;           // or its outputs are numbers, not labels
} sabok_model_info;
// Fills *info. Cannot fail; flops are 0 where memory ran out.
SABOK_API void sabok_model_get_info(const sabok_model *model, sabok_model_info *info);
typedef enum sabok_print {
    SABOK_PRINT_SUMMARY, // what the model is
    SABOK_PRINT_PROGRAM, // every record after fusing: shapes, bytes, kernel bound
    SABOK_PRINT_WEIGHTS, // every weight: name, shape, stored and packed bytes
} sabok_print;
typedef struct sabok_print_opts {
    bool json;        // JSON; lines of text otherwise
    size_t tokens;    // capacity of the program printed; 0: one sequence of max_seq_length
    size_t sequences; // 0: 1
} sabok_print_opts;
// Describes the model through `write`, which receives ctx.
SABOK_API sabok_status sabok_model_print(const sabok_model *model, sabok_print what,
                                         const sabok_print_opts *opts, sabok_write_fn *write, void *ctx,
                                         sabok_error *err);

// ---- models of a hub
// Told of a download: bytes done, those in the cache already included, and of how many; 0: not known. `file` is NULL
// before the first. Called at least once a second; nonzero stops with SABOK_ECANCELED.
typedef int sabok_pull_fn(void *ctx, const char *file, uint64_t done, uint64_t total);
typedef struct sabok_pull_opts {
    const char *revision;       // a branch, a tag or a commit; NULL: what the id says after '@', else "main"
    const char *local_dir;      // put plain files here instead of the cache
    const char *const *include; // [include_count] patterns ("onnx/*") of files wanted; none: what sabok reads
    size_t include_count;
    const char *const *exclude; // [exclude_count] patterns of files not wanted
    size_t exclude_count;
    sabok_pull_fn *progress; // or NULL
    void *ctx;
} sabok_pull_opts;
// Fetches a model, "ORG/NAME" or "NAME", either with "@REVISION", from a hub into the cache that huggingface_hub uses
// too, and returns its folder; free with sabok_text_free. NULL on error. What is there already is not fetched again, a
// download that was cut goes on where it ended, and several at once are safe. Loads libcurl; docs/formats.md lists the
// variables of the environment that count.
SABOK_API char *sabok_pull(const char *id, const sabok_pull_opts *opts, sabok_error *err);

// ---- other forms of a model
typedef struct sabok_convert_opts {
    sabok_dtype dtype;       // of floating tensors: DEFAULT (as they are), FLOAT32, FLOAT16 or BFLOAT16
    uint64_t max_shard_size; // bytes of tensors a file; 0: 5 * 10^9. A larger tensor has a file of its own
    bool overwrite;          // replace the model's folder that is there
    sabok_pull_fn *progress; // bytes written and of how many
    void *ctx;
} sabok_convert_opts;
// Writes a model, named as for sabok_open, as a new folder: safetensors weights, configs and tokenizer files. The folder
// appears under its name when it is complete; after an error there is nothing. Warnings go to the log: weights that the
// model needs and does not have, tensors that it has and does not use (they are kept), values that a narrower type turns
// infinite. opts NULL: defaults. SABOK_EINVAL when `out` is there and is not to be replaced.
SABOK_API sabok_status sabok_convert(const char *path, const char *out, const sabok_convert_opts *opts,
                                     sabok_error *err);

// ---- embedding
typedef struct sabok_embed_opts {
    const size_t *text_lengths; // [n], or NULL
    const char *prompt;         // put before every text; NULL: prompt_name, else the model's default prompt
    const char *prompt_name;    // a key of "prompts" in config_sentence_transformers.json
    size_t truncate_dim;        // keep the first components only; 0: all
    size_t max_seq_length;      // 0: the model's own
    bool normalize;      // divide each vector by its length (the model's own Normalize module runs anyway)
    size_t batch_tokens; // most tokens computed together; 0: chosen for the machine
} sabok_embed_opts;
// The width of a row of sabok_embed with no truncate_dim.
SABOK_API size_t sabok_embed_width(const sabok_model *model);
// Embeds n texts into out [n, width], width = truncate_dim when given, else sabok_embed_width. Longer texts are cut at
// max_seq_length. A truncate_dim or max_seq_length that the model does not have is SABOK_EINVAL, an unknown prompt_name
// SABOK_ENOTFOUND, a model without a tokenizer SABOK_EINVAL.
SABOK_API sabok_status sabok_embed(const sabok_model *model, const char *const *texts, size_t n,
                                   const sabok_embed_opts *opts, float *out, sabok_error *err);

// Receives the vectors of one text's tokens: hidden [length, D], borrowed for the call. Nonzero stops with
// SABOK_ECANCELED.
typedef int sabok_tokens_fn(void *ctx, size_t text, const float *hidden, size_t length);
// The last hidden states of every token, specials included, text by text in order (feature-extraction). truncate_dim
// and normalize do not apply.
SABOK_API sabok_status sabok_embed_tokens(const sabok_model *model, const char *const *texts, size_t n,
                                          const sabok_embed_opts *opts, sabok_tokens_fn *fn, void *ctx,
                                          sabok_error *err);
// The encoder alone, over token ids: B sequences concatenated without padding; sequence b is
// ids[offsets[b] .. offsets[b + 1]), offsets [B + 1], offsets[0] = 0, T = offsets[B]. type_ids [T] or NULL (all zero).
// hidden [T, D]. Ids out of range, falling offsets and a sequence longer than the model's positions are SABOK_EINVAL.
SABOK_API sabok_status sabok_forward(const sabok_model *model, const uint32_t *ids, const uint32_t *type_ids,
                                     const size_t *offsets, size_t B, float *hidden, sabok_error *err);

// ---- tasks of models with a head
// Results come text by text, in order, through a function of the caller's; they are borrowed for the call, and nonzero
// stops with SABOK_ECANCELED. A model without the head that a task needs is SABOK_EUNSUPPORTED; with n 0 that is all
// that is looked at.

typedef struct sabok_text_opts {
    const size_t *text_lengths; // [n], or NULL
    const char *const *pairs;   // [n]: second texts, read together with the first; NULL: single texts
    const size_t *pair_lengths; // [n], or NULL
    bool truncate;     // cut a text that has too many tokens; without it, one that the model cannot hold is
                       // SABOK_EINVAL
    size_t max_length; // tokens to cut at, specials included; 0: the model's own. Given, it implies truncate
    size_t batch_tokens;   // most tokens computed together; 0: chosen for the machine
    size_t *text_at_fault; // receives the number of the text that an error is about, else SIZE_MAX; or NULL
} sabok_text_opts;
typedef struct sabok_label {
    const char *name; // of id2label in config.json; lives as long as the model
    size_t id;
    float score;
} sabok_label;

// What turns logits to scores.
typedef enum sabok_function {
    SABOK_FUNCTION_DEFAULT = 0, // none of a regression, sigmoid of one label or of many at once, else softmax
    SABOK_FUNCTION_SIGMOID,
    SABOK_FUNCTION_SOFTMAX,
    SABOK_FUNCTION_NONE,
} sabok_function;
typedef struct sabok_classify_opts {
    sabok_text_opts input;
    sabok_function function;
    size_t top_k; // most labels of a text; 0: all
} sabok_classify_opts;

// Receives the labels of one text, the best first; equal scores in the order of ids.
typedef int sabok_labels_fn(void *ctx, size_t text, const sabok_label *labels, size_t count);
// text-classification. A text whose pair is empty is read alone, as in transformers.
SABOK_API sabok_status sabok_classify(const sabok_model *model, const char *const *texts, size_t n,
                                      const sabok_classify_opts *opts, sabok_labels_fn *fn, void *ctx,
                                      sabok_error *err);
typedef struct sabok_span {
    size_t begin, end; // half-open
} sabok_span;

// What becomes of the labels of tokens: each stands for itself; neighbours of one tag are grouped; and before that the
// tokens of a word get one label, of its first token, of the mean of its scores, or of its best token.
typedef enum sabok_aggregation {
    SABOK_AGGREGATE_NONE = 0,
    SABOK_AGGREGATE_SIMPLE,
    SABOK_AGGREGATE_FIRST,
    SABOK_AGGREGATE_AVERAGE,
    SABOK_AGGREGATE_MAX,
} sabok_aggregation;
typedef struct sabok_entity {
    const char *label; // "B-PER"; of a group "PER"
    float score;       // of a group: the mean
    const char *word;
    size_t index;    // of the token, specials counted; 0 of a group
    sabok_span span; // in characters (code points) of the text
} sabok_entity;
typedef struct sabok_tag_opts {
    sabok_text_opts input; // pairs are SABOK_EINVAL
    sabok_aggregation aggregation;
    const char *const *ignore_labels; // [ignore_count]: entities that are left out; NULL: "O"
    size_t ignore_count;
    // A text of any length, in windows of max_length tokens of which two neighbours share `stride`, fewer than a window
    // holds. Where entities of windows overlap, the longest stays. SABOK_EINVAL with SABOK_AGGREGATE_NONE.
    bool windows;
    size_t stride;
} sabok_tag_opts;

// Receives the entities of one text, in order.
typedef int sabok_entities_fn(void *ctx, size_t text, const sabok_entity *entities, size_t count);
// token-classification. Special tokens have no entity.
SABOK_API sabok_status sabok_tag(const sabok_model *model, const char *const *texts, size_t n,
                                 const sabok_tag_opts *opts, sabok_entities_fn *fn, void *ctx,
                                 sabok_error *err);
typedef struct sabok_zero_shot_opts {
    sabok_text_opts input;               // truncate is implied, pairs are SABOK_EINVAL
    const char *const *candidate_labels; // [candidate_count], one at least
    size_t candidate_count;
    const char *hypothesis_template; // a label stands in place of {}; NULL: "This example is {}."
    bool multi_label;                // each label is scored for itself, else the scores sum to 1
} sabok_zero_shot_opts;
// zero-shot-classification, by a classifier of natural language inference: a text is read with the hypothesis of each
// candidate label, and its score is that of the label whose name in label2id begins with "entail" (else, with a warning, of the
// last). fn receives all candidates as labels, the best first; id is the candidate's number, and of equal scores the later comes
// first, as in transformers. A text is cut so that its hypothesis stays whole; a hypothesis too long for the model and a template
// without a place for the label are SABOK_EINVAL.
SABOK_API sabok_status sabok_zero_shot(const sabok_model *model, const char *const *texts, size_t n,
                                       const sabok_zero_shot_opts *opts, sabok_labels_fn *fn, void *ctx,
                                       sabok_error *err);
typedef struct sabok_ranked {
    size_t corpus_id; // the number of the text
    float score;
} sabok_ranked;
// text-ranking, by a cross-encoder (a classifier of one label, else SABOK_EUNSUPPORTED): the query is read with each of
// n texts; out [n], the best first, equal scores in the order of texts. opts: truncate is implied, as in
// sentence-transformers, pairs must be NULL. The score is the sigmoid of the model's output, unless its config names
// another activation.
SABOK_API sabok_status sabok_rerank(const sabok_model *model, const char *query, const char *const *texts,
                                    size_t n, const sabok_text_opts *opts, sabok_ranked *out,
                                    sabok_error *err);
typedef struct sabok_fill {
    float score; // over the whole vocabulary
    uint32_t token;
    const char *token_str; // NUL-ended, token_str_length bytes; so is the sequence
    size_t token_str_length;
    const char *sequence; // the text with the token in the mask's place
    size_t sequence_length;
} sabok_fill;
typedef struct sabok_fill_mask_opts {
    sabok_text_opts input;      // pairs are SABOK_EINVAL
    size_t top_k;               // tokens of each mask; 0: 5. At most as many as there are
    const char *const *targets; // [target_count]: choose among these tokens only; NULL: among all
    size_t target_count;
} sabok_fill_mask_opts;

// Receives what fits the masks of one text: fills [masks, count], of each mask the best first; equal scores in the order
// of ids. The sequences of a text with several masks show the others, and the special tokens.
typedef int sabok_fills_fn(void *ctx, size_t text, const sabok_fill *fills, size_t masks, size_t count);
// fill-mask. A text without a mask is SABOK_EINVAL. A target that is no token stands for the first of the tokens it is
// made of, with a warning; one made of none is left out, and when none is left that is SABOK_EINVAL.
SABOK_API sabok_status sabok_fill_mask(const sabok_model *model, const char *const *texts, size_t n,
                                       const sabok_fill_mask_opts *opts, sabok_fills_fn *fn, void *ctx,
                                       sabok_error *err);
typedef struct sabok_answered {
    double score;    // of all places that read so, letter case apart, in all windows
    sabok_span span; // in characters (code points) of the context, the first such place; (0, 0) of no answer
    const char *answer; // NUL-ended, answer_length bytes; empty of no answer
    size_t answer_length;
} sabok_answered;
typedef struct sabok_answer_opts {
    const size_t *question_lengths, *context_lengths; // [n], or NULL: as text_lengths

    size_t top_k;          // most answers of a question; 0: 1
    size_t max_answer_len; // most tokens of one; 0: 15
    size_t max_seq_len; // of a window: question, part of a context, specials; 0: 384, or what the model holds
    size_t doc_stride;  // tokens that two windows share; 0: 128, at most half of max_seq_len
    bool handle_impossible_answer; // no answer is one, too
    bool no_align_to_words;        // answers may begin and end inside words
    size_t batch_tokens;           // as in sabok_text_opts
    size_t *text_at_fault;         // as there: the number of the pair
} sabok_answer_opts;

// Receives the answers to one question, the best first.
typedef int sabok_answers_fn(void *ctx, size_t pair, const sabok_answered *answers, size_t count);
// question-answering: the parts of contexts [n] that answer questions [n]. A context that is too long is read in windows. An
// empty question or context is SABOK_EINVAL, and so is a question that leaves no more than doc_stride tokens of a window
// to a context that is cut. Questions are not cut.
SABOK_API sabok_status sabok_answer(const sabok_model *model, const char *const *questions,
                                    const char *const *contexts, size_t n, const sabok_answer_opts *opts,
                                    sabok_answers_fn *fn, void *ctx, sabok_error *err);

// ---- the encoder as one call
// L post-norm layers (BERT's) over raw pointers, without any file: x = norm(x + out(attention(q(x), k(x), v(x)))),
// x = norm(x + down(act(up(x)))). Any width, depth, head count, and any batch and lengths from call to call.

typedef struct sabok_encoder sabok_encoder;       // shared
typedef struct sabok_layer_weights {              // f32, row-major; biases may be NULL
    const float *query, *query_bias;              // [D, D], [D]
    const float *key, *key_bias;                  // [D, D], [D]
    const float *value, *value_bias;              // [D, D], [D]
    const float *output, *output_bias;            // [D, D], [D]
    const float *attention_gain, *attention_bias; // [D], [D]: the norm after attention
    const float *up, *up_bias;                    // [F, D], [F]
    const float *down, *down_bias;                // [D, F], [D]
    const float *output_gain, *output_norm_bias;  // [D], [D]: the norm after the feed-forward part
} sabok_layer_weights;
typedef struct sabok_encoder_opts {
    size_t num_layers, hidden_size, num_heads, intermediate_size; // L, D, H, F
    double layer_norm_eps;                                        // 0: 1e-12
    const char *hidden_act;                                       // as in config.json; NULL: "gelu"
    unsigned threads;                                             // 0: all CPUs this process may use
    bool pin;
} sabok_encoder_opts;
// Copies what it needs of layers [num_layers]. Sizes that do not fit and NULL matrices are SABOK_EINVAL.
SABOK_API sabok_encoder *sabok_encoder_new(const sabok_encoder_opts *opts, const sabok_layer_weights *layers,
                                           sabok_error *err);
SABOK_API void sabok_encoder_free(sabok_encoder *encoder); // NULL is allowed

// A ragged batch: sequence b is rows [offsets[b], offsets[b + 1]) of in [T, D], offsets [B + 1], offsets[0] = 0,
// T = offsets[B]. out [T, D] must not overlap in. Falling offsets are SABOK_EINVAL.
SABOK_API sabok_status sabok_encoder_run(const sabok_encoder *encoder, const float *in, const size_t *offsets,
                                         size_t B, float *out, sabok_error *err);
// A padded batch: in and out [B, S, D], S the padded length; mask [B, S], nonzero where there is a token (NULL:
// everywhere). Rows without a token are neither computed nor seen by others; they come out as zeros. out may be in.
SABOK_API sabok_status sabok_encoder_run_padded(const sabok_encoder *encoder, const float *in,
                                                const uint8_t *mask, size_t B, size_t S, float *out,
                                                sabok_error *err);

// ---- similarity
typedef enum sabok_similarity_fn {
    SABOK_COSINE = 0,
    SABOK_DOT,
    SABOK_EUCLIDEAN,
    SABOK_MANHATTAN,
} sabok_similarity_fn;
// out [na, nb]: similarity of every row of a [na, width] with every row of b [nb, width]; the two distances are
// negated, so larger is always nearer, as in sentence-transformers. Cannot fail; runs on the calling thread.
SABOK_API void sabok_similarity(const float *a, size_t na, const float *b, size_t nb, size_t width,
                                sabok_similarity_fn fn, float *out);

// ---- semantic search
typedef struct sabok_search sabok_search; // used by one thread at a time
typedef struct sabok_search_opts {
    sabok_embed_opts
        embed; // of queries and texts; text_lengths is of the queries. With neither prompt nor prompt_name
               // the model's own prompts "query" and "document" are used, where it has them
    sabok_similarity_fn similarity;
    size_t top_k; // most hits of a query; 0: 10
} sabok_search_opts;
typedef struct sabok_hit {
    size_t corpus_id; // the number of the text, of all that were added
    float score;
} sabok_hit;
// Embeds n queries, for a search through a corpus of any size: its memory does not grow with the corpus, as only the best
// are kept. NULL on error; the errors are sabok_embed's. The model must outlive the search.
SABOK_API sabok_search *sabok_search_new(const sabok_model *model, const char *const *queries, size_t n,
                                         const sabok_search_opts *opts, sabok_error *err);
// Looks through the next n texts; lengths [n], or NULL. After an error the search can only be freed.
SABOK_API sabok_status sabok_search_add(sabok_search *search, const char *const *texts, const size_t *lengths,
                                        size_t n, sabok_error *err);
// The hits of a query so far into out [top_k], the best first, of equal scores the earlier text; how many.
SABOK_API size_t sabok_search_hits(const sabok_search *search, size_t query, sabok_hit *out);
SABOK_API void sabok_search_free(sabok_search *search); // NULL is allowed

// ---- tokenizing
typedef struct sabok_tokenizer sabok_tokenizer; // shared

// Opens tokenizer.json, or vocab.txt, vocab.json with merges.txt, a sentencepiece file: given itself, its folder, or a
// name as for sabok_open. NULL on error.
SABOK_API sabok_tokenizer *sabok_tokenizer_open(const char *path, sabok_error *err);
SABOK_API void sabok_tokenizer_close(sabok_tokenizer *tok);
// The tokenizer of a model, owned by the model; NULL if it has none.
SABOK_API const sabok_tokenizer *sabok_model_tokenizer(const sabok_model *model);
typedef enum sabok_truncation {
    SABOK_TRUNCATE_DEFAULT = 0, // by what the folder says (see docs/formats.md); none if it says nothing
    SABOK_TRUNCATE_NONE,
    SABOK_TRUNCATE_LONGEST_FIRST,
    SABOK_TRUNCATE_ONLY_FIRST,
    SABOK_TRUNCATE_ONLY_SECOND,
} sabok_truncation;
typedef struct sabok_tokenize_opts {
    const size_t *text_lengths; // [n], or NULL
    const size_t *pair_lengths; // [n], or NULL
    bool no_special;            // no [CLS], [SEP], ...
    sabok_truncation truncation;
    size_t max_length; // with truncation; 0: the folder's own
    size_t stride;     // tokens shared by two neighbouring windows
    bool overflow;     // return every window, not the first only
    bool ids_only;     // leave offsets, words and tokens empty: faster
} sabok_tokenize_opts;

// One window of one text (or pair). Arrays have `length` items.
typedef struct sabok_encoding {
    size_t text; // which input this belongs to
    size_t length;
    const uint32_t *ids;
    const uint32_t *type_ids;
    const uint8_t *special_mask;     // 1: added by the template
    const sabok_span *offsets;       // in characters (code points) of the original text; (0, 0) for specials
    const sabok_span *offsets_bytes; // in bytes of it
    const uint32_t *words;           // index of the pre-token, SABOK_NO_WORD for specials
    const char *const *tokens;       // the piece as the vocabulary spells it; an added token as the text does
} sabok_encoding;

#define SABOK_NO_WORD UINT32_MAX

typedef struct sabok_encodings sabok_encodings;
// Tokenizes n texts, or n pairs when `pairs` is not NULL. Windows come in the order of texts. NULL on error.
SABOK_API sabok_encodings *sabok_tokenize(const sabok_tokenizer *tok, const char *const *texts,
                                          const char *const *pairs, size_t n, const sabok_tokenize_opts *opts,
                                          sabok_error *err);
SABOK_API size_t sabok_encodings_count(const sabok_encodings *encs);
// Window i, owned by encs; NULL past the last.
SABOK_API const sabok_encoding *sabok_encodings_get(const sabok_encodings *encs, size_t i);
SABOK_API void sabok_encodings_free(sabok_encodings *encs);
typedef struct sabok_detokenize_opts {
    bool keep_special; // special added tokens stay in the text
} sabok_detokenize_opts;
// The text of ids [n], as the folder's decoder spells it; ids that stand for nothing are left out. NUL-ended, with its
// number of bytes in *length (may be NULL). Free with sabok_text_free. NULL on error.
SABOK_API char *sabok_detokenize(const sabok_tokenizer *tok, const uint32_t *ids, size_t n,
                                 const sabok_detokenize_opts *opts, size_t *length, sabok_error *err);
SABOK_API void sabok_text_free(char *text); // NULL is allowed

// Text as ids come one by one. A push returns the text that the id completes: empty while its bytes are no whole
// characters. NUL-ended, with its number of bytes in *length (may be NULL), borrowed until the next call on the stream;
// NULL on error. The end gives what is left, and begins anew. The tokenizer must outlive the stream.
typedef struct sabok_text_stream sabok_text_stream;
SABOK_API sabok_text_stream *sabok_text_stream_new(const sabok_tokenizer *tok,
                                                   const sabok_detokenize_opts *opts, sabok_error *err);
SABOK_API const char *sabok_text_stream_push(sabok_text_stream *stream, uint32_t id, size_t *length,
                                             sabok_error *err);
SABOK_API const char *sabok_text_stream_end(sabok_text_stream *stream, size_t *length, sabok_error *err);
SABOK_API void sabok_text_stream_free(sabok_text_stream *stream); // NULL is allowed

// ---- data in and out
// A stream of rows from a text file (one text a line), JSON lines, CSV or TSV; "-" is standard input. Memory is
// bounded by the longest row. Errors name the file and the line.
typedef struct sabok_rows sabok_rows;
typedef enum sabok_format {
    SABOK_FORMAT_AUTO = 0, // by the file's ending; lines when it says nothing
    SABOK_FORMAT_LINES,
    SABOK_FORMAT_JSONL,
    SABOK_FORMAT_CSV,
    SABOK_FORMAT_TSV,
    SABOK_FORMAT_NPY,         // output only
    SABOK_FORMAT_SAFETENSORS, // output only
} sabok_format;
// "jsonl" -> SABOK_FORMAT_JSONL; false if unknown.
SABOK_API bool sabok_format_parse(const char *name, sabok_format *out);
typedef struct sabok_rows_opts {
    sabok_format format;
    const char *const *columns; // the columns wanted, in order; NULL: the one text column ("text",
                                // "sentence", "sentence1", else the first)
    size_t column_count;
    bool no_header; // CSV and TSV: columns are then named "0", "1", ...
    bool lists;     // JSON lines: an array of strings or numbers is a field, too: its items, "\n" after each
} sabok_rows_opts;
// Reads as far as the header of CSV and TSV. A wanted column that is not there is SABOK_ENOTFOUND; in JSON lines it is
// missed when a row is read. NULL on error.
SABOK_API sabok_rows *sabok_rows_open(const char *path, const sabok_rows_opts *opts, sabok_error *err);
// Reads the next row: fields [columns], NUL-ended, and lengths [columns] in bytes, borrowed until the next call on
// rows. Returns 1 for a row, 0 at the end, -1 on error.
SABOK_API int sabok_rows_next(sabok_rows *rows, const char **fields, size_t *lengths, sabok_error *err);
SABOK_API size_t sabok_rows_columns(const sabok_rows *rows);  // of each row: those wanted
SABOK_API uint64_t sabok_rows_line(const sabok_rows *rows);   // 1-based, of the row last returned
SABOK_API double sabok_rows_progress(const sabok_rows *rows); // 0..1, or negative when the size is unknown
SABOK_API void sabok_rows_close(sabok_rows *rows);
// Sentences of a CoNLL file, or of "-": a line for each word, columns between tabs or runs of spaces, a blank line after a
// sentence; lines that begin with -DOCSTART- end one, too. Errors name the file and the line.
typedef struct sabok_conll sabok_conll;
typedef struct sabok_conll_opts {
    size_t word_column, tag_column; // from 1; 0: the first, the last
} sabok_conll_opts;
typedef struct sabok_tagged {
    const char *const *words, *const *tags; // [length]
    size_t length;
    uint64_t line; // of the first word, from 1
} sabok_tagged;
SABOK_API sabok_conll *sabok_conll_open(const char *path, const sabok_conll_opts *opts, sabok_error *err);
// Reads the next sentence, borrowed until the next call: 1, 0 at the end, -1 on error.
SABOK_API int sabok_conll_next(sabok_conll *conll, sabok_tagged *out, sabok_error *err);
SABOK_API double sabok_conll_progress(const sabok_conll *conll); // as sabok_rows_progress
SABOK_API void sabok_conll_close(sabok_conll *conll);            // NULL is allowed
// The questions of a file of SQuAD 1.1 or 2.0, held in memory. Errors name the file and the byte. None is past the last: NULL.
typedef struct sabok_squad sabok_squad;
typedef struct sabok_squad_question {
    const char *id, *question, *context;
    const char *const *answers; // [answer_count]
    size_t answer_count;
    bool impossible; // is_impossible: there is no answer
} sabok_squad_question;
SABOK_API sabok_squad *sabok_squad_open(const char *path, sabok_error *err); // NULL on error
SABOK_API size_t sabok_squad_count(const sabok_squad *squad);
SABOK_API const sabok_squad_question *sabok_squad_get(const sabok_squad *squad, size_t i);
SABOK_API void sabok_squad_close(sabok_squad *squad); // NULL is allowed
// A sink of vectors, all of one width: JSON lines, CSV, .npy or .safetensors (tensor "embeddings" [n, width]). A file
// appears under its name only when closed with success (temporary name, fsync, rename); "-" is standard output (JSON
// lines and CSV only). After an error every later call reports the same one, and nothing appears.
typedef struct sabok_vectors sabok_vectors;
SABOK_API sabok_vectors *sabok_vectors_open(const char *path, sabok_format format, size_t width,
                                            sabok_error *err);
// Appends rows [n, width].
SABOK_API sabok_status sabok_vectors_write(sabok_vectors *v, const float *rows, size_t n, sabok_error *err);
// Finishes the file, or with commit false throws it away. Always frees v.
SABOK_API sabok_status sabok_vectors_close(sabok_vectors *v, bool commit, sabok_error *err);
// A sink of bytes: a file, or "-" for standard output. As with vectors, a file appears under its name only when closed
// with success, and the first error stays.
typedef struct sabok_output sabok_output;
SABOK_API sabok_output *sabok_output_open(const char *path, sabok_error *err);
// Appends n bytes.
SABOK_API sabok_status sabok_output_write(sabok_output *o, const void *data, size_t n, sabok_error *err);
// Finishes the file, or with commit false throws it away. Always frees o.
SABOK_API sabok_status sabok_output_close(sabok_output *o, bool commit, sabok_error *err);
// Shortest decimal text that reads back as the same float (or double), spelled as Python does, NUL-ended; returns its
// length.
SABOK_API size_t sabok_format_float(float x, char out[32]);
SABOK_API size_t sabok_format_double(double x, char out[32]);
// A JSON string of `length` bytes of text, with quotes; returns the bytes it takes. Writes at most `size`, with a NUL
// behind where there is room.
SABOK_API size_t sabok_format_json_string(const char *text, size_t length, char *out, size_t size);

// ---- metrics
// Correlation of x [n] with y [n], in [-1, 1], as scipy.stats computes it; NaN where it is undefined: n < 2, a NaN, a
// series that does not vary. In Spearman's ties share their mean rank; it is NaN where memory runs out, too.
SABOK_API double sabok_pearson(const double *x, const double *y, size_t n);
SABOK_API double sabok_spearman(const double *x, const double *y, size_t n);
// The mean of (x - y)^2, as scikit-learn's mean_squared_error; NaN where n is 0.
SABOK_API double sabok_mean_squared_error(const double *x, const double *y, size_t n);
// What is counted of one class, label, or type of entity.
typedef struct sabok_counts {
    uint64_t correct, found, expected; // by the data and the model both, by the model, by the data
} sabok_counts;
typedef enum sabok_average {
    SABOK_AVERAGE_MACRO = 0, // the mean of the classes' scores; of one class its own, "binary"
    SABOK_AVERAGE_MICRO,     // the score of the sums of counts
    SABOK_AVERAGE_WEIGHTED,  // the mean weighted by `expected`
} sabok_average;
typedef struct sabok_scores {
    double precision, recall, f1; // correct / found, correct / expected, 2 correct / (found + expected)
} sabok_scores;
// Scores of classes [n], averaged; the bits of scikit-learn's precision_recall_fscore_support. Where a denominator is 0
// stands `undefined`: 0, 1 or NaN, which averages leave out (zero_division there). NaN where n is 0. A macro average there
// is over the classes that were expected or found; leave out the others.
SABOK_API sabok_scores sabok_scores_average(const sabok_counts *classes, size_t n, sabok_average average,
                                            double undefined);
// Matthews' correlation, of examples that each have one class: scikit-learn's matthews_corrcoef. 0 where it is undefined.
SABOK_API double sabok_matthews(const sabok_counts *classes, size_t n);
// Entities in sentences of tagged words ("B-PER", "I-PER", "O"), counted by type as seqeval 1.2.2 does: by conlleval's
// rules, which take any tag, or strictly, by a scheme.
typedef enum sabok_scheme {
    SABOK_SCHEME_DEFAULT = 0,
    SABOK_IOB1,
    SABOK_IOB2,
    SABOK_IOE1,
    SABOK_IOE2,
    SABOK_IOBES,
    SABOK_BILOU,
} sabok_scheme;
typedef struct sabok_entity_counter sabok_entity_counter;
SABOK_API sabok_entity_counter *sabok_entity_counter_new(sabok_scheme scheme, sabok_error *err);
// Adds a sentence: the tags [n] that its words should have, and those a model gave them. A tag that the scheme does not
// have is SABOK_EINVAL; by default an empty one is "O".
SABOK_API sabok_status sabok_entity_counter_add(sabok_entity_counter *counter, const char *const *expected,
                                                const char *const *found, size_t n, sabok_error *err);
// How many types there are; their names, rising, and counts live until the next call on the counter.
SABOK_API size_t sabok_entity_counter_types(const sabok_entity_counter *counter, const char *const **names,
                                            const sabok_counts **counts);
SABOK_API void sabok_entity_counter_free(sabok_entity_counter *counter); // NULL is allowed
// Scores of types [n], averaged with the bits of seqeval, whose F1 is that of precision and recall; `undefined` is 0 or 1.
SABOK_API sabok_scores sabok_entity_scores(const sabok_counts *types, size_t n, sabok_average average,
                                           double undefined);
// Of documents [n] with scores and relevance (0: none, more is better): the discounted gain of the k best by score (0: all),
// divided by the best possible, as scikit-learn's ndcg_score; 0 where nothing is relevant, NaN for a NaN, a relevance below 0,
// or no memory. And 1 / the rank of the first relevant one, else 0; of equal scores the last is first (sentence-transformers).
SABOK_API double sabok_ndcg(const double *relevance, const double *scores, size_t n, size_t k);
SABOK_API double sabok_reciprocal_rank(const double *relevance, const double *scores, size_t n, size_t k);
typedef struct sabok_match {
    double exact, f1; // 0 or 1: the answers read the same; 0 to 1: of the words that they share
} sabok_match;
// The best match of an answer with the expected ones [n], as SQuAD 2.0's script compares them: letter case, ASCII punctuation
// and the words a, an, the do not count. Without an expected answer, or where all are nothing but that, only such an answer
// matches. NaN where memory runs out.
SABOK_API sabok_match sabok_answer_match(const char *found, const char *const *expected, size_t n);

// ---- the machine
// Describes what the CPU has, what SABOK_ISA leaves of it, and the kernel chosen for each family. A SABOK_ISA that this
// machine does not have is SABOK_EINVAL.
SABOK_API sabok_status sabok_cpu_print(bool json, sabok_write_fn *write, void *ctx, sabok_error *err);
typedef struct sabok_peak {
    double flops_f32;  // multiply-adds x 2 a second, in registers, all threads
    double read_bytes; // bytes a second read from memory, all threads
    unsigned threads;  // that measured
    const char *isa;   // of the multiply-adds; static storage
} sabok_peak;
// Measures the ceilings on `threads` threads (0: all CPUs this process may use), each pinned, for about `seconds`.
// Takes a block of memory larger than the caches.
SABOK_API sabok_status sabok_peak_measure(unsigned threads, double seconds, sabok_peak *out,
                                          sabok_error *err);
typedef struct sabok_bench_case {
    const char *name;   // "matmul", "norm", ...: a family of kernels.def, or one line, "norm_f32_avx2"
    const char *kernel; // a line of the family, or NULL: the one that would be bound
    size_t M, N, K;     // matmul: [M, K] by [N, K]; for others M rows of N
    unsigned threads;   // 0: all CPUs this process may use
    double seconds;     // to measure for, at least three samples
    bool cold;          // weights from memory, not from cache
} sabok_bench_case;
typedef struct sabok_bench_result {
    char kernel[64];          // the one measured
    double ms_median, ms_min; // of one call
    double gflops;            // multiply-adds x 2, 1e9 a second, at the median
    double gbytes;            // bytes that must move, 1e9 a second, at the median
} sabok_bench_result;
// Measures one kernel on random operands. Unknown names and shapes out of reach are SABOK_EINVAL, a kernel that this
// machine lacks is SABOK_EUNSUPPORTED.
SABOK_API sabok_status sabok_bench_kernel(const sabok_bench_case *c, sabok_bench_result *out,
                                          sabok_error *err);

#ifdef __cplusplus
}
#endif
#endif
