/* Tests a layer list in the stages of a pipeline: whole blocks, each stage with its own parameters, kernels and
 * messages. */
#include "cluster/cluster.h"
#include "model/layer_list.h"
#include "partition/memory.h"
#include "run/run.h"
#include "step/pass/pass.h"
#include "support/training_rig.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct tsim_scenario *load(const char *model, const char *parallelism) {
    const char *text = tsim_arena_printf(
        &arena,
        "schema: tsim/v1\nname: t\nmodel: %s\ncluster: {node: dgx-a100, nodes: 1, accelerators_per_node: 4}\n"
        "training: {global_batch_size: 128, micro_batch_size: 16, precision: fp16, optimizer: momentum}\n"
        "parallelism: %s\n",
        model, parallelism);
    return try_text(text);
}

/* ResNet-50 is cut by its groups of blocks: the stem and three, four, six, three and the classifier. */
#define BY_GROUPS "{pipeline: 4, layers_per_stage: [4, 4, 6, 4]}"

/* torchvision's resnet50 has conv1 9,408 + bn1 128; layer1 215,808; layer2 1,219,584; layer3 7,098,368; layer4
 * 14,964,736; fc 2,049,000. */
TSIM_TEST(parameters_of_groups) {
    const struct tsim_scenario *sc = load("resnet50", BY_GROUPS);
    ck_assert_ptr_nonnull(sc);
    static const double PARAMETERS[] = {9408 + 128 + 215808, 1219584, 7098368, 14964736 + 2049000};
    for (int32_t s = 0; s < 4; s++)
        ck_assert_double_eq_tol(tsim_stage_parameters(sc, s), PARAMETERS[s], 1e-6);
}

/* 16 images of 2 bytes, 256 channels of 56 x 56, 512 of 28 x 28, 1024 of 14 x 14; gradients are as large on the way
 * back. */
TSIM_TEST(messages_between_groups) {
    const struct tsim_scenario *sc = load("resnet50", BY_GROUPS);
    ck_assert_ptr_nonnull(sc);
    static const double ELEMENTS[] = {256 * 56 * 56, 512 * 28 * 28, 1024 * 14 * 14};
    for (int32_t s = 0; s < 3; s++) {
        ck_assert_double_eq(tsim_message_bytes(sc, s, s + 1), 16 * 2 * ELEMENTS[s]);
        ck_assert_double_eq(tsim_message_bytes(sc, s + 1, s), 16 * 2 * ELEMENTS[s]);
    }
}

static double whole_s(const struct tsim_scenario *sc, const struct tsim_scenario *part, double blocks,
                      enum tsim_pass_kind kind) {
    struct tsim_pass_costs costs;
    tsim_pass_costs_build(&arena, part, tsim_cluster_build(&arena, sc), tsim_placement_build(&arena, sc), &costs);
    return blocks * costs.parts[TSIM_PART_BLOCK]->ways[kind].time_s;
}

/* Kernels and what they keep: nothing is lost at the cuts, and nothing done twice. */
TSIM_TEST(stages_are_the_whole) {
    const struct tsim_scenario *sc = load("resnet50", BY_GROUPS);
    ck_assert_ptr_nonnull(sc);
    double kept_bytes = 0;
    double parts_s[2] = {0};
    for (int32_t s = 0; s < 4; s++) {
        struct tsim_stage_part own;
        const struct tsim_scenario *part = tsim_stage_part(sc, s, &own);
        kept_bytes += (double)part->model->layers * tsim_layer_activation_bytes(part, TSIM_PART_BLOCK);
        for (int kind = TSIM_PASS_FORWARD; kind <= TSIM_PASS_BACKWARD; kind++)
            parts_s[kind] += whole_s(sc, part, (double)part->model->layers, (enum tsim_pass_kind)kind);
    }
    ck_assert_double_eq_tol(kept_bytes / ((double)sc->model->layers * tsim_layer_activation_bytes(sc, TSIM_PART_BLOCK)),
                            1, 1e-12);
    for (int kind = TSIM_PASS_FORWARD; kind <= TSIM_PASS_BACKWARD; kind++)
        ck_assert_double_eq_tol(parts_s[kind] / whole_s(sc, sc, (double)sc->model->layers, (enum tsim_pass_kind)kind),
                                1, 1e-12);
}

