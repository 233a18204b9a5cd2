// What the plain C kernels of low precision share: the walk over units, and the end of every element.
#ifndef SABOK_MATMUL_LOW_C_H
#define SABOK_MATMUL_LOW_C_H

#include "kernel/matmul_low.h"
#include "kernel/vec_c.h"

#include "core/core.h"

// Step `step` of column n: LOW_STEP bytes.
static inline const void *low_column(const struct matmul_args *a, size_t steps, size_t n, size_t step) {
    const char *group = (const char *)a->w + n / MATMUL_LOW_GROUP * steps * LOW_LINE;
    return group + step * LOW_LINE + n % MATMUL_LOW_GROUP * LOW_STEP;
}

// act's argument for y[m][n].
typedef float low_element_fn(const struct matmul_args *a, size_t m, size_t n);

static inline float low_bias(const struct matmul_args *a, size_t n, float v) {
    return a->bias ? v + a->bias[n] : v;
}

static inline void low_row_c(const struct matmul_args *a, size_t m, size_t panel, low_element_fn *element) {
    size_t first = panel * MATMUL_LOW_COLUMNS, last = first + MATMUL_LOW_COLUMNS;
    for (size_t n = first; n < last; n++) {
        float v = n < a->N ? act_c(element(a, m, n), a->act) : 0;
        if (a->residual && n < a->N) v += a->residual[m * a->ldr + n];
        if (a->y_bf16)
            ((uint16_t *)a->y)[m * a->ldy + n] = f32_to_bf16(v);
        else if (n < a->N)
            ((float *)a->y)[m * a->ldy + n] = v;
    }
}

static inline void low_units_c(const struct matmul_args *a, size_t begin, size_t end,
                               low_element_fn *element) {
    size_t R = (a->M + a->unit_rows - 1) / a->unit_rows;
    size_t panels = (a->N + MATMUL_LOW_COLUMNS - 1) / MATMUL_LOW_COLUMNS;
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit % R * a->unit_rows, row_end = size_min(row + a->unit_rows, a->M);
        size_t panel = unit / R * a->unit_panels, panel_end = size_min(panel + a->unit_panels, panels);
        for (; panel < panel_end; panel++)
            for (size_t m = row; m < row_end; m++)
                low_row_c(a, m, panel, element);
    }
}

#endif
