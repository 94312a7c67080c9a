/* pass_tasks.h - private to sim/step: a pass as tasks of the engine, one for each of its operators (pass_program.h), on
 * the compute stream and on those of its communicators. */
#pragma once

#include "step/groups/stage_group.h"

/* Fills the collectives that are played message by message (network: steps). */
void tsim_pass_collectives_build(struct tsim_arena *arena, struct tsim_step_plan *plan);

/* Begins the segment `segment` of the pass `item`. Returns true if its operators are played; else it is one task. *cost
 * is the cost of the whole segment. */
bool tsim_pass_tasks_begin(struct tsim_stage_group *group, int32_t item, int32_t segment,
                           const struct tsim_pass_cost *cost);
/* Makes `task` the next operator of the pass on the compute stream. The last operator lowers the counters that the pass
 * lowers. */
void tsim_pass_tasks_next(struct tsim_stage_group *group, struct tsim_task *task);

/* A place is a part of the model, and the number of its layer: -1 at the ends of the model and if layers vary. */
struct tsim_pass_place {
    enum tsim_part part;
    int64_t layer;
};
/* Returns the place of the part at position `part` in execution order. */
struct tsim_pass_place tsim_pass_place_at(const struct tsim_stage_group *group, int32_t item, int32_t segment,
                                          int32_t part);

/* tsim_pass_tasks_tell calls this for each operator of the compute stream's task that has ended, in their order;
 * together they take the task's time, and operators that were joined take to the tick what each takes alone. A task
 * without operators, such as a START or a WAIT, is told if `with_meetings`. With `is_launch` it is the host's launch of
 * the operator, which is told before the operator itself. */
typedef void (*tsim_operator_ended_fn)(void *context, const struct tsim_played *played, int32_t part, bool is_launch,
                                       tsim_tick begin, tsim_tick end);
void tsim_pass_tasks_tell(const struct tsim_stage_group *group, tsim_tick begin, tsim_tick end, bool with_meetings,
                          tsim_operator_ended_fn ended, void *context);
/* Counts the operators of a micro-batch's passes, and with `with_launches` also the host's launches of them. */
int64_t tsim_pass_n_operators(const struct tsim_stage_group *group, bool with_launches);

/* This is the program (tsim_program_fn) of the streams of communicators; its context is a struct tsim_beside_stream. */
bool tsim_stage_group_beside(void *context, int32_t stream, struct tsim_task *task);
