// The list of verbs, and how their names are looked up.
#include "cli.h"

#include <string.h>

const struct verb *const verbs[] = {
    &verb_run, &verb_eval, &verb_tokenize, &verb_inspect, &verb_bench, &verb_pull, &verb_convert, &verb_help,
};
const size_t verb_count = COUNT(verbs);

bool name_equal(const char *a, const char *b) {
    for (; *a && *b; a++, b++)
        if ((*a == '-' ? '_' : *a) != (*b == '-' ? '_' : *b)) return false;
    return *a == *b;
}

const struct verb *verb_find(const char *name) {
    for (size_t i = 0; i < verb_count; i++)
        if (strcmp(verbs[i]->name, name) == 0) return verbs[i];
    return NULL;
}

const struct task *task_find(const struct verb *verb, const char *name) {
    for (size_t i = 0; i < verb->task_count; i++) {
        const struct task *task = &verb->tasks[i];
        if (name_equal(task->name, name)) return task;
        for (size_t j = 0; j < COUNT(task->aliases) && task->aliases[j]; j++)
            if (name_equal(task->aliases[j], name)) return task;
    }
    return NULL;
}

static size_t groups_add(const struct option_group *const *groups, const struct option_group **out,
                         size_t n) {
    for (size_t i = 0; i < GROUPS_OWN && groups[i]; i++) {
        bool there = false;
        for (size_t j = 0; j < n; j++)
            there |= out[j] == groups[i];
        if (!there && n < GROUP_MAX) out[n++] = groups[i];
    }
    return n;
}

size_t verb_groups(const struct verb *verb, const struct task *task,
                   const struct option_group *out[GROUP_MAX]) {
    size_t n = groups_add(verb->groups, out, 0);
    for (size_t i = 0; i < verb->task_count; i++)
        if (!task || task == &verb->tasks[i]) n = groups_add(verb->tasks[i].groups, out, n);
    return groups_add((const struct option_group *[GROUPS_OWN]){&group_general}, out, n);
}
