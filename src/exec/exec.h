// exec: cleverness. Passes over a program, and the plan that runs it.
//
//   program -> prog_fuse -> plan_new (stages, memory, kernels) -> plan_run
//
// A plan is made for a capacity of tokens and sequences and runs any batch that fits. Nothing allocates while
// a plan runs. A plan belongs to one run at a time; many plans may share one packed weight set.
#ifndef SABOK_EXEC_H
#define SABOK_EXEC_H

#include "op/op.h"

// Slots of a program's inputs, filled from struct batch, and of its outputs, filled by the caller.
enum input_slot {
    INPUT_IDS,
    INPUT_TYPES,
    INPUT_POSITIONS,
    INPUT_OFFSETS,
    INPUT_SKIP,
    INPUT_ROWS,
    INPUT_COUNT
};
enum { OUTPUT_MAX = 4 };

// ---- fuse.c
// Rewrites in place: linear + act, linear + add, add + layer_norm, and the three projections of an attention.
// Tapped values stay. The function computed stays; bits stay (the epilogues round as the single ops do).
void prog_fuse(prog *p);

// ---- precision.c
// Formats of linear weights inside layers: `format`, but by the rules for weights whose name (without the family's
// prefix) matches; '*' stands for any characters, the last matching rule wins.
struct precision_rule {
    const char *pattern;
    enum weight_format format;
};
struct precision {
    enum weight_format format;
    const struct precision_rule *rules;
    size_t rule_count;
};
enum weight_format precision_of(const struct precision *how, const char *name);
void prog_precision(prog *p, const struct precision *how);

// ---- pack.c
// Weights of linear records in the panels of the bound kernel. One set belongs to a model and is shared by
// plans; safe from many threads.
struct pack_set;
struct pack_set *pack_new(void);
void pack_free(struct pack_set *set);
// Packs what the program's linear records need and the set lacks, on the team (NULL: this thread). After a
// weight is packed its bytes are reported to `done` (may be NULL), so that mapped pages can be dropped.
typedef void pack_done_fn(void *ctx, const struct weight *w);
sabok_status pack_program(struct pack_set *set, const prog *p, struct team *team, pack_done_fn *done,
                          void *ctx, sabok_error *err);
// The packed weights of a linear record; NULL if pack_program has not seen it.
const struct packed_linear *pack_find(struct pack_set *set, const prog *p, const struct record *r);
size_t pack_bytes(const struct packed_linear *packed, const struct kernel *kernel); // panels and scales

// ---- memory.c
// Stages, then addresses. A record's stage is the first in which all its inputs are ready; records of one
// stage run between two barriers. Temporaries share one arena by their lifetime in stages.
struct memory_plan {
    uint32_t *stage; // [record_count]
    uint32_t stages;
    size_t *offset; // [value_count], bytes; SIZE_MAX for values outside the arena
    size_t bytes;   // of the arena
};
sabok_status memory_plan_make(struct memory_plan *m, const prog *p, size_t T, size_t B, sabok_error *err);
void memory_plan_free(struct memory_plan *m);

// ---- run.c
struct plan;
// Called after each record that makes f32, with its output [rows, D], when a plan is watched. Nonzero stops the
// run.
typedef int plan_watch_fn(void *ctx, const prog *p, const struct record *r, const float *out, size_t rows,
                          size_t D);

// p is fused, borrowed, and must outlive the plan. Reports a sticky building error of p. threads: the most
// that plan_run will use.
struct plan *plan_new(const prog *p, struct pack_set *packs, size_t T, size_t B, unsigned threads,
                      sabok_error *err);
void plan_free(struct plan *plan);
size_t plan_tokens(const struct plan *plan); // capacity
size_t plan_sequences(const struct plan *plan);
size_t plan_bytes(const struct plan *plan); // of its arena
// Watched plans run one record at a time on the calling thread. SABOK_CHECK=1 watches for NaN and infinity.
void plan_watch(struct plan *plan, plan_watch_fn *fn, void *ctx);
// Runs on `team` (NULL: the calling thread alone). outputs[slot] receives [rows, D]. The batch has been
// checked.
sabok_status plan_run(struct plan *plan, const struct batch *batch, float *const *outputs, struct team *team,
                      sabok_error *err);
// What the print pass reads.
const prog *plan_prog(const struct plan *plan);
const struct step *plan_step(const struct plan *plan, size_t record);
const struct memory_plan *plan_memory(const struct plan *plan);

// Query blocks of a batch; a block never crosses a sequence, which bounds their number. Returns the sum of
// squared lengths.
static inline size_t attention_blocks_most(size_t T, size_t B) {
    return T / ATTENTION_ROWS + B + 1;
}
double attention_blocks_make(const struct batch *batch, struct attention_block *blocks, size_t *count);

// Multiply-adds x 2 of one run.
double prog_flops(const prog *p, double T, double B, double pairs);
// True when the program may be cut at sequence borders.
bool prog_splits(const prog *p);

// ---- eager.c
// SABOK_EAGER=1: each record runs as it is emitted, unfused, into memory of its own. Attach before building;
// outputs are copied by eager_finish.
struct eager;
struct eager *eager_attach(prog *p, const struct batch *batch, sabok_error *err);
sabok_status eager_finish(struct eager *e, const prog *p, float *const *outputs, sabok_error *err); // frees e

// ---- tap.c
// Marks the values named `name` (exact, or a prefix ending in '*') so that fuse keeps them. Returns how many.
size_t prog_tap(prog *p, const char *name);

// ---- print.c
struct print_target {
    bool json;
    sabok_write_fn *write;
    void *ctx;
};
sabok_status plan_print(const struct plan *plan, const struct print_target *to, sabok_error *err);

#endif
