#include "training/gang.h"
#include "cost/compute.h"
#include "training/noise.h"
#include "training/pieces.h"
#include "workload/model.h"

#include <math.h>
#include <string.h>

static struct tsim_chunk_plan *chunk_of(const struct tsim_gang *gang, int32_t chunk) {
    return &gang->stage_plan->chunks[chunk];
}

/* Buckets of gathers or reductions are numbered chunk by chunk. */
static int32_t bucket_index(const struct tsim_gang *gang, int32_t chunk, bool backward, int32_t bucket) {
    return bucket + (backward ? chunk_of(gang, chunk)->first_reduce : chunk_of(gang, chunk)->first_gather);
}

/* Of a bucket that a backward pass releases, among the signals of such. */
static int32_t release_index(const struct tsim_gang *gang, struct tsim_pass_item item, int32_t bucket) {
    if (gang->plan->reduces_every_microbatch)
        return tsim_gang_slot(gang, item) * gang->most_segments + bucket;
    return bucket_index(gang, item.chunk, true, bucket);
}

/* The chunk that comes n-th where all ranks that hold a part must take the parts in the same order. */
static int32_t nth_chunk(const struct tsim_gang *gang, int32_t n) {
    bool exchanged = gang->plan->is_mirrored && gang->stage >= gang->plan->schedule.stages / 2;
    return exchanged ? gang->plan->schedule.chunks - 1 - n : n;
}

/* The bucket's number among those who join it: of the pair of stages, as the first of the two numbers them. */
static int32_t joint_index(const struct tsim_gang *gang, int32_t chunk, bool backward, int32_t bucket) {
    int32_t at = 0;
    if (!gang->plan->is_mirrored)
        return bucket_index(gang, chunk, backward, bucket);
    for (int32_t n = 0; nth_chunk(gang, n) != chunk; n++) {
        const struct tsim_chunk_plan *before = chunk_of(gang, nth_chunk(gang, n));
        at += backward ? before->n_reduces : before->n_gathers;
    }
    return at + bucket;
}

/* ---- segments of a pass ---- */

/* Time of layers from .. to - 1 of the chunk, as a share of the pass. */
static double layers_frac(const struct tsim_gang *gang, const struct tsim_chunk_plan *chunk,
                          const struct tsim_direction_plan *way, int64_t from, int64_t to) {
    double with_experts = (double)tsim_model_expert_layers(gang->plan->scenario->model, chunk->first_layer + from,
                                                           chunk->first_layer + to);
    return ((double)(to - from) - with_experts) * way->layer_frac + with_experts * way->expert_layer_frac;
}

static int32_t model_order(enum tsim_pass_kind kind, int32_t segment, int32_t n) {
    return kind == TSIM_PASS_FORWARD ? segment : n - 1 - segment;
}

/* Fully sharded: the unit of a layer that a segment is, and the layer; NULL: the root, which is the embedding, in model
 * order before all layers. The head runs with the last of them. */
static const struct tsim_layer_unit *unit_of_layer(const struct tsim_step_plan *plan, enum tsim_pass_kind kind,
                                                   int32_t segment, int64_t *layer) {
    const struct tsim_layer_units *units = &plan->layer_units[kind != TSIM_PASS_FORWARD];
    int32_t in_layers = segment - (kind == TSIM_PASS_FORWARD), n_layers = (int32_t)plan->scenario->model->layers;
    *layer = 0;
    if (in_layers < 0 || in_layers >= n_layers * units->n)
        return NULL;
    *layer = model_order(kind, in_layers / units->n, n_layers);
    return &units->at[in_layers % units->n];
}

static const struct tsim_layer_unit *unit_at(const struct tsim_step_plan *plan, enum tsim_pass_kind kind,
                                             int32_t segment) {
    int64_t layer;
    return unit_of_layer(plan, kind, segment, &layer);
}

/* Segments are in execution order: embedding first going forward, last going backward. */
static void segment_layers(const struct tsim_gang *gang, struct tsim_pass_item item, int32_t segment, int32_t n,
                           int64_t *from, int64_t *to) {
    if (gang->plan->shards_fully) {
        *to = unit_of_layer(gang->plan, item.kind, segment, from) ? *from + 1 : *from;
        return;
    }
    const struct tsim_chunk_plan *chunk = chunk_of(gang, item.chunk);
    int32_t in_model_order = model_order(item.kind, segment, n);
    *from = (int64_t)chunk->n_layers * in_model_order / n;
    *to = (int64_t)chunk->n_layers * (in_model_order + 1) / n;
}

struct tsim_segment_layers tsim_gang_segment_layers(const struct tsim_gang *gang, int32_t item, int32_t segment) {
    struct tsim_pass_item pass = tsim_gang_item(gang, item);
    const struct tsim_chunk_plan *chunk = chunk_of(gang, pass.chunk);
    int32_t n = tsim_gang_n_segments(gang, item), at = model_order(pass.kind, segment, n);
    struct tsim_segment_layers layers = {.has_embedding = at == 0 && chunk->has_embedding,
                                         .has_head = at == n - 1 && chunk->has_head};
    segment_layers(gang, pass, segment, n, &layers.from, &layers.to);
    layers.from += chunk->first_layer;
    layers.to += chunk->first_layer;
    return layers;
}

