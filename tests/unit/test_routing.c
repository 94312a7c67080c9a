/* Tests the closed forms of routing.h against routing itself, drawn at random (seeded), and against small cases by
 * hand. */
#include "model/routing.h"
#include "support/check_main.h"
#include "support/random.h"

#include <math.h>

enum { MAX_EXPERTS = 64 };

/* Picks k distinct of E experts for one token, all equally likely, by a partial shuffle, and adds to the rows of their
 * ranks. */
static void route(struct random_source *random, int32_t count, int32_t active, int32_t ranks, double *rows) {
    int32_t experts[MAX_EXPERTS];
    for (int32_t i = 0; i < count; i++)
        experts[i] = i;
    for (int32_t i = 0; i < active; i++) {
        int32_t j = random_between(random, i, count - 1), chosen = experts[j];
        experts[j] = experts[i];
        rows[chosen / (count / ranks)]++;
    }
}

static double fullest(const double *rows, int32_t ranks) {
    double most = 0;
    for (int32_t i = 0; i < ranks; i++)
        most = fmax(most, rows[i]);
    return most;
}

/* 400 batches: the mean of the fullest rank's excess is known to about 2 %; Blom's maximum and the normal limit are
 * good to 3 % from 4 ranks and a hundred rows on (of two, Blom's is 4 % high). */
TSIM_TEST(chance) {
    static const struct {
        int32_t count, active, ranks, tokens;
    } CASES[] = {{8, 2, 8, 64},  {8, 2, 4, 64}, {16, 1, 16, 100}, {64, 6, 8, 32},
                 {8, 2, 2, 128}, {8, 7, 8, 64}, {2, 1, 2, 128}};
    struct random_source random = {20261121};
    for (size_t c = 0; c < sizeof CASES / sizeof CASES[0]; c++) {
        enum { N_BATCHES = 400 };
        int32_t count = CASES[c].count, active = CASES[c].active, ranks = CASES[c].ranks, tokens = CASES[c].tokens;
        double sum = 0, mean = (double)tokens * active;
        for (int batch = 0; batch < N_BATCHES; batch++) {
            double rows[MAX_EXPERTS] = {0};
            for (int32_t t = 0; t < ranks * tokens; t++)
                route(&random, count, active, ranks, rows);
            sum += fullest(rows, ranks) / mean;
        }
        struct tsim_experts experts = {.count = count, .active = active};
        double excess = tsim_routing_imbalance(&experts, ranks, tokens) - 1;
        ck_assert_msg(fabs(excess / (sum / N_BATCHES - 1) - 1) < 0.08, "case %zu: excess %g, drawn %g", c, excess,
                      sum / N_BATCHES - 1);
    }
}

/* Popularity with coefficient of variation c between 64 experts, so many tokens that chance is nothing: 8 ranks of 8
 * experts. Shares are drawn from a uniform distribution (half width sqrt(3) c) and scaled to their own mean and spread.
 */
TSIM_TEST(popularity) {
    enum { N_DRAWS = 4000, E = 64, RANKS = 8 };
    const double c = 0.3;
    struct random_source random = {7};
    double sum = 0;
    for (int draw = 0; draw < N_DRAWS; draw++) {
        double share[E], mean = 0, square = 0, rows[RANKS] = {0};
        for (int i = 0; i < E; i++) {
            share[i] = random_real(&random);
            mean += share[i] / E;
        }
        for (int i = 0; i < E; i++)
            square += (share[i] - mean) * (share[i] - mean) / E;
        for (int i = 0; i < E; i++)
            rows[i / (E / RANKS)] += (1 + c * (share[i] - mean) / sqrt(square)) * RANKS / E;
        sum += fullest(rows, RANKS);
    }
    struct tsim_experts experts = {.count = E, .active = 2, .imbalance_frac = c};
    double excess = tsim_routing_imbalance(&experts, RANKS, 1e12) - 1;
    ck_assert_double_eq_tol(excess / (sum / N_DRAWS - 1), 1, 0.04);
}

/* One rank has every row; routing to all experts is even; a capacity factor is the buffer, whatever chance does. */
TSIM_TEST(without_chance) {
    struct tsim_experts experts = {.count = 8, .active = 2};
    ck_assert_double_eq(tsim_routing_imbalance(&experts, 1, 100), 1);
    experts.active = 8;
    ck_assert_double_eq(tsim_routing_imbalance(&experts, 8, 100), 1);
    experts.capacity_factor = 1.25;
    experts.imbalance_frac = 0.5;
    ck_assert_double_eq(tsim_routing_imbalance(&experts, 8, 100), 1.25);
    ck_assert_double_eq(tsim_routing_imbalance(&experts, 1, 100), 1.25);
    struct tsim_experts single = {.count = 1, .active = 1};
    ck_assert_double_eq(tsim_routing_imbalance(&single, 1, 100), 1);
}

/* 2 of 4 experts on 2 nodes: of 6 pairs 2 are on one node: 2 - 1/3 nodes. One expert: one node. All experts: all. */
TSIM_TEST(nodes_of_a_token) {
    struct tsim_experts experts = {.count = 4, .active = 2};
    ck_assert_double_eq_tol(tsim_routing_nodes(&experts, 2), 5.0 / 3, 1e-12);
    ck_assert_double_eq(tsim_routing_nodes(&experts, 1), 1);
    experts.active = 1;
    ck_assert_double_eq_tol(tsim_routing_nodes(&experts, 4), 1, 1e-12);
    experts.active = 4;
    ck_assert_double_eq_tol(tsim_routing_nodes(&experts, 4), 4, 1e-12);
    experts.node_limit = 3;
    ck_assert_double_eq(tsim_routing_nodes(&experts, 4), 3);
}

/* 2 of 8 experts on 2 nodes of 2 ranks: 4 of 28 pairs are on one rank: 2 - 4/28 ranks. On one of the nodes alone 2 of 6
 * pairs: 2 - 1/3. All of 8 on 4 ranks: 4. */
TSIM_TEST(ranks_of_a_token) {
    struct tsim_experts experts = {.count = 8, .active = 2};
    ck_assert_double_eq_tol(tsim_routing_ranks(&experts, 2, 2), 2 - 4.0 / 28, 1e-12);
    ck_assert_double_eq_tol(tsim_routing_ranks(&experts, 1, 4), 2 - 4.0 / 28, 1e-12);
    experts.node_limit = 1;
    ck_assert_double_eq_tol(tsim_routing_ranks(&experts, 2, 2), 2 - 2.0 / 6, 1e-12);
    experts = (struct tsim_experts){.count = 8, .active = 8};
    ck_assert_double_eq_tol(tsim_routing_ranks(&experts, 1, 4), 4, 1e-12);
}

/* A buffer of the mean's size: nothing is over it, whatever chance does. */
TSIM_TEST(a_capacity_of_the_mean) {
    const struct tsim_experts experts = {.count = 8, .active = 2, .capacity_factor = 1};
    ck_assert_double_eq(tsim_routing_imbalance(&experts, 4, 1000), 1);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
