/* Where the time of a gang went: called by the engine's observer, changes nothing. */
#include "cost/compute.h"
#include "training/gang.h"

/* ---- what is tallied ---- */

/* Kinds of collectives that a gang gathers, and reduces, with: by what chunks are alike; fully sharded of root, layer,
 * expert layer, and of layers backward, or of root and products. */
enum { N_SHARDED_KINDS = 5 };

static int32_t n_collectives(const struct tsim_gang *gang) {
    if (!gang->plan->shards_fully)
        return gang->stage_plan->n_alike;
    return N_SHARDED_KINDS + (gang->plan->gathers_products ? TSIM_N_LAYER_PRODUCTS : 0);
}

static int32_t most_segments(const struct tsim_gang *gang) {
    int32_t most = gang->plan->shards_fully ? gang->plan->n_units : 1;
    for (int32_t c = 0; c < gang->plan->schedule.chunks && !gang->plan->shards_fully; c++) {
        const struct tsim_chunk_plan *chunk = &gang->stage_plan->chunks[c];
        most = chunk->n_gathers > most ? chunk->n_gathers : most;
        most = chunk->n_reduces > most ? chunk->n_reduces : most;
    }
    return most;
}

static int32_t pass_tally(const struct tsim_gang *gang, struct tsim_pass_item item, int32_t place) {
    return TSIM_TALLY_COLLECTIVES + 2 * n_collectives(gang) + tsim_gang_place(gang, item, place);
}

void tsim_account_begin(struct tsim_arena *arena, struct tsim_gang *gang) {
    gang->most_segments = most_segments(gang);
    gang->n_tally = TSIM_TALLY_COLLECTIVES + 2 * n_collectives(gang) + tsim_gang_n_places(gang);
    gang->tally = TSIM_NEW_ARRAY(arena, (size_t)gang->n_tally, int64_t);
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
        if (!tsim_gang_receives(gang, item))
            continue;
        bool is_forward = item.kind == TSIM_PASS_FORWARD;
        int32_t slot = tsim_gang_slot(gang, item);
        const struct tsim_transfer *message = &(is_forward ? gang->activations : gang->gradients)[slot];
        if (message->end >= *arrival) {
            *arrival = message->end;
            *begin = message->begin;
        }
    }
}

/* The wait of a pass from `from` to `ready`: for parameters, for room for its gradients, for a message under way, or for
 * another stage's work. */
static void account_pass_wait(struct tsim_gang *gang, int32_t index, int32_t segment, tsim_tick from, tsim_tick ready) {
    if (ready <= from)
        return;
    tsim_tick begin = 0, arrival = 0;
    if (segment == 0)
        message_times(gang, index, &begin, &arrival);
    tsim_tick data_from = max_tick(from, arrival); /* from here on only parameters, or room, were missing */
    bool is_backward = tsim_gang_item(gang, index).kind != TSIM_PASS_FORWARD;
    if (data_from < ready)
        gang->tally[is_backward && !gang->plan->shards_fully ? TSIM_TALLY_REDUCE : TSIM_TALLY_GATHER] +=
            ready - data_from;
    tsim_tick until = min_tick(ready, data_from);
    if (until <= from)
        return;
    tsim_tick under_way = max_tick(from, begin);
    gang->tally[TSIM_TALLY_BUBBLE] += min_tick(under_way, until) - from;
    if (under_way < until)
        gang->tally[TSIM_TALLY_PIPELINE] += until - under_way;
}

/* What chance has added to this pass: passes are priced by their kind, without it. */
static void account_noise(struct tsim_gang *gang, int32_t index, int32_t segment) {
    struct tsim_pass_cost mean, own;
    tsim_gang_pass_cost(gang, tsim_gang_item(gang, index), segment, tsim_gang_n_segments(gang, index), &mean);
    tsim_gang_segment_cost(gang, index, segment, &own);
    gang->account->terms.compute_s += own.compute_s - mean.compute_s;
    gang->account->terms.recompute_s += own.recompute_s - mean.recompute_s;
    gang->account->interference_s -= own.time_s - mean.time_s;
}

