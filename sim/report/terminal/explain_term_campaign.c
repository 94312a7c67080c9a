/* Trees of a whole run with failures: what is a closed form stands as one; what comes out of the replications
 * (campaign/replication.h) is a MODEL with all that goes into them. */
#include "report/terminal/explain_term_build.h"

#include "campaign/reliability.h"
#include "cluster/power.h"
#include "workload/memory.h"
#include "workload/model.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define SECONDS_PER_DAY 86400.0
#define JOULES_PER_KWH 3.6e6

static const struct tsim_campaign *campaign_of(const struct tsim_terms *terms) {
    return &terms->explanation->result->campaign;
}

static const struct tsim_term *scenario_key(struct tsim_terms *terms, const char *key, double value,
                                            enum tsim_dimension dimension) {
    return tsim_term_of_scenario(terms, tsim_arena_printf(terms->arena, "reliability.%s", key), value, dimension);
}

static void job_of(const struct tsim_terms *terms, struct tsim_campaign_job *job) {
    const struct tsim_result *r = terms->explanation->result;
    const struct tsim_campaign_steps steps = {.step_s = r->step.terms.time_s,
                                              .checkpoint_bytes = tsim_checkpoint_bytes(terms->scenario)};
    tsim_reliability_job(terms->scenario, &steps, r->campaign.work_s, job);
}

/* ---- failures ---- */

static const char *cause_key(struct tsim_terms *terms, int cause) {
    bool is_component = cause < TSIM_N_COMPONENTS;
    if (is_component && terms->scenario->reliability.node_mtbf_s > 0)
        return "node_mtbf, over the cause's share";
    if (cause == TSIM_CAUSE_PREEMPTION)
        return "preemption.rate: time between two of a node";
    if (cause == TSIM_CAUSE_STRAGGLER)
        return "stragglers.mtbf";
    return tsim_arena_printf(terms->arena, "components.%s", tsim_campaign_loss_name(cause));
}

/* Failures a second: of units that fail at a constant rate their number over the time between those of one. */
static const struct tsim_term *rate_of(struct tsim_terms *terms, const struct tsim_campaign_job *job, int cause) {
    const struct tsim_failure_process *p = &job->causes[cause];
    bool is_constant = p->shape == 1;
    const char *name = tsim_arena_printf(terms->arena, "%s: failures a second", tsim_campaign_loss_name(cause));
    struct tsim_campaign_job one = {.work_s = job->work_s};
    one.causes[cause] = *p;
    struct tsim_term *term = tsim_term_new(terms, is_constant ? TSIM_TERM_PRODUCT : TSIM_TERM_OUTCOME, name,
                                           is_constant ? "units / time between failures of one"
                                                       : "Weibull, over the run (sim/campaign/replication.h)",
                                           1 / tsim_campaign_mtbf_s(&one, TSIM_CAMPAIGN_ANY), TSIM_FRACTION);
    tsim_term_add(
        terms, term,
        tsim_term_given(terms, "units", p->units, TSIM_FRACTION, "counted in the cluster (sim/campaign/reliability.h)"),
        1);
    tsim_term_add(terms, term, scenario_key(terms, cause_key(terms, cause), p->mtbf_s, TSIM_TIME_S), -1);
    if (!is_constant) {
        tsim_term_add(terms, term, scenario_key(terms, "shape", p->shape, TSIM_FRACTION), 1);
        tsim_term_add(terms, term, scenario_key(terms, "age", p->age_s, TSIM_TIME_S), 1);
    }
    return tsim_term_close(terms, term, NULL);
}

