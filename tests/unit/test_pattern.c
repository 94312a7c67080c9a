/* Tests a collective as messages: the bytes on every link, and whom all-to-alls reach. */
#include "network/pattern.h"
#include "support/arena_rig.h"
#include "support/example.h"

#include <string.h>

enum { PER_NODE = 8, MOST_RANKS = 64 };

static struct example example;
static struct tsim_pattern pattern;
static double link_bytes[1024];

static void set_up_example(void) {
    set_up();
    example_init(&example);
}

static void release(void) {
    tsim_pattern_release(&pattern);
    tear_down();
}

/* Makes the pattern of some ranks of a cluster, and finds what it puts on the links. */
static void make(int64_t nodes, const int32_t *ranks, int32_t n, struct tsim_collective_request request) {
    example.scenario.cluster.nodes = nodes;
    example_finish(&example);
    const struct tsim_topology *topology =
        tsim_topology_build(&arena, &example.scenario, tsim_cluster_build(&arena, &example.scenario));
    ck_assert_int_le(topology->n_links, sizeof link_bytes / sizeof link_bytes[0]);
    tsim_pattern_build(&pattern, topology, ranks, n, &request);
    memset(link_bytes, 0, sizeof link_bytes);
    tsim_pattern_link_bytes(&pattern, link_bytes);
}

/* Expects that each link of the kind carries that many bytes. */
static void expect_on_each(enum tsim_link_kind kind, int32_t n, double bytes) {
    const struct tsim_topology *topology = pattern.topology;
    ck_assert_int_eq(topology->count[kind], n);
    for (int32_t i = 0; i < n; i++)
        ck_assert_double_eq_tol(link_bytes[topology->first[kind] + i], bytes, 1e-6 * bytes + 1e-9);
}

static const int32_t *first_ranks(int32_t n) {
    static int32_t ranks[MOST_RANKS];
    for (int32_t i = 0; i < n; i++)
        ranks[i] = i;
    return ranks;
}

/* Around a ring each of n ranks sends 2 (n - 1) / n of the bytes; of n ranks on nodes of 8, an eighth of that leaves by
 * each NIC. */
TSIM_TEST(bytes_of_a_ring) {
    struct tsim_collective_request ring = {.op = TSIM_ALL_REDUCE, .algorithm = TSIM_ALGORITHM_RING, .bytes = 800e6};
    make(1, first_ranks(8), 8, ring);
    expect_on_each(TSIM_LINK_OUT, 8, 1400e6);
    expect_on_each(TSIM_LINK_IN, 8, 1400e6);
    tsim_pattern_release(&pattern);
    make(4, first_ranks(32), 32, ring);
    expect_on_each(TSIM_LINK_NIC_OUT, 32, 2 * 31 / 32.0 * 800e6 / 8);
    expect_on_each(TSIM_LINK_NIC_IN, 32, 2 * 31 / 32.0 * 800e6 / 8);
}

/* Over a chain of 8 ranks 7/8 of the bytes go up and as many come down, each rank at each link; through a switch that
 * reduces each sends all of it, and an eighth of the result. */
TSIM_TEST(bytes_of_a_tree_on_a_node) {
    struct tsim_collective_request tree = {.op = TSIM_ALL_REDUCE, .algorithm = TSIM_ALGORITHM_TREE, .bytes = 800e6};
    example_be_dgx_h100(&example);
    make(1, first_ranks(8), 8, tree);
    expect_on_each(TSIM_LINK_OUT, 8, 2 * 700e6);
    expect_on_each(TSIM_LINK_IN, 8, 2 * 700e6);
    tsim_pattern_release(&pattern);
    tree.algorithm = TSIM_ALGORITHM_NVLS;
    make(1, first_ranks(8), 8, tree);
    expect_on_each(TSIM_LINK_OUT, 8, 900e6);
    expect_on_each(TSIM_LINK_IN, 8, 900e6);
}

/* Two binary trees over nodes of one rank each have 3 edges of 4, each used both ways, and nothing else. */
TSIM_TEST(a_tree_across_nodes) {
    static const int32_t RANKS[] = {0, 8, 16, 24};
    make(4, RANKS, 4,
         (struct tsim_collective_request){.op = TSIM_ALL_REDUCE, .algorithm = TSIM_ALGORITHM_TREE, .bytes = 1e6});
    ck_assert_int_eq(pattern.n_lanes, 2 * 3 * 2);
    ck_assert_int_eq(pattern.n_phases, 1);
}

/* Nodes have three, five and four ranks. */
TSIM_TEST(fewest_and_most_on_a_node) {
    static const int32_t RANKS[] = {1, 2, 3, 8, 9, 10, 11, 12, 20, 21, 22, 23};
    make(3, first_ranks(1), 1, (struct tsim_collective_request){.op = TSIM_ALL_REDUCE, .bytes = 1});
    struct tsim_group group = tsim_group_of_ranks(pattern.topology, RANKS, 12);
    ck_assert_int_eq(group.n_nodes, 3);
    ck_assert_int_eq(group.min_ranks_per_node, 3);
    ck_assert_int_eq(group.max_ranks_per_node, 5);
}

