/* collective_steps.h - private to training: passes message by message, see collective_steps.c. */
#ifndef TSIM_STEP_COLLECTIVE_STEPS_H
#define TSIM_STEP_COLLECTIVE_STEPS_H

#include "step/stage_group.h"

/* Fills plan->collective_steps and plan->pass_collectives. */
void tsim_collective_steps_build(struct tsim_arena *arena, struct tsim_step_plan *plan,
                                 const struct tsim_placement *placement);

/* Is a pass cut at this collective? */
bool tsim_is_cut_at(const struct tsim_op *op);

/* `segment` says which parts the pass or segment consists of. True: it has collectives to be cut at; *cost is then what
 * is left of it without them, and tsim_collective_steps_next gives its tasks until group->cursor is no longer
 * active. */
bool tsim_collective_steps_cut(struct tsim_stage_group *group, const struct tsim_collective_step_cursor *segment,
                               struct tsim_pass_cost *cost);

/* Makes of `task`, which has the demands of the pass without its collectives, the next step. */
void tsim_collective_steps_next(struct tsim_stage_group *group, struct tsim_task *task);

#endif
