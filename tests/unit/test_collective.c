#include "cost/collective.h"
#include "support/arena_rig.h"
#include "support/example.h"
#include "support/random.h"

#include <math.h>

#define MIB 1048576.0
#define GIB 1073741824.0
#define US 1e-6

static struct example example; /* ring 100 GB/s, NIC 10 GB/s each, no latencies, nothing reduces in the switch */

static void set_up_example(void) {
    set_up();
    example_init(&example);
}

static const struct tsim_cluster *build(int64_t nodes) {
    example.scenario.cluster.nodes = nodes;
    example_finish(&example);
    return tsim_cluster_build(&arena, &example.scenario);
}

static const struct tsim_cluster *dgx_h100(int64_t nodes) {
    example_be_dgx_h100(&example);
    return build(nodes);
}

static struct tsim_group even(int32_t nodes, int32_t per_node) {
    return (struct tsim_group){
        .n_ranks = nodes * per_node, .n_nodes = nodes, .max_ranks_per_node = per_node, .min_ranks_per_node = per_node};
}

static struct tsim_collective_cost cost_of(const struct tsim_cluster *cluster, struct tsim_collective_request request) {
    struct tsim_collective_cost cost;
    tsim_collective_cost(cluster, &request, &cost);
    return cost;
}

static struct tsim_collective_cost all_reduce(const struct tsim_cluster *cluster, struct tsim_group group, double bytes,
                                              enum tsim_algorithm algorithm, enum tsim_protocol protocol) {
    return cost_of(
        cluster,
        (struct tsim_collective_request){
            .op = TSIM_ALL_REDUCE, .bytes = bytes, .group = group, .algorithm = algorithm, .protocol = protocol});
}

static void assert_us(double actual_s, double expected_us) {
    ck_assert_double_eq_tol(actual_s * 1e6, expected_us, 1e-9);
}

/* ---- NCCL's tuning model ---- */

/* For 8 H100 on a node: 6.6 + 14 * 0.6 = 15.0; 14 + 14 * 1.9 = 40.6; 8.4 + 14 * 3.4 = 56.0; tree 6.8 + 2 * 7 * 0.6 =
 * 15.2. */
TSIM_TEST(latencies_on_a_node) {
    const struct tsim_cluster *c = dgx_h100(1);
    struct tsim_group g = even(1, 8);
    assert_us(all_reduce(c, g, 8, TSIM_ALGORITHM_RING, TSIM_PROTOCOL_LL).latency_s, 15.0);
    assert_us(all_reduce(c, g, 8, TSIM_ALGORITHM_RING, TSIM_PROTOCOL_LL128).latency_s, 40.6);
    assert_us(all_reduce(c, g, 8, TSIM_ALGORITHM_RING, TSIM_PROTOCOL_SIMPLE).latency_s, 56.0);
    assert_us(all_reduce(c, g, 8, TSIM_ALGORITHM_TREE, TSIM_PROTOCOL_LL).latency_s, 15.2);
    assert_us(all_reduce(c, g, 8, TSIM_ALGORITHM_NVLS, TSIM_PROTOCOL_AUTO).latency_s, 25.0);
    struct tsim_collective_cost best = all_reduce(c, g, 8, TSIM_ALGORITHM_AUTO, TSIM_PROTOCOL_AUTO);
    ck_assert_int_eq(best.algorithm, TSIM_ALGORITHM_RING);
    ck_assert_int_eq(best.protocol, TSIM_PROTOCOL_LL);
}

/* 16 nodes of 8: a ring makes 254 steps, 30 of them between nodes: 8.4 + 224 * 3.4 + 30 * 14 = 1190; 1.4 times that
 * once a rank's piece of a channel (16 channels) exceeds 64 B, from 128 KiB. Tree: 6.8 + 2 (7 * 0.6 + 4 * 5) = 55.2. LL
 * ring: hops wait for the proxy's 1 us: 6.6 + 224 * 1 + 30 * 2.7 = 311.6. */
TSIM_TEST(latencies_between_nodes) {
    const struct tsim_cluster *c = dgx_h100(16);
    struct tsim_group g = even(16, 8);
    assert_us(all_reduce(c, g, 1024, TSIM_ALGORITHM_RING, TSIM_PROTOCOL_SIMPLE).latency_s, 1190);
    assert_us(all_reduce(c, g, 131072, TSIM_ALGORITHM_RING, TSIM_PROTOCOL_SIMPLE).latency_s, 1666);
    assert_us(all_reduce(c, g, 1024, TSIM_ALGORITHM_TREE, TSIM_PROTOCOL_LL).latency_s, 55.2);
    assert_us(all_reduce(c, g, 1024, TSIM_ALGORITHM_RING, TSIM_PROTOCOL_LL).latency_s, 311.6);
    /* The fabric is 3 us slower: once for each of 2 * 4 hops of LL, twice (flush) for Simple: 8.4 + 2 (7 * 4 + 4 *
     * 20). */
    example.fabric.latency_s = 8 * US;
    c = build(16);
    assert_us(all_reduce(c, g, 1024, TSIM_ALGORITHM_TREE, TSIM_PROTOCOL_LL).latency_s, 55.2 + 8 * 3);
    assert_us(all_reduce(c, g, 1024, TSIM_ALGORITHM_TREE, TSIM_PROTOCOL_SIMPLE).latency_s, 224.4);
}

