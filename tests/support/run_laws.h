/* run_laws.h - one run of a scenario that is a text, and what is true of every run's result, whatever was drawn:
 * - conservation: terms add up to the step, kinds of memory to the peak, tokens to the batch, energy to power times
 *   time and to that of the ranks, the days of a campaign to its work and what was lost;
 * - bounds: no faster than the peak of the matrix units, no more power than all limits together, MFU and HFU below 1, no less
 *   executed than any plan of the scenario executes. */
#pragma once

#include "run/run.h"
#include "support/check_main.h"

#include <math.h>
#include <stdio.h>

struct run {
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario;
    struct tsim_result result;
};

/* Starts a run; false: it is refused with a message, or too large for a test. Either way run_end is due. */
bool run_start(struct run *run, const char *text, const struct tsim_override *overrides, size_t n_overrides);
/* Does the same for a scenario that a test has changed. False: refused. */
bool run_scenario(struct run *run, const struct tsim_scenario *scenario);
void run_end(struct run *run);

/* Aborts the test with the scenario's text and the law that is broken. */
void check_run(const char *text, const struct run *run);

#define LAW(condition, ...)                                                                                            \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s\n", text);                                                                             \
            ck_abort_msg(__VA_ARGS__);                                                                                 \
        }                                                                                                              \
    } while (0)

static inline bool is_near(double a, double b, double tolerance) {
    return fabs(a - b) <= tolerance * (fabs(a) + fabs(b));
}

/* Ticks round each operator by half a picosecond, a hundred of a layer at most. */
static inline double rounding_s(const struct tsim_scenario *sc) {
    return 5e-11 * (double)(sc->n_microbatches * sc->model->layers);
}
