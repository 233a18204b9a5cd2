// Shell completion for bash, zsh and fish, from the tables.
#include "cli.h"

#include <string.h>

// Calls fn once for each option of a verb, those of all its tasks included.
typedef void option_fn(FILE *out, const struct verb *verb, const struct option *o);
static void each_option(FILE *out, const struct verb *verb, option_fn *fn) {
    const struct option_group *groups[GROUP_MAX];
    const size_t n = verb_groups(verb, NULL, groups);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < groups[i]->count; j++)
            fn(out, verb, &groups[i]->options[j]);
}

// Text inside single quotes of a shell.
static void quoted(FILE *out, const char *text) {
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    }
    fputc('\'', out);
}

static void print_choices(FILE *out, const struct option *o) {
    for (size_t i = 0; o->choices[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", o->choices[i]);
}

// ---- bash

static void bash_name(FILE *out, const struct verb *verb, const struct option *o) {
    (void)verb;
    fprintf(out, " --%s", o->name);
}

static void bash_value(FILE *out, const struct verb *verb, const struct option *o) {
    if (!o->value) return;
    fprintf(out, "        %s:--%s) ", verb->name, o->name);
    if (o->choices) {
        fputs("COMPREPLY=($(compgen -W \"", out);
        print_choices(out, o);
        fputs("\" -- \"$word\"));", out);
    } else {
        fputs(o->files ? "COMPREPLY=($(compgen -f -- \"$word\"));" : "COMPREPLY=();", out);
    }
    fputs(" return ;;\n", out);
}

static void bash_print(FILE *out) {
    fputs(
        "# bash completion of sabok\n_sabok() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]}\n"
        "    compopt -o filenames 2>/dev/null\n"
        "    if [ \"$COMP_CWORD\" = 1 ]; then\n        COMPREPLY=($(compgen -W \"",
        out);
    for (size_t i = 0; i < verb_count; i++)
        fprintf(out, "%s ", verbs[i]->name);
    fputs("--help --version\" -- \"$word\"))\n        return\n    fi\n    case $verb:$before in\n", out);
    for (size_t i = 0; i < verb_count; i++)
        each_option(out, verbs[i], bash_value);
    fputs("    esac\n    case $verb in\n", out);
    for (size_t i = 0; i < verb_count; i++) {
        fprintf(out, "        %s) COMPREPLY=($(compgen -W \"", verbs[i]->name);
        each_option(out, verbs[i], bash_name);
        fputs("\" -- \"$word\")) ;;\n", out);
    }
    fputs("    esac\n    if [ \"${word#-}\" != \"$word\" ]; then return; fi\n"
          "    COMPREPLY=($(compgen -f -- \"$word\"))\n    if [ \"$COMP_CWORD\" != 2 ]; then return; fi\n"
          "    case $verb in\n",
          out);
    for (size_t i = 0; i < verb_count; i++) {
        if (!verbs[i]->task_count) continue;
        fprintf(out, "        %s) COMPREPLY=($(compgen -W \"", verbs[i]->name);
        for (size_t j = 0; j < verbs[i]->task_count; j++)
            fprintf(out, "%s ", verbs[i]->tasks[j].name);
        fputs("\" -- \"$word\")) ;;\n", out);
    }
    fputs("    esac\n}\ncomplete -F _sabok sabok\n", out);
}

// ---- zsh

// Text inside single quotes and the brackets of a zsh specification.
static void zsh_text(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text))
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void zsh_option(FILE *out, const struct verb *verb, const struct option *o) {
    (void)verb;
    fprintf(out, " \\\n                '*--%s[", o->name);
    zsh_text(out, o->help);
    fputc(']', out);
    if (o->value) fprintf(out, ":%s:", o->value);
    if (o->choices) {
        fputc('(', out);
        print_choices(out, o);
        fputc(')', out);
    } else if (o->files) {
        fputs("_files", out);
    }
    fputc('\'', out);
}

static void zsh_print(FILE *out) {
    fputs("#compdef sabok\n_sabok() {\n    local -a verbs\n    verbs=(\n", out);
    for (size_t i = 0; i < verb_count; i++) {
        fprintf(out, "        '%s:", verbs[i]->name);
        zsh_text(out, verbs[i]->summary);
        fputs("'\n", out);
    }
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe verb verbs\n        return\n    fi\n"
          "    local verb=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $verb in\n",
          out);
    for (size_t i = 0; i < verb_count; i++) {
        fprintf(out, "        %s) _arguments", verbs[i]->name);
        each_option(out, verbs[i], zsh_option);
        if (verbs[i]->task_count) {
            fputs(" \\\n                '1:task:(", out);
            for (size_t j = 0; j < verbs[i]->task_count; j++)
                fprintf(out, "%s%s", j ? " " : "", verbs[i]->tasks[j].name);
            fputs(")'", out);
        }
        fputs(" \\\n                '*:file:_files' ;;\n", out);
    }
    fputs("    esac\n}\n_sabok \"$@\"\n", out);
}

// ---- fish

static void fish_option(FILE *out, const struct verb *verb, const struct option *o) {
    fprintf(out, "complete -c sabok -n '__fish_seen_subcommand_from %s' -l %s -d ", verb->name, o->name);
    quoted(out, o->help);
    if (o->choices) {
        fputs(" -x -a '", out);
        print_choices(out, o);
        fputc('\'', out);
    } else if (o->value) {
        fputs(o->files ? " -r -F" : " -x", out);
    }
    fputc('\n', out);
}

static void fish_print(FILE *out) {
    for (size_t i = 0; i < verb_count; i++) {
        fprintf(out, "complete -c sabok -n __fish_use_subcommand -f -a %s -d ", verbs[i]->name);
        quoted(out, verbs[i]->summary);
        fputc('\n', out);
        for (size_t j = 0; j < verbs[i]->task_count; j++) {
            fprintf(out, "complete -c sabok -n '__fish_seen_subcommand_from %s' -a %s -d ", verbs[i]->name,
                    verbs[i]->tasks[j].name);
            quoted(out, verbs[i]->tasks[j].summary);
            fputc('\n', out);
        }
        each_option(out, verbs[i], fish_option);
    }
}

bool completion_print(FILE *out, const char *shell) {
    if (strcmp(shell, "bash") == 0)
        bash_print(out);
    else if (strcmp(shell, "zsh") == 0)
        zsh_print(out);
    else if (strcmp(shell, "fish") == 0)
        fish_print(out);
    else
        return false;
    return true;
}
