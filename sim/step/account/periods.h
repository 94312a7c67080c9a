/* periods.h - private to sim/step: what a pipeline repeats is simulated once.
 *
 * In the middle of a step every micro-batch does what the one before it did. Whenever the first stage has come a
 * micro-batch further, all that decides what happens next is written down: what the engine is doing
 * (tsim_engine_put_state) and where the programs stand, with times counted from now and items and micro-batches from
 * where the stage group stands. When the same words have been written down before, at an earlier moment, and in between
 * every stage group went on by a number of items that the schedule repeats, then what happened since that moment
 * happens again, tick by tick, until the schedule stops repeating itself. So many such periods are left out: the
 * schedules are shortened by them, and what the stage groups added up in one (account.h), what flowed through the
 * links, time and events are added so many times. All of it is whole numbers but for the flows, so a step comes out as
 * if it had gone through everything.
 *
 * Interleaved, chunks that cost the same do the same, too: only the first one's embedding and the last one's head are
 * of another kind. So the first stage is looked at pass by pass, and what repeats is a pass forward and one backward in
 * the middle, as many passes as there are stages where it fills or drains, and a whole group of micro-batches with
 * what was left out of it. Passes are then told apart by their number in the order that all stages share
 * (tsim_schedule_slot), which is what the periods move on. ZeRO-3, and ZeRO-2 that waits for its reductions, are looked
 * at once in a group.
 *
 * A state repeats when durations do: a bit of difference in a rate, and nothing is left out. Not done message by
 * message, nor under asynchronous schedules, nor with an input pipeline or noise, nor while somebody listens who needs what tasks waited for. Others who
 * listen are told the tasks that ended in the period so many times, each time later. */
#ifndef TSIM_STEP_PERIODS_H
#define TSIM_STEP_PERIODS_H

#include "step/groups/stage_group.h"

struct tsim_periods;

/* A task that has ended, where it is in the whole step: with what was left out its label has another item, and its time
 * is later, than in the engine. */
struct tsim_periods_task {
    int64_t label;
    tsim_tick begin, end;
    int32_t stream, stage_group;
    const struct tsim_played *played; /* of an operator; else NULL */
    bool is_launch;                   /* of it, by the host */
    int32_t part; /* an operator belongs to this part, in execution order; a collective is this part, -1: the last */
};
typedef void (*tsim_periods_repeat_fn)(void *context, const struct tsim_periods_task *task);

/* `repeat`: who is told what was left out, in the order in which it was noted; may be NULL. */
struct tsim_periods *tsim_periods_new(struct tsim_arena *arena, struct tsim_engine *engine,
                                      struct tsim_stage_group *stage_groups, int32_t n_stage_groups,
                                      tsim_periods_repeat_fn repeat, void *context);
void tsim_periods_release(struct tsim_periods *periods); /* may be NULL */

/* A task of the first stage group's compute stream has ended: should one look after this tick? */
bool tsim_periods_is_due(const struct tsim_periods *periods, int64_t label);
/* Notes a task that `repeat` may be told again. */
void tsim_periods_note(struct tsim_periods *periods, const struct tsim_periods_task *task);
/* Looks for a period; it is called between ticks, when it is due. */
void tsim_periods_look(struct tsim_periods *periods);

/* Returns the ticks and events that were left out so far. */
tsim_tick tsim_periods_ticks(const struct tsim_periods *periods);
int64_t tsim_periods_events(const struct tsim_periods *periods);

#endif
