#include "cost/collective.h"

#include <math.h>
#include <string.h>

#define US 1e-6
#define GB_PER_S 1e9

/* ---- NCCL's tables (src/graph/tuning.cc), by protocol LL, LL128, Simple; microseconds ---- */

struct per_protocol {
    double ll, ll128, simple;
};

static double pick(const struct per_protocol *table, enum tsim_protocol protocol) {
    return protocol == TSIM_LL ? table->ll : protocol == TSIM_LL128 ? table->ll128 : table->simple;
}

enum link { LINK_NVLINK, LINK_PCI, LINK_NET };
static const struct per_protocol BASE_TREE = {6.8, 14, 8.4}, BASE_RING = {6.6, 14, 8.4};
static const struct per_protocol HW_TREE[] = {
    [LINK_NVLINK] = {0.6, 1.25, 4.0}, [LINK_PCI] = {1, 1.9, 4}, [LINK_NET] = {5, 8.5, 14}};
static const struct per_protocol HW_RING[] = {
    [LINK_NVLINK] = {0.6, 1.9, 3.4}, [LINK_PCI] = {1, 2.5, 5.7}, [LINK_NET] = {2.7, 4, 14}};
#define NVLS_LATENCY_US 25.0
#define NET_OVERHEAD_US 1.0 /* Intel hosts; three times that for Simple */
#define NET_OVERHEAD_SIMPLE_FACTOR 3.0

/* Most that LL carries in all, GB/s, by generation: one node; 2 nodes; 4 and more. */
static const struct {
    double one, two, more;
} LL_MAX[TSIM_N_LINK_GENERATIONS] = {[TSIM_LINK_VOLTA] = {39, 39, 20.4},
                                     [TSIM_LINK_AMPERE] = {87.7, 22.5, 19},
                                     [TSIM_LINK_HOPPER] = {141, 45, 35},
                                     [TSIM_LINK_BLACKWELL] = {282, 90, 70}};
#define LL_EFFICIENCY_FRAC 0.5
#define LL128_EFFICIENCY_FRAC 0.92
#define TREE_EFFICIENCY_FRAC 0.92
#define TREE_LL_DIVISOR 3.8
#define TREE_LL128_ONE_NODE_FRAC (7.0 / 9)
#define TREE_LL128_FRAC (120.0 / 128)
#define NVLS_MIN_RANKS 5    /* with fewer NCCL's own comparison never chooses it on NVLink 4 */
#define FULL_NODE_RANKS 8.0 /* the group for which a node's in-switch bus bandwidth is quoted */

/* Channels, each a kernel block that holds one compute unit: NCCL's search finds 24 rings on NVSwitch nodes; across
 * nodes two per NIC. Point to point uses a few. */
#define CHANNELS_SCALE_UP 24.0
#define CHANNELS_PER_NIC 2.0
#define CHANNELS_SEND 4.0
#define CHANNELS_NVLS 16.0

#define PLATEAU_SLICE_BYTES 64.0
#define PLATEAU_FACTOR 1.4
#define PLATEAU_FACTOR_VOLTA 1.9

const char *tsim_algorithm_name(enum tsim_algorithm algorithm) {
    static const char *const NAMES[] = {"auto", "ring", "tree", "nvls", "pairwise"};
    return NAMES[algorithm];
}

const char *tsim_protocol_name(enum tsim_protocol protocol) {
    static const char *const NAMES[] = {"auto", "LL", "LL128", "Simple"};
    return NAMES[protocol];
}

double tsim_ring_all_gather_s(int32_t n_ranks, double bytes, double bandwidth_bytes_per_s, double alpha_s) {
    double n = n_ranks;
    return (n - 1) / n * bytes / bandwidth_bytes_per_s + (n - 1) * alpha_s;
}

double tsim_ring_all_reduce_s(int32_t n_ranks, double bytes, double bandwidth_bytes_per_s, double alpha_s) {
    return 2 * tsim_ring_all_gather_s(n_ranks, bytes, bandwidth_bytes_per_s, alpha_s);
}

/* ---- volumes and latencies ---- */