/* nccl-tests on 8 H100 (NVIDIA/dgxc-benchmarking@841f546 nccl/README.md), out of place; on 2 nodes of 8 H200
 * (ConnectX-7 class NICs, NCCL 2.30). Large messages within 6 %, 2 MiB and more within 20 %. */
TSIM_TEST(measured_h100) {
    static const struct {
        int nodes;
        double mib, us, tolerance;
    } ROWS[] = {{1, 1, 27.37, 0.06},     {1, 4, 54.19, 0.06},      {1, 16, 123.8, 0.06},   {1, 64, 324.7, 0.06},
                {1, 256, 1112.5, 0.06},  {1, 1024, 4029.4, 0.06},  {1, 8192, 31307, 0.06}, {2, 2, 86.37, 0.20},
                {2, 8, 149.76, 0.20},    {2, 32, 276.88, 0.20},    {2, 128, 742.13, 0.06}, {2, 512, 2327.12, 0.06},
                {2, 2048, 8497.4, 0.06}, {2, 16384, 66326.9, 0.06}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        const struct tsim_cluster *c = dgx_h100(ROWS[i].nodes);
        double t =
            all_reduce(c, even(ROWS[i].nodes, 8), ROWS[i].mib * MIB, TSIM_ALGORITHM_AUTO, TSIM_PROTOCOL_AUTO).time_s;
        ck_assert_double_eq_tol(t / (ROWS[i].us * US), 1, ROWS[i].tolerance);
    }
}

/* Rounds of one node's in-switch reduction, 16 channels x 8 parts at 480/1.75 GB/s of S: 4 GiB are 256 rounds of 128
 * KiB, one of them not overlapped: (1 + 1/257) of the flow. 2 MiB are one round of 16 KiB, an eighth of a large
 * one: 7.6459 us of flow, 5 us x 7/8 of latency, half of both again. */
TSIM_TEST(in_switch_rounds) {
    const struct tsim_cluster *c = dgx_h100(1);
    double flow_us = 4 * GIB * 1.75 / 480e9 * 1e6;
    ck_assert_double_eq_tol(all_reduce(c, even(1, 8), 4 * GIB, TSIM_ALGORITHM_NVLS, TSIM_PROTOCOL_AUTO).time_s * 1e6,
                            25 + flow_us * 258 / 257, 1e-6);
    ck_assert_double_eq_tol(all_reduce(c, even(1, 8), 2 * MIB, TSIM_ALGORITHM_NVLS, TSIM_PROTOCOL_AUTO).time_s * 1e6,
                            25 + (7.645867 + 4.375) * 1.5, 1e-4);
}

/* Two nodes: depth 7 + 1, so 32 chunks that wait for a hop of 14 us once there are that many of more than 32 KiB; the
 * latency is 8.4 + 2 (7 * 4 + 14) = 92.4 us and the flow 8 channels x 41.4 GB/s / 2. */
TSIM_TEST(tree_chunks_wait_for_the_fabric) {
    const struct tsim_cluster *c = dgx_h100(2);
    struct tsim_collective_cost cost = all_reduce(c, even(2, 8), 16 * GIB, TSIM_ALGORITHM_TREE, TSIM_PROTOCOL_SIMPLE);
    assert_us(cost.latency_s, 92.4);
    ck_assert_double_eq_tol(cost.time_s * 1e6, 92.4 + 32 * 14 + 16 * GIB / 165.6e9 * 1e6, 1e-6);
    /* half of the wait at ln 2 of 32 chunks x 16 channels x 32 KiB */
    cost = all_reduce(c, even(2, 8), log(2) * 16 * MIB, TSIM_ALGORITHM_TREE, TSIM_PROTOCOL_SIMPLE);
    ck_assert_double_eq_tol(cost.time_s * 1e6, 92.4 + 16 * 14 + log(2) * 16 * MIB / 165.6e9 * 1e6, 1e-6);
}

