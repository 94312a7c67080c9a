#include "study/judge/decision.h"

#include "base/quantile.h"
#include "base/stop.h"
#include "config/catalogue_load.h"
#include "model/executed.h"
#include "model/model.h"
#include "results/format.h"
#include "run/run.h"
#include "study/interrupt.h"
#include "study/judge/forecast.h"
#include "study/judge/uncertainty.h"
#include "study/search/buy_judgements.h"

#include <math.h>
#include <string.h>

enum {
    MOST_REFINED = 3,
    MOST_MACHINES = 4, /* that are shown beside the choice's */
    MOST_SIZES = 64,
    MOST_FLIPS = 8,
    MOST_MISSES = 4,
    SCAN_STEPS = 24,
    HALVINGS = 12
};

#define LEAST_FLIP_FRAC 0.01 /* a break-even that moves by less has been found */
#define MOST_TOKENS 1e17     /* the most that goal.tokens may be */

static const double MOST_CHANCES[] = {[TSIM_GROUNDS_MEASURED] = TSIM_MOST_CHANCE_MEASURED,
                                      [TSIM_GROUNDS_SIMILAR] = TSIM_MOST_CHANCE_SIMILAR,
                                      [TSIM_GROUNDS_ESTIMATE] = TSIM_MOST_CHANCE_ESTIMATE};

const char *const TSIM_PURCHASE_WORDS[TSIM_N_PURCHASES] = {"rent", "reserve", "buy"};
const char *const TSIM_GROUNDS_WORDS[] = {"measured", "partial", "estimate"};
const char *const TSIM_DECISION_OBJECTIVES[TSIM_N_DECISION_OBJECTIVES] = {"chance", "cost", "days", "energy"};
const struct tsim_changes TSIM_NO_CHANGES = {1, 1, 1, 1, 1, NULL, 0};

static const struct tsim_scenario *job_of(const struct tsim_offer *offer) {
    return offer->plan->candidate->job;
}

static double figure(const struct tsim_offer *offer, enum tsim_outcome_figure which) {
    return offer->plan->point.outcome.value[which];
}

static double or_nothing(double value) {
    return isnan(value) ? 0 : value;
}

/* Returns the mean of the days; without failures, the days themselves. */
static double mean_days(const struct tsim_offer *offer) {
    double days = figure(offer, TSIM_OUTCOME_MEAN_DAYS);
    return isnan(days) ? figure(offer, TSIM_OUTCOME_DAYS) : days;
}

const char *tsim_offer_cluster(struct tsim_arena *arena, const struct tsim_offer *offer) {
    const struct tsim_cluster_spec *cluster = &job_of(offer)->cluster;
    char count[96];
    return tsim_arena_printf(arena, "%s x %s%s%s", tsim_count_text((double)cluster->nodes, count, sizeof count),
                             cluster->node->name, cluster->nodes > 1 && cluster->fabric ? ", " : "",
                             cluster->nodes > 1 && cluster->fabric ? cluster->fabric->name : "");
}

/* ---- one distribution ---- */

static bool is_same_machine(const struct tsim_offer *a, const struct tsim_offer *b) {
    return strcmp(job_of(a)->cluster.node->accelerator->name, job_of(b)->cluster.node->accelerator->name) == 0;
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
    return fmin(MOST_CHANCES[evidence], TSIM_CHANCE_STEP * floor(chance / TSIM_CHANCE_STEP + TSIM_ROUNDING_FRAC));
}

const char *tsim_chance_text(struct tsim_arena *arena, double chance) {
    return chance < TSIM_CHANCE_STEP ? tsim_arena_printf(arena, "under %.0f %%", 100 * TSIM_CHANCE_STEP)
                                     : tsim_arena_printf(arena, "%.0f %%", 100 * chance);
}

void tsim_offer_evaluate(struct tsim_offer *offer, const struct tsim_changes *changes) {
    const struct tsim_scenario *job = job_of(offer);
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
    double each_kwh = figure(offer, TSIM_OUTCOME_ENERGY_KWH) / mean_days(offer);
    offer->cost_usd = tsim_points_percentiles(costs, n);
    offer->days = (struct tsim_percentiles){of_run->p10 + delay, of_run->p50 + delay, of_run->p90 + delay};
    offer->energy_kwh =
        (struct tsim_percentiles){of_run->p10 * each_kwh, of_run->p50 * each_kwh, of_run->p90 * each_kwh};
}

/* Returns the ratio of the middle case to the limit that it misses by most; 1 if it misses neither. */
static double miss_ratio(const struct tsim_goal_spec *goal, const struct tsim_offer *offer) {
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
    if (!a_makes_it && !b_makes_it && miss_ratio(goal, a) != miss_ratio(goal, b))
        return miss_ratio(goal, a) < miss_ratio(goal, b);
    if (objective == TSIM_DECIDE_BY_DAYS)
        x = a->days.p50, y = b->days.p50;
    if (objective == TSIM_DECIDE_BY_ENERGY)
        x = a->energy_kwh.p50, y = b->energy_kwh.p50;
    if (x != y)
        return x < y;
    return a->mean_usd < b->mean_usd;
}

/* ---- offers of a plan ---- */

static double nodes_with_spares(const struct tsim_offer *offer) {
    return (double)job_of(offer)->cluster.nodes + or_nothing(figure(offer, TSIM_OUTCOME_SPARES));
}

static struct tsim_capital capital_of(const struct tsim_offer *offer) {
    const struct tsim_scenario *job = job_of(offer);
    const struct tsim_cost_spec *c = &job->cost;
    const struct tsim_node *node = job->cluster.node;
    double nodes = nodes_with_spares(offer);
    double usd = nodes * (double)job->cluster.accelerators_per_node * c->purchase_usd;
    double kw = (node->power_limit_w > 0 ? nodes * node->power_limit_w
                                         : figure(offer, TSIM_OUTCOME_LOADED_POWER) / job->energy.pue) /
                1e3;
    struct tsim_capital capital = {.nodes_usd = usd * (1 + c->host_frac),
                                   .network_usd = usd * c->network_frac,
                                   .storage_usd = usd * c->storage_frac};
    capital.facility_usd =
        usd > 0 ? or_nothing(kw) * c->facility_usd_per_kw * fmin(1, c->lifetime_s / c->facility_lifetime_s) : 0;
    capital.usd = capital.nodes_usd + capital.network_usd + capital.storage_usd + capital.facility_usd;
    return capital;
}

static enum tsim_grounds evidence_of(const struct tsim_plan *plan) {
    if (plan->n_own_runs >= TSIM_FEW_RUNS && plan->n_similar_runs > 0)
        return TSIM_GROUNDS_MEASURED;
    return plan->n_own_runs > 0 || plan->n_similar_runs > 0 ? TSIM_GROUNDS_SIMILAR : TSIM_GROUNDS_ESTIMATE;
}

static double failing_frac(const struct tsim_offer *offer) {
    double goodput = figure(offer, TSIM_OUTCOME_GOODPUT);
    return isnan(goodput) ? 0 : fmax(0, 1 - goodput);
}

static double reserved_usd_per_s(const struct tsim_scenario *job) {
    return job->cost.reserved_usd_per_s > 0 ? job->cost.reserved_usd_per_s
                                            : job->cluster.node->accelerator->reserved_usd_per_s;
}

/* Returns whether the network has a price of its own, and not a part of the machines'. */
static bool has_priced_network(const struct tsim_scenario *job) {
    return job->cluster.nodes > 1 && job->cluster.fabric && job->cluster.fabric->switch_usd > 0;
}

/* Fills in the offer's price; returns false if it has none. */
static bool price(struct tsim_offer *offer) {
    const struct tsim_scenario *job = job_of(offer);
    const struct tsim_cost_spec *c = &job->cost;
    double accelerators = nodes_with_spares(offer) * (double)job->cluster.accelerators_per_node;
    switch (offer->purchase) {
    case TSIM_PURCHASE_RENT:
        offer->asked_usd_per_day = figure(offer, TSIM_OUTCOME_RENT) / mean_days(offer);
        return offer->asked_usd_per_day > 0;
    case TSIM_PURCHASE_RESERVE:
        offer->asked_usd_per_day = accelerators * reserved_usd_per_s(job) * TSIM_DAY_S;
        offer->least_days = c->commitment_s / TSIM_DAY_S;
        return offer->asked_usd_per_day > 0;
    case TSIM_PURCHASE_BUY:
        offer->usd = offer->capital.facility_usd;
        offer->asked_usd = offer->capital.usd - offer->usd;
        offer->machines_frac = 1 - (has_priced_network(job) ? offer->capital.network_usd / offer->asked_usd : 0);
        offer->usd_per_day = offer->asked_usd * c->maintenance_frac * TSIM_DAY_S / TSIM_YEAR_S;
        offer->power_usd_per_day = figure(offer, TSIM_OUTCOME_ELECTRICITY) / mean_days(offer);
        offer->delivery_days = c->delivery_s / TSIM_DAY_S;
        return offer->asked_usd > 0;
    case TSIM_N_PURCHASES:
        break;
    }
    return false;
}

/* Makes an offer of a plan; returns false if the plan's days or its price are not known. */
static bool make_offer(const struct tsim_plan *plan, enum tsim_purchase purchase, struct tsim_offer *offer) {
    *offer = (struct tsim_offer){.plan = plan, .purchase = purchase};
    offer->capital = capital_of(offer);
    offer->failing_frac = failing_frac(offer);
    offer->evidence = evidence_of(plan);
    if (isnan(plan->days.p50) || !price(offer))
        return false;
    tsim_offer_evaluate(offer, &TSIM_NO_CHANGES);
    return true;
}

