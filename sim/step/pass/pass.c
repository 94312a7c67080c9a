#include "step/pass/pass.h"

#include "config/lengths.h"
#include "cost/collective.h"
#include "cost/compute.h"
#include "model/routing.h"
#include "partition/partition.h"
#include "step/pass/pass_alone.h"
#include "step/program.h"

#include <math.h>
#include <string.h>

struct walk {
    struct tsim_term_recorder *recorder; /* NULL except for tsim_pass_collective_term */
    const struct tsim_scenario *scenario;
    const struct tsim_cluster *cluster;
    const struct tsim_placement *placement;
    const char *phase;
    enum tsim_pass_kind kind; /* input or weight gradient: the other one's operators are left out */
    bool is_alone;            /* no other micro-batch's pass hides exchanges */
    bool runs_again;          /* a backward pass executes operators of the forward pass again */
    tsim_pass_visit_fn visit;
    void *context;
    struct tsim_pass_operator *rows; /* of the part so far */
    int32_t n_rows;
    int64_t lengths[TSIM_PASS_LENGTHS]; /* of passes, if they differ */
    int n_lengths;
};

enum { MOST_ROWS = 2 * TSIM_MAX_OPS };

/* The part of the links' rates that dispatch per node reaches: 0.78 to 0.99 in DeepEP's first table, 8 to 64 H800
 * (tests/unit/test_dispatch_measured.c). */
#define PER_NODE_LINK_FRAC 0.85
/* It holds this many compute units (DeepSeek-AI 2024, section 3.2.2; Megatron-Core's moe_deepep_num_sms). Between nodes
 * copies go through a buffer on each side, which doubles what is read and written (DeepEP,
 * csrc/kernels/internode.cu). */
#define PER_NODE_UNITS 20
#define PER_NODE_STAGED 2

/* Costs dispatch per node (see the header). One of a token's copies in `request` goes to each node that has experts of
 * it, and on to each such rank. */
static void per_node_cost(const struct walk *w, const struct tsim_collective_request *request,
                          struct tsim_collective_cost *cost) {
    const struct tsim_experts *experts = &w->scenario->model->experts;
    int32_t nodes = request->group.n_nodes, on_node = request->group.max_ranks_per_node;
    struct tsim_collective_request part = *request;
    struct tsim_collective_cost across;
    part.group =
        (struct tsim_group){.n_ranks = nodes, .n_nodes = nodes, .max_ranks_per_node = 1, .min_ranks_per_node = 1};
    double copy_bytes = request->bytes / (double)experts->active;
    part.bytes = copy_bytes * tsim_routing_nodes(experts, nodes);
    tsim_collective_cost(w->cluster, &part, &across);
    part.group = (struct tsim_group){
        .n_ranks = on_node, .n_nodes = 1, .max_ranks_per_node = on_node, .min_ranks_per_node = on_node};
    part.bytes = copy_bytes * tsim_routing_ranks(experts, nodes, on_node);
    tsim_collective_cost(w->cluster, &part, cost);
    struct tsim_term_recorder *r = w->recorder;
    const struct tsim_collective_cost *both[] = {&across, cost};
    struct tsim_amount flows[2], latencies[2];
    for (int i = 0; i < 2; i++) {
        const char *where = i == 0 ? "between nodes" : "on the node";
        struct tsim_amount whole = {.value = both[i]->time_s, .term = both[i]->term};
        latencies[i] = tsim_given(r, tsim_record_text(r, "latency %s", where), both[i]->latency_s, TSIM_TIME_S,
                                  "NCCL's tuning model (sim/cost/collective.h)");
        flows[i] = tsim_sum(r, tsim_record_text(r, "flow %s", where), "time - latency", TSIM_TIME_S,
                            TSIM_PARTS(whole, tsim_inverse(latencies[i])));
    }
    struct tsim_amount flow = tsim_product(
        r, "flow", "the slower of the two / its part of the rate", TSIM_TIME_S,
        TSIM_PARTS(tsim_largest(r, "slower of the two", "they go on at once", TSIM_TIME_S, flows, 2),
                   tsim_inverse(tsim_given(r, "part of the links' rates",
                                           request->network == TSIM_NETWORK_IDEAL ? 1 : PER_NODE_LINK_FRAC,
                                           TSIM_FRACTION, "DeepEP's first table (sim/step/pass/pass.c)"))));
    struct tsim_amount time = tsim_sum(r, "all_to_all of one copy to each node, alone", "latencies + flow", TSIM_TIME_S,
                                       TSIM_PARTS(latencies[1], latencies[0], flow));
    cost->latency_s += across.latency_s;
    cost->time_s = time.value;
    cost->term = time.term;
    cost->scale_up_bytes += across.scale_up_bytes;
    cost->nic_bytes += across.nic_bytes;
    cost->hbm_bytes += PER_NODE_STAGED * across.hbm_bytes;
    cost->sm_frac =
        fmin(fmax(cost->sm_frac, across.sm_frac), PER_NODE_UNITS / (double)w->cluster->accelerator->compute_units);
}

