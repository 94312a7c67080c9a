#include "campaign/reliability.h"

#include "campaign/energy_meter.h"
#include "campaign/spares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_PER_HOUR 3600.0
#define SECONDS_PER_DAY 86400.0
#define JOULES_PER_KWH 3.6e6

/* Counts out of 419 interruptions (Grattafiori et al. 2024, table 5): config/reliability_tables.c has the counts. */
static const double LLAMA3_COUNTS[TSIM_N_COMPONENTS] = {
    [TSIM_CAUSE_ACCELERATOR] = 196, [TSIM_CAUSE_HBM] = 72,  [TSIM_CAUSE_NIC] = 7,      [TSIM_CAUSE_LINK] = 35,
    [TSIM_CAUSE_SWITCH] = 0,        [TSIM_CAUSE_HOST] = 46, [TSIM_CAUSE_SOFTWARE] = 63};
#define LLAMA3_COUNT 419.0

/* ---- the job ---- */

double tsim_rent_usd_per_s(const struct tsim_scenario *sc) {
    const struct tsim_reliability_spec *r = &sc->reliability;
    return sc->cost.rent_usd_per_s * (r->preemption_per_s > 0 ? 1 - r->discount_frac : 1);
}

/* A node file may leave it out: PCIe 4.0 x16 with what protocols take. */
static double host_link_bytes_per_s(const struct tsim_scenario *sc) {
    double rate = sc->cluster.node->host_link_bytes_per_s;
    return rate > 0 ? rate : 25e9;
}

static double nics_of_a_node(const struct tsim_scenario *sc) {
    return sc->cluster.fabric ? (double)sc->cluster.node->nics : 0;
}

/* A node's part, to as many others, over its NICs. */
static double peer_copy_s(const struct tsim_scenario *sc, double checkpoint_bytes) {
    const struct tsim_node *node = sc->cluster.node;
    double rate = fmin(node->nic_bytes_per_s, sc->cluster.fabric ? sc->cluster.fabric->link_bytes_per_s : 0);
    double bytes = checkpoint_bytes / (double)sc->cluster.nodes * (double)sc->reliability.local.copies;
    return rate > 0 && node->nics > 0 ? bytes / ((double)node->nics * rate) : 0;
}

static double switches(double nics) {
    double ports = 64;
    return nics > ports ? ceil(nics * (nics <= ports * ports / 2 ? 3 : 5) / ports) : nics > 0 ? 1 : 0;
}

static void set_processes(const struct tsim_scenario *sc, struct tsim_campaign_job *job) {
    const struct tsim_reliability_spec *r = &sc->reliability;
    double nodes = (double)sc->cluster.nodes, nics = nodes * nics_of_a_node(sc);
    const double units[TSIM_N_COMPONENTS] = {[TSIM_CAUSE_ACCELERATOR] = (double)sc->n_accelerators,
                                             [TSIM_CAUSE_HBM] = (double)sc->n_accelerators,
                                             [TSIM_CAUSE_NIC] = nics,
                                             [TSIM_CAUSE_LINK] = nics,
                                             [TSIM_CAUSE_SWITCH] = switches(nics),
                                             [TSIM_CAUSE_HOST] = nodes,
                                             [TSIM_CAUSE_SOFTWARE] = nodes};
    for (int c = 0; c < TSIM_N_COMPONENTS; c++) {
        bool is_whole = r->node_mtbf_s > 0, is_hardware = c != TSIM_CAUSE_SOFTWARE;
        double share = LLAMA3_COUNTS[c] / LLAMA3_COUNT;
        job->causes[c] =
            (struct tsim_failure_process){.units = is_whole ? nodes : units[c],
                                          .mtbf_s = !is_whole   ? r->component_mtbf_s[c]
                                                    : share > 0 ? r->node_mtbf_s / share
                                                                : 0,
                                          .shape = is_hardware ? r->shape : 1,
                                          .age_s = r->age_s,
                                          .takes_node = is_hardware && c != TSIM_CAUSE_LINK && c != TSIM_CAUSE_SWITCH};
    }
    job->causes[TSIM_CAUSE_PREEMPTION] =
        (struct tsim_failure_process){.units = nodes,
                                      .mtbf_s = r->preemption_per_s > 0 ? 1 / r->preemption_per_s : 0,
                                      .shape = 1,
                                      .takes_node = true};
    job->causes[TSIM_CAUSE_STRAGGLER] =
        (struct tsim_failure_process){.units = nodes, .mtbf_s = r->straggler_mtbf_s, .shape = 1, .takes_node = true};
}

