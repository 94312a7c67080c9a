#include "cluster/placement.h"

const struct tsim_placement *tsim_placement_build(struct tsim_arena *arena, const struct tsim_scenario *sc) {
    struct tsim_placement *p = TSIM_NEW(arena, struct tsim_placement);
    p->n_ranks = (int32_t)sc->n_accelerators;
    p->ranks_per_node = (int32_t)sc->cluster.accelerators_per_node;
    p->size[TSIM_AXIS_TENSOR] = (int32_t)sc->parallelism.tensor;
    p->size[TSIM_AXIS_CONTEXT] = (int32_t)sc->parallelism.context;
    p->size[TSIM_AXIS_EXPERT] = 1;
    p->size[TSIM_AXIS_DATA] = (int32_t)sc->parallelism.data;
    p->size[TSIM_AXIS_PIPELINE] = (int32_t)sc->parallelism.pipeline;
    int32_t stride = 1;
    for (int i = 0; i < TSIM_N_AXES; i++) {
        enum tsim_axis axis = sc->parallelism.order[i];
        p->stride[axis] = stride;
        stride *= p->size[axis];
    }
    TSIM_ASSERT(stride == p->n_ranks);
    return p;
}

int32_t tsim_placement_rank(const struct tsim_placement *p, const struct tsim_coordinates *coordinates) {
    int32_t rank = 0;
    for (int axis = 0; axis < TSIM_N_AXES; axis++)
        rank += coordinates->at[axis] * p->stride[axis];
    return rank;
}

void tsim_placement_coordinates(const struct tsim_placement *p, int32_t rank, struct tsim_coordinates *out) {
    for (int axis = 0; axis < TSIM_N_AXES; axis++)
        out->at[axis] = rank / p->stride[axis] % p->size[axis];
}

bool tsim_placement_same_node(const struct tsim_placement *p, int32_t a, int32_t b) {
    return a / p->ranks_per_node == b / p->ranks_per_node;
}

/* Members in increasing rank order are not contiguous, but their nodes never decrease when the axes are counted from
 * the outermost in: so nodes can be counted in one pass without a set. */
struct tsim_group tsim_placement_group_of(const struct tsim_placement *p, int32_t rank, uint32_t axes) {
    int32_t order[TSIM_N_AXES], n_axes = 0, base = rank;
    struct tsim_group group = {.n_ranks = 1};
    for (int axis = 0; axis < TSIM_N_AXES; axis++) {
        if (!(axes & 1u << axis) || p->size[axis] == 1)
            continue;
        base -= rank / p->stride[axis] % p->size[axis] * p->stride[axis];
        group.n_ranks *= p->size[axis];
        int at = n_axes++;
        for (; at > 0 && p->stride[order[at - 1]] < p->stride[axis]; at--)
            order[at] = order[at - 1];
        order[at] = axis;
    }
    int32_t node = -1, here = 0;
    for (int32_t i = 0; i < group.n_ranks; i++) {
        int32_t member = base, rest = i;
        for (int k = n_axes - 1; k >= 0; k--) {
            member += rest % p->size[order[k]] * p->stride[order[k]];
            rest /= p->size[order[k]];
        }
        if (member / p->ranks_per_node != node) {
            if (node >= 0 && (group.min_ranks_per_node == 0 || here < group.min_ranks_per_node))
                group.min_ranks_per_node = here;
            node = member / p->ranks_per_node;
            group.n_nodes++;
            here = 0;
        }
        here++;
        if (here > group.max_ranks_per_node)
            group.max_ranks_per_node = here;
    }
    if (group.min_ranks_per_node == 0 || here < group.min_ranks_per_node)
        group.min_ranks_per_node = here;
    return group;
}

/* Where every axis either fits a node a whole number of times or is a whole number of nodes, all groups look alike. */
static bool is_regular(const struct tsim_placement *p) {
    for (int axis = 0; axis < TSIM_N_AXES; axis++)
        if (p->ranks_per_node % p->stride[axis] != 0 && p->stride[axis] % p->ranks_per_node != 0)
            return false;
    return true;
}

struct tsim_group tsim_placement_group(const struct tsim_placement *p, uint32_t axes) {
    struct tsim_group worst = tsim_placement_group_of(p, 0, axes);
    if (is_regular(p))
        return worst;
    for (int32_t rank = 1; rank < p->n_ranks; rank++) {
        bool is_first = true; /* of its group: all coordinates along the axes are 0 */
        for (int axis = 0; axis < TSIM_N_AXES; axis++)
            if (axes & 1u << axis && rank / p->stride[axis] % p->size[axis])
                is_first = false;
        if (!is_first)
            continue;
        struct tsim_group group = tsim_placement_group_of(p, rank, axes);
        if (group.n_nodes > worst.n_nodes)
            worst = group;
    }
    return worst;
}
