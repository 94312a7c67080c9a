/* least_squares.h - positive values that make errors small: nonlinear least squares (GSL, trust region) in the
 * logarithms of the values, so that they stay positive. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct tsim_least_squares {
    size_t n_rows, n_values; /* rows >= values >= 1 */
    /* Computes errors[n_rows] from values[n_values]. */
    void (*errors)(const double *values, double *errors, void *context);
    void *context;
};

/* Fits. `values` (all > 0) are the start, and afterwards the optimum. low_95 and high_95 are the interval from the
 * covariance at the optimum and Student's t for the rows beyond the number of values; NAN without such rows. Returns
 * NULL, or why it does not converge, and then nothing is written. */
const char *tsim_least_squares_fit(const struct tsim_least_squares *problem, double *values, double *low_95,
                                   double *high_95);
