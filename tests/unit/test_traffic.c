#include "network/traffic.h"
#include "support/arena_rig.h"
#include "support/example.h"

#include <math.h>
#include <string.h>

#define MIB 1048576.0
#define US 1e-6

static struct example example;

static void set_up_example(void) {
    set_up();
    example_init(&example);
}

static const struct tsim_topology *build(int64_t nodes) {
    example.scenario.cluster.nodes = nodes;
    example_finish(&example);
    return tsim_topology_build(&arena, &example.scenario, tsim_cluster_build(&arena, &example.scenario));
}

/* Returns the first ranks of each node. */
static const int32_t *ranks_of(int32_t nodes, int32_t per_node) {
    static int32_t ranks[4096];
    for (int32_t i = 0; i < nodes * per_node; i++)
        ranks[i] = i / per_node * 8 + i % per_node;
    return ranks;
}

static double time_of(const struct tsim_topology *topology, int32_t nodes, int32_t per_node,
                      struct tsim_collective_request request, enum tsim_network network, int64_t *n_messages) {
    struct tsim_collective_cost cost;
    request.network = network;
    ck_assert_int_eq(tsim_collective_alone(topology, ranks_of(nodes, per_node), nodes * per_node, &request, &cost,
                                           n_messages, &diags),
                     TSIM_OK);
    return cost.time_s;
}

/* The time that the cost model says, which test_collective.c checks against closed forms and measurements. */
static double cost_of(const struct tsim_topology *topology, int32_t nodes, int32_t per_node,
                      struct tsim_collective_request request) {
    struct tsim_collective_cost cost;
    request.group = tsim_group_of_ranks(topology, ranks_of(nodes, per_node), nodes * per_node);
    tsim_collective_cost(topology->cluster, &request, &cost);
    return cost.time_s;
}

/* Every operation and algorithm, small and large, on and between nodes: nothing shares a link, so that both fidelities
 * give the cost. A message rounds its latency and its flow to ticks of 1 ps, so n messages in a row may be n ticks off.
 */
TSIM_TEST_LOOP(without_contention_all_agree, 0, 2) {
    static const struct {
        enum tsim_collective_op op;
        enum tsim_algorithm algorithm;
    } CASES[] = {{TSIM_ALL_REDUCE, TSIM_ALGORITHM_RING},       {TSIM_ALL_REDUCE, TSIM_ALGORITHM_TREE},
                 {TSIM_ALL_REDUCE, TSIM_ALGORITHM_NVLS},       {TSIM_ALL_REDUCE, TSIM_ALGORITHM_NVLS_TREE},
                 {TSIM_ALL_REDUCE, TSIM_ALGORITHM_NVLS_SHARP}, {TSIM_ALL_REDUCE, TSIM_ALGORITHM_HIERARCHICAL},
                 {TSIM_ALL_GATHER, TSIM_ALGORITHM_RING},       {TSIM_REDUCE_SCATTER, TSIM_ALGORITHM_RING},
                 {TSIM_BROADCAST, TSIM_ALGORITHM_RING},        {TSIM_ALL_TO_ALL, TSIM_ALGORITHM_PAIRWISE},
                 {TSIM_SEND_RECV, TSIM_ALGORITHM_DIRECT}};
    static const int32_t SHAPES[][2] = {{1, 2}, {1, 8}, {2, 1}, {2, 8}, {3, 8}, {5, 4}, {16, 1}, {16, 8}};
    static const double SIZES[] = {1, 4096, MIB, 1000 * MIB};
    example_be_dgx_h100(&example);
    example.fabric.reduces = true;
    if (_i == 1) { /* the scatter and gather of the hierarchical one use all links of a mesh at once */
        example.node.scale_up = TSIM_SCALE_UP_MESH;
        example.node.scale_up_reduce_bytes_per_s = 0;
    }
    const struct tsim_topology *topology = build(16);
    for (size_t c = 0; c < sizeof CASES / sizeof CASES[0]; c++)
        for (size_t s = 0; s < sizeof SHAPES / sizeof SHAPES[0]; s++)
            for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
                int32_t nodes = SHAPES[s][0], per_node = SHAPES[s][1];
                struct tsim_collective_request request = {
                    .op = CASES[c].op, .algorithm = CASES[c].algorithm, .bytes = SIZES[i]};
                struct tsim_group group = tsim_group_of_ranks(topology, ranks_of(nodes, per_node), nodes * per_node);
                if (_i == 1 && request.algorithm != TSIM_ALGORITHM_HIERARCHICAL)
                    continue;
                if (!tsim_collective_can(topology->cluster, request.op, &group, request.algorithm))
                    continue;
                int64_t n_messages;
                double cost = cost_of(topology, nodes, per_node, request);
                double fluid = time_of(topology, nodes, per_node, request, TSIM_NETWORK_FLUID, NULL);
                double steps = time_of(topology, nodes, per_node, request, TSIM_NETWORK_STEPS, &n_messages);
                double rounding = 1e-12 * (4 * nodes * per_node + 4);
                if (fabs(fluid - cost) > rounding + 1e-9 * cost || fabs(steps - cost) > rounding + 1e-9 * cost)
                    ck_abort_msg("%s %s over %d x %d, %g bytes: cost %.9g us, fluid %.9g us, steps %.9g us",
                                 tsim_collective_op_name(request.op), tsim_algorithm_name(request.algorithm), nodes,
                                 per_node, request.bytes, cost / US, fluid / US, steps / US);
                ck_assert_int_gt(n_messages, 0);
            }
}

