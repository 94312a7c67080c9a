#include "step/account/account.h"

#include "cost/compute.h"
#include "step/groups/copies.h"

/* ---- what is added up ---- */

/* Kinds of collectives that a stage group gathers, and reduces, with: by what chunks are alike; fully sharded of root,
 * layer, expert layer, and of layers backward, or of root and products. */
enum { N_SHARDED_KINDS = 1 + 2 * TSIM_N_PARTS }; /* the root; layers by kind; those gathered again */

static int32_t n_collectives(const struct tsim_stage_group *group) {
    if (!group->plan->shards_fully)
        return group->stage_plan->n_alike;
    return N_SHARDED_KINDS + (group->plan->gathers_products ? TSIM_N_LAYER_PRODUCTS : 0);
}

static int32_t most_segments(const struct tsim_stage_group *group) {
    int32_t most = group->plan->shards_fully ? group->plan->n_units : 1;
    for (int32_t c = 0; c < group->plan->schedule.chunks && !group->plan->shards_fully; c++) {
        const struct tsim_chunk_plan *chunk = &group->stage_plan->chunks[c];
        most = chunk->n_gathers > most ? chunk->n_gathers : most;
        most = chunk->n_reduces > most ? chunk->n_reduces : most;
    }
    return most;
}

static int32_t pass_total(const struct tsim_stage_group *group, struct tsim_pass_item item, int32_t place,
                          bool is_played) {
    return TSIM_TOTAL_COLLECTIVES + 2 * n_collectives(group) + tsim_stage_group_place(group, item, place, is_played);
}

void tsim_account_begin(struct tsim_arena *arena, struct tsim_stage_group *group) {
    group->most_segments = most_segments(group);
    group->n_totals = TSIM_TOTAL_COLLECTIVES + 2 * n_collectives(group) + tsim_stage_group_n_places(group);
    group->totals = TSIM_NEW_ARRAY(arena, (size_t)group->n_totals, int64_t);
}

static tsim_tick max_tick(tsim_tick a, tsim_tick b) {
    return a > b ? a : b;
}

static tsim_tick min_tick(tsim_tick a, tsim_tick b) {
    return a < b ? a : b;
}

/* Finds the begin and end of the message that the item waits for; of a pair's two messages, of the last to arrive.
 * Leaves them unchanged if none comes. */
static void message_times(const struct tsim_stage_group *group, int32_t index, tsim_tick *begin, tsim_tick *arrival) {
    int32_t last = index + (tsim_stage_group_item(group, index).pair == TSIM_PAIR_FIRST);
    for (int32_t i = index; i <= last; i++) {
        struct tsim_pass_item item = tsim_stage_group_item(group, i);
        if (!tsim_stage_group_receives(group, item))
            continue;
        bool is_forward = item.kind == TSIM_PASS_FORWARD;
        int32_t slot = tsim_stage_group_slot(group, item);
        const struct tsim_transfer *message = &(is_forward ? group->activations : group->gradients)[slot];
        if (message->end >= *arrival) {
            *arrival = message->end;
            *begin = message->begin;
        }
    }
}

/* Accounts for the wait of a pass from `from` to `ready`: for parameters, for room for its gradients, for a message
 * under way, or for another stage's work. */
static void account_pass_wait(struct tsim_stage_group *group, int32_t index, int32_t segment, tsim_tick from,
                              tsim_tick ready) {
    if (ready <= from)
        return;
    tsim_tick begin = 0, arrival = 0;
    if (segment == 0)
        message_times(group, index, &begin, &arrival);
    tsim_tick data_from = max_tick(from, arrival); /* from here on only parameters, or room, were missing */
    bool is_backward = tsim_stage_group_item(group, index).kind != TSIM_PASS_FORWARD;
    if (data_from < ready)
        group->totals[is_backward && !group->plan->shards_fully ? TSIM_TOTAL_REDUCE : TSIM_TOTAL_GATHER] +=
            ready - data_from;
    tsim_tick until = min_tick(ready, data_from);
    if (until <= from)
        return;
    tsim_tick under_way = max_tick(from, begin);
    group->totals[TSIM_TOTAL_BUBBLE] += min_tick(under_way, until) - from;
    if (under_way < until)
        group->totals[TSIM_TOTAL_PIPELINE] += until - under_way;
}

/* Counts what chance has added to this pass; passes are priced by their kind, without chance. If its kernels were
 * played, they tell the price, because those of a segment are not exactly its share of the pass. */
