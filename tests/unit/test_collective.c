/* The example node: 8 accelerators, ring 100 GB/s, NICs of 10 GB/s each; year 2022 (Hopper's tables). */
#include "cost/collective.h"
#include "support/check_main.h"
#include "support/example.h"

static struct example e;
static struct tsim_arena arena;

static const struct tsim_cluster *cluster(int64_t nodes) {
    example_init(&e);
    e.scenario.cluster.nodes = nodes;
    example_finish(&e);
    tsim_arena_release(&arena);
    return tsim_cluster_build(&arena, &e.scenario);
}

static const struct tsim_group ONE_NODE = {8, 1, 8, 8}, SIXTEEN_NODES = {128, 16, 8, 8}, RAIL = {16, 16, 1, 1};

#define ASSERT_US(seconds, us) ck_assert_double_eq_tol((seconds)*1e6, us, 0.05)

/* NCCL's latency model on 8 H100: ring all-reduce 6.6 + 14 * 0.6 = 15.0, 14 + 14 * 1.9 = 40.6, 8.4 + 14 * 3.4 = 56.0;
 * tree LL 6.8 + 2 * 7 * 0.6 = 15.2; NVLS 25. 16 nodes of 8: 254 steps, 30 of them between nodes:
 * ring Simple 8.4 + 224 * 3.4 + 30 * 14 = 1190; tree LL 6.8 + 2 (7 * 0.6 + 4 * 5) = 55.2. */
START_TEST(latencies) {
    const struct tsim_cluster *c = cluster(1);
    ASSERT_US(tsim_collective_latency_s(c, TSIM_ALL_REDUCE, &ONE_NODE, TSIM_RING, TSIM_LL), 15.0);
    ASSERT_US(tsim_collective_latency_s(c, TSIM_ALL_REDUCE, &ONE_NODE, TSIM_RING, TSIM_LL128), 40.6);
    ASSERT_US(tsim_collective_latency_s(c, TSIM_ALL_REDUCE, &ONE_NODE, TSIM_RING, TSIM_SIMPLE), 56.0);
    ASSERT_US(tsim_collective_latency_s(c, TSIM_ALL_REDUCE, &ONE_NODE, TSIM_TREE, TSIM_LL), 15.2);
    ASSERT_US(tsim_collective_latency_s(c, TSIM_ALL_REDUCE, &ONE_NODE, TSIM_NVLS, TSIM_SIMPLE), 25.0);
    c = cluster(16);
    ASSERT_US(tsim_collective_latency_s(c, TSIM_ALL_REDUCE, &SIXTEEN_NODES, TSIM_RING, TSIM_SIMPLE), 1190.0);
    ASSERT_US(tsim_collective_latency_s(c, TSIM_ALL_REDUCE, &SIXTEEN_NODES, TSIM_TREE, TSIM_LL), 55.2);
}
END_TEST

/* 2 (n-1)/n S / B + 2 (n-1) alpha, exactly: with n = 8, S = 8 GB, B = 100 GB/s, alpha 1 us: 140 ms + 14 us. */
START_TEST(closed_forms) {
    ck_assert_double_eq_tol(tsim_ring_all_reduce_s(8, 8e9, 100e9, 1e-6), 0.140014, 1e-15);
    ck_assert_double_eq_tol(tsim_ring_all_gather_s(8, 8e9, 100e9, 1e-6), 0.070007, 1e-15);
}
END_TEST

/* Without latency (network: ideal) the model is the closed form with alpha 0, on NVLink and on one rail of NICs. */
START_TEST(ideal_is_the_closed_form) {
    const struct tsim_cluster *c = cluster(16);
    struct tsim_collective_cost cost;
    struct tsim_collective_request r = {
        .op = TSIM_ALL_REDUCE, .bytes = 8e9, .group = ONE_NODE, .network = TSIM_NETWORK_IDEAL};
    tsim_collective_cost(c, &r, &cost);
    ck_assert_double_eq_tol(cost.time_s, tsim_ring_all_reduce_s(8, 8e9, 100e9, 0), 1e-12);
    ck_assert_double_eq_tol(cost.scale_up_bytes, 2 * 7.0 / 8 * 8e9, 1);
    ck_assert_double_eq(cost.nic_bytes, 0);
    r.group = RAIL;
    tsim_collective_cost(c, &r, &cost);
    ck_assert_double_eq_tol(cost.time_s, tsim_ring_all_reduce_s(16, 8e9, 10e9, 0), 1e-12);
    ck_assert_double_eq_tol(cost.nic_bytes, 2 * 15.0 / 16 * 8e9, 1);
    ck_assert_double_eq(cost.scale_up_bytes, 0);
    /* All 128 ranks: eight NICs carry the ring together, 80 GB/s, each an eighth of the bytes. */
    r.group = SIXTEEN_NODES;
    tsim_collective_cost(c, &r, &cost);
    ck_assert_double_eq_tol(cost.time_s, tsim_ring_all_reduce_s(128, 8e9, 80e9, 0), 1e-12);
    ck_assert_double_eq_tol(cost.nic_bytes * 8, 2 * 127.0 / 128 * 8e9, 1);
}
END_TEST

