/* reliability.h - what interrupts a run, and what it saves itself with: the job of a scenario, which replication.h
 * runs.
 *
 * Units: an accelerator and its HBM; every NIC of a node in use; for each NIC a link; a switch of 64 ports for every 64
 * / 3 NICs (up to 2,048 of them: two tiers of a fat tree) or 64 / 5 (three); a node for its host and for its software.
 * With node_mtbf the causes have the shares of the defaults, and no switch fails by itself.
 *
 * Checkpoint: weights, master weights and optimizer state of every parameter, once (14 bytes for mixed-precision Adam,
 * as MLCommons' sizes of Llama 3 checkpoints: 912 GB of 70B, 5.29 TB of 405B, both in units of 1024). Sync: training
 * stalls for bytes / bandwidth. Async: for the copy of each accelerator's share to its host, over its link and its share of
 * a PCIe switch's uplink and of the host's memory, since all copy at once; the writing goes on under training, and the
 * next checkpoint waits for its end. The interval is a whole number of steps.
 * With a local tier every checkpoint is copied to the host, as many parts as `copies` go on to other nodes over the
 * NICs under training, and the storage gets every so-many-th: under training (async), or while training waits
 * (sync). All that crosses NICs under training slows steps down (run/checkpoint_traffic.h); the writing to a storage that
 * is reached over NICs begins when the copies are there. */
#ifndef TSIM_CAMPAIGN_RELIABILITY_H
#define TSIM_CAMPAIGN_RELIABILITY_H

#include "campaign/campaign.h"

/* The job wants to know the time of the steps and the checkpoint's bytes. The recorder hears of checkpoints and their
 * intervals. */
void tsim_reliability_job(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario,
                          const struct tsim_campaign_steps *steps, double work_s, struct tsim_campaign_job *job);

#endif
