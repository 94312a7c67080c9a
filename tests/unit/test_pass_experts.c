/* Exchanges between experts and what they add to a pass, and the groups that reduce experts' gradients, on networks
 * without latency: 100 GB/s on a node of 8, 10 GB/s for each accelerator between nodes. The example's layer: t = h =
 * 1024, 16 experts, 2 for each token, bf16. */
#include "cost/collective.h"
#include "cost/compute.h"
#include "model/routing.h"
#include "partition/memory.h"
#include "step/program.h"
#include "support/check_main.h"
#include "support/example.h"

#include <math.h>
#include <string.h>

static struct example e;
static struct tsim_arena arena;
static const double NODE_RATE = 100e9, NIC_RATE = 10e9, ROW = 1024 * 2, ROWS = 1024 * 2;

static void init_mixture(int64_t nodes, int64_t expert) {
    example_init(&e);
    e.model.experts = (struct tsim_experts){.count = 16, .active = 2, .ffn_hidden = 2048, .every = 1};
    e.scenario.cluster.nodes = nodes;
    e.scenario.parallelism.expert = expert;
    e.scenario.simulation.network = TSIM_NETWORK_IDEAL;
    example_finish(&e);
}

static struct tsim_pass_costs costs(void) {
    struct tsim_pass_costs costs;
    tsim_pass_costs_build(&arena, &e.scenario, tsim_cluster_build(&arena, &e.scenario),
                          tsim_placement_build(&arena, &e.scenario), &costs);
    return costs;
}

/* Returns the bytes that the fullest rank gets in one exchange, its own part included. */
static double exchanged(double ranks) {
    return tsim_routing_imbalance(&e.model.experts, ranks, 1024) * ROWS * ROW;
}

/* 8 ranks of a node: 7/8 of the bytes leave the rank, twice forward and twice backward. A dense layer has none. */
TSIM_TEST(on_a_node) {
    init_mixture(1, 8);
    struct tsim_pass_costs c = costs();
    double one_s = exchanged(8) * 7 / 8 / NODE_RATE;
    ck_assert_double_eq_tol(c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].exposed_expert_s, 2 * one_s,
                            1e-12);
    ck_assert_double_eq_tol(c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_BACKWARD].exposed_expert_s, 2 * one_s,
                            1e-12);
    ck_assert_double_eq_tol(c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].scale_up_bytes,
                            2 * exchanged(8) * 7 / 8, 1e-3);
    ck_assert_double_eq(c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].nic_bytes, 0);
    ck_assert_double_eq(c.parts[TSIM_PART_LAYER]->ways[TSIM_PASS_FORWARD].exposed_expert_s, 0);
    const struct tsim_pass_cost *f = &c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD];
    ck_assert_double_eq_tol(f->time_s, f->compute_s + f->exposed_expert_s, 1e-12);
}

/* 16 ranks of 2 nodes: 8/16 of the bytes cross the NIC, which is slower by far than 7/16 on the node. */
TSIM_TEST(between_nodes) {
    init_mixture(2, 16);
    struct tsim_pass_costs c = costs();
    ck_assert_double_eq_tol(c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].nic_bytes, 2 * exchanged(16) / 2,
                            1e-3);
    ck_assert_double_eq_tol(c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].exposed_expert_s,
                            2 * exchanged(16) / 2 / NIC_RATE, 1e-12);
}

/* A copy for each node: of the pairs of 16 experts 2 (8 x 7 / 2) of 120 are on one node, so a token goes to 2 - 56/120
 * nodes, and half of these copies cross; all K rows are handed out on the node, 7/8 of them to others. */
TSIM_TEST(a_copy_for_each_node) {
    init_mixture(2, 16);
    e.software.expert_dispatch = TSIM_DISPATCH_PER_NODE;
    struct tsim_pass_costs c = costs();
    double across = exchanged(16) / 2 * (2 - 56.0 / 120) / 2;
    ck_assert_double_eq_tol(c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].nic_bytes, 2 * across, 1e-3);
    ck_assert_double_eq_tol(c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].scale_up_bytes,
                            2 * exchanged(16) * 7 / 8, 1e-3);
    ck_assert_double_eq_tol(c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].exposed_expert_s,
                            2 * across / NIC_RATE, 1e-12);
    e.model.experts.node_limit = 1;
    c = costs();
    ck_assert_double_eq_tol(c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].nic_bytes,
                            2 * exchanged(16) / 2 / 2, 1e-3);
}

