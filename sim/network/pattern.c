#include "network/pattern.h"

#include "cost/collective.h"
#include "cost/torus.h"

#include <math.h>
#include <string.h>

struct builder {
    struct tsim_pattern *pattern;
    const struct tsim_topology *topology;
    const struct tsim_collective_request *request;
    struct tsim_group group;
    int32_t *node_start; /* n_nodes + 1 offsets into ranks */
    int32_t *node_of;    /* for each of n_ranks, the node of the group's i-th rank, counted within the group */
    double flow_s;
    int32_t ringed_node, n_rings; /* cube mesh: the node of `ring_next`, -1 before there is one */
    int8_t ring_next[TSIM_CUBE_RINGS][TSIM_CUBE];
};

/* ---- the group on its nodes ---- */

static int32_t node_of_rank(const struct tsim_topology *topology, int32_t rank) {
    return rank / topology->ranks_per_node;
}

struct tsim_group tsim_group_of_ranks(const struct tsim_topology *topology, const int32_t *ranks, int32_t n) {
    struct tsim_group group = {.n_ranks = n, .stride = n > 1 ? ranks[1] - ranks[0] : 0};
    for (int32_t i = 0, start = 0; i < n; i++) {
        if (i + 1 < n && node_of_rank(topology, ranks[i + 1]) == node_of_rank(topology, ranks[start]))
            continue;
        int32_t here = i + 1 - start;
        group.max_ranks_per_node = here > group.max_ranks_per_node ? here : group.max_ranks_per_node;
        if (group.n_nodes++ == 0 || here < group.min_ranks_per_node)
            group.min_ranks_per_node = here;
        start = i + 1;
    }
    return group;
}

static void find_nodes(struct builder *b) {
    const struct tsim_pattern *p = b->pattern;
    size_t capacity = 0, node_capacity = 0;
    b->node_start = tsim_heap_grow(NULL, &capacity, (size_t)b->group.n_nodes + 1, sizeof *b->node_start);
    b->node_of = tsim_heap_grow(NULL, &node_capacity, (size_t)p->n_ranks, sizeof *b->node_of);
    int32_t node = -1;
    for (int32_t i = 0; i < p->n_ranks; i++) {
        if (i == 0 || node_of_rank(b->topology, p->ranks[i]) != node_of_rank(b->topology, p->ranks[i - 1]))
            b->node_start[++node] = i;
        b->node_of[i] = node;
    }
    b->node_start[node + 1] = p->n_ranks;
}

static int32_t ranks_on(const struct builder *b, int32_t node) {
    return b->node_start[node + 1] - b->node_start[node];
}

/* ---- shares ---- */

static void add_share(struct tsim_pattern *p, int32_t link, double frac) {
    p->shares = tsim_heap_grow(p->shares, &p->share_capacity, p->n_shares + 1, sizeof *p->shares);
    p->shares[p->n_shares++] = (struct tsim_share){link, frac};
}

static void share_route(const struct builder *b, int32_t from, int32_t to, double frac) {
    struct tsim_route route;
    tsim_topology_route(b->topology, from, to, &route);
    for (int32_t i = 0; i < route.n; i++)
        add_share(b->pattern, route.links[i], frac);
}

/* Shares bytes of the i-th rank among the rings of its part of a cube mesh. */
static void share_on_cube(struct builder *b, int32_t i, double frac) {
    const struct tsim_pattern *p = b->pattern;
    int32_t node = b->node_of[i], g = b->topology->ranks_per_node, base = p->ranks[i] - p->ranks[i] % g;
    if (b->ringed_node != node) {
        uint32_t members = 0;
        for (int32_t other = b->node_start[node]; other < b->node_start[node + 1]; other++)
            members |= 1u << p->ranks[other] % g;
        b->n_rings = tsim_cube_mesh_rings(members, b->ring_next);
        b->ringed_node = node;
    }
    for (int32_t r = 0; r < b->n_rings; r++)
        share_route(b, p->ranks[i], base + b->ring_next[r][p->ranks[i] % g], frac / b->n_rings);
}

