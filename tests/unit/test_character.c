/* Accelerators that are not like a GPU: arrays of multipliers, compiled programs, supersteps, weights that stream,
 * slices of a torus. */
#include "cluster/cluster.h"
#include "cost/collective.h"
#include "cost/compute.h"
#include "support/example.h"
#include "support/training_rig.h"

#include <math.h>

static struct example e;

static void set_up_example(void) {
    set_up();
    example_init(&e);
}

/* ---- arrays ---- */

/* Returns the time on the example's 1 PFLOP/s in four arrays of 128 x 128. */
static double weights_stay_s(double m, double n, double k) {
    e.accelerator.compute_units = 4;
    e.accelerator.array_side = 128;
    e.accelerator.array_stationary = TSIM_STATIONARY_WEIGHTS;
    return tsim_gemm_s(&e.accelerator, TSIM_BF16, 1, m, n, k);
}

/* Whole arrays and enough rows: the peak, whether n alone deals the work to the arrays or m must be cut. */
TSIM_TEST(whole_arrays_reach_the_peak) {
    ck_assert_double_eq_tol(weights_stay_s(4096, 512, 1024), 2.0 * 4096 * 512 * 1024 / 1e15, 1e-18);
    ck_assert_double_eq_tol(weights_stay_s(4096, 128, 1024), 2.0 * 4096 * 128 * 1024 / 1e15, 1e-18);
}

/* One column or one row of weights more takes a whole array; fewer rows than an array is wide take as long as so many,
 * because the next weights are loaded meanwhile. A GPU's tiles would not see the depth. */
TSIM_TEST(parts_of_an_array_cost_whole_ones) {
    ck_assert_double_eq(weights_stay_s(4096, 512, 129), weights_stay_s(4096, 512, 256));
    ck_assert_double_eq(weights_stay_s(4096, 385, 128), weights_stay_s(4096, 512, 128));
    ck_assert_double_eq(weights_stay_s(8, 512, 128), weights_stay_s(128, 512, 128));
    ck_assert_double_lt(weights_stay_s(128, 512, 128), weights_stay_s(129, 512, 128));
}

/* Squares of results, depth as it is: two arrays of 256. */
TSIM_TEST(arrays_that_keep_results) {
    e.accelerator.compute_units = 2;
    e.accelerator.array_side = 256;
    e.accelerator.array_stationary = TSIM_STATIONARY_OUTPUTS;
    double full = tsim_gemm_s(&e.accelerator, TSIM_BF16, 1, 512, 256, 129);
    ck_assert_double_eq_tol(full, 2.0 * 512 * 256 * 129 / 1e15, 1e-18);
    ck_assert_double_eq(tsim_gemm_s(&e.accelerator, TSIM_BF16, 1, 257, 256, 129), full);
    ck_assert_double_eq(tsim_gemm_s(&e.accelerator, TSIM_BF16, 1, 513, 256, 129), 2 * full);
}

/* Blocks that a product leaves idle take parts of its depth: an eighth of the time of eight times as many rows, as long
 * as a part is worth its reduction (512 elements). */
TSIM_TEST(idle_blocks_of_an_array_share_the_depth) {
    const struct tsim_accelerator *a;
    ck_assert_int_eq(tsim_catalogue_load_accelerator(&arena, "gaudi2", &a, &diags), TSIM_OK);
    double all = tsim_gemm_s(a, TSIM_BF16, 1, 1024, 128, 65536);
    ck_assert_double_eq_tol(tsim_gemm_s(a, TSIM_BF16, 1, 64, 64, 65536), all / 8, 1e-12);
    ck_assert_double_eq_tol(tsim_gemm_s(a, TSIM_BF16, 1, 512, 256, 65536), all, 1e-12);
    ck_assert_double_eq_tol(tsim_gemm_s(a, TSIM_BF16, 1, 128, 128, 600), tsim_gemm_s(a, TSIM_BF16, 1, 1024, 128, 600),
                            1e-12);
}

/* Arrays x side^2 x 2 x clock are the stated peaks of TPU (docs.cloud.google.com/tpu/docs), Trainium and Gaudi. */
TSIM_TEST(peaks_are_those_of_the_arrays) {
    static const char *const IDS[] = {"tpu-v3",    "tpu-v4",    "tpu-v5e", "tpu-v5p",
                                      "trainium1", "trainium2", "gaudi2",  "gaudi3"};
    for (size_t i = 0; i < sizeof IDS / sizeof IDS[0]; i++) {
        const struct tsim_accelerator *a;
        ck_assert_int_eq(tsim_catalogue_load_accelerator(&arena, IDS[i], &a, &diags), TSIM_OK);
        double side = (double)a->array_side, flops_per_s = (double)a->compute_units * side * side * 2 * a->clock_hz;
        ck_assert_int_eq(a->execution, TSIM_EXECUTION_COMPILED);
        ck_assert_msg(fabs(flops_per_s / a->peak_flops_per_s[TSIM_BF16] - 1) < 0.01, "%s: %g", IDS[i], flops_per_s);
    }
}