static const struct tsim_term *mtbf(struct tsim_terms *terms, const char *name) {
    struct tsim_campaign_job job;
    job_of(terms, &job);
    struct tsim_term *all =
        tsim_term_new(terms, TSIM_TERM_SUM, "failures a second", "of all causes", (double)NAN, TSIM_FRACTION);
    for (int cause = 0; cause < TSIM_N_CAUSES; cause++)
        if (job.causes[cause].mtbf_s > 0)
            tsim_term_add(terms, all, rate_of(terms, &job, cause), 1);
    if (all->n_parts == 0)
        return NULL;
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_PRODUCT, name, "1 / failures a second", (double)NAN, TSIM_TIME_S);
    tsim_term_add(terms, term, tsim_term_close(terms, all, NULL), -1);
    return tsim_term_close(terms, term, NULL);
}

/* ---- checkpoints ---- */

static const struct tsim_term *checkpoint_bytes(struct tsim_terms *terms, const char *name) {
    const struct tsim_scenario *sc = terms->scenario;
    double n = tsim_model_parameters(sc->model);
    return tsim_term_times(
        terms, name, "parameters x bytes of each", TSIM_BYTES, tsim_term_of_rates(terms, "model.parameters"),
        tsim_term_given(terms, "weight, master weight and optimizer state", tsim_checkpoint_bytes(sc) / n, TSIM_BYTES,
                        "counted for the precision and the optimizer (sim/workload/memory.h)"));
}

static const struct tsim_term *stall(struct tsim_terms *terms, const char *name) {
    const struct tsim_scenario *sc = terms->scenario;
    const struct tsim_reliability_spec *r = &sc->reliability;
    const struct tsim_term *bytes = checkpoint_bytes(terms, "campaign.checkpoint.bytes");
    if (r->local.has) {
        struct tsim_term *term =
            tsim_term_new(terms, TSIM_TERM_OUTCOME, name,
                          "the copy to the hosts, and, in mode sync, the writing (sim/campaign/reliability.h)",
                          campaign_of(terms)->checkpoint_stall_s, TSIM_TIME_S);
        tsim_term_add(terms, term, bytes, 1);
        tsim_term_add(terms, term,
                      scenario_key(terms, "checkpoint.bandwidth", r->checkpoint_bytes_per_s, TSIM_BYTES_PER_S), 1);
        return term;
    }
    if (r->mode == 0)
        return tsim_term_over(terms, name, "bytes / bandwidth of the storage: training waits", TSIM_TIME_S, bytes,
                              scenario_key(terms, "checkpoint.bandwidth", r->checkpoint_bytes_per_s, TSIM_BYTES_PER_S));
    const struct tsim_term *share = tsim_term_over(terms, "an accelerator's share", "bytes / accelerators", TSIM_BYTES,
                                                   bytes, tsim_term_accelerators(terms));
    double rate = share->value / campaign_of(terms)->checkpoint_stall_s, own = sc->cluster.node->host_link_bytes_per_s;
    return tsim_term_over(terms, name, "an accelerator's share / its link to the host", TSIM_TIME_S, share,
                          own > 0 ? tsim_term_of_file(terms, TSIM_CATALOGUE_NODES, "host_link", rate, TSIM_BYTES_PER_S)
                                  : tsim_term_given(terms, "link to the host", rate, TSIM_BYTES_PER_S,
                                                    "PCIe 4.0 x16, where the node's file has none"));
}

static const struct tsim_term *interval(struct tsim_terms *terms, const char *name) {
    const struct tsim_period *p = &terms->scenario->reliability.checkpoint_interval;
    double value_s = campaign_of(terms)->checkpoint_interval_s;
    if (isinf(value_s))
        return NULL;
    bool is_optimal = p->kind == TSIM_PERIOD_OPTIMAL;
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_OUTCOME, name,
                      is_optimal ? "Daly's optimum, a whole number of steps (sim/campaign/replication.h)"
                                 : "as given, a whole number of steps that the writing allows",
                      value_s, TSIM_TIME_S);
    if (!is_optimal)
        tsim_term_add(terms, term,
                      scenario_key(terms, "checkpoint.interval", p->value,
                                   p->kind == TSIM_PERIOD_STEPS ? TSIM_COUNT : TSIM_TIME_S),
                      1);
    tsim_term_add(terms, term, stall(terms, "campaign.checkpoint.stall_s"), 1);
    const struct tsim_term *between = mtbf(terms, "campaign.mtbf_s");
    if (between)
        tsim_term_add(terms, term, between, 1);
    tsim_term_add(terms, term, tsim_term_of_step(terms, "step.time_s"), 1);
    return term;
}