static void account_pass(struct tsim_gang *gang, int64_t label, tsim_tick from, tsim_tick ready, tsim_tick begin,
                         tsim_tick end) {
    int32_t index = tsim_label_item(label), segment = tsim_label_segment(label);
    struct tsim_pass_item item = tsim_gang_item(gang, index);
    if (index == 0 && segment == 0 && gang->plan->bypasses_norm) { /* until the message comes, the step before it */
        tsim_tick message_begin = 0;
        message_times(gang, 0, &message_begin, &gang->first_begin);
        from = max_tick(gang->first_begin, from);
    }
    account_pass_wait(gang, index, segment, from, ready);
    if (segment == 0) {
        gang->accounted = index + 1;
        gang->n_pending -= tsim_gang_receives(gang, item);
    }
    if (gang->plan->noise_deviation_frac > 0)
        account_noise(gang, index, segment);
    gang->tally[TSIM_TALLY_PASSES] += end - begin;
    gang->tally[pass_tally(gang, item, tsim_gang_n_segments(gang, index) > 1 ? 1 + segment : 0)]++;
}

void tsim_account_transfer(struct tsim_gang *gang, int64_t label, tsim_tick begin, tsim_tick end) {
    struct tsim_pass_item item = tsim_gang_item(gang, tsim_label_item(label));
    struct tsim_schedule_hop hop = tsim_gang_hop(gang, item);
    struct tsim_gang *to = hop.to_next ? gang->next : gang->prev;
    bool is_forward = item.kind == TSIM_PASS_FORWARD;
    item.chunk = hop.chunk;
    int32_t slot = tsim_gang_slot(to, item);
    (is_forward ? to->activations : to->gradients)[slot] = (struct tsim_transfer){begin, end};
    to->n_pending++;
    gang->tally[TSIM_TALLY_SENT + !hop.to_next]++;
}

/* ---- collectives ---- */

static const struct tsim_data_collective *collective_at(const struct tsim_gang *gang, bool is_gather, int32_t index) {
    const struct tsim_stage_plan *sp = gang->stage_plan;
    if (!gang->plan->shards_fully)
        return is_gather ? &sp->chunks[sp->alike[index]].gather : &sp->chunks[sp->alike[index]].reduce;
    if (index >= N_SHARDED_KINDS)
        return (is_gather ? sp->product_gathers : sp->product_reduces) + index - N_SHARDED_KINDS;
    const struct tsim_data_collective *const gathers[N_SHARDED_KINDS] = {
        &sp->root_gather, &sp->layer_gather, &sp->expert_layer_gather, &sp->layer_regather, &sp->expert_layer_regather};
    const struct tsim_data_collective *const reduces[N_SHARDED_KINDS] = {
        &sp->root_reduce, &sp->layer_reduce, &sp->expert_layer_reduce, &sp->layer_reduce, &sp->expert_layer_reduce};
    return is_gather ? gathers[index] : reduces[index];
}

static int32_t collective_index(const struct tsim_gang *gang, bool is_gather, int32_t item, int32_t segment) {
    const struct tsim_stage_plan *sp = gang->stage_plan;
    int32_t index = 0, bucket = segment;
    if (gang->plan->shards_fully) {
        const struct tsim_data_collective *unit = tsim_gang_unit(gang, sp->items[item].kind, segment, is_gather);
        while (collective_at(gang, is_gather, index) != unit)
            index++;
        return index;
    }
    if (item >= 0)
        return sp->chunks[sp->items[item].chunk].alike;
    for (; index < gang->plan->schedule.chunks - 1; index++) {
        int32_t n = is_gather ? sp->chunks[index].n_gathers : sp->chunks[index].n_reduces;
        if (bucket < n)
            break;
        bucket -= n;
    }
    return sp->chunks[index].alike;
}

const struct tsim_data_collective *tsim_gang_data_collective(const struct tsim_gang *gang, bool is_gather, int32_t item,
                                                             int32_t segment) {
    return collective_at(gang, is_gather, collective_index(gang, is_gather, item, segment));
}

void tsim_account_data(struct tsim_gang *gang, int64_t label) {
    bool is_gather = tsim_label_kind(label) == TSIM_TASK_GATHER;
    int32_t item = tsim_label_item(label),
            index = collective_index(gang, is_gather, item < 0 ? -1 : item + tsim_gang_n_left_out(gang),
                                     tsim_label_segment(label));
    gang->tally[TSIM_TALLY_COLLECTIVES + (is_gather ? 0 : n_collectives(gang)) + index]++;
}

/* ---- the compute stream ---- */

