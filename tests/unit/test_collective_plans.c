/* Plans of collectives by hand from NCCL's constants (nccl_tables.h; NVIDIA/nccl@5067397, src/graph/tuning.cc): for
 * each operation, protocol and place its latency, what it puts on each kind of link, and its flow, which is the slowest
 * of its links at the protocol's fraction and of what LL or the fabric allows. The machine is the example with DGX
 * H100's links, 365 GB/s in a ring and 46.5 GB/s of a NIC, without reductions in the switch. */
#include "cost/collective.h"
#include "support/arena_rig.h"
#include "support/example.h"

#include <math.h>

#define GB 1e9
#define US 1e-6

static struct example example;

static void set_up_example(void) {
    set_up();
    example_init(&example);
    example_be_dgx_h100(&example);
    example.node.scale_up_reduce_bytes_per_s = 0;
}

static const struct tsim_cluster *build(int64_t nodes) {
    example.scenario.cluster.nodes = nodes;
    example_finish(&example);
    return tsim_cluster_build(&arena, &example.scenario);
}

static struct tsim_group even(int32_t nodes, int32_t per_node) {
    return (struct tsim_group){
        .n_ranks = nodes * per_node, .n_nodes = nodes, .max_ranks_per_node = per_node, .min_ranks_per_node = per_node};
}

static struct tsim_collective_cost cost_on(const struct tsim_cluster *cluster,
                                           const struct tsim_collective_request *request) {
    struct tsim_collective_cost cost;
    tsim_collective_cost(cluster, request, &cost);
    return cost;
}

struct plan {
    enum tsim_collective_op op;
    enum tsim_protocol protocol;
    int32_t nodes, per_node;
    double latency_us, up, nic; /* of S */
    double flow;                /* s for a GB */
};

static void check_plan(const struct plan *plan, enum tsim_algorithm algorithm) {
    const struct tsim_collective_request request = {.op = plan->op,
                                                    .bytes = GB,
                                                    .group = even(plan->nodes, plan->per_node),
                                                    .algorithm = algorithm,
                                                    .protocol = plan->protocol};
    struct tsim_collective_cost cost = cost_on(build(plan->nodes), &request);
    ck_assert_int_eq(cost.protocol, plan->protocol);
    ck_assert_msg(fabs(cost.latency_s / US - plan->latency_us) < 1e-6, "%s: %.9g us", tsim_collective_op_name(plan->op),
                  cost.latency_s / US);
    ck_assert_double_eq_tol(cost.scale_up_bytes / GB, plan->up, 1e-9);
    ck_assert_double_eq_tol(cost.nic_bytes / GB, plan->nic, 1e-9);
    ck_assert_msg(fabs(cost.time_s - cost.latency_s - plan->flow) < 1e-9 * plan->flow,
                  "%s, %s, %d x %d: %.12g s, not %.12g", tsim_collective_op_name(plan->op),
                  tsim_protocol_name(plan->protocol), (int)plan->nodes, (int)plan->per_node,
                  cost.time_s - cost.latency_s, plan->flow);
}

static double larger(double a, double b, double c) {
    return fmax(a, fmax(b, c));
}

/* A step on a node: 0.6, 1.9 or 3.4 us, between nodes at least the proxy's 1 us a post, three for Simple; over the
 * fabric 2.7, 4 or 14. A gathering ring has n - 1 steps, one of each nodes - 1 over the fabric, all-reduce twice as
 * many. LL reaches half of a link and 141 GB/s of bus bandwidth on a node, 39 between two, 20.4 between more; LL128
 * 0.92. */
