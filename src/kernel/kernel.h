// kernel: the loops. One contract a family: the maths, an argument struct, and a function that computes units
// [begin, end) of the work. A kernel never allocates, spawns, keeps state or fails, and can do any part of
// the work. The plain C version, <family>_<type>_c.c, is the definition.
//
// Bits. Every element is one chain of operations whose order does not depend on M, on the units or on the
// thread, so all kernels of one `order` tag give the same bits, on every ISA:
//   ORDER_SEQ      sums run over k = 0, 1, 2, ... by fused multiply-add, one accumulator an element
//   ORDER_LANES16  element i adds into lane i mod 16 in rising i; then lanes fold 16 -> 8 -> 4 -> 2 -> 1,
//   lane j
//                  taking lane j + half; missing elements of the last vector add nothing to their lane
//   ORDER_NONE     elementwise: the same polynomial, in the same operations, everywhere
// Polynomials and exact operation order: the plain C file of the family, and docs/numerics.md.
#ifndef SABOK_KERNEL_H
#define SABOK_KERNEL_H

#include "base/base.h"

struct kernel;

enum order { ORDER_NONE, ORDER_SEQ, ORDER_LANES16 };

// Activations, named by Hugging Face's hidden_act.
enum act {
    ACT_NONE,
    ACT_GELU,      // x * Phi(x), by erf ("gelu")
    ACT_GELU_TANH, // "gelu_new", "gelu_pytorch_tanh", "gelu_fast"
    ACT_QUICK_GELU,
    ACT_RELU,
    ACT_TANH,
    ACT_SIGMOID,
    ACT_SILU, // "silu", "swish"
    ACT_COUNT
};

// matmul: y = act(x W^T + bias) + residual.
//   x [M, K] row stride ldx; W [N, K] packed by matmul_pack into ceil(N / nr) panels of [K, nr] (zero filled
//   past N); bias [N] or NULL; residual [M, N] row stride ldr or NULL, may be y itself; y [M, N] row stride
//   ldy, overlaps neither x nor W.
// Units: row blocks of unit_rows x groups of unit_panels panels; unit u is row block u % R of panel group u /
// R, R = ceil(M / unit_rows).
struct matmul_args {
    const float *x;
    const void *w;
    const float *bias;
    const float *residual;
    float *y;
    size_t ldx, ldr, ldy;
    size_t M, N, K;
    size_t unit_rows, unit_panels;
    enum act act;
};
typedef void matmul_fn(const struct matmul_args *a, size_t begin, size_t end);
static inline size_t matmul_units(const struct matmul_args *a, size_t nr) {
    size_t rows = (a->M + a->unit_rows - 1) / a->unit_rows, panels = (a->N + nr - 1) / nr;
    return rows * ((panels + a->unit_panels - 1) / a->unit_panels);
}
// Sets unit_rows and unit_panels for M, N, K, the kernel's register block and the threads that will share the
// units: about four units a thread for large work, fewer for small.
void matmul_units_choose(struct matmul_args *a, const struct kernel *k, unsigned threads);
// Floats of a packed W.
static inline size_t matmul_packed_floats(size_t N, size_t K, size_t nr) {
    return round_up(N, nr) * K;
}
// Packs panels [begin, end) of W [N, K] (row stride K, any alignment) into `packed`.
void matmul_pack(float *packed, const float *w, size_t N, size_t K, size_t nr, size_t begin, size_t end);

// norm: layer normalisation of x + residual over the last axis.
//   y = (s - mean(s)) / sqrt(var(s) + eps) * gamma + beta,  s = x + residual (residual may be NULL)
//   x, residual, y [rows, D] contiguous; y may be x or residual. Sums ORDER_LANES16. Units: rows.
struct norm_args {
    const float *x, *residual, *gamma, *beta;
    float *y;
    size_t D;
    float eps;
};
typedef void norm_fn(const struct norm_args *a, size_t begin, size_t end);

// act: y = act(x), elementwise over [rows, D]; y may be x. Units: rows.
struct act_args {
    const float *x;
    float *y;
    size_t D;
    enum act act;
};
typedef void act_fn(const struct act_args *a, size_t begin, size_t end);

// add: y = x + z over [rows, D]; y may be x or z. Units: rows.
struct add_args {
    const float *x, *z;
    float *y;
    size_t D;
};
typedef void add_fn(const struct add_args *a, size_t begin, size_t end);

