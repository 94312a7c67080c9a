#include "training/balance.h"

#include "support/arena_rig.h"
#include "support/example.h"
#include "support/random.h"
#include "workload/memory.h"

#include <math.h>

static struct example example;

static void set_up_example(void) {
    set_up();
    example_init(&example);
}

static struct tsim_pass_costs costs_of(const struct tsim_scenario *sc) {
    struct tsim_pass_costs costs;
    tsim_pass_costs_build(sc, tsim_cluster_build(&arena, sc), tsim_placement_build(&arena, sc), &costs);
    return costs;
}

/* Time of the slowest stage; infinite where one does not fit. */
static double slowest_s(const struct tsim_scenario *sc, const struct tsim_pass_costs *costs) {
    double slowest = 0;
    for (int32_t stage = 0; stage < sc->parallelism.pipeline; stage++) {
        struct tsim_stage_memory memory;
        tsim_stage_memory(sc, stage, &memory);
        if (memory.total_bytes > example.accelerator.memory_bytes - example.accelerator.usable_memory_reserve_bytes)
            return HUGE_VAL;
        slowest = fmax(slowest, tsim_balance_stage_s(sc, costs, stage));
    }
    return slowest;
}

/* Every split of `left` layers over the parts from `part` on. */
static double best_of_all(struct tsim_scenario *sc, int64_t *parts, const struct tsim_pass_costs *costs, int64_t part,
                          int64_t left) {
    int64_t n = tsim_n_model_parts(&sc->parallelism);
    if (part == n - 1) {
        parts[part] = left;
        return slowest_s(sc, costs);
    }
    double best = HUGE_VAL;
    for (int64_t size = part > 0; size <= left; size++) {
        parts[part] = size;
        best = fmin(best, best_of_all(sc, parts, costs, part + 1, left - size));
    }
    return best;
}

/* Random small pipelines with heads and embeddings of every weight, some of which fit only unevenly: nothing is better
 * than what the search finds. */
START_TEST(nothing_is_better) {
    struct random_source random = {7};
    int n_uneven = 0, n_tight = 0;
    for (int i = 0; i < 200; i++) {
        struct tsim_parallelism_spec *p = &example.scenario.parallelism;
        example_init(&example);
        example.model.layers = random_between(&random, 4, 10);
        example.model.vocab = 1024 * random_between(&random, 1, 512);
        p->pipeline = 1 << random_between(&random, 1, 2);
        if (example.model.layers >= 2 * p->pipeline && random_between(&random, 0, 1)) {
            p->virtual_pipeline = 2;
            p->schedule = TSIM_SCHEDULE_INTERLEAVED;
        }
        example.scenario.training.global_batch_size = 64;
        example_finish(&example);
        p->balances = true;
        int64_t n = tsim_n_model_parts(p);
        for (int64_t k = 0; k < n; k++)
            example.layers_per_chunk[k] = example.model.layers * (k + 1) / n - example.model.layers * k / n;
        struct tsim_pass_costs costs = costs_of(&example.scenario);
        double even = slowest_s(&example.scenario, &costs);
        if (random_between(&random, 0, 1) && p->virtual_pipeline == 1) { /* not quite enough memory for even parts */
            struct tsim_stage_memory memory;
            tsim_stage_memory(&example.scenario, 0, &memory);
            example.accelerator.memory_bytes = memory.total_bytes * 0.99;
            even = slowest_s(&example.scenario, &costs);
        }
        double found = slowest_s(tsim_balance(&arena, &example.scenario), &costs);
        struct tsim_scenario copy = example.scenario;
        int64_t parts[16];
        copy.parallelism.layers_per_chunk = parts;
        double best = best_of_all(&copy, parts, &costs, 0, example.model.layers);
        ck_assert_msg(found <= best * (1 + 1e-9), "case %d: %g s found, %g s is possible", i, found, best);
        n_uneven += found < even * (1 - 1e-9);
        n_tight += even > 1e9 && found < 1e9;
    }
    ck_assert_int_gt(n_uneven, 20);
    ck_assert_int_gt(n_tight, 1);
}
END_TEST

/* 9 layers over 4 stages with a head as heavy as two layers: 3, 3, 2 and 1 with the head, so that none takes longer
 * than 3 layers. The sum is the model's and the scenario itself stays. */
START_TEST(a_heavy_head_takes_the_place_of_layers) {
    example.model.layers = 9;
    example.scenario.parallelism.pipeline = 4;
    example_finish(&example);
    example.scenario.parallelism.balances = true;
    struct tsim_pass_costs costs = costs_of(&example.scenario);
    double layer_s = tsim_part_cost(&costs.layer, TSIM_PASS_FORWARD)->time_s;
    double head_s = tsim_part_cost(&costs.head, TSIM_PASS_FORWARD)->time_s;
    example.model.vocab = (int64_t)((double)example.model.vocab * 2 * layer_s / head_s);
    const struct tsim_scenario *balanced = tsim_balance(&arena, &example.scenario);
    const int64_t *layers = balanced->parallelism.layers_per_chunk;
    ck_assert_int_eq(layers[0] + layers[1] + layers[2] + layers[3], 9);
    ck_assert_int_eq(layers[3], 1);
    for (int i = 0; i < 3; i++)
        ck_assert_int_le(layers[i], 3);
    ck_assert_ptr_eq(example.scenario.parallelism.layers_per_chunk, example.layers_per_chunk);
    example.scenario.parallelism.balances = false;
    ck_assert_ptr_eq(tsim_balance(&arena, &example.scenario), &example.scenario);
}
END_TEST

/* Where no split fits, the fastest of all is taken, however short its passes are. */
START_TEST(where_nothing_fits_the_fastest_is_taken) {
    example.model.layers = 11;
    example.model.vocab = 400000;
    example.scenario.parallelism.pipeline = 4;
    example_finish(&example);
    example.scenario.parallelism.balances = true;
    const double capacity_bytes = example.accelerator.memory_bytes;
    for (double k = 1; k <= 1e6; k *= 10) {
        for (int precision = 0; precision < TSIM_N_PRECISIONS; precision++)
            example.accelerator.peak_flops_per_s[precision] = 1e15 * k;
        example.accelerator.memory_bytes_per_s = 1e12 * k;
        struct tsim_pass_costs costs = costs_of(&example.scenario);
        struct tsim_scenario copy = example.scenario;
        int64_t parts[16];
        copy.parallelism.layers_per_chunk = parts;
        double best_s = best_of_all(&copy, parts, &costs, 0, example.model.layers);
        example.accelerator.memory_bytes = 1;
        const struct tsim_scenario *found = tsim_balance(&arena, &example.scenario);
        example.accelerator.memory_bytes = capacity_bytes;
        ck_assert_double_le(slowest_s(found, &costs), best_s * (1 + 1e-9));
    }
}
END_TEST

static Suite *balance_suite(void) {
    Suite *suite = suite_create("balance");
    TCase *tcase = tcase_create("balance");
    tcase_add_checked_fixture(tcase, set_up_example, tear_down);
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, nothing_is_better);
    tcase_add_test(tcase, where_nothing_fits_the_fastest_is_taken);
    tcase_add_test(tcase, a_heavy_head_takes_the_place_of_layers);
    suite_add_tcase(suite, tcase);
    return suite;
}

TSIM_TEST_MAIN(balance_suite)
