#include "step/groups/copies.h"

/* ---- ways ---- */

static bool sends_over_slots(const struct tsim_node *node) {
    return node->scale_up == TSIM_SCALE_UP_PCIE || node->scale_up == TSIM_SCALE_UP_NONE;
}

static void add_way(struct tsim_member *member, enum tsim_copy_direction direction, int32_t resource, double per_byte) {
    struct tsim_copy_way *way = &member->to_host[direction];
    if (resource < 0)
        return;
    TSIM_ASSERT(way->n < TSIM_MOST_COPY_LINKS);
    way->links[way->n++] = (struct tsim_demand){.resource = resource, .per_unit = per_byte};
}

bool tsim_copies_meet_collectives(const struct tsim_step_plan *plan) {
    const struct tsim_cluster *cluster = plan->cluster;
    return plan->has_copies &&
           (sends_over_slots(cluster->node) || (cluster->nic_bytes_per_s > 0 && !cluster->node->nics_on_accelerator));
}

/* The slot is the link over which the accelerators of a node reach each other, or one of its own. */
static void add_slot(struct tsim_stage_group *group, struct tsim_member *member, enum tsim_copy_direction direction) {
    const struct tsim_cluster *cluster = group->plan->cluster;
    int32_t shared = direction == TSIM_COPY_OUT ? member->scale_up_out : member->scale_up_in;
    bool is_shared = sends_over_slots(cluster->node) && cluster->accelerators_per_node > 1 && shared >= 0 &&
                     cluster->torus_shape[0] == 0;
    if (is_shared)
        add_way(member, direction, shared, cluster->scale_up_bytes_per_s / cluster->host_link_bytes_per_s);
    else
        add_way(member, direction, tsim_engine_add_resource(group->engine, cluster->host_link_bytes_per_s), 1);
}

static void add_uplink(const struct tsim_stage_group *group, const struct tsim_topology *t, struct tsim_member *member,
                       enum tsim_copy_direction direction) {
    if (!t || t->per_switch == 0)
        return;
    enum tsim_link_kind kind = direction == TSIM_COPY_OUT ? TSIM_LINK_SWITCH_UP : TSIM_LINK_SWITCH_DOWN;
    int32_t g = t->ranks_per_node, n_switches = (g + t->per_switch - 1) / t->per_switch;
    int32_t at = member->rank / g * n_switches + member->rank % g / t->per_switch;
    add_way(member, direction, group->links->first_resource + t->first[kind] + at, 1);
}

/* The accelerator has an equal share, because those of a node do the same at the same time. Copies in both directions
 * read or write the memory. */
static void add_memory(const struct tsim_stage_group *group, struct tsim_member *member) {
    const struct tsim_cluster *cluster = group->plan->cluster;
    double share = cluster->node->host_memory_bytes_per_s / (double)cluster->accelerators_per_node;
    member->host_memory = share > 0 ? tsim_engine_add_resource(group->engine, share) : -1;
    for (int d = 0; d < TSIM_N_COPY_DIRECTIONS; d++)
        add_way(member, (enum tsim_copy_direction)d, member->host_memory, 1);
}

void tsim_copies_add_ways(struct tsim_stage_group *group, const struct tsim_topology *topology,
                          struct tsim_member *members) {
    for (int32_t i = 0; i < group->n_members && group->plan->has_copies; i++) {
        for (int d = 0; d < TSIM_N_COPY_DIRECTIONS; d++) {
            add_slot(group, &members[i], (enum tsim_copy_direction)d);
            add_uplink(group, topology, &members[i], (enum tsim_copy_direction)d);
        }
        add_memory(group, &members[i]);
    }
}

/* Lets traffic of a NIC cross the slots of its ranks, which send equal amounts. */
static void cross(struct tsim_slots *slots, int32_t nic, const struct tsim_copy_way *way) {
    if (nic < 0)
        return;
    int32_t slot = way->links[0].resource;
    slots->next[slot] = slots->first[nic];
    slots->first[nic] = slot;
    slots->n_ranks[nic]++;
}

