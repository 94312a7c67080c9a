#include "study/judge/forecast.h"

#include "base/normal.h"
#include "base/quantile.h"
#include "config/provenance.h"
#include "model/executed.h"
#include "model/model.h"
#include "results/loss_law.h"
#include "step/step_variation.h"

#include <math.h>

/* This many quantiles stand for each factor; fewer if there are few draws of stragglers. */
enum { MOST_POINTS = 25, FEWER_POINTS = 9 };

struct factor {
    double at[MOST_POINTS];
    int n;
};

/* Point i stands for the middle of the i-th of n equal parts of all cases. */
static double frac_of(int i, int n) {
    return (i + 0.5) / n;
}

static struct factor constant(double value) {
    return (struct factor){.at = {value}, .n = 1};
}

static struct factor model_error(const struct tsim_uncertainty *u) {
    double outside = tsim_normal_quantile(0.95);
    double below = -log(u->low_ratio) / outside, above = log(u->high_ratio) / outside;
    struct factor m = {.n = MOST_POINTS};
    for (int i = 0; i < m.n; i++) {
        double z = tsim_normal_quantile(frac_of(i, m.n));
        m.at[i] = exp(z * (z < 0 ? below : above));
    }
    return m;
}

static struct factor failure_rate(const struct tsim_result *result) {
    double spread = result->scenario->reliability.rate_spread;
    struct factor r = {.n = MOST_POINTS};
    if (!result->campaign.has_failures || !result->scenario->reliability.has || !(spread > 1))
        return constant(1);
    for (int i = 0; i < r.n; i++)
        r.at[i] = tsim_spread_quantile(frac_of(i, r.n), spread);
    return r;
}

static struct factor stragglers(const struct tsim_result *result) {
    const struct tsim_variation *v = &result->step.variation;
    struct factor s = {.n = FEWER_POINTS};
    if (!v->draws.has)
        return constant(1);
    for (int i = 0; i < s.n; i++)
        s.at[i] = tsim_straggler_quantile_s(&v->draws, v->without_s, frac_of(i, s.n)) / v->draws.own_s;
    return s;
}

/* Replications took this on top of the work, in s. */
static struct factor losses(const struct tsim_campaign *c) {
    struct factor l = {.n = c->n_times < MOST_POINTS ? (int)c->n_times : MOST_POINTS};
    if (c->n_times == 0)
        return constant(c->days * TSIM_DAY_S - c->work_s);
    for (int i = 0; i < l.n; i++)
        l.at[i] = c->times_s[(int64_t)(frac_of(i, l.n) * (double)c->n_times)] - c->work_s;
    return l;
}

/* Returns the part of the lost time that more frequent failures would make longer. */
static double failing_frac(const struct tsim_campaign *c) {
    double failing = 0, all = 0;
    for (int loss = 0; loss < TSIM_N_CAMPAIGN_LOSSES; loss++) {
        failing += loss < TSIM_N_COMPONENTS || loss == TSIM_CAMPAIGN_LOSS_SHRUNK ? c->lost_accelerator_h[loss] : 0;
        all += c->lost_accelerator_h[loss];
    }
    return all > 0 ? failing / all : 0;
}

static struct tsim_percentiles days_of(struct tsim_arena *arena, const struct tsim_prediction *prediction,
                                       struct tsim_distribution *at) {
    const struct tsim_result *result = &prediction->result;
    const struct tsim_campaign *c = &result->campaign;
    struct factor m = model_error(&prediction->uncertainty), r = failure_rate(result), s = stragglers(result),
                  l = losses(c);
    double failing = failing_frac(c), *days = TSIM_NEW_ARRAY(arena, (size_t)(m.n * r.n * s.n * l.n), double);
    size_t n = 0;
    for (int i = 0; i < m.n; i++)
        for (int j = 0; j < r.n; j++)
            for (int k = 0; k < s.n; k++)
                for (int o = 0; o < l.n; o++)
                    days[n++] = m.at[i] * s.at[k] * (c->work_s + l.at[o] * (1 + failing * (r.at[j] - 1))) / TSIM_DAY_S;
    tsim_sort_ascending(days, n);
    double least = tsim_least_accelerator_s(result->scenario) / (double)result->scenario->n_accelerators / TSIM_DAY_S;
    for (size_t i = 0; i < n; i++)
        days[i] = fmax(days[i], least);
    for (int i = 0; i < TSIM_DISTRIBUTION_POINTS; i++)
        at->at[i] = tsim_points_quantile(days, n, frac_of(i, TSIM_DISTRIBUTION_POINTS));
    return tsim_points_percentiles(days, n);
}

