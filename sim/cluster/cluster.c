#include "cluster/cluster.h"

#include "cluster/variation.h"
#include "config/provenance.h"

#include <math.h>

/* ---- capacities ---- */

static struct tsim_amount of_node(struct tsim_term_recorder *r, const struct tsim_node *node, const char *key,
                                  double value) {
    return tsim_of_file(r, TSIM_CATALOGUE_NODES, node->name, key, value, TSIM_BYTES_PER_S);
}

static struct tsim_amount of_fabric(struct tsim_term_recorder *r, const struct tsim_fabric *fabric, const char *key,
                                    double value, enum tsim_dimension dimension) {
    return tsim_of_file(r, TSIM_CATALOGUE_FABRICS, fabric->name, key, value, dimension);
}

struct tsim_amount tsim_cluster_pair_rate(struct tsim_term_recorder *r, const struct tsim_cluster *cluster) {
    const struct tsim_node *node = cluster->node;
    const struct tsim_fabric *fabric = cluster->fabric;
    if (fabric && fabric->topology == TSIM_TOPOLOGY_TORUS)
        return tsim_product(r, "a link of the torus", "wire x efficiency", TSIM_BYTES_PER_S,
                            TSIM_PARTS(of_fabric(r, fabric, "bandwidth", fabric->link_bytes_per_s, TSIM_BYTES_PER_S),
                                       of_fabric(r, fabric, "efficiency", fabric->efficiency_frac, TSIM_FRACTION)));
    if (node->scale_up == TSIM_SCALE_UP_NONE) /* through the host's memory */
        return of_node(r, node, "host_link", node->host_link_bytes_per_s);
    struct tsim_amount ring = of_node(r, node, "scale_up.ring_bandwidth", node->scale_up_ring_bytes_per_s);
    if (node->scale_up != TSIM_SCALE_UP_MESH)
        return ring;
    struct tsim_amount others = tsim_given(r, "other accelerators of a node", (double)node->accelerators - 1,
                                           TSIM_COUNT, tsim_record_text(r, "the node: %s", node->name));
    return tsim_product(r, "a link of the mesh", "all links / other accelerators", TSIM_BYTES_PER_S,
                        TSIM_PARTS(ring, tsim_inverse(others)));
}

/* Bus bandwidth b means S bytes in t = S 2(n-1)/(n b); the link carried S (n+1)/n in that time. It cannot have carried
 * more than the wire. */
struct tsim_amount tsim_cluster_reduce_rate(struct tsim_term_recorder *r, const struct tsim_cluster *cluster) {
    const struct tsim_node *node = cluster->node;
    double n = (double)node->accelerators;
    struct tsim_amount link = tsim_product(
        r, "link while the switch reduces", "bus bandwidth x (n + 1) / 2 (n - 1)", TSIM_BYTES_PER_S,
        TSIM_PARTS(of_node(r, node, "scale_up.reduce_bandwidth", node->scale_up_reduce_bytes_per_s),
                   tsim_given(r, "n + 1", n + 1, TSIM_COUNT, "accelerators of the node"),
                   tsim_inverse(tsim_given(r, "2 (n - 1)", 2 * (n - 1), TSIM_COUNT, "accelerators of the node"))));
    return tsim_smallest(r, "link while the switch reduces, no more than the wire", "the lower of the two",
                         TSIM_BYTES_PER_S,
                         TSIM_PARTS(link, of_node(r, node, "scale_up.bandwidth", node->scale_up_bytes_per_s)));
}

struct tsim_amount tsim_cluster_nic_rate(struct tsim_term_recorder *r, const struct tsim_cluster *cluster) {
    const struct tsim_node *node = cluster->node;
    const struct tsim_fabric *fabric = cluster->fabric;
    struct tsim_amount wire =
        tsim_smallest(r, "wire of a NIC", "the slower of NIC and port", TSIM_BYTES_PER_S,
                      TSIM_PARTS(of_node(r, node, "nic_bandwidth", node->nic_bytes_per_s),
                                 of_fabric(r, fabric, "bandwidth", fabric->link_bytes_per_s, TSIM_BYTES_PER_S)));
    return tsim_product(
        r, "an accelerator's share of the NICs", "NICs of each x wire x efficiency / oversubscription",
        TSIM_BYTES_PER_S,
        TSIM_PARTS(tsim_given(r, "NICs that an accelerator uses", cluster->nics_per_accelerator, TSIM_FRACTION,
                              "node and software profile (sim/cluster/cluster.h)"),
                   wire, of_fabric(r, fabric, "efficiency", fabric->efficiency_frac, TSIM_FRACTION),
                   tsim_inverse(of_fabric(r, fabric, "oversubscription", fabric->oversubscription, TSIM_FRACTION))));
}

