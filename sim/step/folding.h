/* folding.h - private to sim/step: can one rank of each stage stand for all? It can where ranks cannot differ: each has
 * as much of a NIC as the others, and messages between two stages cross the same kind of links from every rank. */
#ifndef TSIM_STEP_FOLDING_H
#define TSIM_STEP_FOLDING_H

#include "cluster/cluster.h"
#include "cluster/placement.h"

/* As the scenario asks (simulation.fold), where that is right. */
bool tsim_folds(const struct tsim_scenario *scenario, const struct tsim_cluster *cluster,
                const struct tsim_placement *placement);

/* On a torus, do the groups of each axis go along dimensions of their own, so that those of two axes meet on no link? Said
 * of tensor and data-parallel groups; the latter go along the dimensions of context and expert groups, too. */
bool tsim_axes_have_own_dimensions(const struct tsim_cluster *cluster, const struct tsim_placement *placement);

#endif
