/* Small systems whose rates are worked out by hand, most of them while activities come and go. x_a rates, C_r
 * capacities, w weights, d demands (1 unless said). test_sharing_simgrid.c has SimGrid's examples. */
#include "engine/sharing.h"

#include "support/check_main.h"

#include <math.h>

static struct tsim_sharing sharing;

static void set_up(void) {
    tsim_sharing_init(&sharing);
}

static void tear_down(void) {
    tsim_sharing_release(&sharing);
}

static int32_t resource(double capacity) {
    return tsim_sharing_add_resource(&sharing, capacity);
}

static bool start_on_two(int32_t activity, double weight, double bound, int32_t r1, double d1, int32_t r2, double d2) {
    tsim_sharing_set(&sharing, activity, weight, bound);
    tsim_sharing_demand(&sharing, activity, r1, d1);
    if (r2 >= 0)
        tsim_sharing_demand(&sharing, activity, r2, d2);
    return tsim_sharing_start(&sharing, activity);
}

static bool start_on(int32_t activity, double weight, double bound, int32_t r, double d) {
    return start_on_two(activity, weight, bound, r, d, -1, 0);
}

static void expect_rate(int32_t activity, double rate) {
    double got = tsim_sharing_rate(&sharing, activity);
    ck_assert_msg(fabs(got - rate) <= 1e-12 * rate, "activity %d has rate %.17g, not %.17g", activity, got, rate);
}

static void expect_flowed(int32_t of_resource, double units) {
    double got = tsim_sharing_flowed(&sharing, of_resource);
    ck_assert_msg(got >= units && got <= units, "%.17g units have flowed, not %.17g", got, units);
}

/* Alone, an activity has min(C / d, bound), known at once. Three activities are on resources of their own. */
TSIM_TEST(alone_takes_the_smallest_limit) {
    ck_assert(start_on_two(0, 1, HUGE_VAL, resource(10), 2, resource(100), 50)); /* min(10/2, 100/50) = 2 */
    ck_assert(start_on_two(1, 1, 1.5, resource(10), 2, resource(100), 50));      /* its bound */
    ck_assert(start_on(2, 1e9, HUGE_VAL, resource(7), 1));                       /* a weight means nothing alone */
    ck_assert(!tsim_sharing_needs_solve(&sharing));
    expect_rate(0, 2);
    expect_rate(1, 1.5);
    expect_rate(2, 7);
}

/* With x1 + x2 <= 3 each has half, and the same bit by bit. */
TSIM_TEST(two_on_one_link_get_half) {
    int32_t link = resource(3);
    ck_assert(start_on(0, 1, HUGE_VAL, link, 1));
    ck_assert(!start_on(1, 1, HUGE_VAL, link, 1));
    tsim_sharing_solve(&sharing);
    ck_assert_uint_eq(sharing.n_changed, 2);
    ck_assert_int_eq(sharing.n_filled, 2); /* both at the first try: the bottleneck of the first was known */
    expect_rate(0, 1.5);
    ck_assert(tsim_sharing_rate(&sharing, 0) <= tsim_sharing_rate(&sharing, 1));
    ck_assert(tsim_sharing_rate(&sharing, 0) >= tsim_sharing_rate(&sharing, 1));
    tsim_sharing_end(&sharing, 0, 1);
    tsim_sharing_solve(&sharing);
    expect_rate(1, 3);
}

/* x1 + 2 x2 <= 20, w = 1, 1/2: x1 = 2 x2, so 4 x2 = 20: 10 and 5. Then x3 comes, 2 x1 + x3 <= 60. The levels: 20 / (1 +
 * 2/2) = 10, 60 / (2 + 1) = 20; so x1 and x2 stay, and x3 takes what is left of the second: 60 - 20 = 40. */
TSIM_TEST(who_comes_later_takes_what_is_left) {
    int32_t first = resource(20), second = resource(60);
    start_on_two(0, 1, HUGE_VAL, first, 1, second, 2);
    start_on(1, 0.5, HUGE_VAL, first, 2);
    tsim_sharing_solve(&sharing);
    expect_rate(0, 10);
    expect_rate(1, 5);
    start_on(2, 1, HUGE_VAL, second, 1);
    tsim_sharing_solve(&sharing);
    expect_rate(0, 10);
    expect_rate(1, 5);
    expect_rate(2, 40);
}

