#include "cluster/topology.h"

#include "engine/engine.h"
#include "support/check_main.h"
#include "support/example.h"

#include <string.h>

#define GB 1e9

static struct example example; /* nodes of 8: ports of 100 GB/s, NICs of 10 GB/s */
static struct tsim_arena arena;
static struct tsim_tier tiers[TSIM_MAX_TIERS];

static void setup(void) {
    tsim_arena_init(&arena);
    example_init(&example);
}

static void teardown(void) {
    tsim_arena_release(&arena);
}

static const struct tsim_topology *build(int64_t nodes) {
    example.scenario.cluster.nodes = nodes;
    example_finish(&example);
    return tsim_topology_build(&arena, &example.scenario, tsim_cluster_build(&arena, &example.scenario));
}

static void be_fat_tree(size_t n, enum tsim_routing routing) {
    example.fabric.topology = TSIM_TOPOLOGY_FAT_TREE;
    example.fabric.routing = routing;
    example.fabric.tiers = tiers;
    example.fabric.n_tiers = n;
}

static void be_torus(int64_t x, int64_t y, int64_t z, int64_t wrap) {
    const int64_t shape[3] = {x, y, z};
    memcpy(example.scenario.cluster.torus_shape, shape, sizeof shape);
    example.fabric.topology = TSIM_TOPOLOGY_TORUS;
    example.fabric.torus_dimensions = z > 1 ? 3 : 2;
    example.fabric.torus_wrap = wrap;
    example.scenario.cluster.accelerators_per_node = example.node.accelerators = 4;
}

/* Returns the names of a route's links, with " | " between them. */
static const char *route_text(const struct tsim_topology *topology, int32_t from, int32_t to) {
    static char text[2000];
    struct tsim_route route;
    tsim_topology_route(topology, from, to, &route);
    text[0] = '\0';
    for (int32_t i = 0; i < route.n; i++) {
        char name[100];
        tsim_topology_link_name(topology, route.links[i], name, sizeof name);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " | " : "", name);
    }
    return text;
}

/* ---- bisection: as many bytes/s as all ranks of one half together get when each sends to its partner in the other
 * ---- */

struct flow {
    const struct tsim_topology *topology;
    int32_t from, to;
    struct tsim_demand demands[TSIM_ROUTE_MAX];
    bool is_sent;
};

static bool next_flow(void *context, int32_t stream, struct tsim_task *task) {
    struct flow *flow = context;
    struct tsim_route route;
    (void)stream;
    if (flow->is_sent)
        return false;
    flow->is_sent = true;
    tsim_topology_route(flow->topology, flow->from, flow->to, &route);
    for (int32_t i = 0; i < route.n; i++)
        flow->demands[i] = (struct tsim_demand){route.links[i], 1};
    task->work = GB;
    task->more_demands = flow->demands;
    task->n_more_demands = route.n;
    return true;
}

/* Everyone with a partner in the other half sends 1 GB to it; partner_of says to whom, -1: nobody. Only one direction
 * is needed, the wires are alike. */
static double exchange_bytes_per_s(const struct tsim_topology *topology, int32_t (*partner_of)(int32_t, int32_t)) {
    struct tsim_engine_options options = {.tick_s = 1e-9};
    struct tsim_engine *engine = tsim_engine_create(&options);
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    for (int32_t i = 0; i < topology->n_links; i++)
        tsim_engine_add_resource(engine, topology->bytes_per_s[i] > 0 ? topology->bytes_per_s[i] : 1);
    struct flow *flows = TSIM_NEW_ARRAY(&arena, (size_t)topology->n_ranks, struct flow);
    int32_t n = 0;
    for (int32_t rank = 0; rank < topology->n_ranks; rank++) {
        int32_t partner = partner_of(rank, topology->n_ranks);
        if (partner < 0)
            continue;
        flows[n] = (struct flow){.topology = topology, .from = rank, .to = partner};
        tsim_engine_add_stream(engine, next_flow, &flows[n++]);
    }
    ck_assert_int_eq(tsim_engine_run(engine, &diags), TSIM_OK);
    double rate = n * GB / tsim_engine_seconds(engine, tsim_engine_now(engine));
    tsim_engine_release(engine);
    tsim_diags_release(&diags);
    return rate;
}

