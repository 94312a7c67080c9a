/* Steps whose operators are played, against closed forms and hand counts: schedules of equal layers, a collective
 * beside kernels, a host that is slower than its kernels. Times of kernels are those of the operator rows. */
#include "cost/compute.h"
#include "partition/memory.h"
#include "partition/schedule.h"
#include "step/account/peak_demand.h"
#include "step/pass/pass_alone.h"
#include "step/program.h"
#include "support/arena_rig.h"
#include "support/example.h"

#include <math.h>

static struct example e;

static struct tsim_step_simulation simulate_heard(const struct tsim_step_sink *sink) {
    struct tsim_step_simulation simulation;
    struct tsim_pass_costs costs;
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, &e.scenario);
    const struct tsim_placement *placement = tsim_placement_build(&arena, &e.scenario);
    tsim_pass_costs_build(&arena, &e.scenario, cluster, placement, &costs);
    ck_assert_int_eq(
        tsim_step_simulate_observed(&arena, &e.scenario, cluster, placement, &costs, sink, &simulation, &diags),
        TSIM_OK);
    return simulation;
}

static struct tsim_step_simulation simulate(void) {
    return simulate_heard(NULL);
}

/* Sums over one visit of a part. */
struct rows {
    double time_s, n_launched, flops;
};

static void add_row(void *context, const struct tsim_pass_operator *row) {
    struct rows *rows = context;
    rows->time_s += row->time_s;
    rows->n_launched += fmax(row->op->kernels, row->op->launches);
    rows->flops += row->op->flops;
}

static struct rows visit(enum tsim_part part, enum tsim_pass_kind kind) {
    struct rows rows = {0, 0, 0};
    tsim_pass_visit(&e.scenario, tsim_cluster_build(&arena, &e.scenario), tsim_placement_build(&arena, &e.scenario),
                    part, (int)kind, add_row, &rows);
    return rows;
}

/* ---- schedules ---- */

enum { N_LAYERS = 64 };

/* Products are slow and all else is fast, so that a layer takes milliseconds and embedding and head next to nothing;
 * links are so fast and the optimizer so cheap that only the schedule is left. */
static void init_schedule(int64_t pipeline, int64_t chunks, enum tsim_schedule schedule, int64_t microbatches) {
    example_init(&e);
    e.model.layers = N_LAYERS;
    e.model.vocab = 1;
    for (int p = 0; p < TSIM_N_PRECISIONS; p++)
        e.accelerator.peak_flops_per_s[p] = 1e12;
    e.accelerator.memory_bytes_per_s = 1e15;
    example_be_schedule(&e, pipeline, chunks, schedule, microbatches);
    e.scenario.simulation.detail = TSIM_DETAIL_OPERATORS;
    example_finish(&e);
}

/* Embedding and head take less than this share of the step. */
#define ENDS_FRAC 2e-3

/* Work plus the published bubble, f, b and w from the rows; with scores and values of attention, whose input gradients
 * are two products and which have no weights, b is longer than w. */
