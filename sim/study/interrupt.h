/* interrupt.h - SIGINT and SIGTERM during a long study. They wait until the study looks for them, so that it ends with
 * what it has found instead of being killed. */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* Makes both signals wait, in this thread and in those that it starts from now on. `before` receives the mask that the
 * thread had. */
void tsim_interrupts_block(sigset_t *before);
void tsim_interrupts_restore(const sigset_t *before);

/* Returns whether an interrupt is pending, or the thread's caller has asked for an end (base/caller.h). */
bool tsim_is_interrupted(void);
