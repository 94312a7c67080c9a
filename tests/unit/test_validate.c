/* Tests the score over errors worked out by hand. */
#include "study/judge/validate.h"
#include "support/check_main.h"

#include <math.h>

#define TOLERANCE 1e-15

/* Magnitudes sorted: 0.1 0.2 0.3 0.4 0.5. Mean 0.3; median 0.3; the 90th percentile is 3.6 steps from the first of 5:
 * 0.4 + 0.6 (0.5 - 0.4) = 0.46; signed mean (0.1 - 0.2 + 0.3 - 0.4 + 0.5) / 5 = 0.06. */
TSIM_TEST(odd_number) {
    double errors[] = {0.5, -0.4, 0.1, -0.2, 0.3};
    struct tsim_score score;
    tsim_score_errors(errors, 5, &score);
    ck_assert_uint_eq(score.n, 5);
    ck_assert_double_eq_tol(score.mape_frac, 0.3, TOLERANCE);
    ck_assert_double_eq_tol(score.median_ape_frac, 0.3, TOLERANCE);
    ck_assert_double_eq_tol(score.p90_ape_frac, 0.46, TOLERANCE);
    ck_assert_double_eq_tol(score.max_ape_frac, 0.5, TOLERANCE);
    ck_assert_double_eq_tol(score.bias_frac, 0.06, TOLERANCE);
}

/* With 0.1 and 0.3 the median is half way, and the 90th percentile is 0.1 + 0.9 x 0.2. */
TSIM_TEST(even_number) {
    double errors[] = {-0.3, 0.1};
    struct tsim_score score;
    tsim_score_errors(errors, 2, &score);
    ck_assert_double_eq_tol(score.median_ape_frac, 0.2, TOLERANCE);
    ck_assert_double_eq_tol(score.p90_ape_frac, 0.28, TOLERANCE);
    ck_assert_double_eq_tol(score.bias_frac, -0.1, TOLERANCE);
}

TSIM_TEST(one_and_none) {
    double errors[] = {-0.25};
    struct tsim_score score;
    tsim_score_errors(errors, 1, &score);
    ck_assert_double_eq(score.mape_frac, 0.25);
    ck_assert_double_eq(score.p90_ape_frac, 0.25);
    ck_assert_double_eq(score.bias_frac, -0.25);
    tsim_score_errors(errors, 0, &score);
    ck_assert_uint_eq(score.n, 0);
    ck_assert(isnan(score.mape_frac) && isnan(score.median_ape_frac) && isnan(score.bias_frac));
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
