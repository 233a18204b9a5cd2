// act, the definition: y = act(x), by vec_c.h.
#include "kernel/kernel_list.h"
#include "kernel/vec_c.h"

void act_f32_c(const struct act_args *a, size_t begin, size_t end) {
    for (size_t i = begin * a->D; i < end * a->D; i++)
        a->y[i] = act_c(a->x[i], a->act);
}
