#include "cluster/power.h"

#include "config/provenance.h"

#include <math.h>

double tsim_power_budget_frac(const struct tsim_accelerator *a) {
    if (!(a->power_cap_w > 0) || a->power_cap_w >= a->power_limit_w)
        return 1;
    return fmax(a->power_cap_w - a->power_idle_w, 0) / (a->power_limit_w - a->power_idle_w);
}

static struct tsim_amount busy(struct tsim_term_recorder *r, const struct tsim_accelerator *a, const char *name,
                               const char *key, double weight_frac, struct tsim_amount busy_frac) {
    return tsim_product(r, name, "its share of the range x how busy", TSIM_FRACTION,
                        TSIM_PARTS(tsim_of_accelerator(r, a, key, weight_frac, TSIM_FRACTION), busy_frac));
}

/* Returns min(budget, ...) of the header: how far an accelerator is between idle and its limit. */
static struct tsim_amount load_of_parts(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                        struct tsim_amount compute, struct tsim_amount memory,
                                        struct tsim_amount link) {
    struct tsim_amount parts =
        tsim_sum(r, "load that it asks for", "sum of its parts", TSIM_FRACTION,
                 TSIM_PARTS(busy(r, a, "compute", "power.compute", a->power_compute_frac, compute),
                            busy(r, a, "memory", "power.memory", a->power_memory_frac, memory),
                            busy(r, a, "links", "power.link", a->power_link_frac, link)));
    return tsim_smallest(r, "load", "no more than the limit leaves", TSIM_FRACTION,
                         TSIM_PARTS(tsim_given(r, "range below the cap", tsim_power_budget_frac(a), TSIM_FRACTION,
                                               "cluster.power_cap of the scenario (sim/cluster/power.h)"),
                                    parts));
}

double tsim_power_accelerator_w(const struct tsim_accelerator *a, double compute_frac, double memory_frac,
                                double link_frac) {
    const struct tsim_amount compute = {.value = compute_frac}, memory = {.value = memory_frac},
                             link = {.value = link_frac};
    return a->power_idle_w + (a->power_limit_w - a->power_idle_w) * load_of_parts(NULL, a, compute, memory, link).value;
}

static struct tsim_amount busy_frac(struct tsim_term_recorder *r, const char *name, double busy_s,
                                    const struct tsim_power_use *use) {
    return tsim_product(
        r, name, "busy at full rate / time", TSIM_FRACTION,
        TSIM_PARTS(tsim_outcome(r, "busy at full rate", "over the step, simulated", busy_s, TSIM_TIME_S, NULL, 0),
                   tsim_inverse(tsim_given(r, "time", use->time_s, TSIM_TIME_S,
                                           "its own tree: tsim explain SCENARIO step.time_s"))));
}

static struct tsim_amount load_of(struct tsim_term_recorder *r, const struct tsim_cluster *cluster,
                                  const struct tsim_power_use *use) {
    if (!(use->time_s > 0))
        return tsim_given(r, "load", 0, TSIM_FRACTION, "at rest");
    return load_of_parts(r, cluster->accelerator, busy_frac(r, "matrix units", use->compute_busy_s, use),
                         busy_frac(r, "memory", use->memory_busy_s, use), busy_frac(r, "links", use->link_busy_s, use));
}

static struct tsim_amount idle_of(struct tsim_term_recorder *r, const struct tsim_accelerator *a) {
    return tsim_of_accelerator(r, a, "power.idle", a->power_idle_w, TSIM_WATTS);
}

static struct tsim_amount accelerator_w(struct tsim_term_recorder *r, const struct tsim_cluster *cluster,
                                        struct tsim_amount load) {
    const struct tsim_accelerator *a = cluster->accelerator;
    struct tsim_amount limit = tsim_of_accelerator(r, a, "power.limit", a->power_limit_w, TSIM_WATTS);
    struct tsim_amount range = tsim_sum(r, "between idle and its limit", "limit - idle", TSIM_WATTS,
                                        TSIM_PARTS(limit, tsim_inverse(idle_of(r, a))));
    return tsim_sum(r, "the accelerator", "idle + (limit - idle) x load", TSIM_WATTS,
                    TSIM_PARTS(idle_of(r, a), tsim_product(r, "of its load", "(limit - idle) x load", TSIM_WATTS,
                                                           TSIM_PARTS(range, load))));
}

static struct tsim_amount of_node(struct tsim_term_recorder *r, const struct tsim_node *node, const char *key,
                                  double value_w) {
    return tsim_of_file(r, TSIM_CATALOGUE_NODES, node->name, key, value_w, TSIM_WATTS);
}

