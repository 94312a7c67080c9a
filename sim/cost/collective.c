/* A *plan* describes a collective: its latency, its payload on each kind of link (`up` bytes on the node's links, `nic`
 * bytes on NICs), the fraction f of a link's rate that the protocol reaches, a bound on S/t of its own, and the compute
 * units that its kernels hold. A plan's time is
 *
 *   t = latency + max( up / (f * scale_up), nic / (f * nic_share), S / bound ) + fill
 *
 * and AUTO takes the plan of least time, as NCCL does.
 *
 * Symbols: n ranks on N nodes, g on a node (g_min on the one that holds fewest), S bytes.
 *   ring            a rank forwards V bytes in all: 2(n-1)/n S for all_reduce, (n-1)/n S for all_gather and
 *                   reduce_scatter, S for broadcast. With g ranks of a channel on a node g - 1 forward over the node's
 *                   links and one over a NIC. Channels take turns at the NICs, so a rank sends V(g-1)/g up and V/g out.
 *   tree            all_reduce: a chain on the node carries S up and S down, 2S(g-1)/g a rank. Two binary trees carry
 *                   S/2 each between nodes, and a node with two children in one tree is a leaf in the other: it sends
 *                   S/2 + 2 S/2 and S/2 = 2S; of three nodes 3/2 S, of two S. Spread over the node's g NIC shares.
 *   nvls            the switch pulls every rank's S and sums: a rank sends S, then S/g that it hands the switch to
 *                   distribute: S(g+1)/g.
 *   nvls_tree       nvls on the node, trees as above between nodes.
 *   nvls_sharp      nvls on the node; the fabric's switches sum the S of all nodes, and a node sends and receives it once,
 *                   spread over its g NIC shares. Their rate is taken to be the links' (no measurement).
 *   hierarchical    scatter (g-1)/g S, ring of N over S/g, gather (g-1)/g S, one after the other.
 *   pairwise        S/n to each of g - 1 ranks on the node and n - g others; on one node over as many channels each as
 *                   NCCL gives a message, which on NVLink 5 do not fill its links until messages are long.
 * These are payloads; the flags that LL adds are in the fraction f.
 *
 * `fill` is the time that a pipeline of pieces costs beyond the flow of its bytes:
 *   nvls            each of n_c channels x g parts works through its bytes b in rounds of 16 KiB (few bytes) to 128 KiB
 *                   (many): max((b / 16 KiB)^0.7, b / 128 KiB) rounds, a smooth form of NCCL's steps. A round adds a
 *                   latency; the link's measured rate holds that of the largest rounds, so only what smaller ones add
 *                   is counted. One round is not overlapped. 8 H100, 2 MiB to 16 GiB: within 7 % of measured.
 *   nvls_tree       reduction and distribution of rounds of n_c x g x 128 KiB = C bytes are one after the other, and
 *                   rounds overlap: C (1 - exp(-S/C)) bytes' worth for each stage after the first.
 *   tree, Simple    between nodes a chunk waits for the flush of the one before it, a network hop each. NCCL grows the
 *                   chunk from 32 KiB such that there are about K = 4 x depth of them: K (1 - exp(-S / (K n_c 32 KiB)))
 *                   hops. 2 nodes of 8 A100 on EFA, 1 MiB to 2 GiB: within 20 % of measured; without it half of it.
 *
 * The first chunk of a broadcast is stored and forwarded whole at each NIC, because the proxy posts a chunk once the kernel
 * has filled it. Simple does so at each rank, too, where LL and LL128 hand on line by line. The chunk has each NIC on its
 * way to itself even if other groups of the node use the same NICs, since each is busy with it for one hop of many. NCCL's
 * model has the hops alone, so this time is not in the choice of a protocol.
 *
 * Not modelled here: other traffic (the engine shares links), stragglers, the host's launch time. */
#include "cost/collective.h"

#include "cluster/topology.h"
#include "config/provenance.h"
#include "cost/nccl_tables.h"
#include "cost/torus.h"

#include <math.h>

struct problem {
    struct tsim_term_recorder *recorder; /* NULL while plans are compared */
    const struct tsim_cluster *cluster;
    enum tsim_collective_op op;
    double bytes, n, nodes, g, g_min;
    double links; /* tsim_collective_links */
    int link;     /* LINK_NVLINK or LINK_PCI */
    bool is_ideal;
};

struct plan {
    enum tsim_algorithm algorithm;
    enum tsim_protocol protocol;
    struct tsim_amount latency;
    double up_bytes, nic_bytes, link_frac, bound_bytes_per_s, fill_s;
    double choice_s;    /* what NCCL's own model of a choice adds to latency and flow */
    bool is_sequential; /* one kind of link after another, not all at once */
    double channels, hbm_bytes;
};

static double fraction(double n) {
    return (n - 1) / n;
}

static int protocol_index(enum tsim_protocol protocol) {
    return (int)protocol - TSIM_PROTOCOL_LL;
}

/* ---- links and latencies ---- */

/* Each of g members of a full mesh has g - 1 links. The others wait for the node on which the group has the fewest
 * members. */
