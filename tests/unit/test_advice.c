/* Advice names the change that gains most, as something to --set. */
#include "run/run.h"
#include "study/search/advice.h"
#include "support/arena_rig.h"
#include "support/example.h"

#include <string.h>

static struct example e;

static struct tsim_prediction advise(void) {
    struct tsim_prediction prediction = {0};
    const struct tsim_run_options options = {.ignore_memory = false};
    tsim_arena_release(&arena);
    tsim_diags_init(&diags);
    example_finish(&e);
    ck_assert_int_eq(tsim_train_run(&arena, &e.scenario, &options, &prediction.result, &diags), TSIM_OK);
    tsim_advise(&arena, &e.scenario, &prediction);
    tsim_diags_release(&diags);
    return prediction;
}

static bool advises(const struct tsim_prediction *prediction, const char *setting) {
    for (int32_t i = 0; i < prediction->n_advice; i++)
        if (strncmp(prediction->advice[i], setting, strlen(setting)) == 0)
            return true;
    return false;
}

/* 16 experts on 16 ranks of two nodes: half of the rows cross the slow NICs. On 8 ranks they stay on a node. With
 * tensor 2 the rows are gathered and scattered, unless tensor ranks hold whole experts. */
START_TEST(experts) {
    example_init(&e);
    e.model.experts = (struct tsim_experts){.count = 16, .active = 2, .ffn_hidden = 2048, .every = 1};
    e.scenario.cluster.nodes = 2;
    e.scenario.parallelism.expert = 16;
    e.scenario.training.global_batch_size = 1024; /* so that gradients, which fewer ranks would reduce, are a trifle */
    struct tsim_prediction prediction = advise();
    ck_assert(advises(&prediction, "parallelism.expert=8:"));
    ck_assert(advises(&prediction, "parallelism.overlap.expert=true:"));
    e.scenario.parallelism.expert = 8;
    e.scenario.parallelism.tensor = 2;
    e.scenario.parallelism.sequence = true;
    prediction = advise();
    ck_assert(advises(&prediction, "parallelism.expert_tensor=1:"));
    e.scenario.parallelism.expert_tensor = 1;
    e.scenario.parallelism.overlap.expert = true;
    prediction = advise();
    ck_assert(!advises(&prediction, "parallelism.expert_tensor"));
    ck_assert(!advises(&prediction, "parallelism.overlap.expert"));
}
END_TEST

/* Tensor collectives in chunks are there in 16 bits and in fp8, not in NVFP4. */
START_TEST(tensor_overlap) {
    example_init(&e);
    e.scenario.parallelism.tensor = 8;
    e.scenario.parallelism.sequence = true;
    struct tsim_prediction prediction = advise();
    ck_assert(advises(&prediction, "parallelism.overlap.tensor=true:"));
    e.scenario.training.precision = TSIM_NVFP4;
    prediction = advise();
    ck_assert(!advises(&prediction, "parallelism.overlap.tensor"));
}
END_TEST

/* Without experts none of it; standard attention is what the example could do without. */
START_TEST(dense) {
    example_init(&e);
    struct tsim_prediction prediction = advise();
    ck_assert(!advises(&prediction, "parallelism.expert"));
    ck_assert(!advises(&prediction, "parallelism.overlap.expert"));
    ck_assert(advises(&prediction, "training.attention=flash:"));
}
END_TEST

/* One worker of 1 s a sample for 128 samples a step; reading takes nothing. Workers are doubled up to the 64 cores,
 * where a step takes 128 / 64 = 2 s; nothing else helps, and no number of accelerators would. */
START_TEST(starved) {
    static const struct tsim_storage storage = {.bandwidth_bytes_per_s = 1e12, .random_access_frac = 1};
    example_init(&e);
    e.node.host_cores = 64;
    e.scenario.training.global_batch_size = 128;
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    e.scenario.data = (struct tsim_data_spec){.has = true,
                                              .storage = &storage,
                                              .sample_bytes = 1,
                                              .transfer_bytes = 1,
                                              .sample_cpu_s = 1,
                                              .workers = 1,
                                              .prefetch = 2};
    struct tsim_prediction prediction = advise();
    ck_assert(prediction.result.step.bottleneck_is_data);
    ck_assert_str_eq(prediction.result.step.input.bound, "workers");
    ck_assert_double_eq_tol(prediction.result.step.terms.time_s, 128, 1);
    ck_assert_int_ge(prediction.n_advice, 1);
    ck_assert_str_eq(prediction.advice[0], "data.workers=64: step 2.00 s, 98.4 % faster");
    for (int32_t i = 0; i < prediction.n_advice; i++)
        ck_assert_msg(strncmp(prediction.advice[i], "data.", 5) == 0, "%s", prediction.advice[i]);
    e.scenario.data.workers = 64;
    prediction = advise();
    ck_assert_double_eq_tol(prediction.result.step.terms.time_s, 2, 0.01);
}
END_TEST

