/* cluster.h - the machine of a scenario as capacities per accelerator and direction, in bytes/s. They become the
 * engine's resources; the collectives' cost is stated against them. */
#ifndef TSIM_CLUSTER_CLUSTER_H
#define TSIM_CLUSTER_CLUSTER_H

#include "config/scenario.h"

/* What the collective library knows the accelerator as: its tuning tables differ by generation. */
enum tsim_link_generation {
    TSIM_LINK_VOLTA,
    TSIM_LINK_AMPERE,
    TSIM_LINK_HOPPER,
    TSIM_LINK_BLACKWELL,
    TSIM_N_LINK_GENERATIONS
};

struct tsim_cluster {
    const struct tsim_accelerator *accelerator;
    const struct tsim_node *node;
    const struct tsim_fabric *fabric; /* NULL: one node */
    int32_t n_nodes, accelerators_per_node;
    enum tsim_link_generation generation;
    double scale_up_bytes_per_s;        /* what a ring over the scale-up links carries (bus bandwidth); 0 = none */
    double scale_up_reduce_bytes_per_s; /* the same with in-switch reduction; 0 = lacks it */
    double nic_bytes_per_s;             /* one accelerator's share of its node's NICs, protocol efficiency included */
    double nic_latency_s;               /* of the wire between two nodes */
    bool is_over_pcie;                  /* no scale-up links: the host's PCIe carries what stays in a node */
};

const struct tsim_cluster *tsim_cluster_build(struct tsim_arena *arena, const struct tsim_scenario *scenario);

#endif
