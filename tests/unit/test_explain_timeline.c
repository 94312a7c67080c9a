/* Tests the chain of tasks of which a step consists, as the engine ran them and by hand. */
#include "report/terminal/explain_timeline.h"
#include "step/input/step_input.h"
#include "support/check_main.h"
#include "support/example.h"

#include <string.h>

static struct example e;
static struct tsim_arena arena;
static const struct tsim_timeline *timeline;

static void setup(void) {
    tsim_arena_init(&arena);
    example_init(&e);
}

static void teardown(void) {
    tsim_arena_release(&arena);
}

/* Makes one replica on `stages` accelerators. */
static void use_pipeline(int64_t stages, int64_t chunks, enum tsim_schedule schedule, int64_t microbatches) {
    e.scenario.cluster.accelerators_per_node = stages;
    e.scenario.parallelism.pipeline = stages;
    e.scenario.parallelism.virtual_pipeline = chunks;
    e.scenario.parallelism.schedule = schedule;
    e.scenario.training.global_batch_size = microbatches;
    example_finish(&e);
}

/* Plays a step, of which `replica` is listened to; returns its time. */
static double play(int32_t replica) {
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, &e.scenario);
    const struct tsim_placement *placement = tsim_placement_build(&arena, &e.scenario);
    struct tsim_pass_costs costs;
    struct tsim_step_simulation simulation;
    struct tsim_step_sink sink;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    tsim_pass_costs_build(&arena, &e.scenario, cluster, placement, &costs);
    timeline = tsim_timeline_listen(&arena, &e.scenario, replica, &sink);
    ck_assert_int_eq(
        tsim_step_simulate_observed(&arena, &e.scenario, cluster, placement, &costs, &sink, &simulation, &diags),
        TSIM_OK);
    tsim_diags_release(&diags);
    return simulation.time_s;
}

/* The links follow one another and are all of the step. */
static void expect_whole(const struct tsim_path *path, double from_s, double step_s) {
    double at_s = from_s;
    for (int32_t i = 0; i < path->n; i++) {
        ck_assert_double_eq_tol(path->links[i].begin_s, at_s, 1e-12);
        ck_assert_double_ge(path->links[i].time_s, 0);
        at_s += path->links[i].time_s;
    }
    ck_assert_double_eq_tol(at_s - from_s, step_s, 1e-12);
}

TSIM_TEST(the_chain_is_the_step) {
    static const struct {
        int64_t stages, chunks, microbatches;
        enum tsim_schedule schedule;
    } PLANS[] = {{1, 1, 4, TSIM_SCHEDULE_1F1B},       {4, 1, 3, TSIM_SCHEDULE_SEQUENTIAL},
                 {4, 1, 6, TSIM_SCHEDULE_GPIPE},      {4, 1, 9, TSIM_SCHEDULE_1F1B},
                 {8, 1, 8, TSIM_SCHEDULE_1F1B},       {2, 4, 4, TSIM_SCHEDULE_INTERLEAVED},
                 {4, 2, 8, TSIM_SCHEDULE_INTERLEAVED}};
    for (size_t i = 0; i < 2 * sizeof PLANS / sizeof PLANS[0]; i++) {
        size_t k = i / 2;
        struct tsim_path path;
        e.scenario.simulation.network = i % 2 ? TSIM_NETWORK_IDEAL : TSIM_NETWORK_FLUID;
        e.scenario.parallelism.overlap.pipeline = k % 2 == 0;
        use_pipeline(PLANS[k].stages, PLANS[k].chunks, PLANS[k].schedule, PLANS[k].microbatches);
        double step_s = play(0);
        tsim_timeline_path(&arena, timeline, step_s, &path);
        expect_whole(&path, 0, step_s);
        ck_assert_int_eq(path.links[path.n - 1].kind, TSIM_PATH_OPTIMIZER);
    }
}

/* Two stages, two micro-batches, 1f1b; F and B are the times of a pass on each stage (equal layers, but the head is
 * slower than the embedding), messages m:
 *   stage 0: F0 F1 . . B0 . B1      stage 1: . F0 B0 F1 B1 Stage 1 never waits after its first pass: F0(0) m F0 B0 F1
 *                                   B1(1) m B1(0); then all meet for the norm, and stage 1, which has more parameters,
 *                                   is the last to update them. */