/* Returns the partner of a rank of the first half in the second half, place by place. */
static int32_t across(int32_t rank, int32_t n) {
    return rank < n / 2 ? rank + n / 2 : -1;
}

static void expect_bisection(const struct tsim_topology *topology, double bytes_per_s) {
    ck_assert_double_eq_tol(exchange_bytes_per_s(topology, across), bytes_per_s, 1e-6 * bytes_per_s);
}

/* There are four ports of 100 GB/s. */
TSIM_TEST(bisection_of_a_switch) {
    expect_bisection(build(1), 400 * GB);
}

/* Four pairs each have their own link of 1/7 of 100 GB/s. */
TSIM_TEST(bisection_of_a_mesh) {
    example.node.scale_up = TSIM_SCALE_UP_MESH;
    ck_assert_double_eq_tol(exchange_bytes_per_s(build(1), across), 4 * 100 * GB / 7, 1e-3 * GB);
}

/* Two PCIe switches of four have uplinks of 20 GB/s; then sockets of four have 15 GB/s between them. */
TSIM_TEST(bisection_of_pcie) {
    example.node.scale_up = TSIM_SCALE_UP_PCIE;
    example.node.accelerators_per_switch = 4;
    example.node.switch_uplink_bytes_per_s = 20 * GB;
    expect_bisection(build(1), 20 * GB);
    example.node.accelerators_per_switch = 2;
    example.node.accelerators_per_socket = 4;
    example.node.socket_link_bytes_per_s = 15 * GB;
    expect_bisection(build(1), 15 * GB);
    example.node.socket_link_bytes_per_s = 400 * GB; /* now two uplinks of 20 */
    expect_bisection(build(1), 40 * GB);
}

static int32_t other_quad(int32_t rank, int32_t n) {
    static const int32_t NEIGHBOUR[4] = {4, 5, 6, 7}; /* 0-4 and 1-5 are double, 2-6 and 3-7 single */
    (void)n;
    return rank < 4 ? NEIGHBOUR[rank] : -1;
}

/* At 25 GB/s a link, 2 + 2 + 1 + 1 = 6 links between the quads carry 150 GB/s. */
TSIM_TEST(bisection_of_the_cube_mesh) {
    example.node.scale_up = TSIM_SCALE_UP_CUBE_MESH;
    example.node.scale_up_bytes_per_s = example.node.scale_up_ring_bytes_per_s = 150 * GB;
    const struct tsim_topology *topology = build(1);
    double between = 0;
    for (int32_t a = 0; a < 4; a++)
        for (int32_t b = 4; b < 8; b++)
            between += 25 * GB * tsim_cube_mesh_links(a, b);
    ck_assert_double_eq_tol(between, 150 * GB, 1e-3);
    /* Single links hold the partners up: 4 x 25. */
    ck_assert_double_eq_tol(exchange_bytes_per_s(topology, other_quad), 100 * GB, 1e-3 * GB);
}

/* Expects that in each ring every member has one member behind it and all are in it, and that no link of two members is
 * in more rings than it is wide. */
static void check_rings(uint32_t members, int8_t next[TSIM_CUBE_RINGS][TSIM_CUBE], int32_t n_rings) {
    int32_t used[TSIM_CUBE][TSIM_CUBE] = {{0}};
    for (int32_t r = 0; r < n_rings; r++) {
        uint32_t seen = 0;
        int32_t first = 0;
        while (!(members >> first & 1))
            first++;
        for (int32_t at = first; !(seen >> at & 1); at = next[r][at]) {
            seen |= 1u << at;
            used[at][next[r][at]]++;
        }
        ck_assert_uint_eq(seen, members);
    }
    for (int32_t a = 0; a < TSIM_CUBE; a++)
        for (int32_t b = 0; b < TSIM_CUBE; b++)
            ck_assert(used[a][b] <= tsim_cube_mesh_links(a, b) || n_rings == 1);
}

/* By hand: 0-3-2-1 and 0-2-1-3 are the cycles of a quad, 0-2-6-4 is the only one of every second accelerator, and 0 and
 * 1 have one link where 0 and 3 have two. 3, 4 and 5 have none. */
