#include "campaign/campaign.h"

#include "campaign/energy_meter.h"
#include "campaign/reliability.h"

#include <math.h>

#define SECONDS_PER_DAY 86400.0
#define JOULES_PER_KWH 3.6e6

static double tokens_per_step(const struct tsim_scenario *sc) {
    return (double)sc->training.global_batch_size * (double)sc->training.sequence_length;
}

double tsim_run_steps(const struct tsim_scenario *sc) {
    switch (sc->training.length_kind) {
    case TSIM_LENGTH_NONE:
        return 0;
    case TSIM_LENGTH_TOKENS:
        return ceil(sc->training.length / tokens_per_step(sc));
    case TSIM_LENGTH_SAMPLES:
        return ceil(sc->training.length / (double)sc->training.global_batch_size);
    case TSIM_LENGTH_STEPS:
        return ceil(sc->training.length);
    }
    TSIM_BUG("length kind %d", (int)sc->training.length_kind);
}

/* Steps whose gradients overflow come on top of those that update the weights: a scale that grows after every
 * growth_interval of them is then too large, and is brought down again. */
static double skipped_steps(const struct tsim_scenario *sc, double useful_steps) {
    const struct tsim_loss_scaling_spec *l = &sc->training.loss_scaling;
    return l->growth_interval > 0 ? floor(useful_steps / (double)l->growth_interval) * (double)l->skipped : 0;
}

/* Those of the ramp, and what of the run's samples is left for steps of the whole batch. */
static double ramped_steps(const struct tsim_scenario *sc, const struct tsim_batch_ramp *ramp) {
    double batch = (double)sc->training.global_batch_size, samples = sc->training.length;
    if (sc->training.length_kind == TSIM_LENGTH_STEPS || !ramp->has)
        return fmax(tsim_run_steps(sc), ramp->steps);
    if (sc->training.length_kind == TSIM_LENGTH_TOKENS)
        samples = sc->training.length / (tokens_per_step(sc) / batch);
    return ramp->steps + fmax(0, ceil((samples - ramp->samples) / batch));
}

void tsim_campaign_without_failures(const struct tsim_scenario *sc, const struct tsim_campaign_steps *of,
                                    struct tsim_campaign *c) {
    const struct tsim_energy_spec *e = &sc->energy;
    double steps = tsim_run_steps(sc) > 0 ? ramped_steps(sc, of->ramp) : 0, n = (double)sc->n_accelerators,
           nan = (double)NAN;
    *c = (struct tsim_campaign){.goodput = nan, .failures = nan, .days_p10 = nan, .days_p90 = nan};
    if (steps <= 0)
        return;
    c->skipped_steps = skipped_steps(sc, steps);
    c->samples = of->ramp->samples + (steps - of->ramp->steps) * (double)sc->training.global_batch_size;
    steps += c->skipped_steps;
    c->work_s = of->ramp->time_s + (steps - of->ramp->steps) * of->step_s;
    c->work_j = of->ramp->energy_j + (steps - of->ramp->steps) * of->step_j;
    double run_s = c->work_s, facility_j = c->work_j * sc->energy.pue;
    c->has = true;
    c->steps = steps;
    c->days = c->mean_days = run_s / SECONDS_PER_DAY;
    c->energy_kwh = facility_j / JOULES_PER_KWH;
    c->co2_kg = facility_j * tsim_hourly_mean(&e->carbon_profile, e->start_s, run_s, e->carbon_kg_per_j);
    c->electricity_usd = facility_j * tsim_hourly_mean(&e->price_profile, e->start_s, run_s, e->price_usd_per_j);
    c->rent_usd = sc->cost.rent_usd_per_s > 0 ? run_s * n * tsim_rent_usd_per_s(sc) : nan;
    c->purchase_usd = sc->cost.purchase_usd > 0 ? n * sc->cost.purchase_usd : nan;
    c->breakeven_runs = c->purchase_usd / c->rent_usd;
}

static void fill_ownership(const struct tsim_scenario *sc, bool has_tokens, struct tsim_campaign *c) {
    double nodes = (double)sc->cluster.nodes + c->spares;
    double tokens = c->samples / (double)sc->training.global_batch_size * tokens_per_step(sc);
    const struct tsim_ownership_run run = {.accelerators = nodes * (double)sc->cluster.accelerators_per_node,
                                           .time_s = c->mean_days * SECONDS_PER_DAY,
                                           .electricity_usd = c->electricity_usd,
                                           .rent_usd = c->rent_usd,
                                           .tokens = has_tokens ? tokens : 0};
    tsim_ownership(sc, &run, &c->own);
    c->embodied_co2_kg = tsim_embodied_kg(sc, run.accelerators, run.time_s);
}

enum tsim_status tsim_campaign_predict(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                       const struct tsim_campaign_steps *steps, bool records,
                                       struct tsim_campaign *campaign, struct tsim_diags *diags) {
    struct tsim_scenario paused = *scenario;
    tsim_campaign_without_failures(scenario, steps, campaign);
    if (!campaign->has)
        return TSIM_OK;
    if (steps->evaluation->has)
        paused.training.evaluation.time_s = steps->evaluation->time_s;
    if (scenario->reliability.has || paused.training.evaluation.time_s > 0)
        TSIM_TRY(tsim_reliability_simulate(arena, &paused, steps, records, campaign, diags));
    fill_ownership(scenario, steps->has_tokens, campaign);
    return TSIM_OK;
}