/* ---- supersteps ---- */

/* Compute, exchange and synchronization come one after another: 1e9 bytes at 1 TB/s of memory and 0.5 TB/s
 * exchanged. */
TSIM_TEST(supersteps_add_up) {
    struct tsim_op op = {.kind = TSIM_OP_ELEMENTWISE, .bytes = 1e9, .kernels = 2};
    struct tsim_kernel_cost cost;
    e.accelerator.execution = TSIM_EXECUTION_BULK_SYNCHRONOUS;
    e.accelerator.exchange_bytes_per_s = 0.5e12;
    e.accelerator.kernel_latency_s = 1e-6;
    tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
    ck_assert_double_eq_tol(cost.memory_s, 1e-3, 1e-12);
    ck_assert_double_eq_tol(cost.exchange_s, 2e-3, 1e-12);
    ck_assert_double_eq_tol(cost.time_s, 1e-3 + 2e-3 + 2e-6, 1e-12);
}

/* ---- scenarios ---- */

static const struct tsim_scenario *load(const char *cluster, const char *rest) {
    const char *text = tsim_arena_printf(&arena, "schema: tsim/v1\nname: t\ncluster: %s\n%s", cluster, rest);
    return try_text(text);
}

static struct tsim_result run(const struct tsim_scenario *scenario) {
    const struct tsim_run_options options = {.ignore_memory = true, .is_brief = true};
    struct tsim_result result;
    ck_assert_ptr_nonnull(scenario);
    ck_assert_int_eq(tsim_train_run(&arena, scenario, &options, &result, &diags), TSIM_OK);
    return result;
}

#define MODEL "model: {layers: 4, hidden: 8192, heads: 64, vocab: 1024, positions: 2048, position: learned}\n"

/* Whatever profile is named, no host launches what is compiled, element-wise chains are fused, and engines beside the
 * cores move collectives. */
TSIM_TEST(programs_are_compiled) {
    const struct tsim_scenario *scenario =
        load("{node: tpu-v4-host, nodes: 2, fabric: tpu-v4-torus}",
             MODEL "software: megatron-2020\ntraining: {sequence_length: 1024, global_batch_size: 8}\n");
    ck_assert_ptr_nonnull(scenario);
    ck_assert_int_eq(scenario->software->fusion, TSIM_FUSION_COMPILE);
    ck_assert_double_eq(scenario->software->host_time_per_op_s, 0);
    scenario = load("{node: gaudi2-hls, nodes: 1}", MODEL "training: {sequence_length: 1024, global_batch_size: 8}\n");
    ck_assert_ptr_nonnull(scenario);
    struct tsim_collective_request request = {
        .op = TSIM_ALL_REDUCE,
        .bytes = 1e9,
        .group = {.n_ranks = 8, .n_nodes = 1, .max_ranks_per_node = 8, .min_ranks_per_node = 8}};
    struct tsim_collective_cost cost;
    tsim_collective_cost(tsim_cluster_build(&arena, scenario), &request, &cost);
    ck_assert_double_eq(cost.sm_frac, 0);
}

/* Computing and exchanging take turns: nothing is hidden, whatever the profile hides. */
TSIM_TEST(nothing_hides_between_supersteps) {
    const struct tsim_scenario *scenario =
        load("{node: ipu-pod4, nodes: 1}", MODEL
             "training: {sequence_length: 512, global_batch_size: 8, precision: fp16}\nsoftware: megatron-core-2024\n"
             "parallelism: {overlap: {gradients: true}}\n");
    ck_assert_ptr_nonnull(scenario);
    ck_assert(!scenario->parallelism.overlap.gradients && !scenario->parallelism.overlap.parameters &&
              !scenario->parallelism.overlap.tensor_backward);
    /* A warning says so, behind the one that the machine's own software was taken. */
    ck_assert_uint_eq(diags.n_items, 2);
    ck_assert_ptr_nonnull(strstr(diags.items[0].message, "in its place"));
    ck_assert_ptr_nonnull(strstr(diags.items[1].message, "take turns"));
}

/* 4 layers of 12 h^2 and the table: a short sequence waits for the link, 2 bytes a parameter forward, gradients of 4
 * backward while the weights come again, at 150 GB/s. No optimizer, and none of it but two layers lies on the wafer. */
TSIM_TEST(weights_stream_in_and_gradients_out) {
    struct tsim_result one =
        run(load("{node: cs2, nodes: 1}", MODEL "training: {sequence_length: 16, global_batch_size: 4, "
                                                "precision: fp16, gradient_precision: fp32}\n"));
    double streamed_s = 4 * one.step.parameters * (2 + 4) / 150e9;
    ck_assert_double_eq_tol(one.step.terms.time_s / streamed_s, 1, 1e-3);
    ck_assert_double_eq(one.step.terms.optimizer_s, 0);
    ck_assert_double_eq_tol(one.step.memory.weights_bytes / (2 * 2 * 12.0 * 8192 * 8192), 1, 1e-2);
    ck_assert_double_eq(one.step.memory.optimizer_bytes, 0);
}

