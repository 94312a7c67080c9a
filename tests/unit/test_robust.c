/* Whether an order survives: two runs of the example's machine, where a step is all products and rounds of kernels. */
#include "study/search/robust.h"
#include "support/arena_rig.h"
#include "support/example.h"

#include <math.h>
#include <string.h>

static void run(struct example *e, struct tsim_prediction *prediction) {
    const struct tsim_run_options options = {.ignore_memory = true};
    example_finish(e);
    ck_assert_int_eq(tsim_train_run(&arena, &e->scenario, &options, &prediction->result, &diags), TSIM_OK);
}

static struct tsim_robust compare(struct example *a, struct example *b) {
    struct tsim_prediction predictions[2] = {0};
    struct tsim_robust robust;
    run(a, &predictions[0]);
    run(b, &predictions[1]);
    ck_assert_int_eq(tsim_robust_run(&arena, &predictions[0], &predictions[1], &robust, &diags), TSIM_OK);
    return robust;
}

static const struct tsim_robust_row *find(const struct tsim_robust *robust, int side, const char *key) {
    for (int32_t i = 0; i < robust->n; i++)
        if (robust->rows[i].side == side && strcmp(robust->rows[i].key, key) == 0)
            return &robust->rows[i];
    ck_abort_msg("no row %s", key);
    return NULL;
}

static void pair(struct example *a, struct example *b) {
    example_init(a);
    example_init(b);
    /* memory a thousand times faster: products alone count */
    b->accelerator.name = "another"; /* with errors of its own */
    a->accelerator.memory_bytes_per_s = b->accelerator.memory_bytes_per_s = 1e15;
}

static void slow_products(struct example *e, double factor) {
    for (int p = 0; p < TSIM_N_PRECISIONS; p++)
        e->accelerator.peak_flops_per_s[p] *= factor;
}

START_TEST(a_tenth_turns_five_percent) {
    struct example a, b;
    pair(&a, &b);
    slow_products(&b, 0.95);
    struct tsim_robust robust = compare(&a, &b);
    ck_assert(robust.time_frac > 0.02 && robust.time_frac < 1 / 0.95 - 1 + 1e-9);
    ck_assert(isnan(robust.cost_frac)); /* no rent is known */
    ck_assert(!robust.time_survives);
    ck_assert(robust.cost_survives);
    ck_assert(find(&robust, 0, "matrix_peak")->flips_time);
    ck_assert(find(&robust, 1, "matrix_peak")->flips_time);
}
END_TEST

START_TEST(half_as_fast_stays_so) {
    struct example a, b;
    pair(&a, &b);
    slow_products(&b, 0.5);
    struct tsim_robust robust = compare(&a, &b);
    ck_assert(robust.time_frac > 0.3);
    ck_assert(robust.time_survives);
    for (int32_t i = 0; i < robust.n; i++)
        ck_assert(!robust.rows[i].flips_time);
}
END_TEST

/* Half as fast at 0.45 of the rent: cheaper by the rents' ratio over the times', unless a rent is off. */
START_TEST(rents_count) {
    struct example a, b;
    pair(&a, &b);
    slow_products(&b, 0.5);
    a.scenario.cost.rent_usd_per_s = 1;
    b.scenario.cost.rent_usd_per_s = 0.45;
    struct tsim_robust robust = compare(&a, &b);
    ck_assert_double_eq_tol(robust.cost_frac, (1 + robust.time_frac) * 0.45 - 1, 1e-12);
    ck_assert_double_eq(find(&robust, 0, "rent")->less_frac, -0.1);
    ck_assert(!find(&robust, 0, "rent")->flips_time);
    bool turns = (1 + robust.cost_frac) * 1.1 > 1; /* B dearer by a tenth */
    ck_assert_int_eq(find(&robust, 1, "rent")->flips_cost, turns);
    ck_assert_int_eq(robust.cost_survives,
                     !(turns || (1 + robust.cost_frac) / 0.9 > 1 || find(&robust, 1, "matrix_peak")->flips_cost ||
                       find(&robust, 0, "matrix_peak")->flips_cost));
}
END_TEST

/* B takes twice as long at the same rent: at half of it both cost the same. Intervals of 1 to 2 and 2.5 to 4 s are
 * apart, 1.5 to 3 s meets the first. */
