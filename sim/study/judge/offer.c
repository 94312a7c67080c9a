#include "study/judge/offer.h"

#include "base/quantile.h"
#include "campaign/ownership.h"
#include "results/format.h"
#include "study/judge/forecast.h"
#include "study/judge/uncertainty.h"
#include "study/search/buy_judgements.h"

#include <math.h>
#include <string.h>

static const double MOST_CHANCES[] = {[TSIM_GROUNDS_MEASURED] = TSIM_MOST_CHANCE_MEASURED,
                                      [TSIM_GROUNDS_SIMILAR] = TSIM_MOST_CHANCE_SIMILAR,
                                      [TSIM_GROUNDS_ESTIMATE] = TSIM_MOST_CHANCE_ESTIMATE};

const char *const TSIM_PURCHASE_WORDS[TSIM_N_PURCHASES] = {"rent", "reserve", "buy"};
const char *const TSIM_GROUNDS_WORDS[] = {"measured", "similar", "estimate"};
const char *const TSIM_DECISION_OBJECTIVES[TSIM_N_DECISION_OBJECTIVES] = {"chance", "cost", "days", "energy"};
const struct tsim_changes TSIM_NO_CHANGES = {1, 1, 1, 1, 1, NULL, 0};

const struct tsim_scenario *tsim_offer_job(const struct tsim_offer *offer) {
    return offer->plan->candidate->job;
}

double tsim_offer_figure(const struct tsim_offer *offer, enum tsim_outcome_figure which) {
    return offer->plan->point.outcome.value[which];
}

static double or_nothing(double value) {
    return isnan(value) ? 0 : value;
}

/* Returns the mean of the days; without failures, the days themselves. */
static double mean_days(const struct tsim_offer *offer) {
    double days = tsim_offer_figure(offer, TSIM_OUTCOME_MEAN_DAYS);
    return isnan(days) ? tsim_offer_figure(offer, TSIM_OUTCOME_DAYS) : days;
}

const char *tsim_offer_cluster(struct tsim_arena *arena, const struct tsim_offer *offer) {
    const struct tsim_cluster_spec *cluster = &tsim_offer_job(offer)->cluster;
    char count[96];
    return tsim_arena_printf(arena, "%s x %s%s%s", tsim_count_text((double)cluster->nodes, count, sizeof count),
                             cluster->node->name, cluster->nodes > 1 && cluster->fabric ? ", " : "",
                             cluster->nodes > 1 && cluster->fabric ? cluster->fabric->name : "");
}

/* ---- one distribution ---- */

static bool is_same_machine(const struct tsim_offer *a, const struct tsim_offer *b) {
    return strcmp(tsim_offer_job(a)->cluster.node->accelerator->name,
                  tsim_offer_job(b)->cluster.node->accelerator->name) == 0;
}

/* Returns the factor by which a run takes longer, of which failures cost the share `frac`, if they are `times` as
 * frequent: each costs the same time, and the longer run meets more of them. Infinite if nothing but failures is
 * left. */
static double stretch(double frac, double times) {
    return frac * times < 1 ? (1 - frac) / (1 - frac * times) : (double)INFINITY;
}

static double failing_frac_at(const struct tsim_offer *offer, int i) {
    return offer->failing_frac_at ? offer->failing_frac_at->at[i] : offer->failing_frac;
}

static double days_under(const struct tsim_offer *offer, const struct tsim_changes *changes, int i) {
    double slip = changes->slipping && is_same_machine(offer, changes->slipping) ? changes->slip : 1;
    return slip * offer->plan->days_at.at[i] * stretch(failing_frac_at(offer, i), changes->failures);
}

static double cost_under(const struct tsim_offer *offer, const struct tsim_changes *changes, double days, double price,
                         double electricity) {
    /* The price of machines scales the part of a purchase that is machines. */
    double bought = 1 + (changes->purchase - 1) * offer->machines_frac;
    return price *
               (bought * offer->asked_usd + changes->rent * offer->asked_usd_per_day * fmax(days, offer->least_days)) +
           offer->usd +
           days * (bought * offer->usd_per_day + electricity * changes->power_price * offer->power_usd_per_day);
}

double tsim_most_chance(enum tsim_grounds evidence) {
    return MOST_CHANCES[evidence];
}

double tsim_chance_shown(double chance, enum tsim_grounds evidence) {
    return fmin(MOST_CHANCES[evidence], floor(TSIM_CHANCE_STEPS * chance + TSIM_ROUNDING_FRAC) / TSIM_CHANCE_STEPS);
}

const char *tsim_chance_text(struct tsim_arena *arena, double chance) {
    return TSIM_CHANCE_STEPS * chance < 1 ? tsim_arena_printf(arena, "under %.0f %%", 100.0 / TSIM_CHANCE_STEPS)
                                          : tsim_arena_printf(arena, "%.0f %%", 100 * chance);
}

