// How many CPUs this process may use: its affinity mask, and the CPU quotas of its control groups.
#include "base/base.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SET_CPUS 16384 // more than any kernel is built for

static unsigned affinity_count(void) {
    union {
        cpu_set_t head;
        unsigned long words[SET_CPUS / 8 / sizeof(unsigned long)];
    } set;
    memset(&set, 0, sizeof set);
    if (sched_getaffinity(0, sizeof set, &set.head) != 0) return 0;
    unsigned n = 0;
    for (size_t i = 0; i < COUNT(set.words); i++)
        n += (unsigned)__builtin_popcountl(set.words[i]);
    return n;
}

// A small text file of the kernel, which tells no size; false when there is none.
static bool text_read(const char *path, char *out, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    size_t at = 0;
    for (ssize_t n; at < size - 1 && (n = read(fd, out + at, size - 1 - at)) > 0;)
        at += (size_t)n;
    close(fd);
    out[at] = '\0';
    return at > 0;
}

// CPUs that `quota` microseconds in every `period` come to, rounded up; 0: no limit.
static unsigned quota_cpus(const char *quota, const char *period) {
    long long q = atoll(quota), p = atoll(period);
    if (q <= 0 || p <= 0) return 0;
    long long cpus = (q + p - 1) / p;
    return cpus > SET_CPUS ? 0 : (unsigned)cpus;
}

// The limit of one group, whose files are in `folder`; 0: none.
static unsigned group_limit(const char *folder, bool v2) {
    char path[1200], a[64], b[64];
    if (v2) {
        snprintf(path, sizeof path, "%s/cpu.max", folder); // "max 100000" or "150000 100000"
        if (!text_read(path, a, sizeof a)) return 0;
        const char *blank = strchr(a, ' ');
        return blank ? quota_cpus(a, blank + 1) : 0;
    }
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!text_read(path, a, sizeof a)) return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    return text_read(path, b, sizeof b) ? quota_cpus(a, b) : 0;
}

// The tightest limit from the group up to the root of its tree: each ancestor's limit holds too.
static unsigned tree_limit(const char *root, const char *group, size_t length, bool v2) {
    char folder[1100];
    size_t base = strlen(root);
    if (base + length >= sizeof folder) length = 0;
    memcpy(folder, root, base);
    memcpy(folder + base, group, length);
    folder[base + length] = '\0';
    unsigned least = 0;
    for (;;) {
        unsigned n = group_limit(folder, v2);
        if (n && (!least || n < least)) least = n;
        char *slash = strrchr(folder + base, '/');
        if (!slash) return least;
        *slash = '\0';
    }
}

// True when the comma-separated list of controllers has "cpu".
static bool lists_cpu(const char *list, const char *end) {
    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        if (!comma) comma = end;
        if (comma - list == 3 && memcmp(list, "cpu", 3) == 0) return true;
        list = comma + 1;
    }
    return false;
}

unsigned cpu_quota(const char *cgroup, const char *root) {
    char text[8192], v1[512];
    snprintf(v1, sizeof v1, "%s/cpu", root);
    if (!text_read(cgroup, text, sizeof text)) return 0;
    unsigned least = 0;
    // Lines "number:controllers:path"; version 2 has no controllers.
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
        if (!second) continue;
        const char *path = second + 1;
        unsigned n = 0;
        if (second == first + 1)
            n = tree_limit(root, path, strlen(path), true);
        else if (lists_cpu(first + 1, second))
            n = tree_limit(v1, path, strlen(path), false);
        if (n && (!least || n < least)) least = n;
    }
    return least;
}

unsigned cpu_count(void) {
    unsigned affinity = affinity_count(), group = cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    if (affinity == 0) affinity = 1;
    return group && group < affinity ? group : affinity;
}
