// The formats in which linear weights are kept. The model never sees them; packing encodes, bind picks the kernel.
#include "core/core.h"

static const struct {
    const char *name; // as --dtype spells it
    sabok_dtype dtype;
} format_table[FORMAT_COUNT] = {
    [FORMAT_F32] = {"float32", SABOK_FLOAT32},
    [FORMAT_F16] = {"float16", SABOK_FLOAT16},
    [FORMAT_BF16] = {"bfloat16", SABOK_BFLOAT16},
    [FORMAT_I8] = {"int8", SABOK_INT8},
};

const char *format_name(enum weight_format format) {
    return format_table[format].name;
}

bool format_of(sabok_dtype dtype, enum weight_format *out) {
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (format_table[i].dtype == dtype) {
            *out = (enum weight_format)i;
            return true;
        }
    return false;
}