/* Flags among the data need bytes in order; within a node they are. */
TSIM_TEST(unordered_fabrics_use_simple) {
    example.fabric.is_unordered = true;
    const struct tsim_cluster *c = dgx_h100(2);
    for (int op = 0; op < TSIM_N_COLLECTIVE_OPS; op++)
        for (int protocol = TSIM_PROTOCOL_AUTO; protocol < TSIM_N_PROTOCOLS; protocol++) {
            struct tsim_collective_request request = {.op = (enum tsim_collective_op)op,
                                                      .bytes = 64,
                                                      .group = even(2, 8),
                                                      .protocol = (enum tsim_protocol)protocol};
            ck_assert_int_eq(cost_of(c, request).protocol, TSIM_PROTOCOL_SIMPLE);
        }
    ck_assert_int_eq(all_reduce(c, even(1, 8), 64, TSIM_ALGORITHM_AUTO, TSIM_PROTOCOL_AUTO).protocol, TSIM_PROTOCOL_LL);
}

/* Half of S leaves the node: 0.5 GB at 0.9 of 46.5 GB/s, after 8.4 us, one batch of peers on the node (3.4) and one on
 * the other (14). */
TSIM_TEST(all_to_all_between_nodes) {
    const struct tsim_cluster *c = dgx_h100(2);
    struct tsim_collective_request request = {.op = TSIM_ALL_TO_ALL, .bytes = 1e9, .group = even(2, 8)};
    struct tsim_collective_cost cost = cost_of(c, request);
    ck_assert_double_eq_tol(cost.time_s, 25.8 * US + 0.5 / (0.9 * 46.5), 1e-9);
    ck_assert_double_eq_tol(cost.nic_bytes, 0.5e9, 1);
    ck_assert_double_eq_tol(cost.scale_up_bytes, 1e9 * 7 / 16, 1);
    ck_assert_double_eq_tol(cost.hbm_bytes, 2e9, 1); /* read, and written where it arrives */
}

/* Eight accelerators on PCIe, four below each switch and on each socket: 4 of the 8 parts of four buffers of 1 GB go up
 * through a switch, 2 GB at 20 GB/s are 100 ms, and from socket to socket, 2 GB at 10 GB/s are 200 ms. Two below one
 * switch leave neither. */
TSIM_TEST(all_to_all_on_pcie) {
    example.node.scale_up = TSIM_SCALE_UP_PCIE;
    example.node.accelerators = 8;
    example.node.accelerators_per_switch = 4;
    example.node.switch_uplink_bytes_per_s = 20e9;
    const struct tsim_cluster *c = build(1);
    struct tsim_collective_request request = {.op = TSIM_ALL_TO_ALL, .bytes = 1e9, .group = even(1, 8)};
    struct tsim_collective_cost cost = cost_of(c, request);
    ck_assert_double_eq_tol(cost.time_s - cost.latency_s, 0.1, 1e-9);
    example.node.accelerators_per_socket = 4;
    example.node.socket_link_bytes_per_s = 10e9;
    cost = cost_of(build(1), request);
    ck_assert_double_eq_tol(cost.time_s - cost.latency_s, 0.2, 1e-9);
    request.group = even(1, 2); /* half of 1 GB on each one's own link of 100 GB/s, as on any node */
    double on_pcie_s = cost_of(build(1), request).time_s;
    example.node.scale_up = TSIM_SCALE_UP_SWITCH;
    ck_assert_double_le(on_pcie_s, 0.01);
    ck_assert_double_ge(on_pcie_s, cost_of(build(1), request).time_s);
}

/* In-switch all-reduce among some of 8 H200, 8 GiB, was measured (stas00/ml-engineering network/README.md): the link
 * carries S (n+1)/n, so bus bandwidth falls with fewer ranks. */
TSIM_TEST(measured_h200_subsets) {
    static const double GB_PER_S[] = {[5] = 414.2, [6] = 435.6, [7] = 460.0, [8] = 473.1};
    const struct tsim_cluster *c = dgx_h100(1);
    for (int32_t n = 5; n <= 8; n++) {
        struct tsim_collective_cost cost = all_reduce(c, even(1, n), 8 * GIB, TSIM_ALGORITHM_AUTO, TSIM_PROTOCOL_AUTO);
        ck_assert_int_eq(cost.algorithm, TSIM_ALGORITHM_NVLS);
        ck_assert_double_eq_tol(cost.bus_bandwidth_bytes_per_s / (GB_PER_S[n] * 1e9), 1, 0.02);
    }
}

/* ---- closed forms ---- */

/* Without latency (network: ideal) a ring is exactly the alpha-beta form with alpha = 0; a gather, and an exchange of
 * all with all, move half of what an all-reduce does. */