static void add_offers(struct tsim_decision *decision, const struct tsim_plan *plan) {
    for (int purchase = 0; purchase < TSIM_N_PURCHASES; purchase++)
        decision->n_offers += make_offer(plan, (enum tsim_purchase)purchase, &decision->offers[decision->n_offers]);
}

static void rank(struct tsim_decision *decision, enum tsim_decision_objective objective) {
    for (size_t i = 1; i < decision->n_offers; i++) { /* stable: among equals the earlier stays first */
        struct tsim_offer offer = decision->offers[i];
        size_t at = i;
        for (; at > 0 && tsim_offer_is_better(&decision->job->goal, objective, &offer, &decision->offers[at - 1]); at--)
            decision->offers[at] = decision->offers[at - 1];
        decision->offers[at] = offer;
    }
}

/* ---- the search ---- */

struct deciding {
    struct tsim_arena *arena;
    const struct tsim_decision_search *search;
    struct tsim_override *overrides; /* with the goal's length */
    size_t n_overrides;
    bool is_screened;                    /* the search plays passes, for which nobody has asked */
    bool heeds;                          /* an interrupt ends what completes the decision */
    const struct tsim_plan_space *space; /* that is being searched */
    tsim_plan_report_fn report;
    void *context;
    struct tsim_decision *decision;
    struct tsim_evidence evidence; /* once the search is over */
    struct tsim_diags *diags;
};

static bool is_same_node(const struct tsim_offer *a, const struct tsim_offer *b) {
    return strcmp(job_of(a)->cluster.node->name, job_of(b)->cluster.node->name) == 0;
}

/* The offers that were shown, best first, and what they were shown for. */
struct showing {
    const struct tsim_offer *machines[MOST_MACHINES + 1]; /* the first of each; the best offer's is one of them */
    size_t n_machines;
    bool has_purchase[TSIM_N_PURCHASES], has_size;
};

static bool is_another_size(const struct showing *s, const struct tsim_offer *offer) {
    return s->n_machines > 0 && is_same_node(offer, s->machines[0]) && offer->purchase == s->machines[0]->purchase;
}

static bool has_machine(const struct showing *s, const struct tsim_offer *offer) {
    for (size_t i = 0; i < s->n_machines; i++)
        if (is_same_node(s->machines[i], offer))
            return true;
    return false;
}

/* Returns whether there is room for an offer behind those, as the best of its way to get a cluster, of the next machines, or of the best
 * machine's other sizes? */
static bool has_room(const struct showing *s, const struct tsim_offer *offer) {
    return !s->has_purchase[offer->purchase] || s->n_machines <= MOST_MACHINES ||
           (!s->has_size && is_another_size(s, offer));
}

/* Takes the next offer. Returns whether it is shown: there is room, and it is the first of its kind. */
static bool show(struct showing *s, const struct tsim_offer *offer) {
    bool is_size = !s->has_size && is_another_size(s, offer), is_machine = !has_machine(s, offer),
         is_first = !s->has_purchase[offer->purchase] || is_size || is_machine,
         is_shown = has_room(s, offer) && is_first;
    s->has_purchase[offer->purchase] = true;
    s->has_size |= is_size;
    if (is_machine && s->n_machines <= MOST_MACHINES)
        s->machines[s->n_machines++] = offer;
    return is_shown;
}

static bool is_bound(const struct tsim_offer *offer) {
    return offer->plan->knowledge != TSIM_PLAN_SIMULATED;
}

/* A look at offers, best first, for those of which only a bound is known and which have to be known better: they would
 * be shown, or are of one of the best machines, whose predictions say how many of them to try. */
struct looking {
    struct showing shown;
    const struct tsim_offer *machines[MOST_REFINED];
    size_t n_machines, at;
};

static bool is_of_best_machines(struct looking *l, const struct tsim_offer *offer) {
    for (size_t i = 0; i < l->n_machines; i++)
        if (is_same_node(l->machines[i], offer))
            return true;
    if (l->n_machines == MOST_REFINED)
        return false;
    l->machines[l->n_machines++] = offer;
    return true;
}

/* Returns the next such offer; NULL: there is none. */
static const struct tsim_offer *next_needed(struct looking *l, const struct tsim_decision *decision) {
    while (l->at < decision->n_offers) {
        const struct tsim_offer *offer = &decision->offers[l->at++];
        bool is_best = is_of_best_machines(l, offer), is_shown = show(&l->shown, offer);
        if ((is_best || is_shown) && is_bound(offer))
            return offer;
    }
    return NULL;
}

/* Chooses the candidates of a search that have to be known better, given the offers so far. */
static bool choose(void *context, const struct tsim_plan *own, bool *is_chosen) {
    struct deciding *d = context;
    const struct tsim_plan_candidate *candidates = d->space->candidates;
    struct tsim_decision all = *d->decision;
    struct tsim_arena scratch;
    struct looking looking = {.at = 0};
    const struct tsim_offer *offer;
    bool is_any = false;
    tsim_arena_init(&scratch);
    size_t n = d->space->n_candidates;
    all.offers = TSIM_NEW_ARRAY(&scratch, all.n_offers + n * TSIM_N_PURCHASES, struct tsim_offer);
    for (size_t i = 0; i < all.n_offers; i++)
        all.offers[i] = d->decision->offers[i];
    for (size_t c = 0; c < n; c++)
        if (own[c].candidate && !own[c].is_left_out)
            add_offers(&all, &own[c]);
    all.job = candidates[0].job;
    rank(&all, d->search->objective);
    while ((offer = next_needed(&looking, &all)))
        if (offer->plan >= own && offer->plan < own + n)
            is_any = is_chosen[offer->plan - own] = true;
    tsim_arena_release(&scratch);
    return is_any;
}

/* Returns whether bounds of candidates hold: a run with failures costs no less a day than one without, and stragglers
 * that another draw makes faster do not count. */
static bool has_bounds(const struct tsim_scenario *job) {
    return !(job->reliability.preemption_per_s > 0) && !tsim_scenario_varies(job);
}

/* Takes what a search found among the offers, without bounds if it was interrupted. */
static enum tsim_status take_offers(struct deciding *d, const struct tsim_plan_space *space,
                                    const struct tsim_plan_result *result) {
    struct tsim_decision *decision = d->decision;
    size_t n = decision->n_offers + result->n_own * TSIM_N_PURCHASES;
    struct tsim_offer *offers = TSIM_NEW_ARRAY(d->arena, n, struct tsim_offer);
    if (decision->n_offers > 0)
        memcpy(offers, decision->offers, decision->n_offers * sizeof *offers);
    decision->offers = offers;
    for (size_t i = 0; i < result->n_own; i++)
        if (!result->own[i].is_left_out)
            add_offers(decision, &result->own[i]);
    decision->job = space->candidates[0].job;
    decision->n_clusters += space->n_candidates;
    decision->n_plans += result->n_plans - result->n_invalid - result->n_unplayed;
    decision->n_simulated += result->n_evaluated;
    decision->is_interrupted |= result->is_interrupted;
    rank(decision, d->search->objective);
    return TSIM_OK;
}

static bool is_asked_to_end(void *context) {
    (void)context;
    return tsim_is_interrupted();
}

/* Replaces a bound in all its offers, in their places, by the best plan of its candidate. Offers of a candidate that
 * has none never end. */
static enum tsim_status know(struct deciding *d, const struct tsim_plan *bound) {
    struct tsim_plan_space *space = TSIM_NEW(d->arena, struct tsim_plan_space);
    struct tsim_plan_result *result = TSIM_NEW(d->arena, struct tsim_plan_result);
    struct tsim_plan_candidate *candidate = TSIM_NEW(d->arena, struct tsim_plan_candidate);
    struct tsim_plan *never = TSIM_NEW(d->arena, struct tsim_plan);
    struct tsim_plan_search search = {.space = space,
                                      .ranking = {.objective = TSIM_OUTCOME_STEP_TIME},
                                      .n_threads = d->search->n_threads,
                                      .is_for_candidates = true,
                                      .heeds_interrupt = d->search->heeds_interrupt};
    *candidate = *bound->candidate;
    candidate->first_position = 0;
    *space = (struct tsim_plan_space){candidate, 1, candidate->n_points, TSIM_PLAN_COARSE};
    *never = *bound;
    never->knowledge = TSIM_PLAN_SIMULATED;
    for (int i = 0; i < TSIM_DISTRIBUTION_POINTS; i++)
        never->days_at.at[i] = (double)INFINITY;
    never->days = tsim_points_percentiles(never->days_at.at, TSIM_DISTRIBUTION_POINTS);
    enum tsim_status status = tsim_plan_run(d->arena, &search, NULL, NULL, result, d->diags);
    if (d->heeds)
        tsim_stop_set(is_asked_to_end, NULL); /* the search had its own */
    TSIM_TRY(status);
    d->decision->n_simulated += result->n_evaluated;
    d->decision->is_interrupted |= result->is_interrupted;
    const struct tsim_plan *plan = result->n_own > 0 && !result->own[0].is_left_out ? &result->own[0] : never;
    for (size_t i = 0; i < d->decision->n_offers; i++) {
        struct tsim_offer *offer = &d->decision->offers[i];
        if (offer->plan != bound)
            continue;
        if (!make_offer(plan, offer->purchase, offer))
            make_offer(never, offer->purchase, offer);
        offer->is_screened = d->is_screened;
    }
    return TSIM_OK;
}

