/* run.h - one run, from a scenario to a result. It joins a step (step/step_result.h) and the campaign that is made of
 * it. */
#pragma once

#include "run/result.h"
#include "step/pass/pass.h"

struct tsim_step_sink;

struct tsim_run_options {
    bool ignore_memory;                /* simulates what does not fit as well */
    const struct tsim_step_sink *sink; /* listens to the step (program.h); NULL: nobody does */
    bool is_steady;                    /* simulates one step without variability, as for comparing settings */
    bool is_brief; /* gives figures without tables of operators, steps and ranks, and without fit_changes */
    bool is_step;  /* simulates the step alone, without evaluation and campaign */
    struct tsim_term_recorder *recorder; /* receives the figures' terms; NULL: nobody does */
    const struct tsim_run_memo *memo;    /* shared by many plans of one job on one cluster; NULL: none */
};

/* Simulates a step and the whole run. Everything in *result is allocated from `arena`. It fails only with a deadlock or
 * a limit, which `diags` names. For a configuration that does not fit it returns TSIM_OK, and result->step.fits is
 * false. */
enum tsim_status tsim_train_run(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                const struct tsim_run_options *options, struct tsim_result *result,
                                struct tsim_diags *diags);

/* Bounds a run without simulating it. Memory is that of tsim_train_run. If it fits, *result has figures that the run
 * cannot beat: step.terms.time_s and step.energy_j are lower bounds, from which a round of post-training, throughput
 * and campaign follow. step.mean_power_w follows, too, but bounds nothing. `of` says how close the bound is
 * (step/step_result.h); for any split the memory is not computed. */
void tsim_train_bound(struct tsim_arena *arena, const struct tsim_scenario *scenario, const struct tsim_run_memo *memo,
                      enum tsim_least of, struct tsim_result *result);
/* Does the same whatever the memory holds, which is not computed. The bound of balanced layers is that of any split. */
void tsim_train_bound_any_memory(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                 const struct tsim_run_memo *memo, enum tsim_least of, struct tsim_result *result);
/* Bounds, as tsim_train_bound does, the time of the step alone, which takes less: of energy, throughput and all that
 * follows nothing is said. */
void tsim_train_bound_time(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                           const struct tsim_run_memo *memo, enum tsim_least of, struct tsim_result *result);
