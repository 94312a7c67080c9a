/* quantile.h - quantiles of sorted numbers, in the two ways that statistics has for numbers that were drawn and for
 * numbers that stand for a distribution (Hyndman and Fan, The American Statistician 50, 1996, definitions 7 and 5).
 * They differ at the ends, and agree in the middle and where there are many numbers. */
#ifndef TSIM_BASE_QUANTILE_H
#define TSIM_BASE_QUANTILE_H

#include <stddef.h>

struct tsim_percentiles { /* one in ten is below p10, one in ten above p90 */
    double p10, p50, p90;
};

void tsim_sort_ascending(double *values, size_t n);

/* Takes n > 0 numbers that were measured or drawn: the least is quantile 0, the greatest is quantile 1, and the others
 * are evenly apart between them. */
double tsim_sample_quantile(const double *ascending, size_t n, double frac);

/* Takes n > 0 numbers that each stand for the middle of an n-th part of all cases: number i, from 0, is quantile
 * (i + 1/2) / n. Below the first and above the last the quantile is that number itself. */
double tsim_points_quantile(const double *ascending, size_t n, double frac);
struct tsim_percentiles tsim_points_percentiles(const double *ascending, size_t n);

#endif