/* Eight micro-batches through four stages, the slowest of which sets the pace: at least 8 of its passes, and what the
 * others take once. */
TSIM_TEST(the_slowest_stage_sets_the_pace) {
    const struct tsim_scenario *sc = load("resnet50", BY_GROUPS);
    const struct tsim_run_options options = {.ignore_memory = true, .is_brief = true};
    struct tsim_result result;
    ck_assert_ptr_nonnull(sc);
    ck_assert_int_eq(tsim_train_run(&arena, sc, &options, &result, &diags), TSIM_OK);
    double slowest_s = 0, sum_s = 0;
    for (int32_t s = 0; s < 4; s++) {
        struct tsim_stage_part own;
        const struct tsim_scenario *part = tsim_stage_part(sc, s, &own);
        double stage_s = 0;
        for (int kind = TSIM_PASS_FORWARD; kind <= TSIM_PASS_BACKWARD; kind++)
            stage_s += whole_s(sc, part, (double)part->model->layers, (enum tsim_pass_kind)kind);
        slowest_s = stage_s > slowest_s ? stage_s : slowest_s;
        sum_s += stage_s;
    }
    double least_s = 7 * slowest_s + sum_s; /* 1F1B, no messages */
    ck_assert_double_gt(result.step.terms.time_s, 8 * slowest_s);
    ck_assert_double_lt(result.step.terms.time_s, 1.25 * least_s);
}

TSIM_TEST(what_is_refused) {
    static const char *const CASES[][3] = {
        {"resnet50", "{tensor: 2}", "by blocks into a pipeline"},
        {"resnet50", "{pipeline: 2, schedule: zb-h1}", "under this schedule"},
        {"resnet50", "{pipeline: 2, layers_per_stage: balance}", "balancing the stages"},
        {"dlrm", "{pipeline: 2}", "only split by data"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        size_t before = diags.n_items;
        ck_assert_ptr_null(load(CASES[i][0], CASES[i][1]));
        ck_assert_ptr_nonnull(strstr(diags.items[before].message, CASES[i][2]));
    }
}

/* 4,096 images are too many at once: the largest half of a half of ... that fits is offered, and nothing that a list
 * does not have. */
TSIM_TEST(what_would_fit) {
    const struct tsim_scenario *sc = load("resnet50", "{data: 4}");
    static const struct tsim_override LARGE[] = {{"training.global_batch_size", "16384"},
                                                 {"training.micro_batch_size", "4096"}};
    const struct tsim_run_options options = {0};
    struct tsim_result result;
    struct tsim_stage_memory memory;
    ck_assert_ptr_nonnull(sc);
    ck_assert(tsim_scenario_propose(&arena, sc, LARGE, 2, &sc, &diags));
    ck_assert_int_eq(tsim_train_run(&arena, sc, &options, &result, &diags), TSIM_OK);
    ck_assert(!result.step.fits);
    bool is_smaller = false;
    for (int32_t i = 0; i < result.step.n_fit_changes; i++) {
        const char *setting = result.step.fit_changes[i].setting;
        struct tsim_scenario twice = *sc;
        ck_assert_ptr_null(strstr(setting, "recompute"));
        ck_assert_ptr_null(strstr(setting, "attention"));
        if (sscanf(setting, "training.micro_batch_size=%" SCNd64, &twice.training.micro_batch_size) != 1)
            continue;
        is_smaller = true;
        twice.training.micro_batch_size *= 2;
        tsim_stage_memory(&twice, 0, &memory);
        ck_assert_double_gt(memory.total_bytes, 0.95 * result.step.memory.capacity_bytes);
    }
    ck_assert(is_smaller);
}

/* A software that recomputes by default does not refuse a list of layers, which cannot be recomputed. */
TSIM_TEST(software_recomputes_no_list) {
    const struct tsim_scenario *sc =
        load_text("schema: tsim/v1\nname: l\nmodel: dcgan\ncluster: {node: tpu-v4-host}\nsoftware: maxtext-tpu-2023\n");
    ck_assert_int_eq(sc->software->defaults.recompute, TSIM_RECOMPUTE_FULL);
    ck_assert_int_eq(sc->training.recompute, TSIM_RECOMPUTE_NONE);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
