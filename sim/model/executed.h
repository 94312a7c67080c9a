/* executed.h - the FLOPs that the products of a step execute, on all accelerators together, which is what HFU counts.
 *
 * It is the sum over the operators that are simulated (operators.h). So it has half of the square of causal flash
 * attention, and the product QK^T once more backward; it has what is recomputed, padded rows of the vocabulary, and
 * Winograd's fewer multiplications; a lookup in an embedding counts nothing. It never exceeds the peak. Model FLOPs are
 * a convention (model.h): they count the whole square and all parameters, and may be more than what is executed.
 *
 * Experts have the mean number of rows, because what one rank gets beyond it another lacks. Element-wise kernels, the
 * optimizer and evaluation are not counted. */
#pragma once

#include "base/term.h"
#include "model/operators.h"

struct tsim_amount tsim_executed_recorded(struct tsim_term_recorder *recorder,
                                          const struct tsim_scenario *scenario); /* of a step */

/* Returns a lower bound on the FLOPs that any plan of the scenario executes in the whole run: nothing is recomputed,
 * and no product is padded for its ranks. If a run begins with shorter sequences or smaller batches, all of it is taken
 * to have them. It is 0 if the run has no length. */
double tsim_least_run_flops(const struct tsim_scenario *scenario);

/* Returns the accelerator-seconds that every run of the scenario takes, whatever its plan and however wrong a
 * prediction: those FLOPs at the peak of the accelerator, and nothing beside them. */
double tsim_least_accelerator_s(const struct tsim_scenario *scenario);
