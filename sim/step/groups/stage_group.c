#include "step/groups/stage_group.h"
#include "step/groups/copies.h"
#include "step/groups/input_reads.h"
#include "step/groups/pass_tasks.h"

#include <math.h>
#include <string.h>

static const struct tsim_chunk_plan *chunk_of(const struct tsim_stage_group *group, int32_t chunk) {
    return &group->stage_plan->chunks[chunk];
}

/* Returns the index of a bucket. Buckets of gathers or reductions are numbered chunk by chunk. */
static int32_t bucket_index(const struct tsim_stage_group *group, int32_t chunk, bool backward, int32_t bucket) {
    return bucket + (backward ? chunk_of(group, chunk)->first_reduce : chunk_of(group, chunk)->first_gather);
}

/* Returns the place of a bucket that a backward pass releases among the signals of such. */
static int32_t release_index(const struct tsim_stage_group *group, struct tsim_pass_item item, int32_t bucket) {
    if (group->plan->reduces_every_microbatch)
        return tsim_stage_group_slot(group, item) * group->most_segments + bucket;
    return bucket_index(group, item.chunk, true, bucket);
}

/* Returns the chunk that comes n-th, if all ranks that hold a part must take the parts in the same order. */
static int32_t nth_chunk(const struct tsim_stage_group *group, int32_t n) {
    bool exchanged = group->plan->is_mirrored && group->stage >= group->plan->schedule.stages / 2;
    return exchanged ? group->plan->schedule.chunks - 1 - n : n;
}

/* Returns the bucket's number among those who join it: of the pair of stages, as the first of the two numbers them. */
static int32_t joint_index(const struct tsim_stage_group *group, int32_t chunk, bool backward, int32_t bucket) {
    int32_t at = 0;
    if (!group->plan->is_mirrored)
        return bucket_index(group, chunk, backward, bucket);
    for (int32_t n = 0; nth_chunk(group, n) != chunk; n++) {
        const struct tsim_chunk_plan *before = chunk_of(group, nth_chunk(group, n));
        at += backward ? before->n_reduces : before->n_gathers;
    }
    return at + bucket;
}

/* ---- what tasks wait for and join ---- */

static void join_replicas(const struct tsim_stage_group *group, int64_t kind, int64_t index, struct tsim_task *task) {
    int32_t stages = group->plan->schedule.stages, owner = group->stage;
    if (group->plan->is_stepped)
        return;
    if (group->plan->is_mirrored && owner >= stages / 2)
        owner = stages - 1 - owner;
    int32_t parties = group->plan->n_replicas * (group->plan->is_mirrored ? 2 : 1);
    if (parties == 1)
        return;
    task->join = ((kind * stages + owner) << 40) | index;
    task->n_parties = parties;
}

static void wait_for(struct tsim_task *task, int32_t signal) {
    TSIM_ASSERT(task->n_waits < TSIM_TASK_MAX_SIGNALS);
    task->waits[task->n_waits++] = signal;
}

static void lower(struct tsim_task *task, int32_t signal) {
    TSIM_ASSERT(task->n_lowers < TSIM_TASK_MAX_SIGNALS);
    task->lowers[task->n_lowers++] = signal;
}

/* ---- compute stream ---- */

bool tsim_stage_group_route(const struct tsim_stage_group *group, struct tsim_pass_item item,
                            struct tsim_stage_group **to, struct tsim_pass_item *there) {
    struct tsim_schedule_hop hop = tsim_stage_group_hop(group, item);
    *to = hop.to_next ? group->next : group->prev;
    *there = item;
    there->chunk = hop.chunk;
    return hop.sends;
}

const struct tsim_collective_cost *tsim_stage_group_message(const struct tsim_stage_group *group,
                                                            struct tsim_pass_item item) {
    return tsim_stage_group_hop(group, item).to_next ? &group->to_next.cost : &group->to_prev.cost;
}

static bool sends(const struct tsim_stage_group *group, struct tsim_pass_item item) {
    return tsim_stage_group_hop(group, item).sends;
}

static int32_t out_signal(const struct tsim_stage_group *group, struct tsim_pass_item item) {
    return (item.kind == TSIM_PASS_FORWARD ? group->forward_out : group->backward_out) +
           tsim_stage_group_slot(group, item);
}