TSIM_TEST(ideal_network_is_the_closed_form) {
    const struct tsim_cluster *c = build(1);
    struct tsim_collective_request request = {.bytes = 1e9, .group = even(1, 8), .network = TSIM_NETWORK_IDEAL};
    request.op = TSIM_ALL_REDUCE;
    ck_assert_double_eq_tol(cost_of(c, request).time_s, tsim_ring_all_reduce_s(8, 1e9, 100e9, 0), 1e-15);
    request.op = TSIM_ALL_GATHER;
    ck_assert_double_eq_tol(cost_of(c, request).time_s, 7.0 / 8 * 1e9 / 100e9, 1e-15);
    request.op = TSIM_ALL_TO_ALL;
    ck_assert_double_eq_tol(cost_of(c, request).time_s, 7.0 / 8 * 1e9 / 100e9, 1e-15);
    request.op = TSIM_SEND_RECV;
    request.group = even(1, 2);
    ck_assert_double_eq_tol(cost_of(c, request).time_s, 0.01, 1e-15);
}

/* With n = 4, S = 8 bytes, 2 bytes/s and alpha 0.5 s it is 2 * 3/4 * 8/2 + 6 * 0.5 = 9. */
TSIM_TEST(alpha_beta_form) {
    ck_assert_double_eq(tsim_ring_all_reduce_s(4, 8, 2, 0.5), 9);
}

/* A rank of a ring forwards V bytes in total, over one link or the other. */
TSIM_TEST(volumes) {
    const struct tsim_cluster *c = dgx_h100(4);
    double s = 1e9;
    struct tsim_collective_request request = {.bytes = s, .algorithm = TSIM_ALGORITHM_RING};
    static const struct {
        enum tsim_collective_op op;
        double passes;
    } RINGS[] = {{TSIM_ALL_REDUCE, 2}, {TSIM_ALL_GATHER, 1}, {TSIM_REDUCE_SCATTER, 1}};
    for (size_t i = 0; i < 3; i++) {
        request.op = RINGS[i].op;
        request.group = even(1, 8);
        struct tsim_collective_cost cost = cost_of(c, request);
        ck_assert_double_eq_tol(cost.scale_up_bytes, RINGS[i].passes * 7 / 8 * s, 1e-6);
        ck_assert_double_eq(cost.nic_bytes, 0);
        request.group = even(4, 8); /* one of a channel's 8 ranks sends to another node */
        cost = cost_of(c, request);
        double v = RINGS[i].passes * 31 / 32 * s;
        ck_assert_double_eq_tol(cost.nic_bytes, v / 8, 1e-6);
        ck_assert_double_eq_tol(cost.scale_up_bytes + cost.nic_bytes, v, 1e-6);
        request.group = even(4, 1);
        cost = cost_of(c, request);
        ck_assert_double_eq(cost.scale_up_bytes, 0);
        ck_assert_double_eq_tol(cost.nic_bytes, RINGS[i].passes * 3 / 4 * s, 1e-6);
    }
    request.op = TSIM_ALL_TO_ALL; /* 7 of 32 parts stay on the node, 24 leave it, one is its own */
    request.group = even(4, 8);
    struct tsim_collective_cost cost = cost_of(c, request);
    ck_assert_double_eq_tol(cost.scale_up_bytes, s * 7 / 32, 1e-6);
    ck_assert_double_eq_tol(cost.nic_bytes, s * 24 / 32, 1e-6);
}

/* With double binary trees the busiest node sends S with 2 nodes, 3/2 S with 3, 2 S with more, spread over 8 NIC
 * shares. */
TSIM_TEST(tree_volumes) {
    const struct tsim_cluster *c = dgx_h100(8);
    static const double SENDS[] = {[1] = 0, [2] = 1, [3] = 1.5, [4] = 2, [8] = 2};
    static const int32_t NODES[] = {1, 2, 3, 4, 8};
    for (size_t i = 0; i < 5; i++) {
        struct tsim_collective_cost cost =
            all_reduce(c, even(NODES[i], 8), 8e9, TSIM_ALGORITHM_TREE, TSIM_PROTOCOL_SIMPLE);
        ck_assert_double_eq_tol(cost.nic_bytes, SENDS[NODES[i]] * 1e9, 1e-6);
        ck_assert_double_eq_tol(cost.scale_up_bytes, 2 * 7.0 / 8 * 8e9, 1e-6);
    }
}

/* 6 ranks, 4 on one node and 2 on another: the node with two has two NIC shares for the whole ring's crossing. */
TSIM_TEST(the_node_with_fewest_ranks_binds) {
    const struct tsim_cluster *c = build(2);
    struct tsim_group g = {.n_ranks = 6, .n_nodes = 2, .max_ranks_per_node = 4, .min_ranks_per_node = 2};
    struct tsim_collective_request request = {
        .op = TSIM_ALL_GATHER, .bytes = 6e9, .group = g, .network = TSIM_NETWORK_IDEAL};
    struct tsim_collective_cost cost = cost_of(c, request);
    ck_assert_double_eq_tol(cost.nic_bytes, 5e9 / 2, 1e-6);
    ck_assert_double_eq_tol(cost.time_s, 0.25, 1e-12); /* 2.5 GB at 10 GB/s */
}

