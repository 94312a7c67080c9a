/* clusters.h - clusters of the catalogue as the candidates of a search: each node that the job can run on and that has
 * a price, unless its products cost far more than other machines' (buy_judgements.h). Its NICs are on the fabric that
 * they fill. The nodes are as many as a run needs that is to end after so many days. */
#ifndef TSIM_STUDY_CLUSTERS_H
#define TSIM_STUDY_CLUSTERS_H

#include "config/scenario.h"
#include "study/search/space.h"

/* A node of the catalogue, and the job on it. */
struct tsim_catalogue_machine {
    const char *node, *fabric;       /* ids */
    int64_t accelerators_per_node;   /* as many as divide a batch among them */
    const char *software;            /* its own, or what runs on GPUs */
    const struct tsim_scenario *job; /* on one such node */
    const char *left_out;            /* why it is no candidate; NULL: it is one */
    bool is_dear;                    /* it is left out for the price of its products alone */
};

/* Returns the last value that is said for a path; NULL: none is. */
const char *tsim_override_of(const struct tsim_override *overrides, size_t n, const char *path);

/* Adds what a candidate's machine says for itself, where a choice names a node of the catalogue: the fabric that its
 * NICs fill (`has_fabrics`, and no point has one), and the catalogue's prices where the scenario states some, for those
 * belong to the machine that it names. Settings of choices and overrides stay. */
void tsim_space_of_machines(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                            const struct tsim_override *overrides, size_t n_overrides, bool has_fabrics,
                            const struct tsim_space *space, struct tsim_space *result);

/* Lists every node of the catalogue's files, in their order; a node or a fabric among the overrides is the only one.
 * Fails where the catalogue cannot be read. */
enum tsim_status tsim_machines_list(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                    const struct tsim_override *overrides, size_t n_overrides,
                                    struct tsim_catalogue_machine **machines, size_t *n_machines,
                                    struct tsim_diags *diags);

/* Returns the least number of nodes, 2^k or 3 x 2^k (this where the batch is a multiple of 3), that is not below
 * `nodes`. */
int64_t tsim_round_nodes(const struct tsim_scenario *job, double nodes);

/* Estimates how many nodes finish the run in so many days: 6 FLOP for each active parameter and token, at a part of the
 * rate of long products. They are not fewer than hold the parameters with their states, nor more than the largest
 * cluster that is tried (buy_judgements.h). */
double tsim_nodes_for(const struct tsim_catalogue_machine *machine, double days);

/* Estimates the FLOPs that good plans do for the goal's budget until its date, on the machine that does most. */
double tsim_affordable_flops(const struct tsim_catalogue_machine *machines, size_t n,
                             const struct tsim_goal_spec *goal);

struct tsim_cluster_size {
    const struct tsim_catalogue_machine *machine;
    int64_t nodes;
};
/* Makes a space with an axis of these clusters, and with fewer values of a plan's keys than `tsim plan` tries, so that
 * a whole catalogue is searched in seconds: virtual_pipeline the five smallest divisors, sequence true, micro-batches
 * 1, 2, 4.  */
enum tsim_status tsim_clusters_space(struct tsim_arena *arena, const struct tsim_cluster_size *sizes, size_t n,
                                     struct tsim_space *space, struct tsim_diags *diags);

#endif
