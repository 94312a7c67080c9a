/* placement.h - which rank sits where. Ranks 0..n-1 fill node after node. A rank's number is its coordinates along the
 * axes of parallelism in mixed radix, in `parallelism.order`, innermost (fastest) first. So with the usual order the
 * tensor group is n consecutive ranks, mostly on one node.
 *
 * The expert axis is carved out of data: of `parallelism.data` replicas, groups of its size hold different experts. So
 * the size of the data axis here is data / expert axis, and the whole data-parallel group is DATA | EXPERT. Experts are
 * divided over `expert_axes`: the expert axis, and context and tensor where tsim_expert_ranks says so.
 *
 * A group is the set of ranks that differ from a rank only along the given axes. Its shape over the nodes is found by
 * enumeration, so sizes that do not divide the node are exact: 6 ranks on nodes of 4 are {6 ranks, 2 nodes, max 4, min
 * 2}. A placement is const once built. A call for a group takes O(ranks) at worst, which is microseconds. */
#pragma once

#include "config/scenario.h"

struct tsim_coordinates {
    int32_t at[TSIM_N_AXES]; /* from 0 to the axis' size - 1 */
};

struct tsim_placement {
    int32_t n_ranks, ranks_per_node;
    int32_t size[TSIM_N_AXES];
    int32_t stride[TSIM_N_AXES];       /* the ranks' numbers differ by this between neighbours on the axis */
    enum tsim_axis order[TSIM_N_AXES]; /* innermost first, so strides ascend */
    unsigned expert_axes;              /* the set of axes along which ranks hold different experts */
    unsigned expert_data_axes;         /* the set of axes along which ranks hold the same experts */
};

struct tsim_group {
    int32_t n_ranks, n_nodes;
    int32_t max_ranks_per_node, min_ranks_per_node; /* over those nodes that hold a rank of the group */
    int32_t stride;                                 /* between its first two ranks; 0: not known, or one rank */
};

/* Sets of axes are bit masks: 1u << TSIM_AXIS_DATA | 1u << TSIM_AXIS_CONTEXT. */

/* Builds the placement of a valid scenario: its sizes multiply to its accelerators (asserted). */
const struct tsim_placement *tsim_placement_build(struct tsim_arena *arena, const struct tsim_scenario *scenario);

int32_t tsim_placement_rank(const struct tsim_placement *placement, const struct tsim_coordinates *coordinates);
struct tsim_coordinates tsim_placement_coordinates(const struct tsim_placement *placement, int32_t rank);
/* Returns the rank's number among the model's replicas. Ranks that exchange experts are neighbours in it. */
int32_t tsim_placement_replica(const struct tsim_placement *placement, int32_t rank);
int32_t tsim_placement_node(const struct tsim_placement *placement, int32_t rank);
bool tsim_placement_same_node(const struct tsim_placement *placement, int32_t a, int32_t b);

/* Returns whether it is the lowest of its group along a set of axes. Whoever goes through all groups asks this before
 * tsim_placement_ranks. */
bool tsim_placement_leads(const struct tsim_placement *placement, int32_t rank, unsigned axes);

/* Fills in, ascending, the rank itself and the ranks that differ from it only along a set of axes. Returns their
 * number. */
int32_t tsim_placement_ranks(const struct tsim_placement *placement, int32_t rank, unsigned axes, int32_t *ranks);

/* Returns the group of one rank along a set of axes; without axes it is the rank alone. */
struct tsim_group tsim_placement_group_of(const struct tsim_placement *placement, int32_t rank, unsigned axes);

/* Returns the worst of all groups along a set of axes: the one on most nodes, among these the one with the fewest ranks
 * on a node, then the one with the most. All groups of a training step run at the same time, and the slowest is what
 * the others wait for. */
struct tsim_group tsim_placement_group(const struct tsim_placement *placement, unsigned axes);

/* Returns the slowest of the groups that begin in one pipeline stage. */
struct tsim_group tsim_placement_group_at(const struct tsim_placement *placement, unsigned axes, int32_t stage);

/* Says whether a rank and its successor along the axis are on one node, so that the two talk over the node's links. The
 * successor of the last rank is the first. At each place on the axis this holds for all ranks, for none, or for
 * some. */
struct tsim_neighbours {
    bool are_alike; /* true: at each place it holds for all ranks or for none */
    bool any_on_node;
};
struct tsim_neighbours tsim_placement_neighbours(const struct tsim_placement *placement, enum tsim_axis axis);
