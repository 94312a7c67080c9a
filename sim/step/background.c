#include "step/background.h"

#include <math.h>

/* Traffic without an end goes on in pieces of this length (alone), after each of which the step may be over. */
#define PIECE_S 10e-3

struct flow {
    const struct tsim_stage_group *stage_group;
    const struct tsim_background *background;
    int32_t resource;
    int64_t n_done;
};

static bool next_piece(void *context, int32_t stream, struct tsim_task *task) {
    struct flow *flow = context;
    double nic = flow->stage_group->plan->cluster->nic_bytes_per_s, rate = flow->background->rate_bytes_per_s;
    double share = rate > 0 ? fmin(rate / nic, 1) : 1;
    bool is_endless = !(flow->background->bytes > 0);
    (void)stream;
    if (is_endless ? tsim_engine_is_over(flow->stage_group->engine) : flow->n_done > 0)
        return false;
    flow->n_done++;
    task->work = is_endless ? PIECE_S * share : flow->background->bytes / nic;
    task->bound_per_s = share;
    task->weight = TSIM_COLLECTIVE_WEIGHT;
    task->n_demands = 1;
    task->demands[0] = (struct tsim_demand){flow->resource, nic};
    return true;
}

static void add_flow(struct tsim_arena *arena, struct tsim_stage_group *group, const struct tsim_background *background,
                     int32_t resource) {
    struct flow *flow = TSIM_NEW(arena, struct flow);
    *flow = (struct flow){.stage_group = group, .background = background, .resource = resource};
    tsim_engine_excuse(group->engine, tsim_engine_add_stream(group->engine, next_piece, flow));
}

void tsim_background_add(struct tsim_arena *arena, struct tsim_stage_group *group) {
    const struct tsim_cluster_spec *cluster = &group->plan->scenario->cluster;
    if (!(group->plan->cluster->nic_bytes_per_s > 0) || group->plan->is_ideal)
        return;
    for (size_t i = 0; i < cluster->n_background; i++)
        for (int32_t m = 0; m < group->n_members; m++) {
            const struct tsim_background *background = &cluster->background[i];
            if (background->direction != TSIM_DIRECTION_IN)
                add_flow(arena, group, background, group->members[m].nic_out);
            if (background->direction != TSIM_DIRECTION_OUT)
                add_flow(arena, group, background, group->members[m].nic_in);
        }
}
