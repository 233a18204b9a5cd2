// The thread team: every thread runs every region once, barriers hold, callers queue. The data that threads
// hand each other is plain, so that the thread sanitizer sees a barrier that does not order it.
#include "base/base.h"
#include "base/check.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#if defined(__SSE__)
#include <immintrin.h>
#endif

#define THREADS_MAX 16

struct rounds {
    struct team *team;
    int rounds;
    int slot[THREADS_MAX]; // the round each thread is in
    int wrong[THREADS_MAX];
};

static void run_rounds(void *ctx, unsigned thread, unsigned threads) {
    struct rounds *r = ctx;
    for (int i = 1; i <= r->rounds; i++) {
        r->slot[thread] = i;
        team_barrier(r->team);
        for (unsigned t = 0; t < threads; t++)
            r->wrong[thread] += r->slot[t] != i;
        team_barrier(r->team);
    }
}

static void barriers_hold(void **state) {
    (void)state;
    for (unsigned size = 1; size <= THREADS_MAX; size = size < 4 ? size + 1 : size * 2) {
        struct team *team = team_new(size, false, NULL);
        assert_non_null(team);
        assert_int_equal(team_size(team), size);
        for (unsigned threads = 1; threads <= size; threads++) {
            struct rounds r = {.team = team, .rounds = size > 4 ? 30 : 500};
            team_run(team, threads, run_rounds, &r);
            for (unsigned t = 0; t < THREADS_MAX; t++) {
                assert_int_equal(r.slot[t], t < threads ? r.rounds : 0);
                if (r.wrong[t])
                    fail_msg("team of %u, region of %u: thread %u passed early", size, threads, t);
            }
        }
        team_free(team);
    }
    team_free(NULL);
}

struct tally {
    unsigned runs[THREADS_MAX], threads;
    bool wrong[THREADS_MAX];
};

static void count_run(void *ctx, unsigned thread, unsigned threads) {
    struct tally *t = ctx;
    t->runs[thread]++;
    if (threads != t->threads) t->wrong[thread] = true;
}

static void every_region_runs_once_on_each_thread(void **state) {
    (void)state;
    enum { SIZE = 3, REGIONS = 3000 };
    struct team *team = team_new(SIZE, false, NULL);
    assert_non_null(team);
    struct tally t = {0};
    unsigned expected[SIZE] = {0};
    for (unsigned i = 0; i < REGIONS; i++) {
        t.threads = 1 + i * 7 % SIZE;
        team_run(team, t.threads, count_run, &t);
        for (unsigned j = 0; j < t.threads; j++)
            expected[j]++;
        // Long enough now and then for all to fall asleep.
        if (i % 500 == 0) nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    for (unsigned j = 0; j < SIZE; j++) {
        assert_int_equal(t.runs[j], expected[j]);
        assert_false(t.wrong[j]);
    }
    team_free(team);
}

struct caller {
    struct team *team;
    unsigned *shared; // written by every region of every caller: regions must not overlap
    unsigned total;
};

static void add_to_shared(void *ctx, unsigned thread, unsigned threads) {
    struct caller *c = ctx;
    if (thread == threads - 1) ++*c->shared;
    team_barrier(c->team);
    if (thread == 0) c->total++;
}

static void *caller_main(void *arg) {
    struct caller *c = arg;
    for (int i = 0; i < 300; i++)
        team_run(c->team, team_size(c->team), add_to_shared, c);
    return NULL;
}

static void callers_queue(void **state) {
    (void)state;
    struct team *team = team_new(2, false, NULL);
    assert_non_null(team);
    unsigned shared = 0;
    struct caller callers[4];
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT(callers); i++) {
        callers[i] = (struct caller){.team = team, .shared = &shared};
        assert_int_equal(pthread_create(&threads[i], NULL, caller_main, &callers[i]), 0);
    }
    for (size_t i = 0; i < COUNT(callers); i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].total, 300);
    }
    assert_int_equal(shared, 1200);
    team_free(team);
}

struct nested {
    struct team *inner;
    struct tally tally;
};

static void run_inner(void *ctx, unsigned thread, unsigned threads) {
    (void)threads;
    struct nested *n = ctx;
    if (thread == 0) team_run(n->inner, 2, count_run, &n->tally);
}

