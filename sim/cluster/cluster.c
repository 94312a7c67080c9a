#include "cluster/cluster.h"

#include <math.h>

/* Generations by the year that their accelerator came out: NVLink 2 (2017), 3 (2020), 4 (2022), 5 (2024). Others take
 * the row of their time. */
static enum tsim_link_generation generation_of(const struct tsim_accelerator *a) {
    if (a->year < 2020)
        return TSIM_LINK_VOLTA;
    if (a->year < 2022)
        return TSIM_LINK_AMPERE;
    /* H200 came out in 2024 with Hopper's links; Blackwell has more than twice Hopper's matrix peak. */
    return a->peak_flops_per_s[TSIM_BF16] > 2e15 ? TSIM_LINK_BLACKWELL : TSIM_LINK_HOPPER;
}

/* Without scale-up links peers reach each other over PCIe; the part of the wire that copies between devices get:
 * NCCL plans 12 of 15.75 GB/s on Gen3 (src/graph/topo.h). */
#define PCIE_EFFICIENCY_FRAC 0.76

const struct tsim_cluster *tsim_cluster_build(struct tsim_arena *arena, const struct tsim_scenario *sc) {
    struct tsim_cluster *c = TSIM_NEW(arena, struct tsim_cluster);
    const struct tsim_node *node = sc->cluster.node;
    c->accelerator = node->accelerator;
    c->node = node;
    c->fabric = sc->cluster.nodes > 1 ? sc->cluster.fabric : NULL;
    c->n_nodes = (int32_t)sc->cluster.nodes;
    c->accelerators_per_node = (int32_t)sc->cluster.accelerators_per_node;
    c->generation = generation_of(c->accelerator);
    c->is_over_pcie =
        node->scale_up == TSIM_SCALE_UP_PCIE || (node->scale_up == TSIM_SCALE_UP_NONE && c->accelerators_per_node > 1);
    c->scale_up_bytes_per_s = c->is_over_pcie && node->scale_up_ring_bytes_per_s <= 0
                                  ? node->host_link_bytes_per_s * PCIE_EFFICIENCY_FRAC
                                  : node->scale_up_ring_bytes_per_s;
    c->scale_up_reduce_bytes_per_s = node->scale_up_reduce_bytes_per_s;
    if (c->fabric) {
        double nics =
            (double)(sc->software->nics_used > 0 && sc->software->nics_used < node->nics ? sc->software->nics_used
                                                                                         : node->nics);
        double nic = fmin(node->nic_bytes_per_s, c->fabric->link_bytes_per_s) * c->fabric->efficiency_frac;
        c->nic_bytes_per_s = nics * nic / (double)c->accelerators_per_node / c->fabric->oversubscription;
        c->nic_latency_s = c->fabric->latency_s;
    }
    return c;
}
