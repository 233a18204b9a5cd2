// A team of threads that runs one region at a time. Waiting spins for a while and then sleeps on a futex.
//
// Every word waited on carries its count in the upper 31 bits; bit 0 says that somebody sleeps on it, so the
// thread that changes the word learns from the old value whether a wake-up is needed.
#include "base/base.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__SSE__)
#include <immintrin.h>
#else
#include <fenv.h>
#endif

#define ASLEEP 1u
#define STEP 2u
#define SPIN_SECONDS 50e-6
#define SPIN_BATCH 64
#define STACK_BYTES ((size_t)2 << 20)
#define THREADS_MAX 4096u

struct worker {
    _Alignas(64) atomic_uint ticket; // grows by STEP when there is something to do
    struct team *team;
    pthread_t thread;
    unsigned index;
};

struct team {
    // Written by the caller before the tickets, read by workers after them.
    team_fn *fn;
    void *ctx;
    unsigned threads; // of the region
    bool stop;

    unsigned size;
    bool pin, crowded; // crowded: more threads than CPUs, so spinning only takes time from the others
    size_t bytes;
    pthread_mutex_t callers;
    _Alignas(64) atomic_uint running; // workers still in the region, times STEP
    _Alignas(64) atomic_uint arrived; // threads at the barrier
    _Alignas(64) atomic_uint phase;   // barriers passed, times STEP
    struct worker workers[];          // [size]; the caller is thread 0 and uses none
};

// The team whose region this thread is in.
static _Thread_local const struct team *inside;

// ---- waiting

static void relax(void) {
#if defined(__SSE__)
    _mm_pause();
#endif
}

static void futex_wait(atomic_uint *word, unsigned value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word, int waiters) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, waiters, NULL, NULL, 0);
}

// Waits while the count of *word is that of `old` (or, with `until_zero`, while it is not zero).
struct wait {
    atomic_uint *word;
    unsigned old;
    bool until_zero;
};

static bool wait_over(const struct wait *w, unsigned now) {
    return w->until_zero ? now < STEP : (now ^ w->old) >= STEP;
}

static bool wait_spin(const struct wait *w) {
    double deadline = 0;
    for (;;) {
        for (int i = 0; i < SPIN_BATCH; i++) {
            if (wait_over(w, atomic_load_explicit(w->word, memory_order_acquire))) return true;
            relax();
        }
        double now = clock_seconds();
        if (deadline == 0) deadline = now + SPIN_SECONDS;
        if (now >= deadline) return false;
    }
}

static void wait_for(const struct team *team, const struct wait *w) {
    if (!team->crowded && wait_spin(w)) return;
    for (;;) {
        unsigned now = atomic_load_explicit(w->word, memory_order_acquire);
        if (wait_over(w, now)) return;
        if (!(now & ASLEEP) && !atomic_compare_exchange_weak_explicit(
                                   w->word, &now, now | ASLEEP, memory_order_relaxed, memory_order_relaxed))
            continue;
        futex_wait(w->word, now | ASLEEP);
    }
}

// ---- arithmetic

// Every thread computes in the default floating point environment, whatever mode the calling program chose:
// else the bits of a result would hang on which thread made it. Returns what float_leave restores.
#if defined(__SSE__)
typedef unsigned float_env;
#define MXCSR_DEFAULT 0x1f80u
#define MXCSR_STATUS 0x3fu

static float_env float_enter(void) {
    unsigned csr = _mm_getcsr();
    if ((csr & ~MXCSR_STATUS) != MXCSR_DEFAULT) _mm_setcsr(MXCSR_DEFAULT);
    return csr;
}

static void float_leave(const float_env *env) {
    if ((*env & ~MXCSR_STATUS) != MXCSR_DEFAULT) _mm_setcsr(*env);
}
#else
typedef fenv_t float_env;

static float_env float_enter(void) {
    fenv_t env;
    fegetenv(&env);
    fesetenv(FE_DFL_ENV);
    return env;
}

static void float_leave(const float_env *env) {
    fesetenv(env);
}
#endif

// ---- workers

static void *worker_main(void *arg) {
    struct worker *w = arg;
    struct team *team = w->team;
    unsigned seen = 0;
    inside = team;
    (void)float_enter();
    for (;;) {
        wait_for(team, &(struct wait){.word = &w->ticket, .old = seen});
        seen = atomic_load_explicit(&w->ticket, memory_order_acquire);
        if (team->stop) return NULL;
        team->fn(team->ctx, w->index, team->threads);
        if (atomic_fetch_sub_explicit(&team->running, STEP, memory_order_acq_rel) == (STEP | ASLEEP))
            futex_wake(&team->running, 1);
    }
}