void tsim_copies_cross_slots(struct tsim_arena *arena, struct tsim_stage_group *stage_groups, int32_t n_stage_groups) {
    const struct tsim_step_plan *plan = stage_groups[0].plan;
    if (!plan->has_copies || plan->cluster->node->nics_on_accelerator || !(plan->cluster->nic_bytes_per_s > 0))
        return;
    struct tsim_slots *slots = TSIM_NEW(arena, struct tsim_slots);
    slots->n = tsim_engine_n_resources(stage_groups[0].engine);
    slots->first = TSIM_NEW_ARRAY(arena, (size_t)slots->n, int32_t);
    slots->next = TSIM_NEW_ARRAY(arena, (size_t)slots->n, int32_t);
    slots->n_ranks = TSIM_NEW_ARRAY(arena, (size_t)slots->n, int32_t);
    slots->per_byte = stage_groups[0].members[0].to_host[0].links[0].per_unit;
    for (int32_t i = 0; i < slots->n; i++)
        slots->first[i] = slots->next[i] = -1;
    for (int32_t g = 0; g < n_stage_groups; g++)
        for (int32_t i = 0; i < stage_groups[g].n_members; i++) {
            const struct tsim_member *member = &stage_groups[g].members[i];
            cross(slots, member->nic_out, &member->to_host[TSIM_COPY_OUT]);
            cross(slots, member->nic_in, &member->to_host[TSIM_COPY_IN]);
        }
    for (int32_t g = 0; g < n_stage_groups; g++)
        stage_groups[g].slots = slots;
}

/* ---- what is copied ---- */

static const double *copied_bytes(const struct tsim_stage_group *group, int32_t item) {
    struct tsim_pass_item pass = tsim_stage_group_item(group, item);
    return group->stage_plan->chunks[pass.chunk].ways[pass.kind].copied_bytes;
}

/* Returns the gradients of the chunk that leave for the host's update beside its last backward pass. */
static double gradient_bytes(const struct tsim_stage_group *group, int32_t item) {
    struct tsim_pass_item pass = tsim_stage_group_item(group, item);
    bool is_last = (pass.kind == TSIM_PASS_BACKWARD || pass.kind == TSIM_PASS_WEIGHT_GRADIENT) &&
                   pass.microbatch == tsim_schedule_chunk_microbatches(&group->plan->schedule) - 1;
    return is_last ? group->stage_plan->chunks[pass.chunk].host_gradient_bytes : 0;
}

bool tsim_copies_end_with(const struct tsim_stage_group *group, int32_t item) {
    const double *bytes = copied_bytes(group, item);
    return bytes[TSIM_COPY_OUT] > 0 || bytes[TSIM_COPY_IN] > 0;
}

bool tsim_copies_begin_with(const struct tsim_stage_group *group, int32_t item) {
    return tsim_copies_end_with(group, item) || gradient_bytes(group, item) > 0;
}

bool tsim_copies_has(const struct tsim_stage_group *group, enum tsim_copy_direction direction) {
    bool has = false;
    for (int32_t i = 0; i < group->n_items && !has && group->plan->has_copies; i++)
        has = copied_bytes(group, i)[direction] > 0 || (direction == TSIM_COPY_OUT && gradient_bytes(group, i) > 0);
    return has;
}

bool tsim_stage_group_takes_input(const struct tsim_stage_group *group, int32_t item) {
    struct tsim_pass_item pass = tsim_stage_group_item(group, item);
    bool has_embedding = group->stage_plan->chunks[pass.chunk].has_embedding;
    return group->plan->input && pass.kind == TSIM_PASS_FORWARD && has_embedding;
}

static int32_t n_batches(const struct tsim_stage_group *group) {
    int32_t n = 0;
    for (int32_t i = 0; i < group->n_items && group->plan->copies_input; i++)
        n += tsim_stage_group_takes_input(group, i);
    return n;
}

bool tsim_copies_has_input(const struct tsim_stage_group *group) {
    return n_batches(group) > 0;
}

static bool is_late(const struct tsim_stage_group *group, int32_t batch) {
    const double *waits_s = group->plan->input->waits_s;
    return group->plan->scenario->data.prefetch == 0 || (waits_s && waits_s[batch] > 0);
}

bool tsim_copies_first_is_there(const struct tsim_stage_group *group) {
    return !is_late(group, 0);
}

static void add_input_signals(struct tsim_stage_group *group) {
    int32_t n = n_batches(group);
    if (n == 0)
        return;
    bool is_there = tsim_copies_first_is_there(group);
    group->batch_there = tsim_engine_add_signals(group->engine, n, 1);
    group->batch_copied = tsim_engine_add_signals(group->engine, n + 1, 1);
    group->batch_taken = tsim_engine_add_signals(group->engine, n, 1);
    group->batch = is_there;
    if (is_there)
        tsim_engine_rearm(group->engine, group->batch_copied, 0);
}

void tsim_copies_add_signals(struct tsim_stage_group *group) {
    if (!group->plan->has_copies)
        return;
    add_input_signals(group);
    int32_t n_gradients = 0;
    group->copies_go = tsim_engine_add_signals(group->engine, group->n_items, 1);
    group->copied = tsim_engine_add_signals(group->engine, group->n_items, 1);
    for (int32_t i = 0; i < group->n_items; i++) {
        const double *bytes = copied_bytes(group, i);
        tsim_engine_rearm(group->engine, group->copied + i, (bytes[TSIM_COPY_OUT] > 0) + (bytes[TSIM_COPY_IN] > 0));
        n_gradients += gradient_bytes(group, i) > 0;
    }
    group->host_gradients = tsim_engine_add_signals(group->engine, 1, n_gradients);
}

