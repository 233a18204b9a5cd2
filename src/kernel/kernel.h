// kernel: the loops. One contract a family: the maths, an argument struct, and a function that computes units
// [begin, end) of the work. A kernel never allocates, spawns, keeps state or fails, and can do any part of
// the work. The plain C version, <family>_<type>_c.c, is the definition.
//
// Bits. Every element is one chain of operations whose order does not depend on M, on the units or on the
// thread, so all kernels of one `order` tag give the same bits, on every ISA:
//   ORDER_SEQ      sums run over k = 0, 1, 2, ... by fused multiply-add, one accumulator an element
//   ORDER_LANES16  element i adds into lane i mod 16 in rising i; then lanes fold 16 -> 8 -> 4 -> 2 -> 1, lane
//                  j taking lane j + half; missing elements of the last vector add nothing to their lane
//   ORDER_NONE     elementwise: the same polynomial, in the same operations, everywhere; and sums of
//                  integers, which are exact
//   ORDER_PAIRS    bf16 products by pairs, k = 1, 0, 3, 2, 5, 4, ..., each added by fused multiply-add, one
//                  accumulator an element; as the instruction vdpbf16ps does
//   ORDER_TILES    bf16 products by 32: even k and odd k of the 32 in two chains of fused multiply-adds from
//                  0, the two sums added, that sum added to the accumulator; as tdpbf16ps does
// In the last two, every subnormal operand and result is replaced by zero.
// Polynomials and exact operation order: the plain C file of the family, and docs/numerics.md.
#ifndef SABOK_KERNEL_H
#define SABOK_KERNEL_H

#include "base/base.h"

struct kernel;

enum order { ORDER_NONE, ORDER_SEQ, ORDER_LANES16, ORDER_PAIRS, ORDER_TILES };

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