double tsim_collective_links(const struct tsim_cluster *cluster, enum tsim_collective_op op,
                             const struct tsim_group *group) {
    int32_t fewest = group->min_ranks_per_node > 1 ? group->min_ranks_per_node : group->max_ranks_per_node;
    if (cluster->node->scale_up == TSIM_SCALE_UP_MESH)
        return fewest - 1;
    if (cluster->node->scale_up != TSIM_SCALE_UP_CUBE_MESH || fewest < 2)
        return 1;
    bool is_apart = group->stride > 0 && (fewest - 1) * group->stride < TSIM_CUBE;
    int32_t stride = is_apart ? group->stride : 1;
    double links = op == TSIM_ALL_TO_ALL ? tsim_cube_mesh_exchange_links(fewest, stride)
                                         : tsim_cube_mesh_part_rings(fewest, stride);
    return links / TSIM_CUBE_RINGS;
}

/* Returns the rate of one accelerator towards the group's other ranks on its node, in bytes/s. */
static struct tsim_amount up_rate(const struct problem *p) {
    if (!p->recorder)
        return (struct tsim_amount){.value = p->cluster->pair_bytes_per_s * p->links};
    struct tsim_amount pair = tsim_cluster_pair_rate(p->recorder, p->cluster);
    if (p->links == 1)
        return pair;
    bool is_part = p->links < 1;
    return tsim_product(p->recorder, "links of the mesh within the group",
                        is_part ? "all links x share" : "of one link x links", TSIM_BYTES_PER_S,
                        TSIM_PARTS(pair, tsim_given(p->recorder, is_part ? "share of the links" : "links", p->links,
                                                    TSIM_COUNT, "ranks of the group on a node")));
}

static struct tsim_amount nccl(const struct problem *p, const char *name, double value, enum tsim_dimension dimension) {
    return tsim_given(p->recorder, name, value, dimension, "NCCL's tuning model (sim/cost/nccl_tables.h)");
}

static struct tsim_amount counted(const struct problem *p, const char *name, double value) {
    return tsim_given(p->recorder, name, value, TSIM_COUNT, "counted in the algorithm (sim/cost/collective.c)");
}

static const struct tsim_nccl *tuning(const struct problem *p) {
    return &p->cluster->accelerator->nccl;
}

static struct tsim_amount base(const struct problem *p, int row, enum tsim_protocol protocol) {
    return nccl(p, "start of the collective", tuning(p)->latency_factor * BASE_LATENCY_S[row][protocol_index(protocol)],
                TSIM_TIME_S);
}

static struct tsim_amount node_hop(const struct problem *p, int row, enum tsim_protocol protocol) {
    double reference = HOP_LATENCY_S[p->link][ROW_RING][0];
    return nccl(p, "a hop on the node",
                tuning(p)->latency_factor * HOP_LATENCY_S[p->link][row][protocol_index(protocol)] +
                    fmax(0, p->cluster->scale_up_latency_s - reference),
                TSIM_TIME_S);
}

/* Returns what a hop of this fabric takes beyond NCCL's. A flush follows Simple's data, so it crosses the fabric twice. */
static double fabric_extra_s(const struct problem *p, enum tsim_protocol protocol) {
    double extra = fmax(0, p->cluster->fabric_latency_s - REFERENCE_FABRIC_LATENCY_S);
    return protocol == TSIM_PROTOCOL_SIMPLE ? 2 * extra : extra;
}

static struct tsim_amount fabric_hop(const struct problem *p, int row, enum tsim_protocol protocol) {
    int its_row = p->g > 1 ? row : ROW_TREE;
    return nccl(p, "a hop between nodes",
                HOP_LATENCY_S[LINK_NET][its_row][protocol_index(protocol)] + fabric_extra_s(p, protocol), TSIM_TIME_S);
}

static struct tsim_amount hops(const struct problem *p, const char *name, double n, struct tsim_amount hop) {
    return tsim_product(p->recorder, name, "hops x latency of one", TSIM_TIME_S,
                        TSIM_PARTS(counted(p, "hops", n), hop));
}

static struct tsim_amount latency(const struct problem *p, const struct tsim_amount *parts, size_t n) {
    return tsim_sum(p->recorder, "latency", "start + hops", TSIM_TIME_S, parts, n);
}

static struct tsim_amount twice(const struct problem *p, const char *name, struct tsim_amount once) {
    return tsim_product(p->recorder, name, "twice", TSIM_TIME_S, TSIM_PARTS(counted(p, "there and back", 2), once));
}

static struct tsim_amount ring_latency(const struct problem *p, enum tsim_protocol protocol, double steps,
                                       double fabric_steps) {
    struct tsim_amount hop = node_hop(p, ROW_RING, protocol);
    if (p->nodes > 1)
        hop = tsim_largest(
            p->recorder, "a hop on the node, no less than a NIC's work", "the longer of the two", TSIM_TIME_S,
            TSIM_PARTS(hop, nccl(p, "a NIC's work on a message",
                                 NET_OVERHEAD_S * (protocol == TSIM_PROTOCOL_SIMPLE ? NET_OVERHEAD_SIMPLE_POSTS : 1),
                                 TSIM_TIME_S)));
    return latency(p, TSIM_PARTS(base(p, ROW_RING, protocol), hops(p, "on the node", steps - fabric_steps, hop),
                                 hops(p, "between nodes", fabric_steps, fabric_hop(p, ROW_RING, protocol))));
}

/* Returns the steps between the root of a binary tree of so many nodes and its leaves. */
static double tree_depth(double nodes) {
    double depth = 0;
    for (; nodes >= 2; nodes /= 2)
        depth++;
    return depth;
}

/* ---- kernels ---- */

