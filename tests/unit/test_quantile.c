/* Quantiles of numbers that were drawn and of numbers that stand for a distribution, by hand. */
#include "base/quantile.h"
#include "support/check_main.h"

TSIM_TEST(numbers_are_sorted) {
    double values[] = {3, -1, 2, 2};
    tsim_sort_ascending(values, 4);
    ck_assert_double_eq(values[0], -1);
    ck_assert_double_eq(values[1], 2);
    ck_assert_double_eq(values[2], 2);
    ck_assert_double_eq(values[3], 3);
}

/* Three numbers, 10, 20, 40, are quantiles 0, 1/2 and 1. */
TSIM_TEST(drawn_numbers_span_all) {
    const double values[] = {10, 20, 40};
    ck_assert_double_eq_tol(tsim_sample_quantile(values, 3, 0), 10, 1e-12);
    ck_assert_double_eq_tol(tsim_sample_quantile(values, 3, 0.25), 15, 1e-12);
    ck_assert_double_eq_tol(tsim_sample_quantile(values, 3, 0.5), 20, 1e-12);
    ck_assert_double_eq_tol(tsim_sample_quantile(values, 3, 0.9), 36, 1e-12);
    ck_assert_double_eq_tol(tsim_sample_quantile(values, 3, 1), 40, 1e-12);
    ck_assert_double_eq_tol(tsim_sample_quantile(values, 1, 0.7), 10, 1e-12);
}

/* Points that stand for thirds of all cases are quantiles 1/6, 1/2 and 5/6. */
TSIM_TEST(points_stand_for_parts) {
    const double values[] = {10, 20, 40};
    ck_assert_double_eq_tol(tsim_points_quantile(values, 3, 1.0 / 6), 10, 1e-12);
    ck_assert_double_eq_tol(tsim_points_quantile(values, 3, 1.0 / 3), 15, 1e-12);
    ck_assert_double_eq_tol(tsim_points_quantile(values, 3, 2.0 / 3), 30, 1e-12);
    struct tsim_percentiles three = tsim_points_percentiles(values, 3);
    ck_assert_double_eq_tol(three.p10, 10, 1e-12);
    ck_assert_double_eq_tol(three.p50, 20, 1e-12);
    ck_assert_double_eq_tol(three.p90, 40, 1e-12);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
