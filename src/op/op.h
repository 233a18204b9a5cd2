// op: meaning. An op is a constructor, which checks shapes and appends a record, and a struct of rules.
// Files are named by family; inside each: maths, constructor, cost, lower, bind.
#ifndef SABOK_OP_H
#define SABOK_OP_H

#include "core/core.h"
#include "kernel/kernel.h"

enum op_id {
    OP_NONE,
#define OP(NAME, name, family) OP_##NAME,
#include "op/op.def"
#undef OP
    OP_COUNT
};

// What an op's output row needs of its inputs. A program without ROWS_ALL may be cut at sequence borders and
// the parts computed apart.
enum rows { ROWS_TOKEN, ROWS_SEQUENCE, ROWS_ALL };

// What a program's values are for one run: exec fills it, bind reads it.
struct run_view {
    const prog *p;
    size_t T, B;
    void *const *address; // by val; NULL for values without memory
    const struct attention_block *blocks;
    size_t block_count;
    unsigned threads; // that will share each record
};

// The packed weights of one linear record (exec/pack.c): parts joined along N.
struct packed_linear {
    const void *panels;
    const float *scale; // [N]: int8 only
    const float *bias;  // [N] or NULL
    size_t N, K;
};

// A record bound to a kernel for one run.
struct step {
    const struct kernel *kernel;
    const struct record *record;
    const struct packed_linear *packed; // linear only
    size_t units;
    size_t grain;   // units a thread takes at a time
    uint32_t stage; // records of one stage do not depend on each other
    union {
        struct matmul_args matmul;
        struct cast_args cast;
        struct quantize_args quantize;
        struct norm_args norm;
        struct act_args act;
        struct add_args add;
        struct attention_args attention;
        struct embed_args embed;
        struct pool_args pool;
        struct unit_args unit;
    } args;
};

struct op_rules {
    enum rows rows;
    unsigned in_place; // bit i: the output may take the memory of input i when this is its last use
    // Multiply-adds x 2 for T tokens in B sequences; `pairs` is the sum of squared lengths. NULL: not
    // counted.
    double (*flops)(const prog *p, const struct record *r, double T, double B, double pairs);
    // Emits the same function in smaller ops and returns its value, with in[] as inputs. NULL: nothing
    // smaller.
    val (*lower)(prog *p, const struct record *r, const val *in);
    // Fills args, units and grain of a step whose kernel (and packed weights) are set.
    void (*bind)(const struct run_view *view, struct step *step);
};

const struct op_rules *op_rules(uint16_t op);
const char *op_name(uint16_t op);
enum family record_family(const prog *p, const struct record *r);
enum family linear_family(const prog *p, const struct record *r);
// Bytes of a row of a matrix value in memory: padded where its type is a kernel's operand.
size_t value_row_bytes(const struct value *v);
// Computes units [begin, end) of a bound step.
void step_run(const struct step *step, size_t begin, size_t end);
void op_pool_run(const struct step *step, size_t begin, size_t end); // every mode of a pool record

// ---- constructors
// All values are f32 unless said. x is [rows, D] with rows DIM_T or DIM_B. An input of 0 gives 0.

// y[t] = sum_i tables[i][index[i][t]], [T, D]; tables are weights [rows, D], index values I32 [T].
val op_embed(prog *p, const val *tables, const val *index, size_t count);

// y = x W^T + b. w [N, K], b [N] or 0. -> [rows, N]
val op_linear(prog *p, val x, val w, val b);

// y = (x - mean) / sqrt(var + eps) * gamma + beta over the last axis (Ba et al., 2016).
val op_layer_norm(prog *p, val x, val gamma, val beta, float eps);

// x rounded to bf16; and quantized to int8, by rows with scale 0, else by the scale given. For linear's operand.
val op_cast(prog *p, val x);
val op_quantize(prog *p, val x, float scale);

val op_act(prog *p, val x, enum act act); // ACT_NONE returns x
val op_add(prog *p, val x, val y);

// softmax(q k^T / sqrt(d) + relative) v for each of H heads and each sequence (Vaswani et al., 2017); q, k, v
// [T, H * d]. relative: 0, or a weight [H, 2 P - 1] whose column key - query + P - 1 is added to the score.
val op_attention(prog *p, val q, val k, val v, val relative, size_t H);

// One row a sequence; several modes stand side by side in the order given. offsets: the I32 input [B + 1]. skip: 0, or
// the I32 input [B] of tokens that each sequence leaves out.
// -> [B, D * count]
val op_pool(prog *p, val x, val offsets, val skip, const enum pool *modes, size_t count);

// y = x / max(|x|, 1e-12), row by row.
val op_normalize(prog *p, val x);

// ---- params of records
#define LINEAR_PARTS 3
struct linear_params { // in: x, residual or 0, then w and b (or 0) of each part; parts are joined along N
    uint32_t parts;
    enum act act;
    enum weight_format format; // set by the precision pass
};
struct quantize_params { // in: x
    float scale;
};
struct norm_params { // in: x, residual or 0, gamma, beta
    float eps;
};
struct act_params { // in: x
    enum act act;
};
struct attention_params { // in: q, k, v, relative or 0; q, k and v start at a column of their value
    uint32_t H, d;
    uint32_t column[3];
};
struct pool_params { // in: x, offsets, skip or 0
    uint32_t count;
    enum pool modes[POOL_COUNT];
};

#endif
