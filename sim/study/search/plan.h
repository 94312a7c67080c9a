/* plan.h - the best plans of a space, the same that simulating every one of them would find.
 *
 * Each combination is resolved and checked like a scenario (plan_space.h). The memory of a valid one is worked out,
 * and where that fits a bound: figures that the plan cannot beat (run/run.h). The plan with the best bound comes first. If a
 * closer bound puts it behind another one, it waits again; else it is simulated. TSIM_PLAN_ROUND are taken at a time, on all
 * threads. A plan is left out (pruned) when its bound shows that it is neither
 * among the best nor on the front: its objective is worse than that of the last of the best so far (and, where it is
 * sure to fit, than that of the best such plan), or a limit is broken; and a plan that was simulated needs no more
 * time, no more money and no more energy for each token. First the cheap bound, then a closer one, then the simulation.
 * Where each candidate is asked for its fastest plan alone, the first bound is of whatever split of the layers: layers that differ
 * are balanced, and the memory worked out, when a plan's turn comes.
 * A round knows what the rounds before it found, so that results and counts do not depend on the number of
 * threads.
 *
 * Refinements of a plan (plan_space.h) come after all others. Those that share the rest of their keys share one bound,
 * of whatever split of the layers and whatever memory; where that excludes them they are not even listed.
 *
 * Objectives and limits that no bound is known for (mean power) prune nothing: then all plans but refinements are
 * simulated, and the result says so. */
#ifndef TSIM_STUDY_PLAN_H
#define TSIM_STUDY_PLAN_H

#include "study/search/plan_space.h"
#include "study/search/ranking.h"

/* A round of simulations is small, because what is simulated before anything is known is simulated for nothing. */
enum { TSIM_PLAN_ROUND = 8 };

struct tsim_plan;
struct tsim_plan_search {
    const struct tsim_plan_space *space;
    struct tsim_ranking ranking;
    int32_t n_threads;
    bool is_exhaustive; /* nothing is pruned: for tests */
    /* Set if only the best plan of each candidate is asked for (`own`), by a figure of its step, among plans that fit
     * whatever the error of their memory is (results/verdict.h); a plan that may not fit counts as too large. Then
     * there is no front, only `own` has campaigns, and the five best are not completed. */
    bool is_for_candidates;
    /* With it: is a candidate's best plan worth a run with its failures, by one without them? NULL: each is. Threads ask. */
    bool (*is_worth)(const void *context, const struct tsim_plan *without_failures);
    const void *worth_context;
    bool heeds_interrupt; /* SIGINT and SIGTERM end it with what was found; they stay blocked where one came */
};

/* A price is what must be given up for a token: less is better of each. A cost that is not known is 0, and is neither
 * more nor less than one that is. */
struct tsim_plan_price {
    double time_s, cost_usd, energy_j;
};

struct tsim_plan {
    struct tsim_point point; /* position: in the space */
    struct tsim_plan_price price;
    const struct tsim_plan_candidate *candidate;
    struct tsim_plan_choice choice;
    const char *set_json;
    struct tsim_percentiles days, cost_usd; /* of the whole run (study/judge/forecast.h); NAN: it has none */
    struct tsim_distribution days_at;       /* where `days` are known */
    double missed_frac;                     /* of them: the longest ones, which end without the loss that is the goal */
    bool may_not_fit;                       /* by tsim_may_not_fit (results/verdict.h) */
    bool is_left_out;                       /* is_worth said no: nothing else is known of it */
    int32_t n_similar_runs,
        n_own_runs;      /* measured: like it; on its accelerator (study/judge/uncertainty.h). -1: not known */
    const char *lacking; /* with any software: what the job's own cannot run; NULL: nothing */
    const char *unknown; /* what makes its interval wide, in words; NULL: nothing worth one */
};

/* A candidate that has no plan among those admitted, and why not: among the limits that none of its plans can keep,
 * the one that is missed by most; `nearest` is the best that any of them could reach: of a figure that is bounded
 * before a plan is simulated (days, cost, memory) the bound, which is a little better than any plan is. */
enum tsim_plan_lack {
    TSIM_PLAN_LACKS_VALID,  /* none is valid: the batch, the layers or the accelerators do not divide */
    TSIM_PLAN_LACKS_MEMORY, /* none fits; excess_bytes: what the smallest lacks */
    TSIM_PLAN_LACKS_FIGURE, /* `figure`, to rank by or to limit, is not known: no rent, no length of the run */
    TSIM_PLAN_LACKS_LIMIT   /* `limit` NULL: each limit is kept by some plan, all of them by none */
};
struct tsim_plan_gap {
    const struct tsim_plan_candidate *candidate;
    enum tsim_plan_lack lack;
    int64_t batch_below, batch_above; /* not valid: the nearest global batches that have valid plans; 0: none */
    double excess_bytes, capacity_bytes;
    const struct tsim_limit *limit;
    double nearest;
    enum tsim_outcome_figure figure;
};

struct tsim_plan_result {
    struct tsim_plan best[TSIM_BEST_POINTS]; /* best first */
    size_t n_best;
    /* The best of those that fit with their peak as far above as one in ten is; of no best: none. */
    struct tsim_plan safe;
    bool has_safe;
    const struct tsim_plan *front; /* by time: admitted plans that no other one beats in time, cost and energy */
    size_t n_front;
    const struct tsim_plan *own; /* the best of each candidate that has one, in their order */
    size_t n_own;
    const struct tsim_plan_gap *gaps; /* the candidates that have none, in their order */
    size_t n_gaps;
    /* Counts of the plans that divide: not valid by the rules, with traffic that is not played (step/unplayed.h),
     * too large, simulated, excluded by a bound. */
    int64_t n_plans, n_invalid, n_unplayed, n_too_large, n_evaluated, n_pruned;
    int64_t n_admitted;  /* of those simulated: within the limits */
    bool is_unrefined;   /* refinements were left out: of the objective or a limit no bound is known */
    bool is_interrupted; /* then n_unseen plans were not decided on, n_unbounded of them not in n_plans; no gaps */
    int64_t n_unseen, n_unbounded;
    double least_excess_bytes; /* of those too large, what the smallest lacks; NAN: none */
};

struct tsim_plan_progress {
    int64_t n_plans, n_done; /* bounded; then, of those that are left, simulated or pruned */
    bool is_bounding, is_interrupted;
    double left_s; /* until this part is over, at the pace so far; NAN: not known */
};
typedef void (*tsim_plan_report_fn)(void *context, const struct tsim_plan_progress *progress);

/* Runs a plan in full, of which candidate, choice and settings are there, and fills in the rest; `scenario` is the plan's. */
struct tsim_evidence;
enum tsim_status tsim_plan_play(struct tsim_arena *arena, const struct tsim_evidence *evidence,
                                const struct tsim_scenario *scenario, struct tsim_plan *plan, struct tsim_diags *diags);

/* `report` (may be NULL) is called from the calling thread. Fails only with what a simulation fails with. */
enum tsim_status tsim_plan_run(struct tsim_arena *arena, const struct tsim_plan_search *search,
                               tsim_plan_report_fn report, void *context, struct tsim_plan_result *result,
                               struct tsim_diags *diags);

#endif