// attention: for each sequence and head, y = softmax(scale * q k^T + bias) v over the keys of the same
// sequence.
//   q, k, v [T, H * d] with row strides ldq, ldk, ldv (head h starts at column h * d); y [T, H * d] stride
//   ldy, overlaps nothing. Streaming softmax in key blocks of 64 counted from the sequence's first key, so a
//   row's bits depend on its own sequence only. A score is fma(q_i scale, k_i, ...) over i in order from 0, plus
//   the bias. Of each block, in order: the new maximum (NaN left out); the factor e^(old - new maximum) on the
//   sum and on y; the exponentials added to the sum one key after the other; y = fma(p_j, v_j, y) key after key.
//   At the end y times 1 / sum. A row whose scores are all -inf gives zeros.
//   Units: query blocks x heads; unit u is head u % H of block u / H. The blocks of one sequence stand together.
#define ATTENTION_ROWS 32 // query rows in a block, at most
#define ATTENTION_KEYS 64
struct attention_block {
    uint32_t first, rows;     // query rows, of the whole batch
    uint32_t key_first, keys; // the sequence
};
struct attention_args {
    const float *q, *k, *v;
    float *y;
    size_t ldq, ldk, ldv, ldy;
    const struct attention_block *blocks;
    size_t H, d;
    float scale;
    const float *bias; // [H, bias_span] or NULL: bias[h][key - query + bias_zero] is added to the score
    size_t bias_span, bias_zero;
};
typedef void attention_fn(const struct attention_args *a, size_t begin, size_t end);

// embed: y[t] = sum_i table_i[index_i[t]], i = 0, 1, ... in order. tables [rows_i, D]; indices checked by the
// caller. Units: rows (tokens).
#define EMBED_TABLES 4
struct embed_args {
    const float *table[EMBED_TABLES];
    const uint32_t *index[EMBED_TABLES]; // [T] each
    size_t tables, D;
    float *y;
};
typedef void embed_fn(const struct embed_args *a, size_t begin, size_t end);

// pool: one vector for each sequence. x [T, D]; offsets [B + 1]; y [B, D]. Sums run over tokens in order.
//   mean: sum / n; mean_sqrt: sum / sqrt(n); weighted: sum_i (i + 1) x_i / sum_i (i + 1); max; cls: first;
//   last.
// skip[b] first tokens of a sequence count only for cls (a prompt that pooling leaves out); weights keep counting from
// the first token. A sequence with nothing left gives zeros. Units: sequences.
enum pool { POOL_MEAN, POOL_CLS, POOL_MAX, POOL_MEAN_SQRT, POOL_WEIGHTED, POOL_LAST, POOL_COUNT };
struct pool_args {
    const float *x;
    const uint32_t *offsets;
    const uint32_t *skip; // [B] or NULL
    float *y;
    size_t D, ldy; // ldy: row stride of y, so that several modes can be put side by side
    enum pool mode;
};
typedef void pool_fn(const struct pool_args *a, size_t begin, size_t end);

// unit: y = x / max(|x|, eps) over rows of [rows, D], eps 1e-12; sum of squares ORDER_LANES16. y may be x.
// Units: rows.
struct unit_args {
    const float *x;
    float *y;
    size_t D;
};
typedef void unit_fn(const struct unit_args *a, size_t begin, size_t end);

// ---- the registry
enum family {
    FAMILY_MATMUL,
    FAMILY_NORM,
    FAMILY_ACT,
    FAMILY_ADD,
    FAMILY_ATTENTION,
    FAMILY_EMBED,
    FAMILY_POOL,
    FAMILY_UNIT,
    FAMILY_COUNT
};

union kernel_fn {
    void (*any)(void);
    matmul_fn *matmul;
    norm_fn *norm;
    act_fn *act;
    add_fn *add;
    attention_fn *attention;
    embed_fn *embed;
    pool_fn *pool;
    unit_fn *unit;
};

struct kernel {
    enum family family;
    const char *name; // "matmul_f32_avx512"
    enum cpu_isa isa;
    enum order order;
    union kernel_fn fn;
    size_t mr, nr; // matmul: rows and columns of the register block; else 0
};

// One row for each line of kernels.def, in its order (families together, ISAs rising).
extern const struct kernel kernel_table[];
extern const size_t kernel_count;

const char *kernel_family_name(enum family family);
// The best kernel of the family that this machine (under SABOK_ISA) can run; never NULL: plain C is always
// there.
const struct kernel *kernel_best(enum family family);
// By name, whether or not this machine can run it; NULL if there is none.
const struct kernel *kernel_find(const char *name);

// In-register multiply-add throughput and memory read bandwidth, for `bench --peak`: one call runs `steps`
// steps and returns how many floating point operations (or bytes) that was.
double peak_flops_run(size_t steps, float *sink);
double peak_read_run(const void *data, size_t bytes, uint64_t *sink);

#endif
