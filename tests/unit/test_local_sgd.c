/* Workers that train apart: how seldom their network is used, and what they keep for it. */
#include "cost/compute.h"
#include "step/step.h"
#include "support/training_rig.h"

#include <math.h>

static const char *text_of(int nodes, const char *network, const char *plan) {
    return tsim_arena_printf(&arena,
                             "schema: tsim/v1\nname: l\nmodel: gpt2-medium\n"
                             "cluster: {node: dgx-1v, nodes: %d, fabric: ethernet-10}\n"
                             "training: {sequence_length: 1024, global_batch_size: %d, micro_batch_size: 2, precision: "
                             "fp16, recompute: full}\n"
                             "software: megatron-2022\nparallelism: {%s}\nsimulation: {network: %s}\n",
                             nodes, 16 * nodes, plan, network);
}

static struct tsim_result run(int nodes, const char *plan) {
    return train(load_text(text_of(nodes, "ideal", plan)));
}

static struct tsim_result every(int steps, const char *plan) {
    return run(4, tsim_arena_printf(&arena, "local_sgd: {workers: 4, steps: %d}, %s", steps, plan));
}

/* Returns the parameters, with two bytes each in fp16, padding of the vocabulary included. */
static double parameters_of(const struct tsim_result *result) {
    return result->step.memory.weights_bytes / 2;
}

/* An all-reduce of fp32 weights, in every step or in every second. With ZeRO-1 a rank sends 2 x 3/4 of its eighth to
 * those of 3 other nodes; whole weights go around a ring of all 32, of which each rank's share of the ports is an
 * eighth. */
TSIM_TEST(exchanges_are_shared_out_over_steps) {
    struct tsim_result first = every(1, "zero: 1"), second = every(2, "zero: 1");
    double rate = tsim_machine_of(&arena, first.scenario, NULL).cluster->nic_bytes_per_s;
    double eighth_s = 4 * parameters_of(&first) / 8 / rate;
    SAME(first.step.terms.exposed_data_s - second.step.terms.exposed_data_s, 1.5 * eighth_s / 2);
    first = every(1, "zero: 0"), second = every(2, "zero: 0");
    SAME(first.step.terms.exposed_data_s - second.step.terms.exposed_data_s, 2 * 31.0 / 32 * eighth_s / 2);
}

/* Workers that never meet send what a node on its own does; only the slowest of 32 accelerators is slower than that of
 * 8. */
TSIM_TEST(between_them_workers_are_alone) {
    struct tsim_result together = every(1000000000, "zero: 1"), alone = run(1, "zero: 1, overlap: {parameters: false}");
    ck_assert_double_eq_tol(together.step.terms.exposed_data_s, alone.step.terms.exposed_data_s, 1e-8);
    ck_assert_double_eq_tol(together.step.terms.time_s / alone.step.terms.time_s, 1, 0.01);
    SAME(together.step.memory.peak_bytes, alone.step.memory.peak_bytes);
}

/* A copy of the weights and a momentum take four bytes each, of the rank's eighth: as much as Adam's two moments. */
TSIM_TEST(outer_momentum_is_kept) {
    struct tsim_result average = every(100, "zero: 1"),
                       nesterov = run(4, "zero: 1, local_sgd: {workers: 4, steps: 100, outer: nesterov}");
    SAME(nesterov.step.memory.buffers_bytes - average.step.memory.buffers_bytes, average.step.memory.optimizer_bytes);
    double rate = tsim_memory_rate(average.scenario->cluster.node->accelerator);
    SAME(nesterov.step.terms.exposed_data_s - average.step.terms.exposed_data_s,
         24 * parameters_of(&average) / 8 / rate / 100);
}

/* Rank by rank on the links of the topology, a step takes as long. */
TSIM_TEST(unfolded_is_the_same) {
    const char *plan = "zero: 1, local_sgd: {workers: 4, steps: 5}";
    struct tsim_result folded = train(load_text(text_of(4, "fluid", plan))),
                       unfolded = train(load_text(text_of(4, "fluid, fold: off", plan)));
    SAME(unfolded.step.terms.time_s, folded.step.terms.time_s);
}

TSIM_TEST(workers_are_whole) {
    static const char *const REFUSED[] = {"workers: 3, steps: 10", "workers: 4", "steps: 10", "workers: 1, steps: 10"};
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++) {
        ck_assert_ptr_null(
            try_text(text_of(4, "fluid", tsim_arena_printf(&arena, "zero: 0, local_sgd: {%s}", REFUSED[i]))));
        tsim_diags_release(&diags);
        tsim_diags_init(&diags);
    }
    ck_assert_ptr_null(try_text(text_of(4, "steps", "zero: 0, local_sgd: {workers: 4, steps: 10}")));
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