// matmul: y = act(x W^T + bias) + residual. One argument struct for five families, which differ in how x and
// W are stored:
//   family         x                            W                            sums          y
//   MATMUL         f32                          f32                          f32           f32
//   MATMUL_BF16W   f32                          bf16, widened when read      f32           f32
//   MATMUL_F16W    f32                          f16, widened when read       f32           f32
//   MATMUL_BF16    bf16 rows of cast            bf16                         f32           f32 or bf16
//   MATMUL_I8      int8 rows of quantize        int8 and a scale a column    int32, exact  f32
//   x [M, K] row stride ldx; W [N, K] packed; bias [N] or NULL; residual f32 [M, N] row stride ldr or NULL,
//   may be y itself; y [M, N] row stride ldy, overlaps neither x nor W. Strides count elements of the type.
//   MATMUL packs by matmul_pack into ceil(N / nr) panels of [K, nr] (zero filled past N); the others by
//   matmul_pack_low, below.
//   MATMUL_I8: y = act(fma(float(sum), xs[m] * scale[n], bias[n])) + residual, xs in the rows of x.
//   y as bf16: rounded to nearest even and followed by zeros up to a multiple of 32 columns, as cast does.
// Units: row blocks of unit_rows x groups of unit_panels panels; unit u is row block u % R of panel group u /
// R, R = ceil(M / unit_rows).
struct matmul_args {
    const void *x;
    const void *w;
    const float *scale; // [N], MATMUL_I8 only
    const float *bias;
    const float *residual;
    void *y;
    size_t ldx, ldr, ldy;
    size_t M, N, K;
    size_t unit_rows, unit_panels;
    enum act act;
    bool y_bf16; // MATMUL_BF16 only
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

// Packed low precision, one layout for every kernel and machine. Columns (rows of W) go in groups of 16, N
// padded to a multiple of MATMUL_LOW_COLUMNS with zeros. A group is [steps][16 columns][4 bytes]: a step is
// two values of 16 bits, or four of 8, that follow each other in K (f16, which no dot product instruction
// takes: 16 columns of the first, then 16 of the second). K is padded with zeros to 64 bytes. So 16
// steps of a group are one tile, 1 KB, and a row of a tile is one vector. int8 values are stored plus 128,
// unsigned: the dot product instructions take one unsigned operand. The excess, 128 times the sum of the row
// of x, is taken off again, and quantize has stored that sum.
enum matmul_low { MATMUL_LOW_BF16, MATMUL_LOW_F16, MATMUL_LOW_I8 };
enum { MATMUL_LOW_COLUMNS = 32, MATMUL_LOW_GROUP = 16 };
// K of packed weights and of the rows of cast and quantize.
static inline size_t matmul_low_depth(enum matmul_low low, size_t K) {
    return round_up(K, low == MATMUL_LOW_I8 ? 64 : 32);
}
// Bytes of a packed W; the base must be 64-byte aligned.
static inline size_t matmul_low_bytes(enum matmul_low low, size_t N, size_t K) {
    size_t size = low == MATMUL_LOW_I8 ? 1 : 2;
    return round_up(N, MATMUL_LOW_COLUMNS) * matmul_low_depth(low, K) * size;
}
// Packs the columns of panels [begin, end), MATMUL_LOW_COLUMNS each, of W [N, K] f32 (row stride K, any
// alignment). int8: column n is quantised by scale[n] = max |W[n]| / 127, as quantize does to rows of x; a
// column with a NaN or an infinity gets the scale NaN. `scale` [N] is not used by the others.
void matmul_pack_low(enum matmul_low low, void *packed, float *scale, const float *w, size_t N, size_t K,
                     size_t begin, size_t end);

// cast: y = bf16(x), round to nearest even, each row followed by zeros up to K' = matmul_low_depth columns.
//   x [rows, D] row stride ldx; y [rows, K'] row stride ldy >= K'. Units: rows.
struct cast_args {
    const float *x;
    uint16_t *y;
    size_t D, ldx, ldy;
};
typedef void cast_fn(const struct cast_args *a, size_t begin, size_t end);
// A row stride for the bf16 rows of x: odd in cache lines, so that the rows of a tile lie in different sets.
static inline size_t cast_stride(size_t D) {
    return 32 * (((D + 31) / 32) | 1);
}

// quantize: y = x / s by rows, symmetric, s = max |x| / 127:
//   r = 127 / max |x|;  q = x r rounded to nearest even, at most 127 either way
//   A row whose max |x| is below QUANTIZE_LEAST gives s = 1 and q = 0; one with a NaN or an infinity s = NaN
//   and q = 0, so that whatever is computed from it is NaN.
//   scale > 0 (static): s = scale, r = 1 / scale; infinities give 127; a NaN still makes s = NaN and q = 0.
//   x [rows, D] row stride ldx; y rows of K' = matmul_low_depth int8, zeros from D on, then struct
//   quantize_tail; row stride ldy bytes, at least quantize_row_bytes(D), a multiple of 64. Units: rows.
struct quantize_args {
    const float *x;
    int8_t *y;
    size_t D, ldx, ldy;
    float scale; // 0: of each row by itself
};
typedef void quantize_fn(const struct quantize_args *a, size_t begin, size_t end);
struct quantize_tail {
    float scale;
    int32_t sum; // of the row's q
};
#define QUANTIZE_LEAST 0x1p-100f
// An odd number of cache lines, so that the rows of a tile lie in different sets.
static inline size_t quantize_row_bytes(size_t D) {
    return 64 * (((D + 63) / 64 + 1) | 1);
}

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
    FAMILY_MATMUL_BF16W,
    FAMILY_MATMUL_F16W,
    FAMILY_MATMUL_BF16,
    FAMILY_MATMUL_I8,
    FAMILY_CAST,
    FAMILY_QUANTIZE,
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
    cast_fn *cast;
    quantize_fn *quantize;
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
// The best for weights packed as `low`: int8 by MATMUL_I8; f16 by MATMUL_F16W; bf16 by MATMUL_BF16 where its
// instructions are faster than f32's, else by MATMUL_BF16W. It depends on the machine and SABOK_ISA alone.
const struct kernel *kernel_best_low(enum matmul_low low);
// By name, whether or not this machine can run it; NULL if there is none.
const struct kernel *kernel_find(const char *name);

// In-register multiply-add throughput and memory read bandwidth, for `bench --peak`: one call runs `steps`
// steps and returns how many floating point operations (or bytes) that was.
double peak_flops_run(size_t steps, float *sink);
// The same for the products that matmul kernel k is made of.
double peak_matmul_run(const struct kernel *k, size_t steps, float *sink);
double peak_read_run(const void *data, size_t bytes, uint64_t *sink);

#endif
