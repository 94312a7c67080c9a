/* Where the time of a gang went: called by the engine's observer, changes nothing. */
#include "cost/compute.h"
#include "training/gang.h"

static double seconds(const struct tsim_gang *gang, tsim_tick ticks) {
    return tsim_engine_seconds(gang->engine, ticks);
}

static tsim_tick max_tick(tsim_tick a, tsim_tick b) {
    return a > b ? a : b;
}

static tsim_tick min_tick(tsim_tick a, tsim_tick b) {
    return a < b ? a : b;
}

/* Begin and end of the message that the item waits for; of a pair's two messages, the last to arrive. Unchanged where
 * none comes. */
static void message_times(const struct tsim_gang *gang, int32_t index, tsim_tick *begin, tsim_tick *arrival) {
    int32_t last = index + (tsim_gang_item(gang, index).pair == TSIM_PAIR_FIRST);
    for (int32_t i = index; i <= last; i++) {
        struct tsim_pass_item item = tsim_gang_item(gang, i);
        if (!tsim_schedule_receives(&gang->plan->schedule, gang->stage, item))
            continue;
        bool is_forward = item.kind == TSIM_PASS_FORWARD;
        int32_t slot = tsim_gang_slot(gang, item);
        tsim_tick end = (is_forward ? gang->activation_end : gang->gradient_end)[slot];
        if (end >= *arrival) {
            *arrival = end;
            *begin = (is_forward ? gang->activation_begin : gang->gradient_begin)[slot];
        }
    }
}

/* The wait of a pass from `from` to `ready`: for parameters, for a message under way, or for another stage's work. */
static void account_pass_wait(struct tsim_gang *gang, int32_t index, int32_t segment, tsim_tick from, tsim_tick ready) {
    struct tsim_gang_account *account = gang->account;
    if (ready <= from)
        return;
    tsim_tick begin = 0, arrival = 0;
    if (segment == 0)
        message_times(gang, index, &begin, &arrival);
    tsim_tick data_from = max_tick(from, arrival); /* from here on only parameters were missing */
    if (data_from < ready) {
        account->terms.exposed_data_s += seconds(gang, ready - data_from);
        account->exposed_gather_s += seconds(gang, ready - data_from);
    }
    tsim_tick until = min_tick(ready, data_from);
    if (until <= from)
        return;
    tsim_tick under_way = max_tick(from, begin);
    account->terms.bubble_s += seconds(gang, min_tick(under_way, until) - from);
    if (under_way < until)
        account->terms.exposed_pipeline_s += seconds(gang, until - under_way);
}

static void account_pass(struct tsim_gang *gang, int64_t label, tsim_tick from, tsim_tick ready, tsim_tick begin,
                         tsim_tick end) {
    struct tsim_gang_account *account = gang->account;
    int32_t index = tsim_label_item(label), segment = tsim_label_segment(label);
    struct tsim_pass_cost cost;
    tsim_gang_segment_cost(gang, index, segment, &cost);
    if (index == 0 && segment == 0 && gang->plan->bypasses_norm) { /* until the message comes, the step before it */
        tsim_tick message_begin = 0;
        message_times(gang, 0, &message_begin, &gang->first_begin);
        from = max_tick(gang->first_begin, from);
    }
    account_pass_wait(gang, index, segment, from, ready);
    account->terms.compute_s += cost.compute_s;
    account->terms.recompute_s += cost.recompute_s;
    account->terms.exposed_tensor_s += cost.exposed_tensor_s;
    account->terms.exposed_context_s += cost.exposed_context_s;
    account->terms.exposed_expert_s += cost.exposed_expert_s;
    account->terms.exposed_data_s += cost.exposed_data_s;
    double stretched_s = seconds(gang, end - begin) - cost.time_s; /* by collectives beside it */
    account->terms.exposed_data_s += stretched_s;
    account->interference_s += stretched_s;
    account->flops += cost.flops;
    account->matrix_busy_s += cost.matrix_busy_s;
    account->memory_busy_s += cost.memory_busy_s;
    account->scale_up_bytes += cost.scale_up_bytes;
    account->nic_bytes += cost.nic_bytes;
    account->pass_nic_bytes += cost.nic_bytes;
}

void tsim_account_transfer(struct tsim_gang *gang, int64_t label, tsim_tick begin, tsim_tick end) {
    struct tsim_pass_item item = tsim_gang_item(gang, tsim_label_item(label));
    struct tsim_pass_item there;
    struct tsim_gang *to;
    bool on_node, is_forward = item.kind == TSIM_PASS_FORWARD;
    tsim_gang_route(gang, item, &to, &there);
    int32_t slot = tsim_gang_slot(to, there);
    (is_forward ? to->activation_begin : to->gradient_begin)[slot] = begin;
    (is_forward ? to->activation_end : to->gradient_end)[slot] = end;
    const struct tsim_collective_cost *cost = tsim_gang_message(gang, item, &on_node);
    gang->account->scale_up_bytes += cost->scale_up_bytes;
    gang->account->nic_bytes += cost->nic_bytes;
}

