// The two ceilings of a machine: multiply-adds in registers, and bytes read from memory.
#include "kernel/peak.h"
#include "kernel/kernel.h"

#include <math.h>

double peak_flops_c(size_t steps, float *sink) {
    enum { CHAINS = 8 };
    float s[CHAINS];
    for (size_t j = 0; j < CHAINS; j++)
        s[j] = *sink + (float)j;
    for (size_t i = 0; i < steps; i++)
        for (size_t j = 0; j < CHAINS; j++)
            s[j] = fmaf(s[j], 0.5F, 1.0F);
    for (size_t j = 0; j < CHAINS; j++)
        *sink += s[j];
    return 2.0 * CHAINS * (double)steps;
}

double peak_flops_run(size_t steps, float *sink) {
#ifdef SABOK_X86
    if (cpu_has(ISA_AVX512)) return peak_flops_avx512(steps, sink);
    if (cpu_has(ISA_AVX2)) return peak_flops_avx2(steps, sink);
#endif
    return peak_flops_c(steps, sink);
}

double peak_matmul_run(const struct kernel *k, size_t steps, float *sink) {
#ifdef SABOK_X86
    const bool i8 = k->family == FAMILY_MATMUL_I8, bf16 = k->family == FAMILY_MATMUL_BF16;
    switch (k->isa) {
    case ISA_AVX2:
        return i8 ? peak_i8_avx2(steps, sink) : peak_flops_avx2(steps, sink);
    case ISA_AVXVNNI:
        return peak_i8_avxvnni(steps, sink);
    case ISA_AVX512:
        return i8 ? peak_i8_avx512(steps, sink) : peak_flops_avx512(steps, sink);
    case ISA_VNNI:
        return peak_i8_vnni(steps, sink);
    case ISA_BF16:
        return peak_bf16_bf16(steps, sink);
    case ISA_AMX:
        return bf16 ? peak_bf16_amx(steps, sink) : peak_i8_amx(steps, sink);
    case ISA_C:
    case ISA_COUNT:
        break;
    }
#endif
    (void)k;
    return peak_flops_c(steps, sink);
}

// Four streams far apart keep more requests in flight than one; 64-bit sums keep the loads alive.
double peak_read_run(const void *data, size_t bytes, uint64_t *sink) {
    enum { STREAMS = 4, LINE = 8, AHEAD = 1024 };
    size_t words = bytes / sizeof(uint64_t) / (STREAMS * LINE) * LINE; // of one stream
    const uint64_t *p = data;
    uint64_t sum[LINE] = {0};
    for (size_t i = 0; i < words; i += LINE)
        for (size_t s = 0; s < STREAMS; s++) {
            const uint64_t *line = p + s * words + i;
            __builtin_prefetch((const char *)line + AHEAD);
            for (size_t j = 0; j < LINE; j++)
                sum[j] += line[j];
        }
    for (size_t j = 0; j < LINE; j++)
        *sink += sum[j];
    return (double)(words * STREAMS * sizeof(uint64_t));
}
