/* run.h - one run: scenario in, result out. Joins a step (step/step_result.h) and the campaign that is made of it. */
#ifndef TSIM_RUN_RUN_H
#define TSIM_RUN_RUN_H

#include "run/result.h"
#include "step/pass/pass.h"

struct tsim_step_sink;

struct tsim_run_options {
    bool ignore_memory;                /* simulate even when it does not fit */
    const struct tsim_step_sink *sink; /* listens to the step (program.h); NULL: nobody does */
    bool is_steady;                    /* without variability: one step, as for comparing settings */
    bool is_brief; /* figures alone: no tables of operators, steps and ranks, no changes that would fit */
    bool is_step;  /* the step alone: no evaluation, no campaign */
    struct tsim_term_recorder *recorder; /* hears how figures come about; NULL: nobody does */
    const struct tsim_run_memo *memo;    /* for many plans of one job on one cluster; NULL: none */
};

/* Simulates a step and the whole run. Everything in *result is allocated from `arena`. It fails only with a deadlock or
 * a limit, which `diags` names; a configuration that does not fit is TSIM_OK with result->step.fits false. */
enum tsim_status tsim_train_run(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                const struct tsim_run_options *options, struct tsim_result *result,
                                struct tsim_diags *diags);

/* Bounds a run without simulating it. Memory is that of tsim_train_run; if it fits, *result has figures that the run
 * cannot beat. step.terms.time_s and step.energy_j are lower bounds, a round of post-training, throughput and campaign
 * follow from them; step.mean_power_w does too, and bounds nothing. `of` says how close (step/step_result.h); of any
 * split the memory is not worked out. */
void tsim_train_bound(struct tsim_arena *arena, const struct tsim_scenario *scenario, const struct tsim_run_memo *memo,
                      enum tsim_least of, struct tsim_result *result);

#endif
