#include "cli/limits.h"

#include "base/arena.h"
#include "base/output.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_S = 10 }; /* for searches, which end the simulations that have begun */

static volatile sig_atomic_t n_timeouts;
static timer_t timer;
static bool has_timer;

static void on_timeout(int signal_number) {
    static const char TEXT[] = "tsim: stopped: --timeout is over\n";
    (void)signal_number;
    if (n_timeouts++ == 0) {
        if (write(STDERR_FILENO, TEXT, sizeof TEXT - 1) < 0)
            n_timeouts = 1;      /* nobody to tell */
        kill(getpid(), SIGTERM); /* to the process: the thread that waits for it may be another one */
        return;
    }
    tsim_output_abandon_all();
    _exit(TSIM_EXIT_INTERRUPTED);
}

static struct timespec from_s(double seconds) {
    time_t whole = (time_t)seconds;
    return (struct timespec){whole, (long)((seconds - (double)whole) * 1e9)};
}

static void set_timeout(double timeout_s) {
    struct sigaction action = {.sa_handler = on_timeout, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    const struct itimerspec when = {.it_value = from_s(timeout_s), .it_interval = {GRACE_S, 0}};
    has_timer = true;
    if (sigaction(SIGALRM, &action, NULL) != 0 || timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &when, NULL) != 0)
        has_timer = fputs("tsim: warning: the system has no timer for --timeout\n", stderr) < 0;
}

void tsim_limits_lift(void) {
    static const struct itimerspec NEVER;
    if (has_timer)
        timer_settime(timer, 0, &NEVER, NULL);
}

void tsim_limits_set(const struct tsim_arguments *arguments) {
    long n_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (arguments->max_memory_bytes > 0)
        tsim_memory_limit((size_t)arguments->max_memory_bytes, "--max-memory");
    else if (n_pages > 0 && page_bytes > 0)
        tsim_memory_limit((size_t)n_pages / 4 * 3 * (size_t)page_bytes,
                          "three quarters of this machine's memory; --max-memory says otherwise");
    if (arguments->timeout_s > 0)
        set_timeout(arguments->timeout_s);
}