/* Makes the message, without what it waits for and lowers. */
static void message_task(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, bool to_next,
                         struct tsim_task *task) {
    struct tsim_stage_group *to = to_next ? group->next : group->prev;
    const struct tsim_step_message *message = to_next ? &group->to_next : &group->to_prev;
    const struct tsim_collective_cost *cost = &message->cost;
    double flow_s = cost->time_s - cost->latency_s;
    task->latency = cost->latency_s > 0 ? tsim_engine_ticks(group->engine, cost->latency_s) : 0;
    task->work = fmax(flow_s, 0);
    task->bound_per_s = 1;
    task->weight = TSIM_COLLECTIVE_WEIGHT;
    if (group->plan->is_ideal || !(flow_s > 0))
        return;
    if (group->links) {
        tsim_stage_group_demand_sent(group, stream, to_next ? TSIM_SENT_TO_NEXT : TSIM_SENT_TO_PREV,
                                     fmax(cost->scale_up_bytes, cost->nic_bytes) / flow_s, task);
        return;
    }
    for (int32_t i = 0; i < group->n_members; i++) {
        if (message->on_node) {
            tsim_stage_group_demand(group, stream, task, group->members[i].scale_up_out, cost->scale_up_bytes / flow_s);
            tsim_stage_group_demand(group, stream, task, to->members[i].scale_up_in, cost->scale_up_bytes / flow_s);
        } else {
            tsim_stage_group_demand(group, stream, task, group->members[i].nic_out, cost->nic_bytes / flow_s);
            tsim_stage_group_demand(group, stream, task, to->members[i].nic_in, cost->nic_bytes / flow_s);
        }
    }
}

static inline void send_task(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, int32_t index,
                             struct tsim_pass_item item, struct tsim_schedule_hop hop, struct tsim_task *task) {
    struct tsim_stage_group *to = hop.to_next ? group->next : group->prev;
    struct tsim_pass_item there = item;
    there.chunk = hop.chunk;
    message_task(group, stream, hop.to_next, task);
    task->label = tsim_label(TSIM_TASK_SEND, index, 0);
    int32_t slot = tsim_stage_group_slot(to, there);
    if (tsim_schedule_crosses_steps(&group->plan->schedule, group->stage, item))
        return;
    lower(task, item.kind == TSIM_PASS_FORWARD ? to->activation_in + slot : to->gradient_in + slot);
}

static int32_t unit_index(const struct tsim_stage_group *group, int32_t item, int32_t segment) {
    return item * group->plan->n_units + segment;
}

static void wait_for_message(struct tsim_stage_group *group, struct tsim_pass_item item, struct tsim_task *task) {
    if (tsim_stage_group_receives(group, item))
        wait_for(task, (item.kind == TSIM_PASS_FORWARD ? group->activation_in : group->gradient_in) +
                           tsim_stage_group_slot(group, item));
}

/* Returns the messages that leave after the item: of a pair, both leave after its second. */
static int32_t messages_after(const struct tsim_stage_group *group, int32_t index, int32_t messages[2]) {
    int32_t n = 0, from = index - (tsim_stage_group_item(group, index).pair == TSIM_PAIR_SECOND);
    if (tsim_stage_group_item(group, index).pair == TSIM_PAIR_FIRST)
        return 0;
    for (int32_t i = from; i <= index; i++)
        if (sends(group, tsim_stage_group_item(group, i)))
            messages[n++] = i;
    return n;
}

static void message_signals(struct tsim_stage_group *group, struct tsim_pass_item item, int32_t n_segments,
                            struct tsim_task *task) {
    if (group->segment == 0 && item.pair != TSIM_PAIR_SECOND)
        wait_for_message(group, item, task);
    if (group->segment == 0 && item.pair == TSIM_PAIR_FIRST)
        wait_for_message(group, tsim_stage_group_item(group, group->item + 1), task);
    if (group->segment < n_segments - 1 || !group->plan->sends_async)
        return;
    if (item.pair == TSIM_PAIR_NONE) {
        if (sends(group, item))
            lower(task, out_signal(group, item));
        return;
    }
    int32_t messages[2], n = messages_after(group, group->item, messages);
    for (int32_t i = 0; i < n; i++)
        lower(task, out_signal(group, tsim_stage_group_item(group, messages[i])));
}