void tsim_offer_evaluate(struct tsim_offer *offer, const struct tsim_changes *changes) {
    const struct tsim_scenario *job = tsim_offer_job(offer);
    const struct tsim_goal_spec *goal = &job->goal;
    const struct tsim_percentiles *of_run = &offer->plan->days;
    double costs[TSIM_DISTRIBUTION_POINTS * TSIM_PRICE_POINTS], sum = 0;
    double deadline_days = goal->deadline_s > 0 ? goal->deadline_s / TSIM_DAY_S : (double)INFINITY;
    double budget_usd = goal->budget_usd > 0 ? goal->budget_usd : (double)INFINITY;
    double delay = offer->delivery_days + (offer->purchase == TSIM_PURCHASE_BUY ? changes->delay_days : 0);
    struct tsim_price_cases prices;
    int n_time = 0, n_budget = 0, n_both = 0;
    size_t n = 0;
    tsim_price_cases_of(job, &prices);
    for (int i = 0; i < TSIM_DISTRIBUTION_POINTS; i++) {
        double days = days_under(offer, changes, i);
        bool is_reached = i + 0.5 < TSIM_DISTRIBUTION_POINTS * (1 - offer->plan->missed_frac);
        for (int j = 0; j < TSIM_PRICE_POINTS; j++) {
            double usd =
                cost_under(offer, changes, days, prices.asked[j], prices.electricity[tsim_electricity_case(j, i)]);
            bool in_time = is_reached && days + delay <= deadline_days, in_budget = is_reached && usd <= budget_usd;
            costs[n++] = usd;
            sum += usd;
            n_time += in_time;
            n_budget += in_budget;
            n_both += in_time && in_budget;
        }
    }
    offer->mean_usd = sum / (double)n;
    offer->chance_of_both = tsim_chance_shown(n_both / (double)n, offer->evidence);
    offer->chance_in_time = goal->deadline_s > 0 ? tsim_chance_shown(n_time / (double)n, offer->evidence) : (double)NAN;
    offer->chance_in_budget =
        goal->budget_usd > 0 ? tsim_chance_shown(n_budget / (double)n, offer->evidence) : (double)NAN;
    if (changes != &TSIM_NO_CHANGES)
        return;
    tsim_sort_ascending(costs, n);
    double each_kwh = tsim_offer_figure(offer, TSIM_OUTCOME_ENERGY_KWH) / mean_days(offer);
    offer->cost_usd = tsim_points_percentiles(costs, n);
    offer->days = (struct tsim_percentiles){of_run->p10 + delay, of_run->p50 + delay, of_run->p90 + delay};
    offer->energy_kwh =
        (struct tsim_percentiles){of_run->p10 * each_kwh, of_run->p50 * each_kwh, of_run->p90 * each_kwh};
}

double tsim_offer_miss_ratio(const struct tsim_goal_spec *goal, const struct tsim_offer *offer) {
    double late = goal->deadline_s > 0 ? offer->days.p50 * TSIM_DAY_S / goal->deadline_s : 1;
    double dear = goal->budget_usd > 0 ? offer->cost_usd.p50 / goal->budget_usd : 1;
    return fmax(1, fmax(late, dear));
}

bool tsim_offer_is_better(const struct tsim_goal_spec *goal, enum tsim_decision_objective objective,
                          const struct tsim_offer *a, const struct tsim_offer *b) {
    bool a_makes_it = a->chance_of_both >= TSIM_CHANCE_LIKELY, b_makes_it = b->chance_of_both >= TSIM_CHANCE_LIKELY;
    double x = a->mean_usd, y = b->mean_usd;
    if (objective != TSIM_DECIDE_BY_CHANCE && a_makes_it != b_makes_it)
        return a_makes_it;
    if ((objective == TSIM_DECIDE_BY_CHANCE || !a_makes_it) && a->chance_of_both != b->chance_of_both)
        return a->chance_of_both > b->chance_of_both;
    if (!a_makes_it && !b_makes_it && tsim_offer_miss_ratio(goal, a) != tsim_offer_miss_ratio(goal, b))
        return tsim_offer_miss_ratio(goal, a) < tsim_offer_miss_ratio(goal, b);
    if (objective == TSIM_DECIDE_BY_DAYS)
        x = a->days.p50, y = b->days.p50;
    if (objective == TSIM_DECIDE_BY_ENERGY)
        x = a->energy_kwh.p50, y = b->energy_kwh.p50;
    if (x != y)
        return x < y;
    return a->mean_usd < b->mean_usd;
}

/* ---- offers of a plan ---- */

double tsim_offer_nodes(const struct tsim_offer *offer) {
    return (double)tsim_offer_job(offer)->cluster.nodes + or_nothing(tsim_offer_figure(offer, TSIM_OUTCOME_SPARES));
}

