// block: what families share. Visiting a group of weights, and emitting it.
#include "model/model.h"

#include <string.h>

static void visit_named(struct visitor *v, struct weight *w, enum weight_role role, struct shape shape,
                        const char *name, const char *suffix) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", name, suffix);
    const struct weight_spec spec = {.name = full, .role = role, .shape = shape};
    if (v->status == SABOK_OK) v->status = v->visit(v, w, &spec);
}

static struct shape shape_vector(uint64_t n) {
    return (struct shape){.rank = 1, .dim = {(int64_t)n}};
}

static struct shape shape_matrix(uint64_t rows, uint64_t columns) {
    return (struct shape){.rank = 2, .dim = {(int64_t)rows, (int64_t)columns}};
}

void visit_weight(struct visitor *v, struct weight *w, enum weight_role role, struct shape shape,
                  const char *format, ...) {
    char name[256];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    visit_named(v, w, role, shape, name, "");
}

void visit_linear(struct visitor *v, struct linear_w *l, uint64_t out, uint64_t in, const char *format, ...) {
    char name[256];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    visit_named(v, &l->w, WEIGHT_LINEAR, shape_matrix(out, in), name, ".weight");
    visit_named(v, &l->b, WEIGHT_BIAS, shape_vector(out), name, ".bias");
}

void visit_norm(struct visitor *v, struct norm_w *n, uint64_t D, const char *format, ...) {
    char name[256];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    visit_named(v, &n->gain, WEIGHT_GAIN, shape_vector(D), name, ".weight");
    visit_named(v, &n->bias, WEIGHT_BIAS, shape_vector(D), name, ".bias");
}

val block_linear(prog *p, const struct linear_w *l, val x) {
    return op_linear(p, x, prog_weight(p, &l->w), l->b.name ? prog_weight(p, &l->b) : 0);
}

val block_norm(prog *p, const struct norm_w *n, val x, float eps) {
    return op_layer_norm(p, x, prog_weight(p, &n->gain), prog_weight(p, &n->bias), eps);
}