static void collective_cost(const struct walk *w, const struct tsim_op *op, struct tsim_collective_cost *cost) {
    unsigned axes = op->axis == TSIM_AXIS_EXPERT ? w->placement->expert_axes : 1u << op->axis;
    struct tsim_collective_request request = {.op = tsim_collective_of(op),
                                              .bytes = op->collective_bytes,
                                              .group = tsim_placement_group(w->placement, axes),
                                              .network = w->scenario->simulation.network,
                                              .recorder = w->recorder};
    if (op->once_per_node) {
        per_node_cost(w, &request, cost);
        return;
    }
    tsim_collective_cost(w->cluster, &request, cost);
    if (op->collective == TSIM_OP_RING_EXCHANGE) { /* one message to the neighbour for every other rank of the ring */
        struct tsim_amount extra = tsim_product(
            w->recorder, "latency of the other messages", "messages x latency of one", TSIM_TIME_S,
            TSIM_PARTS(tsim_given(w->recorder, "messages", request.group.n_ranks - 2, TSIM_COUNT, "ranks of the ring"),
                       tsim_given(w->recorder, "latency of one", cost->latency_s, TSIM_TIME_S,
                                  "NCCL's tuning model (sim/cost/collective.h)")));
        struct tsim_amount one = {.value = cost->time_s, .term = cost->term};
        struct tsim_amount time = tsim_sum(w->recorder, "exchange around the ring, alone", "flow and latencies",
                                           TSIM_TIME_S, TSIM_PARTS(one, extra));
        cost->latency_s += extra.value;
        cost->time_s = time.value;
        cost->term = time.term;
    }
}

static bool is_product(const struct tsim_op *op) {
    return op->kind == TSIM_OP_GEMM || op->kind == TSIM_OP_FLASH;
}

/* Returns whether the operator is left out of this kind of pass. */
static bool is_elsewhere(const struct walk *w, const struct tsim_op *op) {
    return (w->kind == TSIM_PASS_INPUT_GRADIENT && op->is_weight_gradient) ||
           (w->kind == TSIM_PASS_WEIGHT_GRADIENT && !op->is_weight_gradient);
}

/* Returns the product that the collective at `at` runs beside, or NULL. */
static const struct tsim_op *partner(const struct walk *w, const struct tsim_op_list *list, int32_t at) {
    if (list->ops[at].overlap == TSIM_PIPELINED_PREVIOUS)
        return at > 0 && is_product(&list->ops[at - 1]) ? &list->ops[at - 1] : NULL;
    if (list->ops[at].overlap == TSIM_EXPOSED)
        return NULL;
    for (int32_t i = at + 1; i < list->n; i++) {
        const struct tsim_op *op = &list->ops[i];
        if (is_elsewhere(w, op) && w->kind == TSIM_PASS_WEIGHT_GRADIENT)
            continue;
        if (op->kind == TSIM_OP_COLLECTIVE)
            return NULL;
        if (is_product(op)) /* the operators after a missing weight gradient wait for the collective's result */
            return is_elsewhere(w, op) ? NULL : op;
    }
    return NULL;
}

static enum tsim_bound bound_of(enum tsim_limit limit) {
    switch (limit) {
    case TSIM_LIMIT_MATRIX:
        return TSIM_BOUND_COMPUTE;
    case TSIM_LIMIT_MEMORY:
        return TSIM_BOUND_MEMORY;
    case TSIM_LIMIT_LATENCY:
        break;
    }
    return TSIM_BOUND_LATENCY;
}

/* Returns the time that the host takes for each launch. */
static double launch_s(const struct tsim_scenario *sc) {
    bool casts = tsim_is_quantized(sc->training.precision) && sc->software->host_time_per_fp8_op_s > 0;
    return tsim_host_s(sc, casts ? sc->software->host_time_per_fp8_op_s : sc->software->host_time_per_op_s);
}

/* This many launches wait in a stream's queue before the next one blocks (forums.developer.nvidia.com, CUDA stream are
 * blocked when launch lots of kernels, 2018: about 1000). */
#define QUEUED_LAUNCHES 1024

