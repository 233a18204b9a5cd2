// fuse: rewrites groups of records into the ones that kernels compute in one go. Each rule takes away a trip
// of a whole activation through memory. A value may be fused away when one record reads it and nobody taps
// it.
#include "exec/exec.h"

struct fuse {
    prog *p;
    uint32_t *uses;  // by val: records that read it
    uint32_t *maker; // by val: the record that writes it, or UINT32_MAX
};

static bool fuse_hidden(const struct fuse *f, val v) {
    const struct value *value = &f->p->values[v];
    return v != 0 && f->uses[v] == 1 && value->kind == VALUE_TEMP && !value->tapped;
}

static struct record *fuse_maker(const struct fuse *f, val v, enum op_id op) {
    if (v == 0 || f->maker[v] == UINT32_MAX) return NULL;
    struct record *r = &f->p->records[f->maker[v]];
    return r->op == op && !r->dead ? r : NULL;
}

// `into` takes over the output of `gone`, which disappears.
static void fuse_take(struct fuse *f, struct record *into, struct record *gone) {
    into->out = gone->out;
    f->maker[into->out] = (uint32_t)(into - f->p->records);
    gone->dead = true;
}

// act(linear(x)) -> linear with an activation.
static void fuse_act(struct fuse *f, struct record *r) {
    struct record *linear = fuse_maker(f, r->in[0], OP_LINEAR);
    if (!linear || !fuse_hidden(f, r->in[0]) || linear->in[1] != 0) return;
    struct linear_params *params = (void *)linear->params;
    if (params->act != ACT_NONE) return;
    params->act = ((const struct act_params *)(const void *)r->params)->act;
    fuse_take(f, linear, r);
}

// layer_norm(a + b) -> layer_norm with a residual.
static void fuse_norm(struct fuse *f, struct record *r) {
    struct record *add = fuse_maker(f, r->in[0], OP_ADD);
    if (!add || !fuse_hidden(f, r->in[0]) || r->in[1] != 0) return;
    r->in[0] = add->in[0];
    r->in[1] = add->in[1];
    add->dead = true;
}

// linear(x) + z -> linear with a residual, when z is made before the linear.
static void fuse_add(struct fuse *f, struct record *r) {
    for (int side = 0; side < 2; side++) {
        const val y = r->in[side], z = r->in[1 - side];
        struct record *linear = fuse_maker(f, y, OP_LINEAR);
        if (!linear || !fuse_hidden(f, y) || linear->in[1] != 0) continue;
        if (f->maker[z] != UINT32_MAX && f->maker[z] > f->maker[y]) continue;
        if (f->p->values[z].kind == VALUE_OUTPUT) continue;
        linear->in[1] = z;
        fuse_take(f, linear, r);
        return;
    }
}

// attention(linear(x), linear(x), linear(x)) -> one linear of three parts, read at three columns.
static bool fuse_projections(struct fuse *f, struct record *r) {
    struct record *part[3];
    for (size_t i = 0; i < 3; i++) {
        part[i] = fuse_maker(f, r->in[i], OP_LINEAR);
        if (!part[i] || !fuse_hidden(f, r->in[i])) return true;
        const struct linear_params *params = (const void *)part[i]->params;
        if (params->parts != 1 || params->act != ACT_NONE || part[i]->in[1] != 0) return true;
        if (part[i]->in[0] != part[0]->in[0] || !part[i]->in[3] != !part[0]->in[3]) return true;
    }
    const struct shape one = f->p->values[r->in[0]].shape;
    const size_t joined = f->p->value_count;
    if (!mem_grow((void **)&f->p->values, &f->p->value_cap, joined + 1, sizeof *f->p->values)) return false;
    f->p->values[joined] = (struct value){
        .kind = VALUE_TEMP, .dtype = DT_F32, .shape = {.rank = 2, .dim = {one.dim[0], 3 * one.dim[1]}}};
    f->p->value_count++;
    struct attention_params *attention = (void *)r->params;
    for (uint32_t i = 0; i < 3; i++) {
        part[0]->in[2 + 2 * i] = part[i]->in[2];
        part[0]->in[3 + 2 * i] = part[i]->in[3];
        attention->column[i] = i * (uint32_t)one.dim[1];
        r->in[i] = (val)joined;
        if (i > 0) part[i]->dead = true;
    }
    part[0]->inputs = 2 + 2 * LINEAR_PARTS;
    ((struct linear_params *)(void *)part[0]->params)->parts = LINEAR_PARTS;
    part[0]->out = (val)joined;
    return true;
}

static void fuse_sweep(prog *p) {
    size_t kept = 0;
    for (size_t i = 0; i < p->record_count; i++)
        if (!p->records[i].dead) p->records[kept++] = p->records[i];
    p->record_count = kept;
}

void prog_fuse(prog *p) {
    if (p->error.code != SABOK_OK) return;
    // Every attention may add one value.
    const size_t values = p->value_count + p->record_count;
    struct fuse f = {
        .p = p, .uses = mem_zalloc(values * sizeof(uint32_t)), .maker = mem_alloc(values * sizeof(uint32_t))};
    bool ok = f.uses && f.maker;
    if (ok) {
        for (size_t v = 0; v < values; v++)
            f.maker[v] = UINT32_MAX;
        for (size_t i = 0; i < p->record_count; i++) {
            f.maker[p->records[i].out] = (uint32_t)i;
            for (size_t j = 0; j < p->records[i].inputs; j++)
                f.uses[p->records[i].in[j]]++;
        }
    }
    // Norms go before adds: a sum that only a norm reads is cheapest there.
    for (int pass = 0; ok && pass < 2; pass++) {
        for (size_t i = 0; ok && i < p->record_count; i++) {
            struct record *r = &p->records[i];
            if (r->dead) continue;
            if (pass == 0 && r->op == OP_ACT) fuse_act(&f, r);
            if (pass == 0 && r->op == OP_LAYER_NORM) fuse_norm(&f, r);
            if (pass == 0 && r->op == OP_ATTENTION) ok = fuse_projections(&f, r);
            if (pass == 1 && r->op == OP_ADD) fuse_add(&f, r);
        }
    }
    if (!ok) error_memory(&p->error, "program");
    fuse_sweep(p);
    mem_free(f.uses);
    mem_free(f.maker);
}
