// The in-register multiply-add loops of the instruction sets, for peak.c.
#ifndef SABOK_PEAK_H
#define SABOK_PEAK_H

#include <stddef.h>

// `steps` rounds of independent chains of vector fused multiply-adds; returns the floating point
// operations done.
typedef double peak_fn(size_t steps, float *sink);
peak_fn peak_flops_c;
peak_fn peak_flops_avx2;
peak_fn peak_flops_avx512;
// The products of int8 and bf16 in the form that the kernels of these instruction sets have them.
peak_fn peak_i8_avx2;
peak_fn peak_i8_avxvnni;
peak_fn peak_i8_avx512;
peak_fn peak_i8_vnni;
peak_fn peak_i8_amx;
peak_fn peak_bf16_bf16;
peak_fn peak_bf16_amx;

#endif
