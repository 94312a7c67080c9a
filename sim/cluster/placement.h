/* placement.h - which rank sits on which node, and which ranks form a group.
 *
 * Ranks 0..n-1 fill the nodes in order. Their coordinates run over the axes in the scenario's `parallelism.order`, the
 * innermost axis fastest; expert parallelism is carved out of data and has no axis of its own here (size 1). */
#ifndef TSIM_CLUSTER_PLACEMENT_H
#define TSIM_CLUSTER_PLACEMENT_H

#include "config/scenario.h"

/* Ranks that communicate with each other. A collective's cost depends on nothing else. */
struct tsim_group {
    int32_t n_ranks, n_nodes, max_ranks_per_node, min_ranks_per_node;
};

struct tsim_placement {
    int32_t n_ranks, ranks_per_node;
    int32_t size[TSIM_N_AXES], stride[TSIM_N_AXES]; /* by axis */
};

const struct tsim_placement *tsim_placement_build(struct tsim_arena *arena, const struct tsim_scenario *scenario);

struct tsim_coordinates {
    int32_t at[TSIM_N_AXES]; /* by axis */
};
int32_t tsim_placement_rank(const struct tsim_placement *placement, const struct tsim_coordinates *coordinates);
void tsim_placement_coordinates(const struct tsim_placement *placement, int32_t rank, struct tsim_coordinates *out);
bool tsim_placement_same_node(const struct tsim_placement *placement, int32_t a, int32_t b);

/* The group of `rank` along a set of axes (bit 1 << axis). */
struct tsim_group tsim_placement_group_of(const struct tsim_placement *placement, int32_t rank, uint32_t axes);

/* The group along `axes` that spreads over most nodes, of all such groups: what a lock-step program waits for. */
struct tsim_group tsim_placement_group(const struct tsim_placement *placement, uint32_t axes);

#endif
