/* plan_output.h - the result of a search for plans as a table and as JSON: the best with what each other one loses,
 * term by term against the first, and the front of time, cost and energy. No times of a clock. */
#ifndef TSIM_REPORT_PLAN_OUTPUT_H
#define TSIM_REPORT_PLAN_OUTPUT_H

#include "report/terminal/figures.h"
#include "study/search/plan.h"

struct tsim_plan_output {
    const char *scenario;
    const struct tsim_plan_search *search;
    const struct tsim_plan_result *result;
    const struct tsim_figures *sensitivity; /* of the two best candidates; without cells: not asked for */
    const char *verdict;                    /* on their order; or NULL */
};

void tsim_plan_print(struct tsim_arena *arena, const struct tsim_plan_output *output, const struct tsim_style *style,
                     FILE *out);

/* Returns "tp4 pp2x20 dp128 zero1"; what is one, or as usual, is left out. */
const char *tsim_plan_text(struct tsim_arena *arena, const struct tsim_plan *plan);

/* "  --set PATH=VALUE ..." with which a run is the plan: on a terminal in lines that a shell takes together, else in one. */
void tsim_plan_print_settings(struct tsim_arena *arena, const char *set_json, const struct tsim_style *style,
                              FILE *out);

/* "no plan is within the limits: days: 213 at least, 60 allowed (+255.0 %)"; the same after the cluster's name, where there
 * are several. */
const char *tsim_plan_reason_text(struct tsim_arena *arena, const struct tsim_plan_gap *gap);
const char *tsim_plan_gap_text(struct tsim_arena *arena, const struct tsim_plan_output *output,
                               const struct tsim_plan_gap *gap);

/* "64 x h100-sxm", and what is set for it where another candidate has as many of the same: "64 x h100-sxm, ib-ndr". */
const char *tsim_plan_cluster_name(struct tsim_arena *arena, const struct tsim_plan_space *space,
                                   const struct tsim_plan_candidate *candidate);

/* Prints one table after the other, named as the members of the JSON: best, best_of_each, points (the front),
 * sensitivity. */
void tsim_plan_print_csv(struct tsim_arena *arena, const struct tsim_plan_output *output, FILE *out);

/* Returns the figure that the plans are ranked by. Models without tokens are ranked by samples, which ranks alike. */
enum tsim_outcome_figure tsim_plan_objective(const struct tsim_plan_output *output);

/* Returns {"best": [{"set", "status", "cluster", "accelerator", "may_not_fit", "similar_runs", "runs_on_accelerator",
 * "per_token", "loses", "summary"}], "recommended": the one that is said to be run, "points": [the front: the same
 * without "loses"], "best_of_each": [as points; where there are several candidates], "without": [{"cluster", "why"}:
 * the candidates that have no plan], "evaluated", "pruned", ...; "sensitivity" and "verdict" with them}. The caller
 * releases it. */
struct tsim_json *tsim_plan_json(struct tsim_arena *arena, const struct tsim_plan_output *output);

#endif
