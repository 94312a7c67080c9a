/* quantile.h - quantiles of sorted numbers, by two definitions: one for numbers that were drawn, one for numbers that
 * stand for a distribution (Hyndman and Fan, The American Statistician 50, 1996, definitions 7 and 5). The two differ
 * at the ends; they agree in the middle and where there are many numbers. */
#pragma once

#include <stddef.h>

struct tsim_percentiles { /* one value in ten is below p10, one in ten above p90 */
    double p10, p50, p90;
};

void tsim_sort_ascending(double *values, size_t n);

/* Takes n > 0 numbers that were measured or drawn: the least is quantile 0, the greatest is quantile 1, and the others
 * are evenly apart between them. */
double tsim_sample_quantile(const double *ascending, size_t n, double frac);

/* Takes n > 0 numbers that each stand for the middle of an n-th part of all cases: number i, counted from 0, is
 * quantile (i + 1/2) / n. Below the first number's quantile the result is the first number, above the last one's the
 * last. */
double tsim_points_quantile(const double *ascending, size_t n, double frac);
struct tsim_percentiles tsim_points_percentiles(const double *ascending, size_t n);
