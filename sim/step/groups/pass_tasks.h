/* pass_tasks.h - private to sim/step: a pass as tasks of the engine, one for each of its operators (pass_program.h), on
 * the compute stream and on those of its communicators. */
#ifndef TSIM_STEP_PASS_TASKS_H
#define TSIM_STEP_PASS_TASKS_H

#include "step/groups/stage_group.h"

/* Fills the collectives that are played message by message (network: steps). */
void tsim_pass_collectives_build(struct tsim_arena *arena, struct tsim_step_plan *plan);

/* The pass or segment `item`, `segment` begins: true when it has operators to be played, else it is one task. *cost is
 * what the segment costs in all. */
bool tsim_pass_tasks_begin(struct tsim_stage_group *group, int32_t item, int32_t segment,
                           const struct tsim_pass_cost *cost);
/* Makes of `task` the next operator of the pass on the compute stream; the last lowers what the pass lowers. */
void tsim_pass_tasks_next(struct tsim_stage_group *group, struct tsim_task *task);

/* A part of the model, and which layer it is: -1 at the ends, and where layers vary. */
struct tsim_pass_place {
    enum tsim_part part;
    int64_t layer;
};
/* That of the part so far on in execution order. */
struct tsim_pass_place tsim_pass_place_at(const struct tsim_stage_group *group, int32_t item, int32_t segment,
                                          int32_t part);

/* Told for each operator of the compute stream's task that has ended, in their order: one after another they take its
 * time. A task without any, as a START or a WAIT is, is told where `with_meetings`. Those that are joined take to the tick what each takes alone. `is_launch`: it is not the
 * operator but its launch by the host, which is told before the operator. */
typedef void (*tsim_operator_ended_fn)(void *context, const struct tsim_played *played, int32_t part, bool is_launch,
                                       tsim_tick begin, tsim_tick end);
void tsim_pass_tasks_tell(const struct tsim_stage_group *group, tsim_tick begin, tsim_tick end, bool with_meetings,
                          tsim_operator_ended_fn ended, void *context);
/* Operators of a micro-batch's passes, and how often the host launches some. */
int64_t tsim_pass_n_operators(const struct tsim_stage_group *group, bool with_launches);

/* tsim_program_fn of the streams of communicators; context is a struct tsim_beside_stream. */
bool tsim_stage_group_beside(void *context, int32_t stream, struct tsim_task *task);

#endif
