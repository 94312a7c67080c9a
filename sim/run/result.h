/* result.h - everything that one simulated run says: filled by sim/run, read by all above it. SI units.
 * A value that was not modelled in this run is NAN and is left out of every output. */
#ifndef TSIM_RUN_RESULT_H
#define TSIM_RUN_RESULT_H

#include "campaign/campaign.h"
#include "campaign/hyper_search.h"
#include "run/parameter_server.h"
#include "run/post_training.h"
#include "run/stages.h"
#include "step/step_result.h"

struct tsim_result {
    const struct tsim_scenario *scenario; /* with its layers as they are balanced */
    struct tsim_step_result step;
    struct tsim_early_steps early;           /* counted by the campaign, as are ... */
    const struct tsim_stage_time *stages;    /* of each in training.stages; NULL: they were not simulated */
    struct tsim_evaluation evaluation;       /* ... pauses like this one */
    struct tsim_post_training post_training; /* of dpo, grpo and ppo; the campaign is made of such rounds */
    struct tsim_parameter_server server;     /* of workers that push and pull; the campaign is made of their batches */
    struct tsim_campaign campaign;
    struct tsim_hyper_search search;     /* of which the campaign is one trial in full */
    struct tsim_term_recorder *recorder; /* heard how the figures came about; NULL: nobody did */
    int64_t events;                      /* of the step and of the campaign */
    double wall_s;
    double peak_rss_bytes;
};

/* The run takes this for a step: its part of a round of post-training, a batch of workers that push to servers, or the step
 * itself. */
static inline double tsim_period_s(const struct tsim_result *result) {
    return result->post_training.has ? result->post_training.time_s / result->post_training.steps
           : result->server.has      ? result->server.time_s
                                     : result->step.terms.time_s;
}
static inline double tsim_period_j(const struct tsim_result *result) {
    return result->post_training.has ? result->post_training.energy_j / result->post_training.steps
           : result->server.has      ? result->server.energy_j
                                     : result->step.energy_j;
}

#endif
