/* forecast.h - how long a run may take, what its rent may be and how much energy it may need: one distribution of the
 * unknowns, in place of a range for each.
 *
 *   days = m s (w + l (1 + f (r - 1)))
 *
 *   w     the work, without failures, in the predicted time
 *   l     the time of a replication of the campaign beyond it (replication.h): luck with failures
 *   f     the part of l that failures cause; checkpoints and pauses come however often failures are
 *   r     the number of failures over the assumed number: lognormal, within reliability.rate_spread in eight of ten
 *         cases. That rarer failures allow for rarer checkpoints is left out.
 *   m     measured over predicted time of a step, or of a round that generates its samples, as its interval has it
 *         (uncertainty.h): two halves of lognormals that meet at 1, the median, with 5 % below the low end and 5 % above the high one
 *   s     stragglers: the step of other draws over that of this one (step_variation.h)
 *
 * No case is below what the products take at the accelerators' peak (study/search/clusters.h). The factors are taken to
 * be independent, and each is at its quantiles: nothing is drawn. Energy is in proportion to the days, with the power
 * as it is predicted.
 *
 *   tokens    if the goal is a loss, each case of the days meets each case of the tokens that it needs, over those of
 *             the run (results/loss_law.h). A case that needs more than ten times as many ends there, without the loss.
 *   rent      each case of the days meets each case of prices, which are lognormal, within cost.price_spread in eight
 *             of ten cases, and independent of the days */
#pragma once

#include "results/loss_law.h"
#include "results/prediction.h"

enum { TSIM_PRICE_POINTS = 20 };
/* Holds the price paid over the known price in the i-th part of all cases. */
struct tsim_price_cases {
    double asked[TSIM_PRICE_POINTS], electricity[TSIM_PRICE_POINTS];
};
void tsim_price_cases_of(const struct tsim_scenario *scenario, struct tsim_price_cases *cases);
/* Returns the case of electricity that meets the i-th case of prices and the j-th of days. Over the cases of either it
 * takes each of its parts equally often. */
int tsim_electricity_case(int i, int j);

/* Returns the tokens to the goal's loss, with the scenario's model and batch. */
struct tsim_tokens_needed tsim_goal_tokens(const struct tsim_scenario *scenario);

/* Changes the days of a run to those until the loss, if that is the goal. The part of the days that ends without it is
 * added to `missed_frac`. Returns the days' quantiles. */
struct tsim_percentiles tsim_until_the_loss(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                            struct tsim_distribution *days_at, double *missed_frac);

/* Fills in the uncertainty's days, cost_usd, energy_kwh and because, if the run has a campaign and the step an
 * interval. */
void tsim_forecast(struct tsim_arena *arena, struct tsim_prediction *prediction);