/* A box of 4 x 4 x 4 that closes in every dimension, links of 10 GB/s, 1 us a hop, S = 960 MB. Six parts of 160 MB go
 * around rings of 4: 3/4 x 160 MB at 10 GB/s are 12 ms, then a quarter of that, then a sixteenth: 15.75 ms to scatter,
 * as much to gather, and 9 hops each way. = 2 x 63/64 x 960 MB over six links. */
TSIM_TEST(all_links_of_a_torus) {
    static const int64_t shape[3] = {4, 4, 4};
    memcpy(example.scenario.cluster.torus_shape, shape, sizeof shape);
    example.fabric.topology = TSIM_TOPOLOGY_TORUS;
    example.fabric.torus_dimensions = 3;
    example.fabric.torus_wrap = 4;
    example.fabric.latency_s = 1 * US;
    example.node.accelerators = example.scenario.cluster.accelerators_per_node = 4;
    const struct tsim_topology *topology = build(16);
    struct tsim_collective_request request = {.op = TSIM_ALL_REDUCE, .bytes = 960e6};
    int64_t n_messages;
    struct tsim_collective_cost cost;
    int32_t ranks[64];
    for (int32_t i = 0; i < 64; i++)
        ranks[i] = i;
    for (int network = TSIM_NETWORK_FLUID; network <= TSIM_NETWORK_STEPS; network++) {
        request.network = (enum tsim_network)network;
        tsim_collective_alone(topology, ranks, 64, &request, &cost, &n_messages, &diags);
        ck_assert_double_eq_tol(cost.time_s, 2 * 15.75e-3 + 18 * US, 1e-9);
        ck_assert_double_eq_tol(cost.bus_bandwidth_bytes_per_s, 60e9, 0.1e9);
        ck_assert_int_eq(cost.algorithm, TSIM_ALGORITHM_TORUS);
    }
    ck_assert_int_eq(n_messages, 64 * 6 * 18);
    /* One dimension of it, 16 apart: a ring of 4 with two directions, while 15 other groups do the same. */
    for (int32_t i = 0; i < 4; i++)
        ranks[i] = 5 + 16 * i;
    tsim_collective_alone(topology, ranks, 4, &request, &cost, &n_messages, &diags);
    ck_assert_double_eq_tol(cost.time_s, 2 * 0.75 * 960e6 / 20e9 + 6 * US, 1e-9);
    /* Two neighbours of a ring of 4: what goes forth on one link comes back on the other, so both rings use both. */
    ranks[0] = 0;
    ranks[1] = 1;
    tsim_collective_alone(topology, ranks, 2, &request, &cost, &n_messages, &diags);
    ck_assert_double_eq_tol(cost.time_s, 960e6 / 10e9 + 2 * US, 1e-9);
}