struct tsim_pass_launches tsim_pass_launches(const struct tsim_scenario *sc) {
    const struct tsim_software *software = sc->software;
    double each_s =
        software->cuda_graphs == TSIM_GRAPHS_STEP
            ? 0
            : fmax(launch_s(sc),
                   tsim_host_s(sc, fmax(software->host_time_per_collective_s, software->host_time_per_checkpoint_s)));
    return (struct tsim_pass_launches){each_s, software->launch_blocking ? 0 : QUEUED_LAUNCHES * each_s};
}

/* Moves the product's weight gradient, if it is there, behind the exchange at `at`, whose rows do not wait for it. */
static void delay_weight_gradient(struct tsim_op_list *list, int32_t product, int32_t at) {
    struct tsim_op delayed[TSIM_MAX_OPS];
    int32_t n = 0, to = product;
    for (int32_t i = product; i <= at; i++)
        if (list->ops[i].is_weight_gradient)
            delayed[n++] = list->ops[i];
        else
            list->ops[to++] = list->ops[i];
    list->ops[to - 1].overlap = TSIM_CONCURRENT_NEXT;
    for (int32_t i = 0; i < n; i++)
        list->ops[to + i] = delayed[i];
}

/* Makes exchanges waited for that no other pass hides. Only the one that sends rows' gradients back runs beside the
 * last weight gradient of the experts (Megatron-Core, models/common/model_chunk_schedule_plan.py: mlp_bwd_dw beside
 * dispatch_bwd). */
static void wait_for_exchanges(struct tsim_op_list *list) {
    int32_t product = -1; /* since the last collective */
    for (int32_t i = 0; i < list->n; i++) {
        if (list->ops[i].overlap == TSIM_CONCURRENT_PASS) {
            list->ops[i].overlap = TSIM_EXPOSED;
            if (product >= 0 && list->ops[product].is_weight_gradient)
                delay_weight_gradient(list, product, i);
        }
        product = list->ops[i].kind == TSIM_OP_COLLECTIVE ? -1 : is_product(&list->ops[i]) ? i : product;
    }
}

static void walk_list(struct walk *w, struct tsim_op_list *list) {
    if (w->is_alone)
        wait_for_exchanges(list);
    for (int32_t i = 0; i < list->n; i++) {
        const struct tsim_op *op = &list->ops[i];
        if (is_elsewhere(w, op))
            continue;
        struct tsim_pass_operator row = {.op = op, .phase = w->phase};
        if (op->kind == TSIM_OP_COLLECTIVE) {
            struct tsim_collective_cost cost;
            collective_cost(w, op, &cost);
            row.time_s = cost.time_s;
            row.latency_s = cost.latency_s;
            row.partner = partner(w, list, i);
            row.sm_frac = cost.sm_frac;
            row.scale_up_bytes = cost.scale_up_bytes;
            row.nic_bytes = cost.nic_bytes;
            row.hbm_bytes = cost.hbm_bytes;
            row.memory_s = fmin(cost.hbm_bytes / tsim_memory_rate(w->cluster->accelerator), cost.time_s);
            row.bound = TSIM_BOUND_COMMUNICATION;
            if (cost.time_s > 0)
                row.host_s =
                    launch_s(w->scenario) + tsim_host_s(w->scenario, w->scenario->software->host_time_per_collective_s);
        } else {
            struct tsim_kernel_cost cost;
            tsim_kernel_cost(w->cluster->accelerator, w->scenario->software, op, &cost);
            row.time_s = cost.time_s;
            row.matrix_s = cost.matrix_s;
            row.matrix_power_s = cost.matrix_power_s;
            row.memory_s = cost.memory_s;
            row.exchange_s = cost.exchange_s;
            row.hbm_bytes = op->bytes;
            row.bound = bound_of(cost.limit);
            row.host_s = fmax(op->kernels, op->launches) * launch_s(w->scenario);
        }
        TSIM_ASSERT(w->n_rows < MOST_ROWS);
        w->rows[w->n_rows++] = row;
    }
}

typedef void (*operators_fn)(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at,
                             struct tsim_op_list *list);

