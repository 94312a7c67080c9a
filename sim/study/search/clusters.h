/* clusters.h - clusters of the catalogue as the candidates of a search. A candidate is a node that the job can run on
 * and that has a price, unless its products cost far more than on other machines (buy_judgements.h). Its NICs are on
 * the fabric that they fill. There are as many nodes as a run needs that is to end after so many days. */
#pragma once

#include "config/scenario.h"
#include "study/search/space.h"

/* A machine is a node of the catalogue, with the job on it. */
struct tsim_catalogue_machine {
    const char *node, *fabric;       /* ids */
    int64_t accelerators_per_node;   /* as many as can divide a batch */
    const char *software;            /* id of its own software, or of what runs on GPUs */
    const struct tsim_scenario *job; /* on one such node */
    const char *left_out;            /* why it is no candidate; NULL: it is one */
    bool is_dear;                    /* it is left out only for the price of its products */
    bool is_unasked;                 /* it is left out because another one is asked for */
};

/* Returns the last value that is set for a path; NULL if there is none. */
const char *tsim_override_of(const struct tsim_override *overrides, size_t n, const char *path);

/* Adds to each choice that names a node of the catalogue what that machine implies: the fabric that its NICs fill (if
 * `has_fabrics`, and no point names one), and the catalogue's prices in place of those of the scenario, which belong to
 * the machine that it names. Settings of choices and overrides stay. */
void tsim_space_of_machines(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                            const struct tsim_override *overrides, size_t n_overrides, bool has_fabrics,
                            const struct tsim_space *space, struct tsim_space *result);

/* Lists every node of the catalogue's files in their order, or only the node or fabric that the overrides name. It
 * fails if the catalogue cannot be read. */
enum tsim_status tsim_machines_list(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                    const struct tsim_override *overrides, size_t n_overrides,
                                    struct tsim_catalogue_machine **machines, size_t *n_machines,
                                    struct tsim_diags *diags);

/* Returns the least number of nodes, 2^k or 3 x 2^k (the latter if the batch is a multiple of 3), that is not below
 * `nodes`. */
int64_t tsim_round_nodes(const struct tsim_scenario *job, double nodes);

/* Estimates how many nodes finish the run in so many days: 6 FLOP for each active parameter and token, at a part of the
 * rate of long products. There are at least as many as hold the parameters with their states, and at most the largest
 * cluster that is tried (buy_judgements.h). */
double tsim_nodes_for(const struct tsim_catalogue_machine *machine, double days);

/* Estimates the FLOPs that good plans do for the goal's budget until its date, on the machine that does most. */
double tsim_affordable_flops(const struct tsim_catalogue_machine *machines, size_t n,
                             const struct tsim_goal_spec *goal);

struct tsim_cluster_size {
    const struct tsim_catalogue_machine *machine;
    int64_t nodes;
};
/* Makes a space with an axis of these clusters. It has fewer values of a plan's keys than `tsim plan` tries, so that a
 * whole catalogue is searched in seconds: virtual_pipeline the five smallest divisors, sequence true, micro-batches 1,
 * 2, 4. */
enum tsim_status tsim_clusters_space(struct tsim_arena *arena, const struct tsim_cluster_size *sizes, size_t n,
                                     struct tsim_space *space, struct tsim_diags *diags);
