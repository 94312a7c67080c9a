#include "campaign/campaign.h"

#include "campaign/energy_meter.h"
#include "campaign/expenses.h"
#include "campaign/monte_carlo.h"
#include "config/provenance.h"

#include <math.h>

/* ---- steps ---- */

static struct tsim_amount batch_of(struct tsim_term_recorder *r, const struct tsim_scenario *sc) {
    return tsim_of_scenario(r, "training.global_batch_size", (double)sc->training.global_batch_size, TSIM_COUNT);
}

static struct tsim_amount length_of(struct tsim_term_recorder *r, const struct tsim_scenario *sc) {
    static const char *const KEYS[] = {[TSIM_LENGTH_NONE] = "training.steps",
                                       [TSIM_LENGTH_TOKENS] = "training.tokens",
                                       [TSIM_LENGTH_SAMPLES] = "training.samples",
                                       [TSIM_LENGTH_STEPS] = "training.steps"};
    return tsim_of_scenario(r, KEYS[sc->training.length_kind], sc->training.length, TSIM_COUNT);
}

static struct tsim_amount whole_steps(struct tsim_term_recorder *r, const char *name, const struct tsim_scenario *sc) {
    static const char *const FORMULA = "length of the run / length of a step, rounded up";
    struct tsim_amount length = length_of(r, sc);
    switch (sc->training.length_kind) {
    case TSIM_LENGTH_NONE:
        return (struct tsim_amount){0};
    case TSIM_LENGTH_TOKENS:
        return tsim_combined(r, TSIM_TERM_CEILING, name, FORMULA, TSIM_COUNT,
                             TSIM_PARTS(length, tsim_inverse(tsim_tokens_of(r, sc))));
    case TSIM_LENGTH_SAMPLES:
        return tsim_combined(r, TSIM_TERM_CEILING, name, FORMULA, TSIM_COUNT,
                             TSIM_PARTS(length, tsim_inverse(batch_of(r, sc))));
    case TSIM_LENGTH_STEPS:
        return tsim_combined(r, TSIM_TERM_CEILING, name, "given, rounded up", TSIM_COUNT, TSIM_PARTS(length));
    }
    TSIM_BUG("length kind %d", (int)sc->training.length_kind);
}

double tsim_run_steps(const struct tsim_scenario *sc) {
    return whole_steps(NULL, NULL, sc).value;
}

static struct tsim_amount early_steps_of(struct tsim_term_recorder *r, const struct tsim_early_steps *early) {
    return tsim_figure(r, "campaign.early.steps", early->steps, TSIM_COUNT);
}

static struct tsim_amount samples_of_run(struct tsim_term_recorder *r, const struct tsim_scenario *sc) {
    struct tsim_amount length = length_of(r, sc);
    if (sc->training.length_kind != TSIM_LENGTH_TOKENS)
        return length;
    return tsim_product(r, "samples of the run", "tokens / sequence", TSIM_COUNT,
                        TSIM_PARTS(length, tsim_inverse(tsim_sample_tokens_of(r, sc))));
}

/* Returns the steps of a run: the early ones, and those of the whole batch that train on the samples left. */
static struct tsim_amount steps_of_run(struct tsim_term_recorder *r, const char *name, const struct tsim_scenario *sc,
                                       const struct tsim_early_steps *early) {
    if (!early->has)
        return whole_steps(r, name, sc);
    if (sc->training.length_kind == TSIM_LENGTH_STEPS)
        return tsim_largest(r, name, "the given length, but at least the early steps", TSIM_COUNT,
                            TSIM_PARTS(whole_steps(r, "steps that are asked for", sc), early_steps_of(r, early)));
    struct tsim_amount left =
        tsim_sum(r, "samples after the early steps", "samples of the run - samples of the early steps", TSIM_COUNT,
                 TSIM_PARTS(samples_of_run(r, sc),
                            tsim_inverse(tsim_figure(r, "campaign.early.samples", early->samples, TSIM_COUNT))));
    struct tsim_amount of_whole_batch = tsim_combined(r, TSIM_TERM_CEILING, "steps of the whole batch",
                                                      "samples after the early steps / batch, rounded up", TSIM_COUNT,
                                                      TSIM_PARTS(left, tsim_inverse(batch_of(r, sc))));
    struct tsim_amount none = tsim_given(r, "none", 0, TSIM_COUNT, "definition");
    return tsim_sum(r, name, "of the early steps + of the whole batch", TSIM_COUNT,
                    TSIM_PARTS(early_steps_of(r, early), tsim_largest(r, "steps after the early steps", "not below 0",
                                                                      TSIM_COUNT, TSIM_PARTS(of_whole_batch, none))));
}

/* Steps whose gradients overflow come on top of those that update the weights: a scale that grows after every
 * growth_interval of them is then too large, and is brought down again. */
