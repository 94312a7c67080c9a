/* stop.h - asks long work to end before it is done. A thread says when its simulations shall end, and the engine asks
 * that from time to time (engine/engine.h). */
#pragma once

#include <stdbool.h>

/* Returns whether work shall end now. */
typedef bool (*tsim_stop_fn)(void *context);

/* Sets what the calling thread's work asks; NULL: it goes on to its end, as in every thread at first. */
void tsim_stop_set(tsim_stop_fn stops, void *context);

bool tsim_is_stopped(void);
