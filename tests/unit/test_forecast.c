/* The distribution of a run's days: each thing that is not known alone against its closed form, and together. */
#include "study/judge/forecast.h"

#include "model/executed.h"
#include "model/model.h"
#include "support/check_main.h"
#include "support/example_result.h"

#include <math.h>
#include <string.h>

#define DAY 86400.0
#define OUTSIDE 1.6449 /* normal quantile of 95 % */
#define INNER 1.2816   /* normal quantile of 90 % */

static struct example_result r;
static struct tsim_arena arena;

/* 100 days of work, no failures, a step that is exactly known. */
static void plain_run(void) {
    example_result_init(&r);
    struct tsim_campaign *c = &r.prediction.result.campaign;
    c->has = true;
    c->work_s = 100 * DAY;
    c->days = c->mean_days = 100;
    c->rent_usd = 1e6;
    c->energy_kwh = 2e6;
    c->has_failures = false;
    c->n_times = 0;
    memset(c->lost_accelerator_h, 0, sizeof c->lost_accelerator_h);
    r.prediction.result.step.variation = (struct tsim_variation){.has = false};
    double step_s = r.prediction.result.step.terms.time_s;
    r.prediction.uncertainty = (struct tsim_uncertainty){
        .basis = "90 % interval from 20 similar runs", .step_time_low_s = step_s, .step_time_high_s = step_s};
}

/* Failures took so many days in each of two replications, and nothing else did. */
static void with_failures(const double *times_s, double spread) {
    struct tsim_campaign *c = &r.prediction.result.campaign;
    c->has_failures = true;
    c->times_s = times_s;
    c->n_times = 2;
    c->lost_accelerator_h[TSIM_CAUSE_HBM] = 1000;
    r.example.scenario.reliability.has = true;
    r.example.scenario.reliability.rate_spread = spread;
}

static const struct tsim_percentiles *days(void) {
    tsim_forecast(&arena, &r.prediction);
    ck_assert(r.prediction.uncertainty.has_run);
    return &r.prediction.uncertainty.days;
}

/* Half of a lognormal on each side: nine in ten of all are between the ends of the step's interval. */
TSIM_TEST(own_error) {
    plain_run();
    r.prediction.uncertainty.step_time_low_s *= exp(-OUTSIDE * 0.05);
    r.prediction.uncertainty.step_time_high_s *= exp(OUTSIDE * 0.1);
    const struct tsim_percentiles *d = days();
    ck_assert_double_eq_tol(d->p10, 100 * exp(-INNER * 0.05), 0.2);
    ck_assert_double_eq_tol(d->p50, 100, 1e-9);
    ck_assert_double_eq_tol(d->p90, 100 * exp(INNER * 0.1), 0.2);
    ck_assert_double_eq_tol(r.prediction.uncertainty.cost_usd.p90 / (1e4 * d->p90), 1, 1e-3);
    ck_assert_double_eq_tol(r.prediction.uncertainty.energy_kwh.p10, 2e4 * d->p10, 1e-3);
    ck_assert_int_eq(r.prediction.uncertainty.n_because, 3);
}

/* A run of rounds is as uncertain as a round, however well a step is known. */
TSIM_TEST(error_of_rounds) {
    plain_run();
    struct tsim_uncertainty *u = &r.prediction.uncertainty;
    r.prediction.result.post_training.time_s = 40;
    u->n_rounds = 8;
    u->round_low_s = 40 * exp(-OUTSIDE * 0.05);
    u->round_high_s = 40 * exp(OUTSIDE * 0.3);
    ck_assert_double_eq_tol(days()->p10, 100 * exp(-INNER * 0.05), 0.2);
    ck_assert_double_eq_tol(days()->p90, 100 * exp(INNER * 0.3), 1);
    ck_assert_ptr_nonnull(strstr(u->because[0], "8 measured rounds"));
    r.prediction.result.post_training.time_s = 0;
}

/* Nothing is faster than its products at the peak: if these take 99 days, the interval's 92 are not believed. */
TSIM_TEST(no_case_beats_the_peak) {
    plain_run();
    struct tsim_scenario *sc = &r.example.scenario;
    sc->training.length_kind = TSIM_LENGTH_TOKENS;
    sc->training.length = 1e12;
    sc->training.length *= 99 * DAY * (double)sc->n_accelerators / tsim_least_accelerator_s(sc);
    r.prediction.uncertainty.step_time_low_s *= exp(-OUTSIDE * 0.05);
    ck_assert_double_eq_tol(days()->p10, 99, 1e-6);
    ck_assert_double_eq_tol(days()->p50, 100, 1e-9);
    sc->training.length_kind = TSIM_LENGTH_NONE;
}

/* 10 days of failures are 5 to 20 if their rate is known within a factor of two, and 10 if it is known exactly. */
TSIM_TEST(rates) {
    static const double TIMES_S[] = {110 * DAY, 110 * DAY};
    plain_run();
    with_failures(TIMES_S, 1);
    ck_assert_double_eq_tol(days()->p10, 110, 1e-9);
    ck_assert_double_eq_tol(days()->p90, 110, 1e-9);
    plain_run();
    with_failures(TIMES_S, 2);
    const struct tsim_percentiles *d = days();
    ck_assert_double_eq_tol(d->p10, 105, 0.3);
    ck_assert_double_eq_tol(d->p50, 110, 1e-9);
    ck_assert_double_eq_tol(d->p90, 120, 0.9);
}