TSIM_TEST(rings_in_parts_of_the_cube_mesh) {
    int8_t next[TSIM_CUBE_RINGS][TSIM_CUBE];
    ck_assert_int_eq(tsim_cube_mesh_rings(0xff, next), 6);
    ck_assert_int_eq(tsim_cube_mesh_rings(0x0f, next), 4);
    ck_assert_int_eq(tsim_cube_mesh_rings(0x55, next), 2);
    ck_assert_int_eq(tsim_cube_mesh_rings(0x03, next), 1);
    ck_assert_int_eq(tsim_cube_mesh_rings(0x09, next), 2);
    ck_assert_int_eq(tsim_cube_mesh_rings(0x38, next), 1);
    for (uint32_t members = 3; members < 1u << TSIM_CUBE; members++)
        if (members & (members - 1))
            check_rings(members, next, tsim_cube_mesh_rings(members, next));
    for (int32_t n = 2; n <= TSIM_CUBE; n++)
        for (int32_t stride = 1; (n - 1) * stride < TSIM_CUBE; stride++) {
            int32_t fewest = TSIM_CUBE_RINGS;
            for (int32_t first = 0; first + (n - 1) * stride < TSIM_CUBE;
                 first += (first + 1) % stride ? 1 : 1 + (n - 1) * stride) {
                uint32_t members = 0;
                for (int32_t i = 0; i < n; i++)
                    members |= 1u << (first + i * stride);
                int32_t rings = tsim_cube_mesh_rings(members, next);
                fewest = rings < fewest ? rings : fewest;
            }
            ck_assert_int_eq(tsim_cube_mesh_part_rings(n, stride), fewest);
        }
}

/* Returns the messages on the busiest link, by its width, when each of n accelerators, every stride-th from the first
 * on, sends one to each other. */
static double busiest_of_exchange(const struct tsim_topology *topology, int32_t first, int32_t n, int32_t stride) {
    double *messages = TSIM_NEW_ARRAY(&arena, (size_t)topology->n_links, double), most = 0;
    for (int32_t i = 0; i < n * n; i++) {
        struct tsim_route route = {.n = 0};
        if (i / n != i % n)
            tsim_topology_route(topology, first + i / n * stride, first + i % n * stride, &route);
        for (int32_t k = 0; k < route.n; k++) {
            double width = topology->bytes_per_s[route.links[k]] / (25 * GB);
            messages[route.links[k]] += 1 / width;
            most = fmax(most, messages[route.links[k]]);
        }
    }
    return most;
}

/* With all eight, 0 and 4 pass on what others send to strangers, and the single links carry three messages. */
TSIM_TEST(exchanges_on_the_cube_mesh) {
    example.node.scale_up = TSIM_SCALE_UP_CUBE_MESH;
    example.node.scale_up_bytes_per_s = example.node.scale_up_ring_bytes_per_s = 150 * GB;
    const struct tsim_topology *topology = build(1);
    ck_assert_double_eq_tol(tsim_cube_mesh_exchange_links(8, 1), 7 / 3.0, 1e-12);
    for (int32_t n = 2; n <= TSIM_CUBE; n++)
        for (int32_t stride = 1; (n - 1) * stride < TSIM_CUBE; stride++) {
            double most = 0;
            for (int32_t first = 0; first + (n - 1) * stride < TSIM_CUBE;
                 first += (first + 1) % stride ? 1 : 1 + (n - 1) * stride)
                most = fmax(most, busiest_of_exchange(topology, first, n, stride));
            ck_assert_double_eq_tol(tsim_cube_mesh_exchange_links(n, stride), (n - 1) / most, 1e-9);
        }
}

/* The halves of 8 nodes of 8 NICs are joined by 32 x 10 GB/s. */
TSIM_TEST(bisection_of_a_crossbar) {
    expect_bisection(build(8), 320 * GB);
}

/* There are leaves of 16 ports, pods of 64, and 128 ports. With 2:1 at the leaves and 2:1 at the pods, a quarter of the
 * ports' 640 GB/s gets from one pod to the other. */
TSIM_TEST(bisection_of_a_fat_tree) {
    be_fat_tree(2, TSIM_ROUTING_ADAPTIVE);
    tiers[0] = (struct tsim_tier){.ports = 16, .oversubscription = 2};
    tiers[1] = (struct tsim_tier){.ports = 64, .oversubscription = 2};
    expect_bisection(build(16), 160 * GB);
    tiers[0].oversubscription = tiers[1].oversubscription = 1;
    expect_bisection(build(16), 640 * GB);
}