static void account_noise(struct tsim_stage_group *group, int32_t index, int32_t segment) {
    struct tsim_pass_cost mean, own;
    tsim_stage_group_pass_cost(group, tsim_stage_group_item(group, index), segment,
                               tsim_stage_group_n_segments(group, index), &mean);
    tsim_stage_group_segment_cost(group, index, segment, &own);
    double chance_s = own.compute_s - mean.compute_s, recompute_s = own.recompute_s - mean.recompute_s;
    if (group->plays_pass) { /* its waits for the host have been timed */
        double added_s = group->pass_noise * tsim_engine_seconds(group->engine, 1),
               kernels_s = mean.compute_s - mean.host_excess_s + mean.recompute_s;
        recompute_s = kernels_s > 0 ? added_s * mean.recompute_s / kernels_s : 0;
        chance_s = added_s - recompute_s;
        group->pass_noise = 0;
    }
    group->account->terms.compute_s += chance_s;
    group->account->terms.recompute_s += recompute_s;
    group->account->chance_s += chance_s;
    group->account->recompute_chance_s += recompute_s;
}

static void account_pass(struct tsim_stage_group *group, int64_t label, tsim_tick from, tsim_tick ready,
                         tsim_tick begin, tsim_tick end) {
    int32_t index = tsim_label_item(label), segment = tsim_label_segment(label);
    struct tsim_pass_item item = tsim_stage_group_item(group, index);
    if (index == 0 && segment == 0 && group->plan->bypasses_norm) { /* until the message comes, the step before it */
        tsim_tick message_begin = 0;
        message_times(group, 0, &message_begin, &group->first_begin);
        from = max_tick(group->first_begin, from);
    }
    account_pass_wait(group, index, segment, from, ready);
    if (segment == 0) {
        group->accounted = index + 1;
        group->n_pending -= tsim_stage_group_receives(group, item);
    }
    if (group->plan->noise_deviation_frac > 0)
        account_noise(group, index, segment);
    if (group->plan->shards_fully || tsim_stage_group_meets_data(group, item))
        group->totals[TSIM_TOTAL_BESIDE_DATA] += end - begin;
    int32_t place = tsim_stage_group_n_segments(group, index) > 1 ? 1 + segment : 0;
    group->totals[pass_total(group, item, place, group->plays_pass)]++;
}

void tsim_account_transfer(struct tsim_stage_group *group, int64_t label, tsim_tick begin, tsim_tick end) {
    struct tsim_pass_item item = tsim_stage_group_item(group, tsim_label_item(label));
    struct tsim_schedule_hop hop = tsim_stage_group_hop(group, item);
    struct tsim_stage_group *to = hop.to_next ? group->next : group->prev;
    bool is_forward = item.kind == TSIM_PASS_FORWARD;
    item.chunk = hop.chunk;
    int32_t slot = tsim_stage_group_slot(to, item);
    (is_forward ? to->activations : to->gradients)[slot] = (struct tsim_transfer){begin, end};
    to->n_pending++;
    group->totals[TSIM_TOTAL_SENT + !hop.to_next]++;
}

/* ---- collectives ---- */

static const struct tsim_data_collective *collective_at(const struct tsim_stage_group *group, bool is_gather,
                                                        int32_t index) {
    const struct tsim_stage_plan *sp = group->stage_plan;
    if (!group->plan->shards_fully)
        return is_gather ? &sp->chunks[sp->alike[index]].gather : &sp->chunks[sp->alike[index]].reduce;
    if (index >= N_SHARDED_KINDS)
        return (is_gather ? sp->product_gathers : sp->product_reduces) + index - N_SHARDED_KINDS;
    if (index == 0)
        return is_gather ? &sp->root_gather : &sp->root_reduce;
    const struct tsim_layer_collectives *layer = &sp->layers[(index - 1) % TSIM_N_PARTS];
    return !is_gather ? &layer->reduce : index <= TSIM_N_PARTS ? &layer->gather : &layer->regather;
}

static int32_t collective_index(const struct tsim_stage_group *group, bool is_gather, int32_t item, int32_t segment) {
    const struct tsim_stage_plan *sp = group->stage_plan;
    int32_t index = 0, bucket = segment;
    if (group->plan->shards_fully) {
        const struct tsim_data_collective *unit =
            tsim_stage_group_unit(group, sp->items[item].kind, segment, is_gather);
        while (collective_at(group, is_gather, index) != unit)
            index++;
        return index;
    }
    if (item >= 0)
        return sp->chunks[sp->items[item].chunk].alike;
    for (; index < group->plan->schedule.chunks - 1; index++) {
        int32_t n = is_gather ? sp->chunks[index].n_gathers : sp->chunks[index].n_reduces;
        if (bucket < n)
            break;
        bucket -= n;
    }
    return sp->chunks[index].alike;
}