/* Puts the mean over all lengths in place of what kernels of the mean length take: the rows from `first` on. */
static void average_lengths(struct walk *w, operators_fn operators, enum tsim_part part, int64_t at, int32_t first) {
    struct tsim_scenario own = *w->scenario;
    struct tsim_op_list list;
    for (int l = 0; l < w->n_lengths; l++) {
        int32_t row = first;
        own.training.lengths.pass = w->lengths[l];
        operators(&own, part, at, &list);
        if (w->is_alone)
            wait_for_exchanges(&list);
        for (int32_t i = 0; i < list.n; i++) {
            struct tsim_kernel_cost cost;
            if (is_elsewhere(w, &list.ops[i]))
                continue;
            struct tsim_pass_operator *sum = &w->rows[row++];
            if (list.ops[i].kind == TSIM_OP_COLLECTIVE)
                continue;
            tsim_kernel_cost(w->cluster->accelerator, w->scenario->software, &list.ops[i], &cost);
            double kept = l > 0, part_frac = 1.0 / w->n_lengths;
            sum->time_s = kept * sum->time_s + part_frac * cost.time_s;
            sum->matrix_s = kept * sum->matrix_s + part_frac * cost.matrix_s;
            sum->matrix_power_s = kept * sum->matrix_power_s + part_frac * cost.matrix_power_s;
            sum->memory_s = kept * sum->memory_s + part_frac * cost.memory_s;
            sum->exchange_s = kept * sum->exchange_s + part_frac * cost.exchange_s;
        }
        TSIM_ASSERT(row == w->n_rows);
    }
}

/* Walks over the operators; the list lives as long as its rows. */
static void walk_operators(struct walk *w, operators_fn operators, enum tsim_part part, int64_t at,
                           struct tsim_op_list *list) {
    int32_t first = w->n_rows;
    operators(w->scenario, part, at, list);
    walk_list(w, list);
    average_lengths(w, operators, part, at, first);
}

/* Gives collectives that run beside the whole part, and are waited for together, each its share of the time. */
static void share_out(const struct walk *w, double *exposed_s) {
    double exposed_sum_s = 0, time_sum_s = 0;
    for (int32_t i = 0; i < w->n_rows; i++)
        if (w->rows[i].op->overlap == TSIM_CONCURRENT_PASS) {
            exposed_sum_s += exposed_s[i];
            time_sum_s += w->rows[i].time_s;
        }
    for (int32_t i = 0; i < w->n_rows && time_sum_s > 0; i++)
        if (w->rows[i].op->overlap == TSIM_CONCURRENT_PASS)
            exposed_s[i] = exposed_sum_s * w->rows[i].time_s / time_sum_s;
}

/* Finds what each collective of the part exposes: all of its time, or what playing the part says. */
static void expose(const struct walk *w) {
    double exposed_s[MOST_ROWS] = {0};
    struct tsim_pass_program program = {.n = 0};
    struct tsim_arena arena;
    struct tsim_pass_builder builder = {
        .arena = &arena, .program = &program, .n_chunks = (double)w->scenario->parallelism.tensor};
    bool overlaps = false;
    for (int32_t i = 0; i < w->n_rows; i++) {
        w->rows[i].exposed_s = w->rows[i].op->kind == TSIM_OP_COLLECTIVE ? w->rows[i].time_s : 0;
        overlaps |= w->rows[i].exposed_s > 0 && w->rows[i].op->overlap != TSIM_EXPOSED;
    }
    if (!overlaps)
        return;
    tsim_arena_init(&arena);
    for (int32_t i = 0; i < w->n_rows; i++)
        tsim_pass_builder_add(&builder, &w->rows[i]);
    tsim_pass_builder_close(&builder);
    if (!tsim_pass_program_is_plain(&program)) {
        bool is_ideal = w->scenario->simulation.network == TSIM_NETWORK_IDEAL;
        tsim_pass_program_play(&program, is_ideal ? NULL : w->cluster, tsim_pass_launches(w->scenario), exposed_s);
        share_out(w, exposed_s);
        for (int32_t i = 0; i < w->n_rows; i++)
            w->rows[i].exposed_s = exposed_s[i];
    }
    tsim_arena_release(&arena);
}

/* Captures the part in a graph, which is launched at once, in about the time of one kernel: 2.5 us and 1 ns for each of
 * its nodes since CUDA 12.6, 200 ns for each before (NVIDIA's technical blog, Constant Time Launch for Straight-Line
 * CUDA Graphs, 2024; the figures are recalled). The software's time for an operator stands for it, because Python calls
 * a graph, too. */
static void capture(const struct walk *w, enum tsim_part part) {
    const struct tsim_software *software = w->scenario->software;
    bool is_captured = software->cuda_graphs == TSIM_GRAPHS_STEP ||
                       (software->cuda_graphs == TSIM_GRAPHS_LAYERS && tsim_layer_has_graph(part));
    double launch_s =
        software->cuda_graphs == TSIM_GRAPHS_STEP ? 0 : tsim_host_s(w->scenario, software->host_time_per_op_s);
    struct tsim_pass_operator *first = NULL; /* of a graph */
    for (int32_t i = 0; i < w->n_rows && is_captured; i++) {
        struct tsim_pass_operator *row = &w->rows[i];
        first = row->op->has_no_graph ? NULL : first ? first : row;
        if (!first)
            continue;
        double host_s = row->host_s;
        row->host_s = 0;
        first->host_s = fmin(first->host_s + host_s, launch_s);
    }
}

