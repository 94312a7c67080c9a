/* checkpoint_traffic.h - what a checkpoint sends over the NICs while steps go on: to other nodes' memory
 * (reliability.checkpoint.local.copies), and to a storage that is reached over them (reliability.checkpoint.network).
 *
 * Every accelerator's part begins with the step after the checkpoint and shares the NICs with the step's collectives and
 * messages on the engine, as an equal (step/groups/background.h). As much gets through in each step as the engine says; the last step
 * is simulated with what is left for it. So with S bytes for each accelerator, a step of T that takes T' while B of them
 * flow, and one that takes T" beside the last S - nB of them, n = floor(S / B):
 *
 *   steps take longer by n (T' - T) + (T" - T)
 *
 * A storage with a network of its own, and one node, have no such traffic. */
#ifndef TSIM_RUN_CHECKPOINT_TRAFFIC_H
#define TSIM_RUN_CHECKPOINT_TRAFFIC_H

#include "campaign/campaign.h"
#include "step/step.h"

/* Sets nics_bytes_per_s, copies and writing of *steps, whose step_s and checkpoint_bytes are set. Fails as
 * tsim_step_simulate. */
enum tsim_status tsim_checkpoint_traffic_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                                  const struct tsim_machine *machine,
                                                  struct tsim_term_recorder *recorder,
                                                  struct tsim_campaign_steps *steps, struct tsim_diags *diags);

#endif
