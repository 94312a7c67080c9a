#include "study/search/plan_space.h"

#include "support/arena_rig.h"
#include "support/example.h"

#include "run/run.h"

#include <string.h>

/* Makes a job on one node of 8, with 8 layers, 8 heads and batch 64. */
static void make_job(struct example *e) {
    example_init(e);
    e->scenario.parallelism.zero_group_ranks = 0;
    e->scenario.parallelism.layers_per_chunk = NULL;
}

static const struct tsim_plan_choice PLAIN = {.value = {[TSIM_PLAN_TENSOR] = 2,
                                                        [TSIM_PLAN_PIPELINE] = 2,
                                                        [TSIM_PLAN_VIRTUAL] = 2,
                                                        [TSIM_PLAN_CONTEXT] = 1,
                                                        [TSIM_PLAN_EXPERT] = 1,
                                                        [TSIM_PLAN_MICRO_BATCH] = 2,
                                                        [TSIM_PLAN_ZERO] = 1,
                                                        [TSIM_PLAN_RECOMPUTE] = TSIM_RECOMPUTE_FULL,
                                                        [TSIM_PLAN_SCHEDULE] = TSIM_SCHEDULE_INTERLEAVED,
                                                        [TSIM_PLAN_SEQUENCE] = true}};

/* There are 8 accelerators / (2 x 2) = 2 replicas; 64 / (2 x 2) = 16 micro-batches; 8 layers on 4 chunks; 2 ranks
 * shard. */
TSIM_TEST(plan_is_resolved) {
    struct example e;
    const struct tsim_scenario *sc;
    make_job(&e);
    ck_assert(tsim_scenario_replan(&arena, &e.scenario, &PLAIN, &sc));
    ck_assert_int_eq(sc->parallelism.data, 2);
    ck_assert_int_eq(sc->n_microbatches, 16);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(sc->parallelism.layers_per_chunk[i], 2);
    ck_assert_int_eq(sc->parallelism.zero_group_ranks, 2);
    ck_assert_int_eq(sc->parallelism.zero, 1);
    ck_assert_int_eq(sc->training.recompute, TSIM_RECOMPUTE_FULL);
    ck_assert(sc->parallelism.sequence);
    ck_assert_ptr_eq(sc->model, e.scenario.model);
}

/* The rules of scenarios that are read say: 3 tensor ranks and 8 heads; 64 / (2 x 3) samples; 8 layers on 2 x 3 chunks;
 * ZeRO-3 with a pipeline; expert ranks without experts; 1f1b with two chunks. */
TSIM_TEST(rules_are_those_of_scenarios) {
    struct example e;
    struct tsim_plan_choice wrong[6];
    const struct tsim_scenario *sc;
    make_job(&e);
    for (size_t i = 0; i < 6; i++)
        wrong[i] = PLAIN;
    wrong[0].value[TSIM_PLAN_TENSOR] = 3;
    wrong[1].value[TSIM_PLAN_MICRO_BATCH] = 3;
    wrong[2].value[TSIM_PLAN_VIRTUAL] = 3;
    wrong[3].value[TSIM_PLAN_ZERO] = 3;
    wrong[4].value[TSIM_PLAN_EXPERT] = 2;
    wrong[5].value[TSIM_PLAN_SCHEDULE] = TSIM_SCHEDULE_1F1B;
    for (size_t i = 0; i < 6; i++)
        ck_assert_msg(!tsim_scenario_replan(&arena, &e.scenario, &wrong[i], &sc), "choice %zu", i);
}

/* An overlap that only holds for interleaved schedules by the software comes back when the plan interleaves. */
TSIM_TEST(overlap_follows_the_schedule) {
    struct example e;
    const struct tsim_scenario *sc;
    struct tsim_plan_choice one = PLAIN;
    make_job(&e);
    e.software.overlap.pipeline = true;
    e.software.pipeline_overlap = TSIM_PIPELINE_OVERLAP_INTERLEAVED;
    one.value[TSIM_PLAN_VIRTUAL] = 1;
    one.value[TSIM_PLAN_SCHEDULE] = TSIM_SCHEDULE_1F1B;
    ck_assert(tsim_scenario_replan(&arena, &e.scenario, &one, &sc) && !sc->parallelism.overlap.pipeline);
    ck_assert(tsim_scenario_replan(&arena, &e.scenario, &PLAIN, &sc) && sc->parallelism.overlap.pipeline);
    e.scenario.parallelism.says_overlap_pipeline = true;
    ck_assert(tsim_scenario_replan(&arena, &e.scenario, &one, &sc) && sc->parallelism.overlap.pipeline);
}

