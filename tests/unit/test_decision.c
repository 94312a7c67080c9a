/* Offers: their cost, their chance of making the goal, and which of two is better. */
#include "study/judge/decision.h"
#include "support/arena_rig.h"

#include <math.h>

static struct tsim_scenario job;
static struct tsim_accelerator accelerator = {.name = "a"};
static struct tsim_node node = {.name = "n", .accelerator = &accelerator};
static struct tsim_plan_candidate candidate = {.job = &job};
static struct tsim_plan plan;

/* Returns an offer whose run takes `from` to `to` days, evenly, with prices within `spread`. */
static struct tsim_offer offer_of(double from, double to, double spread) {
    job = (struct tsim_scenario){.cost = {.price_spread = spread}};
    job.cluster.node = &node;
    plan = (struct tsim_plan){.candidate = &candidate};
    for (int i = 0; i < TSIM_DISTRIBUTION_POINTS; i++)
        plan.days_at.at[i] = from + (to - from) * (i + 0.5) / TSIM_DISTRIBUTION_POINTS;
    plan.days = tsim_points_percentiles(plan.days_at.at, TSIM_DISTRIBUTION_POINTS);
    return (struct tsim_offer){.plan = &plan, .purchase = TSIM_PURCHASE_RENT, .asked_usd_per_day = 100};
}

static void check_chances(struct tsim_offer *offer, double in_time, double in_budget, double of_both) {
    tsim_offer_evaluate(offer, &TSIM_NO_CHANGES);
    ck_assert_double_eq_tol(offer->chance_in_time, in_time, 1e-9);
    ck_assert_double_eq_tol(offer->chance_in_budget, in_budget, 1e-9);
    ck_assert_double_eq_tol(offer->chance_of_both, of_both, 1e-9);
}

/* The run takes ten days at 100 USD, each price within a factor of two in eight of ten cases: half of them cost 1,000
 * or less, nine in ten 2,000 or less. */
TSIM_TEST(prices_spread) {
    struct tsim_offer offer = offer_of(10, 10, 2);
    job.goal.budget_usd = 1000;
    tsim_offer_evaluate(&offer, &TSIM_NO_CHANGES);
    ck_assert_double_eq_tol(offer.chance_in_budget, 0.5, 1e-9);
    job.goal.budget_usd = 2000;
    tsim_offer_evaluate(&offer, &TSIM_NO_CHANGES);
    ck_assert_double_eq_tol(offer.chance_in_budget, 0.9, 1e-9);
    ck_assert_double_eq_tol(offer.cost_usd.p50, 1000, 30);
    ck_assert_double_eq_tol(offer.cost_usd.p90, 2000, 60);
    ck_assert(isnan(offer.chance_in_time));
}

/* A quarter of the cases, the longest, never reach the loss: they are neither in time nor in budget. */
TSIM_TEST(a_missed_loss_keeps_no_goal) {
    struct tsim_offer offer = offer_of(80, 120, 1);
    plan.missed_frac = 0.25;
    job.goal.deadline_s = 1000 * TSIM_DAY_S;
    job.goal.budget_usd = 1e6;
    check_chances(&offer, 0.75, 0.75, 0.75);
}

/* 80 to 120 days against 90: a quarter is in time. Date and budget of a run without spread depend on the same days. */
TSIM_TEST(both_goals_come_from_the_same_days) {
    struct tsim_offer offer = offer_of(80, 120, 1);
    job.goal.deadline_s = 90 * TSIM_DAY_S;
    job.goal.budget_usd = 11000;
    check_chances(&offer, 0.25, 0.75, 0.25);
    ck_assert_double_eq_tol(offer.mean_usd, 10000, 1e-6);
}

/* A contract of a year is paid for a year, a machine that comes after 30 days ends 30 days later, and electricity does
 * not spread with prices. */
TSIM_TEST(each_way_has_its_terms) {
    struct tsim_offer offer = offer_of(10, 10, 1);
    offer.purchase = TSIM_PURCHASE_RESERVE;
    offer.least_days = 365;
    tsim_offer_evaluate(&offer, &TSIM_NO_CHANGES);
    ck_assert_double_eq_tol(offer.mean_usd, 36500, 1e-6);
    offer = offer_of(10, 10, 1);
    offer.purchase = TSIM_PURCHASE_BUY;
    offer.asked_usd_per_day = 0;
    offer.asked_usd = 5000;
    offer.usd = 700;
    offer.usd_per_day = 1;
    offer.power_usd_per_day = 2;
    offer.delivery_days = 30;
    tsim_offer_evaluate(&offer, &TSIM_NO_CHANGES);
    ck_assert_double_eq_tol(offer.mean_usd, 5730, 1e-6);
    ck_assert_double_eq_tol(offer.days.p50, 40, 1e-9);
    struct tsim_changes dearer = TSIM_NO_CHANGES;
    dearer.power_price = 3;
    tsim_offer_evaluate(&offer, &dearer);
    ck_assert_double_eq_tol(offer.mean_usd, 5770, 1e-6);
}

