#include "cluster/power.h"
#include "support/check_main.h"
#include "support/example.h"

static struct example e;
static struct tsim_arena arena;

/* Idle 100 W, limit 500 W: idle step 100 W; matrix units always busy 100 + 400 * 0.75 = 400 W; everything busy is over
 * 1 (0.75 + 0.35 + 0.05) and stays at the limit. */
START_TEST(accelerator) {
    example_init(&e);
    const struct tsim_cluster *c = tsim_cluster_build(&arena, &e.scenario);
    struct tsim_power_use use = {.time_s = 2};
    ck_assert_double_eq_tol(tsim_power_accelerator_j(c, &use), 200, 1e-9);
    use.compute_busy_s = 2;
    ck_assert_double_eq_tol(tsim_power_accelerator_j(c, &use), 800, 1e-9);
    use.memory_busy_s = use.link_busy_s = 2;
    ck_assert_double_eq_tol(tsim_power_accelerator_j(c, &use), 1000, 1e-9);
}
END_TEST

/* Overhead from 800 W idle to 1600 W at full load, over 8: 100 to 200 W each; the node's limit caps the sum:
 * 8 x 500 W + 1600 W = 5600 W, capped at 5000 W leaves 125 W each. */
START_TEST(overhead_and_node_limit) {
    example_init(&e);
    e.node.power_overhead_idle_w = 800;
    e.node.power_overhead_w = 1600;
    const struct tsim_cluster *c = tsim_cluster_build(&arena, &e.scenario);
    struct tsim_power_use use = {.time_s = 1};
    ck_assert_double_eq_tol(tsim_power_overhead_j(c, &use), 100, 1e-9);
    use.compute_busy_s = use.memory_busy_s = use.link_busy_s = 1;
    ck_assert_double_eq_tol(tsim_power_overhead_j(c, &use), 200, 1e-9);
    e.node.power_limit_w = 5000;
    ck_assert_double_eq_tol(tsim_power_overhead_j(c, &use), 125, 1e-9);
}
END_TEST

static Suite *power_suite(void) {
    Suite *suite = suite_create("power");
    TCase *tcase = tcase_create("analytic");
    tcase_add_test(tcase, accelerator);
    tcase_add_test(tcase, overhead_and_node_limit);
    suite_add_tcase(suite, tcase);
    return suite;
}

TSIM_TEST_MAIN(power_suite)
