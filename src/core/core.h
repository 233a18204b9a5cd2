// core: element types, shapes, stored weights, and the program: records over values.
#ifndef SABOK_CORE_H
#define SABOK_CORE_H

#include "base/base.h"

// ---- dtype (dtype.c)
// X(name, safetensors' spelling, bits)
#define DTYPE_LIST(X)                                                                                        \
    X(F32, "F32", 32)                                                                                        \
    X(F16, "F16", 16)                                                                                        \
    X(BF16, "BF16", 16)                                                                                      \
    X(F64, "F64", 64)                                                                                        \
    X(I64, "I64", 64)                                                                                        \
    X(I32, "I32", 32)                                                                                        \
    X(I16, "I16", 16)                                                                                        \
    X(I8, "I8", 8)                                                                                           \
    X(U64, "U64", 64)                                                                                        \
    X(U32, "U32", 32)                                                                                        \
    X(U16, "U16", 16)                                                                                        \
    X(U8, "U8", 8)                                                                                           \
    X(BOOL, "BOOL", 8)
enum dtype {
#define X(name, text, bits) DT_##name,
    DTYPE_LIST(X)
#undef X
        DT_COUNT
};
const char *dtype_name(enum dtype t); // "F32"
size_t dtype_bytes(enum dtype t);
// Widens n items of any alignment to f32 (round to nearest even from F64; integers are converted). Subnormals
// are kept.
void dtype_to_f32(float *out, const void *in, enum dtype t, size_t n);
uint16_t f32_to_bf16(float x); // round to nearest even; NaN stays NaN
uint16_t f32_to_f16(float x);
float bf16_to_f32(uint16_t x);
float f16_to_f32(uint16_t x);

// ---- shape (shape.c)
#define SHAPE_RANK 4
// Two sizes are known only when a batch arrives; everything else is a number.
#define DIM_T (-1) // tokens of the batch
#define DIM_B (-2) // sequences of the batch
struct shape {
    int rank;
    int64_t dim[SHAPE_RANK];
};
struct shape shape_of(int rank, const int64_t *dim);
bool shape_equal(const struct shape *a, const struct shape *b);
// "[T, 384]" into out; returns out.
#define SHAPE_TEXT 96
const char *shape_text(const struct shape *s, char out[SHAPE_TEXT]);
// Elements once T and B are known; false on overflow.
bool shape_count(const struct shape *s, size_t T, size_t B, size_t *out);

// ---- formats of linear weights (format.c)
enum weight_format { FORMAT_F32, FORMAT_F16, FORMAT_BF16, FORMAT_I8, FORMAT_COUNT }; // from wide to narrow
const char *format_name(enum weight_format format);                                  // "float32"
bool format_of(sabok_dtype dtype, enum weight_format *out);

// ---- weights (weight.c)
// A weight as the model sees it: a name, a role, a shape. How it is stored is not the model's business.
enum weight_role {
    WEIGHT_LINEAR, // [out, in], read by linear: may be packed
    WEIGHT_BIAS,
    WEIGHT_GAIN,  // of a norm
    WEIGHT_TABLE, // [rows, D], read by gather
};
struct weight {
    const char *name; // as in the file, without the family's prefix
    enum weight_role role;
    struct shape shape;
    enum dtype stored; // type in the file
    const void *data;  // the file's bytes, any alignment; NULL until loaded
    uint64_t stored_bytes;
    const float *f32; // row-major f32 values, 4-byte aligned: the mapped file itself or `owned`; NULL when
                      // only packed values are kept
    void *owned;      // block of this weight from mem_map, or NULL
    size_t owned_bytes;
};
void weight_free(struct weight *w); // what it owns

// ---- program (prog.c)
typedef uint32_t val; // index of a value; 0 is "no value", and what an op with an error returns

enum value_kind { VALUE_TEMP, VALUE_INPUT, VALUE_OUTPUT, VALUE_WEIGHT };
struct value {
    enum value_kind kind;
    struct shape shape;
    enum dtype dtype;
    const char *name; // scoped name, "layer.3.attention.out", or NULL
    const struct weight *weight;
    uint32_t slot; // of an input or output: which pointer of the batch
    bool tapped;
};

#define RECORD_INPUTS 8
#define RECORD_PARAMS 64
struct record {
    uint16_t op; // enum op, op/op.h
    uint8_t inputs;
    bool dead;             // taken out by a pass
    val in[RECORD_INPUTS]; // 0 where an optional input is absent
    val out;
    const char *scope;
    _Alignas(8) unsigned char params[RECORD_PARAMS]; // the op's own struct
};

typedef struct prog {
    struct arena arena;   // names, scopes
    struct value *values; // [value_count]; values[0] is unused
    size_t value_count, value_cap;
    struct record *records;
    size_t record_count, record_cap;
    char scope[256];       // of the record being built
    size_t scope_ends[16]; // where each open scope's parent ends
    size_t scope_depth;
    sabok_error error;                                            // the first building error; code 0: none
    void (*on_emit)(void *ctx, struct prog *p, struct record *r); // SABOK_EAGER=1 runs records here; or NULL
    void *on_emit_ctx;
} prog;

void prog_init(prog *p);
void prog_free(prog *p);
val prog_input(prog *p, const char *name, enum dtype dtype, struct shape shape, uint32_t slot);
val prog_weight(prog *p, const struct weight *w); // the same value for the same weight
void prog_output(prog *p, val v, uint32_t slot);  // v becomes an output of the program
// Names a value within the scope, for taps and dumps; returns v.
val prog_name(prog *p, val v, const char *name);
// Opens a scope inside the one that is open, "layer.%zu"; a pop closes the last.
void prog_push(prog *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void prog_pop(prog *p);
// Appends a record; params are copied. Returns the output value, or 0 after an error.
val prog_emit(prog *p, uint16_t op, const val *in, size_t inputs, const void *params, size_t params_size,
              struct shape out_shape, enum dtype out_dtype);
// The first error sticks, with the scope's name. Returns 0.
val prog_fail(prog *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
const struct value *prog_value(const prog *p, val v);

// ---- batch
// One ragged batch: sequences one after another, no padding. All arrays are the caller's.
struct batch {
    size_t T, B;
    const uint32_t *ids;       // [T]
    const uint32_t *types;     // [T]
    const uint32_t *positions; // [T]
    const uint32_t *offsets;   // [B + 1]
    const uint32_t *skip;      // [B]: first tokens that pooling leaves out
    const float *rows;         // [T, D], for programs that start from hidden states
};

#endif
