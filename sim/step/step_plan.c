#include "step/step_plan.h"

#include "cost/compute.h"
#include "model/adapter.h"
#include "model/compression.h"
#include "model/model.h"
#include "model/operators.h"
#include "model/parameter_bytes.h"
#include "partition/memory.h"
#include "step/folding/folding.h"
#include "step/groups/copies.h"
#include "step/groups/noise.h"
#include "step/groups/pass_tasks.h"
#include "step/groups/stage_group.h"

#include <math.h>
#include <string.h>

#define MOST_DEVICE_SHARE 0.9 /* a collective takes no more than this, so that passes go on, however slowly */

/* Megatron-LM's default bucket: max(40 million, 1 million x data-parallel size) elements
 * (distributed_data_parallel_config.py). */
#define DEFAULT_BUCKET_ELEMENTS 40e6
#define DEFAULT_BUCKET_ELEMENTS_PER_RANK 1e6

enum { AXES_DATA = 1u << TSIM_AXIS_DATA | 1u << TSIM_AXIS_CONTEXT | 1u << TSIM_AXIS_EXPERT };

/* Keeps the forward passes for evaluation, in their order, so that nothing waits that did not; pairs are separated. */
static int32_t keep_forward(const struct tsim_schedule_shape *shape, struct tsim_pass_item *items, int32_t n) {
    int32_t kept = 0;
    for (int32_t i = 0; i < n; i++) {
        if (items[i].kind != TSIM_PASS_FORWARD)
            continue;
        items[kept] = items[i];
        items[kept].is_alone = shape->hides_exchanges;
        items[kept++].pair = TSIM_PAIR_NONE;
    }
    return kept;
}

/* The ranks that hold the same experts, and those that hold the same of everything else. */
struct data_groups {
    struct tsim_group dense, expert;
};

/* The parameters of one tensor rank with which collectives deal, and the number of collectives. */
struct share {
    double dense, expert;
    double trained, trained_experts; /* of a frozen model: the adapters, which alone are reduced; else all */
    bool is_quantized;
    double n_pieces;                       /* 0 means 1; message by message they are one, after the others' latencies */
    double n_matrices, n_vectors, n_parts; /* of the whole chunk, of which this is one of n_parts parts */
};

/* A layer has two matrices of the attention, two of the MLP (joined products count once), and two norms. */
enum { MATRICES_OF_A_LAYER = 4, VECTORS_OF_A_LAYER = 2, MATRICES_OF_AN_ADAPTER = 2 };

/* fp8 weights are gathered as such, but with scales of rows, which a shard does not know (torchao, config.py:
 * enable_fsdp_float8_all_gather only supports tensorwise). */
static double communicated_weight_bytes(const struct tsim_scenario *sc) {
    enum tsim_precision precision = sc->training.precision;
    bool sends_fp8 = precision == TSIM_FP8 && sc->software->fp8_scaling != TSIM_SCALING_ROWS;
    return sends_fp8 ? 1 : tsim_operand_bytes(tsim_unquantized(precision));
}

static void collective(const struct tsim_step_plan *plan, enum tsim_collective_op op, double bytes,
                       struct tsim_group group, struct tsim_collective_cost *cost) {
    struct tsim_collective_request request = {
        .op = op, .bytes = bytes, .group = group, .network = plan->scenario->simulation.network};
    tsim_collective_cost(plan->cluster, &request, cost);
    double blocks = (double)plan->scenario->software->data_blocks;
    if (blocks > 0)
        cost->sm_frac = fmin(cost->sm_frac, blocks / (double)plan->cluster->accelerator->compute_units);
}

static void collective_times(struct tsim_collective_cost *cost, double n) {
    cost->latency_s *= n;
    cost->time_s *= n;
    cost->scale_up_bytes *= n;
    cost->nic_bytes *= n;
    cost->hbm_bytes *= n;
}

/* Costs a collective in as many equal pieces, one after another. */
static void collectives(const struct tsim_step_plan *plan, enum tsim_collective_op op, double bytes,
                        struct tsim_group group, double n_pieces, struct tsim_collective_cost *cost) {
    double n = fmax(n_pieces, 1);
    collective(plan, op, bytes / n, group, cost);
    collective_times(cost, n);
}

/* Returns the ranks that hold a stage's parts: the data-parallel group, in dualpipe together with that of the mirrored
 * stage. */
static struct tsim_group holders(const struct tsim_step_plan *plan, const struct tsim_placement *placement,
                                 struct tsim_group data, int32_t stage) {
    if (!plan->is_mirrored)
        return data;
    struct tsim_coordinates at = {.at[TSIM_AXIS_PIPELINE] = stage};
    int32_t a = tsim_placement_rank(placement, &at);
    at.at[TSIM_AXIS_PIPELINE] = plan->schedule.stages - 1 - stage;
    if (tsim_placement_same_node(placement, a, tsim_placement_rank(placement, &at))) {
        data.max_ranks_per_node *= 2;
        data.min_ranks_per_node *= 2;
    } else {
        data.n_nodes *= 2;
    }
    data.n_ranks *= 2;
    return data;
}

static struct data_groups groups_at(const struct tsim_placement *placement, int32_t stage) {
    return (struct data_groups){.dense = tsim_placement_group_at(placement, AXES_DATA, stage),
                                .expert = tsim_placement_group_at(placement, placement->expert_data_axes, stage)};
}

/* Finds a stage's groups. `first` are those of stage 0: stages that begin a node lie on their nodes as it does. */
static struct data_groups groups_of(const struct tsim_step_plan *plan, const struct tsim_placement *placement,
                                    const struct data_groups *first, int32_t stage) {
    bool is_like_first = stage * placement->stride[TSIM_AXIS_PIPELINE] % placement->ranks_per_node == 0;
    struct data_groups groups = is_like_first ? *first : groups_at(placement, stage);
    groups.dense = holders(plan, placement, groups.dense, stage);
    groups.expert = holders(plan, placement, groups.expert, stage);
    return groups;
}

static bool same_group(const struct tsim_group *a, const struct tsim_group *b) {
    return memcmp(a, b, sizeof *a) == 0; /* it has only int32_t, and so no padding */
}

static bool same_groups(struct data_groups a, struct data_groups b) {
    return same_group(&a.dense, &b.dense) && same_group(&a.expert, &b.expert);
}

/* Returns the part of the data-parallel group that shards together, and the ranks that hold the same shard. */
static struct tsim_group shard_group(struct tsim_group data, double shards) {
    int32_t n = (int32_t)shards;
    if (n >= data.n_ranks)
        return data;
    int32_t per_node = data.max_ranks_per_node < n ? data.max_ranks_per_node : n;
    return (struct tsim_group){.n_ranks = n,
                               .n_nodes = (n + per_node - 1) / per_node,
                               .max_ranks_per_node = per_node,
                               .min_ranks_per_node = per_node,
                               .stride = data.stride};
}

static struct tsim_group replica_group(struct tsim_group data, struct tsim_group shard) {
    int32_t n = data.n_ranks / shard.n_ranks;
    int32_t per_node = data.max_ranks_per_node / shard.max_ranks_per_node;
    if (shard.n_nodes > 1 || per_node < 1)
        per_node = 1;
    return (struct tsim_group){.n_ranks = n,
                               .n_nodes = (n + per_node - 1) / per_node,
                               .max_ranks_per_node = per_node,
                               .min_ranks_per_node = per_node,
                               .stride = data.stride * shard.n_ranks};
}

static void add_collective(struct tsim_collective_cost *sum, const struct tsim_collective_cost *more) {
    sum->latency_s += more->latency_s;
    sum->time_s += more->time_s;
    sum->scale_up_bytes += more->scale_up_bytes;
    sum->nic_bytes += more->nic_bytes;
    sum->hbm_bytes += more->hbm_bytes;
    sum->sm_frac = fmax(sum->sm_frac, more->sm_frac);
}

/* A kernel of a layer, and the part of HBM's rate for which it asks. */
struct tsim_layer_kernel {
    double time_s, memory_frac;
};

static void add_layer_kernel(void *context, const struct tsim_pass_operator *row) {
    struct tsim_step_plan *plan = context;
    if (row->op->kind == TSIM_OP_COLLECTIVE || !(row->time_s > 0))
        return;
    plan->layer_kernels[plan->n_layer_kernels++] = (struct tsim_layer_kernel){row->time_s, row->memory_s / row->time_s};
}