/* ---- a loss ---- */

/* The run goes on until the loss is there, and is given up at so many times its length. */
#define MOST_TOKENS_RATIO 10.0

struct tsim_tokens_needed tsim_goal_tokens(const struct tsim_scenario *sc) {
    double batch_tokens = (double)sc->training.global_batch_size * (double)sc->training.sequence_length;
    return tsim_tokens_needed(tsim_model_active_parameters(sc->model), sc->goal.loss_nats, batch_tokens);
}

static bool is_to_a_loss(const struct tsim_scenario *sc) {
    return sc->goal.loss_nats > 0 && sc->training.length_kind == TSIM_LENGTH_TOKENS;
}

/* Combines each case of the days with each case of the tokens. */
struct tsim_percentiles tsim_until_the_loss(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                            struct tsim_distribution *days_at, double *missed_frac) {
    if (!is_to_a_loss(sc))
        return tsim_points_percentiles(days_at->at, TSIM_DISTRIBUTION_POINTS);
    struct tsim_tokens_needed needed = tsim_goal_tokens(sc);
    double *days = TSIM_NEW_ARRAY(arena, (size_t)TSIM_DISTRIBUTION_POINTS * TSIM_LOSS_CASES, double);
    size_t n = 0;
    for (int t = 0; t < TSIM_LOSS_CASES; t++) {
        double ratio = needed.at[t] / sc->training.length;
        *missed_frac += ratio > MOST_TOKENS_RATIO ? 1.0 / TSIM_LOSS_CASES : 0;
        for (int i = 0; i < TSIM_DISTRIBUTION_POINTS; i++)
            days[n++] = fmin(ratio, MOST_TOKENS_RATIO) * days_at->at[i];
    }
    tsim_sort_ascending(days, n);
    for (int i = 0; i < TSIM_DISTRIBUTION_POINTS; i++)
        days_at->at[i] = tsim_points_quantile(days, n, frac_of(i, TSIM_DISTRIBUTION_POINTS));
    return tsim_points_percentiles(days, n);
}

/* ---- money ---- */

static double price_factor(double spread, int i) {
    return spread > 1 ? tsim_spread_quantile(frac_of(i, TSIM_PRICE_POINTS), spread) : 1;
}

void tsim_price_cases_of(const struct tsim_scenario *sc, struct tsim_price_cases *cases) {
    for (int i = 0; i < TSIM_PRICE_POINTS; i++) {
        cases->asked[i] = price_factor(sc->cost.price_spread, i);
        cases->electricity[i] = price_factor(sc->energy.price_spread, i);
    }
}

int tsim_electricity_case(int i, int j) {
    enum { STRIDE = 7 }; /* has no divisor in common with the points */
    return (STRIDE * i + j) % TSIM_PRICE_POINTS;
}

static struct tsim_percentiles rents(const struct tsim_result *result, const struct tsim_uncertainty *u) {
    const struct tsim_campaign *c = &result->campaign;
    double usd[TSIM_DISTRIBUTION_POINTS * TSIM_PRICE_POINTS], usd_per_day = c->rent_usd / c->mean_days;
    struct tsim_price_cases prices;
    size_t n = 0;
    if (isnan(usd_per_day))
        return (struct tsim_percentiles){(double)NAN, (double)NAN, (double)NAN};
    tsim_price_cases_of(result->scenario, &prices);
    for (int i = 0; i < TSIM_DISTRIBUTION_POINTS; i++)
        for (int j = 0; j < TSIM_PRICE_POINTS; j++)
            usd[n++] = prices.asked[j] * u->days_at.at[i] * usd_per_day;
    tsim_sort_ascending(usd, n);
    return tsim_points_percentiles(usd, n);
}