/* Of the pass's time. */
static double segment_frac(const struct tsim_gang *gang, struct tsim_pass_item item, int32_t segment, int32_t n) {
    const struct tsim_chunk_plan *chunk = chunk_of(gang, item.chunk);
    const struct tsim_direction_plan *way = &chunk->ways[item.kind];
    int32_t in_model_order = model_order(item.kind, segment, n);
    int64_t from, to;
    segment_layers(gang, item, segment, n, &from, &to);
    double frac = layers_frac(gang, chunk, way, from, to);
    const struct tsim_layer_unit *unit = gang->plan->shards_fully ? unit_at(gang->plan, item.kind, segment) : NULL;
    if (unit)
        frac *= unit->frac;
    return frac + (in_model_order == 0 ? way->embedding_frac : 0) + (in_model_order == n - 1 ? way->head_frac : 0);
}

/* Kernels take longer (or, by chance, less); collectives and the host, which launches them, do not. A pass that waits
 * for the host still does. */
static void slow_down(const struct tsim_gang *gang, double slowdown, struct tsim_pass_cost *cost) {
    double kernels_s = cost->compute_s - cost->host_excess_s + cost->recompute_s;
    double before_s = cost->compute_s + cost->recompute_s, least_s = cost->host_excess_s > 0 ? before_s : 0;
    double after_s = gang->plan->scenario->software->launch_blocking ? kernels_s * slowdown + cost->host_excess_s
                                                                     : fmax(kernels_s * slowdown, least_s);
    cost->recompute_s *= slowdown;
    cost->compute_s = after_s - cost->recompute_s;
    cost->host_excess_s = after_s - kernels_s * slowdown;
    cost->time_s += after_s - before_s;
}

static double slowdown_of(const struct tsim_gang *gang, int32_t index, int32_t segment,
                          const struct tsim_pass_cost *cost) {
    double kernels_s = cost->compute_s - cost->host_excess_s + cost->recompute_s;
    double noise_s = kernels_s > 0 ? tsim_noise_s(gang, index, segment, cost, kernels_s) : 0;
    return gang->slowdown * (1 + (noise_s != 0 ? noise_s / kernels_s : 0));
}

static void pass_cost(const struct tsim_gang *gang, struct tsim_pass_item item, int32_t segment, int32_t n,
                      struct tsim_pass_cost *cost) {
    *cost = chunk_of(gang, item.chunk)->ways[item.kind].whole;
    if (n > 1)
        tsim_pass_scale(cost, segment_frac(gang, item, segment, n));
}

void tsim_gang_pass_cost(const struct tsim_gang *gang, struct tsim_pass_item item, int32_t segment, int32_t n,
                         struct tsim_pass_cost *cost) {
    pass_cost(gang, item, segment, n, cost);
    if (gang->slowdown != 1)
        slow_down(gang, gang->slowdown, cost);
}

void tsim_gang_segment_cost(const struct tsim_gang *gang, int32_t index, int32_t segment, struct tsim_pass_cost *cost) {
    pass_cost(gang, tsim_gang_item(gang, index), segment, tsim_gang_n_segments(gang, index), cost);
    double slowdown = slowdown_of(gang, index, segment, cost);
    if (slowdown != 1)
        slow_down(gang, slowdown, cost);
}

bool tsim_gang_unit_has(const struct tsim_gang *gang, enum tsim_pass_kind kind, int32_t position, bool is_gather) {
    const struct tsim_layer_unit *unit = unit_at(gang->plan, kind, position);
    if (!unit)
        return is_gather == (kind == TSIM_PASS_FORWARD);
    return is_gather ? unit->gathers : unit->reduces;
}

const struct tsim_data_collective *tsim_gang_unit(const struct tsim_gang *gang, enum tsim_pass_kind kind,
                                                  int32_t position, bool is_gather) {
    const struct tsim_stage_plan *sp = gang->stage_plan;
    bool is_forward = kind == TSIM_PASS_FORWARD;
    int64_t layer;
    const struct tsim_layer_unit *unit = unit_of_layer(gang->plan, kind, position, &layer);
    if (!unit)
        return is_gather ? &sp->root_gather : &sp->root_reduce;
    if (gang->plan->gathers_products)
        return is_gather ? &sp->product_gathers[unit->product] : &sp->product_reduces[unit->product];
    if (tsim_model_expert_layers(gang->plan->scenario->model, layer, layer + 1) > 0)
        return !is_gather   ? &sp->expert_layer_reduce
               : is_forward ? &sp->expert_layer_gather
                            : &sp->expert_layer_regather;
    return !is_gather ? &sp->layer_reduce : is_forward ? &sp->layer_gather : &sp->layer_regather;
}

/* ---- demands ---- */

/* Kernels that a collective beside them slows use the time that they would wait for the host: the pass then takes the
 * longer of the two. Not where each launch waits for the kernel before it. */
