/* Tests traffic that meets on the NICs during a training step: scenarios/contention, against what their descriptions
 * work out by hand. */
#include "partition/memory.h"
#include "step/program.h"
#include "support/arena_rig.h"

#include <math.h>

#define NIC 10e9 /* bytes/s */
#define FOLDER "scenarios/contention/"

static const struct tsim_scenario *scenario; /* loaded last */
static const struct tsim_link_utilization *link_utilizations;
static int32_t n_link_utilizations;
static double optimizer_s; /* its step's */

static double step_s(const char *file, const char *network, const char *fold) {
    const struct tsim_override overrides[] = {{"simulation.network", network}, {"simulation.fold", fold}};
    struct tsim_step_simulation simulation;
    struct tsim_pass_costs costs;
    enum tsim_status status = tsim_scenario_load(&arena, file, overrides, 2, &scenario, &diags);
    tsim_diags_print(&diags, stderr);
    ck_assert_int_eq(status, TSIM_OK);
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, scenario);
    const struct tsim_placement *placement = tsim_placement_build(&arena, scenario);
    tsim_pass_costs_build(&arena, scenario, cluster, placement, &costs);
    ck_assert_int_eq(tsim_step_simulate(&arena, scenario, cluster, placement, &costs, &simulation, &diags), TSIM_OK);
    optimizer_s = simulation.stage_groups[0].terms.optimizer_s;
    link_utilizations = simulation.link_utilizations;
    n_link_utilizations = simulation.n_link_utilizations;
    return simulation.time_s;
}

/* M is activations of 16 x 1,024 tokens of 1,024 numbers of 2 bytes, 3.4 ms. */
static const double message_s = 16 * 1024 * 1024 * 2 / NIC;

/* Returns R, the all-reduce of stage 0's gradients in 4 bytes over two ranks; each sends 2 (n-1)/n = 1 times their
 * size. */
static double reduction_s(void) {
    return tsim_stage_parameters(scenario, 0) * 4 / NIC;
}

/* Returns the time that is not communication. An ideal network has no latency and no contention, only its bandwidth. */
static double passes_s(const char *file) {
    double ideal_s = step_s(file, "ideal", "auto");
    return ideal_s - 2 * (double)(scenario->parallelism.pipeline - 1) * message_s - reduction_s();
}

/* Checks the step folded, unfolded and message by message. Not counted by hand are latencies of messages, the reduction
 * and the gradient's norm, up to 0.3 ms together. */
static void expect(const char *file, double expected_s) {
    static const char *const WAYS[][2] = {{"fluid", "auto"}, {"fluid", "off"}, {"steps", "off"}};
    for (size_t i = 0; i < sizeof WAYS / sizeof WAYS[0]; i++) {
        double step = step_s(file, WAYS[i][0], WAYS[i][1]);
        ck_assert_msg(step > expected_s && step < expected_s + 0.3e-3, "%s, %s, fold %s: %.6g ms, by hand %.6g ms",
                      file, WAYS[i][0], WAYS[i][1], step * 1e3, expected_s * 1e3);
    }
}

TSIM_TEST(a_reduction_meets_the_gradients_of_the_last_pass) {
    double rest_s = passes_s(FOLDER "reduction-and-messages.yaml");
    expect(FOLDER "reduction-and-messages.yaml", rest_s + message_s + 2 * message_s + reduction_s());
}

TSIM_TEST(two_jobs) {
    double rest_s = passes_s(FOLDER "two-jobs.yaml");
    expect(FOLDER "two-jobs.yaml", rest_s + 2 * message_s + 3 * message_s + 2 * reduction_s());
}

TSIM_TEST(a_modest_job) {
    double rest_s = passes_s(FOLDER "modest-job.yaml");
    expect(FOLDER "modest-job.yaml", rest_s + (3 * message_s + reduction_s()) / 0.75);
}

/* The optimizer comes after the reduction. */
TSIM_TEST(a_checkpoint_meets_the_gradients) {
    const char *file = FOLDER "checkpoint-and-gradients.yaml";
    double rest_s = passes_s(file);
    double begin_s = rest_s - optimizer_s, written_s = 1e9 / NIC;
    ck_assert_double_gt(written_s, begin_s + 1e-3);
    ck_assert_double_lt(written_s, begin_s + reduction_s());
    expect(file, rest_s + reduction_s() + written_s - begin_s);
}

TSIM_TEST(one_slow_nic) {
    double rest_s = passes_s(FOLDER "reduction-and-messages.yaml");
    expect(FOLDER "slow-nic.yaml", rest_s + 4 * message_s + 4 * message_s + 4 * reduction_s());
}

/* Stage 0 of the first replica sends its part of the reduction and the activations, R + M, and receives R + M; at a
 * quarter of 10 GB/s. */
TSIM_TEST(the_slow_nic_is_the_fullest_link) {
    double time_s = step_s(FOLDER "slow-nic.yaml", "fluid", "off");
    ck_assert_int_eq(n_link_utilizations, 2);
    ck_assert_str_eq(link_utilizations[0].sort, "NIC out");
    ck_assert_str_eq(link_utilizations[0].busiest, "node 0: NIC 0, out");
    ck_assert_str_eq(link_utilizations[1].busiest, "node 0: NIC 0, in");
    ck_assert_int_eq(link_utilizations[0].n_links, 4);
    ck_assert_double_eq_tol(link_utilizations[0].highest_bytes, (reduction_s() + message_s) * NIC, 1);
    ck_assert_double_eq_tol(link_utilizations[0].highest_frac, 4 * (reduction_s() + message_s) / time_s, 1e-9);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
