/* collective.h - what a collective demands and how long it takes alone. Pure functions.
 *
 * The model is NCCL's own (src/graph/tuning.cc, NVIDIA/nccl@5067397): time = latency + bytes / bandwidth for every
 * algorithm and protocol that the hardware allows, and the fastest is chosen, by size and scale, as NCCL does.
 * Latencies are NCCL's table (microseconds, by algorithm, protocol and link); bandwidths are ours: what rings are
 * measured to carry on the node's scale-up links and on the accelerator's share of the NICs, times NCCL's factor per
 * protocol.
 *
 * Volumes per rank, n ranks, S bytes (size in nccl-tests' convention: the whole buffer, for all-gather and
 * reduce-scatter the gathered one, for all-to-all what one rank sends in all):
 *   ring       all-reduce 2(n-1)/n S in 2(n-1) steps; all-gather, reduce-scatter (n-1)/n S in n-1; broadcast S in n
 *   tree       all-reduce: S up and S down; double binary tree: half of the bus bandwidth as algorithm bandwidth
 *   nvls       all-reduce reduced inside the switch: S up, S down at once; more than 4 ranks on one node
 *   pairwise   all-to-all: (n-1)/n S, the part for other nodes over the NICs
 * A ring that crosses nodes with r of its ranks on each uses r NICs in parallel, one per channel: each carries 1/r.
 *
 * LL and LL128 trade bandwidth for latency: LL sends 4 bytes of flag with 4 of data, LL128 8 with 120. */
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
    TSIM_SEND_RECV
};
enum tsim_algorithm { TSIM_ALGORITHM_AUTO, TSIM_RING, TSIM_TREE, TSIM_NVLS, TSIM_PAIRWISE, TSIM_N_ALGORITHMS };
enum tsim_protocol { TSIM_PROTOCOL_AUTO, TSIM_LL, TSIM_LL128, TSIM_SIMPLE, TSIM_N_PROTOCOLS };

struct tsim_collective_request {
    enum tsim_collective_op op;
    double bytes;
    struct tsim_group group;
    enum tsim_algorithm algorithm; /* AUTO: the fastest */
    enum tsim_protocol protocol;
    enum tsim_network network; /* IDEAL: no latency, full wire of the links, simple ring */
};

struct tsim_collective_cost {
    enum tsim_algorithm algorithm;
    enum tsim_protocol protocol;
    double latency_s;
    double time_s;                    /* alone: latency, then the bytes at the bandwidth that binds */
    double scale_up_bytes, nic_bytes; /* that one accelerator sends over its links, each way the same */
    double bus_bandwidth_bytes_per_s; /* nccl-tests' busbw; 0 for no bytes */
    double sm_frac;                   /* compute units that its kernels hold */
    double hbm_bytes;                 /* read and written on one accelerator */
};

/* A group of one rank, or no bytes, costs nothing. */
void tsim_collective_cost(const struct tsim_cluster *cluster, const struct tsim_collective_request *request,
                          struct tsim_collective_cost *cost);

/* Closed forms, alpha-beta: bandwidth in bytes/s per rank and direction, alpha the latency of one step. */
double tsim_ring_all_reduce_s(int32_t n_ranks, double bytes, double bandwidth_bytes_per_s, double alpha_s);
double tsim_ring_all_gather_s(int32_t n_ranks, double bytes, double bandwidth_bytes_per_s, double alpha_s);

/* NCCL's latency alone, in seconds: base + steps (facts for tests). */
double tsim_collective_latency_s(const struct tsim_cluster *cluster, enum tsim_collective_op op,
                                 const struct tsim_group *group, enum tsim_algorithm algorithm,
                                 enum tsim_protocol protocol);

const char *tsim_algorithm_name(enum tsim_algorithm algorithm);
const char *tsim_protocol_name(enum tsim_protocol protocol);

#endif
