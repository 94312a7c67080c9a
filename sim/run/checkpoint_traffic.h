/* checkpoint_traffic.h - what a checkpoint sends over the NICs while steps go on: to other nodes' memory
 * (reliability.checkpoint.local.copies), and to a storage that is reached over the NICs
 * (reliability.checkpoint.network).
 *
 * Every accelerator's part begins with the step after the checkpoint and shares the NICs with the step's collectives
 * and messages on the engine, as an equal (step/groups/background.h). The engine says how much gets through in each
 * step, and the last step is simulated with what is left for it. Let S be the bytes of each accelerator, T the time of
 * a step alone, T' that of a step in which B bytes flow, and T" that of one beside the last S - nB bytes, with n =
 * floor(S / B). Then
 *
 *   steps take longer by n (T' - T) + (T" - T)
 *
 * One node, and a storage with a network of its own, have no such traffic. */
#pragma once

#include "campaign/campaign.h"
#include "step/step.h"

/* Sets nics_bytes_per_s, copies and writing of *steps, whose step_s and checkpoint_bytes are set. It fails as
 * tsim_step_simulate does. */
enum tsim_status tsim_checkpoint_traffic_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                                  const struct tsim_machine *machine,
                                                  struct tsim_term_recorder *recorder,
                                                  struct tsim_campaign_steps *steps, struct tsim_diags *diags);
