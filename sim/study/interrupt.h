/* interrupt.h - SIGINT and SIGTERM during a long study: they wait until it looks for them, so that it ends with what it
 * has found, instead of being killed. */
#ifndef TSIM_STUDY_INTERRUPT_H
#define TSIM_STUDY_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

/* Makes both wait, in this thread and in those that it starts from here on. `before` gets what the thread had. */
void tsim_interrupts_block(sigset_t *before);
void tsim_interrupts_restore(const sigset_t *before);

/* Is an interrupt pending, or has the thread's caller asked for an end (base/caller.h)? */
bool tsim_is_interrupted(void);

#endif