/* 8 x 8 in tiles of 2 x 2. A tile's ranks gather over lines of two: 2 x 480 MB / 2 of a part go over a link, then half of
 * that: what the closed form says. All ranks gather along whole dimensions, tile after tile. */
TSIM_TEST(tiles_of_a_torus) {
    static const int64_t shape[3] = {8, 8, 1}, tile[3] = {2, 2, 1};
    memcpy(example.scenario.cluster.torus_shape, shape, sizeof shape);
    memcpy(example.scenario.cluster.torus_tile, tile, sizeof tile);
    example.fabric.topology = TSIM_TOPOLOGY_TORUS;
    example.fabric.torus_dimensions = 2;
    example.fabric.torus_wrap = 8;
    example.fabric.latency_s = 1 * US;
    example.node.accelerators = example.scenario.cluster.accelerators_per_node = 4;
    const struct tsim_topology *topology = build(16);
    struct tsim_collective_request request = {.op = TSIM_ALL_GATHER, .bytes = 960e6};
    int64_t n_messages;
    struct tsim_collective_cost cost;
    int32_t ranks[64];
    for (int32_t i = 0; i < 64; i++)
        ranks[i] = i;
    for (int network = TSIM_NETWORK_FLUID; network <= TSIM_NETWORK_STEPS; network++) {
        request.network = (enum tsim_network)network;
        tsim_collective_alone(topology, ranks, 64, &request, &cost, &n_messages, &diags);
        ck_assert_double_eq_tol(cost.time_s, 63.0 / 64 * 960e6 / 40e9 + 14 * US, 1e-9);
        tsim_collective_alone(topology, ranks, 4, &request, &cost, &n_messages, &diags);
        ck_assert_double_eq_tol(cost.time_s, 0.75 * 960e6 / 20e9 + 2 * US, 1e-9);
    }
}

/* 3 x 4 x 2 that do not close: the parts have dimensions of other sizes at other times. Each sends at the rate with which
 * it is done when the longest is, and none begins the next dimension before: so none is in another's way, and message by
 * message the collective takes what the closed form says. (Parts that went on when they are ready would meet others in
 * the dimension that comes next: it would take 16 % longer, though no link carries more.) */
TSIM_TEST(an_uneven_box_of_a_torus) {
    static const int64_t shape[3] = {3, 4, 2};
    memcpy(example.scenario.cluster.torus_shape, shape, sizeof shape);
    example.fabric.topology = TSIM_TOPOLOGY_TORUS;
    example.fabric.torus_dimensions = 3;
    example.node.accelerators = example.scenario.cluster.accelerators_per_node = 4;
    const struct tsim_topology *topology = build(6);
    struct tsim_collective_request request = {.op = TSIM_ALL_REDUCE, .bytes = 960e6};
    double cost = cost_of(topology, 3, 8, request);
    double fluid = time_of(topology, 3, 8, request, TSIM_NETWORK_FLUID, NULL);
    double steps = time_of(topology, 3, 8, request, TSIM_NETWORK_STEPS, NULL);
    ck_assert_double_eq_tol(steps / cost, 1, 1e-6);
    ck_assert_double_eq_tol(fluid, cost, 1e-9);
}

/* ---- contention: two collectives at the same time ---- */

struct job {
    enum tsim_collective_op op;
    double bytes;
    int32_t n_ranks, ranks[64];
    tsim_tick begin;
    double end_s;
};

/* Runs all of them on one engine. */
static void run_jobs(const struct tsim_topology *topology, bool is_fluid, struct job *jobs, int32_t n) {
    struct tsim_engine_options engine_options = {.tick_s = 1e-12};
    struct tsim_engine *engine = tsim_engine_create(&engine_options);
    struct tsim_pattern patterns[40];
    struct tsim_traffic *traffic[40];
    struct tsim_links links;
    tsim_links_add(&links, engine, topology);
    for (int32_t i = 0; i < n; i++) {
        struct tsim_collective_request request = {.op = jobs[i].op, .bytes = jobs[i].bytes};
        struct tsim_traffic_options options = {.is_fluid = is_fluid, .latency = jobs[i].begin};
        request.algorithm = jobs[i].op == TSIM_ALL_REDUCE ? TSIM_ALGORITHM_RING : TSIM_ALGORITHM_AUTO;
        request.protocol = TSIM_PROTOCOL_SIMPLE;
        tsim_pattern_build(&patterns[i], topology, jobs[i].ranks, jobs[i].n_ranks, &request);
        traffic[i] = tsim_traffic_add(&arena, &links, &patterns[i], &options);
    }
    ck_assert_int_eq(tsim_engine_run(engine, &diags), TSIM_OK);
    for (int32_t i = 0; i < n; i++) {
        jobs[i].end_s = tsim_engine_seconds(engine, tsim_traffic_end(traffic[i]));
        tsim_pattern_release(&patterns[i]);
    }
    tsim_engine_release(engine);
}

