/* starter.h - makes a first scenario from five answers, for somebody who has none: valid, commented, with the fastest
 * plan that fits (study/search/plan.h). Keys for which nobody was asked have usual values, each with a comment that
 * says why. */
#pragma once

#include "config/scenario.h"

enum tsim_goal_word { TSIM_STARTER_TIME, TSIM_STARTER_COST, TSIM_STARTER_ENERGY, TSIM_N_STARTER_GOALS };
extern const char *const TSIM_STARTER_GOALS[TSIM_N_STARTER_GOALS]; /* "time", "cost", "energy" */

struct tsim_starter {
    const char *model, *node, *fabric; /* ids or paths; fabric NULL: one node */
    int64_t nodes;
    enum tsim_goal_word goal;
};

/* Returns the YAML of a first scenario in `arena`, or NULL, with an error in `diags`, if no plan fits in memory.
 * `n_threads` threads search for the plan. */
enum tsim_status tsim_starter_write(struct tsim_arena *arena, const struct tsim_starter *starter, int32_t n_threads,
                                    const char **yaml, struct tsim_diags *diags);