/* Stages on two nodes whose NICs are slow: chunks that alternate between them send everything twice, which costs more than
 * the bubble that they save. */
START_TEST(fewer_chunks) {
    example_init(&e);
    e.scenario.cluster.nodes = 2;
    e.scenario.cluster.accelerators_per_node = e.node.accelerators = 1;
    e.fabric.link_bytes_per_s = 1e8;
    e.scenario.parallelism.pipeline = 2;
    e.scenario.parallelism.virtual_pipeline = 2;
    e.scenario.parallelism.schedule = TSIM_SCHEDULE_INTERLEAVED;
    e.scenario.training.global_batch_size = 16;
    struct tsim_prediction prediction = advise();
    ck_assert(advises(&prediction, "parallelism.virtual_pipeline=1:"));
}
END_TEST

/* Shares of what binds add up to the step. */
START_TEST(shares) {
    example_init(&e);
    struct tsim_prediction prediction = advise();
    const struct tsim_bound_shares *b = &prediction.result.step.bounds;
    ck_assert_double_eq_tol(b->compute_frac + b->memory_frac + b->communication_frac + b->bubble_frac + b->data_frac +
                                b->host_frac,
                            1, 1e-9);
    ck_assert(b->host_frac >= 0 && b->data_frac == 0);
}
END_TEST

/* A third of the step is the pipeline's bubble, and the matrix units work a little longer, half of that at their peak:
 * the label says what can be mended. On an eighth of the machine the bubble is an eighth of what they could save. */
START_TEST(largest_that_can_be_mended) {
    static const struct tsim_override MANY[] = {{"cluster.nodes", "1024"}, {"parallelism.data", "256"}};
    static const struct tsim_run_options options = {.is_steady = true};
    const struct tsim_scenario *scenario;
    for (size_t n = 0; n <= 2; n += 2) {
        struct tsim_result result;
        set_up();
        ck_assert_int_eq(tsim_scenario_load(&arena, "scenarios/llama70b.yaml", MANY, n, &scenario, &diags), TSIM_OK);
        ck_assert_int_eq(tsim_train_run(&arena, scenario, &options, &result, &diags), TSIM_OK);
        const struct tsim_bound_shares *b = &result.step.bounds;
        ck_assert(b->compute_frac > b->bubble_frac);
        ck_assert_double_eq_tol(b->least_frac, result.step.throughput.mfu,
                                0.02); /* attention's upper half is left out */
        ck_assert(result.step.bottleneck_is_bubble == (n > 0));
        tear_down();
    }
}
END_TEST

/* What is logged is the scenario with every default filled in. Read again, its advice is the same: what follows from the
 * plan follows anew. */
START_TEST(same_from_the_log) {
    static const struct tsim_run_options options = {.is_steady = true};
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario, *logged;
    struct tsim_prediction first = {0}, second = {0};
    set_up();
    ck_assert_int_eq(tsim_scenario_load(&arena, "scenarios/llama70b.yaml", NULL, 0, &scenario, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_scenario_open_text(&arena, "run 1", scenario->resolved_json, &source, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_scenario_load_from(&arena, &source, NULL, 0, &logged, &diags), TSIM_OK);
    ck_assert_str_eq(logged->resolved_json, scenario->resolved_json);
    ck_assert_int_eq(tsim_train_run(&arena, scenario, &options, &first.result, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_train_run(&arena, logged, &options, &second.result, &diags), TSIM_OK);
    tsim_advise(&arena, scenario, &first);
    tsim_advise(&arena, logged, &second);
    ck_assert_int_gt(first.n_advice, 0);
    ck_assert_int_eq(first.n_advice, second.n_advice);
    for (int32_t i = 0; i < first.n_advice; i++)
        ck_assert_str_eq(first.advice[i], second.advice[i]);
    tear_down();
}
END_TEST

static Suite *advice_suite(void) {
    Suite *suite = suite_create("advice");
    TCase *tcase = tcase_create("candidates");
    tcase_add_test(tcase, experts);
    tcase_add_test(tcase, tensor_overlap);
    tcase_add_test(tcase, dense);
    tcase_add_test(tcase, starved);
    tcase_add_test(tcase, fewer_chunks);
    tcase_add_test(tcase, shares);
    tcase_add_test(tcase, largest_that_can_be_mended);
    tcase_add_test(tcase, same_from_the_log);
    suite_add_tcase(suite, tcase);
    return suite;
}

TSIM_TEST_MAIN(advice_suite)
