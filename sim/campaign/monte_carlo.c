#include "campaign/monte_carlo.h"

#include "base/quantile.h"
#include "campaign/energy_meter.h"
#include "campaign/expenses.h"
#include "campaign/reliability.h"
#include "campaign/spares.h"
#include "config/provenance.h"

#include <math.h>
#include <string.h>

/* ---- replications ---- */

/* Without `reliability:` nothing is random. */
static int64_t n_replications(const struct tsim_scenario *sc) {
    return sc->reliability.has ? sc->reliability.replications : 1;
}

struct statistics {
    double *times_s, *counts; /* of time and interruptions: each ascending, once all are there */
    double mean_s, gone_node_s, local_restarts, interruptions[TSIM_N_CAUSES], lost_s[TSIM_N_CAMPAIGN_LOSSES];
    int64_t n, events;
    struct tsim_energy_meter price, carbon;
};

/* Passes every stretch of every replication to both meters. */
static void take(void *context, double begin_s, double end_s, int loss, double amount) {
    struct statistics *all = context;
    tsim_energy_meter_take(&all->price, begin_s, end_s, loss, amount);
    tsim_energy_meter_take(&all->carbon, begin_s, end_s, loss, amount);
}

/* Plays all replications; returns false if one of them does not come to an end. `energy` is the meter, or NULL if it is
 * not metered. */
static bool replicate(struct tsim_arena *arena, const struct tsim_campaign_job *job, int64_t n,
                      const struct tsim_energy_spec *energy, struct statistics *all) {
    *all = (struct statistics){.n = n,
                               .times_s = TSIM_NEW_ARRAY(arena, (size_t)n, double),
                               .counts = TSIM_NEW_ARRAY(arena, (size_t)n, double)};
    if (energy) {
        tsim_energy_meter_init(arena, &energy->price_profile, energy->start_s, &all->price);
        tsim_energy_meter_init(arena, &energy->carbon_profile, energy->start_s, &all->carbon);
    }
    for (int64_t i = 0; i < n; i++) {
        struct tsim_replication one;
        tsim_campaign_replicate_observed(job, i, energy ? take : NULL, all, &one);
        if (!one.is_finished)
            return false;
        all->times_s[i] = one.time_s;
        all->mean_s += one.time_s / (double)n;
        all->gone_node_s += one.gone_node_s / (double)n;
        all->local_restarts += one.local_restarts / (double)n;
        all->events += one.events;
        for (int c = 0; c < TSIM_N_CAUSES; c++) {
            all->interruptions[c] += one.interruptions[c] / (double)n;
            all->counts[i] += one.interruptions[c];
        }
        for (int loss = 0; loss < TSIM_N_CAMPAIGN_LOSSES; loss++)
            all->lost_s[loss] += one.lost_s[loss] / (double)n;
    }
    tsim_sort_ascending(all->times_s, (size_t)n);
    tsim_sort_ascending(all->counts, (size_t)n);
    return true;
}

static double time_quantile(const struct statistics *all, double frac) {
    return tsim_sample_quantile(all->times_s, (size_t)all->n, frac);
}

/* Returns the time between pauses: infinite if there are none (0). */
static double pause_s(double interval_s) {
    return interval_s > 0 ? interval_s : (double)INFINITY;
}

static const char *time_text(struct tsim_arena *arena, double seconds) {
    char text[64];
    return tsim_arena_strdup(arena, tsim_quantity_human(seconds, TSIM_TIME_S, text, sizeof text));
}

static enum tsim_status fail_to_finish(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                       const struct tsim_campaign_job *job, struct tsim_diags *diags) {
    const struct tsim_place nowhere = {.file = sc->file};
    double every_s = tsim_campaign_mtbf_s(job, TSIM_CAMPAIGN_ANY),
           planned_s = fmin(pause_s(job->evaluation_interval_s), pause_s(job->maintenance_interval_s));
    if (planned_s < every_s) {
        tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, nowhere, "reliability",
                                        "the run does not come to an end, or has more than %d pauses: one every %s",
                                        TSIM_CAMPAIGN_MOST_EVENTS, time_text(arena, planned_s)),
                       "evaluate or maintain less often");
        return TSIM_ERR_INFEASIBLE;
    }
    tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, nowhere, "reliability",
                                    "the run does not come to an end: interrupted every %s, it needs %s to restart and "
                                    "%s to the next checkpoint",
                                    time_text(arena, every_s),
                                    time_text(arena, job->detection_s + job->restart_s + job->warmup_s),
                                    time_text(arena, job->interval_s + job->stall_s)),
                   "restart or repair faster, save more often, use fewer nodes, or add spares");
    return TSIM_ERR_INFEASIBLE;
}

