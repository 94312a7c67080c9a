/* power.h - electric power at the wall of a node, and energy. The datacentre's overhead (PUE) is not included.
 *
 *   accelerator  P = idle + (limit - idle) min(budget, a_c u_c + a_m u_m + a_l u_l), with u the fractions of a step in
 *                which matrix units (c), memory (m) and links (l) are busy, and a the share of each in the power;
 *                budget is 1, or (cap - idle) / (limit - idle) where a cap is set below the limit
 *   node         the sum of its accelerators + overhead_idle + (overhead - overhead_idle) load, at most power_limit
 *   fabric       a constant power per port (switch and optics draw the same idle or busy)
 *
 * The shares a are the accelerator's (`power` in its file, with their sources). For NVIDIA's GPUs, a_c is set
 * by the mean power of H100 nodes in training, and BLOOM's energy on A100s checks it (docs/physics.md, Power).
 *
 * `load` is the mean of the min() above over the node's accelerators, because fans and voltage regulators follow the
 * heat. Over a step the formula is linear in the busy times while min() does not bind, so energy needs only their
 * sums. */
#pragma once

#include "base/term.h"
#include "cluster/cluster.h"

/* The work of an accelerator in time_s. Busy times are in seconds at full rate, each at most time_s. */
struct tsim_power_use {
    double time_s;
    double compute_busy_s, memory_busy_s, link_busy_s;
};

double tsim_power_budget_frac(const struct tsim_accelerator *accelerator);

double tsim_power_accelerator_w(const struct tsim_accelerator *accelerator, double compute_frac, double memory_frac,
                                double link_frac);

/* Returns the power in W of one accelerator that does nothing, with its share of everything around it. */
struct tsim_amount tsim_power_at_rest(struct tsim_term_recorder *recorder, const struct tsim_cluster *cluster);

/* Returns the energy in J of one accelerator, and of its share of everything around it: the node's overhead, NICs
 * included, and its fabric ports. The overhead is split over the accelerators in use, which also pay for the idle power
 * of the node's other ones. */
double tsim_power_accelerator_j(const struct tsim_cluster *cluster, const struct tsim_power_use *use);
double tsim_power_overhead_j(const struct tsim_cluster *cluster, const struct tsim_power_use *use);

struct tsim_amount tsim_power_use_recorded(struct tsim_term_recorder *recorder, const struct tsim_cluster *cluster,
                                           const struct tsim_power_use *use); /* returns the sum of both */
