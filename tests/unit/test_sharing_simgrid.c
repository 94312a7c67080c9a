/* The worked examples of SimGrid's max-min tests, worked out again by hand:
 *   [maxmin]  src/kernel/lmm/maxmin_test.cpp
 *   [solve]   teshsuite/surf/lmm_usage/lmm_solve.cpp
 *   [usage]   teshsuite/surf/lmm_usage/lmm_usage.cpp, its tests under max-min
 *   [bmf]     src/kernel/lmm/bmf_test.cpp: the systems of its other solver whose max-min rates are worth comparing
 * SimGrid's consumption weight is our demand, its sharing penalty p our 1 / w, its constraint our resource. C are
 * capacities, x rates, L the common level: x = L / p until a resource is full, which it is at
 *       L = (C - what is fixed) / (sum of d / p over those that are not).
 * Each system is put together in many orders, solved at the end or after every start, and has the same rates always;
 * and so says the naive second implementation. */
#include "engine/sharing.h"

#include "support/check_main.h"
#include "support/naive_maxmin.h"
#include "support/random.h"

#include <math.h>

enum { MAX_ACTIVITIES = 16, MAX_RESOURCES = 15, MAX_TERMS = 5, N_ORDERS = 24 };

struct term {
    double demand;
    int activity;
};

/* A row for each resource: its capacity, then its terms. */
struct row {
    double capacity;
    struct term terms[MAX_TERMS + 1];
};

struct example {
    int n_activities, n_resources;
    double penalty[MAX_ACTIVITIES]; /* 0 means 1 */
    double bound[MAX_ACTIVITIES];   /* 0 means none */
    struct row rows[MAX_RESOURCES];
    double rate[MAX_ACTIVITIES];
};

static double weight_of(const struct example *example, int a) {
    return example->penalty[a] > 0 ? 1 / example->penalty[a] : 1;
}

static double bound_of(const struct example *example, int a) {
    return example->bound[a] > 0 ? example->bound[a] : HUGE_VAL;
}

static void shuffle(int *numbers, int count, struct random_source *random) {
    for (int i = 0; i < count; i++)
        numbers[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = random_between(random, 0, i), swapped = numbers[i];
        numbers[i] = numbers[j];
        numbers[j] = swapped;
    }
}

static void start(struct tsim_sharing *sharing, const struct example *example, const int *resource_at, int a, int as) {
    tsim_sharing_set(sharing, as, weight_of(example, a), bound_of(example, a));
    for (int r = 0; r < example->n_resources; r++)
        for (const struct term *term = example->rows[r].terms; term->demand > 0; term++)
            if (term->activity == a)
                tsim_sharing_demand(sharing, as, resource_at[r], term->demand);
    tsim_sharing_start(sharing, as);
}

/* Activity a has the number activity_at[a], and they start in the order of these numbers. */
static void expect_in_order(const struct example *example, bool solve_after_each, struct random_source *random) {
    struct tsim_sharing sharing;
    int activity_at[MAX_ACTIVITIES], resource_at[MAX_RESOURCES];
    tsim_sharing_init(&sharing);
    shuffle(activity_at, example->n_activities, random);
    shuffle(resource_at, example->n_resources, random);
    for (int at = 0; at < example->n_resources; at++)
        for (int r = 0; r < example->n_resources; r++)
            if (resource_at[r] == at)
                tsim_sharing_add_resource(&sharing, example->rows[r].capacity);
    for (int at = 0; at < example->n_activities; at++) {
        for (int a = 0; a < example->n_activities; a++)
            if (activity_at[a] == at)
                start(&sharing, example, resource_at, a, at);
        if (solve_after_each)
            tsim_sharing_solve(&sharing);
    }
    tsim_sharing_solve(&sharing);
    for (int a = 0; a < example->n_activities; a++) {
        double got = tsim_sharing_rate(&sharing, activity_at[a]);
        ck_assert_msg(fabs(got - example->rate[a]) <= 1e-12 * example->rate[a], "x%d is %.17g, not %.17g", a + 1, got,
                      example->rate[a]);
    }
    tsim_sharing_release(&sharing);
}