/* Drops the offers of which only a bound is known (if `all_bounds`), and those that never end. */
static void drop_offers(struct tsim_arena *arena, struct tsim_decision *decision, bool all_bounds) {
    struct tsim_offer *offers = TSIM_NEW_ARRAY(arena, decision->n_offers, struct tsim_offer);
    size_t n = 0;
    for (size_t i = 0; i < decision->n_offers; i++)
        if (isfinite(decision->offers[i].days.p50) && !(all_bounds && is_bound(&decision->offers[i])))
            offers[n++] = decision->offers[i];
    decision->offers = offers; /* others point to the offers as they were */
    decision->n_offers = n;
}

/* Sees to it that all offers that have to be known are known. An interrupt leaves those that are. */
static enum tsim_status know_needed(struct deciding *d) {
    struct looking looking = {.at = 0};
    const struct tsim_offer *offer;
    while (!d->decision->is_interrupted && (offer = next_needed(&looking, d->decision))) {
        TSIM_TRY(know(d, offer->plan));
        drop_offers(d->arena, d->decision, false);
        rank(d->decision, d->search->objective);
        looking = (struct looking){.at = 0};
    }
    if (d->decision->is_interrupted)
        drop_offers(d->arena, d->decision, true);
    return TSIM_OK;
}

static enum tsim_status search_space(struct deciding *d, const struct tsim_space *axes) {
    struct tsim_plan_space *space = TSIM_NEW(d->arena, struct tsim_plan_space);
    struct tsim_plan_result *result = TSIM_NEW(d->arena, struct tsim_plan_result);
    struct tsim_plan_search search = {.space = space,
                                      .ranking = {.objective = TSIM_OUTCOME_STEP_TIME},
                                      .n_threads = d->search->n_threads,
                                      .is_for_candidates = true,
                                      .is_exhaustive = d->search->is_exhaustive,
                                      .choose_context = d,
                                      .heeds_interrupt = d->search->heeds_interrupt};
    struct tsim_space *priced = TSIM_NEW(d->arena, struct tsim_space);
    tsim_space_of_machines(d->arena, d->search->source, d->overrides, d->n_overrides, d->search->has_fabrics, axes,
                           priced);
    axes = priced;
    struct tsim_diags warnings; /* of candidates that tsim chose */
    tsim_diags_init(&warnings);
    enum tsim_status status = tsim_plan_space_read(d->arena, d->search->source, d->overrides, d->n_overrides, axes,
                                                   TSIM_PLAN_COARSE, space, d->search->axes ? d->diags : &warnings);
    tsim_diags_release(&warnings);
    if (status != TSIM_OK) /* runs once more, to report the reason */
        return tsim_plan_space_read(d->arena, d->search->source, d->overrides, d->n_overrides, axes, TSIM_PLAN_COARSE,
                                    space, d->diags);
    d->space = space;
    if (!d->search->axes && !d->search->is_exhaustive && has_bounds(space->candidates[0].job))
        search.choose = choose;
    TSIM_TRY(tsim_plan_run(d->arena, &search, d->report, d->context, result, d->diags));
    TSIM_TRY(take_offers(d, space, result));
    return know_needed(d);
}

/* Adds a size that is not beyond the largest cluster that is tried. */
static void add_size(struct tsim_cluster_size *sizes, size_t *n, const struct tsim_catalogue_machine *machine,
                     double least) {
    double most = (double)TSIM_MOST_BOUGHT_ACCELERATORS / (double)machine->accelerators_per_node;
    int64_t nodes = tsim_round_nodes(machine->job, fmin(least, most));
    for (size_t i = 0; i < *n; i++)
        if (sizes[i].machine == machine && sizes[i].nodes == nodes)
            return;
    if (*n < MOST_SIZES)
        sizes[(*n)++] = (struct tsim_cluster_size){machine, nodes};
}

static const struct tsim_catalogue_machine *machine_of(const struct tsim_decision *decision,
                                                       const struct tsim_offer *offer) {
    for (size_t i = 0; i < decision->n_machines; i++)
        if (strcmp(decision->machines[i].node, job_of(offer)->cluster.node->name) == 0)
            return &decision->machines[i];
    return NULL;
}

/* ---- machines that are left out ---- */

/* Makes an offer that is no worse than any that the machine could make with between half of `most_accelerators` and all
 * of them: they do nothing but products at their peak, and have the evidence of the best measured machines. The days
 * are those of all of them, and cost as much as half of them do; only a purchase costs the same however long it takes.
 * Returns false if there is no such price. */
static bool best_imaginable(struct tsim_arena *arena, const struct tsim_scenario *job, enum tsim_purchase purchase,
                            double most_accelerators, struct tsim_offer *offer) {
    const struct tsim_cost_spec *c = &job->cost;
    struct tsim_plan_candidate *candidate = TSIM_NEW(arena, struct tsim_plan_candidate);
    struct tsim_plan *plan = TSIM_NEW(arena, struct tsim_plan);
    double days = tsim_least_accelerator_s(job) / TSIM_DAY_S / most_accelerators,
           paid_frac = job->reliability.preemption_per_s > 0 ? 1 - job->reliability.discount_frac : 1,
           each_usd_per_s = purchase == TSIM_PURCHASE_RENT      ? c->rent_usd_per_s * paid_frac
                            : purchase == TSIM_PURCHASE_RESERVE ? reserved_usd_per_s(job)
                                                                : 0;
    candidate->job = job;
    plan->candidate = candidate;
    plan->point.outcome.value[TSIM_OUTCOME_MEAN_DAYS] = 1; /* and no energy */
    for (int i = 0; i < TSIM_DISTRIBUTION_POINTS; i++)
        plan->days_at.at[i] = days;
    plan->days = tsim_until_the_loss(arena, job, &plan->days_at, &plan->missed_frac);
    *offer = (struct tsim_offer){.plan = plan, .purchase = purchase, .evidence = TSIM_GROUNDS_MEASURED};
    offer->asked_usd_per_day = most_accelerators * each_usd_per_s * TSIM_DAY_S;
    offer->least_days = purchase == TSIM_PURCHASE_RESERVE ? c->commitment_s / TSIM_DAY_S / 2 : 0;
    offer->asked_usd = purchase == TSIM_PURCHASE_BUY ? c->purchase_usd * ceil(most_accelerators / 2) : 0;
    offer->delivery_days = purchase == TSIM_PURCHASE_BUY ? c->delivery_s / TSIM_DAY_S : 0;
    if (!(offer->asked_usd_per_day + offer->asked_usd > 0))
        return false;
    tsim_offer_evaluate(offer, &TSIM_NO_CHANGES);
    return true;
}

/* Returns whether an offer of the machine could be better than the best one, by its peak alone. */
static bool may_win(const struct tsim_decision *decision, enum tsim_decision_objective objective,
                    const struct tsim_scenario *job) {
    struct tsim_arena scratch;
    bool may = false;
    tsim_arena_init(&scratch);
    for (int purchase = 0; purchase < TSIM_N_PURCHASES && !may; purchase++)
        for (double accelerators = 1; accelerators <= TSIM_MOST_BOUGHT_ACCELERATORS && !may; accelerators *= 2) {
            struct tsim_offer offer;
            may = best_imaginable(&scratch, job, (enum tsim_purchase)purchase, accelerators, &offer) &&
                  tsim_offer_is_better(&decision->job->goal, objective, &offer, &decision->offers[0]);
        }
    tsim_arena_release(&scratch);
    return may;
}

/* ---- the catalogue ---- */

struct sizes {
    struct tsim_cluster_size list[MOST_SIZES];
    size_t n, n_tried;
};

static double days_to_fill(const struct tsim_decision *decision) {
    double deadline_s = decision->job->goal.deadline_s;
    return deadline_s > 0 ? deadline_s / TSIM_DAY_S : TSIM_DAYS_WITHOUT_DATE;
}

/* Adds the machine in the size that was asked for, or that a first guess gives. */
static void add_first(struct deciding *d, struct sizes *sizes, const struct tsim_catalogue_machine *machine) {
    if (!tsim_override_of(d->overrides, d->n_overrides, "cluster.nodes"))
        add_size(sizes->list, &sizes->n, machine,
                 tsim_nodes_for(machine, TSIM_FIRST_DATE_FRAC * days_to_fill(d->decision)));
    else if (sizes->n < MOST_SIZES)
        sizes->list[sizes->n++] = (struct tsim_cluster_size){machine, d->decision->job->cluster.nodes};
}

/* Searches the sizes that have been added since. */
static enum tsim_status search_sizes(struct deciding *d, struct sizes *sizes) {
    const struct tsim_cluster_size *list = sizes->list + sizes->n_tried;
    size_t n = sizes->n - sizes->n_tried;
    struct tsim_space space;
    if (n == 0)
        return TSIM_OK;
    TSIM_TRY(tsim_clusters_space(d->arena, list, n, &space, d->diags));
    sizes->n_tried = sizes->n;
    return search_space(d, &space);
}