static struct tsim_percentiles scaled(struct tsim_percentiles days, double value, double mean_days) {
    double each = value / mean_days; /* NAN: not known */
    return (struct tsim_percentiles){days.p10 * each, days.p50 * each, days.p90 * each};
}

static void say(struct tsim_uncertainty *u, const char *sentence) {
    u->because[u->n_because++] = sentence;
}

static const char *loss_text(struct tsim_arena *arena, const struct tsim_scenario *sc,
                             const struct tsim_uncertainty *u) {
    double parameters = tsim_model_active_parameters(sc->model), tokens[TSIM_N_LOSS_FITS];
    const char *said[TSIM_N_LOSS_FITS];
    char text[48];
    for (int fit = 0; fit < TSIM_N_LOSS_FITS; fit++) {
        tokens[fit] = tsim_tokens_to_loss(&TSIM_LOSS_FITS[fit], parameters, sc->goal.loss_nats);
        said[fit] =
            isfinite(tokens[fit])
                ? tsim_arena_printf(arena, "%s tokens", tsim_quantity_human(tokens[fit], TSIM_COUNT, text, sizeof text))
                : "never";
    }
    const char *missed =
        u->missed_frac > 0
            ? tsim_arena_printf(arena,
                                "; in %.0f of 100 cases the run is given up without it, at %.0f times its length",
                                100 * u->missed_frac, MOST_TOKENS_RATIO)
            : "";
    return tsim_arena_printf(
        arena,
        "scaling laws: a loss of %.4g after %s (Hoffmann et al. 2022) or %s (its refit, Besiroglu et "
        "al. 2024), times %.3g for the batch%s",
        sc->goal.loss_nats, said[TSIM_LOSS_FIT_HOFFMANN], said[TSIM_LOSS_FIT_BESIROGLU],
        tsim_batch_tokens_factor((double)sc->training.global_batch_size * (double)sc->training.sequence_length,
                                 sc->goal.loss_nats),
        missed);
}

static void fill_because(struct tsim_arena *arena, const struct tsim_result *result, struct tsim_uncertainty *u) {
    const struct tsim_scenario *sc = result->scenario;
    const struct tsim_campaign *c = &result->campaign;
    const struct tsim_reliability_spec *r = &sc->reliability;
    const struct tsim_straggler_draws *draws = &result->step.variation.draws;
    u->n_because = 0;
    say(u, tsim_arena_printf(arena, "tsim's own error: the %s may be %.1f %% shorter to %.1f %% longer (%s)",
                             u->n_rounds > 0 ? "round" : "step", 100 * (1 - u->low_ratio), 100 * (u->high_ratio - 1),
                             u->n_rounds > 0
                                 ? tsim_arena_printf(arena, "90 %% interval from %d measured rounds", (int)u->n_rounds)
                                 : u->basis));
    if (c->n_times > 1)
        say(u, tsim_arena_printf(arena, "luck with failures: %.4g to %.4g days in eight of ten of %lld simulated runs",
                                 c->days_p10, c->days_p90, (long long)c->n_times));
    if (c->has_failures && r->has)
        say(u, r->rate_spread > 1
                   ? tsim_arena_printf(arena,
                                       "failure rates: machines differ, by a factor of %.3g to either side in "
                                       "eight of ten cases",
                                       r->rate_spread)
                   : "failure rates: taken as given");
    if (draws->has)
        say(u, tsim_arena_printf(arena, "stragglers: a step of %.4g to %.4g s in eight of ten draws", draws->p10_s,
                                 draws->p90_s));
    if (is_to_a_loss(sc))
        say(u, loss_text(arena, sc, u));
    if (!isnan(u->cost_usd.p50))
        say(u, sc->cost.price_spread > 1
                   ? tsim_arena_printf(arena,
                                       "prices: sellers differ, by a factor of %.3g to either side in eight of ten "
                                       "cases",
                                       sc->cost.price_spread)
                   : "prices: the rent is taken as given");
    say(u, "not included: errors of the power and of the price of electricity");
}