/* Llama 3 (2024, section 3.3.1): racks of 16 GPUs, pods of 3,072 of full bisection, 8 pods joined at 1:7. With 50 GB/s
 * a GPU: 24,576 / 2 x 50 / 7 GB/s. From one pod to the other every GPU is left 1/7 of its NIC, within it all of it. */
TSIM_TEST(llama3_loses_six_sevenths_at_the_top) {
    be_fat_tree(2, TSIM_ROUTING_ADAPTIVE);
    tiers[0] = (struct tsim_tier){.ports = 16, .oversubscription = 1};
    tiers[1] = (struct tsim_tier){.ports = 3072, .oversubscription = 7};
    example.node.nic_bytes_per_s = example.fabric.link_bytes_per_s = 50 * GB;
    const struct tsim_topology *topology = build(3072);
    expect_bisection(topology, 24576 / 2 * 50 * GB / 7);
    example.scenario.cluster.nodes = 384; /* one pod */
    expect_bisection(build(384), 3072 / 2 * 50 * GB);
}

/* In 8 groups of 4 routers with 2 ports and a global link each, a pair of groups has 4 / 7 of a link. */
TSIM_TEST(bisection_of_a_dragonfly) {
    example.fabric.topology = TSIM_TOPOLOGY_DRAGONFLY;
    example.fabric.dragonfly_ports = 2;
    example.fabric.dragonfly_routers = 4;
    example.fabric.dragonfly_global_links = 1;
    const struct tsim_topology *topology = build(8);
    ck_assert_int_eq(topology->groups, 8);
    /* The partners are group i and group i + 4 only, each over its own part of a link. */
    ck_assert_double_eq_tol(exchange_bytes_per_s(topology, across), 4 * 4.0 / 7 * 10 * GB, 1e-3 * GB);
}

/* TPU v4: 4,096 chips as 16 x 16 x 16, all wrapped: 2 x 256 links. v3: 32 x 32: 2 x 32. A slice of 4 x 4 x 8 that does
 * not wrap: 16 links; the same with wrap-around twice as much. The partner is half a ring away, and the two ways around
 * are taken by odd and even senders: all wires are full. */
TSIM_TEST(bisection_of_a_torus) {
    be_torus(16, 16, 16, 4);
    expect_bisection(build(1024), 512 * 10 * GB);
    be_torus(32, 32, 1, 32);
    expect_bisection(build(256), 64 * 10 * GB);
    be_torus(4, 4, 8, 0);
    expect_bisection(build(32), 16 * 10 * GB);
    be_torus(4, 4, 8, 4);
    expect_bisection(build(32), 32 * 10 * GB);
}

/* A chip of a torus has a wire each way in each of its dimensions: together they are its port. */
TSIM_TEST(ports_of_a_torus) {
    be_torus(16, 16, 16, 4);
    build(1024);
    ck_assert_double_eq(tsim_cluster_build(&arena, &example.scenario)->scale_up_bytes_per_s, 6 * 10 * GB);
    be_torus(32, 32, 1, 32);
    build(256);
    ck_assert_double_eq(tsim_cluster_build(&arena, &example.scenario)->scale_up_bytes_per_s, 4 * 10 * GB);
}

/* ---- routes ---- */

TSIM_TEST(routes_on_a_node) {
    ck_assert_str_eq(route_text(build(1), 3, 3), "");
    ck_assert_str_eq(route_text(build(1), 3, 5), "node 0: accelerator 3, out | node 0: accelerator 5, in");
    example.node.scale_up = TSIM_SCALE_UP_CUBE_MESH;
    ck_assert_str_eq(route_text(build(1), 3, 7), "node 0: accelerator 3 to 7");
    ck_assert_str_eq(route_text(build(1), 3, 5), "node 0: accelerator 3 to 1 | node 0: accelerator 1 to 5");
    example.node.scale_up = TSIM_SCALE_UP_PCIE;
    example.node.accelerators_per_switch = 2;
    example.node.accelerators_per_socket = 4;
    const struct tsim_topology *topology = build(2);
    ck_assert_str_eq(route_text(topology, 8, 9), "node 1: accelerator 0, out | node 1: accelerator 1, in");
    ck_assert_str_eq(route_text(topology, 8, 10), "node 1: accelerator 0, out | node 1: PCIe switch 0, up | "
                                                  "node 1: PCIe switch 1, down | node 1: accelerator 2, in");
    ck_assert_str_eq(route_text(topology, 9, 14),
                     "node 1: accelerator 1, out | node 1: PCIe switch 0, up | node 1: socket 0 to 1 | "
                     "node 1: PCIe switch 3, down | node 1: accelerator 6, in");
}

