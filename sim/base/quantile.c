#include "base/quantile.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

void tsim_sort_ascending(double *values, size_t n) {
    qsort(values, n, sizeof *values, by_value);
}

/* Returns the number at a place between two of them, counted from 0. */
static double value_at(const double *ascending, size_t n, double place) {
    size_t below = (size_t)place, above = below + 1 < n ? below + 1 : below;
    return ascending[below] + (place - (double)below) * (ascending[above] - ascending[below]);
}

double tsim_sample_quantile(const double *ascending, size_t n, double frac) {
    return value_at(ascending, n, frac * (double)(n - 1));
}

double tsim_points_quantile(const double *ascending, size_t n, double frac) {
    double place = frac * (double)n - 0.5;
    return value_at(ascending, n, place > 0 ? place : 0);
}

struct tsim_percentiles tsim_points_percentiles(const double *ascending, size_t n) {
    return (struct tsim_percentiles){tsim_points_quantile(ascending, n, 0.1), tsim_points_quantile(ascending, n, 0.5),
                                     tsim_points_quantile(ascending, n, 0.9)};
}