static double interval_s(const struct tsim_period *interval, double step_s) {
    return interval->kind == TSIM_PERIOD_STEPS ? interval->value * step_s : interval->value;
}

/* Evaluations come between two steps. */
static double evaluation_interval_s(const struct tsim_evaluation_spec *evaluation, double step_s) {
    return evaluation->time_s > 0 ? fmax(1, round(interval_s(&evaluation->interval, step_s) / step_s)) * step_s : 0;
}

static double wanted_interval_s(const struct tsim_period *interval, double step_s, double stall_s,
                                const struct tsim_campaign_job *job, enum tsim_campaign_kind kind) {
    if (interval->kind == TSIM_PERIOD_OPTIMAL)
        return tsim_optimal_interval_s(stall_s, tsim_campaign_mtbf_s(job, kind));
    return interval_s(interval, step_s);
}

/* A whole number of steps, at least one, and long enough for the writing under it. */
static void set_interval(const struct tsim_scenario *sc, double step_s, struct tsim_campaign_job *job) {
    double wanted_s =
        wanted_interval_s(&sc->reliability.checkpoint_interval, step_s, job->stall_s, job, TSIM_CAMPAIGN_LOSING_WORK);
    double least = fmax(1, ceil((job->write_s - job->stall_s) / step_s));
    double steps = fmax(1, floor(wanted_s / step_s)), mtbf_s = tsim_campaign_mtbf_s(job, TSIM_CAMPAIGN_LOSING_WORK);
    bool is_optimal = sc->reliability.checkpoint_interval.kind == TSIM_PERIOD_OPTIMAL && isfinite(wanted_s);
    if (is_optimal && tsim_daly_time_s(1, (steps + 1) * step_s, job->stall_s, 0, mtbf_s) <
                          tsim_daly_time_s(1, steps * step_s, job->stall_s, 0, mtbf_s))
        steps += 1;
    job->interval_s = fmax(least, is_optimal ? steps : round(wanted_s / step_s)) * step_s;
}

/* The storage gets a whole number of local ones. Each tier's optimum is that of the failures which go back to it: to
 * first order they do not meet. */
static void set_tiers(const struct tsim_scenario *sc, double step_s, struct tsim_campaign_job *job) {
    const struct tsim_reliability_spec *r = &sc->reliability;
    double storage_s =
        wanted_interval_s(&r->checkpoint_interval, step_s, job->durable_stall_s, job, TSIM_CAMPAIGN_TO_STORAGE);
    double local_s = wanted_interval_s(&r->local.interval, step_s, job->stall_s, job, TSIM_CAMPAIGN_TO_LOCAL_TIER);
    double least = fmax(1, ceil(job->copy_s / step_s)), most = fmax(1, floor(job->work_s / step_s));
    if (r->checkpoint_interval.kind != TSIM_PERIOD_OPTIMAL)
        local_s = fmin(local_s, storage_s);
    job->interval_s = fmin(most, fmax(least, round(local_s / step_s))) * step_s;
    double least_every = ceil((job->write_s - job->stall_s) / job->interval_s);
    job->durable_every = fmax(fmax(1, least_every), round(fmin(storage_s, job->work_s) / job->interval_s));
}