static void resolve_scale_up(struct tsim_cluster *cluster) {
    const struct tsim_node *node = cluster->node;
    if (node->accelerators < 2)
        return;
    cluster->pair_bytes_per_s = tsim_cluster_pair_rate(NULL, cluster).value;
    if (node->scale_up == TSIM_SCALE_UP_NONE) {
        cluster->scale_up_bytes_per_s = cluster->pair_bytes_per_s;
        return;
    }
    cluster->scale_up_bytes_per_s = node->scale_up_ring_bytes_per_s;
    cluster->scale_up_latency_s = node->scale_up_latency_s;
    if (node->scale_up_reduce_bytes_per_s > 0) { /* the link can then carry more for others, too */
        cluster->scale_up_reduce_bytes_per_s = tsim_cluster_reduce_rate(NULL, cluster).value;
        cluster->scale_up_bytes_per_s = fmax(cluster->scale_up_bytes_per_s, cluster->scale_up_reduce_bytes_per_s);
    }
}

static void resolve_nics(struct tsim_cluster *cluster, const struct tsim_software *software) {
    const struct tsim_node *node = cluster->node;
    if (!cluster->fabric)
        return;
    double nics = (double)node->nics;
    if (software->nics_used > 0)
        nics = fmin(nics, (double)software->nics_used);
    double own = fmax(1, nics / (double)node->accelerators);
    cluster->nics_per_accelerator = fmin(nics / (double)cluster->accelerators_per_node, own);
    cluster->nic_bytes_per_s = tsim_cluster_nic_rate(NULL, cluster).value;
    cluster->fabric_latency_s = cluster->fabric->latency_s;
}

/* Optical switches close only whole cubes into rings: a smaller slice lies within one cube, whose dimensions stay open. */
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
        cluster->torus_tile[d] = (int32_t)spec->torus_tile[d];
        cluster->torus_wraps[d] = size > 2 && can_wrap && size % fabric->torus_wrap == 0;
    }
    cluster->pair_bytes_per_s = tsim_cluster_pair_rate(NULL, cluster).value;
    cluster->scale_up_bytes_per_s = 2 * (double)fabric->torus_dimensions * cluster->pair_bytes_per_s;
    cluster->scale_up_latency_s = cluster->fabric_latency_s = fabric->latency_s;
}

struct tsim_torus_digit tsim_torus_digit(const struct tsim_cluster *cluster, int digit) {
    int d = digit % 3;
    int32_t tile = cluster->torus_tile[d] > 1 ? cluster->torus_tile[d] : 1;
    return digit < 3 ? (struct tsim_torus_digit){d, tile, 1}
                     : (struct tsim_torus_digit){d, cluster->torus_shape[d] / tile, tile};
}

int32_t tsim_torus_place(const struct tsim_cluster *cluster, int32_t rank) {
    const int32_t *shape = cluster->torus_shape;
    const int32_t strides[3] = {1, shape[0], shape[0] * shape[1]};
    int32_t place = 0;
    for (int k = 0; k < TSIM_TORUS_DIGITS; k++) {
        struct tsim_torus_digit digit = tsim_torus_digit(cluster, k);
        place += rank % digit.size * digit.step * strides[digit.dimension];
        rank /= digit.size;
    }
    return place;
}

const struct tsim_cluster *tsim_cluster_build(struct tsim_arena *arena, const struct tsim_scenario *scenario) {
    struct tsim_cluster *cluster = TSIM_NEW(arena, struct tsim_cluster);
    cluster->node = scenario->cluster.node;
    cluster->accelerator = tsim_slowest_of(arena, cluster->node->accelerator, (double)scenario->n_accelerators);
    cluster->fabric = scenario->cluster.fabric;
    cluster->nodes = tsim_training_nodes(scenario);
    cluster->accelerators_per_node = scenario->cluster.accelerators_per_node;
    cluster->host_link_bytes_per_s = cluster->node->host_link_bytes_per_s;
    if (cluster->fabric && cluster->fabric->topology == TSIM_TOPOLOGY_TORUS) {
        resolve_torus(cluster, &scenario->cluster);
    } else {
        resolve_scale_up(cluster);
        resolve_nics(cluster, scenario->software);
    }
    return cluster;
}