static double channels(const struct problem *p, double on_node) {
    if (p->nodes == 1)
        return on_node;
    double n = fmin(on_node, fmax(CHANNELS_PER_NIC, CHANNELS_PER_NIC * p->g_min * p->cluster->nics_per_accelerator));
    bool is_fast = n < FEW_CHANNELS && p->cluster->node->nic_bytes_per_s > FAST_NIC_BYTES_PER_S;
    return is_fast ? fmin(on_node, tuning(p)->fast_nic_channels * n) : n;
}

/* Returns the channels of messages: those of collectives, rounded up to a power of two: 32 for 24 (src/graph/paths.cc,
 * ncclTopoComputeP2pChannels). */
static double message_channels(const struct problem *p) {
    return exp2(ceil(log2(channels(p, tuning(p)->channels))));
}

/* Memory is accessed twice for each byte that rings, trees and chains forward. The byte is stored in the channel's buffer
 * where it arrives, and then written to the result or added to a byte that is read of the rank's own. Reading the buffer is
 * not counted: a chunk (CHUNK_BYTES) is still in the cache then, although all buffers (4 MiB a channel) are not. */
#define RING_TOUCHES 2

/* ---- plans ---- */

static double ll_limit(const struct problem *p) {
    if (p->nodes == 1)
        return tuning(p)->ll_bytes_per_s;
    return p->nodes == 2 ? LL_MAX_2_NODES_BYTES_PER_S : LL_MAX_NODES_BYTES_PER_S;
}

static void ring_plan(const struct problem *p, enum tsim_protocol protocol, struct plan *plan) {
    double passes = p->op == TSIM_ALL_REDUCE ? 2 : 1;
    double share = p->op == TSIM_BROADCAST ? 1 : fraction(p->n);
    double volume = passes * share * p->bytes;
    *plan = (struct plan){.algorithm = TSIM_ALGORITHM_RING,
                          .protocol = protocol,
                          .latency = ring_latency(p, protocol, passes * (p->n - 1), passes * (p->nodes - 1)),
                          .up_bytes = volume * (p->nodes > 1 ? fraction(p->g) : 1),
                          .nic_bytes = p->nodes > 1 ? volume / p->g_min : 0,
                          .link_frac = RING_FRAC[protocol_index(protocol)],
                          .channels = channels(p, tuning(p)->channels),
                          .hbm_bytes = RING_TOUCHES * volume};
    if (protocol == TSIM_PROTOCOL_LL)
        plan->bound_bytes_per_s = ll_limit(p) / (passes * share);
    if (p->op == TSIM_BROADCAST &&
        p->nodes > 1) /* all hops are the network's there, as rings change NICs (tuning.cc) */
        plan->choice_s = base(p, ROW_RING, protocol).value +
                         (p->n - 1) * HOP_LATENCY_S[LINK_NET][ROW_RING][protocol_index(protocol)] - plan->latency.value;
    if (p->op == TSIM_ALL_REDUCE && protocol == TSIM_PROTOCOL_SIMPLE && p->nodes > 1 &&
        p->bytes / (plan->channels * p->n) >= PLATEAU_BYTES)
        plan->latency = tsim_product(p->recorder, "latency of a long ring", "latency x plateau", TSIM_TIME_S,
                                     TSIM_PARTS(plan->latency, nccl(p, "plateau", tuning(p)->plateau, TSIM_FRACTION)));
}

/* Returns the correction of tree bandwidth. The table's sizes are powers of two; straight lines between them in
 * log2(bytes) keep time rising with bytes. */
static double tree_correction(double bytes, enum tsim_protocol protocol) {
    const double *table = TREE_CORRECTION[protocol_index(protocol)];
    double at = log2(bytes / 64);
    if (at <= 0)
        return table[0];
    if (at >= N_TREE_SIZES)
        return 1;
    int below = (int)at;
    double next = below + 1 < N_TREE_SIZES ? table[below + 1] : 1;
    return table[below] + (at - below) * (next - table[below]);
}

/* Returns what the busiest node sends, in units of S (`tree` above). */
static double tree_sends(double nodes) {
    return nodes >= 4 ? 2 : nodes == 3 ? 1.5 : nodes == 2 ? 1 : 0;
}

/* Returns the bound on S/t: S goes up and down each channel. */
static double tree_bound(const struct problem *p) {
    if (p->nodes == 1 || p->is_ideal)
        return 0;
    double n_channels = fmax(1, p->g_min * p->cluster->nics_per_accelerator);
    return n_channels * (p->nodes == 2 ? tuning(p)->tree_channel_2_bytes_per_s : tuning(p)->tree_channel_bytes_per_s) /
           2;
}

/* Returns the time of the hops that Simple's chunks wait for (`fill` above). */
static double tree_fill_s(const struct problem *p, double n_channels) {
    double n_chunks = TREE_CHUNKS_PER_DEPTH * (p->g - 1 + tree_depth(p->nodes));
    double full = n_chunks * n_channels * TREE_LEAST_CHUNK_BYTES;
    return -expm1(-p->bytes / full) * n_chunks * fabric_hop(p, ROW_TREE, TSIM_PROTOCOL_SIMPLE).value;
}

static struct tsim_amount tree_latency(const struct problem *p, enum tsim_protocol protocol) {
    struct tsim_amount there =
        tsim_sum(p->recorder, "hops to the root", "along the chain and up the tree", TSIM_TIME_S,
                 TSIM_PARTS(hops(p, "along the chain of a node", p->g - 1, node_hop(p, ROW_TREE, protocol)),
                            hops(p, "up the tree of nodes", tree_depth(p->nodes), fabric_hop(p, ROW_TREE, protocol))));
    return latency(p, TSIM_PARTS(base(p, ROW_TREE, protocol), twice(p, "to the root and back", there)));
}