/* Lists the kernels of a layer of the most frequent kind, forward and backward, for passes that are one task. */
static void list_layer_kernels(struct tsim_arena *arena, const struct tsim_placement *placement,
                               struct tsim_step_plan *plan) {
    struct tsim_parts layers = tsim_model_layers(plan->scenario->model, 0, plan->scenario->model->layers);
    enum tsim_part part = TSIM_PART_EMBEDDING;
    for (int other = 0; other < TSIM_N_PARTS; other++)
        part = layers.times[other] > layers.times[part] ? (enum tsim_part)other : part;
    size_t variants = (size_t)tsim_part_variants(plan->scenario->model, part); /* each forward, again and backward */
    plan->layer_kernels = TSIM_NEW_ARRAY(arena, 3 * TSIM_MAX_OPS * variants, struct tsim_layer_kernel);
    for (int kind = TSIM_PASS_FORWARD; kind <= TSIM_PASS_BACKWARD; kind++)
        tsim_pass_visit(plan->scenario, plan->cluster, placement, part, kind, add_layer_kernel, plan);
}

/* Returns the part of its speed that a whole pass as one task loses if its kernels lose so much of the compute units
 * and of HBM's rate. */
static double pass_share(const struct tsim_step_plan *plan, double units_share, double memory_share) {
    double alone_s = 0, beside_s = 0;
    for (int32_t i = 0; i < plan->n_layer_kernels; i++) {
        const struct tsim_layer_kernel *k = &plan->layer_kernels[i];
        alone_s += k->time_s;
        beside_s += k->time_s * fmax(1 / (1 - units_share), k->memory_frac / (1 - memory_share));
    }
    return beside_s > 0 ? 1 - alone_s / beside_s : 0;
}

/* Finds what a group's collective takes from the kernels beside it. Its blocks hold compute units from its first byte
 * to its last, also while they wait for one, and it reads and writes HBM, which slows the other units down
 * (tsim_collective_taken_frac). The engine lets it hold them only while bytes flow, so all of it is counted there. */
static void take_shares(const struct tsim_step_plan *plan, struct tsim_group_collective *own) {
    const struct tsim_collective_cost *cost = &own->cost;
    double flow_s = cost->time_s - cost->latency_s;
    if (!(flow_s > 0))
        return;
    double memory = fmin(cost->hbm_bytes / flow_s / tsim_memory_rate(plan->cluster->accelerator), MOST_DEVICE_SHARE);
    double units = tsim_collective_taken_frac(fmin(cost->sm_frac * cost->time_s / flow_s, MOST_DEVICE_SHARE), memory);
    own->units_share = fmin(units, MOST_DEVICE_SHARE);
    own->memory_share = memory;
    if (plan->plays_operators != TSIM_OPERATORS_OF_NONE)
        return;
    own->units_share = pass_share(plan, own->units_share, own->memory_share);
    own->memory_share = 0;
}

/* Finds what copies take: a copy reads or writes HBM. */
static void take_copies(struct tsim_step_plan *plan) {
    double link = plan->cluster->host_link_bytes_per_s, rate = tsim_memory_rate(plan->cluster->accelerator);
    plan->copy_memory_per_byte = fmin(1 / rate, MOST_DEVICE_SHARE / link);
    if (plan->plays_operators != TSIM_OPERATORS_OF_NONE)
        return;
    plan->copy_units_per_byte = pass_share(plan, 0, plan->copy_memory_per_byte * link) / link;
    plan->copy_memory_per_byte = 0;
}

static void begin_group(struct tsim_data_collective *collective) {
    TSIM_ASSERT(collective->n_groups < TSIM_MAX_GROUPS);
    collective->groups[collective->n_groups++].first_part = collective->n_parts;
}

/* Adds a part to the collective's last group. */
static void add_part(struct tsim_data_collective *collective, struct tsim_collective_part part,
                     const struct tsim_collective_cost *cost) {
    struct tsim_group_collective *own = &collective->groups[collective->n_groups - 1];
    TSIM_ASSERT(collective->n_parts < TSIM_MAX_PARTS);
    collective->up_bytes[collective->n_parts] = cost->scale_up_bytes;
    collective->nic_bytes[collective->n_parts] = cost->nic_bytes;
    collective->parts[collective->n_parts++] = part;
    own->n_parts++;
    add_collective(&own->cost, cost);
    add_collective(&collective->cost, cost);
}

/* Adds a part that goes in pieces, one after another, at the cost of them all. Message by message it is one collective,
 * before which passes what the pieces take longer: their latencies, and the lower rate of small messages. */
static void add_part_in_pieces(const struct tsim_step_plan *plan, struct tsim_data_collective *data,
                               struct tsim_collective_part part, struct tsim_group group,
                               const struct tsim_collective_cost *cost) {
    struct tsim_collective_cost whole;
    add_part(data, part, cost);
    collective(plan, part.op, part.bytes, group, &whole);
    data->later_s[data->n_parts - 1] = fmax(cost->time_s - whole.time_s, 0);
}

/* Adds a compressed reduction. Ranks compress before they send, and make sums after they have received; the first
 * collective takes the time of both. */
static void add_compressed_reduction(const struct tsim_step_plan *plan, struct tsim_group data, double parameters,
                                     bool is_expert, struct tsim_data_collective *reduce) {
    static const enum tsim_collective_op OPS[][TSIM_COMPRESSED_EXCHANGES] = {
        [TSIM_TOP_K] = {TSIM_ALL_GATHER},
        [TSIM_POWERSGD] = {TSIM_ALL_REDUCE, TSIM_ALL_REDUCE},
        [TSIM_ONE_BIT] = {TSIM_ALL_TO_ALL, TSIM_ALL_GATHER}};
    const struct tsim_scenario *sc = plan->scenario;
    const struct tsim_accelerator *a = plan->cluster->accelerator;
    enum tsim_precision precision = sc->training.gradient_precision;
    double flops_per_s = tsim_matrix_rate(
               a, a->peak_flops_per_s[precision] > 0 ? precision : tsim_unquantized(sc->training.precision)),
           kernel_s = fmax(a->kernel_latency_s, tsim_host_s(sc, sc->software->host_time_per_op_s));
    struct tsim_compression_cost each;
    tsim_compression_cost(sc, data.n_ranks, &each);
    begin_group(reduce);
    for (int i = 0; i < TSIM_COMPRESSED_EXCHANGES && each.exchanged_bytes[i] > 0; i++) {
        enum tsim_collective_op op = OPS[sc->training.compression.kind][i];
        double bytes = parameters * each.exchanged_bytes[i];
        struct tsim_collective_cost cost;
        collective(plan, op, bytes, data, &cost);
        add_part(reduce, (struct tsim_collective_part){op, bytes, TSIM_AMONG_ALL, is_expert}, &cost);
    }
    reduce->kernel_s += parameters * (fmax(each.traffic_bytes / tsim_memory_rate(a), each.matrix_flops / flops_per_s) +
                                      each.kernels * kernel_s);
    take_shares(plan, &reduce->groups[reduce->n_groups - 1]);
}

/* Adds the reduction of `parameters` gradients: all-reduced whole (ZeRO-0), or scattered over the shards and summed
 * over their replicas. */
static void add_reduction(const struct tsim_step_plan *plan, struct tsim_group data, double shards, double parameters,
                          double n_pieces, bool is_expert, struct tsim_data_collective *reduce) {
    const struct tsim_scenario *sc = plan->scenario;
    if (sc->training.compression.kind != TSIM_UNCOMPRESSED) {
        add_compressed_reduction(plan, data, parameters, is_expert, reduce);
        return;
    }
    double bytes = parameters * tsim_sent_gradient_bytes(sc);
    struct tsim_collective_cost cost;
    struct tsim_group shard = shard_group(data, shards);
    bool is_local = tsim_workers_apart(&sc->parallelism) > 0; /* the ranks of a worker are those that shard */
    if (is_local)
        data = shard;
    bool is_whole = sc->parallelism.zero == 0 ||
                    (sc->parallelism.zero == 1 && sc->software->gradient_reduction == TSIM_REDUCTION_ALL_REDUCE);
    enum tsim_collective_op op = is_whole ? TSIM_ALL_REDUCE : TSIM_REDUCE_SCATTER;
    begin_group(reduce);
    collectives(plan, op, bytes, is_whole ? data : shard, n_pieces, &cost);
    add_part_in_pieces(
        plan, reduce,
        (struct tsim_collective_part){op, bytes, is_whole && !is_local ? TSIM_AMONG_ALL : TSIM_AMONG_SHARDS, is_expert},
        is_whole ? data : shard, &cost);
    if (!is_whole && shard.n_ranks < data.n_ranks) {
        struct tsim_group replicas = replica_group(data, shard);
        struct tsim_group_collective *scatter = &reduce->groups[reduce->n_groups - 1], both = *scatter;
        take_shares(plan, scatter);
        begin_group(reduce);
        collectives(plan, TSIM_ALL_REDUCE, bytes / shard.n_ranks, replicas, n_pieces, &cost);
        add_part_in_pieces(
            plan, reduce,
            (struct tsim_collective_part){TSIM_ALL_REDUCE, bytes / shard.n_ranks, TSIM_AMONG_REPLICAS, is_expert},
            replicas, &cost);
        if (plan->shards_fully) { /* the sum's kernel runs beside that of the next scatter */
            struct tsim_group_collective *sum = &reduce->groups[reduce->n_groups - 1];
            add_collective(&both.cost, &sum->cost);
            take_shares(plan, &both);
            scatter->units_share = sum->units_share = both.units_share;
            scatter->memory_share = sum->memory_share = both.memory_share;
            return;
        }
    }
    take_shares(plan, &reduce->groups[reduce->n_groups - 1]);
}

