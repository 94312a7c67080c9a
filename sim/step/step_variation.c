#include "step/step_variation.h"

#include "base/quantile.h"
#include "step/groups/noise.h"
#include "step/unplayed.h"

#include <math.h>

/* If stragglers are rare, at most this many seeds are tried for draws that have any. */
enum { MOST_SEEDS = 1000 };
/* Draws of stragglers end with the first that brings their events above this, some seconds. */
#define MOST_DRAW_EVENTS 5000000

/* Simulates a step in an arena of its own, so that thousands of steps take the memory of one. */
static enum tsim_status step_time(const struct tsim_variation_job *job, const struct tsim_scenario *scenario,
                                  double *time_s, int64_t *events, struct tsim_diags *diags) {
    struct tsim_arena arena;
    struct tsim_step_simulation simulation;
    struct tsim_input_pipeline_flow flow;
    tsim_arena_init(&arena);
    enum tsim_status status = tsim_step_simulate_with_input(&arena, scenario, job->cluster, job->placement, job->costs,
                                                            NULL, &simulation, &flow, diags);
    *time_s = status == TSIM_OK ? simulation.time_s : 0;
    *events += status == TSIM_OK ? simulation.events : 0;
    tsim_arena_release(&arena);
    return status;
}

/* Fills in the statistics of the steps after the warm-up; returns which of them is nearest to their mean. */
static int32_t fill_statistics(struct tsim_arena *arena, const struct tsim_step_row *rows, int32_t n,
                               struct tsim_variation *variation) {
    double *sorted = TSIM_NEW_ARRAY(arena, (size_t)n, double), sum_s = 0;
    int32_t nearest = 0;
    for (int32_t i = 0; i < n; i++)
        sum_s += sorted[i] = rows[i].time_s;
    tsim_sort_ascending(sorted, (size_t)n);
    variation->n_steps = n;
    variation->mean_s = sum_s / n;
    variation->p50_s = tsim_sample_quantile(sorted, (size_t)n, 0.5);
    variation->p99_s = tsim_sample_quantile(sorted, (size_t)n, 0.99);
    for (int32_t i = 1; i < n; i++)
        if (fabs(rows[i].time_s - variation->mean_s) < fabs(rows[nearest].time_s - variation->mean_s))
            nearest = i;
    return nearest;
}

static int64_t count_stragglers(const struct tsim_scenario *sc) {
    int64_t n = 0;
    for (int64_t rank = 0; rank < sc->n_accelerators; rank++)
        n += tsim_is_straggler(sc, (int32_t)rank);
    return n;
}

double tsim_straggler_quantile_s(const struct tsim_straggler_draws *draws, double without_s, double frac) {
    double none_frac = 1 - draws->chance_frac;
    if (frac <= none_frac || draws->n == 0)
        return without_s;
    return tsim_sample_quantile(draws->time_s, (size_t)draws->n, (frac - none_frac) / draws->chance_frac);
}

static enum tsim_status draw(const struct tsim_variation_job *job, const struct tsim_scenario *scenario,
                             enum tsim_detail detail, double *time_s, int64_t *events, struct tsim_diags *diags) {
    struct tsim_scenario drawn = *scenario;
    drawn.simulation.detail = detail;
    return step_time(job, &drawn, time_s, events, diags);
}

/* Simulates the step with the stragglers of this seed and of those that follow, twenty in all, because which
 * accelerators are slow is a matter of luck. */
static enum tsim_status draw_stragglers(const struct tsim_variation_job *job, enum tsim_detail detail, double ratio,
                                        double without_s, bool folds, struct tsim_straggler_draws *draws,
                                        struct tsim_diags *diags) {
    struct tsim_scenario scenario = *job->scenario;
    double n = (double)scenario.n_accelerators, share = scenario.variability.straggler_frac, sum_s = 0;
    int64_t events = 0;
    scenario.variability.compute_cv = 0;
    scenario.simulation.fold = folds;
    *draws = (struct tsim_straggler_draws){
        .has = true, .expected = n * share, .chance_frac = 1 - pow(1 - share, n), .own_s = without_s};
    for (int i = 0; i < MOST_SEEDS && draws->n < TSIM_MOST_STRAGGLER_DRAWS && events <= MOST_DRAW_EVENTS; i++) {
        if (count_stragglers(&scenario) > 0) {
            TSIM_TRY(draw(job, &scenario, detail, &draws->time_s[draws->n], &events, diags));
            draws->time_s[draws->n] *= ratio;
            if (i == 0)
                draws->own_s = draws->time_s[0];
            sum_s += draws->time_s[draws->n++];
        }
        scenario.simulation.seed++;
    }
    tsim_sort_ascending(draws->time_s, (size_t)draws->n);
    draws->p10_s = tsim_straggler_quantile_s(draws, without_s, 0.1);
    draws->p50_s = tsim_straggler_quantile_s(draws, without_s, 0.5);
    draws->p90_s = tsim_straggler_quantile_s(draws, without_s, 0.9);
    draws->mean_s = draws->n > 0 ? without_s + draws->chance_frac * (sum_s / draws->n - without_s) : without_s;
    return TSIM_OK;
}

enum tsim_status tsim_variation_simulate(struct tsim_arena *arena, const struct tsim_variation_job *job,
                                         struct tsim_step_result *result, const struct tsim_scenario **typical,
                                         struct tsim_diags *diags) {
    const struct tsim_scenario *steady = tsim_scenario_without_variation(arena, job->scenario);
    /* A hundred steps of a whole cluster, operator by operator, would take minutes. */
    const enum tsim_detail detail = tsim_screening_detail(steady);
    struct tsim_variation *variation = &result->variation;
    struct tsim_scenario *scenario = TSIM_NEW(arena, struct tsim_scenario);
    int32_t n = (int32_t)job->scenario->simulation.steps, warmup = (int32_t)job->scenario->simulation.warmup;
    struct tsim_step_row *rows = TSIM_NEW_ARRAY(arena, (size_t)n, struct tsim_step_row);
    int64_t events = 0;
    double ratio = 1;
    *scenario = *job->scenario;
    *variation = (struct tsim_variation){.has = true, .n_stragglers = count_stragglers(scenario)};
    TSIM_TRY(step_time(job, steady, &variation->without_s, &events, diags));
    for (int32_t i = 0; i < n; i++) {
        scenario->variability.step = i;
        rows[i].step = i;
        if (i > 0 && !(scenario->variability.compute_cv > 0)) /* stragglers are what they are */
            rows[i].time_s = rows[0].time_s;
        else
            TSIM_TRY(draw(job, scenario, detail, &rows[i].time_s, &events, diags));
    }
    int32_t nearest = warmup + fill_statistics(arena, rows + warmup, n - warmup, variation);
    scenario->variability.step = nearest;
    if (detail != scenario->simulation.detail) { /* operators make every step longer by what they make this one */
        double time_s;
        TSIM_TRY(step_time(job, scenario, &time_s, &events, diags));
        ratio = time_s / rows[nearest].time_s;
        for (int32_t i = 0; i < n; i++)
            rows[i].time_s = i == nearest ? time_s : rows[i].time_s * ratio;
        fill_statistics(arena, rows + warmup, n - warmup, variation);
    }
    if (scenario->variability.straggler_frac > 0 && scenario->variability.straggler_slowdown > 1 && !job->is_brief)
        TSIM_TRY(draw_stragglers(job, detail, ratio, variation->without_s, steady->simulation.fold, &variation->draws,
                                 diags));
    result->steps = rows;
    result->n_steps = n;
    *typical = scenario;
    return TSIM_OK;
}
