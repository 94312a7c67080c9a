/* Finds what would change a decision, and how far its goal is missed if nothing meets it. */
#include "results/format.h"
#include "study/judge/deciding.h"
#include "study/judge/offer_words.h"
#include "study/search/buy_judgements.h"

#include <math.h>

enum { MOST_FLIPS = 8, MOST_MISSES = 4, SCAN_STEPS = 24, HALVINGS = 12 };

#define LEAST_FLIP_FRAC 0.01 /* a break-even that moves by less has been found */

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
    bool is_same_kind = tsim_offers_share_node(best, choice) && best->purchase == choice->purchase;
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
static enum tsim_status find_flip(struct tsim_deciding *d, enum change which, double from, double to, double *at,
                                  const struct tsim_offer **other) {
    for (;;) {
        *other = NULL;
        *at = flip_at(d->decision, d->search->objective, which, from, to, other);
        if (!*other || !tsim_offer_is_bound(*other) || d->decision->is_interrupted)
            return TSIM_OK;
        apply(d->decision, &TSIM_NO_CHANGES);
        TSIM_TRY(tsim_deciding_know(d, (*other)->plan));
    }
}

/* Learns from a plan that is played with failures so many times as frequent what they cost of each case of its days:
 * checkpoints come closer, and failures may come before the ones before are mended. */
static void learn_failures(struct tsim_deciding *d, const struct tsim_offer *offer, double times) {
    const struct tsim_plan *plan = offer->plan, *failing;
    struct tsim_distribution *frac = TSIM_NEW(d->arena, struct tsim_distribution);
    enum tsim_detail detail =
        d->is_screened && !offer->is_screened ? TSIM_DETAIL_OPERATORS : tsim_offer_job(offer)->simulation.detail;
    failing = tsim_deciding_play(d, plan, detail, times);
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
static enum tsim_status find_failures_flip(struct tsim_deciding *d, double to, double *at,
                                           const struct tsim_offer **other) {
    enum { MOST_PLAYED = 4 };
    struct tsim_decision *decision = d->decision;
    double before = (double)NAN;
    for (int i = 0; i <= MOST_PLAYED; i++, before = *at) {
        TSIM_TRY(find_flip(d, CHANGE_FAILURES, 1, to, at, other));
        if (isnan(*at) || decision->is_interrupted || fabs(*at / before - 1) < LEAST_FLIP_FRAC ||
            !tsim_offer_job(&decision->offers[0])->reliability.has)
            break;
        learn_failures(d, &decision->offers[0], *at);
        if (*other)
            learn_failures(d, *other, *at);
    }
    return TSIM_OK;
}

static enum tsim_status say_flip(struct tsim_deciding *d, enum change which, double to) {
    struct tsim_arena *arena = d->arena;
    struct tsim_decision *decision = d->decision;
    const struct tsim_offer *choice = &decision->offers[0], *other = NULL;
    const struct tsim_scenario *job = tsim_offer_job(choice);
    double from = which == CHANGE_DELAY ? 0 : 1, at = (double)NAN;
    TSIM_TRY(which == CHANGE_FAILURES ? find_failures_flip(d, to, &at, &other)
                                      : find_flip(d, which, from, to, &at, &other));
    const char *then = tsim_offer_text(arena, other), *sentence = NULL;
    char now[48], value[48];
    bool has = !isnan(at);
    switch (which) {
    case CHANGE_RENT: {
        double rent = job->cost.rent_usd_per_s;
        bool is_reserved = choice->purchase == TSIM_PURCHASE_RESERVE;
        if (is_reserved)
            rent = choice->asked_usd_per_day / TSIM_DAY_S /
                   (tsim_offer_nodes(choice) * (double)job->cluster.accelerators_per_node);
        if (choice->purchase == TSIM_PURCHASE_BUY)
            sentence = has ? tsim_arena_printf(arena, "if all rents were %.0f %% lower: %s", 100 * (1 - at), then)
                           : "no fall of rents down to a tenth changes it";
        else
            sentence = has ? tsim_arena_printf(arena, "if all rents were %s (%s in place of %s): %s",
                                               tsim_ratio_text(arena, at, "higher", "high"),
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
                                         tsim_ratio_text(arena, at, "more expensive", "expensive"), then);
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
                                           tsim_ratio_text(arena, at, "more frequent", "frequent"), then)
                       : "failures up to ten times as frequent change nothing";
        break;
    case CHANGE_SLIP:
        sentence = has ? tsim_arena_printf(arena, "if %s were %s slower than predicted: %s",
                                           job->cluster.node->accelerator->name, tsim_percent_above(arena, at), then)
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
    double utilization = tsim_offer_figure(choice, TSIM_OUTCOME_OWNED_UTILIZATION);
    char life[48];
    if (isnan(utilization))
        return;
    snprintf(life, sizeof life, "%.2g years", tsim_offer_job(choice)->cost.lifetime_s / TSIM_YEAR_S);
    decision->flips[decision->n_flips++] =
        utilization <= 1
            ? tsim_arena_printf(arena,
                                "over %s such a cluster is cheaper to own than to rent if it is in use more "
                                "than %.0f %% of the time",
                                life, 100 * utilization)
            : tsim_arena_printf(
                  arena, "over %s such a cluster is cheaper to rent than to own however much it is in use", life);
}

enum tsim_status tsim_find_flips(struct tsim_deciding *d) {
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
                      is_bought ? TSIM_YEAR_S / TSIM_DAY_S : -tsim_offer_job(choice)->cost.delivery_s / TSIM_DAY_S));
    TSIM_TRY(say_flip(d, CHANGE_SLIP, 2));
    apply(decision, &TSIM_NO_CHANGES);
    return TSIM_OK;
}