const struct tsim_data_collective *tsim_stage_group_data_collective(const struct tsim_stage_group *group,
                                                                    bool is_gather, int32_t item, int32_t segment) {
    return collective_at(group, is_gather, collective_index(group, is_gather, item, segment));
}

void tsim_account_data(struct tsim_stage_group *group, int64_t label) {
    bool is_gather = tsim_label_kind(label) == TSIM_TASK_GATHER;
    int32_t item = tsim_label_item(label),
            index = collective_index(group, is_gather, item < 0 ? -1 : item + tsim_stage_group_n_left_out(group),
                                     tsim_label_segment(label));
    group->totals[TSIM_TOTAL_COLLECTIVES + (is_gather ? 0 : n_collectives(group)) + index]++;
}

/* ---- the compute stream ---- */

/* The stream of inputs waits for nothing but its batch. */
static void account_input(struct tsim_stage_group *group, tsim_tick ready, tsim_tick end) {
    group->totals[TSIM_TOTAL_INPUT] += end - ready;
    group->account->input_gaps_s[group->n_arrived++] = tsim_engine_seconds(group->engine, ready - group->last_arrival);
    group->last_arrival = end;
}

static void account_task(struct tsim_stage_group *group, int64_t label, tsim_tick from, tsim_tick ready,
                         tsim_tick begin, tsim_tick end) {
    int64_t *totals = group->totals;
    tsim_tick wait = ready - from, join = begin - ready, busy = end - begin;
    switch (tsim_label_kind(label)) {
    case TSIM_TASK_PASS:
        account_pass(group, label, from, ready, begin, end);
        return;
    case TSIM_TASK_INPUT:
        if (tsim_label_segment(label) == 0)
            account_input(group, ready, end);
        else
            totals[TSIM_TOTAL_INPUT] += end - from;
        return;
    case TSIM_TASK_SEND:
        tsim_account_transfer(group, label, begin, end);
        totals[TSIM_TOTAL_PIPELINE] += end - from;
        return;
    case TSIM_TASK_GATHER:
    case TSIM_TASK_REDUCE:
        tsim_account_data(group, label);
        totals[tsim_label_kind(label) == TSIM_TASK_GATHER ? TSIM_TOTAL_GATHER : TSIM_TOTAL_REDUCE] += wait + busy;
        totals[TSIM_TOTAL_BUBBLE] += join;
        return;
    case TSIM_TASK_OPERATOR:
    case TSIM_TASK_COPY:
        break; /* told before; of other streams */
    case TSIM_TASK_GO:
        totals[tsim_label_segment(label) == TSIM_TASK_GATHER ? TSIM_TOTAL_GATHER : TSIM_TOTAL_REDUCE] += wait + busy;
        totals[TSIM_TOTAL_BUBBLE] += join;
        return;
    case TSIM_TASK_TIED:
        totals[TSIM_TOTAL_TIED]++;
        totals[TSIM_TOTAL_REDUCE] += wait + busy;
        totals[TSIM_TOTAL_BUBBLE] += join;
        return;
    case TSIM_TASK_NORM: /* its wait is for the last reductions, its join for the other stages */
        totals[TSIM_TOTAL_REDUCE] += wait;
        totals[TSIM_TOTAL_NORM] += busy;
        totals[TSIM_TOTAL_BUBBLE] += join;
        return;
    case TSIM_TASK_OPTIMIZER:
        totals[TSIM_TOTAL_OPTIMIZERS]++;
        totals[TSIM_TOTAL_OPTIMIZER] += wait + busy; /* it waits for gradients on their way to the host */
        return;
    }
    TSIM_BUG("label %lld", (long long)label);
}

/* Returns whether the data-parallel group's stream has done anything since. */
static bool data_was_beside(const struct tsim_stage_group *group, tsim_tick from) {
    int32_t stream = group->streams[TSIM_STREAM_DATA];
    return stream >= 0 && (group->go_end > from || !tsim_engine_waits(group->engine, stream));
}

/* Tells what took time from kernels since: a collective of their pass, else those of the data-parallel group, else
 * copies. */
static int slowed_by(const struct tsim_stage_group *group, tsim_tick from) {
    enum tsim_axis axis = !group->plays_pass      ? TSIM_N_AXES
                          : group->run.waited_for ? group->run.waited_for->axis
                                                  : tsim_communicators_beside(group->communicators, from);
    if (axis != TSIM_N_AXES)
        return TSIM_TOTAL_EXPOSED + (int)axis;
    bool copies = group->copies_end > from || tsim_copies_are_under_way(group);
    return copies && !data_was_beside(group, from) ? TSIM_TOTAL_COPIES : TSIM_TOTAL_SLOWED;
}

