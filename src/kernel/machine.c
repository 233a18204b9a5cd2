// The machine as the kernels see it: what the CPU has, what SABOK_ISA leaves, what is chosen.
#include "kernel/kernel.h"

#include <string.h>

static void machine_text(struct buf *b) {
    buf_printf(b, "cpu      %s\n", cpu_brand());
    buf_printf(b, "cpus     %u\n", cpu_count());
    buf_printf(b, "caches   %zu KiB L1 data, %zu KiB L2, %zu KiB L3\n", cpu_cache_bytes(1) >> 10,
               cpu_cache_bytes(2) >> 10, cpu_cache_bytes(3) >> 10);
    buf_printf(b, "found   ");
    for (enum cpu_isa isa = ISA_C; isa < ISA_COUNT; isa++)
        if (cpu_found(isa)) buf_printf(b, " %s", cpu_isa_name(isa));
    buf_printf(b, "\nin use  ");
    for (enum cpu_isa isa = ISA_C; isa < ISA_COUNT; isa++)
        if (cpu_has(isa)) buf_printf(b, " %s", cpu_isa_name(isa));
    buf_printf(b, "\nkernels\n");
    for (enum family family = 0; family < FAMILY_COUNT; family++)
        buf_printf(b, "  %-10s %s\n", kernel_family_name(family), kernel_best(family)->name);
}

static void machine_isas(struct buf *b, const char *key, bool (*has)(enum cpu_isa isa)) {
    buf_printf(b, ", \"%s\": [", key);
    bool first = true;
    for (enum cpu_isa isa = ISA_C; isa < ISA_COUNT; isa++) {
        if (!has(isa)) continue;
        buf_printf(b, "%s\"%s\"", first ? "" : ", ", cpu_isa_name(isa));
        first = false;
    }
    buf_put(b, "]", 1);
}

static void machine_json(struct buf *b) {
    const char *brand = cpu_brand();
    char name[256];
    const size_t n = sabok_format_json_string(brand, strlen(brand), name, sizeof name);
    buf_printf(b, "{\"cpu\": %.*s, \"cpus\": %u", (int)size_min(n, sizeof name), name, cpu_count());
    for (int level = 1; level <= 3; level++)
        buf_printf(b, ", \"l%d_bytes\": %zu", level, cpu_cache_bytes(level));
    machine_isas(b, "found", cpu_found);
    machine_isas(b, "isa", cpu_has);
    buf_printf(b, ", \"kernels\": {");
    for (enum family family = 0; family < FAMILY_COUNT; family++)
        buf_printf(b, "%s\"%s\": \"%s\"", family ? ", " : "", kernel_family_name(family),
                   kernel_best(family)->name);
    buf_printf(b, "}}\n");
}

sabok_status sabok_cpu_print(bool json, sabok_write_fn *write, void *ctx, sabok_error *err) {
    const char *problem = cpu_isa_problem();
    if (problem) return error_set(err, SABOK_EINVAL, NULL, "%s", problem);
    struct buf b = {0};
    if (json)
        machine_json(&b);
    else
        machine_text(&b);
    sabok_status status = SABOK_OK;
    if (b.failed)
        status = error_memory(err, "sabok_cpu_print");
    else if (write(ctx, b.data, b.size) != 0)
        status = error_set(err, SABOK_ECANCELED, NULL, "stopped by the caller");
    buf_free(&b);
    return status;
}