/* Plans a reduction. Experts and the rest have groups of their own, so there are two collectives, first that of the
 * rest (Megatron-Core, distributed/distributed_data_parallel.py: bucket_groups + expert_parallel_bucket_groups). */
static void reduction(const struct tsim_step_plan *plan, const struct data_groups *data, struct share share,
                      struct tsim_data_collective *reduce) {
    add_reduction(plan, data->dense, tsim_shards(plan->scenario), share.trained, share.n_pieces, false, reduce);
    if (share.trained_experts > 0)
        add_reduction(plan, data->expert, tsim_expert_shards(plan->scenario), share.trained_experts, share.n_pieces,
                      true, reduce);
    if (plan->scenario->software->copies_buckets &&
        !plan->shards_fully) /* read and written on the way there and back */
        reduce->kernel_s += (share.trained + share.trained_experts) * 4 * tsim_gradient_bytes(plan->scenario) /
                            tsim_memory_rate(plan->cluster->accelerator);
}

/* Plans broadcasts of weights. The largest tensor that is left goes to the rank that has least
 * (InternLM/InternEvo@00a2a34 internlm/solver/optimizer/hybrid_zero_optim.py, _partition_param_list), and each rank
 * sends what it has as one message. Ranks without a matrix have vectors; those without either send nothing. */
static void broadcasts(const struct tsim_step_plan *plan, double bytes, struct tsim_group shards, struct share share,
                       struct tsim_collective_cost *cost) {
    double n_owners = fmin(shards.n_ranks, share.n_matrices), n_matrices = n_owners / share.n_parts;
    double n_vectors = fmin(shards.n_ranks - n_owners, share.n_vectors) / share.n_parts;
    double vector_bytes = (double)plan->scenario->model->hidden * communicated_weight_bytes(plan->scenario);
    struct tsim_collective_cost vectors;
    collectives(plan, TSIM_BROADCAST, bytes, shards, n_matrices, cost);
    collectives(plan, TSIM_BROADCAST, n_vectors * vector_bytes, shards, n_vectors, &vectors);
    add_collective(cost, &vectors);
}

/* The bytes that an outer optimizer with momentum moves for each parameter: it reads and writes the weights of the last
 * exchange and its moment, and reads and writes what changed. */
#define OUTER_BYTES 24.0

/* Adds the exchange of local SGD's workers: weights, or what changed of them. Each rank exchanges its shard with those
 * that hold the same one, or all ranks exchange whole weights. A step has its part of that. */
static void add_outer_exchange(const struct tsim_step_plan *plan, struct tsim_group data, double shards,
                               double parameters, bool is_expert, struct tsim_data_collective *gather) {
    const struct tsim_parallelism_spec *p = &plan->scenario->parallelism;
    bool is_sharded = p->zero >= 1;
    double steps = (double)p->local_sgd.steps, own = is_sharded ? parameters / shards : parameters;
    double bytes = own * tsim_operand_bytes(p->local_sgd.precision);
    struct tsim_group group = is_sharded ? replica_group(data, shard_group(data, shards)) : data;
    struct tsim_collective_cost cost;
    collective(plan, TSIM_ALL_REDUCE, bytes, group, &cost);
    collective_times(&cost, 1 / steps);
    add_part(gather,
             (struct tsim_collective_part){TSIM_ALL_REDUCE, bytes / steps,
                                           is_sharded ? TSIM_AMONG_REPLICAS : TSIM_AMONG_ALL, is_expert},
             &cost);
    if (p->local_sgd.outer == TSIM_OUTER_NESTEROV)
        gather->kernel_s += own * OUTER_BYTES / tsim_memory_rate(plan->cluster->accelerator) / steps;
}

static void add_gather(const struct tsim_step_plan *plan, struct tsim_group data, double shards, double parameters,
                       struct share share, bool is_expert, struct tsim_data_collective *gather) {
    double bytes = parameters * (share.is_quantized ? tsim_base_weight_bytes(plan->scenario)
                                                    : communicated_weight_bytes(plan->scenario));
    bool returns =
        !plan->shards_fully; /* the optimizer has updated them; fully sharded weights are gathered when they are used */
    bool is_broadcast = returns && plan->scenario->software->weight_return == TSIM_RETURN_BROADCASTS && !is_expert;
    enum tsim_collective_op op = is_broadcast ? TSIM_BROADCAST : TSIM_ALL_GATHER;
    struct tsim_group group = shard_group(data, shards);
    struct tsim_collective_cost cost;
    begin_group(gather);
    bool is_local = plan->scenario->parallelism.local_sgd.workers > 0;
    if (is_local)
        add_outer_exchange(plan, data, shards, parameters, is_expert, gather);
    if (is_local && plan->scenario->parallelism.zero == 0) {
        take_shares(plan, &gather->groups[gather->n_groups - 1]);
        return;
    }
    if (is_broadcast)
        broadcasts(plan, bytes, group, share, &cost);
    else
        collectives(plan, op, bytes, group, share.n_pieces, &cost);
    add_part_in_pieces(plan, gather, (struct tsim_collective_part){op, bytes, TSIM_AMONG_SHARDS, is_expert}, group,
                       &cost);
    take_shares(plan, &gather->groups[gather->n_groups - 1]);
}

static void gathering(const struct tsim_step_plan *plan, const struct data_groups *data, struct share share,
                      struct tsim_data_collective *gather) {
    add_gather(plan, data->dense, tsim_shards(plan->scenario), share.dense, share, false, gather);
    if (share.expert > 0)
        add_gather(plan, data->expert, tsim_expert_shards(plan->scenario), share.expert, share, true, gather);
}

/* Plans the copies between accelerators and hosts. Activations leave for the host beside the forward pass and come back
 * beside the backward pass. With weight streaming each pass takes the chunk's weights in, layer by layer under the
 * layer before, and the backward pass sends gradients out at the same time; one micro-batch goes through before the
 * next. A node that says nothing about its link (single-cerebras-cs2) never waits for it. */
static void plan_copies(const struct tsim_scenario *sc, double offloaded_bytes, double parameters,
                        enum tsim_pass_kind kind, double copied_bytes[TSIM_N_COPY_DIRECTIONS]) {
    bool is_forward = kind == TSIM_PASS_FORWARD;
    if (!(sc->cluster.node->host_link_bytes_per_s > 0))
        return;
    copied_bytes[is_forward ? TSIM_COPY_OUT : TSIM_COPY_IN] += offloaded_bytes;
    if (!tsim_streams_weights(sc))
        return;
    copied_bytes[TSIM_COPY_IN] += parameters * communicated_weight_bytes(sc);
    copied_bytes[TSIM_COPY_OUT] += is_forward ? 0 : parameters * tsim_gradient_bytes(sc);
}

static void plan_direction(const struct tsim_step_plan *plan, const struct tsim_pass_costs *costs,
                           struct tsim_chunk_plan *chunk, int number) {
    struct tsim_direction_plan *way = &chunk->ways[number];
    tsim_pass_sum(costs, plan->scenario, number, &chunk->parts, chunk->first_layer, &way->whole);
    double accelerator_s = way->whole.time_s - way->whole.host_excess_s,
           scale = accelerator_s > 0 ? 1 / accelerator_s : 0;
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        way->frac[part] = costs->parts[part]->ways[number].time_s * scale;
        way->kept_frac[part] = costs->parts[part]->ways[tsim_kept_way(number)].time_s * scale;
    }
}

/* Returns the number of buckets. Megatron-Core cuts only the part whose reduction nothing else can hide, the model's
 * first, into buckets. */
