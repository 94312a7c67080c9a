/* clock.c - seconds and ticks. */
#include "engine/engine.h"

#include "engine/engine_internal.h"

tsim_tick tsim_engine_ticks(const struct tsim_engine *engine, double duration_s) {
    if (!(duration_s >= 0))
        TSIM_BUG("a duration of %g s", duration_s);
    return tsim_engine_bounded_ticks(engine, duration_s);
}

double tsim_engine_seconds(const struct tsim_engine *engine, tsim_tick ticks) {
    return (double)ticks * engine->options.tick_s;
}
