/* Collectives on a torus against what can be counted on its links by hand. Links of 10 GB/s each way, hops of 1 us. */
#include "cost/torus.h"
#include "support/check_main.h"

#include <math.h>
#include <string.h>

#define GB 1e9
#define US 1e-6
#define LINK (10 * GB)

static struct tsim_cluster torus(int32_t x, int32_t y, int32_t z, bool wraps) {
    struct tsim_cluster cluster = {.pair_bytes_per_s = LINK, .fabric_latency_s = US};
    const int32_t shape[3] = {x, y, z};
    memcpy(cluster.torus_shape, shape, sizeof shape);
    for (int d = 0; d < 3; d++)
        cluster.torus_wraps[d] = wraps && shape[d] > 2;
    return cluster;
}

static struct tsim_collective_cost cost_of(struct tsim_cluster cluster, enum tsim_collective_op op, int32_t n,
                                           int32_t stride) {
    struct tsim_collective_request request = {
        .op = op, .bytes = GB, .group = {.n_ranks = n, .n_nodes = 1, .stride = stride}};
    struct tsim_collective_cost cost = {0};
    tsim_collective_cost(&cluster, &request, &cost);
    return cost;
}

static void assert_s(double actual_s, double expected_s) {
    ck_assert_double_eq_tol(actual_s, expected_s, 1e-12);
}

/* All links of a cube of rings carry their share: 63/64 S / (6 links x 10 GB/s), twice for an all-reduce, and 3 x 3
 * hops each way. */
TSIM_TEST(a_cube_uses_all_its_links) {
    struct tsim_cluster cube = torus(4, 4, 4, true);
    double share_s = 63.0 / 64 * GB / (6 * LINK);
    assert_s(cost_of(cube, TSIM_ALL_GATHER, 64, 1).time_s, share_s + 9 * US);
    assert_s(cost_of(cube, TSIM_REDUCE_SCATTER, 64, 1).time_s, share_s + 9 * US);
    struct tsim_collective_cost both = cost_of(cube, TSIM_ALL_REDUCE, 64, 1);
    assert_s(both.time_s, 2 * share_s + 18 * US);
    assert_s(both.latency_s, 18 * US);
    ck_assert_double_eq_tol(both.bus_bandwidth_bytes_per_s, 2 * 63.0 / 64 * GB / both.time_s, 1);
    ck_assert_int_eq(both.algorithm, TSIM_ALGORITHM_TORUS);
    ck_assert_int_eq(both.protocol, TSIM_PROTOCOL_SIMPLE);
}

/* Ranks 0..3 are one ring of four: 3/4 S over two directions, three hops. */
TSIM_TEST(a_row_is_a_ring) {
    assert_s(cost_of(torus(4, 4, 4, true), TSIM_ALL_GATHER, 4, 1).time_s, 0.75 * GB / (2 * LINK) + 3 * US);
}

/* Not closed, what goes from the end to the beginning crosses all links again: twice as long. Every second of a ring of
 * eight: two groups on each link, and a line if not all of them belong: 2 x 2 = 4 times. */
TSIM_TEST(lines_and_strides_take_longer) {
    double ring_s = 0.75 * GB / (2 * LINK);
    assert_s(cost_of(torus(4, 4, 4, false), TSIM_ALL_GATHER, 4, 1).time_s, 2 * ring_s + 3 * US);
    assert_s(cost_of(torus(8, 4, 4, true), TSIM_ALL_GATHER, 4, 1).time_s, 2 * ring_s + 3 * US); /* half a ring */
    assert_s(cost_of(torus(8, 4, 4, true), TSIM_ALL_GATHER, 4, 2).time_s, 2 * ring_s + 3 * US); /* all of it */
    assert_s(cost_of(torus(16, 4, 4, true), TSIM_ALL_GATHER, 4, 2).time_s, 4 * ring_s + 3 * US);
}

/* 4 x 2: two parts. The first phase of each takes (e-1)/e of half the bytes over its dimension: the ring of 4 takes 3/4
 * x S/4 / B, the line of 2 (slowness 2) 1/2 x S/4 x 2 / B, the longer counts: S/4/B. Second: the part that began with
 * the ring has S/16 left for the line: 1/2 x 2 x S/16; the other S/8 for the ring: 3/4 x S/8, the longer. */