/* Shares bytes from the i-th rank of the group to its neighbours on the node; `next` is the one that follows it. */
static void share_on_node(struct builder *b, int32_t i, int32_t next, double frac) {
    const struct tsim_pattern *p = b->pattern;
    enum tsim_scale_up kind = b->topology->cluster->node->scale_up;
    int32_t node = b->node_of[i], g = ranks_on(b, node);
    if (kind == TSIM_SCALE_UP_CUBE_MESH) {
        share_on_cube(b, i, frac);
        return;
    }
    if (kind != TSIM_SCALE_UP_MESH) {
        share_route(b, p->ranks[i], p->ranks[next], frac);
        return;
    }
    for (int32_t other = b->node_start[node]; other < b->node_start[node + 1]; other++)
        if (other != i)
            share_route(b, p->ranks[i], p->ranks[other], frac / (g - 1));
}

/* Shares a message around a ring over all ranks: what leaves the node is spread over as many of its ranks as the node
 * with the fewest has. */
static void share_ring(struct builder *b, int32_t i) {
    const struct tsim_pattern *p = b->pattern;
    if (b->topology->cluster->torus_shape[0] > 0) {
        share_route(b, p->ranks[i], p->ranks[(i + 1) % p->n_ranks], 1);
        return;
    }
    int32_t node = b->node_of[i], g = ranks_on(b, node), place = i - b->node_start[node];
    double out = 0;
    if (b->group.n_nodes > 1 && place < b->group.min_ranks_per_node) {
        int32_t next_node = (node + 1) % b->group.n_nodes;
        out = 1.0 / b->group.min_ranks_per_node;
        share_route(b, p->ranks[i], p->ranks[b->node_start[next_node] + place], out);
    }
    if (g > 1 && out < 1)
        share_on_node(b, i, b->node_start[node] + (place + 1) % g, 1 - out);
}

/* Shares bytes from node to node, spread over the ranks that both have. */
static void share_nodes(const struct builder *b, int32_t from, int32_t to) {
    int32_t n = b->group.min_ranks_per_node;
    for (int32_t i = 0; i < n; i++)
        share_route(b, b->pattern->ranks[b->node_start[from] + i], b->pattern->ranks[b->node_start[to] + i], 1.0 / n);
}

/* ---- patterns ---- */

static void make_lanes(struct builder *b, enum tsim_pattern_kind kind, int32_t n_lanes, int32_t n_phases) {
    struct tsim_pattern *p = b->pattern;
    size_t capacity = 0, n = (size_t)n_lanes * (size_t)n_phases;
    p->kind = kind;
    p->n_lanes = n_lanes;
    p->n_phases = n_phases;
    p->n_meeting = kind == TSIM_PATTERN_WAVES ? n_lanes : 0;
    p->phases = tsim_heap_grow(NULL, &capacity, n, sizeof *p->phases);
    memset(p->phases, 0, n * sizeof *p->phases);
}

/* Fills a phase in and returns it; its shares are those added until close_phase. */
static struct tsim_pattern_phase *open_phase(const struct builder *b, int32_t lane, int32_t phase, int32_t from,
                                             int32_t to, int32_t n_messages, double bytes, double bytes_per_s) {
    struct tsim_pattern *p = b->pattern;
    struct tsim_pattern_phase *opened = &p->phases[lane * p->n_phases + phase];
    *opened = (struct tsim_pattern_phase){.from = from,
                                          .to = to,
                                          .owner = from,
                                          .successor = -1,
                                          .n_messages = n_messages,
                                          .bytes = bytes,
                                          .bytes_per_s = bytes_per_s,
                                          .first_share = (int32_t)p->n_shares};
    return opened;
}

static void close_phase(const struct builder *b, struct tsim_pattern_phase *phase) {
    phase->n_shares = (int32_t)b->pattern->n_shares - phase->first_share;
}