TSIM_TEST(schedules) {
    static const struct {
        int64_t p, v;
        enum tsim_schedule schedule;
        int64_t m;
    } CASES[] = {
        {2, 1, TSIM_SCHEDULE_1F1B, 8},        {4, 1, TSIM_SCHEDULE_1F1B, 16},  {8, 1, TSIM_SCHEDULE_1F1B, 3},
        {4, 1, TSIM_SCHEDULE_GPIPE, 16},      {8, 1, TSIM_SCHEDULE_GPIPE, 5},  {4, 2, TSIM_SCHEDULE_INTERLEAVED, 8},
        {2, 4, TSIM_SCHEDULE_INTERLEAVED, 6}, {4, 1, TSIM_SCHEDULE_ZB_H1, 8},  {8, 1, TSIM_SCHEDULE_ZB_H1, 16},
        {4, 1, TSIM_SCHEDULE_ZB_H2, 12},      {8, 1, TSIM_SCHEDULE_ZB_H2, 24}, {4, 1, TSIM_SCHEDULE_SEQUENTIAL, 3}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        init_schedule(CASES[i].p, CASES[i].v, CASES[i].schedule, CASES[i].m);
        double n = N_LAYERS / (double)CASES[i].p;
        struct tsim_schedule_shape shape = tsim_scenario_schedule(&e.scenario);
        struct tsim_stage_times times = {.forward_s = n * visit(TSIM_PART_LAYER, TSIM_PASS_FORWARD).time_s};
        times.input_s = n * visit(TSIM_PART_LAYER, TSIM_PASS_INPUT_GRADIENT).time_s;
        times.weight_s = n * visit(TSIM_PART_LAYER, TSIM_PASS_WEIGHT_GRADIENT).time_s;
        ck_assert_double_gt(times.input_s, 1.1 * times.weight_s);
        double busy_s = (double)CASES[i].m * (times.forward_s + times.input_s + times.weight_s);
        double expected_s = busy_s + tsim_schedule_bubble_s(&shape, times);
        struct tsim_step_simulation simulation = simulate();
        ck_assert_msg(fabs(simulation.time_s - expected_s) < ENDS_FRAC * expected_s, "case %zu: %.12g against %.12g", i,
                      simulation.time_s, expected_s);
        for (int32_t g = 0; g < simulation.n_stage_groups; g++) {
            ck_assert_double_eq_tol(simulation.stage_groups[g].terms.compute_s, busy_s, ENDS_FRAC * expected_s);
            ck_assert_double_eq_tol(simulation.stage_groups[g].terms.bubble_s, expected_s - busy_s,
                                    ENDS_FRAC * expected_s);
        }
    }
}

/* ---- a collective beside kernels ---- */

#define SM_FRAC 0.25

static struct tsim_pass_operator kernel_row(const struct tsim_op *op, double time_s) {
    return (struct tsim_pass_operator){.op = op, .phase = "forward", .time_s = time_s};
}

/* Finds what the rows expose when they are played alone; cluster NULL: on an ideal network. */
static void play(const struct tsim_pass_operator *rows, int32_t n, double n_chunks, const struct tsim_cluster *cluster,
                 double *exposed_s) {
    struct tsim_pass_program program = {.n = 0};
    struct tsim_pass_builder builder = {.arena = &arena, .program = &program, .n_chunks = n_chunks};
    for (int32_t i = 0; i < n; i++) {
        tsim_pass_builder_add(&builder, &rows[i]);
        exposed_s[i] = 0;
    }
    tsim_pass_builder_close(&builder);
    tsim_pass_program_play(&program, cluster, (struct tsim_pass_launches){0, 0}, exposed_s);
}

/* An all-reduce of C s holds a quarter of the compute units and takes a tenth or no part of HBM's rate. The product of
 * K s beside it is left 3/4 of the units, each at 9/10 of its rate: it does 1 - d a second while the all-reduce runs, d
 * = 0.325 or 0.25. It is over after K + d C s where that is the longer of the two, else the all-reduce after C s. */
TSIM_TEST(all_reduce_beside_a_product) {
    static const struct tsim_op PRODUCT = {.name = "product", .kind = TSIM_OP_GEMM};
    static const struct tsim_op SUM = {.name = "sum",
                                       .kind = TSIM_OP_COLLECTIVE,
                                       .collective = TSIM_OP_ALL_REDUCE,
                                       .axis = TSIM_AXIS_TENSOR,
                                       .overlap = TSIM_CONCURRENT_NEXT};
    static const double TIMES_S[][2] = {{4, 2}, {4, 4.5}, {4, 8}, {1, 8}}; /* K, C */
    for (size_t i = 0; i < 2 * sizeof TIMES_S / sizeof TIMES_S[0]; i++) {
        double k = TIMES_S[i / 2][0], c = TIMES_S[i / 2][1], d = i % 2 ? 0.325 : 0.25, exposed_s[3];
        const struct tsim_pass_operator rows[] = {{.op = &SUM,
                                                   .phase = "forward",
                                                   .time_s = c,
                                                   .latency_s = 0.5,
                                                   .memory_s = i % 2 ? 0.1 * c : 0,
                                                   .partner = &PRODUCT,
                                                   .sm_frac = SM_FRAC},
                                                  kernel_row(&PRODUCT, k)};
        play(rows, 2, 1, NULL, exposed_s);
        ck_assert_double_eq_tol(exposed_s[0], fmax(c, k + d * c) - k, 1e-9);
    }
}

