/* folding.h - private to sim/step: ranks that cannot differ are simulated once; this says which ranks stand for which
 * others.
 *
 * One rank of each stage stands for all of them if nothing is shared above the NICs: each rank has as much of a NIC as
 * the others, and messages between two stages cross the same kind of links from every rank.
 *
 * On a fat tree or a dragonfly, links above the NICs are shared; on a node, those of PCIe switches, between sockets and
 * to a NIC of several ranks are. Their loads count. There one replica stands for those that differ from it only along
 * the data axis: its messages and collectives demand of the shared links what those of all replicas demand together.
 * That is the same simulation if the replicas run in step, as they do when each message and each collective of a pass
 * meets the same traffic on the same kinds of links in every replica.
 *
 * Replicas that are slower than others are simulated beside them (stand_ins.h), and are not in step. So ranks must not
 * share NICs, and no message of a pass may cross a link that can be short. */
#ifndef TSIM_STEP_FOLDING_H
#define TSIM_STEP_FOLDING_H

#include "cluster/cluster.h"
#include "cluster/placement.h"
#include "cluster/topology.h"
#include "step/folding/stand_ins.h"

enum tsim_folding {
    TSIM_FOLD_NONE,
    TSIM_FOLD_REPLICAS, /* one replica of those along the data axis, with all its ranks, over the topology's links */
    TSIM_FOLD_STAGES    /* one rank of each stage, with links of its own */
};

/* Returns the folding that the scenario asks for (simulation.fold), if that is right. */
enum tsim_folding tsim_folding_of(const struct tsim_scenario *scenario, const struct tsim_cluster *cluster,
                                  const struct tsim_placement *placement);

/* Finds for each link whether demands on it count if some replicas stand for all. They count on the links of the
 * replicas' nodes, on the way to others, and on every link that may carry less than the ports below it send. The result
 * is in the arena. */
const bool *tsim_links_that_stand(struct tsim_arena *arena, const struct tsim_topology *topology,
                                  const struct tsim_placement *placement, const struct tsim_stand_ins *stand_ins);

/* Returns whether, on a torus, the groups of each axis go along dimensions of their own, so that groups of two axes
 * meet on no link. It concerns tensor and data-parallel groups; the latter also go along the dimensions of context and
 * expert groups. */
bool tsim_axes_have_own_dimensions(const struct tsim_cluster *cluster, const struct tsim_placement *placement);

#endif
