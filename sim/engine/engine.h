/* engine.h - the event engine: work flows through shared capacities. It knows no machine learning and no hardware.
 *
 * Nouns
 *   resource  anything with a capacity in units/s (bytes/s of a link direction, 1.0 "device second per second").
 *   meter     counts what flows, and holds nothing up: for what has capacity to spare whatever happens. Meters have
 *             negative numbers, and are demanded apart.
 *   activity  `work` units that progress at a rate x (units/s) subject to  x <= bound  and, for every resource r,
 *             sum over running activities of demand[r] * x <= capacity[r]. Rates are weighted max-min fair: see
 *             sharing.h for the theory. Before it flows an activity waits out its latency without using anything.
 *   stream    a FIFO of tasks, generated lazily by a program (a callback), one task at a time; a task starts when it is
 *             at the head of its stream, the stream is free and all its signals have fired.
 *   signal    a countdown; it fires when it reaches zero. Tasks wait for signals and lower them when they finish. A
 *             task that waits has seen a signal once it has fired: rearming it later does not take that back.
 *   counter   only rises; one task at a time may wait until it has reached a value, and tasks raise it by one when they
 *             finish. A signal stands for one event, a counter for a sequence of them (messages that arrive in
 *             order, of which the sender may be any number ahead).
 *   join      tasks of several streams that carry the same join id start together, as ONE activity (the demands of
 *             all parties merged), when the last of them is ready, and finish together: a collective, a matched
 *             send/receive. A join whose parties disagree is a deadlock report, never a wrong result.
 *
 * Weights: where activities meet, their shares x / weight are compared, in the units of their work. Messages in bytes
 * with weight 1 share a link evenly. Where different things meet (a message in bytes, an operator in FLOP or in
 * seconds, on one memory) weight 1 would compare numbers of different kinds: give each the rate that it would have
 * alone, then shares are fractions of full speed, and both are slowed down by the same factor.
 *
 * Time is an int64 count of ticks; the creator says how long a tick is. The order of events is total: by tick; within a
 * tick first all ends, then all starts, then one sharing solve for everything that changed; ends that were due at a
 * tick by stream number, and what they bring about (tasks ready to start, tasks of no length that end at once) in the
 * order in which it comes about. A task that takes no time (no work, no latency) ends within the tick in which it
 * starts. So the order in which resources, streams or signals were created shows in nothing but their numbers:
 * renumbered, the same system has the same times, up to one tick where sums in another order round the other way.
 *
 * An activity whose rate never changes lasts exactly latency + tsim_engine_ticks(work / rate).
 *
 * Ownership: everything lives until tsim_engine_release. Memory grows with streams, signals and what is under way at
 * one time, not with tasks. Not thread-safe; several engines may live side by side. */
#pragma once

#include "base/status.h"
#include "base/words.h"

#include <stdint.h>

typedef int64_t tsim_tick;

struct tsim_engine;

struct tsim_demand {
    int32_t resource;
    double per_unit; /* resource units for each unit of work; > 0 */
};

enum { TSIM_TASK_MAX_DEMANDS = 8, TSIM_TASK_MAX_SIGNALS = 6 };