static void build_ring(struct builder *b) {
    struct tsim_pattern *p = b->pattern;
    int32_t n = p->n_ranks, n_messages = b->request->op == TSIM_ALL_REDUCE ? 2 * (n - 1) : n - 1;
    double bytes = b->request->bytes / n;
    make_lanes(b, TSIM_PATTERN_RINGS, n, 1);
    for (int32_t i = 0; i < n; i++) {
        struct tsim_pattern_phase *phase =
            open_phase(b, i, 0, i, (i + 1) % n, n_messages, bytes, bytes * n_messages / b->flow_s);
        phase->successor = (i + 1) % n;
        phase->latency_s = p->cost.latency_s / n_messages;
        share_ring(b, i);
        close_phase(b, phase);
    }
}

/* Builds a broadcast, pipelined along the ring: rank i is one latency behind rank i - 1. */
static void build_broadcast(struct builder *b) {
    struct tsim_pattern *p = b->pattern;
    make_lanes(b, TSIM_PATTERN_WAVES, p->n_ranks - 1, 1);
    for (int32_t i = 0; i < p->n_lanes; i++) {
        struct tsim_pattern_phase *phase =
            open_phase(b, i, 0, i, i + 1, 1, b->request->bytes, b->request->bytes / b->flow_s);
        phase->latency_s = p->cost.latency_s * (i + 1) / p->n_lanes;
        share_ring(b, i);
        close_phase(b, phase);
    }
}

static void build_direct(struct builder *b) {
    struct tsim_pattern *p = b->pattern;
    make_lanes(b, TSIM_PATTERN_RINGS, p->n_ranks, 1);
    for (int32_t i = 0; i < p->n_ranks; i++) {
        int32_t to = (i + 1) % p->n_ranks;
        struct tsim_pattern_phase *phase =
            open_phase(b, i, 0, i, to, 1, b->request->bytes, b->request->bytes / b->flow_s);
        phase->latency_s = p->cost.latency_s;
        share_route(b, p->ranks[i], p->ranks[to], 1);
        close_phase(b, phase);
    }
}

static double up_rate(const struct builder *b) {
    const struct tsim_cluster *cluster = b->topology->cluster;
    return cluster->pair_bytes_per_s * tsim_collective_links(cluster, b->request->op, &b->group);
}

static void build_hierarchical(struct builder *b) {
    struct tsim_pattern *p = b->pattern;
    int32_t nodes = b->group.n_nodes, g = b->group.max_ranks_per_node;
    double nic_rate = b->topology->cluster->nic_bytes_per_s, up = up_rate(b);
    double frac = (p->cost.scale_up_bytes / up + p->cost.nic_bytes / nic_rate) / b->flow_s;
    double bytes = b->request->bytes / g, latency_s = p->cost.latency_s / (2 * (g - 1) + 2 * (nodes - 1));
    make_lanes(b, TSIM_PATTERN_RINGS, p->n_ranks, 3);
    for (int32_t i = 0; i < p->n_ranks; i++) {
        int32_t node = b->node_of[i], place = i - b->node_start[node];
        int32_t near = b->node_start[node] + (place + 1) % g, far = b->node_start[(node + 1) % nodes] + place;
        for (int32_t k = 0; k < 3; k++) {
            bool is_near = k != 1;
            struct tsim_pattern_phase *phase =
                open_phase(b, i, k, i, is_near ? near : far, is_near ? g - 1 : 2 * (nodes - 1),
                           is_near ? bytes : bytes / nodes, frac * (is_near ? up : nic_rate));
            phase->successor = is_near ? near : far;
            phase->latency_s = latency_s;
            if (is_near)
                share_on_node(b, i, near, 1);
            else
                share_route(b, p->ranks[i], p->ranks[far], 1);
            close_phase(b, phase);
        }
    }
}

/* Builds lanes 2 i and 2 i + 1: to ranks on the node, and to those beyond. */
static void build_pairwise(struct builder *b) {
    struct tsim_pattern *p = b->pattern;
    double bytes = b->request->bytes / p->n_ranks;
    make_lanes(b, TSIM_PATTERN_PAIRWISE, 2 * p->n_ranks, 1);
    for (int32_t i = 0; i < p->n_ranks; i++) {
        int32_t near = ranks_on(b, b->node_of[i]) - 1, far = p->n_ranks - 1 - near;
        for (int32_t k = 0; k < 2; k++) {
            int32_t n = k == 0 ? near : far;
            struct tsim_pattern_phase *phase = open_phase(b, 2 * i + k, 0, i, i, n, bytes, bytes * n / b->flow_s);
            phase->latency_s = n > 0 ? p->cost.latency_s / n : 0;
        }
    }
}

