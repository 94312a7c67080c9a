/* One step against closed forms. Passes are made up: a layer takes 1 s forward and 2 s backward, embedding and head
 * nothing, links are so fast and the optimizer so cheap that only the schedule is left. 8 layers. */
#include "partition/memory.h"
#include "partition/schedule.h"
#include "step/program.h"
#include "support/check_main.h"
#include "support/example.h"

#include <math.h>
#include <string.h>

static struct example e;
static struct tsim_arena arena;

static void init(int64_t pipeline, int64_t chunks, enum tsim_schedule schedule, int64_t microbatches) {
    example_init(&e);
    example_be_schedule(&e, pipeline, chunks, schedule, microbatches);
    e.scenario.simulation.detail = TSIM_DETAIL_PASSES; /* costs are made up */
    example_finish(&e);
}

static struct tsim_step_simulation simulate_costs(const struct tsim_pass_costs *costs,
                                                  const struct tsim_step_sink *sink) {
    struct tsim_step_simulation simulation;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    tsim_arena_release(&arena);
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, &e.scenario);
    const struct tsim_placement *placement = tsim_placement_build(&arena, &e.scenario);
    ck_assert_int_eq(
        tsim_step_simulate_observed(&arena, &e.scenario, cluster, placement, costs, sink, &simulation, &diags),
        TSIM_OK);
    tsim_diags_release(&diags);
    return simulation;
}

/* Returns costs of passes in which nothing but layers takes time. */
static struct tsim_pass_costs costs_of_layers(const struct tsim_part_costs *layer) {
    static const struct tsim_part_costs NONE;
    struct tsim_pass_costs costs = {.has_launches = false};
    for (int part = 0; part < TSIM_N_PARTS; part++)
        costs.parts[part] = part == TSIM_PART_LAYER ? layer : &NONE;
    return costs;
}

static struct tsim_step_simulation simulate_heard(const struct tsim_step_sink *sink) {
    const struct tsim_part_costs layer = {.ways = {[TSIM_PASS_FORWARD] = {.time_s = 1, .compute_s = 1},
                                                   [TSIM_PASS_BACKWARD] = {.time_s = 2, .compute_s = 2},
                                                   [TSIM_PASS_INPUT_GRADIENT] = {.time_s = 1, .compute_s = 1},
                                                   [TSIM_PASS_WEIGHT_GRADIENT] = {.time_s = 1, .compute_s = 1}}};
    struct tsim_pass_costs costs = costs_of_layers(&layer);
    return simulate_costs(&costs, sink);
}

static struct tsim_step_simulation simulate(void) {
    return simulate_heard(NULL);
}

#define TOLERANCE_S 1e-9 /* messages take a picosecond each */

/* Expects that each stage works for that long, and waits for the rest of the step. */
static void check_step(const struct tsim_step_simulation *step, size_t number, double busy_s, double expected_s) {
    ck_assert_msg(fabs(step->time_s - expected_s) < TOLERANCE_S * expected_s, "case %zu: %.12g against %.12g", number,
                  step->time_s, expected_s);
    for (int32_t g = 0; g < step->n_stage_groups; g++) {
        ck_assert_double_eq_tol(step->stage_groups[g].terms.compute_s, busy_s, 1e-9);
        ck_assert_double_eq_tol(step->stage_groups[g].terms.bubble_s, expected_s - busy_s, 1e-6);
    }
}

/* Every stage works m * (8/p) * 3 s; beside it, it waits (p-1) (8/p) 3 s, interleaved that / v (Narayanan et al. 2021,
 * sections 2.2.1 and 2.2.2); sequential pays every stage in turn. */
