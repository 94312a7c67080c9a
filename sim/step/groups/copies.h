/* copies.h - private to sim/step: copies between the accelerators of a stage group and their hosts, as tasks of streams
 * of their own, one for each direction (an accelerator has a copy engine for each).
 *
 *   out    activations that leave beside a forward pass (training.offload), streamed gradients beside a backward pass,
 *          and gradients for the host's update beside the last backward pass of each chunk
 *   in     activations that come back beside a backward pass, and streamed weights beside each pass
 *   batch  batches of the input pipeline (step_input.h), to the first rank of the stage group. Each is copied when the
 *          pass before has taken its own, because a device holds the batch in use and one more. The first batch of a
 *          step is copied in the step before, which waits for it at its end. A batch that reaches the host's memory
 *          late, or that is loaded when it is asked for, is copied then.
 *
 * Copies begin with the pass, which ends when they have ended; the host's update waits for its gradients. A copy takes
 * the accelerator's slot, its HBM and its share of the host's memory, and on a tree of PCIe the uplink of its switch.
 * HBM is read or written once for each byte, so kernels that HBM binds get what copies leave: beside B bytes, on HBM of
 * rate h, they lose B/h.
 *
 * On the slot a copy meets other traffic that crosses it: what goes to and comes from NICs, and, if accelerators of a
 * node reach each other over PCIe, all that they send. The share of a slot is the time for which the traffic would have
 * it alone: a collective that reaches 24 of 31.5 GB/s fills it. Message by message (network: steps), the traffic of
 * NICs is not counted on slots. */
#pragma once

#include "step/groups/stage_group.h"

/* Finds the ways of the stage group's members to their hosts, once the members have their links. */
void tsim_copies_add_ways(struct tsim_stage_group *group, const struct tsim_topology *topology,
                          struct tsim_member *members);
/* Lets the traffic of NICs also cross their accelerators' slots, once all stage groups have their members. */
void tsim_copies_cross_slots(struct tsim_arena *arena, struct tsim_stage_group *stage_groups, int32_t n_stage_groups);
void tsim_copies_add_signals(struct tsim_stage_group *group);

/* Returns whether the stage group's stream of this direction has anything to copy. */
bool tsim_copies_has(const struct tsim_stage_group *group, enum tsim_copy_direction direction);
/* These return whether copies begin with the item, and whether it waits for copies. */
bool tsim_copies_begin_with(const struct tsim_stage_group *group, int32_t item);
bool tsim_copies_end_with(const struct tsim_stage_group *group, int32_t item);

/* Returns whether copies share slots with collectives. */
bool tsim_copies_meet_collectives(const struct tsim_step_plan *plan);

/* Makes the task demand each member's way to its host, and its HBM, for this many bytes a second. */
void tsim_copies_demand(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, struct tsim_task *task,
                        enum tsim_copy_direction direction, double bytes_per_s);

/* Returns whether one of the stage group's copies flows or is about to. Else none begins before the compute stream lets
 * it. */
bool tsim_copies_are_under_way(const struct tsim_stage_group *group);

/* These return whether the stage group takes batches that are copied, and whether the first batch of a step is copied
 * in the step before. */
bool tsim_copies_has_input(const struct tsim_stage_group *group);
bool tsim_copies_first_is_there(const struct tsim_stage_group *group);

/* These are the programs (tsim_program_fn) of the streams that copy; their context is the stage group. */
bool tsim_stage_group_copy_batch(void *context, int32_t stream, struct tsim_task *task);
bool tsim_stage_group_copy_out(void *context, int32_t stream, struct tsim_task *task);
bool tsim_stage_group_copy_in(void *context, int32_t stream, struct tsim_task *task);
