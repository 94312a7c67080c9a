/* plan.h - the best plans of a space, which are the same that simulating every plan would find.
 *
 * Each combination is resolved and checked like a scenario (plan_space.h). A valid plan has a bound: figures that it
 * cannot beat (run/run.h), whatever the memory holds and, if layers are balanced, however they are split. The plan with
 * the best bound comes first. Then its layers are balanced and its memory is computed. If it fits, and a closer bound
 * does not put it behind another plan, it is simulated; else it waits again. TSIM_PLAN_ROUND plans are taken at a time,
 * on all threads. If there are limits, the memory of all plans is computed first, to tell how near they come.
 *
 * A plan is left out (pruned) if its bound shows that it is neither among the best nor on the front. It is not among
 * the best if its objective is worse than that of the last of the best so far (and, if it is sure to fit, than that of
 * the best such plan), or if a limit is broken. It is not on the front if a simulated plan needs no more time, no more
 * money and no more energy for each token. The cheap bound comes first, then a closer one, then the simulation. If each
 * candidate is asked only for its fastest plan, the first bound is that of any split of the layers; layers that differ
 * are balanced, and the memory is computed, when a plan's turn comes. A round knows what the rounds before it found, so
 * that results and counts do not depend on the number of threads.
 *
 * Refinements of a plan (plan_space.h) come after all others. Those that share the rest of their keys share one bound,
 * for any memory, each order of the ranks and, if layers are balanced, any split of them. If that
 * excludes them, or none can fit, they are not even listed.
 * Those that are listed wait with that bound, unless there are limits, and are balanced and found to fit when their turn
 * comes.
 *
 * Objectives and limits without a known bound (mean power) prune nothing. Then all plans except refinements are
 * simulated, and the result says so. */
#pragma once

#include "study/search/plan_space.h"
#include "study/search/ranking.h"

/* A round of simulations is small, because what is simulated before anything is known is simulated in vain. */
enum { TSIM_PLAN_ROUND = 8 };

struct tsim_plan;
struct tsim_plan_search {
    const struct tsim_plan_space *space;
    struct tsim_ranking ranking;
    int32_t n_threads;
    bool is_exhaustive; /* nothing is pruned; for tests */
    /* Set if only the best plan of each candidate is asked for (`own`), by a figure of its step, among plans that fit
     * whatever the error of their memory is (results/verdict.h); a plan that may not fit counts as too large. There is
     * then no front, only `own` has campaigns, and the five best are not completed. */
    bool is_for_candidates;
    /* With it: chooses candidates to look at more closely, given what is known of each: `own` has one for each, without
     * a `candidate` if it has no plan. Returns whether it chose any that is not simulated yet; the search asks again
     * when those are known better, until none is chosen. NULL: all are simulated. */
    bool (*choose)(void *context, const struct tsim_plan *own, bool *is_chosen);
    void *choose_context;
    /* SIGINT and SIGTERM end it, and simulations under way, with what was found; they stay blocked if one came. */
    bool heeds_interrupt;
};

/* A plan's price is its time, money and energy for a token; less is better in each. A cost that is not known is 0, and
 * is neither more nor less than one that is. */
struct tsim_plan_price {
    double time_s, cost_usd, energy_j;
};

/* A bound of a candidate stands for its plans: none of them has a case of its days that is shorter, nor costs less for
 * each day, nor needs less energy (which it takes to be none). */
enum tsim_plan_knowledge { TSIM_PLAN_SIMULATED, TSIM_PLAN_BOUND, TSIM_PLAN_LOOSE_BOUND };

