// Reads arguments: --name value, --name=value, --flag, --flag true|false; '-' and '_' in names are the same.
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 256

struct reader {
    const struct verb *verb;
    const struct option_group *groups[GROUP_MAX];
    size_t group_count;
    char **argv;
    size_t n, next;
    struct args *args;
};

static const struct option *option_find(const struct reader *r, const char *name) {
    for (size_t g = 0; g < r->group_count; g++)
        for (size_t i = 0; i < r->groups[g]->count; i++) {
            const struct option *o = &r->groups[g]->options[i];
            if (name_equal(o->name, name) || (o->alias && name_equal(o->alias, name))) return o;
        }
    return NULL;
}

static _Noreturn void option_unknown(const struct reader *r, const char *name) {
    const char *names[NAMES_MAX];
    size_t n = 0;
    for (size_t g = 0; g < r->group_count; g++)
        for (size_t i = 0; i < r->groups[g]->count && n < NAMES_MAX; i++)
            names[n++] = r->groups[g]->options[i].name;
    usage_fail("--%s: no such option of `sabok %s`%s", name, r->verb->name,
               nearest_hint(name, "--", names, n));
}

// ---- values

static bool read_count(const char *text, size_t length, size_t *out) {
    char copy[32], *end;
    if (length == 0 || length >= sizeof copy || text[0] < '0' || text[0] > '9') return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    errno = 0;
    const unsigned long long n = strtoull(copy, &end, 10);
    *out = (size_t)n;
    return *end == '\0' && errno == 0;
}

static void value_count(const struct option *o, const char *text, size_t *out) {
    if (!read_count(text, strlen(text), out))
        usage_fail("--%s: found \"%s\", expected a whole number", o->name, text);
}

static void value_real(const struct option *o, const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end || !isfinite(*out) || *out <= 0)
        usage_fail("--%s: found \"%s\", expected a number above 0", o->name, text);
}

static void value_choice(const struct option *o, const char *text, unsigned *out) {
    char list[512] = "";
    size_t n = 0;
    for (; o->choices[n]; n++) {
        if (strcmp(o->choices[n], text) == 0) {
            *out = (unsigned)n;
            return;
        }
        strncat(list, n ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, o->choices[n], sizeof list - strlen(list) - 1);
    }
    usage_fail("--%s: found \"%s\", expected one of %s%s", o->name, text, list,
               nearest_hint(text, "", o->choices, n));
}

void strings_add(struct strings *s, const char *item) {
    heap_grow(&s->items, &s->cap, s->count + 1, sizeof *s->items);
    s->items[s->count++] = item;
}

static void value_names(const char *text, struct strings *out) {
    for (;;) {
        const size_t n = strcspn(text, ",");
        strings_add(out, heap_format("%.*s", (int)n, text));
        if (!text[n]) return;
        text += n + 1;
    }
}

static void value_counts(const struct option *o, const char *text, struct sizes *out) {
    for (const char *at = text;;) {
        const size_t n = strcspn(at, ",");
        size_t count;
        if (!read_count(at, n, &count) || count == 0)
            usage_fail("--%s: found \"%s\", expected numbers above 0 with commas between", o->name, text);
        heap_grow(&out->items, &out->cap, out->count + 1, sizeof *out->items);
        out->items[out->count++] = count;
        if (!at[n]) return;
        at += n + 1;
    }
}

static void value_shapes(const struct option *o, const char *text, struct shapes *out) {
    for (const char *at = text;;) {
        size_t shape[3];
        for (size_t i = 0; i < 3; i++) {
            const size_t n = strcspn(at, "x,");
            if (!read_count(at, n, &shape[i]) || shape[i] == 0 || (i < 2 && at[n] != 'x') ||
                (i == 2 && at[n] == 'x'))
                usage_fail("--%s: found \"%s\", expected MxNxK, for instance 128x384x384", o->name, text);
            at += n + (i < 2);
        }
        heap_grow(&out->items, &out->cap, out->count + 1, sizeof *out->items);
        memcpy(out->items[out->count++], shape, sizeof shape);
        if (!*at) return;
        at++;
    }
}