/* Tries half of each cluster over which the batch does not divide, and which has no plan, until one has. */
static enum tsim_status search_halves(struct deciding *d, struct sizes *sizes) {
    struct tsim_decision *decision = d->decision;
    struct tsim_space space;
    bool is_free = !tsim_override_of(d->overrides, d->n_overrides, "cluster.nodes");
    for (bool is_smaller = is_free; is_smaller && decision->n_offers == 0 && !decision->is_interrupted;) {
        is_smaller = false;
        for (size_t i = 0; i < sizes->n; i++) {
            struct tsim_cluster_size *size = &sizes->list[i];
            is_smaller |= size->nodes > 1;
            size->nodes = tsim_round_nodes(size->machine->job, ceil((double)size->nodes / 2));
        }
        TSIM_TRY(tsim_clusters_space(d->arena, sizes->list, sizes->n, &space, d->diags));
        TSIM_TRY(search_space(d, &space));
    }
    return TSIM_OK;
}

/* Adds the best machines, MOST_REFINED at most, in the sizes that their predictions ask for, and in the next larger one;
 * if a date is set, also in the next smaller one, which may still keep it. */
static enum tsim_status refine_sizes(struct deciding *d, struct sizes *sizes, size_t most_machines) {
    struct tsim_decision *decision = d->decision;
    const struct tsim_catalogue_machine *seen[MOST_REFINED];
    size_t n_seen = 0;
    for (size_t i = 0; i < decision->n_offers && !decision->is_interrupted; i++) {
        const struct tsim_offer *offer = &decision->offers[i];
        const struct tsim_catalogue_machine *machine = machine_of(decision, offer);
        size_t at = 0;
        while (at < n_seen && seen[at] != machine)
            at++;
        bool is_first = at == n_seen && n_seen < most_machines;
        if (is_first)
            seen[n_seen++] = machine;
        double left_days = days_to_fill(decision) - offer->delivery_days;
        if (at == most_machines || !(left_days > 0))
            continue;
        double least = (double)job_of(offer)->cluster.nodes * (offer->days.p90 - offer->delivery_days) / left_days;
        double nodes = (double)tsim_round_nodes(machine->job, fmin(least, TSIM_MOST_BOUGHT_ACCELERATORS));
        add_size(sizes->list, &sizes->n, machine, nodes);
        add_size(sizes->list, &sizes->n, machine, nodes + 1);
        if (is_first &&
            d->search->objective == TSIM_DECIDE_BY_DAYS) { /* more nodes finish sooner, as far as the money goes */
            double own_nodes = (double)job_of(offer)->cluster.nodes;
            add_size(sizes->list, &sizes->n, machine, own_nodes + 1);
            add_size(sizes->list, &sizes->n, machine, 2 * own_nodes);
        }
        if (nodes > 1 && decision->job->goal.deadline_s >
                             0) /* 3 x 2^k or 2^(k+1) after 2^(k+1) or 3 x 2^k: more than five eighths of it */
            add_size(sizes->list, &sizes->n, machine, floor(0.625 * nodes));
    }
    return decision->is_interrupted ? TSIM_OK : search_sizes(d, sizes);
}

/* Refines the sizes, first of several machines, then of the best one as long as that finds a better size. For the
 * fewest days several are tried with more and more nodes, until none is better for it. */
static enum tsim_status refine(struct deciding *d, struct sizes *sizes) {
    enum { MOST_ROUNDS = 4, MOST_ROUNDS_BY_DAYS = 16 };
    struct tsim_decision *decision = d->decision;
    bool is_fastest = d->search->objective == TSIM_DECIDE_BY_DAYS;
    if (tsim_override_of(d->overrides, d->n_overrides, "cluster.nodes"))
        return TSIM_OK;
    for (int round = 0; round < (is_fastest ? MOST_ROUNDS_BY_DAYS : MOST_ROUNDS) && decision->n_offers > 0; round++) {
        const struct tsim_plan *best = decision->offers[0].plan;
        size_t n_before = sizes->n;
        TSIM_TRY(refine_sizes(d, sizes, round == 0 || is_fastest ? MOST_REFINED : 1));
        if (sizes->n == n_before || (!is_fastest && decision->offers[0].plan == best))
            break;
    }
    return TSIM_OK;
}

/* Searches machines that were put off for their price and could still be better than the best, until there is none; all
 * of them, if there is no best. */
static enum tsim_status search_dear(struct deciding *d, struct sizes *sizes) {
    struct tsim_decision *decision = d->decision;
    for (bool is_more = true; is_more && !decision->is_interrupted;) {
        bool takes_all = d->search->is_exhaustive || decision->n_offers == 0;
        is_more = false;
        for (size_t i = 0; i < decision->n_machines; i++) {
            struct tsim_catalogue_machine *machine = &decision->machines[i];
            if (!machine->is_dear || !(takes_all || may_win(decision, d->search->objective, machine->job)))
                continue;
            machine->left_out = NULL;
            machine->is_dear = false;
            add_first(d, sizes, machine);
            is_more = true;
        }
        TSIM_TRY(search_sizes(d, sizes));
        TSIM_TRY(refine(d, sizes));
    }
    return TSIM_OK;
}

/* Tells why the machine that was asked for, or the first, cannot be tried. */
static enum tsim_status no_machine(struct deciding *d) {
    const struct tsim_decision *decision = d->decision;
    const char *node = tsim_override_of(d->overrides, d->n_overrides, "cluster.node");
    struct tsim_diag *diag = tsim_diags_error(d->diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){0}, "cluster.node",
                                              "no machine of the catalogue can run it");
    const char *why = "a purchase tries nodes of several accelerators with a network", *of = node;
    for (size_t i = 0; i < decision->n_machines; i++)
        if (!of || (node && strcmp(decision->machines[i].node, node) == 0)) {
            of = decision->machines[i].node;
            why = decision->machines[i].left_out;
        }
    tsim_diag_hint(diag, "%.60s: %.200s%s%.60s%s", of, why, node ? "; --vary cluster.node=" : "", node ? node : "",
                   node ? " --vary cluster.nodes=1 tries it all the same" : "");
    return TSIM_ERR_INFEASIBLE;
}

/* Searches each machine in the size of a first guess, then the best machines in the sizes that their predictions ask
 * for, and then those that were left out for their price, if that does not prove that they lose. */
static enum tsim_status search_catalogue(struct deciding *d) {
    struct tsim_decision *decision = d->decision;
    struct sizes *sizes = TSIM_NEW(d->arena, struct sizes);
    TSIM_TRY(tsim_machines_list(d->arena, d->search->source, d->overrides, d->n_overrides, &decision->machines,
                                &decision->n_machines, d->diags));
    for (size_t i = 0; i < decision->n_machines; i++)
        if (!decision->machines[i].left_out)
            add_first(d, sizes, &decision->machines[i]);
    if (sizes->n == 0)
        return no_machine(d);
    TSIM_TRY(search_sizes(d, sizes));
    TSIM_TRY(search_halves(d, sizes));
    TSIM_TRY(refine(d, sizes));
    TSIM_TRY(search_dear(d, sizes));
    return search_halves(d, sizes);
}

/* ---- why not ---- */

/* Rounds a sum to two digits, which is the most that is known, because prices spread. */
static double two_digits(double value) {
    double unit = value > 0 ? pow(10, floor(log10(value)) - 1) : 1;
    return unit * floor(value / unit + 0.5);
}

static const char *usd_text(struct tsim_arena *arena, double usd) {
    char text[64];
    const struct tsim_percentiles range = {0.9 * usd, usd, 1.1 * usd}; /* supports two digits */
    return tsim_arena_strdup(arena, tsim_supported_text(&range, usd, "USD", text, sizeof text));
}

enum limited { LIMITED_DAYS, LIMITED_USD };

static const struct tsim_percentiles *range_of(const struct tsim_offer *offer, enum limited which) {
    return which == LIMITED_DAYS ? &offer->days : &offer->cost_usd;
}

/* Returns the goal's limit; INFINITY if it has none. */
static double limit_of(const struct tsim_goal_spec *goal, enum limited which) {
    double limit = which == LIMITED_DAYS ? goal->deadline_s / TSIM_DAY_S : goal->budget_usd;
    return limit > 0 ? limit : (double)INFINITY;
}

/* Returns "12 %" or "0.4 %". */
static const char *percent_above(struct tsim_arena *arena, double ratio) {
    return tsim_arena_printf(arena, ratio < 1.01 ? "%.1f %%" : "%.0f %%", 100 * (ratio - 1));
}

/* Returns "12 % more" or "3.4 times as much". */
static const char *ratio_text(struct tsim_arena *arena, double ratio, const char *more, const char *much) {
    if (ratio < 2)
        return tsim_arena_printf(arena, "%s %s", percent_above(arena, ratio), more);
    char times[96];
    return ratio < 100 ? tsim_arena_printf(arena, "%.2g times as %s", ratio, much)
                       : tsim_arena_printf(arena, "%s times as %s",
                                           tsim_count_text(two_digits(ratio), times, sizeof times), much);
}

static const char *over_text(struct tsim_arena *arena, double ratio, enum limited which) {
    return which == LIMITED_DAYS ? ratio_text(arena, ratio, "later", "late") : ratio_text(arena, ratio, "more", "much");
}

/* Returns a value of an offer's days or cost with as many digits as its range supports, as the table of offers has
 * it. */
static const char *amount_text(struct tsim_arena *arena, const struct tsim_offer *offer, double amount,
                               enum limited which) {
    char text[64];
    const struct tsim_percentiles *range = range_of(offer, which);
    return tsim_arena_strdup(arena, which == LIMITED_DAYS
                                        ? tsim_supported_days_text(range, amount, " days", text, sizeof text)
                                        : tsim_supported_text(range, amount, "USD", text, sizeof text));
}

