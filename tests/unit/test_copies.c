/* Copies to and from the host in a step, against what a slot of PCIe carries by hand: alone, beside all-reduces over
 * the same slot, batches of input beside both, beside what NICs carry, on a switch that several share. Kernels take
 * next to nothing, so a pass with copies is as long as the fullest direction of its slot has bytes for. */
#include "cost/update.h"
#include "partition/memory.h"
#include "step/input/step_input.h"
#include "step/program.h"
#include "support/arena_rig.h"
#include "support/example.h"

#include <math.h>

static struct example e;

static const double LINK = 10e9, RING = 8e9; /* the example's slot, and the rate that collectives reach on it */

static struct tsim_step_simulation simulate(void) {
    struct tsim_step_simulation simulation;
    struct tsim_pass_costs costs;
    example_finish(&e);
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, &e.scenario);
    const struct tsim_placement *placement = tsim_placement_build(&arena, &e.scenario);
    tsim_pass_costs_build(&arena, &e.scenario, cluster, placement, &costs);
    ck_assert_int_eq(tsim_step_simulate(&arena, &e.scenario, cluster, placement, &costs, &simulation, &diags), TSIM_OK);
    return simulation;
}

/* Makes a node of `n` accelerators in slots, split by tensor, with one micro-batch, forward and backward. */
static void use_slots(int64_t n) {
    example_init(&e);
    for (int p = 0; p < TSIM_N_PRECISIONS; p++)
        e.accelerator.peak_flops_per_s[p] = 1e18;
    e.accelerator.memory_bytes_per_s = 1e16;
    e.node.accelerators = n;
    e.node.scale_up = TSIM_SCALE_UP_PCIE;
    e.node.scale_up_bytes_per_s = LINK;
    e.node.scale_up_ring_bytes_per_s = RING;
    e.node.host_link_bytes_per_s = LINK;
    e.scenario.cluster.accelerators_per_node = n;
    e.scenario.parallelism.tensor = n;
    e.scenario.training.global_batch_size = 1;
    e.scenario.training.recompute = TSIM_RECOMPUTE_NONE;
    e.software.optimizer_traffic_bytes = 0;
}

static double offloaded_s(double frac) {
    e.scenario.training.offload.activations_frac = frac;
    return tsim_chunk_offloaded_bytes(&e.scenario, 0, 0) / LINK;
}

/* Copies go out beside the forward pass and in beside the backward pass, at each level of detail. */
TSIM_TEST(offload_alone) {
    for (int detail = 0; detail < 2; detail++) {
        use_slots(1);
        e.scenario.simulation.detail = detail == 0 ? TSIM_DETAIL_OPERATORS : TSIM_DETAIL_PASSES;
        double rest_s = simulate().time_s, copy_s = offloaded_s(1);
        struct tsim_step_simulation simulation = simulate();
        ck_assert_double_gt(copy_s, 50 * rest_s);
        ck_assert_double_ge(simulation.time_s, 2 * copy_s);
        ck_assert_double_le(simulation.time_s, 2 * copy_s + rest_s);
        ck_assert_double_eq_tol(simulation.stage_groups[0].copy_wait_s, 2 * copy_s, rest_s);
        ck_assert_double_eq_tol(simulation.stage_groups[0].terms.time_s, simulation.time_s, 1e-12);
    }
}

/* All-reduces of the passes go both ways over the slot: it carries their bytes after those that are copied, or before.
 * The longer wait is of kernels for copies, but for what all-reduces lose while both flow. */
TSIM_TEST(offload_beside_all_reduces) {
    for (int fold = 0; fold < 2; fold++) {
        use_slots(2);
        e.scenario.simulation.detail = TSIM_DETAIL_OPERATORS;
        e.scenario.simulation.fold = fold == 0;
        struct tsim_step_simulation alone = simulate();
        double reduced_s = alone.stage_groups[0].scale_up_bytes / RING, copy_s = offloaded_s(1);
        struct tsim_step_simulation both = simulate();
        ck_assert_double_gt(reduced_s, 0.9 * alone.time_s);
        ck_assert_double_gt(copy_s, reduced_s / 2);
        ck_assert_double_eq_tol(both.time_s, 2 * copy_s + reduced_s, 0.02 * both.time_s);
        ck_assert_double_gt(both.stage_groups[0].terms.exposed_tensor_s,
                            1.8 * alone.stage_groups[0].terms.exposed_tensor_s);
        e.node.scale_up = TSIM_SCALE_UP_SWITCH; /* links of their own: copies take the slot for themselves */
        ck_assert_double_eq_tol(simulate().time_s, 2 * copy_s, 0.02 * both.time_s);
    }
}

