#include "study/judge/deciding.h"

#include "base/quantile.h"
#include "base/stop.h"
#include "config/catalogue_load.h"
#include "model/executed.h"
#include "model/model.h"
#include "results/format.h"
#include "run/run.h"
#include "study/interrupt.h"
#include "study/judge/forecast.h"
#include "study/judge/offer_words.h"
#include "study/search/buy_judgements.h"

#include <math.h>
#include <string.h>

enum {
    MOST_REFINED = 3,
    MOST_MACHINES = 4, /* that are shown beside the choice's */
    MOST_SIZES = 64
};

#define MOST_TOKENS 1e17 /* the most that goal.tokens may be */

static void add_offers(struct tsim_decision *decision, const struct tsim_plan *plan) {
    for (int purchase = 0; purchase < TSIM_N_PURCHASES; purchase++)
        decision->n_offers +=
            tsim_offer_make(plan, (enum tsim_purchase)purchase, &decision->offers[decision->n_offers]);
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

/* The offers that were shown, best first, and what they were shown for. */
struct showing {
    const struct tsim_offer *machines[MOST_MACHINES + 1]; /* the first of each; the best offer's is one of them */
    size_t n_machines;
    bool has_purchase[TSIM_N_PURCHASES], has_size;
};

static bool is_another_size(const struct showing *s, const struct tsim_offer *offer) {
    return s->n_machines > 0 && tsim_offers_share_node(offer, s->machines[0]) &&
           offer->purchase == s->machines[0]->purchase;
}

static bool has_machine(const struct showing *s, const struct tsim_offer *offer) {
    for (size_t i = 0; i < s->n_machines; i++)
        if (tsim_offers_share_node(s->machines[i], offer))
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

/* A look at offers, best first, for those of which only a bound is known and which have to be known better: they would
 * be shown, or are of one of the best machines, whose predictions say how many of them to try. */
struct looking {
    struct showing shown;
    const struct tsim_offer *machines[MOST_REFINED];
    size_t n_machines, at;
};

static bool is_of_best_machines(struct looking *l, const struct tsim_offer *offer) {
    for (size_t i = 0; i < l->n_machines; i++)
        if (tsim_offers_share_node(l->machines[i], offer))
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
        if ((is_best || is_shown) && tsim_offer_is_bound(offer))
            return offer;
    }
    return NULL;
}

/* Chooses the candidates of a search that have to be known better, given the offers so far. */
static bool choose(void *context, const struct tsim_plan *own, bool *is_chosen) {
    struct tsim_deciding *d = context;
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
static enum tsim_status take_offers(struct tsim_deciding *d, const struct tsim_plan_space *space,
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

/* Drops the offers of which only a bound is known (if `all_bounds`), and those that never end. */
static void drop_offers(struct tsim_arena *arena, struct tsim_decision *decision, bool all_bounds) {
    struct tsim_offer *offers = TSIM_NEW_ARRAY(arena, decision->n_offers, struct tsim_offer);
    size_t n = 0;
    for (size_t i = 0; i < decision->n_offers; i++)
        if (isfinite(decision->offers[i].days.p50) && !(all_bounds && tsim_offer_is_bound(&decision->offers[i])))
            offers[n++] = decision->offers[i];
    decision->offers = offers; /* others point to the offers as they were */
    decision->n_offers = n;
}

/* Sees to it that all offers that have to be known are known. An interrupt leaves those that are. */
static enum tsim_status know_needed(struct tsim_deciding *d) {
    struct looking looking = {.at = 0};
    const struct tsim_offer *offer;
    while (!d->decision->is_interrupted && (offer = next_needed(&looking, d->decision))) {
        TSIM_TRY(tsim_deciding_know(d, offer->plan));
        drop_offers(d->arena, d->decision, false);
        rank(d->decision, d->search->objective);
        looking = (struct looking){.at = 0};
    }
    if (d->decision->is_interrupted)
        drop_offers(d->arena, d->decision, true);
    return TSIM_OK;
}

static enum tsim_status search_space(struct tsim_deciding *d, const struct tsim_space *axes) {
    struct tsim_plan_space *space = TSIM_NEW(d->arena, struct tsim_plan_space);
    struct tsim_plan_result *result = TSIM_NEW(d->arena, struct tsim_plan_result);
    struct tsim_plan_search search = tsim_deciding_search(d, space);
    search.is_exhaustive = d->search->is_exhaustive;
    search.choose_context = d;
    struct tsim_space *priced = TSIM_NEW(d->arena, struct tsim_space);
    tsim_space_of_machines(d->arena, d->search->source, d->overrides, d->n_overrides, d->search->has_fabrics, axes,
                           priced);
    axes = priced;
    enum tsim_status status = tsim_plan_space_read(d->arena, d->search->source, d->overrides, d->n_overrides, axes,
                                                   TSIM_PLAN_COARSE, space, d->search->axes ? d->diags : TSIM_UNHEARD);
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
        if (strcmp(decision->machines[i].node, tsim_offer_job(offer)->cluster.node->name) == 0)
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
                            : purchase == TSIM_PURCHASE_RESERVE ? tsim_reserved_usd_per_s(job)
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
static void add_first(struct tsim_deciding *d, struct sizes *sizes, const struct tsim_catalogue_machine *machine) {
    if (!tsim_override_of(d->overrides, d->n_overrides, "cluster.nodes"))
        add_size(sizes->list, &sizes->n, machine,
                 tsim_nodes_for(machine, TSIM_FIRST_DATE_FRAC * days_to_fill(d->decision)));
    else if (sizes->n < MOST_SIZES)
        sizes->list[sizes->n++] = (struct tsim_cluster_size){machine, d->decision->job->cluster.nodes};
}

/* Searches the sizes that have been added since. */
static enum tsim_status search_sizes(struct tsim_deciding *d, struct sizes *sizes) {
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
static enum tsim_status search_halves(struct tsim_deciding *d, struct sizes *sizes) {
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
static enum tsim_status refine_sizes(struct tsim_deciding *d, struct sizes *sizes, size_t most_machines) {
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
        double least =
            (double)tsim_offer_job(offer)->cluster.nodes * (offer->days.p90 - offer->delivery_days) / left_days;
        double nodes = (double)tsim_round_nodes(machine->job, fmin(least, TSIM_MOST_BOUGHT_ACCELERATORS));
        add_size(sizes->list, &sizes->n, machine, nodes);
        add_size(sizes->list, &sizes->n, machine, nodes + 1);
        if (is_first &&
            d->search->objective == TSIM_DECIDE_BY_DAYS) { /* more nodes finish sooner, as far as the money goes */
            double own_nodes = (double)tsim_offer_job(offer)->cluster.nodes;
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
static enum tsim_status refine(struct tsim_deciding *d, struct sizes *sizes) {
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
static enum tsim_status search_dear(struct tsim_deciding *d, struct sizes *sizes) {
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
static enum tsim_status no_machine(struct tsim_deciding *d) {
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
static enum tsim_status search_catalogue(struct tsim_deciding *d) {
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
            offer, decision->is_met || offer != best
                       ? tsim_arena_printf(arena, "%s%s", tsim_offer_why_not(arena, best, offer, objective),
                                           tsim_offer_contract_text(arena, offer))
                       : "it comes nearest to the goal, but is more likely to miss it than to meet it"};
    }
}

/* ---- as `tsim run` plays it ---- */

/* Plays a plan, which replaces the screened one in all its offers. */
static void play_offers(struct tsim_deciding *d, const struct tsim_plan *screened) {
    const struct tsim_plan *plan = tsim_deciding_play(d, screened, TSIM_DETAIL_OPERATORS, 1);
    for (size_t i = 0; i < d->decision->n_offers; i++) {
        struct tsim_offer *offer = &d->decision->offers[i], anew;
        if (offer->plan != screened)
            continue;
        if (plan && tsim_offer_make(plan, offer->purchase, &anew))
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
static enum tsim_status show_played(struct tsim_deciding *d) {
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
static double step_on(struct tsim_deciding *d, const struct tsim_offer *choice, const struct tsim_fabric *fabric) {
    const struct tsim_scenario *scenario;
    struct tsim_result *result = TSIM_NEW(d->arena, struct tsim_result);
    if (!tsim_scenario_replan(d->arena, tsim_offer_job(choice), &choice->plan->choice, &scenario) ||
        (fabric->routing == TSIM_ROUTING_ECMP && fabric->topology == TSIM_TOPOLOGY_FAT_TREE &&
         scenario->n_accelerators > MOST_HASHED))
        return (double)NAN;
    struct tsim_scenario on_fabric = *scenario;
    on_fabric.cluster.fabric = fabric;
    on_fabric.simulation.detail = TSIM_DETAIL_OPERATORS;
    const struct tsim_run_options options = {.is_brief = true, .is_step = true};
    enum tsim_status status =
        tsim_train_run(d->arena, &on_fabric, &options, result, TSIM_UNHEARD); /* the NAN says it */
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

static struct tsim_priced_network network_of(struct tsim_deciding *d, const struct tsim_offer *offer,
                                             const struct tsim_fabric *fabric) {
    struct tsim_priced_network network = {
        .bill = tsim_network_bill(fabric, tsim_offer_nodes(offer) * (double)tsim_offer_job(offer)->cluster.node->nics)};
    const struct tsim_catalogue_entry *entries = NULL;
    size_t n = 0;
    if (tsim_catalogue_describe(d->arena, TSIM_CATALOGUE_FABRICS, fabric->name, &entries, &n, TSIM_UNHEARD) != TSIM_OK)
        n = 0; /* a fabric of the user's own has no entries */
    struct tsim_catalogue_entry a_switch = entry_of(entries, n, "switch_price", fabric->switch_usd),
                                a_link = entry_of(entries, n, "link_price", fabric->link_usd);
    network.low_usd = network.bill.switches * a_switch.interval[0] + network.bill.links * a_link.interval[0];
    network.high_usd = network.bill.switches * a_switch.interval[1] + network.bill.links * a_link.interval[1];
    network.status = a_switch.status;
    network.source = a_switch.source;
    return network;
}

static enum tsim_status find_rivals(struct tsim_deciding *d) {
    struct tsim_decision *decision = d->decision;
    const struct tsim_offer *choice = &decision->offers[0];
    const struct tsim_cluster_spec *cluster = &tsim_offer_job(choice)->cluster;
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

/* ---- what is left out ---- */

/* Returns the least that the products of a run cost at the machine's peak; INFINITY if they would end after the
 * date. */
static double least_usd(const struct tsim_scenario *job) {
    const struct tsim_cost_spec *c = &job->cost;
    double accelerator_s = tsim_least_accelerator_s(job), reserved = tsim_reserved_usd_per_s(job),
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
                arena, "its products alone, at its peak all the time, cost %s%s", tsim_offer_usd_text(arena, usd),
                usd < best->mean_usd ? "; it cannot be likelier to meet the goal than the choice"
                                     : tsim_arena_printf(arena, "; the choice is expected to cost %s in all",
                                                         tsim_offer_usd_text(arena, best->mean_usd)));
    }
}

/* ---- the whole ---- */

/* Returns the tokens of the goal, or those to its loss. 0: it has neither. NAN, with an error: the loss is likelier
 * never reached. */
static double length_of(struct tsim_deciding *d, const struct tsim_scenario *job) {
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

static enum tsim_status read_goal(struct tsim_deciding *d) {
    char tokens[48];
    const struct tsim_scenario *job;
    const struct tsim_decision_search *search = d->search;
    double length = 0;
    d->overrides = TSIM_NEW_ARRAY(d->arena, search->n_overrides + 2, struct tsim_override);
    for (size_t i = 0; i < search->n_overrides; i++)
        d->overrides[i] = search->overrides[i];
    d->n_overrides = search->n_overrides;
    /* Mistakes are reported again once the goal's length is known. */
    if (tsim_scenario_load_job(d->arena, search->source, d->overrides, d->n_overrides, &job, TSIM_UNHEARD) == TSIM_OK) {
        check_goal(job, d->diags);
        length = d->diags->n_errors > 0 ? 0 : length_of(d, job);
    }
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
static enum tsim_status complete(struct tsim_deciding *d) {
    struct tsim_decision *decision = d->decision;
    TSIM_TRY(show_played(d));
    if (!decision->is_interrupted)
        say_dear(d->arena, decision);
    TSIM_TRY(find_rivals(d));
    TSIM_TRY(decision->is_met ? tsim_find_flips(d) : tsim_find_misses(d));
    drop_offers(d->arena, decision, true);
    return TSIM_OK;
}

enum tsim_status tsim_decide(struct tsim_arena *arena, const struct tsim_decision_search *search,
                             tsim_plan_report_fn report, void *context, struct tsim_decision *decision,
                             struct tsim_diags *diags) {
    struct tsim_deciding d = {
        .arena = arena, .search = search, .report = report, .context = context, .decision = decision, .diags = diags};
    *decision = (struct tsim_decision){.n_offers = 0};
    TSIM_TRY(read_goal(&d));
    decision->overrides = d.overrides;
    decision->n_overrides = d.n_overrides;
    sigset_t before;
    if (search->heeds_interrupt)
        tsim_interrupts_block(&before); /* until all is said: searches look for them, and so does what completes them */
    enum tsim_status status = search->axes ? search_space(&d, search->axes) : search_catalogue(&d);
    decision->is_interrupted |= search->heeds_interrupt && tsim_is_interrupted();
    if (status == TSIM_OK && decision->n_offers > 0) {
        d.heeds = search->heeds_interrupt && !decision->is_interrupted;
        if (d.heeds)
            tsim_deciding_heed();
        status = complete(&d);
        tsim_stop_set(NULL, NULL);
        decision->is_interrupted |= d.heeds && tsim_is_interrupted();
    }
    if (search->heeds_interrupt && !decision->is_interrupted)
        tsim_interrupts_restore(&before);
    return status;
}
