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
struct tsim_group tsim_placement_group(const struct tsim_placement *placement, unsigned axes) {
    int32_t per_node = placement->ranks_per_node;
    struct tsim_placement places = *placement;
    for (int axis = 0; axis < TSIM_N_AXES; axis++) {
        int32_t period = per_node / gcd(per_node, placement->stride[axis]);
        places.size[axis] = period < placement->size[axis] ? period : placement->size[axis];
    }
    unsigned all = (1u << TSIM_N_AXES) - 1;
    struct walk bases = {.placement = &places, .axes = all & ~axes};
    struct tsim_group worst = shape_of(placement, 0, axes);
    uint64_t seen[16] = {1}; /* places up to 1024; larger nodes are enumerated in full */
    while (walk_next(&bases)) {
        int32_t place = bases.offset % per_node;
        if (place < 1024) {
            uint64_t bit = UINT64_C(1) << (place & 63);
            if (seen[place >> 6] & bit)
                continue;
            seen[place >> 6] |= bit;
        }
        struct tsim_group group = shape_of(placement, bases.offset, axes);
        if (is_worse(&group, &worst))
            worst = group;
    }
    return worst;
}

static int32_t successor_of(const struct tsim_placement *placement, int32_t rank, enum tsim_axis axis, int32_t step) {
    int32_t size = placement->size[axis], stride = placement->stride[axis], at = rank / stride % size;
    return rank + ((at + size + step) % size - at) * stride;
}

int32_t tsim_placement_successors_on_node(const struct tsim_placement *placement, enum tsim_axis axis) {
    int32_t count = 0;
    if (placement->size[axis] == 1)
        return 0;
    for (int32_t rank = 0; rank < placement->n_ranks; rank++)
        count += tsim_placement_same_node(placement, rank, successor_of(placement, rank, axis, 1));
    return count;
}

/* ---- classes ---- */

#define N_SIGNATURE_GROUPS (TSIM_N_AXES + 1)

struct signature {
    int32_t stage;
    bool next_on_node, previous_on_node;
    struct tsim_group groups[N_SIGNATURE_GROUPS];
};

static void sign(const struct tsim_placement *placement, int32_t rank, struct signature *signature) {
    const unsigned replicas = 1u << TSIM_AXIS_DATA | 1u << TSIM_AXIS_CONTEXT | 1u << TSIM_AXIS_EXPERT;
    signature->stage = tsim_placement_coordinates(placement, rank).at[TSIM_AXIS_PIPELINE];
    signature->next_on_node =
        tsim_placement_same_node(placement, rank, successor_of(placement, rank, TSIM_AXIS_PIPELINE, 1));
    signature->previous_on_node =
        tsim_placement_same_node(placement, rank, successor_of(placement, rank, TSIM_AXIS_PIPELINE, -1));
    for (int i = 0; i < N_SIGNATURE_GROUPS; i++)
        signature->groups[i] = tsim_placement_group_of(placement, rank, i < TSIM_N_AXES ? 1u << i : replicas);
}

static bool same_signature(const struct signature *a, const struct signature *b) {
    return a->stage == b->stage && a->next_on_node == b->next_on_node && a->previous_on_node == b->previous_on_node &&
           memcmp(a->groups, b->groups, sizeof a->groups) == 0; /* groups are int32_t only: no padding */
}

/* Classes are few (stages times ways to straddle a node), so the first rank of each is found by a scan. */
int32_t tsim_placement_classes(const struct tsim_placement *placement, int32_t *class_of) {
    struct signature *firsts = NULL;
    size_t capacity = 0;
    int32_t n = 0;
    for (int32_t rank = 0; rank < placement->n_ranks; rank++) {
        struct signature signature;
        sign(placement, rank, &signature);
        int32_t c = 0;
        while (c < n && !same_signature(&firsts[c], &signature))
            c++;
        if (c == n) {
            firsts = tsim_heap_grow(firsts, &capacity, (size_t)++n, sizeof *firsts);
            firsts[c] = signature;
        }
        class_of[rank] = c;
    }
    tsim_heap_free(firsts);
    return n;
}