/* ---- torus ---- */

/* A box as its collective goes through it. */
struct torus_box {
    struct tsim_torus_box sides;
    int32_t n_dimensions;
    int dimensions[3];  /* those of more than one */
    double slowness[3]; /* of each of the three: over how many messages a link divides its rate */
};

/* Returns the bytes of each message of a part, when it goes through its dimension number `place`, and finds which
 * dimension that is. */
static double torus_message(const struct builder *b, const struct torus_box *box, int32_t part, int32_t place, int *d) {
    double bytes = b->request->bytes / (2 * box->n_dimensions);
    for (int32_t before = 0; before < place; before++)
        bytes /= box->sides.extent[box->dimensions[(part + before) % box->n_dimensions]];
    *d = box->dimensions[(part + place) % box->n_dimensions];
    return bytes / box->sides.extent[*d];
}

/* Returns how long the slowest part of a phase takes on links of 1 byte/s. */
static double torus_phase_s(const struct builder *b, const struct torus_box *box, int32_t place) {
    double longest_s = 0;
    for (int32_t part = 0; part < box->n_dimensions; part++) {
        int d;
        double bytes = torus_message(b, box, part, place, &d);
        longest_s = fmax(longest_s, bytes * (box->sides.extent[d] - 1) * box->slowness[d]);
    }
    return longest_s;
}

/* Opens the phases of lane (i, part, direction): along the dimensions from `part` on, and back in the opposite
 * order. */
static void open_torus_phases(const struct builder *b, int32_t lane, const struct torus_box *box, double latency_s) {
    struct tsim_pattern *p = b->pattern;
    int32_t n_lanes_each = 2 * box->n_dimensions, i = lane / n_lanes_each, part = lane % n_lanes_each / 2,
            way = lane % 2 == 0 ? 1 : -1;
    for (int32_t k = 0; k < p->n_phases; k++) {
        bool is_back = b->request->op == TSIM_ALL_GATHER || k >= box->n_dimensions;
        int32_t place = is_back ? p->n_phases - 1 - k : k;
        int d;
        double bytes = torus_message(b, box, part, place, &d);
        int32_t to = tsim_torus_neighbour(&box->sides, i, d, way), n_messages = box->sides.extent[d] - 1;
        double rate = b->topology->cluster->pair_bytes_per_s * bytes * n_messages / torus_phase_s(b, box, place);
        struct tsim_pattern_phase *phase = open_phase(b, lane, k, i, to, n_messages, bytes, rate);
        phase->successor = to * n_lanes_each + lane % n_lanes_each;
        phase->latency_s = latency_s;
        share_route(b, p->ranks[i], p->ranks[to], 1);
        close_phase(b, phase);
    }
}

static void build_torus(struct builder *b) {
    struct tsim_pattern *p = b->pattern;
    const struct tsim_cluster *cluster = b->topology->cluster;
    struct torus_box box = {.n_dimensions = 0};
    int32_t longest = 1;
    if (!tsim_torus_box(cluster, &b->group, &box.sides)) {
        build_ring(b);
        return;
    }
    for (int d = 0; d < 3; d++) {
        box.slowness[d] = tsim_torus_slowness(cluster, &box.sides, d);
        if (box.sides.extent[d] > 1)
            box.dimensions[box.n_dimensions++] = d;
        longest = box.sides.extent[d] > longest ? box.sides.extent[d] : longest;
    }
    int32_t n = box.n_dimensions;
    make_lanes(b, TSIM_PATTERN_RINGS, 2 * n * p->n_ranks, (b->request->op == TSIM_ALL_REDUCE ? 2 : 1) * n);
    p->n_meeting = n > 1 ? 2 * n : 0;
    for (int32_t lane = 0; lane < p->n_lanes; lane++)
        open_torus_phases(b, lane, &box, p->cost.latency_s / (p->n_phases * (longest - 1)));
}

