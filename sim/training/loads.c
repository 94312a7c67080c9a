#include "training/loads.h"

#include <math.h>
#include <string.h>

/* Bytes are sums of fractions: loads that differ by less are the same, and keep their order. */
#define SAME_FRAC 1e-9

struct sums {
    struct tsim_link_load loads[TSIM_N_LINK_SORTS];
    double sum_frac[TSIM_N_LINK_SORTS];
    double time_s;
};

/* True if it is the busiest of its sort so far. */
static bool add_link(struct sums *sums, int32_t sort, double bytes, double capacity_bytes_per_s) {
    struct tsim_link_load *load = &sums->loads[sort];
    double frac = sums->time_s > 0 ? bytes / (capacity_bytes_per_s * sums->time_s) : 0;
    load->n_links++;
    sums->sum_frac[sort] += frac;
    if (frac <= load->highest_frac * (1 + SAME_FRAC))
        return false;
    load->highest_frac = frac;
    load->highest_bytes = bytes;
    load->highest_capacity_bytes_per_s = capacity_bytes_per_s;
    return true;
}

static void add_topology(struct sums *sums, const struct tsim_step_links *step_links) {
    const struct tsim_topology *t = step_links->topology;
    for (int32_t i = 0; i < t->n_links; i++) {
        int32_t sort = tsim_topology_link_sort(t, i);
        double bytes = tsim_engine_resource_flowed(step_links->links.engine, step_links->links.first_resource + i);
        if (t->bytes_per_s[i] > 0 && add_link(sums, sort, bytes, t->bytes_per_s[i]))
            tsim_topology_link_name(t, i, sums->loads[sort].busiest, sizeof sums->loads[sort].busiest);
    }
}

static void add_member(struct sums *sums, const struct tsim_stage_group *group, const struct tsim_member *member) {
    const struct tsim_cluster *cluster = group->plan->cluster;
    const struct {
        enum tsim_link_kind kind;
        int32_t resource;
        double bytes_per_s;
    } links[] = {{TSIM_LINK_OUT, member->scale_up_out, cluster->scale_up_bytes_per_s},
                 {TSIM_LINK_IN, member->scale_up_in, cluster->scale_up_bytes_per_s},
                 {TSIM_LINK_NIC_OUT, member->nic_out, cluster->nic_bytes_per_s},
                 {TSIM_LINK_NIC_IN, member->nic_in, cluster->nic_bytes_per_s}};
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        double bytes = tsim_engine_resource_flowed(group->engine, links[i].resource);
        struct tsim_link_load *load = &sums->loads[links[i].kind];
        if (links[i].bytes_per_s > 0 && add_link(sums, (int32_t)links[i].kind, bytes, links[i].bytes_per_s))
            snprintf(load->busiest, sizeof load->busiest, "stage %d: %s", group->stage,
                     tsim_link_sort_name((int32_t)links[i].kind));
    }
}

void tsim_loads_find(struct tsim_arena *arena, const struct tsim_step_links *step_links,
                     const struct tsim_stage_group *stage_groups, int32_t n_stage_groups,
                     struct tsim_step_simulation *simulation) {
    struct sums sums = {.time_s = simulation->time_s};
    if (step_links)
        add_topology(&sums, step_links);
    for (int32_t i = 0; i < n_stage_groups && !step_links; i++)
        for (int32_t m = 0; m < stage_groups[i].n_members; m++)
            add_member(&sums, &stage_groups[i], &stage_groups[i].members[m]);
    struct tsim_link_load *loads = TSIM_NEW_ARRAY(arena, TSIM_N_LINK_SORTS, struct tsim_link_load);
    int32_t n = 0;
    for (int32_t sort = 0; sort < TSIM_N_LINK_SORTS; sort++) {
        struct tsim_link_load *load = &sums.loads[sort];
        if (!(load->highest_frac > 0))
            continue;
        load->sort = tsim_link_sort_name(sort);
        load->mean_frac = sums.sum_frac[sort] / load->n_links;
        int32_t at = n++;
        for (; at > 0 && loads[at - 1].highest_frac * (1 + SAME_FRAC) < load->highest_frac; at--)
            loads[at] = loads[at - 1];
        loads[at] = *load;
    }
    simulation->loads = loads;
    simulation->n_loads = n;
}
