#include "training/program.h"

#include "cost/compute.h"
#include "training/gang.h"
#include "workload/model.h"

#include <math.h>
#include <string.h>

#define STEP_TICK_S 1e-12
/* The gradient's norm is one number per rank: the smallest message there is. */
#define NORM_BYTES 8.0
/* A stage's optimizer runs as a few multi-tensor kernels. */
#define OPTIMIZER_KERNELS 4.0
/* Megatron-LM's default bucket: max(40 million, 1 million x data-parallel size) elements
 * (distributed_data_parallel_config.py). */
#define DEFAULT_BUCKET_ELEMENTS 40e6
#define DEFAULT_BUCKET_ELEMENTS_PER_RANK 1e6

enum { AXES_DATA = 1u << TSIM_AXIS_DATA | 1u << TSIM_AXIS_CONTEXT };

/* ---- the plan: everything that does not change during the step ---- */

static double communicated_weight_bytes(const struct tsim_scenario *sc) {
    return sc->training.precision == TSIM_FP8                                           ? 1
           : sc->training.precision == TSIM_FP32 || sc->training.precision == TSIM_TF32 ? 4
                                                                                        : 2;
}

static void collective(const struct tsim_step_plan *plan, enum tsim_collective_op op, double bytes,
                       struct tsim_group group, struct tsim_collective_cost *cost) {
    struct tsim_collective_request request = {
        .op = op, .bytes = bytes, .group = group, .network = plan->scenario->simulation.network};
    tsim_collective_cost(plan->cluster, &request, cost);
}

/* The part of the data-parallel group that shards together, and the ranks that hold the same shard. */
static struct tsim_group shard_group(const struct tsim_scenario *sc, struct tsim_group data) {
    int32_t n = (int32_t)sc->parallelism.zero_group_ranks;
    if (n >= data.n_ranks)
        return data;
    int32_t per_node = data.max_ranks_per_node < n ? data.max_ranks_per_node : n;
    return (struct tsim_group){.n_ranks = n,
                               .n_nodes = (n + per_node - 1) / per_node,
                               .max_ranks_per_node = per_node,
                               .min_ranks_per_node = per_node};
}

static struct tsim_group replica_group(struct tsim_group data, struct tsim_group shard) {
    int32_t n = data.n_ranks / shard.n_ranks;
    int32_t per_node = data.max_ranks_per_node / shard.max_ranks_per_node;
    if (shard.n_nodes > 1 || per_node < 1)
        per_node = 1;
    return (struct tsim_group){.n_ranks = n,
                               .n_nodes = (n + per_node - 1) / per_node,
                               .max_ranks_per_node = per_node,
                               .min_ranks_per_node = per_node};
}

static void add_collective(struct tsim_collective_cost *sum, const struct tsim_collective_cost *more) {
    sum->latency_s += more->latency_s;
    sum->time_s += more->time_s;
    sum->scale_up_bytes += more->scale_up_bytes;
    sum->nic_bytes += more->nic_bytes;
    sum->hbm_bytes += more->hbm_bytes;
    sum->sm_frac = fmax(sum->sm_frac, more->sm_frac);
}

/* Gradients of `parameters`: all-reduced whole (ZeRO-0), scattered over the shards, and summed over their replicas. */
static void reduction(const struct tsim_step_plan *plan, struct tsim_group data, double parameters,
                      struct tsim_collective_cost *cost) {
    const struct tsim_scenario *sc = plan->scenario;
    double bytes = parameters * tsim_gradient_bytes(sc);
    if (sc->parallelism.zero == 0) {
        collective(plan, TSIM_ALL_REDUCE, bytes, data, cost);
        return;
    }
    struct tsim_group shard = shard_group(sc, data);
    collective(plan, TSIM_REDUCE_SCATTER, bytes, shard, cost);
    if (shard.n_ranks < data.n_ranks) {
        struct tsim_collective_cost across;
        collective(plan, TSIM_ALL_REDUCE, bytes / shard.n_ranks, replica_group(data, shard), &across);
        add_collective(cost, &across);
    }
}

