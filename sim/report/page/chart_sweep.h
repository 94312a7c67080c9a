/* chart_sweep.h - private to report: charts of a sweep's points. False: the sweep has none of it. */
#ifndef TSIM_REPORT_CHART_SWEEP_H
#define TSIM_REPORT_CHART_SWEEP_H

#include "results/json.h"

#include <stdio.h>

bool tsim_chart_pareto(const struct tsim_json *sweep, FILE *out);
bool tsim_chart_heat(const struct tsim_json *sweep, FILE *out);

#endif
