// embed, the definition: y[t] = ((table_0[index_0[t]] + table_1[index_1[t]]) + ...).
#include "kernel/kernel_list.h"

void embed_f32_c(const struct embed_args *a, size_t begin, size_t end) {
    for (size_t t = begin; t < end; t++)
        for (size_t i = 0; i < a->D; i++) {
            float sum = a->table[0][a->index[0][t] * a->D + i];
            for (size_t j = 1; j < a->tables; j++)
                sum += a->table[j][a->index[j][t] * a->D + i];
            a->y[t * a->D + i] = sum;
        }
}
