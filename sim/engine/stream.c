/* stream.c - programs, signals, and the way of a task from its program to its start and from its end to the next. */
#include "base/arena.h"
#include "engine/engine_internal.h"

#include <float.h>
#include <string.h>

/* Leaves the task as the program is promised to find it. */
static void clear_task(struct tsim_task *task) {
    task->label = 0;
    task->work = task->weight = task->bound_per_s = 0;
    task->latency = task->flow = 0;
    task->n_demands = task->n_metered = task->n_waits = task->n_lowers = 0;
    task->awaited_counter = task->raised_counter = -1;
    task->awaited_value = 0;
    task->join = -1;
    task->n_parties = 0;
    task->more_demands = NULL;
    task->n_more_demands = 0;
}

static __attribute__((noinline)) void look_closely(const struct tsim_engine *engine, int32_t stream,
                                                   const struct tsim_task *task) {
    bool counts = task->n_demands >= 0 && task->n_metered >= 0 &&
                  (uint32_t)task->n_demands + (uint32_t)task->n_metered <= TSIM_TASK_MAX_DEMANDS &&
                  (uint32_t)task->n_waits <= TSIM_TASK_MAX_SIGNALS &&
                  (uint32_t)task->n_lowers <= TSIM_TASK_MAX_SIGNALS && task->n_more_demands >= 0;
    bool numbers = task->work >= 0 && task->work <= DBL_MAX && task->weight >= 0 && task->weight <= DBL_MAX &&
                   task->bound_per_s >= 0 && task->bound_per_s <= DBL_MAX && task->latency >= 0;
    bool join = task->join < 0 || task->n_parties >= 1;
    if (counts && numbers && join)
        return;
    char who[200];
    tsim_engine_tell(engine, stream, who, sizeof who);
    TSIM_BUG("%s: the program made a task with %s", who,
             !counts    ? "too many demands, waits or lowers"
             : !numbers ? "a negative or infinite number"
                        : "a join without parties");
}

static inline uint64_t bits_of(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* Every task is checked, so the check compares the bits of its numbers: those of a finite number that is not negative
 * are below infinity's. (-0's are not, and it is looked at closely.) */
static inline void check_task(const struct tsim_engine *engine, int32_t stream, const struct tsim_task *task) {
    uint64_t infinite = UINT64_C(0x7ff) << 52, work = bits_of(task->work), weight = bits_of(task->weight),
             bound = bits_of(task->bound_per_s);
    bool is_good = ((uint32_t)task->n_demands <= TSIM_TASK_MAX_DEMANDS) &
                   ((uint32_t)task->n_metered <= (uint32_t)(TSIM_TASK_MAX_DEMANDS - task->n_demands)) &
                   ((uint32_t)task->n_waits <= TSIM_TASK_MAX_SIGNALS) &
                   ((uint32_t)task->n_lowers <= TSIM_TASK_MAX_SIGNALS) & (task->n_more_demands >= 0) &
                   (work < infinite) & (weight < infinite) & (bound < infinite) & (task->latency >= 0) &
                   (task->join < 0);
    if (!is_good)
        look_closely(engine, stream, task);
}

static struct tsim_engine_signal *signal_at(struct tsim_engine *engine, int32_t signal) {
    if ((size_t)signal >= engine->n_signals) /* a negative one, too */
        TSIM_BUG("there is no signal %d", signal);
    return &engine->signals[signal];
}

static int32_t *waiter_link(struct tsim_engine *engine, int32_t waiter) {
    return &engine->streams[(uint32_t)waiter / WAITER_STRIDE].next_waiter[(uint32_t)waiter % WAITER_STRIDE];
}

static void wait_for(struct tsim_engine *engine, struct tsim_engine_signal *signal, int32_t waiter) {
    int32_t *link = waiter_link(engine, waiter);
    if (signal->last_waiter < 0) {
        *link = waiter;
    } else {
        int32_t *last = waiter_link(engine, signal->last_waiter);
        *link = *last;
        *last = waiter;
    }
    signal->last_waiter = waiter;
}

