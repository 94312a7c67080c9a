/* chart.h - the charts of a report as pictures (svg.h), from the data of its page (page.h). */
#ifndef TSIM_REPORT_CHART_H
#define TSIM_REPORT_CHART_H

#include "results/json.h"

#include <stdio.h>

struct tsim_chart {
    const char *name; /* "step" */
    bool is_of_sweep; /* else of a run */
    /* An entry of the page's `runs` or `sweeps`. False, with nothing written: it has nothing to draw. */
    bool (*draw)(const struct tsim_json *entry, FILE *out);
    const char *what; /* one line */
};
extern const struct tsim_chart TSIM_CHARTS[];
extern const size_t TSIM_N_CHARTS;

#endif
