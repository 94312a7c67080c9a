/* folding.h - private to sim/step: ranks that cannot differ are simulated once; this says which ranks stand for which
 * others.
 *
 * One rank of each stage stands for all of them if nothing is shared above the NICs: each rank has as much of a NIC as
 * the others, and messages between two stages cross the same kind of links from every rank.
 *
 * On a fat tree or a dragonfly, links above the NICs are shared; on a node, those of PCIe switches, between sockets and
 * to a NIC of several ranks are. Their loads count. There one replica stands for others along the data axis: its
 * messages and collectives demand of the shared links what those of all of them demand together. That is the same
 * simulation if these replicas run in step, as they do when each message and each collective of a pass meets the same
 * traffic on the same kinds of links in each of them. Replicas that meet something else, such as those with stages in
 * two pods, and replicas that are slower, are simulated beside them (stand_ins.h). Where some are slower, ranks must
 * not share NICs. A torus is folded so where its groups meet on its links; if these close to rings, all replicas meet
 * the same. */
#pragma once

#include "cluster/cluster.h"
#include "cluster/placement.h"
#include "cluster/topology.h"
#include "step/folding/stand_ins.h"

enum tsim_folding {
    TSIM_FOLD_NONE,
    TSIM_FOLD_REPLICAS, /* one replica of each kind along the data axis, with all its ranks, over the topology's links */
    TSIM_FOLD_STAGES    /* one rank of each stage, with links of its own */
};

/* Finds the folding that the plan's scenario asks for (simulation.fold), if that is right, and the replicas along the
 * data axis that stand for others. The arena holds them. */
struct tsim_step_plan;
void tsim_fold(struct tsim_arena *arena, const struct tsim_placement *placement, struct tsim_step_plan *plan);

/* Finds, if some replicas stand for all, for how many links each stands; demands on a link count unless that is 0. They
 * count on the links of the replicas' nodes, on the way to others, and on every link that may carry less than the ports
 * below it send; on a torus, on one of those links that carry the same. The result is in the arena. */
const int32_t *tsim_links_that_stand(struct tsim_arena *arena, const struct tsim_topology *topology,
                                     const struct tsim_placement *placement, const struct tsim_stand_ins *stand_ins);

/* Returns whether, on a torus, the groups of each axis go along dimensions of their own, so that groups of two axes
 * meet on no link. It concerns tensor and data-parallel groups; the latter also go along the dimensions of context and
 * expert groups. */
bool tsim_axes_have_own_dimensions(const struct tsim_cluster *cluster, const struct tsim_placement *placement);