struct tsim_task {
    int64_t label;      /* any number; the observer and `describe` receive it */
    double work;        /* in units; 0: nothing flows, only latency passes */
    double weight;      /* of its share (see above); 0 means 1 */
    double bound_per_s; /* limit of its own rate; 0: none (then at least one demand is needed if work > 0) */
    tsim_tick latency;  /* in ticks, at least 0 */
    tsim_tick flow;     /* equals tsim_engine_ticks(work / bound_per_s); 0: the engine computes it */
    int32_t n_demands, n_metered, n_waits, n_lowers;
    struct tsim_demand demands[TSIM_TASK_MAX_DEMANDS]; /* those of resources from the front, of meters from the back */
    int32_t waits[TSIM_TASK_MAX_SIGNALS];              /* signals that must have fired before it starts */
    int32_t lowers[TSIM_TASK_MAX_SIGNALS];             /* signals that it lowers by one at its end */
    int32_t awaited_counter;                           /* it must have reached awaited_value; -1: none */
    int32_t raised_counter;                            /* the task raises it by one at its end; -1: none */
    int64_t awaited_value;
    int64_t join; /* -1: none; else a number that the parties agree on, unique in a run */
    /* The parties of a join take work, weight, bound and latency from the party with the smallest stream number. Work
     * must be equal in all. Demands on the same resource add up, also within one task. A task may have more than
     * TSIM_TASK_MAX_DEMANDS demands through more_demands; the caller keeps that array until the task has ended. */
    const struct tsim_demand *more_demands;
    int32_t n_more_demands;
    int32_t n_parties; /* parties of the join */
};

/* Returns the place in `demands` of the i-th metered demand. n_demands + n_metered may be TSIM_TASK_MAX_DEMANDS at
 * most. */
static inline int32_t tsim_metered_place(int32_t i) {
    return TSIM_TASK_MAX_DEMANDS - 1 - i;
}

/* Fills *task with the stream's next task and returns true, or returns false when the stream is finished. The engine
 * calls it once at the start, and whenever the stream's previous task has ended, after that task's observer and
 * signals. *task arrives zeroed, except that its arrays are not cleared (their counts are 0) and that join and the
 * counters are -1. The program may rearm and add signals and ask the engine questions; it may not add streams or
 * resources. */
typedef bool (*tsim_program_fn)(void *context, int32_t stream, struct tsim_task *task);

/* The engine calls it once for each task, at the task's end (for a join, once for each party). ready is when the task
 * was at the head of its stream with all its signals fired; begin is when it started, later than ready only for joins;
 * end is now. It may not change the engine. */
typedef void (*tsim_observer_fn)(void *context, int32_t stream, int64_t label, tsim_tick ready, tsim_tick begin,
                                 tsim_tick end);

/* Writes what a task is, for reports of deadlocks: "rank 3: receive of microbatch 2 from rank 2". With stream -1 it
 * writes what the signal of number `label` is, with stream -2 the counter. A task whose text is left empty is reported
 * by its number. */
typedef void (*tsim_describe_fn)(void *context, int32_t stream, int64_t label, char *text, size_t size);

/* The engine calls it when everything of a tick is done, before time goes on. It may rearm signals, and nothing
 * else. */
typedef void (*tsim_between_fn)(void *context);

struct tsim_engine_options {
    double tick_s;               /* length of a tick; 1e-12 for a step */
    tsim_tick end_of_time;       /* a task that would end at it or later ends the run; 0: INT64_MAX */
    int64_t max_events_per_tick; /* beyond it TSIM_BUG names the stream that loops; 0: 10 million */
    tsim_observer_fn observer;   /* may be NULL */
    tsim_describe_fn describe;   /* may be NULL */
    tsim_between_fn between;     /* may be NULL */
    const bool *calls_between;   /* calls `between` only if the flag is set; NULL: after every tick */
    void *context;               /* the first argument of observer, describe and between */
    bool may_stop; /* the run ends if its thread's work shall end (base/stop.h), which it asks now and then */
};

struct tsim_engine *tsim_engine_create(const struct tsim_engine_options *options);
void tsim_engine_release(struct tsim_engine *engine);

int32_t tsim_engine_add_resource(struct tsim_engine *engine,
                                 double capacity_per_s);   /* > 0, finite; returns its number */
int32_t tsim_engine_add_meter(struct tsim_engine *engine); /* returns -1, then -2, ... */
int32_t tsim_engine_add_stream(struct tsim_engine *engine, tsim_program_fn program, void *context);
/* Adds `count` signals in a row and returns the first. Each fires after `initial` lowerings; with 0 it has already
 * fired. To lower a signal that has fired is TSIM_BUG. */