static struct tsim_engine_counter *counter_at(struct tsim_engine *engine, int32_t counter) {
    if ((size_t)counter >= engine->n_counters)
        TSIM_BUG("there is no counter %d", counter);
    return &engine->counters[counter];
}

static void await_counter(struct tsim_engine *engine, int32_t stream) {
    struct tsim_engine_stream *s = &engine->streams[stream];
    struct tsim_engine_counter *counter = counter_at(engine, s->task.awaited_counter);
    if (counter->value >= s->task.awaited_value)
        return;
    if (counter->waiter >= 0)
        TSIM_BUG("streams %d and %d wait for counter %d", counter->waiter, stream, s->task.awaited_counter);
    counter->waiter = stream;
    counter->awaited = s->task.awaited_value;
    s->n_unfired++;
}

static void start(struct tsim_engine *engine, int32_t leader) {
    engine->streams[leader].state = STREAM_STARTING;
    tsim_engine_append(engine, &engine->starts, leader);
}

static __attribute__((noinline)) void join_others(struct tsim_engine *engine, int32_t stream) {
    engine->streams[stream].state = STREAM_JOINING;
    int32_t leader = tsim_engine_arrive(engine, stream);
    if (leader >= 0)
        start(engine, leader);
}

/* Makes the task ready that is at the head of its stream and whose signals have all fired. */
static inline void be_ready(struct tsim_engine *engine, int32_t stream) {
    struct tsim_engine_stream *s = &engine->streams[stream];
    s->ready = engine->now;
    s->next_party = -1;
    s->first_party = stream;
    if (s->task.join >= 0)
        join_others(engine, stream);
    else
        start(engine, stream);
}

static inline void fetch(struct tsim_engine *engine, int32_t stream) {
    struct tsim_engine_stream *s = &engine->streams[stream];
    clear_task(&s->task);
    if (!s->program(s->context, stream, &s->task)) {
        s->state = STREAM_FINISHED;
        engine->n_unfinished -= !s->is_excused;
        return;
    }
    check_task(engine, stream, &s->task);
    s->state = STREAM_WAITING;
    s->n_unfired = 0;
    for (int32_t i = 0; i < s->task.n_waits; i++) {
        struct tsim_engine_signal *signal = signal_at(engine, s->task.waits[i]);
        if (signal->count == 0)
            continue;
        wait_for(engine, signal, stream * WAITER_STRIDE + i);
        s->n_unfired++;
    }
    if (s->task.awaited_counter >= 0)
        await_counter(engine, stream);
    if (s->n_unfired == 0)
        be_ready(engine, stream);
}

void tsim_engine_fetch(struct tsim_engine *engine, int32_t stream) {
    fetch(engine, stream);
}

static inline void fire(struct tsim_engine *engine, struct tsim_engine_signal *signal) {
    int32_t last = signal->last_waiter;
    if (last < 0)
        return;
    signal->last_waiter = -1;
    int32_t waiter, next = *waiter_link(engine, last);
    do { /* be_ready does not touch these links */
        waiter = next;
        next = *waiter_link(engine, waiter);
        int32_t stream = (int32_t)((uint32_t)waiter / WAITER_STRIDE);
        if (--engine->streams[stream].n_unfired == 0)
            be_ready(engine, stream);
    } while (waiter != last);
}

static inline void lower_signals(struct tsim_engine *engine, const struct tsim_task *task) {
    for (int32_t i = 0; i < task->n_lowers; i++) {
        struct tsim_engine_signal *signal = signal_at(engine, task->lowers[i]);
        if (signal->count == 0)
            TSIM_BUG("signal %d is lowered after it has fired", task->lowers[i]);
        if (--signal->count == 0)
            fire(engine, signal);
    }
}