static void tree_plan(const struct problem *p, enum tsim_protocol protocol, struct plan *plan) {
    double frac = TREE_FRAC;
    bool is_chunked = p->nodes > 1 && protocol == TSIM_PROTOCOL_SIMPLE;
    if (protocol == TSIM_PROTOCOL_LL)
        frac *= TREE_LL_FRAC;
    if (protocol == TSIM_PROTOCOL_LL128)
        frac *= p->nodes == 1 ? TREE_LL128_NODE_FRAC : TREE_LL128_FRAC;
    if (!p->is_ideal && !is_chunked)
        frac *= tree_correction(p->bytes, protocol);
    *plan = (struct plan){.algorithm = TSIM_ALGORITHM_TREE,
                          .protocol = protocol,
                          .latency = tree_latency(p, protocol),
                          .up_bytes = 2 * fraction(p->g) * p->bytes,
                          .nic_bytes = tree_sends(p->nodes) * p->bytes / p->g_min,
                          .link_frac = frac,
                          .bound_bytes_per_s = protocol == TSIM_PROTOCOL_LL ? ll_limit(p) / 2 : tree_bound(p),
                          .channels = channels(p, tuning(p)->channels),
                          .hbm_bytes = RING_TOUCHES * 2 * p->bytes};
    if (is_chunked)
        plan->fill_s = tree_fill_s(p, plan->channels);
}

static double nvls_fill_s(const struct problem *p, double n_channels, double bytes_per_s) {
    double part = p->bytes / (n_channels * p->g);
    double least = part / NVLS_CHUNK_BYTES;
    double rounds = fmax(1, fmax(pow(part / NVLS_LEAST_CHUNK_BYTES, NVLS_ROUNDS_EXPONENT), least));
    double extra = tuning(p)->latency_factor * NVLS_ROUND_LATENCY_S * (rounds - least);
    return extra + (p->bytes / bytes_per_s + extra) / (rounds + 1);
}

/* Returns the depth of the tree that sums nodes: one level if the fabric's switches do it. */
static double nvls_depth(const struct problem *p, enum tsim_algorithm algorithm) {
    return algorithm == TSIM_ALGORITHM_NVLS_SHARP ? 1 : tree_depth(p->nodes);
}

static double nvls_tree_fill_s(const struct problem *p, double depth, double n_channels, double bytes_per_s) {
    double in_flight = (1 + 2 * depth) * n_channels * p->g * NVLS_CHUNK_BYTES;
    return in_flight * -expm1(-p->bytes / in_flight) / bytes_per_s;
}

static struct tsim_amount nvls_latency(const struct problem *p, double depth) {
    struct tsim_amount start =
        nccl(p, "start of the collective", tuning(p)->latency_factor * NVLS_LATENCY_S, TSIM_TIME_S);
    struct tsim_amount hop =
        nccl(p, "a hop between nodes", NVLS_TREE_HOP_LATENCY_S + fabric_extra_s(p, TSIM_PROTOCOL_SIMPLE), TSIM_TIME_S);
    return latency(p, TSIM_PARTS(start, hops(p, "up the tree of nodes and back", 2 * depth, hop)));
}

static void nvls_like_plan(const struct problem *p, enum tsim_algorithm algorithm, struct plan *plan) {
    bool is_tree = p->nodes > 1;
    double volume = (p->g + 1) / p->g * p->bytes, depth = nvls_depth(p, algorithm);
    double sends = algorithm == TSIM_ALGORITHM_NVLS_SHARP ? 1 : tree_sends(p->nodes);
    double link = p->cluster->scale_up_reduce_bytes_per_s;
    double rate = p->bytes / (volume / link) * (is_tree ? NVLS_TREE_FRAC : 1); /* of S */
    double n_channels = is_tree ? tuning(p)->nvls_channels_nodes : tuning(p)->nvls_channels;
    *plan = (struct plan){.algorithm = algorithm,
                          .protocol = TSIM_PROTOCOL_SIMPLE,
                          .latency = nvls_latency(p, depth),
                          .up_bytes = volume,
                          .nic_bytes = sends * p->bytes / p->g_min,
                          .link_frac = 1,
                          .bound_bytes_per_s = rate,
                          .fill_s =
                              is_tree ? nvls_tree_fill_s(p, depth, n_channels, rate) : nvls_fill_s(p, n_channels, rate),
                          .channels = n_channels,
                          .hbm_bytes = 2 * p->bytes};
}

static void nvls_plan(const struct problem *p, enum tsim_protocol protocol, struct plan *plan) {
    (void)protocol;
    nvls_like_plan(p, p->nodes > 1 ? TSIM_ALGORITHM_NVLS_TREE : TSIM_ALGORITHM_NVLS, plan);
}

static void nvls_sharp_plan(const struct problem *p, enum tsim_protocol protocol, struct plan *plan) {
    (void)protocol;
    nvls_like_plan(p, TSIM_ALGORITHM_NVLS_SHARP, plan);
}

