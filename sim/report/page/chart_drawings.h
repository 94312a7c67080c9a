/* chart_drawings.h - private to report/page: the drawings that chart.h lists, each from an entry of the page's data.
 * They return false, with nothing written, if the entry has nothing to draw. */
#pragma once

#include "report/page/svg.h"
#include "results/json.h"

/* chart_step.c draws one step. */
bool tsim_chart_step(const struct tsim_json *run, const struct tsim_svg *svg);
bool tsim_chart_memory(const struct tsim_json *run, const struct tsim_svg *svg);
bool tsim_chart_schedule(const struct tsim_json *run, const struct tsim_svg *svg);
bool tsim_chart_streams(const struct tsim_json *run, const struct tsim_svg *svg);
bool tsim_chart_roofline(const struct tsim_json *run, const struct tsim_svg *svg);

/* chart_layer.c draws a layer's operators. */
bool tsim_chart_layer(const struct tsim_json *run, const struct tsim_svg *svg);

/* chart_run.c draws the rest of a run. */
bool tsim_chart_links(const struct tsim_json *run, const struct tsim_svg *svg);
bool tsim_chart_sensitivity(const struct tsim_json *run, const struct tsim_svg *svg);
bool tsim_chart_days(const struct tsim_json *run, const struct tsim_svg *svg);
bool tsim_chart_timeline(const struct tsim_json *run, const struct tsim_svg *svg);
bool tsim_chart_power(const struct tsim_json *run, const struct tsim_svg *svg);
bool tsim_chart_lost(const struct tsim_json *run, const struct tsim_svg *svg);
bool tsim_chart_ownership(const struct tsim_json *run, const struct tsim_svg *svg);

/* chart_sweep.c draws the points of a sweep. */
bool tsim_chart_scaling(const struct tsim_json *sweep, const struct tsim_svg *svg);
bool tsim_chart_pareto(const struct tsim_json *sweep, const struct tsim_svg *svg);
bool tsim_chart_heat(const struct tsim_json *sweep, const struct tsim_svg *svg);

/* chart_plan.c draws the best plans. */
bool tsim_chart_plan_steps(const struct tsim_json *plans, const struct tsim_svg *svg);
bool tsim_chart_plan_memory(const struct tsim_json *plans, const struct tsim_svg *svg);
bool tsim_chart_plan_cost(const struct tsim_json *plans, const struct tsim_svg *svg);
bool tsim_chart_plan_energy(const struct tsim_json *plans, const struct tsim_svg *svg);
bool tsim_chart_plan_clusters(const struct tsim_json *plans, const struct tsim_svg *svg);

/* chart_decision.c draws the alternatives of `tsim buy`. */
bool tsim_chart_decision(const struct tsim_json *decision, const struct tsim_svg *svg);

/* chart_comparison.c draws what changes from A to B. */
bool tsim_chart_waterfall(const struct tsim_json *comparison, const struct tsim_svg *svg);