TSIM_TEST(sides_that_differ_wait_for_the_longer) {
    double phases_s = (0.25 + 0.75 / 8) * GB / LINK;
    assert_s(cost_of(torus(4, 2, 1, true), TSIM_REDUCE_SCATTER, 8, 1).time_s, phases_s + 4 * US);
}

/* The longest dimension's busiest link takes S e / 8 B around a ring, and twice that in the middle of a line. */
TSIM_TEST(all_to_all_crosses_the_middle) {
    struct tsim_collective_cost ring = cost_of(torus(8, 4, 1, true), TSIM_ALL_TO_ALL, 32, 1);
    assert_s(ring.time_s, GB * 8 / 8 / LINK + 10 * US);
    assert_s(cost_of(torus(8, 4, 1, false), TSIM_ALL_TO_ALL, 32, 1).time_s, 2 * GB * 8 / 8 / LINK + 10 * US);
    ck_assert_int_eq(ring.algorithm, TSIM_ALGORITHM_PAIRWISE);
    ck_assert_double_eq_tol(ring.scale_up_bytes, 31.0 / 32 * GB, 1);
    ck_assert_double_eq_tol(ring.hbm_bytes, 2 * GB, 1);
}

TSIM_TEST(messages_and_broadcasts) {
    struct tsim_collective_cost send = cost_of(torus(4, 4, 1, true), TSIM_SEND_RECV, 2, 1);
    assert_s(send.time_s, GB / LINK + US);
    ck_assert_int_eq(send.algorithm, TSIM_ALGORITHM_DIRECT);
    struct tsim_collective_cost all = cost_of(torus(4, 4, 1, true), TSIM_BROADCAST, 16, 1);
    assert_s(all.time_s, GB / LINK + 15 * US);
    ck_assert_int_eq(all.algorithm, TSIM_ALGORITHM_RING);
    ck_assert_double_eq_tol(all.hbm_bytes, GB, 1);
    ck_assert_double_eq_tol(all.scale_up_bytes, GB, 1);
}

/* 5 of 4 x 4 are no box: a ring in rank order, whose ends lie apart. 6 are none either: a row and half a row. */
TSIM_TEST(what_is_no_box_is_a_chain) {
    struct tsim_cluster flat = torus(4, 4, 1, true);
    struct tsim_torus_box box;
    for (int32_t n = 5; n <= 6; n++) {
        struct tsim_group group = {.n_ranks = n, .n_nodes = 1, .stride = 1};
        ck_assert(!tsim_torus_box(&flat, &group, &box));
        assert_s(cost_of(flat, TSIM_ALL_GATHER, n, 1).time_s, 2 * (n - 1.0) / n * GB / (2 * LINK) + (n - 1) * US);
    }
    struct tsim_group too_many = {.n_ranks = 32, .n_nodes = 1, .stride = 1};
    ck_assert(!tsim_torus_box(&flat, &too_many, &box));
}

/* Ranks 0, 4, 8, 12 of 4 x 4 are a column; 0 and 2 of each row, then columns. */
TSIM_TEST(boxes_along_other_dimensions) {
    struct tsim_cluster flat = torus(4, 4, 1, true);
    struct tsim_torus_box box;
    struct tsim_group column = {.n_ranks = 4, .n_nodes = 1, .stride = 4}, sparse = {8, 1, 8, 8, 2};
    ck_assert(tsim_torus_box(&flat, &column, &box));
    ck_assert(box.extent[0] == 1 && box.extent[1] == 4 && box.step[1] == 1);
    ck_assert(tsim_torus_box(&flat, &sparse, &box));
    ck_assert(box.extent[0] == 2 && box.step[0] == 2 && box.extent[1] == 4 && box.step[1] == 1);
}

/* Ranks 0..3 of 8 x 4 in tiles of 2 x 2 are a square, every fourth rank is a corner of each, and all are the whole torus,
 * whose neighbours are accelerators beside each other. Half a tile of each column of tiles leaves gaps. */