/* Has the host prepare the next batch before it launches the first operator of a backward pass. */
static void prepare_next_batch(const struct walk *w, enum tsim_part part) {
    const struct tsim_scenario *sc = w->scenario;
    if (part == TSIM_PART_HEAD && w->kind != TSIM_PASS_FORWARD && w->kind != TSIM_PASS_WEIGHT_GRADIENT && w->n_rows > 0)
        w->rows[0].host_s +=
            (double)sc->training.micro_batch_size * tsim_host_s(sc, sc->software->host_time_per_sample_s);
}

static void tell_rows(struct walk *w, enum tsim_part part) {
    if (w->n_rows > 0 && w->runs_again && w->scenario->training.recompute >= TSIM_RECOMPUTE_FULL)
        w->rows[0].host_s += tsim_host_s(w->scenario, w->scenario->software->host_time_per_checkpoint_s);
    capture(w, part);
    prepare_next_batch(w, part);
    expose(w);
    for (int32_t i = 0; i < w->n_rows; i++)
        w->visit(w->context, &w->rows[i]);
    w->n_rows = 0;
}

/* Visits what a backward pass executes again of the forward pass, and then the backward pass itself. Exchanges that are
 * executed again have no other micro-batch's kernels beside them (Megatron-LM pull request 6429: exposed). */
static void visit_backward(struct walk *w, enum tsim_part part, int64_t at) {
    struct tsim_op_list list, again;
    enum tsim_pass_kind kind = w->kind;
    if (w->runs_again) {
        w->kind = TSIM_PASS_FORWARD;
        bool was_alone = w->is_alone;
        w->phase = "recompute";
        w->is_alone = true;
        walk_operators(w, tsim_operators_again, part, at, &again);
        w->is_alone = was_alone;
    }
    w->kind = kind;
    w->phase = "backward";
    walk_operators(w, tsim_operators_backward, part, at, &list);
    tell_rows(w, part);
}

static void visit_forward(struct walk *w, enum tsim_part part, int64_t at) {
    struct tsim_op_list list;
    walk_operators(w, tsim_operators_forward, part, at, &list);
    tell_rows(w, part);
}

void tsim_pass_visit(const struct tsim_scenario *scenario, const struct tsim_cluster *cluster,
                     const struct tsim_placement *placement, enum tsim_part part, int way, tsim_pass_visit_fn visit,
                     void *context) {
    struct tsim_pass_operator rows[MOST_ROWS];
    enum tsim_pass_kind kind = tsim_kind_of_way(way);
    struct walk w = {.scenario = scenario,
                     .cluster = cluster,
                     .placement = placement,
                     .rows = rows,
                     .phase = "forward",
                     .kind = kind,
                     .is_alone = tsim_way_is_alone(way),
                     .runs_again = (kind == TSIM_PASS_BACKWARD || kind == TSIM_PASS_INPUT_GRADIENT) &&
                                   !tsim_way_keeps(way) && !tsim_layer_kind(part)->is_end &&
                                   scenario->training.recompute != TSIM_RECOMPUTE_NONE,
                     .visit = visit,
                     .context = context};
    int64_t n = tsim_part_variants(scenario->model, part);
    w.n_lengths = tsim_lengths_of_passes(scenario, w.lengths);
    for (int64_t at = 0; at < n; at++)
        if (kind == TSIM_PASS_FORWARD)
            visit_forward(&w, part, at);
        else
            visit_backward(&w, part, n - 1 - at);
}

/* Returns whether passes of the step go this way through such a part. */
static bool is_gone(const struct tsim_scenario *sc, enum tsim_part part, int way) {
    const struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    bool keeps = sc->training.recompute == TSIM_RECOMPUTE_LAYERS && !tsim_layer_kind(part)->is_end;
    return (tsim_schedule_splits_backward(shape.schedule) || tsim_kind_of_way(way) <= TSIM_PASS_BACKWARD) &&
           (shape.hides_exchanges || !tsim_way_is_alone(way)) && (keeps || !tsim_way_keeps(way));
}

/* ---- sums ---- */

struct sum {
    struct tsim_pass_cost cost;
    double stretch_s2; /* squares since the last collective */
    struct tsim_pass_builder builder;
    double *exposed_frac; /* by row of the program, the exposed part of a collective's time; in the arena */
};