void tsim_reliability_job(const struct tsim_scenario *sc, const struct tsim_campaign_steps *of, double work_s,
                          struct tsim_campaign_job *job) {
    const struct tsim_reliability_spec *r = &sc->reliability;
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    double write_s = r->has ? of->checkpoint_bytes / r->checkpoint_bytes_per_s : 0;
    double copy_s = of->checkpoint_bytes / (double)sc->n_accelerators / host_link_bytes_per_s(sc);
    *job = (struct tsim_campaign_job){
        .work_s = work_s,
        .detection_s = r->detection_s,
        .restart_s = r->restart_s,
        .warmup_s = r->warmup_s,
        .repair_s = r->repair_s,
        .gap_s = r->gap_s,
        .slowdown = r->straggler_slowdown,
        .straggler_detection_s = r->straggler_detection_s,
        .nodes = sc->cluster.nodes,
        .spares = r->spares,
        .replicas = r->elastic ? p->data : 0,
        .nodes_per_replica = (double)sc->cluster.nodes / (double)p->data,
        .stall_s = r->mode == 0 && !r->local.has ? write_s : copy_s,
        .write_s = r->mode == 0 ? 0 : write_s,
        .save_s = r->mode == 0 && !r->local.has ? write_s : copy_s + write_s,
        .local_tier = r->checkpoint_memory || r->local.has,
        .durable_every = 1,
        .durable_stall_s = r->mode == 0 && r->local.has ? write_s : 0,
        .copies = r->local.copies,
        .copy_s = r->local.copies > 0 ? peer_copy_s(sc, of->checkpoint_bytes) : 0,
        .local_restart_s = r->local.restart_s > 0 ? r->local.restart_s : r->restart_s,
        .evaluation_interval_s = evaluation_interval_s(&sc->training.evaluation, of->step_s),
        .evaluation_s = sc->training.evaluation.time_s,
        .maintenance_interval_s = r->maintenance_interval_s,
        .maintenance_s = r->maintenance_s,
        .tells_hours = sc->energy.price_profile.n_hours > 1 || sc->energy.carbon_profile.n_hours > 1,
        .start_s = sc->energy.start_s,
        .seed = (uint64_t)sc->simulation.seed,
    };
    job->saves_on_notice = job->save_s <= r->notice_s;
    set_processes(sc, job);
    if (r->local.has)
        set_tiers(sc, of->step_s, job);
    else
        set_interval(sc, of->step_s, job);
}

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

/* Both meters hear every stretch of every replication. */
static void take(void *context, double begin_s, double end_s, int loss, double amount) {
    struct statistics *all = context;
    tsim_energy_meter_take(&all->price, begin_s, end_s, loss, amount);
    tsim_energy_meter_take(&all->carbon, begin_s, end_s, loss, amount);
}

static int ascending(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* False: one of them does not come to an end. `energy`: where it is metered; NULL: not. */
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
    qsort(all->times_s, (size_t)n, sizeof *all->times_s, ascending);
    qsort(all->counts, (size_t)n, sizeof *all->counts, ascending);
    return true;
}

static double quantile(const double *values, int64_t n, double frac) {
    double at = frac * (double)(n - 1);
    int64_t below = (int64_t)at, above = below + 1 < n ? below + 1 : below;
    double weight = at - (double)below;
    return values[below] * (1 - weight) + values[above] * weight;
}

static double time_quantile(const struct statistics *all, double frac) {
    return quantile(all->times_s, all->n, frac);
}

/* 0: there are none. */
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

