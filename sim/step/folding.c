#include "step/folding.h"

#include "cluster/topology.h"

/* Ranks of one NIC have their shares of it to themselves when they folded: right where each has as many beside it, and
 * where these, all of the same stage, ask for the same at the same time. */
static bool nics_are_alike(const struct tsim_cluster *cluster, bool has_stages) {
    if (cluster->nodes == 1)
        return true;
    int64_t nics = tsim_nics_per_node(cluster), ranks = cluster->accelerators_per_node;
    return ranks % nics == 0 && (ranks == nics || !has_stages);
}

/* On a switch a message has the ports of its two ranks to itself. On other nodes those of several ranks, or a message
 * and a collective, meet on a link that a folded rank does not have. */
static bool messages_are_alike(const struct tsim_cluster *cluster, const struct tsim_placement *placement) {
    struct tsim_neighbours neighbours = tsim_placement_neighbours(placement, TSIM_AXIS_PIPELINE);
    return neighbours.are_alike && (!neighbours.any_on_node || cluster->node->scale_up == TSIM_SCALE_UP_SWITCH);
}

/* So many ranks in a row are a box of the torus wherever they begin: some whole dimensions and a part of the next. */
static bool is_box(const struct tsim_cluster *cluster, int32_t n_ranks) {
    int32_t below = 1;
    for (int d = 0; d < 3; d++) {
        int32_t size = cluster->torus_shape[d];
        if (n_ranks <= below * size)
            return n_ranks % below == 0 && size % (n_ranks / below) == 0;
        below *= size;
    }
    return true;
}

/* Do so many ranks in a row fill whole dimensions? */
static bool fills_dimensions(const struct tsim_cluster *cluster, int32_t n_ranks) {
    int32_t below = 1;
    bool fills = n_ranks == 1;
    for (int d = 0; d < 3; d++) {
        below *= cluster->torus_shape[d];
        fills |= n_ranks == below;
    }
    return fills;
}

bool tsim_axes_have_own_dimensions(const struct tsim_cluster *cluster, const struct tsim_placement *placement) {
    bool has_own = cluster->torus_shape[0] > 0;
    for (int axis = 0; axis < TSIM_N_AXES; axis++)
        if (placement->size[axis] > 1)
            has_own = has_own && (axis == TSIM_AXIS_TENSOR || axis == TSIM_AXIS_DATA) &&
                      fills_dimensions(cluster, placement->stride[axis]) &&
                      fills_dimensions(cluster, placement->stride[axis] * placement->size[axis]);
    return has_own;
}

/* Groups of one axis that are boxes have their links to themselves; those of two axes meet on them unless they go along
 * dimensions of their own, and so do messages of several hops. */
static bool boxes_are_alike(const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                            bool has_stages) {
    int n_axes = 0;
    for (int axis = 0; axis < TSIM_N_AXES; axis++) {
        n_axes += placement->size[axis] > 1;
        if (!is_box(cluster, placement->stride[axis] * placement->size[axis]))
            return false;
    }
    return !has_stages && (n_axes <= 1 || tsim_axes_have_own_dimensions(cluster, placement));
}

bool tsim_folds(const struct tsim_scenario *scenario, const struct tsim_cluster *cluster,
                const struct tsim_placement *placement) {
    bool has_stages = placement->size[TSIM_AXIS_PIPELINE] > 1;
    if (!scenario->simulation.fold)
        return false;
    if (cluster->torus_shape[0] > 0)
        return boxes_are_alike(cluster, placement, has_stages);
    if (cluster->node->accelerators_per_switch > 0 || cluster->node->accelerators_per_socket > 0)
        return placement->n_ranks == 1; /* collectives meet on uplinks and between sockets */
    return nics_are_alike(cluster, has_stages) && (!has_stages || messages_are_alike(cluster, placement));
}