static double *exposed_term(struct tsim_pass_cost *cost, enum tsim_axis axis) {
    return axis == TSIM_AXIS_CONTEXT  ? &cost->exposed_context_s
           : axis == TSIM_AXIS_EXPERT ? &cost->exposed_expert_s
           : axis == TSIM_AXIS_DATA   ? &cost->exposed_data_s
                                      : &cost->exposed_tensor_s;
}

static void end_stretch(struct sum *sum) {
    sum->cost.stretches_s += sqrt(sum->stretch_s2);
    sum->stretch_s2 = 0;
}

static void add_operator(void *context, const struct tsim_pass_operator *row) {
    struct sum *sum = context;
    struct tsim_pass_cost *cost = &sum->cost;
    bool recomputed = strcmp(row->phase, "recompute") == 0;
    if (row->op->kind == TSIM_OP_COLLECTIVE) {
        *exposed_term(cost, row->op->axis) += row->exposed_s;
        end_stretch(sum);
    } else {
        *(recomputed ? &cost->recompute_s : &cost->compute_s) += row->time_s;
        double square_s2 = row->time_s * row->time_s / fmax(row->op->kernels, 1);
        cost->squares_s2 += square_s2;
        sum->stretch_s2 += square_s2;
    }
    sum->exposed_frac[sum->builder.row] = row->time_s > 0 ? row->exposed_s / row->time_s : 0;
    tsim_pass_builder_add(&sum->builder, row);
    cost->flops += row->op->flops;
    cost->matrix_busy_s += row->matrix_power_s;
    cost->memory_busy_s += row->memory_s;
    cost->hbm_bytes += row->hbm_bytes;
    cost->scale_up_bytes += row->scale_up_bytes;
    cost->nic_bytes += row->nic_bytes;
    cost->host_s += row->host_s;
}

/* Converts a time to the ticks of a step, at most those of a million seconds, so that a few can be added to what is
 * counted. */
static tsim_tick ticks(double time_s) {
    return time_s > 0 ? (tsim_tick)llround(fmin(time_s, 1e6) / TSIM_STEP_TICK_S) : 0;
}

static tsim_tick counted(tsim_tick at) {
    return at < TSIM_LAST_TICK ? at : TSIM_LAST_TICK;
}

/* Returns an entry's time on the compute stream; for a collective beside kernels what it exposes. */
static tsim_tick alone(const struct tsim_played *played, const double *exposed_frac) {
    switch (played->kind) {
    case TSIM_PLAYED_KERNEL:
        return ticks(played->flow_s);
    case TSIM_PLAYED_COLLECTIVE:
        return ticks(played->latency_s) + ticks(played->flow_s);
    case TSIM_PLAYED_BESIDE:
        return ticks(exposed_frac[played->row] * (played->latency_s + played->flow_s));
    case TSIM_PLAYED_START:
    case TSIM_PLAYED_WAIT:
        break;
    }
    return 0;
}

/* Plays the part from a compute stream, or from a host, that was never busy. */
static struct tsim_launch_map play_launches(const struct tsim_pass_program *program, const double *exposed_frac,
                                            double most_ahead_s) {
    struct tsim_launch_map map;
    for (int from = 0; from < TSIM_N_OF_PASS; from++) {
        struct tsim_host_stream host = {
            .is_there = true, .ahead = ticks(most_ahead_s), .free_at = from == TSIM_HOST ? 0 : TSIM_LONG_AGO};
        tsim_tick free = from == TSIM_COMPUTE ? 0 : TSIM_LONG_AGO;
        for (int32_t i = 0; i < program->n; i++) {
            const struct tsim_played *played = &program->at[i];
            if (played->kind != TSIM_PLAYED_BESIDE && played->kind != TSIM_PLAYED_WAIT)
                free = tsim_host_follow(&host,
                                        (struct tsim_launch){ticks(played->host_s), ticks(played->later_host_s),
                                                             ticks(played->before_last_s), played->is_awaited},
                                        free);
            free = counted(free + alone(played, exposed_frac));
            host.free_at = counted(host.free_at);
        }
        map.after[TSIM_COMPUTE][from] = free;
        map.after[TSIM_HOST][from] = host.free_at;
    }
    return map;
}

