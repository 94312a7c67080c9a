#include "report/terminal/explain_timeline.h"

#include "cost/collective.h"
#include "partition/memory.h"
#include "step/pass.h"

#include <math.h>

/* ---- costs ---- */

struct stage_costs {
    double *pass_s; /* [chunk][kind] */
    double send_next_s, send_prev_s;
    double next_free_s, prev_free_s; /* when the message before is through */
};

struct arrival {
    double at_s; /* HUGE_VAL: not yet */
    int32_t stage, index;
};

struct replay {
    const struct tsim_scenario *scenario;
    const struct tsim_cluster *cluster;
    const struct tsim_placement *placement;
    struct tsim_timeline *timeline;
    struct stage_costs *costs; /* [stage] */
    struct arrival *arrivals;  /* [stage][is gradient][chunk][micro-batch] */
    int32_t *at;               /* [stage]: next item */
    bool sends_async;
};

static double collective_s(const struct replay *replay, enum tsim_collective_op op, double bytes,
                           struct tsim_group group) {
    struct tsim_collective_request request = {
        .op = op, .bytes = bytes, .group = group, .network = replay->scenario->simulation.network};
    struct tsim_collective_cost cost;
    tsim_collective_cost(replay->cluster, &request, &cost);
    return cost.time_s;
}

/* Each tensor rank sends its share of the activations; without sequence parallelism the receiver gathers the whole
 * (Narayanan et al. 2021, section 4.1). */
static double message_s(const struct replay *replay, int32_t from, int32_t to) {
    const struct tsim_scenario *sc = replay->scenario;
    double whole_bytes = tsim_message_bytes(sc, from, to), tensor = (double)sc->parallelism.tensor;
    struct tsim_coordinates a = {.at[TSIM_AXIS_PIPELINE] = from}, b = {.at[TSIM_AXIS_PIPELINE] = to};
    bool on_node = tsim_placement_same_node(replay->placement, tsim_placement_rank(replay->placement, &a),
                                            tsim_placement_rank(replay->placement, &b));
    int32_t per_node = on_node ? 2 : 1;
    struct tsim_group pair = {
        .n_ranks = 2, .n_nodes = 3 - per_node, .max_ranks_per_node = per_node, .min_ranks_per_node = per_node};
    double time_s = collective_s(replay, TSIM_SEND_RECV, whole_bytes / tensor, pair);
    if (tensor > 1 && !sc->parallelism.sequence)
        time_s += collective_s(replay, TSIM_ALL_GATHER, whole_bytes,
                               tsim_placement_group(replay->placement, 1u << TSIM_AXIS_TENSOR));
    return time_s;
}

static void fill_costs(struct tsim_arena *arena, const struct replay *replay, int32_t stage) {
    const struct tsim_scenario *sc = replay->scenario;
    const struct tsim_schedule_shape *shape = &replay->timeline->shape;
    struct stage_costs *costs = &replay->costs[stage];
    struct tsim_pass_costs parts;
    int n_kinds = tsim_schedule_splits_backward(shape->schedule) ? TSIM_N_PASS_KINDS : TSIM_PASS_BACKWARD + 1;
    struct tsim_stage_part own;
    tsim_pass_costs_build(tsim_stage_part(sc, stage, &own), replay->cluster, replay->placement, &parts);
    costs->pass_s = TSIM_NEW_ARRAY(arena, (size_t)shape->chunks * TSIM_N_PASS_KINDS, double);
    for (int32_t c = 0; c < shape->chunks; c++) {
        struct tsim_parts n = tsim_chunk_parts(sc, stage, c);
        for (int kind = 0; kind < n_kinds; kind++) {
            struct tsim_pass_cost cost;
            tsim_pass_sum(&parts, (enum tsim_pass_kind)kind, &n, tsim_chunk_first_layer(sc, stage, c), &cost);
            costs->pass_s[c * TSIM_N_PASS_KINDS + kind] = cost.time_s;
        }
    }
    if (shape->stages == 1)
        return;
    costs->send_next_s = message_s(replay, stage, (stage + 1) % shape->stages);
    costs->send_prev_s = message_s(replay, stage, (stage + shape->stages - 1) % shape->stages);
}

/* ---- replay ---- */

static struct arrival *arrival_of(const struct replay *replay, int32_t stage, bool is_gradient, int32_t chunk,
                                  int32_t microbatch) {
    const struct tsim_schedule_shape *shape = &replay->timeline->shape;
    return &replay->arrivals[((stage * 2 + is_gradient) * (ptrdiff_t)shape->chunks + chunk) * shape->microbatches +
                             microbatch];
}