/* Expects in both fidelities that job i ends at expected[i], within 5 %. */
static void expect_ends(const struct tsim_topology *topology, struct job *jobs, int32_t n, const double *expected_s,
                        const char *name) {
    for (int is_fluid = 0; is_fluid < 2; is_fluid++) {
        run_jobs(topology, is_fluid, jobs, n);
        for (int32_t i = 0; i < n; i++)
            if (fabs(jobs[i].end_s / expected_s[i] - 1) > 0.05)
                ck_abort_msg("%s, %s: job %d ends at %.6g ms instead of %.6g ms", name, is_fluid ? "fluid" : "steps", i,
                             jobs[i].end_s * 1e3, expected_s[i] * 1e3);
    }
}

static struct job job_of(enum tsim_collective_op op, double bytes, int32_t n_ranks, int32_t stride, int32_t first) {
    struct job job = {.op = op, .bytes = bytes, .n_ranks = n_ranks};
    for (int32_t i = 0; i < n_ranks; i++)
        job.ranks[i] = first + i * stride;
    return job;
}

/* NICs of 10 GB/s. Two rings of the same four ranks, of 1 and 2 GB: 1.5 and 3 GB over each NIC, 0.15 and 0.3 s alone.
 * They share evenly until the small one is through after 2 x 0.15 s; by then the large one has sent 1.5 GB too, and the
 * rest takes 0.15 s alone: 0.3 and 0.45 s. (NCCL's latencies are microseconds here.) */
TSIM_TEST(two_rings_on_one_rail) {
    const struct tsim_topology *topology = build(4);
    struct job jobs[] = {job_of(TSIM_ALL_REDUCE, 1e9, 4, 8, 0), job_of(TSIM_ALL_REDUCE, 2e9, 4, 8, 0)};
    const double expected_s[] = {0.3, 0.45};
    expect_ends(topology, jobs, 2, expected_s, "two rings on one rail");
}

/* The ring of 1 GB, 0.15 s alone, meets a message of 0.5 GB from its rank 0 to its rank 1 (a send_recv of a pair also
 * sends one back). While the message lasts, 2 x 0.05 s, the ring has half of two of its links; and as each of its
 * messages waits for the one before, all of it goes at half speed. After 0.1 s it has done a third: 0.1 + 2/3 x 0.15 =
 * 0.2 s. */
TSIM_TEST(a_ring_meets_a_message) {
    const struct tsim_topology *topology = build(4);
    struct job jobs[] = {job_of(TSIM_ALL_REDUCE, 1e9, 4, 8, 0), job_of(TSIM_SEND_RECV, 0.5e9, 2, 8, 0)};
    const double expected_s[] = {0.2, 0.1};
    expect_ends(topology, jobs, 2, expected_s, "ring and message");
}

/* 32 ranks on 4 nodes, two pods of 16 ports each at 4:1: 16 x 10 / 4 = 40 GB/s up from each pod. An all-to-all of 0.32
 * GB a rank sends 10 MB to each: 16 x 16 of these cross each way, 2.56 GB: 64 ms. The NICs carry 24 x 10 MB, 24 ms:
 * the uplinks bind. Steps pays a little for rounds in which most stay within the pod: the uplinks idle at their ends.
 */