/* Returns the cost of a part, whose program is in the arena. */
static struct tsim_pass_cost part_cost(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                       const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                                       enum tsim_part part, int way, struct tsim_part_launches *launches,
                                       struct tsim_pass_program *program) {
    struct sum sum = {.builder = {.arena = arena, .program = program, .n_chunks = (double)scenario->parallelism.tensor},
                      .exposed_frac =
                          TSIM_NEW_ARRAY(arena, MOST_ROWS * (size_t)tsim_part_variants(scenario->model, part), double)};
    tsim_pass_visit(scenario, cluster, placement, part, way, add_operator, &sum);
    tsim_pass_builder_close(&sum.builder);
    end_stretch(&sum);
    struct tsim_pass_launches host = tsim_pass_launches(scenario);
    if (host.each_s > 0)
        *launches = (struct tsim_part_launches){.map = play_launches(program, sum.exposed_frac, host.most_ahead_s),
                                                .n_layers = (double)tsim_part_variants(scenario->model, part)};
    double kernels_s = sum.cost.compute_s + sum.cost.recompute_s;
    sum.cost.time_s = kernels_s + sum.cost.exposed_tensor_s + sum.cost.exposed_context_s + sum.cost.exposed_expert_s +
                      sum.cost.exposed_data_s;
    int64_t variants = tsim_part_variants(scenario->model, part);
    if (variants > 1) /* their mean */
        tsim_pass_scale(&sum.cost, 1 / (double)variants);
    return sum.cost;
}

static void copy_program(struct tsim_arena *arena, const struct tsim_pass_program *from, struct tsim_pass_program *to) {
    *to = *from;
    to->at = TSIM_NEW_ARRAY(arena, (size_t)from->n, struct tsim_played);
    to->capacity = from->n;
    memcpy(to->at, from->at, (size_t)from->n * sizeof *to->at);
}

void tsim_pass_costs_build(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                           const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                           struct tsim_pass_costs *costs) {
    static const struct tsim_part_costs NONE;
    struct tsim_parts there = tsim_model_parts(scenario->model);
    struct tsim_arena scratch;
    memset(costs, 0, sizeof *costs);
    costs->has_launches = tsim_pass_launches(scenario).each_s > 0;
    costs->model = scenario->model;
    tsim_arena_init(&scratch);
    for (int i = 0; i < TSIM_N_PARTS; i++) {
        enum tsim_part part = (enum tsim_part)i;
        costs->parts[part] = &NONE;
        if (there.times[part] <= 0)
            continue;
        struct tsim_part_costs *of_part = TSIM_NEW(arena, struct tsim_part_costs);
        costs->parts[part] = of_part;
        for (int way = 0; way < TSIM_N_LAYER_WAYS; way++) {
            struct tsim_pass_program program = {.n = 0};
            if (!is_gone(scenario, part, way))
                continue;
            of_part->ways[way] =
                part_cost(&scratch, scenario, cluster, placement, part, way, &of_part->launches[way], &program);
            if (program.n > 0)
                copy_program(arena, &program, &costs->programs.of[way][part]);
        }
    }
    tsim_arena_release(&scratch);
}

void tsim_pass_programs_copy(struct tsim_arena *arena, const struct tsim_pass_costs *costs, bool joins_kernels,
                             struct tsim_pass_programs *programs) {
    memset(programs, 0, sizeof *programs);
    for (int way = 0; way < TSIM_N_LAYER_WAYS; way++)
        for (int part = 0; part < TSIM_N_PARTS; part++) {
            struct tsim_pass_program *program = &programs->of[way][part];
            if (costs->programs.of[way][part].n == 0)
                continue;
            copy_program(arena, &costs->programs.of[way][part], program);
            if (joins_kernels)
                tsim_pass_program_join_kernels(program);
            program->memo = tsim_part_memo_new(arena);
        }
}

static void add_times(struct tsim_pass_cost *sum, const struct tsim_pass_cost *part, double times) {
    sum->time_s += times * part->time_s;
    sum->compute_s += times * part->compute_s;
    sum->recompute_s += times * part->recompute_s;
    sum->exposed_tensor_s += times * part->exposed_tensor_s;
    sum->exposed_context_s += times * part->exposed_context_s;
    sum->exposed_expert_s += times * part->exposed_expert_s;
    sum->exposed_data_s += times * part->exposed_data_s;
    sum->host_s += times * part->host_s;
    sum->host_excess_s += times * part->host_excess_s;
    sum->flops += times * part->flops;
    sum->matrix_busy_s += times * part->matrix_busy_s;
    sum->memory_busy_s += times * part->memory_busy_s;
    sum->hbm_bytes += times * part->hbm_bytes;
    sum->scale_up_bytes += times * part->scale_up_bytes;
    sum->nic_bytes += times * part->nic_bytes;
    sum->squares_s2 += times * part->squares_s2;
    sum->stretches_s += times * part->stretches_s;
}