/* Half of the lost time are checkpoints, which come however often it fails. */
TSIM_TEST(checkpoints_are_no_failures) {
    static const double TIMES_S[] = {110 * DAY, 110 * DAY};
    plain_run();
    with_failures(TIMES_S, 2);
    r.prediction.result.campaign.lost_accelerator_h[TSIM_CAMPAIGN_LOSS_CHECKPOINT] = 1000;
    ck_assert_double_eq_tol(days()->p10, 107.5, 0.3);
}

/* One of two replications took 104 days and one 116. */
TSIM_TEST(luck) {
    static const double TIMES_S[] = {104 * DAY, 116 * DAY};
    plain_run();
    with_failures(TIMES_S, 1);
    const struct tsim_percentiles *d = days();
    ck_assert_double_eq_tol(d->p10, 104, 1e-9);
    ck_assert_double_eq_tol(d->p90, 116, 1e-9);
}

/* The run drew no slow accelerator, as three in ten draws; with one a step is half as long again. */
TSIM_TEST(slow_accelerators) {
    plain_run();
    double step_s = r.prediction.result.step.terms.time_s;
    r.prediction.result.step.variation = (struct tsim_variation){
        .has = true,
        .without_s = step_s,
        .draws = {.has = true, .n = 1, .chance_frac = 0.7, .time_s = {1.5 * step_s}, .own_s = step_s}};
    const struct tsim_percentiles *d = days();
    ck_assert_double_eq_tol(d->p10, 100, 1e-9);
    ck_assert_double_eq_tol(d->p50, 150, 1e-9);
    ck_assert_double_eq_tol(d->p90, 150, 1e-9);
}

/* A known run at prices within a factor of two in eight of ten cases costs half to twice as much; at a given rent what
 * it costs is known. */
TSIM_TEST(prices) {
    plain_run();
    r.example.scenario.cost.price_spread = 2;
    tsim_forecast(&arena, &r.prediction);
    const struct tsim_percentiles *usd = &r.prediction.uncertainty.cost_usd;
    ck_assert_double_eq_tol(usd->p10, 0.5e6, 0.02e6);
    ck_assert_double_eq_tol(usd->p50, 1e6, 0.01e6);
    ck_assert_double_eq_tol(usd->p90, 2e6, 0.06e6);
    plain_run();
    r.example.scenario.cost.price_spread = 1;
    tsim_forecast(&arena, &r.prediction);
    ck_assert_double_eq_tol(usd->p10, usd->p90, 1e-3);
}

/* A run to a loss is as long as the middle case of the tokens takes, and as uncertain as they are. If no tokens
 * suffice, it is given up at ten times its length. */
TSIM_TEST(tokens_to_a_loss) {
    plain_run();
    struct tsim_scenario *sc = &r.example.scenario;
    double parameters = tsim_model_active_parameters(sc->model);
    sc->goal.loss_nats = tsim_likely_loss(parameters, 20 * parameters).p90;
    sc->training.length_kind = TSIM_LENGTH_TOKENS;
    struct tsim_tokens_needed needed = tsim_goal_tokens(sc);
    ck_assert(isfinite(needed.middle));
    sc->training.length = needed.middle;
    const struct tsim_percentiles *d = days();
    ck_assert_double_eq_tol(d->p50, 100, 3);
    ck_assert_double_eq_tol(d->p90 / 100, tsim_points_quantile(needed.at, TSIM_LOSS_CASES, 0.9) / needed.middle, 0.05);
    ck_assert_double_eq(r.prediction.uncertainty.missed_frac, 0);
    plain_run();
    sc->goal.loss_nats = 1.5;
    sc->training.length_kind = TSIM_LENGTH_TOKENS;
    sc->training.length = 1e12;
    ck_assert_double_eq_tol(days()->p90, 1000, 1e-6);
    ck_assert_double_gt(r.prediction.uncertainty.missed_frac, 0.9);
}

/* Everything together is wider than each thing alone; without an interval of the step nothing is said. */
TSIM_TEST(together) {
    static const double TIMES_S[] = {104 * DAY, 116 * DAY};
    plain_run();
    with_failures(TIMES_S, 2);
    double failures_alone = days()->p90 - days()->p10;
    plain_run();
    with_failures(TIMES_S, 2);
    r.prediction.uncertainty.step_time_low_s *= 0.9;
    r.prediction.uncertainty.step_time_high_s *= 1.1;
    ck_assert_double_gt(days()->p90 - days()->p10, failures_alone);
    ck_assert_int_eq(r.prediction.uncertainty.n_because, 5);
    plain_run();
    r.prediction.uncertainty.basis = NULL;
    tsim_forecast(&arena, &r.prediction);
    ck_assert(!r.prediction.uncertainty.has_run);
}

static void set_up(void) {
    tsim_arena_init(&arena);
}

static void tear_down(void) {
    tsim_arena_release(&arena);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
