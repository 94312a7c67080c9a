/* torus.h - collectives on a torus of accelerators (TPU v3, v4, v5p): dimension by dimension, over all links at once.
 *
 * A group that is a box of e_0 x e_1 x e_2 accelerators reduces one dimension after another: a reduce-scatter around each
 * ring of the first dimension, then of the second on the 1/e_0 that is left, and so on. It gathers in the opposite order.
 * The data are cut into as many parts as there are dimensions, and each part begins with another dimension. Each part is
 * cut again in two, one for each direction of the rings. So all links of the box work at the same time (Jouppi et al. 2023,
 * "TPU v4", section 2.9; Kumar and Jouppi 2020, "Highly available data parallel ML training on mesh networks").
 *
 * With D dimensions longer than 1, link rate B in each direction, S bytes and hop latency `hop`, an all-reduce takes
 *
 *   t = sum over phases p of max over parts r of  2 * S / (2 D) / (product of the e before) * (e_d - 1) / e_d / B
 *       + 2 * sum over d of (e_d - 1) * hop,                                    d = (r + p) mod D
 *
 * For equal dimensions that is 2 (n-1)/n S / (2 D B): every link carries its share, which is the least possible.
 *
 * If a dimension does not close to a ring, the message from its end back to its beginning crosses all its links, so the
 * dimension takes twice as long. If neighbours of the group are `step` accelerators apart, `step` groups share the links
 * and each takes `step` times as long.
 *
 *   all_to_all   is bound by the busiest links of the longest dimension, e: S e / (8 B) on a ring, where a message goes e/4
 *                links on average and can take either direction, and S e / (4 B) on a line, whose middle carries most.
 *   broadcast    runs along the chain of ranks, S / B.   send_recv   takes S / B. */
#pragma once

#include "cost/collective.h"

/* The box that a group forms: its extent along each dimension, how much of that is in one tile (cluster.h), and how many
 * accelerators its neighbours are apart. */
struct tsim_torus_box {
    int32_t extent[3], in_tile[3], step[3];
};

/* Returns false if the ranks form no box of this torus; the group then counts as one ring over all its ranks, in order. */
bool tsim_torus_box(const struct tsim_cluster *cluster, const struct tsim_group *group, struct tsim_torus_box *box);
/* Returns the i-th rank's neighbour along a dimension of the box, in one direction (1) or the other (-1). */
int32_t tsim_torus_neighbour(const struct tsim_torus_box *box, int32_t i, int dimension, int32_t way);

/* Returns over how many messages a link of dimension d divides its rate when all groups that lie as this box does send
 * to their neighbours along it. */
int32_t tsim_torus_slowness(const struct tsim_cluster *cluster, const struct tsim_torus_box *box, int d);

/* Does what tsim_collective_cost does, on a torus, except for the bus bandwidth. The caller zeroes `cost`. */
void tsim_torus_cost(const struct tsim_cluster *cluster, const struct tsim_collective_request *request,
                     struct tsim_collective_cost *cost);