/* It is a scatter of 7/8 S, a ring of 4 over S/8 and a gather of 7/8 S, one after another: 8 GB at 100 and 10 GB/s. */
TSIM_TEST(hierarchical) {
    const struct tsim_cluster *c = build(4);
    struct tsim_collective_request request = {.op = TSIM_ALL_REDUCE,
                                              .bytes = 8e9,
                                              .group = even(4, 8),
                                              .algorithm = TSIM_ALGORITHM_HIERARCHICAL,
                                              .network = TSIM_NETWORK_IDEAL};
    struct tsim_collective_cost cost = cost_of(c, request);
    ck_assert_double_eq_tol(cost.time_s, 2 * 7e9 / 100e9 + 2 * 0.75e9 / 10e9, 1e-12);
    ck_assert_double_eq_tol(cost.scale_up_bytes, 14e9, 1);
    ck_assert_double_eq_tol(cost.nic_bytes, 1.5e9, 1);
    ck_assert_double_eq_tol(cost.hbm_bytes, 4 * 7e9 + 4 * 0.75e9, 1);
}

/* The latency on 4 nodes of 8 H100 is that of twice seven hops on the node, 2 (8.4 + 7 x 3.4), and of a ring of six
 * hops between nodes, 8.4 + 6 x 14. */
TSIM_TEST(hierarchical_latency) {
    struct tsim_collective_cost cost =
        all_reduce(dgx_h100(4), even(4, 8), 8, TSIM_ALGORITHM_HIERARCHICAL, TSIM_PROTOCOL_AUTO);
    assert_us(cost.latency_s, 2 * 32.2 + 92.4);
}

/* NCCL sends messages of up to NCCL_P2P_LL_THRESHOLD, 16384 bytes, as LL. */
TSIM_TEST(small_messages_go_as_ll) {
    const struct tsim_cluster *c = build(1);
    struct tsim_collective_request request = {.op = TSIM_SEND_RECV, .bytes = 16384, .group = even(1, 2)};
    ck_assert_int_eq(cost_of(c, request).protocol, TSIM_PROTOCOL_LL);
    request.bytes = 16385;
    ck_assert_int_eq(cost_of(c, request).protocol, TSIM_PROTOCOL_SIMPLE);
    request.op = TSIM_ALL_TO_ALL; /* a fourth of the bytes to each of four */
    request.group = even(1, 4);
    request.bytes = 4 * 16384;
    ck_assert_int_eq(cost_of(c, request).protocol, TSIM_PROTOCOL_LL);
    request.bytes = 4 * 16385;
    ck_assert_int_eq(cost_of(c, request).protocol, TSIM_PROTOCOL_SIMPLE);
}

/* NCCL's corrections of trees stand at powers of two: LL128 0.9 of its rate at 2 KiB, 0.8 at 4 KiB; in the middle, in
 * log2 of the size, 0.85. Above its table nothing is corrected. */
TSIM_TEST(corrections_between_sizes) {
    const struct tsim_cluster *c = build(1);
    static const double LOG2[] = {11, 11.5, 12, 29.5, 41}, FACTORS[] = {0.9, 0.85, 0.8, 1, 1};
    double rate = 0;
    for (int i = 0; i < 5; i++) {
        double bytes = exp2(LOG2[i]);
        struct tsim_collective_cost cost = all_reduce(c, even(1, 8), bytes, TSIM_ALGORITHM_TREE, TSIM_PROTOCOL_LL128);
        double corrected = bytes / (cost.time_s - cost.latency_s) / FACTORS[i];
        ck_assert_double_eq_tol(corrected, i == 0 ? corrected : rate, 1e-9 * corrected);
        rate = corrected;
    }
}

/* Simple's column ends with 0.9 at 512 MiB; from there to 1 GiB it rises to 1. */
TSIM_TEST(corrections_at_the_end) {
    const struct tsim_cluster *c = build(1);
    static const double LOG2[] = {29, 29.5, 30, 31}, FACTORS[] = {0.9, 0.95, 1, 1};
    double rates[4];
    for (int i = 0; i < 4; i++) {
        struct tsim_collective_cost cost =
            all_reduce(c, even(1, 8), exp2(LOG2[i]), TSIM_ALGORITHM_TREE, TSIM_PROTOCOL_SIMPLE);
        rates[i] = exp2(LOG2[i]) / (cost.time_s - cost.latency_s) / FACTORS[i];
        ck_assert_double_eq_tol(rates[i], rates[0], 1e-9 * rates[0]);
    }
}

