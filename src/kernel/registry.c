// The table of kernels, from kernels.def.
#include "kernel/kernel_list.h"

#include <string.h>

#define ROW(FAMILY, isa_tag, text, order_tag, member, function, rows, columns)                               \
    {.family = FAMILY_##FAMILY,                                                                              \
     .name = text,                                                                                           \
     .isa = isa_tag,                                                                                         \
     .order = order_tag,                                                                                     \
     .fn.member = function,                                                                                  \
     .mr = rows,                                                                                             \
     .nr = columns},

// The lines of an instruction set whose files this build leaves out (another architecture) drop out here.
#define ROW_c(FAMILY, ...) ROW(FAMILY, ISA_C, __VA_ARGS__)
#ifdef SABOK_X86
#define ROW_avx2(FAMILY, ...) ROW(FAMILY, ISA_AVX2, __VA_ARGS__)
#define ROW_avxvnni(FAMILY, ...) ROW(FAMILY, ISA_AVXVNNI, __VA_ARGS__)
#define ROW_avx512(FAMILY, ...) ROW(FAMILY, ISA_AVX512, __VA_ARGS__)
#define ROW_vnni(FAMILY, ...) ROW(FAMILY, ISA_VNNI, __VA_ARGS__)
#define ROW_bf16(FAMILY, ...) ROW(FAMILY, ISA_BF16, __VA_ARGS__)
#define ROW_amx(FAMILY, ...) ROW(FAMILY, ISA_AMX, __VA_ARGS__)
#else
#define ROW_avx2(FAMILY, ...)
#define ROW_avxvnni(FAMILY, ...)
#define ROW_avx512(FAMILY, ...)
#define ROW_vnni(FAMILY, ...)
#define ROW_bf16(FAMILY, ...)
#define ROW_amx(FAMILY, ...)
#endif

#define KERNEL(FAMILY, family, type, isa, order)                                                             \
    ROW_##isa(FAMILY, #family "_" #type "_" #isa, order, family, family##_##type##_##isa, 0, 0)
#define KERNEL_MATMUL(FAMILY, type, isa, order, mr, nr)                                                      \
    ROW_##isa(FAMILY, "matmul_" #type "_" #isa, order, matmul, matmul_##type##_##isa, mr, nr)
const struct kernel kernel_table[] = {
#include "kernel/kernels.def"
};
#undef KERNEL
#undef KERNEL_MATMUL

const size_t kernel_count = COUNT(kernel_table);

const char *kernel_family_name(enum family family) {
    static const char *const names[FAMILY_COUNT] = {
        [FAMILY_MATMUL] = "matmul",
        [FAMILY_MATMUL_BF16W] = "matmul_bf16w",
        [FAMILY_MATMUL_F16W] = "matmul_f16w",
        [FAMILY_MATMUL_BF16] = "matmul_bf16",
        [FAMILY_MATMUL_I8] = "matmul_i8",
        [FAMILY_CAST] = "cast",
        [FAMILY_QUANTIZE] = "quantize",
        [FAMILY_NORM] = "norm",
        [FAMILY_ACT] = "act",
        [FAMILY_ADD] = "add",
        [FAMILY_ATTENTION] = "attention",
        [FAMILY_EMBED] = "embed",
        [FAMILY_POOL] = "pool",
        [FAMILY_UNIT] = "unit",
    };
    ASSERT(family < FAMILY_COUNT);
    return names[family];
}

const struct kernel *kernel_best(enum family family) {
    const struct kernel *best = NULL;
    for (size_t i = 0; i < kernel_count; i++) {
        const struct kernel *k = &kernel_table[i];
        // ISAs rise within a family, so the last that fits is the widest.
        if (k->family == family && (k->isa == ISA_C || cpu_has(k->isa))) best = k;
    }
    ASSERT(best != NULL);
    return best;
}

// vdpbf16ps takes two cycles on Intel's processors since Sapphire Rapids, which have AMX for this and multiply
// twice as fast in f32. Cooper Lake, and AMD's from Zen 4 on, start one each cycle.
static bool pairs_fast(void) {
#ifdef SABOK_X86
    __builtin_cpu_init();
    return cpu_has(ISA_BF16) && (!__builtin_cpu_is("intel") || __builtin_cpu_is("cooperlake"));
#else
    return false;
#endif
}

const struct kernel *kernel_best_low(enum matmul_low low) {
    switch (low) {
    case MATMUL_LOW_I8:
        return kernel_best(FAMILY_MATMUL_I8);
    case MATMUL_LOW_F16:
        return kernel_best(FAMILY_MATMUL_F16W);
    case MATMUL_LOW_BF16:
        break;
    }
    return kernel_best(cpu_has(ISA_AMX) || pairs_fast() ? FAMILY_MATMUL_BF16 : FAMILY_MATMUL_BF16W);
}

const struct kernel *kernel_find(const char *name) {
    for (size_t i = 0; i < kernel_count; i++)
        if (strcmp(kernel_table[i].name, name) == 0) return &kernel_table[i];
    return NULL;
}