static double n_steps(enum tsim_collective_op op, double n) {
    switch (op) {
    case TSIM_ALL_REDUCE:
        return 2 * (n - 1);
    case TSIM_BROADCAST:
        return n;
    case TSIM_SEND_RECV:
        return 1;
    case TSIM_ALL_GATHER:
    case TSIM_REDUCE_SCATTER:
    case TSIM_ALL_TO_ALL:
        break;
    }
    return n - 1;
}

/* Bytes that a rank of a ring sends; also what nccl-tests' bus bandwidth divides by the time. */
static double bus_bytes(enum tsim_collective_op op, double n, double bytes) {
    switch (op) {
    case TSIM_ALL_REDUCE:
        return 2 * (n - 1) / n * bytes;
    case TSIM_ALL_GATHER:
    case TSIM_REDUCE_SCATTER:
    case TSIM_ALL_TO_ALL:
        return (n - 1) / n * bytes;
    case TSIM_BROADCAST:
    case TSIM_SEND_RECV:
        break;
    }
    return bytes;
}

static enum link local_link(const struct tsim_cluster *c) {
    return c->is_over_pcie ? LINK_PCI : LINK_NVLINK;
}

static double net_overhead_us(enum tsim_protocol protocol) {
    return protocol == TSIM_SIMPLE ? NET_OVERHEAD_US * NET_OVERHEAD_SIMPLE_FACTOR : NET_OVERHEAD_US;
}

/* Steps between nodes take the network's latency, the others the local link's (at least the proxy's overhead where the
 * network is involved at all). */
static double ring_latency_us(const struct tsim_cluster *c, enum tsim_collective_op op, const struct tsim_group *g,
                              enum tsim_protocol protocol) {
    double steps = n_steps(op, g->n_ranks), inter_steps = 0;
    double local = pick(&HW_RING[local_link(c)], protocol);
    if (g->n_nodes > 1) {
        inter_steps = op == TSIM_ALL_REDUCE ? 2.0 * (g->n_nodes - 1) : g->n_nodes - 1;
        local = fmax(local, net_overhead_us(protocol));
    }
    inter_steps = fmin(inter_steps, steps);
    return pick(&BASE_RING, protocol) + (steps - inter_steps) * local +
           inter_steps * pick(&HW_RING[LINK_NET], protocol);
}

static double tree_latency_us(const struct tsim_cluster *c, const struct tsim_group *g, enum tsim_protocol protocol) {
    double local_steps = (double)g->n_ranks / g->n_nodes - 1, depth = ceil(log2((double)g->n_nodes));
    return pick(&BASE_TREE, protocol) +
           2 * (local_steps * pick(&HW_TREE[local_link(c)], protocol) + depth * pick(&HW_TREE[LINK_NET], protocol));
}

double tsim_collective_latency_s(const struct tsim_cluster *cluster, enum tsim_collective_op op,
                                 const struct tsim_group *group, enum tsim_algorithm algorithm,
                                 enum tsim_protocol protocol) {
    switch (algorithm) {
    case TSIM_NVLS:
        return US * NVLS_LATENCY_US;
    case TSIM_TREE:
        return US * tree_latency_us(cluster, group, protocol);
    case TSIM_ALGORITHM_AUTO:
    case TSIM_RING:
    case TSIM_PAIRWISE:
    case TSIM_N_ALGORITHMS:
        break;
    }
    return US * ring_latency_us(cluster, op, group, protocol);
}

/* ---- bandwidths ---- */

/* What the busiest link lets a ring carry: all scale-up links, or the NICs of the ranks on one node together. */
static double ring_bandwidth(const struct tsim_cluster *c, const struct tsim_group *g) {
    double nics = c->nic_bytes_per_s * g->min_ranks_per_node;
    if (g->n_nodes == 1)
        return c->scale_up_bytes_per_s;
    return g->max_ranks_per_node == 1 || c->scale_up_bytes_per_s <= 0 ? nics : fmin(c->scale_up_bytes_per_s, nics);
}

static double ll_max(const struct tsim_cluster *c, const struct tsim_group *g) {
    return GB_PER_S * (g->n_nodes == 1   ? LL_MAX[c->generation].one
                       : g->n_nodes <= 2 ? LL_MAX[c->generation].two
                                         : LL_MAX[c->generation].more);
}