/* Returns what speaks for an offer all the same, if that is a tenth or more: "; it takes 33 % less time". */
static const char *gains_text(struct tsim_arena *arena, const struct tsim_offer *best, const struct tsim_offer *other) {
    const char *sooner = "", *cheaper = "";
    if (other->days.p50 < 0.9 * best->days.p50)
        sooner = tsim_arena_printf(arena, "takes %.0f %% less time", 100 * (1 - other->days.p50 / best->days.p50));
    if (other->mean_usd < 0.9 * best->mean_usd)
        cheaper =
            tsim_arena_printf(arena, "is expected to cost %.0f %% less", 100 * (1 - other->mean_usd / best->mean_usd));
    return *sooner || *cheaper
               ? tsim_arena_printf(arena, "; it %s%s%s", sooner, *sooner && *cheaper ? " and " : "", cheaper)
               : "";
}

#define LITTLE_MORE 1.1

static const char *why_not(struct tsim_arena *arena, const struct tsim_offer *best, const struct tsim_offer *other,
                           enum tsim_decision_objective objective) {
    const struct tsim_goal_spec *goal = &job_of(best)->goal;
    if (other->chance_of_both < best->chance_of_both) {
        double most = MOST_CHANCES[other->evidence];
        if (most < MOST_CHANCES[best->evidence] && !(other->chance_in_time < most) && !(other->chance_in_budget < most))
            return tsim_arena_printf(
                arena, "no chance above %s is claimed for it, because too few runs like it were measured%s",
                tsim_chance_text(arena, most), gains_text(arena, best, other));
        bool is_late = goal->deadline_s > 0 && !(other->chance_in_time > other->chance_in_budget);
        enum limited which = is_late ? LIMITED_DAYS : LIMITED_USD;
        const struct tsim_percentiles *range = range_of(other, which);
        bool is_rare = range->p50 <= limit_of(goal, which); /* the middle case keeps it */
        const char *what = tsim_arena_printf(arena, "in %s it %s %s%s", is_rare ? "one case of ten" : "the middle case",
                                             is_late ? "takes" : "costs",
                                             amount_text(arena, other, is_rare ? range->p90 : range->p50, which),
                                             is_late && other->delivery_days > 0 ? ", delivery included" : "");
        const char *gains = other->chance_of_both >= TSIM_CHANCE_LIKELY ? gains_text(arena, best, other) : "";
        return tsim_arena_printf(arena, "its chance of the goal is %s, against %s: %s%s",
                                 tsim_chance_text(arena, other->chance_of_both),
                                 tsim_chance_text(arena, best->chance_of_both), what, gains);
    }
    if (best->chance_of_both < TSIM_CHANCE_LIKELY && miss_ratio(goal, other) > miss_ratio(goal, best)) {
        double late = other->days.p50 / limit_of(goal, LIMITED_DAYS);
        enum limited which = late >= other->cost_usd.p50 / limit_of(goal, LIMITED_USD) ? LIMITED_DAYS : LIMITED_USD;
        double amount = range_of(other, which)->p50, bests = range_of(best, which)->p50;
        const char *its = amount_text(arena, other, amount, which);
        return amount < LITTLE_MORE * bests /* the digits that ranges support may not tell one from the other */
                   ? tsim_arena_printf(arena, "it misses by a little more: in the middle case %s", its)
                   : tsim_arena_printf(arena, "it misses by more: in the middle case %s, against %s", its,
                                       amount_text(arena, best, bests, which));
    }
    if (objective == TSIM_DECIDE_BY_ENERGY)
        return tsim_arena_printf(arena, "it needs %.0f %% more energy",
                                 100 * (other->energy_kwh.p50 / best->energy_kwh.p50 - 1));
    if (objective == TSIM_DECIDE_BY_DAYS)
        return tsim_arena_printf(arena, "it ends %s", over_text(arena, other->days.p50 / best->days.p50, LIMITED_DAYS));
    return tsim_arena_printf(arena, "it is as likely to meet the goal and is expected to cost %s%s",
                             over_text(arena, other->mean_usd / best->mean_usd, LIMITED_USD),
                             gains_text(arena, best, other));
}

/* Returns "; the contract is paid for 1 y": a contract that outlasts the run costs more than the run needs. */
static const char *contract_text(struct tsim_arena *arena, const struct tsim_offer *offer) {
    double least_s = job_of(offer)->cost.commitment_s;
    char text[48];
    return offer->purchase == TSIM_PURCHASE_RESERVE && least_s > offer->days.p90 * TSIM_DAY_S
               ? tsim_arena_printf(arena, "; the contract is paid for %s, however short the run is",
                                   tsim_quantity_human(least_s, TSIM_TIME_S, text, sizeof text))
               : "";
}

/* Finds the best offer of each other way to get a cluster, of the same machine in another number, and of the next
 * machines. */
static void find_alternatives(struct tsim_arena *arena, struct tsim_decision *decision,
                              enum tsim_decision_objective objective) {
    enum { MOST_ALTERNATIVES = TSIM_N_PURCHASES + 2 + MOST_MACHINES };
    const struct tsim_offer *best = &decision->offers[0];
    struct showing s = {.n_machines = 0};
    decision->alternatives = TSIM_NEW_ARRAY(arena, MOST_ALTERNATIVES, struct tsim_alternative);
    for (size_t i = 0; i < decision->n_offers; i++) {
        const struct tsim_offer *offer = &decision->offers[i];
        if (!show(&s, offer) || (decision->is_met && offer == best))
            continue;
        decision->alternatives[decision->n_alternatives++] = (struct tsim_alternative){
            offer,
            decision->is_met || offer != best
                ? tsim_arena_printf(arena, "%s%s", why_not(arena, best, offer, objective), contract_text(arena, offer))
                : "it comes nearest to the goal, but is more likely to miss it than to meet it"};
    }
}

/* ---- as `tsim run` plays it ---- */

/* Returns the plan played with some detail, and with failures so many times as frequent; NULL if it cannot be. */
static const struct tsim_plan *played(struct deciding *d, const struct tsim_plan *screened, enum tsim_detail detail,
                                      double failures) {
    struct tsim_plan *plan = TSIM_NEW(d->arena, struct tsim_plan);
    const struct tsim_scenario *scenario;
    struct tsim_arena scratch;
    struct tsim_diags diags; /* the search has played it, if only by its passes */
    tsim_arena_init(&scratch);
    tsim_diags_init(&diags);
    *plan = *screened;
    bool is_good = tsim_scenario_replan(&scratch, plan->candidate->job, &plan->choice, &scenario);
    if (is_good) {
        struct tsim_scenario whole = *scenario;
        whole.simulation.detail = detail;
        whole.reliability.node_mtbf_s /= failures;
        for (int c = 0; c < TSIM_N_COMPONENTS; c++)
            whole.reliability.component_mtbf_s[c] /= failures;
        is_good = tsim_plan_play(d->arena, &d->evidence, &whole, plan, &diags) == TSIM_OK;
    }
    tsim_diags_release(&diags);
    tsim_arena_release(&scratch);
    return is_good ? plan : NULL;
}

/* Plays a plan, which replaces the screened one in all its offers. */
static void play_offers(struct deciding *d, const struct tsim_plan *screened) {
    const struct tsim_plan *plan = played(d, screened, TSIM_DETAIL_OPERATORS, 1);
    for (size_t i = 0; i < d->decision->n_offers; i++) {
        struct tsim_offer *offer = &d->decision->offers[i], anew;
        if (offer->plan != screened)
            continue;
        if (plan && make_offer(plan, offer->purchase, &anew))
            *offer = anew;
        offer->is_screened = false;
    }
}

/* Returns the first plan to be shown that was only screened; NULL if there is none. */
static const struct tsim_plan *shown_unplayed(const struct tsim_decision *decision) {
    if (decision->offers[0].is_screened)
        return decision->offers[0].plan;
    for (size_t i = 0; i < decision->n_alternatives; i++)
        if (decision->alternatives[i].offer->is_screened)
            return decision->alternatives[i].offer->plan;
    return NULL;
}

/* Finds the alternatives: it plays what is shown and ranks the offers anew, until all that is shown has been played. */
static enum tsim_status show_played(struct deciding *d) {
    struct tsim_decision *decision = d->decision;
    const struct tsim_plan *screened;
    TSIM_TRY(tsim_evidence_read(d->arena, &d->evidence, d->diags));
    for (size_t i = 0; i < decision->n_offers; i++)
        decision->offers[i].is_screened = d->is_screened;
    for (;;) {
        TSIM_TRY(know_needed(d));
        decision->is_met = decision->offers[0].chance_of_both >= TSIM_CHANCE_LIKELY;
        decision->is_interrupted |= tsim_is_stopped();
        decision->n_alternatives = 0;
        find_alternatives(d->arena, decision, d->search->objective);
        screened = decision->is_interrupted ? NULL : shown_unplayed(decision);
        if (!screened)
            return TSIM_OK;
        play_offers(d, screened);
        rank(decision, d->search->objective);
    }
}

/* ---- other fabrics ---- */

enum { MOST_HASHED = 512 };

static bool is_rival(const struct tsim_fabric *own, const struct tsim_fabric *other,
                     const struct tsim_accelerator *accelerator) {
    bool is_for_it = !other->vendor || strcmp(other->vendor, accelerator->vendor) == 0;
    return strcmp(own->name, other->name) != 0 && other->link_bytes_per_s == own->link_bytes_per_s && is_for_it &&
           other->switch_usd > 0;
}