/* It waits for nothing but its batch. */
static void account_input(struct tsim_gang *gang, tsim_tick ready, tsim_tick end) {
    gang->tally[TSIM_TALLY_INPUT] += end - ready;
    gang->account->input_gaps_s[gang->n_arrived++] = tsim_engine_seconds(gang->engine, ready - gang->last_arrival);
    gang->last_arrival = end;
}

static void account_task(struct tsim_gang *gang, int64_t label, tsim_tick from, tsim_tick ready, tsim_tick begin,
                         tsim_tick end) {
    int64_t *tally = gang->tally;
    tsim_tick wait = ready - from, join = begin - ready, busy = end - begin;
    switch (tsim_label_kind(label)) {
    case TSIM_TASK_PASS:
        account_pass(gang, label, from, ready, begin, end);
        return;
    case TSIM_TASK_INPUT:
        account_input(gang, ready, end);
        return;
    case TSIM_TASK_SEND:
        tsim_account_transfer(gang, label, begin, end);
        tally[TSIM_TALLY_PIPELINE] += end - from;
        return;
    case TSIM_TASK_GATHER:
    case TSIM_TASK_REDUCE:
        tsim_account_data(gang, label);
        tally[tsim_label_kind(label) == TSIM_TASK_GATHER ? TSIM_TALLY_GATHER : TSIM_TALLY_REDUCE] += wait + busy;
        tally[TSIM_TALLY_BUBBLE] += join;
        return;
    case TSIM_TASK_PIECE:
        break; /* told before */
    case TSIM_TASK_GO:
        tally[tsim_label_segment(label) == TSIM_TASK_GATHER ? TSIM_TALLY_GATHER : TSIM_TALLY_REDUCE] += wait + busy;
        tally[TSIM_TALLY_BUBBLE] += join;
        return;
    case TSIM_TASK_TIED:
        tally[TSIM_TALLY_TIED]++;
        tally[TSIM_TALLY_REDUCE] += wait + busy;
        tally[TSIM_TALLY_BUBBLE] += join;
        return;
    case TSIM_TASK_NORM: /* its wait is for the last reductions, its join for the other stages */
        tally[TSIM_TALLY_REDUCE] += wait;
        tally[TSIM_TALLY_NORM] += busy;
        tally[TSIM_TALLY_BUBBLE] += join;
        return;
    case TSIM_TASK_OPTIMIZER:
        tally[TSIM_TALLY_OPTIMIZERS]++;
        tally[TSIM_TALLY_BUBBLE] += wait;
        tally[TSIM_TALLY_OPTIMIZER] += busy;
        return;
    }
    TSIM_BUG("label %lld", (long long)label);
}

/* A collective of a pass begins with the GO to its ranks, and is over with the task after it. */
static void account_pass_collective(struct tsim_gang *gang, int64_t label, tsim_tick begin, tsim_tick end) {
    struct tsim_piecewise *w = &gang->piecewise;
    if (!w->under_way)
        return;
    if (tsim_label_kind(label) == TSIM_TASK_GO) {
        w->collective_begin = begin;
        return;
    }
    tsim_tick alone = tsim_engine_ticks(gang->engine, w->under_way->collective_s);
    bool is_context = w->under_way->axis == TSIM_AXIS_CONTEXT;
    gang->tally[is_context ? TSIM_TALLY_CONTEXT_BEYOND : TSIM_TALLY_TENSOR_BEYOND] += end - w->collective_begin - alone;
    w->under_way = NULL;
}

void tsim_account_compute(struct tsim_gang *gang, int64_t label, tsim_tick ready, tsim_tick begin, tsim_tick end) {
    account_pass_collective(gang, label, begin, end);
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
    account_task(gang, label, from, ready, begin, end);
}

/* ---- what it comes to ---- */

static double seconds(const struct tsim_gang *gang, enum tsim_tally tally) {
    return tsim_engine_seconds(gang->engine, gang->tally[tally]);
}

