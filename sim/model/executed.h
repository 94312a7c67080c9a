/* executed.h - the FLOPs that the products of a step execute, on all accelerators together: what HFU counts.
 *
 * The sum over the operators that are simulated (operators.h): half of the square of causal flash
 * attention and its product QK^T once more backward, what is recomputed, padded rows of the vocabulary, Winograd's
 * fewer multiplications; nothing for an embedding that is looked up. So at no time more than the peak. Model FLOPs are
 * a convention (model.h): they count the whole square and all parameters, and may be more than what is executed.
 *
 * Experts have the rows that they get on average: a fuller rank's are another's fewer. Not here: element-wise kernels,
 * the optimizer, and what evaluation executes. */
#ifndef TSIM_MODEL_EXECUTED_H
#define TSIM_MODEL_EXECUTED_H

#include "base/term.h"
#include "model/operators.h"

struct tsim_amount tsim_executed_recorded(struct tsim_term_recorder *recorder,
                                          const struct tsim_scenario *scenario); /* of a step */

/* No plan of the scenario executes less in the whole run: nothing is recomputed, and no product is padded for its ranks.
 * Where a run begins with shorter sequences or smaller batches, all of it is taken to have them. 0: it has no length. */
double tsim_least_run_flops(const struct tsim_scenario *scenario);

/* Returns the time of one accelerator that no run of the scenario undercuts, whatever its plan and however wrong a
 * prediction: those FLOPs at the accelerator's peak all the time, and nothing beside them. */
double tsim_least_accelerator_s(const struct tsim_scenario *scenario);

#endif