static void gathering(const struct tsim_step_plan *plan, struct tsim_group data, double parameters,
                      struct tsim_collective_cost *cost) {
    collective(plan, TSIM_ALL_GATHER, parameters * communicated_weight_bytes(plan->scenario),
               shard_group(plan->scenario, data), cost);
}

static void plan_direction(const struct tsim_pass_costs *costs, const struct tsim_chunk_plan *chunk, bool backward,
                           struct tsim_direction_plan *way) {
    const struct tsim_pass_cost *layer = backward ? &costs->layer.backward : &costs->layer.forward;
    const struct tsim_pass_cost *embedding = backward ? &costs->embedding.backward : &costs->embedding.forward;
    const struct tsim_pass_cost *head = backward ? &costs->head.backward : &costs->head.forward;
    tsim_pass_sum(costs, backward, chunk->has_embedding, chunk->n_layers, chunk->has_head, &way->whole);
    double accelerator_s = chunk->n_layers * layer->time_s + (chunk->has_embedding ? embedding->time_s : 0) +
                           (chunk->has_head ? head->time_s : 0);
    double scale = accelerator_s > 0 ? 1 / accelerator_s : 0;
    way->layer_frac = layer->time_s * scale;
    way->embedding_frac = chunk->has_embedding ? embedding->time_s * scale : 0;
    way->head_frac = chunk->has_head ? head->time_s * scale : 0;
}

/* Megatron-Core cuts only the part whose reduction nothing else can hide, the model's first, into buckets. */
static int32_t n_buckets(const struct tsim_step_plan *plan, struct tsim_group data,
                         const struct tsim_chunk_plan *chunk) {
    if (!chunk->has_embedding)
        return 1;
    double bucket = plan->scenario->software->bucket_elements > 0
                        ? (double)plan->scenario->software->bucket_elements
                        : fmax(DEFAULT_BUCKET_ELEMENTS, DEFAULT_BUCKET_ELEMENTS_PER_RANK * data.n_ranks);
    double n = fmin(ceil(chunk->parameters / bucket), fmax(chunk->n_layers, 1));
    return (int32_t)fmax(n, 1);
}

static void plan_chunk(const struct tsim_step_plan *plan, const struct tsim_pass_costs *costs, struct tsim_group data,
                       int32_t stage, int32_t index, struct tsim_chunk_plan *chunk) {
    const struct tsim_scenario *sc = plan->scenario;
    chunk->has_embedding = stage == 0 && index == 0;
    chunk->has_head = stage == plan->schedule.stages - 1 && index == plan->schedule.chunks - 1;
    chunk->n_layers = (int32_t)tsim_chunk_layers(sc, stage, index);
    chunk->parameters = tsim_chunk_parameters(sc, stage, index);
    plan_direction(costs, chunk, false, &chunk->forward);
    plan_direction(costs, chunk, true, &chunk->backward);
    int32_t buckets = n_buckets(plan, data, chunk);
    chunk->forward.n_buckets = plan->gathers && plan->overlaps_gathers ? buckets : 1;
    chunk->backward.n_buckets = plan->overlaps_reduces ? buckets : 1;
    if (plan->has_data_group && !plan->shards_fully) {
        gathering(plan, data, chunk->parameters / chunk->forward.n_buckets, &chunk->gather);
        reduction(plan, data, chunk->parameters / chunk->backward.n_buckets, &chunk->reduce);
    }
}

static void plan_send(const struct tsim_step_plan *plan, const struct tsim_placement *placement, int32_t from,
                      int32_t to, bool *on_node, struct tsim_collective_cost *cost) {
    const struct tsim_scenario *sc = plan->scenario;
    double e = sc->training.precision == TSIM_FP32 || sc->training.precision == TSIM_TF32 ? 4 : 2;
    double tokens = (double)(sc->training.micro_batch_size * sc->training.sequence_length / sc->parallelism.context);
    double whole = tokens * (double)sc->model->hidden * e, tp = (double)sc->parallelism.tensor;
    struct tsim_coordinates at = {.at[TSIM_AXIS_PIPELINE] = from};
    int32_t a = tsim_placement_rank(placement, &at);
    at.at[TSIM_AXIS_PIPELINE] = to;
    *on_node = tsim_placement_same_node(placement, a, tsim_placement_rank(placement, &at));
    struct tsim_group pair = {.n_ranks = 2,
                              .n_nodes = *on_node ? 1 : 2,
                              .max_ranks_per_node = *on_node ? 2 : 1,
                              .min_ranks_per_node = *on_node ? 2 : 1};
    /* Scatter/gather (Narayanan et al. 2021, section 4.1): each tensor rank sends its share; without sequence
     * parallelism the receiver gathers the whole over its scale-up links. */
    collective(plan, TSIM_SEND_RECV, whole / tp, pair, cost);
    if (tp > 1 && !sc->parallelism.sequence) {
        struct tsim_collective_cost gather;
        collective(plan, TSIM_ALL_GATHER, whole, tsim_placement_group(placement, 1u << TSIM_AXIS_TENSOR), &gather);
        cost->latency_s += gather.time_s;
        cost->time_s += gather.time_s;
    }
}

