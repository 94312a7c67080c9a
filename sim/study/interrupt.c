#include "study/interrupt.h"

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
    return sigpending(&pending) == 0 && (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}
