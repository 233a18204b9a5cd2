// The mask of SABOK_ISA, each value of it in a process of its own; counts and sizes that make sense.
#include "base/base.h"
#include "base/check.h"
#include "base/folder.h"

#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Runs this program again as "cpu_test --show" with SABOK_ISA set; its output into out.
static void show(const char *isa, char *out, size_t size) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], 1);
        if (isa)
            setenv("SABOK_ISA", isa, 1);
        else
            unsetenv("SABOK_ISA");
        execl("/proc/self/exe", "cpu_test", "--show", (char *)NULL);
        _exit(99);
    }
    close(ends[1]);
    size_t at = 0;
    for (ssize_t n; at < size - 1 && (n = read(ends[0], out + at, size - 1 - at)) > 0;)
        at += (size_t)n;
    out[at] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int show_main(void) {
    for (int i = 0; i < ISA_COUNT; i++)
        printf("%d", cpu_has((enum cpu_isa)i));
    printf(" %s\n", cpu_isa_problem() ? cpu_isa_problem() : "fine");
    return 0;
}

static void masks_leave_what_they_name(void **state) {
    (void)state;
    //                                        c, avx2, avxvnni, avx512, vnni, bf16, amx
    static const char *const covers[ISA_COUNT] = {"1000000", "1100000", "1110000", "1101000",
                                                  "1101100", "1101110", "1101111"};
    for (int isa = 0; isa < ISA_COUNT; isa++) {
        const char *name = cpu_isa_name((enum cpu_isa)isa);
        char text[512];
        show(name, text, sizeof text);
        for (int i = 0; i < ISA_COUNT; i++) {
            bool expected = covers[isa][i] == '1' && cpu_found((enum cpu_isa)i);
            if ((text[i] == '1') != expected)
                fail_msg("SABOK_ISA=%s ./cpu_test --show: %s is %c", name, cpu_isa_name((enum cpu_isa)i),
                         text[i]);
        }
        if (cpu_found((enum cpu_isa)isa))
            assert_string_equal(text + ISA_COUNT, " fine\n");
        else
            assert_non_null(strstr(text, "does not have it"));
    }
}

static void no_mask_leaves_all(void **state) {
    (void)state;
    static const char *const none[] = {NULL, ""};
    for (size_t v = 0; v < COUNT(none); v++) {
        char text[512];
        show(none[v], text, sizeof text);
        for (int i = 0; i < ISA_COUNT; i++)
            assert_int_equal(text[i] == '1', cpu_found((enum cpu_isa)i));
        assert_string_equal(text + ISA_COUNT, " fine\n");
    }
}

static void misspelt_masks_are_a_problem(void **state) {
    (void)state;
    static const char *const wrong[] = {"avx", "AVX2", "avx2 ", "avx512,avx2", "none"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char text[512];
        show(wrong[i], text, sizeof text);
        assert_non_null(strstr(text, wrong[i]));
        assert_non_null(strstr(text, "is unknown, expected c, avx2, avxvnni, avx512, vnni, bf16 or amx"));
    }
}

static void levels_stand_on_each_other(void **state) {
    (void)state;
    static const enum cpu_isa below[ISA_COUNT] = {ISA_C,      ISA_C,    ISA_AVX2, ISA_AVX2,
                                                  ISA_AVX512, ISA_VNNI, ISA_BF16};
    assert_true(cpu_found(ISA_C));
    for (int i = 0; i < ISA_COUNT; i++)
        assert_true(!cpu_found((enum cpu_isa)i) || cpu_found(below[i]));
#if defined(__x86_64__)
    __builtin_cpu_init();
    assert_int_equal(cpu_found(ISA_AVX2), __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
    assert_int_equal(cpu_found(ISA_AVX512),
                     __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                         __builtin_cpu_supports("avx512cd"));
#endif
}

static void counts_and_sizes_make_sense(void **state) {
    (void)state;
    assert_true(strlen(cpu_brand()) > 0);
    assert_true(cpu_cache_bytes(1) >= 8 << 10 && cpu_cache_bytes(1) <= 1 << 20);
    assert_true(cpu_cache_bytes(2) >= 64 << 10);
    assert_true(cpu_cache_bytes(3) >= 64 << 10);
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    unsigned all = cpu_count();
    assert_true(all >= 1 && all <= (unsigned)CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(cpu_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(cpu_count(), all);
}

// One control-group file in a made-up tree, in folders that are made as needed.
static void put_group(const struct folder *f, const char *name, const char *text) {
    char path[FOLDER_PATH];
    folder_join(f, name, path);
    for (char *slash = path + strlen(f->path) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    folder_put(f, name, text, strlen(text));
}

static void quotas_of_groups_are_honoured(void **state) {
    (void)state;
    static const struct {
        const char *cgroup, *file, *text, *file2, *text2;
        unsigned cpus;
    } cases[] = {
        {"0::/\n", "cpu.max", "150000 100000\n", "cpu.other", "", 2},
        {"0::/\n", "cpu.max", "max 100000\n", "cpu.other", "", 0},
        {"0::/a/b\n", "a/b/cpu.max", "400000 100000\n", "a/cpu.max", "200000 100000\n", 2},
        {"0::/a/b\n", "a/b/cpu.max", "50000 100000\n", "a/cpu.max", "max 100000\n", 1},
        {"0::/gone/away\n", "cpu.max", "300000 100000\n", "cpu.other", "", 3},
        {"4:cpuset:/\n3:cpu,cpuacct:/d\n", "cpu/d/cpu.cfs_quota_us", "250000\n", "cpu/d/cpu.cfs_period_us",
         "100000\n", 3},
        {"3:cpu:/d\n", "cpu/d/cpu.cfs_quota_us", "-1\n", "cpu/d/cpu.cfs_period_us", "100000\n", 0},
        {"3:cpuacct:/\n", "cpu/cpu.cfs_quota_us", "250000\n", "cpu/cpu.cfs_period_us", "100000\n", 0},
        {"no colons\n:\n", "cpu.max", "1 1\n", "cpu.other", "", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct folder f;
        char cgroup[FOLDER_PATH], path[FOLDER_PATH];
        folder_make(&f);
        put_group(&f, "cgroup", cases[i].cgroup);
        put_group(&f, cases[i].file, cases[i].text);
        put_group(&f, cases[i].file2, cases[i].text2);
        assert_int_equal(cpu_quota(folder_join(&f, "cgroup", cgroup), f.path), cases[i].cpus);
        unlink(folder_join(&f, cases[i].file, path));
        unlink(folder_join(&f, cases[i].file2, path));
        static const char *const folders[] = {"a/b", "a", "cpu/d", "cpu"};
        for (size_t j = 0; j < COUNT(folders); j++)
            rmdir(folder_join(&f, folders[j], path));
        folder_remove(&f);
    }
    assert_int_equal(cpu_quota("/nowhere/cgroup", "/nowhere"), 0);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--show") == 0) return show_main();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_leave_what_they_name),   cmocka_unit_test(no_mask_leaves_all),
        cmocka_unit_test(misspelt_masks_are_a_problem), cmocka_unit_test(levels_stand_on_each_other),
        cmocka_unit_test(counts_and_sizes_make_sense),  cmocka_unit_test(quotas_of_groups_are_honoured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