/* The message that the item waits for; NULL: it waits for none. */
static const struct arrival *input_of(const struct replay *replay, int32_t stage, struct tsim_pass_item item) {
    if (!tsim_schedule_receives(&replay->timeline->shape, stage, item))
        return NULL;
    return arrival_of(replay, stage, item.kind != TSIM_PASS_FORWARD, item.chunk, item.microbatch);
}

/* Sends what the slice's pass has made; returns when that is done as far as the stage's own time goes. */
static double send(struct replay *replay, int32_t stage, int32_t index, double now_s) {
    const struct tsim_schedule_shape *shape = &replay->timeline->shape;
    struct tsim_pass_item item = replay->timeline->stages[stage].slices[index].item;
    struct tsim_schedule_hop hop = tsim_schedule_hop(shape, stage, item);
    struct stage_costs *costs = &replay->costs[stage];
    if (!hop.sends)
        return now_s;
    double *free_s = hop.to_next ? &costs->next_free_s : &costs->prev_free_s;
    double begin_s = replay->sends_async ? fmax(now_s, *free_s) : now_s;
    double end_s = begin_s + (hop.to_next ? costs->send_next_s : costs->send_prev_s);
    int32_t to = (stage + (hop.to_next ? 1 : shape->stages - 1)) % shape->stages;
    *free_s = end_s;
    *arrival_of(replay, to, item.kind != TSIM_PASS_FORWARD, hop.chunk, item.microbatch) =
        (struct arrival){.at_s = end_s, .stage = stage, .index = replay->at[stage]};
    return replay->sends_async ? now_s : end_s;
}

/* The next item of a stage, if what it waits for is there. A pair waits for both its messages, and sends at its end. */
static bool advance(struct replay *replay, int32_t stage) {
    struct tsim_stage_slices *slices = &replay->timeline->stages[stage];
    int32_t index = replay->at[stage];
    if (index == slices->n)
        return false;
    struct tsim_slice *slice = &slices->slices[index], *before = index > 0 ? slice - 1 : NULL;
    double ready_s = before ? before->end_s + before->send_s : 0;
    slice->cause_stage = -1;
    int32_t n_inputs = slice->item.pair == TSIM_PAIR_SECOND ? 0 : slice->item.pair == TSIM_PAIR_FIRST ? 2 : 1;
    for (int32_t i = 0; i < n_inputs; i++) {
        const struct arrival *input = input_of(replay, stage, slices->slices[index + i].item);
        if (input && input->at_s == HUGE_VAL)
            return false;
        if (!input || input->at_s <= ready_s)
            continue;
        ready_s = input->at_s;
        slice->cause_stage = input->stage;
        slice->cause_index = input->index;
    }
    slice->begin_s = ready_s;
    slice->end_s = ready_s + replay->costs[stage].pass_s[slice->item.chunk * TSIM_N_PASS_KINDS + (int)slice->item.kind];
    slices->busy_s += slice->end_s - slice->begin_s;
    if (slice->item.pair != TSIM_PAIR_FIRST) {
        double now_s = slice->end_s;
        if (slice->item.pair == TSIM_PAIR_SECOND)
            now_s = send(replay, stage, index - 1, now_s);
        slice->send_s = send(replay, stage, index, now_s) - slice->end_s;
    }
    replay->timeline->end_s = fmax(replay->timeline->end_s, slice->end_s + slice->send_s);
    replay->at[stage]++;
    return true;
}

static void run(struct replay *replay) {
    for (bool has_moved = true; has_moved;) {
        has_moved = false;
        for (int32_t s = 0; s < replay->timeline->shape.stages; s++)
            while (advance(replay, s))
                has_moved = true;
    }
    for (int32_t s = 0; s < replay->timeline->shape.stages; s++)
        TSIM_ASSERT(replay->at[s] == replay->timeline->stages[s].n);
}

