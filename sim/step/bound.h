/* bound.h - private to sim/step: what a step takes at least, without simulating it. */
#ifndef TSIM_STEP_BOUND_H
#define TSIM_STEP_BOUND_H

#include "step/step_plan.h"

/* Never more than tsim_step_simulate's time, up to its tick. Every task takes at least what it takes alone; tasks of a
 * stream follow one another; a stage's first forward pass comes after those of the stages before it, and after a
 * stage's last backward pass come those of the same stages (chunk 0: the schedules that do not split the backward
 * pass); then the gradient's norm, which waits for all stages, the optimizer and gathers that nothing hides. */
double tsim_step_bound_s(const struct tsim_step_plan *plan);

/* The same of passes alone, which needs no plan of the step: cheap. */
double tsim_passes_bound_s(const struct tsim_scenario *scenario, const struct tsim_pass_costs *costs);

/* No split of the layers over the stages takes less, be it `scenario`'s or another: W is the time
 * of a micro-batch's passes, of all stages. With m micro-batches and p stages of one part each, stage s is busy for m times
 * its own part of W, after the parts of the stages before it: the longest is least where all end together, after
 * W / (1 - (1 - 1/m)^p). With several parts a stage it is at least the mean, m W / p. */
double tsim_any_split_bound_s(const struct tsim_scenario *scenario, const struct tsim_pass_costs *costs);

/* Busy times of one accelerator of a stage in its passes; for energy. */
struct tsim_stage_busy {
    double matrix_s, memory_s;
};
struct tsim_stage_busy tsim_stage_busy(const struct tsim_scenario *scenario, const struct tsim_pass_costs *costs,
                                       int32_t stage);

#endif