static void expect_naively(const struct example *example) {
    double capacity[MAX_RESOURCES], weight[MAX_ACTIVITIES], bound[MAX_ACTIVITIES], rate[MAX_ACTIVITIES];
    double demand[MAX_ACTIVITIES * MAX_RESOURCES] = {0};
    for (int r = 0; r < example->n_resources; r++) {
        capacity[r] = example->rows[r].capacity;
        for (const struct term *term = example->rows[r].terms; term->demand > 0; term++)
            demand[term->activity * example->n_resources + r] += term->demand;
    }
    for (int a = 0; a < example->n_activities; a++) {
        weight[a] = weight_of(example, a);
        bound[a] = bound_of(example, a);
    }
    struct naive_system system = {example->n_activities, example->n_resources, capacity, weight, bound, demand};
    ck_assert_ptr_null(naive_maxmin_violation(&system, example->rate, 1e-12));
    naive_maxmin_rates(&system, rate);
    for (int a = 0; a < example->n_activities; a++)
        ck_assert_double_eq_tol(rate[a], example->rate[a], 1e-12 * example->rate[a]);
}

static void expect_rates(const struct example *example) {
    struct random_source random = {20260221};
    for (int order = 0; order < N_ORDERS; order++)
        expect_in_order(example, order % 2, &random);
    expect_naively(example);
}

/* ---- one resource ---- */

/* [bmf] x1 <= 3. */
TSIM_TEST(one_flow_has_all) {
    expect_rates(&(struct example){1, 1, .rows = {{3, {{1, 0}}}}, .rate = {3}});
}

/* [maxmin] x1 + x2 <= 3, p = 1, 2: L (1 + 1/2) = 3, L = 2: 2 and 1. [bmf] C = 1: 2/3 and 1/3. */
TSIM_TEST(twice_the_penalty_half_the_rate) {
    expect_rates(&(struct example){2, 1, .penalty = {1, 2}, .rows = {{3, {{1, 0}, {1, 1}}}}, .rate = {2, 1}});
    expect_rates(
        &(struct example){2, 1, .penalty = {1, 2}, .rows = {{1, {{1, 0}, {1, 1}}}}, .rate = {2.0 / 3, 1.0 / 3}});
}

/* [maxmin] x1 + 2 x2 <= 3, equal penalties: 3 L = 3: 1 and 1. */
TSIM_TEST(demands_leave_the_shares_alone) {
    expect_rates(&(struct example){2, 1, .rows = {{3, {{1, 0}, {2, 1}}}}, .rate = {1, 1}});
}

/* [maxmin] x1 + 2 x2 <= 20, p = 1, 2: L (1 + 2/2) = 20: 10 and 5. */
TSIM_TEST(penalties_and_demands) {
    expect_rates(&(struct example){2, 1, .penalty = {1, 2}, .rows = {{20, {{1, 0}, {2, 1}}}}, .rate = {10, 5}});
}

/* [solve] x1 + x2 + x3 <= 10, p = 1, 2, 3: L (1 + 1/2 + 1/3) = L 11/6 = 10, L = 60/11: 60/11, 30/11, 20/11. */
TSIM_TEST(three_penalties) {
    expect_rates(&(struct example){3, 1, .penalty = {1, 2, 3}, .rows = {{10, {{1, 0}, {1, 1}, {1, 2}}}},
                                   .rate = {60.0 / 11, 30.0 / 11, 20.0 / 11}});
}

/* [solve] x1 + 2 x2 + 3 x3 <= 10: 6 L = 10: 5/3 each. */
TSIM_TEST(three_demands) {
    expect_rates(
        &(struct example){3, 1, .rows = {{10, {{1, 0}, {2, 1}, {3, 2}}}}, .rate = {5.0 / 3, 5.0 / 3, 5.0 / 3}});
}

/* [solve] 74 x1 + 6 x2 + 2 x3 <= 123, p = 56, 21, 3: sum of d / p = 74/56 + 6/21 + 2/3 = (222 + 48 + 112) / 168 =
 * 382/168, L = 123 * 168 / 382 = 20664/382; divided by p: 369/382 = 0.96597, 984/382 = 2.57592, 6888/382 = 18.0314. */
TSIM_TEST(odd_penalties_and_demands) {
    expect_rates(&(struct example){3, 1, .penalty = {56, 21, 3}, .rows = {{123, {{74, 0}, {6, 1}, {2, 2}}}},
                                   .rate = {369.0 / 382, 984.0 / 382, 6888.0 / 382}});
}

/* ---- several resources ---- */

/* [maxmin] x1 + 2 x2 <= 20, 2 x1 + x3 <= 60, p = 1, 2, 1. Levels 20 / 2 = 10 and 60 / 3 = 20: the first resource fills
 * first, x1 = 10, x2 = 5, and the second leaves 60 - 20 = 40 to x3. */