TSIM_TEST(rings) {
    const double g1 = 7 / 8.0, g2 = 15 / 16.0, g3 = 23 / 24.0;
    const struct plan PLANS[] = {
        {TSIM_ALL_GATHER, TSIM_PROTOCOL_LL, 1, 8, 6.6 + 7 * 0.6, g1, 0, fmax(g1 / 182.5, g1 / 141)},
        {TSIM_ALL_GATHER, TSIM_PROTOCOL_LL128, 1, 8, 14 + 7 * 1.9, g1, 0, g1 / (0.92 * 365)},
        {TSIM_ALL_GATHER, TSIM_PROTOCOL_SIMPLE, 1, 8, 8.4 + 7 * 3.4, g1, 0, g1 / 365},
        {TSIM_REDUCE_SCATTER, TSIM_PROTOCOL_SIMPLE, 1, 8, 8.4 + 7 * 3.4, g1, 0, g1 / 365},
        {TSIM_ALL_REDUCE, TSIM_PROTOCOL_LL, 1, 8, 6.6 + 14 * 0.6, 2 * g1, 0, 2 * g1 / 141},
        {TSIM_ALL_REDUCE, TSIM_PROTOCOL_LL128, 1, 8, 14 + 14 * 1.9, 2 * g1, 0, 2 * g1 / (0.92 * 365)},
        {TSIM_ALL_GATHER, TSIM_PROTOCOL_LL, 2, 8, 6.6 + 14 * 1 + 2.7, g2 * g1, g2 / 8, g2 / 39},
        {TSIM_ALL_GATHER, TSIM_PROTOCOL_LL128, 2, 8, 14 + 14 * 1.9 + 4, g2 * g1, g2 / 8,
         fmax(g2 * g1 / 365, g2 / 8 / 46.5) / 0.92},
        {TSIM_ALL_GATHER, TSIM_PROTOCOL_SIMPLE, 2, 8, 8.4 + 14 * 3.4 + 14, g2 * g1, g2 / 8,
         fmax(g2 * g1 / 365, g2 / 8 / 46.5)},
        {TSIM_ALL_GATHER, TSIM_PROTOCOL_LL, 3, 8, 6.6 + 21 * 1 + 2 * 2.7, g3 * g1, g3 / 8, g3 / 20.4},
        {TSIM_REDUCE_SCATTER, TSIM_PROTOCOL_SIMPLE, 3, 8, 8.4 + 21 * 3.4 + 2 * 14, g3 * g1, g3 / 8,
         fmax(g3 * g1 / 365, g3 / 8 / 46.5)},
        {TSIM_ALL_REDUCE, TSIM_PROTOCOL_LL, 2, 8, 6.6 + 28 * 1 + 2 * 2.7, 2 * g2 * g1, 2 * g2 / 8, 2 * g2 / 39},
        {TSIM_ALL_REDUCE, TSIM_PROTOCOL_LL128, 2, 8, 14 + 28 * 1.9 + 2 * 4, 2 * g2 * g1, 2 * g2 / 8,
         fmax(2 * g2 * g1 / 365, 2 * g2 / 8 / 46.5) / 0.92},
        {TSIM_ALL_REDUCE, TSIM_PROTOCOL_SIMPLE, 2, 8, 1.4 * (8.4 + 28 * 3.4 + 2 * 14), 2 * g2 * g1, 2 * g2 / 8,
         fmax(2 * g2 * g1 / 365, 2 * g2 / 8 / 46.5)},
        /* With one rank a node, hops cross the fabric alone, and take as long as a tree's. */
        {TSIM_ALL_GATHER, TSIM_PROTOCOL_LL, 2, 1, 6.6 + 5, 0, 0.5, larger(0, 0.5 / (0.5 * 46.5), 0.5 / 39)},
        {TSIM_ALL_GATHER, TSIM_PROTOCOL_SIMPLE, 4, 1, 8.4 + 3 * 14, 0, 0.75, 0.75 / 46.5}};
    for (size_t i = 0; i < sizeof PLANS / sizeof PLANS[0]; i++)
        check_plan(&PLANS[i], TSIM_ALGORITHM_RING);
}

/* Its first chunk goes whole from NIC to NIC, of 16 channels between nodes and with Simple from rank to rank, of 24 on
 * one node: 32 KiB, 576,000 bytes or 512 KiB of data a channel. */
