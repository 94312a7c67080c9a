/* activity.c - the part of a task that takes time: its latency, its flow, and changes of its rate while it flows.
 *
 * An activity that began to flow at tick t with `work` units and keeps one rate ends at t + ticks(work / rate). When
 * its rate changes at tick u, remaining -= old rate * (u - since), and it ends at u + ticks(remaining / new rate).
 * Nothing is computed for activities whose rate does not change, so their ends do not drift. */
#include "engine/engine_internal.h"

#include <math.h>

static void put_event(struct tsim_engine *engine, int32_t leader, tsim_tick tick, enum tsim_phase phase) {
    tsim_event_queue_put(&engine->events, leader, tick, phase);
}

static bool is_alone(const struct tsim_engine_stream *s, int32_t stream) {
    return s->next_party < 0 && s->first_party == stream;
}

static int32_t n_demands_of_task(const struct tsim_engine *engine, int32_t leader) {
    int32_t n = 0;
    for (int32_t party = engine->streams[leader].first_party; party >= 0; party = engine->streams[party].next_party)
        n += engine->streams[party].task.n_demands + engine->streams[party].task.n_more_demands;
    return n;
}

static int32_t n_parties_of_task(const struct tsim_engine *engine, int32_t leader) {
    int32_t n = 0;
    for (int32_t party = engine->streams[leader].first_party; party >= 0; party = engine->streams[party].next_party)
        n++;
    return n;
}

/* Starts a task without demands, which nobody can disturb: its end is known when it starts. */
static void start_undisturbed(struct tsim_engine *engine, int32_t leader) {
    const struct tsim_task *task = &engine->streams[leader].task;
    tsim_tick duration = task->latency;
    if (task->work > 0) {
        if (!(task->bound_per_s > 0)) {
            char who[200];
            tsim_engine_tell(engine, leader, who, sizeof who);
            TSIM_BUG("%s: work without a demand and without a bound never ends", who);
        }
        tsim_tick flow =
            task->flow > 0 ? task->flow : tsim_engine_bounded_ticks(engine, task->work / task->bound_per_s);
        duration = flow > INT64_MAX - duration ? INT64_MAX : duration + flow;
    }
    engine->streams[leader].state = task->work > 0 ? STREAM_FLOWING : STREAM_LATENCY;
    if (duration == 0)
        tsim_engine_append(engine, &engine->ends, leader);
    else
        put_event(engine, leader, tsim_engine_later(engine, duration), TSIM_PHASE_END);
}

void tsim_engine_start_task(struct tsim_engine *engine, int32_t leader) {
    struct tsim_engine_stream *s = &engine->streams[leader];
    s->begin = engine->now;
    s->rate = 0;
    bool has_one_party = is_alone(s, leader);
    tsim_engine_count(engine, leader, has_one_party ? 1 : n_parties_of_task(engine, leader));
    if (s->task.work <= 0 ||
        (has_one_party ? s->task.n_demands + s->task.n_more_demands : n_demands_of_task(engine, leader)) == 0) {
        start_undisturbed(engine, leader);
    } else if (s->task.latency > 0) {
        s->state = STREAM_LATENCY;
        put_event(engine, leader, tsim_engine_later(engine, s->task.latency), TSIM_PHASE_START);
    } else {
        tsim_engine_flow(engine, leader);
    }
}

/* The activity has a new rate, from which its end follows. Returns true if it ends now. */
static inline bool take_rate(struct tsim_engine *engine, int32_t leader, double rate) {
    struct tsim_engine_stream *s = &engine->streams[leader];
    s->rate = rate;
    s->since = engine->now;
    /* A rest of less than half a tick is none: it ends now. (Of a whole activity it is one tick: tsim_engine_ticks.) */
    bool is_rest = s->remaining < s->task.work;
    if (!is_rest && s->task.flow > 0 && rate == s->task.bound_per_s) {
        put_event(engine, leader, tsim_engine_later(engine, s->task.flow), TSIM_PHASE_END);
        return false;
    }
    double duration_s = rate == 1 ? s->remaining : s->remaining / rate;
    tsim_tick left =
        is_rest && duration_s < 0.5 * engine->options.tick_s ? 0 : tsim_engine_bounded_ticks(engine, duration_s);
    put_event(engine, leader, tsim_engine_later(engine, left), TSIM_PHASE_END);
    return left == 0;
}

static inline bool change_rate(struct tsim_engine *engine, int32_t leader, double rate) {
    struct tsim_engine_stream *s = &engine->streams[leader];
    s->remaining -= s->rate * tsim_engine_seconds(engine, engine->now - s->since);
    return take_rate(engine, leader, rate);
}

static void add_demands(struct tsim_engine *engine, int32_t leader, const struct tsim_demand *demands, int32_t count) {
    for (int32_t i = 0; i < count; i++)
        tsim_sharing_demand(&engine->sharing, leader, demands[i].resource, demands[i].per_unit);
}

void tsim_engine_flow(struct tsim_engine *engine, int32_t leader) {
    struct tsim_engine_stream *s = &engine->streams[leader];
    double weight = s->task.weight > 0 ? s->task.weight : 1,
           bound = s->task.bound_per_s > 0 ? s->task.bound_per_s : HUGE_VAL;
    s->state = STREAM_FLOWING;
    s->remaining = s->task.work;
    s->since = engine->now;
    tsim_sharing_set(&engine->sharing, leader, weight, bound);
    for (int32_t party = s->first_party; party >= 0; party = engine->streams[party].next_party) {
        const struct tsim_task *task = &engine->streams[party].task;
        add_demands(engine, leader, task->demands, task->n_demands);
        add_demands(engine, leader, task->more_demands, task->n_more_demands);
    }
    if (tsim_sharing_start(&engine->sharing, leader))
        take_rate(engine, leader, tsim_sharing_rate(&engine->sharing, leader));
}

bool tsim_engine_solve(struct tsim_engine *engine) {
    struct tsim_sharing *sharing = &engine->sharing;
    bool ends = false;
    tsim_sharing_solve(sharing);
    engine->n_events += sharing->n_changed > 0;
    for (size_t i = 0; i < sharing->n_changed; i++)
        ends |= change_rate(engine, sharing->changed[i], tsim_sharing_rate(sharing, sharing->changed[i]));
    return ends;
}
