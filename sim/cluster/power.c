#include "cluster/power.h"

#include <math.h>

double tsim_power_budget_frac(const struct tsim_accelerator *a) {
    if (!(a->power_cap_w > 0) || a->power_cap_w >= a->power_limit_w)
        return 1;
    return fmax(a->power_cap_w - a->power_idle_w, 0) / (a->power_limit_w - a->power_idle_w);
}

/* The min(budget, ...) of the header: how far between idle and its limit an accelerator is. */
static double load_frac(const struct tsim_accelerator *accelerator, double compute_frac, double memory_frac,
                        double link_frac) {
    return fmin(tsim_power_budget_frac(accelerator), accelerator->power_compute_frac * compute_frac +
                                                         accelerator->power_memory_frac * memory_frac +
                                                         accelerator->power_link_frac * link_frac);
}

double tsim_power_accelerator_w(const struct tsim_accelerator *accelerator, double compute_frac, double memory_frac,
                                double link_frac) {
    return accelerator->power_idle_w + (accelerator->power_limit_w - accelerator->power_idle_w) *
                                           load_frac(accelerator, compute_frac, memory_frac, link_frac);
}

static double load_of(const struct tsim_cluster *cluster, const struct tsim_power_use *use) {
    if (!(use->time_s > 0))
        return 0;
    return load_frac(cluster->accelerator, use->compute_busy_s / use->time_s, use->memory_busy_s / use->time_s,
                     use->link_busy_s / use->time_s);
}

static double accelerator_w(const struct tsim_cluster *cluster, double load) {
    const struct tsim_accelerator *a = cluster->accelerator;
    return a->power_idle_w + (a->power_limit_w - a->power_idle_w) * load;
}

/* Overhead of the node with its unused accelerators, which idle; the fabric is not in it. */
static double node_overhead_w(const struct tsim_cluster *cluster, double load) {
    const struct tsim_node *node = cluster->node;
    double used = (double)cluster->accelerators_per_node, unused = (double)node->accelerators - used;
    double base = node->power_overhead_idle_w + unused * cluster->accelerator->power_idle_w;
    double loaded = base + (node->power_overhead_w - node->power_overhead_idle_w) * load;
    if (node->power_limit_w > 0)
        loaded = fmin(loaded, fmax(node->power_limit_w - used * accelerator_w(cluster, load), 0));
    return loaded;
}

double tsim_power_accelerator_j(const struct tsim_cluster *cluster, const struct tsim_power_use *use) {
    return use->time_s * accelerator_w(cluster, load_of(cluster, use));
}

double tsim_power_overhead_j(const struct tsim_cluster *cluster, const struct tsim_power_use *use) {
    double share_w = node_overhead_w(cluster, load_of(cluster, use)) / (double)cluster->accelerators_per_node;
    if (cluster->fabric)
        share_w +=
            cluster->fabric->power_w_per_port * (double)cluster->node->nics / (double)cluster->accelerators_per_node;
    return use->time_s * share_w;
}

double tsim_power_node_w(const struct tsim_cluster *cluster, const struct tsim_power_use *use) {
    double load = load_of(cluster, use);
    return (double)cluster->accelerators_per_node * accelerator_w(cluster, load) + node_overhead_w(cluster, load);
}

double tsim_power_step_energy_j(const struct tsim_cluster *cluster, double time_s, double compute_busy_s,
                                double memory_busy_s, double link_busy_s) {
    struct tsim_power_use use = {
        .time_s = time_s, .compute_busy_s = compute_busy_s, .memory_busy_s = memory_busy_s, .link_busy_s = link_busy_s};
    return tsim_power_accelerator_j(cluster, &use) + tsim_power_overhead_j(cluster, &use);
}