/* ---- spot against on-demand ---- */

enum { CHOICE_REPLICATIONS = 64, BREAKEVEN_REPLICATIONS = 8, BREAKEVEN_INTERRUPTIONS = 100, BREAKEVEN_HALVINGS = 30 };
#define LEAST_RATE_PER_H 1e-7
#define MOST_RATE_PER_H 1e3

/* Returns how many times its work a run takes at a rate of preemption, found from a run that is long enough to tell. */
static double slowdown_at(struct tsim_arena *arena, const struct tsim_scenario *sc,
                          const struct tsim_campaign_steps *of, double work_s, double rate_per_h) {
    struct tsim_scenario changed = *sc;
    struct tsim_campaign_job job;
    struct statistics all;
    changed.reliability.preemption_per_s = rate_per_h / TSIM_HOUR_S;
    tsim_reliability_job(NULL, &changed, of, work_s, &job);
    job.work_s =
        fmin(work_s, BREAKEVEN_INTERRUPTIONS * fmax(tsim_campaign_mtbf_s(&job, TSIM_CAMPAIGN_ANY), of->step_s.value));
    if (!replicate(arena, &job, BREAKEVEN_REPLICATIONS, NULL, &all))
        return (double)INFINITY;
    return (all.mean_s - all.gone_node_s / (double)(job.nodes + job.spares)) / job.work_s; /* that is paid for */
}

static double breakeven_rate_per_h(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                   const struct tsim_campaign_steps *of, double work_s, double on_demand_s) {
    double most = on_demand_s / work_s / (1 - sc->reliability.discount_frac);
    double low = log(LEAST_RATE_PER_H), high = log(MOST_RATE_PER_H);
    if (slowdown_at(arena, sc, of, work_s, LEAST_RATE_PER_H) >= most)
        return 0;
    if (slowdown_at(arena, sc, of, work_s, MOST_RATE_PER_H) < most)
        return (double)INFINITY;
    for (int i = 0; i < BREAKEVEN_HALVINGS; i++) {
        double middle = (low + high) / 2;
        *(slowdown_at(arena, sc, of, work_s, exp(middle)) < most ? &low : &high) = middle;
    }
    return exp(low);
}

/* ---- terms of what is drawn ---- */

enum { MOST_INPUTS = 16 };

/* Everything that the replications are drawn from. */
struct drawing {
    struct tsim_term_recorder *recorder;
    const char *formula;
    struct tsim_amount inputs[MOST_INPUTS];
    size_t n;
};

static void add_input(struct drawing *d, struct tsim_amount input) {
    TSIM_ASSERT(d->n < MOST_INPUTS);
    if (isfinite(input.value))
        d->inputs[d->n++] = input;
}

static struct tsim_amount spares_of(struct tsim_term_recorder *r, const struct tsim_scenario *given, int64_t spares,
                                    struct tsim_amount mtbf) {
    static const char *const NAME = "campaign.spares";
    if (given->reliability.spares >= 0)
        return tsim_of_scenario(r, NAME, (double)spares, TSIM_COUNT);
    struct tsim_amount repair = tsim_of_scenario(r, "reliability.repair", given->reliability.repair_s, TSIM_TIME_S);
    const struct tsim_amount inputs[] = {repair, mtbf};
    return tsim_outcome(r, NAME,
                        "searched for reliability.spares among all numbers that could matter (sim/campaign/spares.h)",
                        (double)spares, TSIM_COUNT, inputs, isfinite(mtbf.value) ? 2 : 1);
}