/* Returns the overhead of the node with its unused accelerators, which idle; the fabric is not in it. */
static struct tsim_amount node_overhead_w(struct tsim_term_recorder *r, const struct tsim_cluster *cluster,
                                          struct tsim_amount load) {
    const struct tsim_node *node = cluster->node;
    double used = (double)cluster->accelerators_per_node, unused = (double)node->accelerators - used;
    struct tsim_amount idle = of_node(r, node, "power.overhead_idle", node->power_overhead_idle_w);
    struct tsim_amount range =
        tsim_sum(r, "overhead that follows the load", "overhead - overhead_idle", TSIM_WATTS,
                 TSIM_PARTS(of_node(r, node, "power.overhead", node->power_overhead_w), tsim_inverse(idle)));
    struct tsim_amount not_used =
        tsim_product(r, "accelerators that are not used", "how many x idle", TSIM_WATTS,
                     TSIM_PARTS(tsim_given(r, "unused accelerators of the node", unused, TSIM_COUNT, "the scenario"),
                                idle_of(r, cluster->accelerator)));
    struct tsim_amount loaded =
        tsim_sum(r, "the node around them", "overhead_idle + unused accelerators + (overhead - overhead_idle) x load",
                 TSIM_WATTS,
                 TSIM_PARTS(idle, not_used,
                            tsim_product(r, "of their load", "range x load", TSIM_WATTS, TSIM_PARTS(range, load))));
    if (!(node->power_limit_w > 0))
        return loaded;
    struct tsim_amount all =
        tsim_product(r, "its accelerators", "how many x one", TSIM_WATTS,
                     TSIM_PARTS(tsim_of_scenario(r, "cluster.accelerators_per_node", used, TSIM_COUNT),
                                accelerator_w(r, cluster, load)));
    struct tsim_amount room =
        tsim_sum(r, "what its accelerators leave", "limit of the node - its accelerators", TSIM_WATTS,
                 TSIM_PARTS(of_node(r, node, "power.limit", node->power_limit_w), tsim_inverse(all)));
    struct tsim_amount none = tsim_given(r, "none", 0, TSIM_WATTS, "definition");
    return tsim_smallest(
        r, "the node around them, within its limit", "what it would draw, and what its accelerators leave", TSIM_WATTS,
        TSIM_PARTS(loaded, tsim_largest(r, "what is left", "not below 0", TSIM_WATTS, TSIM_PARTS(room, none))));
}

/* Returns the power of an accelerator's part of the node and of its ports. */
static struct tsim_amount overhead_w(struct tsim_term_recorder *r, const struct tsim_cluster *cluster,
                                     struct tsim_amount load) {
    const struct tsim_fabric *fabric = cluster->fabric;
    struct tsim_amount each =
        tsim_of_scenario(r, "cluster.accelerators_per_node", (double)cluster->accelerators_per_node, TSIM_COUNT);
    struct tsim_amount of_the_node =
        tsim_product(r, "its part of the node", "the node around them / accelerators", TSIM_WATTS,
                     TSIM_PARTS(node_overhead_w(r, cluster, load), tsim_inverse(each)));
    if (!fabric)
        return of_the_node;
    struct tsim_amount port =
        tsim_of_file(r, TSIM_CATALOGUE_FABRICS, fabric->name, "power_per_port", fabric->power_w_per_port, TSIM_WATTS);
    struct tsim_amount nics =
        tsim_of_file(r, TSIM_CATALOGUE_NODES, cluster->node->name, "nics", (double)cluster->node->nics, TSIM_COUNT);
    return tsim_sum(r, "its part of node and fabric", "of the node + its ports", TSIM_WATTS,
                    TSIM_PARTS(of_the_node, tsim_product(r, "its ports", "a port x NICs of the node / accelerators",
                                                         TSIM_WATTS, TSIM_PARTS(port, nics, tsim_inverse(each)))));
}

struct tsim_amount tsim_power_at_rest(struct tsim_term_recorder *recorder, const struct tsim_cluster *cluster) {
    const struct tsim_power_use rest = {0};
    struct tsim_amount load = load_of(recorder, cluster, &rest);
    return tsim_sum(recorder, "an accelerator at rest", "idle, with its part of the node and its ports", TSIM_WATTS,
                    TSIM_PARTS(accelerator_w(recorder, cluster, load), overhead_w(recorder, cluster, load)));
}

struct tsim_amount tsim_power_use_recorded(struct tsim_term_recorder *r, const struct tsim_cluster *cluster,
                                           const struct tsim_power_use *use) {
    struct tsim_amount load = load_of(r, cluster, use);
    struct tsim_amount time =
        tsim_given(r, "time", use->time_s, TSIM_TIME_S, "its own tree: tsim explain SCENARIO step.time_s");
    return tsim_sum(r, "energy of an accelerator and what is around it", "power x time of each", TSIM_JOULES,
                    TSIM_PARTS(tsim_product(r, "the accelerator's", "time x power", TSIM_JOULES,
                                            TSIM_PARTS(time, accelerator_w(r, cluster, load))),
                               tsim_product(r, "around it", "time x power", TSIM_JOULES,
                                            TSIM_PARTS(time, overhead_w(r, cluster, load)))));
}

double tsim_power_accelerator_j(const struct tsim_cluster *cluster, const struct tsim_power_use *use) {
    return use->time_s * accelerator_w(NULL, cluster, load_of(NULL, cluster, use)).value;
}

double tsim_power_overhead_j(const struct tsim_cluster *cluster, const struct tsim_power_use *use) {
    return use->time_s * overhead_w(NULL, cluster, load_of(NULL, cluster, use)).value;
}