/* Tensor and pipeline of one axis each: 2 x 2 combinations, times the two schedules and both of sequence; without a
 * pipeline one schedule stands, without tensor ranks one of sequence: (1, 1) 1, (1, 2) 2, (2, 1) 2, (2, 2) 2 x 2 = 9.
 * Interleaved with one chunk is 1f1b: (1, 2) has 1, (2, 2) has 2, so 6. */
TSIM_TEST(equal_plans_are_there_once) {
    static const int64_t TWO[] = {1, 2}, ONE[] = {1}, ZERO[] = {0}, FULL[] = {TSIM_RECOMPUTE_FULL};
    static const int64_t SCHEDULES[] = {TSIM_SCHEDULE_1F1B, TSIM_SCHEDULE_INTERLEAVED}, BOTH[] = {true, false};
    const struct tsim_plan_axis axes[TSIM_N_PLAN_KEYS] = {
        [TSIM_PLAN_TENSOR] = {TWO, 2},      [TSIM_PLAN_PIPELINE] = {TWO, 2},   [TSIM_PLAN_VIRTUAL] = {ONE, 1},
        [TSIM_PLAN_CONTEXT] = {ONE, 1},     [TSIM_PLAN_EXPERT] = {ONE, 1},     [TSIM_PLAN_ZERO] = {ZERO, 1},
        [TSIM_PLAN_MICRO_BATCH] = {ONE, 1}, [TSIM_PLAN_RECOMPUTE] = {FULL, 1}, [TSIM_PLAN_SCHEDULE] = {SCHEDULES, 2},
        [TSIM_PLAN_SEQUENCE] = {BOTH, 2},   [TSIM_PLAN_OVERLAP] = {ZERO, 1},   [TSIM_PLAN_LAYERS] = {ZERO, 1}};
    struct example e;
    struct tsim_plan_space space;
    struct tsim_plan_choice choice;
    int n = 0;
    make_job(&e);
    tsim_plan_space_of(&arena, &e.scenario, axes, TSIM_PLAN_COARSE, &space);
    ck_assert_int_eq(space.n_points, 16);
    for (int64_t i = 0; i < space.n_points; i++)
        n += tsim_plan_choice_at(&space.candidates[0], i, &choice);
    ck_assert_int_eq(n, 6);
}

/* Combinations that are passed over at once are no plans, of jobs that divide well and badly, with a pipeline and
 * without. Each number of accelerators is with one of the batches; with TSIM_CASES with all. */
TSIM_TEST(listing_leaves_out_no_plan) {
    static const int64_t ACCELERATORS[] = {1, 6, 7, 8, 48, 96}, BATCHES[] = {64, 36, 1};
    const struct tsim_plan_axis none[TSIM_N_PLAN_KEYS] = {{NULL, 0}};
    for (size_t i = 0; i < 18; i++) {
        if (i / 6 != i % 3 && !getenv("TSIM_CASES"))
            continue;
        struct example e;
        struct tsim_plan_space space;
        struct tsim_plan_choice choice, same;
        make_job(&e);
        e.scenario.n_accelerators = ACCELERATORS[i % 6];
        e.scenario.training.global_batch_size = BATCHES[i / 6];
        e.scenario.training.sequence_length = i % 2 ? 16384 : 1024;
        tsim_plan_space_of(&arena, &e.scenario, none, TSIM_PLAN_COARSE, &space);
        struct tsim_plan_candidate candidate = space.candidates[0];
        candidate.first_position = 1000;
        int64_t at = candidate.first_position, end = at + candidate.n_points;
        for (int64_t position = at; position < end; position++) {
            if (!tsim_plan_choice_at(&candidate, position, &choice))
                continue;
            ck_assert(tsim_plan_choice_from(&candidate, &at, &same));
            ck_assert_int_eq(at++, position);
            ck_assert(same.value[TSIM_PLAN_TENSOR] == choice.value[TSIM_PLAN_TENSOR] &&
                      same.value[TSIM_PLAN_SCHEDULE] == choice.value[TSIM_PLAN_SCHEDULE]);
        }
        ck_assert(!tsim_plan_choice_from(&candidate, &at, &same));
        tsim_arena_reset(&arena);
    }
}