static void pass_signals(struct tsim_stage_group *group, struct tsim_pass_item item, int32_t n_segments,
                         struct tsim_task *task) {
    const struct tsim_step_plan *plan = group->plan;
    message_signals(group, item, n_segments, task);
    if (!plan->has_data_group)
        return;
    if (plan->shards_fully) {
        int32_t unit = unit_index(group, group->item, group->segment);
        wait_for(task, group->gathered + unit);
        lower(task, group->segment_done + unit);
    } else if (!tsim_stage_group_meets_data(group, item)) {
        return;
    } else if (item.kind == TSIM_PASS_FORWARD) {
        wait_for(task, group->gathered + bucket_index(group, item.chunk, false, group->segment));
    } else {
        lower(task, group->segment_done + release_index(group, item, group->segment));
    }
}

/* Makes a pass wait for reductions: everything that earlier passes have released must be reduced first, and this one
 * may release more. If fully sharded, each segment of a backward pass releases its unit. */
static void await_reductions(struct tsim_stage_group *group, struct tsim_pass_item item, int32_t n_segments,
                             struct tsim_task *task) {
    bool is_unit = group->plan->shards_fully;
    bool releases =
        is_unit ? tsim_stage_group_unit_has(group, item.kind, group->segment, false) : item.kind != TSIM_PASS_FORWARD;
    if ((group->segment == 0 || is_unit) && group->n_released > 0) {
        task->awaited_counter = group->reductions;
        task->awaited_value = group->n_released;
    }
    if (is_unit)
        group->n_released += releases;
    else if (group->segment == n_segments - 1 && releases && tsim_stage_group_meets_data(group, item))
        group->n_released += chunk_of(group, item.chunk)->n_reduces;
}

/* Makes a pass wait for a bucket. ZeRO-2 beside the passes has room for two buckets, the one that a pass fills and the
 * one that is reduced: before another is filled, all but the last that was released must be reduced
 * (torch.distributed.fsdp fully_shard, FSDPParamGroup.post_backward: the pass waits for the reduce-scatter before;
 * DeepSpeed runtime/zero/stage_1_and_2.py, overlap_comm: two buffers in turn). */
static void await_bucket(struct tsim_stage_group *group, struct tsim_task *task) {
    if (group->n_released > 1) {
        task->awaited_counter = group->reductions;
        task->awaited_value = group->n_released - 1;
    }
    group->n_released++;
}

/* Begins a pass's operators: the first waits for what the pass waits for, and the last lowers what it lowers. */
static void begin_operators(struct tsim_stage_group *group, struct tsim_task *task) {
    struct tsim_pass_cursor *w = &group->cursor;
    w->n_lowers = task->n_lowers;
    memcpy(w->lowers, task->lowers, sizeof w->lowers);
    task->n_lowers = 0;
    tsim_pass_tasks_next(group, task);
}

/* Makes the task of a segment; returns true if it is the first operator of several. */
static bool segment_task(struct tsim_stage_group *group, struct tsim_task *task) {
    struct tsim_pass_cost cost;
    tsim_stage_group_segment_cost(group, group->item, group->segment, &cost);
    if ((group->plan->plays_operators != TSIM_OPERATORS_OF_NONE || group->plan->has_copies) &&
        tsim_pass_tasks_begin(group, group->item, group->segment, &cost))
        return true;
    tsim_stage_group_pass_task(group, &cost, task);
    return false;
}

static void next_pass(struct tsim_stage_group *group, struct tsim_task *task) {
    struct tsim_pass_item item = tsim_stage_group_item(group, group->item);
    int32_t n_segments = tsim_stage_group_n_segments(group, group->item);
    bool has_operators = segment_task(group, task);
    task->label = tsim_label(TSIM_TASK_PASS, group->item, group->segment);
    pass_signals(group, item, n_segments, task);
    if (group->plan->waits_for_reductions)
        await_reductions(group, item, n_segments, task);
    else if (group->plan->reduces_every_microbatch && !group->plan->shards_fully && item.kind != TSIM_PASS_FORWARD &&
             tsim_stage_group_meets_data(group, item))
        await_bucket(group, task);
    if (has_operators)
        begin_operators(group, task);
    if (++group->segment < n_segments)
        return;
    if (!group->plan->sends_async)
        group->n_owed = messages_after(group, group->item, group->owed);
    group->segment = 0;
    group->item++;
    group->has_batch = false;
}

