/* campaign_job.h - parts of a campaign's job: failures at a constant rate, and a job that has none until a test adds
 * them. */
#pragma once

#include "campaign/reliability.h"
#include "partition/memory.h"

#define HOUR 3600.0
#define DAY 86400.0

static inline struct tsim_failure_process at_constant_rate(double units, double mtbf_s) {
    return (struct tsim_failure_process){.units = units, .mtbf_s = mtbf_s, .shape = 1};
}

/* The same, and each failure takes its node away. */
static inline struct tsim_failure_process taking_nodes(double units, double mtbf_s) {
    struct tsim_failure_process process = at_constant_rate(units, mtbf_s);
    process.takes_node = true;
    return process;
}

/* The job of a scenario whose steps take step_s. */
static inline void scenario_job(const struct tsim_scenario *scenario, double work_s, double step_s,
                                struct tsim_campaign_job *job) {
    const struct tsim_campaign_steps steps = {.step_s = {.value = step_s},
                                              .checkpoint_bytes = tsim_checkpoint_bytes(NULL, scenario)};
    tsim_reliability_job(NULL, scenario, &steps, work_s, job);
}

/* Returns the job with the rate of every cause set to none. */
static inline struct tsim_campaign_job without_failures(struct tsim_campaign_job job) {
    for (int c = 0; c < TSIM_N_CAUSES; c++)
        job.causes[c].shape = 1;
    return job;
}
