// What the processor can do, found once, and what SABOK_ISA leaves of it.
#include "base/base.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

#define ISA_BIT(isa) (1u << (isa))

struct cpu {
    unsigned found, allowed; // ISA_BIT sets
    char brand[64];
    char problem[192];
    size_t cache[4]; // by level
};

static struct cpu cpu;
static pthread_once_t cpu_once = PTHREAD_ONCE_INIT;

struct isa_info {
    const char *name;
    unsigned covers; // what a mask of this name leaves: itself and all that it stands on
};

#define COVER_C ISA_BIT(ISA_C)
#define COVER_AVX2 (COVER_C | ISA_BIT(ISA_AVX2))
#define COVER_AVX512 (COVER_AVX2 | ISA_BIT(ISA_AVX512))
#define COVER_VNNI (COVER_AVX512 | ISA_BIT(ISA_VNNI))
#define COVER_BF16 (COVER_VNNI | ISA_BIT(ISA_BF16))
static const struct isa_info isas[ISA_COUNT] = {
    [ISA_C] = {"c", COVER_C},
    [ISA_AVX2] = {"avx2", COVER_AVX2},
    [ISA_AVXVNNI] = {"avxvnni", COVER_AVX2 | ISA_BIT(ISA_AVXVNNI)},
    [ISA_AVX512] = {"avx512", COVER_AVX512},
    [ISA_VNNI] = {"vnni", COVER_VNNI},
    [ISA_BF16] = {"bf16", COVER_BF16},
    [ISA_AMX] = {"amx", COVER_BF16 | ISA_BIT(ISA_AMX)},
};

#if defined(__x86_64__)
struct regs {
    unsigned a, b, c, d;
};

// All zero when the processor has no such leaf. Where a hypervisor traps the instruction it takes tens of
// microseconds, so the highest leaves are asked for once.
static struct regs cpuid(unsigned leaf, unsigned subleaf) {
    static unsigned highest[2]; // basic, extended; only written under pthread_once
    unsigned *top = &highest[leaf >> 31];
    if (*top == 0) *top = (unsigned)__get_cpuid_max(leaf & 0x80000000, NULL);
    struct regs r = {0};
    if (leaf <= *top) __cpuid_count(leaf, subleaf, r.a, r.b, r.c, r.d);
    return r;
}

