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
 * The factors are taken to be independent, and each is at its quantiles: nothing is drawn. Rent and energy are in
 * proportion to the days: prices, and what the machine draws, are taken as they are. */
#ifndef TSIM_STUDY_FORECAST_H
#define TSIM_STUDY_FORECAST_H

#include "results/prediction.h"

/* Fills in the uncertainty's days, cost_usd, energy_kwh and because, where the run has a campaign and the step an
 * interval. */
void tsim_forecast(struct tsim_arena *arena, struct tsim_prediction *prediction);

#endif