/* `given` is the scenario as it was before spares were found for it. */
static struct drawing drawing_of(struct tsim_term_recorder *r, const struct tsim_scenario *given,
                                 const struct tsim_campaign_job *job, const struct tsim_work *work) {
    const struct tsim_reliability_spec *spec = &given->reliability;
    struct drawing d = {.recorder = r,
                        .formula = "simulated: the run with its pauses (sim/campaign/replication.h)",
                        .inputs = {work->time},
                        .n = 1};
    const struct {
        const char *key;
        double value;
        enum tsim_dimension dimension;
    } KEYS[] = {{"reliability.detection", spec->detection_s, TSIM_TIME_S},
                {"reliability.restart", spec->restart_s, TSIM_TIME_S},
                {"reliability.warmup", spec->warmup_s, TSIM_TIME_S},
                {"reliability.repair", spec->repair_s, TSIM_TIME_S},
                {"reliability.replications", (double)spec->replications, TSIM_COUNT}};
    struct tsim_amount mtbf = tsim_campaign_mtbf(r, job, TSIM_CAMPAIGN_ANY);
    struct tsim_amount spares = spares_of(r, given, job->spares, mtbf);
    if (!spec->has) {
        add_input(&d, tsim_given(r, "a pause for evaluation", job->evaluation_s, TSIM_TIME_S,
                                 "training.evaluation.time of the scenario, or simulated (sim/run/evaluation.h)"));
        return d;
    }
    d.formula = tsim_record_text(r, "simulated: Monte Carlo, %lld replications (sim/campaign/replication.h)",
                                 (long long)spec->replications);
    double interval_s = job->interval_s * job->durable_every;
    add_input(&d, mtbf);
    if (isfinite(interval_s))
        add_input(&d, tsim_figure(r, "campaign.checkpoint.interval_s", interval_s, TSIM_TIME_S));
    add_input(&d, spares);
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++)
        add_input(&d, tsim_of_scenario(r, KEYS[i].key, KEYS[i].value, KEYS[i].dimension));
    add_input(&d, tsim_of_scenario(r, "simulation.seed", (double)given->simulation.seed, TSIM_COUNT));
    return d;
}

/* Records a figure of the replications. A value that is not finite means that there is no such figure, and it has no
 * term. */
static struct tsim_amount drawn(const struct drawing *d, const char *name, double value,
                                enum tsim_dimension dimension) {
    if (!isfinite(value))
        return (struct tsim_amount){.value = value};
    return tsim_outcome(d->recorder, name, d->formula, value, dimension, d->inputs, d->n);
}

/* ---- time ---- */

static struct tsim_amount day(const struct drawing *d) {
    return tsim_given(d->recorder, "a day", TSIM_DAY_S, TSIM_TIME_S, "definition");
}

static double days_of(const struct drawing *d, const char *name, struct tsim_amount time) {
    return tsim_product(d->recorder, name, "time / a day", TSIM_FRACTION, TSIM_PARTS(time, tsim_inverse(day(d)))).value;
}

/* Times are whole milliseconds: half of one may be missing. */
static double goodput_of(const struct drawing *d, const char *name, const struct tsim_work *work,
                         struct tsim_amount time) {
    struct tsim_amount share = tsim_product(d->recorder, "work over time", "time without failures / time",
                                            TSIM_FRACTION, TSIM_PARTS(work->time, tsim_inverse(time)));
    return tsim_smallest(d->recorder, name, "work over time, at most 1", TSIM_FRACTION,
                         TSIM_PARTS(share, tsim_given(d->recorder, "without failures", 1, TSIM_FRACTION, "definition")))
        .value;
}

static void fill_bins(const struct statistics *all, struct tsim_campaign *c) {
    double from_s = all->times_s[0], width_s = all->times_s[all->n - 1] - from_s;
    c->bin_from_days = from_s / TSIM_DAY_S;
    c->bin_to_days = all->times_s[all->n - 1] / TSIM_DAY_S;
    memset(c->bins, 0, sizeof c->bins);
    for (int64_t i = 0; i < all->n; i++) {
        double at = width_s > 0 ? (all->times_s[i] - from_s) / width_s * TSIM_CAMPAIGN_BINS : 0;
        c->bins[at < TSIM_CAMPAIGN_BINS ? (int)at : TSIM_CAMPAIGN_BINS - 1]++;
    }
}