TSIM_TEST(bytes_of_a_pair) {
    make(2, first_ranks(9), 9, (struct tsim_collective_request){.op = TSIM_SEND_RECV, .bytes = 10e6});
    for (int32_t i = 0; i < 8; i++) /* the last of the node sends to the next one, whose rank sends to the first */
        ck_assert_double_eq(link_bytes[pattern.topology->first[TSIM_LINK_OUT] + i], i < 7 ? 10e6 : 0);
    ck_assert_double_eq(link_bytes[pattern.topology->first[TSIM_LINK_NIC_OUT] + 7], 10e6);
    ck_assert_double_eq(link_bytes[pattern.topology->first[TSIM_LINK_NIC_OUT] + 8], 10e6);
}

/* Each rank of an all-to-all keeps its own share; 7 go over the node, 24 over the NIC. */
TSIM_TEST(bytes_of_an_all_to_all) {
    make(4, first_ranks(32), 32,
         (struct tsim_collective_request){.op = TSIM_ALL_TO_ALL, .algorithm = TSIM_ALGORITHM_PAIRWISE, .bytes = 320e6});
    expect_on_each(TSIM_LINK_OUT, 32, 7 * 10e6);
    expect_on_each(TSIM_LINK_NIC_OUT, 32, 24 * 10e6);
    expect_on_each(TSIM_LINK_NIC_IN, 32, 24 * 10e6);
}

/* Checks whom the messages of an all-to-all reach: each rank reaches every other once, by one lane on its node and
 * another beyond. */
static void expect_each_once(void) {
    for (int32_t i = 0; i < pattern.n_ranks; i++) {
        int n_times[MOST_RANKS] = {0};
        for (int32_t lane = 2 * i; lane < 2 * i + 2; lane++)
            for (int32_t k = 0; k < pattern.phases[lane].n_messages; k++) {
                struct tsim_route route;
                int32_t to = tsim_pattern_route(&pattern, lane, k, &route);
                bool is_near = to / PER_NODE == pattern.ranks[i] / PER_NODE;
                ck_assert_int_eq(is_near, lane % 2 == 0);
                n_times[to]++;
            }
        for (int32_t j = 0; j < pattern.n_ranks; j++)
            ck_assert_msg(n_times[pattern.ranks[j]] == (j != i), "rank %d sends %d times to rank %d", pattern.ranks[i],
                          n_times[pattern.ranks[j]], pattern.ranks[j]);
    }
}

TSIM_TEST(everyone_is_reached_once) {
    static const int32_t UNEVEN[] = {0, 1, 2, 3, 4, 9, 10, 17, 18, 19, 20, 21};
    const struct tsim_collective_request request = {
        .op = TSIM_ALL_TO_ALL, .algorithm = TSIM_ALGORITHM_PAIRWISE, .bytes = 1e6};
    make(3, UNEVEN, sizeof UNEVEN / sizeof UNEVEN[0], request);
    expect_each_once();
    tsim_pattern_release(&pattern);
    make(4, first_ranks(32), 32, request);
    expect_each_once();
}

/* If nodes hold equally many, message k of all is a permutation. */
TSIM_TEST(nobody_receives_two_at_a_time) {
    make(4, first_ranks(32), 32,
         (struct tsim_collective_request){.op = TSIM_ALL_TO_ALL, .algorithm = TSIM_ALGORITHM_PAIRWISE, .bytes = 1e6});
    for (int32_t far = 0; far < 2; far++)
        for (int32_t k = 0; k < pattern.phases[far].n_messages; k++) {
            bool is_taken[MOST_RANKS] = {false};
            for (int32_t i = 0; i < pattern.n_ranks; i++) {
                struct tsim_route route;
                int32_t to = tsim_pattern_route(&pattern, 2 * i + far, k, &route);
                ck_assert(!is_taken[to]);
                is_taken[to] = true;
            }
        }
}

/* With 32 ranks in two pods of 16 ports 16 x 16 messages of 10 MB cross each way, over uplinks of 16 x 10 / 4 = 40
 * GB/s: 64 ms, where the NICs would take 24. Without ranks to send to nothing takes time. */
TSIM_TEST(the_slowest_link_decides) {
    static struct tsim_tier tiers[] = {{.ports = 16, .oversubscription = 4}};
    const struct tsim_collective_request request = {
        .op = TSIM_ALL_TO_ALL, .algorithm = TSIM_ALGORITHM_PAIRWISE, .bytes = 320e6};
    example.fabric.topology = TSIM_TOPOLOGY_FAT_TREE;
    example.fabric.routing = TSIM_ROUTING_ADAPTIVE;
    example.fabric.tiers = tiers;
    example.fabric.n_tiers = 1;
    make(4, first_ranks(32), 32, request);
    ck_assert_double_eq_tol(tsim_pattern_fluid_s(&pattern) - pattern.cost.latency_s, 64e-3, 1e-9);
    tsim_pattern_release(&pattern);
    make(4, first_ranks(1), 1, request);
    ck_assert_double_eq(tsim_pattern_fluid_s(&pattern), 0);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up_example, release)