/* Four below a switch whose uplink is as wide as one slot: each has a quarter of it. */
TSIM_TEST(uplink_is_shared) {
    use_slots(4);
    e.scenario.parallelism.tensor = 1;
    e.scenario.training.global_batch_size = 4;
    e.scenario.parallelism.overlap.gradients = false; /* else copies hide the reduction */
    e.node.accelerators_per_switch = 4;
    e.node.switch_uplink_bytes_per_s = LINK;
    e.node.socket_link_bytes_per_s = LINK;
    double copy_s = offloaded_s(1), alone_s;
    e.scenario.training.offload.activations_frac = 0;
    alone_s = simulate().time_s;
    offloaded_s(1);
    ck_assert_double_eq_tol(simulate().time_s - alone_s, 2 * 4 * copy_s, 0.02 * 8 * copy_s);
}

/* All accelerators of a node share its memory: here each has half of what its slot would carry, in both directions
 * one after the other. */
TSIM_TEST(memory_is_shared) {
    use_slots(1);
    double copy_s = offloaded_s(1);
    e.node.host_memory_bytes_per_s = LINK / 2;
    ck_assert_double_eq_tol(simulate().time_s, 2 * 2 * copy_s, 0.02 * 4 * copy_s);
}

/* Tensor ranks on two nodes: what their NICs carry crosses their slots, unless NICs are the accelerators' own. */
TSIM_TEST(nics_are_behind_the_slot) {
    const double NIC = 5e9;
    for (int own = 0; own < 2; own++) {
        use_slots(1);
        e.node.scale_up = TSIM_SCALE_UP_SWITCH;
        e.node.nics = 1;
        e.node.nic_bytes_per_s = e.fabric.link_bytes_per_s = NIC;
        e.node.nics_on_accelerator = own;
        e.scenario.cluster.nodes = 2;
        e.scenario.parallelism.tensor = 2;
        e.scenario.simulation.detail = TSIM_DETAIL_OPERATORS;
        struct tsim_step_simulation alone = simulate();
        double bytes = alone.stage_groups[0].nic_bytes, copy_s = offloaded_s(1);
        ck_assert_double_gt(copy_s, bytes / NIC / 2); /* NICs are done first */
        ck_assert_double_eq_tol(simulate().time_s, 2 * copy_s + (own ? 0 : bytes / LINK), 0.02 * alone.time_s);
    }
}

/* Copies of B bytes go out beside the forward pass, and come back beside the backward pass, at a quarter of HBM's rate
 * h, and are over before these. Kernels that HBM binds lose the B/h for which it is read or written, twice; others lose
 * nothing. As operators that are joined where nothing is copied, as operators one by one, and as one task. */
TSIM_TEST(copies_take_hbm) {
    static const struct {
        enum tsim_detail detail;
        enum tsim_network network;
    } LEVELS[] = {{TSIM_DETAIL_OPERATORS, TSIM_NETWORK_FLUID},
                  {TSIM_DETAIL_OPERATORS, TSIM_NETWORK_STEPS},
                  {TSIM_DETAIL_PASSES, TSIM_NETWORK_FLUID}};
    for (size_t i = 0; i < 2 * sizeof LEVELS / sizeof LEVELS[0]; i++) {
        bool is_bound_by_memory = i % 2 == 0;
        use_slots(1);
        e.node.scale_up = TSIM_SCALE_UP_SWITCH;
        e.scenario.simulation.detail = LEVELS[i / 2].detail;
        e.scenario.simulation.network = LEVELS[i / 2].network;
        if (is_bound_by_memory)
            e.accelerator.memory_bytes_per_s = 4 * LINK;
        for (int p = 0; p < TSIM_N_PRECISIONS && !is_bound_by_memory; p++)
            e.accelerator.peak_flops_per_s[p] = 1e12;
        double alone_s = simulate().time_s, copy_s = offloaded_s(0.05),
               lost_s = is_bound_by_memory ? 2 * copy_s / 4 : 0;
        struct tsim_step_simulation beside = simulate();
        ck_assert_double_gt(copy_s, 0.001 * alone_s);
        ck_assert_double_eq_tol(beside.time_s - alone_s, lost_s, 1e-6 * alone_s);
        ck_assert_double_eq_tol(beside.stage_groups[0].copy_wait_s, lost_s, 1e-6 * alone_s);
    }
}

/* Gradients leave beside the last backward pass, which they outlast; then the host updates and sends weights back at
 * once. Its memory has room for both. */