static void fill_times(const struct drawing *d, const struct tsim_work *work, const struct statistics *all,
                       struct tsim_campaign *c) {
    struct tsim_amount median = drawn(d, "time of the run, median of all", time_quantile(all, 0.5), TSIM_TIME_S),
                       p10 = drawn(d, "time of the run, 10th percentile", time_quantile(all, 0.1), TSIM_TIME_S),
                       p90 = drawn(d, "time of the run, 90th percentile", time_quantile(all, 0.9), TSIM_TIME_S),
                       mean = drawn(d, "time of the run, mean of all", all->mean_s, TSIM_TIME_S);
    c->times_s = all->times_s;
    c->n_times = all->n;
    c->days = days_of(d, "campaign.days", median);
    c->days_p10 = days_of(d, "campaign.days_p10", p10);
    c->days_p90 = days_of(d, "campaign.days_p90", p90);
    c->mean_days = days_of(d, "campaign.mean_days", mean);
    c->goodput = goodput_of(d, "campaign.goodput", work, median);
    c->goodput_p10 = goodput_of(d, "campaign.goodput_p10", work, p90);
    c->goodput_p90 = goodput_of(d, "campaign.goodput_p90", work, p10);
    fill_bins(all, c);
    drawn(d, "campaign.distribution.from_days", c->bin_from_days, TSIM_FRACTION);
    drawn(d, "campaign.distribution.to_days", c->bin_to_days, TSIM_FRACTION);
}

/* ---- failures ---- */

static void fill_failures(const struct drawing *d, const struct tsim_scenario *sc, const struct statistics *all,
                          struct tsim_campaign *c) {
    struct tsim_term_recorder *r = d->recorder;
    struct tsim_part_list interruptions = {.recorder = r};
    struct tsim_amount hour = tsim_given(r, "an hour", TSIM_HOUR_S, TSIM_TIME_S, "definition");
    for (int cause = 0; cause < TSIM_N_CAUSES; cause++) {
        const char *name = tsim_record_text(r, "campaign.interruptions.%s", tsim_campaign_loss_name(cause));
        struct tsim_amount mean = drawn(d, name, all->interruptions[cause], TSIM_FRACTION);
        c->interruptions[cause] = mean.value;
        tsim_part_add(&interruptions, mean);
    }
    c->failures = tsim_sum_of(&interruptions, "campaign.failures", "interruptions of all causes", TSIM_FRACTION).value;
    c->failures_p10 =
        drawn(d, "campaign.failures_p10", tsim_sample_quantile(all->counts, (size_t)all->n, 0.1), TSIM_FRACTION).value;
    c->failures_p90 =
        drawn(d, "campaign.failures_p90", tsim_sample_quantile(all->counts, (size_t)all->n, 0.9), TSIM_FRACTION).value;
    for (int loss = 0; loss < TSIM_N_CAMPAIGN_LOSSES; loss++) {
        const char *word = tsim_campaign_loss_name(loss);
        struct tsim_amount lost = drawn(d, tsim_record_text(r, "time lost: %s", word), all->lost_s[loss], TSIM_TIME_S);
        c->lost_accelerator_h[loss] = tsim_product(r, tsim_record_text(r, "campaign.lost_accelerator_hours.%s", word),
                                                   "time lost x accelerators, in hours", TSIM_FRACTION,
                                                   TSIM_PARTS(lost, tsim_accelerators_of(r, sc), tsim_inverse(hour)))
                                          .value;
    }
}

static void fill_checkpoints(const struct drawing *d, const struct tsim_scenario *sc,
                             const struct tsim_campaign_steps *of, const struct tsim_campaign_job *job,
                             const struct statistics *all, struct tsim_campaign *c) {
    struct tsim_term_recorder *r = d->recorder;
    c->mtbf_s = tsim_campaign_mtbf_s(job, TSIM_CAMPAIGN_ANY);
    c->spares = (double)job->spares;
    c->checkpoint_bytes = tsim_sum(r, "campaign.checkpoint.bytes", "a checkpoint of the whole model", TSIM_BYTES,
                                   TSIM_PARTS(of->checkpoint_bytes))
                              .value;
    c->checkpoint_interval_s = job->interval_s * job->durable_every;
    c->checkpoint_stall_s = job->stall_s + job->durable_stall_s;
    c->has_local_tier = sc->reliability.local.has;
    c->local_interval_s = job->interval_s;
    c->local_stall_s = job->stall_s;
    c->local_restarts = all->local_restarts;
    if (isfinite(c->checkpoint_interval_s)) /* by the name that sweeps have for it */
        tsim_sum(r, "campaign.checkpoint_interval_s", "campaign.checkpoint.interval_s", TSIM_TIME_S,
                 TSIM_PARTS(tsim_figure(r, "campaign.checkpoint.interval_s", c->checkpoint_interval_s, TSIM_TIME_S)));
    if (c->has_local_tier)
        drawn(d, "campaign.checkpoint.local.restarts", c->local_restarts, TSIM_FRACTION);
}