/* ---- trees ---- */

/* Builds a tree of n nodes; the second tree of a pair is the first one mirrored, or for odd n shifted by one, so that
 * inner nodes of one are leaves of the other (Sanders, Speck, Traff 2009). The first: a node's lowest set bit is its
 * level. */
static int32_t first_parent(int32_t node, int32_t n) {
    int32_t low = node & -node, up = (node ^ low) | low << 1;
    return node == 0 ? -1 : up < n ? up : node ^ low;
}

static int32_t parent_of(int32_t tree, int32_t node, int32_t n) {
    if (tree == 0)
        return first_parent(node, n);
    if (n % 2 == 0) {
        int32_t parent = first_parent(n - 1 - node, n);
        return parent < 0 ? -1 : n - 1 - parent;
    }
    int32_t parent = first_parent((node - 1 + n) % n, n);
    return parent < 0 ? -1 : (parent + 1) % n;
}

static int32_t depth_of(int32_t tree, int32_t node, int32_t n) {
    int32_t depth = 0;
    for (; (node = parent_of(tree, node, n)) >= 0; depth++) {
    }
    return depth;
}

/* Finds heights[node], the edges of the longest way down, and returns the largest. */
static int32_t find_heights(int32_t tree, int32_t n, int32_t *heights) {
    int32_t tallest = 0;
    memset(heights, 0, (size_t)n * sizeof *heights);
    for (int32_t node = 0; node < n; node++) {
        int32_t height = 0;
        for (int32_t at = node; (at = parent_of(tree, at, n)) >= 0;) {
            height++;
            if (heights[at] < height)
                heights[at] = height;
        }
        tallest = height > tallest ? height : tallest;
    }
    return tallest;
}

/* Builds both trees between nodes, from lane `lane` on: up and down each edge, half of the bytes. Edge k of the longest
 * way starts after before_s + k * hop_s. */
static int32_t build_trees(struct builder *b, int32_t lane, int32_t before, double hop_s, const int32_t tallest[2],
                           int32_t *const heights[2]) {
    int32_t n = b->group.n_nodes;
    double bytes = b->request->bytes / 2;
    for (int32_t tree = 0; tree < 2; tree++) {
        for (int32_t node = 0; node < n; node++) {
            int32_t parent = parent_of(tree, node, n);
            if (parent < 0)
                continue;
            int32_t starts[2] = {heights[tree][node] + 1, tallest[tree] + depth_of(tree, node, n)};
            for (int32_t way = 0; way < 2; way++) {
                int32_t from = way == 0 ? node : parent, to = way == 0 ? parent : node;
                struct tsim_pattern_phase *phase =
                    open_phase(b, lane++, 0, b->node_start[from], b->node_start[to], 1, bytes, bytes / b->flow_s);
                phase->latency_s = (before + starts[way]) * hop_s;
                phase->owner = b->node_start[node];
                share_nodes(b, from, to);
                close_phase(b, phase);
            }
        }
    }
    return lane;
}

/* Builds what goes to switches that reduce and comes back from them, from lane `lane` on: each node sends its bytes
 * once and receives the sum once. As messages it goes to the next node, so each link has one node's bytes each way. */
static int32_t build_sums(struct builder *b, int32_t lane, double latency_s) {
    int32_t n = b->group.n_nodes;
    for (int32_t node = 0; node < n; node++) {
        int32_t to = (node + 1) % n;
        struct tsim_pattern_phase *phase = open_phase(b, lane++, 0, b->node_start[node], b->node_start[to], 1,
                                                      b->request->bytes, b->request->bytes / b->flow_s);
        phase->latency_s = latency_s;
        phase->owner = b->node_start[node];
        share_nodes(b, node, to);
        close_phase(b, phase);
    }
    return lane;
}