TSIM_TEST(broadcasts) {
    const double g3 = 7 / 8.0, nics = 8 * 46.5e9;
    const struct plan PLANS[] = {
        {TSIM_BROADCAST, TSIM_PROTOCOL_LL, 1, 8, 6.6 + 7 * 0.6, 1, 0, 1 / 141.0},
        {TSIM_BROADCAST, TSIM_PROTOCOL_SIMPLE, 1, 2, 8.4 + 3.4 + 24 * 524288 / 365e9 / US, 1, 0, 1 / 365.0},
        {TSIM_BROADCAST, TSIM_PROTOCOL_LL, 3, 8, 6.6 + 21 * 1 + 2 * 2.7 + 2 * 16 * 32768 / (0.5 * nics) / US, g3,
         1 / 8.0, 1 / 20.4},
        {TSIM_BROADCAST, TSIM_PROTOCOL_LL128, 3, 8, 14 + 21 * 1.9 + 2 * 4 + 2 * 16 * 576000 / (0.92 * nics) / US, g3,
         1 / 8.0, 1 / 8.0 / 46.5 / 0.92},
        {TSIM_BROADCAST, TSIM_PROTOCOL_SIMPLE, 3, 8,
         8.4 + 21 * 3.4 + 2 * 14 + (2 * 16 * 524288 / nics + 21 * 16 * 524288 / 365e9) / US, g3, 1 / 8.0,
         1 / 8.0 / 46.5}};
    for (size_t i = 0; i < sizeof PLANS / sizeof PLANS[0]; i++)
        check_plan(&PLANS[i], TSIM_ALGORITHM_RING);
}

/* NCCL takes each of a broadcast's 1,023 hops for one of the network, 2.7 us with LL and 4 with LL128: what LL128 gains
 * from 20.4 GB/s to 0.92 of 8 NICs pays at (7.4 + 1,023 x 1.3 us) / (1 / 20.4 - 1 / 342.2) ns = 29 MB; by the hops that
 * there are it would from 21 MB on. */
TSIM_TEST(protocol_of_a_broadcast) {
    static const struct {
        double bytes;
        enum tsim_protocol protocol;
    } ROWS[] = {{25e6, TSIM_PROTOCOL_LL}, {28e6, TSIM_PROTOCOL_LL}, {30e6, TSIM_PROTOCOL_LL128}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        const struct tsim_collective_request request = {
            .op = TSIM_BROADCAST, .bytes = ROWS[i].bytes, .group = even(128, 8)};
        struct tsim_collective_cost cost = cost_on(build(128), &request);
        ck_assert_int_eq(cost.protocol, ROWS[i].protocol);
    }
}

/* Four NICs for eight accelerators: a chunk has each on its way to itself. Half of a node's ranks reach all four with
 * half of the channels, so their first chunk waits half as long at each as that of all eight; two ranks reach two. */
TSIM_TEST(a_chunk_has_nics_to_itself) {
    static const struct { int32_t per_node, nics, channels; } ROWS[] = {{8, 4, 16}, {4, 4, 8}, {2, 2, 4}};
    example.node.nics = 4;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        const struct tsim_collective_request request = {.op = TSIM_BROADCAST,
                                                        .bytes = GB,
                                                        .group = even(3, ROWS[i].per_node),
                                                        .algorithm = TSIM_ALGORITHM_RING,
                                                        .protocol = TSIM_PROTOCOL_LL};
        double latency_s = cost_on(build(3), &request).latency_s;
        double hops_s = (6.6 + 3 * (ROWS[i].per_node - 1) * 1 + 2 * 2.7) * US;
        ck_assert_double_eq_tol(latency_s - hops_s, 2 * ROWS[i].channels * 32768 / (0.5 * ROWS[i].nics * 46.5e9),
                                1e-12);
    }
}

/* Up and down a chain of g - 1 hops and a tree of log2 N: hops of 0.6, 1.25 or 4 us and of 5, 8.5 or 14. All that a
 * rank sends is 2 (g - 1) / g S up; a node S, 1.5 S or 2 S, by 8 NICs. 0.92 of a link, LL 1 / 3.8 of it, LL128 7 / 9 on
 * a node and 120 / 128 between; a rank's NIC has one channel, which carries 41.4 GB/s between two nodes and 36 between
 * more, S up and S down. Simple waits for chunks besides: 4 x (7 + depth) of 24 or 16 channels x 32 KiB, a hop of 14 us
 * each. */