/* A value that is listed twice is tried once. */
TSIM_TEST(listed_values_are_there_once) {
    static const char SCENARIO[] = "schema: tsim/v1\nname: a\nmodel: gpt2-small\ncluster: {node: dgx-a100}\n"
                                   "training: {sequence_length: 1024, global_batch_size: 8}\n";
    static const char *const WORDS[] = {"parallelism.tensor=2,4,2"};
    const struct tsim_space_words words = {WORDS, 1, NULL, 0};
    struct tsim_scenario_source source;
    struct tsim_space axes;
    struct tsim_plan_space space;
    ck_assert_int_eq(tsim_scenario_open_text(&arena, "a.yaml", SCENARIO, &source, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_space_read(&arena, NULL, &words, &axes, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_plan_space_read(&arena, &source, NULL, 0, &axes, TSIM_PLAN_COARSE, &space, &diags), TSIM_OK);
    ck_assert_uint_eq(space.candidates[0].axes[TSIM_PLAN_TENSOR].n, 2);
    ck_assert_int_eq(space.candidates[0].axes[TSIM_PLAN_TENSOR].values[1], 4);
}

/* Without axes there are divisors of 8, of 8 layers and of 10 up to 8; no context below 4096 tokens a rank; no
 * experts. */
TSIM_TEST(values_come_from_the_job) {
    static const int64_t DIVISORS[] = {1, 2, 4, 8};
    const struct tsim_plan_axis none[TSIM_N_PLAN_KEYS] = {{NULL, 0}};
    struct example e;
    struct tsim_plan_space space;
    make_job(&e);
    e.scenario.training.sequence_length = 8192;
    tsim_plan_space_of(&arena, &e.scenario, none, TSIM_PLAN_COARSE, &space);
    const struct tsim_plan_axis *axes = space.candidates[0].axes;
    ck_assert_uint_eq(axes[TSIM_PLAN_TENSOR].n, 4);
    ck_assert_int_eq(memcmp(axes[TSIM_PLAN_TENSOR].values, DIVISORS, sizeof DIVISORS), 0);
    ck_assert_uint_eq(axes[TSIM_PLAN_VIRTUAL].n, 5); /* 1, 2, 4, 8 and 5 of 10 */
    ck_assert_uint_eq(axes[TSIM_PLAN_CONTEXT].n, 2);
    ck_assert_uint_eq(axes[TSIM_PLAN_EXPERT].n, 1);
    ck_assert_uint_eq(axes[TSIM_PLAN_RECOMPUTE].n, 3); /* attention is standard: selective is something else */
    ck_assert_uint_eq(axes[TSIM_PLAN_SCHEDULE].n, 4);
}

static int64_t largest_micro_batch(const struct example *e) {
    const struct tsim_plan_axis none[TSIM_N_PLAN_KEYS] = {{NULL, 0}};
    struct tsim_plan_space space;
    tsim_plan_space_of(&arena, &e->scenario, none, TSIM_PLAN_COARSE, &space);
    const struct tsim_plan_axis *axis = &space.candidates[0].axes[TSIM_PLAN_MICRO_BATCH];
    return axis->values[axis->n - 1];
}

/* The largest is 16 samples, or 32,768 tokens, or the batch: 32768 / 1024 = 32, / 128 = 256, / 8192 = 4 (so 16). */
TSIM_TEST(micro_batches_of_short_samples_are_larger) {
    struct example e;
    make_job(&e);
    e.scenario.training.global_batch_size = 4096;
    e.scenario.training.sequence_length = 1024;
    ck_assert_int_eq(largest_micro_batch(&e), 32);
    e.scenario.training.sequence_length = 128;
    ck_assert_int_eq(largest_micro_batch(&e), 256);
    e.scenario.training.sequence_length = 8192;
    ck_assert_int_eq(largest_micro_batch(&e), 16);
    e.model.kind = TSIM_MODEL_CNN;
    ck_assert_int_eq(largest_micro_batch(&e), 4096);
    e.scenario.training.global_batch_size = 8;
    ck_assert_int_eq(largest_micro_batch(&e), 8);
}

/* 7 accelerators, 8 layers and 8 heads: only replicas can be seven, so the batch is a multiple of 7. With 3 tensor
 * ranks that do not divide 8 heads there is no batch. */
TSIM_TEST(nearest_batches_divide) {
    static const int64_t THREE[] = {3};
    struct tsim_plan_axis axes[TSIM_N_PLAN_KEYS] = {{NULL, 0}};
    struct tsim_plan_space space;
    struct example e;
    int64_t below, above;
    make_job(&e);
    e.software.supports.splits = 1u << TSIM_SPLIT_TENSOR | 1u << TSIM_SPLIT_PIPELINE; /* no uneven stages */
    e.scenario.n_accelerators = e.scenario.cluster.accelerators_per_node = 7;
    tsim_plan_space_of(&arena, &e.scenario, axes, TSIM_PLAN_COARSE, &space);
    tsim_plan_nearest_batches(&space.candidates[0], &below, &above);
    ck_assert_int_eq(below, 63);
    ck_assert_int_eq(above, 70);
    e.scenario.training.global_batch_size = 5;
    tsim_plan_space_of(&arena, &e.scenario, axes, TSIM_PLAN_COARSE, &space);
    tsim_plan_nearest_batches(&space.candidates[0], &below, &above);
    ck_assert_int_eq(below, 0);
    ck_assert_int_eq(above, 7);
    axes[TSIM_PLAN_TENSOR] = (struct tsim_plan_axis){THREE, 1};
    e.scenario.n_accelerators = e.scenario.cluster.accelerators_per_node = 9;
    tsim_plan_space_of(&arena, &e.scenario, axes, TSIM_PLAN_COARSE, &space);
    tsim_plan_nearest_batches(&space.candidates[0], &below, &above);
    ck_assert_int_eq(below, 0);
    ck_assert_int_eq(above, 0);
}

/* Eight layers on three stages: balanced, which even stages are only when that is asked for. */
TSIM_TEST(stages_may_be_uneven) {
    static const int64_t BOTH[] = {false, true};
    struct tsim_plan_axis axes[TSIM_N_PLAN_KEYS] = {{NULL, 0}};
    struct tsim_plan_space space;
    struct tsim_plan_choice choice;
    struct example e;
    make_job(&e);
    e.scenario.cluster.nodes = 3;
    e.scenario.cluster.accelerators_per_node = 4;
    e.scenario.n_accelerators = 12;
    e.scenario.training.global_batch_size = 12;
    for (int is_listed = 0; is_listed < 2; is_listed++) {
        int n_even = 0, n_balanced = 0, n_uneven = 0;
        if (is_listed)
            axes[TSIM_PLAN_LAYERS] = (struct tsim_plan_axis){BOTH, 2};
        tsim_plan_space_of(&arena, &e.scenario, axes, TSIM_PLAN_COARSE, &space);
        for (int64_t at = 0; tsim_plan_choice_from(space.candidates, &at, &choice); at++) {
            const struct tsim_scenario *sc;
            bool is_valid = tsim_scenario_replan(&arena, &e.scenario, &choice, &sc);
            n_uneven += is_valid && choice.value[TSIM_PLAN_PIPELINE] == 3;
            n_even += is_valid && choice.value[TSIM_PLAN_PIPELINE] == 4 && !choice.value[TSIM_PLAN_LAYERS];
            n_balanced += is_valid && choice.value[TSIM_PLAN_PIPELINE] == 4 && choice.value[TSIM_PLAN_LAYERS];
            ck_assert(!is_valid || choice.value[TSIM_PLAN_PIPELINE] != 3 || choice.value[TSIM_PLAN_LAYERS]);
        }
        ck_assert(n_uneven > 0 && n_even > 0);
        ck_assert(is_listed == (n_balanced > 0));
    }
}

static bool has_value(const struct tsim_plan_axis *axis, int64_t value) {
    for (size_t i = 0; i < axis->n; i++)
        if (axis->values[i] == value)
            return true;
    return false;
}

/* A search takes what the software runs, and what is listed; with any software it takes all. */
TSIM_TEST(software_limits_what_is_searched) {
    static const char SCENARIO[] = "schema: tsim/v1\nname: a\nmodel: mixtral-8x7b\ncluster: {node: dgx-h100}\n"
                                   "software: megatron-core-2025\ntraining: {global_batch_size: 64}\n";
    static const char *const WORDS[] = {"parallelism.schedule=zb-v,1f1b"};
    const struct tsim_space_words words = {WORDS, 1, NULL, 0};
    struct tsim_scenario_source source;
    struct tsim_space axes;
    struct tsim_plan_space space;
    struct tsim_plan_choice choice;
    ck_assert_int_eq(tsim_scenario_open_text(&arena, "a.yaml", SCENARIO, &source, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_plan_space_read(&arena, &source, NULL, 0, NULL, TSIM_PLAN_COARSE, &space, &diags), TSIM_OK);
    const struct tsim_plan_axis *axis = space.candidates[0].axes;
    ck_assert(!has_value(&axis[TSIM_PLAN_SCHEDULE], TSIM_SCHEDULE_DUALPIPE));
    ck_assert(has_value(&axis[TSIM_PLAN_SCHEDULE], TSIM_SCHEDULE_INTERLEAVED));
    ck_assert(has_value(&axis[TSIM_PLAN_ZERO], 3));
    for (int64_t at = 0; tsim_plan_choice_from(space.candidates, &at, &choice); at++)
        ck_assert(choice.value[TSIM_PLAN_PIPELINE] == 1 || choice.value[TSIM_PLAN_ZERO] <= 1 ||
                  choice.value[TSIM_PLAN_TENSOR] * choice.value[TSIM_PLAN_PIPELINE] == 8);
    ck_assert_int_eq(tsim_plan_space_read(&arena, &source, NULL, 0, NULL, TSIM_PLAN_ANY_SOFTWARE, &space, &diags),
                     TSIM_OK);
    ck_assert(has_value(&space.candidates[0].axes[TSIM_PLAN_SCHEDULE], TSIM_SCHEDULE_DUALPIPE));
    ck_assert_int_eq(tsim_space_read(&arena, NULL, &words, &axes, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_plan_space_read(&arena, &source, NULL, 0, &axes, TSIM_PLAN_COARSE, &space, &diags), TSIM_OK);
    ck_assert(has_value(&space.candidates[0].axes[TSIM_PLAN_SCHEDULE], TSIM_SCHEDULE_ZB_V));
}

/* A search tries what the scenario turned off and the software has, and what the software can be told to hide; of any
 * software all. It is in the plan's settings, which a scenario can take. A software that hides messages in interleaved
 * schedules alone does not hide others. */
TSIM_TEST(what_can_be_hidden_is_searched) {
    static const char SCENARIO[] = "schema: tsim/v1\nname: a\nmodel: llama2-7b\ncluster: {node: dgx-h100}\n"
                                   "software: {extends: megatron-core-2024, overlap: {parameters: false}, "
                                   "supports: {overlap: {parameters: true}}}\n"
                                   "parallelism: {tensor: 2, pipeline: 2, overlap: {tensor: false, pipeline: false}}\n"
                                   "training: {global_batch_size: 64, micro_batch_size: 1}\n";
    static const char *const WORDS[] = {"parallelism.overlap.tensor=true,false"};
    const struct tsim_space_words words = {WORDS, 1, NULL, 0};
    struct tsim_scenario_source source;
    struct tsim_space axes;
    struct tsim_plan_space space;
    const struct tsim_scenario *sc;
    ck_assert_int_eq(tsim_scenario_open_text(&arena, "a.yaml", SCENARIO, &source, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_plan_space_read(&arena, &source, NULL, 0, NULL, TSIM_PLAN_FINE, &space, &diags), TSIM_OK);
    const struct tsim_plan_candidate *candidate = space.candidates;
    ck_assert_uint_eq(candidate->axes[TSIM_PLAN_OVERLAP].n, 2);
    struct tsim_plan_choice choice = PLAIN;
    ck_assert(tsim_scenario_replan(&arena, candidate->job, &choice, &sc));
    ck_assert(!sc->parallelism.overlap.tensor && !sc->parallelism.overlap.pipeline &&
              !sc->parallelism.overlap.parameters && sc->parallelism.overlap.gradients);
    choice.value[TSIM_PLAN_OVERLAP] = TSIM_OVERLAP_OF_SOFTWARE;
    ck_assert(!tsim_plan_key_is_idle(candidate->job, &choice, TSIM_PLAN_OVERLAP));
    ck_assert(tsim_scenario_replan(&arena, candidate->job, &choice, &sc));
    ck_assert(sc->parallelism.overlap.tensor && sc->parallelism.overlap.pipeline && sc->parallelism.overlap.parameters);
    ck_assert_ptr_nonnull(strstr(tsim_plan_set_json(&arena, candidate, &choice),
                                 "\"parallelism.overlap.parameters\": true, \"parallelism.overlap.tensor\": true, "
                                 "\"parallelism.overlap.pipeline\": true"));
    choice.value[TSIM_PLAN_VIRTUAL] = 1;
    choice.value[TSIM_PLAN_SCHEDULE] = TSIM_SCHEDULE_1F1B;
    ck_assert(tsim_scenario_replan(&arena, candidate->job, &choice, &sc));
    ck_assert(sc->parallelism.overlap.tensor && !sc->parallelism.overlap.pipeline);
    choice.value[TSIM_PLAN_OVERLAP] = TSIM_OVERLAP_OF_ANY;
    ck_assert(tsim_scenario_replan(&arena, candidate->job, &choice, &sc) && sc->parallelism.overlap.pipeline);
    choice.value[TSIM_PLAN_TENSOR] = choice.value[TSIM_PLAN_PIPELINE] = choice.value[TSIM_PLAN_ZERO] = 1;
    choice.value[TSIM_PLAN_ZERO] = 0;
    ck_assert(tsim_plan_key_is_idle(candidate->job, &choice, TSIM_PLAN_OVERLAP)); /* gradients are hidden anyway */
    ck_assert_int_eq(tsim_plan_space_read(&arena, &source, NULL, 0, NULL, TSIM_PLAN_ANY_SOFTWARE, &space, &diags),
                     TSIM_OK);
    ck_assert_uint_eq(space.candidates->axes[TSIM_PLAN_OVERLAP].n, 3);
    ck_assert_int_eq(tsim_space_read(&arena, NULL, &words, &axes, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_plan_space_read(&arena, &source, NULL, 0, &axes, TSIM_PLAN_FINE, &space, &diags), TSIM_OK);
    ck_assert_uint_eq(space.n_candidates, 2);
    ck_assert_uint_eq(space.candidates->axes[TSIM_PLAN_OVERLAP].n, 1);
}

/* With experts, Megatron-Core's tensor ranks have sequence parallelism; without, they need not have it. */
TSIM_TEST(sequence_parallelism_may_be_needed) {
    static const char *const MODELS[] = {"llama2-7b", "mixtral-8x7b"};
    for (size_t i = 0; i < 2; i++) {
        struct tsim_scenario_source source;
        struct tsim_plan_space space;
        const char *text =
            tsim_arena_printf(&arena,
                              "schema: tsim/v1\nname: a\nmodel: %s\ncluster: {node: dgx-h100}\nsoftware: "
                              "megatron-core-2025\ntraining: {global_batch_size: 64}\n",
                              MODELS[i]);
        ck_assert_int_eq(tsim_scenario_open_text(&arena, "a.yaml", text, &source, &diags), TSIM_OK);
        ck_assert_int_eq(tsim_plan_space_read(&arena, &source, NULL, 0, NULL, TSIM_PLAN_COARSE, &space, &diags),
                         TSIM_OK);
        ck_assert(has_value(&space.candidates->axes[TSIM_PLAN_SEQUENCE], true));
        ck_assert(has_value(&space.candidates->axes[TSIM_PLAN_SEQUENCE], false) == (i == 0));
    }
}

TSIM_TEST(settings_of_a_plan) {
    const struct tsim_plan_axis none[TSIM_N_PLAN_KEYS] = {{NULL, 0}};
    struct example e;
    struct tsim_plan_space space;
    make_job(&e);
    tsim_plan_space_of(&arena, &e.scenario, none, TSIM_PLAN_COARSE, &space);
    ck_assert_str_eq(tsim_plan_set_json(&arena, space.candidates, &PLAIN),
                     "{\"parallelism.tensor\": 2, \"parallelism.pipeline\": 2, \"parallelism.virtual_pipeline\": 2, "
                     "\"parallelism.context\": 1, \"parallelism.expert\": 1, \"parallelism.zero\": 1, "
                     "\"training.micro_batch_size\": 2, \"training.recompute\": \"full\", "
                     "\"parallelism.schedule\": \"interleaved\", \"parallelism.sequence\": true, "
                     "\"parallelism.data\": 2}");
    struct tsim_plan_choice uneven = PLAIN;
    uneven.value[TSIM_PLAN_LAYERS] = true;
    ck_assert_ptr_nonnull(
        strstr(tsim_plan_set_json(&arena, space.candidates, &uneven), "\"parallelism.layers_per_stage\": \"balance\""));
}

/* Costs that are found again are those that are worked out anew, whichever plan asked first. */
TSIM_TEST(memo_changes_nothing) {
    struct example e;
    struct tsim_pass_memo *memo = tsim_pass_memo_new(&arena);
    struct tsim_plan_choice choices[5];
    make_job(&e);
    for (size_t i = 0; i < 5; i++)
        choices[i] = PLAIN;
    choices[1].value[TSIM_PLAN_TENSOR] = 1;
    choices[2].value[TSIM_PLAN_MICRO_BATCH] = 1;
    choices[3].value[TSIM_PLAN_RECOMPUTE] = TSIM_RECOMPUTE_NONE;
    choices[4].value[TSIM_PLAN_VIRTUAL] = 1, choices[4].value[TSIM_PLAN_SCHEDULE] = TSIM_SCHEDULE_ZB_H1;
    for (size_t i = 0; i < 10; i++) {
        const struct tsim_scenario *sc;
        struct tsim_pass_costs anew;
        ck_assert(tsim_scenario_replan(&arena, &e.scenario, &choices[i % 5], &sc));
        const struct tsim_cluster *cluster = tsim_cluster_build(&arena, sc);
        const struct tsim_placement *placement = tsim_placement_build(&arena, sc);
        tsim_pass_costs_build(&arena, sc, cluster, placement, &anew);
        const struct tsim_pass_costs *found = tsim_pass_memo_find(memo, sc, cluster, placement);
        for (int part = 0; part < TSIM_N_PARTS; part++)
            ck_assert_mem_eq(found->parts[part], anew.parts[part], sizeof *anew.parts[part]);
    }
}

/* 4 equal stages, 8 micro-batches, one f = 1/3 and b = 2/3 of a pass, free messages: 1f1b takes at least
 * 8 (f + b) + 3 (f + b), the closed form. */
TSIM_TEST(bound_is_the_closed_form) {
    struct example e;
    struct tsim_result bound;
    struct tsim_pass_costs costs;
    make_job(&e);
    e.model.vocab = 8; /* next to no head */
    struct tsim_plan_choice choice = PLAIN;
    choice.value[TSIM_PLAN_TENSOR] = 2, choice.value[TSIM_PLAN_PIPELINE] = 4, choice.value[TSIM_PLAN_VIRTUAL] = 1,
    choice.value[TSIM_PLAN_ZERO] = 0;
    choice.value[TSIM_PLAN_SCHEDULE] = TSIM_SCHEDULE_1F1B, choice.value[TSIM_PLAN_MICRO_BATCH] = 8;
    const struct tsim_scenario *sc;
    ck_assert(tsim_scenario_replan(&arena, &e.scenario, &choice, &sc));
    tsim_pass_costs_build(&arena, sc, tsim_cluster_build(&arena, sc), tsim_placement_build(&arena, sc), &costs);
    tsim_train_bound(&arena, sc, NULL, TSIM_LEAST_PASSES, &bound);
    double layer_s = costs.parts[TSIM_PART_LAYER]->ways[TSIM_PASS_FORWARD].time_s +
                     costs.parts[TSIM_PART_LAYER]->ways[TSIM_PASS_BACKWARD].time_s;
    double expected_s = (8 + 3) * 2 * layer_s; /* 8 layers on 4 stages */
    ck_assert(bound.step.fits);
    ck_assert_double_ge(bound.step.terms.time_s, expected_s * (1 - 1e-6));
    ck_assert_double_le(bound.step.terms.time_s, expected_s * 1.1); /* and what is left of embedding and head */
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