/* Builds a tree. On the node all ranks' bytes go up a chain and come down it, or through the switch that reduces;
 * between nodes there are two binary trees, or the fabric's switches reduce. Everything is pipelined, so it flows at
 * the same time. */
static void build_tree(struct builder *b) {
    struct tsim_pattern *p = b->pattern;
    int32_t nodes = b->group.n_nodes, g = b->group.max_ranks_per_node, tallest[2] = {0, 0}, lane = 0;
    bool is_switch = p->cost.algorithm != TSIM_ALGORITHM_TREE;
    int32_t *heights[2] = {NULL, NULL};
    size_t capacities[2] = {0, 0};
    for (int tree = 0; tree < 2; tree++) {
        heights[tree] = tsim_heap_grow(NULL, &capacities[tree], (size_t)nodes, sizeof *heights[tree]);
        tallest[tree] = find_heights(tree, nodes, heights[tree]);
    }
    int32_t chain = is_switch ? 0 : g - 1, height = tallest[0] > tallest[1] ? tallest[0] : tallest[1];
    double hop_s = p->cost.latency_s / fmax(1, 2 * chain + 2 * height);
    int32_t per_rank = g == 1 ? 0 : is_switch ? 1 : 2;
    bool is_sharp = p->cost.algorithm == TSIM_ALGORITHM_NVLS_SHARP;
    make_lanes(b, TSIM_PATTERN_WAVES, per_rank * p->n_ranks + (is_sharp ? nodes : 4 * (nodes - 1)), 1);
    for (int32_t i = 0; i < p->n_ranks; i++) {
        int32_t node = b->node_of[i], here = ranks_on(b, node), place = i - b->node_start[node];
        int32_t next = b->node_start[node] + (place + 1) % here;
        for (int32_t k = 0; k < per_rank; k++) {
            struct tsim_pattern_phase *phase =
                open_phase(b, lane++, 0, i, next, 1, b->request->bytes, b->request->bytes / b->flow_s);
            phase->latency_s = k == per_rank - 1 ? p->cost.latency_s : chain * hop_s;
            if (here > 1)
                share_on_node(b, i, next, is_switch ? (here + 1.0) / here : (here - 1.0) / here);
            close_phase(b, phase);
        }
    }
    lane = is_sharp ? build_sums(b, lane, p->cost.latency_s) : build_trees(b, lane, chain, hop_s, tallest, heights);
    TSIM_ASSERT(lane == p->n_lanes);
    tsim_heap_free(heights[0]);
    tsim_heap_free(heights[1]);
}

/* ---- building ---- */

static void build(struct builder *b) {
    switch (b->pattern->cost.algorithm) {
    case TSIM_ALGORITHM_RING:
        if (b->request->op == TSIM_BROADCAST)
            build_broadcast(b);
        else
            build_ring(b);
        break;
    case TSIM_ALGORITHM_TREE:
    case TSIM_ALGORITHM_NVLS:
    case TSIM_ALGORITHM_NVLS_TREE:
    case TSIM_ALGORITHM_NVLS_SHARP:
        build_tree(b);
        break;
    case TSIM_ALGORITHM_HIERARCHICAL:
        build_hierarchical(b);
        break;
    case TSIM_ALGORITHM_PAIRWISE:
        build_pairwise(b);
        break;
    case TSIM_ALGORITHM_DIRECT:
        build_direct(b);
        break;
    case TSIM_ALGORITHM_TORUS:
        build_torus(b);
        break;
    case TSIM_ALGORITHM_AUTO: /* nothing to do */
    case TSIM_N_ALGORITHMS:
        break;
    }
}

void tsim_pattern_build(struct tsim_pattern *pattern, const struct tsim_topology *topology, const int32_t *ranks,
                        int32_t n_ranks, const struct tsim_collective_request *request) {
    struct builder b = {.pattern = pattern, .topology = topology, .request = request, .ringed_node = -1};
    *pattern = (struct tsim_pattern){.topology = topology, .ranks = ranks, .n_ranks = n_ranks};
    b.group = tsim_group_of_ranks(topology, ranks, n_ranks);
    struct tsim_collective_request resolved = *request;
    resolved.group = b.group;
    tsim_collective_cost(topology->cluster, &resolved, &pattern->cost);
    b.flow_s = pattern->cost.time_s - pattern->cost.latency_s;
    find_nodes(&b);
    build(&b);
    tsim_heap_free(b.node_start);
    tsim_heap_free(b.node_of);
}

