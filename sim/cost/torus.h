/* torus.h - collectives on a torus of accelerators (TPU v3, v4, v5p): dimension by dimension, over all links at once.
 *
 * A group that is a box of e_0 x e_1 x e_2 accelerators reduces dimension after dimension: a reduce-scatter around each
 * ring of the first, then of the second on what is left, 1/e of it, and so on, and gathers in the opposite order. The
 * data are cut into as many parts as there are dimensions, and each part begins with another one; each part again in
 * two, for the two directions of the rings. So all links of the box work at the same time (Jouppi et al. 2023, "TPU
 * v4", section 2.9; Kumar and Jouppi 2020, "Highly available data parallel ML training on mesh networks"). With D
 * dimensions of more than one, link rate B per direction and S bytes (all_reduce):
 *
 *   t = sum over phases p of max over parts r of  2 * S / (2 D) / (product of the e before) * (e_d - 1) / e_d / B
 *       + 2 * sum over d of (e_d - 1) * hop,                                    d = (r + p) mod D
 *
 * which for equal sizes is 2 (n-1)/n S / (2 D B): every link carries its share, the least that can be. Where a
 * dimension does not close to a ring, the message from its end back to its beginning crosses all its links, and it
 * takes twice as long; where neighbours of the group are `step` accelerators apart, as many groups share the links, and
 * it takes `step` times as long.
 *
 *   all_to_all   by the busiest links of the longest dimension, each of which everyone's bytes cross on their way:
 *                S e / (8 B) for a ring (average way e/4, two directions), S e / (4 B) for a line (its middle).
 *   broadcast    along the chain of ranks, S / B;   send_recv   S / B. */
#ifndef TSIM_COST_TORUS_H
#define TSIM_COST_TORUS_H

#include "cost/collective.h"

/* The box that a group is: extent along each dimension and accelerators between neighbours. False: it is none (its
 * ranks are no box of this torus), and then it counts as one ring over all its ranks, in rank order. */
bool tsim_torus_box(const struct tsim_cluster *cluster, const struct tsim_group *group, int32_t extent[3],
                    int32_t step[3]);

/* Does the work of tsim_collective_cost on a torus: all but the bus bandwidth. `cost` is zeroed before. */
void tsim_torus_cost(const struct tsim_cluster *cluster, const struct tsim_collective_request *request,
                     struct tsim_collective_cost *cost);

#endif
