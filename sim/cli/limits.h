/* limits.h - the memory (--max-memory, else three quarters of the machine's) and the time (--timeout) that a command
 * may take. */
#pragma once

#include "cli/options.h"

/* Sets the limits of time and memory before the command begins. When the time is over, the program gets a SIGTERM, so
 * that a sweep stops as if it were interrupted. A program that has not ended two seconds later is killed. */
void tsim_limits_set(const struct tsim_arguments *arguments);
/* Withdraws the time limit, for a command that has stopped and only shows what it has. */
void tsim_limits_lift(void);
