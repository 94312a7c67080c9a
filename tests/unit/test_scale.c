/* Scaling curves worked out by hand: efficiency, what is lost to which term, the knee. */
#include "study/curves/scale.h"
#include "support/check_main.h"

#include <math.h>

enum { MOST_ROWS = 5 };
static struct tsim_scale_row rows[MOST_ROWS];
static struct tsim_scale scale;

/* Sets a step of compute, exposed data-parallel communication and bubble alone. */
static void set_row(size_t i, int64_t n_accelerators, int64_t batch, double compute_s, double data_s, double bubble_s) {
    rows[i] = (struct tsim_scale_row){.n_accelerators = n_accelerators, .global_batch_size = batch};
    double *value = rows[i].point.outcome.value;
    for (int k = 0; k < TSIM_N_OUTCOMES; k++)
        value[k] = (double)NAN;
    for (int k = TSIM_OUTCOME_STEP_TIME; k <= TSIM_OUTCOME_EXPOSED_EXPERT; k++)
        value[k] = 0;
    value[TSIM_OUTCOME_COMPUTE] = compute_s;
    value[TSIM_OUTCOME_EXPOSED_DATA] = data_s;
    value[TSIM_OUTCOME_BUBBLE] = bubble_s;
    value[TSIM_OUTCOME_STEP_TIME] = compute_s + data_s + bubble_s;
    rows[i].point.status = TSIM_POINT_OK;
}

/* Strong: 8, 4.5 and 2.75 s on 1, 2 and 4. Speed-ups 16/9 and 32/11, efficiencies 8/9 and 8/11. On 4, ideal is a
 * quarter of each term: compute 2 of 2.25 (0.25 lost), communication 0 of 0.5 (0.5 lost): 2/3 of the loss. */
TSIM_TEST(strong) {
    set_row(0, 1, 64, 8, 0, 0);
    set_row(1, 2, 64, 4.25, 0.25, 0);
    set_row(2, 4, 64, 2.25, 0.5, 0);
    tsim_scale_analyse(rows, 3, 0, &scale);
    ck_assert_double_eq(rows[0].efficiency_frac, 1);
    ck_assert(!rows[0].has_cause);
    ck_assert_double_eq_tol(rows[1].speedup, 16.0 / 9, 1e-15);
    ck_assert_double_eq_tol(rows[1].efficiency_frac, 8.0 / 9, 1e-15);
    ck_assert_double_eq_tol(rows[2].efficiency_frac, 8.0 / 11, 1e-15);
    ck_assert(rows[2].has_cause && rows[2].cause == TSIM_OUTCOME_EXPOSED_DATA);
    ck_assert_double_eq_tol(rows[2].excess_s, 0.5, 1e-15);
    ck_assert_double_eq_tol(rows[2].share_frac, 2.0 / 3, 1e-15);
}

/* Weak: the work of each stays, so compute of 8 s is no loss and the bubble's second is. */
TSIM_TEST(weak) {
    set_row(0, 1, 16, 8, 0.5, 0);
    set_row(1, 4, 64, 8, 0.5, 1.5);
    tsim_scale_analyse(rows, 2, 0, &scale);
    ck_assert_double_eq_tol(rows[1].efficiency_frac, 0.85, 1e-15);
    ck_assert(rows[1].cause == TSIM_OUTCOME_BUBBLE);
    ck_assert_double_eq_tol(rows[1].excess_s, 1.5, 1e-15);
    ck_assert_double_eq(rows[1].share_frac, 1);
}

/* Efficiencies 1, 8/9, 8/11, and 8/14.4 on 8: the first below 0.8 is 4, the last above is 2. */
TSIM_TEST(the_knee_of_a_limit) {
    set_row(0, 1, 64, 8, 0, 0);
    set_row(1, 2, 64, 4.25, 0.25, 0);
    set_row(2, 4, 64, 2.25, 0.5, 0);
    set_row(3, 8, 64, 1.2, 0.6, 0);
    tsim_scale_analyse(rows, 4, 0.8, &scale);
    ck_assert(scale.has_knee && scale.knee == 2 && scale.knee_cause == TSIM_OUTCOME_EXPOSED_DATA);
    ck_assert(scale.has_last_above && scale.last_above == 1);
    ck_assert_double_eq_tol(scale.knee_excess_s, 0.5, 1e-15);
    tsim_scale_analyse(rows, 4, 0.5, &scale);
    ck_assert(!scale.has_knee && scale.last_above == 3);
}

/* Slopes 1, 1, 0: throughput stops growing after 4. There the next count costs 2 s instead of 1: the bubble. */
TSIM_TEST(the_knee_of_a_bend) {
    set_row(0, 1, 64, 8, 0, 0);
    set_row(1, 2, 64, 4, 0, 0);
    set_row(2, 4, 64, 2, 0, 0);
    set_row(3, 8, 64, 1, 0, 1);
    tsim_scale_analyse(rows, 4, 0, &scale);
    ck_assert(scale.has_knee && scale.knee == 2 && scale.knee_cause == TSIM_OUTCOME_BUBBLE);
    ck_assert_double_eq_tol(scale.knee_excess_s, 1, 1e-15);
}

/* Each doubling costs 1 %: a slope of 1 - log2(1.01) = 0.986, no bend worth the name. */
TSIM_TEST(a_straight_line_has_no_knee) {
    double step_s = 8;
    for (size_t i = 0; i < 5; i++, step_s *= 0.505)
        set_row(i, INT64_C(1) << i, 64, step_s, 0, 0);
    tsim_scale_analyse(rows, 5, 0, &scale);
    ck_assert(!scale.has_knee);
}

TSIM_TEST(points_that_do_not_run_are_passed_over) {
    set_row(0, 1, 64, 8, 0, 0);
    rows[0].point.status = TSIM_POINT_DOES_NOT_FIT;
    set_row(1, 2, 64, 4, 0, 0);
    set_row(2, 4, 64, 2, 0, 0);
    rows[2].point.status = TSIM_POINT_INVALID;
    set_row(3, 8, 64, 1, 0, 1);
    tsim_scale_analyse(rows, 4, 0.8, &scale);
    ck_assert(isnan(rows[0].speedup) && isnan(rows[2].efficiency_frac));
    ck_assert_double_eq(rows[1].efficiency_frac, 1);
    ck_assert_double_eq(rows[3].speedup, 2);
    ck_assert(scale.has_knee && scale.knee == 3 && scale.last_above == 1);
}

TSIM_TEST(nothing_runs) {
    set_row(0, 1, 64, 8, 0, 0);
    rows[0].point.status = TSIM_POINT_INVALID;
    tsim_scale_analyse(rows, 1, 0.8, &scale);
    ck_assert(!scale.has_knee && !scale.has_last_above && !rows[0].has_cause);
}

static void reset(void) {
    scale = (struct tsim_scale){.is_weak = false};
}

TSIM_MAIN(CHECKS_LIMIT_S, reset, NULL)
