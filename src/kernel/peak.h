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

#endif