TSIM_TEST(bubble_closed_forms) {
    static const struct {
        int64_t p, v;
        enum tsim_schedule schedule;
        int64_t m;
    } CASES[] = {{1, 1, TSIM_SCHEDULE_1F1B, 4},        {2, 1, TSIM_SCHEDULE_1F1B, 8},
                 {4, 1, TSIM_SCHEDULE_1F1B, 16},       {8, 1, TSIM_SCHEDULE_1F1B, 8},
                 {8, 1, TSIM_SCHEDULE_1F1B, 3},        {4, 1, TSIM_SCHEDULE_GPIPE, 16},
                 {8, 1, TSIM_SCHEDULE_GPIPE, 5},       {4, 2, TSIM_SCHEDULE_INTERLEAVED, 8},
                 {2, 4, TSIM_SCHEDULE_INTERLEAVED, 6}, {4, 2, TSIM_SCHEDULE_INTERLEAVED, 4},
                 {4, 1, TSIM_SCHEDULE_SEQUENTIAL, 3}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        init(CASES[i].p, CASES[i].v, CASES[i].schedule, CASES[i].m);
        struct tsim_schedule_shape shape = {CASES[i].schedule, (int32_t)CASES[i].p, (int32_t)CASES[i].v,
                                            (int32_t)CASES[i].m};
        double busy_s = (double)CASES[i].m * 8 / (double)CASES[i].p * 3;
        double layers = 8 / (double)CASES[i].p;
        struct tsim_stage_times times = {1 * layers, 1 * layers, 1 * layers};
        double expected_s = busy_s + tsim_schedule_bubble_s(&shape, times);
        struct tsim_step_simulation simulation = simulate();
        check_step(&simulation, i, busy_s, expected_s);
    }
}

/* Two stages of 4 layers, 4 + 8 s a micro-batch; stage 1 runs at half speed: 8 + 16 s. In 1F1B it is never idle once
 * it has begun: the first activation comes after 4 s, then 8 micro-batches of 24 s, then the last gradient's 8 s on
 * stage 0: 204 s. With stage 0 slow as well, all is twice as slow as the even pipeline's (8 + 1) 12 s. */
TSIM_TEST(slow_stage_sets_the_pace) {
    struct tsim_degraded slow = {.link = TSIM_DEGRADED_ACCELERATOR, .node = 0, .index = 1, .rate_frac = 0.5};
    init(2, 1, TSIM_SCHEDULE_1F1B, 8);
    e.scenario.simulation.fold = false;
    ck_assert_double_eq_tol(simulate().time_s, 108, TOLERANCE_S);
    e.scenario.cluster.degraded = &slow;
    e.scenario.cluster.n_degraded = 1;
    struct tsim_step_simulation one = simulate();
    ck_assert_double_eq_tol(one.time_s, 204, TOLERANCE_S);
    ck_assert_double_eq_tol(one.stage_groups[0].terms.compute_s, 96, TOLERANCE_S);
    ck_assert_double_eq_tol(one.stage_groups[1].terms.compute_s, 192, TOLERANCE_S);
    slow.index = -1;
    ck_assert_double_eq_tol(simulate().time_s, 216, TOLERANCE_S);
}

/* Split backward passes: a layer takes 2 s forward, 2 s for its input and 1 s for its weight gradient; stages of 8/p
 * layers. The step is work plus the published bubble (Qi et al. 2023, table 2; DeepSeek-V3, table 2, where a pair
 * takes F&B = 5 s: nothing of it overlaps here); zb-v with 2, 2, 2 has none. Messages take no time: synchronous or not
 * is the same. */
