/* balance.h - layers_per_stage: balance. It finds the split of the layers over the stages that makes the slowest stage
 * as fast as possible, because in steady state every micro-batch costs the time of the slowest stage, forward and
 * backward.
 *
 * With one part per stage, what a stage takes is what it does in a whole step: the passes of all micro-batches, the
 * optimizer, and the gathers and reductions of the data-parallel group that its own passes do not hide. The first
 * gathers may hide beside the first forward passes of the stages before it, and the last reductions beside their last
 * backward passes. In zero-bubble schedules, in which stages work shifted against each other, nothing hides there, but a
 * stage waits for its first micro-batch to come back from those behind it. So few micro-batches of a large model are
 * split by its parameters rather than by its FLOPs.
 *
 * The split is found by dynamic programming over stages and layers (linear partitioning, Skiena section 10.7; PipeDream,
 * Narayanan et al. 2019, section 3.1, does the same with communication): best(k, i) is the least time of the slowest of
 * the first k stages if they hold the first i layers. The more layers a stage holds, the longer it takes. So the least
 * time of all is found first, by asking how far the stages get within a given time; then only the states that a split
 * of that time can have after k stages are visited, and sizes are found by bisection. Splits in which a stage does not
 * fit in memory count only if no other exists, and memory is computed only if the fastest split of all does not fit.
 * Whether any split fits is asked first, by giving each stage as many layers as fit in it: if some are left over, none
 * does, and the fastest split stays. Software that has a length of their own only for the first and the last stage gets
 * the fastest split among those with as many layers in each stage between them.
 *
 * With several parts per stage only passes count, because other passes hide what all parts but one reduce. The search
 * begins with the even split and moves a layer from the slowest stage to whichever gains most, until none gains. If
 * layers are alike that is also the optimum; if they differ, memory is computed only if the split found without it does
 * not fit. Among equal splits the one nearest to even is taken. */
#pragma once

#include "step/pass/pass.h"

/* Returns the scenario itself unless it asks for a balanced split; else a copy with the layers of that split. `memo`
 * (NULL: none) keeps costs of passes for other plans. */
const struct tsim_scenario *tsim_balance(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                         struct tsim_pass_memo *memo);

/* Returns whether some split of the layers may fit in memory; of several parts a stage nothing is found out. */
bool tsim_any_split_fits(struct tsim_arena *arena, const struct tsim_scenario *scenario);

/* Returns the time of all passes of a stage for one micro-batch, with the scenario's layers_per_chunk. */
double tsim_balance_stage_s(const struct tsim_scenario *scenario, const struct tsim_pass_costs *costs, int32_t stage);

/* Prices stages with one part each: what a stage takes in a step, with the layers_per_chunk that the scenario has when
 * it is asked. */
struct tsim_split_prices;
struct tsim_split_prices *tsim_split_prices_new(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                                const struct tsim_cluster *cluster,
                                                const struct tsim_placement *placement,
                                                const struct tsim_pass_costs *costs);
double tsim_split_stage_s(struct tsim_split_prices *prices, int32_t stage);