/* SwarmX sums on the way: four systems with a batch each take as long as one with one. Long sequences hide the link. */
TSIM_TEST(wafers_share_the_batch_for_nothing) {
    struct tsim_result one =
        run(load("{node: cs2, nodes: 1}", MODEL "training: {sequence_length: 2048, global_batch_size: "
                                                "64, micro_batch_size: 64, precision: fp16}\n"));
    struct tsim_result four =
        run(load("{node: cs2, nodes: 4, fabric: swarmx}", MODEL
                 "training: {sequence_length: 2048, global_batch_size: 256, micro_batch_size: 64, precision: fp16}\n"));
    ck_assert_double_eq_tol(four.step.terms.time_s / one.step.terms.time_s, 1, 1e-3);
    ck_assert_double_gt(one.step.terms.time_s, 1.1 * one.step.parameters * 6 / 150e9);
}

/* Tensor parallelism on a wafer, and the other splits of a model, are errors that say why. */
TSIM_TEST(a_wafer_takes_the_whole_model) {
    static const char *const PLANS[] = {"tensor: 2", "pipeline: 2", "context: 2"};
    for (size_t i = 0; i < sizeof PLANS / sizeof PLANS[0]; i++) {
        size_t n_items = diags.n_items;
        const char *rest = tsim_arena_printf(
            &arena,
            MODEL "training: {sequence_length: 1024, global_batch_size: 8, precision: fp16}\nparallelism: {%s}\n",
            PLANS[i]);
        ck_assert_ptr_null(load("{node: cs2, nodes: 4, fabric: swarmx}", rest));
        ck_assert_ptr_nonnull(strstr(diags.items[n_items].message, "no model is split"));
    }
}

/* A node that says nothing about its link: the step is what the wafer computes, as beside a link of any speed. */
TSIM_TEST(weights_without_a_link_are_there) {
    const char *rest = MODEL "training: {sequence_length: 1024, global_batch_size: 8, precision: fp16}\n";
    size_t n_items = diags.n_items;
    struct tsim_result without = run(load("{node: single-cerebras-cs2}", rest));
    ck_assert_ptr_nonnull(strstr(diags.items[n_items].message, "weights are assumed to arrive in time"));
    struct tsim_result fast = run(load("{node: {extends: cs2, host_link: 1000 TB/s}}", rest));
    ck_assert_double_eq(without.step.terms.time_s, fast.step.terms.time_s);
}

/* A vendor's own links join no other's accelerators, and only SwarmX sums what comes back from wafers. */
TSIM_TEST(fabrics_have_their_accelerators) {
    static const char *const CLUSTERS[][2] = {
        {"{node: dgx-h100, nodes: 8, fabric: tpu-v4-torus}", "no port for it"},
        {"{node: dgx-h100, nodes: 4, fabric: swarmx}", "no port for it"},
        {"{node: cs2, nodes: 4, fabric: tpu-v4-torus}", "no port for it"},
        {"{node: cs2, nodes: 4, fabric: roce-100}", "sums their gradients"},
    };
    for (size_t i = 0; i < sizeof CLUSTERS / sizeof CLUSTERS[0]; i++) {
        size_t n_items = diags.n_items;
        ck_assert_ptr_null(
            load(CLUSTERS[i][0], MODEL "training: {sequence_length: 1024, global_batch_size: 64, precision: fp16}\n"));
        bool is_said = false;
        for (size_t j = n_items; j < diags.n_items; j++)
            is_said |= strstr(diags.items[j].message, CLUSTERS[i][1]) != NULL;
        ck_assert_msg(is_said, "%s", CLUSTERS[i][0]);
    }
}

/* ---- slices ---- */

static const struct tsim_cluster *slice(const char *host, int nodes, const char *shape) {
    const char *generation =
        tsim_arena_printf(&arena, "{node: %s-host, nodes: %d, fabric: %s-torus, shape: %s}", host, nodes, host, shape);
    const struct tsim_scenario *scenario =
        load(generation, MODEL "training: {sequence_length: 1024, global_batch_size: 4096}\n");
    ck_assert_ptr_nonnull(scenario);
    return tsim_cluster_build(&arena, scenario);
}

/* docs.cloud.google.com/tpu/docs/v4: a torus if each dimension is a multiple of 4. A dimension of a v3 slice closes if
 * it is as long as the pod's 32. */
TSIM_TEST(slices_close_where_they_can) {
    const struct tsim_cluster *whole = slice("tpu-v4", 32, "[4, 4, 8]"), *part = slice("tpu-v4", 8, "[2, 4, 4]"),
                              *flat = slice("tpu-v3", 64, "[8, 32]");
    ck_assert(whole->torus_wraps[0] && whole->torus_wraps[1] && whole->torus_wraps[2]);
    ck_assert(!part->torus_wraps[0] && !part->torus_wraps[1] && !part->torus_wraps[2]);
    ck_assert(!flat->torus_wraps[0] && flat->torus_wraps[1]);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up_example, tear_down)
