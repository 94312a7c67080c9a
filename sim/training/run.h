/* run.h - one run: scenario in, result out. Builds workload, cluster and costs, simulates the steps on the engine. */
#ifndef TSIM_TRAINING_RUN_H
#define TSIM_TRAINING_RUN_H

#include "training/result.h"

struct tsim_step_sink;

struct tsim_run_options {
    bool ignore_memory;                /* simulate even when it does not fit */
    const struct tsim_step_sink *sink; /* listens to the step (program.h); NULL: nobody does */
};

/* Everything in *result is allocated from `arena`. Fails only with a deadlock or a limit (diags says which); a
 * configuration that does not fit is TSIM_OK with result->fits false. */
enum tsim_status tsim_train_run(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                const struct tsim_run_options *options, struct tsim_result *result,
                                struct tsim_diags *diags);

#endif