/* The fabric's switches sum up nodes: 1 GiB over 8 nodes of 8 goes once through each of 8 NICs, where the trees send it
 * twice. It has two hops, whatever the number of nodes. */
TSIM_TEST(switches_of_the_fabric_sum) {
    const struct tsim_cluster *c = dgx_h100(64);
    const struct tsim_group group = even(8, 8), all = even(64, 8);
    ck_assert(!tsim_collective_can(c, TSIM_ALL_REDUCE, &group, TSIM_ALGORITHM_NVLS_SHARP));
    struct tsim_collective_cost tree = all_reduce(c, group, 0x1p30, TSIM_ALGORITHM_NVLS_TREE, TSIM_PROTOCOL_AUTO);
    example.fabric.reduces = true;
    ck_assert(tsim_collective_can(c, TSIM_ALL_REDUCE, &group, TSIM_ALGORITHM_NVLS_SHARP));
    ck_assert(!tsim_collective_can(c, TSIM_REDUCE_SCATTER, &group, TSIM_ALGORITHM_NVLS_SHARP));
    struct tsim_collective_cost sum = all_reduce(c, group, 0x1p30, TSIM_ALGORITHM_AUTO, TSIM_PROTOCOL_AUTO),
                                of_all = all_reduce(c, all, 0x1p30, TSIM_ALGORITHM_AUTO, TSIM_PROTOCOL_AUTO);
    ck_assert_int_eq(sum.algorithm, TSIM_ALGORITHM_NVLS_SHARP);
    ck_assert_double_eq_tol(sum.nic_bytes, 0x1p30 / 8, 1);
    ck_assert_double_eq_tol(tree.nic_bytes, 2 * 0x1p30 / 8, 1);
    ck_assert_double_eq_tol(sum.scale_up_bytes, 0x1p30 * 9 / 8, 1);
    ck_assert_double_lt(sum.time_s, tree.time_s);
    ck_assert_double_eq(of_all.latency_s, sum.latency_s);
}

/* Each algorithm runs on the groups for which it is possible: reductions in the switch for two ranks of a node and
 * more, on one node or between. */
TSIM_TEST(what_can_run) {
    const struct tsim_cluster *c = dgx_h100(2);
    for (int ranks = 1; ranks <= 3; ranks++)
        for (int nodes = 1; nodes <= 2; nodes++) {
            const struct tsim_group group = even(nodes, ranks);
            const bool reduces = ranks > 1;
            ck_assert_int_eq(tsim_collective_can(c, TSIM_ALL_REDUCE, &group, TSIM_ALGORITHM_NVLS),
                             reduces && nodes == 1);
            ck_assert_int_eq(tsim_collective_can(c, TSIM_ALL_REDUCE, &group, TSIM_ALGORITHM_NVLS_TREE),
                             reduces && nodes == 2);
            ck_assert_int_eq(tsim_collective_can(c, TSIM_ALL_REDUCE, &group, TSIM_ALGORITHM_HIERARCHICAL),
                             reduces && nodes == 2);
            ck_assert(!tsim_collective_can(c, TSIM_ALL_GATHER, &group, TSIM_ALGORITHM_NVLS));
            ck_assert(!tsim_collective_can(c, TSIM_ALL_GATHER, &group, TSIM_ALGORITHM_TREE));
            ck_assert(!tsim_collective_can(c, TSIM_ALL_TO_ALL, &group, TSIM_ALGORITHM_RING));
            ck_assert(!tsim_collective_can(c, TSIM_SEND_RECV, &group, TSIM_ALGORITHM_RING));
            ck_assert(!tsim_collective_can(c, TSIM_SEND_RECV, &group, TSIM_ALGORITHM_TORUS));
            ck_assert(tsim_collective_can(c, TSIM_SEND_RECV, &group, TSIM_ALGORITHM_DIRECT));
            ck_assert(tsim_collective_can(c, TSIM_ALL_TO_ALL, &group, TSIM_ALGORITHM_PAIRWISE));
        }
    const struct tsim_cluster no_switch = {.node = &example.node},
                              line = {.node = &example.node, .torus_shape = {1, 4, 1}};
    const struct tsim_group pair = even(1, 2);
    ck_assert(!tsim_collective_can(&no_switch, TSIM_ALL_REDUCE, &pair, TSIM_ALGORITHM_NVLS));
    ck_assert(tsim_collective_can(&line, TSIM_ALL_REDUCE, &pair, TSIM_ALGORITHM_TORUS));
    ck_assert(!tsim_collective_can(&line, TSIM_ALL_REDUCE, &pair, TSIM_ALGORITHM_RING));
}