TSIM_TEST(trees) {
    const double up = 2 * 7 / 8.0;
    const struct plan PLANS[] = {
        {TSIM_ALL_REDUCE, TSIM_PROTOCOL_LL, 1, 8, 6.8 + 14 * 0.6, up, 0, fmax(up / (0.92 / 3.8 * 365), 2 / 141.0)},
        {TSIM_ALL_REDUCE, TSIM_PROTOCOL_LL128, 1, 8, 14 + 14 * 1.25, up, 0, up / (0.92 * 7 / 9 * 365)},
        {TSIM_ALL_REDUCE, TSIM_PROTOCOL_LL, 2, 8, 6.8 + 14 * 0.6 + 2 * 5, up, 1 / 8.0,
         larger(up / (0.92 / 3.8 * 365), 1 / 8.0 / (0.92 / 3.8 * 46.5), 2 / 39.0)},
        {TSIM_ALL_REDUCE, TSIM_PROTOCOL_LL128, 2, 8, 14 + 14 * 1.25 + 2 * 8.5, up, 1 / 8.0,
         larger(up / (0.92 * 120 / 128 * 365), 1 / 8.0 / (0.92 * 120 / 128 * 46.5), 2 / (8 * 41.4))},
        {TSIM_ALL_REDUCE, TSIM_PROTOCOL_LL128, 3, 8, 14 + 14 * 1.25 + 2 * 8.5, up, 1.5 / 8,
         larger(up / (0.92 * 120 / 128 * 365), 1.5 / 8 / (0.92 * 120 / 128 * 46.5), 2 / (8 * 36.0))},
        {TSIM_ALL_REDUCE, TSIM_PROTOCOL_LL, 4, 8, 6.8 + 14 * 0.6 + 4 * 5, up, 2 / 8.0,
         larger(up / (0.92 / 3.8 * 365), 2 / 8.0 / (0.92 / 3.8 * 46.5), 2 / 20.4)},
        {TSIM_ALL_REDUCE, TSIM_PROTOCOL_SIMPLE, 4, 8, 8.4 + 14 * 4 + 4 * 14, up, 2 / 8.0,
         larger(up / (0.92 * 365), 2 / 8.0 / (0.92 * 46.5), 2 / (8 * 36.0)) +
             36 * 14e-6 * -expm1(-GB / (36 * 16 * 32768))}};
    for (size_t i = 0; i < sizeof PLANS / sizeof PLANS[0]; i++)
        check_plan(&PLANS[i], TSIM_ALGORITHM_TREE);
    const struct tsim_collective_request simple = {.op = TSIM_ALL_REDUCE,
                                                   .bytes = GB,
                                                   .group = even(4, 8),
                                                   .algorithm = TSIM_ALGORITHM_TREE,
                                                   .protocol = TSIM_PROTOCOL_SIMPLE};
    /* a rate that no link has: channels, and what waits */
    struct tsim_collective_cost cost = cost_on(build(4), &simple);
    ck_assert_double_eq_tol(GB / cost.bound_bytes_per_s, 2 / (8 * 36.0) + 36 * 14e-6 * -expm1(-GB / (36 * 16 * 32768)),
                            1e-12);
}

/* S / n to each of n - 1 peers, eight at once, so that 7, 8 and 9 others take one, one and two turns; between nodes 0.9
 * of what a NIC gives. A single message: one hop, of a tree where ranks are alone on their nodes. */
