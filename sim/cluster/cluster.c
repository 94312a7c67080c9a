#include "cluster/cluster.h"

#include "cluster/variation.h"

#include <math.h>

/* ---- capacities ---- */

static void resolve_scale_up(struct tsim_cluster *cluster) {
    const struct tsim_node *node = cluster->node;
    double n = (double)node->accelerators;
    if (node->accelerators < 2)
        return;
    if (node->scale_up == TSIM_SCALE_UP_NONE) { /* through the host's memory */
        cluster->scale_up_bytes_per_s = cluster->pair_bytes_per_s = node->host_link_bytes_per_s;
        return;
    }
    cluster->scale_up_bytes_per_s = cluster->pair_bytes_per_s = node->scale_up_ring_bytes_per_s;
    if (node->scale_up == TSIM_SCALE_UP_MESH)
        cluster->pair_bytes_per_s /= n - 1;
    cluster->scale_up_latency_s = node->scale_up_latency_s;
    if (node->scale_up_reduce_bytes_per_s > 0) {
        /* Bus bandwidth b means S bytes in t = S 2(n-1)/(n b); the link carried S (n+1)/n in that time. It cannot have
         * carried more than the wire, and what it carried is also open to others: hence the maximum below. */
        double link = node->scale_up_reduce_bytes_per_s * (n + 1) / (2 * (n - 1));
        cluster->scale_up_reduce_bytes_per_s = fmin(link, node->scale_up_bytes_per_s);
        cluster->scale_up_bytes_per_s = fmax(cluster->scale_up_bytes_per_s, cluster->scale_up_reduce_bytes_per_s);
    }
}

static void resolve_nics(struct tsim_cluster *cluster, const struct tsim_software *software) {
    const struct tsim_node *node = cluster->node;
    const struct tsim_fabric *fabric = cluster->fabric;
    if (!fabric)
        return;
    double nics = (double)node->nics;
    if (software->nics_used > 0)
        nics = fmin(nics, (double)software->nics_used);
    double own = fmax(1, nics / (double)node->accelerators);
    cluster->nics_per_accelerator = fmin(nics / (double)cluster->accelerators_per_node, own);
    cluster->nic_bytes_per_s = cluster->nics_per_accelerator * fmin(node->nic_bytes_per_s, fabric->link_bytes_per_s) *
                               fabric->efficiency_frac / fabric->oversubscription;
    cluster->fabric_latency_s = fabric->latency_s;
}

/* Optical switches close whole cubes alone: a slice of less lies within one, on wires that end. */
static bool has_whole_cubes(const struct tsim_cluster_spec *spec) {
    bool is_whole = true;
    for (int64_t d = 0; d < spec->fabric->torus_dimensions; d++)
        is_whole = is_whole && spec->torus_shape[d] % spec->fabric->torus_wrap == 0;
    return is_whole;
}

static void resolve_torus(struct tsim_cluster *cluster, const struct tsim_cluster_spec *spec) {
    const struct tsim_fabric *fabric = spec->fabric;
    bool can_wrap = fabric->torus_wrap > 0 && (!fabric->torus_wraps_together || has_whole_cubes(spec));
    for (int d = 0; d < 3; d++) {
        int64_t size = spec->torus_shape[d];
        cluster->torus_shape[d] = (int32_t)size;
        cluster->torus_wraps[d] = size > 2 && can_wrap && size % fabric->torus_wrap == 0;
    }
    cluster->pair_bytes_per_s = fabric->link_bytes_per_s * fabric->efficiency_frac;
    cluster->scale_up_bytes_per_s = 2 * (double)fabric->torus_dimensions * cluster->pair_bytes_per_s;
    cluster->scale_up_latency_s = cluster->fabric_latency_s = fabric->latency_s;
}

const struct tsim_cluster *tsim_cluster_build(struct tsim_arena *arena, const struct tsim_scenario *scenario) {
    struct tsim_cluster *cluster = TSIM_NEW(arena, struct tsim_cluster);
    cluster->node = scenario->cluster.node;
    cluster->accelerator = tsim_slowest_of(arena, cluster->node->accelerator, (double)scenario->n_accelerators);
    cluster->fabric = scenario->cluster.fabric;
    cluster->nodes = scenario->cluster.nodes;
    cluster->accelerators_per_node = scenario->cluster.accelerators_per_node;
    cluster->host_link_bytes_per_s = cluster->node->host_link_bytes_per_s;
    cluster->hbm_bytes_per_s = cluster->accelerator->memory_bytes_per_s;
    if (cluster->fabric && cluster->fabric->topology == TSIM_TOPOLOGY_TORUS) {
        resolve_torus(cluster, &scenario->cluster);
    } else {
        resolve_scale_up(cluster);
        resolve_nics(cluster, scenario->software);
    }
    return cluster;
}