/* x1 + x2 <= 1 with x1 <= 1/4: the other takes the rest, 3/4. Bounds in proportion to weights as well: w = 4, 1 would
 * give 0.8 and 0.2, but x1 <= 0.6 leaves 0.4. */
TSIM_TEST(a_bound_leaves_the_rest_to_the_others) {
    int32_t one = resource(1), two = resource(1);
    start_on(0, 1, 0.25, one, 1);
    start_on(1, 1, HUGE_VAL, one, 1);
    start_on(2, 4, 0.6, two, 1);
    start_on(3, 1, HUGE_VAL, two, 1);
    tsim_sharing_solve(&sharing);
    expect_rate(0, 0.25);
    expect_rate(1, 0.75);
    expect_rate(2, 0.6);
    expect_rate(3, 0.4);
}

/* Activity 0 crosses a link of 1 and one of 0.2, activity 1 only the link of 1, so they have 0.2 and 0.8. */
TSIM_TEST(limited_elsewhere_leaves_the_rest) {
    int32_t wide = resource(1), narrow = resource(0.2);
    start_on_two(0, 1, HUGE_VAL, wide, 1, narrow, 1);
    start_on(1, 1, HUGE_VAL, wide, 1);
    tsim_sharing_solve(&sharing);
    expect_rate(0, 0.2);
    expect_rate(1, 0.8);
}

/* Parking lot: one long flow over links of 1, 1, 4, a short one on each. The links of 1 fill at level 1/2; the long
 * flow is then 1/2, which leaves 3.5 of the last link to its short flow. */
TSIM_TEST(parking_lot) {
    int32_t links[3] = {resource(1), resource(1), resource(4)};
    tsim_sharing_set(&sharing, 0, 1, HUGE_VAL);
    for (int i = 0; i < 3; i++)
        tsim_sharing_demand(&sharing, 0, links[i], 1);
    tsim_sharing_start(&sharing, 0);
    for (int i = 0; i < 3; i++)
        start_on(1 + i, 1, HUGE_VAL, links[i], 1);
    tsim_sharing_solve(&sharing);
    expect_rate(0, 0.5);
    expect_rate(1, 0.5);
    expect_rate(2, 0.5);
    expect_rate(3, 3.5);
}

/* A change that travels: links of 1, 1.5, 2; f0 on the first two, f1 on the last two, f2 on the last.
 * Without g: the middle link fills at 3/4 (f0 = f1 = 3/4), the last leaves 5/4 to f2.
 * With g on the first link: it fills at 1/2 (g = f0 = 1/2); then f1 <= 1 in the middle and f1 + f2 <= 2 in the last:
 * both 1. */
TSIM_TEST(a_change_travels_as_far_as_it_matters) {
    int32_t first = resource(1), middle = resource(1.5), last = resource(2);
    enum { F0, F1, F2, G };
    start_on_two(F0, 1, HUGE_VAL, first, 1, middle, 1);
    start_on_two(F1, 1, HUGE_VAL, middle, 1, last, 1);
    start_on(F2, 1, HUGE_VAL, last, 1);
    tsim_sharing_solve(&sharing);
    for (int again = 0; again < 2; again++) {
        expect_rate(F0, 0.75);
        expect_rate(F1, 0.75);
        expect_rate(F2, 1.25);
        start_on(G, 1, HUGE_VAL, first, 1);
        tsim_sharing_solve(&sharing);
        expect_rate(G, 0.5);
        expect_rate(F0, 0.5);
        expect_rate(F1, 1);
        expect_rate(F2, 1);
        ck_assert_uint_eq(sharing.n_changed, 4);
        tsim_sharing_end(&sharing, G, 1);
        tsim_sharing_solve(&sharing);
    }
}

/* A collective of rate 1 (its links) takes 1/10 of each of 100 memories. A memory-bound operator comes and goes on one
 * memory: it gets the other 9/10 (its share is then 0.9 / 0.5, larger than the collective's 1 / 1, so the memory is its
 * bottleneck), and each coming looks at one activity, each going at none. */