/* ---- electricity and money ---- */

/* Returns the power of the facility: spares, and what works on nothing, are idle. */
static struct tsim_energy_meter_power facility_power(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                                     const struct tsim_campaign_steps *of, const struct tsim_work *work,
                                                     double spares) {
    static const char *const FORMULA = "PUE x power of the nodes", *const AT_WALL =
                                                                       "nodes at work + spare nodes at rest";
    struct tsim_amount pue = tsim_of_scenario(r, "energy.pue", sc->energy.pue, TSIM_FRACTION);
    struct tsim_amount each =
        tsim_of_scenario(r, "cluster.accelerators_per_node", (double)sc->cluster.accelerators_per_node, TSIM_COUNT);
    struct tsim_amount one = tsim_given(r, "a node at rest", 1, TSIM_FRACTION, "definition");
    struct tsim_amount node =
        tsim_product(r, "a node at rest, with its cooling", "PUE x accelerators of a node x one of them", TSIM_WATTS,
                     TSIM_PARTS(pue, each, of->idle_w));
    struct tsim_amount standing_by =
        tsim_product(r, "spares at rest", "spare nodes x accelerators in each x draw of one", TSIM_WATTS,
                     TSIM_PARTS(tsim_figure(r, "campaign.spares", spares, TSIM_COUNT), each, of->idle_w));
    struct tsim_amount steps = tsim_product(r, "mean power of the steps", "energy / time", TSIM_WATTS,
                                            TSIM_PARTS(work->energy, tsim_inverse(work->time)));
    struct tsim_amount away = tsim_sum(
        r, "a node in repair, beside one at rest", "its power, of one at rest - 1", TSIM_FRACTION,
        TSIM_PARTS(tsim_of_scenario(r, "reliability.repair_power", sc->reliability.repair_power_frac, TSIM_FRACTION),
                   tsim_inverse(one)));
    struct tsim_energy_meter_power power = {
        .loaded = tsim_product(
            r, "campaign.power.loaded_w", FORMULA, TSIM_WATTS,
            TSIM_PARTS(pue, tsim_sum(r, "while training", AT_WALL, TSIM_WATTS, TSIM_PARTS(steps, standing_by)))),
        .idle = tsim_product(r, "campaign.power.idle_w", "PUE x accelerators with spares x one at rest", TSIM_WATTS,
                             TSIM_PARTS(pue, tsim_accelerators_with_spares(r, sc, spares), of->idle_w)),
        .gone = node,
        .away = tsim_product(r, "more for a node in repair", "a node at rest x its power, of that", TSIM_WATTS,
                             TSIM_PARTS(node, away))};
    power.evaluating = power.idle;
    if (of->evaluation->has) {
        struct tsim_amount passes = tsim_product(
            r, "mean power of a pause", "energy / time", TSIM_WATTS,
            TSIM_PARTS(tsim_figure(r, "evaluation.energy_j", of->evaluation->energy_j, TSIM_JOULES),
                       tsim_inverse(tsim_figure(r, "evaluation.time_s", of->evaluation->time_s, TSIM_TIME_S))));
        power.evaluating = tsim_product(
            r, "power in a pause for evaluation", FORMULA, TSIM_WATTS,
            TSIM_PARTS(pue, tsim_sum(r, "while evaluating", AT_WALL, TSIM_WATTS, TSIM_PARTS(passes, standing_by))));
    }
    return power;
}

