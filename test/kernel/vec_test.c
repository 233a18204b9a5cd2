// The vector maths: one result for every input on every instruction set, and its error against double.
//   vec_test                  a sample of all floats
//   SABOK_SLOW=1 vec_test     all 2^32 of them; prints the largest errors (docs/numerics.md)
//   SABOK_SLOW=NAME vec_test  the same for one function
//   vec_test NAME BITS        one input, as a failure prints it
#include "kernel/kernel.h"

#include <setjmp.h>
#include <cmocka.h>
#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// The functions between here and the end of the target are only reached where the processor has it.
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#include "kernel/vec_avx2.h"
#include "kernel/vec_c.h"

// The activations, then the functions beneath them.
enum op { OP_EXP = ACT_COUNT, OP_EXP_LOW, OP_ERF, OP_COUNT };
static const char *const op_names[OP_COUNT] = {
    [ACT_NONE] = "none", [ACT_GELU] = "gelu", [ACT_GELU_TANH] = "gelu_tanh", [ACT_QUICK_GELU] = "quick_gelu",
    [ACT_RELU] = "relu", [ACT_TANH] = "tanh", [ACT_SIGMOID] = "sigmoid",     [ACT_SILU] = "silu",
    [OP_EXP] = "exp",    [OP_ERF] = "erf",    [OP_EXP_LOW] = "exp_low",
};

static float run_c(unsigned op, float x) {
    if (op == OP_EXP || op == OP_EXP_LOW) return exp_c(x);
    return op == OP_ERF ? erf_c(x) : act_c(x, (enum act)op);
}

