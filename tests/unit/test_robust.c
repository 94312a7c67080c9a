/* Tests whether an order survives: two runs of a node's small model, where a step is all products, or products and a network. */
#include "study/search/robust.h"
#include "support/arena_rig.h"

#include <math.h>
#include <string.h>

/* A run of scenarios/textbook/small-on-8.yaml with settings of its own. */
enum { MOST_SETTINGS = 16 };
#define HALF "156 TFLOP/s" /* an A100 has 312 */
struct side {
    struct tsim_override settings[MOST_SETTINGS];
    size_t n;
    struct tsim_prediction prediction;
};

static void set(struct side *side, const char *path, const char *value) {
    ck_assert_uint_lt(side->n, MOST_SETTINGS);
    side->settings[side->n++] = (struct tsim_override){path, value};
}

static void run(struct side *side) {
    const struct tsim_run_options options = {.ignore_memory = true};
    const struct tsim_scenario *scenario;
    ck_assert_int_eq(
        tsim_scenario_load(&arena, "scenarios/textbook/small-on-8.yaml", side->settings, side->n, &scenario, &diags),
        TSIM_OK);
    ck_assert_int_eq(tsim_train_run(&arena, scenario, &options, &side->prediction.result, &diags), TSIM_OK);
}

static struct tsim_robust compare(struct side *a, struct side *b) {
    struct tsim_robust robust;
    run(a);
    run(b);
    ck_assert_int_eq(tsim_robust_run(&arena, &a->prediction, &b->prediction, &robust, &diags), TSIM_OK);
    return robust;
}

static const struct tsim_robust_row *find(const struct tsim_robust *robust, int side, const char *key) {
    for (int32_t i = 0; i < robust->n; i++)
        if (robust->rows[i].side == side && strcmp(robust->rows[i].key, key) == 0)
            return &robust->rows[i];
    ck_abort_msg("no row %s", key);
    return NULL;
}

/* Memory is a thousand times faster, and nothing waits for launches: products alone count. */
static void make_pair(struct side *a, struct side *b) {
    struct side *const both[] = {a, b};
    for (int i = 0; i < 2; i++) {
        *both[i] = (struct side){.n = 0};
        set(both[i], "cluster.node.accelerator.memory_bandwidth", "2000 TB/s");
        set(both[i], "cluster.node.accelerator.efficiency.kernel_latency", "0 us");
        set(both[i], "software.host_time_per_op", "0 us");
        set(both[i], "simulation.network", "ideal");
        set(both[i], "cost.rent", "0 USD/h");
    }
}

static void make_products_slow(struct side *side, const char *peak) {
    set(side, "cluster.node.accelerator.name", "another"); /* with errors of its own */
    set(side, "cluster.node.accelerator.peak.fp16", peak);
}

TSIM_TEST(a_tenth_turns_five_percent) {
    struct side a, b;
    make_pair(&a, &b);
    make_products_slow(&b, "296.4 TFLOP/s"); /* 0.95 of an A100's 312 */
    struct tsim_robust robust = compare(&a, &b);
    ck_assert_msg(robust.time_frac > 0.02 && robust.time_frac < 1 / 0.95 - 1 + 1e-9, "%g", robust.time_frac);
    ck_assert(isnan(robust.cost_frac)); /* no rent is known */
    ck_assert(!robust.time_survives);
    ck_assert(robust.cost_survives);
    ck_assert(find(&robust, 0, "matrix_peak")->flips_time);
    ck_assert(find(&robust, 1, "matrix_peak")->flips_time);
}

TSIM_TEST(half_as_fast_stays_so) {
    struct side a, b;
    make_pair(&a, &b);
    make_products_slow(&b, HALF);
    struct tsim_robust robust = compare(&a, &b);
    ck_assert(robust.time_frac > 0.3);
    ck_assert(robust.time_survives);
    for (int32_t i = 0; i < robust.n; i++)
        ck_assert(!robust.rows[i].flips_time);
}

