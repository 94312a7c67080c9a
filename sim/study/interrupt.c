#include "study/interrupt.h"

#include "base/caller.h"

#include <pthread.h>

void tsim_interrupts_block(sigset_t *before) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, before);
}

void tsim_interrupts_restore(const sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

bool tsim_is_interrupted(void) {
    sigset_t pending;
    struct tsim_caller *caller = tsim_caller_of_thread();
    if (caller && atomic_load_explicit(&caller->is_interrupted, memory_order_relaxed))
        return true;
    return sigpending(&pending) == 0 && (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}
