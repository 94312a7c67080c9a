/* advice.h - changes that would make this run faster. Each candidate is simulated, none is guessed. */
#pragma once

#include "results/prediction.h"

/* Fills in the advice: the best changes of one setting that fit in memory and gain at least 1 %, best first
 * ("parallelism.virtual_pipeline=5: step 3.71 s, 7.4 % faster"; both are of steps without variation, and say so of a
 * scenario that has some). It costs one run for each candidate, which are about
 * ten, or about twenty if the step waits for an input pipeline. Strings are allocated from `arena`. It does nothing for
 * a result that was not simulated. */
void tsim_advise(struct tsim_arena *arena, const struct tsim_scenario *scenario, struct tsim_prediction *prediction);

/* A change of one setting (or of several that go together), with its effect on the step. */
struct tsim_improvement {
    const struct tsim_override *settings;
    size_t n_settings;
    const struct tsim_scenario *scenario; /* with the change */
    double time_s;                        /* of a step without variation */
};

/* Finds the best of the same changes among switches of the software: those that keep the plan (config/plan_choice.h),
 * the numbers that are computed with (precisions), the input and the machine. Returns false if none gains 1 %. */
bool tsim_advise_switch(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                        const struct tsim_result *result, struct tsim_improvement *improvement);