static struct tsim_capital capital_of(const struct tsim_offer *offer) {
    const struct tsim_scenario *job = tsim_offer_job(offer);
    const struct tsim_cost_spec *c = &job->cost;
    struct tsim_amount accelerators = {.value = tsim_offer_nodes(offer) * (double)job->cluster.accelerators_per_node};
    double usd = accelerators.value * c->purchase_usd;
    double drawn_w = tsim_offer_figure(offer, TSIM_OUTCOME_LOADED_POWER) / job->energy.pue;
    struct tsim_capital capital = {.nodes_usd = usd * (1 + c->host_frac),
                                   .network_usd = usd * c->network_frac,
                                   .storage_usd = usd * c->storage_frac};
    if (usd > 0)
        capital.facility_usd =
            tsim_facility_usd(NULL, job, accelerators, (struct tsim_amount){.value = or_nothing(drawn_w)}).value;
    capital.usd = capital.nodes_usd + capital.network_usd + capital.storage_usd + capital.facility_usd;
    return capital;
}

static enum tsim_grounds evidence_of(const struct tsim_plan *plan) {
    if (plan->n_own_runs >= TSIM_FEW_RUNS && plan->n_similar_runs > 0)
        return TSIM_GROUNDS_MEASURED;
    return plan->n_own_runs > 0 || plan->n_similar_runs > 0 ? TSIM_GROUNDS_SIMILAR : TSIM_GROUNDS_ESTIMATE;
}

static double failing_frac(const struct tsim_offer *offer) {
    double goodput = tsim_offer_figure(offer, TSIM_OUTCOME_GOODPUT);
    return isnan(goodput) ? 0 : fmax(0, 1 - goodput);
}

double tsim_reserved_usd_per_s(const struct tsim_scenario *job) {
    return job->cost.reserved_usd_per_s > 0 ? job->cost.reserved_usd_per_s
                                            : job->cluster.node->accelerator->reserved_usd_per_s;
}

/* Returns whether the network has a price of its own, and not a part of the machines'. */
static bool has_priced_network(const struct tsim_scenario *job) {
    return job->cluster.nodes > 1 && job->cluster.fabric && job->cluster.fabric->switch_usd > 0;
}

/* Fills in the offer's price; returns false if it has none. */
static bool price(struct tsim_offer *offer) {
    const struct tsim_scenario *job = tsim_offer_job(offer);
    const struct tsim_cost_spec *c = &job->cost;
    double accelerators = tsim_offer_nodes(offer) * (double)job->cluster.accelerators_per_node;
    switch (offer->purchase) {
    case TSIM_PURCHASE_RENT:
        offer->asked_usd_per_day = tsim_offer_figure(offer, TSIM_OUTCOME_RENT) / mean_days(offer);
        return offer->asked_usd_per_day > 0;
    case TSIM_PURCHASE_RESERVE:
        offer->asked_usd_per_day = accelerators * tsim_reserved_usd_per_s(job) * TSIM_DAY_S;
        offer->least_days = c->commitment_s / TSIM_DAY_S;
        return offer->asked_usd_per_day > 0;
    case TSIM_PURCHASE_BUY:
        offer->usd = offer->capital.facility_usd;
        offer->asked_usd = offer->capital.usd - offer->usd;
        offer->machines_frac = 1 - (has_priced_network(job) ? offer->capital.network_usd / offer->asked_usd : 0);
        offer->usd_per_day = offer->asked_usd * c->maintenance_frac * TSIM_DAY_S / TSIM_YEAR_S;
        offer->power_usd_per_day = tsim_offer_figure(offer, TSIM_OUTCOME_ELECTRICITY) / mean_days(offer);
        offer->delivery_days = c->delivery_s / TSIM_DAY_S;
        return offer->asked_usd > 0;
    case TSIM_N_PURCHASES:
        break;
    }
    return false;
}

bool tsim_offer_make(const struct tsim_plan *plan, enum tsim_purchase purchase, struct tsim_offer *offer) {
    *offer = (struct tsim_offer){.plan = plan, .purchase = purchase};
    offer->capital = capital_of(offer);
    offer->failing_frac = failing_frac(offer);
    offer->evidence = evidence_of(plan);
    if (isnan(plan->days.p50) || !price(offer))
        return false;
    tsim_offer_evaluate(offer, &TSIM_NO_CHANGES);
    return true;
}

/* ---- of which others ask ---- */

bool tsim_offers_share_node(const struct tsim_offer *a, const struct tsim_offer *b) {
    return strcmp(tsim_offer_job(a)->cluster.node->name, tsim_offer_job(b)->cluster.node->name) == 0;
}

bool tsim_offer_is_bound(const struct tsim_offer *offer) {
    return offer->plan->knowledge != TSIM_PLAN_SIMULATED;
}

const struct tsim_percentiles *tsim_offer_range(const struct tsim_offer *offer, enum tsim_limit_kind which) {
    return which == TSIM_LIMIT_DAYS ? &offer->days : &offer->cost_usd;
}

double tsim_goal_limit(const struct tsim_goal_spec *goal, enum tsim_limit_kind which) {
    double limit = which == TSIM_LIMIT_DAYS ? goal->deadline_s / TSIM_DAY_S : goal->budget_usd;
    return limit > 0 ? limit : (double)INFINITY;
}
