/* The tasks of a data-parallel collective: its own kernels where it has some, then what each group does, joined by all
 * replicas, in the order in which the software issues them; or message by message: its kernels, then for each part a GO
 * to the stage group's ranks, then the wait until all are done. */
#include "step/groups/stage_group.h"

#include <math.h>
#include <string.h>

enum { JOIN_GROUP_BIT = 38 }; /* join_replicas leaves it free */

/* Each kernel has its rank's device to itself before anything is sent: passes beside it stand still. */
static void kernel_task(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                        const struct tsim_data_collective *collective, struct tsim_task *task) {
    if (!(collective->kernel_s > 0))
        return;
    task->work = collective->kernel_s;
    task->bound_per_s = 1;
    task->weight = TSIM_COLLECTIVE_WEIGHT;
    if (!group->plan->is_ideal)
        tsim_stage_group_demand_device(group, stream, task, 1, 1);
}

/* Adds the demands of a member: those of a tied table's collective, of all members at once, over their way to the other
 * end of the pipeline; others over what the ranks of each part cross, else over the member's own links. */
static void link_demands(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                         const struct tsim_data_collective *collective, const struct tsim_group_collective *own,
                         int32_t i, struct tsim_task *task) {
    const struct tsim_member *member = &group->members[i];
    const struct tsim_collective_cost *cost = &own->cost;
    double flow_s = cost->time_s - cost->latency_s;
    if (group->links && collective == &group->plan->tied) {
        if (i == 0)
            tsim_stage_group_demand_sent(group, stream, TSIM_SENT_TIED,
                                         fmax(cost->scale_up_bytes, cost->nic_bytes) / flow_s, task);
        return;
    }
    double up = 0, nic = 0;
    for (int32_t k = own->first_part; k < own->first_part + own->n_parts; k++) {
        const struct tsim_collective_part *part = &collective->parts[k], *next = part + 1;
        int which = tsim_crossed_by(part->among, part->is_expert);
        up += collective->up_bytes[k] / flow_s;
        nic += collective->nic_bytes[k] / flow_s;
        if (k + 1 < own->first_part + own->n_parts &&
            member->crossed[which].items == member->crossed[tsim_crossed_by(next->among, next->is_expert)].items)
            continue; /* they cross the same */
        tsim_stage_group_demand_links(group, stream, task, member, which, up, nic);
        up = nic = 0;
    }
}

/* A group's collective flows for (time - latency) seconds if nothing is in its way. */
static void network_task(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                         const struct tsim_data_collective *collective, int32_t index, struct tsim_task *task) {
    const struct tsim_group_collective *own = &collective->groups[index];
    double flow_s = fmax(own->cost.time_s - own->cost.latency_s, 0);
    task->latency = own->cost.latency_s > 0 ? tsim_engine_ticks(group->engine, own->cost.latency_s) : 0;
    task->work = flow_s;
    task->bound_per_s = 1;
    task->weight = TSIM_COLLECTIVE_WEIGHT;
    if (group->plan->is_ideal || !(flow_s > 0))
        return;
    tsim_stage_group_demand_device(group, stream, task, own->units_share, own->memory_share);
    for (int32_t i = 0; i < group->n_members; i++)
        link_demands(group, stream, collective, own, i, task);
}

/* Returns whether it is played in several tasks. */
static bool is_cut(const struct tsim_stage_group *group, const struct tsim_data_collective *collective) {
    return group->plan->is_stepped || collective->kernel_s > 0 || collective->n_groups > 1;
}

void tsim_stage_group_collective(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                                 const struct tsim_data_collective *collective, struct tsim_task *task) {
    group->asked[stream] = collective;
    if (!is_cut(group, collective))
        network_task(group, stream, collective, 0, task);
}

/* ---- one after the other ---- */

struct tsim_expansion *tsim_stage_group_expansion(const struct tsim_stage_group *group,
                                                  const struct tsim_data_collective *collective) {
    for (int32_t i = 0; i < group->n_expansions; i++)
        if (group->expansions[i].collective == collective)
            return &group->expansions[i];
    TSIM_BUG("stage %d: a collective without an expansion", group->stage);
}

