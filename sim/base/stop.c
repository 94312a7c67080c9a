#include "base/stop.h"

#include <stddef.h>

static _Thread_local struct {
    tsim_stop_fn stops;
    void *context;
} current;

void tsim_stop_set(tsim_stop_fn stops, void *context) {
    current.stops = stops;
    current.context = context;
}

bool tsim_is_stopped(void) {
    return current.stops && current.stops(current.context);
}