static int32_t n_buckets(const struct tsim_step_plan *plan, const struct data_groups *data,
                         const struct tsim_chunk_plan *chunk) {
    if (!chunk->has_embedding)
        return 1;
    const struct tsim_software *software = plan->scenario->software;
    double bucket = software->bucket_bytes > 0 ? software->bucket_bytes / tsim_gradient_bytes(plan->scenario)
                    : software->bucket_elements > 0
                        ? (double)software->bucket_elements
                        : fmax(DEFAULT_BUCKET_ELEMENTS, DEFAULT_BUCKET_ELEMENTS_PER_RANK * data->dense.n_ranks);
    double n = fmin(ceil(chunk->parameters / bucket), fmax(chunk->n_layers, 1));
    return (int32_t)fmax(n, 1);
}

static struct share part_of(const struct tsim_step_plan *plan, const struct tsim_chunk_plan *chunk, int32_t n_parts) {
    const struct tsim_scenario *sc = plan->scenario;
    bool has_gate = sc->model->gated_mlp && sc->software->gate_products == TSIM_GATE_TWO;
    double matrices = (MATRICES_OF_A_LAYER + has_gate) * chunk->n_layers + chunk->has_embedding + chunk->has_head;
    double vectors = (VECTORS_OF_A_LAYER + sc->model->qkv_bias) * chunk->n_layers + chunk->has_head;
    if (tsim_is_frozen(sc)) {
        matrices = MATRICES_OF_AN_ADAPTER * (double)tsim_n_targets(sc) * chunk->n_layers;
        vectors = 0;
    }
    bool is_by_tensor = sc->software->data_pieces == TSIM_PIECES_TENSOR;
    return (struct share){.dense = (chunk->parameters - chunk->expert_parameters) / n_parts,
                          .trained = (chunk->parameters - chunk->expert_parameters) / n_parts,
                          .expert = chunk->expert_parameters / n_parts,
                          .trained_experts = chunk->expert_parameters / n_parts,
                          .n_pieces = is_by_tensor ? (matrices + vectors) / n_parts : 0,
                          .n_matrices = matrices,
                          .n_vectors = vectors,
                          .n_parts = n_parts};
}

/* Returns whether two chunks have the same layers, also in the same order, on which the time that kernels wait for a
 * host depends. */
static bool same_layers(const struct tsim_model *model, const struct tsim_chunk_plan *a,
                        const struct tsim_chunk_plan *b) {
    bool is_same = true;
    for (int32_t i = 0; is_same && i < a->n_layers && !tsim_model_layers_are_alike(model); i++)
        is_same = tsim_model_layer(model, a->first_layer + i) == tsim_model_layer(model, b->first_layer + i);
    return is_same;
}

static bool same_chunk(const struct tsim_model *model, const struct tsim_chunk_plan *a,
                       const struct tsim_chunk_plan *b) {
    return a->has_embedding == b->has_embedding && a->has_head == b->has_head && a->n_layers == b->n_layers &&
           memcmp(&a->parts, &b->parts, sizeof a->parts) == 0 && a->parameters == b->parameters &&
           same_layers(model, a, b);
}

/* Plans a chunk. `like` is one that was planned before, in the same groups, or NULL. Most chunks are alike. */
static void plan_chunk(const struct tsim_step_plan *plan, const struct tsim_pass_costs *costs,
                       const struct data_groups *data, int32_t stage, int32_t index, const struct tsim_chunk_plan *like,
                       struct tsim_chunk_plan *chunk) {
    const struct tsim_scenario *sc = plan->scenario;
    if (like && tsim_chunk_is_like_last(sc, stage, index)) {
        *chunk = *like;
        for (int32_t part = tsim_schedule_part(&plan->schedule, stage, index - 1);
             part < tsim_schedule_part(&plan->schedule, stage, index); part++)
            chunk->first_layer += sc->parallelism.layers_per_chunk[part];
        return;
    }
    chunk->has_embedding = tsim_chunk_has_embedding(sc, stage, index);
    chunk->has_head = tsim_chunk_has_head(sc, stage, index);
    chunk->n_layers = (int32_t)tsim_chunk_layers(sc, stage, index);
    chunk->n_again = (int32_t)tsim_recomputed_layers(sc, chunk->n_layers);
    chunk->first_layer = tsim_chunk_first_layer(sc, stage, index);
    chunk->parts = tsim_chunk_parts(sc, stage, index);
    chunk->parameters = tsim_chunk_parameters(sc, stage, index);
    chunk->expert_parameters = tsim_chunk_expert_parameters(sc, stage, index);
    if (tsim_is_frozen(sc)) {
        chunk->frozen_parameters = chunk->parameters - chunk->expert_parameters;
        chunk->parameters = tsim_chunk_adapter_parameters(sc, stage, index);
        chunk->expert_parameters = tsim_chunk_routed_adapter_parameters(sc, stage, index);
    } else {
        chunk->frozen_parameters = tsim_chunk_tower_parameters(sc, stage, index);
        chunk->parameters -= chunk->frozen_parameters;
    }
    if (like && same_chunk(sc->model, like, chunk)) {
        int64_t first_layer = chunk->first_layer;
        *chunk = *like;
        chunk->first_layer = first_layer;
        return;
    }
    double offloaded_bytes = tsim_chunk_offloaded_bytes(sc, stage, index);
    for (int k = 0; k < TSIM_N_PASS_KINDS; k++) {
        enum tsim_pass_kind kind = (enum tsim_pass_kind)k;
        if (kind > TSIM_PASS_BACKWARD && !tsim_schedule_splits_backward(plan->schedule.schedule))
            continue;
        plan_direction(plan, costs, chunk, (int)kind);
        if (plan->schedule.hides_exchanges)
            plan_direction(plan, costs, chunk, tsim_pass_way(kind, true));
        plan_copies(sc, offloaded_bytes, chunk->parameters, kind, chunk->ways[kind].copied_bytes);
    }
    int32_t buckets = n_buckets(plan, data, chunk);
    chunk->n_gathers = plan->gathers && plan->overlaps_gathers ? buckets : 1;
    chunk->n_reduces = plan->overlaps_reduces && !plan->waits_for_reductions ? buckets : 1;
    if (plan->has_data_group && !plan->shards_fully) {
        gathering(plan, data, part_of(plan, chunk, chunk->n_gathers), &chunk->gather);
        reduction(plan, data, part_of(plan, chunk, chunk->n_reduces), &chunk->reduce);
    }
}

static bool stays_on_node(const struct tsim_placement *placement, struct tsim_coordinates from, int32_t stage) {
    for (int32_t i = 0; i < placement->size[TSIM_AXIS_TENSOR]; i++)
        for (int32_t j = 0; j < placement->size[TSIM_AXIS_CONTEXT]; j++) {
            from.at[TSIM_AXIS_TENSOR] = i;
            from.at[TSIM_AXIS_CONTEXT] = j;
            struct tsim_coordinates to = from;
            to.at[TSIM_AXIS_PIPELINE] = stage;
            if (!tsim_placement_same_node(placement, tsim_placement_rank(placement, &from),
                                          tsim_placement_rank(placement, &to)))
                return false;
        }
    return true;
}

void tsim_step_message_of(const struct tsim_step_plan *plan, const struct tsim_placement *placement,
                          struct tsim_coordinates at, int32_t to, struct tsim_step_message *message) {
    const struct tsim_scenario *sc = plan->scenario;
    double whole = tsim_message_bytes(sc, at.at[TSIM_AXIS_PIPELINE], to), tp = (double)sc->parallelism.tensor;
    bool on_node = stays_on_node(placement, at, to);
    struct tsim_group pair = {.n_ranks = 2,
                              .n_nodes = on_node ? 1 : 2,
                              .max_ranks_per_node = on_node ? 2 : 1,
                              .min_ranks_per_node = on_node ? 2 : 1};
    message->on_node = on_node;
    /* Scatter/gather (Narayanan et al. 2021, section 4.1): each tensor rank sends its share; without sequence
     * parallelism the receiver gathers the whole over its scale-up links. */
    collective(plan, TSIM_SEND_RECV, whole / tp, pair, &message->cost);
    if (tp > 1 && !sc->parallelism.sequence) {
        struct tsim_collective_cost gather;
        collective(plan, TSIM_ALL_GATHER, whole, tsim_placement_group(placement, 1u << TSIM_AXIS_TENSOR), &gather);
        message->cost.latency_s += gather.time_s;
        message->cost.time_s += gather.time_s;
    }
}

