/* Makes a prediction by hand over the example scenario, with round numbers, terms that add up, and rows in every
 * list. */
#pragma once

#include "results/prediction.h"
#include "support/example.h"

struct example_result {
    struct example example;
    struct tsim_operator_row operators[2];
    struct tsim_rank_row ranks[2];
    struct tsim_step_row steps[3];
    struct tsim_prediction prediction;
};

/* Fills in a step of 10 s: compute 5, recompute 1, bubble 1.5, exposed tensor 0.5 pipeline 0.25 data 0.125 context
 * 0.0625 expert 0.0625, data stall 0.5, optimizer 1. Memory is 100 GB: weights 1, gradients 2, master 4, optimizer 8,
 * activations 16, buffers 32, reserve 1, peak 64. */
void example_result_init(struct example_result *r);

/* The same, as a run that does not fit (capacity 60 GB) and was not simulated. */
void example_result_init_misfit(struct example_result *r);

/* Reads a small scenario, for an example that goes into a database: its JSON is that of the scenario's draft. */
const struct tsim_draft *example_draft(struct tsim_arena *arena, struct tsim_diags *diags);
