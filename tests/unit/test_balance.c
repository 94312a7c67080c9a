#include "step/balance.h"

#include "partition/memory.h"
#include "support/arena_rig.h"
#include "support/example.h"
#include "support/random.h"
#include "support/training_rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct example example;

static void set_up_example(void) {
    set_up();
    example_init(&example);
}

static struct tsim_pass_costs costs_of(const struct tsim_scenario *sc) {
    struct tsim_pass_costs costs;
    tsim_pass_costs_build(&arena, sc, tsim_cluster_build(&arena, sc), tsim_placement_build(&arena, sc), &costs);
    return costs;
}

static struct tsim_split_prices *prices_of(const struct tsim_scenario *sc, const struct tsim_pass_costs *costs) {
    return tsim_split_prices_new(&arena, sc, tsim_cluster_build(&arena, sc), tsim_placement_build(&arena, sc), costs);
}

/* Returns the time of the slowest stage, in a step or, with several parts a stage, in the passes of a micro-batch;
 * infinite if one does not fit. */
static double slowest_s(const struct tsim_scenario *sc, const struct tsim_pass_costs *costs) {
    double slowest = 0;
    struct tsim_split_prices *prices = tsim_scenario_schedule(sc).chunks == 1 ? prices_of(sc, costs) : NULL;
    for (int32_t stage = 0; stage < sc->parallelism.pipeline; stage++) {
        struct tsim_stage_memory memory;
        tsim_stage_memory(sc, stage, &memory);
        if (memory.total_bytes > example.accelerator.memory_bytes - example.accelerator.usable_memory_reserve_bytes)
            return HUGE_VAL;
        slowest = fmax(slowest, prices ? tsim_split_stage_s(prices, stage) : tsim_balance_stage_s(sc, costs, stage));
    }
    return slowest;
}

