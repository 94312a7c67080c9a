/* engine.c - creation and the main loop. engine_internal.h says what is in the other files. */
#include "engine/engine.h"

#include "base/arena.h"
#include "base/quantity.h"
#include "base/stop.h"
#include "engine/engine_internal.h"

#include <float.h>
#include <string.h>

enum { DEFAULT_MAX_EVENTS_PER_TICK = 10 * 1000 * 1000, EVENTS_BETWEEN_QUESTIONS = 1 << 14 };

struct tsim_engine *tsim_engine_create(const struct tsim_engine_options *options) {
    TSIM_ASSERT(options->tick_s > 0 && options->tick_s <= DBL_MAX && options->max_events_per_tick >= 0);
    size_t capacity = 0;
    struct tsim_engine *engine = tsim_heap_grow(NULL, &capacity, 1, sizeof *engine);
    memset(engine, 0, sizeof *engine);
    engine->options = *options;
    if (engine->options.max_events_per_tick == 0)
        engine->options.max_events_per_tick = DEFAULT_MAX_EVENTS_PER_TICK;
    if (engine->options.end_of_time == 0)
        engine->options.end_of_time = INT64_MAX;
    engine->end_of_time_s = /* rounding stays below it */
        options->tick_s * (double)engine->options.end_of_time * (1 - 0x1p-50);
    engine->starts = engine->ends = (struct tsim_engine_list){-1, -1};
    tsim_event_queue_init(&engine->events);
    tsim_sharing_init(&engine->sharing);
    return engine;
}

void tsim_engine_release(struct tsim_engine *engine) {
    if (!engine)
        return;
    tsim_event_queue_release(&engine->events);
    tsim_sharing_release(&engine->sharing);
    tsim_heap_free(engine->streams);
    tsim_heap_free(engine->signals);
    tsim_heap_free(engine->counters);
    tsim_heap_free(engine->joins);
    tsim_heap_free(engine->meters);
    tsim_heap_free(engine);
}

int32_t tsim_engine_add_resource(struct tsim_engine *engine, double capacity_per_s) {
    TSIM_ASSERT(!engine->has_begun);
    return tsim_sharing_add_resource(&engine->sharing, capacity_per_s);
}

int32_t tsim_engine_add_meter(struct tsim_engine *engine) {
    TSIM_ASSERT(engine->n_meters < INT32_MAX);
    engine->meters =
        tsim_heap_grow(engine->meters, &engine->meter_capacity, engine->n_meters + 1, sizeof *engine->meters);
    engine->meters[engine->n_meters++] = (struct tsim_flowed){0, 0};
    return -(int32_t)engine->n_meters;
}

int32_t tsim_engine_add_stream(struct tsim_engine *engine, tsim_program_fn program, void *context) {
    TSIM_ASSERT(!engine->has_begun); /* the program that is being asked writes into the array of streams */
    TSIM_ASSERT(engine->n_streams < INT32_MAX / WAITER_STRIDE);
    engine->streams =
        tsim_heap_grow(engine->streams, &engine->stream_capacity, engine->n_streams + 1, sizeof *engine->streams);
    struct tsim_engine_stream *s = &engine->streams[engine->n_streams];
    memset(s, 0, sizeof *s);
    s->program = program;
    s->context = context;
    engine->n_unfinished++;
    return (int32_t)engine->n_streams++;
}

void tsim_engine_excuse(struct tsim_engine *engine, int32_t stream) {
    TSIM_ASSERT(!engine->has_begun && !engine->streams[stream].is_excused);
    engine->streams[stream].is_excused = true;
    engine->n_unfinished--;
}

static int32_t take_first(struct tsim_engine *engine, struct tsim_engine_list *list) {
    int32_t stream = list->first;
    list->first = engine->streams[stream].next;
    return stream;
}

static void end_due(struct tsim_engine *engine, int place, int32_t stream) {
    const struct tsim_engine_stream *s = &engine->streams[stream];
    tsim_event_queue_take(&engine->events, place, stream);
    if (s->rate > 0)
        tsim_sharing_end(&engine->sharing, stream, s->task.work);
    tsim_engine_end_task(engine, stream);
}

/* Goes through the present tick in the order that engine.h promises. A task that starts brings no event of this tick,
 * but may end at once. */
static void run_tick(struct tsim_engine *engine) {
    for (;;) {
        struct tsim_event first;
        int place;
        bool is_due = tsim_event_queue_find_at(&engine->events, engine->now, &place, &first);
        if (is_due && first.phase == TSIM_PHASE_END) {
            end_due(engine, place, first.item);
            continue;
        }
        if (engine->ends.first >= 0) {
            tsim_engine_end_task(engine, take_first(engine, &engine->ends));
            continue;
        }
        if (is_due) {
            tsim_event_queue_take(&engine->events, place, first.item);
            tsim_engine_flow(engine, first.item);
            continue;
        }
        while (engine->starts.first >= 0 && engine->ends.first < 0)
            tsim_engine_start_task(engine, take_first(engine, &engine->starts));
        if (engine->ends.first >= 0)
            continue;
        if (!tsim_sharing_needs_solve(&engine->sharing) || !tsim_engine_solve(engine))
            return;
    }
}