TSIM_TEST(split_backward_closed_forms) {
    static const struct {
        int64_t p;
        enum tsim_schedule schedule;
        int64_t m;
        double weight_s;
    } CASES[] = {
        {4, TSIM_SCHEDULE_ZB_H1, 8, 1},    {8, TSIM_SCHEDULE_ZB_H1, 16, 1},   {4, TSIM_SCHEDULE_ZB_H1, 4, 1},
        {4, TSIM_SCHEDULE_ZB_H2, 12, 1},   {8, TSIM_SCHEDULE_ZB_H2, 16, 2},   {2, TSIM_SCHEDULE_ZB_V, 6, 2},
        {4, TSIM_SCHEDULE_ZB_V, 8, 2},     {4, TSIM_SCHEDULE_DUALPIPE, 8, 1}, {8, TSIM_SCHEDULE_DUALPIPE, 20, 1},
        {2, TSIM_SCHEDULE_DUALPIPE, 4, 1}, {8, TSIM_SCHEDULE_DUALPIPE, 16, 2}};
    for (size_t i = 0; i < 2 * (sizeof CASES / sizeof CASES[0]); i++) {
        size_t k = i / 2;
        init(CASES[k].p, 1, CASES[k].schedule, CASES[k].m);
        e.scenario.parallelism.overlap.pipeline = i % 2;
        double w = CASES[k].weight_s, layers = 8 / (double)CASES[k].p;
        const struct tsim_part_costs layer = {.ways = {[TSIM_PASS_FORWARD] = {.time_s = 2, .compute_s = 2},
                                                       [TSIM_PASS_BACKWARD] = {.time_s = 2 + w, .compute_s = 2 + w},
                                                       [TSIM_PASS_INPUT_GRADIENT] = {.time_s = 2, .compute_s = 2},
                                                       [TSIM_PASS_WEIGHT_GRADIENT] = {.time_s = w, .compute_s = w}}};
        struct tsim_pass_costs costs = costs_of_layers(&layer);
        struct tsim_step_simulation simulation = simulate_costs(&costs, NULL);
        struct tsim_schedule_shape shape = tsim_scenario_schedule(&e.scenario);
        struct tsim_stage_times times = {2 * layers, 2 * layers, w * layers};
        double busy_s = (double)CASES[k].m * layers * (4 + w);
        double expected_s = busy_s + tsim_schedule_bubble_s(&shape, times);
        check_step(&simulation, k, busy_s, expected_s);
    }
}

/* Dualpipe holds each part twice: with one replica the two reduce together. 2 stages on 2 nodes of 1, ZeRO-0, no
 * overlap: each part's gradients of P parameters in fp32 are all-reduced over 2 ranks, 4 P bytes out of each NIC; the
 * stages hold both parts, so both wait for both: with a NIC of B bytes/s (4 P1 + 4 P2) / B. 4 micro-batches of 2 x 4
 * layers x 3 s on two ranks: 48 s of work, no bubble for p = 2. */
TSIM_TEST(dualpipe_reduces_over_both_stages) {
    init(2, 1, TSIM_SCHEDULE_DUALPIPE, 4);
    e.scenario.cluster.nodes = 2;
    e.scenario.cluster.accelerators_per_node = 1;
    e.node.accelerators = e.node.nics = 1;
    e.scenario.parallelism.overlap.gradients = false;
    example_finish(&e);
    double parameters = 8 * (12.0 * 1024 * 1024 + 4 * 1024) + 2 * 32768.0 * 1024 + 2 * 1024;
    e.node.nic_bytes_per_s = 4 * parameters / 10;
    struct tsim_step_simulation simulation = simulate();
    for (int32_t g = 0; g < 2; g++) {
        ck_assert_double_eq_tol(simulation.stage_groups[g].exposed_reduce_s, 10, 1e-4);
        ck_assert_double_eq_tol(simulation.stage_groups[g].terms.compute_s, 48, 1e-9);
    }
}

/* Zero-bubble steps follow each other no closer than a stage's collectives take. 2 stages of 1 and 7 layers, 2 replicas
 * on 4 nodes of 1, ZeRO-1, passes that take almost nothing: of the second stage's P parameters 2 P are gathered and 4 P
 * scattered, half of each out of a NIC of B bytes/s: 3 P / B. The first gathers while the second waits for it; counted
 * from its first message alone the second stage would take less. */