static void find_dispatch(void *context, const struct tsim_pass_operator *row) {
    if (strcmp(row->op->name, "expert: dispatch") == 0)
        *(struct tsim_pass_operator *)context = *row;
}

/* Sent once per node, tokens are read where they are and written where they arrive: between nodes twice, through
 * buffers, and for all ranks of a node. 20 compute units do that. */
TSIM_TEST(a_copy_for_each_node_in_memory) {
    struct tsim_pass_operator dispatch = {0};
    init_mixture(2, 16);
    e.software.expert_dispatch = TSIM_DISPATCH_PER_NODE;
    e.accelerator.compute_units = 132;
    tsim_pass_visit(&e.scenario, tsim_cluster_build(&arena, &e.scenario), tsim_placement_build(&arena, &e.scenario),
                    TSIM_PART_EXPERT_LAYER, TSIM_PASS_FORWARD, find_dispatch, &dispatch);
    double between = exchanged(16) / 2 * (2 - 56.0 / 120);
    ck_assert_double_eq_tol(dispatch.hbm_bytes, 2 * (2 * between + exchanged(16)), 1e-3);
    ck_assert_double_eq_tol(dispatch.sm_frac, 20.0 / 132, 1e-12);
}

/* On a node a copy for each rank: of the pairs of 16 experts 8 are on one of 8 ranks. */
TSIM_TEST(a_copy_for_each_rank) {
    init_mixture(1, 8);
    e.software.expert_dispatch = TSIM_DISPATCH_PER_NODE;
    struct tsim_pass_costs c = costs();
    double sent = exchanged(8) / 2 * (2 - 8.0 / 120) * 7 / 8;
    ck_assert_double_eq_tol(c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].scale_up_bytes, 2 * sent, 1e-3);
    ck_assert_double_eq_tol(c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].exposed_expert_s,
                            2 * sent / NODE_RATE, 1e-12);
    ck_assert_double_eq(c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].nic_bytes, 0);
}

/* Under the kernels of another micro-batch: what is longer than they are, or the compute units that are held and what
 * the others lose while HBM is read for, and written by, the 7/8 that the links carry. */
TSIM_TEST(beside_another_pass) {
    for (int64_t nodes = 1; nodes <= 2; nodes++) {
        init_mixture(nodes, 8 * nodes);
        double exposed_s = costs().parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].exposed_expert_s;
        e.scenario.parallelism.overlap.expert = true;
        struct tsim_pass_costs c = costs();
        struct tsim_collective_request request = {.op = TSIM_ALL_TO_ALL,
                                                  .bytes = 1,
                                                  .group = {.n_ranks = (int32_t)(8 * nodes),
                                                            .n_nodes = (int32_t)nodes,
                                                            .max_ranks_per_node = 8,
                                                            .min_ranks_per_node = 8},
                                                  .network = TSIM_NETWORK_IDEAL};
        struct tsim_collective_cost cost;
        tsim_collective_cost(tsim_cluster_build(&arena, &e.scenario), &request, &cost);
        double memory_frac = 2 * 8.0 / 7 * NODE_RATE / tsim_memory_rate(&e.accelerator);
        double rest_s = exposed_s - c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].compute_s;
        ck_assert(nodes == 1 ? rest_s < 0 : rest_s > 0);
        ck_assert_double_eq_tol(c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].exposed_expert_s,
                                nodes == 1 ? (1 - (1 - cost.sm_frac) * (1 - memory_frac)) * exposed_s : rest_s,
                                2e-12); /* two roundings to ticks */
    }
}

/* Exchanges that are executed again are waited for, whole: two of the forward pass. */
TSIM_TEST(again_beside_nothing) {
    init_mixture(1, 8);
    double both_s = costs().parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].exposed_expert_s;
    e.scenario.parallelism.overlap.expert = true;
    double without_s = costs().parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_BACKWARD].exposed_expert_s;
    e.scenario.training.recompute = TSIM_RECOMPUTE_FULL;
    double with_s = costs().parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_BACKWARD].exposed_expert_s;
    ck_assert_double_lt(without_s, both_s);
    ck_assert_double_ge(with_s, both_s - 1e-12);
    ck_assert_double_le(with_s, both_s + without_s + 1e-12);
}

static void find_exchange(void *context, const struct tsim_pass_operator *row) {
    if (strcmp(row->op->name, "expert: dispatch") == 0)
        *(struct tsim_pass_operator *)context = *row;
}