/* Accounts for the operators of a pass from `from` on, at which those before them ended. */
static void account_operators(struct tsim_stage_group *group, tsim_tick from, tsim_tick end) {
    const struct tsim_operator_run *run = &group->run;
    tsim_tick own = run->kernels + run->host;
    if (run->waits_for_copies) {
        group->totals[TSIM_TOTAL_COPIES] += end - from;
        return;
    }
    group->totals[TSIM_TOTAL_HOST] += run->host;
    group->pass_noise += run->noise;
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++) {
        group->totals[TSIM_TOTAL_EXPOSED + axis] += run->exposed[axis];
        own += run->exposed[axis];
    }
    if (end - from > own)
        group->totals[slowed_by(group, from)] += end - from - own;
}

void tsim_account_compute(struct tsim_stage_group *group, int64_t label, tsim_tick ready, tsim_tick begin,
                          tsim_tick end) {
    bool is_within = tsim_label_is_operator(label);
    if (is_within || group->has_operators) {
        if (!group->has_operators) {
            group->steps_ready = ready;
            group->steps_begin = group->operator_end = begin;
        }
        group->has_operators = is_within;
        if (tsim_label_kind(label) != TSIM_TASK_GO) {
            account_operators(group, group->operator_end, end);
            group->operator_end = end;
            if (group->run.waited_for && group->run.waited_for->kind == TSIM_PLAYED_START)
                tsim_communicator_started(&group->communicators[group->run.waited_for->axis], group->run.waited_for);
        }
        if (is_within)
            return;
        ready = group->steps_ready; /* it was the last one: the pass is all of them */
        begin = group->steps_begin;
    } else if (tsim_label_kind(label) == TSIM_TASK_PASS) {
        account_operators(group, begin, end);
    }
    tsim_tick from = group->last_end;
    group->last_end = end;
    account_task(group, label, from, ready, begin, end);
}

/* ---- what it comes to ---- */

static double seconds(const struct tsim_stage_group *group, enum tsim_total total) {
    return tsim_engine_seconds(group->engine, group->totals[total]);
}

static void price_passes(struct tsim_stage_group *group, struct tsim_pass_item item, int32_t place, bool is_played,
                         double n) {
    struct tsim_stage_group_account *account = group->account;
    const struct tsim_chunk_plan *chunk = &group->stage_plan->chunks[item.chunk];
    int32_t segments = item.kind == TSIM_PASS_FORWARD ? chunk->n_gathers : chunk->n_reduces;
    struct tsim_pass_cost cost;
    tsim_stage_group_pass_cost(group, item, place - 1,
                               place == 0                  ? 1
                               : group->plan->shards_fully ? tsim_step_n_units(group->plan, item.kind)
                                                           : segments,
                               &cost);
    double kernels_s = cost.compute_s - cost.host_excess_s;
    account->terms.compute_s += n * kernels_s;
    account->terms.recompute_s += n * cost.recompute_s;
    if (is_played) { /* the rest has been timed, operator by operator */
        account->met_s[TSIM_AXIS_TENSOR] -= n * cost.exposed_tensor_s;
        account->met_s[TSIM_AXIS_CONTEXT] -= n * cost.exposed_context_s;
        account->met_s[TSIM_AXIS_EXPERT] -= n * cost.exposed_expert_s;
        account->met_s[TSIM_AXIS_DATA] -= n * cost.exposed_data_s;
    } else {
        account->terms.compute_s += n * cost.host_excess_s;
        account->host_wait_s += n * cost.host_excess_s;
        account->terms.exposed_tensor_s += n * cost.exposed_tensor_s;
        account->terms.exposed_context_s += n * cost.exposed_context_s;
        account->terms.exposed_expert_s += n * cost.exposed_expert_s;
        account->terms.exposed_data_s += n * cost.exposed_data_s;
    }
    account->matrix_busy_s += n * cost.matrix_busy_s;
    account->memory_busy_s += n * cost.memory_busy_s;
    account->scale_up_bytes += n * cost.scale_up_bytes;
    account->nic_bytes += n * cost.nic_bytes;
    account->pass_nic_bytes += n * cost.nic_bytes;
}

static void price_all_passes(struct tsim_stage_group *group) {
    struct tsim_pass_item item = {0};
    for (int32_t i = 0; i < group->stage_plan->n_alike; i++)
        for (int way = 0; way < TSIM_N_PASS_WAYS; way++)
            for (int32_t place = 0; place <= group->most_segments; place++) {
                item.chunk = group->stage_plan->alike[i];
                item.kind = tsim_kind_of_way(way);
                item.is_alone = tsim_way_is_alone(way);
                for (int is_played = 0; is_played < 2; is_played++) {
                    int64_t n = group->totals[pass_total(group, item, place, is_played)];
                    if (n > 0)
                        price_passes(group, item, place, is_played, (double)n);
                }
            }
}

