/* noise.h - private to sim/step: kernels whose times vary, and accelerators that are always slow.
 *
 * Each kernel's time is normal with the coefficient of variation cv (variability.compute_cv), independent of all
 * others. A stage group's g ranks (tensor x context) wait for the slowest of them at each collective. Over a stretch of
 * kernels t_1, t_2 ... between two collectives that is the maximum of g normals with deviation d = cv * sqrt(sum t^2):
 * longer than the mean by E(g) d, with a deviation of its own of D(g) d (base/normal.h). A pass is the sum of its
 * stretches, and one number is drawn for it. The simulation shows how long replicas and pipeline stages then wait for
 * each other.
 *
 * Stragglers: each accelerator is slow with probability `fraction`, by its rank and the seed, in every step.
 *
 * Everything is a function of (seed, step, stage, replica, item, segment), and so the same in any order. */
#pragma once

#include "step/groups/stage_group.h"

/* Returns the time in s that noise adds to the kernels of a pass or segment. It may be negative, but takes away no more
 * than half of their time. */
double tsim_noise_s(const struct tsim_stage_group *group, int32_t item, int32_t segment,
                    const struct tsim_pass_cost *cost, double kernels_s);

/* Sets the plan's factors of noise from variability.compute_cv and the stage group's ranks. */
void tsim_noise_plan(const struct tsim_scenario *scenario, struct tsim_step_plan *plan);

bool tsim_is_straggler(const struct tsim_scenario *scenario, int32_t rank);
