#include "run/run.h"

#include "cluster/power.h"
#include "model/model.h"
#include "partition/memory.h"
#include "run/batch_ramp.h"
#include "run/checkpoint_traffic.h"
#include "run/evaluation.h"
#include "step/fit_changes.h"
#include "step/step.h"
#include "step/unplayed.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double peak_rss_bytes(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024;
}

/* ---- a step and its campaign ---- */

/* Returns the time of a step of training, or of its part of a round of post-training. */
static struct tsim_amount step_of_run(struct tsim_term_recorder *r, const struct tsim_result *result) {
    const struct tsim_post_training *round = &result->post_training;
    if (result->server.has)
        return tsim_elsewhere(r, "parameter_server.time_s", result->server.time_s, TSIM_TIME_S);
    if (!round->has)
        return tsim_elsewhere(r, "step.time_s", result->step.terms.time_s, TSIM_TIME_S);
    return tsim_product(r, "step, with its part of the round", "round / steps", TSIM_TIME_S,
                        TSIM_PARTS(tsim_elsewhere(r, "post_training.time_s", round->time_s, TSIM_TIME_S),
                                   tsim_inverse(tsim_figure(r, "post_training.steps", round->steps, TSIM_COUNT))));
}

static struct tsim_amount energy_of_step(struct tsim_term_recorder *r, const struct tsim_result *result) {
    const struct tsim_post_training *round = &result->post_training;
    if (result->server.has)
        return tsim_figure(r, "parameter_server.energy_j", result->server.energy_j, TSIM_JOULES);
    if (!round->has)
        return tsim_figure(r, "energy.step_j", result->step.energy_j, TSIM_JOULES);
    return tsim_product(r, "energy of a step, with its part of the round", "round / steps", TSIM_JOULES,
                        TSIM_PARTS(tsim_figure(r, "post_training.energy_j", round->energy_j, TSIM_JOULES),
                                   tsim_inverse(tsim_figure(r, "post_training.steps", round->steps, TSIM_COUNT))));
}

/* Returns what the campaign needs to know of the result's step. */
static struct tsim_campaign_steps campaign_steps(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                                 const struct tsim_machine *machine, const struct tsim_result *result) {
    return (struct tsim_campaign_steps){.step_s = step_of_run(r, result),
                                        .step_j = energy_of_step(r, result),
                                        .early = &result->early,
                                        .evaluation = &result->evaluation,
                                        .idle_w = tsim_power_at_rest(r, machine->cluster),
                                        .checkpoint_bytes = tsim_checkpoint_bytes(r, sc),
                                        .has_tokens = !tsim_model_is_of_samples(sc->model)};
}

/* `varied` is the scenario with all that varies. With parameter servers a slow accelerator delays only its own worker,
 * so the step is one without slow accelerators. */
static enum tsim_status simulate(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                 const struct tsim_scenario *varied, const struct tsim_run_options *options,
                                 struct tsim_result *result, struct tsim_diags *diags) {
    struct tsim_machine machine = tsim_machine_of(arena, sc, options->memo ? options->memo->passes : NULL);
    struct tsim_step_result *step = &result->step;
    TSIM_TRY(tsim_step_predict(arena, &sc, &machine, options->sink, options->recorder, options->is_brief, step, diags));
    result->events = step->events;
    if (options->is_step)
        return TSIM_OK;
    TSIM_TRY(tsim_post_training_simulate(arena, sc, &machine, step->terms.time_s, step->energy_j, options->memo,
                                         options->recorder, &result->post_training, diags));
    TSIM_TRY(tsim_parameter_server_simulate(sc, varied, &machine, step->terms.time_s, step->energy_j, options->recorder,
                                            &result->server, diags));
    if (tsim_run_steps(sc) > 0) {
        TSIM_TRY(tsim_batch_ramp_simulate(arena, sc, &machine, options->recorder, step->terms.time_s, step->energy_j,
                                          &result->early, diags));
        TSIM_TRY(tsim_stages_simulate(arena, sc, options->recorder, &result->early, &result->stages, diags));
    }
    TSIM_TRY(tsim_evaluation_simulate(arena, sc, &machine, options->recorder, &result->evaluation, diags));
    struct tsim_campaign_steps steps = campaign_steps(options->recorder, sc, &machine, result);
    if (tsim_run_steps(sc) > 0)
        TSIM_TRY(tsim_checkpoint_traffic_simulate(arena, sc, &machine, options->recorder, &steps, diags));
    TSIM_TRY(tsim_campaign_predict(arena, sc, &steps, !options->is_brief, options->recorder, &result->campaign, diags));
    tsim_hyper_search(&sc->search, &result->campaign, &result->search);
    result->events += result->campaign.events;
    return TSIM_OK;
}