/* A gather in n = 4 chunks of a product of 4 s: the first chunk is there, the others come every C / 3 s, on copy
 * engines. Each is worked on for 1 s when it has come. A scatter: each of the first three chunks leaves when it is
 * done, one after another; the last is the rank's own. */
TSIM_TEST(pipelined_in_chunks) {
    static const struct tsim_op PRODUCT = {.name = "product", .kind = TSIM_OP_GEMM};
    static const struct tsim_op GATHER = {.name = "gather",
                                          .kind = TSIM_OP_COLLECTIVE,
                                          .collective = TSIM_OP_ALL_GATHER,
                                          .axis = TSIM_AXIS_TENSOR,
                                          .overlap = TSIM_PIPELINED_NEXT};
    struct tsim_op scatter = GATHER;
    scatter.collective = TSIM_OP_REDUCE_SCATTER;
    scatter.overlap = TSIM_PIPELINED_PREVIOUS;
    /* C; the product ends after max(4, C + 1) s, the scatter after max(4, 1 + C) s. */
    static const double COLLECTIVE_S[] = {1.5, 3, 6, 9};
    for (size_t i = 0; i < sizeof COLLECTIVE_S / sizeof COLLECTIVE_S[0]; i++) {
        double c = COLLECTIVE_S[i], exposed_s[2], expected_s = fmax(4, c + 1) - 4;
        struct tsim_pass_operator collective = {.phase = "forward", .time_s = c, .partner = &PRODUCT};
        collective.sm_frac = SM_FRAC;
        collective.op = &GATHER;
        const struct tsim_pass_operator gathers[] = {collective, kernel_row(&PRODUCT, 4)};
        play(gathers, 2, 4, NULL, exposed_s);
        ck_assert_double_eq_tol(exposed_s[0], expected_s, 1e-9);
        collective.op = &scatter;
        const struct tsim_pass_operator scatters[] = {kernel_row(&PRODUCT, 4), collective};
        play(scatters, 2, 4, NULL, exposed_s);
        ck_assert_double_eq_tol(exposed_s[1], expected_s, 1e-9);
    }
}

/* Two exchanges beside a whole part of 5 s of kernels, one after the other: C = C1 + C2 s that take d. */
TSIM_TEST(beside_a_whole_part) {
    static const struct tsim_op PRODUCT = {.name = "product", .kind = TSIM_OP_GEMM};
    static const struct tsim_op EXCHANGE = {.name = "exchange",
                                            .kind = TSIM_OP_COLLECTIVE,
                                            .collective = TSIM_OP_ALL_TO_ALL,
                                            .axis = TSIM_AXIS_EXPERT,
                                            .overlap = TSIM_CONCURRENT_PASS};
    static const double TIMES_S[] = {0.5, 1.5, 4};
    double d = SM_FRAC;
    for (size_t i = 0; i < sizeof TIMES_S / sizeof TIMES_S[0]; i++) {
        double c = 2 * TIMES_S[i], exposed_s[4];
        struct tsim_pass_operator exchange = {
            .op = &EXCHANGE, .phase = "forward", .time_s = TIMES_S[i], .sm_frac = SM_FRAC};
        const struct tsim_pass_operator rows[] = {kernel_row(&PRODUCT, 2), exchange, kernel_row(&PRODUCT, 3), exchange};
        play(rows, 4, 1, NULL, exposed_s);
        ck_assert_double_eq_tol(exposed_s[1] + exposed_s[3], fmax(c, 5 + d * c) - 5, 1e-9);
    }
}

/* An exchange beside a whole part and an all-reduce beside one of its products fill the same link: 4 + 4 s of flow take
 * 8 s, which is more than the kernels' 1 s and what is taken from them. */
