// Signals. One thread waits for them, so that Ctrl-C works in the middle of a read or of a computation: it
// throws the half-written output file away and ends the program.
#include "cli.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static atomic_bool deferred;
static atomic_int asked; // the signal; 0: none

void interrupt_defer(void) {
    atomic_store(&deferred, true);
}

int interrupt_asked(void) {
    return atomic_load(&asked);
}

static void *interrupt_wait(void *ctx) {
    const sigset_t *set = ctx;
    int number = 0;
    if (sigwait(set, &number) != 0) return NULL;
    if (atomic_load(&deferred)) {
        atomic_store(&asked, number);
        if (sigwait(set, &number) != 0) return NULL;
    }
    sink_abandon();
    if (number == SIGINT) {
        static const char line[] = "sabok: interrupted\n";
        if (write(STDERR_FILENO, line, sizeof line - 1) < 0) _exit(EXIT_INTERRUPTED);
    }
    _exit(128 + number);
}

void interrupt_start(void) {
    static sigset_t set;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    // A broken pipe is an error of the write, which is then reported as any other.
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); // so is a file that grows over the limit of the shell
    sigemptyset(&set);
    for (size_t i = 0; i < COUNT(numbers); i++) {
        struct sigaction now;
        // A signal that the caller ignores (nohup) stays ignored.
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(&set, numbers[i]);
    }
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0) return;
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, (size_t)256 << 10);
    if (pthread_create(&thread, &attributes, interrupt_wait, &set) != 0)
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    pthread_attr_destroy(&attributes);
}

double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