TSIM_TEST(update_by_the_host) {
    use_slots(1);
    e.scenario.training.offload.optimizer = true;
    e.node.host_memory_bytes_per_s = 100e9;
    struct tsim_host_update update;
    struct tsim_step_simulation simulation = simulate();
    tsim_host_update(&e.scenario, tsim_cluster_build(&arena, &e.scenario), 0, &update);
    ck_assert_double_gt(update.time_s, 0);
    ck_assert_double_ge(update.time_s, update.weight_bytes / LINK);
    ck_assert_double_eq_tol(simulation.stage_groups[0].terms.optimizer_s, update.gradient_bytes / LINK + update.time_s,
                            0.01 * update.time_s);
    double copied_s = update.gradient_bytes / LINK;
    offloaded_s(1); /* the same direction is taken in the forward pass alone */
    ck_assert_double_eq_tol(simulate().stage_groups[0].terms.optimizer_s,
                            fmax(copied_s - offloaded_s(1), 0) + update.time_s, 0.01 * update.time_s);
}

/* ---- batches ---- */

static struct tsim_storage storage; /* it delivers at once */

static void use_input(double batch_bytes) {
    storage = (struct tsim_storage){.bandwidth_bytes_per_s = 1e15, .random_access_frac = 1};
    e.scenario.data = (struct tsim_data_spec){.has = true,
                                              .storage = &storage,
                                              .sample_bytes = 1,
                                              .transfer_bytes = batch_bytes,
                                              .workers = 8,
                                              .prefetch = 2};
}

static struct tsim_step_simulation feed(struct tsim_input_pipeline_flow *flow) {
    struct tsim_step_simulation simulation;
    struct tsim_pass_costs costs;
    example_finish(&e);
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, &e.scenario);
    const struct tsim_placement *placement = tsim_placement_build(&arena, &e.scenario);
    tsim_pass_costs_build(&arena, &e.scenario, cluster, placement, &costs);
    ck_assert_int_eq(
        tsim_step_simulate_with_input(&arena, &e.scenario, cluster, placement, &costs, NULL, &simulation, flow, &diags),
        TSIM_OK);
    return simulation;
}

/* Batches follow one another on the slot: a step waits for all of them but what it computes, or not at all. */
TSIM_TEST(input_alone) {
    enum { N = 4 };
    struct tsim_input_pipeline_flow flow;
    use_slots(1);
    e.scenario.training.global_batch_size = N;
    double alone_s = simulate().time_s, copy_s = alone_s / 2;
    use_input(copy_s * LINK);
    struct tsim_step_simulation fed = feed(&flow);
    ck_assert_double_eq_tol(fed.time_s, N * copy_s, 0.02 * alone_s);
    ck_assert_double_eq_tol(fed.stage_groups[0].terms.data_stall_s, N * copy_s - alone_s, 0.02 * alone_s);
    ck_assert_int_eq(flow.bound, TSIM_INPUT_BOUND_LINK);
    ck_assert_double_eq_tol(flow.link_frac, 1, 0.02);
    use_input(0.9 * alone_s / N * LINK);
    fed = feed(&flow);
    ck_assert_double_eq_tol(fed.time_s, alone_s, 1e-9 * alone_s);
    ck_assert_int_eq(flow.bound, TSIM_INPUT_BOUND_NONE);
    ck_assert_double_eq_tol(flow.link_frac, 0.9, 1e-6);
}

/* The next step's batch comes beside all-reduces, and in the backward pass beside the activations that come back: the
 * way in carries all of them, one after another or at once. */
TSIM_TEST(input_beside_both) {
    for (int fold = 0; fold < 2; fold++) {
        struct tsim_input_pipeline_flow flow;
        use_slots(2);
        e.scenario.simulation.detail = TSIM_DETAIL_OPERATORS;
        e.scenario.simulation.fold = fold == 0;
        double reduced_s = simulate().stage_groups[0].scale_up_bytes / RING, copy_s = offloaded_s(1);
        double without_s = simulate().time_s;
        use_input(3 * copy_s * LINK);
        struct tsim_step_simulation fed = feed(&flow);
        ck_assert_double_eq_tol(fed.time_s, 3 * copy_s + copy_s + reduced_s, 0.02 * fed.time_s);
        ck_assert_double_gt(fed.time_s, 1.2 * without_s);
        ck_assert_int_eq(flow.bound, TSIM_INPUT_BOUND_LINK);
        e.node.scale_up = TSIM_SCALE_UP_SWITCH; /* the way in is the batch's and the activations' */
        ck_assert_double_eq_tol(feed(&flow).time_s, 3 * copy_s + copy_s, 0.02 * fed.time_s);
    }
}

