// The prototype of every kernel, and the register block of every matmul, from kernels.def. A kernel's file
// includes this, so that its definition is checked against the contract of its family.
#ifndef SABOK_KERNEL_LIST_H
#define SABOK_KERNEL_LIST_H

#include "kernel/kernel.h"

#define KERNEL(FAMILY, family, type, isa, order) family##_fn family##_##type##_##isa;
#define KERNEL_MATMUL(FAMILY, type, isa, order, mr, nr)                                                      \
    matmul_fn matmul_##type##_##isa;                                                                         \
    enum { matmul_##type##_##isa##_mr = (mr), matmul_##type##_##isa##_nr = (nr) };
#include "kernel/kernels.def"
#undef KERNEL
#undef KERNEL_MATMUL

#endif
