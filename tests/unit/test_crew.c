/* Pieces shared by threads: each is worked on once, and none after the end; and signals that wait until they are looked
 * for. */
#include "study/crew.h"
#include "study/interrupt.h"
#include "support/check_main.h"

#include <pthread.h>

enum { N_PIECES = 1000 };

struct tally {
    pthread_mutex_t mutex;
    int times[N_PIECES], n, most;
    int32_t highest_worker;
};

static void count(void *context, int32_t worker, size_t piece) {
    struct tally *t = context;
    pthread_mutex_lock(&t->mutex);
    t->times[piece]++;
    t->n++;
    t->highest_worker = worker > t->highest_worker ? worker : t->highest_worker;
    pthread_mutex_unlock(&t->mutex);
}

static bool is_over(void *context) {
    struct tally *t = context;
    pthread_mutex_lock(&t->mutex);
    bool over = t->n >= t->most;
    pthread_mutex_unlock(&t->mutex);
    return over;
}

TSIM_TEST(each_piece_once) {
    static const int32_t N_THREADS[] = {0, 1, 4, 1000};
    for (size_t i = 0; i < sizeof N_THREADS / sizeof N_THREADS[0]; i++) {
        struct tally t = {.mutex = PTHREAD_MUTEX_INITIALIZER};
        tsim_crew_run(&(struct tsim_crew){.work = count, .context = &t}, N_THREADS[i], N_PIECES);
        for (int k = 0; k < N_PIECES; k++)
            ck_assert_int_eq(t.times[k], 1);
        ck_assert_int_lt(t.highest_worker, N_THREADS[i] < 1 ? 1 : TSIM_MOST_WORKERS);
    }
}

TSIM_TEST(no_piece_after_the_end) {
    struct tally t = {.mutex = PTHREAD_MUTEX_INITIALIZER, .most = 10};
    tsim_crew_run(&(struct tsim_crew){count, is_over, &t}, 1, N_PIECES);
    ck_assert_int_eq(t.n, 10);
    tsim_crew_run(&(struct tsim_crew){count, is_over, &t}, 4, 0);
    ck_assert_int_eq(t.n, 10);
}

TSIM_TEST(interrupts_wait) {
    sigset_t before, pending;
    int number;
    tsim_interrupts_block(&before);
    ck_assert(!tsim_is_interrupted());
    ck_assert_int_eq(raise(SIGTERM), 0);
    ck_assert(tsim_is_interrupted());
    sigemptyset(&pending);
    sigaddset(&pending, SIGTERM);
    ck_assert_int_eq(sigwait(&pending, &number), 0);
    ck_assert(!tsim_is_interrupted());
    tsim_interrupts_restore(&before);
    ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &pending), 0);
    ck_assert_int_eq(sigismember(&pending, SIGTERM), 0);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