static void add_last_weight(void *context, const struct tsim_pass_operator *row) {
    if (strcmp(row->op->name, "expert up, weight") == 0)
        *(double *)context = row->time_s;
}

static double step_s(int64_t microbatches) {
    struct tsim_step_simulation simulation;
    struct tsim_diags diags;
    e.scenario.training.global_batch_size = microbatches * e.scenario.parallelism.expert;
    example_finish(&e);
    struct tsim_pass_costs c = costs();
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_step_simulate(&arena, &e.scenario, tsim_cluster_build(&arena, &e.scenario),
                                        tsim_placement_build(&arena, &e.scenario), &c, &simulation, &diags),
                     TSIM_OK);
    tsim_diags_release(&diags);
    return simulation.time_s;
}

/* Alone, an exchange x that could be hidden is waited for; but the last of a backward pass runs beside the experts'
 * last weight gradient w, which it slows down by d. On one stage the first forward and the last backward pass are
 * alone: more micro-batches are so many more pairs. */
TSIM_TEST(alone) {
    for (int detail = TSIM_DETAIL_OPERATORS; detail <= TSIM_DETAIL_PASSES; detail++)
        for (int64_t nodes = 1; nodes <= 2; nodes++) {
            init_mixture(nodes, 8 * nodes);
            e.scenario.simulation.detail = (enum tsim_detail)detail;
            double x = costs().parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].exposed_expert_s / 2, w = 0;
            e.scenario.parallelism.overlap.expert = true;
            struct tsim_pass_costs c = costs();
            const struct tsim_part_costs *part = c.parts[TSIM_PART_EXPERT_LAYER];
            struct tsim_pass_operator found = {0};
            tsim_pass_visit(&e.scenario, tsim_cluster_build(&arena, &e.scenario),
                            tsim_placement_build(&arena, &e.scenario), TSIM_PART_EXPERT_LAYER,
                            tsim_pass_way(TSIM_PASS_BACKWARD, true), add_last_weight, &w);
            tsim_pass_visit(&e.scenario, tsim_cluster_build(&arena, &e.scenario),
                            tsim_placement_build(&arena, &e.scenario), TSIM_PART_EXPERT_LAYER, TSIM_PASS_FORWARD,
                            find_exchange, &found);
            double memory_frac = found.memory_s / found.time_s, d = 1 - (1 - found.sm_frac) * (1 - memory_frac);
            ck_assert_double_eq_tol(part->ways[tsim_pass_way(TSIM_PASS_FORWARD, true)].exposed_expert_s, 2 * x, 1e-12);
            ck_assert_double_eq_tol(part->ways[tsim_pass_way(TSIM_PASS_BACKWARD, true)].exposed_expert_s,
                                    x + fmax(x - w, d * x), 1e-12);
            double pair_s = 0;
            for (int i = 0; i < TSIM_N_PARTS; i++)
                pair_s += tsim_model_parts(&e.model).times[i] *
                          (c.parts[i]->ways[TSIM_PASS_FORWARD].time_s + c.parts[i]->ways[TSIM_PASS_BACKWARD].time_s);
            ck_assert_double_eq_tol(step_s(4) - step_s(1), 3 * pair_s, 1e-9);
        }
}

static double all_reduced(const struct tsim_cluster *cluster, const struct tsim_placement *placement, double parameters,
                          unsigned axes) {
    struct tsim_collective_request request = {.op = TSIM_ALL_REDUCE,
                                              .bytes = 4 * parameters,
                                              .group = tsim_placement_group(placement, axes),
                                              .network = TSIM_NETWORK_IDEAL};
    struct tsim_collective_cost cost;
    tsim_collective_cost(cluster, &request, &cost);
    return cost.time_s;
}

/* Experts on 8 ranks of a node and 2 nodes: what is not an expert is reduced by 16 ranks, an expert by the 2 that hold
 * it, one after the other. The step without overlap is one micro-batch, the reductions and the optimizer. */