static __m256 run_avx2(unsigned op, __m256 x) {
    if (op == OP_EXP) return exp_avx2(x);
    if (op == OP_EXP_LOW) return exp_low_avx2(x);
    return op == OP_ERF ? erf_avx2(x) : act_avx2(x, (enum act)op);
}
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(                                                                                \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma")
#endif
#include "kernel/vec_avx512.h"

static void run_avx512(unsigned op, const float x[16], float y[16]) {
    __m512 v = _mm512_loadu_ps(x);
    if (op == OP_EXP)
        v = exp_avx512(v);
    else if (op == OP_EXP_LOW)
        v = exp_low_avx512(v);
    else
        v = op == OP_ERF ? erf_avx512(v) : act_avx512(v, (enum act)op);
    _mm512_storeu_ps(y, v);
}
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

static double exact(unsigned op, double x) {
    switch (op) {
    case ACT_GELU:
        return x * erfc(-x / sqrt(2)) / 2;
    case ACT_GELU_TANH:
        return x / (1 + exp(-2 * sqrt(2 / M_PI) * x * (1 + 0.044715 * x * x)));
    case ACT_QUICK_GELU:
        return x / (1 + exp(-1.702 * x));
    case ACT_RELU:
        return x < 0 ? 0 : x;
    case ACT_TANH:
        return tanh(x);
    case ACT_SIGMOID:
        return 1 / (1 + exp(-x));
    case ACT_SILU:
        return x / (1 + exp(-x));
    case OP_EXP:
    case OP_EXP_LOW:
        return exp(x);
    case OP_ERF:
        return erf(x);
    default:
        return x;
    }
}

// Bounds: units in the last place from `from` to `to`, and an absolute error below `from`.
static const struct bound {
    unsigned op;
    float from, to;
    double ulp, below;
} bounds[] = {
    {ACT_GELU, -3, FLT_MAX, 5.5, 6e-9},       {ACT_GELU, -5, FLT_MAX, 10, 6e-9},
    {ACT_GELU_TANH, -3, FLT_MAX, 16, 1e-8},   {ACT_GELU_TANH, -8, FLT_MAX, 128, 1e-14},
    {ACT_QUICK_GELU, -8, FLT_MAX, 16, 1e-10}, {ACT_RELU, -FLT_MAX, FLT_MAX, 0, 0},
    {ACT_TANH, -FLT_MAX, FLT_MAX, 1.2, 0},    {ACT_SIGMOID, -86, FLT_MAX, 2.75, 1e-37},
    {ACT_SILU, -86, FLT_MAX, 3, 1e-35},       {OP_EXP, -86.64F, 88.72F, 1, 3e-38},
    {OP_ERF, -FLT_MAX, FLT_MAX, 1.6, 0},
};
static struct {
    double ulp, below;
    float ulp_at, below_at;
} worst[COUNT(bounds)];

static double error_ulp(float y, double want) {
    int exponent;
    frexp(want, &exponent);
    return fabs((double)y - want) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static bool same(float a, float b) {
    return float_bits(a) == float_bits(b) || (isnan(a) && isnan(b));
}

static bool results_agree(unsigned op, float x, float y, float avx2, float avx512) {
    if (same(y, avx2) && same(y, avx512) && isnan(x) == isnan(y)) return true;
    print_error("%s(%a) is %a in C, %a with AVX2, %a with AVX-512\nrerun: vec_test %s %08x\n", op_names[op],
                (double)x, (double)y, (double)avx2, (double)avx512, op_names[op], float_bits(x));
    return false;
}

static void error_note(unsigned op, float x, float y) {
    for (size_t i = 0; i < COUNT(bounds); i++) {
        if (bounds[i].op != op || isnan(x) || x > bounds[i].to || isinf(x)) continue;
        double want = exact(op, (double)x);
        double e = x < bounds[i].from ? fabs((double)y - want) : error_ulp(y, want);
        if (x < bounds[i].from && e > worst[i].below) {
            worst[i].below = e;
            worst[i].below_at = x;
        }
        if (x >= bounds[i].from && e > worst[i].ulp) {
            worst[i].ulp = e;
            worst[i].ulp_at = x;
        }
    }
}

// Sixteen floats whose bits are `stride` apart.
static bool sixteen_agree(unsigned op, uint32_t first, uint32_t stride) {
    float x[16], avx2[16], avx512[16];
    bool ok = true;
    for (uint32_t i = 0; i < 16; i++)
        x[i] = bits_float(first + i * stride);
    if (op == OP_EXP_LOW)
        for (int i = 0; i < 16; i++)
            x[i] = x[i] > 0 ? -x[i] : x[i];
    _mm256_storeu_ps(avx2, run_avx2(op, _mm256_loadu_ps(x)));
    _mm256_storeu_ps(avx2 + 8, run_avx2(op, _mm256_loadu_ps(x + 8)));
    if (cpu_found(ISA_AVX512))
        run_avx512(op, x, avx512);
    else
        memcpy(avx512, avx2, sizeof avx512);
    for (int i = 0; i < 16; i++) {
        float y = run_c(op, x[i]);
        ok &= results_agree(op, x[i], y, avx2[i], avx512[i]);
        error_note(op, x[i], y);
    }
    return ok;
}

static void all_floats(void **state) {
    (void)state;
    const char *slow = getenv("SABOK_SLOW");
    const uint32_t stride = slow ? 1 : 2003;
    bool chosen[OP_COUNT], all = true;
    for (unsigned op = 0; op < OP_COUNT; op++) {
        chosen[op] = slow && strcmp(slow, op_names[op]) == 0;
        all &= !chosen[op];
    }
    unsigned bad = 0;
    for (unsigned op = 0; op < OP_COUNT; op++)
        for (uint64_t first = 0; (all || chosen[op]) && first < UINT64_C(1) << 32 && bad < 10;
             first += 16 * stride)
            bad += !sixteen_agree(op, (uint32_t)first, stride);
    assert_int_equal(bad, 0);
    for (size_t i = 0; i < COUNT(bounds); i++) {
        const struct bound *b = &bounds[i];
        if (!all && !chosen[b->op]) continue;
        if (slow || worst[i].ulp > b->ulp || worst[i].below > b->below)
            print_message("%-10s from %g: %.3f ulp at %.9g; below: %.3g at %.9g\n", op_names[b->op],
                          (double)b->from, worst[i].ulp, (double)worst[i].ulp_at, worst[i].below,
                          (double)worst[i].below_at);
        assert_true(worst[i].ulp <= b->ulp && worst[i].below <= b->below);
    }
}
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

// bugs.md 54: three functions under one name.
static void bug_54_three_gelus(void **state) {
    (void)state;
    static const struct {
        enum act act;
        float x;
        double want;
    } cases[] = {{ACT_GELU, 1, 0.841345},   {ACT_GELU_TANH, 1, 0.841192},   {ACT_QUICK_GELU, 1, 0.845796},
                 {ACT_GELU, -3, -0.004050}, {ACT_GELU_TANH, -3, -0.003637}, {ACT_QUICK_GELU, -3, -0.018071}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        float y;
        struct act_args a = {.x = &cases[i].x, .y = &y, .D = 1, .act = cases[i].act};
        kernel_find("act_f32_c")->fn.act(&a, 0, 1);
        assert_true(fabs((double)y - cases[i].want) < 5.1e-7);
    }
}

static void limits(void **state) {
    (void)state;
    static const struct {
        enum act act;
        float low, high;
    } ends[] = {{ACT_GELU, 0, INFINITY},
                {ACT_GELU_TANH, 0, INFINITY},
                {ACT_QUICK_GELU, 0, INFINITY},
                {ACT_RELU, 0, INFINITY},
                {ACT_TANH, -1, 1},
                {ACT_SIGMOID, 0, 1},
                {ACT_SILU, 0, INFINITY}};
    for (size_t i = 0; i < COUNT(ends); i++) {
        float x[] = {-INFINITY, -FLT_MAX, FLT_MAX, INFINITY, NAN}, y[5];
        struct act_args a = {.x = x, .y = y, .D = 5, .act = ends[i].act};
        kernel_find("act_f32_c")->fn.act(&a, 0, 1);
        assert_true(y[0] == ends[i].low && y[1] == ends[i].low && y[3] == ends[i].high && isnan(y[4]));
        assert_true(y[2] == (isinf(ends[i].high) ? FLT_MAX : ends[i].high));
    }
}

int main(int argc, char **argv) {
    if (argc == 3) {
        for (unsigned op = 0; op < OP_COUNT; op++)
            if (strcmp(op_names[op], argv[1]) == 0)
                return !sixteen_agree(op, (uint32_t)strtoul(argv[2], NULL, 16), 0);
        print_error("no function is called %s\n", argv[1]);
        return 2;
    }
    const struct CMUnitTest everywhere[] = {cmocka_unit_test(bug_54_three_gelus), cmocka_unit_test(limits)};
    const struct CMUnitTest vectors[] = {cmocka_unit_test(all_floats)};
    int failed = cmocka_run_group_tests(everywhere, NULL, NULL);
    if (!cpu_found(ISA_AVX512)) print_message("skipped: AVX-512 maths, not on this machine\n");
    if (cpu_found(ISA_AVX2)) return failed + cmocka_run_group_tests(vectors, NULL, NULL);
    print_message("skipped: AVX2 maths, not on this machine\n");
    return failed;
}