static void plan_fully_sharded(const struct tsim_step_plan *plan, struct tsim_group data, struct tsim_stage_plan *sp) {
    double layer = 0, root = sp->chunks[0].parameters;
    if (sp->chunks[0].n_layers > 0) {
        struct tsim_parameters p;
        tsim_model_count(plan->scenario->model, &p);
        layer = (p.layer_attention + p.layer_ffn) / (double)plan->scenario->parallelism.tensor + p.layer_norms;
        root -= layer * sp->chunks[0].n_layers;
    }
    gathering(plan, data, layer, &sp->layer_gather);
    reduction(plan, data, layer, &sp->layer_reduce);
    gathering(plan, data, root, &sp->root_gather);
    reduction(plan, data, root, &sp->root_reduce);
}

static void plan_stage(struct tsim_arena *arena, const struct tsim_step_plan *plan, const struct tsim_pass_costs *costs,
                       const struct tsim_placement *placement, struct tsim_group data, int32_t stage,
                       struct tsim_stage_plan *sp) {
    const struct tsim_scenario *sc = plan->scenario;
    int32_t p = plan->schedule.stages;
    sp->chunks = TSIM_NEW_ARRAY(arena, (size_t)plan->schedule.chunks, struct tsim_chunk_plan);
    for (int32_t c = 0; c < plan->schedule.chunks; c++) {
        plan_chunk(plan, costs, data, stage, c, &sp->chunks[c]);
        sp->n_gathers += sp->chunks[c].forward.n_buckets;
        sp->n_reduces += sp->chunks[c].backward.n_buckets;
    }
    double shards = sc->parallelism.zero >= 1 ? (double)sc->parallelism.zero_group_ranks : 1;
    sp->optimizer_hbm_bytes = tsim_stage_parameters(sc, stage) / shards * sc->software->optimizer_traffic_bytes;
    sp->optimizer_s = sp->optimizer_hbm_bytes / tsim_memory_rate(plan->cluster->accelerator) +
                      OPTIMIZER_KERNELS * plan->cluster->accelerator->kernel_latency_s;
    if (p > 1) {
        plan_send(plan, placement, stage, (stage + 1) % p, &sp->next_on_node, &sp->send_next);
        plan_send(plan, placement, stage, (stage + p - 1) % p, &sp->prev_on_node, &sp->send_prev);
    }
    if (plan->shards_fully && plan->has_data_group)
        plan_fully_sharded(plan, data, sp);
}

