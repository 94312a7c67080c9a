/* limits.h - what a command may take: memory (--max-memory, else three quarters of the machine's) and time (--timeout).
 */
#ifndef TSIM_CLI_LIMITS_H
#define TSIM_CLI_LIMITS_H

#include "cli/options.h"

/* Before the command begins. When the time is over the program gets a SIGTERM, so that a sweep stops as it does when it
 * is interrupted; what has not ended two seconds later ends at once. */
void tsim_limits_set(const struct tsim_arguments *arguments);
/* Withdraws the time limit: the command has stopped, and only shows what it has. */
void tsim_limits_lift(void);

#endif