static const struct tsim_scenario *begin(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                         const struct tsim_run_memo *memo, struct tsim_term_recorder *recorder,
                                         struct tsim_result *result) {
    memset(result, 0, sizeof *result);
    result->scenario = tsim_step_begin(arena, scenario, memo ? memo->passes : NULL, recorder, &result->step);
    return result->scenario;
}

enum tsim_status tsim_train_run(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                const struct tsim_run_options *options, struct tsim_result *result,
                                struct tsim_diags *diags) {
    double start_s = now_s();
    TSIM_TRY(tsim_refuse_unplayed(scenario, diags));
    const struct tsim_scenario *varied = scenario;
    bool is_steady = options->is_steady || scenario->parallelism.parameter_server.servers > 0;
    if (is_steady && tsim_scenario_varies(scenario))
        scenario = tsim_scenario_without_variation(arena, scenario);
    scenario = begin(arena, scenario, options->memo, options->recorder, result);
    TSIM_TRY(tsim_step_check_host(scenario, diags));
    result->recorder = options->recorder;
    if (!result->step.fits && !options->is_brief)
        tsim_fit_changes_find(arena, scenario, &result->step);
    if (result->step.fits || options->ignore_memory)
        TSIM_TRY(simulate(arena, scenario, varied, options, result, diags));
    result->wall_s = now_s() - start_s;
    if (!options->is_step)
        result->peak_rss_bytes = peak_rss_bytes();
    return TSIM_OK;
}

static const struct tsim_scenario *begin_bound(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                               const struct tsim_run_memo *memo, enum tsim_least of,
                                               struct tsim_result *result) {
    if (of != TSIM_LEAST_ANY_SPLIT)
        return begin(arena, scenario, memo, NULL, result);
    memset(result, 0, sizeof *result);
    tsim_step_begin_any_split(scenario, &result->step);
    result->scenario = scenario;
    return scenario;
}

void tsim_train_bound_time(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                           const struct tsim_run_memo *memo, enum tsim_least of, struct tsim_result *result) {
    scenario = begin_bound(arena, scenario, memo, of, result);
    if (!result->step.fits)
        return;
    struct tsim_machine machine = tsim_machine_of(arena, scenario, memo ? memo->passes : NULL);
    tsim_step_bound_time(arena, scenario, &machine, of, &result->step);
}

/* Bounds what follows from a result that is begun. */
static void bound_all(struct tsim_arena *arena, const struct tsim_scenario *scenario, const struct tsim_run_memo *memo,
                      enum tsim_least of, struct tsim_result *result) {
    struct tsim_machine machine = tsim_machine_of(arena, scenario, memo ? memo->passes : NULL);
    const struct tsim_step_result *step = &result->step;
    tsim_step_bound(arena, scenario, &machine, of, &result->step);
    tsim_post_training_bound(arena, scenario, &machine, of, step->terms.time_s, step->energy_j, memo,
                             &result->post_training);
    if (!tsim_batch_ramp_count(scenario, &result->early)) /* its time is not bounded: 0 */
        (void)tsim_stages_count(scenario, &result->early);
    const struct tsim_campaign_steps steps = campaign_steps(NULL, scenario, &machine, result);
    tsim_campaign_without_failures(scenario, &steps, &result->campaign);
}

void tsim_train_bound(struct tsim_arena *arena, const struct tsim_scenario *scenario, const struct tsim_run_memo *memo,
                      enum tsim_least of, struct tsim_result *result) {
    scenario = begin_bound(arena, scenario, memo, of, result);
    if (result->step.fits)
        bound_all(arena, scenario, memo, of, result);
}

void tsim_train_bound_any_memory(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                 const struct tsim_run_memo *memo, enum tsim_least of, struct tsim_result *result) {
    begin_bound(arena, scenario, memo, TSIM_LEAST_ANY_SPLIT, result);
    bound_all(arena, scenario, memo, scenario->parallelism.balances ? TSIM_LEAST_ANY_SPLIT : of, result);
}