void tsim_pattern_release(struct tsim_pattern *pattern) {
    tsim_heap_free(pattern->phases);
    tsim_heap_free(pattern->shares);
    *pattern = (struct tsim_pattern){0};
}

/* ---- pairwise ---- */

/* Finds the i-th rank's place among the ranks that share its node: the first of them, and their number. */
static void find_node(const struct tsim_pattern *p, int32_t i, int32_t *start, int32_t *count) {
    int32_t node = node_of_rank(p->topology, p->ranks[i]), end = i + 1;
    for (*start = i; *start > 0 && node_of_rank(p->topology, p->ranks[*start - 1]) == node;)
        --*start;
    while (end < p->n_ranks && node_of_rank(p->topology, p->ranks[end]) == node)
        end++;
    *count = end - *start;
}

/* Returns the rank that message k of a lane goes to. Message k of all ranks together is a permutation if nodes hold
 * equally many, so that nobody receives two at a time. */
static int32_t peer_of(const struct tsim_pattern *p, int32_t lane, int32_t k) {
    int32_t i = lane / 2, start, g, n = p->n_ranks;
    find_node(p, i, &start, &g);
    if (lane % 2 == 0)
        return start + (i - start + 1 + k) % g;
    if (n % g == 0 && start % g == 0) /* node by node, and on each from its own place on */
        return ((start / g + 1 + k / g) % (n / g)) * g + (i - start + k % g) % g;
    return (start + g + (i - start + k) % (n - g)) % n;
}

int32_t tsim_pattern_route(const struct tsim_pattern *pattern, int32_t lane, int32_t k, struct tsim_route *route) {
    int32_t to = pattern->ranks[peer_of(pattern, lane, k)];
    tsim_topology_route(pattern->topology, pattern->ranks[lane / 2], to, route);
    return to;
}

/* ---- fluid ---- */

void tsim_pattern_link_bytes(const struct tsim_pattern *pattern, double *link_bytes) {
    for (int32_t i = 0; i < pattern->n_lanes * pattern->n_phases; i++) {
        const struct tsim_pattern_phase *phase = &pattern->phases[i];
        if (pattern->kind == TSIM_PATTERN_PAIRWISE) {
            struct tsim_route route;
            for (int32_t k = 0; k < phase->n_messages; k++) {
                tsim_pattern_route(pattern, i, k, &route);
                for (int32_t j = 0; j < route.n; j++)
                    link_bytes[route.links[j]] += phase->bytes;
            }
            continue;
        }
        for (int32_t j = 0; j < phase->n_shares; j++) {
            const struct tsim_share *share = &pattern->shares[phase->first_share + j];
            link_bytes[share->link] += share->frac * phase->bytes * phase->n_messages;
        }
    }
}

double tsim_pattern_fluid_s(const struct tsim_pattern *pattern) {
    const struct tsim_topology *topology = pattern->topology;
    double *link_bytes = NULL, flow_s = pattern->cost.time_s - pattern->cost.latency_s;
    size_t capacity = 0, n = (size_t)topology->n_links;
    if (pattern->n_lanes == 0)
        return pattern->cost.time_s;
    link_bytes = tsim_heap_grow(link_bytes, &capacity, n, sizeof *link_bytes);
    memset(link_bytes, 0, n * sizeof *link_bytes);
    tsim_pattern_link_bytes(pattern, link_bytes);
    for (size_t i = 0; i < n; i++)
        if (link_bytes[i] > flow_s * topology->bytes_per_s[i] * (1 + 1e-9))
            flow_s = link_bytes[i] / topology->bytes_per_s[i];
    tsim_heap_free(link_bytes);
    return pattern->cost.latency_s + flow_s;
}
