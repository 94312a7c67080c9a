/* Laws of what to buy, over random goals among a few clusters: the first offer is not dominated by any other in chance,
 * cost and days; chances do not fall as the budget or the time grow; the same bytes come from one thread and from
 * three. With TSIM_CASES also over the whole catalogue: the choice is what simulating every plan of every machine
 * finds. Prints its seed (another one: TSIM_SEED in the environment); TSIM_CASES says how many goals are drawn, one for
 * 120 of them (1). */
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

/* Draws a goal from hopeless to easy: about a day to ten on these clusters, and 10 to 40 k USD. */
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

TSIM_TEST(laws_hold) {
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

/* ---- the catalogue ---- */

/* A job that every plan of every machine can be simulated for: of a catalogue's model a few layers, or a small
 * mixture. */
static const char *const JOBS[] = {
    "model: {extends: llama2-7b, layers: 2}\ntraining: {global_batch_size: 64, tokens: 100 G}\n",
    "model: {extends: mixtral-8x7b, layers: 2}\ntraining: {global_batch_size: 32, sequence_length: 2048, tokens: 60 "
    "G}\n",
    "model: {extends: gpt2-xl, layers: 4}\ntraining: {global_batch_size: 96, tokens: 200 G}\nreliability: {}\n",
    "model: {extends: llama2-7b, layers: 4}\ntraining: {global_batch_size: 64, adapter: {kind: lora, rank: 16}, "
    "tokens: 200 G}\n"};
enum { N_JOBS = sizeof JOBS / sizeof JOBS[0], CASES_A_CATALOGUE = 60 };

static struct tsim_decision decide_catalogue(const char *job, const struct goal *goal, const char *nodes,
                                             enum tsim_decision_objective objective, bool is_exhaustive) {
    struct tsim_scenario_source source;
    struct tsim_decision decision;
    struct tsim_override overrides[3];
    size_t n = 0;
    const char *text = tsim_arena_printf(
        &arena, "schema: tsim/v1\nname: job\ncluster: {node: dgx-h100, nodes: 2, fabric: ib-ndr}\n%sgoal: {%s}\n", job,
        goal->deadline_days > 0 && goal->budget_usd > 0
            ? tsim_arena_printf(&arena, "deadline: %.9g d, budget: %.9g USD", goal->deadline_days, goal->budget_usd)
        : goal->deadline_days > 0 ? tsim_arena_printf(&arena, "deadline: %.9g d", goal->deadline_days)
                                  : tsim_arena_printf(&arena, "budget: %.9g USD", goal->budget_usd));
    ck_assert_int_eq(tsim_scenario_open_text(&arena, "job", text, &source, &diags), TSIM_OK);
    if (nodes)
        overrides[n++] = (struct tsim_override){"cluster.nodes", nodes, NULL};
    const struct tsim_decision_search search = {.source = &source,
                                                .overrides = overrides,
                                                .n_overrides = n,
                                                .has_fabrics = true,
                                                .objective = objective,
                                                .n_threads = 2,
                                                .is_exhaustive = is_exhaustive};
    enum tsim_status status = tsim_decide(&arena, &search, NULL, NULL, &decision, &diags);
    ck_assert_msg(status == TSIM_OK, "%s", diags.n_items > 0 ? diags.items[0].message : "no reason");
    ck_assert_uint_gt(decision.n_offers, 0);
    return decision;
}

static size_t n_left_out(const struct tsim_decision *decision) {
    size_t n = 0;
    for (size_t i = 0; i < decision->n_machines; i++)
        n += decision->machines[i].is_dear;
    return n;
}

/* The choice is the one among the plans of all machines, each of them simulated: no machine that is left out for its
 * peak would win, and no plan that a bound excludes. */
TSIM_TEST(the_search_finds_what_simulating_every_plan_finds) {
    if (!getenv("TSIM_CASES"))
        return;
    struct random_source random = random_start(SEED);
    size_t left_out = 0;
    int64_t n_pruned = 0;
    long n_cases = random_cases(CASES_A_CATALOGUE) / CASES_A_CATALOGUE;
    for (long i = 0; i < n_cases; i++) {
        const char *job = JOBS[random_between(&random, 0, N_JOBS - 1)];
        struct goal goal = random_goal(&random);
        enum tsim_decision_objective objective =
            (enum tsim_decision_objective)random_between(&random, 0, TSIM_N_DECISION_OBJECTIVES - 1);
        const char *nodes = random_between(&random, 0, 1) ? "2" : NULL;
        struct tsim_decision found = decide_catalogue(job, &goal, nodes, objective, false),
                             all = decide_catalogue(job, &goal, nodes, objective, true);
        const struct tsim_offer *a = &found.offers[0], *b = &all.offers[0];
        ck_assert_uint_eq(n_left_out(&all), 0);
        ck_assert_msg(a->purchase == b->purchase && strcmp(a->plan->set_json, b->plan->set_json) == 0 &&
                          a->chance_of_both == b->chance_of_both && a->mean_usd == b->mean_usd,
                      "case %ld, %g days, %g USD: %s %s, %g, %g USD; of all %s %s, %g, %g USD", i, goal.deadline_days,
                      goal.budget_usd, TSIM_PURCHASE_WORDS[a->purchase], a->plan->set_json, a->chance_of_both,
                      a->mean_usd, TSIM_PURCHASE_WORDS[b->purchase], b->plan->set_json, b->chance_of_both, b->mean_usd);
        left_out += n_left_out(&found);
        n_pruned += all.n_simulated - found.n_simulated;
        tsim_diags_release(&diags);
        tsim_diags_init(&diags);
        tsim_arena_reset(&arena);
    }
    printf("%ld goals: %zu machines left out, %lld simulations spared\n", n_cases, left_out, (long long)n_pruned);
    ck_assert_uint_gt(left_out, 0);
    ck_assert_int_gt(n_pruned, 0);
}

TSIM_MAIN(NO_LIMIT_S, set_up, tear_down)