/* Makes the pass wait for its batch in the input pipeline, and then, once that is in the memory of the host, for its
 * copy. */
static bool next_input(struct tsim_stage_group *group, struct tsim_task *task) {
    if (group->has_batch || !tsim_stage_group_takes_input(group, group->item))
        return false;
    double wait_s = group->plan->input->waits_s ? group->plan->input->waits_s[group->n_asked] : 0;
    bool copies = group->plan->copies_input;
    task->label = tsim_label(TSIM_TASK_INPUT, group->item, group->awaits_copy);
    if (group->awaits_copy) {
        wait_for(task, group->batch_copied + group->n_asked);
        lower(task, group->batch_taken + group->n_asked);
    } else {
        task->latency = wait_s > 0 ? tsim_engine_ticks(group->engine, wait_s) : 0;
        if (copies)
            lower(task, group->batch_there + group->n_asked);
    }
    group->has_batch = !copies || group->awaits_copy;
    group->awaits_copy = copies && !group->awaits_copy;
    if (group->has_batch && tsim_reads_over_nics(group->plan))
        lower(task, group->reads_go + group->n_asked);
    group->n_asked += group->has_batch;
    return true;
}

/* The tail of the step follows the passes, in this order; its functions return false if they have nothing to do. */
enum tail { TAIL_REDUCE, TAIL_TIED, TAIL_NORM, TAIL_OPTIMIZER, TAIL_GATHER, TAIL_INPUT, TAIL_END };

static bool tail_reduce(struct tsim_stage_group *group, struct tsim_task *task) {
    const struct tsim_step_plan *plan = group->plan;
    if (!plan->has_data_group || plan->overlaps_reduces || plan->shards_fully)
        return false;
    if (group->tail_at == plan->schedule.chunks)
        return group->tail_at = 0, false;
    int32_t chunk = nth_chunk(group, plan->schedule.chunks - 1 - group->tail_at);
    task->label = tsim_label(TSIM_TASK_REDUCE, -1, chunk);
    tsim_stage_group_collective(group, TSIM_STREAM_COMPUTE, &chunk_of(group, chunk)->reduce, task);
    join_replicas(group, TSIM_TASK_REDUCE, group->tail_at, task);
    group->tail_at++;
    return true;
}

static bool tail_gather(struct tsim_stage_group *group, struct tsim_task *task) {
    const struct tsim_step_plan *plan = group->plan;
    if (!plan->has_data_group || !plan->gathers || plan->overlaps_gathers || group->tail_at == plan->schedule.chunks)
        return false;
    int32_t chunk = nth_chunk(group, group->tail_at);
    task->label = tsim_label(TSIM_TASK_GATHER, -1, chunk);
    tsim_stage_group_collective(group, TSIM_STREAM_COMPUTE, &chunk_of(group, chunk)->gather, task);
    join_replicas(group, TSIM_TASK_GATHER, group->tail_at, task);
    group->tail_at++;
    return true;
}

static bool tail_tied(struct tsim_stage_group *group, struct tsim_task *task) {
    const struct tsim_step_plan *plan = group->plan;
    if (!plan->has_tied_reduction || (group->stage != 0 && group->stage != plan->schedule.stages - 1))
        return false;
    task->label = tsim_label(TSIM_TASK_TIED, -1, 0);
    tsim_stage_group_collective(group, TSIM_STREAM_COMPUTE, &plan->tied, task);
    task->join = ((int64_t)TSIM_TASK_TIED << 56) | group->replica;
    task->n_parties = 2;
    return true;
}

static void tail_norm(struct tsim_stage_group *group, struct tsim_task *task) {
    const struct tsim_step_plan *plan = group->plan;
    task->label = tsim_label(TSIM_TASK_NORM, -1, 0);
    task->latency = plan->norm.time_s > 0 ? tsim_engine_ticks(group->engine, plan->norm.time_s) : 0;
    task->join = (int64_t)TSIM_TASK_NORM << 56 | (plan->bypasses_norm ? group->stage : 0);
    task->n_parties = (plan->bypasses_norm ? 1 : plan->schedule.stages) * plan->n_replicas;
    bool is_late = plan->schedule.schedule == TSIM_SCHEDULE_PIPEDREAM_2BW; /* the next batch has other weights */
    if (group->n_reductions > 0 && !is_late)
        wait_for(task, group->reduced);
}