static const struct tsim_term *spares(struct tsim_terms *terms, const char *name) {
    const struct tsim_reliability_spec *r = &terms->scenario->reliability;
    double found = campaign_of(terms)->spares;
    if (r->spares >= 0)
        return tsim_term_of_scenario(terms, name, found, TSIM_COUNT);
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_OUTCOME, name,
                                           "found for reliability.spares (sim/campaign/spares.h)", found, TSIM_COUNT);
    const struct tsim_term *between = mtbf(terms, "campaign.mtbf_s");
    if (between)
        tsim_term_add(terms, term, between, 1);
    tsim_term_add(terms, term, scenario_key(terms, "repair", r->repair_s, TSIM_TIME_S), 1);
    return term;
}

/* ---- replications ---- */

static void add_inputs(struct tsim_terms *terms, struct tsim_term *term) {
    const struct tsim_reliability_spec *r = &terms->scenario->reliability;
    const struct {
        const char *key;
        double value;
        enum tsim_dimension dimension;
    } KEYS[] = {{"detection", r->detection_s, TSIM_TIME_S},
                {"restart", r->restart_s, TSIM_TIME_S},
                {"warmup", r->warmup_s, TSIM_TIME_S},
                {"repair", r->repair_s, TSIM_TIME_S},
                {"replications", (double)r->replications, TSIM_COUNT}};
    tsim_term_add(terms, term, tsim_term_run_work(terms), 1);
    const struct tsim_term *between = mtbf(terms, "campaign.mtbf_s"),
                           *saved = interval(terms, "campaign.checkpoint.interval_s");
    if (between)
        tsim_term_add(terms, term, between, 1);
    if (saved)
        tsim_term_add(terms, term, saved, 1);
    tsim_term_add(terms, term, spares(terms, "campaign.spares"), 1);
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++)
        tsim_term_add(terms, term, scenario_key(terms, KEYS[i].key, KEYS[i].value, KEYS[i].dimension), 1);
    tsim_term_add(terms, term,
                  tsim_term_of_scenario(terms, "simulation.seed", (double)terms->scenario->simulation.seed, TSIM_COUNT),
                  1);
}

static const struct tsim_term *drawn(struct tsim_terms *terms, const char *name, double value,
                                     enum tsim_dimension dimension) {
    if (isnan(value) || isinf(value))
        return NULL;
    bool has = terms->scenario->reliability.has;
    struct tsim_term *term = tsim_term_new(
        terms, TSIM_TERM_OUTCOME, name,
        has ? tsim_arena_printf(terms->arena, "Monte Carlo, %lld replications (sim/campaign/replication.h)",
                                (long long)terms->scenario->reliability.replications)
            : "the run with its pauses (sim/campaign/replication.h)",
        value, dimension);
    if (has)
        add_inputs(terms, term);
    else
        tsim_term_add(terms, term, tsim_term_run_work(terms), 1);
    return term;
}

/* "campaign.interruptions.hbm": its cause; -1: none. */
static int cause_of(const char *name) {
    const char *last = strrchr(name, '.') + 1;
    for (int i = 0; i < TSIM_N_CAMPAIGN_LOSSES; i++)
        if (strcmp(tsim_campaign_loss_name(i), last) == 0)
            return i;
    TSIM_BUG("no cause '%s'", name);
}

/* ---- power ---- */

