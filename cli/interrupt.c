// Signals. One thread waits for them, so that Ctrl-C works in the middle of a read or of a computation: it
// throws the half-written output file away and ends the program.
#include "cli.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
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

static char fault_line[512]; // made beforehand: where it is needed, nothing may be allocated
static int fault_signal;     // to the thread that waits

void interrupt_describe(const char *model) {
    snprintf(
        fault_line, sizeof fault_line,
        "sabok: %.300s: a file of the model became shorter, or cannot be read, while it was in use; expected "
        "it to stay as it is (--no_mmap reads it at once)\n",
        model ? model : "memory");
    for (char *c = fault_line; c[0] && c[1]; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F) *c = '?';
}

// Nobody may be reading the pipe that standard error is; the end must not wait for that.
static void line_write(const char *line) {
    struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&ready, 1, 0) == 1) (void)!write(STDERR_FILENO, line, strlen(line));
}

static void *interrupt_wait(void *ctx) {
    const sigset_t *set = ctx;
    int number = 0;
    if (sigwait(set, &number) != 0) return NULL;
    if (atomic_load(&deferred) && number != fault_signal) {
        atomic_store(&asked, number);
        if (sigwait(set, &number) != 0) return NULL;
    }
    sink_abandon();
    if (number == SIGINT) line_write("sabok: interrupted\n");
    if (number == fault_signal) line_write(fault_line);
    _exit(number == fault_signal ? EXIT_FAILED : 128 + number);
}

// A mapped file was cut short. The thread at fault holds nothing that the other needs, and never goes on.
static void fault(int number) {
    (void)number;
    kill(getpid(), fault_signal);
    for (;;)
        pause();
}

static void fault_start(sigset_t *set) {
    fault_signal = SIGRTMIN;
    sigaddset(set, fault_signal);
    interrupt_describe(NULL);
    struct sigaction action = {.sa_handler = fault};
    sigfillset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
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
    fault_start(&set);
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0) return;
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, (size_t)256 << 10);
    if (pthread_create(&thread, &attributes, interrupt_wait, &set) != 0) {
        signal(SIGBUS, SIG_DFL);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    }
    pthread_attr_destroy(&attributes);
}

double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