static void go_through(const struct tsim_pass_costs *costs, int way, enum tsim_part part, double times,
                       tsim_tick at[TSIM_N_OF_PASS]) {
    const struct tsim_part_launches *launches = &costs->parts[part]->launches[way];
    if (times > 0)
        tsim_launch_map_apply(&launches->map, times / launches->n_layers, at);
}

/* Goes through layers of one kind in a row at a time. If all are of one kind, as in a part of a list of them, the model
 * is not asked. */
static void go_through_layers(const struct tsim_pass_costs *costs, int way, const struct tsim_parts *parts,
                              const struct tsim_parts *kept, int64_t first_layer, tsim_tick at[TSIM_N_OF_PASS]) {
    int n_kinds = 0;
    enum tsim_part last = (enum tsim_part)0;
    int64_t n = 0, n_kept = 0, n_alike, onwards = tsim_kind_of_way(way) == TSIM_PASS_FORWARD ? 1 : -1;
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        if (tsim_layer_kind((enum tsim_part)part)->is_end || !(parts->times[part] > 0))
            continue;
        n += (int64_t)parts->times[part];
        n_kept += (int64_t)kept->times[part];
        last = (enum tsim_part)part;
        n_kinds++;
    }
    if (n_kinds == 1) {
        go_through(costs, tsim_kept_way(way), last, kept->times[last], at);
        go_through(costs, way, last, parts->times[last] - kept->times[last], at);
    }
    for (int64_t i = 0; i < n && n_kinds > 1; i += n_alike) {
        int64_t layer = tsim_kind_of_way(way) == TSIM_PASS_FORWARD ? first_layer + i : first_layer + n - 1 - i;
        enum tsim_part part = tsim_model_layer(costs->model, layer);
        bool is_kept = layer >= first_layer + n - n_kept;
        for (n_alike = 1; i + n_alike < n; n_alike++) {
            int64_t other = layer + onwards * n_alike;
            if (tsim_model_layer(costs->model, other) != part || (other >= first_layer + n - n_kept) != is_kept)
                break;
        }
        go_through(costs, is_kept ? tsim_kept_way(way) : way, part, (double)n_alike, at);
    }
}

/* Returns the length of the pass, whose kernels wait for their launches. */
static double launched_s(const struct tsim_pass_costs *costs, int way, const struct tsim_parts *parts,
                         const struct tsim_parts *kept, int64_t first_layer) {
    tsim_tick at[TSIM_N_OF_PASS] = {0, 0};
    enum tsim_part first = tsim_kind_of_way(way) == TSIM_PASS_FORWARD ? TSIM_PART_EMBEDDING : TSIM_PART_HEAD,
                   last = tsim_kind_of_way(way) == TSIM_PASS_FORWARD ? TSIM_PART_HEAD : TSIM_PART_EMBEDDING;
    go_through(costs, way, first, parts->times[first], at);
    go_through_layers(costs, way, parts, kept, first_layer, at);
    go_through(costs, way, last, parts->times[last], at);
    return TSIM_STEP_TICK_S * (double)at[TSIM_COMPUTE];
}

void tsim_pass_sum(const struct tsim_pass_costs *costs, const struct tsim_scenario *sc, int way,
                   const struct tsim_parts *parts, int64_t first_layer, struct tsim_pass_cost *sum) {
    const struct tsim_parts kept = tsim_kept_layers(sc, parts, first_layer);
    memset(sum, 0, sizeof *sum);
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        if (parts->times[part] > kept.times[part])
            add_times(sum, &costs->parts[part]->ways[way], parts->times[part] - kept.times[part]);
        if (kept.times[part] > 0)
            add_times(sum, &costs->parts[part]->ways[tsim_kept_way(way)], kept.times[part]);
    }
    sum->host_excess_s =
        costs->has_launches ? fmax(launched_s(costs, way, parts, &kept, first_layer) - sum->time_s, 0) : 0;
    sum->compute_s += sum->host_excess_s;
    sum->time_s += sum->host_excess_s;
}

void tsim_pass_scale(struct tsim_pass_cost *cost, double factor) {
    struct tsim_pass_cost whole = *cost;
    memset(cost, 0, sizeof *cost);
    add_times(cost, &whole, factor);
}

const struct tsim_term *tsim_pass_collective_term(struct tsim_term_recorder *recorder,
                                                  const struct tsim_scenario *scenario,
                                                  const struct tsim_cluster *cluster,
                                                  const struct tsim_placement *placement, const struct tsim_op *op) {
    const struct walk w = {.recorder = recorder, .scenario = scenario, .cluster = cluster, .placement = placement};
    struct tsim_collective_cost cost;
    collective_cost(&w, op, &cost);
    return cost.term;
}
