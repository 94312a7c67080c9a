/* balance.h - layers_per_stage: balance. It finds the split of the layers over the stages that makes the slowest stage
 * as fast as possible, because in steady state every micro-batch costs the time of the slowest stage, forward and
 * backward.
 *
 * With one part per stage it uses dynamic programming over stages and layers (linear partitioning, Skiena section 10.7;
 * PipeDream, Narayanan et al. 2019, section 3.1, does the same with communication): best(k, i) is the least time of the
 * slowest of the first k stages if they hold the first i layers. The more layers a stage holds, the longer it takes. So
 * the least time of all is found first, by asking how far the stages get within a given time; then only the states that
 * a split of that time can have after k stages are visited, and sizes are found by bisection. Splits in which a stage
 * does not fit in memory count only if no other exists, and memory is computed only if the fastest split of all does
 * not fit. Whether any split fits is asked first, by giving each stage as many layers as fit in it: if some are left
 * over, none does, and the fastest split stays.
 *
 * With several parts per stage it begins with the even split and moves a layer from the slowest stage to whichever
 * gains most, until none gains. If layers are alike that is also the optimum; if they differ, memory is computed only
 * if the split found without it does not fit. Among equal splits the one nearest to even is taken. */
#pragma once

#include "step/pass/pass.h"

/* Returns the scenario itself unless it asks for a balanced split; else a copy with the layers of that split. `memo`
 * (NULL: none) keeps costs of passes for other plans. */
const struct tsim_scenario *tsim_balance(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                         struct tsim_pass_memo *memo);

/* Returns the time of all passes of a stage for one micro-batch, with the scenario's layers_per_chunk. */
double tsim_balance_stage_s(const struct tsim_scenario *scenario, const struct tsim_pass_costs *costs, int32_t stage);
