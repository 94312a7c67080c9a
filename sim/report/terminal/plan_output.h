/* plan_output.h - the result of a search for plans as a table and as JSON: the best plans, with what each of the others
 * loses, term by term, against the first, and the front of time, cost and energy. It has no clock times. */
#pragma once

#include "report/terminal/figures.h"
#include "study/search/plan.h"

struct tsim_plan_output {
    const char *scenario;
    const struct tsim_plan_search *search;
    const struct tsim_plan_result *result;
    const struct tsim_figures *sensitivity; /* for the two best candidates; without cells: not asked for */
    const char *verdict;                    /* on their order; or NULL */
};

void tsim_plan_print(struct tsim_arena *arena, const struct tsim_plan_output *output, const struct tsim_style *style,
                     FILE *out);

/* Returns "tp4 pp2x20 dp128 zero1". Degrees of one, and settings with their usual values, are left out. */
const char *tsim_plan_text(struct tsim_arena *arena, const struct tsim_plan *plan);

/* Prints "  --set PATH=VALUE ...", with which a run is the plan: on a terminal in lines that a shell takes together,
 * else in one line. */
void tsim_plan_print_settings(struct tsim_arena *arena, const char *set_json, const struct tsim_style *style,
                              FILE *out);

/* Returns "no plan is within the limits: days: 213 at least, 60 allowed (+255.0 %)"; if there are several clusters, the
 * cluster's name stands before it. */
const char *tsim_plan_reason_text(struct tsim_arena *arena, const struct tsim_plan_gap *gap);
const char *tsim_plan_gap_text(struct tsim_arena *arena, const struct tsim_plan_output *output,
                               const struct tsim_plan_gap *gap);

/* Returns "64 x h100-sxm", and, if another candidate has as many of the same, what is set for it: "64 x h100-sxm,
 * ib-ndr". */
const char *tsim_plan_cluster_name(struct tsim_arena *arena, const struct tsim_plan_space *space,
                                   const struct tsim_plan_candidate *candidate);

/* Prints one table after another, named as the members of the JSON: best, best_of_each, points (the front),
 * sensitivity. */
void tsim_plan_print_csv(struct tsim_arena *arena, const struct tsim_plan_output *output, FILE *out);

/* Returns the figure by which the plans are ranked. Models without tokens are ranked by samples, which gives the same
 * order. */
enum tsim_outcome_figure tsim_plan_objective(const struct tsim_plan_output *output);

/* Returns {"best": [{"set", "status", "cluster", "accelerator", "may_not_fit", "similar_runs", "runs_on_accelerator",
 * "per_token", "loses", "summary"}], "recommended": the plan that the output says to run, "points": [the front: the
 * same without "loses"], "best_of_each": [as points; if there are several candidates], "without": [{"cluster", "why"}:
 * the candidates that have no plan], "evaluated", "pruned", ...; "sensitivity" and "verdict" if asked for}. The caller
 * releases it. */
struct tsim_json *tsim_plan_json(struct tsim_arena *arena, const struct tsim_plan_output *output);
