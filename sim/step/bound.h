/* bound.h - private to sim/step: lower bounds on the time of a step, without simulating it. */
#pragma once

#include "step/step_plan.h"

/* Returns a time that is never more than tsim_step_simulate's, up to its tick. Every task takes at least what it takes
 * alone, tasks of a stream follow one another, and links carry no more than they can. If a schedule fills and drains the
 * pipeline, passes, messages, gathers and reductions are placed one after the other, each as early as what it waits for
 * lets it begin; else a stage takes at least what its own streams do. Then come the gradient's norm, which waits for all
 * stages, the optimizer, and gathers that nothing hides. */
double tsim_step_bound_s(struct tsim_arena *arena, const struct tsim_step_plan *plan,
                         const struct tsim_placement *placement);

/* Returns the bound of passes alone. It needs no plan of the step, so it is cheap. */
double tsim_passes_bound_s(const struct tsim_scenario *scenario, const struct tsim_pass_costs *costs);

/* Returns a bound that holds for every split of the layers over the stages. Let W be the time of a micro-batch's passes
 * in all stages, m the micro-batches and p the stages. With one part a stage, stage s is busy for m times its own part
 * of W, after the parts of the stages before it. The longest of these is least if all end together, after W / (1 - (1 -
 * 1/m)^p). With several parts a stage the bound is the mean, m W / p. Whole layers raise it:
 * within the time, all must have been taken when each stage takes as many as it can. */
double tsim_any_split_bound_s(const struct tsim_scenario *scenario, const struct tsim_pass_costs *costs);

/* One accelerator of a stage is busy for these times in its passes; the energy follows from them. */
struct tsim_stage_busy {
    double matrix_s, memory_s;
};
const struct tsim_stage_busy *tsim_stages_busy(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                               const struct tsim_pass_costs *costs);