static void another_team_may_run_inside(void **state) {
    (void)state;
    struct team *outer = team_new(2, false, NULL);
    struct nested n = {.inner = team_new(2, false, NULL), .tally.threads = 2};
    assert_true(outer && n.inner);
    for (int i = 0; i < 50; i++)
        team_run(outer, 2, run_inner, &n);
    assert_int_equal(n.tally.runs[0], 50);
    assert_int_equal(n.tally.runs[1], 50);
    team_free(n.inner);
    team_free(outer);
}

struct tiny {
    volatile float in;
    float out[2];
};

static void halve_tiny(void *ctx, unsigned thread, unsigned threads) {
    (void)threads;
    struct tiny *t = ctx;
    t->out[thread] = t->in * 0.5f;
}

// A program that flushes subnormals to zero must get the same results, and keep its mode.
static void arithmetic_is_the_same_on_every_thread(void **state) {
    (void)state;
#if defined(__SSE__)
    unsigned before = _mm_getcsr(), flush = before | 0x8040;
    _mm_setcsr(flush);
    struct team *team = team_new(2, false, NULL);
    struct tiny t = {.in = 0x1p-126f};
    for (unsigned threads = 1; threads <= 2; threads++)
        team_run(team, threads, halve_tiny, &t);
    unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    assert_true(t.out[0] == 0x1p-127f);
    assert_true(t.out[1] == 0x1p-127f);
    assert_int_equal(after & 0x8040, 0x8040);
    team_free(team);
#else
    print_message("no SSE: skipped\n");
    skip();
#endif
}

static void note_cpu(void *ctx, unsigned thread, unsigned threads) {
    (void)threads;
    cpu_set_t set;
    ((int *)ctx)[thread] = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
}

static void pinned_workers_have_one_cpu(void **state) {
    (void)state;
    int cpus[3] = {0}, before, after;
    note_cpu(&before, 0, 1);
    struct team *team = team_new(3, true, NULL);
    assert_non_null(team);
    team_run(team, 3, note_cpu, cpus);
    note_cpu(&after, 0, 1);
    assert_int_equal(cpus[1], 1);
    assert_int_equal(cpus[2], 1);
    assert_int_equal(before, after); // the caller's own thread is not ours to bind
    team_free(team);
}

static void failures_are_reported(void **state) {
    (void)state;
    int64_t live = mem_live();
    sabok_error e = {0};
    assert_null(team_new(100000, false, &e));
    assert_int_equal(e.code, SABOK_EINVAL);
    mem_fail_at(1, false);
    assert_null(team_new(2, false, &e));
    assert_int_equal(e.code, SABOK_ENOMEM);
    assert_int_equal(mem_live(), live);
}

static void a_region_allocates_nothing(void **state) {
    (void)state;
    struct team *team = team_new(2, false, NULL);
    uint64_t count = mem_count();
    struct rounds r = {.team = team, .rounds = 100};
    team_run(team, 2, run_rounds, &r);
    assert_int_equal(mem_count(), count);
    team_free(team);
}

static void see_signals(void *ctx, unsigned thread, unsigned threads) {
    (void)threads;
    sigset_t blocked;
    if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0) return;
    const bool faults = sigismember(&blocked, SIGBUS) || sigismember(&blocked, SIGSEGV);
    ((int *)ctx)[thread] = faults ? 1 : sigismember(&blocked, SIGINT) ? 2 : 3;
}

// A mapped file that shrinks raises SIGBUS in the worker that reads it; the program's handler must get to run.
static void workers_take_faults_only(void **state) {
    (void)state;
    int seen[3] = {0};
    struct team *team = team_new(3, false, NULL);
    assert_non_null(team);
    team_run(team, 3, see_signals, seen);
    for (int i = 1; i < 3; i++)
        assert_int_equal(seen[i], 2);
    team_free(team);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers_hold),
        cmocka_unit_test(every_region_runs_once_on_each_thread),
        cmocka_unit_test(callers_queue),
        cmocka_unit_test(another_team_may_run_inside),
        cmocka_unit_test(arithmetic_is_the_same_on_every_thread),
        cmocka_unit_test(pinned_workers_have_one_cpu),
        cmocka_unit_test(failures_are_reported),
        cmocka_unit_test(a_region_allocates_nothing),
        cmocka_unit_test(workers_take_faults_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