TSIM_TEST(two_resources) {
    expect_rates(&(struct example){3, 2, .penalty = {1, 2, 1}, .rows = {{20, {{1, 0}, {2, 1}}}, {60, {{2, 0}, {1, 2}}}},
                                   .rate = {10, 5, 40}});
}

/* [solve] 4 x1 + 2.6 x2 + 1.2 x3 <= 14.6,  2 x2 + 4.1 x3 + 5 x4 <= 10.7,  6 x5 <= 7;  p = 5.1, 7, 8.5, 6.2, 1.
 * Levels: 14.6 / (4/5.1 + 2.6/7 + 1.2/8.5) = 14.6 / 1.29692 = 11.26; 10.7 / (2/7 + 4.1/8.5 + 5/6.2) = 10.7 / 1.57452 =
 * 6.79573; 7 / 6. The third is alone: x5 = 7/6. The second of the others fills first: x2 = L / 7 = 0.970818, x3 = L /
 * 8.5 = 0.799497, x4 = L / 6.2 = 1.096085. The first leaves x1 = (14.6 - 2.6 x2 - 1.2 x3) / 4 = 2.779119. */
TSIM_TEST(three_resources) {
    double level = 10.7 / (2 / 7.0 + 4.1 / 8.5 + 5 / 6.2), x2 = level / 7, x3 = level / 8.5;
    ck_assert_double_eq_tol(x2, 0.9708181, 1e-6);
    expect_rates(&(struct example){
        5, 3, .penalty = {5.1, 7, 8.5, 6.2, 1},
        .rows = {{14.6, {{4, 0}, {2.6, 1}, {1.2, 2}}}, {10.7, {{5, 3}, {2, 1}, {4.1, 2}}}, {7, {{6, 4}}}},
        .rate = {(14.6 - 2.6 * x2 - 1.2 * x3) / 4, x2, x3, level / 6.2, 7.0 / 6}});
}

/* [usage] test 1: R123 over links of 1, 10, 1; R1, R2, R3 on one each. The links of 1 fill at 1/2: R123 = R1 = R3 =
 * 1/2, and the wide one leaves 10 - 1/2 to R2. */
TSIM_TEST(one_long_flow_and_three_short_ones) {
    expect_rates(&(struct example){4, 3, .rows = {{1, {{1, 0}, {1, 1}}}, {10, {{1, 0}, {1, 2}}}, {1, {{1, 0}, {1, 3}}}},
                                   .rate = {0.5, 0.5, 9.5, 0.5}});
}

/* [usage] test 2: two processors of 200 and 100 with a task each. */
TSIM_TEST(two_that_never_meet) {
    expect_rates(&(struct example){2, 2, .rows = {{200, {{1, 0}}}, {100, {{1, 1}}}}, .rate = {200, 100}});
}

/* [usage] test 3: flows 0 to 10 over ten links of 10; flows 11 to 15 alone on links of 1. Users of the links:
 *   l0: 1 7    l1: 1 7 8    l2: 1 8    l3: 8    l4: 0 3 9    l5: 0 3 4 9    l6: 0 4 9 10    l7: 2 4 6 9 10    l8: 2 10
 *   l9: 5 6 9
 * l7 has most users and fills first, at 10 / 5 = 2: flows 2, 4, 6, 9, 10 have 2. Left are: l4 8 for two (4), l5 6
 * for two (3), l6 4 for one (4), l9 6 for one (6), l1 10 for three (10/3). So l5 at 3: flows 0 and 3 have 3; then l1 at
 * 10/3: flows 1, 7, 8; then l9 at 6: flow 5. */
TSIM_TEST(eleven_flows_over_ten_links) {
    double x1 = 10.0 / 3;
    struct example example = {.n_activities = 16,
                              .n_resources = 15,
                              .rows = {{10, {{1, 1}, {1, 7}}},
                                       {10, {{1, 1}, {1, 7}, {1, 8}}},
                                       {10, {{1, 1}, {1, 8}}},
                                       {10, {{1, 8}}},
                                       {10, {{1, 0}, {1, 3}, {1, 9}}},
                                       {10, {{1, 0}, {1, 3}, {1, 4}, {1, 9}}},
                                       {10, {{1, 0}, {1, 4}, {1, 9}, {1, 10}}},
                                       {10, {{1, 2}, {1, 4}, {1, 6}, {1, 9}, {1, 10}}},
                                       {10, {{1, 2}, {1, 10}}},
                                       {10, {{1, 5}, {1, 6}, {1, 9}}},
                                       {1, {{1, 11}}},
                                       {1, {{1, 12}}},
                                       {1, {{1, 13}}},
                                       {1, {{1, 14}}},
                                       {1, {{1, 15}}}},
                              .rate = {3, x1, 2, 3, 2, 6, 2, x1, x1, 2, 2, 1, 1, 1, 1, 1}};
    expect_rates(&example);
}