static void raise_counter(struct tsim_engine *engine, int32_t raised) {
    struct tsim_engine_counter *counter = counter_at(engine, raised);
    int32_t waiter = counter->waiter;
    if (++counter->value < counter->awaited || waiter < 0)
        return;
    counter->waiter = -1;
    if (--engine->streams[waiter].n_unfired == 0)
        be_ready(engine, waiter);
}

static inline void end_party(struct tsim_engine *engine, int32_t party, tsim_tick begin) {
    const struct tsim_engine_stream *s = &engine->streams[party];
    tsim_engine_count(engine, party, 1);
    if (engine->options.observer)
        engine->options.observer(engine->options.context, party, s->task.label, s->ready, begin, engine->now);
    for (int32_t i = 0; i < s->task.n_metered; i++) {
        const struct tsim_demand *metered = &s->task.demands[tsim_metered_place(i)];
        tsim_flowed_add(&engine->meters[-1 - metered->resource], metered->per_unit * s->task.work);
    }
    lower_signals(engine, &s->task);
    if (s->task.raised_counter >= 0)
        raise_counter(engine, s->task.raised_counter);
}

static __attribute__((noinline)) void end_join(struct tsim_engine *engine, int32_t leader) {
    struct tsim_engine_stream *streams = engine->streams;
    tsim_tick begin = streams[leader].begin;
    int32_t first = streams[leader].first_party;
    for (int32_t party = first; party >= 0; party = streams[party].next_party)
        end_party(engine, party, begin);
    for (int32_t party = first, next; party >= 0; party = next) {
        next = streams[party].next_party; /* fetch may make the party ready, which begins a new list */
        tsim_engine_fetch(engine, party);
    }
}

void tsim_engine_end_task(struct tsim_engine *engine, int32_t leader) {
    const struct tsim_engine_stream *s = &engine->streams[leader];
    if (s->next_party >= 0 || s->first_party != leader) {
        end_join(engine, leader);
        return;
    }
    end_party(engine, leader, s->begin);
    fetch(engine, leader);
}

bool tsim_engine_waits(const struct tsim_engine *engine, int32_t stream) {
    const struct tsim_engine_stream *s = &engine->streams[stream];
    return (s->state == STREAM_WAITING && s->n_unfired > 0) || s->state == STREAM_FINISHED;
}

int32_t tsim_engine_add_signals(struct tsim_engine *engine, int32_t count, int32_t initial) {
    TSIM_ASSERT(count >= 0 && initial >= 0 && engine->n_signals + (size_t)count <= INT32_MAX);
    int32_t first = (int32_t)engine->n_signals;
    engine->signals = tsim_heap_grow(engine->signals, &engine->signal_capacity, engine->n_signals + (size_t)count,
                                     sizeof *engine->signals);
    for (int32_t i = 0; i < count; i++)
        engine->signals[engine->n_signals++] = (struct tsim_engine_signal){initial, -1};
    return first;
}

void tsim_engine_rearm(struct tsim_engine *engine, int32_t signal, int32_t initial) {
    struct tsim_engine_signal *s = signal_at(engine, signal);
    TSIM_ASSERT(initial >= 0);
    if (s->last_waiter >= 0)
        TSIM_BUG("signal %d is rearmed while stream %d waits for it", signal, s->last_waiter / WAITER_STRIDE);
    s->count = initial;
}

int32_t tsim_engine_add_counters(struct tsim_engine *engine, int32_t count) {
    TSIM_ASSERT(count >= 0 && engine->n_counters + (size_t)count <= INT32_MAX);
    int32_t first = (int32_t)engine->n_counters;
    engine->counters = tsim_heap_grow(engine->counters, &engine->counter_capacity, engine->n_counters + (size_t)count,
                                      sizeof *engine->counters);
    for (int32_t i = 0; i < count; i++)
        engine->counters[engine->n_counters++] = (struct tsim_engine_counter){0, 0, -1};
    return first;
}
