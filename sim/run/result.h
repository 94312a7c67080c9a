/* result.h - the whole result of one simulated run, in SI units. sim/run fills it, and everything above reads it. A
 * value that was not modelled in this run is NAN and is left out of every output. */
#pragma once

#include "campaign/campaign.h"
#include "campaign/hyper_search.h"
#include "run/parameter_server.h"
#include "run/post_training.h"
#include "run/stages.h"
#include "step/step_result.h"

struct tsim_result {
    const struct tsim_scenario *scenario; /* with the layers that a balanced split has */
    struct tsim_step_result step;
    struct tsim_early_steps early;           /* steps at the beginning; the campaign counts them */
    const struct tsim_stage_time *stages;    /* one for each of training.stages; NULL: they were not simulated */
    struct tsim_evaluation evaluation;       /* a pause; the campaign counts such pauses */
    struct tsim_post_training post_training; /* a round of dpo, grpo or ppo, of which the campaign is made */
    struct tsim_parameter_server server;     /* a batch of workers that push and pull, of which the campaign is made */
    struct tsim_campaign campaign;
    struct tsim_hyper_search search;     /* the search of which the campaign is one trial in full */
    struct tsim_term_recorder *recorder; /* it received the figures' terms; NULL: there was none */
    int64_t events;                      /* of the step and of the campaign */
    double wall_s;
    double peak_rss_bytes;
};

/* Returns the time that the run takes for a step: its part of a round of post-training, a batch of workers that push to
 * servers, or the step itself. */
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