/* [bmf] x1 + 10 x2 <= 1, 10 x1 + x2 <= 1: both fill at 1/11. */
TSIM_TEST(opposite_needs) {
    expect_rates(&(struct example){2, 2, .rows = {{1, {{1, 0}, {10, 1}}}, {1, {{10, 0}, {1, 1}}}},
                                   .rate = {1.0 / 11, 1.0 / 11}});
}

/* [bmf] Rows 1 1 1/2, 1 1/2 1, 1 3/4 3/4, all <= 1: every sum is 5/2, so all fill at 2/5 together. (Its bottleneck
 * fairness compares what flows use of a resource, not their rates, and has 1/3, 4/9, 4/9: less for the smallest.) */
TSIM_TEST(three_full_at_once) {
    expect_rates(&(struct example){
        3, 3,
        .rows = {{1, {{1, 0}, {1, 1}, {0.5, 2}}}, {1, {{1, 0}, {0.5, 1}, {1, 2}}}, {1, {{1, 0}, {0.75, 1}, {0.75, 2}}}},
        .rate = {0.4, 0.4, 0.4}});
}

/* [bmf] A disk with x1 <= 1e6 (reads), x2 <= 1e6 (writes), x1 + x2 <= 1e6 (both): the last fills at 5e5. */
TSIM_TEST(reads_and_writes_of_a_disk) {
    expect_rates(&(struct example){2, 3, .rows = {{1e6, {{1, 0}}}, {1e6, {{1, 1}}}, {1e6, {{1, 0}, {1, 1}}}},
                                   .rate = {5e5, 5e5}});
}

/* [bmf] Cross traffic: x1 + x2 + e x3 <= 1, e x1 + e x2 + x3 <= 1, e = 0.05. The first fills at 1 / 2.05, the second
 * would at 1 / 1.1: all 1 / 2.05, as all are on the first. */
TSIM_TEST(a_little_cross_traffic) {
    double e = 0.05, x = 1 / (2 + e);
    expect_rates(&(struct example){3, 2, .rows = {{1, {{1, 0}, {1, 1}, {e, 2}}}, {1, {{e, 0}, {e, 1}, {1, 2}}}},
                                   .rate = {x, x, x}});
}

/* ---- several demands on one resource ---- */

/* [bmf] (5 + 7) x1 + (7 + 5) x2 <= 5: 5/24 each. (10 + 5) x1 + 10 x2 <= 5: 5/25 each. With a second resource:
 * (1 + 1) x1 + x2 <= 1 fills at 1/3, (1/2 + 1/2) x1 + 3/2 x2 <= 1 would at 1 / 2.5. */
TSIM_TEST(subflows_add_up) {
    expect_rates(
        &(struct example){2, 1, .rows = {{5, {{5, 0}, {7, 0}, {7, 1}, {5, 1}}}}, .rate = {5.0 / 24, 5.0 / 24}});
    expect_rates(&(struct example){2, 1, .rows = {{5, {{10, 0}, {5, 0}, {10, 1}}}}, .rate = {0.2, 0.2}});
    expect_rates(&(struct example){2, 2, .rows = {{1, {{1, 0}, {1, 0}, {1, 1}}}, {1, {{0.5, 0}, {0.5, 0}, {1.5, 1}}}},
                                   .rate = {1.0 / 3, 1.0 / 3}});
}

/* ---- bounds ---- */

/* [bmf] 2 x1 + x2 <= 1, x1 <= 0.1: the level of the resource, 1/3, is above the bound; x1 = 0.1, x2 = 1 - 0.2 = 0.8.
 * And x1 + x2 <= 1, x1 <= 1: 1/2 each, the bound is not reached. */
TSIM_TEST(bounded_below_and_above_the_share) {
    expect_rates(&(struct example){2, 1, .bound = {0.1}, .rows = {{1, {{2, 0}, {1, 1}}}}, .rate = {0.1, 0.8}});
    expect_rates(&(struct example){2, 1, .bound = {1}, .rows = {{1, {{1, 0}, {1, 1}}}}, .rate = {0.5, 0.5}});
}