/* Returns the bytes per parameter that fully sharded training moves before each reduction. FLAT: gradients of 16 bits
 * are joined (read and write 2: the backward of the split into views is a concatenation), converted to the reduction's
 * precision (read 2, write 4) and divided by the number of ranks (read and write 4) (torch.distributed.fsdp of 2.0,
 * flat_param.py and _runtime_utils._post_backward_hook; DeepSpeed ZeRO-3 does the same in its buckets). PER_PARAMETER:
 * one copy converts them, the collective divides (torch.distributed._composable.fsdp, foreach_reduce). IN_PLACE: the
 * weight gradient's product writes to the buffer, which is multiplied in 16 bits; in 32 the collective does that
 * (NVIDIA/Megatron-LM megatron/core/distributed/fsdp, gradient_reduce_preprocessing; NVIDIA-NeMo/Megatron-Bridge
 * scripts/performance, set_megatron_fsdp_overrides: gradient_accumulation_fusion, no average_in_collective). */
static double reduction_copies_bytes(const struct tsim_scenario *sc) {
    double made = tsim_weight_bytes(tsim_unquantized(sc->training.precision)), reduced = tsim_gradient_bytes(sc);
    switch (sc->software->shard_copies) {
    case TSIM_COPIES_FLAT:
        return 2 * made + (made < reduced ? made + reduced : 0) + 2 * reduced;
    case TSIM_COPIES_PER_PARAMETER:
        return made + reduced;
    case TSIM_COPIES_IN_PLACE:
        return reduced < 4 ? 2 * reduced : 0;
    case TSIM_COPIES_NONE:
        return 0;
    }
    TSIM_BUG("shard copies %d", (int)sc->software->shard_copies);
}

/* Returns the bytes of copies after each gather. PER_PARAMETER copies out of the gathered buffer
 * (foreach_all_gather_copy_out). */
static double gather_copies_bytes(const struct tsim_scenario *sc) {
    return sc->software->shard_copies == TSIM_COPIES_PER_PARAMETER ? 2 * communicated_weight_bytes(sc) : 0;
}

/* Plans a unit that is gathered and reduced at once: its parameters' collectives, and their copies. */
static void plan_unit(const struct tsim_step_plan *plan, const struct data_groups *data, struct share share,
                      struct tsim_data_collective *gather, struct tsim_data_collective *reduce) {
    double s_per_byte = 1 / tsim_memory_rate(plan->cluster->accelerator), parameters = share.dense + share.expert;
    gathering(plan, data, share, gather);
    reduction(plan, data, share, reduce);
    gather->kernel_s = parameters * gather_copies_bytes(plan->scenario) * s_per_byte;
    reduce->kernel_s = (share.trained + share.trained_experts) * reduction_copies_bytes(plan->scenario) * s_per_byte;
}

/* Finds the products whose weights the backward pass gathers twice when whole layers are recomputed: for the
 * recomputation, and, as they are dropped after it, for their gradients. Between the two uses of a product's weight lie
 * the products after it, forward and backward. A weight that is not used again within `gather_reuse` parameters is
 * dropped (DeepSpeed, stage3_max_reuse_distance, 1e9 by default: deepspeed/runtime/zero/config.py). */
static void find_dropped(const struct tsim_scenario *sc, bool is_dropped[TSIM_N_LAYER_PRODUCTS]) {
    double weights[TSIM_N_LAYER_PRODUCTS], after = 0, limit = sc->software->gather_reuse_parameters;
    bool can_drop = sc->training.recompute >= TSIM_RECOMPUTE_FULL && limit > 0;
    tsim_layer_product_parameters(sc, weights);
    for (int i = TSIM_N_LAYER_PRODUCTS - 1; i >= 0; i--) {
        is_dropped[i] = can_drop && 2 * after > limit;
        after += weights[i];
    }
}

/* Returns the share of those products in a layer's parameters. */
static double gathered_again_frac(const struct tsim_scenario *sc) {
    double weights[TSIM_N_LAYER_PRODUCTS], all = 0, dropped = 0;
    bool is_dropped[TSIM_N_LAYER_PRODUCTS];
    tsim_layer_product_parameters(sc, weights);
    find_dropped(sc, is_dropped);
    for (int i = 0; i < TSIM_N_LAYER_PRODUCTS; i++) {
        dropped += is_dropped[i] ? weights[i] : 0;
        all += weights[i];
    }
    return all > 0 ? dropped / all : 0;
}

/* Plans the gathers of a layer's unit for the backward pass, as one collective. */
static void plan_regather(const struct tsim_step_plan *plan, const struct data_groups *data, struct share share,
                          const struct tsim_data_collective *gather, struct tsim_data_collective *regather) {
    double frac = 1 + gathered_again_frac(plan->scenario);
    share.dense *= frac;
    share.expert *= frac;
    gathering(plan, data, share, regather);
    regather->kernel_s = frac * gather->kernel_s;
}

static void plan_products(const struct tsim_step_plan *plan, const struct data_groups *data,
                          struct tsim_stage_plan *sp) {
    double parameters[TSIM_N_LAYER_PRODUCTS];
    tsim_layer_product_parameters(plan->scenario, parameters);
    for (int i = 0; i < TSIM_N_LAYER_PRODUCTS; i++)
        plan_unit(plan, data, (struct share){.dense = parameters[i], .trained = parameters[i]}, &sp->product_gathers[i],
                  &sp->product_reduces[i]);
}

static void plan_fully_sharded(struct tsim_arena *arena, const struct tsim_step_plan *plan,
                               const struct data_groups *data, const struct tsim_scenario *sc,
                               struct tsim_stage_plan *sp) {
    const struct tsim_chunk_plan *chunk = &sp->chunks[0];
    bool has_adapters = tsim_is_frozen(sc);
    double root = chunk->frozen_parameters + (has_adapters ? 0 : chunk->parameters - chunk->expert_parameters);
    if (!sp->layers)
        sp->layers = TSIM_NEW_ARRAY(arena, TSIM_N_PARTS, struct tsim_layer_collectives);
    if (plan->gathers_products)
        plan_products(plan, data, sp);
    for (int i = 0; i < TSIM_N_PARTS; i++) {
        enum tsim_part part = (enum tsim_part)i;
        if (chunk->parts.times[part] <= 0 || tsim_layer_kind(part)->is_end)
            continue;
        double experts = tsim_layer_has_experts(part) ? tsim_layer_rank_expert_parameters(sc) : 0;
        struct share share = {.dense = tsim_layer_rank_parameters(sc, part) - experts,
                              .expert = experts,
                              .is_quantized = tsim_base_is_quantized(sc)};
        share.trained_experts = has_adapters ? tsim_layer_routed_adapter_parameters(sc, part) : experts;
        share.trained = has_adapters ? tsim_layer_adapter_parameters(sc, part) - share.trained_experts
                        : tsim_layer_is_frozen(sc, part) ? 0
                                                         : share.dense;
        root -= share.dense * chunk->parts.times[part];
        if (plan->gathers_products)
            continue;
        plan_unit(plan, data, share, &sp->layers[part].gather, &sp->layers[part].reduce);
        share.dense = tsim_layer_is_frozen(sc, part) ? 0 : share.dense; /* which has no backward pass */
        plan_regather(plan, data, share, &sp->layers[part].gather, &sp->layers[part].regather);
    }
    double patches = sc->model->tower.frozen && chunk->has_embedding ? tsim_tower_embedding_parameters(sc->model) : 0;
    plan_unit(plan, data, (struct share){.dense = root, .trained = has_adapters ? 0 : root - patches}, &sp->root_gather,
              &sp->root_reduce);
}

/* A layer's time by product. Each product has the operators up to the next product's. */
struct product_times {
    double s[2][TSIM_N_LAYER_PRODUCTS]; /* with and without what is executed again */
    enum tsim_layer_product at[2];
    double again_frac; /* of the layers, which are all cut alike */
};

static void add_to_product(void *context, const struct tsim_pass_operator *row) {
    struct product_times *times = context;
    bool again = strcmp(row->phase, "recompute") == 0;
    if (row->op->product != TSIM_NO_LAYER_PRODUCT)
        times->at[again] = row->op->product;
    times->s[again][times->at[again]] +=
        (again ? times->again_frac : 1) * (row->op->kind == TSIM_OP_COLLECTIVE ? row->exposed_s : row->time_s);
}

static void add_unit(struct tsim_layer_units *units, struct tsim_layer_unit unit) {
    units->at[units->n++] = unit;
}

static void normalize(struct tsim_layer_units *units) {
    double sum = 0;
    for (int32_t i = 0; i < units->n; i++)
        sum += units->at[i].frac;
    for (int32_t i = 0; i < units->n; i++) {
        TSIM_ASSERT(units->at[i].frac > 0);
        units->at[i].frac /= sum;
    }
}