TSIM_TEST(two_communicators_share_the_link) {
    static const struct tsim_op PRODUCT = {.name = "product", .kind = TSIM_OP_GEMM};
    static const struct tsim_op OPS[] = {{.name = "exchange",
                                          .kind = TSIM_OP_COLLECTIVE,
                                          .collective = TSIM_OP_ALL_TO_ALL,
                                          .axis = TSIM_AXIS_EXPERT,
                                          .overlap = TSIM_CONCURRENT_PASS},
                                         {.name = "sum",
                                          .kind = TSIM_OP_COLLECTIVE,
                                          .collective = TSIM_OP_ALL_REDUCE,
                                          .axis = TSIM_AXIS_TENSOR,
                                          .overlap = TSIM_CONCURRENT_NEXT}};
    double exposed_s[3];
    struct tsim_pass_operator rows[3] = {{.op = &OPS[0]}, {.op = &OPS[1], .partner = &PRODUCT}, {.op = &PRODUCT}};
    example_init(&e);
    example_finish(&e);
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, &e.scenario);
    for (int i = 0; i < 2; i++) {
        rows[i].time_s = 4;
        rows[i].scale_up_bytes = 4 * cluster->scale_up_bytes_per_s;
    }
    rows[2].time_s = 1;
    for (int i = 0; i < 3; i++)
        rows[i].phase = "forward";
    play(rows, 3, 1, cluster, exposed_s);
    ck_assert_double_eq_tol(exposed_s[0] + exposed_s[1], 8 - 1, 1e-9);
    play(rows, 3, 1, NULL, exposed_s);
    ck_assert_double_eq_tol(exposed_s[0] + exposed_s[1], 4 - 1, 1e-9);
}

/* Kernels that follow one another are joined: the sum of their times, FLOP and bytes; over that time they ask for as
 * much of HBM as they did one by one. A collective between kernels keeps them apart. */
TSIM_TEST(joined_kernels) {
    static const struct tsim_op PRODUCT = {.name = "product", .kind = TSIM_OP_GEMM, .flops = 10},
                                NORM = {.name = "norm", .kind = TSIM_OP_ELEMENTWISE, .flops = 1},
                                SUM = {.name = "sum", .kind = TSIM_OP_COLLECTIVE, .axis = TSIM_AXIS_TENSOR};
    const struct tsim_pass_operator rows[] = {
        {.op = &PRODUCT, .phase = "recompute", .time_s = 3, .memory_s = 0.6, .hbm_bytes = 60},
        {.op = &NORM, .phase = "backward", .time_s = 1, .memory_s = 1, .hbm_bytes = 100},
        {.op = &SUM, .phase = "backward", .time_s = 2},
        {.op = &NORM, .phase = "backward", .time_s = 1, .memory_s = 1, .hbm_bytes = 100}};
    struct tsim_pass_program program = {.n = 0};
    struct tsim_pass_builder builder = {.arena = &arena, .program = &program};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        tsim_pass_builder_add(&builder, &rows[i]);
    tsim_pass_program_join_kernels(&program);
    ck_assert_int_eq(program.n, 3);
    ck_assert_int_eq(program.at[1].kind, TSIM_PLAYED_COLLECTIVE);
    ck_assert_double_eq_tol(program.at[0].flow_s, 3 + 1, 1e-12);
    ck_assert_double_eq_tol(program.at[0].flops, 10 + 1, 1e-12);
    ck_assert_double_eq_tol(program.at[0].hbm_bytes, 60 + 100, 1e-12);
    ck_assert_double_eq_tol(program.at[0].memory_frac, (0.6 + 1) / (3 + 1), 1e-12);
    ck_assert_double_eq_tol(program.at[2].memory_frac, 1, 1e-12);
}

/* ---- the host, and FLOP ---- */

static void no_beginning(void *context, const struct tsim_step_outline *outline) {
    (void)context, (void)outline;
}

static void add_flops(void *context, const struct tsim_step_task *task) {
    double *flops = context;
    if (task->kind == TSIM_TASK_OPERATOR)
        *flops += task->flops;
}

static bool wants_all(void *context, int32_t stage_group) {
    (void)context, (void)stage_group;
    return true;
}

