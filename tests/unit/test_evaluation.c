/* Tests pauses for evaluation, which are forward passes alone, against sums of passes. */
#include "step/pass/pass.h"
#include "support/training_rig.h"

#include <math.h>

static const struct tsim_scenario *load(const char *cluster, const char *training, const char *plan) {
    return load_text(tsim_arena_printf(&arena,
                                       "schema: tsim/v1\nname: e\nmodel: gpt2-medium\ncluster: {%s}\n"
                                       "training: {sequence_length: 1024, %s}\nparallelism: {%s}\n",
                                       cluster, training, plan));
}

static struct tsim_result run(const struct tsim_scenario *scenario) {
    struct tsim_result result = train(scenario);
    ck_assert(result.evaluation.has);
    return result;
}

/* Returns the time of a forward pass of the whole model: its kernels, of which the host launches the first when the
 * pass begins, and none of the others too late. */
static double forward_s(const struct tsim_scenario *sc) {
    struct tsim_pass_costs costs;
    struct tsim_pass_cost cost = {0};
    struct tsim_parts parts = tsim_model_parts(sc->model);
    tsim_pass_costs_build(&arena, sc, tsim_cluster_build(&arena, sc), tsim_placement_build(&arena, sc), &costs);
    tsim_pass_sum(&costs, sc, TSIM_PASS_FORWARD, &parts, 0, &cost);
    ck_assert_double_eq_tol(cost.host_excess_s, tsim_pass_launches(sc).each_s, 1e-9);
    return cost.time_s;
}

#define GPU "node: single-h100-sxm"
#define BATCH "global_batch_size: 64, micro_batch_size: 4, steps: 10000, "

/* 100 samples are 25 micro-batches of 4; 97 fill as many. */
TSIM_TEST(one_accelerator) {
    const struct tsim_scenario *sc = load(GPU, BATCH "evaluation: {every: 1000, samples: 100}", "");
    struct tsim_result result = run(sc);
    SAME(result.evaluation.time_s, 25 * forward_s(sc));
    ck_assert_double_eq(result.evaluation.samples, 100);
    result = run(load(GPU, BATCH "evaluation: {every: 1000, samples: 97}", ""));
    SAME(result.evaluation.time_s, 25 * forward_s(sc));
    result = run(load(GPU, BATCH "evaluation: {every: 1000, steps: 3}", ""));
    SAME(result.evaluation.time_s, 3 * 16 * forward_s(sc));
}

TSIM_TEST(many_samples_are_not_simulated_one_by_one) {
    const struct tsim_scenario *sc = load(GPU, BATCH "evaluation: {every: 1000, samples: 4 M}", "");
    struct tsim_result result = run(sc);
    SAME(result.evaluation.time_s, 1e6 * forward_s(sc));
    ck_assert_int_lt(result.events, 100000);
}

/* There are floor(10,000 / 300) pauses, with their time and energy. */
TSIM_TEST(the_run_counts_them) {
    struct tsim_result r = run(load(GPU, BATCH "evaluation: {every: 300, samples: 4096}", ""));
    double run_s = 10000 * r.step.terms.time_s + 33 * r.evaluation.time_s; /* the campaign counts in milliseconds */
    ck_assert_double_eq_tol(r.campaign.days * 86400, run_s, 0.05);
    double run_j = 10000 * r.step.energy_j + 33 * r.evaluation.energy_j;
    ck_assert_double_eq_tol(r.campaign.energy_kwh * 3.6e6 / 1.1, run_j, 1e-4 * run_j);
    double power_w = r.evaluation.energy_j / r.evaluation.time_s;
    ck_assert(power_w > 0.5 * r.step.mean_power_w && power_w < 1.5 * r.step.mean_power_w);
}

/* Replicas share the samples and do not talk. */
TSIM_TEST(replicas_share) {
    const struct tsim_scenario *sc =
        load("node: dgx-h100", "global_batch_size: 64, micro_batch_size: 4, evaluation: {every: 10, samples: 320}", "");
    SAME(run(sc).evaluation.time_s, 10 * forward_s(sc));
}

/* m micro-batches go through p stages in (m + p - 1) passes of a stage; the first and last have more to do. Without
 * backward passes nothing makes a sequential schedule wait either. */
TSIM_TEST(pipelines_only_go_forward) {
    static const char *const SCHEDULES[] = {"sequential", "gpipe", "1f1b", "zb-h1", "zb-v", "dualpipe"};
    for (size_t i = 0; i < sizeof SCHEDULES / sizeof SCHEDULES[0]; i++) {
        const struct tsim_scenario *sc =
            load("node: dgx-h100, accelerators_per_node: 4",
                 "global_batch_size: 64, micro_batch_size: 4, evaluation: {every: 10, samples: 64}",
                 tsim_arena_printf(&arena, "pipeline: 4, schedule: %s", SCHEDULES[i]));
        double all_s = forward_s(sc), time_s = run(sc).evaluation.time_s;
        double least_s = 16 * all_s / 4, most_s = 19 * all_s / 2.2;
        ck_assert_msg(time_s >= least_s && time_s < most_s, "%s: %g s, of %g to %g", SCHEDULES[i], time_s, least_s,
                      most_s);
    }
}

/* Fully sharded weights are gathered for each micro-batch, and nothing is reduced: about a third of a step's passes. */
TSIM_TEST(fully_sharded) {
    const struct tsim_scenario *sc =
        load("node: dgx-h100", "global_batch_size: 32, micro_batch_size: 4, evaluation: {every: 10, samples: 320}",
             "zero: 3");
    double time_s = run(sc).evaluation.time_s;
    ck_assert_msg(time_s >= 10 * forward_s(sc) * (1 - 1e-6) && time_s < 30 * forward_s(sc), "%g s, passes %g s", time_s,
                  10 * forward_s(sc));
}

/* Each token of a sampled text reads all weights once, or gathers them. */
TSIM_TEST(a_text_is_sampled_token_by_token) {
    double weights_bytes = 355e6 * 2, read_s = weights_bytes / 3.35e12, link_s = weights_bytes * 7 / 8 / 450e9;
    const struct tsim_scenario *sc = load(GPU, BATCH "evaluation: {every: 1000, samples: 100}", ""),
                               *text = load(GPU, BATCH "evaluation: {every: 1000, samples: 100, tokens: 200}", "");
    double token_s = (run(text).evaluation.time_s - run(sc).evaluation.time_s) / 200;
    ck_assert_msg(token_s > read_s && token_s < 10e-3, "%g s, weights %g s", token_s, read_s);
    SAME(run(load(GPU, BATCH "evaluation: {every: 1000, tokens: 200}", "")).evaluation.time_s, 200 * token_s);
    sc = load("node: dgx-h100", "global_batch_size: 64, micro_batch_size: 4, evaluation: {every: 10, tokens: 100}",
              "zero: 3");
    token_s = run(sc).evaluation.time_s / 100;
    ck_assert_msg(token_s > read_s + link_s, "%g s, gathering %g s", token_s, link_s);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