/* [bmf] Both bounds together are less than the capacity: each has its own. */
TSIM_TEST(all_at_their_bounds) {
    expect_rates(&(struct example){2, 1, .bound = {7.6296e6, 3.8148e7}, .rows = {{7.6296e7, {{1, 0}, {1, 1}}}},
                                   .rate = {7.6296e6, 3.8148e7}});
}

/* [bmf] Four threads and one on a processor of 4e8 where a thread may have 1e8: p = 1/4, 1, bounds 4e8, 1e8. L (4 + 1)
 * = 4e8: 3.2e8 and 0.8e8, below both bounds. Six threads as one task on four cores: p = 1/6, bound 6e8: all of 4e8. */
TSIM_TEST(threads_on_cores) {
    expect_rates(&(struct example){2, 1, .penalty = {0.25, 1}, .bound = {4e8, 1e8}, .rows = {{4e8, {{1, 0}, {1, 1}}}},
                                   .rate = {3.2e8, 0.8e8}});
    expect_rates(
        &(struct example){1, 1, .penalty = {1.0 / 6}, .bound = {6e8}, .rows = {{4e8, {{1, 0}}}}, .rate = {4e8}});
}

/* [bmf] 5 x1 + x2 <= 10, x1 + x2 <= 8, x1 <= 1.5, x2 <= 3. The first resource would fill at 10/6, so x1 is bounded
 * before, at 1.5; then x2 = 10 - 7.5 = 2.5. (Its bottleneck fairness has 1.4 and 3: a smaller smallest.) */
TSIM_TEST(bounded_just_before_the_resource_is_full) {
    expect_rates(&(struct example){2, 2, .bound = {1.5, 3}, .rows = {{10, {{5, 0}, {1, 1}}}, {8, {{1, 0}, {1, 1}}}},
                                   .rate = {1.5, 2.5}});
}

/* [bmf] k (x1 + x2) + m x3 <= C, k x1 <= C, k = 1.84467e19, m = 1.91268e11, C = 2.5e9, x1, x2 <= 2.27328e-10. The first
 * fills at C / (2 k + m) = 6.8e-11, below the bounds: all have it, however large k is beside m. */
TSIM_TEST(demands_of_ten_to_the_nineteen) {
    double k = 1.84467e19, m = 1.91268e11, x = 2.5e9 / (2 * k + m);
    expect_rates(&(struct example){3, 2, .bound = {2.27328e-10, 2.27328e-10},
                                   .rows = {{2.5e9, {{k, 0}, {k, 1}, {m, 2}}}, {2.5e9, {{k, 0}}}}, .rate = {x, x, x}});
}

/* ---- what SimGrid does not share: a "fat pipe" of C limits each of its users alone, d x <= C. To us that is a
 * resource of C for each. SimGrid stops all users of a fat pipe at the level at which the first is stopped, so that
 * some stay below what they could have; max-min lets them go on. ---- */

/* [maxmin] C = 10. p = 1, 2, d = 1, 1: 10 and 10 (SimGrid 10 and 5). d = 1, 2: 10 and 5 (SimGrid 5 and 5). p = 1, 2 and
 * d = 1, 2: 10 and 5, as SimGrid: both are stopped at L = 10. [bmf] C = 3, p = d = 1: 3 and 3, as SimGrid. */
TSIM_TEST(a_fat_pipe_is_a_resource_for_each) {
    expect_rates(
        &(struct example){2, 2, .penalty = {1, 2}, .rows = {{10, {{1, 0}}}, {10, {{1, 1}}}}, .rate = {10, 10}});
    expect_rates(&(struct example){2, 2, .rows = {{10, {{1, 0}}}, {10, {{2, 1}}}}, .rate = {10, 5}});
    expect_rates(&(struct example){2, 2, .penalty = {1, 2}, .rows = {{10, {{1, 0}}}, {10, {{2, 1}}}}, .rate = {10, 5}});
    expect_rates(&(struct example){2, 2, .rows = {{3, {{1, 0}}}, {3, {{1, 1}}}}, .rate = {3, 3}});
}

/* [maxmin] Fat pipes of 10 (x1, 2 x2) and 60 (2 x1, x3), p = 1, 2, 1: x1 = min(10, 30), x2 = 5, x3 = 60. */
TSIM_TEST(two_fat_pipes) {
    expect_rates(&(struct example){3, 4, .penalty = {1, 2, 1},
                                   .rows = {{10, {{1, 0}}}, {10, {{2, 1}}}, {60, {{2, 0}}}, {60, {{1, 2}}}},
                                   .rate = {10, 5, 60}});
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