static enum tsim_status report_end_of_time(const struct tsim_engine *engine, int32_t stream, struct tsim_diags *diags) {
    char who[200];
    tsim_engine_tell(engine, stream, who, sizeof who);
    char end[40];
    struct tsim_diag *diag = tsim_diags_error(diags, TSIM_ERR_LIMIT, (struct tsim_place){0}, "",
                                              "%s would end after %s, where the simulated clock ends", who,
                                              tsim_quantity_human(engine->end_of_time_s, TSIM_TIME_S, end, sizeof end));
    const struct tsim_engine_stream *s = &engine->streams[stream];
    tsim_diag_hint(diag, "it waits %g s and then moves %g units at %g units/s: a capacity is far too small for it",
                   tsim_engine_seconds(engine, s->task.latency), s->task.work,
                   s->rate > 0 ? s->rate : s->task.bound_per_s);
    return TSIM_ERR_LIMIT;
}

enum tsim_status tsim_engine_run(struct tsim_engine *engine, struct tsim_diags *diags) {
    TSIM_ASSERT(!engine->has_begun);
    engine->has_begun = true;
    for (size_t stream = 0; stream < engine->n_streams; stream++)
        tsim_engine_fetch(engine, (int32_t)stream);
    struct tsim_event next;
    int64_t asks_at = engine->options.may_stop ? EVENTS_BETWEEN_QUESTIONS : INT64_MAX;
    const bool always = engine->options.between != NULL,
               *calls_between = always && engine->options.calls_between ? engine->options.calls_between : &always;
    for (;;) {
        run_tick(engine);
        if (*calls_between)
            engine->options.between(engine->options.context);
        if (engine->n_events >= asks_at) {
            asks_at = engine->n_events + EVENTS_BETWEEN_QUESTIONS;
            if (tsim_is_stopped())
                return TSIM_ERR_STOPPED;
        }
        if (engine->n_unfinished == 0 || tsim_event_queue_find(&engine->events, &next) < TSIM_QUEUE_HEAP)
            break;
        if (next.tick == INT64_MAX)
            return report_end_of_time(engine, next.item, diags);
        engine->now = next.tick;
        engine->n_events_at_tick = 0;
    }
    return engine->n_unfinished == 0 ? TSIM_OK : tsim_engine_report_deadlock(engine, diags);
}

tsim_tick tsim_engine_now(const struct tsim_engine *engine) {
    return engine->now;
}

int64_t tsim_engine_n_events(const struct tsim_engine *engine) {
    return engine->n_events;
}

static struct tsim_flowed *meter_at(const struct tsim_engine *engine, int32_t meter) {
    TSIM_ASSERT(meter < 0 && (size_t)-meter <= engine->n_meters);
    return &engine->meters[-1 - meter];
}

double tsim_engine_done(const struct tsim_engine *engine, int32_t stream) {
    const struct tsim_engine_stream *s = &engine->streams[stream];
    double remaining = s->remaining - s->rate * tsim_engine_seconds(engine, engine->now - s->since);
    return s->task.work - (remaining > 0 ? remaining : 0);
}

double tsim_engine_resource_flowed(const struct tsim_engine *engine, int32_t resource) {
    if (resource < 0)
        return meter_at(engine, resource)->sum + meter_at(engine, resource)->lost;
    const struct tsim_sharing *sharing = &engine->sharing;
    double units = tsim_sharing_flowed(sharing, resource);
    for (int32_t i = sharing->resources[resource].first_user; i >= 0; i = sharing->demands[i].next_user)
        units += sharing->demands[i].per_unit * tsim_engine_done(engine, sharing->demands[i].activity);
    return units;
}

double tsim_engine_capacity(const struct tsim_engine *engine, int32_t resource) {
    TSIM_ASSERT(resource >= 0 && (size_t)resource < engine->sharing.n_resources);
    return engine->sharing.resources[resource].capacity;
}

int32_t tsim_engine_n_resources(const struct tsim_engine *engine) {
    return (int32_t)engine->sharing.n_resources;
}

void tsim_engine_book_flow(struct tsim_engine *engine, int32_t resource, double units) {
    if (resource < 0)
        tsim_flowed_add(meter_at(engine, resource), units);
    else
        tsim_sharing_book(&engine->sharing, resource, units);
}
