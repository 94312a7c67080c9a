/* periods.h - private to training: what a pipeline repeats is simulated once.
 *
 * In the middle of a step every micro-batch does what the one before it did. Whenever the first stage has come a
 * micro-batch further (interleaved: a group of micro-batches), all that decides what happens next is written down: what
 * the engine is doing (tsim_engine_put_state) and where the programs stand, with times counted from now and items and
 * micro-batches from where the gang stands. When the same words have been written down before, at an earlier moment,
 * and in between every gang went on by a number of items that the schedule repeats, then what happened since that
 * moment happens again, tick by tick, until the schedule stops repeating itself. So many such periods are left out: the
 * schedules are shortened by them, and what the gangs tallied in one (account.c), what flowed through the links, time
 * and events are added so many times. All of it is whole numbers but for the flows, so a step comes out as if it had
 * gone through everything.
 *
 * A state repeats when durations do: a bit of difference in a rate, and nothing is left out. Not done message by
 * message, nor with an input pipeline or noise, nor while somebody listens who needs what tasks waited for. Others who
 * listen are told the tasks that ended in the period so many times, each time later. */
#ifndef TSIM_TRAINING_PERIODS_H
#define TSIM_TRAINING_PERIODS_H

#include "training/gang.h"

struct tsim_periods;

/* A task that has ended, and how far from it one is that repeats it: in time, in items of its gang's schedule, and in
 * micro-batches of the passes that are not forward. */
struct tsim_periods_task {
    int64_t label;
    tsim_tick begin, end;
    int32_t stream, gang;
};
struct tsim_periods_shift {
    tsim_tick later;
    int64_t items, microbatches;
};
typedef void (*tsim_periods_repeat_fn)(void *context, const struct tsim_periods_task *task,
                                       const struct tsim_periods_shift *shift);

/* `repeat`: who is told what was left out, in the order in which it was noted; may be NULL. */
struct tsim_periods *tsim_periods_new(struct tsim_arena *arena, struct tsim_engine *engine, struct tsim_gang *gangs,
                                      int32_t n_gangs, tsim_periods_repeat_fn repeat, void *context);
void tsim_periods_release(struct tsim_periods *periods); /* may be NULL */

/* A task of the first gang's compute stream has ended: should one look after this tick? */
bool tsim_periods_is_due(const struct tsim_periods *periods, int64_t label);
/* What `repeat` may be told again. */
void tsim_periods_note(struct tsim_periods *periods, const struct tsim_periods_task *task);
/* Between ticks, when it is due. */
void tsim_periods_look(struct tsim_periods *periods);

/* What was left out so far. */
tsim_tick tsim_periods_ticks(const struct tsim_periods *periods);
int64_t tsim_periods_events(const struct tsim_periods *periods);

#endif