/* Returns the step of the choice's plan on a fabric, operator by operator; NAN if it is not simulated. */
static double step_on(struct deciding *d, const struct tsim_offer *choice, const struct tsim_fabric *fabric) {
    const struct tsim_scenario *scenario;
    struct tsim_result *result = TSIM_NEW(d->arena, struct tsim_result);
    struct tsim_diags diags; /* the NAN reports what cannot be played */
    if (!tsim_scenario_replan(d->arena, job_of(choice), &choice->plan->choice, &scenario) ||
        (fabric->routing == TSIM_ROUTING_ECMP && fabric->topology == TSIM_TOPOLOGY_FAT_TREE &&
         scenario->n_accelerators > MOST_HASHED))
        return (double)NAN;
    struct tsim_scenario on_fabric = *scenario;
    on_fabric.cluster.fabric = fabric;
    on_fabric.simulation.detail = TSIM_DETAIL_OPERATORS;
    const struct tsim_run_options options = {.is_brief = true, .is_step = true};
    tsim_diags_init(&diags);
    enum tsim_status status = tsim_train_run(d->arena, &on_fabric, &options, result, &diags);
    tsim_diags_release(&diags);
    return status == TSIM_OK && result->step.fits ? result->step.terms.time_s : (double)NAN;
}

/* Returns a price of the catalogue with the ends of its interval. */
static struct tsim_catalogue_entry entry_of(const struct tsim_catalogue_entry *entries, size_t n, const char *key,
                                            double value) {
    struct tsim_catalogue_entry entry = {.interval = {value, value}};
    for (size_t i = 0; i < n; i++)
        if (strcmp(entries[i].key, key) == 0)
            entry = entries[i];
    if (isnan(entry.interval[0]))
        entry.interval[0] = entry.interval[1] = value;
    return entry;
}

static struct tsim_priced_network network_of(struct deciding *d, const struct tsim_offer *offer,
                                             const struct tsim_fabric *fabric) {
    struct tsim_priced_network network = {
        .bill = tsim_network_bill(fabric, nodes_with_spares(offer) * (double)job_of(offer)->cluster.node->nics)};
    const struct tsim_catalogue_entry *entries = NULL;
    size_t n = 0;
    struct tsim_diags diags; /* a fabric of the user's own has no entries */
    tsim_diags_init(&diags);
    if (tsim_catalogue_describe(d->arena, TSIM_CATALOGUE_FABRICS, fabric->name, &entries, &n, &diags) != TSIM_OK)
        n = 0;
    tsim_diags_release(&diags);
    struct tsim_catalogue_entry a_switch = entry_of(entries, n, "switch_price", fabric->switch_usd),
                                a_link = entry_of(entries, n, "link_price", fabric->link_usd);
    network.low_usd = network.bill.switches * a_switch.interval[0] + network.bill.links * a_link.interval[0];
    network.high_usd = network.bill.switches * a_switch.interval[1] + network.bill.links * a_link.interval[1];
    network.status = a_switch.status;
    network.source = a_switch.source;
    return network;
}

static enum tsim_status find_rivals(struct deciding *d) {
    struct tsim_decision *decision = d->decision;
    const struct tsim_offer *choice = &decision->offers[0];
    const struct tsim_cluster_spec *cluster = &job_of(choice)->cluster;
    const char *const *ids;
    size_t n_ids;
    if (!cluster->fabric || cluster->nodes == 1 || decision->is_interrupted)
        return TSIM_OK;
    TSIM_TRY(tsim_catalogue_list(d->arena, TSIM_CATALOGUE_FABRICS, &ids, &n_ids, d->diags));
    struct tsim_fabric_rival *rivals = TSIM_NEW_ARRAY(d->arena, n_ids, struct tsim_fabric_rival);
    double own_s = (double)NAN;
    decision->network = network_of(d, choice, cluster->fabric);
    for (size_t i = 0; i < n_ids; i++) {
        const struct tsim_fabric *fabric;
        TSIM_TRY(tsim_catalogue_load_fabric(d->arena, ids[i], &fabric, d->diags));
        if (!is_rival(cluster->fabric, fabric, cluster->node->accelerator))
            continue;
        own_s = isnan(own_s) ? step_on(d, choice, cluster->fabric) : own_s;
        rivals[decision->n_rivals++] =
            (struct tsim_fabric_rival){fabric, step_on(d, choice, fabric) / own_s, network_of(d, choice, fabric)};
    }
    decision->rivals = rivals;
    return TSIM_OK;
}

/* ---- what would change the decision ---- */

static void apply(struct tsim_decision *decision, const struct tsim_changes *changes) {
    for (size_t i = 0; i < decision->n_offers; i++)
        tsim_offer_evaluate(&decision->offers[i], changes);
}

/* Returns the best offer under changes; NULL stands for none that makes the goal. As long as the choice itself makes
 * it, more or fewer of its node, acquired in the same way, count as the choice. */
static const struct tsim_offer *best_under(struct tsim_decision *decision, enum tsim_decision_objective objective,
                                           const struct tsim_changes *changes) {
    const struct tsim_offer *choice = &decision->offers[0], *best = choice;
    apply(decision, changes);
    for (size_t i = 1; i < decision->n_offers; i++)
        if (tsim_offer_is_better(&decision->job->goal, objective, &decision->offers[i], best))
            best = &decision->offers[i];
    if (best->chance_of_both < TSIM_CHANCE_LIKELY)
        return NULL;
    bool is_same_kind = is_same_node(best, choice) && best->purchase == choice->purchase;
    return is_same_kind && choice->chance_of_both >= TSIM_CHANCE_LIKELY ? choice : best;
}

enum change { CHANGE_RENT, CHANGE_PURCHASE, CHANGE_POWER, CHANGE_FAILURES, CHANGE_SLIP, CHANGE_DELAY };

static struct tsim_changes changed(const struct tsim_decision *decision, enum change which, double amount) {
    struct tsim_changes c = TSIM_NO_CHANGES;
    c.rent = which == CHANGE_RENT ? amount : 1;
    c.purchase = which == CHANGE_PURCHASE ? amount : 1;
    c.power_price = which == CHANGE_POWER ? amount : 1;
    c.failures = which == CHANGE_FAILURES ? amount : 1;
    c.slip = which == CHANGE_SLIP ? amount : 1;
    c.slipping = which == CHANGE_SLIP ? &decision->offers[0] : NULL;
    c.delay_days = which == CHANGE_DELAY ? amount : 0;
    return c;
}

/* Returns the nearest amount, from `from` towards `to`, with which another offer is the best; NAN if there is none. */
static double flip_at(struct tsim_decision *decision, enum tsim_decision_objective objective, enum change which,
                      double from, double to, const struct tsim_offer **other) {
    const struct tsim_offer *choice = &decision->offers[0];
    bool is_delay = which == CHANGE_DELAY;
    double same = from, at = (double)NAN;
    for (int i = 1; i <= SCAN_STEPS && isnan(at); i++) {
        double amount = is_delay ? from + (to - from) * i / SCAN_STEPS : from * pow(to / from, (double)i / SCAN_STEPS);
        struct tsim_changes changes = changed(decision, which, amount);
        if (best_under(decision, objective, &changes) != choice)
            at = amount;
        else
            same = amount;
    }
    for (int i = 0; i < HALVINGS && !isnan(at); i++) {
        double middle = (same + at) / 2;
        struct tsim_changes changes = changed(decision, which, middle);
        if (best_under(decision, objective, &changes) != choice)
            at = middle;
        else
            same = middle;
    }
    if (!isnan(at)) {
        struct tsim_changes changes = changed(decision, which, at);
        *other = best_under(decision, objective, &changes);
    }
    return at;
}

/* Does the same, and knows what takes the choice's place by more than a bound. */
static enum tsim_status find_flip(struct deciding *d, enum change which, double from, double to, double *at,
                                  const struct tsim_offer **other) {
    for (;;) {
        *other = NULL;
        *at = flip_at(d->decision, d->search->objective, which, from, to, other);
        if (!*other || !is_bound(*other) || d->decision->is_interrupted)
            return TSIM_OK;
        apply(d->decision, &TSIM_NO_CHANGES);
        TSIM_TRY(know(d, (*other)->plan));
    }
}

/* Learns from a plan that is played with failures so many times as frequent what they cost of each case of its days:
 * checkpoints come closer, and failures may come before the ones before are mended. */
static void learn_failures(struct deciding *d, const struct tsim_offer *offer, double times) {
    const struct tsim_plan *plan = offer->plan, *failing;
    struct tsim_distribution *frac = TSIM_NEW(d->arena, struct tsim_distribution);
    enum tsim_detail detail =
        d->is_screened && !offer->is_screened ? TSIM_DETAIL_OPERATORS : job_of(offer)->simulation.detail;
    failing = played(d, plan, detail, times);
    if (!failing)
        return;
    for (int i = 0; i < TSIM_DISTRIBUTION_POINTS; i++) { /* `stretch` the other way round */
        double longer = failing->days_at.at[i] / plan->days_at.at[i];
        frac->at[i] = longer > 1 ? (longer - 1) / (longer * times - 1) : 0;
    }
    for (size_t i = 0; i < d->decision->n_offers; i++)
        if (d->decision->offers[i].plan == plan)
            d->decision->offers[i].failing_frac_at = frac;
}

/* Finds how frequent failures must be to change the choice, by playing the choice, and what takes its place, at such
 * rates. */
