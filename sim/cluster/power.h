/* power.h - power follows from what the step used: standing power and joules per unit that flowed.
 *
 *   P = idle + (limit - idle) * min(1, a_c u_c + a_m u_m + a_l u_l)
 * with u the fraction of time that the matrix units, HBM and the links are busy at their sustained rates and a the
 * shares of the accelerator's file. Averaged over a step the minimum is taken of the average: a board that is at its
 * limit has already been slowed down by it (the sustained rates). The rest of the node (CPUs, NICs, fans) draws between
 * its idle and loaded overhead in proportion to the accelerators; the fabric's ports draw a constant. */
#ifndef TSIM_CLUSTER_POWER_H
#define TSIM_CLUSTER_POWER_H

#include "cluster/cluster.h"

struct tsim_power_use { /* of one accelerator during time_s */
    double time_s, compute_busy_s, memory_busy_s, link_busy_s;
};

double tsim_power_accelerator_j(const struct tsim_cluster *cluster, const struct tsim_power_use *use);
/* One accelerator's share of its node's other parts and of the fabric; the whole node never above its limit. */
double tsim_power_overhead_j(const struct tsim_cluster *cluster, const struct tsim_power_use *use);

#endif
