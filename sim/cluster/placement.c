#include "cluster/placement.h"

#include <string.h>

static void divide_experts(const struct tsim_parallelism_spec *p, const struct tsim_expert_ranks *experts,
                           struct tsim_placement *placement) {
    const unsigned tensor = 1u << TSIM_AXIS_TENSOR, context = 1u << TSIM_AXIS_CONTEXT;
    bool shares_tensor = tsim_expert_tensor(p) == p->tensor;
    placement->expert_axes =
        1u << TSIM_AXIS_EXPERT | (experts->tensor > 1 ? tensor : 0) | (experts->context > 1 ? context : 0);
    placement->expert_data_axes = 1u << TSIM_AXIS_DATA | (experts->tensor > 1 || shares_tensor ? 0 : tensor) |
                                  (experts->context > 1 ? 0 : context);
}

const struct tsim_placement *tsim_placement_build(struct tsim_arena *arena, const struct tsim_scenario *scenario) {
    const struct tsim_parallelism_spec *p = &scenario->parallelism;
    struct tsim_placement *placement = TSIM_NEW(arena, struct tsim_placement);
    struct tsim_expert_ranks experts = tsim_expert_ranks(p);
    TSIM_ASSERT(experts.tensor * experts.context * experts.data == p->expert);
    placement->size[TSIM_AXIS_TENSOR] = (int32_t)p->tensor;
    placement->size[TSIM_AXIS_CONTEXT] = (int32_t)p->context;
    placement->size[TSIM_AXIS_EXPERT] = (int32_t)experts.data;
    placement->size[TSIM_AXIS_DATA] = (int32_t)(p->data / experts.data);
    placement->size[TSIM_AXIS_PIPELINE] = (int32_t)p->pipeline;
    divide_experts(p, &experts, placement);
    placement->ranks_per_node = (int32_t)scenario->cluster.accelerators_per_node;
    placement->n_ranks = 1;
    memcpy(placement->order, p->order, sizeof placement->order);
    for (int i = 0; i < TSIM_N_AXES; i++) {
        enum tsim_axis axis = p->order[i];
        placement->stride[axis] = placement->n_ranks;
        placement->n_ranks *= placement->size[axis];
    }
    TSIM_ASSERT(placement->n_ranks == scenario->n_accelerators && placement->ranks_per_node > 0);
    return placement;
}

int32_t tsim_placement_rank(const struct tsim_placement *placement, const struct tsim_coordinates *coordinates) {
    int32_t rank = 0;
    for (int axis = 0; axis < TSIM_N_AXES; axis++) {
        TSIM_ASSERT(coordinates->at[axis] >= 0 && coordinates->at[axis] < placement->size[axis]);
        rank += coordinates->at[axis] * placement->stride[axis];
    }
    return rank;
}

struct tsim_coordinates tsim_placement_coordinates(const struct tsim_placement *placement, int32_t rank) {
    struct tsim_coordinates coordinates;
    for (int axis = 0; axis < TSIM_N_AXES; axis++)
        coordinates.at[axis] = rank / placement->stride[axis] % placement->size[axis];
    return coordinates;
}

int32_t tsim_placement_replica(const struct tsim_placement *placement, int32_t rank) {
    struct tsim_coordinates at = tsim_placement_coordinates(placement, rank);
    return at.at[TSIM_AXIS_DATA] * placement->size[TSIM_AXIS_EXPERT] + at.at[TSIM_AXIS_EXPERT];
}

int32_t tsim_placement_node(const struct tsim_placement *placement, int32_t rank) {
    return rank / placement->ranks_per_node;
}

bool tsim_placement_same_node(const struct tsim_placement *placement, int32_t a, int32_t b) {
    return tsim_placement_node(placement, a) == tsim_placement_node(placement, b);
}

/* ---- groups ---- */

/* An odometer over some of the axes, innermost first, so the numbers it yields ascend. */
struct walk {
    const struct tsim_placement *placement;
    unsigned axes;
    struct tsim_coordinates at;
    int32_t offset;
};

static bool walk_next(struct walk *walk) {
    for (int i = 0; i < TSIM_N_AXES; i++) {
        enum tsim_axis axis = walk->placement->order[i];
        if (!(walk->axes & 1u << axis))
            continue;
        if (++walk->at.at[axis] < walk->placement->size[axis]) {
            walk->offset += walk->placement->stride[axis];
            return true;
        }
        walk->offset -= (walk->at.at[axis] - 1) * walk->placement->stride[axis];
        walk->at.at[axis] = 0;
    }
    return false;
}

static void close_node(struct tsim_group *group, int32_t here) {
    group->n_nodes++;
    if (here > group->max_ranks_per_node)
        group->max_ranks_per_node = here;
    if (group->min_ranks_per_node == 0 || here < group->min_ranks_per_node)
        group->min_ranks_per_node = here;
}

