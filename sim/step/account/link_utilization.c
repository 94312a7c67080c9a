#include "step/account/link_utilization.h"

#include <string.h>

/* Bytes are sums of fractions: loads that differ by less are the same, and keep their order. */
#define SAME_FRAC 1e-9

struct sums {
    struct tsim_link_utilization link_utilizations[TSIM_N_LINK_SORTS];
    double sum_frac[TSIM_N_LINK_SORTS], n_links[TSIM_N_LINK_SORTS]; /* of all that the links stand for */
    double time_s;
};

/* Adds a link, which stands for several; returns true if it is the busiest of its sort so far. */
static bool add_link(struct sums *sums, int32_t sort, double bytes, double capacity_bytes_per_s, int32_t multiplicity) {
    struct tsim_link_utilization *use = &sums->link_utilizations[sort];
    double frac = sums->time_s > 0 ? bytes / (capacity_bytes_per_s * sums->time_s) : 0;
    use->n_links++;
    sums->n_links[sort] += multiplicity;
    sums->sum_frac[sort] += multiplicity * frac;
    if (frac <= use->highest_frac * (1 + SAME_FRAC))
        return false;
    use->highest_frac = frac;
    use->highest_bytes = bytes;
    use->highest_capacity_bytes_per_s = capacity_bytes_per_s;
    return true;
}

static double flowed_bytes(const struct tsim_step_links *step_links, int32_t link) {
    return tsim_engine_resource_flowed(step_links->links.engine, step_links->links.first_resource + link);
}

/* Does the same for a link of the topology. */
static bool add_topology_link(struct sums *sums, const struct tsim_step_links *step_links, int32_t link, double bytes) {
    const struct tsim_topology *t = step_links->topology;
    int32_t multiplicity = step_links->stands ? step_links->stands[link] : 1;
    if (multiplicity == 0 || !(t->bytes_per_s[link] > 0))
        return false;
    sums->link_utilizations[t->sorts[link]].n_links += multiplicity - 1;
    return add_link(sums, t->sorts[link], bytes, t->bytes_per_s[link], multiplicity);
}

static void add_topology(struct sums *sums, const struct tsim_step_links *step_links) {
    const struct tsim_topology *t = step_links->topology;
    for (int32_t i = 0; i < t->n_links; i++) {
        struct tsim_link_utilization *use = &sums->link_utilizations[t->sorts[i]];
        if (add_topology_link(sums, step_links, i, flowed_bytes(step_links, i)))
            tsim_topology_link_name(t, i, use->busiest, sizeof use->busiest);
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
        struct tsim_link_utilization *use = &sums->link_utilizations[links[i].kind];
        if (links[i].bytes_per_s > 0 &&
            add_link(sums, (int32_t)links[i].kind, bytes, links[i].bytes_per_s, group->account->multiplicity))
            snprintf(use->busiest, sizeof use->busiest, "stage %d: %s", group->stage,
                     tsim_link_sort_name((int32_t)links[i].kind));
    }
}

void tsim_link_utilization_find(struct tsim_arena *arena, const struct tsim_step_links *step_links,
                                const struct tsim_stage_group *stage_groups, int32_t n_stage_groups,
                                struct tsim_step_simulation *simulation) {
    struct sums sums = {.time_s = simulation->time_s};
    if (step_links)
        add_topology(&sums, step_links);
    for (int32_t i = 0; i < n_stage_groups && !step_links; i++)
        for (int32_t m = 0; m < stage_groups[i].n_members; m++)
            add_member(&sums, &stage_groups[i], &stage_groups[i].members[m]);
    struct tsim_link_utilization *link_utilizations =
        TSIM_NEW_ARRAY(arena, TSIM_N_LINK_SORTS, struct tsim_link_utilization);
    int32_t n = 0;
    for (int32_t sort = 0; sort < TSIM_N_LINK_SORTS; sort++) {
        struct tsim_link_utilization *use = &sums.link_utilizations[sort];
        if (!(use->highest_frac > 0))
            continue;
        use->sort = tsim_link_sort_name(sort);
        use->mean_frac = sums.sum_frac[sort] / sums.n_links[sort];
        int32_t at = n++;
        for (; at > 0 && link_utilizations[at - 1].highest_frac * (1 + SAME_FRAC) < use->highest_frac; at--)
            link_utilizations[at] = link_utilizations[at - 1];
        link_utilizations[at] = *use;
    }
    simulation->link_utilizations = link_utilizations;
    simulation->n_link_utilizations = n;
}

/* ---- samples ---- */

struct tsim_link_samples {
    const struct tsim_step_links *step_links;
    const struct tsim_step_sink *sink;
    const int32_t *stands_for; /* by link; NULL: each for itself */
    tsim_tick interval, last;
    double *flowed; /* by link, up to `last` */
};

struct tsim_link_samples *tsim_link_samples_new(struct tsim_arena *arena, const struct tsim_step_links *step_links,
                                                const struct tsim_step_sink *sink, double interval_s) {
    const struct tsim_topology *t = step_links->topology;
    int32_t n = 0;
    for (int kind = 0; kind < TSIM_N_LINK_KINDS; kind++)
        n += tsim_link_is_shared((enum tsim_link_kind)kind) ? t->count[kind] : 0;
    if (n == 0 || !sink || !sink->take_links)
        return NULL;
    struct tsim_link_samples *samples = TSIM_NEW(arena, struct tsim_link_samples);
    *samples = (struct tsim_link_samples){.step_links = step_links,
                                          .sink = sink,
                                          .interval = tsim_engine_ticks(step_links->links.engine, interval_s),
                                          .flowed = TSIM_NEW_ARRAY(arena, (size_t)t->n_links, double)};
    return samples;
}

void tsim_link_samples_stand(struct tsim_link_samples *samples, const int32_t *stands_for) {
    samples->stands_for = stands_for;
}

static void tell(struct tsim_link_samples *samples) {
    const struct tsim_links *links = &samples->step_links->links;
    const struct tsim_topology *t = links->topology;
    tsim_tick now = tsim_engine_now(links->engine);
    double begin_s = tsim_engine_seconds(links->engine, samples->last), end_s = tsim_engine_seconds(links->engine, now);
    struct sums sums = {.time_s = end_s - begin_s};
    for (int32_t i = 0; i < t->n_links; i++) {
        if (!tsim_link_is_shared(tsim_topology_link_kind(t, i)))
            continue;
        double bytes = flowed_bytes(samples->step_links, samples->stands_for ? samples->stands_for[i] : i);
        add_topology_link(&sums, samples->step_links, i, bytes - samples->flowed[i]);
        samples->flowed[i] = bytes;
    }
    for (int32_t sort = 0; sort < TSIM_N_LINK_SORTS; sort++)
        if (sums.n_links[sort] > 0)
            samples->sink->take_links(
                samples->sink->context,
                &(struct tsim_step_links_sample){.sort = sort,
                                                 .begin_s = begin_s,
                                                 .end_s = end_s,
                                                 .mean_frac = sums.sum_frac[sort] / sums.n_links[sort],
                                                 .highest_frac = sums.link_utilizations[sort].highest_frac});
    samples->last = now;
}

void tsim_link_samples_look(struct tsim_link_samples *samples) {
    if (tsim_engine_now(samples->step_links->links.engine) - samples->last >= samples->interval)
        tell(samples);
}

void tsim_link_samples_end(struct tsim_link_samples *samples) {
    if (samples && tsim_engine_now(samples->step_links->links.engine) > samples->last)
        tell(samples);
}
