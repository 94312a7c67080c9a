/* evaluation.h - a pause in which the model is tested on samples that it does not train on, by forward passes alone.
 *
 * It has the ranks, schedule and micro-batches of a step, without backward passes, gradients and optimizer. Fully
 * sharded weights are gathered as in training. Samples fill whole micro-batches of all replicas. Passes cost what
 * forward passes of training cost. A text that is sampled with it takes a pass of one token for each of its tokens, also
 * with fully sharded weights, which are then gathered for each. Nothing is kept for a backward pass, and memory is not
 * checked. */
#pragma once

#include "campaign/campaign.h"
#include "step/step.h"

/* A number of samples goes through forward passes, as described above. */
struct tsim_forward_passes {
    double time_s, energy_j; /* of the whole cluster */
    int64_t microbatches;    /* of a replica */
};
enum tsim_status tsim_forward_passes_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                              const struct tsim_machine *machine, double samples,
                                              struct tsim_forward_passes *passes, struct tsim_diags *diags);
/* Returns lower bounds on their time and energy (step/step.h). */
struct tsim_forward_passes tsim_forward_passes_bound(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                                     const struct tsim_machine *machine, enum tsim_least of,
                                                     double samples);

/* Fills in *evaluation if the scenario has `training.evaluation` with samples or tokens; else it stays zeroed. It fails as
 * tsim_step_simulate does. */
enum tsim_status tsim_evaluation_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                          const struct tsim_machine *machine, struct tsim_term_recorder *recorder,
                                          struct tsim_evaluation *evaluation, struct tsim_diags *diags);