/* Says of a figure's quantiles what they are made of; of those that are not known nothing. */
static void record(const struct tsim_prediction *prediction, const char *group, const struct tsim_percentiles *range,
                   enum tsim_dimension dimension, const char *figure, double value, enum tsim_dimension of_figure) {
    const struct tsim_result *result = &prediction->result;
    const struct tsim_uncertainty *u = &prediction->uncertainty;
    struct tsim_term_recorder *r = result->recorder;
    if (!r || isnan(value))
        return;
    const struct tsim_amount inputs[] = {
        tsim_figure(r, figure, value, of_figure),
        u->n_rounds > 0 ? tsim_figure(r, "uncertainty.round_low_s", u->round_low_s, TSIM_TIME_S)
                        : tsim_figure(r, "uncertainty.step_time_low_s", u->step_time_low_s, TSIM_TIME_S),
        u->n_rounds > 0 ? tsim_figure(r, "uncertainty.round_high_s", u->round_high_s, TSIM_TIME_S)
                        : tsim_figure(r, "uncertainty.step_time_high_s", u->step_time_high_s, TSIM_TIME_S),
        tsim_of_scenario(r, "reliability.rate_spread", result->scenario->reliability.rate_spread, TSIM_FRACTION)};
    const struct {
        const char *end;
        double value;
    } ENDS[] = {{"p10", range->p10}, {"p50", range->p50}, {"p90", range->p90}};
    for (size_t i = 0; i < sizeof ENDS / sizeof ENDS[0]; i++)
        tsim_outcome(r, tsim_record_text(r, "uncertainty.%s.%s", group, ENDS[i].end),
                     "a quantile of the runs simulated, with all that is not known (sim/study/judge/forecast.h)",
                     ENDS[i].value, dimension, inputs,
                     result->campaign.has_failures && result->scenario->reliability.has ? 4 : 3);
}

void tsim_forecast(struct tsim_arena *arena, struct tsim_prediction *prediction) {
    struct tsim_uncertainty *u = &prediction->uncertainty;
    const struct tsim_campaign *c = &prediction->result.campaign;
    if (!c->has || !u->basis)
        return;
    double repeated_s =
        u->n_rounds > 0 ? prediction->result.post_training.time_s : prediction->result.step.terms.time_s;
    u->low_ratio = (u->n_rounds > 0 ? u->round_low_s : u->step_time_low_s) / repeated_s;
    u->high_ratio = (u->n_rounds > 0 ? u->round_high_s : u->step_time_high_s) / repeated_s;
    u->has_run = true;
    u->days = days_of(arena, prediction, &u->days_at);
    if (is_to_a_loss(prediction->result.scenario))
        u->days = tsim_until_the_loss(arena, prediction->result.scenario, &u->days_at, &u->missed_frac);
    u->cost_usd = rents(&prediction->result, u);
    u->energy_kwh = scaled(u->days, c->energy_kwh, c->mean_days);
    record(prediction, "days", &u->days, TSIM_FRACTION, "campaign.days", c->days, TSIM_FRACTION);
    record(prediction, "cost_usd", &u->cost_usd, TSIM_USD, "campaign.rent_usd", c->rent_usd, TSIM_USD);
    record(prediction, "energy_kwh", &u->energy_kwh, TSIM_FRACTION, "campaign.energy_kwh", c->energy_kwh,
           TSIM_FRACTION);
    fill_because(arena, &prediction->result, u);
}
