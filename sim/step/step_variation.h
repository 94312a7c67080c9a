/* step_variation.h - steps that differ from one another, simulated one by one. */
#pragma once

#include "step/input/step_input.h"
#include "step/step_result.h"

/* The things that all steps of a job share. */
struct tsim_variation_job {
    const struct tsim_scenario *scenario; /* tsim_scenario_varies is true of it */
    const struct tsim_cluster *cluster;
    const struct tsim_placement *placement;
    const struct tsim_pass_costs *costs;
    bool is_brief; /* no draws of stragglers besides the run's own */
};

/* Simulates as many steps as simulation.steps says. It fills in result->steps, n_steps and variation, and sets *typical
 * (in `arena`) to the scenario with the step that is nearest to the mean, for the caller to simulate again and
 * examine. */
enum tsim_status tsim_variation_simulate(struct tsim_arena *arena, const struct tsim_variation_job *job,
                                         struct tsim_step_result *result, const struct tsim_scenario **typical,
                                         struct tsim_diags *diags);

/* Returns a quantile of the step's time over all draws of stragglers. without_s is the time if no accelerator is
 * slow. */
double tsim_straggler_quantile_s(const struct tsim_straggler_draws *draws, double without_s, double frac);