static void hierarchical_plan(const struct problem *p, enum tsim_protocol protocol, struct plan *plan) {
    (void)protocol;
    struct problem node = *p, across = *p;
    node.nodes = 1;
    node.n = p->g;
    across.g = across.g_min = 1;
    across.n = p->nodes;
    *plan = (struct plan){
        .algorithm = TSIM_ALGORITHM_HIERARCHICAL,
        .protocol = TSIM_PROTOCOL_SIMPLE,
        .latency =
            latency(p, TSIM_PARTS(twice(p, "scatter and gather on the node",
                                        ring_latency(&node, TSIM_PROTOCOL_SIMPLE, p->g - 1, 0)),
                                  ring_latency(&across, TSIM_PROTOCOL_SIMPLE, 2 * (p->nodes - 1), 2 * (p->nodes - 1)))),
        .up_bytes = 2 * fraction(p->g) * p->bytes,
        .nic_bytes = 2 * fraction(p->nodes) * p->bytes / p->g,
        .link_frac = 1,
        .is_sequential = true,
        .channels = channels(p, tuning(p)->channels),
        .hbm_bytes = RING_TOUCHES * 2 * (fraction(p->g) * p->bytes + fraction(p->nodes) * p->bytes / p->g)};
}

/* Returns the fraction of the node's links that messages to all of its other ranks fill at once. */
static double messages_frac(const struct problem *p) {
    double message_bytes = p->bytes / p->n, each = P2P_CHANNELS; /* channels to one rank */
    if (p->is_ideal || p->link != LINK_NVLINK || p->nodes > 1)
        return 1;
    while (each * p->n > P2P_CHANNELS && each > 1)
        each /= 2;
    while (message_bytes / each > P2P_LONGEST_PART_BYTES && each <= P2P_CHANNELS / 2)
        each *= 2;
    return fmin(1, (p->n - 1) * each * P2P_CHANNEL_BYTES_PER_S / up_rate(p).value);
}

/* Returns the bytes of one rank's buffer that pass per second if `below` ranks lie together behind a link of
 * `bytes_per_s`, which carries their messages to all others; 0 if there is no such link, or nothing crosses it. */
static double behind_link_bytes_per_s(const struct problem *p, double below, double bytes_per_s) {
    double k = fmin(below, p->g);
    return below > 0 && k < p->n ? bytes_per_s * p->n / (k * (p->n - k)) : 0;
}

static double smaller_bound(double a, double b) {
    return a > 0 && b > 0 ? fmin(a, b) : fmax(a, b);
}

static void pairwise_plan(const struct problem *p, enum tsim_protocol protocol, struct plan *plan) {
    double near = p->g - 1, far = p->n - p->g_min; /* fewest ranks on the node: most messages leave it */
    const struct tsim_node *node = p->cluster->node;
    *plan = (struct plan){
        .algorithm = TSIM_ALGORITHM_PAIRWISE,
        .protocol = protocol,
        .latency = latency(
            p, TSIM_PARTS(base(p, ROW_RING, protocol),
                          hops(p, "on the node", ceil(near / P2P_PEERS_AT_ONCE), node_hop(p, ROW_RING, protocol)),
                          hops(p, "between nodes", p->nodes > 1 ? ceil(far / P2P_PEERS_AT_ONCE) : 0,
                               fabric_hop(p, ROW_RING, protocol)))),
        .up_bytes = near / p->n * p->bytes,
        .nic_bytes = p->nodes > 1 ? far / p->n * p->bytes : 0,
        .link_frac = RING_FRAC[protocol_index(protocol)] * messages_frac(p),
        .channels = message_channels(p),
        .hbm_bytes = 2 * p->bytes};
    if (p->nodes > 1 && !p->is_ideal)
        plan->bound_bytes_per_s = PAIRWISE_NET_FRAC * plan->link_frac * p->cluster->nic_bytes_per_s * p->n / far;
    /* On a tree of PCIe, the accelerators below a switch or on a socket share its way out. */
    if (p->nodes == 1 && node->scale_up == TSIM_SCALE_UP_PCIE && !p->is_ideal)
        plan->bound_bytes_per_s = smaller_bound(
            behind_link_bytes_per_s(p, (double)node->accelerators_per_switch, node->switch_uplink_bytes_per_s),
            behind_link_bytes_per_s(p, (double)node->accelerators_per_socket, node->socket_link_bytes_per_s));
}

static void direct_plan(const struct problem *p, enum tsim_protocol protocol, struct plan *plan) {
    bool is_near = p->nodes == 1;
    *plan = (struct plan){
        .algorithm = TSIM_ALGORITHM_DIRECT,
        .protocol = protocol,
        .latency = latency(p, TSIM_PARTS(base(p, ROW_RING, protocol), is_near ? node_hop(p, ROW_RING, protocol)
                                                                              : fabric_hop(p, ROW_RING, protocol))),
        .up_bytes = is_near ? p->bytes : 0,
        .nic_bytes = is_near ? 0 : p->bytes,
        .link_frac = RING_FRAC[protocol_index(protocol)],
        .channels = message_channels(p),
        .hbm_bytes = p->bytes};
}

/* ---- time and choice ---- */

/* Returns bytes / rate; 0 if there is nothing to send or no such limit. */
static double over(double bytes, double bytes_per_s) {
    return bytes > 0 && bytes_per_s > 0 ? bytes / bytes_per_s : 0;
}

static struct tsim_amount link_time(const struct problem *p, const char *name, double bytes, double frac,
                                    struct tsim_amount rate) {
    if (!(bytes > 0 && frac * rate.value > 0))
        return tsim_given(p->recorder, name, 0, TSIM_TIME_S, "nothing is sent there");
    struct tsim_amount reached =
        tsim_product(p->recorder, "rate that the protocol reaches", "its part of the link's rate x rate",
                     TSIM_BYTES_PER_S, TSIM_PARTS(nccl(p, "part of the link's rate", frac, TSIM_FRACTION), rate));
    return tsim_product(p->recorder, name, "bytes / rate", TSIM_TIME_S,
                        TSIM_PARTS(tsim_given(p->recorder, "bytes that an accelerator sends", bytes, TSIM_BYTES,
                                              "counted in the algorithm (sim/cost/collective.c)"),
                                   tsim_inverse(reached)));
}

