#include "step/groups/background.h"

#include <math.h>

/* Traffic without an end would, alone, go on for so long: no step takes it. */
#define ENDLESS_S 1e6

struct tsim_background_flow {
    struct tsim_background_flow *next;
    const struct tsim_stage_group *stage_group;
    size_t number; /* in cluster.background */
    int32_t resource, host_memory, stream;
    bool has_begun;
    tsim_tick end; /* -1: not yet */
};

static bool next_flow(void *context, int32_t stream, struct tsim_task *task) {
    struct tsim_background_flow *flow = context;
    const struct tsim_step_plan *plan = flow->stage_group->plan;
    const struct tsim_background *background = &plan->scenario->cluster.background[flow->number];
    double nic = plan->cluster->nic_bytes_per_s, rate = background->rate_bytes_per_s;
    (void)stream;
    if (flow->has_begun) {
        flow->end = tsim_engine_now(flow->stage_group->engine);
        return false;
    }
    flow->has_begun = true;
    task->bound_per_s = rate > 0 ? fmin(rate / nic, 1) : 1;
    task->work = background->bytes > 0 ? background->bytes / nic : task->bound_per_s * ENDLESS_S;
    task->weight = TSIM_COLLECTIVE_WEIGHT;
    task->demands[task->n_demands++] = (struct tsim_demand){flow->resource, nic};
    if (flow->host_memory >= 0)
        task->demands[task->n_demands++] = (struct tsim_demand){flow->host_memory, nic};
    return true;
}

static void add_flow(struct tsim_arena *arena, struct tsim_stage_group *group, size_t number, int32_t resource,
                     const struct tsim_member *member, struct tsim_background_flow **flows) {
    bool is_of_host = group->plan->scenario->cluster.background[number].is_of_host && group->plan->has_copies;
    struct tsim_background_flow *flow = TSIM_NEW(arena, struct tsim_background_flow);
    *flow = (struct tsim_background_flow){.next = *flows,
                                          .stage_group = group,
                                          .number = number,
                                          .resource = resource,
                                          .host_memory = is_of_host ? member->host_memory : -1,
                                          .end = -1};
    flow->stream = tsim_engine_add_stream(group->engine, next_flow, flow);
    tsim_engine_excuse(group->engine, flow->stream);
    *flows = flow;
}

void tsim_background_add(struct tsim_arena *arena, struct tsim_stage_group *group,
                         struct tsim_background_flow **flows) {
    const struct tsim_cluster_spec *cluster = &group->plan->scenario->cluster;
    if (!(group->plan->cluster->nic_bytes_per_s > 0) || group->plan->is_ideal)
        return;
    for (size_t i = 0; i < cluster->n_background; i++)
        for (int32_t m = 0; m < group->n_members; m++) {
            const struct tsim_member *member = &group->members[m];
            if (cluster->background[i].direction != TSIM_DIRECTION_IN)
                add_flow(arena, group, i, member->nic_out, member, flows);
            if (cluster->background[i].direction != TSIM_DIRECTION_OUT)
                add_flow(arena, group, i, member->nic_in, member, flows);
        }
}

/* The slowest flow of an entry says how far the entry came. */
const struct tsim_background_progress *tsim_background_progress_of(struct tsim_arena *arena,
                                                                   const struct tsim_step_plan *plan,
                                                                   const struct tsim_background_flow *flows,
                                                                   double step_s) {
    if (!flows)
        return NULL;
    const struct tsim_cluster_spec *cluster = &plan->scenario->cluster;
    struct tsim_background_progress *all =
        TSIM_NEW_ARRAY(arena, cluster->n_background, struct tsim_background_progress);
    for (size_t i = 0; i < cluster->n_background; i++)
        all[i] = (struct tsim_background_progress){.bytes = (double)INFINITY};
    for (const struct tsim_background_flow *flow = flows; flow; flow = flow->next) {
        const struct tsim_engine *engine = flow->stage_group->engine;
        struct tsim_background_progress *progress = &all[flow->number];
        bool is_through = flow->end >= 0;
        double bytes = is_through ? cluster->background[flow->number].bytes
                                  : tsim_engine_done(engine, flow->stream) * plan->cluster->nic_bytes_per_s;
        progress->bytes = fmin(progress->bytes, bytes);
        progress->until_s = fmax(progress->until_s, is_through ? tsim_engine_seconds(engine, flow->end) : step_s);
    }
    return all;
}