static void price_passes(struct tsim_gang *gang, struct tsim_pass_item item, int32_t place, double n) {
    struct tsim_gang_account *account = gang->account;
    const struct tsim_chunk_plan *chunk = &gang->stage_plan->chunks[item.chunk];
    int32_t segments = item.kind == TSIM_PASS_FORWARD ? chunk->n_gathers : chunk->n_reduces;
    struct tsim_pass_cost cost;
    tsim_gang_pass_cost(gang, item, place - 1,
                        place == 0                 ? 1
                        : gang->plan->shards_fully ? tsim_step_n_units(gang->plan, item.kind)
                                                   : segments,
                        &cost);
    account->terms.compute_s += n * cost.compute_s;
    account->terms.recompute_s += n * cost.recompute_s;
    account->terms.exposed_tensor_s += n * cost.exposed_tensor_s;
    account->terms.exposed_context_s += n * cost.exposed_context_s;
    account->terms.exposed_expert_s += n * cost.exposed_expert_s;
    account->terms.exposed_data_s += n * cost.exposed_data_s;
    account->interference_s -= n * cost.time_s;
    account->matrix_busy_s += n * cost.matrix_busy_s;
    account->memory_busy_s += n * cost.memory_busy_s;
    account->scale_up_bytes += n * cost.scale_up_bytes;
    account->nic_bytes += n * cost.nic_bytes;
    account->pass_nic_bytes += n * cost.nic_bytes;
}

static void price_all_passes(struct tsim_gang *gang) {
    struct tsim_pass_item item = {0};
    for (int32_t i = 0; i < gang->stage_plan->n_alike; i++)
        for (int kind = 0; kind < TSIM_N_PASS_KINDS; kind++)
            for (int32_t place = 0; place <= gang->most_segments; place++) {
                item.chunk = gang->stage_plan->alike[i];
                item.kind = (enum tsim_pass_kind)kind;
                int64_t n = gang->tally[pass_tally(gang, item, place)];
                if (n > 0)
                    price_passes(gang, item, place, (double)n);
            }
}

static void price_collective(struct tsim_gang *gang, const struct tsim_collective_cost *cost, int64_t n) {
    gang->account->scale_up_bytes += (double)n * cost->scale_up_bytes;
    gang->account->nic_bytes += (double)n * cost->nic_bytes;
}

static void price_collectives(struct tsim_gang *gang) {
    double hbm_bytes = (double)gang->tally[TSIM_TALLY_OPTIMIZERS] * gang->stage_plan->optimizer_hbm_bytes;
    for (int32_t i = 0; i < 2 * n_collectives(gang); i++) {
        int64_t n = gang->tally[TSIM_TALLY_COLLECTIVES + i];
        if (n == 0)
            continue;
        bool is_gather = i < n_collectives(gang);
        const struct tsim_collective_cost *cost = &collective_at(gang, is_gather, i % n_collectives(gang))->cost;
        price_collective(gang, cost, n);
        hbm_bytes += (double)n * cost->hbm_bytes;
    }
    price_collective(gang, &gang->plan->tied.cost, gang->tally[TSIM_TALLY_TIED]);
    price_collective(gang, &gang->to_next.cost, gang->tally[TSIM_TALLY_SENT]);
    price_collective(gang, &gang->to_prev.cost, gang->tally[TSIM_TALLY_SENT + 1]);
    gang->account->memory_busy_s += hbm_bytes / tsim_memory_rate(gang->plan->cluster->accelerator);
}

void tsim_account_close(struct tsim_gang *gang) {
    struct tsim_gang_account *account = gang->account;
    account->interference_s += seconds(gang, TSIM_TALLY_PASSES); /* passes are stretched by collectives beside them */
    price_all_passes(gang);
    double tensor_s = seconds(gang, TSIM_TALLY_TENSOR_BEYOND), context_s = seconds(gang, TSIM_TALLY_CONTEXT_BEYOND);
    account->terms.exposed_tensor_s += tensor_s;
    account->terms.exposed_context_s += context_s;
    account->interference_s -= tensor_s + context_s;
    price_collectives(gang);
    account->exposed_gather_s = seconds(gang, TSIM_TALLY_GATHER);
    account->exposed_reduce_s = seconds(gang, TSIM_TALLY_REDUCE);
    account->exposed_norm_s = seconds(gang, TSIM_TALLY_NORM);
    account->data_busy_s = seconds(gang, TSIM_TALLY_DATA_BUSY);
    account->send_busy_s = seconds(gang, TSIM_TALLY_SEND_BUSY);
    account->terms.bubble_s = seconds(gang, TSIM_TALLY_BUBBLE);
    account->terms.exposed_pipeline_s = seconds(gang, TSIM_TALLY_PIPELINE);
    account->terms.optimizer_s = seconds(gang, TSIM_TALLY_OPTIMIZER);
    account->terms.data_stall_s = seconds(gang, TSIM_TALLY_INPUT);
    account->terms.exposed_data_s +=
        account->exposed_gather_s + account->exposed_reduce_s + account->exposed_norm_s + account->interference_s;
}