static double device_frac(const struct tsim_step_plan *plan, const struct tsim_pass_cost *cost) {
    return plan->scenario->software->launch_blocking ? 1 : 1 - cost->host_excess_s / cost->time_s;
}

/* A pass with collectives of its own shares the links as an equal with what else uses them: else a reduction that fills
 * them would stop it. While both want a link whole for a part f of the pass's time, each runs at 1 / (1 + f), as
 * message by message. */
static void pass_task(struct tsim_gang *gang, const struct tsim_pass_cost *cost, struct tsim_task *task) {
    double up = gang->plan->cluster->scale_up_bytes_per_s;
    task->work = cost->time_s;
    task->bound_per_s = 1;
    if (gang->plan->is_ideal || !(cost->time_s > 0))
        return;
    double nic = fmin(cost->nic_bytes / cost->time_s, gang->plan->cluster->nic_bytes_per_s);
    if (nic > 0 || (cost->scale_up_bytes > 0 && up > 0))
        task->weight = TSIM_COLLECTIVE_WEIGHT;
    for (int32_t i = 0; i < gang->n_members; i++) {
        tsim_gang_demand(gang, TSIM_STREAM_COMPUTE, task, gang->members[i].device, device_frac(gang->plan, cost));
        if (up > 0) {
            double rate = fmin(cost->scale_up_bytes / cost->time_s, up);
            tsim_gang_demand(gang, TSIM_STREAM_COMPUTE, task, gang->members[i].scale_up_out, rate);
            tsim_gang_demand(gang, TSIM_STREAM_COMPUTE, task, gang->members[i].scale_up_in, rate);
        }
        tsim_gang_demand(gang, TSIM_STREAM_COMPUTE, task, gang->members[i].nic_out, nic);
        tsim_gang_demand(gang, TSIM_STREAM_COMPUTE, task, gang->members[i].nic_in, nic);
    }
}

struct tsim_task_shape *tsim_gang_keep_shape(const struct tsim_gang *gang, const struct tsim_task *task) {
    struct tsim_task_shape *shape = TSIM_NEW(gang->arena, struct tsim_task_shape);
    *shape = (struct tsim_task_shape){.n_demands = task->n_demands,
                                      .n_metered = task->n_metered,
                                      .latency = task->latency,
                                      .flow = tsim_engine_ticks(gang->engine, task->work),
                                      .work = task->work,
                                      .weight = task->weight};
    memcpy(shape->demands, task->demands, (size_t)task->n_demands * sizeof task->demands[0]);
    for (int32_t i = 0; i < task->n_metered; i++)
        shape->metered[i] = task->demands[tsim_metered_place(i)];
    return shape;
}