TSIM_TEST(zero_bubble_pace_of_the_data_stream) {
    init(2, 1, TSIM_SCHEDULE_ZB_H1, 8);
    e.scenario.cluster.nodes = 4;
    e.scenario.cluster.accelerators_per_node = 1;
    e.node.accelerators = e.node.nics = 1;
    e.scenario.parallelism.zero = 1;
    e.software.bucket_elements = (int64_t)1 << 40;
    example_finish(&e);
    e.layers_per_chunk[0] = 1;
    e.layers_per_chunk[1] = 7;
    double parameters = 7 * (12.0 * 1024 * 1024 + 4 * 1024) + 32768.0 * 1024 + 1024 * 2;
    e.node.nic_bytes_per_s = 3 * parameters / 30;
    struct tsim_part_costs layer = {.ways = {{0}}};
    struct tsim_pass_costs costs = costs_of_layers(&layer);
    static const enum tsim_pass_kind KINDS[] = {TSIM_PASS_FORWARD, TSIM_PASS_INPUT_GRADIENT, TSIM_PASS_WEIGHT_GRADIENT};
    for (int i = 0; i < 3; i++)
        layer.ways[KINDS[i]] = (struct tsim_pass_cost){.time_s = 1e-6, .compute_s = 1e-6};
    struct tsim_step_simulation simulation = simulate_costs(&costs, NULL);
    ck_assert_double_eq_tol(simulation.time_s, 30, 1e-3);
    ck_assert_double_eq_tol(simulation.stage_groups[1].data_busy_s, 30, 1e-3);
    ck_assert_double_eq_tol(simulation.stage_groups[1].terms.exposed_data_s, 30,
                            0.7); /* the rest are messages of 0.2 s */
    ck_assert_double_le(simulation.stage_groups[1].exposed_reduce_s, 20.001);
}

/* Synchronous sends block the sender's compute stream. Two stages on two nodes, one micro-batch, messages of
 * 1024 x 1024 x 2 B = 2 MiB at 1 MiB/s = 2 s: forward 4 + 2 + 4, backward 8 + 2 + 8 = 28 s. */
TSIM_TEST(synchronous_sends) {
    init(2, 1, TSIM_SCHEDULE_1F1B, 1);
    e.scenario.cluster.nodes = 2;
    e.scenario.cluster.accelerators_per_node = 1;
    e.node.accelerators = e.node.nics = 1;
    e.node.nic_bytes_per_s = 1024 * 1024;
    e.scenario.parallelism.overlap.pipeline = false;
    example_finish(&e);
    struct tsim_step_simulation simulation = simulate();
    ck_assert_double_eq_tol(simulation.time_s, 28, 1e-4); /* the gradient norm's 8 bytes take 8 us */
    /* Stage 0 waits for 4 + 8 + its own 2 s of sending and 2 s of receiving. */
    ck_assert_double_eq_tol(simulation.stage_groups[0].terms.exposed_pipeline_s, 4, 1e-4);
    ck_assert_double_eq_tol(simulation.stage_groups[0].terms.bubble_s, 12, 1e-4);
}

/* Data parallel over 2 nodes of 1, ZeRO-0: gradients of P parameters in fp32 all-reduced over NICs of B bytes/s take
 * 2 * 1/2 * 4 P / B. Choose B so that this is 24 s. Exposed: 24 s after the 24 s of work. Overlapped as one bucket:
 * the same, since only the end of the last micro-batch releases it. */
TSIM_TEST(gradient_reduction) {
    init(1, 1, TSIM_SCHEDULE_1F1B, 2);
    e.scenario.cluster.nodes = 2;
    e.scenario.cluster.accelerators_per_node = 1;
    e.node.accelerators = e.node.nics = 1;
    e.software.bucket_elements = (int64_t)1 << 40;
    example_finish(&e);
    double parameters = 8 * (12.0 * 1024 * 1024 + 4 * 1024) + 2 * 32768.0 * 1024 + 2 * 1024;
    e.node.nic_bytes_per_s = 4 * parameters / 24;
    for (int overlap = 0; overlap < 2; overlap++) {
        e.scenario.parallelism.overlap.gradients = overlap;
        struct tsim_step_simulation simulation = simulate();
        ck_assert_double_eq_tol(simulation.time_s, 24 + 24, 1e-5);
        ck_assert_double_eq_tol(simulation.stage_groups[0].terms.exposed_data_s, 24, 1e-5);
    }
    /* Half of the 24 s is converted to 16 bits. */
    e.software.converts_sums = true;
    ck_assert_double_eq_tol(simulate().stage_groups[0].terms.exposed_data_s, 12, 1e-5);
    e.software.converts_sums = false;
    /* In 8 buckets of one layer's 2 s each (the table's share is spread over them): a bucket takes 3 s, the first is
     * released after 8 + 2 s of the 24 s, then one every 2 s: the reductions end at 10 + 8 * 3 = 34 s. */
    e.software.bucket_elements = (int64_t)(parameters / 8) + 1;
    struct tsim_step_simulation simulation = simulate();
    ck_assert_double_eq_tol(simulation.time_s, 34, 1e-5);
    ck_assert_double_eq_tol(simulation.stage_groups[0].terms.exposed_data_s, 10, 1e-5);
}

