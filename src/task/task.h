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
    const size_t *lengths; // or NULL
    size_t n;
    const char *prompt; // put before each text; NULL: none
    size_t max_length;
};
void sequences_free(struct sequences *s);
// Makes room for n sequences; ids, types and length are then the caller's to fill.
bool sequences_reserve(struct sequences *s, size_t n);
// Replaces the contents by the texts' ids, on the model's team.
sabok_status sequences_tokenize(struct sequences *s, const sabok_model *m, const struct text_source *source,
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

#endif
