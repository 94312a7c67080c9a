/* periods.h - private to sim/step: parts of a pipeline that repeat are simulated once.
 *
 * In the middle of a step every micro-batch does what the one before it did. Whenever the first stage has come a
 * micro-batch further, everything that decides what happens next is written down: the engine's state
 * (tsim_engine_put_state) and the programs' places, with times counted from now, and items and micro-batches from where
 * the stage group stands. If the same words have been written down at an earlier moment, and every stage group has
 * since gone on by a number of items that the schedule repeats, then what happened since that moment happens again,
 * tick by tick, until the schedule stops repeating itself. As many such periods are left out. The schedules are
 * shortened by them, and the sums of the stage groups for one period (account.h), what flowed through the links, time
 * and events are added that many times. All of these except the flows are whole numbers, so a step comes out as if it
 * had gone through everything.
 *
 * In interleaved schedules, chunks that cost the same do the same, too: only the first one's embedding and the last
 * one's head are of another kind. So the first stage is looked at pass by pass. The parts that repeat are a pass
 * forward and one backward in the middle, as many passes as there are stages where the pipeline fills or drains, and a
 * whole group of micro-batches with what was left out of it. Passes are then told apart by their number in the order
 * that all stages share (tsim_schedule_slot), which the periods move on. ZeRO-3, and ZeRO-2 that waits for its
 * reductions, are looked at once in a group.
 *
 * A state repeats only if durations do: with a bit of difference in a rate nothing is left out. Nothing is left out
 * either message by message, in asynchronous schedules, with an input pipeline or noise, or while a listener needs the
 * events that tasks waited for. Other listeners hear the tasks of the period as often as it happens, each time
 * later. */
#pragma once

#include "step/groups/stage_group.h"

struct tsim_periods;

/* A task that has ended, as it is in the whole step. Because of what was left out, its item and its time are later than
 * in the engine. */
struct tsim_periods_task {
    int64_t label;
    tsim_tick begin, end;
    int32_t stream, stage_group;
    const struct tsim_played *played; /* the operator that it is; else NULL */
    bool is_launch;                   /* it is the host's launch of the operator */
    int32_t part; /* place in execution order of an operator's part; of a collective, its part, -1: the last */
};
typedef void (*tsim_periods_repeat_fn)(void *context, const struct tsim_periods_task *task);

/* Makes the state of the search for periods. `repeat` is told what was left out, in the order in which it was noted; it
 * may be NULL. */
struct tsim_periods *tsim_periods_new(struct tsim_arena *arena, struct tsim_engine *engine,
                                      struct tsim_stage_group *stage_groups, int32_t n_stage_groups,
                                      tsim_periods_repeat_fn repeat, void *context);
void tsim_periods_release(struct tsim_periods *periods); /* may be NULL */

/* Returns whether to look for a period after this tick, in which a task of the first stage group's compute stream has
 * ended. */
bool tsim_periods_is_due(const struct tsim_periods *periods, int64_t label);
/* Notes a task that `repeat` may be told again. */
void tsim_periods_note(struct tsim_periods *periods, const struct tsim_periods_task *task);
/* Looks for a period. Call it between ticks, when it is due. */
void tsim_periods_look(struct tsim_periods *periods);

/* These return the ticks and events that have been left out so far. */
tsim_tick tsim_periods_ticks(const struct tsim_periods *periods);
int64_t tsim_periods_events(const struct tsim_periods *periods);
