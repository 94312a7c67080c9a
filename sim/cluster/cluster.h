/* cluster.h - the machine of a scenario, with its capacities for each accelerator and direction, in bytes/s. It is
 * const once built. Training makes engine resources of them: outgoing scale-up link, NIC out, NIC in, host link,
 * HBM. */
#pragma once

#include "base/term.h"
#include "config/scenario.h"

struct tsim_cluster {
    const struct tsim_accelerator
        *accelerator; /* a copy of the slowest of all, which the others wait for (variation.h) */
    const struct tsim_node *node;
    const struct tsim_fabric *fabric;     /* NULL: one node without a fabric */
    int64_t nodes, accelerators_per_node; /* those in use */

    /* The outgoing scale-up link of one accelerator; 0 if it is alone on its node. If a node has no links of its own,
     * it is the host link. The rate is what a ring over the whole node reaches, which is less than the wire.
     * Point-to-point copies reach about the same and are taken as equal (in GB/s, A100: 274 copied, 235 in a ring;
     * H100: 376 and 367). */
    double scale_up_bytes_per_s;
    /* The rate of that link while the switch reduces (an all-reduce in the switch sends S (n+1)/n bytes); 0 if the
     * switch cannot. */
    double scale_up_reduce_bytes_per_s;
    double pair_bytes_per_s; /* between two accelerators of a node: the link, in a mesh 1/(n-1) of it */

    /* One accelerator's share of its node's NICs in each direction: wire x fabric efficiency / oversubscription. An
     * accelerator uses no more than its own NICs (nics / accelerators, at least one), even if others are idle, and a
     * software profile may use fewer of a node's NICs. It is 0 on one node without a fabric. */
    double nic_bytes_per_s;
    double nics_per_accelerator; /* those in use; may be below 1 */
    double host_link_bytes_per_s;

    /* On a torus, scale_up is the sum of an accelerator's links, pair is one of these links, and there are no NICs. */
    int32_t torus_shape[3]; /* 0: no torus; dimensions that it lacks are 1 */
    int32_t torus_tile[3];  /* ranks fill boxes of so many accelerators, one after another; below 2: 1 */
    bool torus_wraps[3];    /* true: the dimension closes to a ring */

    double scale_up_latency_s; /* of one hop on the node */
    double fabric_latency_s;   /* of one message, end to end; 0 without a fabric */
};

/* A rank's number on a torus has six digits, the lowest first: its place in its tile along each dimension, and its tile's
 * place along each. */
enum { TSIM_TORUS_DIGITS = 6 };
struct tsim_torus_digit {
    int dimension;
    int32_t size, step; /* one more of it is so many accelerators further */
};
struct tsim_torus_digit tsim_torus_digit(const struct tsim_cluster *cluster, int digit);

/* Returns the number of a rank's accelerator on the torus, counted dimension after dimension. */
int32_t tsim_torus_place(const struct tsim_cluster *cluster, int32_t rank);

const struct tsim_cluster *tsim_cluster_build(struct tsim_arena *arena, const struct tsim_scenario *scenario);

/* These return pair_bytes_per_s, scale_up_reduce_bytes_per_s and nic_bytes_per_s of a cluster that has them, and record
 * how they are computed. */
struct tsim_amount tsim_cluster_pair_rate(struct tsim_term_recorder *recorder, const struct tsim_cluster *cluster);
struct tsim_amount tsim_cluster_reduce_rate(struct tsim_term_recorder *recorder, const struct tsim_cluster *cluster);
struct tsim_amount tsim_cluster_nic_rate(struct tsim_term_recorder *recorder, const struct tsim_cluster *cluster);