TSIM_TEST(a_solve_looks_only_at_what_changes) {
    enum { COLLECTIVE, OPERATOR, N_MEMORIES = 100 };
    int32_t memory[N_MEMORIES], link = resource(1);
    tsim_sharing_set(&sharing, COLLECTIVE, 1, HUGE_VAL);
    tsim_sharing_demand(&sharing, COLLECTIVE, link, 1);
    for (int i = 0; i < N_MEMORIES; i++) {
        memory[i] = resource(1);
        tsim_sharing_demand(&sharing, COLLECTIVE, memory[i], 0.1);
    }
    ck_assert(tsim_sharing_start(&sharing, COLLECTIVE));
    for (int64_t comings = 1; comings <= 5; comings++) {
        ck_assert(!start_on(OPERATOR, 0.5, HUGE_VAL, memory[7], 1));
        tsim_sharing_solve(&sharing);
        expect_rate(OPERATOR, 0.9);
        expect_rate(COLLECTIVE, 1);
        ck_assert_uint_eq(sharing.n_changed, 1);
        tsim_sharing_end(&sharing, OPERATOR, 1);
        tsim_sharing_solve(&sharing);
        ck_assert_uint_eq(sharing.n_changed, 0);
        ck_assert_int_eq(sharing.n_filled, comings);
    }
}

/* If the operator's share would be the smaller one, the collective gives way. With weight 1 each and
 * 0.1 c + x <= 1: level 1 / 1.1 < 1, so c = x = 1 / 1.1. */
TSIM_TEST(a_smaller_share_takes_from_a_larger_one) {
    int32_t link = resource(1), memory = resource(1);
    start_on_two(0, 1, HUGE_VAL, link, 1, memory, 0.1);
    start_on(1, 1, HUGE_VAL, memory, 1);
    tsim_sharing_solve(&sharing);
    expect_rate(0, 1 / 1.1);
    expect_rate(1, 1 / 1.1);
}

/* While capacity stays free nobody is in anybody's way: no solve for starts, none for ends. */
TSIM_TEST(free_capacity_needs_no_solve) {
    int32_t wide = resource(10);
    for (int32_t a = 0; a < 9; a++)
        ck_assert(start_on(a, 1, 1, wide, 1));
    for (int32_t a = 0; a < 9; a++)
        tsim_sharing_end(&sharing, a, 2);
    ck_assert(!tsim_sharing_needs_solve(&sharing));
    expect_flowed(wide, 18);
}

/* A thousand and one flows go into one receiver: 1 / 1001 each, all the same bits; then one is bounded to a tenth of
 * that. */
TSIM_TEST(a_star_is_even_to_the_bit) {
    enum { N = 1001 };
    int32_t hub = resource(1);
    for (int32_t a = 0; a < N; a++)
        start_on_two(a, 1, HUGE_VAL, hub, 1, resource(1), 1);
    tsim_sharing_solve(&sharing);
    for (int32_t a = 0; a < N; a++)
        ck_assert(!(fabs(tsim_sharing_rate(&sharing, a) - tsim_sharing_rate(&sharing, 0)) > 0));
    expect_rate(0, 1.0 / N);
    start_on(N, 1, 0.1 / N, hub, 1);
    tsim_sharing_solve(&sharing);
    expect_rate(N, 0.1 / N);
    expect_rate(0, (1 - 0.1 / N) / N);
}

/* Weights of 1e9 and 1e-9, capacities of 1e12 and 1e-3 in one system: x0 + x1 <= 1e12, x1 + x2 <= 1e-3, w = 1e9,
 * 1e-9, 1. The levels are 1e12 / 1e9 = 1e3 and 1e-3 / 1: the slow link fills first, x1 = 1e-12, x2 = 1e-3, and x0 has
 * the rest. */
TSIM_TEST(wide_ranges_of_numbers) {
    int32_t fast = resource(1e12), slow = resource(1e-3);
    start_on(0, 1e9, HUGE_VAL, fast, 1);
    start_on_two(1, 1e-9, HUGE_VAL, fast, 1, slow, 1);
    start_on(2, 1, HUGE_VAL, slow, 1);
    tsim_sharing_solve(&sharing);
    expect_rate(1, 1e-12 / (1 + 1e-9));
    expect_rate(2, 1e-3 / (1 + 1e-9));
    expect_rate(0, 1e12);
}

