#include "step/groups/input_reads.h"

#include <math.h>

/* A stream of reads: those of one member. */
struct reads {
    const struct tsim_stage_group *group;
    int32_t nic_in, host_memory, n, next;
};

bool tsim_reads_over_nics(const struct tsim_step_plan *plan) {
    return plan->input && plan->input->read_bytes > 0 && plan->cluster->nic_bytes_per_s > 0 && !plan->is_ideal;
}

static bool next_read(void *context, int32_t stream, struct tsim_task *task) {
    struct reads *reads = context;
    const struct tsim_step_plan *plan = reads->group->plan;
    double nic = plan->cluster->nic_bytes_per_s;
    (void)stream;
    if (reads->next == reads->n)
        return false;
    task->work = plan->input->read_bytes / nic;
    task->bound_per_s = fmin(plan->input->read_bytes_per_s / nic, 1);
    task->weight = TSIM_COLLECTIVE_WEIGHT;
    task->demands[task->n_demands++] = (struct tsim_demand){reads->nic_in, nic};
    if (reads->host_memory >= 0)
        task->demands[task->n_demands++] = (struct tsim_demand){reads->host_memory, nic};
    task->waits[task->n_waits++] = reads->group->reads_go + reads->next++;
    return true;
}

void tsim_input_reads_add(struct tsim_arena *arena, struct tsim_stage_group *group) {
    int32_t n = 0;
    for (int32_t i = 0; tsim_reads_over_nics(group->plan) && i < group->n_items; i++)
        n += tsim_stage_group_takes_input(group, i);
    if (n == 0)
        return;
    group->reads_go = tsim_engine_add_signals(group->engine, n, 1);
    for (int32_t m = 0; m < group->n_members; m++) {
        const struct tsim_member *member = &group->members[m];
        struct reads *reads = TSIM_NEW(arena, struct reads);
        *reads = (struct reads){.group = group,
                                .nic_in = member->nic_in,
                                .host_memory = group->plan->has_copies ? member->host_memory : -1,
                                .n = n};
        tsim_engine_excuse(group->engine, tsim_engine_add_stream(group->engine, next_read, reads));
    }
}
