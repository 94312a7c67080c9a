/* reliability.h - what interrupts a run, and how it recovers: makes the job that replication.h plays from a scenario.
 *
 * Units that fail: each accelerator and its HBM; every NIC of a node in use, and a link for each NIC; a switch of 64
 * ports for every 64 / 3 NICs (up to 2,048 NICs: two tiers of a fat tree) or 64 / 5 NICs (three tiers); each node, once
 * for its host and once for its software. With node_mtbf the causes share that rate as the defaults do, and no switch
 * fails by itself.
 *
 * A checkpoint holds weights, master weights and optimizer state of every parameter once: 14 bytes a parameter for
 * mixed-precision Adam, as in MLCommons' sizes of Llama 3 checkpoints (912 GB of 70B, 5.29 TB of 405B, both in units of
 * 1024). A synchronous checkpoint stalls training for bytes / bandwidth. An asynchronous one stalls it while each
 * accelerator copies its share to its host, over its link and its share of a PCIe switch's uplink and of the host's
 * memory, since all copy at once; the writing goes on under training, and the next checkpoint waits for its end. The
 * interval is a whole number of steps.
 *
 * With a local tier every checkpoint is copied to the host, and `copies` times to other nodes over the NICs under
 * training. Every so-many-th also goes to the storage: under training (async), or while training waits (sync). All that
 * crosses NICs under training slows steps down (run/checkpoint_traffic.h). The writing to a storage that is reached
 * over NICs begins when the copies are complete. */
#pragma once

#include "campaign/campaign.h"

/* Fills in the job from the scenario, with the time of the steps and the checkpoint's bytes. The recorder receives the
 * terms of checkpoints and their intervals. */
void tsim_reliability_job(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario,
                          const struct tsim_campaign_steps *steps, double work_s, struct tsim_campaign_job *job);