static struct tsim_amount nothing(const struct problem *p) {
    return tsim_given(p->recorder, "no link", 0, TSIM_BYTES_PER_S, "the group does not need it");
}

static struct tsim_amount flow(const struct problem *p, const struct plan *plan) {
    struct tsim_term_recorder *r = p->recorder;
    bool in_switch = plan->algorithm == TSIM_ALGORITHM_NVLS || plan->algorithm == TSIM_ALGORITHM_NVLS_TREE ||
                     plan->algorithm == TSIM_ALGORITHM_NVLS_SHARP;
    struct tsim_amount link = up_rate(p), share = {.value = p->cluster->nic_bytes_per_s};
    if (in_switch)
        link = r ? tsim_cluster_reduce_rate(r, p->cluster)
                 : (struct tsim_amount){.value = p->cluster->scale_up_reduce_bytes_per_s};
    if (r)
        share = p->cluster->fabric ? tsim_cluster_nic_rate(r, p->cluster) : nothing(p);
    struct tsim_amount up = link_time(p, "on the node's links", plan->up_bytes, plan->link_frac, link);
    struct tsim_amount nic = link_time(p, "through the NICs", plan->nic_bytes, plan->link_frac, share);
    struct tsim_amount links =
        plan->is_sequential
            ? tsim_sum(r, "on the links", "one after the other", TSIM_TIME_S, TSIM_PARTS(up, nic))
            : tsim_largest(r, "on the links", "the slower of the two", TSIM_TIME_S, TSIM_PARTS(up, nic));
    if (plan->bound_bytes_per_s > 0)
        links = tsim_largest(
            r, "on the links, or at the algorithm's own limit", "the longer of the two", TSIM_TIME_S,
            TSIM_PARTS(links, tsim_product(r, "at the algorithm's own limit", "bytes / limit", TSIM_TIME_S,
                                           TSIM_PARTS(tsim_given(r, "bytes", p->bytes, TSIM_BYTES,
                                                                 "the operator's shape (sim/model/operators.h)"),
                                                      tsim_inverse(nccl(p, "limit of algorithm and protocol",
                                                                        plan->bound_bytes_per_s, TSIM_BYTES_PER_S))))));
    return tsim_sum(r, "flow", "links, and the filling of a pipeline of pieces", TSIM_TIME_S,
                    TSIM_PARTS(links, nccl(p, "pieces in a pipeline", plan->fill_s, TSIM_TIME_S)));
}

typedef void (*make_fn)(const struct problem *p, enum tsim_protocol protocol, struct plan *plan);

struct choice {
    make_fn make;
    struct plan plan;
    struct tsim_amount flow;
};

static struct choice choice_of(const struct problem *p, make_fn make, enum tsim_protocol protocol) {
    struct choice choice = {.make = make};
    make(p, protocol, &choice.plan);
    if (p->is_ideal) {
        choice.plan.latency = (struct tsim_amount){0};
        choice.plan.fill_s = 0;
    }
    choice.flow = flow(p, &choice.plan);
    return choice;
}

static double chosen_by_s(const struct choice *choice) {
    return choice->plan.latency.value + choice->flow.value + choice->plan.choice_s;
}

static void consider(const struct problem *p, make_fn make, enum tsim_protocol protocol, struct choice *best) {
    struct choice choice = choice_of(p, make, protocol);
    if (!best->make || chosen_by_s(&choice) < chosen_by_s(best))
        *best = choice;
}

/* Returns whether protocols with flags work. LL and LL128 mark data as complete by flags among it, so the fabric must
 * deliver in order. */
static bool has_flag_protocols(const struct problem *p) {
    return p->nodes == 1 || !p->cluster->fabric || !p->cluster->fabric->is_unordered;
}

/* Returns whether LL128 works, which needs NVLink. Between nodes whose switch can reduce, no measured all-reduce
 * follows its trees from 1 MiB on: they follow nvls_tree, though NCCL's model would have LL128 faster. */
static bool can_ll128(const struct problem *p) {
    bool has_nvls_tree =
        p->op == TSIM_ALL_REDUCE && p->nodes > 1 && p->g_min > 1 && p->cluster->scale_up_reduce_bytes_per_s > 0;
    return p->link == LINK_NVLINK && !has_nvls_tree && has_flag_protocols(p);
}

static bool can_protocol(const struct problem *p, enum tsim_protocol protocol) {
    if (protocol == TSIM_PROTOCOL_LL128)
        return can_ll128(p);
    return protocol == TSIM_PROTOCOL_LL ? has_flag_protocols(p) : true;
}

static bool uses_protocol(const struct problem *p, enum tsim_protocol wanted, enum tsim_protocol protocol) {
    if (p->is_ideal)
        return protocol == TSIM_PROTOCOL_SIMPLE;
    return can_protocol(p, protocol) && (wanted == TSIM_PROTOCOL_AUTO || wanted == protocol);
}

