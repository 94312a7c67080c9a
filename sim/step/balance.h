/* balance.h - layers_per_stage: balance. The split of the layers over the stages that makes the slowest stage as fast
 * as it can be: in steady state every micro-batch costs what the slowest stage takes for it, forward and backward.
 *
 * One part per stage: dynamic programming over stages and layers (linear partitioning, Skiena section 10.7; PipeDream,
 * Narayanan et al. 2019, section 3.1, does the same with communication): best(k, i) is the least time of the slowest of
 * the first k stages when they hold the first i layers. The more layers a stage holds the longer it takes, so the least
 * time of all is found first, by asking how far the stages get within a given one; only what a split of that time can
 * hold after k stages is gone through, and sizes are found by halving. Splits in which a stage does not fit in memory
 * count only where no other exists; memory is asked about only where the fastest split of all does not fit. Several
 * parts per stage: from the even split, a layer is moved from the slowest stage to whichever gains most, until none does;
 * where layers are alike that is the optimum as well, and where they differ memory is asked about only if the split that is
 * found without asking does not fit. The one nearest to even is taken of equal splits. */
#ifndef TSIM_STEP_BALANCE_H
#define TSIM_STEP_BALANCE_H

#include "step/pass/pass.h"

/* Returns the scenario itself unless it asks for a balanced split; else a copy with the layers of that split. */
const struct tsim_scenario *tsim_balance(struct tsim_arena *arena, const struct tsim_scenario *scenario);

/* Returns the time of all passes of a stage for one micro-batch; the scenario's layers_per_chunk decide. */
double tsim_balance_stage_s(const struct tsim_scenario *scenario, const struct tsim_pass_costs *costs, int32_t stage);

#endif