/* Half as fast at 0.45 of the rent: cheaper by the rents' ratio over the times', unless a rent is off. */
TSIM_TEST(rents_count) {
    struct side a, b;
    make_pair(&a, &b);
    make_products_slow(&b, HALF);
    set(&a, "cost.rent", "1 USD/h");
    set(&b, "cost.rent", "0.45 USD/h");
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

/* B takes twice as long at the same rent: at half of it both cost the same. Intervals of 1 to 2 and 2.5 to 4 s are
 * apart, 1.5 to 3 s meets the first. */
TSIM_TEST(even_rent_and_intervals) {
    struct side a, b;
    struct tsim_robust robust;
    make_pair(&a, &b);
    set(&a, "cost.rent", "1 USD/h");
    set(&b, "cost.rent", "1 USD/h");
    robust = compare(&a, &b);
    ck_assert_double_eq_tol(robust.even_rent_usd_per_s, 1 / 3600.0, 1e-12);
    ck_assert(!robust.has_intervals);
    make_products_slow(&b, HALF);
    robust = compare(&a, &b);
    ck_assert_double_eq_tol(robust.even_rent_usd_per_s * (1 + robust.time_frac), 1 / 3600.0, 1e-12);
    a.prediction.uncertainty = (struct tsim_uncertainty){.basis = "", .step_time_low_s = 1, .step_time_high_s = 2};
    b.prediction.uncertainty = (struct tsim_uncertainty){.basis = "", .step_time_low_s = 2.5, .step_time_high_s = 4};
    ck_assert_int_eq(tsim_robust_run(&arena, &a.prediction, &b.prediction, &robust, &diags), TSIM_OK);
    ck_assert(robust.has_intervals && !robust.intervals_overlap);
    b.prediction.uncertainty.step_time_low_s = 1.5;
    ck_assert_int_eq(tsim_robust_run(&arena, &a.prediction, &b.prediction, &robust, &diags), TSIM_OK);
    ck_assert(robust.intervals_overlap);
}

/* The same accelerator on a slower network: what its peak does, it does to both, so that nothing turns; the network is
 * A's and B's own. */
TSIM_TEST(what_both_have_moves_both) {
    static const char *const FABRICS[] = {"{extends: ib-hdr, name: fast, bandwidth: 100 GB/s}",
                                          "{extends: ib-hdr, name: slow, bandwidth: 95 GB/s}"};
    static const char *const NICS[] = {"100 GB/s", "95 GB/s"};
    struct side sides[2];
    make_pair(&sides[0], &sides[1]);
    for (int i = 0; i < 2; i++) {
        set(&sides[i], "cluster.nodes", "8");
        set(&sides[i], "cluster.accelerators_per_node", "1");
        set(&sides[i], "cluster.node.nics", "1");
        set(&sides[i], "cluster.node.nic_bandwidth", NICS[i]);
        set(&sides[i], "cluster.fabric", FABRICS[i]);
        set(&sides[i], "simulation.network", "fluid");
        set(&sides[i], "cost.rent", "1 USD/h");
    }
    struct tsim_robust robust = compare(&sides[0], &sides[1]);
    ck_assert_msg(robust.time_frac > 0 && robust.time_frac < 0.1, "%g", robust.time_frac);
    const struct tsim_robust_row *peak = find(&robust, TSIM_BOTH_SIDES, "matrix_peak");
    ck_assert(!peak->flips_time && !peak->flips_cost);
    ck_assert(fabs(peak->less_frac) < robust.time_frac); /* slower products make the network matter less */
    ck_assert(find(&robust, TSIM_BOTH_SIDES, "rent")->less_frac == 0);
    ck_assert(find(&robust, 0, "nic_bandwidth")->less_frac > 0 && find(&robust, 1, "nic_bandwidth")->more_frac < 0);
    ck_assert(find(&robust, 1, "nic_bandwidth")->flips_time); /* a tenth more is A's */
    ck_assert(robust.cost_survives == robust.time_survives);
}

TSIM_TEST(equal_ones_have_no_order) {
    struct side a, b;
    make_pair(&a, &b);
    struct tsim_robust robust = compare(&a, &b);
    ck_assert_double_eq(robust.time_frac, 0);
    ck_assert(robust.time_survives);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