/* Tries every split of `left` layers over the parts from `part` on. */
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
TSIM_TEST(nothing_is_better) {
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
        double found = slowest_s(tsim_balance(&arena, &example.scenario, NULL), &costs);
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

/* ---- the plain recursion ---- */

enum { MOST_LAYERS = 48, MOST_STAGES = 16 };

/* Returns the cost; if memory counts, stages that do not fit never end. */
static double plain_cost_s(struct tsim_scenario *sc, struct tsim_split_prices *prices, bool heeds_memory,
                           int64_t *parts, int32_t k, int64_t first, int64_t last) {
    struct tsim_stage_memory memory;
    if (first == last && k > 0 && k < sc->parallelism.pipeline - 1)
        return HUGE_VAL;
    memset(parts, 0, (size_t)sc->parallelism.pipeline * sizeof *parts);
    parts[0] = first;
    parts[k] = last - first;
    tsim_stage_memory(sc, k, &memory);
    bool fits =
        memory.total_bytes <= example.accelerator.memory_bytes - example.accelerator.usable_memory_reserve_bytes;
    return fits || !heeds_memory ? tsim_split_stage_s(prices, k) : HUGE_VAL;
}

/* Returns whether `size` is nearer to even than `other`. If both are equally near, the larger one is. */
static bool is_nearer(int64_t size, int64_t other, int64_t even) {
    int64_t a = llabs(size - even), b = llabs(other - even);
    return a < b || (a == b && size > other);
}

/* Tries each number of layers on each stage behind each number of layers before it: best(k, i) of the header, word by
 * word. Among sizes that are equal but for rounding, the one nearest to even is taken. Returns whether there is a
 * split. */
static bool plain_split(struct tsim_scenario *sc, const struct tsim_pass_costs *costs, bool heeds_memory,
                        int64_t *split) {
    static double best[MOST_STAGES + 1][MOST_LAYERS + 1], times[MOST_LAYERS + 1];
    static int64_t taken[MOST_STAGES + 1][MOST_LAYERS + 1];
    int64_t n = sc->model->layers, p = sc->parallelism.pipeline, parts[MOST_STAGES];
    struct tsim_split_prices *prices = prices_of(sc, costs);
    sc->parallelism.layers_per_chunk = parts;
    for (int64_t i = 0; i <= n; i++)
        best[0][i] = i == 0 ? 0 : HUGE_VAL;
    for (int32_t k = 1; k <= p; k++)
        for (int64_t i = 0; i <= n; i++) {
            double least = HUGE_VAL;
            for (int64_t size = 0; size <= i; size++) {
                times[size] =
                    fmax(best[k - 1][i - size], plain_cost_s(sc, prices, heeds_memory, parts, k - 1, i - size, i));
                least = fmin(least, times[size]);
            }
            int64_t found = -1;
            for (int64_t size = 0; size <= i; size++)
                if (!(least < times[size] * (1 - 1e-9)) && (found < 0 || is_nearer(size, found, n / p)))
                    found = size;
            taken[k][i] = found;
            best[k][i] = least;
        }
    for (int64_t k = p, left = n; k >= 1; left -= split[--k])
        split[k - 1] = taken[k][left];
    return isfinite(best[p][n]);
}

/* Random pipelines, some of them with experts in every second or third layer, some that fit only unevenly or not at
 * all, get the same split, size by size. */
TSIM_TEST(the_split_is_that_of_the_plain_recursion) {
    struct random_source random = {11};
    int n_uneven = 0;
    const long n_cases = random_cases(25);
    for (int i = 0; i < n_cases; i++) {
        struct tsim_parallelism_spec *p = &example.scenario.parallelism;
        example_init(&example);
        p->pipeline = 1 << random_between(&random, 0, 4);
        example.scenario.cluster.nodes = 2;
        example.model.layers = random_between(&random, (int32_t)p->pipeline, MOST_LAYERS);
        example.model.vocab = 1024 * (random_between(&random, 0, 3) > 0 ? random_between(&random, 1, 512) : 4096);
        if (random_between(&random, 0, 1))
            example.model.experts = (struct tsim_experts){
                .count = 8, .active = 2, .ffn_hidden = 2048, .every = random_between(&random, 1, 3)};
        example.scenario.training.global_batch_size = 64;
        example_finish(&example);
        p->balances = true;
        if (random_between(&random, 0, 2) == 0) {
            struct tsim_stage_memory memory;
            tsim_stage_memory(&example.scenario, 0, &memory);
            example.accelerator.memory_bytes = memory.total_bytes * (random_between(&random, 0, 1) ? 0.99 : 0.3);
        }
        struct tsim_pass_costs costs = costs_of(&example.scenario);
        struct tsim_scenario copy = example.scenario;
        int64_t split[MOST_STAGES];
        if (!plain_split(&copy, &costs, true, split))
            plain_split(&copy, &costs, false, split); /* none fits: the fastest */
        const int64_t *found = tsim_balance(&arena, &example.scenario, NULL)->parallelism.layers_per_chunk;
        for (int64_t k = 0; k < p->pipeline; k++) {
            ck_assert_msg(found[k] == split[k], "case %d: %lld layers on stage %lld, not %lld", i, (long long)found[k],
                          (long long)k, (long long)split[k]);
            n_uneven += found[k] != example.model.layers / p->pipeline;
        }
    }
    ck_assert_int_gt(n_uneven, 2 * n_cases);
}

/* Several parts a stage, in dualpipe each of them on two stages: no layer that is moved makes the slowest stage faster.
 */
TSIM_TEST(no_move_is_better) {
    struct random_source random = {5};
    for (int i = 0; i < 60; i++) {
        struct tsim_parallelism_spec *p = &example.scenario.parallelism;
        example_init(&example);
        p->pipeline = 2 * random_between(&random, 1, 2);
        p->schedule = random_between(&random, 0, 1) ? TSIM_SCHEDULE_DUALPIPE : TSIM_SCHEDULE_ZB_V;
        example.model.layers = random_between(&random, 8, 21);
        example.model.vocab = 1024 * random_between(&random, 1, 512);
        example.scenario.training.global_batch_size = 64;
        example_finish(&example);
        struct tsim_pass_costs costs = costs_of(&example.scenario);
        p->balances = true;
        struct tsim_scenario found = *tsim_balance(&arena, &example.scenario, NULL);
        int64_t n = tsim_n_model_parts(p), parts[16];
        memcpy(parts, found.parallelism.layers_per_chunk, (size_t)n * sizeof parts[0]);
        found.parallelism.layers_per_chunk = parts;
        double slowest = slowest_s(&found, &costs);
        for (int64_t from = 0; from < n; from++)
            for (int64_t to = 0; to < n; to++) {
                if (parts[from] < 2)
                    continue;
                parts[from]--;
                parts[to]++;
                ck_assert_msg(slowest_s(&found, &costs) >= slowest * (1 - 1e-9), "case %d: from %lld to %lld", i,
                              (long long)from, (long long)to);
                parts[from]++;
                parts[to]--;
            }
    }
}

/* 4,096 layers over 16 stages: cut anywhere between layers, the passes of no stage need take longer than an even share
 * of all work and one layer. */
TSIM_TEST(thousands_of_layers) {
    struct tsim_parallelism_spec *p = &example.scenario.parallelism;
    example.model.layers = 4096;
    example.model.vocab = 1 << 20;
    example.accelerator.memory_bytes = 1e15;
    example.scenario.cluster.nodes = 2;
    p->pipeline = 16;
    example.scenario.training.global_batch_size = 64;
    example_finish(&example);
    struct tsim_pass_costs costs = costs_of(&example.scenario);
    double all_s = 0, layer_s = costs.parts[TSIM_PART_LAYER]->ways[TSIM_PASS_FORWARD].time_s +
                                costs.parts[TSIM_PART_LAYER]->ways[TSIM_PASS_BACKWARD].time_s;
    for (int32_t k = 0; k < 16; k++)
        all_s += tsim_balance_stage_s(&example.scenario, &costs, k);
    ck_assert_double_gt(tsim_balance_stage_s(&example.scenario, &costs, 15), all_s / 16 + 10 * layer_s); /* the head */
    p->balances = true;
    const struct tsim_scenario *found = tsim_balance(&arena, &example.scenario, NULL);
    for (int32_t k = 0; k < 16; k++)
        ck_assert_double_le(tsim_balance_stage_s(found, &costs, k), all_s / 16 + layer_s);
}

/* {layers: 3} on stages of 5, 3 and 1 layers: a stage's passes take as long as those of 3, 3 and 1 layers that are
 * executed again and of 2, 0 and 0 that are not. So does the recomputation of a step. */
TSIM_TEST(first_layers_are_executed_again) {
    static const int64_t LAYERS[] = {5, 3, 1, 0}, AGAIN[] = {3, 3, 1, 0};
    struct tsim_training_spec *t = &example.scenario.training;
    example.model.layers = 9;
    example.scenario.parallelism.pipeline = 4;
    example.scenario.cluster.nodes = 4;
    example_finish(&example);
    example.scenario.parallelism.layers_per_chunk = LAYERS;
    double full_s[4], none_s[4];
    t->recompute = TSIM_RECOMPUTE_FULL;
    struct tsim_pass_costs full = costs_of(&example.scenario);
    t->recompute = TSIM_RECOMPUTE_NONE;
    struct tsim_pass_costs none = costs_of(&example.scenario);
    double again_s = full.parts[TSIM_PART_LAYER]->ways[TSIM_PASS_BACKWARD].time_s -
                     none.parts[TSIM_PART_LAYER]->ways[TSIM_PASS_BACKWARD].time_s;
    for (int32_t k = 0; k < 4; k++)
        none_s[k] = tsim_balance_stage_s(&example.scenario, &none, k);
    t->recompute = TSIM_RECOMPUTE_FULL;
    for (int32_t k = 0; k < 4; k++)
        full_s[k] = tsim_balance_stage_s(&example.scenario, &full, k);
    t->recompute = TSIM_RECOMPUTE_LAYERS;
    t->recompute_layers = 3;
    struct tsim_pass_costs some = costs_of(&example.scenario);
    ck_assert_double_gt(again_s, 0);
    for (int32_t k = 0; k < 4; k++) {
        double some_s = tsim_balance_stage_s(&example.scenario, &some, k);
        ck_assert_double_eq_tol(full_s[k] - none_s[k], (double)LAYERS[k] * again_s, 1e-9 * full_s[0]);
        ck_assert_double_eq_tol(some_s - none_s[k], (double)AGAIN[k] * again_s, 1e-9 * full_s[0]);
    }
}

/* 9 layers over 4 stages with a head as heavy as two layers: 3, 3, 2 and 1 with the head, so that none takes longer
 * than 3 layers. The sum is the model's and the scenario itself stays. */
TSIM_TEST(a_heavy_head_takes_the_place_of_layers) {
    example.model.layers = 9;
    example.scenario.parallelism.pipeline = 4;
    example_finish(&example);
    example.scenario.parallelism.balances = true;
    struct tsim_pass_costs costs = costs_of(&example.scenario);
    double layer_s = costs.parts[TSIM_PART_LAYER]->ways[TSIM_PASS_FORWARD].time_s;
    double head_s = costs.parts[TSIM_PART_HEAD]->ways[TSIM_PASS_FORWARD].time_s;
    example.model.vocab = (int64_t)((double)example.model.vocab * 2 * layer_s / head_s);
    const struct tsim_scenario *balanced = tsim_balance(&arena, &example.scenario, NULL);
    const int64_t *layers = balanced->parallelism.layers_per_chunk;
    ck_assert_int_eq(layers[0] + layers[1] + layers[2] + layers[3], 9);
    ck_assert_int_eq(layers[3], 1);
    for (int i = 0; i < 3; i++)
        ck_assert_int_le(layers[i], 3);
    ck_assert_ptr_eq(example.scenario.parallelism.layers_per_chunk, example.layers_per_chunk);
    example.scenario.parallelism.balances = false;
    ck_assert_ptr_eq(tsim_balance(&arena, &example.scenario, NULL), &example.scenario);
}

/* One micro-batch, of which the second stage has the head: its passes would be even with five layers and three. But the
 * reduction of the gradients takes twenty times as long as they do, and is even with four and four. */
TSIM_TEST(few_passes_are_split_by_parameters) {
    const struct tsim_scenario *sc =
        load_text("schema: tsim/v1\nname: p\nmodel: {extends: gpt2-medium, layers: 8}\n"
                  "cluster: {node: pcie-a100x8, nodes: 4, fabric: ib-ndr}\n"
                  "training: {sequence_length: 512, micro_batch_size: 1, global_batch_size: 8}\n"
                  "parallelism: {tensor: 2, pipeline: 2, overlap: {gradients: true}, layers_per_stage: balance,"
                  " order: [pipeline, tensor, context, expert, data]}\nsimulation: {network: ideal}\n");
    const int64_t *found = tsim_balance(&arena, sc, NULL)->parallelism.layers_per_chunk;
    struct tsim_pass_costs costs = costs_of(sc);
    struct tsim_scenario uneven = *sc;
    uneven.parallelism.layers_per_chunk = (const int64_t[]){5, 3};
    ck_assert_double_lt(tsim_balance_stage_s(&uneven, &costs, 0), tsim_balance_stage_s(sc, &costs, 1));
    ck_assert_int_eq(found[0], 4);
    ck_assert_int_eq(found[1], 4);
}

/* If no split fits, the fastest of all is taken, however short its passes are. */
TSIM_TEST(where_nothing_fits_the_fastest_is_taken) {
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
        const struct tsim_scenario *found = tsim_balance(&arena, &example.scenario, NULL);
        example.accelerator.memory_bytes = capacity_bytes;
        ck_assert_double_le(slowest_s(found, &costs), best_s * (1 + 1e-9));
    }
}