TSIM_TEST(messages) {
    const struct plan PLANS[] = {
        {TSIM_ALL_TO_ALL, TSIM_PROTOCOL_LL, 1, 8, 6.6 + 0.6, 7 / 8.0, 0, 7 / 8.0 / 182.5},
        {TSIM_ALL_TO_ALL, TSIM_PROTOCOL_SIMPLE, 1, 8, 8.4 + 3.4, 7 / 8.0, 0, 7 / 8.0 / 365},
        {TSIM_ALL_TO_ALL, TSIM_PROTOCOL_LL, 2, 8, 6.6 + 0.6 + 2.7, 7 / 16.0, 0.5, 0.5 / (0.9 * 0.5 * 46.5)},
        {TSIM_ALL_TO_ALL, TSIM_PROTOCOL_SIMPLE, 3, 8, 8.4 + 3.4 + 2 * 14, 7 / 24.0, 16 / 24.0,
         16 / 24.0 / (0.9 * 46.5)},
        {TSIM_ALL_TO_ALL, TSIM_PROTOCOL_SIMPLE, 3, 4, 8.4 + 3.4 + 14, 3 / 12.0, 8 / 12.0, 8 / 12.0 / (0.9 * 46.5)},
        {TSIM_ALL_TO_ALL, TSIM_PROTOCOL_SIMPLE, 4, 3, 8.4 + 3.4 + 2 * 14, 2 / 12.0, 9 / 12.0, 9 / 12.0 / (0.9 * 46.5)},
        {TSIM_SEND_RECV, TSIM_PROTOCOL_LL, 1, 2, 6.6 + 0.6, 1, 0, 1 / 182.5},
        {TSIM_SEND_RECV, TSIM_PROTOCOL_SIMPLE, 1, 2, 8.4 + 3.4, 1, 0, 1 / 365.0},
        {TSIM_SEND_RECV, TSIM_PROTOCOL_LL, 2, 1, 6.6 + 5, 0, 1, 1 / (0.5 * 46.5)},
        {TSIM_SEND_RECV, TSIM_PROTOCOL_SIMPLE, 2, 1, 8.4 + 14, 0, 1, 1 / 46.5}};
    for (size_t i = 0; i < sizeof PLANS / sizeof PLANS[0]; i++)
        check_plan(&PLANS[i], TSIM_ALGORITHM_AUTO);
}

/* All to all on one node: of 32 channels of 21.2 GB/s four each go to 7 others and eight to 3; two ranks have 16 each;
 * messages of more than 16 MiB a channel have twice as many until they do not. They fill NVLink 4's 365 GB/s but for
 * two ranks, and not NVLink 5's 682. */
TSIM_TEST(channels_of_messages) {
    static const struct {
        double rate;
        int32_t ranks;
        double message_bytes, channels;
    } ROWS[] = {{682e9, 8, 4 * 16777216.0, 28},  {682e9, 8, 4 * 16777216.0 + 1, 56},
                {682e9, 4, 16777216, 24},        {682e9, 2, 16 * 16777216.0, 16},
                {682e9, 2, 17 * 16777216.0, 32}, {365e9, 8, 16777216, 28},
                {365e9, 4, 16777216, 24},        {365e9, 2, 16777216, 16}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        double bytes = ROWS[i].message_bytes * ROWS[i].ranks;
        struct tsim_cluster cluster = *build(1);
        cluster.pair_bytes_per_s = ROWS[i].rate;
        const struct tsim_collective_request request = {
            .op = TSIM_ALL_TO_ALL, .bytes = bytes, .group = even(1, ROWS[i].ranks), .protocol = TSIM_PROTOCOL_SIMPLE};
        struct tsim_collective_cost cost = cost_on(&cluster, &request);
        double expected_s = (bytes - ROWS[i].message_bytes) / fmin(ROWS[i].rate, ROWS[i].channels * 21.2e9);
        ck_assert_msg(fabs(cost.time_s - cost.latency_s - expected_s) < 1e-9 * expected_s, "row %zu: %.9g s, not %.9g",
                      i, cost.time_s - cost.latency_s, expected_s);
    }
}

/* PCI Express: hops of 1, 2.5 and 5.7 us, trees' of 1, 1.9 and 4; no LL128, which is as good as none wanted. */
TSIM_TEST(without_nvlink) {
    const struct plan PLANS[] = {{TSIM_ALL_GATHER, TSIM_PROTOCOL_LL, 1, 4, 6.6 + 3 * 1, 0.75, 0, 0.75 / 141},
                                 {TSIM_ALL_GATHER, TSIM_PROTOCOL_SIMPLE, 1, 4, 8.4 + 3 * 5.7, 0.75, 0, 0.75 / 365}};
    example.node.scale_up = TSIM_SCALE_UP_PCIE;
    for (size_t i = 0; i < 2; i++)
        check_plan(&PLANS[i], TSIM_ALGORITHM_RING);
    const struct tsim_collective_request wanted = {
        .op = TSIM_ALL_GATHER, .bytes = GB, .group = even(1, 4), .protocol = TSIM_PROTOCOL_LL128};
    struct tsim_collective_cost cost = cost_on(build(1), &wanted);
    ck_assert_int_eq(cost.protocol, TSIM_PROTOCOL_SIMPLE);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up_example, tear_down)