/* Shape of the group whose lowest rank is `base`. Its ranks ascend, so those of one node come in a row. */
static struct tsim_group shape_of(const struct tsim_placement *placement, int32_t base, unsigned axes) {
    struct walk walk = {.placement = placement, .axes = axes};
    struct tsim_group group = {0};
    int32_t node = tsim_placement_node(placement, base), here = 0;
    do {
        if (group.n_ranks == 1)
            group.stride = walk.offset;
        int32_t its_node = tsim_placement_node(placement, base + walk.offset);
        if (its_node != node) {
            close_node(&group, here);
            node = its_node;
            here = 0;
        }
        here++;
        group.n_ranks++;
    } while (walk_next(&walk));
    close_node(&group, here);
    return group;
}

static int32_t base_of(const struct tsim_placement *placement, int32_t rank, unsigned axes) {
    int32_t base = rank;
    for (int axis = 0; axis < TSIM_N_AXES; axis++)
        if (axes & 1u << axis)
            base -= rank / placement->stride[axis] % placement->size[axis] * placement->stride[axis];
    return base;
}

struct tsim_group tsim_placement_group_of(const struct tsim_placement *placement, int32_t rank, unsigned axes) {
    return shape_of(placement, base_of(placement, rank, axes), axes);
}

bool tsim_placement_leads(const struct tsim_placement *placement, int32_t rank, unsigned axes) {
    for (int axis = 0; axis < TSIM_N_AXES; axis++)
        if (axes & 1u << axis && rank / placement->stride[axis] % placement->size[axis] != 0)
            return false;
    return true;
}

int32_t tsim_placement_ranks(const struct tsim_placement *placement, int32_t rank, unsigned axes, int32_t *ranks) {
    struct walk walk = {.placement = placement, .axes = axes};
    int32_t base = base_of(placement, rank, axes), n = 0;
    do
        ranks[n++] = base + walk.offset;
    while (walk_next(&walk));
    return n;
}

static bool is_worse(const struct tsim_group *a, const struct tsim_group *b) {
    if (a->n_nodes != b->n_nodes)
        return a->n_nodes > b->n_nodes;
    if (a->min_ranks_per_node != b->min_ranks_per_node)
        return a->min_ranks_per_node < b->min_ranks_per_node;
    return a->max_ranks_per_node > b->max_ranks_per_node;
}

static int32_t gcd(int32_t a, int32_t b) {
    return b == 0 ? a : gcd(b, a % b);
}

/* A group's shape depends on its lowest rank only through that rank's place on its node: base + offset lies
 * (base mod g + offset) / g nodes further, g ranks a node. So one group for each place is enough, and an axis has been
 * at all its places after g / gcd(stride, g) steps. */
static struct tsim_group worst_group(const struct tsim_placement *placement, unsigned axes, unsigned fixed,
                                     int32_t first) {
    int32_t per_node = placement->ranks_per_node;
    struct tsim_placement places = *placement;
    for (int axis = 0; axis < TSIM_N_AXES; axis++) {
        int32_t period = per_node / gcd(per_node, placement->stride[axis]);
        places.size[axis] = period < placement->size[axis] ? period : placement->size[axis];
    }
    unsigned all = (1u << TSIM_N_AXES) - 1;
    struct walk bases = {.placement = &places, .axes = all & ~axes & ~fixed};
    struct tsim_group worst = shape_of(placement, first, axes);
    uint64_t seen[16] = {0}; /* places up to 1024; larger nodes are enumerated in full */
    while (walk_next(&bases)) {
        int32_t place = (first + bases.offset) % per_node;
        if (place < 1024) {
            uint64_t bit = UINT64_C(1) << (place & 63);
            if (seen[place >> 6] & bit)
                continue;
            seen[place >> 6] |= bit;
        }
        struct tsim_group group = shape_of(placement, first + bases.offset, axes);
        if (is_worse(&group, &worst))
            worst = group;
    }
    return worst;
}

struct tsim_group tsim_placement_group(const struct tsim_placement *placement, unsigned axes) {
    return worst_group(placement, axes, 0, 0);
}

struct tsim_group tsim_placement_group_at(const struct tsim_placement *placement, unsigned axes, int32_t stage) {
    return worst_group(placement, axes, 1u << TSIM_AXIS_PIPELINE, stage * placement->stride[TSIM_AXIS_PIPELINE]);
}

static int32_t successor_of(const struct tsim_placement *placement, int32_t rank, enum tsim_axis axis, int32_t step) {
    int32_t size = placement->size[axis], stride = placement->stride[axis], at = rank / stride % size;
    return rank + ((at + size + step) % size - at) * stride;
}

struct tsim_neighbours tsim_placement_neighbours(const struct tsim_placement *placement, enum tsim_axis axis) {
    struct tsim_neighbours neighbours = {.are_alike = true};
    int32_t stride = placement->stride[axis], size = placement->size[axis];
    if (size == 1 || stride % placement->ranks_per_node == 0)
        return neighbours;
    for (int32_t rank = 0; rank < placement->n_ranks; rank++) {
        int32_t first = rank / stride % size * stride; /* of those at its place on the axis */
        bool on_node = tsim_placement_same_node(placement, rank, successor_of(placement, rank, axis, 1));
        neighbours.any_on_node |= on_node;
        neighbours.are_alike &=
            on_node == tsim_placement_same_node(placement, first, successor_of(placement, first, axis, 1));
    }
    return neighbours;
}
