/* stages.h - the beginning of a run with sequences or batches of other sizes than at its end: a curriculum that begins
 * with short sequences (Li et al. 2021, arXiv:2108.06084), long context only at the end, a batch that grows in few
 * steps (Grattafiori et al. 2024, arXiv:2407.21783, section 3.4.1).
 *
 * Each stage is a scenario of its own (training.stages, resolved in sim/config/scenario.c), of which one step is
 * simulated like any other. It ends with the step that completes its length. */
#pragma once

#include "campaign/campaign.h"
#include "step/step.h"

/* Counts steps and samples of all stages; returns false if there are none. */
bool tsim_stages_count(const struct tsim_scenario *scenario, struct tsim_early_steps *early);

/* Simulates a step of each stage, and fails if one does not fit in memory; times[i].step_s and steps are those of stage
 * i. */
struct tsim_stage_time {
    double steps, step_s;
};
enum tsim_status tsim_stages_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                      struct tsim_term_recorder *recorder, struct tsim_early_steps *early,
                                      const struct tsim_stage_time **times, struct tsim_diags *diags);