TSIM_TEST(groups_of_gradients) {
    init_mixture(2, 8);
    e.scenario.training.global_batch_size = 16;
    e.scenario.parallelism.overlap = (struct tsim_overlap){0};
    e.software.optimizer_traffic_bytes = 0;
    example_finish(&e);
    struct tsim_pass_costs c = costs();
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, &e.scenario);
    const struct tsim_placement *placement = tsim_placement_build(&arena, &e.scenario);
    struct tsim_step_simulation simulation;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_step_simulate(&arena, &e.scenario, cluster, placement, &c, &simulation, &diags), TSIM_OK);
    tsim_diags_release(&diags);
    double experts = 8 * 2 * (2.0 * 1024 * 2048); /* layers, of 16 / 8 experts */
    ck_assert_double_eq(tsim_stage_expert_parameters(&e.scenario, 0), experts);
    const unsigned data = 1u << TSIM_AXIS_DATA | 1u << TSIM_AXIS_CONTEXT;
    double reduced_s = all_reduced(cluster, placement, tsim_stage_parameters(&e.scenario, 0) - experts,
                                   data | 1u << TSIM_AXIS_EXPERT) +
                       all_reduced(cluster, placement, experts, data);
    ck_assert_double_eq_tol(simulation.stage_groups[0].exposed_reduce_s, reduced_s, 1e-9);
    /* 2 exchanges each way in 8 layers stay on the node; so all that crosses is gradients */
    ck_assert_double_eq(simulation.stage_groups[0].pass_nic_bytes, 0);
    ck_assert_double_eq_tol(simulation.stage_groups[0].terms.exposed_expert_s,
                            8 * (c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].exposed_expert_s +
                                 c.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_BACKWARD].exposed_expert_s),
                            1e-9);
}

/* The host launches the same operators, and takes longer for each if they are quantized; unset, as in 16 bits. */
TSIM_TEST(host_of_fp8) {
    double host_s[3];
    for (int i = 0; i < 3; i++) {
        init_mixture(1, 8);
        e.model.experts.first = 1; /* one layer has none */
        e.accelerator.peak_flops_per_s[TSIM_FP8] = e.accelerator.peak_flops_per_s[TSIM_BF16];
        e.accelerator.matrix_sustained_frac[TSIM_FP8] = 1;
        e.scenario.training.precision = i < 2 ? TSIM_FP8 : TSIM_BF16;
        e.software.host_time_per_op_s = 1e-6;
        e.software.host_time_per_fp8_op_s = i == 0 ? 0 : 3e-6;
        host_s[i] = costs().parts[TSIM_PART_LAYER]->ways[TSIM_PASS_FORWARD].host_s;
    }
    ck_assert_double_eq_tol(host_s[1], 3 * host_s[0], 1e-15);
    ck_assert_double_gt(host_s[0], host_s[2]); /* casts are operators, too */
}

/* A pass takes its kernels and the launch of the first or, if launches block, all launches. Times are in
 * picoseconds. */
TSIM_TEST(blocking_launches) {
    for (int blocks = 0; blocks < 2; blocks++) {
        init_mixture(1, 8);
        e.model.experts.first = 8; /* eight layers have none */
        e.software.host_time_per_op_s = 1e-9;
        e.software.launch_blocking = blocks;
        struct tsim_pass_costs c = costs();
        struct tsim_parts parts = {.times = {[TSIM_PART_LAYER] = 8}};
        struct tsim_pass_cost sum;
        double kernels_s = 8 * c.parts[TSIM_PART_LAYER]->ways[TSIM_PASS_FORWARD].time_s,
               host_s = 8 * c.parts[TSIM_PART_LAYER]->ways[TSIM_PASS_FORWARD].host_s;
        tsim_pass_sum(&c, &e.scenario, TSIM_PASS_FORWARD, &parts, 0, &sum);
        ck_assert_double_gt(kernels_s, host_s);
        ck_assert_double_eq_tol(sum.time_s, kernels_s + (blocks ? host_s : 1e-9), 1e-10);
    }
}

/* The host learns from the router how many rows each expert has, and launches the rest only then, in each of eight
 * layers. If buffers have a fixed length, it does not ask. */
TSIM_TEST(the_host_asks_for_rows) {
    for (int has_buffers = 0; has_buffers < 2; has_buffers++) {
        init_mixture(1, 8);
        e.model.experts.capacity_factor = has_buffers;
        e.software.host_time_per_op_s = 1e-9;
        struct tsim_pass_costs c = costs();
        struct tsim_parts parts = {.times = {[TSIM_PART_EXPERT_LAYER] = 8}};
        struct tsim_pass_cost forward, backward;
        tsim_pass_sum(&c, &e.scenario, TSIM_PASS_FORWARD, &parts, 0, &forward);
        tsim_pass_sum(&c, &e.scenario, TSIM_PASS_BACKWARD, &parts, 0, &backward);
        ck_assert_double_eq_tol(forward.host_excess_s, (has_buffers ? 1 : 1 + 8) * 1e-9, 2e-11);
        ck_assert_double_eq_tol(backward.host_excess_s, 1e-9, 5e-11);
    }
}