static enum tsim_status find_failures_flip(struct deciding *d, double to, double *at, const struct tsim_offer **other) {
    enum { MOST_PLAYED = 4 };
    struct tsim_decision *decision = d->decision;
    double before = (double)NAN;
    for (int i = 0; i <= MOST_PLAYED; i++, before = *at) {
        TSIM_TRY(find_flip(d, CHANGE_FAILURES, 1, to, at, other));
        if (isnan(*at) || decision->is_interrupted || fabs(*at / before - 1) < LEAST_FLIP_FRAC ||
            !job_of(&decision->offers[0])->reliability.has)
            break;
        learn_failures(d, &decision->offers[0], *at);
        if (*other)
            learn_failures(d, *other, *at);
    }
    return TSIM_OK;
}

static const char *then_text(struct tsim_arena *arena, const struct tsim_offer *other) {
    return other ? tsim_arena_printf(arena, "%s %s", TSIM_PURCHASE_WORDS[other->purchase],
                                     tsim_offer_cluster(arena, other))
                 : "no candidate meets the goal any more";
}

static enum tsim_status say_flip(struct deciding *d, enum change which, double to) {
    struct tsim_arena *arena = d->arena;
    struct tsim_decision *decision = d->decision;
    const struct tsim_offer *choice = &decision->offers[0], *other = NULL;
    const struct tsim_scenario *job = job_of(choice);
    double from = which == CHANGE_DELAY ? 0 : 1, at = (double)NAN;
    TSIM_TRY(which == CHANGE_FAILURES ? find_failures_flip(d, to, &at, &other)
                                      : find_flip(d, which, from, to, &at, &other));
    const char *then = then_text(arena, other), *sentence = NULL;
    char now[48], value[48];
    bool has = !isnan(at);
    switch (which) {
    case CHANGE_RENT: {
        double rent = job->cost.rent_usd_per_s;
        bool is_reserved = choice->purchase == TSIM_PURCHASE_RESERVE;
        if (is_reserved)
            rent = choice->asked_usd_per_day / TSIM_DAY_S /
                   (nodes_with_spares(choice) * (double)job->cluster.accelerators_per_node);
        if (choice->purchase == TSIM_PURCHASE_BUY)
            sentence = has ? tsim_arena_printf(arena, "if all rents were %.0f %% lower: %s", 100 * (1 - at), then)
                           : "no fall of rents down to a tenth changes it";
        else
            sentence = has ? tsim_arena_printf(arena, "if all rents were %s (%s in place of %s): %s",
                                               ratio_text(arena, at, "higher", "high"),
                                               tsim_quantity_human(at * rent, TSIM_USD_PER_S, value, sizeof value),
                                               tsim_quantity_human(rent, TSIM_USD_PER_S, now, sizeof now), then)
                           : "no rise of rents up to ten times as high changes it";
        break;
    }
    case CHANGE_PURCHASE:
        if (!has)
            sentence = "purchase prices from a tenth to ten times as high change nothing";
        else if (at < 1)
            sentence = tsim_arena_printf(arena, "if machines were %.0f %% cheaper to buy: %s", 100 * (1 - at), then);
        else
            sentence = tsim_arena_printf(arena, "if machines to buy were %s: %s",
                                         ratio_text(arena, at, "more expensive", "expensive"), then);
        break;
    case CHANGE_POWER:
        sentence = has ? tsim_arena_printf(
                             arena, "if electricity cost more than %s (%s now): %s",
                             tsim_quantity_human(at * job->energy.price_usd_per_j, TSIM_USD_PER_J, value, sizeof value),
                             tsim_quantity_human(job->energy.price_usd_per_j, TSIM_USD_PER_J, now, sizeof now), then)
                   : choice->power_usd_per_day > 0 ? "no price of electricity up to ten times as high changes it"
                                                   : "the price of electricity changes nothing: the rent includes it";
        break;
    case CHANGE_FAILURES:
        sentence = has ? tsim_arena_printf(arena, "if failures were %s: %s",
                                           ratio_text(arena, at, "more frequent", "frequent"), then)
                       : "failures up to ten times as frequent change nothing";
        break;
    case CHANGE_SLIP:
        sentence = has ? tsim_arena_printf(arena, "if %s were %s slower than predicted: %s",
                                           job->cluster.node->accelerator->name, percent_above(arena, at), then)
                       : tsim_arena_printf(arena, "%s may be up to twice as slow as predicted",
                                           job->cluster.node->accelerator->name);
        break;
    case CHANGE_DELAY:
        if (choice->purchase == TSIM_PURCHASE_BUY)
            sentence = has ? tsim_arena_printf(arena, "if delivery took %.0f days longer than %.0f: %s", at,
                                               choice->delivery_days, then)
                           : "no delay of delivery up to a year changes it";
        else
            sentence = has ? tsim_arena_printf(arena, "if bought machines came %.0f days earlier than after %.0f: %s",
                                               -at, job->cost.delivery_s / TSIM_DAY_S, then)
                           : "bought machines would change nothing even if they came at once";
        break;
    }
    decision->flips[decision->n_flips++] = sentence;
    return TSIM_OK;
}

/* Says from which utilization on a machine that serves several runs pays. */
static void say_utilization(struct tsim_arena *arena, struct tsim_decision *decision) {
    const struct tsim_offer *choice = &decision->offers[0];
    double utilization = figure(choice, TSIM_OUTCOME_OWNED_UTILIZATION);
    char life[48];
    if (isnan(utilization))
        return;
    snprintf(life, sizeof life, "%.2g years", job_of(choice)->cost.lifetime_s / TSIM_YEAR_S);
    decision->flips[decision->n_flips++] =
        utilization <= 1
            ? tsim_arena_printf(arena,
                                "over %s such a cluster is cheaper to own than to rent if it is in use more "
                                "than %.0f %% of the time (without its facility)",
                                life, 100 * utilization)
            : tsim_arena_printf(
                  arena, "over %s such a cluster is cheaper to rent than to own however much it is in use", life);
}

static enum tsim_status find_flips(struct deciding *d) {
    struct tsim_arena *arena = d->arena;
    struct tsim_decision *decision = d->decision;
    const struct tsim_offer *choice = &decision->offers[0];
    bool is_bought = choice->purchase == TSIM_PURCHASE_BUY;
    decision->flips = TSIM_NEW_ARRAY(arena, MOST_FLIPS, const char *);
    TSIM_TRY(say_flip(d, CHANGE_RENT, is_bought ? 0.1 : 10));
    TSIM_TRY(say_flip(d, CHANGE_PURCHASE, is_bought ? 10 : 0.1));
    say_utilization(arena, decision);
    TSIM_TRY(say_flip(d, CHANGE_POWER, 10));
    TSIM_TRY(say_flip(d, CHANGE_FAILURES, 10));
    TSIM_TRY(say_flip(d, CHANGE_DELAY,
                      is_bought ? TSIM_YEAR_S / TSIM_DAY_S : -job_of(choice)->cost.delivery_s / TSIM_DAY_S));
    TSIM_TRY(say_flip(d, CHANGE_SLIP, 2));
    apply(decision, &TSIM_NO_CHANGES);
    return TSIM_OK;
}

/* ---- no goal met ---- */

/* Returns the offer with the least in nine cases of ten that keeps the other limit in the middle case, or whatever it
 * does with that one. */
static const struct tsim_offer *least_known(const struct tsim_decision *decision, enum limited which,
                                            bool keeps_other) {
    enum limited other = which == LIMITED_DAYS ? LIMITED_USD : LIMITED_DAYS;
    double other_limit = limit_of(&decision->job->goal, other);
    const struct tsim_offer *least = NULL;
    for (size_t i = 0; i < decision->n_offers; i++) {
        const struct tsim_offer *offer = &decision->offers[i];
        bool is_kept = !keeps_other || range_of(offer, other)->p50 <= other_limit;
        if (is_kept && (!least || range_of(offer, which)->p90 < range_of(least, which)->p90))
            least = offer;
    }
    return least;
}

/* Finds that offer and knows it by more than a bound; *least is NULL if there is none. */
static enum tsim_status find_least(struct deciding *d, enum limited which, bool keeps_other,
                                   const struct tsim_offer **least) {
    while ((*least = least_known(d->decision, which, keeps_other)) && is_bound(*least) && !d->decision->is_interrupted)
        TSIM_TRY(know(d, (*least)->plan));
    return TSIM_OK;
}

/* Says how far one limit would have to move while the other one stays; if that is not enough, how far this one has to
 * move if the other is given up. */
