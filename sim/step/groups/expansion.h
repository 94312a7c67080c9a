/* expansion.h - private to sim/step: the links of a step that has those of its topology, and its collectives message by
 * message. Such a step is unfolded, or folded to some replicas (folding.h).
 *
 * In it every rank has its place in the topology, and what it sends crosses the topology's links. A message between
 * stages crosses its route. A collective, of the data-parallel group or within a pass, is one activity that loads all
 * links that its ranks cross, each rank with its share. All replicas join in a collective of the data-parallel group,
 * and those that hold different experts join in an exchange of experts.
 *
 * With `network: steps` a collective is not joined. When a stage group's turn comes, a GO task starts the stage group's
 * ranks, which send their messages as their predecessors' messages come (network/traffic.h). The collective's own task
 * waits until all of them are done, one part after the other: scatter within the shards, then all-reduce over replicas,
 * then the experts' part. A message takes of its sender's device what the collective takes from the kernels beside it.
 * Collectives for which a pass waits are played the same way (pass_tasks.c). Those that run beside the pass's own
 * kernels, and exchanges of experts, stay one activity each over the links that they cross; the gradient's norm is a
 * closed form. */
#pragma once

#include "step/groups/stage_group.h"

struct tsim_step_links {
    struct tsim_links links;
    const struct tsim_topology *topology;
    const int32_t *stands; /* by link, if one replica stands for all: for how many (folding.h); NULL: each for itself */
    struct tsim_pattern **patterns;
    struct tsim_traffic **traffic;
    size_t n_patterns, pattern_capacity, traffic_capacity;
};

/* Adds the topology's links to the engine. */
void tsim_step_links_init(struct tsim_step_links *step_links, struct tsim_arena *arena,
                          const struct tsim_step_plan *plan, const struct tsim_placement *placement,
                          struct tsim_engine *engine);
void tsim_step_links_release(struct tsim_step_links *step_links);

/* Returns the place of the stage group's first member. */
struct tsim_coordinates tsim_stage_group_at(const struct tsim_placement *placement,
                                            const struct tsim_stage_group *group);

/* Fills in ranks and links of the stage group's members, whose devices exist. */
void tsim_step_links_members(const struct tsim_step_links *step_links, const struct tsim_placement *placement,
                             struct tsim_stage_group *group, struct tsim_member *members);

/* Finds the links that messages between stages cross, and those of collectives that are one activity and cross more
 * than the ranks' own links. Call it once all stage groups have their members. If one replica stands for all, the links
 * are those of all replicas. */
void tsim_step_links_cross(const struct tsim_step_links *step_links, struct tsim_arena *arena,
                           const struct tsim_placement *placement, struct tsim_stage_group *stage_groups);

/* Builds all collectives of all stage groups for `network: steps`, once the groups have their members. */
void tsim_expansion_build(struct tsim_step_links *step_links, struct tsim_arena *arena,
                          const struct tsim_placement *placement, struct tsim_stage_group *stage_groups,
                          int32_t n_stage_groups);
