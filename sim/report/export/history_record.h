/* history_record.h - a simulated step as execution traces (partition/history.h), one for any accelerator.
 *
 * A recorder listens to the step of a scenario without variation whose network is fluid or ideal. Each rank of the
 * trace does what its stage group did (step/program.h). Ranks that cannot differ have the same nodes, with process
 * groups and peers of their own.
 *
 *   passes       Their kernels and collectives (tensor, context, expert) as they were played, each after what it waited
 *                for. A collective that is cut into pieces beside those of a product is one. Those of a pass that is
 *                one task (simulation.detail: passes, program.h) are laid out: a collective that is partly hidden runs
 *                beside as much of the kernels as hides it, and is two nodes if it begins or ends beside a kernel.
 *   collectives  Those of the data-parallel group, the tied embedding and the gradient's norm, with their groups;
 *                collectives in a row are as many nodes in a row.
 *   messages     A send on one stage and a receive on the other, paired by tag.
 *
 * A node waits for the one before it on its stream, and for what the simulated task waited for.
 *
 * The times of kernels are those that they took in the step, whatever ran beside them; operations and bytes are those
 * of their roofline. An exchange of keys and values around a ring becomes an all-gather of the same bytes. An
 * all-to-all that sends one copy of a token to each node becomes two side by side, between nodes and on each. */
#pragma once

#include "partition/history.h"
#include "step/program.h"

struct tsim_recorder;

struct tsim_recorder *tsim_recorder_new(struct tsim_arena *arena, const struct tsim_scenario *scenario);
void tsim_recorder_release(struct tsim_recorder *recorder);
const struct tsim_step_sink *tsim_recorder_sink(struct tsim_recorder *recorder);

/* Fills in the execution of accelerator `rank` after the step, in `arena`. Its groups are those of all executions asked
 * for so far. */
void tsim_recorder_history(struct tsim_recorder *recorder, struct tsim_arena *arena, int32_t rank,
                           struct tsim_history *execution);
/* Finds the groups of all executions that were asked for, and returns their number. */
int32_t tsim_recorder_groups(const struct tsim_recorder *recorder, const struct tsim_history_group **groups);