static struct tsim_amount skipped_steps(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                        struct tsim_amount useful_steps) {
    const struct tsim_loss_scaling_spec *l = &sc->training.loss_scaling;
    if (!(l->growth_interval > 0) || useful_steps.value < (double)l->growth_interval || l->skipped == 0)
        return (struct tsim_amount){0};
    struct tsim_amount growths = tsim_combined(
        r, TSIM_TERM_FLOOR, "times that the loss scale grows", "steps / growth interval, rounded down", TSIM_COUNT,
        TSIM_PARTS(useful_steps, tsim_inverse(tsim_of_scenario(r, "training.loss_scaling.growth_interval",
                                                               (double)l->growth_interval, TSIM_COUNT))));
    return tsim_product(
        r, "campaign.skipped_steps", "each time that the loss scale has grown, so many steps overflow", TSIM_COUNT,
        TSIM_PARTS(growths, tsim_of_scenario(r, "training.loss_scaling.skipped", (double)l->skipped, TSIM_COUNT)));
}

/* ---- without failures ---- */

/* Returns the time, or energy, of all steps: those of the early steps are not like the others. */
static struct tsim_amount of_all_steps(struct tsim_term_recorder *r, const char *name, const char *formula,
                                       enum tsim_dimension dimension, struct tsim_amount steps,
                                       struct tsim_amount of_step, const struct tsim_campaign_steps *of,
                                       struct tsim_amount of_early) {
    if (!of->early->has)
        return tsim_product(r, name, formula, dimension, TSIM_PARTS(steps, of_step));
    struct tsim_amount others = tsim_sum(r, "steps of the whole batch", "all steps - early steps", TSIM_COUNT,
                                         TSIM_PARTS(steps, tsim_inverse(early_steps_of(r, of->early))));
    return tsim_sum(
        r, name, "of the early steps + of the whole batch", dimension,
        TSIM_PARTS(of_early, tsim_product(r, "of the whole batch", formula, dimension, TSIM_PARTS(others, of_step))));
}

/* Returns the time and energy of the steps alone. */
static struct tsim_work fill_steps(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                   const struct tsim_campaign_steps *of, struct tsim_campaign *c) {
    const struct tsim_early_steps *early = of->early;
    bool skips = skipped_steps(NULL, sc, steps_of_run(NULL, NULL, sc, early)).value > 0;
    struct tsim_amount useful = steps_of_run(r, skips ? "steps that update the weights" : "campaign.steps", sc, early);
    struct tsim_amount skipped = skipped_steps(r, sc, useful);
    struct tsim_amount steps = skips ? tsim_sum(r, "campaign.steps", "steps that update the weights + skipped steps",
                                                TSIM_COUNT, TSIM_PARTS(useful, skipped))
                                     : useful;
    struct tsim_amount after_early =
        early->has ? tsim_sum(r, "steps of the whole batch that update the weights", "all steps - early steps",
                              TSIM_COUNT, TSIM_PARTS(useful, tsim_inverse(early_steps_of(r, early))))
                   : useful;
    struct tsim_amount of_whole_batch = tsim_product(r, "samples of the whole batch's steps", "steps x batch",
                                                     TSIM_COUNT, TSIM_PARTS(after_early, batch_of(r, sc)));
    struct tsim_amount of_early = {0};
    if (early->has)
        of_early = tsim_figure(r, "campaign.early.samples", early->samples, TSIM_COUNT);
    c->samples =
        tsim_sum(r, "campaign.samples", "that update the weights", TSIM_COUNT, TSIM_PARTS(of_early, of_whole_batch))
            .value;
    c->steps = steps.value;
    c->skipped_steps = skipped.value;
    struct tsim_amount early_s = {0}, early_j = {0};
    if (early->has) {
        early_s = tsim_figure(r, "campaign.early.time_s", early->time_s, TSIM_TIME_S);
        early_j = tsim_figure(r, "campaign.early.energy_j", early->energy_j, TSIM_JOULES);
    }
    return (struct tsim_work){.time = of_all_steps(r, "time without failures", "steps x step time", TSIM_TIME_S, steps,
                                                   of->step_s, of, early_s),
                              .energy = of_all_steps(r, "energy of the steps", "steps x energy of a step", TSIM_JOULES,
                                                     steps, of->step_j, of, early_j)};
}

/* Charges a run that nothing interrupts. */
static void fill_expenses(struct tsim_term_recorder *r, const struct tsim_scenario *sc, const struct tsim_work *work,
                          struct tsim_campaign *c) {
    const struct tsim_energy_spec *e = &sc->energy;
    double run_s = work->time.value;
    struct tsim_amount accelerators = tsim_accelerators_of(r, sc);
    const struct tsim_charged charged = {
        .energy = tsim_product(r, "energy of the run, at the meter", "energy of the steps x PUE", TSIM_JOULES,
                               TSIM_PARTS(work->energy, tsim_of_scenario(r, "energy.pue", e->pue, TSIM_FRACTION))),
        .price_per_j = tsim_hourly_mean(&e->price_profile, e->start_s, run_s, e->price_usd_per_j),
        .carbon_per_j = tsim_hourly_mean(&e->carbon_profile, e->start_s, run_s, e->carbon_kg_per_j),
        .accelerators = accelerators,
        .accelerator_time = tsim_product(r, "accelerator time that is paid for", "accelerators x time", TSIM_TIME_S,
                                         TSIM_PARTS(accelerators, work->time))};
    tsim_expenses(r, sc, &charged, c);
}

