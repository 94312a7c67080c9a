/* engine_internal.h - the inside of struct tsim_engine, shared by the files of this folder and their tests.
 *
 *   engine.c    creation, the main loop, questions
 *   stream.c    programs, signals, the way of a task from its program to its end
 *   activity.c  the part of that way that takes time: latency, flow, changes of rate
 *   join.c      who has come to which join
 *   state.c     what it is doing, to be compared with another moment
 *   deadlock.c  what is said of streams that do not get on
 *   clock.c     seconds and ticks
 *
 * A task is carried by its stream; a join by the stream with the smallest number among its parties, its leader. So
 * streams, activities (sharing.h) and events (event_queue.h) have the same numbers, and nothing is allocated per task.
 *
 *   program -> WAITING for signals -> JOINING others -> STARTING, in the list of starts -> in LATENCY -> FLOWING
 *           -> end: observer, signals lowered, the program asked for the next task
 * (a task passes over the states that it does not need). The other parties of a join stay JOINING until its end. */
#pragma once

#include "engine/engine.h"
#include "engine/event_queue.h"
#include "engine/sharing.h"

#include <stdnoreturn.h>

enum stream_state { STREAM_WAITING, STREAM_JOINING, STREAM_STARTING, STREAM_LATENCY, STREAM_FLOWING, STREAM_FINISHED };

/* A waiter is one wait of one stream: stream * WAITER_STRIDE + its place among the stream's waits; -1 is none. */
enum { WAITER_STRIDE = 8 };

struct tsim_engine_signal {
    int32_t count;       /* lowerings that it still needs to fire */
    int32_t last_waiter; /* the last of a circular list, whose next is the first */
};

struct tsim_engine_counter {
    int64_t value, awaited; /* awaited: the value that its waiter waits for */
    int32_t waiter;         /* stream, or -1 */
};

struct tsim_engine_stream {
    tsim_program_fn program;
    void *context;
    enum stream_state state;
    bool is_excused;
    int32_t n_unfired;   /* signals, and counters, that the task still waits for */
    int32_t next;        /* the next stream in the list of starts, or of ends */
    int32_t first_party; /* of a leader: the parties in the order in which they came */
    int32_t next_party;
    tsim_tick ready, begin;
    /* These hold while the task flows, and are valid as of tick `since`. */
    tsim_tick since;
    double remaining, rate;
    struct tsim_task task;
    int32_t next_waiter[TSIM_TASK_MAX_SIGNALS];
};

/* A FIFO of streams, which are linked through `next`. */
struct tsim_engine_list {
    int32_t first, last;
};

/* A slot of the table of joins is empty if n_arrived is 0. */
struct tsim_engine_join {
    int64_t id;
    int32_t n_parties, n_arrived;
    int32_t first_party, last_party;
    bool disagrees; /* its parties differ in n_parties or in work, so it will never start */
};

struct tsim_engine {
    struct tsim_engine_options options;
    double end_of_time_s;
    tsim_tick now;
    int64_t n_events, n_events_at_tick;
    bool has_begun;
    struct tsim_engine_stream *streams;
    struct tsim_engine_signal *signals;
    struct tsim_engine_counter *counters;
    struct tsim_flowed *meters;
    struct tsim_engine_join *joins; /* by open addressing; join_capacity is 0 or a power of two */
    size_t n_streams, stream_capacity, n_signals, signal_capacity, n_counters, counter_capacity, n_joins, join_capacity,
        n_meters, meter_capacity;
    int32_t n_unfinished; /* streams that are not excused and have not finished */
    struct tsim_engine_list starts, ends;
    struct tsim_event_queue events;
    struct tsim_sharing sharing;
};

static inline void tsim_engine_append(struct tsim_engine *engine, struct tsim_engine_list *list, int32_t stream) {
    engine->streams[stream].next = -1;
    if (list->first < 0)
        list->first = stream;
    else
        engine->streams[list->last].next = stream;
    list->last = stream;
}
/* Returns now + duration; INT64_MAX at the end of time and after it. */
static inline tsim_tick tsim_engine_later(const struct tsim_engine *engine, tsim_tick duration) {
    return duration >= engine->options.end_of_time - engine->now ? INT64_MAX : engine->now + duration;
}

/* deadlock.c ends the program where a stream goes round without time passing, and says who waits for whom. */
noreturn void tsim_engine_goes_round(const struct tsim_engine *engine, int32_t stream);
static inline void tsim_engine_count(struct tsim_engine *engine, int32_t stream, int64_t n_events) {
    engine->n_events += n_events;
    engine->n_events_at_tick += n_events;
    if (engine->n_events_at_tick > engine->options.max_events_per_tick)
        tsim_engine_goes_round(engine, stream);
}
/* Writes "stream 3 (...)". */
void tsim_engine_tell(const struct tsim_engine *engine, int32_t stream, char *text, size_t size);
enum tsim_status tsim_engine_report_deadlock(const struct tsim_engine *engine, struct tsim_diags *diags);

/* Returns the ticks of a duration that is not negative; INT64_MAX beyond the end of time. */
static inline tsim_tick tsim_engine_bounded_ticks(const struct tsim_engine *engine, double duration_s) {
    if (duration_s >= engine->end_of_time_s)
        return INT64_MAX;
    double ticks = duration_s / engine->options.tick_s;
    /* From 2^52 on a double is a whole number, and adding a half would round it up. */
    tsim_tick rounded = (tsim_tick)(ticks < 0x1p52 ? ticks + 0.5 : ticks);
    return rounded > 0 ? rounded : duration_s > 0;
}

/* stream.c takes the next task of a stream. */
void tsim_engine_fetch(struct tsim_engine *engine, int32_t stream);
void tsim_engine_end_task(struct tsim_engine *engine, int32_t leader);

/* activity.c starts tasks and finds how fast they flow. */
void tsim_engine_start_task(struct tsim_engine *engine, int32_t leader);
void tsim_engine_flow(struct tsim_engine *engine, int32_t leader);
bool tsim_engine_solve(struct tsim_engine *engine); /* returns whether a task ends in this tick */

/* join.c notes that the stream has come to its join. Returns the join's leader once all parties have come, else -1. */
int32_t tsim_engine_arrive(struct tsim_engine *engine, int32_t stream);
const struct tsim_engine_join *tsim_engine_find_join(const struct tsim_engine *engine, int64_t id);