static void price_collective(struct tsim_stage_group *group, const struct tsim_collective_cost *cost, int64_t n) {
    group->account->scale_up_bytes += (double)n * cost->scale_up_bytes;
    group->account->nic_bytes += (double)n * cost->nic_bytes;
}

static void price_collectives(struct tsim_stage_group *group) {
    double hbm_bytes = (double)group->totals[TSIM_TOTAL_OPTIMIZERS] * group->stage_plan->optimizer_hbm_bytes;
    for (int32_t i = 0; i < 2 * n_collectives(group); i++) {
        int64_t n = group->totals[TSIM_TOTAL_COLLECTIVES + i];
        if (n == 0)
            continue;
        bool is_gather = i < n_collectives(group);
        const struct tsim_data_collective *collective = collective_at(group, is_gather, i % n_collectives(group));
        price_collective(group, &collective->cost, n);
        hbm_bytes += (double)n * collective->cost.hbm_bytes;
        for (int32_t part = 0; part < collective->n_parts; part++)
            group->account->data_bytes += (double)n * collective->parts[part].bytes;
    }
    price_collective(group, &group->plan->tied.cost, group->totals[TSIM_TOTAL_TIED]);
    for (int to_prev = 0; to_prev < 2; to_prev++) {
        const struct tsim_collective_cost *cost = to_prev ? &group->to_prev.cost : &group->to_next.cost;
        int64_t n = group->totals[TSIM_TOTAL_SENT + to_prev];
        price_collective(group, cost, n);
        group->account->sent_bytes += (double)n * (cost->scale_up_bytes + cost->nic_bytes); /* one of them is 0 */
    }
    group->account->memory_busy_s += hbm_bytes / tsim_memory_rate(group->plan->cluster->accelerator);
}

static void add_operators(struct tsim_stage_group *group) {
    struct tsim_stage_group_account *account = group->account;
    double *const exposed_s[TSIM_AXIS_PIPELINE] = {[TSIM_AXIS_TENSOR] = &account->terms.exposed_tensor_s,
                                                   [TSIM_AXIS_CONTEXT] = &account->terms.exposed_context_s,
                                                   [TSIM_AXIS_EXPERT] = &account->terms.exposed_expert_s,
                                                   [TSIM_AXIS_DATA] = &account->terms.exposed_data_s};
    double host_s = seconds(group, TSIM_TOTAL_HOST);
    account->copy_wait_s = seconds(group, TSIM_TOTAL_COPIES);
    account->terms.compute_s += account->copy_wait_s;
    account->terms.compute_s += host_s;
    account->host_wait_s += host_s;
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++) {
        double axis_s = seconds(group, (enum tsim_total)(TSIM_TOTAL_EXPOSED + axis));
        *exposed_s[axis] += axis_s;
        account->met_s[axis] += axis_s;
    }
}

void tsim_account_close(struct tsim_stage_group *group) {
    struct tsim_stage_group_account *account = group->account;
    account->slowdown = group->slowdown;
    account->plays_operators = group->plan->plays_operators != TSIM_OPERATORS_OF_NONE;
    price_all_passes(group);
    add_operators(group);
    price_collectives(group);
    account->exposed_gather_s = seconds(group, TSIM_TOTAL_GATHER);
    account->exposed_reduce_s = seconds(group, TSIM_TOTAL_REDUCE);
    account->exposed_norm_s = seconds(group, TSIM_TOTAL_NORM);
    account->interference_s = seconds(group, TSIM_TOTAL_SLOWED);
    account->beside_data_s = seconds(group, TSIM_TOTAL_BESIDE_DATA);
    account->data_busy_s = seconds(group, TSIM_TOTAL_DATA_BUSY);
    account->send_busy_s = seconds(group, TSIM_TOTAL_SEND_BUSY);
    account->terms.bubble_s = seconds(group, TSIM_TOTAL_BUBBLE);
    account->terms.exposed_pipeline_s = seconds(group, TSIM_TOTAL_PIPELINE);
    account->terms.optimizer_s = seconds(group, TSIM_TOTAL_OPTIMIZER);
    account->terms.data_stall_s = seconds(group, TSIM_TOTAL_INPUT);
    account->terms.exposed_data_s +=
        account->exposed_gather_s + account->exposed_reduce_s + account->exposed_norm_s + account->interference_s;
}
