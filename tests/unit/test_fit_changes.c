/* Changes that would fit in memory are proposals, so that each is what a --set of it gives. */
#include "run/run.h"
#include "step/fit_changes.h"
#include "support/training_rig.h"

#include <string.h>

/* GPT-2 on the eight accelerators of a node, all replicas; what is said of it comes on top. */
static void run(const struct tsim_override *settings, size_t n, struct tsim_result *result) {
    static const char TEXT[] = "schema: tsim/v1\nname: t\nmodel: gpt2-xl\ncluster: {node: dgx-a100}\n"
                               "training: {sequence_length: 1024, global_batch_size: 64, micro_batch_size: 4}\n"
                               "parallelism: {zero: 0}\n";
    static const struct tsim_run_options options = {.ignore_memory = false};
    const struct tsim_scenario *scenario = try_text(TEXT);
    ck_assert_ptr_nonnull(scenario);
    ck_assert(tsim_scenario_propose(&arena, scenario, settings, n, &scenario, &diags));
    ck_assert_int_eq(tsim_train_run(&arena, scenario, &options, result, &diags), TSIM_OK);
}

static const struct tsim_fit_change *find(const struct tsim_result *result, const char *setting) {
    for (int32_t i = 0; i < result->step.n_fit_changes; i++)
        if (strcmp(result->step.fit_changes[i].setting, setting) == 0)
            return &result->step.fit_changes[i];
    return NULL;
}

/* Sharding the optimizer's state over eight replicas is enough, and so is a smaller micro-batch. */
TSIM_TEST(single_changes) {
    struct tsim_result whole, result;
    run(NULL, 0, &whole);
    ck_assert(whole.step.fits && whole.step.n_fit_changes == 0);
    const char *less = tsim_arena_printf(&arena, "%.15g GB", 0.9 * whole.step.memory.peak_bytes / 1e9);
    run(&(struct tsim_override){"cluster.node.accelerator.memory", less}, 1, &result);
    ck_assert(!result.step.fits && !result.step.simulated);
    ck_assert_ptr_nonnull(find(&result, "parallelism.zero=1"));
    ck_assert_ptr_nonnull(find(&result, "training.micro_batch_size=2"));
    for (int32_t i = 0; i < result.step.n_fit_changes; i++)
        ck_assert_double_le(result.step.fit_changes[i].peak_bytes, result.step.memory.capacity_bytes);
}

/* A stage of ZeRO that frees gradients does not go with updates layer by layer, and these not with several
 * micro-batches: neither is offered. */
TSIM_TEST(nothing_that_is_refused) {
    static const struct tsim_override SETTINGS[] = {{"training.per_layer_updates", "true"},
                                                    {"training.micro_batch_size", "8"},
                                                    {"cluster.node.accelerator.memory", "34 GB"}};
    struct tsim_result result;
    run(SETTINGS, 3, &result);
    ck_assert(!result.step.fits);
    ck_assert_int_gt(result.step.n_fit_changes, 0);
    for (int32_t i = 0; i < result.step.n_fit_changes; i++) {
        ck_assert_ptr_null(strstr(result.step.fit_changes[i].setting, "parallelism.zero=2"));
        ck_assert_ptr_null(strstr(result.step.fit_changes[i].setting, "parallelism.zero=3"));
        ck_assert_ptr_null(strstr(result.step.fit_changes[i].setting, "micro_batch_size"));
    }
}

/* Nothing alone is enough for a third of the memory: then several together are offered. */
TSIM_TEST(several_at_once) {
    static const struct tsim_override SETTINGS[] = {{"cluster.node.accelerator.memory", "16 GB"}};
    struct tsim_result result;
    run(SETTINGS, 1, &result);
    ck_assert(!result.step.fits);
    ck_assert_int_gt(result.step.n_fit_changes, 0);
    for (int32_t i = 0; i < result.step.n_fit_changes; i++)
        ck_assert_ptr_nonnull(strstr(result.step.fit_changes[i].setting, " --set "));
}

/* There is nothing that proposals could be laid on. */
TSIM_TEST(not_of_a_program) {
    struct tsim_result result;
    run(NULL, 0, &result);
    struct tsim_scenario made = *result.scenario;
    made.source = NULL;
    result.step.memory.capacity_bytes = result.step.memory.peak_bytes;
    tsim_fit_changes_find(&arena, &made, &result.step);
    ck_assert_int_eq(result.step.n_fit_changes, 0);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
