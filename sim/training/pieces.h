/* pieces.h - private to training: passes message by message, see pieces.c. */
#ifndef TSIM_TRAINING_PIECES_H
#define TSIM_TRAINING_PIECES_H

#include "training/stage_group.h"

/* Fills plan->pieces and plan->pass_collectives. */
void tsim_pieces_build(struct tsim_arena *arena, struct tsim_step_plan *plan, const struct tsim_placement *placement);

/* Is a pass cut at this collective? */
bool tsim_is_cut_at(const struct tsim_op *op);

/* `segment` says which parts the pass or segment consists of. True: it has collectives to be cut at; *cost is then what
 * is left of it without them, and tsim_pieces_next gives its tasks until group->piecewise is no longer active. */
bool tsim_pieces_cut(struct tsim_stage_group *group, const struct tsim_piecewise *segment, struct tsim_pass_cost *cost);

/* Makes of `task`, which has the demands of the pass without its collectives, the next piece. */
void tsim_pieces_next(struct tsim_stage_group *group, struct tsim_task *task);

#endif