static double protocol_bandwidth(const struct tsim_cluster *c, const struct tsim_group *g,
                                 enum tsim_algorithm algorithm, enum tsim_protocol protocol, double bus) {
    if (algorithm == TSIM_TREE) {
        double tree = TREE_EFFICIENCY_FRAC * bus;
        if (protocol == TSIM_LL)
            return fmin(tree / TREE_LL_DIVISOR, ll_max(c, g));
        if (protocol == TSIM_LL128)
            return tree * (g->n_nodes == 1 ? TREE_LL128_ONE_NODE_FRAC : TREE_LL128_FRAC);
        return tree;
    }
    if (protocol == TSIM_LL)
        return fmin(LL_EFFICIENCY_FRAC * bus, ll_max(c, g));
    return protocol == TSIM_LL128 ? LL128_EFFICIENCY_FRAC * bus : bus;
}

static double channels(const struct tsim_collective_request *r, enum tsim_algorithm algorithm) {
    if (r->op == TSIM_SEND_RECV)
        return CHANNELS_SEND;
    if (algorithm == TSIM_NVLS)
        return CHANNELS_NVLS;
    double nics = r->group.max_ranks_per_node;
    return r->group.n_nodes == 1 ? CHANNELS_SCALE_UP : fmin(CHANNELS_PER_NIC * nics, CHANNELS_SCALE_UP);
}

/* ---- one candidate ---- */

static double flow_s(const struct tsim_cluster *c, const struct tsim_collective_request *r,
                     enum tsim_algorithm algorithm, enum tsim_protocol protocol) {
    const struct tsim_group *g = &r->group;
    double n = g->n_ranks, bus = ring_bandwidth(c, g);
    if (algorithm == TSIM_NVLS) /* S through the switch at a rate that does not depend on n */
        return r->bytes * 2 * (FULL_NODE_RANKS - 1) / FULL_NODE_RANKS / c->scale_up_reduce_bytes_per_s;
    double bandwidth = protocol_bandwidth(c, g, algorithm, protocol, bus);
    return algorithm == TSIM_TREE ? 2 * r->bytes / bandwidth : bus_bytes(r->op, n, r->bytes) / bandwidth;
}

static double latency_s(const struct tsim_cluster *c, const struct tsim_collective_request *r,
                        enum tsim_algorithm algorithm, enum tsim_protocol protocol) {
    double s = tsim_collective_latency_s(c, r->op, &r->group, algorithm, protocol);
    /* Rings between nodes whose slices are not tiny: the proxies' round trips show (tuning.cc's plateau effect). */
    double slice = r->bytes / (channels(r, algorithm) * r->group.n_ranks);
    if (algorithm == TSIM_RING && protocol == TSIM_SIMPLE && r->op == TSIM_ALL_REDUCE && r->group.n_nodes > 1 &&
        slice >= PLATEAU_SLICE_BYTES)
        s *= c->generation == TSIM_LINK_VOLTA ? PLATEAU_FACTOR_VOLTA : PLATEAU_FACTOR;
    return s;
}

static bool is_allowed(const struct tsim_cluster *c, const struct tsim_collective_request *r,
                       enum tsim_algorithm algorithm, enum tsim_protocol protocol) {
    if ((r->algorithm != TSIM_ALGORITHM_AUTO && r->algorithm != algorithm) ||
        (r->protocol != TSIM_PROTOCOL_AUTO && r->protocol != protocol))
        return false;
    if (algorithm == TSIM_TREE)
        return r->op == TSIM_ALL_REDUCE;
    if (algorithm == TSIM_NVLS)
        return r->op == TSIM_ALL_REDUCE && protocol == TSIM_SIMPLE && c->scale_up_reduce_bytes_per_s > 0 &&
               r->group.n_nodes == 1 && r->group.n_ranks >= NVLS_MIN_RANKS;
    return protocol != TSIM_LL128 || !c->is_over_pcie; /* LL128 needs NVLink's write ordering */
}

