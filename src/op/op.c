// The table of op rules, read from op.def, and the one place where a bound step calls its kernel.
#include "op/op.h"

#define OP(NAME, name, family) extern const struct op_rules op_##name##_rules;
#include "op/op.def"
#undef OP

static const struct {
    const char *name;
    enum family family;
    const struct op_rules *rules;
} op_table[OP_COUNT] = {
#define OP(NAME, name, family) [OP_##NAME] = {#name, family, &op_##name##_rules},
#include "op/op.def"
#undef OP
};

const struct op_rules *op_rules(uint16_t op) {
    ASSERT(op > OP_NONE && op < OP_COUNT);
    return op_table[op].rules;
}

const char *op_name(uint16_t op) {
    ASSERT(op > OP_NONE && op < OP_COUNT);
    return op_table[op].name;
}

enum family record_family(const prog *p, const struct record *r) {
    ASSERT(r->op > OP_NONE && r->op < OP_COUNT);
    return r->op == OP_LINEAR ? linear_family(p, r) : op_table[r->op].family;
}

void step_run(const struct step *step, size_t begin, size_t end) {
    const union kernel_fn fn = step->kernel->fn;
    switch (step->kernel->family) {
    case FAMILY_MATMUL:
    case FAMILY_MATMUL_BF16W:
    case FAMILY_MATMUL_F16W:
    case FAMILY_MATMUL_BF16:
    case FAMILY_MATMUL_I8:
        fn.matmul(&step->args.matmul, begin, end);
        return;
    case FAMILY_CAST:
        fn.cast(&step->args.cast, begin, end);
        return;
    case FAMILY_QUANTIZE:
        fn.quantize(&step->args.quantize, begin, end);
        return;
    case FAMILY_NORM:
        fn.norm(&step->args.norm, begin, end);
        return;
    case FAMILY_ACT:
        fn.act(&step->args.act, begin, end);
        return;
    case FAMILY_ADD:
        fn.add(&step->args.add, begin, end);
        return;
    case FAMILY_ATTENTION:
        fn.attention(&step->args.attention, begin, end);
        return;
    case FAMILY_EMBED:
        fn.embed(&step->args.embed, begin, end);
        return;
    case FAMILY_POOL:
        op_pool_run(step, begin, end);
        return;
    case FAMILY_UNIT:
        fn.unit(&step->args.unit, begin, end);
        return;
    case FAMILY_COUNT:
        break;
    }
    ASSERT(false); // a step without a family
}