/* Two ranks, 3 micro-batches of 24 s, ZeRO-2: each reduces G s of gradients. Overlapped, the reduction of a micro-batch
 * hides behind the next one and the last one shows from its last bucket on (one bucket here: all of it); not overlapped
 * all three show. ZeRO-3 gathers, too, before each pass what it needs, and reduces after each backward: with all of it
 * on one accelerator's critical path 8 layers and the root are gathered in the forward passes (the root once), the
 * layers again in the backward passes, and everything is reduced. */
TSIM_TEST(sharded_gradients_without_overlap) {
    init(1, 1, TSIM_SCHEDULE_1F1B, 6);
    e.scenario.cluster.accelerators_per_node = 2;
    e.node.scale_up_bytes_per_s = e.node.scale_up_ring_bytes_per_s = 1e9;
    example_finish(&e);
    double parameters = tsim_stage_parameters(&e.scenario, 0),
           layers = 8 * tsim_layer_rank_parameters(&e.scenario, TSIM_PART_LAYER);
    double reduce_s = parameters * 4 / 2 / 1e9, gather_s = parameters * 2 / 2 / 1e9;
    double layers_gather_s = layers * 2 / 2 / 1e9;
    e.scenario.parallelism.zero = 2;
    e.scenario.parallelism.overlap.parameters = false;
    e.software.bucket_elements = 1000000000;
    ck_assert_double_eq_tol(simulate().time_s, 72 + reduce_s + gather_s, 1e-6);
    e.scenario.parallelism.overlap.gradients = false;
    ck_assert_double_eq_tol(simulate().time_s, 72 + 3 * reduce_s + gather_s, 1e-6);
    e.scenario.parallelism.zero = 3;
    struct tsim_step_simulation steps = simulate();
    double conversion_s = steps.stage_groups[0].interference_s; /* of gradients, before each reduction */
    ck_assert_double_eq_tol(steps.time_s - conversion_s, 72 + 3 * reduce_s + gather_s + (3 + 2) * layers_gather_s,
                            0.05 * reduce_s);
    /* Gathers ahead: of those the root's is left, at the beginning, and of each pass the first two layers', which are
     * under way when they could run. Reductions beside the next unit: the root's are left, which the gathers of the
     * next pass come after. */
    double root_gather_s = gather_s - layers_gather_s, root_reduce_s = 2 * root_gather_s,
           gathers_s = gather_s + (3 + 2) * layers_gather_s;
    const struct {
        bool parameters, gradients;
        double exposed_s;
    } CASES[] = {{true, false, root_gather_s + 3 * reduce_s},
                 {false, true, gathers_s + 3 * root_reduce_s},
                 {true, true, root_gather_s + 3 * root_reduce_s}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        e.scenario.parallelism.overlap.parameters = CASES[i].parameters;
        e.scenario.parallelism.overlap.gradients = CASES[i].gradients;
        double exposed_s = simulate().time_s - conversion_s - 72 - CASES[i].exposed_s;
        ck_assert_msg(exposed_s > -0.05 * reduce_s && exposed_s < 6 * 2 * layers_gather_s / 8,
                      "case %zu: %g s too much", i, exposed_s);
    }
}

/* Whole layers recomputed: weights that are not used again within `gather_reuse` parameters come twice in the backward
 * pass. After the query, key and value weights (3 h^2) lie 9 h^2 of others, passed twice; after the output's (1) 8,
 * after the first of the feed-forward (4) 4, after the second none. */