static struct tsim_step_plan *build_plan(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                         const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                                         const struct tsim_pass_costs *costs) {
    struct tsim_step_plan *plan = TSIM_NEW(arena, struct tsim_step_plan);
    struct tsim_group data = tsim_placement_group(placement, AXES_DATA);
    int zero = sc->parallelism.zero;
    plan->scenario = sc;
    plan->cluster = cluster;
    plan->schedule = tsim_scenario_schedule(sc);
    plan->n_items = tsim_schedule_n_items(&plan->schedule);
    plan->n_units = (int32_t)sc->model->layers + 1;
    plan->is_ideal = sc->simulation.network == TSIM_NETWORK_IDEAL;
    plan->has_data_group = data.n_ranks > 1;
    plan->shards_fully = zero == 3 && plan->has_data_group;
    plan->gathers = zero == 1 || zero == 2;
    plan->overlaps_gathers = sc->parallelism.overlap.parameters;
    plan->overlaps_reduces = sc->parallelism.overlap.gradients || zero >= 2;
    plan->reduces_every_microbatch = zero >= 2;
    plan->sends_async = sc->parallelism.overlap.pipeline;
    plan->n_replicas = sc->simulation.fold ? 1 : (int32_t)sc->parallelism.data;
    plan->stages = TSIM_NEW_ARRAY(arena, (size_t)plan->schedule.stages, struct tsim_stage_plan);
    for (int32_t s = 0; s < plan->schedule.stages; s++)
        plan_stage(arena, plan, costs, placement, data, s, &plan->stages[s]);
    plan->has_tied_reduction = sc->model->tied_embeddings && plan->schedule.stages > 1;
    if (plan->has_tied_reduction) {
        bool on_node = plan->stages[0].prev_on_node;
        struct tsim_group pair = {.n_ranks = 2,
                                  .n_nodes = on_node ? 1 : 2,
                                  .max_ranks_per_node = on_node ? 2 : 1,
                                  .min_ranks_per_node = on_node ? 2 : 1};
        collective(plan, TSIM_ALL_REDUCE,
                   tsim_padded_vocab_per_rank(sc) * (double)sc->model->hidden * tsim_gradient_bytes(sc), pair,
                   &plan->tied);
    }
    if (sc->n_accelerators > 1)
        collective(plan, TSIM_ALL_REDUCE, NORM_BYTES, tsim_placement_group(placement, (1u << TSIM_N_AXES) - 1),
                   &plan->norm);
    return plan;
}

/* ---- gangs on the engine ---- */

struct stream_owner {
    struct tsim_gang *gang;
    enum tsim_gang_stream stream;
};

struct step_run {
    struct tsim_step_plan *plan;
    struct tsim_engine *engine;
    struct tsim_gang *gangs;
    struct stream_owner *owners; /* by stream */
    int32_t n_gangs;
};

static void add_resources(struct tsim_arena *arena, struct step_run *run, struct tsim_gang *gang) {
    const struct tsim_scenario *sc = run->plan->scenario;
    const struct tsim_cluster *cluster = run->plan->cluster;
    gang->n_members = sc->simulation.fold ? 1 : (int32_t)(sc->parallelism.tensor * sc->parallelism.context);
    struct tsim_member *members = TSIM_NEW_ARRAY(arena, (size_t)gang->n_members, struct tsim_member);
    for (int32_t i = 0; i < gang->n_members; i++) {
        members[i].units = tsim_engine_add_resource(run->engine, 1);
        members[i].hbm = tsim_engine_add_resource(run->engine, tsim_memory_rate(cluster->accelerator));
        members[i].scale_up = tsim_engine_add_resource(run->engine, fmax(cluster->scale_up_bytes_per_s, 1));
        members[i].nic_out = tsim_engine_add_resource(run->engine, fmax(cluster->nic_bytes_per_s, 1));
        members[i].nic_in = tsim_engine_add_resource(run->engine, fmax(cluster->nic_bytes_per_s, 1));
    }
    gang->members = members;
    gang->demands = TSIM_NEW_ARRAY(arena, (size_t)gang->n_members * 8 * TSIM_N_STREAMS, struct tsim_demand);
}