static uint64_t read_xcr0(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool has_bit(unsigned x, int bit) {
    return x >> bit & 1;
}

// Linux gives the tile state of AMX (8 KB more in every signal frame) only to processes that ask.
static bool amx_permitted(void) {
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

static unsigned isa_detect(void) {
    unsigned found = ISA_BIT(ISA_C);
    struct regs one = cpuid(1, 0), seven = cpuid(7, 0), seven1 = cpuid(7, 1);
    if (seven.a == 0) seven1 = (struct regs){0};
    if (!has_bit(one.c, 27)) return found; // OSXSAVE: without it there is no XCR0 to read
    uint64_t xcr0 = read_xcr0();
    bool ymm = (xcr0 & 0x6) == 0x6, zmm = (xcr0 & 0xe6) == 0xe6, tile = (xcr0 & 0x60000) == 0x60000;

    bool fma = has_bit(one.c, 12), avx = has_bit(one.c, 28), f16c = has_bit(one.c, 29);
    if (!ymm || !fma || !avx || !f16c || !has_bit(seven.b, 5)) return found;
    found |= ISA_BIT(ISA_AVX2);
    if (has_bit(seven1.a, 4)) found |= ISA_BIT(ISA_AVXVNNI);

    // f 16, dq 17, cd 28, bw 30, vl 31.
    unsigned want = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
    if (!zmm || (seven.b & want) != want) return found;
    found |= ISA_BIT(ISA_AVX512);
    if (!has_bit(seven.c, 11)) return found;
    found |= ISA_BIT(ISA_VNNI);
    if (!has_bit(seven1.a, 5)) return found;
    found |= ISA_BIT(ISA_BF16);

    // bf16 22, tile 24, int8 25; leaf 0xd, 18 gives the size of the tile state the system keeps.
    want = 1u << 22 | 1u << 24 | 1u << 25;
    if ((seven.d & want) == want && tile && cpuid(0xd, 18).a != 0 && amx_permitted())
        found |= ISA_BIT(ISA_AMX);
    return found;
}

static void brand_read(char out[64]) {
    for (unsigned i = 0; i < 3; i++) {
        struct regs r = cpuid(0x80000002 + i, 0);
        memcpy(out + 16 * i, &r, sizeof r);
    }
}

// Intel describes caches in leaf 4, AMD in the same form in leaf 0x8000001d.
static void caches_read(size_t cache[4]) {
    static const unsigned leaves[] = {4, 0x8000001d};
    for (size_t l = 0; l < COUNT(leaves) && cache[1] == 0; l++)
        for (unsigned i = 0; i < 16; i++) {
            struct regs r = cpuid(leaves[l], i);
            unsigned type = r.a & 31, level = r.a >> 5 & 7;
            if (type == 0) break;
            if (type == 2 || level < 1 || level > 3) continue; // 2: of instructions
            size_t ways = (r.b >> 22) + 1, parts = (r.b >> 12 & 0x3ff) + 1, line = (r.b & 0xfff) + 1;
            cache[level] = ways * parts * line * ((size_t)r.c + 1);
        }
}
#else
static unsigned isa_detect(void) {
    return ISA_BIT(ISA_C);
}

static void brand_read(char out[64]) {
    (void)out;
}

static void caches_read(size_t cache[4]) {
    (void)cache;
}
#endif

static void brand_set(void) {
    char raw[64] = {0};
    brand_read(raw);
    size_t n = 0;
    for (size_t i = 0; raw[i]; i++) // makers pad with blanks in front, behind and between
        if (raw[i] != ' ' || (n > 0 && cpu.brand[n - 1] != ' ')) cpu.brand[n++] = raw[i];
    while (n > 0 && cpu.brand[n - 1] == ' ')
        n--;
    cpu.brand[n] = '\0';
    if (n == 0) snprintf(cpu.brand, sizeof cpu.brand, "unknown processor");
}

static void caches_set(void) {
    static const size_t defaults[4] = {0, (size_t)32 << 10, (size_t)512 << 10, (size_t)8 << 20};
    static const int names[4] = {0, _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    caches_read(cpu.cache);
    for (int level = 1; level <= 3; level++) {
        if (cpu.cache[level]) continue;
        long n = sysconf(names[level]);
        cpu.cache[level] = n > 0 ? (size_t)n : defaults[level];
    }
}

static void mask_set(const char *text) {
    cpu.allowed = ~0u;
    if (!text || !*text) return;
    for (size_t i = 0; i < ISA_COUNT; i++) {
        if (strcmp(text, isas[i].name) != 0) continue;
        cpu.allowed = isas[i].covers;
        if (!(cpu.found & ISA_BIT(i)))
            snprintf(cpu.problem, sizeof cpu.problem, "SABOK_ISA=%s: this machine (%s) does not have it",
                     isas[i].name, cpu.brand);
        return;
    }
    snprintf(cpu.problem, sizeof cpu.problem,
             "SABOK_ISA=%.40s is unknown, expected c, avx2, avxvnni, avx512, vnni, bf16 or amx", text);
}

static void cpu_detect(void) {
    cpu.found = isa_detect();
    brand_set();
    caches_set();
    mask_set(getenv("SABOK_ISA"));
}

static const struct cpu *cpu_get(void) {
    pthread_once(&cpu_once, cpu_detect);
    return &cpu;
}

const char *cpu_isa_name(enum cpu_isa isa) {
    ASSERT(isa < ISA_COUNT);
    return isas[isa].name;
}

bool cpu_has(enum cpu_isa isa) {
    const struct cpu *c = cpu_get();
    return c->found & c->allowed & ISA_BIT(isa);
}

bool cpu_found(enum cpu_isa isa) {
    return cpu_get()->found & ISA_BIT(isa);
}

const char *cpu_brand(void) {
    return cpu_get()->brand;
}

const char *cpu_isa_problem(void) {
    const struct cpu *c = cpu_get();
    return c->problem[0] ? c->problem : NULL;
}

size_t cpu_cache_bytes(int level) {
    ASSERT(level >= 1 && level <= 3);
    return cpu_get()->cache[level];
}
