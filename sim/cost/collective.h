/* collective.h - what one collective costs on this cluster when it runs alone, and what it demands of each link. Pure
 * functions, well under a microsecond a call.
 *
 * `bytes` is nccl-tests' size S, whatever the operation:
 *   all_reduce      the buffer of one rank                     bus bandwidth = S/t * 2(n-1)/n
 *   all_gather      the gathered buffer (n times a rank's)     S/t * (n-1)/n
 *   reduce_scatter  the buffer before it is scattered          S/t * (n-1)/n
 *   all_to_all      what one rank sends, its own part included S/t * (n-1)/n
 *   broadcast, send_recv   the message                         S/t
 *
 * time = latency + flow; flow is the slowest of the links at the rates that the algorithm's protocol reaches on them.
 * The latencies, protocol bandwidths and the choice of algorithm and protocol follow NCCL's own tuning model (tables in
 * nccl_tables.h); the link rates are ours (measured ring and in-switch bandwidths of the node, NIC shares). */
#ifndef TSIM_COST_COLLECTIVE_H
#define TSIM_COST_COLLECTIVE_H

#include "cluster/cluster.h"
#include "cluster/placement.h"

enum tsim_collective_op {
    TSIM_ALL_REDUCE,
    TSIM_ALL_GATHER,
    TSIM_REDUCE_SCATTER,
    TSIM_ALL_TO_ALL,
    TSIM_BROADCAST,
    TSIM_SEND_RECV,
    TSIM_N_COLLECTIVE_OPS
};

enum tsim_algorithm {
    TSIM_ALGORITHM_AUTO,
    TSIM_ALGORITHM_RING,
    TSIM_ALGORITHM_TREE,         /* double binary tree between nodes, chain on the node; all_reduce only */
    TSIM_ALGORITHM_NVLS,         /* the switch reduces; one node, all_reduce only */
    TSIM_ALGORITHM_NVLS_TREE,    /* the switch reduces on each node, double binary tree between them */
    TSIM_ALGORITHM_HIERARCHICAL, /* scatter on the node, ring between nodes, gather on the node; all_reduce only */
    TSIM_ALGORITHM_PAIRWISE,     /* all_to_all: every rank sends to every other */
    TSIM_ALGORITHM_DIRECT,       /* send_recv */
    TSIM_ALGORITHM_TORUS,        /* torus fabrics: dimension by dimension, torus.h */
    TSIM_N_ALGORITHMS
};

enum tsim_protocol {
    TSIM_PROTOCOL_AUTO,
    TSIM_PROTOCOL_LL,
    TSIM_PROTOCOL_LL128,
    TSIM_PROTOCOL_SIMPLE,
    TSIM_N_PROTOCOLS
};

struct tsim_collective_request {
    enum tsim_collective_op op;
    double bytes; /* S above */
    struct tsim_group group;
    enum tsim_algorithm algorithm;       /* one that cannot do the op here (see tsim_collective_can) counts as AUTO */
    enum tsim_protocol protocol;         /* likewise */
    enum tsim_network network;           /* IDEAL: no latency, no start-up, Simple */
    struct tsim_term_recorder *recorder; /* NULL: `term` stays so, too */
};

struct tsim_collective_cost {
    enum tsim_algorithm algorithm; /* chosen; AUTO when there is nothing to do (one rank or zero bytes) */
    enum tsim_protocol protocol;
    double latency_s;                 /* before and between the flow of bytes; uses no link */
    double time_s;                    /* alone */
    const struct tsim_term *term;     /* of time_s: how it comes about */
    double scale_up_bytes;            /* payload that one accelerator sends (and receives) on its scale-up link */
    double nic_bytes;                 /* the same on its NIC share; the busiest accelerator where nodes are uneven */
    double bound_bytes_per_s;         /* bytes / flow at best by algorithm and protocol alone; 0: the links decide */
    double bus_bandwidth_bytes_per_s; /* as nccl-tests prints it */
    double sm_frac;                   /* of the accelerator's compute units that the kernels occupy while it runs */
    double hbm_bytes;                 /* read and written on one accelerator */
};

/* The share of the compute units that kernels beside a collective lose: those that its blocks hold, and of the rate of the
 * others what it takes of HBM's. Every kernel loses both, products too, whose operands mostly come from caches: beside an
 * all-gather on 8 A100 products ran 1.76 and attention 1.83 times as long (NVIDIA/nccl issue 1428), where this says 1.81, and
 * products on H100 1.70 times, where it says 1.68 (tests/unit/test_collective.c; docs/physics.md, Overlap). */
static inline double tsim_collective_taken_frac(double sm_frac, double memory_frac) {
    return 1 - (1 - sm_frac) * (1 - memory_frac);
}

void tsim_collective_cost(const struct tsim_cluster *cluster, const struct tsim_collective_request *request,
                          struct tsim_collective_cost *cost);

/* Tells whether this algorithm can run this operation on this group and cluster (AUTO always can). */
bool tsim_collective_can(const struct tsim_cluster *cluster, enum tsim_collective_op op, const struct tsim_group *group,
                         enum tsim_algorithm algorithm);

/* Factor from S/t to bus bandwidth (table above). */
double tsim_bus_factor(enum tsim_collective_op op, int32_t n_ranks);

/* "all_reduce", "nvls", "LL128"; the words of the command line. */
const char *tsim_collective_op_name(enum tsim_collective_op op);
const char *tsim_algorithm_name(enum tsim_algorithm algorithm);
const char *tsim_protocol_name(enum tsim_protocol protocol);

/* The plain alpha-beta form (Thakur, Rabenseifner, Gropp 2005): n ranks, links of bandwidth_bytes_per_s each way, alpha_s
 * per message. The textbook's examples ask for it. */
double tsim_ring_all_reduce_s(double n, double bytes, double bandwidth_bytes_per_s, double alpha_s);

#endif