TSIM_TEST(an_oversubscribed_all_to_all) {
    static struct tsim_tier tiers[] = {{.ports = 16, .oversubscription = 4}};
    example.fabric.topology = TSIM_TOPOLOGY_FAT_TREE;
    example.fabric.routing = TSIM_ROUTING_ADAPTIVE;
    example.fabric.tiers = tiers;
    example.fabric.n_tiers = 1;
    const struct tsim_topology *topology = build(4);
    struct job jobs[] = {job_of(TSIM_ALL_TO_ALL, 0.32e9, 32, 1, 0)};
    const double expected_s[] = {0.064};
    expect_ends(topology, jobs, 1, expected_s, "oversubscribed all-to-all");
}

/* Seven senders, 100 MB each, into rank 0 of node 0, each with its own NIC: 0.7 GB over one NIC take 70 ms, and all end
 * together. (The messages back share rank 0's way out in the same manner.) */
TSIM_TEST(incast) {
    const struct tsim_topology *topology = build(8);
    struct job jobs[7];
    double expected_s[7];
    for (int32_t i = 0; i < 7; i++) {
        jobs[i] = job_of(TSIM_SEND_RECV, 0.1e9, 2, 8 * (i + 1), 0);
        expected_s[i] = 0.07;
    }
    expect_ends(topology, jobs, 7, expected_s, "incast");
}

/* A ring of 1 GB over four nodes of which one has a NIC at 40 %: 0.15 s / 0.4. Both wait for the slow link. */
TSIM_TEST(a_slow_nic) {
    static const struct tsim_degraded degraded = {.link = TSIM_DEGRADED_NIC, .node = 2, .index = 0, .rate_frac = 0.4};
    example.scenario.cluster.degraded = &degraded;
    example.scenario.cluster.n_degraded = 1;
    const struct tsim_topology *topology = build(4);
    struct job jobs[] = {job_of(TSIM_ALL_REDUCE, 1e9, 4, 8, 0)};
    const double expected_s[] = {0.375};
    expect_ends(topology, jobs, 1, expected_s, "slow NIC");
}

/* A ring that holds 0.8 of something of which each rank has 0.4 flows half as fast; of which it has 1, as if it were
 * alone. */
TSIM_TEST_LOOP(what_messages_hold, 0, 2) {
    static const double HAS[] = {0.4, 1}, SLOWER[] = {2, 1};
    const struct tsim_engine_options engine_options = {.tick_s = 1e-12};
    const struct tsim_topology *topology = build(1);
    const struct tsim_collective_request request = {
        .op = TSIM_ALL_REDUCE, .bytes = 1e9, .algorithm = TSIM_ALGORITHM_RING, .protocol = TSIM_PROTOCOL_SIMPLE};
    struct tsim_engine *engine = tsim_engine_create(&engine_options);
    struct tsim_pattern pattern;
    struct tsim_links links;
    int32_t held[4];
    tsim_links_add(&links, engine, topology);
    for (int i = 0; i < 4; i++)
        held[i] = tsim_engine_add_resource(engine, HAS[_i]);
    tsim_pattern_build(&pattern, topology, ranks_of(1, 4), 4, &request);
    const struct tsim_traffic_options options = {.held = {{held, 0.8}}};
    const struct tsim_traffic *traffic = tsim_traffic_add(&arena, &links, &pattern, &options);
    ck_assert_int_eq(tsim_engine_run(engine, &diags), TSIM_OK);
    double flow_s = pattern.cost.time_s - pattern.cost.latency_s;
    ck_assert_double_eq_tol(tsim_engine_seconds(engine, tsim_traffic_end(traffic)),
                            pattern.cost.latency_s + SLOWER[_i] * flow_s, 1e-9);
    tsim_pattern_release(&pattern);
    tsim_engine_release(engine);
}

struct waiter {
    struct tsim_engine *engine;
    int32_t signal, n_tasks;
    double end_s;
};

static bool wait_for_signal(void *context, int32_t stream, struct tsim_task *task) {
    struct waiter *waiter = context;
    (void)stream;
    waiter->end_s = tsim_engine_seconds(waiter->engine, tsim_engine_now(waiter->engine));
    if (waiter->n_tasks++ > 0)
        return false;
    task->waits[task->n_waits++] = waiter->signal;
    task->latency = 1;
    return true;
}

/* An all-gather of 1 GB over four nodes, rank 2's NIC at 40 %: its three messages of 250 MB take 62.5 ms each. Rank 3,
 * which they go to, has sent its own last one after 150 ms, and has everything after 187.5. */