/* x0 + x1 + x2 <= 3, w = 1e17, 1, 1, x0 <= 1: all 1. The sum of the weights has forgotten the ones: 1e17 + 1 = 1e17. */
TSIM_TEST(small_weights_are_not_lost_beside_large_ones) {
    int32_t link = resource(3);
    start_on(1, 1, HUGE_VAL, link, 1);
    start_on(2, 1, HUGE_VAL, link, 1);
    start_on(0, 1e17, 1, link, 1);
    tsim_sharing_solve(&sharing);
    ck_assert_int_eq(sharing.n_filled, 3);
    expect_rate(0, 1);
    expect_rate(1, 1);
    expect_rate(2, 1);
}

/* Weights 0.1, 0.2, 0.3, of which the first ends and comes again: now the weights are added in another order, and 0.1 +
 * 0.3 + 0.2 is not 0.3 + 0.2 + 0.1 in the last bit. Nobody's rate has changed but that of the new one. */
TSIM_TEST(rounding_does_not_change_rates) {
    int32_t link = resource(1);
    for (int32_t a = 0; a < 3; a++)
        start_on(a, 0.1 * (a + 1), HUGE_VAL, link, 1);
    tsim_sharing_solve(&sharing);
    tsim_sharing_end(&sharing, 0, 1);
    start_on(0, 0.1, HUGE_VAL, link, 1);
    tsim_sharing_solve(&sharing);
    ck_assert_uint_eq(sharing.n_changed, 1);
    ck_assert_int_eq(sharing.changed[0], 0);
}

/* Seven activities on a ring of seven links, each with demands 0.1, 0.2, 0.3 on three links in a row: 1 / 0.6 each. The
 * links add up their loads in different orders, so they fill at levels that differ in the last bit; rates must not. */
TSIM_TEST(symmetric_activities_are_even_to_the_bit) {
    enum { N = 7 };
    for (int i = 0; i < N; i++)
        resource(1);
    for (int32_t a = 0; a < N; a++) {
        tsim_sharing_set(&sharing, a, 1, HUGE_VAL);
        for (int32_t i = 0; i < 3; i++)
            tsim_sharing_demand(&sharing, a, (a + i) % N, 0.1 * (i + 1));
        tsim_sharing_start(&sharing, a);
    }
    tsim_sharing_solve(&sharing);
    expect_rate(0, 1 / 0.6);
    for (int32_t a = 1; a < N; a++)
        ck_assert(!(fabs(tsim_sharing_rate(&sharing, a) - tsim_sharing_rate(&sharing, 0)) > 0));
}

/* Two demands on the same resource are one: (1 + 2) x <= 6. */
TSIM_TEST(demands_on_one_resource_add_up) {
    int32_t r = resource(6);
    start_on_two(0, 1, HUGE_VAL, r, 1, r, 2);
    expect_rate(0, 2);
    tsim_sharing_end(&sharing, 0, 5);
    expect_flowed(r, 15);
}

/* The sum is 1e16 + 1 + 1 + ... (a thousand times), of which a plain sum would lose every one. */
TSIM_TEST(flowed_units_are_not_lost) {
    int32_t r = resource(1);
    start_on(0, 1, HUGE_VAL, r, 1);
    tsim_sharing_end(&sharing, 0, 1e16);
    for (int i = 0; i < 1000; i++) {
        start_on(0, 1, HUGE_VAL, r, 1);
        tsim_sharing_end(&sharing, 0, 1);
    }
    expect_flowed(r, 1e16 + 1000);
}

/* Ended activities leave nothing behind: their demands are used again. */
TSIM_TEST(memory_is_that_of_the_living) {
    int32_t r[3] = {resource(1), resource(2), resource(3)};
    for (int i = 0; i < 1000; i++) {
        for (int32_t a = 0; a < 3; a++)
            start_on_two(a, 1, HUGE_VAL, r[a], 1, r[(a + 1) % 3], 1);
        tsim_sharing_solve(&sharing);
        for (int32_t a = 0; a < 3; a++)
            tsim_sharing_end(&sharing, a, 1);
        tsim_sharing_solve(&sharing);
    }
    ck_assert_uint_eq(sharing.n_demands, 6);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