/* Cuts the layers of a pass into units. DeepSpeed fetches the weights of a module when one before it begins
 * (runtime/zero/partitioned_param_coordinator.py, fetch_sub_module), in large models the one directly before it. So
 * short products are waited for beside long ones, before the links are full. Operators of less than a whole layer that
 * are executed again run with the product whose gradients come before attention's. */
static void cut_layers(struct tsim_step_plan *plan, const struct tsim_placement *placement) {
    const struct tsim_scenario *sc = plan->scenario;
    struct tsim_layer_units *forward = &plan->layer_units[0], *backward = &plan->layer_units[1];
    bool is_dropped[TSIM_N_LAYER_PRODUCTS], comes_again[TSIM_N_LAYER_PRODUCTS];
    bool is_whole = sc->training.recompute >= TSIM_RECOMPUTE_FULL;
    plan->gathers_products = plan->shards_fully && tsim_gathers_products(sc);
    if (!plan->gathers_products) {
        int32_t places = tsim_unit_places(sc);
        add_unit(forward, (struct tsim_layer_unit){.gathers = true, .places = places, .frac = 1});
        add_unit(backward, (struct tsim_layer_unit){.gathers = true, .reduces = true, .places = places, .frac = 1});
        return;
    }
    struct product_times there = {.at = {TSIM_PRODUCT_QKV, TSIM_PRODUCT_QKV}};
    struct product_times back = {.at = {TSIM_PRODUCT_DOWN, is_whole ? TSIM_PRODUCT_QKV : TSIM_PRODUCT_OUT}};
    back.again_frac = tsim_recomputed_frac(sc);
    tsim_pass_visit(sc, plan->cluster, placement, tsim_products_part(sc->model), TSIM_PASS_FORWARD, add_to_product,
                    &there);
    tsim_pass_visit(sc, plan->cluster, placement, tsim_products_part(sc->model), TSIM_PASS_BACKWARD, add_to_product,
                    &back);
    find_dropped(sc, is_dropped);
    for (int i = 0; i < TSIM_N_LAYER_PRODUCTS; i++) {
        enum tsim_layer_product product = (enum tsim_layer_product)i;
        struct tsim_layer_unit unit = {.product = product,
                                       .gathers = true,
                                       .places = tsim_layer_product_places(sc, product, false),
                                       .frac = there.s[0][i]};
        add_unit(forward, unit);
        unit.frac = back.s[1][i];
        comes_again[i] = is_whole && back.s[1][i] > 0; /* the last does not, if recomputation stops early */
        if (comes_again[i])
            add_unit(backward, unit);
    }
    for (int i = TSIM_N_LAYER_PRODUCTS - 1; i >= 0; i--) {
        enum tsim_layer_product product = (enum tsim_layer_product)i;
        add_unit(backward, (struct tsim_layer_unit){.product = product,
                                                    .gathers = !comes_again[i] || is_dropped[i],
                                                    .reduces = true,
                                                    .places = tsim_layer_product_places(sc, product, true),
                                                    .frac = back.s[0][i] + (is_whole ? 0 : back.s[1][i])});
    }
    normalize(forward);
    normalize(backward);
}

static const struct tsim_pass_route *find_routes(struct tsim_arena *arena, const struct tsim_schedule_shape *shape,
                                                 int32_t stage) {
    size_t n = (size_t)shape->chunks * TSIM_N_PASS_KINDS;
    struct tsim_pass_route *routes = TSIM_NEW_ARRAY(arena, n, struct tsim_pass_route);
    for (size_t i = 0; i < n; i++) {
        struct tsim_pass_item item = {.kind = (enum tsim_pass_kind)(i % TSIM_N_PASS_KINDS),
                                      .chunk = (int32_t)(i / TSIM_N_PASS_KINDS)};
        routes[i].hop = tsim_schedule_hop(shape, stage, item);
        routes[i].receives = tsim_schedule_receives(shape, stage, item);
    }
    return routes;
}

/* Returns the pass at whose end, or in whose middle if it is cut, the first gradients of the step are released for
 * reduction. */
static int32_t first_release(const struct tsim_step_plan *plan, const struct tsim_stage_plan *sp) {
    int32_t last_microbatch = tsim_schedule_chunk_microbatches(&plan->schedule) - 1;
    for (int32_t i = 0; i < sp->n_items; i++)
        if (sp->items[i].kind != TSIM_PASS_FORWARD && sp->items[i].kind != TSIM_PASS_INPUT_GRADIENT &&
            (plan->reduces_every_microbatch || sp->items[i].microbatch == last_microbatch))
            return sp->chunks[sp->items[i].chunk].n_reduces > 1 ? i : i + 1;
    return sp->n_items;
}

/* Finds the passes that may meet collectives: gathers are under way until the last pass that waits for one has begun,
 * reductions from the first release on, and copies beside any pass. */
static void find_met(const struct tsim_step_plan *plan, struct tsim_stage_plan *sp) {
    bool meets_gathers = plan->gathers && plan->overlaps_gathers,
         meets_reductions = plan->overlaps_reduces && !plan->waits_for_reductions;
    sp->met_until = 0;
    sp->met_from = meets_reductions ? first_release(plan, sp) : sp->n_items;
    for (int32_t i = 0; i < sp->n_items && meets_gathers; i++)
        if (sp->items[i].kind == TSIM_PASS_FORWARD && sp->items[i].microbatch == 0)
            sp->met_until = i + 1;
    if (plan->shards_fully || plan->has_copies || sp->met_from <= sp->met_until)
        sp->met_until = sp->n_items;
}

/* Returns whether kernels wait for the host for more than a hundredth of a pass. */
static bool waits(const struct tsim_step_plan *plan, const struct tsim_pass_costs *costs) {
    const struct tsim_parts parts = tsim_model_parts(plan->scenario->model);
    bool waits = false;
    for (int kind = TSIM_PASS_FORWARD; kind <= TSIM_PASS_BACKWARD; kind++) {
        struct tsim_pass_cost whole;
        tsim_pass_sum(costs, plan->scenario, kind, &parts, 0, &whole);
        waits |= whole.host_excess_s > 0.01 * whole.time_s;
    }
    return waits;
}

static bool has_own_collectives(const struct tsim_pass_costs *costs) {
    bool has_own = false;
    for (int i = 0; i < TSIM_N_PARTS * TSIM_N_PASS_KINDS; i++) {
        const struct tsim_pass_cost *cost = &costs->parts[i % TSIM_N_PARTS]->ways[i / TSIM_N_PARTS];
        has_own |= cost->scale_up_bytes > 0 || cost->nic_bytes > 0;
    }
    return has_own;
}

/* Returns whether a pass alone does not tell how long its operators take. Its collectives may find a link slow, or taken
 * by others: the mean of what a pass asks of it is less than what they ask while they run. Kernels on a slow accelerator
 * that wait for the host hide there some of what they take longer. */
static bool needs_operators(const struct tsim_step_plan *plan, const struct tsim_pass_costs *costs) {
    const struct tsim_cluster_spec *cluster = &plan->scenario->cluster;
    bool is_accelerator = false, is_link = cluster->n_background > 0;
    for (size_t i = 0; i < cluster->n_degraded; i++)
        *(cluster->degraded[i].link == TSIM_DEGRADED_ACCELERATOR ? &is_accelerator : &is_link) = true;
    return (is_link && !plan->is_ideal && has_own_collectives(costs)) || (is_accelerator && waits(plan, costs));
}

/* Returns whether collectives of the data-parallel group, or copies, meet those of passes; or the host goes on while
 * kernels wait for weights, so that they would not have waited for it; or collectives slow down kernels of which some
 * wait for the host. */
static bool collectives_meet(const struct tsim_step_plan *plan, const struct tsim_pass_costs *costs) {
    const struct tsim_overlap *overlap = &plan->scenario->parallelism.overlap;
    bool is_beside = plan->shards_fully ? overlap->parameters || overlap->gradients
                                        : plan->overlaps_reduces || (plan->gathers && plan->overlaps_gathers);
    bool has_own = has_own_collectives(costs);
    bool meets_host = (plan->shards_fully || is_beside) && waits(plan, costs);
    bool meets_data = plan->has_data_group && ((is_beside && has_own) || meets_host);
    return !plan->is_ideal && (meets_data || (has_own && tsim_copies_meet_collectives(plan)));
}

