// matmul, the definition:
//   s = 0;  s = fma(x[m][k], W[n][k], s) for k = 0, 1, ..., K - 1;  y[m][n] = act(s + bias[n]) +
//   residual[m][n]
#include "kernel/kernel_list.h"
#include "kernel/vec_c.h"

#include <math.h>

enum { NR = matmul_f32_c_nr };

// One row of one panel: y[first .. first + NR) of row m.
static void row_panel(const struct matmul_args *a, size_t m, size_t panel) {
    const float *x = (const float *)a->x + m * a->ldx;
    const float *w = (const float *)a->w + panel * NR * a->K; // [K, NR]
    float s[NR] = {0};
    for (size_t k = 0; k < a->K; k++)
        for (size_t j = 0; j < NR; j++)
            s[j] = fmaf(x[k], w[k * NR + j], s[j]);

    size_t first = panel * NR, columns = size_min(NR, a->N - first);
    for (size_t j = 0; j < columns; j++) {
        float v = s[j];
        if (a->bias) v += a->bias[first + j];
        v = act_c(v, a->act);
        if (a->residual) v += a->residual[m * a->ldr + first + j];
        ((float *)a->y)[m * a->ldy + first + j] = v;
    }
}

void matmul_f32_c(const struct matmul_args *a, size_t begin, size_t end) {
    size_t R = (a->M + a->unit_rows - 1) / a->unit_rows, panels = (a->N + NR - 1) / NR;
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit % R * a->unit_rows, row_end = size_min(row + a->unit_rows, a->M);
        size_t panel = unit / R * a->unit_panels, panel_end = size_min(panel + a->unit_panels, panels);
        for (; panel < panel_end; panel++)
            for (size_t m = row; m < row_end; m++)
                row_panel(a, m, panel);
    }
}