/* Two layers of the delta rule and attention take longer in one order than in the other, because the host's launches
 * follow it: how far stages get from either side need not agree. All layers have a stage, and no stage between the ends
 * is empty. */
TSIM_TEST(order_of_layers) {
    static const char *const CASES[] = {"nodes: 4, fabric: roce-400}\ntraining: {micro_batch_size: 1",
                                        "nodes: 16, fabric: roce-400}\ntraining: {micro_batch_size: 4"};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const struct tsim_scenario *sc =
            load_text(tsim_arena_printf(&arena,
                                        "schema: tsim/v1\nname: p\nmodel: qwen3-next-80b-a3b\ncluster: {node: "
                                        "mi300x-node, %s, recompute: full, global_batch_size: 128}\n"
                                        "parallelism: {pipeline: 32, layers_per_stage: balance}\n",
                                        CASES[i]));
        const int64_t *parts = tsim_balance(&arena, sc, NULL)->parallelism.layers_per_chunk;
        int64_t sum = 0;
        for (int32_t stage = 0; stage < 32; stage++) {
            ck_assert_int_ge(parts[stage], stage > 0 && stage < 31);
            sum += parts[stage];
        }
        ck_assert_int_eq(sum, 48);
    }
}

TSIM_MAIN(30, set_up_example, tear_down)
