#include "study/judge/offer_words.h"

#include "results/format.h"
#include "study/search/buy_judgements.h"

#include <math.h>
#include <string.h>

/* Rounds a sum to two digits, which is the most that is known, because prices spread. */
static double two_digits(double value) {
    double unit = value > 0 ? pow(10, floor(log10(value)) - 1) : 1;
    return unit * floor(value / unit + 0.5);
}

const char *tsim_offer_usd_text(struct tsim_arena *arena, double usd) {
    char text[64];
    const struct tsim_percentiles range = {0.9 * usd, usd, 1.1 * usd}; /* supports two digits */
    return tsim_arena_strdup(arena, tsim_supported_text(&range, usd, "USD", text, sizeof text));
}

const char *tsim_percent_above(struct tsim_arena *arena, double ratio) {
    return tsim_arena_printf(arena, ratio < 1.01 ? "%.1f %%" : "%.0f %%", 100 * (ratio - 1));
}

const char *tsim_ratio_text(struct tsim_arena *arena, double ratio, const char *more, const char *much) {
    if (ratio < 2)
        return tsim_arena_printf(arena, "%s %s", tsim_percent_above(arena, ratio), more);
    char times[96];
    return ratio < 100 ? tsim_arena_printf(arena, "%.2g times as %s", ratio, much)
                       : tsim_arena_printf(arena, "%s times as %s",
                                           tsim_count_text(two_digits(ratio), times, sizeof times), much);
}

const char *tsim_over_limit_text(struct tsim_arena *arena, double ratio, enum tsim_limit_kind which) {
    return which == TSIM_LIMIT_DAYS ? tsim_ratio_text(arena, ratio, "later", "late")
                                    : tsim_ratio_text(arena, ratio, "more", "much");
}

const char *tsim_offer_amount_text(struct tsim_arena *arena, const struct tsim_offer *offer, double amount,
                                   enum tsim_limit_kind which) {
    char text[64];
    const struct tsim_percentiles *range = tsim_offer_range(offer, which);
    return tsim_arena_strdup(arena, which == TSIM_LIMIT_DAYS
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

const char *tsim_offer_why_not(struct tsim_arena *arena, const struct tsim_offer *best, const struct tsim_offer *other,
                               enum tsim_decision_objective objective) {
    const struct tsim_goal_spec *goal = &tsim_offer_job(best)->goal;
    if (other->chance_of_both < best->chance_of_both) {
        double most = tsim_most_chance(other->evidence);
        if (most < tsim_most_chance(best->evidence) && !(other->chance_in_time < most) &&
            !(other->chance_in_budget < most))
            return tsim_arena_printf(
                arena, "no chance above %s is claimed for it, because too few runs like it were measured%s",
                tsim_chance_text(arena, most), gains_text(arena, best, other));
        bool is_late = goal->deadline_s > 0 && !(other->chance_in_time > other->chance_in_budget);
        enum tsim_limit_kind which = is_late ? TSIM_LIMIT_DAYS : TSIM_LIMIT_USD;
        const struct tsim_percentiles *range = tsim_offer_range(other, which);
        bool is_rare = range->p50 <= tsim_goal_limit(goal, which); /* the middle case keeps it */
        const char *what = tsim_arena_printf(
            arena, "in %s it %s %s%s", is_rare ? "one case of ten" : "the middle case", is_late ? "takes" : "costs",
            tsim_offer_amount_text(arena, other, is_rare ? range->p90 : range->p50, which),
            is_late && other->delivery_days > 0 ? ", delivery included" : "");
        const char *gains = other->chance_of_both >= TSIM_CHANCE_LIKELY ? gains_text(arena, best, other) : "";
        return tsim_arena_printf(arena, "its chance of the goal is %s, against %s: %s%s",
                                 tsim_chance_text(arena, other->chance_of_both),
                                 tsim_chance_text(arena, best->chance_of_both), what, gains);
    }
    if (best->chance_of_both < TSIM_CHANCE_LIKELY &&
        tsim_offer_miss_ratio(goal, other) > tsim_offer_miss_ratio(goal, best)) {
        double late = other->days.p50 / tsim_goal_limit(goal, TSIM_LIMIT_DAYS);
        enum tsim_limit_kind which =
            late >= other->cost_usd.p50 / tsim_goal_limit(goal, TSIM_LIMIT_USD) ? TSIM_LIMIT_DAYS : TSIM_LIMIT_USD;
        double amount = tsim_offer_range(other, which)->p50, bests = tsim_offer_range(best, which)->p50;
        const char *its = tsim_offer_amount_text(arena, other, amount, which),
                   *the_bests = tsim_offer_amount_text(arena, best, bests, which);
        if (amount < LITTLE_MORE * bests)
            return tsim_arena_printf(arena, "it misses by a little more: in the middle case %s", its);
        return strcmp(its, the_bests) == 0 /* the digits that ranges support do not tell one from the other */
                   ? tsim_arena_printf(arena, "it misses by more: in the middle case it %s %s",
                                       which == TSIM_LIMIT_DAYS ? "ends" : "costs",
                                       tsim_over_limit_text(arena, amount / bests, which))
                   : tsim_arena_printf(arena, "it misses by more: in the middle case %s, against %s", its, the_bests);
    }
    if (objective == TSIM_DECIDE_BY_ENERGY)
        return tsim_arena_printf(arena, "it needs %.0f %% more energy",
                                 100 * (other->energy_kwh.p50 / best->energy_kwh.p50 - 1));
    if (objective == TSIM_DECIDE_BY_DAYS)
        return tsim_arena_printf(arena, "it ends %s",
                                 tsim_over_limit_text(arena, other->days.p50 / best->days.p50, TSIM_LIMIT_DAYS));
    return tsim_arena_printf(arena, "it is as likely to meet the goal and is expected to cost %s%s",
                             tsim_over_limit_text(arena, other->mean_usd / best->mean_usd, TSIM_LIMIT_USD),
                             gains_text(arena, best, other));
}

const char *tsim_offer_contract_text(struct tsim_arena *arena, const struct tsim_offer *offer) {
    double least_s = tsim_offer_job(offer)->cost.commitment_s;
    char text[48];
    return offer->purchase == TSIM_PURCHASE_RESERVE && least_s > offer->days.p90 * TSIM_DAY_S
               ? tsim_arena_printf(arena, "; the contract is paid for %s, however short the run is",
                                   tsim_quantity_human(least_s, TSIM_TIME_S, text, sizeof text))
               : "";
}

const char *tsim_offer_text(struct tsim_arena *arena, const struct tsim_offer *other) {
    return other ? tsim_arena_printf(arena, "%s %s", TSIM_PURCHASE_WORDS[other->purchase],
                                     tsim_offer_cluster(arena, other))
                 : "no candidate meets the goal any more";
}