static enum tsim_status say_miss(struct deciding *d, enum limited which) {
    static const char *const WHAT[] = {"date that can be kept", "budget that suffices"},
                             *const KEEPS[] = {"within the budget ", "by that date "},
                             *const GIVES_UP[] = {"without a budget ", "without a date "},
                             *const FAILS[] = {"nothing keeps the budget", "nothing keeps the date"};
    struct tsim_arena *arena = d->arena;
    struct tsim_decision *decision = d->decision;
    const struct tsim_goal_spec *goal = &decision->job->goal;
    enum limited other = which == LIMITED_DAYS ? LIMITED_USD : LIMITED_DAYS;
    bool has_other = isfinite(limit_of(goal, other));
    const struct tsim_offer *offer, *least;
    TSIM_TRY(find_least(d, which, true, &offer));
    const char *before = has_other ? KEEPS[which] : "";
    bool fails = !offer;
    if (fails) {
        TSIM_TRY(find_least(d, which, false, &offer));
        before = tsim_arena_printf(arena, "%s; %s", FAILS[which], GIVES_UP[which]);
    }
    double amount = range_of(offer, which)->p90, ratio = amount / limit_of(goal, which);
    if (fails && ratio <= 1) { /* the other limit fails, whatever this one is */
        TSIM_TRY(find_least(d, other, false, &least));
        double middle = range_of(least, other)->p50;
        decision->misses[decision->n_misses++] =
            tsim_arena_printf(arena, "%s: the least is %s in the middle case (%s %s)", FAILS[which],
                              amount_text(arena, least, middle, other), TSIM_PURCHASE_WORDS[least->purchase],
                              tsim_offer_cluster(arena, least));
        return TSIM_OK;
    }
    if (ratio <= 1) /* another reason keeps its chance low */
        return TSIM_OK;
    decision->misses[decision->n_misses++] =
        tsim_arena_printf(arena, "%sthe %s is %s, %s (in nine cases of ten; %s %s)", before, WHAT[which],
                          amount_text(arena, offer, amount, which), over_text(arena, ratio, which),
                          TSIM_PURCHASE_WORDS[offer->purchase], tsim_offer_cluster(arena, offer));
    return TSIM_OK;
}

static enum tsim_status find_misses(struct deciding *d) {
    struct tsim_decision *decision = d->decision;
    decision->misses = TSIM_NEW_ARRAY(d->arena, MOST_MISSES, const char *);
    for (int which = LIMITED_DAYS; which <= LIMITED_USD; which++)
        if (isfinite(limit_of(&decision->job->goal, (enum limited)which)))
            TSIM_TRY(say_miss(d, (enum limited)which));
    return TSIM_OK;
}

/* ---- what is left out ---- */

/* Returns the least that the products of a run cost at the machine's peak; INFINITY if they would end after the
 * date. */
static double least_usd(const struct tsim_scenario *job) {
    const struct tsim_cost_spec *c = &job->cost;
    double accelerator_s = tsim_least_accelerator_s(job), reserved = reserved_usd_per_s(job),
           left_s = job->goal.deadline_s > 0 ? job->goal.deadline_s - c->delivery_s : (double)INFINITY;
    double usd = (double)INFINITY;
    if (c->rent_usd_per_s > 0)
        usd = c->rent_usd_per_s * accelerator_s;
    if (reserved > 0)
        usd = fmin(usd, reserved * accelerator_s);
    if (c->purchase_usd > 0 && left_s > 0)
        usd = fmin(usd, c->purchase_usd * fmax(1, accelerator_s / left_s));
    return usd;
}

/* Names the machines that cannot win, of which only the peak is known. */
static void say_dear(struct tsim_arena *arena, struct tsim_decision *decision) {
    const struct tsim_offer *best = &decision->offers[0];
    for (size_t i = 0; i < decision->n_machines; i++) {
        struct tsim_catalogue_machine *machine = &decision->machines[i];
        if (!machine->is_dear)
            continue;
        double usd = least_usd(machine->job);
        if (!isfinite(usd))
            machine->left_out = "it would come after the date";
        else
            machine->left_out = tsim_arena_printf(
                arena, "its products alone, at its peak all the time, cost %s%s", usd_text(arena, usd),
                usd < best->mean_usd ? "; it cannot be likelier to meet the goal than the choice"
                                     : tsim_arena_printf(arena, "; the choice is expected to cost %s in all",
                                                         usd_text(arena, best->mean_usd)));
    }
}

/* ---- the whole ---- */

/* Returns the tokens of the goal, or those to its loss. 0: it has neither. NAN, with an error: the loss is likelier
 * never reached. */
static double length_of(struct deciding *d, const struct tsim_scenario *job) {
    struct tsim_tokens_needed needed;
    if (!(job->goal.loss_nats > 0))
        return job->goal.tokens;
    needed = tsim_goal_tokens(job);
    if (isfinite(needed.middle))
        return fmin(needed.middle, MOST_TOKENS);
    double parameters = tsim_model_active_parameters(job->model);
    struct tsim_percentiles least = tsim_likely_loss(parameters, (double)INFINITY);
    char text[48];
    tsim_diag_hint(
        tsim_diags_error(
            d->diags, TSIM_ERR_SCHEMA, (struct tsim_place){.file = job->name}, "goal.loss",
            "a model of %s parameters is not expected to reach a loss of %.4g, however many tokens it sees",
            tsim_quantity_human(parameters, TSIM_COUNT, text, sizeof text), job->goal.loss_nats),
        "a larger model, or a loss well above %.3g (%.3g to %.3g), the least that scaling laws expect of this one",
        least.p50, least.p10, least.p90);
    return (double)NAN;
}

/* Tells what the goal lacks, before anything else is said of the scenario. */
static void check_goal(const struct tsim_scenario *job, struct tsim_diags *diags) {
    const struct tsim_goal_spec *goal = &job->goal;
    const struct tsim_place place = {.file = job->name};
    bool has_length = goal->tokens > 0 || goal->loss_nats > 0 || job->training.length_kind != TSIM_LENGTH_NONE;
    if (goal->tokens > 0 && job->model->kind != TSIM_MODEL_TRANSFORMER)
        tsim_diag_hint(
            tsim_diags_error(diags, TSIM_ERR_SCHEMA, place, "goal.tokens", "%s has no tokens", job->model->name),
            "a scenario with training.samples or training.epochs, and goal: {deadline: 30 days}");
    else if (!has_length)
        tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_SCHEMA, place, "goal.tokens", "the run has no length"),
                       job->model->kind == TSIM_MODEL_TRANSFORMER
                           ? "--tokens 2T, or goal: {tokens: 2 T}; or a loss: --loss 2.1"
                           : "--set training.samples='100 M', or training.epochs with data.samples");
    if (!(goal->deadline_s > 0) && !(goal->budget_usd > 0))
        tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_SCHEMA, place, "goal", "neither a date nor a budget is set"),
                       "--deadline '90 days' --budget '20 M USD', or one of them");
}

static enum tsim_status read_goal(struct deciding *d) {
    char tokens[48];
    const struct tsim_scenario *job;
    const struct tsim_decision_search *search = d->search;
    double length = 0;
    d->overrides = TSIM_NEW_ARRAY(d->arena, search->n_overrides + 2, struct tsim_override);
    for (size_t i = 0; i < search->n_overrides; i++)
        d->overrides[i] = search->overrides[i];
    d->n_overrides = search->n_overrides;
    struct tsim_diags first; /* reported again once the goal's length is known */
    tsim_diags_init(&first);
    if (tsim_scenario_load_job(d->arena, search->source, d->overrides, d->n_overrides, &job, &first) == TSIM_OK) {
        check_goal(job, d->diags);
        length = d->diags->n_errors > 0 ? 0 : length_of(d, job);
    }
    tsim_diags_release(&first);
    if (d->diags->n_errors > 0)
        return TSIM_ERR_SCHEMA;
    if (length > 0) {
        tsim_quantity_si(length, TSIM_COUNT, tokens, sizeof tokens);
        d->overrides[d->n_overrides++] = (struct tsim_override){"training.tokens", tsim_arena_strdup(d->arena, tokens)};
    }
    TSIM_TRY(tsim_scenario_load_job(d->arena, search->source, d->overrides, d->n_overrides, &job, d->diags));
    d->decision->job = job;
    if (job->goal.loss_nats > 0)
        d->decision->needed = tsim_goal_tokens(job);
    d->is_screened = job->simulation.detail == TSIM_DETAIL_AUTO; /* hundreds of plans take half the time in this way */
    if (d->is_screened)
        d->overrides[d->n_overrides++] = (struct tsim_override){"simulation.detail", "passes"};
    return TSIM_OK;
}

/* Completes the decision, once offers are found. An interrupt ends what is under way, and what was found is shown. */
static enum tsim_status complete(struct deciding *d) {
    struct tsim_decision *decision = d->decision;
    TSIM_TRY(show_played(d));
    if (!decision->is_interrupted)
        say_dear(d->arena, decision);
    TSIM_TRY(find_rivals(d));
    TSIM_TRY(decision->is_met ? find_flips(d) : find_misses(d));
    drop_offers(d->arena, decision, true);
    return TSIM_OK;
}

enum tsim_status tsim_decide(struct tsim_arena *arena, const struct tsim_decision_search *search,
                             tsim_plan_report_fn report, void *context, struct tsim_decision *decision,
                             struct tsim_diags *diags) {
    struct deciding d = {
        .arena = arena, .search = search, .report = report, .context = context, .decision = decision, .diags = diags};
    *decision = (struct tsim_decision){.n_offers = 0};
    TSIM_TRY(read_goal(&d));
    decision->overrides = d.overrides;
    decision->n_overrides = d.n_overrides;
    TSIM_TRY(search->axes ? search_space(&d, search->axes) : search_catalogue(&d));
    if (decision->n_offers == 0)
        return TSIM_OK;
    sigset_t before;
    d.heeds = search->heeds_interrupt && !decision->is_interrupted; /* else they are blocked already */
    if (d.heeds) {
        tsim_interrupts_block(&before);
        tsim_stop_set(is_asked_to_end, NULL);
    }
    enum tsim_status status = complete(&d);
    tsim_stop_set(NULL, NULL);
    decision->is_interrupted |= d.heeds && tsim_is_interrupted();
    if (d.heeds && !decision->is_interrupted)
        tsim_interrupts_restore(&before);
    return status;
}
