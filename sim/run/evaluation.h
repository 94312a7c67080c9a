/* evaluation.h - a pause in which the model is tried on samples that it does not train on: forward passes alone.
 *
 * The same ranks, schedule and micro-batches as a step, without backward passes, gradients and optimizer; fully sharded
 * weights are gathered as in training. Samples fill whole micro-batches of all replicas. Passes cost what forward
 * passes of training do; nothing is kept for a backward pass, and memory is not asked. */
#ifndef TSIM_RUN_EVALUATION_H
#define TSIM_RUN_EVALUATION_H

#include "campaign/campaign.h"
#include "step/step.h"

/* Forward passes of so many samples, as below. */
struct tsim_forward_passes {
    double time_s, energy_j; /* whole cluster */
    int64_t microbatches;    /* of a replica */
};
enum tsim_status tsim_forward_passes_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                              const struct tsim_machine *machine, double samples,
                                              struct tsim_forward_passes *passes, struct tsim_diags *diags);
/* Their time and energy are no less than these (step/step.h). */
struct tsim_forward_passes tsim_forward_passes_bound(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                                     const struct tsim_machine *machine, enum tsim_least of,
                                                     double samples);

/* Fills *evaluation of a scenario that has `training.evaluation` with samples; else it stays zeroed. Fails as
 * tsim_step_simulate. */
enum tsim_status tsim_evaluation_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                          const struct tsim_machine *machine, struct tsim_term_recorder *recorder,
                                          struct tsim_evaluation *evaluation, struct tsim_diags *diags);

#endif
