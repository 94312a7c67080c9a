/* expansion.h - private to training: the links of an unfolded step, and its data-parallel collectives message by
 * message.
 *
 * Unfolded, every rank has its place in the topology, and what it sends crosses the topology's links: messages between
 * stages their routes, collectives (one activity each, joined by all replicas) the share of each of their ranks.
 *
 * With `network: steps` a collective is not joined. When a stage group's turn comes, a GO task tells the stage group's
 * ranks, which send their messages as their predecessors' come (network/traffic.h), and the collective's own task waits
 * until all of them are done, of one part after the other: scatter within the shards, then all-reduce over replicas,
 * then the experts'. Messages hold of their sender's device what the collective takes from the kernels beside it. A
 * pass is cut where its exposed collectives are (pass_tasks.c), which are played the same way. Closed forms stay:
 * collectives that run beside the pass's own products, the experts' exchanges, and the norm of the gradient. */
#ifndef TSIM_STEP_EXPANSION_H
#define TSIM_STEP_EXPANSION_H

#include "step/stage_group.h"

struct tsim_step_links {
    struct tsim_links links;
    const struct tsim_topology *topology;
    struct tsim_pattern **patterns;
    struct tsim_traffic **traffic;
    size_t n_patterns, pattern_capacity, traffic_capacity;
};

/* Adds the topology's links to the engine. */
void tsim_step_links_init(struct tsim_step_links *step_links, struct tsim_arena *arena,
                          const struct tsim_scenario *scenario, const struct tsim_cluster *cluster,
                          struct tsim_engine *engine);
void tsim_step_links_release(struct tsim_step_links *step_links);

/* Where a member of the stage group lies: tensor ranks first, then context ranks. */
struct tsim_coordinates tsim_stage_group_member_at(const struct tsim_placement *placement,
                                                   const struct tsim_stage_group *group, int32_t member);

/* Fills in ranks and links of the stage group's members, whose devices are there. */
void tsim_step_links_members(const struct tsim_step_links *step_links, const struct tsim_placement *placement,
                             struct tsim_stage_group *group, struct tsim_member *members);

/* The links that collectives of the data-parallel groups cross, where they are more than the ranks' own; once all stage
 * groups have their members. network: fluid. */
void tsim_step_links_cross(const struct tsim_step_links *step_links, struct tsim_arena *arena,
                           const struct tsim_placement *placement, struct tsim_stage_group *stage_groups);

/* All collectives of all stage groups, once these have their members; network: steps. */
void tsim_expansion_build(struct tsim_step_links *step_links, struct tsim_arena *arena,
                          const struct tsim_placement *placement, struct tsim_stage_group *stage_groups,
                          int32_t n_stage_groups);

#endif