/* One rank plays two micro-batches of three parts, with so long a launch. */
enum { N_MICROBATCHES = 2 };

static bool wants_last(void *context, const struct tsim_pass_item *item) {
    (void)context;
    return item->microbatch == N_MICROBATCHES - 1;
}

/* The recurrence of a pass, kernel by kernel: each begins when the one before it has ended and the host has launched
 * it, which takes so long for each, one after another from the pass's beginning. */
struct launched {
    double host_s, launched_s, end_s;
};

static void launch_row(void *context, const struct tsim_pass_operator *row) {
    struct launched *at = context;
    double n = fmax(row->op->kernels, row->op->launches);
    for (int i = 0; i < (int)n; i++) {
        at->launched_s += at->host_s;
        at->end_s = fmax(at->end_s, at->launched_s) + row->time_s / n;
    }
}

static double pass_s(enum tsim_pass_kind kind, double host_s) {
    struct launched at = {.host_s = host_s};
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, &e.scenario);
    const struct tsim_placement *placement = tsim_placement_build(&arena, &e.scenario);
    bool is_forward = kind == TSIM_PASS_FORWARD;
    enum tsim_part first = is_forward ? TSIM_PART_EMBEDDING : TSIM_PART_HEAD,
                   last = is_forward ? TSIM_PART_HEAD : TSIM_PART_EMBEDDING;
    tsim_pass_visit(&e.scenario, cluster, placement, first, (int)kind, launch_row, &at);
    for (int64_t i = 0; i < e.model.layers; i++)
        tsim_pass_visit(&e.scenario, cluster, placement, TSIM_PART_LAYER, (int)kind, launch_row, &at);
    tsim_pass_visit(&e.scenario, cluster, placement, last, (int)kind, launch_row, &at);
    return at.end_s;
}

static double passes_s(double host_s) {
    return N_MICROBATCHES * (pass_s(TSIM_PASS_FORWARD, host_s) + pass_s(TSIM_PASS_BACKWARD, host_s));
}

static void init_host(void) {
    example_init(&e);
    e.scenario.cluster.accelerators_per_node = 1;
    e.scenario.training.global_batch_size = N_MICROBATCHES;
    e.scenario.simulation.detail = TSIM_DETAIL_OPERATORS;
    e.software.optimizer_traffic_bytes = 0;
    example_finish(&e);
}

/* A step without a host's time takes what its kernels take. FLOP are those of the rows. A graph of the whole step
 * leaves the kernels' time; if each launch waits for the kernel before it, launches and kernels add up. */
TSIM_TEST(host_slower_than_its_kernels) {
    static const enum tsim_part PARTS[] = {TSIM_PART_EMBEDDING, TSIM_PART_LAYER, TSIM_PART_HEAD};
    const double host_s = 1e-3;
    init_host();
    double kernels_s = 0, launches = 0, flops = 0;
    for (int i = 0; i < 3; i++)
        for (int kind = TSIM_PASS_FORWARD; kind <= TSIM_PASS_BACKWARD; kind++) {
            struct rows rows = visit(PARTS[i], (enum tsim_pass_kind)kind);
            double n = N_MICROBATCHES * (PARTS[i] == TSIM_PART_LAYER ? 8 : 1);
            kernels_s += n * rows.time_s;
            launches += n * rows.n_launched;
            flops += n * rows.flops;
        }
    double executed = 0;
    const struct tsim_step_sink sink = {no_beginning, add_flops, &executed, .needs_events = true,
                                        .wants_operators = wants_all};
    struct tsim_step_simulation fast = simulate_heard(&sink);
    double rest_s = fast.stage_groups[0].terms.optimizer_s;
    ck_assert_double_eq_tol(fast.time_s, kernels_s + rest_s, 1e-9);
    ck_assert_double_eq_tol(executed, flops, 1e-9 * flops);
    for (int i = 0; i < 2; i++) { /* periods that repeat are told, too, and only of the items that are wanted */
        double of_one = 0;
        const struct tsim_step_sink one = {no_beginning,
                                           add_flops,
                                           &of_one,
                                           .needs_events = i,
                                           .wants_operators = wants_all,
                                           .wants_item = wants_last};
        simulate_heard(&one);
        ck_assert_double_eq_tol(of_one, flops / N_MICROBATCHES, 1e-9 * flops);
    }
    e.software.host_time_per_op_s = host_s;
    ck_assert_double_gt(launches * host_s, 2 * kernels_s);
    ck_assert_double_eq_tol(simulate().time_s, passes_s(host_s) + rest_s, 1e-9);
    e.software.launch_blocking = true;
    ck_assert_double_eq_tol(simulate().time_s, launches * host_s + kernels_s + rest_s, 1e-9);
    e.software.launch_blocking = false;
    e.software.cuda_graphs = TSIM_GRAPHS_STEP;
    ck_assert_double_eq_tol(simulate().time_s, kernels_s + rest_s, 1e-9);
}