int32_t tsim_engine_add_signals(struct tsim_engine *engine, int32_t count, int32_t initial);
/* Sets a signal anew, so that it can be used again. Nobody may be waiting for it (TSIM_BUG). */
void tsim_engine_rearm(struct tsim_engine *engine, int32_t signal, int32_t initial);

/* Excuses a stream that serves others or goes on for ever. The run ends with the tick in which all other streams have
 * finished: an excused stream that still waits is no deadlock, and its task under way stays unfinished. */
void tsim_engine_excuse(struct tsim_engine *engine, int32_t stream);
/* Adds `count` counters in a row, each at 0, and returns the first. */
int32_t tsim_engine_add_counters(struct tsim_engine *engine, int32_t count);

/* Runs to the end, once per engine. It returns TSIM_OK; TSIM_ERR_INFEASIBLE for a deadlock; TSIM_ERR_LIMIT when a
 * task would end after the end of time; or TSIM_ERR_STOPPED (may_stop). For a deadlock it adds a diag with the count, and one, named by `describe`, for
 * each of the first few joins that lack parties or whose parties disagree in number or work, and for each of the first
 * few streams that wait for a signal. */
enum tsim_status tsim_engine_run(struct tsim_engine *engine, struct tsim_diags *diags);

tsim_tick tsim_engine_now(const struct tsim_engine *engine);
/* Returns the number of events: starts of tasks, ends of tasks, and solves that changed a rate. */
int64_t tsim_engine_n_events(const struct tsim_engine *engine);
/* Returns the units that the stream's task has done so far; the task must be flowing. */
double tsim_engine_done(const struct tsim_engine *engine, int32_t stream);
/* Returns the units that have flowed through a resource so far, those under way included, so that energy and link load
 * need no second model. A meter does not count what is under way. */
double tsim_engine_resource_flowed(const struct tsim_engine *engine, int32_t resource);

/* Adds the engine's state between ticks to `state`: times are counted from now, and labels and the numbers of signals
 * are left out. Two moments of a run with the same words are followed by the same events, tick by tick, as long as the
 * programs make tasks that differ only in labels and the numbers of signals, and each signal is waited for by one
 * stream. While a join lacks parties it returns false, and the words are of no use. */
bool tsim_engine_put_state(const struct tsim_engine *engine, struct tsim_words *state);

/* Adds to `flows` what has flowed through every resource and meter so far, except those through which nothing has. */
void tsim_engine_put_flows(const struct tsim_engine *engine, struct tsim_words *flows);

/* Books what has flowed since `flows` was written, so many times. */
void tsim_engine_repeat_flows(struct tsim_engine *engine, const int64_t *flows, int64_t times);

/* Returns whether the stream has finished, or its task waits for signals or counters. */
bool tsim_engine_waits(const struct tsim_engine *engine, int32_t stream);

/* Gives the label of the stream's task; returns false when the stream has finished. */
bool tsim_engine_label(const struct tsim_engine *engine, int32_t stream, int64_t *label);
void tsim_engine_relabel(struct tsim_engine *engine, int32_t stream, int64_t label);

int32_t tsim_engine_n_resources(const struct tsim_engine *engine);
double tsim_engine_capacity(const struct tsim_engine *engine, int32_t resource);
/* Adds units that flow without being simulated to what the resource reports as flowed. */
void tsim_engine_book_flow(struct tsim_engine *engine, int32_t resource, double units);

/* Converts seconds to ticks, rounded to the nearest; a positive duration is at least one tick. A duration beyond the
 * end of time is INT64_MAX, and a task that waits so long ends the run with TSIM_ERR_LIMIT. */
tsim_tick tsim_engine_ticks(const struct tsim_engine *engine, double duration_s);
double tsim_engine_seconds(const struct tsim_engine *engine, tsim_tick ticks);
