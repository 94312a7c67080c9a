/* step_input.h - a step together with its input pipeline (scenario `data`).
 *
 * The step is simulated without waiting for data. The input pipeline of a node (input_pipeline.h) is simulated against
 * the times at which the first stages then ask for their batches, and their waits for it go back into the step. If a
 * wait changes when the next batch is asked for (pipeline stages have slack that it fills), the two simulations take
 * turns until the times agree.
 *
 * The node is the one that feeds most consumers, which are replicas whose first stage's first rank is on it (tensor and
 * context ranks get the batch from that rank). Storage that nodes share is divided among them in proportion to their
 * consumers. */
#pragma once

#include "base/term.h"
#include "step/input/input_pipeline.h"
#include "step/program.h"

/* Simulates as tsim_step_simulate_observed does, with the input pipeline if the scenario has `data`. Returns
 * TSIM_ERR_INFEASIBLE if a step would wait for weeks. *flow becomes the last input pipeline's, and is zeroed without
 * `data`. */
enum tsim_status tsim_step_simulate_with_input(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                               const struct tsim_cluster *cluster,
                                               const struct tsim_placement *placement,
                                               const struct tsim_pass_costs *costs, const struct tsim_step_sink *sink,
                                               struct tsim_step_simulation *simulation,
                                               struct tsim_input_pipeline_flow *flow, struct tsim_diags *diags);

/* Records the term of step.data_stall_s: what the parts of the pipeline need for a step's batches, beside the step. */
struct tsim_amount tsim_data_stall_record(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario,
                                          const struct tsim_placement *placement, const struct tsim_step_terms *terms);

/* Describes the input pipeline of the fullest node, without its consumers' gaps. */
void tsim_input_pipeline_of(const struct tsim_scenario *scenario, const struct tsim_placement *placement,
                            struct tsim_input_pipeline *pipeline);
