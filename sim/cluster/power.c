#include "cluster/power.h"

#include <math.h>

/* How far between idle and limit the accelerator is, on average over the step. */
static double load_frac(const struct tsim_accelerator *a, const struct tsim_power_use *use) {
    if (!(use->time_s > 0))
        return 0;
    double load = (a->power_compute_frac * use->compute_busy_s + a->power_memory_frac * use->memory_busy_s +
                   a->power_link_frac * use->link_busy_s) /
                  use->time_s;
    return fmin(load, 1);
}

double tsim_power_accelerator_j(const struct tsim_cluster *c, const struct tsim_power_use *use) {
    const struct tsim_accelerator *a = c->accelerator;
    return use->time_s * (a->power_idle_w + (a->power_limit_w - a->power_idle_w) * load_frac(a, use));
}

double tsim_power_overhead_j(const struct tsim_cluster *c, const struct tsim_power_use *use) {
    const struct tsim_node *node = c->node;
    double load = load_frac(c->accelerator, use), shared_by = (double)node->accelerators;
    double overhead_w = node->power_overhead_idle_w + (node->power_overhead_w - node->power_overhead_idle_w) * load;
    double accelerators_w = use->time_s > 0 ? tsim_power_accelerator_j(c, use) / use->time_s * shared_by : 0;
    if (node->power_limit_w > 0)
        overhead_w = fmin(overhead_w, fmax(node->power_limit_w - accelerators_w, 0));
    double ports_w = c->fabric ? c->fabric->power_w_per_port * (double)node->nics / shared_by : 0;
    return use->time_s * (overhead_w / shared_by + ports_w);
}