TSIM_TEST(a_rank_is_done_when_all_has_come) {
    static const struct tsim_degraded degraded = {.link = TSIM_DEGRADED_NIC, .node = 2, .index = 0, .rate_frac = 0.4};
    const struct tsim_engine_options engine_options = {.tick_s = 1e-12};
    const struct tsim_collective_request request = {
        .op = TSIM_ALL_GATHER, .bytes = 1e9, .algorithm = TSIM_ALGORITHM_RING, .protocol = TSIM_PROTOCOL_SIMPLE};
    struct tsim_pattern pattern;
    struct tsim_links links;
    int32_t done[4], n_lanes[4] = {0};
    example.scenario.cluster.degraded = &degraded;
    example.scenario.cluster.n_degraded = 1;
    const struct tsim_topology *topology = build(4);
    struct waiter waiter = {.engine = tsim_engine_create(&engine_options)};
    tsim_links_add(&links, waiter.engine, topology);
    tsim_pattern_build(&pattern, topology, ranks_of(4, 1), 4, &request);
    tsim_pattern_count_lanes(&pattern, n_lanes);
    for (int i = 0; i < 4; i++)
        done[i] = tsim_engine_add_signals(waiter.engine, 1, n_lanes[i]);
    waiter.signal = done[3];
    const struct tsim_traffic_options options = {.done = done};
    tsim_traffic_add(&arena, &links, &pattern, &options);
    tsim_engine_add_stream(waiter.engine, wait_for_signal, &waiter);
    ck_assert_int_eq(tsim_engine_run(waiter.engine, &diags), TSIM_OK);
    ck_assert_double_eq_tol(waiter.end_s, 187.5e-3, 1e-3);
    tsim_pattern_release(&pattern);
    tsim_engine_release(waiter.engine);
}

/* ---- what is missing is named ---- */

static const struct tsim_traffic *described;

static void describe(void *context, int32_t stream, int64_t label, char *text, size_t size) {
    (void)context;
    tsim_traffic_describe(described, stream, label, text, size);
}

/* A ring of four on one node that runs three times, of which rank 2 begins n_uses times; the ranks wait for two signals
 * each in turn, as traffic.h says. */
struct ring {
    struct tsim_engine *engine;
    struct tsim_pattern pattern;
    const struct tsim_traffic *traffic;
    int32_t go[4];
};

static void start_ring(struct ring *ring, int32_t n_uses) {
    const struct tsim_engine_options engine_options = {.tick_s = 1e-12, .describe = describe};
    const struct tsim_topology *topology = build(1);
    const struct tsim_collective_request request = {
        .op = TSIM_ALL_GATHER, .bytes = 1e6, .algorithm = TSIM_ALGORITHM_RING, .protocol = TSIM_PROTOCOL_SIMPLE};
    struct tsim_links links;
    ring->engine = tsim_engine_create(&engine_options);
    tsim_links_add(&links, ring->engine, topology);
    for (int i = 0; i < 4; i++)
        ring->go[i] = tsim_engine_add_signals(ring->engine, 2, 1);
    tsim_engine_add_signals(ring->engine, 2, 1); /* somebody else's, which do not fire */
    for (int use = 0; use < 2; use++)
        for (int i = 0; i < 4; i++)
            if (i != 2 || use < n_uses)
                tsim_engine_rearm(ring->engine, ring->go[i] + use, 0);
    tsim_pattern_build(&ring->pattern, topology, ranks_of(1, 4), 4, &request);
    const struct tsim_traffic_options options = {.go = ring->go, .n_uses = 3};
    described = ring->traffic = tsim_traffic_add(&arena, &links, &ring->pattern, &options);
}

static void end_ring(struct ring *ring) {
    tsim_pattern_release(&ring->pattern);
    tsim_engine_release(ring->engine);
}

/* Rank 1's message waits for rank 2, which has no buffer for it, and rank 3, after its first, for rank 2's. Messages
 * that have come are counted from the first use on. */
