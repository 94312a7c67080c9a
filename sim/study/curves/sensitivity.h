/* sensitivity.h - how much the step depends on each capacity of the hardware: the scenario is run again with that
 * capacity a tenth lower and a tenth higher, as --set would change it, everything else as it is. */
#ifndef TSIM_STUDY_SENSITIVITY_H
#define TSIM_STUDY_SENSITIVITY_H

#include "run/run.h"

#define TSIM_SENSITIVITY_STEP_FRAC 0.1

struct tsim_sensitivity {
    const char *name, *key; /* "HBM bandwidth", "memory_bandwidth" */
    enum tsim_dimension dimension;
    double value;                    /* as it is, SI; per device, link or NIC, datasheet */
    double less_time_s, more_time_s; /* of a step with 0.9 and 1.1 times the value */
    /* d ln(step time) / d ln(value), from the two: -1 where the step is all in this rate, 1 all in this latency. */
    double elasticity;
};

enum { TSIM_MOST_SENSITIVITIES = 16 };

struct tsim_sensitivities {
    struct tsim_sensitivity *rows; /* those that the machine has, the strongest first */
    int32_t n;
};

/* Rows are allocated from `arena`. The scenario has a source, which is what changes. A capacity that may not be a tenth
 * lower or higher has no row. Two runs for each capacity (about eight, with an input pipeline eleven); memory does
 * not matter to them. Fails only as tsim_train_run does. */
enum tsim_status tsim_sensitivities_run(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                        struct tsim_sensitivities *sensitivities, struct tsim_diags *diags);

#endif
