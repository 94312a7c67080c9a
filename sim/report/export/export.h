/* export.h - the figures of a run or a sweep for other tools, from the data of a report's page (page.h): CSV with
 * everything, tables for papers, the text format that Prometheus reads. */
#pragma once

#include "results/json.h"

#include <stdio.h>

/* Writes an entry of the page's `runs`:
 *   csv         figure,value: every number and text of the summary under its path ("step.time_s", "bottleneck.kind")
 *   prometheus  a gauge for every number, tsim_step_time_s{scenario="..."}, in exposition format 0.0.4
 *   markdown, latex (booktabs)  the main figures with units
 *
 * For an entry of `sweeps` each point is a row (csv, tables) or a label set (prometheus). */
struct tsim_export {
    const char *name;
    void (*run)(const struct tsim_json *run, FILE *out);
    void (*sweep)(const struct tsim_json *sweep, FILE *out);
};
extern const struct tsim_export TSIM_EXPORTS[];
extern const size_t TSIM_N_EXPORTS;

/* Writes the csv of a run from its summary alone (summary.h). */
void tsim_export_summary_csv(const struct tsim_json *summary, FILE *out);
