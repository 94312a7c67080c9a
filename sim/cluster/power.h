/* power.h - electric power at the wall of a node, and energy. Datacentre overhead (PUE) is not included.
 *
 *   accelerator  P = idle + (limit - idle) min(budget, a_c u_c + a_m u_m + a_l u_l)  u: busy fractions of a step
 *                budget = 1, or (cap - idle) / (limit - idle) where a cap is set below the limit
 *   node         sum of its accelerators + overhead_idle + (overhead - overhead_idle) load, at most power_limit
 *   fabric       a constant power per port (switch and optics burn the same idle or busy)
 *
 * `load` is the mean of the min() above over the node's accelerators: fans and voltage regulators follow the heat. Over
 * a step the formula is linear in the busy times while min() does not bind, so energy needs only their sums. */
#ifndef TSIM_CLUSTER_POWER_H
#define TSIM_CLUSTER_POWER_H

#include "base/term.h"
#include "cluster/cluster.h"

struct tsim_power_use { /* an accelerator's work in time_s; busy times at full rate, each <= time_s */
    double time_s;
    double compute_busy_s, memory_busy_s, link_busy_s;
};

double tsim_power_budget_frac(const struct tsim_accelerator *accelerator);

double tsim_power_accelerator_w(const struct tsim_accelerator *accelerator, double compute_frac, double memory_frac,
                                double link_frac);

/* Returns the power of one accelerator that does nothing, with its share of everything around it. */
struct tsim_amount tsim_power_at_rest(struct tsim_term_recorder *recorder, const struct tsim_cluster *cluster);

/* Returns the energy of one accelerator, and of its share of everything around it: node overhead (split over the
 * accelerators in use; those of the node that are not used idle on the same bill), NICs included, and its fabric
 * ports. */
double tsim_power_accelerator_j(const struct tsim_cluster *cluster, const struct tsim_power_use *use);
double tsim_power_overhead_j(const struct tsim_cluster *cluster, const struct tsim_power_use *use);

struct tsim_amount tsim_power_use_recorded(struct tsim_term_recorder *recorder, const struct tsim_cluster *cluster,
                                           const struct tsim_power_use *use); /* both */

#endif
