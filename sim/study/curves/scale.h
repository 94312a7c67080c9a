/* scale.h - how a job scales: the same scenario on more and more accelerators.
 *
 *   strong: the global batch stays, so each accelerator has less to do;   weak: the batch per accelerator stays.
 *
 * Efficiency is throughput per accelerator over that of the smallest count that runs. The loss at a count is computed
 * for each term of the step: it is the time above what the smallest count's term would be if it scaled with the work
 * per accelerator. excess = term - r * reference term, with r the work per accelerator over the reference's. The term
 * with the largest excess is the cause. Excesses add up to the step's own, t - r * t_reference.
 *
 * A plan that suits one count seldom suits another. On request, each count also has its best plan: the one that `tsim
 * plan` finds there by step time, among those that fit whatever the memory's error. */
#pragma once

#include "results/store_points.h"
#include "study/curves/sweep.h"
#include "study/search/plan.h"

struct tsim_scale_row {
    int64_t n_accelerators, global_batch_size;
    struct tsim_point point;
    double speedup, efficiency_frac; /* NAN unless the point is ok */
    bool has_cause;                  /* false for the reference, and if nothing is lost */
    enum tsim_outcome_figure cause;  /* a term of the step */
    double excess_s, share_frac;     /* of the cause: its excess, and its part of all positive excesses */
    const struct tsim_plan *best;    /* NULL: not asked for, or none is valid and fits */
    double best_efficiency_frac;     /* of the best plan, relative to the first count's best plan; NAN: there is none */
};

struct tsim_scale_options {
    const int64_t *counts; /* ascending; NULL: doubling from the scenario's own count on */
    size_t n_counts;
    bool is_weak;
    double until_efficiency_frac; /* the curve ends with the first count below; 0: no limit */
    bool is_replanned;            /* each count's best plan is also found */
    tsim_plan_report_fn report;   /* it is told how far the search for plans is; NULL: nobody is */
    void *context;
    int32_t n_threads;
};

struct tsim_scale {
    const struct tsim_scale_row *rows;
    size_t n_rows;
    bool is_weak;
    int64_t sweep_id;
    bool is_interrupted; /* true: there are no rows */
    /* With a limit, the knee is the first row below it. Without one it is the row after which throughput, in
     * logarithms, bends most, by at least TSIM_SCALE_LEAST_BEND. The cause is then that of the next row with the knee
     * as its reference. */
    bool has_knee;
    size_t knee;
    enum tsim_outcome_figure knee_cause;
    double knee_excess_s, knee_share_frac;
    bool has_last_above; /* with a limit: the largest count that reaches it */
    size_t last_above;
};
#define TSIM_SCALE_LEAST_BEND 0.05

/* Runs the counts as a sweep into `store` (`file` as for tsim_sweep_run), so that they are logged and found again.
 * `sweep` gives source and overrides; its space is not used. Returns TSIM_ERR_INFEASIBLE for a count that is no whole
 * number of nodes or (weak) gives no whole batch. */
enum tsim_status tsim_scale_run(struct tsim_arena *arena, const struct tsim_sweep *sweep,
                                const struct tsim_scale_options *options, struct tsim_store *store, const char *file,
                                struct tsim_scale *scale, struct tsim_diags *diags);

/* Computes efficiencies, causes and the knee of rows whose points have been computed. It is public for tests. */
void tsim_scale_analyse(struct tsim_scale_row *rows, size_t n_rows, double until_efficiency_frac,
                        struct tsim_scale *scale);