static void lower(struct tsim_task *task, int32_t signal) {
    TSIM_ASSERT(task->n_lowers < TSIM_TASK_MAX_SIGNALS);
    task->lowers[task->n_lowers++] = signal;
}

/* Starts the messages of a part, on those ranks of the stage group that have some to send. */
static void open_part(struct tsim_stage_group *group, int32_t part, const struct tsim_data_collective *collective,
                      struct tsim_task *task) {
    struct tsim_expansion *e = tsim_stage_group_expansion(group, collective);
    int32_t now = (int32_t)(e->n_uses % 2);
    if (e->n_lanes[part] == 0)
        return;
    task->latency += tsim_engine_ticks(group->engine, collective->later_s[part]);
    tsim_engine_rearm(group->engine, e->done[part], e->n_lanes[part]);
    tsim_engine_rearm(group->engine, e->go[part] + 1 - now, 1);
    lower(task, e->go[part] + now);
}

static int64_t go_label(int64_t label) {
    return tsim_label(TSIM_TASK_GO, tsim_label_item(label), (int32_t)tsim_label_kind(label));
}

/* Makes the task of the next group, which all parties join. */
static void group_task(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, struct tsim_task *task) {
    struct tsim_expanding *expanding = &group->expanding[stream];
    network_task(group, stream, expanding->collective, expanding->part, task);
    task->join = expanding->join < 0 ? -1 : expanding->join | (int64_t)expanding->part << JOIN_GROUP_BIT;
    task->n_parties = expanding->n_parties;
    expanding->part++;
}

/* Cuts a collective's task into several: what it was asked to be becomes the last of them, `task` the first. Message by
 * message a reduction of two stages (tied) is joined by its first task: stages are not alike. */
static void begin_tasks(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, struct tsim_task *task) {
    struct tsim_expanding *expanding = &group->expanding[stream];
    const struct tsim_data_collective *collective = group->asked[stream];
    *expanding = (struct tsim_expanding){.collective = collective,
                                         .label = task->label,
                                         .n_lowers = task->n_lowers,
                                         .join = task->join,
                                         .n_parties = task->n_parties,
                                         .raised_counter = task->raised_counter};
    memcpy(expanding->lowers, task->lowers, sizeof expanding->lowers);
    task->n_lowers = 0;
    task->raised_counter = -1;
    task->label = go_label(task->label);
    kernel_task(group, stream, collective, task);
    if (group->plan->is_stepped) {
        open_part(group, 0, collective, task);
    } else if (collective->kernel_s > 0) {
        task->join = -1;
        task->n_parties = 0;
    } else {
        group_task(group, stream, task);
    }
}

static void next_task(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, struct tsim_task *task) {
    struct tsim_expanding *expanding = &group->expanding[stream];
    const struct tsim_data_collective *collective = expanding->collective;
    task->label = go_label(expanding->label);
    if (group->plan->is_stepped) {
        struct tsim_expansion *e = tsim_stage_group_expansion(group, collective);
        task->waits[task->n_waits++] = e->done[expanding->part];
        if (++expanding->part < collective->n_parts) {
            open_part(group, expanding->part, collective, task);
            return;
        }
        e->n_uses++;
    } else {
        group_task(group, stream, task);
        if (expanding->part < collective->n_groups)
            return;
    }
    task->label = expanding->label;
    task->raised_counter = expanding->raised_counter;
    for (int32_t i = 0; i < expanding->n_lowers; i++)
        lower(task, expanding->lowers[i]);
    expanding->collective = NULL;
}

bool tsim_stage_group_next(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, struct tsim_task *task,
                           bool (*next)(struct tsim_stage_group *, struct tsim_task *)) {
    if (group->expanding[stream].collective) {
        next_task(group, stream, task);
        return true;
    }
    group->asked[stream] = NULL;
    if (!next(group, task))
        return false;
    const struct tsim_data_collective *collective = group->asked[stream];
    if (collective && is_cut(group, collective))
        begin_tasks(group, stream, task);
    return true;
}
