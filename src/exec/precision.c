// precision: gives each linear record the format of its weights, and its operand the type that the kernel reads. Runs
// after fuse. A weight -> weight step: what the model computes stays, rounded.
//
//   int8      x -> quantize(x), once for all readers of x
//   bfloat16  where the CPU multiplies bf16: x -> cast(x), or the linear that makes x writes bf16 itself
//   bfloat16 elsewhere, and float16: the weights alone are narrow, and are widened when read
#include "exec/exec.h"

#include <string.h>

struct precision_pass {
    prog *p;
    const struct precision *how;
    struct record *records; // the new list
    size_t count;
    uint32_t *uses;  // by val of the old program
    val *lowered[2]; // by val: its cast, its quantized form; 0: none yet
    uint32_t *maker; // by val: index in `records` of the record that writes it, or UINT32_MAX
    bool bf16_arithmetic;
};

// '*' stands for any run of characters.
static bool precision_matches(const char *pattern, const char *name) {
    if (*pattern == '*')
        return precision_matches(pattern + 1, name) || (*name && precision_matches(pattern, name + 1));
    if (*pattern != *name) return false;
    return !*pattern || precision_matches(pattern + 1, name + 1);
}

enum weight_format precision_of(const struct precision *how, const char *name) {
    for (size_t i = how->rule_count; i-- > 0;) // the last that matches wins
        if (precision_matches(how->rules[i].pattern, name)) return how->rules[i].format;
    return how->format;
}

// Joined parts share one operand and one kernel, so the widest format of the three is taken.
static enum weight_format precision_record(const struct precision_pass *pass, const struct record *r) {
    const struct linear_params *params = (const void *)r->params;
    if (strncmp(r->scope, "layer.", 6) != 0) return FORMAT_F32; // heads are small and feed no further layer
    enum weight_format format = FORMAT_COUNT;
    for (uint32_t i = 0; i < params->parts; i++) {
        const enum weight_format one =
            precision_of(pass->how, pass->p->values[r->in[2 + 2 * i]].weight->name);
        if (one < format) format = one;
    }
    return format;
}

// The operand in the type wanted: an earlier one, or a new record in front.
static val precision_operand(struct precision_pass *pass, val x, bool int8, const char *scope) {
    val *known = &pass->lowered[int8][x];
    if (*known) return *known;
    prog *p = pass->p;
    const size_t before = p->record_count;
    *known = int8 ? op_quantize(p, x, 0) : op_cast(p, x);
    if (!*known) return 0;
    // The constructor appended it to the old list; it belongs here.
    pass->records[pass->count] = p->records[before];
    pass->records[pass->count++].scope = scope;
    p->record_count = before;
    return *known;
}

// Lets the linear that makes x write bf16 itself, when nobody else reads x.
static bool precision_write_bf16(struct precision_pass *pass, val x) {
    struct value *value = &pass->p->values[x];
    if (pass->uses[x] != 1 || value->kind != VALUE_TEMP || value->tapped || pass->maker[x] == UINT32_MAX)
        return false;
    struct record *maker = &pass->records[pass->maker[x]];
    if (maker->op != OP_LINEAR || maker->in[1] != 0 || linear_family(pass->p, maker) != FAMILY_MATMUL_BF16)
        return false;
    value->dtype = DT_BF16;
    return true;
}

static bool precision_linear(struct precision_pass *pass, struct record *r) {
    struct linear_params *params = (void *)r->params;
    params->format = precision_record(pass, r);
    if (params->format == FORMAT_I8) r->in[0] = precision_operand(pass, r->in[0], true, r->scope);
    if (params->format == FORMAT_BF16 && pass->bf16_arithmetic && !precision_write_bf16(pass, r->in[0]))
        r->in[0] = precision_operand(pass, r->in[0], false, r->scope);
    return r->in[0] != 0;
}

static bool precision_start(struct precision_pass *pass) {
    const prog *p = pass->p;
    // Each record may bring one more record and one more value.
    const size_t values = p->value_count + p->record_count;
    pass->records = mem_array(2 * p->record_count, sizeof *pass->records);
    pass->uses = mem_zalloc(values * sizeof *pass->uses);
    pass->maker = mem_array(values, sizeof *pass->maker);
    pass->lowered[0] = mem_zalloc(values * sizeof(val));
    pass->lowered[1] = mem_zalloc(values * sizeof(val));
    if (!pass->records || !pass->uses || !pass->maker || !pass->lowered[0] || !pass->lowered[1]) return false;
    for (size_t v = 0; v < values; v++)
        pass->maker[v] = UINT32_MAX;
    for (size_t i = 0; i < p->record_count; i++)
        for (size_t j = 0; j < p->records[i].inputs; j++)
            pass->uses[p->records[i].in[j]]++;
    return true;
}

void prog_precision(prog *p, const struct precision *how) {
    if (p->error.code != SABOK_OK || (how->format == FORMAT_F32 && how->rule_count == 0)) return;
    struct precision_pass pass = {.p = p,
                                  .how = how,
                                  .bf16_arithmetic =
                                      kernel_best_low(MATMUL_LOW_BF16)->family == FAMILY_MATMUL_BF16};
    const size_t records = p->record_count;
    bool ok = precision_start(&pass);
    for (size_t i = 0; ok && i < records; i++) {
        struct record r = p->records[i];
        if (r.op == OP_LINEAR) ok = precision_linear(&pass, &r);
        pass.maker[r.out] = (uint32_t)pass.count;
        pass.records[pass.count++] = r;
    }
    if (ok && mem_grow((void **)&p->records, &p->record_cap, pass.count, sizeof *p->records)) {
        memcpy(p->records, pass.records, pass.count * sizeof *p->records);
        p->record_count = pass.count;
    } else if (p->error.code == SABOK_OK) {
        error_memory(&p->error, "program");
    }
    mem_free(pass.records);
    mem_free(pass.uses);
    mem_free(pass.maker);
    mem_free(pass.lowered[0]);
    mem_free(pass.lowered[1]);
}
