/* A script (engine_script.h) that every test of a file begins with, empty, at 1 ps a tick: set_up and tear_down are the
 * fixture. S is a second in ticks. */
#pragma once

#include "support/check_main.h"
#include "support/engine_script.h"

#define S INT64_C(1000000000000)

static struct script script;

static inline void set_up(void) {
    script_begin(&script, 1e-12);
}

static inline void tear_down(void) {
    script_end(&script);
}

static inline int32_t resource(double capacity) {
    return tsim_engine_add_resource(script.engine, capacity);
}

static inline int32_t signal_of(int32_t n_lowerings) {
    return tsim_engine_add_signals(script.engine, 1, n_lowerings);
}