/* Averages the meter's times over the replications. */
static struct tsim_energy_meter_time mean_times(const struct drawing *d, const struct statistics *all) {
    struct tsim_energy_meter_hour total = tsim_energy_meter_total(&all->price);
    double each = 1 / (double)all->n;
    return (struct tsim_energy_meter_time){
        .loaded = drawn(d, "time at full power, redone work included", each * total.loaded_s, TSIM_TIME_S),
        .evaluating = drawn(d, "time in pauses for evaluation", each * total.evaluating_s, TSIM_TIME_S),
        .idle = drawn(d, "time at rest", each * (total.time_s - total.loaded_s - total.evaluating_s), TSIM_TIME_S),
        .away = drawn(d, "time of nodes in repair, summed", each * total.away_node_s, TSIM_TIME_S),
        .gone = drawn(d, "time of preempted nodes, summed", each * total.gone_node_s, TSIM_TIME_S)};
}

/* Returns the accelerator time that is paid for; preempted nodes are not. */
static struct tsim_amount paid_time(const struct drawing *d, const struct tsim_scenario *sc,
                                    const struct statistics *all, struct tsim_amount accelerators) {
    struct tsim_term_recorder *r = d->recorder;
    struct tsim_amount mean = drawn(d, "time of the run, mean of all", all->mean_s, TSIM_TIME_S),
                       gone = drawn(d, "time of preempted nodes, summed", all->gone_node_s, TSIM_TIME_S);
    struct tsim_amount each =
        tsim_of_scenario(r, "cluster.accelerators_per_node", (double)sc->cluster.accelerators_per_node, TSIM_COUNT);
    return tsim_sum(
        r, "accelerator time that is paid for", "time of all nodes, spares included - time of preempted ones",
        TSIM_TIME_S,
        TSIM_PARTS(tsim_product(r, "accelerators of the whole run", "accelerators x time", TSIM_TIME_S,
                                TSIM_PARTS(accelerators, mean)),
                   tsim_inverse(tsim_product(r, "accelerators of preempted nodes", "time x accelerators of a node",
                                             TSIM_TIME_S, TSIM_PARTS(gone, each)))));
}

static void fill_expenses(const struct drawing *d, const struct tsim_scenario *sc, const struct tsim_campaign_steps *of,
                          const struct tsim_work *work, const struct statistics *all, struct tsim_campaign *c) {
    const struct tsim_energy_spec *e = &sc->energy;
    struct tsim_energy_meter_power power = facility_power(d->recorder, sc, of, work, c->spares);
    struct tsim_energy_meter_time time = mean_times(d, all);
    struct tsim_amount accelerators = tsim_accelerators_with_spares(d->recorder, sc, c->spares);
    const struct tsim_charged charged = {
        .energy = tsim_energy_drawn(d->recorder, &time, &power),
        .price_per_j = e->price_profile.n_hours > 0 ? tsim_energy_meter_mean(&all->price, &power) : e->price_usd_per_j,
        .carbon_per_j =
            e->carbon_profile.n_hours > 0 ? tsim_energy_meter_mean(&all->carbon, &power) : e->carbon_kg_per_j,
        .accelerators = accelerators,
        .accelerator_time = paid_time(d, sc, all, accelerators)};
    tsim_expenses(d->recorder, sc, &charged, c);
    c->loaded_w = power.loaded.value;
    c->idle_w = power.idle.value;
    c->mean_w =
        tsim_product(d->recorder, "campaign.power.mean_w", "energy / mean time", TSIM_WATTS,
                     TSIM_PARTS(charged.energy,
                                tsim_inverse(drawn(d, "time of the run, mean of all", all->mean_s, TSIM_TIME_S))))
            .value;
}

/* ---- spot instances ---- */

static bool compare_with_on_demand(struct tsim_arena *arena, const struct drawing *d, const struct tsim_scenario *sc,
                                   const struct tsim_campaign_steps *of, struct tsim_campaign *c) {
    struct tsim_term_recorder *r = d->recorder;
    struct tsim_scenario changed = *sc;
    struct tsim_campaign_job job;
    struct statistics all;
    changed.reliability.preemption_per_s = 0;
    tsim_reliability_job(NULL, &changed, of, c->work_s, &job);
    if (!replicate(arena, &job, sc->reliability.replications, NULL, &all))
        return false;
    c->is_spot = true;
    c->on_demand_days =
        drawn(d, "campaign.spot.on_demand_days", time_quantile(&all, 0.5) / TSIM_DAY_S, TSIM_FRACTION).value;
    c->on_demand_usd = (double)NAN;
    if (sc->cost.rent_usd_per_s > 0)
        c->on_demand_usd =
            tsim_product(r, "campaign.spot.on_demand_usd", "mean time x accelerators x rent", TSIM_USD,
                         TSIM_PARTS(drawn(d, "time of the run on demand, mean of all", all.mean_s, TSIM_TIME_S),
                                    tsim_accelerators_with_spares(r, sc, c->spares),
                                    tsim_of_scenario(r, "cost.rent", sc->cost.rent_usd_per_s, TSIM_USD_PER_S)))
                .value;
    c->breakeven_rate_per_h = drawn(d, "campaign.spot.breakeven_rate_per_h",
                                    breakeven_rate_per_h(arena, sc, of, c->work_s, all.mean_s), TSIM_FRACTION)
                                  .value;
    return true;
}