/* Plans the update. Gradients on which the host works leave chunk by chunk. */
static void plan_update(const struct tsim_step_plan *plan, int32_t stage, struct tsim_stage_plan *sp) {
    double parameters = 0;
    tsim_host_update(plan->scenario, plan->cluster, stage, &sp->host_update);
    bool is_elsewhere = plan->scenario->parallelism.parameter_server.servers > 0;
    sp->optimizer_s =
        is_elsewhere ? 0
        : sp->host_update.time_s > 0
            ? sp->host_update.time_s
            : tsim_update_recorded(NULL, plan->scenario, plan->cluster, stage, 0, &sp->optimizer_hbm_bytes).value;
    if (plan->schedule.schedule == TSIM_SCHEDULE_PIPEDREAM) {
        sp->optimizer_s *= plan->schedule.microbatches;
        sp->optimizer_hbm_bytes *= plan->schedule.microbatches;
    }
    for (int32_t c = 0; c < plan->schedule.chunks; c++)
        parameters += sp->chunks[c].parameters;
    for (int32_t c = 0; c < plan->schedule.chunks && parameters > 0; c++)
        sp->chunks[c].host_gradient_bytes = sp->host_update.gradient_bytes * sp->chunks[c].parameters / parameters;
}

static void plan_stage(struct tsim_arena *arena, const struct tsim_step_plan *plan, const struct tsim_pass_costs *costs,
                       const struct tsim_placement *placement, const struct data_groups *first, int32_t stage,
                       struct tsim_stage_plan *sp) {
    const struct tsim_scenario *sc = plan->scenario;
    int32_t p = plan->schedule.stages;
    sp->n_items = tsim_schedule_n_items(&plan->schedule, stage);
    struct tsim_pass_item *items = TSIM_NEW_ARRAY(arena, (size_t)sp->n_items, struct tsim_pass_item);
    tsim_schedule_fill(&plan->schedule, stage, items);
    if (plan->is_forward_only)
        sp->n_items = keep_forward(&plan->schedule, items, sp->n_items);
    sp->items = items;
    sp->routes = find_routes(arena, &plan->schedule, stage);
    const struct data_groups of_stage = groups_of(plan, placement, first, stage);
    bool has_groups_of_last = stage > 0 && same_groups(groups_of(plan, placement, first, stage - 1), of_stage);
    struct tsim_stage_part own;
    struct tsim_pass_costs own_costs;
    const struct tsim_scenario *part = tsim_stage_part(sc, stage, &own);
    if (part != sc) {
        tsim_pass_costs_build(arena, part, plan->cluster, placement, &own_costs);
        costs = &own_costs;
    }
    bool plays = plan->plays_operators != TSIM_OPERATORS_OF_NONE;
    if (plays && part == sc && stage > 0) {
        sp->programs = plan->stages[0].programs;
    } else if (plays) {
        bool joins_kernels = plan->is_stepped ? !plan->tells_operators : plan->plays_operators == TSIM_OPERATORS_OF_MET;
        sp->programs = TSIM_NEW(arena, struct tsim_pass_programs);
        tsim_pass_programs_copy(arena, costs, joins_kernels && !sc->software->launch_blocking, sp->programs);
    }
    sp->chunks = TSIM_NEW_ARRAY(arena, (size_t)plan->schedule.chunks, struct tsim_chunk_plan);
    sp->alike = TSIM_NEW_ARRAY(arena, (size_t)plan->schedule.chunks, int32_t);
    for (int32_t c = 0; c < plan->schedule.chunks; c++) {
        const struct tsim_chunk_plan *like = plan->is_mirrored || part != sc ? NULL
                                             : c > 0                         ? &sp->chunks[c - 1]
                                             : has_groups_of_last            ? plan->stages[stage - 1].chunks
                                                                             : NULL;
        plan_chunk(plan, costs, &of_stage, stage, c, like, &sp->chunks[c]);
        if (c == 0 || !like || plan->shards_fully || !same_chunk(sc->model, like, &sp->chunks[c]))
            sp->alike[sp->n_alike++] = c;
        sp->chunks[c].alike = sp->n_alike - 1;
        sp->chunks[c].first_gather = sp->n_gathers;
        sp->chunks[c].first_reduce = sp->n_reduces;
        sp->n_gathers += sp->chunks[c].n_gathers;
        sp->n_reduces += sp->chunks[c].n_reduces;
    }
    plan_update(plan, stage, sp);
    if (plan->gathers_products) {
        sp->product_gathers = TSIM_NEW_ARRAY(arena, TSIM_N_LAYER_PRODUCTS, struct tsim_data_collective);
        sp->product_reduces = TSIM_NEW_ARRAY(arena, TSIM_N_LAYER_PRODUCTS, struct tsim_data_collective);
    }
    if (p > 1) {
        const struct tsim_coordinates here = {.at[TSIM_AXIS_PIPELINE] = stage};
        tsim_step_message_of(plan, placement, here, (stage + 1) % p, &sp->next);
        tsim_step_message_of(plan, placement, here, (stage + p - 1) % p, &sp->prev);
    }
    if (plan->shards_fully && plan->has_data_group)
        plan_fully_sharded(arena, plan, &of_stage, part, sp);
    find_met(plan, sp);
}

static void number_slots(struct tsim_arena *arena, struct tsim_step_plan *plan) {
    static const enum tsim_pass_kind KINDS[2] = {TSIM_PASS_FORWARD, TSIM_PASS_BACKWARD};
    const struct tsim_schedule_shape *shape = &plan->schedule;
    int32_t *slots = TSIM_NEW_ARRAY(arena, (size_t)shape->microbatches, int32_t);
    struct tsim_pass_item item = {.kind = TSIM_PASS_FORWARD};
    for (; item.microbatch < shape->microbatches; item.microbatch++)
        slots[item.microbatch] = tsim_schedule_slot(shape, item);
    plan->slots = slots;
    for (int i = 0; i < 2; i++) {
        item = (struct tsim_pass_item){.kind = KINDS[i]};
        plan->first_slot[i] = tsim_schedule_slot(shape, item);
        item.chunk = 1;
        plan->slots_apart[i] = tsim_schedule_slot(shape, item) - plan->first_slot[i];
    }
}

/* Changes the plan for forward passes alone: weights are there, except those that are sharded, and nothing is
 * reduced. */
static void forward_only(struct tsim_step_plan *plan) {
    plan->is_forward_only = true;
    plan->has_data_group = plan->shards_fully;
    plan->gathers = plan->overlaps_gathers = plan->overlaps_reduces = false;
    plan->reduces_every_microbatch = plan->waits_for_reductions = plan->bypasses_norm = false;
}

static void find_longest(const struct tsim_data_collective *collective, enum tsim_among among, bool is_expert,
                         struct tsim_collective_request *longest) {
    for (int32_t i = 0; i < collective->n_parts; i++) {
        const struct tsim_collective_part *part = &collective->parts[i];
        if (part->is_expert == is_expert && part->among == among && part->bytes > longest->bytes)
            *longest = (struct tsim_collective_request){.op = part->op, .bytes = part->bytes};
    }
}

struct tsim_collective_request tsim_step_data_request(const struct tsim_step_plan *plan, int32_t stage, int32_t n,
                                                      enum tsim_among among, bool is_expert) {
    const struct tsim_stage_plan *sp = &plan->stages[stage];
    struct tsim_collective_request longest = {.bytes = 0};
    find_longest(&sp->chunks[0].reduce, among, is_expert, &longest);
    if (!(longest.bytes > 0))
        find_longest(&sp->chunks[0].gather, among, is_expert, &longest);
    for (int part = 0; sp->layers && part < TSIM_N_PARTS; part++) {
        find_longest(&sp->layers[part].gather, among, is_expert, &longest);
        find_longest(&sp->layers[part].reduce, among, is_expert, &longest);
    }
    find_longest(&sp->root_gather, among, is_expert, &longest);
    find_longest(&sp->root_reduce, among, is_expert, &longest);
    bool is_sum = longest.op == TSIM_ALL_REDUCE || longest.op == TSIM_ALL_TO_ALL;
    if (longest.bytes > 0 && !is_sum)
        longest = (struct tsim_collective_request){.op = TSIM_ALL_GATHER, .bytes = 1e8 * n};
    return longest;
}

int32_t tsim_ranks_among(const struct tsim_scenario *sc, enum tsim_among among, bool is_expert, const int32_t *all,
                         int32_t n, int32_t k, int32_t *ranks) {
    double wanted = among == TSIM_AMONG_ALL ? n : is_expert ? tsim_expert_shards(sc) : tsim_shards(sc);
    int32_t shards = (int32_t)fmin(wanted, n), n_own = shards, first = k * shards, apart = 1;
    if (among == TSIM_AMONG_REPLICAS) {
        n_own = n / shards;
        first = k;
        apart = shards;
    }
    if (k == n / n_own)
        return 0;
    for (int32_t i = 0; i < n_own; i++)
        ranks[i] = all[first + i * apart];
    return n_own;
}