static void option_set(const struct option *o, const char *text, struct args *args) {
    void *place = (char *)args + o->place;
    if (o->given) *(bool *)((char *)args + o->given) = true;
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)place = strcmp(text, "true") == 0;
        return;
    case OPTION_TEXT:
        *(const char **)place = text;
        return;
    case OPTION_COUNT:
        value_count(o, text, place);
        return;
    case OPTION_REAL:
        value_real(o, text, place);
        return;
    case OPTION_CHOICE:
        value_choice(o, text, place);
        return;
    case OPTION_TEXTS:
        strings_add(place, text);
        return;
    case OPTION_NAMES:
        value_names(text, place);
        return;
    case OPTION_COUNTS:
        value_counts(o, text, place);
        return;
    case OPTION_SHAPES:
        value_shapes(o, text, place);
        return;
    }
}

// ---- arguments

static bool is_truth(const char *text) {
    return strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

// The value of an option that stands alone in its argument: the next argument, unless that is an option too.
static const char *next_value(struct reader *r, const struct option *o) {
    const char *next = r->next < r->n ? r->argv[r->next] : NULL;
    if (o->kind == OPTION_FLAG) {
        if (!next || !is_truth(next)) return "true";
        r->next++;
        return next;
    }
    if (!next || (strncmp(next, "--", 2) == 0 && option_find(r, next + 2)))
        usage_fail("--%s: expected %s after it", o->name, o->value);
    r->next++;
    return next;
}

static void read_option(struct reader *r, const char *text) {
    const size_t n = strcspn(text, "=");
    char *name = heap_format("%.*s", (int)n, text);
    const struct option *o = option_find(r, name);
    if (!o) option_unknown(r, name);
    const char *value = text[n] ? text + n + 1 : next_value(r, o);
    if (o->kind == OPTION_FLAG && !is_truth(value))
        usage_fail("--%s: found \"%s\", expected true or false", o->name, value);
    option_set(o, value, r->args);
    free(name);
}

void options_read(const struct verb *verb, const struct task *task, char **argv, size_t n,
                  struct args *args) {
    struct reader r = {.verb = verb, .argv = argv, .n = n, .args = args};
    r.group_count = verb_groups(verb, task, r.groups);
    bool only_positionals = false;
    while (r.next < n) {
        const char *text = argv[r.next++];
        if (only_positionals || text[0] != '-' || text[1] == '\0')
            strings_add(&args->positionals, text);
        else if (strcmp(text, "--") == 0)
            only_positionals = true;
        else if (strcmp(text, "-h") == 0)
            args->help = true;
        else if (text[1] != '-')
            usage_fail("%s: no such option; options are spelt in full, for instance --threads", text);
        else
            read_option(&r, text + 2);
    }
    if (args->help) return;
    if (args->positionals.count > verb->positional_max)
        usage_fail("%s: one argument too many for `sabok %s %s`",
                   args->positionals.items[verb->positional_max], verb->name, verb->usage);
}

static const char *positional_take(struct args *args) {
    if (args->positionals.count == 0) return NULL;
    const char *first = args->positionals.items[0];
    args->positionals.items++;
    args->positionals.count--;
    args->positionals.cap--;
    return first;
}

const struct task *args_take_task(const struct verb *verb, struct args *args) {
    const char *name = args->task ? args->task : positional_take(args);
    const char *names[NAMES_MAX];
    char list[512] = "";
    size_t n = 0;
    for (size_t i = 0; i < verb->task_count && n < NAMES_MAX; i++) {
        names[n++] = verb->tasks[i].name;
        strncat(list, i ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, verb->tasks[i].name, sizeof list - strlen(list) - 1);
        for (size_t j = 0; j < COUNT(verb->tasks[i].aliases) && verb->tasks[i].aliases[j]; j++)
            if (n < NAMES_MAX) names[n++] = verb->tasks[i].aliases[j];
    }
    if (!name) usage_fail("expected a task: sabok %s %s; tasks: %s", verb->name, verb->usage, list);
    const struct task *task = task_find(verb, name);
    if (!task)
        usage_fail("%s: no such task of `sabok %s`; tasks: %s%s", name, verb->name, list,
                   nearest_hint(name, "", names, n));
    return task;
}

void args_take_model(const struct verb *verb, struct args *args) {
    if (!args->model && !args->config) args->model = positional_take(args);
    if (!args->model && !args->config)
        usage_fail("expected a model folder or name: sabok %s %s", verb->name, verb->usage);
    for (const char *file; (file = positional_take(args));)
        strings_add(&args->inputs, file);
}
