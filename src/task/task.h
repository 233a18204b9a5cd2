// task: what users ask of a model, one file each. sequences.c is the way from texts to the rows of a program.
#ifndef SABOK_TASK_H
#define SABOK_TASK_H

#include "model/model.h"

// Tokenized texts, ready to compute. Arrays belong to the struct; the ids to `lists`, or to the caller.
struct sequences {
    size_t n, cap;
    const uint32_t **ids, **types; // [n]; a type pointer may be NULL: all zero
    uint32_t *length;              // [n]
    uint32_t skip;                 // first tokens of every sequence that pooling leaves out
    struct token_ids *lists;       // [threads]
    struct token_scratch **scratch;
    unsigned threads;
};
struct text_source {
    const char *const *texts;
    const size_t *lengths;      // or NULL
    const char *const *pairs;   // [n]: the second text of each; or NULL
    const size_t *pair_lengths; // or NULL
    bool pair_optional;         // an empty second text is none
    size_t n;
    const char *prompt;          // put before each (first) text; NULL: none
    sabok_truncation truncation; // default: longest first
    size_t max_length;
    size_t *text_at_fault; // receives the number of the text that an error is about; or NULL
};
void sequences_free(struct sequences *s);
// Makes room for n sequences; ids, types and length are then the caller's to fill.
bool sequences_reserve(struct sequences *s, size_t n);
// Replaces the contents by the texts' ids, on the model's team.
sabok_status sequences_tokenize(struct sequences *s, const sabok_model *m, const struct text_source *source,
                                sabok_error *err);
// Replaces the contents by the windows of encodings, borrowed.
sabok_status sequences_take(struct sequences *s, const sabok_model *m, const sabok_encodings *encodings,
                            sabok_error *err);
// Runs the program over sequences [begin, end). out: one row a sequence (PROGRAM_EMBED) or a token
// (PROGRAM_HIDDEN), in order. batch_tokens: most tokens computed together, 0: chosen.
struct sequences_run {
    enum program_kind kind;
    size_t begin, end;
    size_t batch_tokens;
    float *out;
    const float *rows; // [T, D]: for programs that start from hidden states
};
sabok_status sequences_compute(const struct sequences *s, const sabok_model *m,
                               const struct sequences_run *run, sabok_error *err);

// ---- stream.c: the rows of any number of texts, a part at a time, in memory that the number does not change
struct
    stream_part { // sequences [begin, end) of s and their rows, one a sequence or a token, see sequences_run
    const struct sequences *s;
    size_t begin, end;
    size_t first; // number, in the whole stream, of the sequence that is 0 in s
    const float *rows;
};
// Anything but SABOK_OK ends the stream.
typedef sabok_status stream_fn(void *ctx, const struct stream_part *part, sabok_error *err);
struct stream {
    enum program_kind kind;
    size_t batch_tokens;
    size_t *text_at_fault; // of stream_sequences: receives the number of one that is too long; or NULL
    stream_fn *fn;
    void *ctx;
};
// Of sequences there are already; those longer than the model's positions are an error.
sabok_status stream_sequences(const sabok_model *m, const struct sequences *s, size_t first,
                              const struct stream *stream, sabok_error *err);
// Of texts, tokenized a few thousand at a time.
sabok_status stream_texts(const sabok_model *m, const struct text_source *source, const struct stream *stream,
                          sabok_error *err);
// That a task has the head it needs, and a tokenizer.
sabok_status head_require(const sabok_model *m, enum head_kind kind, const char *task, sabok_error *err);
size_t model_positions(const sabok_model *m);                        // most tokens of a sequence
sabok_status stream_stopped(const sabok_model *m, sabok_error *err); // the caller's function asked for it

// The options that tasks share, as a source; checks them.
sabok_status stream_source(const sabok_model *m, const char *const *texts, size_t n,
                           const sabok_text_opts *opts, struct text_source *out, sabok_error *err);

// ---- classify.c
void score_softmax(const float *logits, size_t n, float *scores); // [n], [n]

#endif