TSIM_TEST(dropped_weights_are_gathered_again) {
    const struct { double reuse, again; } CASES[] = {{0, 0}, {18, 0}, {17, 3}, {15, 4}, {8, 4}, {7, 8}};
    double h2 = 1024.0 * 1024, once = 0, norms = 4 * 1024; /* these with the first */
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        init(1, 1, TSIM_SCHEDULE_1F1B, 6);
        e.scenario.cluster.accelerators_per_node = 2;
        example_finish(&e);
        e.scenario.parallelism.zero = 3;
        e.scenario.training.recompute = TSIM_RECOMPUTE_FULL;
        e.software.gather_reuse_parameters = CASES[i].reuse * h2;
        struct tsim_step_simulation steps = simulate();
        double gathered = steps.stage_groups[0].scale_up_bytes;
        if (i == 0)
            once = gathered;
        double again = CASES[i].again * h2 + (CASES[i].again > 0 ? norms : 0);
        ck_assert_double_eq_tol(gathered - once, 3 * 8 * again, 1);
    }
}

static double times_s[TSIM_N_LAYER_PRODUCTS];
static int product;

static void add_time(void *context, const struct tsim_pass_operator *row) {
    static const char *const NAMES[] = {"attention qkv", "attention output", "ffn up", "ffn down"};
    (void)context;
    if (product < TSIM_PRODUCT_DOWN && strcmp(row->op->name, NAMES[product + 1]) == 0)
        product++;
    times_s[product] += row->time_s;
}

/* One forward pass of two ranks, each product's weights gathered (3, 1, 4 and 4 h^2 of 12) while the product before it
 * works with what comes along with it. On links that gather a layer in the second that it takes, a layer takes the sum
 * of the longer ones of each two; layer by layer, a second. */
TSIM_TEST(products_wait_for_their_own_weights) {
    init(1, 1, TSIM_SCHEDULE_1F1B, 2);
    e.scenario.cluster.accelerators_per_node = 2;
    e.scenario.parallelism.zero = 3;
    e.scenario.is_forward_only = true;
    double layer = tsim_layer_rank_parameters(&e.scenario, TSIM_PART_LAYER),
           rest = tsim_stage_parameters(&e.scenario, 0);
    e.node.scale_up_bytes_per_s = e.node.scale_up_ring_bytes_per_s = layer * 2 / 2;
    example_finish(&e);
    double first_s = (rest - 8 * layer) / layer; /* embedding and head, beside nothing */
    ck_assert_double_eq_tol(simulate().time_s, first_s + 1 + 8, 1e-3);
    memset(times_s, 0, sizeof times_s);
    product = 0;
    tsim_arena_release(&arena);
    tsim_pass_visit(&e.scenario, tsim_cluster_build(&arena, &e.scenario), tsim_placement_build(&arena, &e.scenario),
                    TSIM_PART_LAYER, TSIM_PASS_FORWARD, add_time, NULL);
    double weights[TSIM_N_LAYER_PRODUCTS], sum_s = times_s[0] + times_s[1] + times_s[2] + times_s[3], one_s = 0;
    tsim_layer_product_parameters(&e.scenario, weights);
    for (int i = 0; i < 4; i++)
        one_s += fmax(times_s[i] / sum_s, weights[(i + 1) % 4] / layer);
    double end_s = fmax(times_s[3] / sum_s, weights[0] / layer) - times_s[3] / sum_s; /* after the last comes nothing */
    e.software.gather_unit = TSIM_UNIT_PRODUCT;
    ck_assert_double_gt(one_s, 1.05);
    ck_assert_double_eq_tol(simulate().time_s, first_s + weights[0] / layer + 8 * one_s - end_s, 1e-3);
}

/* Product by product the same is gathered and reduced as layer by layer, also where weights are dropped between
 * recomputation and gradients, or where recomputation stops before the last product; with nothing beside, it takes as
 * long. */
