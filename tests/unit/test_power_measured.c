/* Power of whole runs of the shipped catalogue against what is measured. A step's mean against a measured mean: 15 %,
 * and 3 % of H100 nodes, by which power.compute of NVIDIA's GPUs is set; BLOOM's energy on A100s
 * (test_campaign_measured.c) checks it. */
#include "cluster/power.h"
#include "support/training_rig.h"

/* Returns the mean power in W of a node of the scenario, with its file's values overridden. */
static double node_w(const char *id, const struct tsim_override *overrides, size_t n_overrides) {
    const struct tsim_scenario *scenario = load_shipped(id, overrides, n_overrides);
    return train(scenario).step.mean_power_w / (double)scenario->cluster.nodes;
}

/* 8-GPU nodes of H100 in training drew 0.76 of their nameplate of 10.2 kW on average and 8.4 kW at most (IEEE Access
 * 13, 2025, 61740): 7.752 kW. Pre-training of several sizes and frameworks stands for their mix. */
TSIM_TEST(h100_nodes) {
    static const char *const RUNS[] = {"llama70b", "dgxc-gpt3-175b-h100-128", "dgxc-llama31-70b-h100-64",
                                       "mpt-70b-h100-512", "mpt-13b-h100-32"};
    enum { N_RUNS = sizeof RUNS / sizeof RUNS[0] };
    double sum_w = 0;
    for (size_t i = 0; i < N_RUNS; i++) {
        double w = node_w(RUNS[i], NULL, 0);
        ck_assert_msg(w <= 8400, "%s: %.0f W", RUNS[i], w);
        sum_w += w;
    }
    ck_assert_double_eq_tol(sum_w / N_RUNS / 7752, 1, 0.03);
}

/* Chips in use drew 220 W (v3) and 170 W (v4) on average (docs.cloud.google.com/tpu/docs). The model fits on one. */
TSIM_TEST(tpu_chips) {
    static const struct {
        const char *cluster;
        double mean_w;
    } CHIPS[] = {{"{node: single-tpu-v3, nodes: 1}", 220}, {"{node: single-tpu-v4, nodes: 1}", 170}};
    for (size_t i = 0; i < sizeof CHIPS / sizeof CHIPS[0]; i++) {
        const struct tsim_override overrides[] = {
            {"model", "gpt2-xl"},
            {"cluster", CHIPS[i].cluster},
            {"training", "{sequence_length: 1024, global_batch_size: 8, micro_batch_size: 4, recompute: full, "
                         "optimizer: adafactor}"},
            {"software", "maxtext-2024"},
            {"parallelism", "{data: 1}"}};
        double w = node_w("llama70b", overrides, sizeof overrides / sizeof overrides[0]);
        ck_assert_double_eq_tol(w / CHIPS[i].mean_w, 1, 0.15);
    }
}

/* The least and the most that chips in use drew: 123 and 262 W (v3), 90 and 192 W (v4), the same pages. Waiting takes
 * the one, products with all of their traffic the other. */
TSIM_TEST(tpu_chips_between_least_and_most) {
    static const struct {
        const char *id;
        double least_w, most_w;
    } CHIPS[] = {{"tpu-v3", 123, 262}, {"tpu-v4", 90, 192}};
    for (size_t i = 0; i < sizeof CHIPS / sizeof CHIPS[0]; i++) {
        const struct tsim_accelerator *a;
        ck_assert_int_eq(tsim_catalogue_load_accelerator(&arena, CHIPS[i].id, &a, &diags), TSIM_OK);
        ck_assert_double_eq_tol(tsim_power_accelerator_w(a, 0, 0, 0) / CHIPS[i].least_w, 1, 0.15);
        ck_assert_double_eq_tol(tsim_power_accelerator_w(a, 1, 0.7, 0.1) / CHIPS[i].most_w, 1, 0.15);
    }
}

/* BLOOM: 256,646 kWh of everything around the accelerators, over 1,082,990 accelerator hours, at the machine's PUE
 * of 1.2 (Luccioni et al. 2023, JMLR 24, 253, table 3): 237 W beside each. Its 433,196 kWh of the accelerators are
 * hours times their limit of 400 W, not measured, so what is simulated must stay below. How loaded the accelerators are
 * follows from the node's power, which is linear in it. */
TSIM_TEST(bloom_around_and_in_the_accelerators) {
    const double published_w = 256646e3 / 1082990, pue = 1.2;
    const struct tsim_node *node;
    double ports_w = 4 * 15.0, total_w = node_w("bloom-176b-a100-384-001", NULL, 0);
    ck_assert_int_eq(tsim_catalogue_load_node(&arena, "dgx-a100", &node, &diags), TSIM_OK);
    const struct tsim_accelerator *a = node->accelerator;
    double idle_w = 8 * a->power_idle_w + node->power_overhead_idle_w + ports_w;
    double load = (total_w - idle_w) /
                  (8 * (a->power_limit_w - a->power_idle_w) + node->power_overhead_w - node->power_overhead_idle_w);
    double accelerator_w = a->power_idle_w + load * (a->power_limit_w - a->power_idle_w);
    double around_w = total_w / 8 - accelerator_w;
    ck_assert_double_gt(accelerator_w, 200);
    ck_assert_double_le(accelerator_w, 400);
    ck_assert_double_eq_tol(pue * around_w / published_w, 1, 0.15);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