/* Makes the host's update: it reads and writes the host's memory, and sends weights back as it goes. */
static void update_by_host(struct tsim_stage_group *group, struct tsim_task *task) {
    const struct tsim_host_update *update = &group->stage_plan->host_update;
    task->work = update->time_s;
    task->bound_per_s = 1;
    task->weight = TSIM_COLLECTIVE_WEIGHT;
    wait_for(task, group->host_gradients);
    tsim_copies_demand(group, TSIM_STREAM_COMPUTE, task, TSIM_COPY_IN, update->weight_bytes / update->time_s);
    for (int32_t i = 0; i < group->n_members && group->members[i].host_memory >= 0 && !group->plan->is_ideal; i++)
        tsim_stage_group_demand(group, TSIM_STREAM_COMPUTE, task, group->members[i].host_memory,
                                update->memory_bytes / update->time_s);
}

static void tail_optimizer(struct tsim_stage_group *group, struct tsim_task *task) {
    struct tsim_pass_cost cost = {.time_s = group->stage_plan->optimizer_s * group->slowdown,
                                  .hbm_bytes = group->stage_plan->optimizer_hbm_bytes};
    task->label = tsim_label(TSIM_TASK_OPTIMIZER, -1, 0);
    if (group->stage_plan->host_update.time_s > 0)
        update_by_host(group, task);
    else
        tsim_stage_group_pass_task(group, &cost, task);
}

/* Copies the first batch of the next step in this one. */
static bool tail_input(struct tsim_stage_group *group, struct tsim_task *task) {
    if (!tsim_copies_has_input(group) || !tsim_copies_first_is_there(group))
        return false;
    task->label = tsim_label(TSIM_TASK_INPUT, group->n_items - 1, 1);
    wait_for(task, group->batch_copied + group->n_asked);
    return true;
}

static bool next_tail(struct tsim_stage_group *group, struct tsim_task *task) {
    if (group->plan->is_forward_only)
        return false;
    for (; group->tail < TAIL_END; group->tail++) {
        switch ((enum tail)group->tail) {
        case TAIL_REDUCE:
            if (tail_reduce(group, task))
                return true;
            break;
        case TAIL_TIED:
            if (tail_tied(group, task))
                return group->tail++, true;
            break;
        case TAIL_NORM:
            tail_norm(group, task);
            return group->tail++, true;
        case TAIL_OPTIMIZER:
            tail_optimizer(group, task);
            return group->tail++, true;
        case TAIL_GATHER:
            if (tail_gather(group, task))
                return true;
            break;
        case TAIL_INPUT:
            if (tail_input(group, task))
                return group->tail++, true;
            break;
        case TAIL_END:
            break;
        }
    }
    return false;
}

static bool next_compute(struct tsim_stage_group *group, struct tsim_task *task) {
    if (group->cursor.is_active) {
        tsim_pass_tasks_next(group, task);
        return true;
    }
    if (group->n_owed > 0) {
        struct tsim_pass_item item = tsim_stage_group_item(group, group->owed[0]);
        send_task(group, TSIM_STREAM_COMPUTE, group->owed[0], item, tsim_stage_group_hop(group, item), task);
        group->owed[0] = group->owed[1];
        group->n_owed--;
        return true;
    }
    if (group->item < group->n_items) {
        if (next_input(group, task))
            return true;
        next_pass(group, task);
        return true;
    }
    return next_tail(group, task);
}

bool tsim_stage_group_compute(void *context, int32_t stream, struct tsim_task *task) {
    (void)stream;
    return tsim_stage_group_next(context, TSIM_STREAM_COMPUTE, task, next_compute);
}

/* ---- sends ---- */