/* In a mesh of 8 a pair has one of an accelerator's seven links; MI300X: 2 of 8 reach 47.7 GB/s where 8 reach 313. */
TSIM_TEST(mesh_shares_links) {
    example.node.scale_up = TSIM_SCALE_UP_MESH;
    example.node.scale_up_ring_bytes_per_s = 313e9;
    const struct tsim_cluster *c = build(1);
    struct tsim_collective_cost pair = all_reduce(c, even(1, 2), 4 * GIB, TSIM_ALGORITHM_RING, TSIM_PROTOCOL_SIMPLE);
    ck_assert_double_eq_tol(pair.bus_bandwidth_bytes_per_s, 313e9 / 7, 1e8);
    ck_assert_double_eq_tol(pair.bus_bandwidth_bytes_per_s, 47.7e9, 0.07 * 47.7e9);
}

/* ---- cluster ---- */

TSIM_TEST(nic_shares) {
    ck_assert_double_eq(build(2)->nic_bytes_per_s, 10e9);
    example.fabric.efficiency_frac = 0.8;
    example.fabric.oversubscription = 2;
    ck_assert_double_eq_tol(build(2)->nic_bytes_per_s, 4e9, 1);
    example.fabric.link_bytes_per_s = 5e9; /* the port is slower than the NIC */
    ck_assert_double_eq_tol(build(2)->nic_bytes_per_s, 2e9, 1);
    example.software.nics_used = 2; /* 8 ranks share these; the node has 8 */
    ck_assert_double_eq_tol(build(2)->nic_bytes_per_s, 0.5e9, 1);
    example.scenario.cluster.accelerators_per_node = 1; /* alone, but each has at most its own */
    ck_assert_double_eq_tol(build(2)->nic_bytes_per_s, 2e9, 1);
    example.scenario.cluster.fabric = NULL;
    ck_assert_double_eq(build(1)->nic_bytes_per_s, 0);
}

/* ---- properties ---- */

TSIM_TEST(nothing_to_do_costs_nothing) {
    const struct tsim_cluster *c = dgx_h100(2);
    ck_assert_double_eq(all_reduce(c, even(1, 1), 1e9, TSIM_ALGORITHM_AUTO, TSIM_PROTOCOL_AUTO).time_s, 0);
    ck_assert_double_eq(all_reduce(c, even(2, 8), 0, TSIM_ALGORITHM_AUTO, TSIM_PROTOCOL_AUTO).time_s, 0);
}

/* An algorithm that cannot run here is as good as none named. */
TSIM_TEST(impossible_algorithms_fall_back) {
    const struct tsim_cluster *c = build(1);
    struct tsim_collective_cost automatic = all_reduce(c, even(1, 8), 1e6, TSIM_ALGORITHM_AUTO, TSIM_PROTOCOL_AUTO);
    struct tsim_collective_cost nvls = all_reduce(c, even(1, 8), 1e6, TSIM_ALGORITHM_NVLS, TSIM_PROTOCOL_AUTO);
    ck_assert_double_eq(nvls.time_s, automatic.time_s);
    ck_assert_int_eq(nvls.algorithm, automatic.algorithm);
}

/* Kernels: 24 channels of 132 units for a ring on a node, 16 for nvls. Between nodes two for each of the NICs that the
 * ranks of a node have, four from Hopper on with NICs of 400 Gb/s and fewer than 16: two nodes of two ranks then have
 * 8, of four 16, of eight 16 (logs in NVIDIA/nccl issue 1189, 8 channels, and in deepseek-ai/DeepEP issue 106, 16). */
TSIM_TEST(compute_units) {
    const struct tsim_cluster *c = dgx_h100(2);
    ck_assert_double_eq_tol(all_reduce(c, even(1, 8), 1e9, TSIM_ALGORITHM_RING, TSIM_PROTOCOL_AUTO).sm_frac, 24.0 / 132,
                            1e-12);
    ck_assert_double_eq_tol(all_reduce(c, even(1, 8), 1e9, TSIM_ALGORITHM_NVLS, TSIM_PROTOCOL_AUTO).sm_frac, 16.0 / 132,
                            1e-12);
    static const struct {
        double fast_nic_channels;
        int32_t ranks;
        double bytes_per_s, channels;
    } EACH[] = {{2, 1, 50e9, 4}, {2, 2, 50e9, 8}, {2, 4, 50e9, 16}, {2, 8, 50e9, 16}, {2, 2, 25e9, 4}, {1, 2, 50e9, 4}};
    for (size_t i = 0; i < sizeof EACH / sizeof EACH[0]; i++) {
        example_be_dgx_h100(&example);
        example.accelerator.nccl.fast_nic_channels = EACH[i].fast_nic_channels;
        example.node.nic_bytes_per_s = EACH[i].bytes_per_s;
        ck_assert_double_eq_tol(
            all_reduce(build(2), even(2, EACH[i].ranks), 1e9, TSIM_ALGORITHM_RING, TSIM_PROTOCOL_AUTO).sm_frac,
            EACH[i].channels / 132, 1e-12);
    }
    struct tsim_collective_request exchange = {.op = TSIM_ALL_TO_ALL, .bytes = 1e9, .group = even(1, 8)};
    c = dgx_h100(2);
    example.accelerator.nccl.fast_nic_channels = 2;
    ck_assert_double_eq_tol(cost_of(c, exchange).sm_frac, 32.0 / 132, 1e-12); /* messages: a power of two */
    exchange.group = even(2, 8);
    ck_assert_double_eq_tol(cost_of(c, exchange).sm_frac, 16.0 / 132, 1e-12);
    for (int64_t units = 47; units <= 48; units++) { /* of fewer than twice as many, none: they are no such units */
        example.accelerator.compute_units = units;
        ck_assert_double_eq(all_reduce(build(1), even(1, 8), 1e9, TSIM_ALGORITHM_RING, TSIM_PROTOCOL_AUTO).sm_frac,
                            units == 48 ? 0.5 : 0);
    }
}

