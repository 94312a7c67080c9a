/* collective.h - the time of one collective on this cluster when it runs alone, and what it demands of each link. Pure
 * functions; a call takes well under a microsecond.
 *
 * `bytes` is nccl-tests' size S, whatever the operation:
 *   all_reduce      the buffer of one rank                     bus bandwidth = S/t * 2(n-1)/n
 *   all_gather      the gathered buffer (n times a rank's)     S/t * (n-1)/n
 *   reduce_scatter  the buffer before it is scattered          S/t * (n-1)/n
 *   all_to_all      what one rank sends, its own part included S/t * (n-1)/n
 *   broadcast, send_recv   the message                         S/t
 *
 * n is the number of ranks and t the time; the right column is the bus bandwidth that nccl-tests prints.
 *
 * time = latency + flow. The flow ends when the slowest link has carried its bytes, at the rate that the protocol reaches
 * on that link. Latencies, the protocols' rates and the choice of algorithm and protocol follow NCCL's own tuning model
 * (nccl_tables.h). The rates of links are the catalogue's: a node's measured ring and in-switch bandwidths, and each
 * accelerator's share of the NICs. */
#pragma once

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
    TSIM_ALGORITHM_NVLS_SHARP,   /* the switch reduces on each node, those of the fabric between them */
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
    enum tsim_algorithm algorithm;       /* counts as AUTO if it cannot run the operation here (tsim_collective_can) */
    enum tsim_protocol protocol;         /* counts as AUTO if the algorithm does not have it */
    enum tsim_network network;           /* with IDEAL there is no latency, and the protocol is Simple */
    struct tsim_term_recorder *recorder; /* NULL: the cost's `term` is NULL, too */
};

struct tsim_collective_cost {
    enum tsim_algorithm algorithm; /* those chosen; AUTO when there is nothing to do (one rank or zero bytes) */
    enum tsim_protocol protocol;
    double latency_s;                 /* part of the time in which no link is used */
    double time_s;                    /* latency and flow, with nothing else on the links */
    const struct tsim_term *term;     /* the formula of time_s as a tree */
    double scale_up_bytes;            /* payload that one accelerator sends (and receives) on its scale-up link */
    double nic_bytes;                 /* payload that the busiest accelerator sends (and receives) on its NIC share */
    double bound_bytes_per_s;         /* the most that algorithm and protocol let flow; 0: only the links limit it */
    double bus_bandwidth_bytes_per_s; /* S/t times the factor of the table above */
    double sm_frac;                   /* fraction of an accelerator's compute units that the kernels occupy */
    double hbm_bytes;                 /* bytes read and written in one accelerator's memory */
};

/* Returns the fraction of its rate that a kernel loses while it runs beside a collective. The collective's blocks hold
 * `sm_frac` of the compute units, and its traffic takes `memory_frac` of HBM's bandwidth from the kernels on the other
 * units. Products lose both, too, although their operands mostly come from caches: docs/physics.md, Collectives, has the
 * measurements. */
static inline double tsim_collective_taken_frac(double sm_frac, double memory_frac) {
    return 1 - (1 - sm_frac) * (1 - memory_frac);
}

void tsim_collective_cost(const struct tsim_cluster *cluster, const struct tsim_collective_request *request,
                          struct tsim_collective_cost *cost);

/* Returns how many times the rate of the cluster's pairs (cluster.h) an accelerator sends to the group's other ranks on its node:
 * a link of a full mesh for each of them; of a cube mesh a sixth for each ring that NCCL finds among them, or for each link's worth
 * of an exchange (topology.h); else 1. */
double tsim_collective_links(const struct tsim_cluster *cluster, enum tsim_collective_op op,
                             const struct tsim_group *group);

/* Returns whether this algorithm can run this operation on this group and cluster (AUTO always can). */
bool tsim_collective_can(const struct tsim_cluster *cluster, enum tsim_collective_op op, const struct tsim_group *group,
                         enum tsim_algorithm algorithm);

/* Returns the factor from S/t to bus bandwidth (table above). */
double tsim_bus_factor(enum tsim_collective_op op, int32_t n_ranks);

/* These return the words of the command line: "all_reduce", "nvls", "LL128". */
const char *tsim_collective_op_name(enum tsim_collective_op op);
const char *tsim_algorithm_name(enum tsim_algorithm algorithm);
const char *tsim_protocol_name(enum tsim_protocol protocol);

/* Returns the plain alpha-beta form (Thakur, Rabenseifner, Gropp 2005) of a ring's all-reduce, 2(n-1) (alpha + S/(nB)),
 * where B is the bandwidth of a link each way and alpha the time of a message without bytes. The textbook's examples ask
 * for it. */
double tsim_ring_all_reduce_s(double n, double bytes, double bandwidth_bytes_per_s, double alpha_s);
