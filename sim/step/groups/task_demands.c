/* Demands of a task on the resources of its stage group's members: on their devices, on links, and those of a pass that
 * is one task. */
#include "step/groups/stage_group.h"

#include <math.h>
#include <string.h>

/* The block before is the stream's last task's, which has ended, or this one's so far. */
static void grow_demands(struct tsim_stage_group *group, enum tsim_stage_group_stream stream) {
    int32_t n = group->n_demands[stream];
    struct tsim_demand *grown = TSIM_NEW_ARRAY(group->arena, (size_t)(n > 0 ? 2 * n : 16), struct tsim_demand);
    if (n > 0)
        memcpy(grown, group->demands[stream], (size_t)n * sizeof *grown);
    group->demands[stream] = grown;
    group->n_demands[stream] = n > 0 ? 2 * n : 16;
}

/* Demands take a task's own room first, and the stage group's scratch when that is full. */
void tsim_stage_group_demand(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                             struct tsim_task *task, int32_t resource, double per_unit) {
    if (!(per_unit > 0) || resource == TSIM_OTHER_STANDS)
        return;
    const struct tsim_slots *slots = group->slots;
    if (slots && resource >= 0 && resource < slots->n)
        for (int32_t slot = slots->first[resource]; slot >= 0; slot = slots->next[slot])
            tsim_stage_group_demand(group, stream, task, slot,
                                    per_unit * slots->per_byte / (double)slots->n_ranks[resource]);
    struct tsim_demand demand = {.resource = resource, .per_unit = per_unit};
    bool has_room = task->n_demands + task->n_metered < TSIM_TASK_MAX_DEMANDS;
    if (resource < 0) {
        TSIM_ASSERT(has_room);
        task->demands[tsim_metered_place(task->n_metered++)] = demand;
        return;
    }
    if (has_room) {
        task->demands[task->n_demands++] = demand;
        return;
    }
    if (task->n_more_demands == group->n_demands[stream])
        grow_demands(group, stream);
    task->more_demands = group->demands[stream];
    group->demands[stream][task->n_more_demands++] = demand;
}

void tsim_stage_group_demand_device(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                                    struct tsim_task *task, double units, double memory) {
    for (int32_t i = 0; i < (group->plan->is_stepped ? group->n_members : 1); i++) {
        tsim_stage_group_demand(group, stream, task, group->members[i].units, units);
        tsim_stage_group_demand(group, stream, task, group->members[i].memory, memory);
    }
}

void tsim_stage_group_demand_sent(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, int what,
                                  double bytes_per_s, struct tsim_task *task) {
    const struct tsim_crossed_links *sent = &group->sent[what];
    for (int32_t k = 0; k < sent->n; k++)
        tsim_stage_group_demand(group, stream, task, sent->items[k].link.resource,
                                sent->items[k].link.per_unit * bytes_per_s);
}

void tsim_stage_group_demand_links(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                                   struct tsim_task *task, const struct tsim_member *member, int which, double up,
                                   double nic) {
    const struct tsim_crossed_links *crossed = &member->crossed[which];
    for (int32_t k = 0; k < crossed->n; k++)
        tsim_stage_group_demand(group, stream, task, crossed->items[k].link.resource,
                                crossed->items[k].link.per_unit * (crossed->items[k].is_between_nodes ? nic : up));
    if (crossed->items) /* around a ring, ranks between others of their node cross none */
        return;
    tsim_stage_group_demand(group, stream, task, member->scale_up_out, up);
    tsim_stage_group_demand(group, stream, task, member->scale_up_in, up);
    tsim_stage_group_demand(group, stream, task, member->nic_out, nic);
    tsim_stage_group_demand(group, stream, task, member->nic_in, nic);
}

/* Kernels that a collective beside them slows use the time that they would wait for the host: the pass then takes the
 * longer of the two. Not where each launch waits for the kernel before it. */
static double device_frac(const struct tsim_step_plan *plan, const struct tsim_pass_cost *cost) {
    return plan->scenario->software->launch_blocking ? 1 : 1 - cost->host_excess_s / cost->time_s;
}

/* A pass with collectives of its own shares the links as an equal with other users; otherwise a reduction that fills
 * them would stop it. While both want a whole link for a part f of the pass's time, each runs at 1 / (1 + f), as
 * message by message. */
void tsim_stage_group_pass_task(struct tsim_stage_group *group, const struct tsim_pass_cost *cost,
                                struct tsim_task *task) {
    double up = group->plan->cluster->scale_up_bytes_per_s;
    task->work = cost->time_s;
    task->bound_per_s = 1;
    group->run = (struct tsim_operator_run){.kernels = tsim_engine_ticks(group->engine, cost->time_s)};
    if (group->plan->is_ideal || !(cost->time_s > 0))
        return;
    double nic = fmin(cost->nic_bytes / cost->time_s, group->plan->cluster->nic_bytes_per_s);
    if (nic > 0 || (cost->scale_up_bytes > 0 && up > 0))
        task->weight = TSIM_COLLECTIVE_WEIGHT;
    double share = device_frac(group->plan, cost);
    tsim_stage_group_demand_device(group, TSIM_STREAM_COMPUTE, task, share, share);
    for (int32_t i = 0; i < group->n_members; i++) {
        if (up > 0) {
            double rate = fmin(cost->scale_up_bytes / cost->time_s, up);
            tsim_stage_group_demand(group, TSIM_STREAM_COMPUTE, task, group->members[i].scale_up_out, rate);
            tsim_stage_group_demand(group, TSIM_STREAM_COMPUTE, task, group->members[i].scale_up_in, rate);
        }
        tsim_stage_group_demand(group, TSIM_STREAM_COMPUTE, task, group->members[i].nic_out, nic);
        tsim_stage_group_demand(group, TSIM_STREAM_COMPUTE, task, group->members[i].nic_in, nic);
    }
}