const struct tsim_collective_cost *tsim_gang_data_cost(const struct tsim_gang *gang, int64_t label) {
    const struct tsim_stage_plan *sp = gang->stage_plan;
    bool is_gather = tsim_label_kind(label) == TSIM_TASK_GATHER;
    int32_t item = tsim_label_item(label), segment = tsim_label_segment(label);
    if (gang->plan->shards_fully)
        return &tsim_gang_unit(gang, item, segment, is_gather)->cost;
    int32_t chunk = 0, bucket = is_gather ? segment : segment % sp->n_reduces;
    for (; chunk < gang->plan->schedule.chunks - 1; chunk++) {
        int32_t n = is_gather ? sp->chunks[chunk].n_gathers : sp->chunks[chunk].n_reduces;
        if (bucket < n)
            break;
        bucket -= n;
    }
    return is_gather ? &sp->chunks[chunk].gather.cost : &sp->chunks[chunk].reduce.cost;
}

void tsim_account_data(struct tsim_gang *gang, int64_t label) {
    const struct tsim_collective_cost *cost = tsim_gang_data_cost(gang, label);
    gang->account->scale_up_bytes += cost->scale_up_bytes;
    gang->account->nic_bytes += cost->nic_bytes;
    gang->account->memory_busy_s += cost->hbm_bytes / tsim_memory_rate(gang->plan->cluster->accelerator);
}

/* It waits for nothing but its batch. */
static void account_input(struct tsim_gang *gang, tsim_tick ready, tsim_tick end) {
    gang->account->terms.data_stall_s += seconds(gang, end - ready);
    gang->account->input_gaps_s[gang->n_arrived++] = seconds(gang, ready - gang->last_arrival);
    gang->last_arrival = end;
}

void tsim_account_compute(struct tsim_gang *gang, int64_t label, tsim_tick ready, tsim_tick begin, tsim_tick end) {
    struct tsim_gang_account *account = gang->account;
    if (tsim_label_is_piece(label)) {
        if (!gang->has_pieces) {
            gang->piece_ready = ready;
            gang->piece_begin = begin;
        }
        gang->has_pieces = true;
        return;
    }
    if (gang->has_pieces) { /* this is the last one: the pass is all of them */
        ready = gang->piece_ready;
        begin = gang->piece_begin;
        gang->has_pieces = false;
    }
    tsim_tick from = gang->last_end;
    gang->last_end = end;
    double wait_s = seconds(gang, ready - from), join_s = seconds(gang, begin - ready),
           busy_s = seconds(gang, end - begin);
    switch (tsim_label_kind(label)) {
    case TSIM_TASK_PASS:
        account_pass(gang, label, from, ready, begin, end);
        return;
    case TSIM_TASK_INPUT:
        account_input(gang, ready, end);
        return;
    case TSIM_TASK_SEND:
        tsim_account_transfer(gang, label, begin, end);
        account->terms.exposed_pipeline_s += wait_s + join_s + busy_s;
        return;
    case TSIM_TASK_GATHER:
    case TSIM_TASK_REDUCE: {
        tsim_account_data(gang, label);
        *(tsim_label_kind(label) == TSIM_TASK_GATHER ? &account->exposed_gather_s : &account->exposed_reduce_s) +=
            wait_s + busy_s;
        account->terms.exposed_data_s += wait_s + busy_s;
        account->terms.bubble_s += join_s;
        return;
    }
    case TSIM_TASK_PIECE:
        break; /* told above */
    case TSIM_TASK_GO:
        account->terms.exposed_data_s += wait_s + busy_s;
        *(tsim_label_segment(label) == TSIM_TASK_GATHER ? &account->exposed_gather_s : &account->exposed_reduce_s) +=
            wait_s + busy_s;
        account->terms.bubble_s += join_s;
        return;
    case TSIM_TASK_TIED:
        account->scale_up_bytes += gang->plan->tied.cost.scale_up_bytes;
        account->nic_bytes += gang->plan->tied.cost.nic_bytes;
        account->terms.exposed_data_s += wait_s + busy_s;
        account->exposed_reduce_s += wait_s + busy_s;
        account->terms.bubble_s += join_s;
        return;
    case TSIM_TASK_NORM: /* its wait is for the last reductions, its join for the other stages */
        account->terms.exposed_data_s += wait_s + busy_s;
        account->exposed_reduce_s += wait_s;
        account->exposed_norm_s += busy_s;
        account->terms.bubble_s += join_s;
        return;
    case TSIM_TASK_OPTIMIZER:
        account->terms.bubble_s += wait_s;
        account->terms.optimizer_s += busy_s;
        account->memory_busy_s +=
            gang->stage_plan->optimizer_hbm_bytes / tsim_memory_rate(gang->plan->cluster->accelerator);
        return;
    }
    TSIM_BUG("label %lld", (long long)label);
}
