/* advice.h - what would make this run faster: each candidate change is simulated, none is guessed. */
#ifndef TSIM_STUDY_ADVICE_H
#define TSIM_STUDY_ADVICE_H

#include "results/prediction.h"

/* Fills in the advice:  the best changes of one setting that fit in memory and gain at least 1 %, best first:
 * "parallelism.virtual_pipeline=5: step 3.71 s, 7.4 % faster". Costs one run per candidate (about ten; with
 * an input pipeline that is waited for about twenty). Strings are
 * allocated from `arena`. Nothing is done for a result that was not simulated. */
void tsim_advise(struct tsim_arena *arena, const struct tsim_scenario *scenario, struct tsim_prediction *prediction);

#endif
