/* The replay of the schedule: against the simulation where nothing but the pipeline takes time, and by hand. */
#include "report/terminal/explain_timeline.h"
#include "run/run.h"
#include "support/check_main.h"
#include "support/example.h"

#include <string.h>

static struct example e;
static struct tsim_arena arena;

static void setup(void) {
    tsim_arena_init(&arena);
    example_init(&e);
}

static void teardown(void) {
    tsim_arena_release(&arena);
}

/* One replica on `stages` accelerators. */
static void use_pipeline(int64_t stages, int64_t chunks, enum tsim_schedule schedule, int64_t microbatches) {
    e.scenario.cluster.accelerators_per_node = stages;
    e.scenario.parallelism.pipeline = stages;
    e.scenario.parallelism.virtual_pipeline = chunks;
    e.scenario.parallelism.schedule = schedule;
    e.scenario.training.global_batch_size = microbatches;
    example_finish(&e);
}

static struct tsim_result simulated(void) {
    const struct tsim_run_options options = {.ignore_memory = true};
    struct tsim_result result;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_train_run(&arena, &e.scenario, &options, &result, &diags), TSIM_OK);
    tsim_diags_release(&diags);
    return result;
}

static void expect_no_gaps(const struct tsim_path *path, double from_s) {
    double at_s = from_s;
    for (int32_t i = 0; i < path->n; i++) {
        ck_assert_double_eq_tol(path->links[i].begin_s, at_s, 1e-12);
        ck_assert_double_ge(path->links[i].time_s, 0);
        ck_assert(i == 0 || !path->links[i].is_message || !path->links[i - 1].is_message);
        at_s += path->links[i].time_s;
    }
    ck_assert_double_eq_tol(at_s, from_s + path->time_s, 1e-12);
}

/* One replica and an ideal network: the passes and the optimizer are the whole step. Over a fluid network messages of
 * both directions share the links, and the step is longer by a little at most. */
START_TEST(the_replay_is_the_simulation) {
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
        struct tsim_result result = simulated();
        const struct tsim_timeline *timeline = tsim_timeline_build(&arena, &e.scenario);
        tsim_timeline_path(&arena, timeline, -1, 0, &path);
        double replayed_s = path.time_s + result.step.terms.optimizer_s, step_s = result.step.terms.time_s;
        ck_assert_double_le(replayed_s, step_s * (1 + 1e-9));
        ck_assert_double_ge(replayed_s, step_s * (i % 2 ? 1 - 1e-4 : 0.99));
        ck_assert_double_eq_tol(path.time_s, timeline->end_s, 1e-12);
        expect_no_gaps(&path, 0);
    }
}
END_TEST

/* Two stages, two micro-batches, 1f1b; F and B are the times of a pass on each stage (equal layers, but the head is
 * slower than the embedding), messages m:
 *   stage 0: F0 F1 . . B0 . B1      stage 1: . F0 B0 F1 B1
 * Stage 1 never waits after its first pass: F0(0) m F0 B0 F1 B1(1) m B1(0). */
START_TEST(two_by_two_by_hand) {
    struct tsim_path path;
    use_pipeline(2, 1, TSIM_SCHEDULE_1F1B, 2);
    const struct tsim_timeline *timeline = tsim_timeline_build(&arena, &e.scenario);
    tsim_timeline_path(&arena, timeline, -1, 0, &path);
    expect_no_gaps(&path, 0);
    ck_assert_int_eq(path.n, 5);
    ck_assert_int_eq(path.last_stage, 0);
    static const struct {
        bool is_message;
        int32_t stage, forward, backward;
    } LINKS[] = {{false, 0, 1, 0}, {true, 0, 0, 0}, {false, 1, 2, 2}, {true, 1, 0, 0}, {false, 0, 0, 1}};
    for (int32_t i = 0; i < 5; i++) {
        ck_assert_int_eq(path.links[i].is_message, LINKS[i].is_message);
        ck_assert_int_eq(path.links[i].stage, LINKS[i].stage);
        ck_assert_int_eq(path.links[i].counts[TSIM_PASS_FORWARD], LINKS[i].forward);
        ck_assert_int_eq(path.links[i].counts[TSIM_PASS_BACKWARD], LINKS[i].backward);
    }
    const struct tsim_slice *zero = timeline->stages[0].slices, *one = timeline->stages[1].slices;
    ck_assert_int_eq(one[0].cause_stage, 0);
    ck_assert_int_eq(one[0].cause_index, 0);
    ck_assert_int_eq(one[1].cause_stage, -1);
    ck_assert_double_eq(one[1].begin_s, one[0].end_s);
    ck_assert_int_eq(zero[2].cause_stage, 1);
    ck_assert_double_eq(path.passes[(0 * 1 + 0) * TSIM_N_PASS_KINDS + TSIM_PASS_FORWARD], 1);
    ck_assert_double_eq(path.passes[(1 * 1 + 0) * TSIM_N_PASS_KINDS + TSIM_PASS_BACKWARD], 2);
}
END_TEST

/* A window that begins inside: the path of stage 1 from its own first pass is its passes alone. */
START_TEST(a_path_can_begin_later) {
    struct tsim_path path;
    use_pipeline(2, 1, TSIM_SCHEDULE_1F1B, 2);
    const struct tsim_timeline *timeline = tsim_timeline_build(&arena, &e.scenario);
    double from_s = timeline->stages[1].slices[0].begin_s;
    tsim_timeline_path(&arena, timeline, 1, from_s, &path);
    expect_no_gaps(&path, from_s);
    ck_assert_int_eq(path.n, 1);
    ck_assert_double_eq_tol(path.time_s, timeline->stages[1].busy_s, 1e-12);
}
END_TEST

static Suite *explain_timeline_suite(void) {
    Suite *suite = suite_create("explain_timeline");
    TCase *tests = tcase_create("explain_timeline");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_replay_is_the_simulation);
    tcase_add_test(tests, two_by_two_by_hand);
    tcase_add_test(tests, a_path_can_begin_later);
    suite_add_tcase(suite, tests);
    return suite;
}

TSIM_TEST_MAIN(explain_timeline_suite)
