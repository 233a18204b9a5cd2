// The manual page, sabok(1), from the tables.
#include "cli.h"

#include <string.h>

// Text of a roff line: '\' and '-' are escaped, and no line begins with a control character.
static void roff(FILE *out, const char *text) {
    if (*text == '.' || *text == '\'') fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
}

static void manual_option(FILE *out, const struct option *o) {
    fputs(".TP\n\\fB\\-\\-", out);
    roff(out, o->name);
    fputs("\\fR", out);
    if (o->value) fprintf(out, " \\fI%s\\fR", o->value);
    fputc('\n', out);
    roff(out, o->help);
    for (size_t i = 0; o->choices && o->choices[i]; i++) {
        fputs(i ? ", " : "\nOne of ", out);
        roff(out, o->choices[i]);
    }
    fputs(o->choices ? ".\n" : "\n", out);
}

static void manual_group(FILE *out, const struct option_group *group) {
    fprintf(out, ".PP\n\\fI%s\\fR\n", group->title);
    for (size_t i = 0; i < group->count; i++)
        manual_option(out, &group->options[i]);
}

static void manual_verb(FILE *out, const struct verb *verb) {
    fprintf(out, ".SS %s\n.B sabok %s\n", verb->name, verb->name);
    roff(out, verb->usage);
    fputs("\n.PP\n", out);
    roff(out, verb->about);
    fputc('\n', out);
    for (size_t i = 0; i < verb->task_count; i++) {
        fputs(".TP\n.B ", out);
        roff(out, verb->tasks[i].name);
        fputc('\n', out);
        roff(out, verb->tasks[i].summary);
        fputc('\n', out);
    }
    const struct option_group *groups[GROUP_MAX];
    const size_t n = verb_groups(verb, NULL, groups);
    for (size_t i = 0; i < n; i++)
        if (groups[i] != &group_general) manual_group(out, groups[i]);
}

void manual_print(FILE *out) {
    fprintf(out, ".TH SABOK 1 \"\" \"sabok %s\" \"User Commands\"\n", sabok_version());
    fputs(".SH NAME\nsabok \\- run Hugging Face transformers on ordinary CPUs\n"
          ".SH SYNOPSIS\n.B sabok\n.I VERB\n[\\fIARGUMENT\\fR]...\n.SH DESCRIPTION\n"
          "Results go to standard output or to \\fB\\-\\-output\\fR \\fIFILE\\fR, everything else to "
          "standard error.\nIn names of options \\- and _ are the same; values follow after a blank or "
          "after =; a flag may be followed by true or false.\n.SH VERBS\n",
          out);
    for (size_t i = 0; i < verb_count; i++)
        manual_verb(out, verbs[i]);
    fputs(".SS Options of every verb\n", out);
    manual_group(out, &group_general);
    fputs(".SH ENVIRONMENT\n"
          ".TP\n.B SABOK_ISA\nThe widest instruction set to use: c, avx2, avxvnni, avx512, vnni, bf16, amx.\n"
          ".TP\n.B SABOK_CHECK\n1: name the first record that makes a NaN or an infinity.\n"
          ".TP\n.B SABOK_EAGER\n1: run each record of a program as it is emitted, for debugging.\n"
          ".TP\n.B HF_ENDPOINT, HF_TOKEN, HF_TOKEN_PATH, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE\n"
          "Where models are fetched from, with which token, and where they are kept; 1 for the last: use no "
          "network.\n"
          ".TP\n.B SABOK_LIBCURL\nThe libcurl to load for downloads; default: the system's.\n"
          ".SH EXIT STATUS\n0 done; 1 an error of files, data or memory, with one line on standard error; "
          "2 wrong usage; 130 interrupted.\n",
          out);
}