/* Returns whether the scenario has a length. */
static bool begin(struct tsim_term_recorder *r, const struct tsim_scenario *sc, const struct tsim_campaign_steps *of,
                  struct tsim_work *work, struct tsim_campaign *c) {
    double nan = (double)NAN;
    *c = (struct tsim_campaign){
        .has = tsim_run_steps(sc) > 0, .goodput = nan, .failures = nan, .days_p10 = nan, .days_p90 = nan};
    if (!c->has)
        return false;
    *work = fill_steps(r, sc, of, c);
    c->work_s = work->time.value;
    return true;
}

static void fill_uninterrupted(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                               const struct tsim_work *work, struct tsim_campaign *c) {
    struct tsim_amount day = tsim_given(r, "a day", TSIM_DAY_S, TSIM_TIME_S, "definition");
    c->days = c->mean_days = tsim_product(r, "campaign.days", "time of the run / a day", TSIM_FRACTION,
                                          TSIM_PARTS(work->time, tsim_inverse(day)))
                                 .value;
    fill_expenses(r, sc, work, c);
}

void tsim_campaign_without_failures(const struct tsim_scenario *scenario, const struct tsim_campaign_steps *steps,
                                    struct tsim_campaign *campaign) {
    struct tsim_work work;
    if (begin(NULL, scenario, steps, &work, campaign))
        fill_uninterrupted(NULL, scenario, &work, campaign);
}

/* ---- with them ---- */

static struct tsim_amount tokens_of_run(struct tsim_term_recorder *r, const struct tsim_scenario *sc, double samples) {
    return tsim_product(
        r, "tokens of the run", "samples x sequence", TSIM_COUNT,
        TSIM_PARTS(tsim_figure(r, "campaign.samples", samples, TSIM_COUNT), tsim_sample_tokens_of(r, sc)));
}

static struct tsim_amount mean_time(struct tsim_term_recorder *r, const struct tsim_campaign *c) {
    return tsim_product(r, "mean time of the run", "mean days x a day", TSIM_TIME_S,
                        TSIM_PARTS(tsim_figure(r, "campaign.mean_days", c->mean_days, TSIM_FRACTION),
                                   tsim_given(r, "a day", TSIM_DAY_S, TSIM_TIME_S, "definition")));
}

/* Returns the power that the nodes draw in training, spares included. */
static struct tsim_amount drawn_by_nodes(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                         const struct tsim_work *work, const struct tsim_campaign *c) {
    static const char *const NAME = "power of the nodes in training";
    if (!c->has_failures)
        return tsim_product(r, NAME, "energy of the steps / their time", TSIM_WATTS,
                            TSIM_PARTS(work->energy, tsim_inverse(work->time)));
    return tsim_product(r, NAME, "power at the meter / PUE", TSIM_WATTS,
                        TSIM_PARTS(tsim_figure(r, "campaign.power.loaded_w", c->loaded_w, TSIM_WATTS),
                                   tsim_inverse(tsim_of_scenario(r, "energy.pue", sc->energy.pue, TSIM_FRACTION))));
}

static void fill_ownership(struct tsim_term_recorder *r, const struct tsim_scenario *sc, const struct tsim_work *work,
                           bool has_tokens, struct tsim_campaign *c) {
    struct tsim_ownership_run run = {.accelerators = tsim_accelerators_with_spares(r, sc, c->spares),
                                     .time = c->has_failures ? mean_time(r, c) : work->time,
                                     .electricity_usd =
                                         tsim_figure(r, "campaign.electricity_usd", c->electricity_usd, TSIM_USD)};
    run.drawn = drawn_by_nodes(r, sc, work, c);
    run.rent_usd.value = c->rent_usd;
    if (!isnan(c->rent_usd))
        run.rent_usd = tsim_figure(r, "campaign.rent_usd", c->rent_usd, TSIM_USD);
    if (has_tokens)
        run.tokens = tokens_of_run(r, sc, c->samples);
    tsim_ownership(r, sc, &run, &c->own);
    c->embodied_co2_kg = tsim_embodied_kg(r, sc, run.accelerators, run.time);
}

enum tsim_status tsim_campaign_predict(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                       const struct tsim_campaign_steps *steps, bool has_stretches,
                                       struct tsim_term_recorder *recorder, struct tsim_campaign *campaign,
                                       struct tsim_diags *diags) {
    struct tsim_scenario paused = *scenario;
    struct tsim_work work;
    if (!begin(recorder, scenario, steps, &work, campaign))
        return TSIM_OK;
    if (steps->evaluation->has)
        paused.training.evaluation.time_s = steps->evaluation->time_s;
    if (scenario->reliability.has || paused.training.evaluation.time_s > 0)
        TSIM_TRY(tsim_monte_carlo(arena, &paused, steps, &work, has_stretches, recorder, campaign, diags));
    else
        fill_uninterrupted(recorder, scenario, &work, campaign);
    fill_ownership(recorder, scenario, &work, steps->has_tokens, campaign);
    return TSIM_OK;
}
