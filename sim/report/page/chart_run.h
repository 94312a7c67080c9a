/* chart_run.h - private to report: charts of a run's figures and of its campaign. False: the run has none of it. */
#ifndef TSIM_REPORT_CHART_RUN_H
#define TSIM_REPORT_CHART_RUN_H

#include "results/json.h"

#include <stdio.h>

bool tsim_chart_links(const struct tsim_json *run, FILE *out);
bool tsim_chart_sensitivity(const struct tsim_json *run, FILE *out);
bool tsim_chart_days(const struct tsim_json *run, FILE *out);
bool tsim_chart_timeline(const struct tsim_json *run, FILE *out);
bool tsim_chart_power(const struct tsim_json *run, FILE *out);
bool tsim_chart_lost(const struct tsim_json *run, FILE *out);
bool tsim_chart_ownership(const struct tsim_json *run, FILE *out);

#endif