/* How many times the work it takes at a rate of preemption; of a run that is long enough to tell. */
static double slowdown_at(struct tsim_arena *arena, const struct tsim_scenario *sc,
                          const struct tsim_campaign_steps *of, double work_s, double rate_per_h) {
    struct tsim_scenario changed = *sc;
    struct tsim_campaign_job job;
    struct statistics all;
    changed.reliability.preemption_per_s = rate_per_h / SECONDS_PER_HOUR;
    tsim_reliability_job(&changed, of, work_s, &job);
    job.work_s =
        fmin(work_s, BREAKEVEN_INTERRUPTIONS * fmax(tsim_campaign_mtbf_s(&job, TSIM_CAMPAIGN_ANY), of->step_s));
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

static bool compare_with_on_demand(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                   const struct tsim_campaign_steps *of, struct tsim_campaign *c) {
    struct tsim_scenario changed = *sc;
    struct tsim_campaign_job job;
    struct statistics all;
    changed.reliability.preemption_per_s = 0;
    tsim_reliability_job(&changed, of, c->work_s, &job);
    if (!replicate(arena, &job, sc->reliability.replications, NULL, &all))
        return false;
    double paid = (double)(sc->cluster.nodes + sc->reliability.spares) * (double)sc->cluster.accelerators_per_node;
    c->is_spot = true;
    c->on_demand_days = time_quantile(&all, 0.5) / SECONDS_PER_DAY;
    c->on_demand_usd = sc->cost.rent_usd_per_s > 0 ? all.mean_s * paid * sc->cost.rent_usd_per_s : (double)NAN;
    c->breakeven_rate_per_h = breakeven_rate_per_h(arena, sc, of, c->work_s, all.mean_s);
    return true;
}

/* ---- figures ---- */

/* The power of the facility: spares, and what works on nothing, are idle. */
static struct tsim_energy_meter_power
facility_power(const struct tsim_scenario *sc, const struct tsim_campaign_steps *of, const struct tsim_campaign *c) {
    double per_node = (double)sc->cluster.accelerators_per_node, pue = sc->energy.pue;
    double spares = (double)sc->reliability.spares * per_node, n = (double)sc->n_accelerators;
    double idle_w = of->idle_w;
    const struct tsim_evaluation *e = of->evaluation;
    return (struct tsim_energy_meter_power){
        .loaded_w = pue * (c->work_j / c->work_s + spares * idle_w),
        .idle_w = pue * (n + spares) * idle_w,
        .evaluating_w = pue * (e->has ? e->energy_j / e->time_s + spares * idle_w : (n + spares) * idle_w),
        .gone_w = -pue * per_node * idle_w, /* somebody else's */
        .away_w = pue * per_node * idle_w * (sc->reliability.repair_power_frac - 1),
    };
}

static void fill_electricity(const struct tsim_scenario *sc, const struct tsim_campaign_steps *of,
                             const struct statistics *all, struct tsim_campaign *c) {
    static const struct tsim_hourly EVEN;
    struct tsim_energy_meter_power power = facility_power(sc, of, c);
    struct tsim_energy_meter energy = all->price;
    double each = 1 / (double)all->n;
    energy.profile = &EVEN;
    c->loaded_w = power.loaded_w;
    c->idle_w = power.idle_w;
    c->energy_kwh = each * tsim_energy_meter_sum(&energy, &power, 1 / JOULES_PER_KWH);
    c->co2_kg = each * tsim_energy_meter_sum(&all->carbon, &power, sc->energy.carbon_kg_per_j);
    c->electricity_usd = each * tsim_energy_meter_sum(&all->price, &power, sc->energy.price_usd_per_j);
}

static void fill_costs(const struct tsim_scenario *sc, const struct statistics *all, struct tsim_campaign *c) {
    const struct tsim_reliability_spec *r = &sc->reliability;
    double n = (double)sc->n_accelerators, spares = (double)r->spares * (double)sc->cluster.accelerators_per_node;
    double price = tsim_rent_usd_per_s(sc);
    double paid_s = all->mean_s * (n + spares) - all->gone_node_s * (double)sc->cluster.accelerators_per_node;
    c->rent_usd = price > 0 ? paid_s * price : (double)NAN;
    c->purchase_usd = sc->cost.purchase_usd > 0 ? (n + spares) * sc->cost.purchase_usd : (double)NAN;
    c->breakeven_runs = c->purchase_usd / c->rent_usd;
}

/* Times are whole milliseconds: half of one may be missing. */
static double goodput_at(const struct tsim_campaign_job *job, const struct statistics *all, double time_frac) {
    return fmin(1, job->work_s / time_quantile(all, time_frac));
}

static void fill_bins(const struct statistics *all, struct tsim_campaign *c) {
    double from_s = all->times_s[0], width_s = all->times_s[all->n - 1] - from_s;
    c->bin_from_days = from_s / SECONDS_PER_DAY;
    c->bin_to_days = all->times_s[all->n - 1] / SECONDS_PER_DAY;
    memset(c->bins, 0, sizeof c->bins);
    for (int64_t i = 0; i < all->n; i++) {
        double at = width_s > 0 ? (all->times_s[i] - from_s) / width_s * TSIM_CAMPAIGN_BINS : 0;
        c->bins[at < TSIM_CAMPAIGN_BINS ? (int)at : TSIM_CAMPAIGN_BINS - 1]++;
    }
}

static void fill_times(const struct tsim_scenario *sc, const struct tsim_campaign_steps *of,
                       const struct tsim_campaign_job *job, const struct statistics *all, struct tsim_campaign *c) {
    c->has_failures = true;
    c->times_s = all->times_s;
    c->n_times = all->n;
    c->days = time_quantile(all, 0.5) / SECONDS_PER_DAY;
    c->days_p10 = time_quantile(all, 0.1) / SECONDS_PER_DAY;
    c->days_p90 = time_quantile(all, 0.9) / SECONDS_PER_DAY;
    c->mean_days = all->mean_s / SECONDS_PER_DAY;
    c->goodput = goodput_at(job, all, 0.5);
    c->goodput_p10 = goodput_at(job, all, 0.9);
    c->goodput_p90 = goodput_at(job, all, 0.1);
    c->failures_p10 = quantile(all->counts, all->n, 0.1);
    c->failures_p90 = quantile(all->counts, all->n, 0.9);
    fill_bins(all, c);
    c->failures = 0;
    for (int cause = 0; cause < TSIM_N_CAUSES; cause++) {
        c->interruptions[cause] = all->interruptions[cause];
        c->failures += all->interruptions[cause];
    }
    for (int loss = 0; loss < TSIM_N_CAMPAIGN_LOSSES; loss++)
        c->lost_accelerator_h[loss] = all->lost_s[loss] * (double)sc->n_accelerators / SECONDS_PER_HOUR;
    c->mtbf_s = tsim_campaign_mtbf_s(job, TSIM_CAMPAIGN_ANY);
    c->checkpoint_bytes = of->checkpoint_bytes;
    c->checkpoint_interval_s = job->interval_s * job->durable_every;
    c->checkpoint_stall_s = job->stall_s + job->durable_stall_s;
    c->spares = (double)job->spares;
    c->has_local_tier = sc->reliability.local.has;
    c->local_interval_s = job->interval_s;
    c->local_stall_s = job->stall_s;
    c->local_restarts = all->local_restarts;
}

struct recorder {
    struct tsim_campaign_stretch *stretches;
    int32_t n;
};

/* Neighbours that are charged to the same are one. */
static void record(void *context, double begin_s, double end_s, int loss, double amount) {
    (void)amount;
    if (loss == TSIM_CAMPAIGN_AWAY || loss == TSIM_CAMPAIGN_GONE)
        return;
    struct recorder *recorder = context;
    struct tsim_campaign_stretch *last = recorder->n > 0 ? &recorder->stretches[recorder->n - 1] : NULL;
    if (last && last->loss == loss && last->end_s == begin_s)
        last->end_s = end_s;
    else if (end_s > begin_s && recorder->n < TSIM_CAMPAIGN_MOST_STRETCHES)
        recorder->stretches[recorder->n++] = (struct tsim_campaign_stretch){begin_s, end_s, loss};
}

static void fill_stretches(struct tsim_arena *arena, const struct tsim_campaign_job *job, struct tsim_campaign *c) {
    struct recorder recorder = {.stretches =
                                    TSIM_NEW_ARRAY(arena, TSIM_CAMPAIGN_MOST_STRETCHES, struct tsim_campaign_stretch)};
    struct tsim_replication one;
    tsim_campaign_replicate_observed(job, 0, record, &recorder, &one);
    c->stretches = recorder.stretches;
    c->n_stretches = recorder.n;
}

/* The scenario with a number of spares. */
static struct tsim_scenario with_spares(const struct tsim_scenario *sc, const struct tsim_campaign_steps *of,
                                        double work_s) {
    struct tsim_scenario found = *sc;
    struct tsim_campaign_job job;
    if (sc->reliability.spares >= 0)
        return found;
    bool is_fastest = sc->reliability.spares == TSIM_SPARES_FASTEST;
    int64_t n = n_replications(sc);
    tsim_reliability_job(sc, of, work_s, &job);
    found.reliability.spares = tsim_best_spares(&job, n < CHOICE_REPLICATIONS ? n : CHOICE_REPLICATIONS,
                                                is_fastest ? TSIM_SPARES_FOR_TIME : TSIM_SPARES_FOR_NODE_HOURS);
    return found;
}

enum tsim_status tsim_reliability_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                           const struct tsim_campaign_steps *steps, bool records,
                                           struct tsim_campaign *campaign, struct tsim_diags *diags) {
    struct tsim_campaign_job job;
    struct statistics all;
    struct tsim_scenario found = with_spares(scenario, steps, campaign->work_s);
    const struct tsim_scenario *sc = &found;
    tsim_reliability_job(sc, steps, campaign->work_s, &job);
    if (!replicate(arena, &job, n_replications(sc), &sc->energy, &all))
        return fail_to_finish(arena, sc, &job, diags);
    campaign->events = all.events;
    fill_times(sc, steps, &job, &all, campaign);
    if (records)
        fill_stretches(arena, &job, campaign);
    fill_electricity(sc, steps, &all, campaign);
    fill_costs(sc, &all, campaign);
    if (sc->reliability.preemption_per_s > 0 && !compare_with_on_demand(arena, sc, steps, campaign))
        return fail_to_finish(arena, sc, &job, diags);
    return TSIM_OK;
}