/* All at once, on two nodes: activations leave and come back, all-reduces of tensor ranks cross slot and NIC, the next
 * batch comes in, and a checkpoint leaves the host for the other node's, over the NICs alone and without end. Into the
 * accelerator come activations once, batches of three times as many bytes, and what the NICs bring, N; so long is the
 * step. The NICs always have something to carry, so of T x NIC bytes the checkpoint gets all but N. With few copies and
 * no batch the NICs are short, not the slot: collectives have half of them. */
TSIM_TEST(all_at_once) {
    const double NIC = 5e9;
    for (int fold = 0; fold < 2; fold++) {
        struct tsim_input_pipeline_flow flow;
        struct tsim_background checkpoint = {.direction = TSIM_DIRECTION_BOTH, .is_of_host = true};
        use_slots(1);
        e.node.scale_up = TSIM_SCALE_UP_SWITCH;
        e.node.nics = 1;
        e.node.nic_bytes_per_s = e.fabric.link_bytes_per_s = NIC;
        e.scenario.cluster.nodes = 2;
        e.scenario.parallelism.tensor = 2;
        e.scenario.simulation.detail = TSIM_DETAIL_OPERATORS;
        e.scenario.simulation.fold = fold == 0;
        double alone_s = simulate().time_s, bytes = simulate().stage_groups[0].nic_bytes;
        e.scenario.cluster.background = &checkpoint;
        e.scenario.cluster.n_background = 1;
        double copy_s = offloaded_s(1);
        use_input(3 * copy_s * LINK);
        struct tsim_step_simulation all = feed(&flow);
        ck_assert_double_gt(
            copy_s, bytes / NIC); /* in each direction twice the time that the NICs need beside the checkpoint */
        ck_assert_double_eq_tol(all.time_s, 3 * copy_s + copy_s + bytes / LINK, 0.02 * all.time_s);
        ck_assert_double_eq_tol(all.background->bytes, all.time_s * NIC - bytes, 0.02 * bytes);
        e.scenario.data.has = false;
        offloaded_s(0.01);
        struct tsim_step_simulation short_of_nics = simulate();
        ck_assert_double_eq_tol(short_of_nics.time_s, alone_s + bytes / NIC, 0.02 * alone_s);
        ck_assert_double_eq_tol(short_of_nics.background->bytes, short_of_nics.time_s * NIC - bytes, 0.02 * bytes);
    }
}

/* A replica on each of two nodes, whose kernels take next to nothing: a step is its gradients, of which each NIC brings
 * N bytes, or what the samples take that come over the same NIC, S bytes a step. Half of N delays the gradients by as
 * much: N + S must come in. So it is with three times N, where the step waits for its batch. A storage with a network
 * of its own costs nothing, and one of N bytes a step's time is waited for on whatever network. */
TSIM_TEST(input_over_nics) {
    const double NIC = 5e9;
    for (int fold = 0; fold < 2; fold++) {
        struct tsim_input_pipeline_flow flow;
        use_slots(1);
        e.node.scale_up = TSIM_SCALE_UP_SWITCH;
        e.node.nics = 1;
        e.node.nic_bytes_per_s = e.fabric.link_bytes_per_s = NIC;
        e.scenario.cluster.nodes = 2;
        e.scenario.training.global_batch_size = 2;
        e.scenario.simulation.detail = TSIM_DETAIL_OPERATORS;
        e.scenario.simulation.fold = fold == 0;
        double alone_s = simulate().time_s, gradients = simulate().stage_groups[0].nic_bytes;
        use_input(1);
        e.scenario.data.sample_bytes = gradients / 2;
        ck_assert_double_eq_tol(feed(&flow).time_s, alone_s, 1e-6 * alone_s);
        e.scenario.data.network = TSIM_STORAGE_NICS;
        ck_assert_double_eq_tol(feed(&flow).time_s, alone_s + 0.5 * gradients / NIC, 0.02 * alone_s);
        e.scenario.simulation.network = TSIM_NETWORK_IDEAL;
        ck_assert_double_lt(feed(&flow).time_s, 1.001 * alone_s);
        e.scenario.simulation.network = TSIM_NETWORK_FLUID;
        e.scenario.data.sample_bytes = 3 * gradients;
        ck_assert_double_eq_tol(feed(&flow).time_s, 4 * gradients / NIC, 0.03 * 4 * gradients / NIC);
        ck_assert_int_eq(flow.bound, TSIM_INPUT_BOUND_STORAGE);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