const struct tsim_timeline *tsim_timeline_build(struct tsim_arena *arena, const struct tsim_scenario *scenario) {
    struct tsim_timeline *timeline = TSIM_NEW(arena, struct tsim_timeline);
    timeline->shape = tsim_scenario_schedule(scenario);
    const struct tsim_schedule_shape *shape = &timeline->shape;
    size_t n_stages = (size_t)shape->stages,
           n_arrivals = n_stages * 2 * (size_t)shape->chunks * (size_t)shape->microbatches;
    struct replay replay = {.scenario = scenario,
                            .cluster = tsim_cluster_build(arena, scenario),
                            .placement = tsim_placement_build(arena, scenario),
                            .timeline = timeline,
                            .costs = TSIM_NEW_ARRAY(arena, n_stages, struct stage_costs),
                            .arrivals = TSIM_NEW_ARRAY(arena, n_arrivals, struct arrival),
                            .at = TSIM_NEW_ARRAY(arena, n_stages, int32_t),
                            .sends_async = scenario->parallelism.overlap.pipeline};
    timeline->stages = TSIM_NEW_ARRAY(arena, n_stages, struct tsim_stage_slices);
    for (size_t i = 0; i < n_arrivals; i++)
        replay.arrivals[i].at_s = HUGE_VAL;
    for (int32_t s = 0; s < shape->stages; s++) {
        struct tsim_stage_slices *stage = &timeline->stages[s];
        stage->n = tsim_schedule_n_items(shape, s);
        stage->slices = TSIM_NEW_ARRAY(arena, (size_t)stage->n, struct tsim_slice);
        for (int32_t i = 0; i < stage->n; i++)
            stage->slices[i].item = tsim_schedule_item(shape, s, i);
        fill_costs(arena, &replay, s);
    }
    run(&replay);
    return timeline;
}

/* ---- the path ---- */

static int32_t latest_stage(const struct tsim_timeline *timeline) {
    int32_t latest = 0;
    double latest_s = -1;
    for (int32_t s = 0; s < timeline->shape.stages; s++) {
        const struct tsim_slice *last = &timeline->stages[s].slices[timeline->stages[s].n - 1];
        if (last->end_s + last->send_s > latest_s) {
            latest_s = last->end_s + last->send_s;
            latest = s;
        }
    }
    return latest;
}

static struct tsim_path_link *new_link(struct tsim_path *path, int32_t *capacity, struct tsim_arena *arena) {
    if (path->n == *capacity) {
        int32_t larger = *capacity ? 2 * *capacity : 64;
        struct tsim_path_link *links = TSIM_NEW_ARRAY(arena, (size_t)larger, struct tsim_path_link);
        for (int32_t i = 0; i < path->n; i++)
            links[i] = path->links[i];
        path->links = links;
        *capacity = larger;
    }
    return &path->links[path->n++];
}

static void reverse(struct tsim_path *path) {
    for (int32_t i = 0, j = path->n - 1; i < j; i++, j--) {
        struct tsim_path_link link = path->links[i];
        path->links[i] = path->links[j];
        path->links[j] = link;
    }
}

void tsim_timeline_path(struct tsim_arena *arena, const struct tsim_timeline *timeline, int32_t last_stage,
                        double from_s, struct tsim_path *path) {
    const struct tsim_schedule_shape *shape = &timeline->shape;
    int32_t stage = last_stage >= 0 ? last_stage : latest_stage(timeline), index = timeline->stages[stage].n - 1;
    int32_t capacity = 0;
    *path = (struct tsim_path){.last_stage = stage};
    path->passes = TSIM_NEW_ARRAY(arena, (size_t)(shape->stages * shape->chunks) * TSIM_N_PASS_KINDS, double);
    struct tsim_path_link *link = NULL;
    const struct tsim_slice *slice = &timeline->stages[stage].slices[index];
    double until_s = slice->end_s + slice->send_s;
    path->time_s = until_s - from_s;
    while (until_s > from_s) {
        slice = &timeline->stages[stage].slices[index];
        if (!link || link->is_message || link->stage != stage) {
            link = new_link(path, &capacity, arena);
            *link = (struct tsim_path_link){.stage = stage};
        }
        link->counts[slice->item.kind]++;
        path->passes[(stage * shape->chunks + slice->item.chunk) * TSIM_N_PASS_KINDS + (int)slice->item.kind]++;
        link->begin_s = fmax(slice->begin_s, from_s);
        link->time_s += until_s - link->begin_s;
        link->send_s += fmax(until_s - fmax(slice->end_s, from_s), 0);
        until_s = link->begin_s;
        if (slice->cause_stage >= 0 && until_s > from_s) {
            int32_t to = stage;
            stage = slice->cause_stage;
            index = slice->cause_index;
            const struct tsim_slice *cause = &timeline->stages[stage].slices[index];
            double left_s = fmax(cause->end_s, from_s);
            link = new_link(path, &capacity, arena);
            *link = (struct tsim_path_link){
                .is_message = true, .stage = stage, .to_stage = to, .begin_s = left_s, .time_s = until_s - left_s};
            until_s = left_s;
        } else {
            index--;
        }
    }
    reverse(path);
}