static void all_to_all(const struct tsim_cluster *c, const struct tsim_collective_request *r,
                       struct tsim_collective_cost *cost) {
    double n = r->group.n_ranks, local = r->group.max_ranks_per_node, share = r->bytes / n;
    cost->algorithm = TSIM_PAIRWISE;
    cost->protocol = TSIM_SIMPLE;
    cost->scale_up_bytes = (local - 1) * share;
    cost->nic_bytes = (n - local) * share;
    double local_s = cost->scale_up_bytes > 0 ? cost->scale_up_bytes / c->scale_up_bytes_per_s : 0,
           net_s = cost->nic_bytes > 0 ? cost->nic_bytes / c->nic_bytes_per_s : 0;
    cost->latency_s = US * (BASE_RING.simple + HW_RING[r->group.n_nodes > 1 ? LINK_NET : local_link(c)].simple);
    cost->time_s = cost->latency_s + fmax(local_s, net_s);
}

/* Every message is read from HBM and written to HBM; reductions read the local part as well. */
static double hbm_bytes(enum tsim_collective_op op, double sent_bytes) {
    return (op == TSIM_ALL_REDUCE || op == TSIM_REDUCE_SCATTER ? 3 : 2) * sent_bytes;
}

static void candidate(const struct tsim_cluster *c, const struct tsim_collective_request *r,
                      enum tsim_algorithm algorithm, enum tsim_protocol protocol, struct tsim_collective_cost *cost) {
    double local = r->group.max_ranks_per_node, volume = bus_bytes(r->op, r->group.n_ranks, r->bytes);
    if (algorithm == TSIM_TREE)
        volume = 2 * r->bytes;
    if (algorithm == TSIM_NVLS)
        volume = r->bytes;
    cost->algorithm = algorithm;
    cost->protocol = protocol;
    cost->latency_s = latency_s(c, r, algorithm, protocol);
    cost->time_s = cost->latency_s + flow_s(c, r, algorithm, protocol);
    cost->scale_up_bytes = local > 1 ? volume : 0;
    cost->nic_bytes = r->group.n_nodes > 1 ? volume / local : 0;
}

static void choose(const struct tsim_cluster *c, const struct tsim_collective_request *r,
                   struct tsim_collective_cost *best) {
    best->time_s = INFINITY;
    for (int algorithm = TSIM_RING; algorithm <= TSIM_NVLS; algorithm++)
        for (int protocol = TSIM_LL; protocol <= TSIM_SIMPLE; protocol++) {
            struct tsim_collective_cost cost = {.time_s = INFINITY};
            if (!is_allowed(c, r, (enum tsim_algorithm)algorithm, (enum tsim_protocol)protocol))
                continue;
            candidate(c, r, (enum tsim_algorithm)algorithm, (enum tsim_protocol)protocol, &cost);
            if (cost.time_s < best->time_s)
                *best = cost;
        }
    if (isinf(best->time_s)) /* what was asked for does not exist here: a ring always does */
        candidate(c, r, TSIM_RING, TSIM_SIMPLE, best);
}

void tsim_collective_cost(const struct tsim_cluster *c, const struct tsim_collective_request *r,
                          struct tsim_collective_cost *cost) {
    memset(cost, 0, sizeof *cost);
    if (r->group.n_ranks <= 1 || !(r->bytes > 0))
        return;
    if (r->op == TSIM_ALL_TO_ALL)
        all_to_all(c, r, cost);
    else if (r->network == TSIM_NETWORK_IDEAL)
        candidate(c, r, TSIM_RING, TSIM_SIMPLE, cost);
    else
        choose(c, r, cost);
    if (r->network == TSIM_NETWORK_IDEAL) {
        cost->time_s -= cost->latency_s;
        cost->latency_s = 0;
    }
    cost->bus_bandwidth_bytes_per_s =
        cost->time_s > 0 ? bus_bytes(r->op, r->group.n_ranks, r->bytes) / cost->time_s : 0;
    cost->sm_frac = channels(r, cost->algorithm) / (double)c->accelerator->compute_units;
    cost->hbm_bytes = hbm_bytes(r->op, fmax(cost->scale_up_bytes, cost->nic_bytes));
    TSIM_ASSERT(isfinite(cost->time_s) && cost->time_s >= 0);
}