TSIM_TEST(two_by_two_by_hand) {
    struct tsim_path path;
    use_pipeline(2, 1, TSIM_SCHEDULE_1F1B, 2);
    double step_s = play(0);
    tsim_timeline_path(&arena, timeline, step_s, &path);
    expect_whole(&path, 0, step_s);
    static const struct {
        enum tsim_path_kind kind;
        int32_t stage, forward, backward;
    } LINKS[] = {{TSIM_PATH_PASSES, 0, 1, 0},   {TSIM_PATH_MESSAGE, 0, 0, 0}, {TSIM_PATH_PASSES, 1, 2, 2},
                 {TSIM_PATH_MESSAGE, 1, 0, 0},  {TSIM_PATH_PASSES, 0, 0, 1},  {TSIM_PATH_NORM, 1, 0, 0},
                 {TSIM_PATH_OPTIMIZER, 1, 0, 0}};
    ck_assert_int_eq(path.n, sizeof LINKS / sizeof LINKS[0]);
    for (int32_t i = 0; i < path.n; i++) {
        ck_assert_int_eq(path.links[i].kind, LINKS[i].kind);
        ck_assert_int_eq(path.links[i].stage, LINKS[i].stage);
        ck_assert_int_eq(path.links[i].counts[TSIM_PASS_FORWARD], LINKS[i].forward);
        ck_assert_int_eq(path.links[i].counts[TSIM_PASS_BACKWARD], LINKS[i].backward);
    }
    const struct tsim_slice *one = timeline->stages[1].slices;
    ck_assert_int_eq(timeline->stages[1].n, 4);
    ck_assert_double_eq_tol(one[0].begin_s, path.links[2].begin_s, 1e-15);
    ck_assert_double_eq_tol(one[3].end_s, path.links[3].begin_s, 1e-15);
    ck_assert_double_eq_tol(path.passes[(0 * 1 + 0) * TSIM_N_PASS_KINDS + TSIM_PASS_FORWARD], 1, 1e-12);
    ck_assert_double_eq_tol(path.passes[(1 * 1 + 0) * TSIM_N_PASS_KINDS + TSIM_PASS_BACKWARD], 2, 1e-12);
}

/* Stages that work shifted against each other: the step is the longest stage's own, from its first message on. */
TSIM_TEST(a_shifted_step_begins_where_its_longest_stage_does) {
    struct tsim_path path;
    e.scenario.parallelism.overlap.pipeline = true;
    use_pipeline(4, 1, TSIM_SCHEDULE_ZB_H2, 12);
    double step_s = play(0);
    tsim_timeline_path(&arena, timeline, step_s, &path);
    int32_t stage = path.links[path.n - 1].stage;
    ck_assert_int_gt(stage, 0); /* the head is longer than the embedding */
    expect_whole(&path, timeline->stages[stage].slices[0].begin_s, step_s);
    ck_assert_int_eq(path.links[0].kind, TSIM_PATH_PASSES);
    ck_assert_int_eq(path.links[0].stage, stage);
}

static double time_of(const struct tsim_path *path, enum tsim_path_kind kind) {
    double time_s = 0;
    for (int32_t i = 0; i < path->n; i++)
        time_s += path->links[i].kind == kind ? path->links[i].time_s : 0;
    return time_s;
}

/* Two replicas, without overlap: a gradient is reduced between the last pass and the optimizer. One that is half as
 * fast is waited for by the other, in its passes and in its optimizer, and waits for nobody itself. */
TSIM_TEST(replicas_are_waited_for) {
    struct tsim_degraded slow = {.link = TSIM_DEGRADED_ACCELERATOR, .node = 0, .index = 1, .rate_frac = 0.5};
    e.scenario.cluster.degraded = &slow;
    e.scenario.cluster.n_degraded = 1;
    e.scenario.simulation.fold = false;
    e.scenario.cluster.accelerators_per_node = 2;
    e.scenario.parallelism.overlap.gradients = false;
    e.scenario.training.global_batch_size = 8;
    example_finish(&e);
    ck_assert_int_eq(e.scenario.parallelism.data, 2);
    struct tsim_path paths[2];
    for (int32_t replica = 0; replica < 2; replica++) {
        double step_s = play(replica);
        tsim_timeline_path(&arena, timeline, step_s, &paths[replica]);
        expect_whole(&paths[replica], 0, step_s);
        ck_assert_double_gt(time_of(&paths[replica], TSIM_PATH_REDUCE), 0);
    }
    double fast_s = time_of(&paths[0], TSIM_PATH_PASSES), slow_s = time_of(&paths[1], TSIM_PATH_PASSES);
    ck_assert_double_eq_tol(slow_s, 2 * fast_s, 0.05 * fast_s); /* launches are as fast */
    double later_s = time_of(&paths[1], TSIM_PATH_OPTIMIZER) - time_of(&paths[0], TSIM_PATH_OPTIMIZER);
    ck_assert_double_gt(later_s, 0);
    ck_assert_double_eq_tol(time_of(&paths[0], TSIM_PATH_REPLICAS), slow_s - fast_s + later_s, 1e-9);
    ck_assert_double_eq(time_of(&paths[1], TSIM_PATH_REPLICAS), 0);
}

TSIM_MAIN(CHECKS_LIMIT_S, setup, teardown)