TSIM_TEST_LOOP(a_rank_that_never_comes, 0, 2) {
    static const char *const WAITS[2][4] = {
        {"stream 0 (rank 0: message 3 of 3 to rank 1) waits for counter 0 (messages from rank 3 to rank 0) to reach 2",
         "stream 1 (rank 1: message 1 of 3 to rank 2) waits for signal 4",
         "stream 2 (rank 2: message 1 of 3 to rank 3) waits for signal 4",
         "stream 3 (rank 3: message 2 of 3 to rank 0) waits for counter 3 (messages from rank 2 to rank 3) to reach 1"},
        {"stream 0 (rank 0: message 3 of 3 to rank 1) waits for counter 0 (messages from rank 3 to rank 0) to reach 5",
         "stream 1 (rank 1: message 1 of 3 to rank 2) waits for signal 5",
         "stream 2 (rank 2: message 1 of 3 to rank 3) waits for signal 5",
         "stream 3 (rank 3: message 2 of 3 to rank 0) waits for counter 3 (messages from rank 2 to rank 3) to reach "
         "4"}};
    struct ring ring;
    start_ring(&ring, _i);
    ck_assert_int_eq(tsim_engine_run(ring.engine, &diags), TSIM_ERR_INFEASIBLE);
    for (size_t i = 0; i < 4; i++) {
        bool is_there = false;
        for (size_t k = 0; k < diags.n_items; k++)
            is_there |= strncmp(diags.items[k].message, WAITS[_i][i], strlen(WAITS[_i][i])) == 0;
        ck_assert_msg(is_there, "not reported: %s (but %s)", WAITS[_i][i], diags.items[1].message);
    }
    end_ring(&ring);
}

/* Three uses take three times as long as one: 3/4 MB at 100 GB/s and the latency of the collective each. */
TSIM_TEST(uses_follow_each_other) {
    struct ring ring;
    start_ring(&ring, 2);
    ck_assert_int_eq(tsim_engine_run(ring.engine, &diags), TSIM_OK);
    ck_assert_double_eq_tol(tsim_engine_seconds(ring.engine, tsim_traffic_end(ring.traffic)),
                            3 * ring.pattern.cost.time_s, 1e-10);
    ck_assert_int_eq(tsim_traffic_n_messages(ring.traffic), 3 * 4 * 3);
    end_ring(&ring);
}

/* Two nodes of two: each rank has three phases, on its node, across, and on its node again; what it waits for is
 * counted by phase. */
TSIM_TEST(phases_have_names) {
    static const struct {
        int32_t stream;
        int64_t label;
        const char *text; /* NULL: none of its own */
    } CASES[] = {{-2, 3 * 1 + 0, "messages from rank 0 to rank 1"},
                 {-2, 3 * 3 + 1, "messages from rank 1 to rank 9"},
                 {-2, 3 * 2 + 2, "messages from rank 9 to rank 8"},
                 {-2, 3 * 4, NULL},
                 {-2, -1, NULL},
                 {3, 0, "rank 9: message 1 of 1 to rank 8"},
                 {3, (int64_t)1 << 32 | 1, "rank 9: message 2 of 2 to rank 1"},
                 {0, -1, "rank 0: the end of its hierarchical"},
                 {4, 0, NULL}};
    const struct tsim_engine_options engine_options = {.tick_s = 1e-12};
    const struct tsim_traffic_options options = {.is_fluid = false};
    const struct tsim_collective_request request = {
        .op = TSIM_ALL_REDUCE, .algorithm = TSIM_ALGORITHM_HIERARCHICAL, .bytes = 1e6};
    const struct tsim_topology *topology = build(2);
    struct tsim_engine *engine = tsim_engine_create(&engine_options);
    struct tsim_pattern pattern;
    struct tsim_links links;
    tsim_links_add(&links, engine, topology);
    tsim_pattern_build(&pattern, topology, ranks_of(2, 2), 4, &request);
    const struct tsim_traffic *traffic = tsim_traffic_add(&arena, &links, &pattern, &options);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char text[100] = "";
        ck_assert(tsim_traffic_describe(traffic, CASES[i].stream, CASES[i].label, text, sizeof text) ==
                  (CASES[i].text != NULL));
        ck_assert_str_eq(text, CASES[i].text ? CASES[i].text : "");
    }
    tsim_pattern_release(&pattern);
    tsim_engine_release(engine);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up_example, tear_down)