/* Says what the scenario does in a step, whatever its stages hold. */
static void outline(const struct tsim_scenario *sc, const struct tsim_cluster *cluster, const struct data_groups *first,
                    struct tsim_step_plan *plan) {
    int zero = sc->parallelism.zero;
    bool reduces_each = tsim_reduces_each_microbatch(sc);
    plan->scenario = sc;
    plan->cluster = cluster;
    plan->schedule = tsim_scenario_schedule(sc);
    plan->is_ideal = sc->simulation.network == TSIM_NETWORK_IDEAL;
    plan->is_mirrored = plan->schedule.schedule == TSIM_SCHEDULE_DUALPIPE;
    plan->has_data_group = (first->dense.n_ranks > 1 || first->expert.n_ranks > 1 || plan->is_mirrored) &&
                           !tsim_streams_weights(sc); /* gradients are summed on their way out */
    plan->shards_fully = zero == 3 && plan->has_data_group;
    bool is_local = sc->parallelism.local_sgd.workers > 0;
    plan->gathers = zero == 1 || zero == 2 || is_local;
    plan->overlaps_gathers = sc->parallelism.overlap.parameters && !is_local;
    plan->overlaps_reduces = (reduces_each || (zero < 2 && sc->parallelism.overlap.gradients)) &&
                             sc->training.compression.kind != TSIM_ONE_BIT;
    plan->reduces_every_microbatch = reduces_each;
    plan->waits_for_reductions = reduces_each && !sc->parallelism.overlap.gradients && plan->has_data_group;
    plan->n_rounds = plan->reduces_every_microbatch ? tsim_schedule_chunk_microbatches(&plan->schedule) : 1;
    if (plan->schedule.schedule == TSIM_SCHEDULE_PIPEDREAM) { /* each micro-batch is a batch */
        plan->overlaps_reduces = plan->reduces_every_microbatch = true;
        plan->waits_for_reductions = plan->has_data_group;
        plan->n_rounds = plan->schedule.microbatches;
    }
    bool is_asynchronous = tsim_is_asynchronous(plan->schedule.schedule);
    plan->bypasses_norm = is_asynchronous || plan->schedule.schedule == TSIM_SCHEDULE_ZB_H1 ||
                          plan->schedule.schedule == TSIM_SCHEDULE_ZB_H2 ||
                          plan->schedule.schedule == TSIM_SCHEDULE_ZB_V;
    plan->sends_async = sc->parallelism.overlap.pipeline;
    if (sc->is_forward_only)
        forward_only(plan);
}

/* ---- a sketch ---- */

struct tsim_step_sketch {
    struct tsim_arena *arena;
    struct tsim_step_plan plan;
    struct tsim_stage_plan stage;
    const struct tsim_pass_costs *costs;
    struct data_groups groups[3]; /* of the first stage, those between, and the last */
};

struct tsim_step_sketch *tsim_step_sketch_new(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                              const struct tsim_cluster *cluster,
                                              const struct tsim_placement *placement,
                                              const struct tsim_pass_costs *costs) {
    struct tsim_step_sketch *sketch = TSIM_NEW(arena, struct tsim_step_sketch);
    const struct data_groups first = groups_at(placement, 0);
    sketch->arena = arena;
    sketch->costs = costs;
    outline(sc, cluster, &first, &sketch->plan);
    sketch->plan.plays_operators = TSIM_OPERATORS_OF_ALL;
    int32_t last = sketch->plan.schedule.stages - 1;
    for (int32_t i = 0; i < 3; i++)
        sketch->groups[i] = groups_of(&sketch->plan, placement, &first, i < 2 && i < last ? i : last);
    sketch->stage.chunks = TSIM_NEW_ARRAY(arena, (size_t)sketch->plan.schedule.chunks, struct tsim_chunk_plan);
    return sketch;
}

const struct tsim_step_plan *tsim_step_sketch_stage(struct tsim_step_sketch *sketch, int32_t stage,
                                                    const struct tsim_stage_plan **planned) {
    struct tsim_step_plan *plan = &sketch->plan;
    struct tsim_stage_plan *sp = &sketch->stage;
    const struct data_groups *data = &sketch->groups[stage == plan->schedule.stages - 1 ? 2 : stage > 0];
    *sp = (struct tsim_stage_plan){.chunks = sp->chunks, .layers = sp->layers};
    memset(sp->chunks, 0, (size_t)plan->schedule.chunks * sizeof *sp->chunks);
    for (int32_t c = 0; c < plan->schedule.chunks; c++)
        plan_chunk(plan, sketch->costs, data, stage, c, NULL, &sp->chunks[c]);
    plan_update(plan, stage, sp);
    if (sp->layers)
        memset(sp->layers, 0, TSIM_N_PARTS * sizeof *sp->layers);
    if (plan->shards_fully)
        plan_fully_sharded(sketch->arena, plan, data, plan->scenario, sp);
    *planned = sp;
    return plan;
}

/* ---- the plan ---- */

struct tsim_step_plan *tsim_step_plan_build(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                            const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                                            const struct tsim_pass_costs *costs, const struct tsim_step_input *input,
                                            const struct tsim_step_sink *sink) {
    struct tsim_step_plan *plan = TSIM_NEW(arena, struct tsim_step_plan);
    struct data_groups first = groups_at(placement, 0);
    outline(sc, cluster, &first, plan);
    number_slots(arena, plan);
    plan->input = input;
    plan->is_stepped = sc->simulation.network == TSIM_NETWORK_STEPS;
    plan->tells_operators = sink && sink->wants_operators;
    plan->copies_input = input && sc->cluster.node->host_link_bytes_per_s > 0 && sc->data.transfer_bytes > 0;
    plan->has_copies =
        plan->copies_input ||
        (sc->cluster.node->host_link_bytes_per_s > 0 &&
         (sc->training.offload.optimizer || sc->training.offload.activations_frac > 0 || tsim_streams_weights(sc)));
    cut_layers(plan, placement);
    plan->n_units = tsim_step_n_units(plan, TSIM_PASS_BACKWARD); /* backward there are no fewer than forward */
    tsim_noise_plan(sc, plan);
    bool is_whole = sink && sink->needs_whole_passes;
    if (plan->is_stepped || sc->simulation.detail != TSIM_DETAIL_PASSES || (!is_whole && needs_operators(plan, costs)))
        plan->plays_operators = TSIM_OPERATORS_OF_ALL;
    else if (!is_whole && collectives_meet(plan, costs))
        plan->plays_operators = TSIM_OPERATORS_OF_MET;
    if ((plan->has_data_group || plan->has_copies) && plan->plays_operators == TSIM_OPERATORS_OF_NONE)
        list_layer_kernels(arena, placement, plan);
    if (plan->has_copies)
        take_copies(plan);
    plan->stages = TSIM_NEW_ARRAY(arena, (size_t)plan->schedule.stages, struct tsim_stage_plan);
    for (int32_t s = 0; s < plan->schedule.stages; s++)
        plan_stage(arena, plan, costs, placement, &first, s, &plan->stages[s]);
    plan->has_tied_reduction = !plan->is_forward_only && tsim_shares_table(sc);
    if (plan->has_tied_reduction) {
        bool on_node = plan->stages[0].prev.on_node;
        double bytes = tsim_padded_vocab_per_rank(sc) * (double)sc->model->hidden * tsim_gradient_bytes(sc);
        struct tsim_group pair = {.n_ranks = 2,
                                  .n_nodes = on_node ? 1 : 2,
                                  .max_ranks_per_node = on_node ? 2 : 1,
                                  .min_ranks_per_node = on_node ? 2 : 1,
                                  .stride = (plan->schedule.stages - 1) * placement->stride[TSIM_AXIS_PIPELINE]};
        struct tsim_collective_cost cost;
        collective(plan, TSIM_ALL_REDUCE, bytes, pair, &cost);
        begin_group(&plan->tied);
        add_part(&plan->tied, (struct tsim_collective_part){TSIM_ALL_REDUCE, bytes, TSIM_AMONG_ALL, false}, &cost);
    }
    struct tsim_group all = tsim_placement_group(placement, (1u << TSIM_N_AXES) - 1);
    if (tsim_workers_apart(&sc->parallelism) > 0)
        all = shard_group(all, (double)(sc->n_accelerators / tsim_workers_apart(&sc->parallelism)));
    if (all.n_ranks > 1 &&
        !tsim_is_asynchronous(plan->schedule.schedule)) /* without this, no stage knows the others' gradients */
        collective(plan, TSIM_ALL_REDUCE, TSIM_NORM_BYTES, all, &plan->norm);
    if (plan->is_stepped)
        tsim_pass_collectives_build(arena, plan);
    return plan;
}