TSIM_TEST(products_gather_what_layers_do) {
    static const struct {
        enum tsim_recompute recompute;
        bool stops_early, stays;
        double reuse;
    } CASES[] = {{TSIM_RECOMPUTE_NONE, false, false, 0},      {TSIM_RECOMPUTE_SELECTIVE, false, true, 0},
                 {TSIM_RECOMPUTE_FULL, false, false, 0},      {TSIM_RECOMPUTE_FULL, false, false, 8e6},
                 {TSIM_RECOMPUTE_FULL, false, true, 0},       {TSIM_RECOMPUTE_FULL, true, false, 0},
                 {TSIM_RECOMPUTE_SELECTIVE, true, false, 8e6}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        double bytes[2], time_s[2];
        init(1, 1, TSIM_SCHEDULE_1F1B, 6);
        e.scenario.cluster.accelerators_per_node = 2;
        e.node.scale_up_bytes_per_s = e.node.scale_up_ring_bytes_per_s = 1e9;
        example_finish(&e);
        e.scenario.parallelism.zero = 3;
        e.scenario.parallelism.overlap.parameters = e.scenario.parallelism.overlap.gradients = false;
        e.scenario.parallelism.reshard_after_forward = !CASES[i].stays;
        e.scenario.training.recompute = CASES[i].recompute;
        e.software.checkpoint_early_stop = CASES[i].stops_early;
        e.software.gather_reuse_parameters = CASES[i].reuse;
        for (int unit = 0; unit < 2; unit++) {
            e.software.gather_unit = (enum tsim_gather_unit)unit;
            struct tsim_step_simulation simulation = simulate();
            bytes[unit] = simulation.stage_groups[0].scale_up_bytes;
            time_s[unit] = simulation.time_s;
        }
        ck_assert_double_gt(bytes[0], 1e9);
        ck_assert_double_eq_tol(bytes[1], bytes[0], 1e-9 * bytes[0]);
        ck_assert_double_eq_tol(time_s[1], time_s[0], 1e-3); /* latencies */
    }
}

/* Two ranks run one micro-batch of 24 s, not overlapped: 8 layers of six tensors, the embedding's, the head's and the
 * last norm's, each a collective with a latency of its own. */
TSIM_TEST(reduced_tensor_by_tensor) {
    enum { N_TENSORS = 8 * 6 + 3 };
    init(1, 1, TSIM_SCHEDULE_1F1B, 2);
    e.scenario.cluster.accelerators_per_node = 2;
    e.scenario.simulation.network = TSIM_NETWORK_FLUID;
    e.scenario.parallelism.overlap.gradients = false;
    e.node.scale_up_bytes_per_s = e.node.scale_up_ring_bytes_per_s = 1e9;
    example_finish(&e);
    double joined_s = simulate().time_s;
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, &e.scenario);
    struct tsim_collective_request request = {
        .op = TSIM_ALL_REDUCE, .bytes = tsim_stage_parameters(&e.scenario, 0) * 4, .group = {2, 1, 2, 2}};
    struct tsim_collective_cost whole, piece;
    tsim_collective_cost(cluster, &request, &whole);
    request.bytes /= N_TENSORS;
    tsim_collective_cost(cluster, &request, &piece);
    e.software.data_pieces = TSIM_PIECES_TENSOR;
    double more_s = N_TENSORS * piece.time_s - whole.time_s;
    ck_assert_double_gt(more_s, 40 * piece.latency_s);
    ck_assert_double_eq_tol(simulate().time_s - joined_s, more_s, 1e-9);
}

/* With ZeRO-1, on 8 nodes of 8: 8 layers of four matrices, the embedding and the head are the whole of what
 * 34 ranks own, and 8 layers' norms and the last one what 17 others do; 13 have nothing to send. */