static void add_signals(struct tsim_arena *arena, struct step_run *run, struct tsim_gang *gang) {
    const struct tsim_step_plan *plan = run->plan;
    int32_t slots = plan->schedule.microbatches * plan->schedule.chunks;
    struct tsim_engine *engine = run->engine;
    if (plan->schedule.stages > 1) {
        gang->activation_in = tsim_engine_add_signals(engine, slots, 1);
        gang->gradient_in = tsim_engine_add_signals(engine, slots, 1);
        if (plan->sends_async) {
            gang->forward_out = tsim_engine_add_signals(engine, slots, 1);
            gang->backward_out = tsim_engine_add_signals(engine, slots, 1);
        }
    }
    gang->activation_begin = TSIM_NEW_ARRAY(arena, (size_t)slots * 4, tsim_tick);
    gang->activation_end = gang->activation_begin + slots;
    gang->gradient_begin = gang->activation_end + slots;
    gang->gradient_end = gang->gradient_begin + slots;
    if (!plan->has_data_group)
        return;
    int32_t rounds = plan->reduces_every_microbatch ? plan->schedule.microbatches : 1;
    int32_t n_gathers = gang->stage_plan->n_gathers, n_done = gang->stage_plan->n_reduces * rounds;
    gang->n_reductions = plan->overlaps_reduces ? n_done : 0;
    if (plan->shards_fully) {
        n_gathers = n_done = plan->n_items * plan->n_units;
        gang->n_reductions = plan->schedule.microbatches * plan->n_units;
    }
    gang->gathered = tsim_engine_add_signals(engine, n_gathers, 1);
    gang->segment_done = tsim_engine_add_signals(engine, n_done, 1);
    if (gang->n_reductions > 0)
        gang->reduced = tsim_engine_add_signals(engine, 1, gang->n_reductions);
    if (plan->shards_fully) /* the root unit stays gathered after the first forward pass */
        for (int32_t i = 1; i < plan->n_items; i++) {
            int32_t root = tsim_gang_item(gang, i).is_backward ? plan->n_units - 1 : 0;
            tsim_engine_rearm(engine, gang->gathered + i * plan->n_units + root, 0);
        }
}

static void add_streams(struct step_run *run, struct tsim_gang *gang) {
    static const tsim_program_fn PROGRAMS[TSIM_N_STREAMS] = {tsim_gang_compute, tsim_gang_data, tsim_gang_send_next,
                                                             tsim_gang_send_prev};
    for (int s = 0; s < TSIM_N_STREAMS; s++) {
        gang->streams[s] = -1;
        bool is_send = s == TSIM_STREAM_NEXT || s == TSIM_STREAM_PREV;
        if ((is_send && (!run->plan->sends_async || run->plan->schedule.stages == 1)) ||
            (s == TSIM_STREAM_DATA && !run->plan->has_data_group))
            continue;
        gang->streams[s] = tsim_engine_add_stream(run->engine, PROGRAMS[s], gang);
        run->owners[gang->streams[s]] = (struct stream_owner){.gang = gang, .stream = (enum tsim_gang_stream)s};
    }
}

static void add_gangs(struct tsim_arena *arena, struct step_run *run, struct tsim_gang_account *accounts) {
    int32_t p = run->plan->schedule.stages;
    run->gangs = TSIM_NEW_ARRAY(arena, (size_t)run->n_gangs, struct tsim_gang);
    for (int32_t i = 0; i < run->n_gangs; i++) {
        struct tsim_gang *gang = &run->gangs[i];
        int32_t first = i / p * p, stage = i % p;
        gang->plan = run->plan;
        gang->stage_plan = &run->plan->stages[stage];
        gang->engine = run->engine;
        gang->stage = stage;
        gang->replica = i / p;
        gang->next = &run->gangs[first + (stage + 1) % p];
        gang->prev = &run->gangs[first + (stage + p - 1) % p];
        gang->owed_send = -1;
        gang->account = &accounts[i];
        accounts[i].stage = stage;
        accounts[i].replica = gang->replica;
        add_resources(arena, run, gang);
        add_signals(arena, run, gang);
        add_streams(run, gang);
    }
}

/* ---- where the time went: an observer, which changes nothing ---- */

static double seconds(const struct tsim_gang *gang, tsim_tick ticks) {
    return tsim_engine_seconds(gang->engine, ticks);
}

static tsim_tick max_tick(tsim_tick a, tsim_tick b) {
    return a > b ? a : b;
}

static tsim_tick min_tick(tsim_tick a, tsim_tick b) {
    return a < b ? a : b;
}