static const struct tsim_term *mean_power(struct tsim_terms *terms, const char *name) {
    const struct tsim_campaign *c = campaign_of(terms);
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_PRODUCT, name, "energy / mean time", (double)NAN, TSIM_WATTS);
    tsim_term_add(terms, term, drawn(terms, "campaign.energy_kwh", c->energy_kwh, TSIM_FRACTION), 1);
    tsim_term_add(terms, term, tsim_term_given(terms, "a kWh", JOULES_PER_KWH, TSIM_JOULES, "definition"), 1);
    tsim_term_add(terms, term, drawn(terms, "campaign.mean_days", c->mean_days, TSIM_FRACTION), -1);
    tsim_term_add(terms, term, tsim_term_given(terms, "a day", SECONDS_PER_DAY, TSIM_TIME_S, "definition"), -1);
    return tsim_term_close(terms, term, NULL);
}

static const struct tsim_term *idle_power(struct tsim_terms *terms) {
    const struct tsim_node *node = terms->scenario->cluster.node;
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_OUTCOME, "an accelerator at rest",
                      "its idle power, with its part of the node and its ports (sim/cluster/power.h)",
                      tsim_power_step_energy_j(terms->cluster, 1, 0, 0, 0), TSIM_WATTS);
    tsim_term_add(terms, term,
                  tsim_term_of_file(terms, TSIM_CATALOGUE_ACCELERATORS, "power.idle", node->accelerator->power_idle_w,
                                    TSIM_WATTS),
                  1);
    tsim_term_add(
        terms, term,
        tsim_term_of_file(terms, TSIM_CATALOGUE_NODES, "power.overhead_idle", node->power_overhead_idle_w, TSIM_WATTS),
        1);
    tsim_term_add_port_power(terms, term);
    return term;
}

/* Of the facility: PUE x (what the machine draws + what the spares do at rest). */
static const struct tsim_term *facility_power(struct tsim_terms *terms, const char *name, bool is_loaded) {
    const struct tsim_campaign *c = campaign_of(terms);
    double pue = terms->scenario->energy.pue;
    double standing_by = c->spares * (double)terms->scenario->cluster.accelerators_per_node;
    struct tsim_term *all =
        tsim_term_new(terms, TSIM_TERM_SUM, "at the wall of the nodes",
                      is_loaded ? "training, and the spares at rest" : "all at rest, and the spares",
                      (is_loaded ? c->loaded_w : c->idle_w) / pue, TSIM_WATTS);
    if (is_loaded)
        tsim_term_add(terms, all, tsim_term_of_rates(terms, "energy.mean_power_w"), 1);
    else
        tsim_term_add(terms, all,
                      tsim_term_times(terms, "all accelerators at rest", "accelerators x one", TSIM_WATTS,
                                      tsim_term_accelerators(terms), idle_power(terms)),
                      1);
    if (standing_by > 0)
        tsim_term_add(terms, all,
                      tsim_term_times(terms, "spares at rest", "accelerators that stand by x one", TSIM_WATTS,
                                      tsim_term_given(terms, "accelerators that stand by", standing_by, TSIM_COUNT,
                                                      "spares x accelerators of a node"),
                                      idle_power(terms)),
                      1);
    return tsim_term_times(terms, name, "PUE x what the nodes draw", TSIM_WATTS,
                           tsim_term_of_scenario(terms, "energy.pue", pue, TSIM_FRACTION),
                           tsim_term_close(terms, all, is_loaded ? "steps while the batch grows" : NULL));
}

/* ---- by name ---- */