/* ---- no goal met ---- */

/* Returns the offer with the least in nine cases of ten that keeps the other limit in the middle case, or whatever it
 * does with that one. */
static const struct tsim_offer *least_known(const struct tsim_decision *decision, enum tsim_limit_kind which,
                                            bool keeps_other) {
    enum tsim_limit_kind other = which == TSIM_LIMIT_DAYS ? TSIM_LIMIT_USD : TSIM_LIMIT_DAYS;
    double other_limit = tsim_goal_limit(&decision->job->goal, other);
    const struct tsim_offer *least = NULL;
    for (size_t i = 0; i < decision->n_offers; i++) {
        const struct tsim_offer *offer = &decision->offers[i];
        bool is_kept = !keeps_other || tsim_offer_range(offer, other)->p50 <= other_limit;
        if (is_kept && (!least || tsim_offer_range(offer, which)->p90 < tsim_offer_range(least, which)->p90))
            least = offer;
    }
    return least;
}

/* Finds that offer and knows it by more than a bound; *least is NULL if there is none. */
static enum tsim_status find_least(struct tsim_deciding *d, enum tsim_limit_kind which, bool keeps_other,
                                   const struct tsim_offer **least) {
    while ((*least = least_known(d->decision, which, keeps_other)) && tsim_offer_is_bound(*least) &&
           !d->decision->is_interrupted)
        TSIM_TRY(tsim_deciding_know(d, (*least)->plan));
    return TSIM_OK;
}

/* Says how far one limit would have to move while the other one stays; if that is not enough, how far this one has to
 * move if the other is given up. */
static enum tsim_status say_miss(struct tsim_deciding *d, enum tsim_limit_kind which) {
    static const char *const WHAT[] = {"date that can be kept", "budget that suffices"},
                             *const KEEPS[] = {"within the budget ", "by that date "},
                             *const GIVES_UP[] = {"without a budget ", "without a date "},
                             *const FAILS[] = {"nothing keeps the budget", "nothing keeps the date"};
    struct tsim_arena *arena = d->arena;
    struct tsim_decision *decision = d->decision;
    const struct tsim_goal_spec *goal = &decision->job->goal;
    enum tsim_limit_kind other = which == TSIM_LIMIT_DAYS ? TSIM_LIMIT_USD : TSIM_LIMIT_DAYS;
    bool has_other = isfinite(tsim_goal_limit(goal, other));
    const struct tsim_offer *offer, *least;
    TSIM_TRY(find_least(d, which, true, &offer));
    const char *before = has_other ? KEEPS[which] : "";
    bool fails = !offer;
    if (fails) {
        TSIM_TRY(find_least(d, which, false, &offer));
        before = tsim_arena_printf(arena, "%s; %s", FAILS[which], GIVES_UP[which]);
    }
    double amount = tsim_offer_range(offer, which)->p90, ratio = amount / tsim_goal_limit(goal, which);
    if (fails && ratio <= 1) { /* the other limit fails, whatever this one is */
        TSIM_TRY(find_least(d, other, false, &least));
        double middle = tsim_offer_range(least, other)->p50;
        decision->misses[decision->n_misses++] =
            tsim_arena_printf(arena, "%s: the least is %s in the middle case (%s %s)", FAILS[which],
                              tsim_offer_amount_text(arena, least, middle, other), TSIM_PURCHASE_WORDS[least->purchase],
                              tsim_offer_cluster(arena, least));
        return TSIM_OK;
    }
    if (ratio <= 1) /* another reason keeps its chance low */
        return TSIM_OK;
    decision->misses[decision->n_misses++] = tsim_arena_printf(
        arena, "%sthe %s is %s, %s (in nine cases of ten; %s %s)", before, WHAT[which],
        tsim_offer_amount_text(arena, offer, amount, which), tsim_over_limit_text(arena, ratio, which),
        TSIM_PURCHASE_WORDS[offer->purchase], tsim_offer_cluster(arena, offer));
    return TSIM_OK;
}

enum tsim_status tsim_find_misses(struct tsim_deciding *d) {
    struct tsim_decision *decision = d->decision;
    decision->misses = TSIM_NEW_ARRAY(d->arena, MOST_MISSES, const char *);
    for (int which = TSIM_LIMIT_DAYS; which <= TSIM_LIMIT_USD; which++)
        if (isfinite(tsim_goal_limit(&decision->job->goal, (enum tsim_limit_kind)which)))
            TSIM_TRY(say_miss(d, (enum tsim_limit_kind)which));
    return TSIM_OK;
}
