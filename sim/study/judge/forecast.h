/* forecast.h - how long a run may take, what its rent may come to and how much energy it may need: one distribution of what
 * is not known, in place of a range for each.
 *
 *   days = m s (w + l (1 + f (r - 1)))
 *
 * w     the work, without failures, in the predicted time
 * l     what a replication of the campaign took on top of it (replication.h): luck with failures
 * f     the part of that which failures are to blame for; checkpoints and pauses come however often they are
 * r     how many times as often as assumed the machine fails: lognormal, within reliability.rate_spread in eight of ten
 *       cases. That rarer failures allow for rarer checkpoints is left out
 * m     measured over predicted step time, as the step's interval has it (uncertainty.h): two halves of lognormals that meet
 *       at 1, which one half of it is below, with 5 % below its low end and 5 % above its high one
 * s     stragglers: the step of other draws over that of this one (step_variation.h)
 *
 * and no case is below what the products take at the accelerators' peak (study/search/clusters.h).
 *
 * The factors are taken to be independent, and each is at its quantiles: nothing is drawn. Energy is in proportion to
 * the days: what the machine draws is taken as it is.
 *
 *   tokens    where the goal is a loss, each case of the days meets each case of the tokens that it needs, over those of
 *             the run (results/loss_law.h); a case that needs more than ten times as many ends there, without the loss
 *   rent      each case of the days meets each case of prices: lognormal, within cost.price_spread in eight of ten
 *             cases, and independent of the days */
#ifndef TSIM_STUDY_FORECAST_H
#define TSIM_STUDY_FORECAST_H

#include "results/loss_law.h"
#include "results/prediction.h"

enum { TSIM_PRICE_POINTS = 20 };
/* Holds how many times the known price is paid in the i-th part of all cases. */
struct tsim_price_cases {
    double asked[TSIM_PRICE_POINTS], electricity[TSIM_PRICE_POINTS];
};
void tsim_price_cases_of(const struct tsim_scenario *scenario, struct tsim_price_cases *cases);
/* Tells which case of electricity meets the i-th case of prices and the j-th of days: over the cases of either it takes each of
 * its parts equally often. */
int tsim_electricity_case(int i, int j);

/* Returns the tokens to the goal's loss, with the scenario's model and batch. */
struct tsim_tokens_needed tsim_goal_tokens(const struct tsim_scenario *scenario);

/* Makes of the days of a run those until the loss, where that is the goal; a part of them, which is added to
 * `missed_frac`, ends without it. Returns the days' quantiles. */
struct tsim_percentiles tsim_until_the_loss(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                            struct tsim_distribution *days_at, double *missed_frac);

/* Fills in the uncertainty's days, cost_usd, energy_kwh and because, where the run has a campaign and the step an
 * interval. */
void tsim_forecast(struct tsim_arena *arena, struct tsim_prediction *prediction);

#endif