TSIM_TEST(random_requests) {
    struct random_source random = {7};
    const struct tsim_cluster *c = dgx_h100(32);
    for (int i = 0; i < 3000; i++) {
        struct tsim_collective_request request = {
            .op = (enum tsim_collective_op)random_between(&random, 0, TSIM_N_COLLECTIVE_OPS - 1),
            .bytes = exp(random_real(&random) * log(16 * GIB)),
            .group = even(random_between(&random, 1, 32), random_between(&random, 1, 8)),
            .algorithm = (enum tsim_algorithm)random_between(&random, 0, TSIM_N_ALGORITHMS - 1),
            .protocol = (enum tsim_protocol)random_between(&random, 0, TSIM_N_PROTOCOLS - 1)};
        struct tsim_collective_cost cost = cost_of(c, request);
        if (request.group.n_ranks == 1)
            continue;
        double flow_s = cost.time_s - cost.latency_s + 1e-15; /* the difference is rounded */
        ck_assert(isfinite(cost.time_s) && cost.latency_s > 0);
        ck_assert_int_ne(cost.algorithm, TSIM_ALGORITHM_AUTO);
        ck_assert_int_ne(cost.protocol, TSIM_PROTOCOL_AUTO);
        ck_assert_double_ge(flow_s, cost.scale_up_bytes / c->scale_up_bytes_per_s);
        ck_assert_double_ge(flow_s, cost.nic_bytes / c->nic_bytes_per_s);
        if (cost.bound_bytes_per_s > 0)
            ck_assert_double_ge(flow_s, request.bytes / cost.bound_bytes_per_s);
        struct tsim_collective_request more = request, ideal = request, best = request;
        more.bytes *= 1 + random_real(&random);
        ideal.network = TSIM_NETWORK_IDEAL;
        best.algorithm = TSIM_ALGORITHM_AUTO;
        best.protocol = TSIM_PROTOCOL_AUTO;
        ck_assert_double_le(cost_of(c, ideal).time_s, cost.time_s);
        /* NCCL ignores how long the first chunk of a broadcast takes when it chooses the protocol. Its choice is then
         * not always the fastest, and a broadcast of more bytes may be faster by another protocol. */
        if (request.op == TSIM_BROADCAST)
            more.protocol = cost.protocol;
        ck_assert_double_ge(cost_of(c, more).time_s, cost.time_s * (1 - 1e-9));
        if (cost.algorithm != TSIM_ALGORITHM_HIERARCHICAL && request.op != TSIM_ALL_TO_ALL &&
            request.op != TSIM_SEND_RECV && request.op != TSIM_BROADCAST)
            ck_assert_double_le(cost_of(c, best).time_s, cost.time_s);
    }
}

TSIM_TEST(names) {
    ck_assert_str_eq(tsim_collective_op_name(TSIM_REDUCE_SCATTER), "reduce_scatter");
    ck_assert_str_eq(tsim_algorithm_name(TSIM_ALGORITHM_NVLS_TREE), "nvls_tree");
    ck_assert_str_eq(tsim_algorithm_name(TSIM_ALGORITHM_NVLS_SHARP), "nvls_sharp");
    ck_assert_str_eq(tsim_protocol_name(TSIM_PROTOCOL_LL128), "LL128");
    ck_assert_double_eq(tsim_bus_factor(TSIM_ALL_REDUCE, 8), 1.75);
    ck_assert_double_eq(tsim_bus_factor(TSIM_ALL_GATHER, 8), 0.875);
    ck_assert_double_eq(tsim_bus_factor(TSIM_BROADCAST, 8), 1);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up_example, tear_down)
