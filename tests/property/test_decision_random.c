/* Laws of what to buy, over random goals among a few clusters: the first offer is not dominated by any other in chance, cost
 * and days; chances do not fall as the budget or the time grow; the same bytes come from one thread and from three. Prints its
 * seed (another one: TSIM_SEED in the environment); TSIM_CASES says how many goals are drawn, one for two hundred of them (1). */
#include "report/terminal/decision_output.h"
#include "support/arena_rig.h"
#include "support/random.h"

#include <math.h>

enum { N_GOALS = 1, CASES_A_GOAL = 120 };
#define SEED 20261124u

static const char TEXT[] =
    "schema: tsim/v1\nname: job\nmodel: llama-7b\ncluster: {node: dgx-h100, nodes: 2, fabric: ib-ndr}\n"
    "training: {global_batch_size: 1152, tokens: 100 G}\nreliability: {}\n";

struct goal {
    double deadline_days, budget_usd; /* 0: none */
};

static struct tsim_decision decide(const struct goal *goal, int32_t n_threads) {
    static const char *const VARY[] = {"cluster.nodes=2,4,8", "cluster.node=dgx-h100,dgx-b200"};
    const char *vary[] = {VARY[0], VARY[1]};
    const struct tsim_space_words words = {.vary = vary, .n_vary = 2};
    struct tsim_override overrides[2];
    struct tsim_scenario_source source;
    struct tsim_space space;
    struct tsim_decision decision;
    size_t n = 0;
    ck_assert_int_eq(tsim_scenario_open_text(&arena, "job", TEXT, &source, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_space_read(&arena, NULL, &words, &space, &diags), TSIM_OK);
    if (goal->deadline_days > 0)
        overrides[n++] =
            (struct tsim_override){"goal.deadline", tsim_arena_printf(&arena, "%.17g d", goal->deadline_days)};
    if (goal->budget_usd > 0)
        overrides[n++] =
            (struct tsim_override){"goal.budget", tsim_arena_printf(&arena, "%.17g USD", goal->budget_usd)};
    const struct tsim_decision_search search = {
        .source = &source, .overrides = overrides, .n_overrides = n, .axes = &space, .n_threads = n_threads};
    ck_assert_int_eq(tsim_decide(&arena, &search, NULL, NULL, &decision, &diags), TSIM_OK);
    ck_assert_uint_gt(decision.n_offers, 1);
    return decision;
}

/* From hopeless to easy: about a day to ten on these clusters, and 10 to 40 k USD. */
static struct goal random_goal(struct random_source *random) {
    struct goal goal = {exp(random_between(random, 0, 100) * 0.046 - 1),
                        exp(random_between(random, 0, 100) * 0.046 + 8)};
    int64_t left_out = random_between(random, 0, 3);
    if (left_out == 0)
        goal.deadline_days = 0;
    if (left_out == 1)
        goal.budget_usd = 0;
    return goal;
}

static void check_not_dominated(const struct tsim_decision *decision, int number) {
    const struct tsim_offer *best = &decision->offers[0];
    for (size_t i = 1; i < decision->n_offers; i++) {
        const struct tsim_offer *other = &decision->offers[i];
        bool is_as_good = other->chance_of_both >= best->chance_of_both && other->mean_usd <= best->mean_usd &&
                          other->days.p50 <= best->days.p50 && other->cost_usd.p50 <= best->cost_usd.p50;
        bool is_better = other->chance_of_both > best->chance_of_both || other->mean_usd < best->mean_usd ||
                         other->days.p50 < best->days.p50;
        ck_assert_msg(!(is_as_good && is_better),
                      "goal %d: offer %zu, chance %g, %g USD, %g days; the first %g, %g, %g", number, i,
                      other->chance_of_both, other->mean_usd, other->days.p50, best->chance_of_both, best->mean_usd,
                      best->days.p50);
    }
}

/* The chances of one plan and way: every offer of the one decision is among those of the other. */
static void check_monotone(const struct tsim_decision *less, const struct tsim_decision *more, int number) {
    ck_assert_uint_eq(less->n_offers, more->n_offers);
    ck_assert_msg(more->offers[0].chance_of_both >= less->offers[0].chance_of_both, "goal %d: %g, with more %g", number,
                  less->offers[0].chance_of_both, more->offers[0].chance_of_both);
    for (size_t i = 0; i < less->n_offers; i++) {
        const struct tsim_offer *offer = &less->offers[i], *same = NULL;
        for (size_t k = 0; k < more->n_offers && !same; k++)
            if (more->offers[k].purchase == offer->purchase &&
                more->offers[k].plan->candidate->first_position == offer->plan->candidate->first_position)
                same = &more->offers[k];
        ck_assert_ptr_nonnull(same);
        ck_assert_msg(same->chance_of_both >= offer->chance_of_both, "goal %d, offer %zu: %g, with more %g", number, i,
                      offer->chance_of_both, same->chance_of_both);
    }
}

static const char *bytes(const struct tsim_decision *decision) {
    struct tsim_json *json = tsim_decision_json(&arena, decision, TSIM_DECIDE_BY_CHANCE);
    const char *text = tsim_json_value_text(&arena, json);
    tsim_json_release(json);
    return text;
}

START_TEST(laws_hold) {
    struct random_source random = random_start(SEED);
    for (int i = 0; i < random_cases(N_GOALS * CASES_A_GOAL) / CASES_A_GOAL; i++) {
        struct goal goal = random_goal(&random), later = goal, richer = goal;
        struct tsim_decision decision = decide(&goal, 1);
        check_not_dominated(&decision, i);
        ck_assert_int_eq(decision.is_met, decision.offers[0].chance_of_both >= 0.5);
        struct tsim_decision with_threads = decide(&goal, 3);
        ck_assert_str_eq(bytes(&decision), bytes(&with_threads));
        later.deadline_days *= 1.4;
        richer.budget_usd *= 1.4;
        struct tsim_decision with_time = decide(&later, 2), with_money = decide(&richer, 2);
        check_monotone(&decision, &with_time, i);
        check_monotone(&decision, &with_money, i);
        tsim_diags_release(&diags);
        tsim_diags_init(&diags);
        tsim_arena_reset(&arena);
    }
}
END_TEST

static Suite *decision_random_suite(void) {
    Suite *suite = suite_create("decision_random");
    TCase *tests = tcase_create("laws");
    tcase_set_timeout(tests, 0);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, laws_hold);
    suite_add_tcase(suite, tests);
    return suite;
}

TSIM_TEST_MAIN(decision_random_suite)
