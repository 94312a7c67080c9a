/* Offloading to the host: what lies where, how long the host updates, and what its link holds up. */
#include "config/scenario.h"
#include "cost/compute.h"
#include "run/run.h"
#include "support/training_rig.h"

#include <math.h>

static enum tsim_status run(const char *model, const char *training, struct tsim_result *result) {
    const struct tsim_run_options options = {.ignore_memory = true, .is_brief = true};
    const char *text = tsim_arena_printf(&arena,
                                         "schema: tsim/v1\nname: t\nmodel: %s\n"
                                         "cluster: {node: dgx-2, nodes: 1, accelerators_per_node: 1}\n"
                                         "training: {sequence_length: 1024, global_batch_size: 8, micro_batch_size: 4, "
                                         "precision: fp16, gradient_precision: fp16, optimizer: adam%s}\n"
                                         "software: megatron-2021\n",
                                         model, training);
    return tsim_train_run(&arena, load_text(text), &options, result, &diags);
}

/* Returns a model with 12 h^2 parameters in each of n layers of h = 4,096. */
static const char *model_of(int layers) {
    return tsim_arena_printf(&arena, "{layers: %d, hidden: 4096, heads: 32, vocab: 1024}", layers);
}

/* Ren et al. 2021 (ZeRO-Offload), table 4: CPU-Adam on a DGX-2 takes 0.22 s for 1 billion parameters, 1.03 s for 4
 * and 2.57 s for 10. The backward pass hides the gradients' way. */
TSIM_TEST(cpu_adam) {
    static const struct {
        int layers;
        double published_s;
    } CASES[] = {{5, 0.22}, {20, 1.03}, {50, 2.57}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct tsim_result result;
        ck_assert_int_eq(run(model_of(CASES[i].layers), ", offload: {optimizer: true}", &result), TSIM_OK);
        double expected_s = CASES[i].published_s * result.step.parameters / (CASES[i].layers * 0.2e9);
        ck_assert_double_eq_tol(result.step.terms.optimizer_s / expected_s, 1, 0.2);
    }
}

/* Master weights and Adam's moments, 12 bytes a parameter, leave the accelerator. */
TSIM_TEST(optimizer_leaves) {
    struct tsim_result here, there;
    ck_assert_int_eq(run(model_of(5), "", &here), TSIM_OK);
    ck_assert_int_eq(run(model_of(5), ", offload: {optimizer: true}", &there), TSIM_OK);
    ck_assert_double_eq_tol(here.step.memory.peak_bytes - there.step.memory.peak_bytes, 12 * here.step.parameters, 1);
    ck_assert_double_eq(there.step.memory.master_bytes, 0);
    ck_assert_double_eq(there.step.memory.optimizer_bytes, 0);
    double lost_s = there.step.terms.compute_s - here.step.terms.compute_s;
    ck_assert_double_ge(lost_s, 0); /* gradients on their way, 2 bytes each, take HBM from kernels that it binds */
    ck_assert_double_le(lost_s, 2 * here.step.parameters / tsim_memory_rate(here.scenario->cluster.node->accelerator));
}

/* A quarter of the activations leaves, less two layers' share on the way; the passes take the longer of their kernels
 * and of 15.75 GB/s. */
TSIM_TEST(activations_leave) {
    struct tsim_result here, some, all;
    ck_assert_int_eq(run(model_of(8), ", recompute: full", &here), TSIM_OK);
    ck_assert_int_eq(run(model_of(8), ", recompute: full, offload: {activations: 25 %}", &some), TSIM_OK);
    double kept = here.step.memory.activations_bytes;
    ck_assert_double_eq_tol(some.step.memory.activations_bytes, 0.75 * kept, 1e-6 * kept);
    double layer = 2.0 * 1024 * 4 * 4096; /* its input, 2 bytes each */
    ck_assert_double_eq_tol(some.step.memory.buffers_bytes - here.step.memory.buffers_bytes, 2 * 0.25 * layer, 1);
    double lost_s = some.step.terms.time_s - here.step.terms.time_s;
    ck_assert_double_ge(lost_s,
                        -1e-9); /* 67 MB go beside tens of milliseconds, and take HBM from kernels that it binds */
    ck_assert_double_le(lost_s, 67e6 / tsim_memory_rate(here.scenario->cluster.node->accelerator));
    ck_assert_int_eq(run(model_of(8), ", offload: {activations: 100 %}, attention: standard", &all), TSIM_OK);
    ck_assert_int_eq(run(model_of(8), ", attention: standard", &here), TSIM_OK);
    double link_s = here.step.memory.activations_bytes / 15.75e9; /* each of two micro-batches goes and comes back */
    ck_assert_double_eq_tol(all.step.terms.compute_s, 4 * link_s, 0.01 * link_s);
    ck_assert_double_gt(all.step.terms.compute_s, 1.5 * here.step.terms.compute_s);
}

/* 14 bytes a parameter lie in the host (gradient 2, master copy 4, moments 8): of 120 billion more than a DGX-2's 1.5
 * TB. */
TSIM_TEST(host_is_full) {
    struct tsim_result result;
    ck_assert_int_eq(run(model_of(600), ", offload: {optimizer: true}", &result), TSIM_ERR_INFEASIBLE);
    ck_assert_uint_eq(diags.n_errors, 1);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
