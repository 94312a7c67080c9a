/* measured.h - measurements of a run beside what is predicted of it. Each metric is a figure of the summary
 * (config/measured.def says which, and what was measured). */
#pragma once

#include "results/prediction.h"

struct tsim_measured_row {
    enum tsim_metric metric;
    double measured, predicted, error_frac; /* in SI units; error_frac = predicted / measured - 1 */
};

struct tsim_measured_rows {
    struct tsim_measured_row rows[TSIM_N_METRICS]; /* in the order of enum tsim_metric */
    int32_t n;
};

/* Lists the rows of a run that was simulated, without metrics whose figure the run lacks; none if it was not
 * simulated. */
void tsim_measured_of(const struct tsim_result *result, struct tsim_measured_rows *measured);

/* Writes a metric's value, with its unit unless the metric's name says it: "13.750 s", "51.4 %", "388.0" for the tflops
 * metrics; "-" for NAN. Returns `buffer`. */
const char *tsim_metric_text(enum tsim_metric metric, double value, char *buffer, size_t size);

/* Returns the value in the unit of the figure in JSON: TFLOP/s for the tflops metrics, SI for all others. */
double tsim_metric_in_json(enum tsim_metric metric, double value);
