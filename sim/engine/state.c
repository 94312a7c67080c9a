/* state.c - what the engine is doing now, in words that do not depend on when it is now. */
#include "engine/engine_internal.h"

static void put_demands(const struct tsim_engine *engine, int32_t leader, struct tsim_words *state) {
    const struct tsim_sharing *sharing = &engine->sharing;
    const struct tsim_sharing_activity *a = &sharing->activities[leader];
    tsim_words_put(state, a->bottleneck);
    for (int32_t i = a->first_demand; i >= 0; i = sharing->demands[i].next_demand) {
        tsim_words_put(state, sharing->demands[i].resource);
        tsim_words_put_double(state, sharing->demands[i].per_unit);
    }
}

static void put_stream(const struct tsim_engine *engine, int32_t stream, struct tsim_words *state) {
    const struct tsim_engine_stream *s = &engine->streams[stream];
    tsim_words_put(state, (int64_t)s->state << 32 | s->n_unfired);
    if (s->state == STREAM_FINISHED || s->state == STREAM_WAITING)
        return;
    tsim_words_put(state, engine->now - s->ready);
    tsim_words_put(state, s->next_party);
    if (!tsim_event_queue_has(&engine->events, stream))
        return;
    tsim_words_put(state, engine->now - s->begin);
    tsim_words_put(state, tsim_event_queue_tick(&engine->events, stream) - engine->now);
    tsim_words_put_double(state, s->task.work);
    tsim_words_put_double(state, s->rate);
    if (s->state != STREAM_FLOWING || !(s->rate > 0))
        return;
    tsim_words_put(state, engine->now - s->since);
    tsim_words_put_double(state, s->remaining);
    put_demands(engine, stream, state);
}

/* Sums over the users of a resource are taken in the order in which they came. */
static void put_resource(const struct tsim_sharing *sharing, size_t resource, struct tsim_words *state) {
    const struct tsim_sharing_resource *r = &sharing->resources[resource];
    if (r->n_users == 0)
        return;
    tsim_words_put_double(state, r->used);
    for (int32_t i = r->first_user; i >= 0; i = sharing->demands[i].next_user)
        tsim_words_put(state, sharing->demands[i].activity);
}

bool tsim_engine_put_state(const struct tsim_engine *engine, struct tsim_words *state) {
    if (engine->n_joins > 0)
        return false;
    for (size_t i = 0; i < engine->n_streams; i++)
        put_stream(engine, (int32_t)i, state);
    for (size_t i = 0; i < engine->sharing.n_resources; i++)
        put_resource(&engine->sharing, i, state);
    return true;
}

/* Pairs of a resource and its units, in the order of the resources; the end has no units. A cluster's links are many, and
 * few of them are crossed. */
void tsim_engine_put_flows(const struct tsim_engine *engine, struct tsim_words *flows) {
    int32_t end = (int32_t)engine->sharing.n_resources;
    for (int32_t r = -(int32_t)engine->n_meters; r < end; r++) {
        double units = tsim_engine_resource_flowed(engine, r);
        if (!(units > 0))
            continue;
        tsim_words_put(flows, r);
        tsim_words_put_double(flows, units);
    }
    tsim_words_put(flows, end);
}

void tsim_engine_repeat_flows(struct tsim_engine *engine, const int64_t *flows, int64_t times) {
    int64_t next = tsim_words_next(&flows);
    for (int32_t r = -(int32_t)engine->n_meters; r < (int32_t)engine->sharing.n_resources; r++) {
        double units = tsim_engine_resource_flowed(engine, r);
        if (r == next) {
            units -= tsim_words_next_double(&flows);
            next = tsim_words_next(&flows);
        }
        tsim_engine_book_flow(engine, r, (double)times * units);
    }
}

bool tsim_engine_label(const struct tsim_engine *engine, int32_t stream, int64_t *label) {
    *label = engine->streams[stream].task.label;
    return engine->streams[stream].state != STREAM_FINISHED;
}

void tsim_engine_relabel(struct tsim_engine *engine, int32_t stream, int64_t label) {
    engine->streams[stream].task.label = label;
}