/* The rings of a cube mesh use every link in both directions exactly as often as it is there. */
TSIM_TEST(six_rings_fill_the_cube_mesh) {
    static const int32_t RINGS[2][TSIM_CUBE] = {{0, 3, 2, 1, 5, 6, 7, 4}, {0, 1, 3, 7, 5, 4, 6, 2}};
    int32_t used[TSIM_CUBE][TSIM_CUBE] = {{0}};
    for (int32_t i = 0; i < TSIM_CUBE; i++)
        for (int32_t r = 0; r < 2; r++) {
            int32_t a = RINGS[r][i], b = RINGS[r][(i + 1) % TSIM_CUBE];
            used[a][b] += 2 - r;
            used[b][a] += 2 - r;
        }
    for (int32_t a = 0; a < TSIM_CUBE; a++)
        for (int32_t b = 0; b < TSIM_CUBE; b++)
            ck_assert_int_eq(used[a][b], tsim_cube_mesh_links(a, b));
}

/* Rails: leaves take the same port of 2 nodes each. The same rail under one leaf stays there, another leaf of the rail
 * is reached over its uplinks, and another rail through the neighbour on that rail. */
TSIM_TEST(routes_on_rails) {
    be_fat_tree(1, TSIM_ROUTING_ADAPTIVE);
    example.fabric.rails = true;
    tiers[0] = (struct tsim_tier){.ports = 2, .oversubscription = 1};
    const struct tsim_topology *topology = build(4);
    ck_assert_str_eq(route_text(topology, 3, 11), "node 0: NIC 3, out | node 1: NIC 3, in");
    ck_assert_str_eq(route_text(topology, 3, 19),
                     "node 0: NIC 3, out | tier 0, group 3: up | tier 0, group 11: down | node 2: NIC 3, in");
    ck_assert_str_eq(route_text(topology, 3, 12),
                     "node 0: accelerator 3, out | node 0: accelerator 4, in | node 0: NIC 4, out | node 1: NIC 4, in");
}

/* ECMP: the same pair always takes the same uplink, another seed another one; over all pairs none is left out. */
TSIM_TEST(ecmp_is_a_hash_of_the_pair) {
    be_fat_tree(1, TSIM_ROUTING_ECMP);
    tiers[0] = (struct tsim_tier){.ports = 8, .oversubscription = 1};
    const struct tsim_topology *topology = build(8);
    struct tsim_route first, again;
    int32_t n_used[8] = {0}, n_moved = 0;
    for (int32_t a = 0; a < 8; a++)
        for (int32_t b = 8; b < 64; b++) {
            tsim_topology_route(topology, a, b, &first);
            ck_assert_int_eq(first.n, 4);
            n_used[first.links[1] - topology->first_up[0]]++;
        }
    for (int32_t i = 0; i < 8; i++) /* 448 pairs over 8 uplinks, 56 each: within 5 standard deviations of 7 */
        ck_assert_int_le(abs(n_used[i] - 56), 35);
    ck_assert_str_eq(route_text(topology, 0, 8), route_text(build(8), 0, 8));
    example.scenario.simulation.seed = 2;
    const struct tsim_topology *other = build(8);
    for (int32_t b = 8; b < 64; b++) {
        tsim_topology_route(topology, 0, b, &first);
        tsim_topology_route(other, 0, b, &again);
        n_moved += first.links[1] != again.links[1];
    }
    ck_assert_int_gt(n_moved, 30); /* 7/8 of 56 expected */
}