/* A hundred days of 10 USD of electricity, whose price is within a factor of two in eight of ten cases, beside a
 * machine that costs nothing: nine in ten cost 2,000 or less. Prices of machines do not spread it. */
TSIM_TEST(electricity_spreads_what_is_bought) {
    struct tsim_offer offer = offer_of(100, 100, 3);
    offer.purchase = TSIM_PURCHASE_BUY;
    offer.asked_usd_per_day = 0;
    offer.power_usd_per_day = 10;
    job.energy.price_spread = 2;
    job.goal.budget_usd = 2000;
    tsim_offer_evaluate(&offer, &TSIM_NO_CHANGES);
    ck_assert_double_eq_tol(offer.cost_usd.p50, 1000, 30);
    ck_assert_double_eq_tol(offer.cost_usd.p90, 2000, 60);
    ck_assert_double_eq_tol(offer.chance_in_budget, 0.9, 1e-9);
    job.energy.price_spread = 1;
    tsim_offer_evaluate(&offer, &TSIM_NO_CHANGES);
    ck_assert_double_eq_tol(offer.cost_usd.p90, 1000, 1e-6);
}

/* Residuals tell nothing beyond nineteen in twenty, and machines that nobody measured less. */
TSIM_TEST(chances_are_coarse) {
    ck_assert_double_eq_tol(tsim_chance_shown(1, TSIM_GROUNDS_MEASURED), 0.95, 1e-12);
    ck_assert_double_eq_tol(tsim_chance_shown(0.93, TSIM_GROUNDS_MEASURED), 0.90, 1e-12);
    ck_assert_double_eq_tol(tsim_chance_shown(1, TSIM_GROUNDS_SIMILAR), 0.9, 1e-12);
    ck_assert_double_eq_tol(tsim_chance_shown(1, TSIM_GROUNDS_ESTIMATE), 0.8, 1e-12);
    ck_assert_double_eq_tol(tsim_chance_shown(0.64, TSIM_GROUNDS_MEASURED), 0.60, 1e-12);
    ck_assert_double_eq_tol(tsim_chance_shown(0.55, TSIM_GROUNDS_MEASURED), 0.55, 1e-12);
    ck_assert_double_eq_tol(tsim_chance_shown(0.01, TSIM_GROUNDS_MEASURED), 0, 1e-12);
}

/* Chance first, then cost, with or without a date; by cost or days among those likelier than not. */
TSIM_TEST(chance_goes_before_cost) {
    const struct tsim_goal_spec both = {.deadline_s = 1, .budget_usd = 1}, money = {.budget_usd = 1};
    struct tsim_offer sure = {.chance_of_both = 0.95, .mean_usd = 9, .days = {.p50 = 9}},
                      cheap = {.chance_of_both = 0.60, .mean_usd = 5, .days = {.p50 = 12}},
                      dear = {.chance_of_both = 0.95, .mean_usd = 10, .days = {.p50 = 7}},
                      hopeless = {.chance_of_both = 0.2, .mean_usd = 1, .days = {.p50 = 1}};
    ck_assert(tsim_offer_is_better(&both, TSIM_DECIDE_BY_CHANCE, &sure, &cheap));
    ck_assert(tsim_offer_is_better(&both, TSIM_DECIDE_BY_CHANCE, &sure, &dear));
    ck_assert(tsim_offer_is_better(&money, TSIM_DECIDE_BY_CHANCE, &sure, &dear));
    ck_assert(tsim_offer_is_better(&money, TSIM_DECIDE_BY_DAYS, &dear, &sure));
    ck_assert(tsim_offer_is_better(&both, TSIM_DECIDE_BY_COST, &cheap, &sure));
    ck_assert(tsim_offer_is_better(&both, TSIM_DECIDE_BY_COST, &sure, &hopeless));
    ck_assert(!tsim_offer_is_better(&both, TSIM_DECIDE_BY_CHANCE, &cheap, &sure));
}

/* A machine that nobody measured is certain of its days, by an interval that nothing stands behind, and half as dear.
 * One with measured runs keeps the goal in seventeen of twenty cases, by its wide interval. Ranked by chance it
 * wins. */
TSIM_TEST(a_narrow_interval_does_not_win) {
    struct tsim_offer wide = offer_of(70, 104, 1), narrow;
    wide.evidence = TSIM_GROUNDS_MEASURED;
    job.goal.deadline_s = 99 * TSIM_DAY_S;
    job.goal.budget_usd = 1e6;
    check_chances(&wide, 0.85, 0.95, 0.85);
    narrow = offer_of(50, 50, 1);
    narrow.evidence = TSIM_GROUNDS_ESTIMATE;
    job.goal.deadline_s = 99 * TSIM_DAY_S;
    job.goal.budget_usd = 1e6;
    check_chances(&narrow, 0.8, 0.8, 0.8);
    ck_assert(narrow.mean_usd < wide.mean_usd && narrow.days.p90 < wide.days.p10);
    ck_assert(tsim_offer_is_better(&job.goal, TSIM_DECIDE_BY_CHANCE, &wide, &narrow));
    ck_assert(!tsim_offer_is_better(&job.goal, TSIM_DECIDE_BY_CHANCE, &narrow, &wide));
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