static const struct figure {
    const char *name;
    size_t at;
    enum tsim_dimension dimension;
    bool is_of_spot, is_of_local;
} DRAWN[] = {
    {"mean_days", offsetof(struct tsim_campaign, mean_days), TSIM_FRACTION},
    {"goodput", offsetof(struct tsim_campaign, goodput), TSIM_FRACTION},
    {"failures", offsetof(struct tsim_campaign, failures), TSIM_FRACTION},
    {"days_p10", offsetof(struct tsim_campaign, days_p10), TSIM_FRACTION},
    {"days_p90", offsetof(struct tsim_campaign, days_p90), TSIM_FRACTION},
    {"goodput_p10", offsetof(struct tsim_campaign, goodput_p10), TSIM_FRACTION},
    {"goodput_p90", offsetof(struct tsim_campaign, goodput_p90), TSIM_FRACTION},
    {"failures_p10", offsetof(struct tsim_campaign, failures_p10), TSIM_FRACTION},
    {"failures_p90", offsetof(struct tsim_campaign, failures_p90), TSIM_FRACTION},
    {"distribution.from_days", offsetof(struct tsim_campaign, bin_from_days), TSIM_FRACTION},
    {"distribution.to_days", offsetof(struct tsim_campaign, bin_to_days), TSIM_FRACTION},
    {"spot.on_demand_days", offsetof(struct tsim_campaign, on_demand_days), TSIM_FRACTION, .is_of_spot = true},
    {"spot.on_demand_usd", offsetof(struct tsim_campaign, on_demand_usd), TSIM_USD, .is_of_spot = true},
    {"spot.breakeven_rate_per_h", offsetof(struct tsim_campaign, breakeven_rate_per_h), TSIM_FRACTION,
     .is_of_spot = true},
    {"checkpoint.local.interval_s", offsetof(struct tsim_campaign, local_interval_s), TSIM_TIME_S, .is_of_local = true},
    {"checkpoint.local.stall_s", offsetof(struct tsim_campaign, local_stall_s), TSIM_TIME_S, .is_of_local = true},
    {"checkpoint.local.restarts", offsetof(struct tsim_campaign, local_restarts), TSIM_FRACTION, .is_of_local = true},
};

static const struct tsim_term *drawn_by_name(struct tsim_terms *terms, const char *name, const char *key) {
    const struct tsim_campaign *c = campaign_of(terms);
    for (size_t i = 0; i < sizeof DRAWN / sizeof DRAWN[0]; i++) {
        const struct figure *f = &DRAWN[i];
        if (strcmp(f->name, key) != 0)
            continue;
        if ((f->is_of_spot && !c->is_spot) || (f->is_of_local && !c->has_local_tier))
            return NULL;
        return drawn(terms, name, *(const double *)(const void *)((const char *)c + f->at), f->dimension);
    }
    return NULL;
}

const struct tsim_term *tsim_term_of_failures(struct tsim_terms *terms, const char *name) {
    static const struct {
        const char *key;
        const struct tsim_term *(*build)(struct tsim_terms *terms, const char *name);
    } FORMS[] = {{"mtbf_s", mtbf},
                 {"spares", spares},
                 {"checkpoint_interval_s", interval},
                 {"checkpoint.interval_s", interval},
                 {"checkpoint.stall_s", stall},
                 {"checkpoint.bytes", checkpoint_bytes},
                 {"power.mean_w", mean_power}};
    const struct tsim_campaign *c = campaign_of(terms);
    const char *key = name + strlen("campaign.");
    if (!c->has_failures)
        return NULL;
    for (size_t i = 0; i < sizeof FORMS / sizeof FORMS[0]; i++)
        if (strcmp(FORMS[i].key, key) == 0)
            return FORMS[i].build(terms, name);
    if (strncmp(key, "power.", strlen("power.")) == 0)
        return facility_power(terms, name, strcmp(key, "power.loaded_w") == 0);
    if (strncmp(key, "interruptions.", strlen("interruptions.")) == 0)
        return drawn(terms, name, c->interruptions[cause_of(name)], TSIM_FRACTION);
    if (strncmp(key, "lost_accelerator_hours.", strlen("lost_accelerator_hours.")) == 0)
        return drawn(terms, name, c->lost_accelerator_h[cause_of(name)], TSIM_FRACTION);
    return drawn_by_name(terms, name, key);
}
