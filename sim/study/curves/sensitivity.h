/* sensitivity.h - how much the step depends on each capacity of the hardware. The scenario is run again with that
 * capacity a tenth lower and a tenth higher, as --set would change it, and with everything else as it is. */
#pragma once

#include "run/run.h"

#define TSIM_SENSITIVITY_STEP_FRAC 0.1

struct tsim_sensitivity {
    const char *name, *key; /* "HBM bandwidth", "memory_bandwidth" */
    enum tsim_dimension dimension;
    double value;                    /* as it is, in SI units; of each device, link or NIC, by the data sheet */
    double less_time_s, more_time_s; /* of a step with 0.9 and with 1.1 times the value */
    /* d ln(step time) / d ln(value), from the two: -1 if the step depends on this rate alone, 1 if it depends on this
     * latency alone. */
    double elasticity;
};

enum { TSIM_MOST_SENSITIVITIES = 16 };

struct tsim_sensitivities {
    struct tsim_sensitivity *rows; /* those that the machine has, the strongest first */
    int32_t n;
};

/* Runs the scenario with each capacity changed; rows are allocated from `arena`. The scenario must have a source, which
 * is what changes. A capacity that may not be a tenth lower or higher has no row. There are two runs for each capacity
 * (about eight capacities, or eleven with an input pipeline), and memory is not checked in them. It fails only as
 * tsim_train_run does. */
enum tsim_status tsim_sensitivities_run(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                        struct tsim_sensitivities *sensitivities, struct tsim_diags *diags);