/* The wait of a pass from `from` to `ready`: for parameters, for a message under way, or for another stage's work. */
static void account_pass_wait(struct tsim_gang *gang, struct tsim_pass_item item, int32_t segment, tsim_tick from,
                              tsim_tick ready) {
    const struct tsim_step_plan *plan = gang->plan;
    struct tsim_gang_account *account = gang->account;
    if (ready <= from)
        return;
    tsim_tick begin = 0, arrival = 0;
    if (segment == 0 && plan->schedule.stages > 1) {
        int32_t slot = tsim_gang_slot(gang, item);
        begin = item.is_backward ? gang->gradient_begin[slot] : gang->activation_begin[slot];
        arrival = item.is_backward ? gang->gradient_end[slot] : gang->activation_end[slot];
    }
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
    account_pass_wait(gang, tsim_gang_item(gang, index), segment, from, ready);
    account->terms.compute_s += cost.compute_s;
    account->terms.recompute_s += cost.recompute_s;
    account->terms.exposed_tensor_s += cost.exposed_tensor_s;
    account->terms.exposed_context_s += cost.exposed_context_s;
    double stretched_s = seconds(gang, end - begin) - cost.time_s; /* by collectives beside it */
    account->terms.exposed_data_s += stretched_s;
    account->interference_s += stretched_s;
    account->flops += cost.flops;
    account->matrix_busy_s += cost.matrix_busy_s;
    account->memory_busy_s += cost.memory_busy_s;
    account->scale_up_bytes += cost.scale_up_bytes;
    account->nic_bytes += cost.nic_bytes;
}

static void account_transfer(struct tsim_gang *gang, int64_t label, tsim_tick begin, tsim_tick end) {
    struct tsim_pass_item item = tsim_gang_item(gang, tsim_label_item(label));
    struct tsim_gang *to = item.is_backward ? gang->prev : gang->next;
    bool wraps = item.is_backward ? gang->stage == 0 : gang->stage == gang->plan->schedule.stages - 1;
    item.chunk += wraps ? (item.is_backward ? -1 : 1) : 0;
    int32_t slot = tsim_gang_slot(to, item);
    (item.is_backward ? to->gradient_begin : to->activation_begin)[slot] = begin;
    (item.is_backward ? to->gradient_end : to->activation_end)[slot] = end;
    const struct tsim_collective_cost *cost =
        item.is_backward ? &gang->stage_plan->send_prev : &gang->stage_plan->send_next;
    gang->account->scale_up_bytes += cost->scale_up_bytes;
    gang->account->nic_bytes += cost->nic_bytes;
}

static const struct tsim_collective_cost *data_collective(const struct tsim_gang *gang, int64_t label) {
    const struct tsim_stage_plan *sp = gang->stage_plan;
    bool is_gather = tsim_label_kind(label) == TSIM_TASK_GATHER;
    int32_t item = tsim_label_item(label), segment = tsim_label_segment(label);
    if (gang->plan->shards_fully) {
        bool is_root = segment == (tsim_gang_item(gang, item).is_backward ? gang->plan->n_units - 1 : 0);
        return is_gather ? (is_root ? &sp->root_gather : &sp->layer_gather)
                         : (is_root ? &sp->root_reduce : &sp->layer_reduce);
    }
    int32_t chunk = 0, bucket = is_gather ? segment : segment % sp->n_reduces;
    for (; chunk < gang->plan->schedule.chunks - 1; chunk++) {
        int32_t n = is_gather ? sp->chunks[chunk].forward.n_buckets : sp->chunks[chunk].backward.n_buckets;
        if (bucket < n)
            break;
        bucket -= n;
    }
    return is_gather ? &sp->chunks[chunk].gather : &sp->chunks[chunk].reduce;
}

static void account_data(struct tsim_gang *gang, int64_t label) {
    const struct tsim_collective_cost *cost = data_collective(gang, label);
    gang->account->scale_up_bytes += cost->scale_up_bytes;
    gang->account->nic_bytes += cost->nic_bytes;
    gang->account->memory_busy_s += cost->hbm_bytes / tsim_memory_rate(gang->plan->cluster->accelerator);
}