static void consider_all_protocols(const struct problem *p, enum tsim_protocol wanted, make_fn make,
                                   struct choice *best) {
    for (int i = TSIM_PROTOCOL_LL; i <= TSIM_PROTOCOL_SIMPLE; i++)
        if (uses_protocol(p, wanted, (enum tsim_protocol)i))
            consider(p, make, (enum tsim_protocol)i, best);
}

bool tsim_collective_can(const struct tsim_cluster *cluster, enum tsim_collective_op op, const struct tsim_group *group,
                         enum tsim_algorithm algorithm) {
    bool reduces_in_switch = cluster->scale_up_reduce_bytes_per_s > 0 && group->min_ranks_per_node > 1;
    if (cluster->torus_shape[0] > 0)
        return algorithm == TSIM_ALGORITHM_AUTO || algorithm == TSIM_ALGORITHM_TORUS;
    switch (algorithm) {
    case TSIM_ALGORITHM_AUTO:
        return true;
    case TSIM_ALGORITHM_RING:
        return op != TSIM_ALL_TO_ALL && op != TSIM_SEND_RECV;
    case TSIM_ALGORITHM_TREE:
        return op == TSIM_ALL_REDUCE;
    case TSIM_ALGORITHM_NVLS:
        return op == TSIM_ALL_REDUCE && reduces_in_switch && group->n_nodes == 1;
    case TSIM_ALGORITHM_NVLS_TREE:
        return op == TSIM_ALL_REDUCE && reduces_in_switch && group->n_nodes > 1;
    case TSIM_ALGORITHM_NVLS_SHARP:
        return op == TSIM_ALL_REDUCE && reduces_in_switch && group->n_nodes > 1 && cluster->fabric &&
               cluster->fabric->reduces;
    case TSIM_ALGORITHM_HIERARCHICAL:
        return op == TSIM_ALL_REDUCE && group->n_nodes > 1 && group->min_ranks_per_node > 1 &&
               group->min_ranks_per_node == group->max_ranks_per_node;
    case TSIM_ALGORITHM_PAIRWISE:
        return op == TSIM_ALL_TO_ALL;
    case TSIM_ALGORITHM_DIRECT:
        return op == TSIM_SEND_RECV;
    case TSIM_ALGORITHM_TORUS:
    case TSIM_N_ALGORITHMS:
        break;
    }
    return false;
}

/* Returns the protocol of messages. Send and receive have no LL128. If no protocol is asked for, short messages take
 * LL. */
static enum tsim_protocol message_protocol(const struct problem *p, enum tsim_protocol wanted) {
    double message = p->op == TSIM_ALL_TO_ALL ? p->bytes / p->n : p->bytes;
    if (p->is_ideal || !can_protocol(p, TSIM_PROTOCOL_LL))
        return TSIM_PROTOCOL_SIMPLE;
    if (wanted == TSIM_PROTOCOL_LL || wanted == TSIM_PROTOCOL_SIMPLE)
        return wanted;
    return message <= P2P_LL_BYTES ? TSIM_PROTOCOL_LL : TSIM_PROTOCOL_SIMPLE;
}

static void choose(const struct problem *p, const struct tsim_collective_request *request, struct choice *best) {
    enum tsim_algorithm wanted = request->algorithm;
    enum tsim_protocol protocol = request->protocol;
    if (!tsim_collective_can(p->cluster, p->op, &request->group, wanted))
        wanted = TSIM_ALGORITHM_AUTO;
    bool any = wanted == TSIM_ALGORITHM_AUTO;
    if (p->op == TSIM_ALL_TO_ALL || p->op == TSIM_SEND_RECV) {
        protocol = message_protocol(p, protocol);
        consider(p, p->op == TSIM_ALL_TO_ALL ? pairwise_plan : direct_plan, protocol, best);
        return;
    }
    if (wanted == TSIM_ALGORITHM_HIERARCHICAL) {
        consider(p, hierarchical_plan, protocol, best);
        return;
    }
    if (!can_protocol(p, protocol))
        protocol = TSIM_PROTOCOL_AUTO;
    if (any || wanted == TSIM_ALGORITHM_RING)
        consider_all_protocols(p, protocol, ring_plan, best);
    if (p->op != TSIM_ALL_REDUCE)
        return;
    if (any || wanted == TSIM_ALGORITHM_TREE)
        consider_all_protocols(p, protocol, tree_plan, best);
    enum tsim_algorithm in_switch = p->nodes > 1 ? TSIM_ALGORITHM_NVLS_TREE : TSIM_ALGORITHM_NVLS;
    if ((wanted == in_switch || (any && uses_protocol(p, protocol, TSIM_PROTOCOL_SIMPLE))) &&
        tsim_collective_can(p->cluster, p->op, &request->group, in_switch))
        consider(p, nvls_plan, protocol, best);
    if ((wanted == TSIM_ALGORITHM_NVLS_SHARP || (any && uses_protocol(p, protocol, TSIM_PROTOCOL_SIMPLE))) &&
        tsim_collective_can(p->cluster, p->op, &request->group, TSIM_ALGORITHM_NVLS_SHARP))
        consider(p, nvls_sharp_plan, protocol, best);
}

/* Returns the fraction of the compute units that channels hold: none on TPU, Trainium, Gaudi and the like, which have engines
 * for collectives beside their cores. */
static double compute_units_frac(const struct tsim_accelerator *accelerator, double n_channels) {
    if (accelerator->execution != TSIM_EXECUTION_LAUNCHED)
        return 0;
    double units = (double)accelerator->compute_units;
    return units >= 2 * n_channels ? n_channels / units : 0;
}