static bool next_send(struct tsim_stage_group *group, bool to_next, enum tsim_stage_group_stream stream,
                      struct tsim_task *task) {
    int32_t *at = &group->send_at[to_next ? 0 : 1];
    for (; *at < group->n_items; (*at)++) {
        struct tsim_pass_item item = tsim_stage_group_item(group, *at);
        struct tsim_schedule_hop hop = tsim_stage_group_hop(group, item);
        if (!hop.sends || hop.to_next != to_next)
            continue;
        send_task(group, stream, *at, item, hop, task);
        wait_for(task, out_signal(group, item));
        (*at)++;
        return true;
    }
    return false;
}

bool tsim_stage_group_send_next(void *context, int32_t stream, struct tsim_task *task) {
    (void)stream;
    return next_send(context, true, TSIM_STREAM_NEXT, task);
}

bool tsim_stage_group_send_prev(void *context, int32_t stream, struct tsim_task *task) {
    (void)stream;
    return next_send(context, false, TSIM_STREAM_PREV, task);
}

/* ---- data stream: ZeRO-0 to 2 ---- */

/* Moves to the next bucket: gathers of all chunks in model order, then the reductions in the order in which backward
 * passes release them. */
static bool next_bucket(struct tsim_stage_group *group, struct tsim_task *task) {
    const struct tsim_step_plan *plan = group->plan;
    if (plan->gathers && plan->overlaps_gathers && group->gather_chunk < plan->schedule.chunks) {
        int32_t chunk = nth_chunk(group, group->gather_chunk), bucket = group->gather_bucket;
        int32_t index = bucket_index(group, chunk, false, bucket);
        task->label = tsim_label(TSIM_TASK_GATHER, -1, index);
        tsim_stage_group_collective(group, TSIM_STREAM_DATA, &chunk_of(group, chunk)->gather, task);
        join_replicas(group, TSIM_TASK_GATHER, joint_index(group, chunk, false, bucket), task);
        lower(task, group->gathered + index);
        if (++group->gather_bucket == chunk_of(group, chunk)->n_gathers)
            group->gather_bucket = 0, group->gather_chunk++;
        return true;
    }
    if (!plan->overlaps_reduces)
        return false;
    for (; group->reduce_item < group->n_items; group->reduce_item++, group->reduce_bucket = 0) {
        struct tsim_pass_item item = tsim_stage_group_item(group, group->reduce_item);
        if (item.kind == TSIM_PASS_FORWARD || !tsim_stage_group_meets_data(group, item) ||
            group->reduce_bucket == chunk_of(group, item.chunk)->n_reduces)
            continue;
        int32_t bucket = group->reduce_bucket++, index = release_index(group, item, bucket), joint = index;
        if (plan->is_mirrored) {
            int32_t round = plan->reduces_every_microbatch ? item.microbatch - group->n_skipped[1] : 0;
            joint = round * group->stage_plan->n_reduces + joint_index(group, item.chunk, true, bucket);
        }
        if (plan->reduces_every_microbatch)
            task->label = tsim_label(TSIM_TASK_REDUCE, group->reduce_item, bucket);
        else
            task->label = tsim_label(TSIM_TASK_REDUCE, -1, index);
        tsim_stage_group_collective(group, TSIM_STREAM_DATA, &chunk_of(group, item.chunk)->reduce, task);
        join_replicas(group, TSIM_TASK_REDUCE, joint, task);
        wait_for(task, group->segment_done + index);
        lower(task, group->reduced);
        task->raised_counter = group->reductions;
        return true;
    }
    return false;
}

/* ---- data stream: ZeRO-3 ---- */

/* Returns how many gathers of a backward pass come before its first reduction: as many units as are held whole at one
 * time, the one that runs and those gathered ahead of it. A gather that is waited for does not wait for a reduction
 * that may run beside the next unit. Where units wait for the reductions before them, it is the fewest: a gather that
 * came before a reduction which the unit that makes its room waits for would never begin. */
static int32_t n_gathered_first(const struct tsim_stage_group *group) {
    const struct tsim_parallelism_spec *p = &group->plan->scenario->parallelism;
    const struct tsim_layer_units *units = &group->plan->layer_units[1];
    int32_t most = p->overlap.parameters || !p->overlap.gradients ? 1 : 2, fewest = INT32_MAX;
    for (int32_t i = 0; i < units->n; i++) {
        most = units->at[i].places > most ? units->at[i].places : most;
        fewest = units->at[i].places < fewest ? units->at[i].places : fewest;
    }
    return group->plan->waits_for_reductions && fewest > 0 ? fewest : most;
}

