// sabok VERB ...
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// What help and version print must have reached its reader.
static int finish_stdout(void) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return EXIT_DONE;
    if (errno == 0) return fail("standard output: cannot write"); // an earlier write failed
    return fail("standard output: cannot write: %s", strerror(errno));
}

static _Noreturn void verb_unknown(const char *name) {
    const char *names[32];
    for (size_t i = 0; i < verb_count; i++)
        names[i] = verbs[i]->name;
    usage_fail("%s: no such verb; `sabok --help` lists them%s", name,
               nearest_hint(name, "", names, verb_count));
}

// Reads the arguments twice where a verb has tasks: once to find the task, then with the task's options only.
static int verb_run_arguments(const struct verb *verb, char **argv, size_t n) {
    static struct args first, args; // they live as long as the program
    options_read(verb, NULL, argv, n, &first);
    if (!verb->task_count) args = first;
    if (first.help) {
        help_print(stdout, verb);
        return finish_stdout();
    }
    const char *isa = first.isa;
    if (isa && (strcmp(isa, "auto") == 0 ? unsetenv("SABOK_ISA") : setenv("SABOK_ISA", isa, 1)) != 0)
        return fail("--isa: %s", strerror(errno));
    message_listen(first.quiet);
    interrupt_start();
    if (verb->task_count) {
        const struct task *task = args_take_task(verb, &first);
        options_read(verb, task, argv, n, &args);
        (void)args_take_task(verb, &args);
        args_take_model(verb, &args);
        return task->run(&args);
    }
    return verb->run(&args);
}

// Made at build time: the manual page and the completion scripts.
static int print_generated(int argc, char **argv) {
    if (strcmp(argv[1], "__manual") == 0) {
        manual_print(stdout);
    } else if (argc < 3 || !completion_print(stdout, argv[2])) {
        usage_fail("__completion: expected bash, zsh or fish");
    }
    return finish_stdout();
}

int main(int argc, char **argv) {
    if (argc < 2) {
        help_print(stderr, NULL);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        help_print(stdout, NULL);
        return finish_stdout();
    }
    if (strcmp(name, "--version") == 0) {
        printf("sabok %s\n", sabok_version());
        return finish_stdout();
    }
    if (strcmp(name, "__manual") == 0 || strcmp(name, "__completion") == 0)
        return print_generated(argc, argv);
    const struct verb *verb = verb_find(name);
    if (!verb) verb_unknown(name);
    const int status = verb_run_arguments(verb, argv + 2, (size_t)argc - 2);
    return status != EXIT_DONE ? status : finish_stdout();
}
