/* batch_ramp.h - the beginning of a run in which the batch grows, as with Megatron-LM's --rampup-batch-size
 * (megatron/microbatches.py).
 *
 * The batch is `from` at first and grows by `increment` until it is the global batch, after `samples` of the run. Each
 * size gets the same number of samples, and a step that begins under one size ends under it. The time and energy of
 * such a step are simulated for a few numbers of micro-batches and interpolated between them, because a pipeline's step
 * is a straight line in their number. Batches that a replica cannot divide evenly are rounded up to whole
 * micro-batches. */
#pragma once

#include "campaign/campaign.h"
#include "step/step.h"

/* Counts steps and samples alone; returns false if there is no ramp. */
bool tsim_batch_ramp_count(const struct tsim_scenario *scenario, struct tsim_early_steps *ramp);

/* Simulates the time and energy of the ramp's smaller batches. `step` is the step of the whole batch. */
enum tsim_status tsim_batch_ramp_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                          const struct tsim_machine *machine, struct tsim_term_recorder *recorder,
                                          double step_s, double step_j, struct tsim_early_steps *ramp,
                                          struct tsim_diags *diags);
