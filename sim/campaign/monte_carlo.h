/* monte_carlo.h - a run with failures, many times over: quantiles and means of its replications (replication.h).
 *
 * Money: nodes and spares are paid for all the time, preempted nodes are not, and the discount of spot instances is
 * taken off. Energy: work draws the power of training, also when it is redone; a pause for evaluation draws what its
 * passes do, if they are simulated; everything else, and spares, draws what idle nodes do. All of it is multiplied by
 * the PUE. */
#pragma once

#include "campaign/campaign.h"

/* The steps if nothing interrupts them. */
struct tsim_work {
    struct tsim_amount time, energy;
};

/* Fills in *campaign, whose steps and work are set. With `has_stretches` it also keeps what happens in the first
 * replication. Returns TSIM_ERR_INFEASIBLE if the run does not come to an end. */
enum tsim_status tsim_monte_carlo(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                  const struct tsim_campaign_steps *steps, const struct tsim_work *work,
                                  bool has_stretches, struct tsim_term_recorder *recorder,
                                  struct tsim_campaign *campaign, struct tsim_diags *diags);