/* Small messages take the protocol of low latency, large ones that of full bandwidth; nothing beats the wire. */
START_TEST(choice_by_size) {
    const struct tsim_cluster *c = cluster(16);
    struct tsim_collective_cost cost;
    struct tsim_collective_request r = {.op = TSIM_ALL_REDUCE, .bytes = 1024, .group = SIXTEEN_NODES};
    tsim_collective_cost(c, &r, &cost);
    ck_assert_int_eq(cost.algorithm, TSIM_TREE);
    ck_assert_int_eq(cost.protocol, TSIM_LL);
    r.bytes = 64e9;
    tsim_collective_cost(c, &r, &cost);
    ck_assert_int_eq(cost.algorithm, TSIM_RING);
    ck_assert_int_eq(cost.protocol, TSIM_SIMPLE);
    double last_s = 0;
    for (r.bytes = 1; r.bytes < 1e11; r.bytes *= 2) {
        tsim_collective_cost(c, &r, &cost);
        ck_assert(cost.time_s >= last_s);
        ck_assert(cost.time_s >= r.bytes * 2 * 127 / 128 / 80e9);
        last_s = cost.time_s;
    }
}
END_TEST

START_TEST(nothing_costs_nothing) {
    const struct tsim_cluster *c = cluster(1);
    struct tsim_collective_cost cost;
    struct tsim_collective_request r = {.op = TSIM_ALL_REDUCE, .bytes = 1e9, .group = {1, 1, 1, 1}};
    tsim_collective_cost(c, &r, &cost);
    ck_assert_double_eq(cost.time_s, 0);
    r.group = ONE_NODE;
    r.bytes = 0;
    tsim_collective_cost(c, &r, &cost);
    ck_assert_double_eq(cost.time_s, 0);
}
END_TEST

/* The rate that a cost implies never exceeds a link: bytes / (time - latency) <= capacity. */
START_TEST(links_are_never_overrun) {
    const struct tsim_cluster *c = cluster(16);
    const struct tsim_group groups[] = {ONE_NODE, SIXTEEN_NODES, RAIL, {2, 1, 2, 2}, {4, 2, 2, 2}, {2, 2, 1, 1}};
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
        for (int op = TSIM_ALL_REDUCE; op <= TSIM_SEND_RECV; op++)
            for (double bytes = 1e3; bytes < 1e11; bytes *= 10) {
                struct tsim_collective_request r = {
                    .op = (enum tsim_collective_op)op, .bytes = bytes, .group = groups[g]};
                struct tsim_collective_cost cost;
                tsim_collective_cost(c, &r, &cost);
                double flow_s = (cost.time_s - cost.latency_s) * (1 + 1e-9);
                ck_assert_double_le(cost.scale_up_bytes, 100e9 * flow_s);
                ck_assert_double_le(cost.nic_bytes, 10e9 * flow_s);
            }
}
END_TEST

static Suite *collective_suite(void) {
    Suite *suite = suite_create("collective");
    TCase *tcase = tcase_create("analytic");
    tcase_add_test(tcase, latencies);
    tcase_add_test(tcase, closed_forms);
    tcase_add_test(tcase, ideal_is_the_closed_form);
    tcase_add_test(tcase, choice_by_size);
    tcase_add_test(tcase, nothing_costs_nothing);
    tcase_add_test(tcase, links_are_never_overrun);
    suite_add_tcase(suite, tcase);
    return suite;
}

TSIM_TEST_MAIN(collective_suite)