TSIM_TEST(ranks_fill_tiles) {
    struct tsim_cluster flat = torus(8, 4, 1, true);
    flat.torus_tile[0] = flat.torus_tile[1] = 2;
    struct tsim_torus_box box;
    struct tsim_group square = {4, 1, 4, 4, 1}, corners = {8, 1, 8, 8, 4}, all = {32, 1, 32, 32, 1};
    ck_assert(tsim_torus_box(&flat, &square, &box));
    ck_assert(box.extent[0] == 2 && box.extent[1] == 2 && box.step[0] == 1 && box.step[1] == 1);
    ck_assert(tsim_torus_box(&flat, &corners, &box));
    ck_assert(box.extent[0] == 4 && box.extent[1] == 2 && box.step[0] == 2 && box.step[1] == 2);
    ck_assert(tsim_torus_box(&flat, &all, &box));
    ck_assert(box.extent[0] == 8 && box.extent[1] == 4 && box.step[0] == 1 && box.step[1] == 1);
    static const int32_t PLACES[] = {0, 1, 8, 9, 2, 3, 10, 11};
    for (int32_t i = 0; i < 8; i++)
        ck_assert_int_eq(tsim_torus_place(&flat, i), PLACES[i]);
    for (int32_t i = 0; i < 32; i++) {
        int32_t place = tsim_torus_place(&flat, i), row = place / 8 * 8;
        int32_t east = tsim_torus_neighbour(&box, i, 0, 1), north = tsim_torus_neighbour(&box, i, 1, -1);
        ck_assert_int_eq(tsim_torus_place(&flat, east), row + (place + 1) % 8);
        ck_assert_int_eq(tsim_torus_place(&flat, north), (place + 24) % 32);
    }
    /* Four of a square exchange over its four edges what four of a row exchange over the middle one. */
    double square_s = cost_of(flat, TSIM_ALL_TO_ALL, 4, 1).time_s - 2 * US;
    assert_s(2 * square_s, cost_of(torus(8, 4, 1, true), TSIM_ALL_TO_ALL, 4, 1).time_s - 3 * US);
    flat.torus_tile[0] = 4;
    struct tsim_group gaps = {8, 1, 8, 8, 2};
    ck_assert(!tsim_torus_box(&flat, &gaps, &box));
}

/* Bytes that cross links and memory: a gather stores and forwards, a reduction reads its own part as well. */
TSIM_TEST(bytes_moved) {
    struct tsim_cluster cube = torus(4, 4, 4, true);
    static const struct {
        enum tsim_collective_op op;
        double links, memory; /* of 63/64 S */
    } EACH[] = {{TSIM_ALL_REDUCE, 2, 5}, {TSIM_ALL_GATHER, 1, 2}, {TSIM_REDUCE_SCATTER, 1, 3}};
    for (size_t i = 0; i < sizeof EACH / sizeof EACH[0]; i++) {
        struct tsim_collective_cost cost = cost_of(cube, EACH[i].op, 64, 1);
        ck_assert_double_eq_tol(cost.scale_up_bytes, EACH[i].links * 63 / 64 * GB, 1);
        ck_assert_double_eq_tol(cost.hbm_bytes, EACH[i].memory * 63 / 64 * GB, 1);
    }
}

TSIM_TEST(ideal_links_have_no_latency) {
    struct tsim_cluster cube = torus(4, 4, 4, true);
    struct tsim_collective_request request = {.op = TSIM_ALL_GATHER,
                                              .bytes = GB,
                                              .group = {.n_ranks = 64, .n_nodes = 1, .stride = 1},
                                              .network = TSIM_NETWORK_IDEAL};
    struct tsim_collective_cost cost = {0};
    tsim_collective_cost(&cube, &request, &cost);
    assert_s(cost.time_s, 63.0 / 64 * GB / (6 * LINK));
    ck_assert_double_eq(cost.latency_s, 0);
}

/* A torus has one way for everything; what it is asked for otherwise is NCCL's. */
TSIM_TEST(no_other_algorithm_can) {
    const struct tsim_cluster cube = torus(4, 4, 4, true);
    const struct tsim_group group = {.n_ranks = 64, .n_nodes = 16, .max_ranks_per_node = 4, .min_ranks_per_node = 4};
    for (int algorithm = 0; algorithm < TSIM_N_ALGORITHMS; algorithm++)
        ck_assert_int_eq(tsim_collective_can(&cube, TSIM_ALL_REDUCE, &group, (enum tsim_algorithm)algorithm),
                         algorithm == TSIM_ALGORITHM_AUTO || algorithm == TSIM_ALGORITHM_TORUS);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