static void account_compute_stream(struct tsim_gang *gang, int64_t label, tsim_tick ready, tsim_tick begin,
                                   tsim_tick end) {
    struct tsim_gang_account *account = gang->account;
    tsim_tick from = gang->last_end;
    gang->last_end = end;
    double wait_s = seconds(gang, ready - from), join_s = seconds(gang, begin - ready),
           busy_s = seconds(gang, end - begin);
    switch (tsim_label_kind(label)) {
    case TSIM_TASK_PASS:
        account_pass(gang, label, from, ready, begin, end);
        return;
    case TSIM_TASK_SEND:
        account_transfer(gang, label, begin, end);
        account->terms.exposed_pipeline_s += wait_s + join_s + busy_s;
        return;
    case TSIM_TASK_GATHER:
    case TSIM_TASK_REDUCE: {
        account_data(gang, label);
        *(tsim_label_kind(label) == TSIM_TASK_GATHER ? &account->exposed_gather_s : &account->exposed_reduce_s) +=
            wait_s + busy_s;
        account->terms.exposed_data_s += wait_s + busy_s;
        account->terms.bubble_s += join_s;
        return;
    }
    case TSIM_TASK_TIED:
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

static void observe(void *context, int32_t stream, int64_t label, tsim_tick ready, tsim_tick begin, tsim_tick end) {
    struct step_run *run = context;
    struct tsim_gang *gang = run->owners[stream].gang;
    switch (run->owners[stream].stream) {
    case TSIM_STREAM_COMPUTE:
        account_compute_stream(gang, label, ready, begin, end);
        return;
    case TSIM_STREAM_DATA:
        account_data(gang, label);
        gang->account->data_busy_s += seconds(gang, end - begin);
        return;
    case TSIM_STREAM_NEXT:
    case TSIM_STREAM_PREV:
        account_transfer(gang, label, begin, end);
        gang->account->send_busy_s += seconds(gang, end - begin);
        return;
    case TSIM_N_STREAMS:
        break;
    }
    TSIM_BUG("stream %d", (int)stream);
}

static void describe(void *context, int32_t stream, int64_t label, char *text, size_t size) {
    static const char *const KINDS[] = {
        "pass",          "send",     "parameter gather", "gradient reduction", "tied embedding reduction",
        "gradient norm", "optimizer"};
    struct step_run *run = context;
    const struct tsim_gang *gang = run->owners[stream].gang;
    snprintf(text, size, "replica %d stage %d: %s, item %d segment %d", gang->replica, gang->stage,
             KINDS[tsim_label_kind(label)], tsim_label_item(label), tsim_label_segment(label));
}

/* A gang that ends before the last one waits for it: the step is over when all are. */
static void close_accounts(struct step_run *run, double time_s) {
    for (int32_t i = 0; i < run->n_gangs; i++) {
        struct tsim_step_terms *terms = &run->gangs[i].account->terms;
        terms->bubble_s += time_s - seconds(&run->gangs[i], run->gangs[i].last_end);
        terms->communication_exposed_s = terms->exposed_tensor_s + terms->exposed_pipeline_s + terms->exposed_data_s +
                                         terms->exposed_context_s + terms->exposed_expert_s;
        terms->time_s = time_s;
    }
}

enum tsim_status tsim_step_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                    const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                                    const struct tsim_pass_costs *costs, struct tsim_step_simulation *simulation,
                                    struct tsim_diags *diags) {
    struct step_run run = {.plan = build_plan(arena, scenario, cluster, placement, costs)};
    struct tsim_engine_options options = {
        .tick_s = STEP_TICK_S, .observer = observe, .describe = describe, .context = &run};
    run.engine = tsim_engine_create(&options);
    run.n_gangs = run.plan->schedule.stages * run.plan->n_replicas;
    run.owners = TSIM_NEW_ARRAY(arena, (size_t)run.n_gangs * TSIM_N_STREAMS, struct stream_owner);
    struct tsim_gang_account *accounts = TSIM_NEW_ARRAY(arena, (size_t)run.n_gangs, struct tsim_gang_account);
    add_gangs(arena, &run, accounts);
    enum tsim_status status = tsim_engine_run(run.engine, diags);
    if (status == TSIM_OK) {
        simulation->time_s = tsim_engine_seconds(run.engine, tsim_engine_now(run.engine));
        simulation->events = tsim_engine_n_events(run.engine);
        simulation->n_gangs = run.n_gangs;
        simulation->n_stages = run.plan->schedule.stages;
        simulation->n_replicas = run.plan->n_replicas;
        simulation->gangs = accounts;
        close_accounts(&run, simulation->time_s);
    }
    tsim_engine_release(run.engine);
    return status;
}