static void add_launches_of_rows(void *context, const struct tsim_pass_operator *row) {
    *(double *)context += row->op->has_no_graph ? row->host_s : 0;
}

/* If layers are captured, a layer without experts keeps one launch. A layer with experts keeps two, for what comes
 * before and behind the rows of its experts, and the launches of the rows. A captured step has none. */
TSIM_TEST(graphs_are_launched_at_once) {
    double of_rows_s = 0;
    struct tsim_pass_costs of[3];
    for (int graphs = 0; graphs < 3; graphs++) {
        init_mixture(1, 8);
        e.model.experts.first = 1; /* one layer has none */
        e.software.host_time_per_op_s = 1e-6;
        e.software.cuda_graphs = (enum tsim_cuda_graphs)graphs;
        of[graphs] = costs();
        if (graphs == TSIM_GRAPHS_NONE)
            tsim_pass_visit(&e.scenario, tsim_cluster_build(&arena, &e.scenario),
                            tsim_placement_build(&arena, &e.scenario), TSIM_PART_EXPERT_LAYER, TSIM_PASS_FORWARD,
                            add_launches_of_rows, &of_rows_s);
    }
    ck_assert_double_gt(of[TSIM_GRAPHS_NONE].parts[TSIM_PART_LAYER]->ways[TSIM_PASS_BACKWARD].host_s, 5e-6);
    ck_assert_double_eq(of[TSIM_GRAPHS_LAYERS].parts[TSIM_PART_LAYER]->ways[TSIM_PASS_FORWARD].host_s, 1e-6);
    ck_assert_double_eq(of[TSIM_GRAPHS_LAYERS].parts[TSIM_PART_LAYER]->ways[TSIM_PASS_BACKWARD].host_s, 1e-6);
    ck_assert_double_gt(of_rows_s, 5e-6);
    ck_assert_double_eq_tol(of[TSIM_GRAPHS_LAYERS].parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].host_s,
                            2e-6 + of_rows_s, 1e-11);
    ck_assert_double_eq(of[TSIM_GRAPHS_LAYERS].parts[TSIM_PART_HEAD]->ways[TSIM_PASS_FORWARD].host_s,
                        of[TSIM_GRAPHS_NONE].parts[TSIM_PART_HEAD]->ways[TSIM_PASS_FORWARD].host_s);
    ck_assert_double_eq(of[TSIM_GRAPHS_STEP].parts[TSIM_PART_HEAD]->ways[TSIM_PASS_FORWARD].host_s, 0);
    ck_assert_double_eq(of[TSIM_GRAPHS_STEP].parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_BACKWARD].host_s, 0);
}

static struct tsim_pass_costs costs_with_graphs(void) {
    e.software.host_time_per_op_s = 1e-6;
    e.software.cuda_graphs = TSIM_GRAPHS_LAYERS;
    return costs();
}

/* A graph's shapes are fixed: the rows of experts are captured only if their buffers are padded to a capacity. And it
 * takes one tensor: an encoder's layers are captured, a decoder's are not, which take the encoder's result, too. */
TSIM_TEST(layers_with_graphs) {
    init_mixture(1, 8);
    e.model.experts.capacity_factor = 1;
    struct tsim_pass_costs of = costs_with_graphs();
    ck_assert_double_eq(of.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_FORWARD].host_s, 1e-6);
    ck_assert_double_eq(of.parts[TSIM_PART_EXPERT_LAYER]->ways[TSIM_PASS_BACKWARD].host_s, 1e-6);
    example_init(&e);
    e.model.encoder_layers = 4;
    e.scenario.training.decoder_sequence_length = 256;
    of = costs_with_graphs();
    ck_assert_double_eq(of.parts[TSIM_PART_ENCODER_LAYER]->ways[TSIM_PASS_FORWARD].host_s, 1e-6);
    ck_assert_double_gt(of.parts[TSIM_PART_DECODER_LAYER]->ways[TSIM_PASS_FORWARD].host_s, 5e-6);
}

static void tear_down(void) {
    tsim_arena_release(&arena);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, tear_down)