/* ---- all of it ---- */

struct stretches {
    struct tsim_campaign_stretch *stretches;
    int32_t n;
};

/* Neighbours that are charged to the same are one. */
static void keep_stretch(void *context, double begin_s, double end_s, int loss, double amount) {
    (void)amount;
    if (loss == TSIM_CAMPAIGN_AWAY || loss == TSIM_CAMPAIGN_GONE)
        return;
    struct stretches *kept = context;
    struct tsim_campaign_stretch *last = kept->n > 0 ? &kept->stretches[kept->n - 1] : NULL;
    if (last && last->loss == loss && last->end_s == begin_s)
        last->end_s = end_s;
    else if (end_s > begin_s && kept->n < TSIM_CAMPAIGN_MOST_STRETCHES)
        kept->stretches[kept->n++] = (struct tsim_campaign_stretch){begin_s, end_s, loss};
}

static void fill_stretches(struct tsim_arena *arena, const struct tsim_campaign_job *job, struct tsim_campaign *c) {
    struct stretches kept = {.stretches =
                                 TSIM_NEW_ARRAY(arena, TSIM_CAMPAIGN_MOST_STRETCHES, struct tsim_campaign_stretch)};
    struct tsim_replication one;
    tsim_campaign_replicate_observed(job, 0, keep_stretch, &kept, &one);
    c->stretches = kept.stretches;
    c->n_stretches = kept.n;
}

/* Returns the scenario with a number of spares. */
static struct tsim_scenario with_spares(const struct tsim_scenario *sc, const struct tsim_campaign_steps *of,
                                        double work_s) {
    struct tsim_scenario found = *sc;
    struct tsim_campaign_job job;
    if (sc->reliability.spares >= 0)
        return found;
    bool is_fastest = sc->reliability.spares == TSIM_SPARES_FASTEST;
    int64_t n = n_replications(sc);
    tsim_reliability_job(NULL, sc, of, work_s, &job);
    found.reliability.spares = tsim_best_spares(&job, n < CHOICE_REPLICATIONS ? n : CHOICE_REPLICATIONS,
                                                is_fastest ? TSIM_SPARES_FOR_TIME : TSIM_SPARES_FOR_NODE_HOURS);
    return found;
}

enum tsim_status tsim_monte_carlo(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                  const struct tsim_campaign_steps *steps, const struct tsim_work *work,
                                  bool has_stretches, struct tsim_term_recorder *recorder,
                                  struct tsim_campaign *campaign, struct tsim_diags *diags) {
    struct tsim_campaign_job job;
    struct statistics all;
    const struct tsim_scenario sc = with_spares(scenario, steps, campaign->work_s);
    tsim_reliability_job(recorder, &sc, steps, campaign->work_s, &job);
    const struct drawing drawing = drawing_of(recorder, scenario, &job, work);
    if (!replicate(arena, &job, n_replications(&sc), &sc.energy, &all))
        return fail_to_finish(arena, &sc, &job, diags);
    campaign->has_failures = true;
    campaign->events = all.events;
    fill_times(&drawing, work, &all, campaign);
    fill_failures(&drawing, &sc, &all, campaign);
    fill_checkpoints(&drawing, &sc, steps, &job, &all, campaign);
    fill_expenses(&drawing, &sc, steps, work, &all, campaign);
    if (has_stretches)
        fill_stretches(arena, &job, campaign);
    if (sc.reliability.preemption_per_s > 0 && !compare_with_on_demand(arena, &drawing, &sc, steps, campaign))
        return fail_to_finish(arena, &sc, &job, diags);
    return TSIM_OK;
}