/* ---- tasks ---- */

/* Members that are simulated as one have one device. */
static void demand(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, struct tsim_task *task,
                   int32_t n_members, enum tsim_copy_direction direction, double bytes_per_s) {
    const struct tsim_step_plan *plan = group->plan;
    for (int32_t i = 0; i < n_members && !plan->is_ideal; i++) {
        const struct tsim_member *member = &group->members[i];
        const struct tsim_copy_way *way = &member->to_host[direction];
        for (int32_t k = 0; k < way->n; k++)
            tsim_stage_group_demand(group, stream, task, way->links[k].resource, bytes_per_s * way->links[k].per_unit);
        if (i > 0 && !plan->is_stepped)
            continue;
        tsim_stage_group_demand(group, stream, task, member->units, bytes_per_s * plan->copy_units_per_byte);
        tsim_stage_group_demand(group, stream, task, member->memory, bytes_per_s * plan->copy_memory_per_byte);
    }
}

void tsim_copies_demand(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, struct tsim_task *task,
                        enum tsim_copy_direction direction, double bytes_per_s) {
    demand(group, stream, task, group->n_members, direction, bytes_per_s);
}

bool tsim_copies_are_under_way(const struct tsim_stage_group *group) {
    for (int s = TSIM_STREAM_OUT; s <= TSIM_STREAM_BATCH; s++)
        if (group->streams[s] >= 0 && !tsim_engine_waits(group->engine, group->streams[s]))
            return true;
    return false;
}

static void copy_task(const struct tsim_stage_group *group, double bytes, struct tsim_task *task) {
    task->work = bytes / group->plan->cluster->host_link_bytes_per_s;
    task->bound_per_s = 1;
    task->weight = TSIM_COLLECTIVE_WEIGHT;
}

static bool next_copy(struct tsim_stage_group *group, enum tsim_copy_direction direction, struct tsim_task *task) {
    enum tsim_stage_group_stream stream = direction == TSIM_COPY_OUT ? TSIM_STREAM_OUT : TSIM_STREAM_IN;
    struct tsim_copying *at = &group->copying[direction];
    for (; at->item < group->n_items; at->item++, at->is_of_update = false) {
        double bytes = at->is_of_update ? 0 : copied_bytes(group, at->item)[direction];
        int32_t lowered = group->copied + at->item;
        if (!(bytes > 0) && direction == TSIM_COPY_OUT) {
            bytes = gradient_bytes(group, at->item);
            lowered = group->host_gradients;
        }
        if (!(bytes > 0))
            continue;
        copy_task(group, bytes, task);
        tsim_copies_demand(group, stream, task, direction, group->plan->cluster->host_link_bytes_per_s);
        task->label = tsim_label(TSIM_TASK_COPY, at->item, (int32_t)direction);
        task->waits[task->n_waits++] = group->copies_go + at->item;
        task->lowers[task->n_lowers++] = lowered;
        bool is_over = direction == TSIM_COPY_IN || lowered == group->host_gradients;
        at->item += is_over;
        at->is_of_update = !is_over;
        return true;
    }
    return false;
}

bool tsim_stage_group_copy_out(void *context, int32_t stream, struct tsim_task *task) {
    (void)stream;
    return next_copy(context, TSIM_COPY_OUT, task);
}

bool tsim_stage_group_copy_in(void *context, int32_t stream, struct tsim_task *task) {
    (void)stream;
    return next_copy(context, TSIM_COPY_IN, task);
}

bool tsim_stage_group_copy_batch(void *context, int32_t stream, struct tsim_task *task) {
    struct tsim_stage_group *group = context;
    const struct tsim_data_spec *data = &group->plan->scenario->data;
    int32_t n = n_batches(group), batch = group->batch, last = tsim_copies_first_is_there(group) ? n : n - 1;
    (void)stream;
    if (batch > last)
        return false;
    copy_task(group, (double)group->plan->scenario->training.micro_batch_size * data->transfer_bytes, task);
    demand(group, TSIM_STREAM_BATCH, task, 1, TSIM_COPY_IN, group->plan->cluster->host_link_bytes_per_s);
    task->label = tsim_label(TSIM_TASK_COPY, -1, (int32_t)TSIM_COPY_IN);
    if (batch > 0)
        task->waits[task->n_waits++] = group->batch_taken + batch - 1;
    if (batch < n && is_late(group, batch))
        task->waits[task->n_waits++] = group->batch_there + batch;
    task->lowers[task->n_lowers++] = group->batch_copied + batch;
    group->batch++;
    return true;
}
