/* Groups that meet on links which their collectives do not play are refused; if they are played, the waiting term is
 * the one that is blamed. 8 nodes of 8 H100, two to a leaf that is oversubscribed 8 to 1; tensor, context or expert
 * groups with a rank on each node. One rank of a leaf's two sends to the next leaf in a ring: eight rings on uplinks of
 * 16 / 8 ports, 4 times as long as alone. */
#include "run/run.h"
#include "step/unplayed.h"
#include "study/search/advice.h"
#include "support/scenario_rig.h"

#include <math.h>
#include <stdlib.h>

#define CLUSTER                                                                                                        \
    "schema: tsim/v1\nname: leaves\ncluster: {node: dgx-h100, nodes: 8, fabric: {extends: ib-ndr, topology: "          \
    "fat-tree, "                                                                                                       \
    "routing: adaptive, tiers: [{ports: 16, oversubscription: 8}]}}\n"                                                 \
    "training: {sequence_length: 1024, micro_batch_size: 16, global_batch_size: 1024}\n"
#define ACROSS "order: [data, tensor, context, expert, pipeline]"
#define NO_OVERLAP ", overlap: {tensor: false, tensor_backward: false}"

static const char *write_plan(const char *model, const char *plan) {
    return write_file("leaves.yaml", tsim_arena_printf(&arena, CLUSTER "model: %s\nparallelism: {%s}\n", model, plan));
}

static const struct tsim_scenario *load(const char *file, const char *network, const char *oversubscription) {
    const struct tsim_override sets[] = {{"simulation.network", network},
                                         {"cluster.fabric.tiers[0].oversubscription", oversubscription}};
    return must(load_with(file, sets, 2));
}

static bool is_refused(const char *file, const char *network, const char *oversubscription) {
    struct tsim_scenario of_passes = *load(file, network, oversubscription);
    ck_assert_int_eq(tsim_refuse_unplayed(&of_passes, &diags), TSIM_OK); /* operators are played on the links */
    of_passes.simulation.detail = TSIM_DETAIL_PASSES;
    return tsim_refuse_unplayed(&of_passes, &diags) == TSIM_ERR_INFEASIBLE;
}

static struct tsim_result run(const struct tsim_scenario *scenario) {
    const struct tsim_run_options options = {.ignore_memory = true};
    struct tsim_result result;
    ck_assert_int_eq(tsim_train_run(&arena, scenario, &options, &result, &diags), TSIM_OK);
    return result;
}

TSIM_TEST(tensor_groups_over_leaves) {
    const char *file = write_plan("gpt2-medium", "tensor: 8, sequence: true, " ACROSS);
    ck_assert(is_refused(file, "fluid", "8"));
    ck_assert_str_eq(diags.items[0].field, "parallelism.tensor");
    ck_assert_ptr_nonnull(strstr(diags.items[0].message, "ranks meet on links"));
    ck_assert_ptr_nonnull(strstr(diags.items[0].message, "'tier 0, group 0: up' (oversubscribed 8 to 1) for 4 times"));
    ck_assert_ptr_nonnull(strstr(diags.items[0].hint, "simulation.detail: operators"));
    ck_assert_int_eq(diags.items[0].at.line, 6);
    ck_assert(!is_refused(file, "steps", "8"));
    ck_assert(!is_refused(file, "ideal", "8"));
    ck_assert(!is_refused(file, "fluid", "1"));
    ck_assert(!is_refused(write_plan("gpt2-medium", "tensor: 8"), "fluid", "8")); /* a group on each node */
}

TSIM_TEST(context_groups_over_leaves) {
    const char *file = write_plan("gpt2-medium", "context: 8, " ACROSS);
    ck_assert(is_refused(file, "fluid", "8"));
    ck_assert_str_eq(diags.items[0].field, "parallelism.context");
    ck_assert(!is_refused(file, "fluid", "1"));
}

TSIM_TEST(expert_groups_over_leaves) {
    const char *file = write_plan("{extends: mixtral-8x7b, layers: 4}", "expert: 8, " ACROSS);
    ck_assert(is_refused(file, "fluid", "8"));
    ck_assert_str_eq(diags.items[0].field, "parallelism.expert");
    ck_assert(!is_refused(file, "fluid", "1"));
    ck_assert(!is_refused(write_plan("{extends: mixtral-8x7b, layers: 4}", "expert: 8"), "fluid", "8"));
}

/* Groups of experts that meet on links are said to keep in step, unless something tells them apart. */
TSIM_TEST(experts_that_keep_step) {
    const char *across = write_plan("{extends: mixtral-8x7b, layers: 4}", "expert: 8, " ACROSS);
    ck_assert(tsim_experts_keep_step(load(across, "fluid", "8")));
    ck_assert(tsim_experts_keep_step(load(across, "steps", "8")));
    ck_assert(!tsim_experts_keep_step(load(across, "ideal", "8")));
    ck_assert(!tsim_experts_keep_step(load(across, "fluid", "1")));
    struct tsim_scenario varied = *load(across, "fluid", "8");
    varied.variability.compute_cv = 0.01;
    ck_assert(!tsim_experts_keep_step(&varied));
    ck_assert(
        !tsim_experts_keep_step(load(write_plan("gpt2-medium", "tensor: 8, sequence: true, " ACROSS), "fluid", "8")));
}

/* Variants are screened pass by pass only if the detail is auto and no groups meet on links. */
TSIM_TEST(what_is_screened_by_passes) {
    const char *across = write_plan("gpt2-medium", "tensor: 8, sequence: true, " ACROSS);
    ck_assert_int_eq(tsim_screening_detail(load(across, "fluid", "8")), TSIM_DETAIL_AUTO);
    struct tsim_scenario alone = *load(across, "fluid", "1");
    ck_assert_int_eq(tsim_screening_detail(&alone), TSIM_DETAIL_PASSES);
    alone.simulation.detail = TSIM_DETAIL_OPERATORS;
    ck_assert_int_eq(tsim_screening_detail(&alone), TSIM_DETAIL_OPERATORS);
}

/* Latencies stay. */
TSIM_TEST(played_message_by_message) {
    const char *file = write_plan("gpt2-medium", "tensor: 8, sequence: true, " ACROSS NO_OVERLAP);
    struct tsim_result even = run(load(file, "steps", "1")), uneven = run(load(file, "steps", "8"));
    double factor = uneven.step.terms.exposed_tensor_s / even.step.terms.exposed_tensor_s;
    ck_assert_msg(factor > 3.5 && factor <= 4, "%g", factor);
    ck_assert_double_eq_tol(uneven.step.terms.compute_s, even.step.terms.compute_s, 1e-9);
    ck_assert_double_gt(uneven.step.terms.exposed_tensor_s, 0.7 * uneven.step.terms.communication_exposed_s);
}

/* Collectives beside products wait for the uplinks as those that nothing hides do. */
TSIM_TEST(overlap_does_not_go_past_the_fabric) {
    const char *exposed = write_plan("gpt2-medium", "tensor: 8, sequence: true, " ACROSS NO_OVERLAP);
    double exposed_s = run(load(exposed, "fluid", "8")).step.terms.time_s;
    const char *beside = write_plan("gpt2-medium", "tensor: 8, sequence: true, overlap: {tensor: true}, " ACROSS);
    double beside_s = run(load(beside, "fluid", "8")).step.terms.time_s;
    ck_assert_msg(beside_s < exposed_s && beside_s > 0.9 * exposed_s, "%g s, exposed %g s", beside_s, exposed_s);
}

TSIM_MAIN(60, set_up, tear_down)