TSIM_TEST(weights_come_back_by_broadcasts) {
    enum { N_MATRICES = 8 * 4 + 2, N_VECTORS = 8 * 2 + 1 };
    init(1, 1, TSIM_SCHEDULE_1F1B, 64);
    e.scenario.cluster.nodes = 8;
    e.scenario.cluster.accelerators_per_node = 8;
    e.scenario.simulation.network = TSIM_NETWORK_FLUID;
    e.scenario.parallelism.zero = 1;
    e.scenario.parallelism.overlap.gradients = e.scenario.parallelism.overlap.parameters = false;
    e.software.bucket_elements = (int64_t)1 << 40;
    example_finish(&e);
    double gathered_s = simulate().time_s;
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, &e.scenario);
    struct tsim_collective_request request = {
        .op = TSIM_ALL_GATHER, .bytes = tsim_stage_parameters(&e.scenario, 0) * 2, .group = {64, 8, 8, 8}};
    struct tsim_collective_cost gather, matrix, vector;
    tsim_collective_cost(cluster, &request, &gather);
    request.op = TSIM_BROADCAST;
    request.bytes /= N_MATRICES;
    tsim_collective_cost(cluster, &request, &matrix);
    request.bytes = 1024 * 2;
    tsim_collective_cost(cluster, &request, &vector);
    e.software.weight_return = TSIM_RETURN_BROADCASTS;
    double more_s = N_MATRICES * matrix.time_s + N_VECTORS * vector.time_s - gather.time_s;
    ck_assert_double_gt(more_s, 0);
    ck_assert_double_eq_tol(simulate().time_s - gathered_s, more_s, 1e-6 * more_s);
}

enum { N_BACKWARD = 5 };
struct buckets {
    int n_begun, n_reduced;
    double begin_s[N_BACKWARD], reduced_s[N_BACKWARD];
};

static void no_beginning(void *context, const struct tsim_step_outline *outline) {
    (void)context, (void)outline;
}

static void take_bucket(void *context, const struct tsim_step_task *task) {
    struct buckets *buckets = context;
    if (task->kind == TSIM_TASK_PASS && task->item->kind == TSIM_PASS_BACKWARD)
        buckets->begin_s[buckets->n_begun++] = task->begin_s;
    if (task->kind == TSIM_TASK_REDUCE)
        buckets->reduced_s[buckets->n_reduced++] = task->end_s;
}

/* Five micro-batches of 8 and 16 s, reductions of 30 s, ZeRO-2: there is room for two buckets, so from the fourth on a
 * backward pass waits until the bucket before the last is reduced. The first is released at 24 s, reductions end at 54,
 * 84, 114, ...; the third pass could begin at 56 s; the fourth, from 80 s on, waits for 84, the fifth, from 108, for
 * 114. The step ends with the reductions: 24 + 5 * 30 s. */
TSIM_TEST(sharded_gradients_have_room_for_two_buckets) {
    const double begin_s[N_BACKWARD] = {8, 32, 56, 84, 114};
    init(1, 1, TSIM_SCHEDULE_1F1B, 2 * N_BACKWARD);
    e.scenario.cluster.accelerators_per_node = 2;
    example_finish(&e);
    double rate = tsim_stage_parameters(&e.scenario, 0) * 4 / 2 / 30;
    e.node.scale_up_bytes_per_s = e.node.scale_up_ring_bytes_per_s = rate;
    e.scenario.parallelism.zero = 2;
    e.scenario.parallelism.overlap.parameters = false;
    e.software.bucket_elements = 1000000000;
    struct buckets buckets = {0};
    const struct tsim_step_sink sink = {no_beginning, take_bucket, &buckets, .needs_events = true};
    struct tsim_step_simulation steps = simulate_heard(&sink);
    ck_assert_int_eq(buckets.n_begun, N_BACKWARD);
    ck_assert_int_eq(buckets.n_reduced, N_BACKWARD);
    for (int i = 0; i < N_BACKWARD; i++) {
        ck_assert_double_eq_tol(buckets.begin_s[i], begin_s[i], 1e-3);
        ck_assert_double_eq_tol(buckets.reduced_s[i], 24 + 30 * (i + 1), 1e-3);
    }
    /* Waits for room, and from 130 s on for the last reductions. */
    ck_assert_double_eq_tol(steps.stage_groups[0].exposed_reduce_s, 4 + 6 + 174 - 130, 1e-3);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
