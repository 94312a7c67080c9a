/* reliability.h - the campaign of a scenario: the job that replication.h runs, and what its replications say.
 *
 * Units: an accelerator and its HBM; every NIC of a node in use; for each NIC a link; a switch of 64 ports for every 64
 * / 3 NICs (up to 2,048 of them: two tiers of a fat tree) or 64 / 5 (three); a node for its host and for its software.
 * With node_mtbf the causes have the shares of the defaults, and no switch fails by itself.
 *
 * Checkpoint: weights, master weights and optimizer state of every parameter, once (14 bytes for mixed-precision Adam,
 * as MLCommons' sizes of Llama 3 checkpoints: 912 GB of 70B, 5.29 TB of 405B, both in units of 1024). Sync: training
 * stalls for bytes / bandwidth. Async: for the copy of each accelerator's share to its host over the host link; the
 * writing goes on under training, and the next checkpoint waits for its end. The interval is a whole number of steps.
 * With a local tier every checkpoint is copied to the host, as many parts as `copies` go on to other nodes over the
 * NICs under training, and the storage gets every so-many-th: under training (async), or while training waits (sync).
 *
 * Money: nodes and spares are paid for all the time, preempted ones not; the discount of spot instances is taken off.
 * Energy: redone work costs what the work cost, pauses for evaluation what their passes do where they are simulated,
 * all other time, and spares, what an idle node draws; times the PUE. */
#ifndef TSIM_CAMPAIGN_RELIABILITY_H
#define TSIM_CAMPAIGN_RELIABILITY_H

#include "campaign/campaign.h"

/* Fills in *campaign, which holds the run without failures; `records`: its stretches, too. TSIM_ERR_INFEASIBLE: the run
 * does not come to an end. */
enum tsim_status tsim_reliability_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                           const struct tsim_campaign_steps *steps, bool records,
                                           struct tsim_campaign *campaign, struct tsim_diags *diags);

/* The job, for tests and studies. Of the steps it wants their time and the checkpoint's bytes. */
void tsim_reliability_job(const struct tsim_scenario *scenario, const struct tsim_campaign_steps *steps, double work_s,
                          struct tsim_campaign_job *job);
/* The rent of one accelerator, with the discount of spot instances; 0: not known. */
double tsim_rent_usd_per_s(const struct tsim_scenario *scenario);

#endif