static void worker_call(struct worker *w) {
    unsigned old = atomic_load_explicit(&w->ticket, memory_order_relaxed), next;
    do
        next = (old & ~ASLEEP) + STEP;
    while (!atomic_compare_exchange_weak_explicit(&w->ticket, &old, next, memory_order_release,
                                                  memory_order_relaxed));
    if (old & ASLEEP) futex_wake(&w->ticket, 1);
}

// The n-th CPU, counted round, of those this process may use; false when that cannot be told.
static bool cpu_nth(unsigned n, cpu_set_t *out) {
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) == 0) return false;
    unsigned left = n % (unsigned)CPU_COUNT(&all);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all) && left-- == 0) {
            CPU_ZERO(out);
            CPU_SET(i, out);
            return true;
        }
    return false;
}

static int worker_start(struct team *team, unsigned index) {
    struct worker *w = &team->workers[index];
    *w = (struct worker){.team = team, .index = index};
    pthread_attr_t attr;
    int rc = pthread_attr_init(&attr);
    if (rc != 0) return rc;
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    cpu_set_t one;
    if (team->pin && cpu_nth(index, &one)) pthread_attr_setaffinity_np(&attr, sizeof one, &one);
    rc = pthread_create(&w->thread, &attr, worker_main, w);
    pthread_attr_destroy(&attr);
    if (rc != 0) return rc;
    char name[16];
    snprintf(name, sizeof name, "sabok-%u", index);
    pthread_setname_np(w->thread, name);
    return 0;
}

// Stops workers [1, end) and frees the team.
static void team_end(struct team *team, unsigned end) {
    team->stop = true;
    for (unsigned i = 1; i < end; i++)
        worker_call(&team->workers[i]);
    for (unsigned i = 1; i < end; i++)
        pthread_join(team->workers[i].thread, NULL);
    pthread_mutex_destroy(&team->callers);
    mem_unmap(team, team->bytes);
}

// ---- the team

struct team *team_new(unsigned threads, bool pin, sabok_error *err) {
    ASSERT(threads >= 1);
    if (threads > THREADS_MAX) {
        error_set(err, SABOK_EINVAL, NULL, "%u threads, expected at most %u", threads, THREADS_MAX);
        return NULL;
    }
    size_t bytes = sizeof(struct team) + threads * sizeof(struct worker);
    struct team *team = mem_map(bytes);
    if (!team) {
        error_memory(err, "threads");
        return NULL;
    }
    team->size = threads;
    team->bytes = bytes;
    team->pin = pin;
    team->crowded = threads > cpu_count();
    pthread_mutex_init(&team->callers, NULL);
    // The program's signals are for its own threads; faults are for the thread that made them: the system ends a
    // program whose thread blocks its own.
    sigset_t all, before;
    sigfillset(&all);
    static const int faults[] = {SIGBUS, SIGSEGV, SIGILL, SIGFPE};
    for (size_t i = 0; i < COUNT(faults); i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    unsigned started = 1;
    int rc = 0;
    for (; started < threads && rc == 0; started += rc == 0)
        rc = worker_start(team, started);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0) return team;
    char what[64];
    snprintf(what, sizeof what, "cannot start thread %u of %u", started + 1, threads);
    errno = rc;
    error_errno(err, NULL, what);
    team_end(team, started);
    return NULL;
}

void team_free(struct team *team) {
    if (team) team_end(team, team->size);
}

unsigned team_size(const struct team *team) {
    return team->size;
}

void team_run(struct team *team, unsigned threads, team_fn *fn, void *ctx) {
    ASSERT(threads >= 1 && threads <= team->size);
    ASSERT(inside != team); // a region inside a region would wait for itself
    pthread_mutex_lock(&team->callers);
    const struct team *outer = inside;
    inside = team;
    team->fn = fn;
    team->ctx = ctx;
    team->threads = threads;
    float_env env = float_enter();
    atomic_store_explicit(&team->running, (threads - 1) * STEP, memory_order_relaxed);
    for (unsigned i = 1; i < threads; i++)
        worker_call(&team->workers[i]);
    fn(ctx, 0, threads);
    if (threads > 1) wait_for(team, &(struct wait){.word = &team->running, .until_zero = true});
    float_leave(&env);
    inside = outer;
    pthread_mutex_unlock(&team->callers);
}

void team_barrier(struct team *team) {
    unsigned threads = team->threads;
    if (threads == 1) return;
    unsigned phase = atomic_load_explicit(&team->phase, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) + 1 < threads) {
        wait_for(team, &(struct wait){.word = &team->phase, .old = phase});
        return;
    }
    // The last one opens the barrier; nobody arrives at the next before this store is seen.
    atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
    unsigned old = atomic_exchange_explicit(&team->phase, (phase & ~ASLEEP) + STEP, memory_order_acq_rel);
    if (old & ASLEEP) futex_wake(&team->phase, (int)threads);
}