static void join_replicas(const struct tsim_gang *gang, int64_t kind, int64_t index, struct tsim_task *task) {
    int32_t stages = gang->plan->schedule.stages, owner = gang->stage;
    if (gang->plan->is_stepped)
        return;
    if (gang->plan->is_mirrored && owner >= stages / 2)
        owner = stages - 1 - owner;
    int32_t parties = gang->plan->n_replicas * (gang->plan->is_mirrored ? 2 : 1);
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

bool tsim_gang_route(const struct tsim_gang *gang, struct tsim_pass_item item, struct tsim_gang **to,
                     struct tsim_pass_item *there) {
    struct tsim_schedule_hop hop = tsim_gang_hop(gang, item);
    *to = hop.to_next ? gang->next : gang->prev;
    *there = item;
    there->chunk = hop.chunk;
    return hop.sends;
}

const struct tsim_collective_cost *tsim_gang_message(const struct tsim_gang *gang, struct tsim_pass_item item) {
    return tsim_gang_hop(gang, item).to_next ? &gang->to_next.cost : &gang->to_prev.cost;
}

static bool sends(const struct tsim_gang *gang, struct tsim_pass_item item) {
    return tsim_gang_hop(gang, item).sends;
}

static int32_t out_signal(const struct tsim_gang *gang, struct tsim_pass_item item) {
    return (item.kind == TSIM_PASS_FORWARD ? gang->forward_out : gang->backward_out) + tsim_gang_slot(gang, item);
}

void tsim_gang_demand_route(struct tsim_gang *gang, enum tsim_gang_stream stream, struct tsim_task *task, int32_t from,
                            int32_t to, double per_unit) {
    struct tsim_route route;
    tsim_topology_route(gang->links->topology, from, to, &route);
    for (int32_t i = 0; i < route.n; i++)
        tsim_gang_demand(gang, stream, task, gang->links->first_resource + route.links[i], per_unit);
}

/* The message without what it waits for and lowers. */
static void message_task(struct tsim_gang *gang, enum tsim_gang_stream stream, bool to_next, struct tsim_task *task) {
    struct tsim_gang *to = to_next ? gang->next : gang->prev;
    const struct tsim_step_message *message = to_next ? &gang->to_next : &gang->to_prev;
    const struct tsim_collective_cost *cost = &message->cost;
    double flow_s = cost->time_s - cost->latency_s;
    task->latency = cost->latency_s > 0 ? tsim_engine_ticks(gang->engine, cost->latency_s) : 0;
    task->work = fmax(flow_s, 0);
    task->bound_per_s = 1;
    task->weight = TSIM_COLLECTIVE_WEIGHT;
    if (gang->plan->is_ideal || !(flow_s > 0))
        return;
    for (int32_t i = 0; i < gang->n_members; i++) {
        if (gang->links) {
            tsim_gang_demand_route(gang, stream, task, gang->members[i].rank, to->members[i].rank,
                                   fmax(cost->scale_up_bytes, cost->nic_bytes) / flow_s);
        } else if (message->on_node) {
            tsim_gang_demand(gang, stream, task, gang->members[i].scale_up_out, cost->scale_up_bytes / flow_s);
            tsim_gang_demand(gang, stream, task, to->members[i].scale_up_in, cost->scale_up_bytes / flow_s);
        } else {
            tsim_gang_demand(gang, stream, task, gang->members[i].nic_out, cost->nic_bytes / flow_s);
            tsim_gang_demand(gang, stream, task, to->members[i].nic_in, cost->nic_bytes / flow_s);
        }
    }
}

static inline void send_task(struct tsim_gang *gang, enum tsim_gang_stream stream, int32_t index,
                             struct tsim_pass_item item, struct tsim_schedule_hop hop, struct tsim_task *task) {
    struct tsim_gang *to = hop.to_next ? gang->next : gang->prev;
    struct tsim_pass_item there = item;
    struct tsim_task_shape **shape = &gang->messages[hop.to_next ? 0 : 1];
    there.chunk = hop.chunk;
    if (*shape)
        tsim_gang_use_shape(*shape, task);
    else
        message_task(gang, stream, hop.to_next, task);
    if (!*shape && gang->shapes && !gang->links)
        *shape = tsim_gang_keep_shape(gang, task);
    task->label = tsim_label(TSIM_TASK_SEND, index, 0);
    int32_t slot = tsim_gang_slot(to, there);
    lower(task, item.kind == TSIM_PASS_FORWARD ? to->activation_in + slot : to->gradient_in + slot);
}

static int32_t unit_index(const struct tsim_gang *gang, int32_t item, int32_t segment) {
    return item * gang->plan->n_units + segment;
}

static void wait_for_message(struct tsim_gang *gang, struct tsim_pass_item item, struct tsim_task *task) {
    if (tsim_gang_receives(gang, item))
        wait_for(task, (item.kind == TSIM_PASS_FORWARD ? gang->activation_in : gang->gradient_in) +
                           tsim_gang_slot(gang, item));
}

/* Messages that leave after the item: of a pair, both leave after its second. */
static int32_t messages_after(const struct tsim_gang *gang, int32_t index, int32_t messages[2]) {
    int32_t n = 0, from = index - (tsim_gang_item(gang, index).pair == TSIM_PAIR_SECOND);
    if (tsim_gang_item(gang, index).pair == TSIM_PAIR_FIRST)
        return 0;
    for (int32_t i = from; i <= index; i++)
        if (sends(gang, tsim_gang_item(gang, i)))
            messages[n++] = i;
    return n;
}

static void message_signals(struct tsim_gang *gang, struct tsim_pass_item item, int32_t n_segments,
                            struct tsim_task *task) {
    if (gang->segment == 0 && item.pair != TSIM_PAIR_SECOND)
        wait_for_message(gang, item, task);
    if (gang->segment == 0 && item.pair == TSIM_PAIR_FIRST)
        wait_for_message(gang, tsim_gang_item(gang, gang->item + 1), task);
    if (gang->segment < n_segments - 1 || !gang->plan->sends_async)
        return;
    if (item.pair == TSIM_PAIR_NONE) {
        if (sends(gang, item))
            lower(task, out_signal(gang, item));
        return;
    }
    int32_t messages[2], n = messages_after(gang, gang->item, messages);
    for (int32_t i = 0; i < n; i++)
        lower(task, out_signal(gang, tsim_gang_item(gang, messages[i])));
}

static void pass_signals(struct tsim_gang *gang, struct tsim_pass_item item, int32_t n_segments,
                         struct tsim_task *task) {
    const struct tsim_step_plan *plan = gang->plan;
    message_signals(gang, item, n_segments, task);
    if (!plan->has_data_group)
        return;
    if (plan->shards_fully) {
        int32_t unit = unit_index(gang, gang->item, gang->segment);
        wait_for(task, gang->gathered + unit);
        lower(task, gang->segment_done + unit);
    } else if (!tsim_gang_meets_data(gang, item)) {
        return;
    } else if (item.kind == TSIM_PASS_FORWARD) {
        wait_for(task, gang->gathered + bucket_index(gang, item.chunk, false, gang->segment));
    } else {
        lower(task, gang->segment_done + release_index(gang, item, gang->segment));
    }
}

/* All that earlier passes have released must be reduced first; this one may release more. Fully sharded each segment of
 * a backward pass releases its unit. */
static void await_reductions(struct tsim_gang *gang, struct tsim_pass_item item, int32_t n_segments,
                             struct tsim_task *task) {
    bool is_unit = gang->plan->shards_fully;
    bool releases =
        is_unit ? tsim_gang_unit_has(gang, item.kind, gang->segment, false) : item.kind != TSIM_PASS_FORWARD;
    if ((gang->segment == 0 || is_unit) && gang->n_released > 0) {
        task->awaited_counter = gang->reductions;
        task->awaited_value = gang->n_released;
    }
    if (is_unit)
        gang->n_released += releases;
    else if (gang->segment == n_segments - 1 && releases && tsim_gang_meets_data(gang, item))
        gang->n_released += chunk_of(gang, item.chunk)->n_reduces;
}

/* ZeRO-2 beside the passes has room for two buckets, that which a pass fills and that which is reduced: before another
 * is filled, all but the last that was released must be reduced (torch.distributed.fsdp fully_shard,
 * FSDPParamGroup.post_backward: the pass waits for the reduce-scatter before; DeepSpeed
 * runtime/zero/stage_1_and_2.py, overlap_comm: two buffers in turn). */
static void await_bucket(struct tsim_gang *gang, struct tsim_task *task) {
    if (gang->n_released > 1) {
        task->awaited_counter = gang->reductions;
        task->awaited_value = gang->n_released - 1;
    }
    gang->n_released++;
}

static bool cut_pass(struct tsim_gang *gang, struct tsim_pass_item item, struct tsim_pass_cost *cost) {
    struct tsim_segment_layers layers = tsim_gang_segment_layers(gang, gang->item, gang->segment);
    struct tsim_piecewise segment = {.kind = item.kind,
                                     .has_embedding = layers.has_embedding,
                                     .has_head = layers.has_head,
                                     .from = layers.from,
                                     .to = layers.to,
                                     .label = tsim_label(TSIM_TASK_PASS, gang->item, gang->segment)};
    return tsim_pieces_cut(gang, &segment, cost);
}

/* What the pass waits for, its first piece does; what it lowers, its last. */
static void begin_pieces(struct tsim_gang *gang, struct tsim_task *task) {
    struct tsim_piecewise *w = &gang->piecewise;
    w->n_lowers = task->n_lowers;
    memcpy(w->lowers, task->lowers, sizeof w->lowers);
    task->n_lowers = 0;
    tsim_pieces_next(gang, task);
}

static void shaped_task(struct tsim_gang *gang, struct tsim_pass_item item, int32_t n_segments,
                        struct tsim_task *task) {
    struct tsim_task_shape **shape = &gang->shapes[tsim_gang_place(gang, item, n_segments > 1 ? 1 + gang->segment : 0)];
    if (*shape) {
        tsim_gang_use_shape(*shape, task);
        return;
    }
    struct tsim_pass_cost cost;
    tsim_gang_pass_cost(gang, item, gang->segment, n_segments, &cost);
    pass_task(gang, &cost, task);
    *shape = tsim_gang_keep_shape(gang, task);
}

/* True when the task is the first piece of several. */
static bool segment_task(struct tsim_gang *gang, struct tsim_pass_item item, int32_t n_segments,
                         struct tsim_task *task) {
    struct tsim_pass_cost cost;
    if (gang->shapes) {
        shaped_task(gang, item, n_segments, task);
        return false;
    }
    tsim_gang_segment_cost(gang, gang->item, gang->segment, &cost);
    bool is_cut = gang->plan->is_stepped && cut_pass(gang, item, &cost);
    pass_task(gang, &cost, task);
    return is_cut;
}

static void next_pass(struct tsim_gang *gang, struct tsim_task *task) {
    struct tsim_pass_item item = tsim_gang_item(gang, gang->item);
    int32_t n_segments = tsim_gang_n_segments(gang, gang->item);
    bool is_cut = segment_task(gang, item, n_segments, task);
    task->label = tsim_label(TSIM_TASK_PASS, gang->item, gang->segment);
    pass_signals(gang, item, n_segments, task);
    if (gang->plan->waits_for_reductions)
        await_reductions(gang, item, n_segments, task);
    else if (gang->plan->reduces_every_microbatch && !gang->plan->shards_fully && item.kind != TSIM_PASS_FORWARD &&
             tsim_gang_meets_data(gang, item))
        await_bucket(gang, task);
    if (is_cut)
        begin_pieces(gang, task);
    if (++gang->segment < n_segments)
        return;
    if (!gang->plan->sends_async)
        gang->n_owed = messages_after(gang, gang->item, gang->owed);
    gang->segment = 0;
    gang->item++;
    gang->has_batch = false;
}

bool tsim_gang_takes_input(const struct tsim_gang *gang, int32_t item) {
    struct tsim_pass_item pass = tsim_gang_item(gang, item);
    return gang->plan->input && pass.kind == TSIM_PASS_FORWARD && chunk_of(gang, pass.chunk)->has_embedding;
}

static bool next_input(struct tsim_gang *gang, struct tsim_task *task) {
    if (gang->has_batch || !tsim_gang_takes_input(gang, gang->item))
        return false;
    double wait_s = gang->plan->input->waits_s ? gang->plan->input->waits_s[gang->n_asked] : 0;
    task->label = tsim_label(TSIM_TASK_INPUT, gang->item, 0);
    task->latency = wait_s > 0 ? tsim_engine_ticks(gang->engine, wait_s) : 0;
    gang->n_asked++;
    gang->has_batch = true;
    return true;
}

/* What follows the passes, in order; returns false when this tail step does not exist here. */
enum tail { TAIL_REDUCE, TAIL_TIED, TAIL_NORM, TAIL_OPTIMIZER, TAIL_GATHER, TAIL_END };

static bool tail_reduce(struct tsim_gang *gang, struct tsim_task *task) {
    const struct tsim_step_plan *plan = gang->plan;
    if (!plan->has_data_group || plan->overlaps_reduces || plan->shards_fully)
        return false;
    if (gang->tail_at == plan->schedule.chunks)
        return gang->tail_at = 0, false;
    int32_t chunk = nth_chunk(gang, plan->schedule.chunks - 1 - gang->tail_at);
    task->label = tsim_label(TSIM_TASK_REDUCE, -1, chunk);
    tsim_gang_collective(gang, TSIM_STREAM_COMPUTE, &chunk_of(gang, chunk)->reduce, task);
    join_replicas(gang, TSIM_TASK_REDUCE, gang->tail_at, task);
    gang->tail_at++;
    return true;
}

static bool tail_gather(struct tsim_gang *gang, struct tsim_task *task) {
    const struct tsim_step_plan *plan = gang->plan;
    if (!plan->has_data_group || !plan->gathers || plan->overlaps_gathers || gang->tail_at == plan->schedule.chunks)
        return false;
    int32_t chunk = nth_chunk(gang, gang->tail_at);
    task->label = tsim_label(TSIM_TASK_GATHER, -1, chunk);
    tsim_gang_collective(gang, TSIM_STREAM_COMPUTE, &chunk_of(gang, chunk)->gather, task);
    join_replicas(gang, TSIM_TASK_GATHER, gang->tail_at, task);
    gang->tail_at++;
    return true;
}

static bool tail_tied(struct tsim_gang *gang, struct tsim_task *task) {
    const struct tsim_step_plan *plan = gang->plan;
    if (!plan->has_tied_reduction || (gang->stage != 0 && gang->stage != plan->schedule.stages - 1))
        return false;
    task->label = tsim_label(TSIM_TASK_TIED, -1, 0);
    tsim_gang_collective(gang, TSIM_STREAM_COMPUTE, &plan->tied, task);
    task->join = ((int64_t)TSIM_TASK_TIED << 56) | gang->replica;
    task->n_parties = 2;
    return true;
}

static void tail_norm(struct tsim_gang *gang, struct tsim_task *task) {
    const struct tsim_step_plan *plan = gang->plan;
    task->label = tsim_label(TSIM_TASK_NORM, -1, 0);
    task->latency = plan->norm.time_s > 0 ? tsim_engine_ticks(gang->engine, plan->norm.time_s) : 0;
    task->join = (int64_t)TSIM_TASK_NORM << 56 | (plan->bypasses_norm ? gang->stage : 0);
    task->n_parties = (plan->bypasses_norm ? 1 : plan->schedule.stages) * plan->n_replicas;
    if (gang->n_reductions > 0)
        wait_for(task, gang->reduced);
}

static void tail_optimizer(struct tsim_gang *gang, struct tsim_task *task) {
    struct tsim_pass_cost cost = {.time_s = gang->stage_plan->optimizer_s * gang->slowdown,
                                  .hbm_bytes = gang->stage_plan->optimizer_hbm_bytes};
    task->label = tsim_label(TSIM_TASK_OPTIMIZER, -1, 0);
    pass_task(gang, &cost, task);
}

static bool next_tail(struct tsim_gang *gang, struct tsim_task *task) {
    if (gang->plan->is_forward_only)
        return false;
    for (; gang->tail < TAIL_END; gang->tail++) {
        switch ((enum tail)gang->tail) {
        case TAIL_REDUCE:
            if (tail_reduce(gang, task))
                return true;
            break;
        case TAIL_TIED:
            if (tail_tied(gang, task))
                return gang->tail++, true;
            break;
        case TAIL_NORM:
            tail_norm(gang, task);
            return gang->tail++, true;
        case TAIL_OPTIMIZER:
            tail_optimizer(gang, task);
            return gang->tail++, true;
        case TAIL_GATHER:
            if (tail_gather(gang, task))
                return true;
            break;
        case TAIL_END:
            break;
        }
    }
    return false;
}

static bool next_compute(struct tsim_gang *gang, struct tsim_task *task) {
    if (gang->piecewise.is_active) {
        pass_task(gang, &gang->piecewise.rest, task);
        tsim_pieces_next(gang, task);
        return true;
    }
    if (gang->n_owed > 0) {
        struct tsim_pass_item item = tsim_gang_item(gang, gang->owed[0]);
        send_task(gang, TSIM_STREAM_COMPUTE, gang->owed[0], item, tsim_gang_hop(gang, item), task);
        gang->owed[0] = gang->owed[1];
        gang->n_owed--;
        return true;
    }
    if (gang->item < gang->n_items) {
        if (next_input(gang, task))
            return true;
        next_pass(gang, task);
        return true;
    }
    return next_tail(gang, task);
}

static bool next_plain_pass(struct tsim_gang *gang, struct tsim_task *task) {
    if (gang->segment > 0 || gang->item >= gang->n_items)
        return false;
    struct tsim_pass_item item = tsim_gang_item(gang, gang->item);
    const struct tsim_pass_route *route = tsim_gang_path(gang, item);
    const struct tsim_task_shape *shape = gang->shapes[tsim_gang_place(gang, item, 0)];
    if (!shape || tsim_gang_meets_data(gang, item))
        return false;
    tsim_gang_use_shape(shape, task);
    task->label = tsim_label(TSIM_TASK_PASS, gang->item, 0);
    if (route->receives)
        wait_for(task, (item.kind == TSIM_PASS_FORWARD ? gang->activation_in : gang->gradient_in) +
                           tsim_gang_slot(gang, item));
    if (route->hop.sends)
        lower(task, out_signal(gang, item));
    gang->item++;
    return true;
}

bool tsim_gang_compute(void *context, int32_t stream, struct tsim_task *task) {
    struct tsim_gang *gang = context;
    (void)stream;
    if (gang->is_plain && next_plain_pass(gang, task))
        return true;
    return tsim_gang_next(context, TSIM_STREAM_COMPUTE, task, next_compute);
}

/* ---- sends ---- */

static bool next_send(struct tsim_gang *gang, bool to_next, enum tsim_gang_stream stream, struct tsim_task *task) {
    int32_t *at = &gang->send_at[to_next ? 0 : 1];
    for (; *at < gang->n_items; (*at)++) {
        struct tsim_pass_item item = tsim_gang_item(gang, *at);
        struct tsim_schedule_hop hop = tsim_gang_hop(gang, item);
        if (!hop.sends || hop.to_next != to_next)
            continue;
        send_task(gang, stream, *at, item, hop, task);
        wait_for(task, out_signal(gang, item));
        (*at)++;
        return true;
    }
    return false;
}

bool tsim_gang_send_next(void *context, int32_t stream, struct tsim_task *task) {
    (void)stream;
    return next_send(context, true, TSIM_STREAM_NEXT, task);
}

bool tsim_gang_send_prev(void *context, int32_t stream, struct tsim_task *task) {
    (void)stream;
    return next_send(context, false, TSIM_STREAM_PREV, task);
}

/* ---- data stream: ZeRO-0 to 2 ---- */

/* Gathers of all chunks in model order, then the reductions in the order in which backward passes release them. */
static bool next_bucket(struct tsim_gang *gang, struct tsim_task *task) {
    const struct tsim_step_plan *plan = gang->plan;
    if (plan->gathers && plan->overlaps_gathers && gang->gather_chunk < plan->schedule.chunks) {
        int32_t chunk = nth_chunk(gang, gang->gather_chunk), bucket = gang->gather_bucket;
        int32_t index = bucket_index(gang, chunk, false, bucket);
        task->label = tsim_label(TSIM_TASK_GATHER, -1, index);
        tsim_gang_collective(gang, TSIM_STREAM_DATA, &chunk_of(gang, chunk)->gather, task);
        join_replicas(gang, TSIM_TASK_GATHER, joint_index(gang, chunk, false, bucket), task);
        lower(task, gang->gathered + index);
        if (++gang->gather_bucket == chunk_of(gang, chunk)->n_gathers)
            gang->gather_bucket = 0, gang->gather_chunk++;
        return true;
    }
    if (!plan->overlaps_reduces)
        return false;
    for (; gang->reduce_item < gang->n_items; gang->reduce_item++, gang->reduce_bucket = 0) {
        struct tsim_pass_item item = tsim_gang_item(gang, gang->reduce_item);
        if (item.kind == TSIM_PASS_FORWARD || !tsim_gang_meets_data(gang, item) ||
            gang->reduce_bucket == chunk_of(gang, item.chunk)->n_reduces)
            continue;
        int32_t bucket = gang->reduce_bucket++, index = release_index(gang, item, bucket), joint = index;
        if (plan->is_mirrored) {
            int32_t round = plan->reduces_every_microbatch ? item.microbatch - gang->n_skipped[1] : 0;
            joint = round * gang->stage_plan->n_reduces + joint_index(gang, item.chunk, true, bucket);
        }
        if (plan->reduces_every_microbatch)
            task->label = tsim_label(TSIM_TASK_REDUCE, gang->reduce_item, bucket);
        else
            task->label = tsim_label(TSIM_TASK_REDUCE, -1, index);
        tsim_gang_collective(gang, TSIM_STREAM_DATA, &chunk_of(gang, item.chunk)->reduce, task);
        join_replicas(gang, TSIM_TASK_REDUCE, joint, task);
        wait_for(task, gang->segment_done + index);
        lower(task, gang->reduced);
        task->raised_counter = gang->reductions;
        return true;
    }
    return false;
}

/* ---- data stream: ZeRO-3 ---- */

/* Gathers of a backward pass before its first reduction: as many units as are held whole at one time, that which runs
 * and those gathered ahead of it. One that is waited for does not wait for a reduction that may run beside the next
 * unit. */
static int32_t n_gathered_first(const struct tsim_gang *gang) {
    const struct tsim_parallelism_spec *p = &gang->plan->scenario->parallelism;
    const struct tsim_layer_units *units = &gang->plan->layer_units[1];
    int32_t most = p->overlap.parameters || !p->overlap.gradients ? 1 : 2;
    for (int32_t i = 0; i < units->n; i++)
        most = units->at[i].places > most ? units->at[i].places : most;
    return most;
}

/* The index of the unit so many places before, in execution order; -1: there is none. */
static int32_t unit_before(const struct tsim_gang *gang, int32_t item, int32_t position, int32_t places) {
    for (position -= places; position < 0; position += tsim_gang_n_segments(gang, item))
        if (--item < 0)
            return -1;
    return unit_index(gang, item, position);
}

/* The parameters of unit `position` (execution order) of an item: gathered when there is room for it, that is when one
 * some places earlier is done (FSDP's rate limiter; DeepSpeed fetches what comes next when a module begins). */
static void unit_gather(struct tsim_gang *gang, int32_t item, int32_t position, struct tsim_task *task) {
    enum tsim_pass_kind kind = tsim_gang_item(gang, item).kind;
    const struct tsim_layer_unit *own = unit_at(gang->plan, kind, position);
    int32_t unit = unit_index(gang, item, position),
            before = own ? unit_before(gang, item, position, own->places) : -1; /* the root comes first of all */
    task->label = tsim_label(TSIM_TASK_GATHER, item, position);
    tsim_gang_collective(gang, TSIM_STREAM_DATA, tsim_gang_unit(gang, kind, position, true), task);
    join_replicas(gang, TSIM_TASK_GATHER, unit, task);
    if (before >= 0)
        wait_for(task, gang->segment_done + before);
    lower(task, gang->gathered + unit);
}

static void unit_reduce(struct tsim_gang *gang, int32_t item, int32_t position, struct tsim_task *task) {
    int32_t unit = unit_index(gang, item, position);
    task->label = tsim_label(TSIM_TASK_REDUCE, item, position);
    tsim_gang_collective(gang, TSIM_STREAM_DATA, tsim_gang_unit(gang, tsim_gang_item(gang, item).kind, position, false),
                         task);
    join_replicas(gang, TSIM_TASK_REDUCE, unit, task);
    wait_for(task, gang->segment_done + unit);
    lower(task, gang->reduced);
    if (gang->plan->waits_for_reductions)
        task->raised_counter = gang->reductions;
}

/* Forward: gathers in order. Backward: as many gathers as come first, then a reduction and a gather in turn, of units
 * that have them; no gathers where parameters stay after the forward pass. The root unit (embedding, final norm, head)
 * is gathered once a step and kept; it is the last to be reduced. */
static bool next_unit(struct tsim_gang *gang, struct tsim_task *task) {
    int32_t ahead = n_gathered_first(gang);
    bool gathers_again = gang->plan->scenario->parallelism.reshard_after_forward;
    while (gang->unit_item < gang->n_items) {
        struct tsim_pass_item item = tsim_gang_item(gang, gang->unit_item);
        int32_t at = gang->unit_position++, index = gang->unit_item;
        bool is_forward = item.kind == TSIM_PASS_FORWARD;
        int32_t n = tsim_step_n_units(gang->plan, item.kind), n_positions = is_forward ? n : 2 * n + ahead;
        if (at == n_positions) {
            gang->unit_position = 0;
            gang->unit_item++;
            continue;
        }
        if (is_forward) {
            if (at == 0 && index > 0)
                continue;
            unit_gather(gang, index, at, task);
            return true;
        }
        bool is_reduce = at >= ahead && (at - ahead) % 2 == 0;
        int32_t position = at < ahead ? at : (at - ahead) / 2 + (is_reduce ? 0 : ahead);
        if (position >= n || !tsim_gang_unit_has(gang, item.kind, position, !is_reduce))
            continue;
        if (is_reduce) {
            unit_reduce(gang, index, position, task);
            return true;
        }
        if (gathers_again) {
            unit_gather(gang, index, position, task);
            return true;
        }
    }
    return false;
}

bool tsim_gang_data(void *context, int32_t stream, struct tsim_task *task) {
    const struct tsim_gang *gang = context;
    (void)stream;
    return gang->plan->has_data_group &&
           tsim_gang_next(context, TSIM_STREAM_DATA, task, gang->plan->shards_fully ? next_unit : next_bucket);
}
