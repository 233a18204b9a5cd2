// --help, and the verb `help`.
#include "cli.h"

#include <string.h>

#define HELP_COLUMN 28
#define HELP_WIDTH 100

// Words of `text` from column `at` on, broken before HELP_WIDTH and continued at `indent`.
static void print_wrapped(FILE *out, const char *text, size_t at, size_t indent) {
    for (bool first = true; *text; first = false) {
        const size_t n = strcspn(text, " ");
        if (!first && at + 1 + n > HELP_WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', out);
            at++;
        }
        fprintf(out, "%.*s", (int)n, text);
        at += n;
        text += n + (text[n] == ' ');
    }
    fputc('\n', out);
}

static void print_entry(FILE *out, const char *left, const char *right) {
    const int n = fprintf(out, "  %s", left);
    if (n + 1 >= HELP_COLUMN)
        fprintf(out, "\n%*s", HELP_COLUMN, "");
    else
        fprintf(out, "%*s", HELP_COLUMN - n, "");
    print_wrapped(out, right, HELP_COLUMN, HELP_COLUMN);
}

static void print_option(FILE *out, const struct option *o) {
    char left[128], right[1024];
    if (o->value)
        snprintf(left, sizeof left, "--%s %s", o->name, o->value);
    else
        snprintf(left, sizeof left, "--%s", o->name);
    snprintf(right, sizeof right, "%s", o->help);
    for (size_t i = 0; o->choices && o->choices[i]; i++) {
        const size_t n = strlen(right);
        snprintf(right + n, sizeof right - n, "%s%s", i ? ", " : " One of ", o->choices[i]);
    }
    if (o->choices) strncat(right, ".", sizeof right - strlen(right) - 1);
    print_entry(out, left, right);
}

static void print_group(FILE *out, const struct option_group *group) {
    fprintf(out, "\n%s:\n", group->title);
    for (size_t i = 0; i < group->count; i++)
        print_option(out, &group->options[i]);
}

static void print_task(FILE *out, const struct task *task) {
    char right[512];
    snprintf(right, sizeof right, "%s", task->summary);
    for (size_t i = 0; i < COUNT(task->aliases) && task->aliases[i]; i++) {
        const size_t n = strlen(right);
        snprintf(right + n, sizeof right - n, "%s%s", i ? ", " : " Also called ", task->aliases[i]);
    }
    if (task->aliases[0]) strncat(right, ".", sizeof right - strlen(right) - 1);
    print_entry(out, task->name, right);
}

static void print_verb(FILE *out, const struct verb *verb) {
    fprintf(out, "usage: sabok %s %s\n\n", verb->name, verb->usage);
    print_wrapped(out, verb->about, 0, 0);
    if (verb->task_count) fputs("\nTasks:\n", out);
    for (size_t i = 0; i < verb->task_count; i++)
        print_task(out, &verb->tasks[i]);
    const struct option_group *groups[GROUP_MAX];
    const size_t n = verb_groups(verb, NULL, groups);
    for (size_t i = 0; i < n; i++)
        print_group(out, groups[i]);
}

void help_print(FILE *out, const struct verb *verb) {
    if (verb) {
        print_verb(out, verb);
        return;
    }
    fputs("usage: sabok VERB ...\n\nRuns Hugging Face transformers on ordinary CPUs.\n\nVerbs:\n", out);
    for (size_t i = 0; i < verb_count; i++)
        print_entry(out, verbs[i]->name, verbs[i]->summary);
    fputs("\n`sabok VERB --help` tells the options of a verb; `sabok --version` the version.\n"
          "Results go to standard output or to --output FILE, everything else to standard error.\n"
          "Exit status: 0 done, 1 an error of files, data or memory, 2 wrong usage, 130 interrupted.\n",
          out);
}

static int help_run(struct args *args) {
    const char *name = args->positionals.count ? args->positionals.items[0] : NULL;
    const struct verb *verb = name ? verb_find(name) : NULL;
    if (name && !verb) usage_fail("%s: no such verb; `sabok help` lists them", name);
    help_print(stdout, verb);
    return EXIT_DONE;
}

const struct verb verb_help = {
    .name = "help",
    .usage = "[VERB]",
    .summary = "Print help on a verb.",
    .about = "Prints the list of verbs, or the options of one.",
    .positional_max = 1,
    .run = help_run,
};