/* Returns the index of the unit so many places before, in execution order, or -1 if there is none. */
static int32_t unit_before(const struct tsim_stage_group *group, int32_t item, int32_t position, int32_t places) {
    for (position -= places; position < 0; position += tsim_stage_group_n_segments(group, item))
        if (--item < 0)
            return -1;
    return unit_index(group, item, position);
}

/* Gathers the parameters of unit `position` (execution order) of an item when there is room for it, that is when a unit
 * some places earlier is done (FSDP's rate limiter; DeepSpeed fetches what comes next when a module begins). */
static void unit_gather(struct tsim_stage_group *group, int32_t item, int32_t position, struct tsim_task *task) {
    enum tsim_pass_kind kind = tsim_stage_group_item(group, item).kind;
    const struct tsim_layer_unit *own = tsim_layer_unit_at(group->plan, kind, position);
    int32_t unit = unit_index(group, item, position),
            before = own ? unit_before(group, item, position, own->places) : -1; /* the root comes first of all */
    task->label = tsim_label(TSIM_TASK_GATHER, item, position);
    tsim_stage_group_collective(group, TSIM_STREAM_DATA, tsim_stage_group_unit(group, kind, position, true), task);
    join_replicas(group, TSIM_TASK_GATHER, unit, task);
    if (before >= 0)
        wait_for(task, group->segment_done + before);
    lower(task, group->gathered + unit);
}

static void unit_reduce(struct tsim_stage_group *group, int32_t item, int32_t position, struct tsim_task *task) {
    int32_t unit = unit_index(group, item, position);
    task->label = tsim_label(TSIM_TASK_REDUCE, item, position);
    tsim_stage_group_collective(group, TSIM_STREAM_DATA,
                                tsim_stage_group_unit(group, tsim_stage_group_item(group, item).kind, position, false),
                                task);
    join_replicas(group, TSIM_TASK_REDUCE, unit, task);
    wait_for(task, group->segment_done + unit);
    lower(task, group->reduced);
    if (group->plan->waits_for_reductions)
        task->raised_counter = group->reductions;
}

/* Makes the next collective of a unit. Forward, gathers come in order. Backward, the first gathers come, then a
 * reduction and a gather in turn, of units that have them; there are no gathers if parameters stay after the forward
 * pass. The root unit (embedding, final norm, head) is gathered once a step and kept; it is the last to be reduced. */
static bool next_unit(struct tsim_stage_group *group, struct tsim_task *task) {
    int32_t ahead = n_gathered_first(group);
    bool gathers_again = group->plan->scenario->parallelism.reshard_after_forward;
    while (group->unit_item < group->n_items) {
        struct tsim_pass_item item = tsim_stage_group_item(group, group->unit_item);
        int32_t at = group->unit_position++, index = group->unit_item;
        bool is_forward = item.kind == TSIM_PASS_FORWARD;
        int32_t n = tsim_step_n_units(group->plan, item.kind), n_positions = is_forward ? n : 2 * n + ahead;
        if (at == n_positions) {
            group->unit_position = 0;
            group->unit_item++;
            continue;
        }
        if (is_forward) {
            if (at == 0 && index > 0)
                continue;
            unit_gather(group, index, at, task);
            return true;
        }
        bool is_reduce = at >= ahead && (at - ahead) % 2 == 0;
        int32_t position = at < ahead ? at : (at - ahead) / 2 + (is_reduce ? 0 : ahead);
        if (position >= n || !tsim_stage_group_unit_has(group, item.kind, position, !is_reduce))
            continue;
        if (is_reduce) {
            unit_reduce(group, index, position, task);
            return true;
        }
        if (gathers_again) {
            unit_gather(group, index, position, task);
            return true;
        }
    }
    return false;
}

bool tsim_stage_group_data(void *context, int32_t stream, struct tsim_task *task) {
    const struct tsim_stage_group *group = context;
    (void)stream;
    return group->plan->has_data_group &&
           tsim_stage_group_next(context, TSIM_STREAM_DATA, task, group->plan->shards_fully ? next_unit : next_bucket);
}