/* Never more than local - global - local, and the ends fit together: every link begins at the end of the one before. */
TSIM_TEST(dragonfly_routes_are_minimal) {
    example.fabric.topology = TSIM_TOPOLOGY_DRAGONFLY;
    example.fabric.dragonfly_ports = 2;
    example.fabric.dragonfly_routers = 4;
    example.fabric.dragonfly_global_links = 2;
    const struct tsim_topology *topology = build(4); /* 16 routers, 4 groups, 8 / 3 = 2 links a pair */
    ck_assert_int_eq(topology->global_per_pair, 2);
    for (int32_t a = 0; a < 32; a++)
        for (int32_t b = 0; b < 32; b++) {
            struct tsim_route route;
            tsim_topology_route(topology, a, b, &route);
            if (a / 8 == b / 8)
                continue;
            int32_t router = a / 2, n = route.n;
            ck_assert_int_le(n, 5);
            for (int32_t i = 1; i + 1 < n; i++) {
                int32_t at = route.links[i] - topology->first[TSIM_LINK_LOCAL];
                if (at >= 0 && at < topology->count[TSIM_LINK_LOCAL]) {
                    ck_assert_int_eq(at / 4, router);
                    router = router / 4 * 4 + at % 4;
                } else {
                    at = (route.links[i] - topology->first[TSIM_LINK_GLOBAL]) / 2;
                    ck_assert_int_eq(at / 4, router / 4);
                    router = i + 2 < n ? at % 4 * 4 + (route.links[i + 1] - topology->first[TSIM_LINK_LOCAL]) / 4 % 4
                                       : b / 2;
                }
            }
            ck_assert_int_eq(router, b / 2);
        }
}

/* 8 nodes of 8 ports are four routers of 16: a group of four, whose 31 links out of each go by way of the others, too,
 * at half of what they carry: 15.5 links for 16 ports. With 64 nodes in groups of 16 routers two groups are linked by
 * all 9 global links of each router. */
TSIM_TEST(adaptive_dragonflies_are_pools) {
    example.fabric.topology = TSIM_TOPOLOGY_DRAGONFLY;
    example.fabric.routing = TSIM_ROUTING_ADAPTIVE;
    example.fabric.dragonfly_ports = 16;
    example.fabric.dragonfly_routers = 32;
    example.fabric.dragonfly_global_links = 9;
    const struct tsim_topology *topology = build(8);
    ck_assert_int_eq(topology->groups, 1);
    ck_assert_int_eq(topology->routers, 4);
    ck_assert_double_eq_tol(topology->bytes_per_s[topology->first[TSIM_LINK_LOCAL]], 15.5 * 10 * GB, 1);
    ck_assert_str_eq(route_text(topology, 0, 9), "node 0: NIC 0, out | node 1: NIC 1, in"); /* they are one router's */
    ck_assert_str_eq(route_text(topology, 0, 16), "node 0: NIC 0, out | group 0: router 0, out | "
                                                  "group 0: router 1, in | node 2: NIC 0, in");
    example.fabric.dragonfly_routers = 16;
    topology = build(64);
    ck_assert_int_eq(topology->groups, 2);
    ck_assert_double_eq_tol(topology->bytes_per_s[topology->first[TSIM_LINK_GLOBAL]], 144 * 10 * GB, 1);
    ck_assert_str_eq(route_text(topology, 0, 511),
                     "node 0: NIC 0, out | group 0: router 0, out | group 0: to all others, out | "
                     "group 1: to all others, in | group 1: router 15, in | node 63: NIC 7, in");
}

/* Minimal routes of a group of two routers of four have three links of each, all to the other. */
TSIM_TEST(small_groups_have_more_links_a_pair) {
    example.fabric.topology = TSIM_TOPOLOGY_DRAGONFLY;
    example.fabric.dragonfly_ports = 8;
    example.fabric.dragonfly_routers = 4;
    example.fabric.dragonfly_global_links = 2;
    const struct tsim_topology *topology = build(2);
    ck_assert_int_eq(topology->routers, 2);
    ck_assert_double_eq_tol(topology->bytes_per_s[topology->first[TSIM_LINK_LOCAL]], 3 * 10 * GB, 1);
    example.fabric.dragonfly_local_links = 6;
    topology = build(2);
    ck_assert_double_eq_tol(topology->bytes_per_s[topology->first[TSIM_LINK_LOCAL]], 6 * 10 * GB, 1);
}

