/* monte_carlo.h - a run with failures, many times over: quantiles and means of its replications (replication.h).
 *
 * Money: nodes and spares are paid for all the time, preempted ones not; the discount of spot instances is taken off.
 * Energy: redone work costs what the work cost, pauses for evaluation what their passes do where they are simulated,
 * all other time, and spares, what an idle node draws; times the PUE. */
#ifndef TSIM_CAMPAIGN_MONTE_CARLO_H
#define TSIM_CAMPAIGN_MONTE_CARLO_H

#include "campaign/campaign.h"

struct tsim_work { /* the steps, if nothing interrupts them */
    struct tsim_amount time, energy;
};

/* Fills in *campaign, which has its steps and work; `has_stretches`: what happens in the first replication, too.
 * TSIM_ERR_INFEASIBLE: the run does not come to an end. */
enum tsim_status tsim_monte_carlo(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                  const struct tsim_campaign_steps *steps, const struct tsim_work *work,
                                  bool has_stretches, struct tsim_term_recorder *recorder,
                                  struct tsim_campaign *campaign, struct tsim_diags *diags);

#endif