struct tsim_plan {
    enum tsim_plan_knowledge knowledge;
    struct tsim_point point; /* position: that in the space */
    struct tsim_plan_price price;
    const struct tsim_plan_candidate *candidate;
    struct tsim_plan_choice choice;
    const char *set_json;
    struct tsim_percentiles days, cost_usd; /* of the whole run (study/judge/forecast.h); NAN: it has none */
    struct tsim_distribution days_at;       /* set if `days` are known */
    double missed_frac;                     /* part of them, the longest, that ends without the loss that is the goal */
    bool may_not_fit;                       /* by tsim_may_not_fit (results/verdict.h) */
    bool is_left_out;                       /* its run was stopped, so nothing else is known of it */
    int32_t n_similar_runs,
        n_own_runs;      /* measured runs like it; on its accelerator (study/judge/uncertainty.h). -1: not known */
    const char *lacking; /* with any software: what the job's own cannot run; NULL: nothing */
    const char *unknown; /* the reasons for its wide interval in words; NULL: it is not wide */
};

/* A candidate without an admitted plan, and the reason. Among the limits that none of its plans can keep, `limit` is
 * the one that is missed by most. `nearest` is the best value that any of them could reach. For a figure that is
 * bounded before a plan is simulated (days, cost, memory) it is the bound, which is a little better than any plan. */
enum tsim_plan_lack {
    TSIM_PLAN_LACKS_VALID,  /* none is valid: the batch, the layers or the accelerators do not divide */
    TSIM_PLAN_LACKS_MEMORY, /* none fits; the smallest lacks excess_bytes */
    TSIM_PLAN_LACKS_FIGURE, /* `figure`, to rank by or to limit, is not known: no rent, no length of the run */
    TSIM_PLAN_LACKS_LIMIT   /* `limit` NULL: some plan keeps each limit, and none keeps all */
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
    /* The best plan among those that fit even with a peak as far above the prediction as one in ten has. has_safe is
     * false if there is none. */
    struct tsim_plan safe;
    bool has_safe;
    const struct tsim_plan *front; /* by time: admitted plans that no other plan beats in time, cost and energy */
    size_t n_front;
    /* The best plan of each candidate that has one, in the candidates' order, or a bound if none was simulated. */
    const struct tsim_plan *own;
    size_t n_own;
    const struct tsim_plan_gap *gaps; /* the candidates that have none, in their order */
    size_t n_gaps;
    /* Counts of the plans that divide: all; not valid by the rules; with traffic that is not played (step/unplayed.h);
     * too large; simulated; excluded by a bound. */
    int64_t n_plans, n_invalid, n_unplayed, n_too_large, n_evaluated, n_pruned;
    int64_t n_admitted; /* part of n_evaluated that is within the limits */
    bool is_unrefined;  /* refinements were left out, because the objective or a limit has no known bound */
    /* true: n_unseen plans were not decided on, n_unbounded of them are not in n_plans, and there are no gaps; or not
     * all that is shown was run in full, and days and cost of such plans are not known. */
    bool is_interrupted;
    int64_t n_unseen, n_unbounded;
    size_t n_unlisted;         /* and candidates not all of whose plans were even counted */
    double least_excess_bytes; /* memory that the smallest of n_too_large lacks; NAN: none is too large */
};

struct tsim_plan_progress {
    int64_t n_plans, n_done; /* plans to bound, as far as is known; then plans that are left to simulate or prune */
    bool is_bounding, is_interrupted;
    double left_s; /* until this part ends, at the pace so far; NAN: not known */
};
typedef void (*tsim_plan_report_fn)(void *context, const struct tsim_plan_progress *progress);

/* Runs a plan in full and fills in the rest of it; its candidate, choice and settings are set, and `scenario` is the
 * plan's. */
struct tsim_evidence;
enum tsim_status tsim_plan_play(struct tsim_arena *arena, const struct tsim_evidence *evidence,
                                const struct tsim_scenario *scenario, struct tsim_plan *plan, struct tsim_diags *diags);

/* Finds the best plans. `report` (may be NULL) is called from the calling thread. It fails only as a simulation
 * fails. */
enum tsim_status tsim_plan_run(struct tsim_arena *arena, const struct tsim_plan_search *search,
                               tsim_plan_report_fn report, void *context, struct tsim_plan_result *result,
                               struct tsim_diags *diags);
