/* explain.h - where a step goes and why, as `tsim explain` prints it: one section after the other, each a table for
 * people, CSV or a JSON array. Sections that need a simulated step are left out of a result that has none.
 *
 *   memory     bytes by kind and pipeline stage against capacity, and what would make it fit
 *   operators  the roofline of every operator of the critical rank; the shares of all rows add up to the step */
#ifndef TSIM_REPORT_EXPLAIN_H
#define TSIM_REPORT_EXPLAIN_H

#include "report/figures.h"
#include "training/result.h"

struct tsim_explanation {
    const struct tsim_scenario *scenario;
    const struct tsim_result *result; /* of a run of the scenario */
};

void tsim_explain_print(FILE *out, const struct tsim_style *style, const struct tsim_explanation *explanation);
/* The sections' tables one after the other, an empty line between them; see tsim_figures_print_csv. */
void tsim_explain_print_csv(FILE *out, const struct tsim_explanation *explanation);
/* {"schema": "tsim/explain/v1", "scenario", "status", "step_time_s", and an array for each section}. */
struct tsim_json *tsim_explain_json(const struct tsim_explanation *explanation);

#endif