double tsim_bus_factor(enum tsim_collective_op op, int32_t n_ranks) {
    switch (op) {
    case TSIM_ALL_REDUCE:
        return 2 * fraction(n_ranks);
    case TSIM_ALL_GATHER:
    case TSIM_REDUCE_SCATTER:
    case TSIM_ALL_TO_ALL:
        return fraction(n_ranks);
    case TSIM_BROADCAST:
    case TSIM_SEND_RECV:
    case TSIM_N_COLLECTIVE_OPS:
        break;
    }
    return 1;
}

/* Returns the rate at which the group's ranks of a node send while no other group does: each has a NIC, if there are as
 * many. */
static double own_nics_bytes_per_s(const struct problem *p) {
    const struct tsim_cluster *cluster = p->cluster;
    double each = cluster->nics_per_accelerator, all = each * (double)cluster->accelerators_per_node;
    return cluster->nic_bytes_per_s / each * fmin(all, p->g_min * fmax(1, each));
}

/* Returns the latency of a broadcast, with the waits of its first chunk (above). */
static struct tsim_amount first_chunk_latency(const struct problem *p, const struct plan *plan) {
    double bytes = fmin(CHUNK_BYTES[protocol_index(plan->protocol)] * plan->channels, p->bytes) / plan->link_frac;
    double waits_s = p->nodes > 1 ? (p->nodes - 1) * over(bytes, own_nics_bytes_per_s(p)) : 0;
    if (plan->protocol == TSIM_PROTOCOL_SIMPLE)
        waits_s += (p->n - p->nodes) * over(bytes, p->cluster->pair_bytes_per_s * p->links);
    return tsim_sum(p->recorder, "latency, and the way of the first chunk", "latency + chunk by chunk", TSIM_TIME_S,
                    TSIM_PARTS(plan->latency, nccl(p, "first chunk, stored and forwarded", waits_s, TSIM_TIME_S)));
}

/* Costs a collective by the algorithm and protocol of NCCL that are fastest, or asked for. */
static void nccl_cost(const struct tsim_cluster *cluster, const struct tsim_collective_request *request,
                      struct tsim_collective_cost *cost) {
    const struct tsim_group *group = &request->group;
    TSIM_ASSERT(group->n_nodes == 1 || cluster->nic_bytes_per_s > 0);
    TSIM_ASSERT(group->max_ranks_per_node == 1 || cluster->pair_bytes_per_s > 0);
    enum tsim_scale_up kind = cluster->node->scale_up;
    struct problem p = {.cluster = cluster,
                        .op = request->op,
                        .bytes = request->bytes,
                        .n = group->n_ranks,
                        .nodes = group->n_nodes,
                        .g = group->max_ranks_per_node,
                        .g_min = group->min_ranks_per_node,
                        .links = tsim_collective_links(cluster, request->op, group),
                        .link = kind == TSIM_SCALE_UP_NONE || kind == TSIM_SCALE_UP_PCIE ? LINK_PCI : LINK_NVLINK,
                        .is_ideal = request->network == TSIM_NETWORK_IDEAL};
    struct choice best = {0};
    choose(&p, request, &best);
    if (request->recorder) {
        p.recorder = request->recorder;
        best = choice_of(&p, best.make, best.plan.protocol);
    }
    if (p.op == TSIM_BROADCAST && !p.is_ideal)
        best.plan.latency = first_chunk_latency(&p, &best.plan);
    cost->algorithm = best.plan.algorithm;
    cost->protocol = best.plan.protocol;
    cost->latency_s = best.plan.latency.value;
    struct tsim_amount time =
        tsim_sum(p.recorder,
                 tsim_record_text(p.recorder, "%s by %s, %s, alone", tsim_collective_op_name(request->op),
                                  tsim_algorithm_name(cost->algorithm), tsim_protocol_name(cost->protocol)),
                 "latency + flow", TSIM_TIME_S, TSIM_PARTS(best.plan.latency, best.flow));
    cost->time_s = time.value;
    cost->term = time.term;
    cost->scale_up_bytes = best.plan.up_bytes;
    cost->nic_bytes = best.plan.nic_bytes;
    double own_s = over(p.bytes, best.plan.bound_bytes_per_s) + best.plan.fill_s;
    cost->bound_bytes_per_s = over(p.bytes, own_s);
    cost->sm_frac = compute_units_frac(cluster->accelerator, best.plan.channels);
    cost->hbm_bytes = best.plan.hbm_bytes;
}

void tsim_collective_cost(const struct tsim_cluster *cluster, const struct tsim_collective_request *request,
                          struct tsim_collective_cost *cost) {
    const struct tsim_group *group = &request->group;
    *cost = (struct tsim_collective_cost){0};
    TSIM_ASSERT(group->n_ranks >= 1 && group->n_nodes >= 1 && request->bytes >= 0);
    if (group->n_ranks == 1 || !(request->bytes > 0))
        return;
    if (cluster->torus_shape[0] > 0)
        tsim_torus_cost(cluster, request, cost);
    else
        nccl_cost(cluster, request, cost);
    cost->bus_bandwidth_bytes_per_s = request->bytes / cost->time_s * tsim_bus_factor(request->op, group->n_ranks);
}

/* ---- a closed form ---- */

double tsim_ring_all_reduce_s(double n, double bytes, double bandwidth_bytes_per_s, double alpha_s) {
    return 2 * (n - 1) / n * bytes / bandwidth_bytes_per_s + 2 * (n - 1) * alpha_s;
}