/* From a host that is much faster than the kernels, which leaves each pass the launch of its first kernel, to one that
 * is slower than most of them: what kernels wait is the recurrence's, and the account's. */
TSIM_TEST(kernels_wait_for_their_launches) {
    static const double HOST_S[] = {1e-7, 1e-5, 3e-5, 1e-4, 3e-4};
    init_host();
    double kernels_s = passes_s(0), rest_s = simulate().stage_groups[0].terms.optimizer_s;
    bool is_between = false;
    for (size_t i = 0; i < sizeof HOST_S / sizeof HOST_S[0]; i++) {
        double expected_s = passes_s(HOST_S[i]);
        e.software.host_time_per_op_s = HOST_S[i];
        struct tsim_step_simulation simulation = simulate();
        ck_assert_double_eq_tol(simulation.time_s, expected_s + rest_s, 1e-8);
        ck_assert_double_eq_tol(simulation.stage_groups[0].host_wait_s, expected_s - kernels_s, 1e-8);
        if (i == 0)
            ck_assert_double_eq_tol(expected_s - kernels_s, 2 * N_MICROBATCHES * HOST_S[i], 1e-9);
        is_between |= expected_s > 1.1 * kernels_s && expected_s < 2 * kernels_s;
    }
    ck_assert(is_between);
}

/* A graph of each layer is launched in the time of one kernel. */
TSIM_TEST(layers_in_graphs) {
    const double host_s = 1e-4;
    init_host();
    double whole_s = passes_s(0), rest_s = simulate().stage_groups[0].terms.optimizer_s;
    e.software.host_time_per_op_s = host_s;
    double without_s = simulate().time_s;
    e.software.cuda_graphs = TSIM_GRAPHS_LAYERS;
    double with_s = simulate().time_s;
    ck_assert_double_lt(with_s, without_s);
    ck_assert_double_gt(with_s, whole_s + rest_s);
    /* All launches come one after another from the beginning of a pass, before the last kernel at the latest. */
    double ends = 0;
    for (int kind = TSIM_PASS_FORWARD; kind <= TSIM_PASS_BACKWARD; kind++)
        ends += visit(TSIM_PART_EMBEDDING, (enum tsim_pass_kind)kind).n_launched +
                visit(TSIM_PART_HEAD, (enum tsim_pass_kind)kind).n_launched;
    ck_assert_double_lt(with_s, whole_s + rest_s + N_MICROBATCHES * (ends + 2 * (double)e.model.layers) * host_s);
}

/* A collective that takes all of a link asks for bytes / (bytes / rate), which need not be the rate in every bit. */
TSIM_TEST(one_stream_may_ask_for_all) {
    const double rate = 365e9;
    for (int i = 1; i <= 1000; i++) {
        double bytes = 8192.0 * 1024 * i, flow_s = bytes / rate;
        ck_assert(tsim_never_binds(rate, (struct tsim_peak_demand){bytes / flow_s, 1}));
    }
    ck_assert(!tsim_never_binds(rate, (struct tsim_peak_demand){rate * (1 + 1e-9), 1}));
    ck_assert(!tsim_never_binds(rate, (struct tsim_peak_demand){rate, 2}));
    ck_assert(tsim_never_binds(rate, (struct tsim_peak_demand){rate * (1 - 1e-8), 2}));
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