START_TEST(even_rent_and_intervals) {
    struct example a, b;
    struct tsim_prediction predictions[2] = {0};
    struct tsim_robust robust;
    pair(&a, &b);
    a.scenario.cost.rent_usd_per_s = b.scenario.cost.rent_usd_per_s = 1;
    robust = compare(&a, &b);
    ck_assert_double_eq_tol(robust.even_rent_usd_per_s, 1, 1e-12);
    ck_assert(!robust.has_intervals);
    slow_products(&b, 0.5);
    robust = compare(&a, &b);
    ck_assert_double_eq_tol(robust.even_rent_usd_per_s * (1 + robust.time_frac), 1, 1e-12);
    run(&a, &predictions[0]);
    run(&b, &predictions[1]);
    predictions[0].uncertainty = (struct tsim_uncertainty){.basis = "", .step_time_low_s = 1, .step_time_high_s = 2};
    predictions[1].uncertainty = (struct tsim_uncertainty){.basis = "", .step_time_low_s = 2.5, .step_time_high_s = 4};
    ck_assert_int_eq(tsim_robust_run(&arena, &predictions[0], &predictions[1], &robust, &diags), TSIM_OK);
    ck_assert(robust.has_intervals && !robust.intervals_overlap);
    predictions[1].uncertainty.step_time_low_s = 1.5;
    ck_assert_int_eq(tsim_robust_run(&arena, &predictions[0], &predictions[1], &robust, &diags), TSIM_OK);
    ck_assert(robust.intervals_overlap);
}
END_TEST

/* The same accelerator on a slower network: what its peak does, it does to both, so that nothing turns; the network is
 * A's and B's own. */
START_TEST(what_both_have_moves_both) {
    struct example a, b;
    pair(&a, &b);
    b.accelerator.name = a.accelerator.name;
    a.scenario.cluster.nodes = b.scenario.cluster.nodes = 8;
    a.scenario.cluster.accelerators_per_node = b.scenario.cluster.accelerators_per_node = 1;
    a.scenario.parallelism.overlap.gradients = b.scenario.parallelism.overlap.gradients = false;
    a.fabric.name = "fast";
    b.fabric.name = "slow";
    b.node.nic_bytes_per_s *= 0.95;
    b.fabric.link_bytes_per_s *= 0.95;
    a.scenario.cost.rent_usd_per_s = b.scenario.cost.rent_usd_per_s = 1;
    struct tsim_robust robust = compare(&a, &b);
    ck_assert_msg(robust.time_frac > 0 && robust.time_frac < 0.1, "%g", robust.time_frac);
    const struct tsim_robust_row *peak = find(&robust, TSIM_BOTH_SIDES, "matrix_peak");
    ck_assert(!peak->flips_time && !peak->flips_cost);
    ck_assert(fabs(peak->less_frac) < robust.time_frac); /* slower products make the network matter less */
    ck_assert(find(&robust, TSIM_BOTH_SIDES, "rent")->less_frac == 0);
    ck_assert(find(&robust, 0, "nic_bandwidth")->less_frac > 0 && find(&robust, 1, "nic_bandwidth")->more_frac < 0);
    ck_assert(find(&robust, 1, "nic_bandwidth")->flips_time); /* a tenth more is A's */
    ck_assert(robust.cost_survives == robust.time_survives);
}
END_TEST

START_TEST(equal_ones_have_no_order) {
    struct example a, b;
    pair(&a, &b);
    struct tsim_robust robust = compare(&a, &b);
    ck_assert_double_eq(robust.time_frac, 0);
    ck_assert(robust.time_survives);
}
END_TEST

static Suite *robust_suite(void) {
    Suite *suite = suite_create("robust");
    TCase *tcase = tcase_create("robust");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_tenth_turns_five_percent);
    tcase_add_test(tcase, half_as_fast_stays_so);
    tcase_add_test(tcase, rents_count);
    tcase_add_test(tcase, even_rent_and_intervals);
    tcase_add_test(tcase, what_both_have_moves_both);
    tcase_add_test(tcase, equal_ones_have_no_order);
    suite_add_tcase(suite, tcase);
    return suite;
}

TSIM_TEST_MAIN(robust_suite)