/* x first, the short way around; a line of 3 does not wrap. */
TSIM_TEST(torus_routes_go_dimension_by_dimension) {
    be_torus(4, 3, 2, 4);
    const struct tsim_topology *topology = build(6);
    ck_assert_str_eq(route_text(topology, 0, 3), "(0, 0, 0): -x");
    ck_assert_str_eq(route_text(topology, 0, 2), "(0, 0, 0): +x | (1, 0, 0): +x");
    ck_assert_str_eq(route_text(topology, 1, 3), "(1, 0, 0): -x | (0, 0, 0): -x");
    ck_assert_str_eq(route_text(topology, 0, 8 + 12), "(0, 0, 0): +y | (0, 1, 0): +y | (0, 2, 0): +z");
}

/* ---- NICs and slow links ---- */

/* Eight accelerators and two NICs: four share each, at its full rate. */
TSIM_TEST(accelerators_share_the_nearest_nic) {
    example.node.nics = 2;
    const struct tsim_topology *topology = build(2);
    ck_assert_int_eq(topology->nics_per_node, 2);
    ck_assert_str_eq(route_text(topology, 3, 12), "node 0: NIC 0, out | node 1: NIC 1, in");
    ck_assert_double_eq_tol(topology->bytes_per_s[topology->first[TSIM_LINK_NIC_OUT]], 10 * GB, 1e-3);
    example.node.nics = 16; /* two each, used as one */
    topology = build(2);
    ck_assert_int_eq(topology->nics_per_node, 8);
    ck_assert_double_eq_tol(topology->bytes_per_s[topology->first[TSIM_LINK_NIC_OUT]], 20 * GB, 1e-3);
}

TSIM_TEST(single_links_can_be_slow) {
    const struct tsim_degraded degraded[] = {
        {.link = TSIM_DEGRADED_NIC, .node = 1, .index = 2, .rate_frac = 0.5},
        {.link = TSIM_DEGRADED_SCALE_UP, .node = 0, .index = -1, .rate_frac = 0.25},
        {.link = TSIM_DEGRADED_FABRIC, .tier = 0, .group = 1, .rate_frac = 0.1}};
    be_fat_tree(1, TSIM_ROUTING_ADAPTIVE);
    tiers[0] = (struct tsim_tier){.ports = 8, .oversubscription = 1};
    example.scenario.cluster.degraded = degraded;
    example.scenario.cluster.n_degraded = 3;
    const struct tsim_topology *t = build(3);
    for (int32_t i = 0; i < t->n_links; i++) {
        char name[100];
        tsim_topology_link_name(t, i, name, sizeof name);
        double expected = strstr(name, "NIC") ? 10 * GB : strstr(name, "tier") ? 80 * GB : 100 * GB;
        if (strncmp(name, "node 1: NIC 2,", 14) == 0)
            expected /= 2;
        if (strncmp(name, "node 0: accel", 13) == 0)
            expected /= 4;
        if (strstr(name, "group 1:"))
            expected /= 10;
        ck_assert_msg(t->bytes_per_s[i] > expected * 0.999999 && t->bytes_per_s[i] < expected * 1.000001, "%s: %g",
                      name, t->bytes_per_s[i]);
    }
}

/* A link between two slow accelerators is as slow as they are, not twice so. */
TSIM_TEST(links_of_a_mesh_can_be_slow) {
    struct tsim_degraded degraded = {.link = TSIM_DEGRADED_SCALE_UP, .node = 1, .rate_frac = 0.25};
    example.node.scale_up = TSIM_SCALE_UP_MESH;
    example.scenario.cluster.degraded = &degraded;
    example.scenario.cluster.n_degraded = 1;
    for (int index = -1; index < 8; index += 4) { /* all, or one */
        degraded.index = index;
        const struct tsim_topology *t = build(2);
        for (int from = 0; from < 16; from++)
            for (int to = from / 8 * 8; to < from / 8 * 8 + 8; to++) {
                bool is_slow = from / 8 == 1 && (index < 0 || from % 8 == index || to % 8 == index);
                double rate = t->bytes_per_s[t->first[TSIM_LINK_PAIR] + from * 8 + to % 8];
                ck_assert_double_eq_tol(rate, (is_slow ? 0.25 : 1) * 100 * GB / 7, 1);
            }
    }
}

TSIM_MAIN(30, setup, teardown)
